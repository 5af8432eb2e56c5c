"""The file beside labels that says where they come from: `merged.qrels.provenance.json`.

It stands beside them because a line of comment inside would break other readers of TREC's form and
of tables. It holds the sha256 of the labels, so that one of other labels is never believed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from qrowd.data.index import Pairs
from qrowd.data.merged import Merged
from qrowd.data.provenance import Input, Provenance
from qrowd.errors import FormatError
from qrowd.io.nested import names_files
from qrowd.io.origin import say
from qrowd.io.source import PROVENANCE, Source, provenance_path, sha256_of, sources

FORMAT = "qrowd provenance"
VERSION = 1
_REMEDY = "delete it, or merge again"


def encoded_provenance(provenance: Provenance, labels: bytes) -> str:
    """The text of the file beside these labels: the same for the same labels, at any time."""
    about = asdict(replace(provenance, given=None))
    del about["file"]
    given = provenance.given or Pairs.of([], [])
    bounds = zip(given.topics, given.topic_starts[:-1], given.topic_starts[1:], strict=True)
    names = given.document_names
    about["given"] = {topic: names[first:last].tolist() for topic, first, last in bounds}
    head = {"format": FORMAT, "format_version": VERSION, "sha256": _sha256(labels)}
    return json.dumps({**head, **about}, indent=1, ensure_ascii=False) + "\n"


def read_provenance(source: Any) -> Provenance | None:
    """Where the labels of a file come from, if a file beside it says so.

    Of several files nothing is kept, and that is said: their labels are read as one.
    """
    files = sources(source) if names_files(source) else []
    told = [p for p in map(_beside_labels, files) if p is not None]
    if len(files) > 1 and told:
        names = ", ".join(provenance.file for provenance in told[:3])
        say(f"{names}: where these labels come from is not kept, as several files are read as one")
    return told[0] if len(files) == 1 and told else None


def _beside_labels(source: Source) -> Provenance | None:
    if (
        source.path is None
        or not source.path.is_file()
        or not provenance_path(source.path).is_file()
    ):
        return None
    provenance, sha = _parsed(Source(f"{source.name}{PROVENANCE}", provenance_path(source.path)))
    _refuse_others(source.name, source.path, sha)
    return replace(provenance, file=source.name)


def read_provenance_file(source: Any) -> Provenance:
    """What a file beside labels says; an error if the labels there are others."""
    (file,) = sources(source)
    provenance, sha = _parsed(file)
    labels = file.name.removesuffix(PROVENANCE)
    if Path(labels).is_file():
        _refuse_others(labels, Path(labels), sha)
    return replace(provenance, file=labels)


def _refuse_others(name: str, path: Path, sha: str) -> None:
    if sha256_of(path) != sha:
        message = f"this is about other labels than {name} has (the checksum differs); {_REMEDY}"
        raise FormatError(message, file=f"{name}{PROVENANCE}")


def _parsed(source: Source) -> tuple[Provenance, str]:
    """What the file says, and the checksum of its labels."""
    try:
        about = dict(json.loads(source.read()))
        if about.pop("format") != FORMAT:
            raise ValueError
        version = about.pop("format_version")
        if version != VERSION:
            wanted = f"this qrowd reads {VERSION}; update qrowd, or delete the file"
            raise source.error(f"is of the format's version {version}; {wanted}")
        sha = str(about.pop("sha256"))
        about["inputs"] = {name: Input(**each) for name, each in about["inputs"].items()}
        for name in ("grades", "informed", "chosen"):
            about[name] = tuple(about.get(name, ()))
        topics = [topic for topic, names in about["given"].items() for _ in names]
        documents = [name for names in about["given"].values() for name in names]
        about["given"] = Pairs.of(topics, documents) if topics else None
        known = {each.name: about[each.name] for each in fields(Provenance) if each.name in about}
        return Provenance(**known), sha
    except (ValueError, TypeError, KeyError, AttributeError):
        message = f"does not say where labels come from, as its name promises; {_REMEDY}"
        raise source.error(message) from None


def with_files(merged: Merged, cut: int | None, **inputs: str | Sequence[str] | None) -> Merged:
    """A merged belief that knows which files it was made of, by what they are; and the cut."""
    told = merged.provenance
    if told is None:
        return merged
    files = dict(told.inputs)
    for name, paths in inputs.items():
        if paths:
            sums = map(checksum, [paths] if isinstance(paths, str) else paths)
            files[name] = replace(files.get(name, Input()), files=dict(sums))
    return replace(merged, provenance=replace(told, inputs=files, cut=cut))


def checksum(path: str) -> tuple[str, str]:
    """The name as it was typed, and the file's sha256; of a folder or a pattern, that of what
    `sha256sum` lists. A pipe, whose name is another one each time, was read already.
    """
    files = [(file.name, file.path) for file in sources(path)]
    sums = [(name, sha256_of(file)) for name, file in files if file is not None and file.is_file()]
    if len(sums) < len(files):
        return "-", ""
    if files[0][0] == path:
        return path, sums[0][1]
    return path, _sha256("".join(f"{sha}  {name}\n" for name, sha in sums).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
