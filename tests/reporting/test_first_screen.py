"""Nothing on the first screen is contradicted further down: this reads both."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.data.index import Index
from qrowd.reporting import figures, paper_figures
from qrowd.reporting.verdicts import sure, verdicts_of

pytest.importorskip("jinja2", reason="pages need the extra `report`")
pytest.importorskip("matplotlib", reason="figures need the extra `report`")


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read here are words; drawing takes most of a report's time."""
    for module in (paper_figures, figures):
        monkeypatch.setattr(module, "drawn", lambda *_: "<svg></svg>")


def _halves(done: q.Study) -> tuple[str, str]:
    """The words of the first screen, and those of the rest."""
    page = re.sub(r"<(style|script|svg).*?</\1>", " ", q.report(done).to_html(), flags=re.DOTALL)
    first, rest = page.split('<nav class="toc"')
    words = (re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", half))) for half in (first, rest))
    head, body = words
    return head, body


def _consistent(done: q.Study) -> None:
    head, body = _halves(done)
    assert not re.search(r"100 ?%", head)
    inside = re.search(r"inside the interval of (\d+) of (\d+) systems\.", body)
    if inside is not None:
        assert inside[0] in head  # the same figures
        place, systems = map(int, inside.groups())
        fails = place < systems * 0.45
        assert ("no probability is given" in head) == fails
        assert ("is the best system with" in body) <= (not fails)
        assert ("the best system is one of these" in body) <= (not fails)
    if done.by_gold is not None and done.intervals is not None:
        gold = done.by_gold.means()[0, 0]
        assert str(done.by_gold.runs.names[int(np.argmax(gold))]) in head
    if done.independence is not None:
        assert done.independence.verdict[1:] in head
        assert done.independence.verdict[1:] in body
    for name, kind in re.findall(
        r"(\S+) \((adversarial|uniform|random|biased), [\d,  ]+ judg", head
    ):
        at = done.assessors.assessors.code(name, "assessor")
        assert done.assessors["type"][at] == kind


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate("demo", topics=6, documents=30, votes=3, seed=3)


def test_with_gold(made: q.Collection) -> None:
    done = q.study(made.judgements, made.runs, made.gold, draws=60)
    _consistent(done)
    assert [one.question for one in verdicts_of(done)] == [
        "Can these judgements be trusted?",
        "Which system is best?",
        "What to do next?",
    ]


def test_gold_that_contradicts_takes_the_probability_away(made: q.Collection) -> None:
    turned = q.Qrels(made.gold.pairs, 1 - made.gold.grade)
    done = q.study(made.judgements, made.runs, turned, methods=["ds"], draws=60)
    _consistent(done)
    trust, best, todo = verdicts_of(done)
    assert (trust.level, best.level) == ("bad", "bad")
    assert "probability of" not in best.reasons
    assert "qrowd sample" in todo.reasons


def test_without_gold_and_without_runs(made: q.Collection) -> None:
    done = q.study(made.judgements, made.runs, draws=60)
    _consistent(done)
    assert verdicts_of(done)[0].level == "caution"
    assert "There is no gold" in verdicts_of(done)[0].reasons
    alone = verdicts_of(q.study(made.judgements))
    assert [one.question for one in alone][-1] == "What to do next?"
    assert len(alone) == 2


def test_graded() -> None:
    made = q.simulate("graded", topics=4, documents=25, votes=4)
    _consistent(q.study(made.judgements, made.runs, made.gold, draws=20, measures=["nDCG@10"]))


def test_few_judgements_doubt_nobody(made: q.Collection) -> None:
    one = made.judgements[Index.of([made.judgements.topics.names[0]])]
    done = q.study(replace(one))
    few = done.assessors["judgements"] < 10
    named = verdicts_of(done)[-1].reasons
    assert few.any()
    assert not any(f"{name} (" in named for name in done.assessors.assessors.names[few])


def test_never_certain() -> None:
    assert sure(1.0) == "above 99 %"
    assert sure(0.0) == "below 1 %"
    assert sure(0.83) == "of 83 %"


def test_machine_judges_of_2021(real_data: Path) -> None:
    folder = real_data / "dl21"
    crowd = q.read_judgements(folder / "judgements.tsv.gz")
    gold = q.read_qrels(folder / "gold.qrels.gz").binary(2)
    runs = q.read_runs(str(folder / "runs" / "*.gz"))
    _consistent(q.study(crowd, runs, gold, methods=["mv", "auto"], draws=50))
