"""Nothing on the first screen is contradicted further down: this reads both."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.data.index import Index
from qrowd.quality.agreement import krippendorff_alpha
from qrowd.reporting import figures, paper_figures
from qrowd.reporting.parts import Matrix, Table
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
    if done.by_gold is not None and done.gold_means is not None:
        gold = done.gold_means
        assert str(done.by_gold.runs.names[int(np.argmax(gold))]) in head
    if done.independence is not None:
        (errors,) = (str(one.text) for one in done.quality.findings if one.name == "errors")
        assert errors in head  # in plain words; the figures are further down
        assert done.independence.verdict[1:] in body
        assert "degrees of freedom" not in head
        assert "logits" not in head
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


def test_one_probability_of_being_best(made: q.Collection) -> None:
    done = q.study(made.judgements, made.runs, methods=["ds"], draws=60)
    assert done.intervals is not None
    assert done.wide is not None
    assert not np.allclose(done.intervals.best, done.wide.best)  # the page could show two
    best = verdicts_of(done)[1]
    top = float(done.wide.best[0].max())
    assert sure(top) in best.reasons
    section = next(one for one in q.report(done).sections if one.title == "Systems")
    table = next(part for part in section.parts if isinstance(part, Table))
    assert max(table.columns["P(best)"]) == top
    matrix = next(part for part in section.parts if isinstance(part, Matrix))
    order = done.wide.order()
    assert matrix.values == done.wide.beats[0][np.ix_(order, order)].tolist()


def test_without_systems_none_is_ahead() -> None:
    good = dict.fromkeys(["sloppy", "biased", "random", "yes", "no", "pattern", "adversarial"], 0)
    made = q.simulate(topics=5, documents=40, assessors=10, votes=5, seed=1, **good)
    done = q.study(made.judgements, gold=made.gold, methods=["mv"])
    last = verdicts_of(done)[-1]
    assert last.level == "good"
    assert last.reasons == "No assessor is doubted on enough evidence."


def test_little_agreement_gets_no_green_tick() -> None:
    """An alpha of .22 was called moderate, under a tick, beside 13 good ones of 36."""
    kinds = {"good": 0.3, "sloppy": 0.5, "random": 0.1, "biased": 0.1}
    none = dict.fromkeys(["yes", "no", "pattern", "adversarial"], 0)
    made = q.simulate(topics=10, documents=60, assessors=20, votes=5, seed=1, **kinds, **none)
    done = q.study(made.judgements, gold=made.gold, methods=["mv", "ds"])
    alpha = krippendorff_alpha(made.judgements)
    assert 0.2 < alpha < 0.4
    trust = verdicts_of(done)[0]
    assert trust.level == "caution"
    assert "agree little" in trust.reasons
    assert "moderately" not in trust.reasons
    good = done.assessors["type"].tolist().count("good")
    assert re.search(rf"\b{good} of \d+ judges", trust.reasons)


def test_gold_for_some_pairs_ranks_no_systems() -> None:
    made = q.simulate(topics=6, documents=40, assessors=12, votes=4, runs=4, seed=2, gold=0.3)
    done = q.study(made.judgements, made.runs, made.gold, methods=["ds"], draws=40)
    assert done.by_gold is None
    assert done.comparison is None
    assert len(done.labels["ds"]) == len(made.gold)
    head, body = _halves(done)
    said = f"old has {len(made.gold)} of 240 judged pairs"
    assert said in head
    assert said in body
    assert "nder gold" not in head.replace("ranked under it", "")
    assert "place under gold" not in body


def test_gold_for_some_topics_ranks_systems_there_alone() -> None:
    made = q.simulate(topics=6, documents=40, assessors=12, votes=4, runs=4, seed=2)
    some, _ = made.gold.topics.split(0.5, seed=1)
    done = q.study(made.judgements, made.runs, made.gold[some], methods=["ds"], draws=40)
    assert done.comparison is not None
    assert done.comparison.topics == some
    assert done.gold_means is None  # places over all topics are not held against those on some
    assert "only on the 3 topics where it has all" in verdicts_of(done)[-1].reasons


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


def test_a_judge_that_falls_for_a_probe_is_named(tmp_path: Path) -> None:
    made = q.simulate(topics=6, documents=20, assessors=6, votes=3, seed=1)
    rows = [
        {"judge": judge, "kind": kind, "at": at, "relevant": falls, "grade": int(falls)}
        for judge in ("gullible/graded", "honest/graded")
        for kind in ("plain", "order")
        for at in range(20)
        for falls in [judge.startswith("gullible") and kind == "order"]
    ]
    (tmp_path / "probes.json").write_text(json.dumps({"form": "qrowd probes", "rows": rows}))
    probes = q.read_probes(tmp_path / "probes.json")
    page = q.report(q.study(made.judgements, methods=["mv"]), probes)
    (trust, *_) = page.verdicts
    assert trust.level != "good"
    assert trust.reasons.startswith(
        "The machine judge gullible/graded falls for made-up documents (order)"
    )
    assert "honest" not in trust.reasons
    (section,) = [part for part in page.sections if part.title.startswith("Machine judges")]
    (table,) = [part for part in section.parts if isinstance(part, Table)]
    assert table.columns["judge"] == ["gullible/graded", "honest/graded"]
    assert table.columns["falls for it"] == ["yes", "no"]
