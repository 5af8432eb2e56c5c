"""Pictures of the documentation: all there, not too large, none older than what it shows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import click

from qrowd.cli.main import command as qrowd_command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MOST = 2_000_000  # bytes, all together


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pictures = _module()


def test_no_picture_is_older_than_what_it_shows() -> None:
    assert list(pictures.stale()) == []  # or: python docs/pictures.py


def test_a_change_of_a_source_makes_its_pictures_stale(monkeypatch: Any) -> None:
    now = pictures.sources()
    now["report.png"]["src/qrowd/reporting/report.py"] = "another"
    monkeypatch.setattr(pictures, "sources", lambda: now)
    (changed,) = (line for line in pictures.stale() if line.startswith("report.png: "))
    assert "src/qrowd/reporting/report.py" in changed


def test_the_gallery_has_every_picture_that_is_kept() -> None:
    names = pictures.shown()
    drawn = {str(path.relative_to(DOCS)) for path in DOCS.glob("pictures/**/*.svg")}
    assert {name for name in names if name.startswith("pictures/")} == drawn
    assert all((DOCS / name).is_file() for name in names)
    assert sum((DOCS / name).stat().st_size for name in names) < MOST


def test_each_source_is_there() -> None:
    for patterns in pictures.SOURCES.values():
        for pattern in patterns:
            assert list(ROOT.glob(pattern)), pattern


def test_commands_of_the_gallery_have_only_options_that_there_are() -> None:
    """`python docs/pictures.py` runs them; tests of each command draw smaller pictures."""
    typed = pictures.commands()
    assert len(typed) >= 8
    for arguments in typed:
        context = click.Context(qrowd_command, info_name="qrowd")
        group: Any = qrowd_command
        rest = list(arguments)
        while isinstance(group, click.Group):
            name, found, rest = group.resolve_command(context, rest)
            assert found is not None, name
            group = found
        parser = group.make_parser(click.Context(group, info_name=name))
        parser.parse_args(args=rest)  # an unknown option is an error
