"""hier-bayes: what it promises beside the contract."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import DataWarning, NotConvergedWarning, ParameterError


@pytest.fixture(scope="module")
def crowd() -> q.Judgements:
    return q.simulate(topics=4, documents=40, assessors=15, votes=5, seed=3).judgements


@pytest.fixture(scope="module")
def merged(crowd: q.Judgements) -> q.Merged:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        result: q.Merged = q.HierBayes(sweeps=600).fit(crowd)
        return result


def test_draws_of_every_parameter(crowd: q.Judgements, merged: q.Merged) -> None:
    chains = merged.details["chains"]
    assert (chains.chains, chains.draws) == (3, 300)
    assert chains["sensitivity"].shape == (3, 300, len(crowd.assessors))
    assert chains["prevalence"].shape == (3, 300, len(crowd.topics))
    table = merged.details["parameters"]
    assert len(table) == 6 + 2 * len(crowd.assessors) + len(crowd.topics)
    low, high = table.of("sensitivity", "low"), table.of("sensitivity", "high")
    assert (
        (low < merged.assessors["sensitivity"]) & (merged.assessors["sensitivity"] < high)
    ).all()
    assert np.array_equal(merged.assessors["sensitivity low"], low)


def test_draws_of_relevance_have_the_posterior_as_mean(merged: q.Merged) -> None:
    assert merged.samples is not None
    assert merged.samples.shape == (len(merged.pairs), 900)
    assert np.abs(merged.samples.mean(axis=1) - merged.relevant).max() < 0.12
    assert len(merged.draws(50)) == 50


def test_never_the_mirror(merged: q.Merged) -> None:
    chains = merged.details["chains"]
    assert (chains["phi_specificity"] + chains["phi_sensitivity"] > 1).all()


def test_spammers_do_not_count(crowd: q.Judgements) -> None:
    """Somebody who says 1 to everything has sensitivity 1, specificity 0: no information."""
    names = [*crowd.pairs.topic_names[crowd.pair], *crowd.pairs.topic_names]
    documents = [*crowd.pairs.document_names[crowd.pair], *crowd.pairs.document_names]
    who = [*crowd.assessors.names[crowd.assessor], *["spam"] * len(crowd.pairs)]
    said = [*crowd.grade, *[1] * len(crowd.pairs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged = q.HierBayes(sweeps=600).fit(q.Judgements.of(names, documents, who, said))
    spam = merged.assessors.assessors.code("spam")
    assert merged.assessors["sensitivity high"][spam] > 0.98
    assert merged.assessors["specificity low"][spam] < 0.02


def test_what_did_not_mix_is_named(crowd: q.Judgements) -> None:
    with pytest.warns(NotConvergedWarning, match="R-hat above 1.01 after 10 draws") as caught:
        merged = q.HierBayes(sweeps=20).fit(crowd)
    assert len(caught) == 1
    assert not merged.fit.converged


def test_the_remedy_is_named_and_works(real_data: Any) -> None:
    """The 1979 data have five assessors: more sweeps alone do not help."""
    crowd = q.read_judgements(real_data / "dawid_skene_1979" / "judgements.tsv.gz")
    with pytest.warns(NotConvergedWarning, match="set kappa_min=1 and sweeps=8000"):
        assert not q.HierBayes().fit(crowd).fit.converged
    assert q.HierBayes(kappa_min=1, sweeps=8000).fit(crowd).fit.converged


def test_without_small_populations_more_sweeps_are_the_remedy(crowd: q.Judgements) -> None:
    with pytest.warns(NotConvergedWarning, match="allow more sweeps: sweeps=80"):
        q.HierBayes(sweeps=20, kappa_min=1).fit(crowd)


def test_a_contrary_crowd_is_said() -> None:
    """One heavy assessor against several light ones: the population wins, and it is said."""
    random = np.random.default_rng(1)
    truth = random.integers(2, size=400)
    light = [(i, f"a{i % 20}", int(truth[i])) for i in range(200) for _ in range(1)]
    more = [(i, f"b{i % 20}", int(truth[i])) for i in range(200)]
    heavy = [(i, f"h{k}", 1 - int(truth[i])) for i in range(400) for k in range(3)]
    rows = light + more + heavy
    made = q.Judgements.of(
        ["t"] * len(rows), [f"d{r[0]}" for r in rows], [r[1] for r in rows], [r[2] for r in rows]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        with pytest.warns(DataWarning, match="speak against"):
            merged = q.HierBayes(sweeps=400).fit(made)
    assert "speak against" in " ".join(merged.fit.notes)


def test_an_interrupt_keeps_what_was_drawn(crowd: q.Judgements) -> None:
    told: list[tuple[int, int, float]] = []

    def stop(done: int, at_most: int, objective: float) -> None:
        told.append((done, at_most, objective))
        if done == 400:
            raise KeyboardInterrupt

    with pytest.warns(NotConvergedWarning, match="interrupted after 4") as caught:
        merged = q.HierBayes(sweeps=600).fit(crowd, q.Given(progress=stop))
    assert "interrupted" in str(caught[0].message)
    assert 400 <= merged.fit.iterations < 600
    assert merged.details["chains"].draws == merged.fit.iterations - 300
    assert not merged.fit.converged
    assert np.isfinite(merged.posterior).all()
    assert merged.samples is not None
    assert merged.samples.shape[1] > 0
    assert all(np.isfinite(worst) for done, _, worst in told if done > 20)


def test_an_interrupt_before_any_draw_is_an_interrupt(crowd: q.Judgements) -> None:
    def stop(done: int, at_most: int, objective: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        q.HierBayes(sweeps=600).fit(crowd, q.Given(progress=stop))


def test_seeds_differ(crowd: q.Judgements, merged: q.Merged) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        other = q.HierBayes(sweeps=600, seed=1).fit(crowd)
    assert not np.array_equal(other.posterior, merged.posterior)
    assert np.abs(other.posterior - merged.posterior).max() < 0.15


def test_whole_weights_are_repetitions(crowd: q.Judgements) -> None:
    """A judgement of weight 2 is two judgements."""
    twice = np.flatnonzero(np.arange(len(crowd)) % 3 == 0)
    rows = np.sort(np.concatenate([np.arange(len(crowd)), twice]))
    names = (crowd.pairs.topic_names, crowd.pairs.document_names, crowd.assessors.names)
    repeated = q.Judgements.of(
        names[0][crowd.pair[rows]],
        names[1][crowd.pair[rows]],
        names[2][crowd.assessor[rows]],
        crowd.grade[rows],
    )
    weight = np.where(np.arange(len(crowd)) % 3 == 0, 2.0, 1.0)
    weighted = q.Judgements(
        crowd.pairs, crowd.assessors, crowd.scale, crowd.pair, crowd.assessor, crowd.grade, weight
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        one, other = (q.HierBayes(sweeps=1000).fit(made) for made in (weighted, repeated))
    assert np.abs(one.posterior - other.posterior).max() < 0.08


def test_warmup_must_leave_draws(crowd: q.Judgements) -> None:
    with pytest.raises(ParameterError, match="warmup must leave"):
        q.HierBayes(sweeps=100, warmup=95).fit(crowd)


def test_several_grades() -> None:
    made = q.simulate("graded", topics=3, documents=60, assessors=12, votes=6, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged = q.HierBayes(sweeps=400).fit(made.judgements)
    size = len(made.judgements.scale)
    assert merged.details["chains"]["accuracy"].shape == (3, 200, 12, size)
    rows = [merged.assessors[f"p({h}|{g})"] for g in range(size) for h in range(size)]
    np.testing.assert_allclose(np.reshape(rows, (size, size, -1)).sum(axis=1), 1.0)


def test_trec_rf10(real_data: Any) -> None:
    crowd = q.read_judgements(real_data / "trec_rf10" / "judgements.tsv.gz")
    gold = q.read_qrels(real_data / "trec_rf10" / "gold.qrels.gz")
    merged = q.HierBayes().fit(crowd)
    assert merged.fit.converged
    assert merged.details["parameters"]["rhat"].max() <= 1.01
    at = merged.pairs.locate(gold.pairs)
    known = at >= 0
    right = merged.grades()[at[known]] == gold.grade[known]
    assert right.mean() > 0.69


@pytest.mark.parametrize(
    "method", [q.HierBayes(sweeps=400, kappa_min=6.0), q.HierVB(kappa_min=6.0)]
)
def test_sizes_stay_above_their_smallest(method: Any, crowd: q.Judgements) -> None:
    """Chains that started below it once ran away to sizes of 1e300."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        table = method.fit(crowd).details["parameters"]
    for name in ("kappa_prevalence", "kappa_specificity", "kappa_sensitivity"):
        assert 6.0 - 1e-9 <= table.of(name, "mean")[0] < 1e4


