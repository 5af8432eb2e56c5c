"""How each format of tables is recognised, read and written.

To add a format, write a class in a module of this package (`Format` says what its methods do) and
let it say `before` which other it is asked: one that would take its files for its own. The first
that matches reads a file. Everything else (`--format`, `save` by suffix, folders, compression, the
names of columns, messages with file and line) then works for it. What its columns mean is not its
business: `qrowd.io.roles` knows their names.

The command line asks this list at its start: no module here may import numpy or Polars at its head.
"""

from __future__ import annotations

from pathlib import Path

from qrowd.errors import require_choice
from qrowd.io.formats.format import Format
from qrowd.io.source import Source
from qrowd.registry import import_modules


def in_order() -> dict[str, Format]:
    """One of each class that has a name, in the order in which they are asked."""
    import_modules(__name__)
    forms = {cls.name: cls() for cls in Format.classes}

    def from_the_end(name: str) -> int:
        return 1 + from_the_end(forms[name].before) if name else 0

    return {name: forms[name] for name in sorted(forms, key=from_the_end, reverse=True)}


FORMATS = in_order()


def format_of(source: Source, stated: str | None = None) -> Format:
    """The format of a file: as stated, else by its content."""
    if stated is None:
        return next(form for form in FORMATS.values() if form.matches(source))
    require_choice("format", stated, FORMATS)
    return FORMATS[stated]


def format_to_write(name: str) -> Format | None:
    """The format that a file's suffix names, if it names one."""
    suffix = Path(name).suffix.lower()
    return next((form for form in FORMATS.values() if suffix in form.suffixes), None)
