"""Machine judges against a few human labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qrowd as q
from qrowd.cli.main import command
from qrowd.errors import InputError, ScaleError, UsageError
from qrowd.quality.machine_judges import judge_table


@pytest.fixture(scope="module")
def crowd() -> tuple[q.Judgements, q.Qrels]:
    """Twins a and b err alike; c errs alone; yes always agrees; opposite never does."""
    random = np.random.default_rng(1)
    topics = np.repeat([f"t{k}" for k in range(6)], 50)
    docs = np.array([f"d{k:03d}" for k in range(300)])
    truth = (random.random(300) < 0.4).astype(int)
    flip, own = random.random(300) < 0.2, random.random(300) < 0.2
    said = {
        "a": truth ^ flip,
        "b": truth ^ flip,
        "c": truth ^ own,
        "opposite": 1 - truth,
        "yes": np.ones(300, int),
    }
    names = np.repeat(list(said), 300)
    rows = np.tile(topics, 5), np.tile(docs, 5), names, np.concatenate(list(said.values()))
    return q.Judgements.of(*rows), q.Qrels.of(topics, docs, truth)


def test_figures_by_hand(crowd: tuple[q.Judgements, q.Qrels]) -> None:
    judgements, truth = crowd
    table = q.judges(judgements, truth)
    said = judgements.by_assessor()
    for k, name in enumerate(table.assessors):
        grade, right = said.qrels(name).grade, truth.grade
        assert table["rate"][k] == pytest.approx(grade.mean())
        assert table["sensitivity"][k] == pytest.approx(grade[right == 1].mean())
        assert table["specificity"][k] == pytest.approx(1 - grade[right == 0].mean())
        assert table["bias"][k] == pytest.approx(grade.mean() - right.mean())
        agreed = (grade == right).mean()
        chance = grade.mean() * right.mean() + (1 - grade.mean()) * (1 - right.mean())
        assert table["kappa"][k] == pytest.approx((agreed - chance) / (1 - chance), abs=1e-12)
        assert table["kappa_low"][k] <= table["kappa"][k] <= table["kappa_high"][k]


def test_who_errs_alike(crowd: tuple[q.Judgements, q.Qrels]) -> None:
    table = q.judges(*crowd)
    groups = dict(zip(table.assessors, table["group"].tolist(), strict=True))
    assert groups["a"] == groups["b"] > 0
    assert groups["c"] == groups["opposite"] == groups["yes"] == 0


def test_a_sample_counts_by_its_probabilities(crowd: tuple[q.Judgements, q.Qrels]) -> None:
    judgements, truth = crowd
    relevant = truth.grade == 1
    chance = np.where(relevant, 0.9, 0.3)
    biases = []
    for seed in range(200):
        chosen = np.random.default_rng(seed).random(300) < chance
        few = q.Sample(truth.pairs.select(chosen), chance[chosen], "weight", truth.grade[chosen])
        biases.append(judge_table(judgements, few)["bias"][0])
    whole = judge_table(judgements, truth)["bias"][0]
    assert np.mean(biases) == pytest.approx(whole, abs=0.01)


def test_bad_labels(crowd: tuple[q.Judgements, q.Qrels]) -> None:
    judgements, truth = crowd
    with pytest.raises(ScaleError, match="--gold-rel"):
        q.judges(judgements, q.Qrels(truth.pairs, truth.grade * 3))
    with pytest.raises(InputError, match="no human label is about a pair"):
        q.judges(judgements, q.Qrels.of(["x"], ["y"], [1]))


def test_by_command_with_runs(tmp_path: Path) -> None:
    made = q.simulate(topics=6, documents=40, assessors=4, votes=4, runs=5, seed=1)
    q.save(made.judgements, tmp_path / "llm.tsv")
    q.save(made.runs, tmp_path / "all.run")
    q.save(made.truth, tmp_path / "few.qrels")
    asked = ["judges", f"{tmp_path}/llm.tsv", "--human", f"{tmp_path}/few.qrels"]
    done = CliRunner().invoke(command, [*asked, "--runs", f"{tmp_path}/all.run"])
    assert done.exit_code == 0, done.output
    header, *rows = done.output.splitlines()
    assert header.split("\t")[-1] == "tau_ap"
    kappas = [float(row.split("\t")[4]) for row in rows]
    assert kappas == sorted(kappas, reverse=True)
    truth = q.evaluate(made.runs, made.truth, "nDCG@10").means()[0, 0]
    each = q.evaluate(made.runs, made.judgements.by_assessor(), "nDCG@10").means()[0]
    by_name = {row.split("\t")[0]: float(row.split("\t")[-1]) for row in rows}
    for name, scores in zip(made.judgements.assessors, each, strict=True):
        assert by_name[name] == pytest.approx(float(q.tau_ap(scores, truth)))


@pytest.fixture
def mixed(crowd: tuple[q.Judgements, q.Qrels]) -> q.Judgements:
    """Three machines; an expert who is always wrong; somebody unknown."""
    return crowd[0].with_kind("machine", "[abc]").with_kind("expert", "opposite")


def test_only_machines_are_compared_where_kinds_are_known(
    crowd: tuple[q.Judgements, q.Qrels], mixed: q.Judgements
) -> None:
    alone = q.judges(crowd[0].of_assessors(q.Index.of("abc")), crowd[1])
    table = q.judges(mixed, crowd[1])
    assert list(table.assessors) == ["a", "b", "c"]
    for name, column in alone.columns.items():
        assert np.array_equal(table[name], column, equal_nan=True)
    with pytest.raises(UsageError, match="no judgement is by an assessor of the kind machine"):
        q.judges(crowd[0].with_kind("expert", "yes"), crowd[1])


def test_experts_are_the_human_where_there_is_no_other(
    crowd: tuple[q.Judgements, q.Qrels], mixed: q.Judgements
) -> None:
    opposite = q.Qrels(crowd[1].pairs, 1 - crowd[1].grade)  # whatever is true
    assert np.array_equal(q.judges(mixed)["kappa"], q.judges(mixed, opposite)["kappa"])
    with pytest.raises(UsageError, match="of the kind expert; name human labels: --human"):
        q.judges(crowd[0])


def test_who_is_left_out_is_said(
    crowd: tuple[q.Judgements, q.Qrels], mixed: q.Judgements, tmp_path: Path
) -> None:
    q.save(crowd[0], tmp_path / "all.tsv")
    q.save(mixed, tmp_path / "mixed.tsv")
    q.save(crowd[1], tmp_path / "few.qrels")
    few = ["--human", f"{tmp_path}/few.qrels"]
    named = ["--machines", "a", "--machines", "[bc]"]
    by_pattern = CliRunner().invoke(command, ["judges", f"{tmp_path}/all.tsv", *named, *few])
    by_file = CliRunner().invoke(command, ["judges", f"{tmp_path}/mixed.tsv", *few])
    assert by_pattern.exit_code == by_file.exit_code == 0, by_file.output
    assert by_pattern.stdout == by_file.stdout
    assert len(by_file.stdout.splitlines()) == 4
    assert by_file.stderr == "left out, not known to be a machine: 2 assessors\n"
    alone = CliRunner().invoke(command, ["judges", f"{tmp_path}/mixed.tsv"])
    assert alone.stderr.startswith("human labels: those of 1 expert\n")


def test_two_judges_are_compared_topic_by_topic() -> None:
    """The paired difference of kappas and its jackknife, by a plain loop over topics."""
    import numpy as np
    from scipy.stats import t

    made = q.simulate(topics=8, documents=30, assessors=3, votes=3, seed=4)
    names = list(made.judgements.assessors)
    table = q.judges(made.judgements, made.truth, against=names[1])

    def difference(topics: list[str]) -> float:
        part = made.judgements[made.judgements.topics.chosen(q.Index.of(topics))]
        kappa = dict(zip(names, q.judges(part, made.truth)["kappa"], strict=True))
        return float(kappa[names[0]] - kappa[names[1]])

    topics = list(made.judgements.topics)
    whole = difference(topics)
    without = np.array([difference([each for each in topics if each != name]) for name in topics])
    spread = np.sqrt(((without - without.mean()) ** 2).sum() * 7 / 8)
    reach = t.ppf(0.95, 7) * spread
    assert table["more"][0] == pytest.approx(whole)
    assert table["more_low"][0] == pytest.approx(whole - reach)
    assert table["more_high"][0] == pytest.approx(whole + reach)
    assert (table["more"][1], table["more_low"][1]) == (0, 0)
