"""What every judgement-level method promises, whoever wrote it."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.cli.main import main
from qrowd.errors import NotConvergedWarning, ScaleError

Rows = list[tuple[str, str, str, int]]


def judgement_methods() -> list[str]:
    return [id for id, card in registry.cards().items() if card.level == "judgements"]


def variants(id: str) -> Iterator[str]:
    """The method with each alternative of each choice and switch, one at a time."""
    for known in registry.cards()[id].params:
        for value in known.choices or ((True, False) if known.type is bool else ()):
            if value != known.default:
                yield f"{id}({known.name}={value!r})"


METHODS = judgement_methods()
VARIANTS = [*METHODS, *(spec for id in METHODS for spec in variants(id))]
every_method = pytest.mark.parametrize("id", METHODS)
every_variant = pytest.mark.parametrize("spec", VARIANTS)


def card_of(id: str) -> registry.Card:
    return registry.cards()[registry.parse_spec(id)[0]]


def judgements(rows: Rows, grades: int = 2, **extras: Any) -> q.Judgements:
    topics, docs, assessors, said = zip(*rows, strict=True)
    scale = q.Scale(tuple(range(grades)))
    return q.Judgements.of(topics, docs, assessors, said, scale=scale, **extras)


def crowd(
    *, pairs: int = 60, assessors: int = 8, votes: int = 4, grades: int = 2, seed: int = 5
) -> tuple[Rows, dict[str, int]]:
    """Judgements of assessors of whom some are good, some sloppy; and the truth."""
    random = np.random.default_rng(seed)
    skill = random.uniform(0.55, 0.95, assessors)
    truth = {f"d{i:04d}": int(random.integers(grades)) for i in range(pairs)}
    rows: Rows = []
    for number, (doc, true) in enumerate(truth.items()):
        for who in random.choice(assessors, votes, replace=False):
            other = (true + int(random.integers(1, grades))) % grades
            said = true if random.random() < skill[who] else other
            rows.append((f"t{number % 3}", doc, f"a{who:03d}", said))
    return rows, truth


def reads_documents(id: str) -> bool:
    return "documents" in card_of(id).needs


def unlike(names: q.Index) -> q.Vectors:
    """Vectors of documents that have nothing in common."""
    return q.Vectors.of(names, np.eye(len(names)))


def given_for(id: str, rows: q.Judgements, **more: Any) -> q.Given:
    """What the method needs, made up; gold for a variant that starts from gold."""
    if reads_documents(id):
        more.setdefault("documents", unlike(rows.pairs.documents))
    if "version=2" in id:
        ability = np.linspace(0.5, 1.0, len(rows.assessors))
        more.setdefault("priors", q.AssessorTable(rows.assessors, {"ability": ability}))
    if "gold" in id.partition("(")[2] and "gold" not in more:
        first = rows.pairs.select(np.arange(len(rows.pairs)) % 4 == 0)
        more["gold"] = q.Qrels(first, (np.arange(len(first)) % len(rows.scale)).astype(np.int8))
    return q.Given(**more)


def quick(id: str) -> Any:
    """The method, with fewer sweeps than its default where it samples."""
    made = q.get(id)
    sweeps = {"sweeps": 400} if "sweeps" in {known.name for known in made.card.params} else {}
    return dataclasses.replace(made, **sweeps)


def fit(id: str, rows: q.Judgements, **more: Any) -> q.Merged:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged = quick(id).fit(rows, given_for(id, rows, **more))
    assert isinstance(merged, q.Merged)
    return merged


def largest_scale(id: str) -> int:
    return 2 if card_of(id).grades == "binary" else 3


def tolerance(id: str) -> float:
    return 0.15 if card_of(id).sampled else 1e-6


def enough(id: str) -> dict[str, int]:
    """A crowd of which a sampled posterior has one mode, so that two runs can agree."""
    return {"pairs": 240, "assessors": 12, "votes": 6, "seed": 11} if card_of(id).sampled else {}


def test_every_method_is_here() -> None:
    assert {"mv", "ds"} <= set(METHODS)


@every_variant
def test_posterior_is_a_distribution_over_the_pool(spec: str) -> None:
    rows = judgements(crowd(grades=largest_scale(spec))[0], largest_scale(spec))
    merged = fit(spec, rows)
    assert merged.pairs == rows.pairs
    assert merged.posterior.shape == (len(rows.pairs), len(rows.scale))
    assert (merged.posterior >= 0).all()
    np.testing.assert_allclose(merged.posterior.sum(axis=1), 1.0, atol=1e-9)
    assert merged.assessors.assessors == rows.assessors
    assert (merged.assessors["judgements"] == rows.per_assessor).all()


@every_variant
def test_row_order_does_not_matter(spec: str) -> None:
    rows, _ = crowd()
    shuffled = [rows[at] for at in np.random.default_rng(1).permutation(len(rows))]
    one, other = fit(spec, judgements(rows)), fit(spec, judgements(shuffled))
    assert np.array_equal(one.posterior, other.posterior)


@every_method
def test_renaming_permutes_posteriors(id: str) -> None:
    rows, _ = crowd(**enough(id))
    renamed = [
        (f"T{9 - int(t[1:])}", f"D{9999 - int(d[1:])}", f"A{999 - int(a[1:])}", g)
        for t, d, a, g in rows
    ]
    one, other = fit(id, judgements(rows)), fit(id, judgements(renamed))
    at = {d: i for i, d in enumerate(other.pairs.document_names)}
    back = [at[f"D{9999 - int(d[1:])}"] for d in one.pairs.document_names]
    np.testing.assert_allclose(one.posterior, other.posterior[back], atol=tolerance(id))


@every_method
def test_permuting_grades_permutes_posteriors(id: str) -> None:
    if not card_of(id).nominal:
        pytest.skip("the order of grades matters to it")
    size = largest_scale(id)
    rows, _ = crowd(grades=size, **enough(id))
    turned = [(t, d, a, (g + 1) % size) for t, d, a, g in rows]
    one, other = fit(id, judgements(rows, size)), fit(id, judgements(turned, size))
    expected = np.roll(one.posterior, 1, axis=1)
    np.testing.assert_allclose(other.posterior, expected, atol=tolerance(id))


@every_method
def test_unanimity(id: str) -> None:
    size = largest_scale(id)
    rows = [("t", f"d{i}", f"a{k}", i % size) for i in range(12) for k in range(4)]
    merged = fit(id, judgements(rows, size))
    expected = [int(name[1:]) % size for name in merged.pairs.document_names]
    assert merged.grades().tolist() == expected


@every_method
def test_a_lone_assessor_is_believed(id: str) -> None:
    rows: Rows = [("t", f"d{i}", "ann", i % 2) for i in range(6)]
    merged = fit(id, judgements(rows))
    said = [int(name[1:]) % 2 for name in merged.pairs.document_names]
    assert (merged.posterior[np.arange(6), said] >= 0.5 - tolerance(id)).all()


@every_method
def test_one_assessor_twice_on_a_pair(id: str) -> None:
    rows, _ = crowd()
    merged = fit(id, judgements([*rows, rows[0], rows[0], (*rows[1][:3], 1 - rows[1][3])]))
    np.testing.assert_allclose(merged.posterior.sum(axis=1), 1.0, atol=1e-9)


@every_method
def test_a_single_pair(id: str) -> None:
    for rows in ([("t", "d", "ann", 1)], [("t", "d", "ann", 1), ("t", "d", "bob", 1)]):
        merged = fit(id, judgements(rows))
        assert merged.posterior.shape == (1, 2)
        assert merged.relevant[0] >= 0.5 - tolerance(id)


@every_method
def test_an_empty_topic_stays_undecided(id: str) -> None:
    if {"documents"} & {*card_of(id).needs, *card_of(id).uses}:
        pytest.skip("documents may tell")
    rows = judgements(crowd()[0]).with_pool(q.Pairs.of(["empty"] * 2, ["x", "y"]))
    merged = fit(id, rows, gold=q.Qrels.of(["t0"], ["d0000"], [1]))
    silent = merged.pairs.topic_names == "empty"
    assert silent.sum() == 2
    assert (merged.posterior[silent] == 0.5).all()


@every_method
def test_unused_grades(id: str) -> None:
    if card_of(id).grades == "binary":
        with pytest.raises(ScaleError, match="--rel"):
            fit(id, judgements([("t", "d", "ann", 2), ("t", "e", "ann", 0)], 3))
        return
    rows = [(t, d, a, 2 * g) for t, d, a, g in crowd()[0]]
    assert set(fit(id, judgements(rows, 4)).grades().tolist()) <= {0, 2}


@every_method
def test_same_seed_same_bits(id: str) -> None:
    rows = judgements(crowd()[0])
    assert np.array_equal(fit(id, rows).posterior, fit(id, rows).posterior)


@every_variant
def test_same_bits_for_any_number_of_threads(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = largest_scale(spec)
    rows = judgements(crowd(pairs=900, assessors=25, votes=5, grades=size)[0], size)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("QROWD_THREADS", threads)
        found.append(fit(spec, rows))
    assert np.array_equal(found[0].posterior, found[1].posterior)
    for column, values in found[0].assessors.columns.items():
        assert np.array_equal(values, found[1].assessors[column], equal_nan=True), column


@every_method
def test_gold_is_never_overturned_and_teaches(id: str) -> None:
    """`liar` is always wrong on gold; nobody else says what gold says."""
    rows, _ = crowd()
    docs = sorted({(t, d) for t, d, _, _ in rows})[:20]
    lies = [(t, d, "liar", i % 2) for i, (t, d) in enumerate(docs)]
    gold = q.Qrels.of([t for t, _ in docs], [d for _, d in docs], [1 - i % 2 for i in range(20)])
    merged = fit(id, judgements([*rows, *lies]), gold=gold)
    at = merged.pairs.locate(gold.pairs)
    assert merged.grades()[at].tolist() == gold.grade.tolist()
    assert (merged.posterior[at].max(axis=1) == 1).all()
    assert merged.given.sum() == 20
    assert merged.given[at].all()
    without = fit(id, judgements([*rows, *lies]))
    liar = merged.assessors.assessors.code("liar")
    assert merged.assessors["accuracy"][liar] < 0.05 < without.assessors["accuracy"][liar]
    assert not without.given.any()


@every_method
def test_gold_outside_the_judgements_joins_the_pool(id: str) -> None:
    rows = judgements(crowd()[0])
    if "documents" in card_of(id).needs:
        pytest.skip("its document has no text")
    merged = fit(id, rows, gold=q.Qrels.of(["new"], ["doc"], [1]))
    assert len(merged.pairs) == len(rows.pairs) + 1
    assert merged.posterior[merged.pairs.topic_names == "new"].tolist() == [[0.0, 1.0]]


@every_method
def test_thousands_of_judgements_on_one_pair(id: str) -> None:
    """More than any product of probabilities can hold."""
    rows = [("t", "d", f"a{k:04d}", int(k % 10 < 7)) for k in range(3000)]
    rows += [("t", f"e{i}", f"a{k:04d}", i % 2) for i in range(4) for k in range(0, 3000, 7)]
    merged = fit(id, judgements(rows))
    assert np.isfinite(merged.posterior).all()
    assert merged.relevant[0] > 0.5


@every_method
def test_beats_a_coin(id: str) -> None:
    size = largest_scale(id)
    rows, truth = crowd(pairs=300, assessors=30, votes=5, grades=size, seed=11)
    merged = fit(id, judgements(rows, size))
    right = [
        truth[d] == g for d, g in zip(merged.pairs.document_names, merged.grades(), strict=True)
    ]
    assert np.mean(right) > (0.7 if size == 2 else 0.6)


@every_variant
def test_spec_round_trip(spec: str) -> None:
    assert q.get(repr(q.get(spec))) == q.get(spec)


@every_method
def test_the_fit_says_how_it_went(id: str) -> None:
    merged = fit(id, judgements(crowd()[0]))
    assert merged.fit.method == repr(quick(id))
    assert merged.fit.iterations >= len(merged.fit.trace) - 1
    assert all(math.isfinite(value) for value in merged.fit.trace)
    assert merged.fit.seconds > 0


@every_method
def test_not_converged_is_said_once(id: str) -> None:
    if "max_iter" not in {known.name for known in card_of(id).params}:
        pytest.skip("it does not iterate")
    rows = judgements(crowd(pairs=200, assessors=20, votes=3, seed=3)[0])
    with pytest.warns(NotConvergedWarning) as caught:
        merged = q.get(f"{id}(max_iter=1)").fit(rows, given_for(id, rows))
    assert len(caught) == 1
    assert not merged.fit.converged
    assert merged.fit.iterations == 1


@every_method
def test_progress_is_told(id: str) -> None:
    said: list[tuple[int, int, float]] = []
    merged = fit(id, judgements(crowd()[0]), progress=lambda *told: said.append(told))
    assert [done for done, _, _ in said] == list(range(1, merged.fit.iterations + 1))


@every_method
def test_through_the_command_line(
    id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if card_of(id).needs:
        pytest.skip("it needs more than judgements; its own tests run it")
    rows = judgements(crowd()[0])
    q.save(rows, tmp_path / "crowd.tsv")
    files = {name: str(tmp_path / name) for name in ("crowd.tsv", "m.qrels", "p.tsv", "a.tsv")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        main(
            [
                "merge",
                repr(quick(id)),
                files["crowd.tsv"],
                "-o",
                files["m.qrels"],
                "--probabilities",
                files["p.tsv"],
                "--assessors",
                files["a.tsv"],
            ]
        )
    merged = fit(id, rows)
    assert np.array_equal(q.read_probabilities(files["p.tsv"]).posterior, merged.posterior)
    assert q.read_qrels(files["m.qrels"]) == merged.qrels()
    assert q.read_assessors(files["a.tsv"]).assessors == rows.assessors
    assert f"{id}" in capsys.readouterr().err


@every_method
def test_documented(id: str) -> None:
    text = registry.cards()[id].cls.__doc__ or ""
    assert ">>>" in text
    assert "$$" in text
    assert "Reference" in text


def test_a_new_method_is_in_the_suite() -> None:
    """With the command line's and the documentation's own tests: one file is all it takes."""

    @registry.method("dummy", paper="Nobody 1900")
    class Dummy:
        """A dummy that believes nothing."""

        kind: str = registry.param("a", "which", choices=("a", "b"))

        def fit(self, judgements: q.Judgements, given: q.Given = q.NOTHING) -> q.Merged: ...  # type: ignore[empty-body]

    try:
        assert "dummy" in judgement_methods()
        assert list(variants("dummy")) == ["dummy(kind='b')"]
        assert q.get("dummy(kind=b)") == getattr(q, "Dummy")(kind="b")  # noqa: B009
    finally:
        registry.forget("dummy")
