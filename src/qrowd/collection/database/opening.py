"""How a database of campaigns is opened: where it may stand, and which version it must have."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.engine import make_url

from qrowd.collection.database.store import Store, clock, engine_of
from qrowd.collection.database.versions import refuse_other_version
from qrowd.errors import QrowdError, StoreError, UsageError

NETWORK_DRIVES = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ncpfs", "glusterfs", "lustre")


def url_of(where: str | Path) -> str:
    """The URL of a database: a URL as it is, or a file's path."""
    scheme, mark, rest = str(where).partition("://")
    if not mark:
        return f"sqlite:///{where}"
    if scheme in ("postgresql", "postgres"):
        return f"postgresql+psycopg://{rest}"
    if scheme not in ("sqlite", "postgresql+psycopg"):
        raise UsageError(f"{scheme}:// is not supported: give a file, or postgresql://...")
    return str(where)


def open_store(
    where: str | Path,
    *,
    clock: Callable[[], int] = clock,
    seed: int | None = None,
    new: bool = False,
    check_version: bool = True,
) -> Store:
    """Open a database of campaigns; `new` allows a file that is not there yet.

    `seed` makes all random names repeatable; without it they come from the system's secure source.
    """
    url = url_of(where)
    if url.startswith("sqlite"):
        _refuse_unusable(Path(str(make_url(url).database)), new)
    chance = random.SystemRandom() if seed is None else random.Random(seed)
    store = Store(engine_of(url), url, clock, chance)
    if check_version:
        try:
            refuse_other_version(store)
        except QrowdError:
            store.engine.dispose()
            raise
    return store


def _refuse_unusable(path: Path, new: bool) -> None:
    if path.is_dir():
        raise StoreError("this is a folder; give a database file in it", file=str(path))
    if not new and not path.is_file():
        raise StoreError("no such database; `qrowd campaign new` makes one", file=str(path))
    if not path.resolve().parent.is_dir():
        raise StoreError("its folder does not exist; make it first", file=str(path))
    kind = drive_of(path.resolve())
    if kind.startswith(NETWORK_DRIVES):
        raise StoreError(
            f"SQLite cannot be shared safely on a network drive ({kind}); put it on a "
            "local disk, or use PostgreSQL (--database postgresql://...)",
            file=str(path),
        )


def drive_of(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The kind of file system that holds a path; "" where that cannot be told."""
    if not mounts.exists():
        return ""
    deepest, kind = "", ""
    for line in mounts.read_text(errors="replace").splitlines():
        _, point, type_here, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(deepest):
            deepest, kind = point, type_here
    return kind