@pytest.mark.parametrize("preset", [{}, {"grades": 3}])
def test_log_likelihood_by_loops(preset: dict[str, Any]) -> None:
    made = q.simulate(topics=2, documents=8, assessors=4, votes=3, seed=5, **preset)
    rows, gold = made.judgements, made.gold[made.gold.topics.split(0.5, seed=1)[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged = q.HierBayes(sweeps=60, draws=21).fit(rows, q.Given(gold=gold))
    chains = merged.details.chains
    assert chains is not None
    assert chains.likelihood is not None
    found = chains.likelihood.work_out()
    assert found.shape == (3, 7, len(chains.likelihood.pairs))
    assert np.isfinite(found).all()
    if len(rows.scale) > 2:
        return
    known = dict(
        zip(gold.pairs.topic_names + " " + gold.pairs.document_names, gold.grade, strict=True)
    )
    pair_names = rows.pairs.topic_names + " " + rows.pairs.document_names
    at = chains.likelihood.draws[4]
    for column, name in enumerate(chains.likelihood.pairs):
        pair = int(np.flatnonzero(pair_names == name)[0])
        p = float(chains["prevalence"][1, at, rows.pairs.topic[pair]])
        both = np.array([1 - p, p])
        for who, said in zip(
            rows.assessor[rows.pair == pair], rows.grade[rows.pair == pair], strict=True
        ):
            yes = float(chains["sensitivity"][1, at, who])
            no = float(chains["specificity"][1, at, who])
            both *= [no, 1 - yes] if said == 0 else [1 - no, yes]
        whole = both[known[name]] if name in known else both.sum()
        np.testing.assert_allclose(found[1, 4, column], np.log(whole), rtol=2e-4)


def test_arviz_leaves_one_out(crowd: q.Judgements) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz", reason="an extra")
        chains = q.HierBayes(sweeps=600).fit(crowd).details.chains
        assert chains is not None
        found = arviz.loo(chains.to_arviz(log_likelihood=True))
    assert np.isfinite(float(getattr(found, "elpd_loo", getattr(found, "elpd", np.nan))))


def test_more_draws_than_memory_are_refused(crowd: q.Judgements) -> None:
    with pytest.raises(ParameterError, match="GB of memory; ask for fewer"):
        q.HierBayes(sweeps=10**9, draws=10**9).fit(crowd)
