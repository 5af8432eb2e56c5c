"""Machine judges against a few human labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qrowd as q
from qrowd.cli.main import command
from qrowd.data.collected import grades_of
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


def test_the_order_of_systems_is_compared_over_the_same_topics() -> None:
    """A judge who is right is nearer than one who is often wrong, surely; and not than itself."""
    made = q.simulate(topics=30, documents=40, assessors=2, votes=2, runs=12, text=None, seed=4)
    rows = made.truth.to_polars()
    wrong = np.random.default_rng(1).random(len(rows)) < 0.35
    grades = np.concatenate([rows["grade"], np.where(wrong, 1 - rows["grade"], rows["grade"])])
    names = np.repeat(["right", "sloppy"], len(rows))
    topics, docs = (np.tile(rows[name].to_numpy(), 2) for name in ("topic", "doc"))
    crowd = q.Judgements.of(topics, docs, names, grades)
    table = q.judges(crowd, made.truth, made.runs, against="sloppy")
    right, sloppy = table.assessors.code("right", "judge"), table.assessors.code("sloppy", "judge")
    assert table["more_tau_ap"][right] == pytest.approx(
        table["tau_ap"][right] - table["tau_ap"][sloppy]
    )
    assert table["more_tau_ap_low"][right] > 0
    for end in ("more_tau_ap", "more_tau_ap_low", "more_tau_ap_high"):
        assert table[end][sloppy] == 0


@pytest.fixture
def favouring() -> tuple[q.Judgements, q.Qrels, q.RunSet]:
    """Judges a/x and b/x; a/x calls relevant much that only run a1 and a2 have on top."""
    made = q.simulate(topics=20, documents=60, assessors=2, votes=2, runs=6, alike=0.1, seed=3)
    truth, random = made.truth, np.random.default_rng(2)
    named = {"run01": "a1", "run02": "a2"}
    frame = made.runs.to_polars()
    frame = frame.with_columns(run=frame["run"].replace(named))
    run, topic, doc, score = (frame[name].to_numpy() for name in ("run", "topic", "doc", "score"))
    runs = q.RunSet.of(run, topic, doc, score)
    own = truth.pairs.locate(runs.of_runs(q.Index.of(["a1", "a2"])).pool(10))
    other = truth.pairs.locate(
        runs.of_runs(q.Index.of([r for r in runs.runs if r not in named.values()])).pool(10)
    )
    flattered = np.zeros(len(truth), bool)
    flattered[np.setdiff1d(own, other)] = True
    said = [
        np.where(flattered & (random.random(len(truth)) < 0.7), 1, truth.grade),
        np.where(random.random(len(truth)) < 0.1, 1 - truth.grade, truth.grade),
    ]
    topics, docs = np.tile(truth.pairs.topic_names, 2), np.tile(truth.pairs.document_names, 2)
    names = np.repeat(["a/x", "b/x"], len(truth))
    return q.Judgements.of(topics, docs, names, np.concatenate(said)), truth, runs


def test_who_favours_runs_of_the_own_family(
    favouring: tuple[q.Judgements, q.Qrels, q.RunSet],
) -> None:
    judgements, truth, runs = favouring
    families = {"a1": "a*", "a2": "a*", "run03": "b*"}
    table = q.judges(judgements, truth, runs, families=families)
    assert table["own_low"][0] > 0
    assert table["own_low"][1] < 0 < table["own_high"][1]
    # by plain loops over the runs' first ten: what more of them has counts more
    right = grades_of(truth)
    said = grades_of(judgements.by_assessor().qrels("a/x"))
    gaps, weights = [], []
    for grade in (0, 1):
        own, others = (
            [
                (said[pair], 1 / (2 if mine else 4))
                for run in runs.runs
                if (run in ("a1", "a2")) == mine
                for pair in pairs_of(runs.of_runs(q.Index.of([run])).pool(10))
                if right[pair] == grade
            ]
            for mine in (True, False)
        )
        rates = [
            sum(grade * weight for grade, weight in rows) / sum(weight for _, weight in rows)
            for rows in (own, others)
        ]
        many = [sum(weight for _, weight in rows) for rows in (own, others)]
        gaps.append(rates[0] - rates[1])
        weights.append(many[0] * many[1] / sum(many))
    assert table["own"][0] == pytest.approx(np.average(gaps, weights=weights))
    with pytest.raises(UsageError, match="families are of runs"):
        q.judges(judgements, truth, families=families)
    with pytest.raises(InputError, match="no run is in a family"):
        q.judges(judgements, truth, runs, families={"a9": "a*"})
    with pytest.raises(InputError, match="no judge has a run in its family"):
        q.judges(judgements, truth, runs, families={"a1": "c*"})


def pairs_of(pairs: q.Pairs) -> list[tuple[str, str]]:
    return list(zip(pairs.topic_names.tolist(), pairs.document_names.tolist(), strict=True))


def test_families_by_command(
    favouring: tuple[q.Judgements, q.Qrels, q.RunSet], tmp_path: Path
) -> None:
    judgements, truth, runs = favouring
    q.save(judgements, tmp_path / "llm.tsv")
    q.save(truth, tmp_path / "few.qrels")
    q.save(runs, tmp_path / "all.run")
    (tmp_path / "families.tsv").write_text("run\tgroup\na1\ta*\na2\ta*\n")
    files = [f"{tmp_path}/llm.tsv", "--human", f"{tmp_path}/few.qrels"]
    more = ["--runs", f"{tmp_path}/all.run", "--families", f"{tmp_path}/families.tsv"]
    done = CliRunner().invoke(command, ["judges", *files, *more])
    assert done.exit_code == 0, done.output
    header = done.stdout.splitlines()[0].split("\t")
    assert header[-4:] == ["own", "own_low", "own_high", "tau_ap"]
    assert "a/x surely favours what runs of its own family have on top" in done.stderr
    assert "looks better on them than it is" not in done.stderr  # no two prompts of one model


def test_a_choice_among_prompts_is_cautioned(
    crowd: tuple[q.Judgements, q.Qrels], tmp_path: Path
) -> None:
    frame = crowd[0].to_polars()
    named = {"a": "gpt/graded", "b": "gpt/umbrela"}
    frame.with_columns(frame["assessor"].replace(named)).write_csv(
        tmp_path / "llm.tsv", separator="\t"
    )
    q.save(crowd[1], tmp_path / "few.qrels")
    done = CliRunner().invoke(
        command, ["judges", f"{tmp_path}/llm.tsv", "--human", f"{tmp_path}/few.qrels"]
    )
    assert done.exit_code == 0, done.output
    assert "note: a judge or prompt that was chosen on these labels looks better" in done.stderr
