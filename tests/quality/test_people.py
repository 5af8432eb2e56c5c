"""People as units: quantity against quality, and groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import InputError


def table(accuracy: list[float], judgements: list[int]) -> q.AssessorTable:
    names = q.Index.of([f"w{n:02d}" for n in range(len(accuracy))])
    columns = {"accuracy": np.array(accuracy), "judgements": np.array(judgements)}
    return q.AssessorTable(names, columns)


def test_the_more_the_worse() -> None:
    random = np.random.default_rng(1)
    number = random.integers(5, 500, 60)
    good = 0.9 - number / 1000 + random.normal(0, 0.08, 60)
    found = q.quantity(table([*good, np.nan], [*number, 3]))
    assert (found.column, found.people) == ("accuracy", 60)
    assert found.rho == pytest.approx(stats.spearmanr(good, number).statistic)
    assert found.low < found.rho < found.high < 0
    with pytest.raises(InputError, match="too few"):
        q.quantity(table([0.5, 0.6], [1, 2]))


def test_groups_have_people_as_units() -> None:
    good = [0.9, 0.8, 0.85, 0.95, 0.5, 0.55, 0.6, 0.45, 0.7, 0.99]
    where = ["at"] * 4 + ["us"] * 4 + ["it", ""]
    about = {f"w{n:02d}": {"country": place} for n, place in enumerate(where)}
    rows = q.groups(table(good, [1000, 1, 1, 1, 9, 9, 9, 9, 9, 9]), about, ["country"], least=3)
    assert [(row["group"], row["people"]) for row in rows] == [("at", 4), ("us", 4), ("others", 1)]
    assert rows[0]["accuracy"] == pytest.approx(0.875)  # whoever judged a thousand counts once
    interval = stats.t.interval(0.9, 3, 0.875, stats.sem(good[:4]))
    assert (rows[0]["low"], rows[0]["high"]) == pytest.approx(interval)
    assert rows[0]["p"] < 0.02
    assert np.isnan(rows[2]["low"])
    shuffled = {who: {"country": "at" if n % 2 else "us"} for n, who in enumerate(about)}
    same = q.groups(table(good, [1] * 10), shuffled, ["country"], least=3)
    assert same[0]["p"] > 0.2


def test_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = q.simulate(topics=6, documents=40, assessors=16, votes=5, seed=3)
    q.save(made.judgements, tmp_path / "crowd.tsv")
    q.save(made.truth, tmp_path / "gold.qrels")
    names = list(made.judgements.assessors)
    lines = [f"{who}\t{'at' if n % 2 else 'us'}\tyes" for n, who in enumerate(names)]
    (tmp_path / "people.tsv").write_text("\n".join(["assessor\tcountry\ttraining", *lines]))
    base = ["quality", str(tmp_path / "crowd.tsv"), "--gold", str(tmp_path / "gold.qrels")]
    main([*base, "--people", str(tmp_path / "people.tsv"), "--by", "country,training"])
    out = capsys.readouterr().out
    assert [line.split("\t")[:3] for line in out.splitlines()[1:]] == [
        ["country", "at", "8"],
        ["country", "us", "8"],
        ["training", "yes", "16"],
    ]
    with pytest.raises(SystemExit) as stop:
        main([*base, "--people", str(tmp_path / "people.tsv"), "--by", "contry"])
    assert stop.value.code == 2
    assert "did you mean country" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*base, "--by", "country"])
    assert "--people FILE, which was not given" in capsys.readouterr().err


def test_the_picture_of_quantity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `report`")
    made = q.simulate(topics=6, documents=40, assessors=16, votes=5, skew=0.8, seed=3)
    q.save(made.judgements, tmp_path / "crowd.tsv")
    q.save(made.truth, tmp_path / "gold.qrels")
    line = ["quality", str(tmp_path / "crowd.tsv"), "--gold", str(tmp_path / "gold.qrels")]
    main([*line, "--figures", str(tmp_path / "pictures")])
    assert "of 16 people: Spearman's rho" in capsys.readouterr().err
    assert "judgements" in (tmp_path / "pictures" / "quantity.svg").read_text()


def test_a_classifier_learns_from_marked_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the crowd is marked; of the other half it finds who answers without looking."""
    made = q.simulate(topics=10, documents=60, assessors=80, votes=10, seed=5)
    crowd, kinds = made.judgements, made.assessors["kind"]
    bad = np.isin(kinds, ["random", "yes", "no", "pattern"]).astype(int)
    marked = q.AssessorTable(
        q.Index.of(list(crowd.assessors)[::2]), {"bad": bad[::2].astype(float)}
    )
    rule = q.Learned()
    screened = q.screen(crowd, [rule], q.Given(known=marked))
    names = {row.assessor for row in screened.left_out}
    unseen = {name: bool(bad[n]) for n, name in enumerate(crowd.assessors) if n % 2}
    found = [unseen[name] for name in names if name in unseen]
    assert sum(unseen.values()) >= 4
    assert np.mean(found) > 0.8
    assert sum(found) > 0.7 * sum(unseen.values())
    assert "without having seen them" in screened.left_out[0].evidence[0]
    good = {str(n) for n, is_bad in zip(marked.assessors, marked["bad"], strict=True) if not is_bad}
    assert not names & good
    q.save(crowd, tmp_path / "crowd.tsv")
    lines = [f"{who}\t{int(b)}" for who, b in zip(marked.assessors, marked["bad"], strict=True)]
    (tmp_path / "bad.tsv").write_text("\n".join(["assessor\tbad", *lines]) + "\n")
    line = ["quality", str(tmp_path / "crowd.tsv"), "--screen", "learned"]
    main([*line, "--known", str(tmp_path / "bad.tsv")])
    assert f"{len(names)} assessors left out by learned" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(line)
    assert "--known" in capsys.readouterr().err
    few = q.AssessorTable(marked.assessors, {"bad": np.zeros(40)})
    with pytest.raises(InputError, match="both kinds"):
        q.screen(crowd, [rule], q.Given(known=few))


def test_workers_against_their_consensus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = q.simulate(topics=6, documents=40, assessors=16, votes=5, seed=3)
    crowd, gold = made.judgements, made.truth
    merged = q.MajorityVote().fit(crowd)
    rows = q.gain_by_topic(crowd, merged, gold)
    assert len(rows) == 7
    assert rows[0]["topic"] == "all"
    assert rows[0]["low"] < rows[0]["gain"] < rows[0]["high"]
    assert [row["single"] for row in rows[1:]] == sorted(row["single"] for row in rows[1:])
    truth = gold.grade[gold.pairs.locate(crowd.pairs)]
    topic = crowd.pairs.topic_names
    for row in rows[1:]:
        own = topic[crowd.pair] == row["topic"]
        assert row["single"] == pytest.approx((crowd.grade == truth[crowd.pair])[own].mean())
        here = topic == row["topic"]
        assert row["merged"] == pytest.approx(((merged.relevant > 0.5) == truth)[here].mean())
    q.save(crowd, tmp_path / "crowd.tsv")
    q.save(gold, tmp_path / "gold.qrels")
    main(
        [
            "quality",
            str(tmp_path / "crowd.tsv"),
            "--consensus",
            "--gold",
            str(tmp_path / "gold.qrels"),
        ]
    )
    assert capsys.readouterr().out.splitlines()[1].startswith("all\t")
    with pytest.raises(SystemExit):
        main(["quality", str(tmp_path / "crowd.tsv"), "--consensus"])
    assert "--consensus needs --gold" in capsys.readouterr().err
