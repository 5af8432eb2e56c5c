"""PDF documents as pictures of their pages, with the text of each and where it stands.

Documents are hostile, and PDFium is native code: it runs in a process of its own, with limits of
time, memory, pages and pixels. What it made is kept beside the database, by the hash of the bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_PAGES = 60
MOST_PIECES = 5000  # of text, on a page
WIDTH = 1200  # pixels of a page
TALLEST = 3  # times its width
SECONDS = 60
MEMORY = 2 * 2**30
GRID = 10_000  # places of text are whole numbers from 0 to this, over the page's width or height
LIST = "pages.json"
_turns = threading.Semaphore(2)


@dataclass(frozen=True)
class Pages:
    """The pages of a document: (width, height, pieces of text) each; `cut`: there are more.

    A piece of text is (left, top, width, height, text), on a grid over the page.
    """

    pages: list[tuple[int, int, list[tuple[int, int, int, int, str]]]]
    cut: bool = False


def pages_of(folder: Path, digest: str, content: bytes) -> Pages:
    """The pages of a PDF document, made now if they are not there; none if it cannot be shown."""
    kept = folder_of(folder, digest)
    if not (kept / LIST).exists():
        with _turns:
            _make(kept, content)
    return Pages(**json.loads((kept / LIST).read_text(encoding="utf-8")))


def folder_of(folder: Path, digest: str) -> Path:
    """Where the pictures of a document are kept."""
    return folder / "pictures" / digest[:2] / digest


def picture(folder: Path, digest: str, number: int) -> bytes:
    """The picture of a page, counted from 1; nothing if there is none."""
    path = folder_of(folder, digest) / f"{number}.webp"
    return path.read_bytes() if path.is_file() else b""


def _make(kept: Path, content: bytes) -> None:
    """Make the pictures beside their folder, then move them there: all of them or none."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="making-", dir=kept.parent))
    command = [sys.executable, "-m", "qrowd.web.pictures", str(fresh)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("QROWD_")}
    with suppress(subprocess.TimeoutExpired):  # then it is one that cannot be shown
        subprocess.run(
            command,
            input=content,
            env=environment,
            timeout=5 * SECONDS,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    if not (fresh / LIST).exists():
        _write(fresh, Pages([]))
    try:
        fresh.rename(kept)
    except OSError:  # somebody else was quicker
        shutil.rmtree(fresh)


def _write(folder: Path, pages: Pages) -> None:
    body = json.dumps(vars(pages), ensure_ascii=False)
    (folder / LIST).write_text(body, encoding="utf-8")


# --- in the process of its own --------------------------------------------------------------------


def draw(content: bytes, folder: Path) -> None:
    """Draw the pages into a folder; the list of pages is written last."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError:  # no PDF, or one with a password
        _write(folder, Pages([]))
        return
    pages = list(_drawn(document, folder))
    _write(folder, Pages(pages, cut=len(document) > len(pages)))


def _drawn(document: Any, folder: Path) -> Iterator[tuple[int, int, list[Any]]]:
    """Each page, until one cannot be drawn."""
    import pypdfium2

    for at in range(min(len(document), MOST_PAGES)):
        try:
            page = document[at]
            width, height = page.get_size()
            wide = max(1.0, width, height / TALLEST)
            image = page.render(scale=WIDTH / wide, may_draw_forms=False).to_pil()
        except pypdfium2.PdfiumError:
            return
        image.convert("RGB").save(folder / f"{at + 1}.webp", quality=80, method=2)
        yield image.width, image.height, list(_texts(page))


def _texts(page: Any) -> Iterator[tuple[int, int, int, int, str]]:
    """The pieces of text of a page, as far as they lie on it."""
    texts = page.get_textpage()
    for at in range(min(texts.count_rects(), MOST_PIECES)):
        box = texts.get_rect(at)
        text = " ".join(texts.get_text_bounded(*box).split())
        left, top, right, bottom = _on_grid(page, box)
        if text and left < right and top < bottom:
            yield left, top, right - left, bottom - top, text


def _on_grid(page: Any, box: tuple[float, float, float, float]) -> tuple[int, int, int, int]:
    """A box of the page as it is shown (turned, cut): left, top, right, bottom on the grid."""
    import ctypes

    from pypdfium2.raw import FPDF_PageToDevice

    across, down = [], []
    for x, y in (box[:2], box[2:]):
        column, row = ctypes.c_int(), ctypes.c_int()
        FPDF_PageToDevice(page, 0, 0, GRID, GRID, 0, x, y, column, row)
        across.append(min(GRID, max(0, column.value)))
        down.append(min(GRID, max(0, row.value)))
    return min(across), min(down), max(across), max(down)


def main() -> None:
    """Read a PDF document from standard input, draw it into the folder that is given."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    draw(sys.stdin.buffer.read(), Path(sys.argv[1]))


if __name__ == "__main__":
    main()
