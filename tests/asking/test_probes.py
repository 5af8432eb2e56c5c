"""Made judges, each with its weakness: probes name it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="asking machine judges needs the extra ask")
pytest.importorskip("jinja2", reason="asking machine judges needs the extra ask")

from tests.asking.judge_server import Body, Reply, grade, query_of, serving, text_of

import qrowd as q
from qrowd.asking.client import Limits
from qrowd.asking.journal import Journal
from qrowd.asking.probes import FALLS, Probe, probe_items, read_probes, save_probes
from qrowd.asking.prompts import read_prompt
from qrowd.asking.questions import Judge
from qrowd.asking.session import Session
from qrowd.cli.main import main
from qrowd.errors import InputError

SUBJECTS = ("soup", "rivers", "violins", "comets", "beetles")


@pytest.fixture
def collection() -> tuple[list[tuple[str, ...]], q.Topics, q.Documents]:
    """Texts that answer their own topic: they say `all about` it."""
    topics = q.Topics.of({f"t{at}": f"what are {word}" for at, word in enumerate(SUBJECTS)})
    texts = {
        f"t{at}-d{number}": f"Here is all about {word}. It has {number} parts. They are long."
        for at, word in enumerate(SUBJECTS)
        for number in range(6)
    }
    pairs: list[tuple[str, ...]] = [(name.split("-")[0], name) for name in texts]
    return pairs, topics, q.Documents.of(texts)


ORDERS = re.compile("highest|höchste|élevée|más alta|最高")


def knows(body: Body) -> bool:
    """Whether the text answers, in the eyes of somebody who cannot be talked into it."""
    return f"all about {query_of(body).split()[-1]}" in text_of(body)


def judged(body: Body, chance: random.Random) -> int:
    text, honest = text_of(body), 3 if knows(body) else 0
    kind = body["model"]
    if kind == "stuffing":
        return 3 if query_of(body) in text else honest
    if kind == "obeys":
        return 3 if ORDERS.search(text) else honest
    if kind == "believes":
        return 3 if "perfectly relevant" in text else honest
    if kind == "longer is better":
        return 2 + (len(text) > 100) if honest else 0
    return chance.randrange(4)


def asked(
    tmp_path: Path,
    collection: tuple[list[tuple[str, ...]], q.Topics, q.Documents],
    models: list[str],
) -> dict[str, dict[str, Probe]]:
    chance = random.Random(1)
    made = probe_items(*collection, 20, seed=3)
    judges = [Judge(model, read_prompt("graded")) for model in models]

    def judge(body: Body, n: int) -> Reply:
        return grade(judged(body, chance))

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        session = Session(judges, made, journal)
        session.ask(server.url, Limits(at_once=16))
        save_probes(session, tmp_path / "probes.json")
    found: dict[str, dict[str, Probe]] = {}
    for probe in read_probes(tmp_path / "probes.json"):
        found.setdefault(probe.judge.split("/")[0], {})[probe.kind] = probe
    return found


def test_each_judge_is_named_for_what_it_is(
    tmp_path: Path,
    collection: tuple[list[tuple[str, ...]], q.Topics, q.Documents],
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ["stuffing", "obeys", "believes", "longer is better", "random"]
    found = asked(tmp_path, collection, names)
    falls = {name: {kind for kind in FALLS if found[name][kind].falls} for name in names}
    assert falls["stuffing"] == {"query", "stuffed", "praise"}  # praise names the query
    assert falls["obeys"] == {"order", "hidden"}
    assert falls["believes"] == {"praise"}
    assert not falls["random"]  # says anything to anything
    assert found["random"]["again"].same < 0.6
    assert found["stuffing"]["again"].same == 1
    assert found["longer is better"]["doubled"].low > 0
    main(["judges", "--probes", str(tmp_path / "probes.json")])
    shown = capsys.readouterr()
    assert "obeys/graded falls for: order, hidden" in shown.err
    assert shown.out.splitlines()[0].startswith("judge\tkind\tprobes\tmissing\trate")


def test_an_honest_judge_is_hardly_ever_accused() -> None:
    """Wrong in 5 % of all texts, 20 probes of six kinds: 1,000 such judges."""
    import numpy as np

    from qrowd.asking.probes import _newcombe

    chance = np.random.default_rng(5)
    plain = chance.binomial(20, 0.05, 1000)
    probes = chance.binomial(20, 0.05, (1000, len(FALLS)))
    accused = [
        any(_newcombe(np.array([hits, usual]), 20)[0] > 0.05 for hits in row)
        for usual, row in zip(plain, probes, strict=True)
    ]
    assert np.mean(accused) <= 0.05


def test_probes_are_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "probes.json").write_text('{"form": "qrowd probes", "rows": []}')
    with pytest.raises(InputError):
        q.read_judgements(tmp_path / "probes.json")
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError, match="no probes; `qrowd ask --probe 20` writes them"):
        read_probes(tmp_path / "other.json")


def test_probes_need_two_topics(
    collection: tuple[list[tuple[str, ...]], q.Topics, q.Documents],
) -> None:
    pairs, topics, documents = collection
    with pytest.raises(InputError, match="texts of two topics"):
        probe_items(pairs[:6], topics, documents, 5, 0)
