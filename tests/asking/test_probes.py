"""Made judges, each with its weakness: probes name it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("httpx", reason="asking machine judges needs the extra ask")
pytest.importorskip("jinja2", reason="asking machine judges needs the extra ask")

from tests.asking.judge_server import Body, Reply, grade, said, serving
from tests.asking.made_judges import OF_ONE, OF_TWO, collection, judged, mostly_honest, preferred

import qrowd as q
from qrowd.asking.client import Limits
from qrowd.asking.journal import Journal
from qrowd.asking.probes import (
    POSITION,
    Probe,
    Probes,
    probe_items,
    read_probes,
    save_probes,
)
from qrowd.asking.prompts import read_prompt
from qrowd.asking.questions import Judge
from qrowd.asking.session import Session
from qrowd.cli.main import main
from qrowd.errors import InputError


def asked(tmp_path: Path, models: Sequence[str], prompt: str = "graded") -> Probes:
    chance = random.Random(1)
    of_two = prompt == "preference"
    made = probe_items(*collection(), 20, seed=3, of_two=of_two)
    judges = [Judge(model, read_prompt(prompt)) for model in models]

    def judge(body: Body, n: int) -> Reply:
        if of_two:
            return said(json.dumps({"better": preferred(body, chance)}))
        return grade(judged(body, chance))

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        session = Session(judges, made, journal)
        session.ask(server.url, Limits(at_once=1))  # in order: judges draw from one generator
        save_probes(session, tmp_path / "probes.json")
    return read_probes(tmp_path / "probes.json")


def by_kind(probes: Probes, model: str) -> dict[str, Probe]:
    return {each.kind: each for each in probes.probes if each.judge.startswith(f"{model}/")}


def test_each_judge_is_named_for_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(tmp_path, OF_ONE)
    falls = {name: found.falls(f"{name}/graded") for name in OF_ONE}
    assert falls == {
        "honest": (),
        "stuffing": ("query", "stuffed", "praise"),  # praise names the query
        "obeys": ("order", "hidden"),
        "believes": ("praise",),
        "longer is better": (),
        "random": ("again",),  # says anything to anything
    }
    assert by_kind(found, "random")["again"].same < 0.6
    assert by_kind(found, "stuffing")["again"].same == 1
    assert by_kind(found, "longer is better")["doubled"].low > 0
    main(["judges", "--probes", str(tmp_path / "probes.json")])
    shown = capsys.readouterr()
    assert "obeys/graded falls for: order, hidden" in shown.err
    assert "honest/graded falls for: none of them" in shown.err
    assert shown.out.splitlines()[0].startswith("judge\tkind\tprobes\tmissing\trate")
    assert len(found.notes) == 4


def test_who_goes_by_the_place_is_named(tmp_path: Path) -> None:
    found = asked(tmp_path, OF_TWO, "preference")
    probes = {name: by_kind(found, name) for name in OF_TWO}
    assert all(list(kinds) == [POSITION] for kinds in probes.values())
    falls = {name: kinds[POSITION].falls for name, kinds in probes.items()}
    assert falls == {"honest": False, "first": True, "last": True, "random": False}
    honest, first, last, by_chance = (kinds[POSITION] for kinds in probes.values())
    assert (honest.rate, honest.usual, honest.same) == (0.5, 0.5, 1)
    assert (first.rate, first.usual, first.same) == (1, 0, 0)
    assert last.difference == -1
    assert by_chance.same < 0.8


def test_an_honest_judge_is_hardly_ever_accused(tmp_path: Path) -> None:
    """Wrong about 5 % of what it is shown, whatever that is, 20 probes a kind: 400 such judges."""
    path = tmp_path / "probes.json"
    path.write_text(json.dumps(mostly_honest(400, seed=5)))
    found = read_probes(path)
    assert np.mean([bool(found.falls(judge)) for judge in found.judges]) <= 0.05


def test_probes_are_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "probes.json").write_text('{"form": "qrowd probes", "rows": []}')
    with pytest.raises(InputError):
        q.read_judgements(tmp_path / "probes.json")
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError, match="no probes; `qrowd ask --probe 20` writes them"):
        read_probes(tmp_path / "other.json")


def test_probes_need_two_topics() -> None:
    pairs, topics, documents = collection()
    with pytest.raises(InputError, match="texts of two topics"):
        probe_items(pairs[:6], topics, documents, 5, 0)
