"""What an assessor is: a person, an expert or a machine; whatever is done with the judgements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import InputError, ParameterError

KINDS = {"ann": "expert", "bob": "person", "gpt-4": "machine", "llama": "machine", "zoe": "unknown"}


@pytest.fixture
def crowd() -> q.Judgements:
    """Five assessors of three pairs in two topics; ann changes her mind."""
    pairs = (("1", "a"), ("1", "bb"), ("2", "a"))
    rows = [(t, d, name, (k + len(d)) % 2) for t, d in pairs for k, name in enumerate(KINDS)]
    topics, documents, assessors, grades = zip(*rows, ("1", "a", "ann", 1), strict=True)
    times = np.arange(len(grades), dtype=float)
    made = q.Judgements.of(topics, documents, assessors, grades, time=times)
    made = made.with_kind("machine", "gpt*", "llama")
    return made.with_kind("expert", "ann").with_kind("person", "bob")


def of_each(crowd: q.Judgements) -> dict[str, str]:
    """The kind of each assessor, by name."""
    assert crowd.kinds is not None
    return dict(zip(crowd.assessors, crowd.kinds.tolist(), strict=True))


def screened(crowd: q.Judgements) -> q.Judgements:
    """Without those whom a rule doubts."""
    return q.screen(crowd, [q.FewJudgements(4)]).kept


OPERATIONS: dict[str, Callable[[q.Judgements], q.Judgements]] = {
    "binary": lambda crowd: crowd.binary(1),
    "pool": lambda crowd: crowd.with_pool(q.Pairs.of(["0", "9"], ["x", "y"])),
    "rows": lambda crowd: crowd.select(np.arange(len(crowd)) % 3 == 0),
    "assessors": lambda crowd: crowd.of_assessors(q.Index.of(["zoe", "gpt-4", "ann", "nobody"])),
    "topics": lambda crowd: crowd[q.Index.of(["2"])],
    "pairs": lambda crowd: crowd.of_pairs(np.arange(len(crowd.pairs)) == 1),
    "once": lambda crowd: crowd.one_each(),
    "screened": screened,
    "weighed": lambda crowd: q.screen(crowd, [q.FewJudgements(4)], down_weight=True).kept,
    "weight": lambda crowd: replace(crowd, weight=np.ones(len(crowd))),
    "frame": lambda crowd: q.read_judgements(crowd.to_polars()),
    "kind": lambda crowd: crowd.of_kind("machine"),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_keeps_kinds(name: str, crowd: q.Judgements) -> None:
    after = OPERATIONS[name](crowd)
    assert len(after.assessors)
    assert of_each(after) == {name: KINDS[name] for name in after.assessors}


def test_of_which_kind_how_many(crowd: q.Judgements) -> None:
    assert of_each(crowd) == KINDS
    assert crowd.kind_counts == {"person": 1, "expert": 1, "machine": 2, "unknown": 1}
    assert list(crowd.of_kind("machine").assessors) == ["gpt-4", "llama"]
    assert len(crowd.of_kind("machine")) == 6
    assert crowd.of_kind("machine").pairs is crowd.pairs
    assert list(crowd.of_kind("unknown").assessors) == ["zoe"]
    with pytest.raises(ParameterError, match="kind must be one of person, expert, machine"):
        crowd.of_kind("robot")


def test_nothing_known_is_nothing_said(crowd: q.Judgements) -> None:
    bare = replace(crowd, kinds=None)
    assert bare.kind_counts == {}
    assert "kind" not in bare.to_polars().columns
    assert len(bare.of_kind("machine")) == 0
    assert bare.of_kind("unknown") is bare
    assert crowd.of_kind("unknown").kinds is None
    assert replace(crowd, kinds=np.full(5, "unknown", object)).kinds is None


def test_columns_of_frames(crowd: q.Judgements) -> None:
    frame = crowd.to_polars()
    assert frame.columns[-1] == "kind"
    assert dict(zip(frame["assessor"], frame["kind"], strict=True)) == KINDS


def test_patterns_are_a_shells(crowd: q.Judgements) -> None:
    bare = replace(crowd, kinds=None)
    machines = bare.with_kind("machine", "[gl]*").of_kind("machine")
    assert list(machines.assessors) == ["gpt-4", "llama"]
    odd = q.Judgements.of(["t"] * 2, ["d"] * 2, ["gpt[1]", "x"], [0, 1])
    assert of_each(odd.with_kind("machine", "gpt[1]")) == {"gpt[1]": "machine", "x": "unknown"}
    assert bare.with_kind("machine").kinds is None
    with pytest.raises(InputError, match=r"no assessor fits 'GPT\*'; there are 5 assessors \(ann"):
        bare.with_kind("machine", "GPT*")
    with pytest.raises(InputError, match="ann would be of the kind machine, and is expert already"):
        crowd.with_kind("machine", "*")
    with pytest.raises(ParameterError, match="kind must be one of person, expert, machine, got"):
        crowd.with_kind("unknown", "ann")


@pytest.mark.parametrize(
    ("kinds", "said"),
    [(["machine"], "1 rows, not 5"), (["person"] * 4 + ["robot"], "unknown; got 'robot'")],
)
def test_bad_kinds_are_refused(crowd: q.Judgements, kinds: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(crowd, kinds=np.array(kinds, object))


def test_methods_take_no_notice(crowd: q.Judgements) -> None:
    bare = replace(crowd, kinds=None)
    for method in (q.MajorityVote(), q.DawidSkene()):
        assert np.array_equal(method.fit(crowd).posterior, method.fit(bare).posterior)
    made = q.simulate(topics=2, documents=8, orders=True, seed=1)
    assert made.orders is not None
    machines = made.judgements.with_kind("machine", "a*")
    one, other = (
        q.get("gauss-rank").fit(made.orders, q.Given(judgements=rows))
        for rows in (machines, made.judgements)
    )
    assert np.array_equal(one.worth, other.worth)
