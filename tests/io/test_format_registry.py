"""The registry of formats: each file names its format, and the command line knows them all."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import polars as pl
import pytest

from qrowd.cli import options
from qrowd.errors import UsageError
from qrowd.io import formats
from qrowd.io.formats import FORMATS, format_of, format_to_write
from qrowd.io.formats.format import Format
from qrowd.io.source import Source
from qrowd.registry import import_modules

FRAME = pl.DataFrame(
    {"topic": ["t1", "t2"], "doc": ["d1", "d2"], "assessor": ["a", "b"], "grade": [1, 0]}
)


def test_every_class_is_a_format_and_every_format_is_an_option() -> None:
    modules = [
        importlib.import_module(f"qrowd.io.formats.{each.name}")
        for each in pkgutil.iter_modules(formats.__path__)
    ]
    classes = {
        each.name
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Format) and hasattr(each, "name")
    }
    assert classes == set(FORMATS) == set(options.FORMATS)


def test_a_class_is_all_that_a_new_format_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shouted.py").write_text(
        "from qrowd.io.formats.text import Csv\n"
        "class Shouted(Csv):\n"
        '    """CSV in capitals."""\n'
        '    name, before, suffixes = "shouted", "csv", ()\n'
        "    def matches(self, source):\n"
        '        """All capitals."""\n'
        "        return super().matches(source) and source.start.isupper()\n"
    )
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    monkeypatch.setattr(Format, "classes", [*Format.classes])
    import_modules.cache_clear()
    order = list(formats.in_order())
    assert order.index("tsv") < order.index("csv") < order.index("trec")
    assert order.index("shouted") < order.index("csv")
    assert [name for name in order if name != "shouted"] == list(FORMATS)
    path = tmp_path / "file"
    path.write_text("TOPIC,DOC\nT,D\n")
    source = Source(str(path), path)
    assert (
        next(form.name for form in formats.in_order().values() if form.matches(source)) == "shouted"
    )


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.suffixes])
def test_a_format_recognises_what_it_writes(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(FORMATS[name].write(FRAME, "file"))
    source = Source(str(path), path)
    assert format_of(source).name == name
    names = () if name != "trec" else ("topic", "assessor", "doc", "grade")
    origin, frame = FORMATS[name].read(source, names)
    found = frame.lazy().select(FRAME.columns).collect()
    assert origin.rows == 2
    assert [tuple(map(str, row)) for row in found.rows()] == [
        tuple(map(str, row)) for row in FRAME.rows()
    ]


def test_suffixes_name_one_format_each() -> None:
    suffixes = [suffix for each in FORMATS.values() for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    for suffix in suffixes:
        form = format_to_write(f"FILE{suffix.upper()}")
        assert form is not None
        assert suffix in form.suffixes
    assert format_to_write("file.xlsx") is None


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"format must be one of .*parquet.*, got 'xlsx'"):
        format_of(Source("x", tmp_path), "xlsx")
