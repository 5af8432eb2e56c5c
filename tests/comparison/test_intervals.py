from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from qrowd.comparison.intervals import intervals
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import ParameterError, UnknownNameError, UsageError


def of_draws(values: Floats, measures: tuple[str, ...] = ("AP",), axis: str = "draw") -> Scores:
    """values[draw, topic, run] (or with measures first) as scores."""
    dense = values.reshape(len(measures), *values.shape[-3:])
    names = [
        Index.of(f"{letter}{at:04d}" for at in range(size))
        for letter, size in zip("xtr", dense.shape[1:], strict=True)
    ]
    return Scores(measures, axis, names[0], names[1], names[2], dense)


@pytest.fixture
def values() -> Floats:
    random = np.random.default_rng(1)
    quality = np.array([0.5, 0.48, 0.3, 0.1])
    return quality + random.normal(0, 0.05, (400, 6, 4)) + random.normal(0, 0.1, (1, 6, 1))


def test_draws_by_plain_loops(values: Floats) -> None:
    found = intervals(of_draws(values), over="draws", level=0.8)
    means = values.mean(axis=1)
    assert found.mean[0] == pytest.approx(means.mean(axis=0))
    assert found.low[0] == pytest.approx(np.quantile(means, 0.1, axis=0))
    assert found.high[0] == pytest.approx(np.quantile(means, 0.9, axis=0))
    assert found.place[0].tolist() == [1, 2, 3, 4]
    above = np.mean([row[0] > row[1] for row in means])
    assert found.probability("r0000", "r0001") == pytest.approx(above)
    assert found.probability("r0001", "r0000") == pytest.approx(1 - above)
    ranks = np.array([stats.rankdata(-row) for row in means])
    for run in range(4):
        share = np.mean(
            (ranks[:, run] >= found.place_low[0, run]) & (ranks[:, run] <= found.place_high[0, run])
        )
        assert share >= 0.8
    wins = [np.mean(means.argmax(axis=1) == run) for run in range(4)]
    assert found.best[0] == pytest.approx(wins)
    assert found.contenders() == ("r0000", "r0001")


def test_the_set_is_the_smallest_that_holds_the_best() -> None:
    draws = np.eye(4)[np.repeat([0, 1, 2, 3], [50, 30, 16, 4])][:, None, :]
    scores = of_draws(draws)
    assert intervals(scores, containing=0.5).contenders() == ("r0000",)
    assert intervals(scores, containing=0.8).contenders() == ("r0000", "r0001")
    assert len(intervals(scores, containing=0.95).contenders()) == 3
    assert len(intervals(scores, containing=0.97).contenders()) == 4


def test_ties_count_half_and_share_the_best_place() -> None:
    found = intervals(of_draws(np.full((10, 2, 3), 0.5)), over="draws")
    assert found.beats[0] == pytest.approx(np.full((3, 3), 0.5))
    assert found.best[0] == pytest.approx(np.full(3, 1 / 3))
    assert found.place_low[0].tolist() == [2, 2, 2]


def test_topics_alone_are_a_bootstrap(values: Floats) -> None:
    scores = of_draws(values[:1], axis="")
    found = intervals(scores, replicates=4000, level=0.9, seed=3)
    assert found.over == "topics"
    error = values[0].std(axis=0, ddof=1) / np.sqrt(6)
    assert (found.high - found.low)[0] == pytest.approx(2 * 2.015 * error, rel=0.12)  # t, 5 d.f.
    again = intervals(scores, replicates=4000, level=0.9, seed=3)
    assert np.array_equal(found.low, again.low)
    assert not np.array_equal(found.low, intervals(scores, replicates=4000, seed=4).low)


def test_over_both_other_topics_and_the_truth_of_these_are_held() -> None:
    """A belief that is right: means of these topics, and of all topics, are inside 90 %."""
    random = np.random.default_rng(8)
    here, all_topics = [], []
    for _ in range(120):
        seen = 0.5 + random.normal(0, 0.1, (1, 12, 1))  # what is known of each topic's score
        found = intervals(of_draws(seen + random.normal(0, 0.1, (200, 12, 1))))
        truth = float((seen + random.normal(0, 0.1, seen.shape)).mean())
        low, high = found.low[0, 0], found.high[0, 0]
        here.append(low <= truth <= high)
        all_topics.append(low <= 0.5 <= high)
    assert np.mean(here) > 0.92
    assert np.mean(all_topics) > 0.92


def test_both_are_wider_than_each(values: Floats) -> None:
    scores = of_draws(values)
    wide = {
        over: (found.high - found.low).mean()
        for over in ("draws", "topics", "both")
        for found in [intervals(scores, over=over)]
    }
    assert wide["both"] > wide["topics"] > wide["draws"]
    assert intervals(scores, over="both", replicates=1000).samples == 1200


def test_undefined_topics_are_left_out_of_means(values: Floats) -> None:
    holes = values.copy()
    holes[:, 2, 1] = np.nan
    found = intervals(of_draws(holes))
    assert found.mean[0, 1] == pytest.approx(np.nanmean(holes[:, :, 1]))
    both = intervals(of_draws(holes), over="both")
    assert not np.isnan(both.low).any()


def test_several_measures(values: Floats) -> None:
    found = intervals(of_draws(np.stack([values, -values]), ("AP", "down")), over="draws")
    assert found.contenders("AP") == ("r0000", "r0001")
    assert found.contenders("down") == ("r0003",)
    assert found.beats[1] == pytest.approx(found.beats[0].T)
    with pytest.raises(UnknownNameError, match="measure"):
        found.contenders("RR")


def test_text_json_and_frames(values: Floats) -> None:
    found = intervals(of_draws(values), over="draws")
    lines = str(found).splitlines()
    assert lines[0].split() == ["AP", "score", "place", "90%", "P(best)"]
    assert lines[1].startswith("r0000 *")
    assert any(line.startswith("No intervals of scores are given") for line in lines)
    assert "Intervals of 90% over 400 draws of relevance." in lines
    frame = found.to_polars()
    assert frame["run"].to_list() == ["r0000", "r0001", "r0002", "r0003"]
    assert frame["contender"].to_list() == [True, True, False, False]
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert np.allclose(again["beats"]["AP"], found.beats[0])


def test_ends_of_scores_are_given_only_where_they_hold(values: Floats) -> None:
    for over in ("draws", "topics", "both"):
        found = intervals(of_draws(values), over=over)
        assert not {"low", "high"} & set(found.to_polars().columns)
        told = found.to_dict()
        assert "low" not in told["rows"][0]
        assert any(note.startswith("No intervals of scores") for note in told["notes"])
    official = intervals(of_draws(values[:1], axis=""))
    assert {"low", "high"} <= set(official.to_polars().columns)
    assert "low" in official.to_dict()["rows"][0]
    assert "No intervals of scores" not in str(official)


def test_both_counts_each_source_of_error_once() -> None:
    """Topics' part is of expected scores: draws' own noise is not counted from topic to topic."""
    random = np.random.default_rng(5)
    values = random.normal(0, 0.1, (1, 60, 3)) + random.normal(0, 0.3, (500, 60, 3))
    scores = of_draws(values)
    squares = {
        over: float(((found.high - found.low) ** 2).mean())
        for over in ("draws", "topics", "both")
        for found in [intervals(scores, over=over, replicates=4000)]
    }
    assert squares["both"] == pytest.approx(squares["draws"] + squares["topics"], rel=0.1)


def test_misuse_is_explained(values: Floats) -> None:
    with pytest.raises(UsageError, match="draw axis"):
        intervals(of_draws(values[:1], axis=""), over="draws")
    with pytest.raises(UsageError, match="two or more topics"):
        intervals(of_draws(values[:, :1]), over="both")
    with pytest.raises(UsageError, match="only means were kept: keep='topics'"):
        intervals(of_draws(values).averages(), over="both")
    with pytest.raises(UsageError, match="two or more draws"):
        intervals(of_draws(values[:1]))
    with pytest.raises(UsageError, match="single assessors"):
        intervals(of_draws(values, axis="assessor"))
    with pytest.raises(ParameterError, match="over must be one of"):
        intervals(of_draws(values), over="runs")
    with pytest.raises(ParameterError, match="level must be"):
        intervals(of_draws(values), level=90)


def test_the_matrix_is_printed_for_the_best_runs() -> None:
    noise = np.random.default_rng(0).normal(size=(50, 4, 12)) * 0.01
    found = intervals(of_draws(np.linspace(0.9, 0.1, 12) + noise))
    lines = str(found).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("P(beats), AP"))
    assert lines[at].split()[2:] == found.runs.names[:8].tolist()
    assert lines[at + 1].split()[1:] == ["1.00"] * 7
    assert any("JSON has all" in line for line in lines)


@pytest.mark.parametrize(("topics", "least"), [(4, 0.86), (8, 0.86)])
def test_intervals_of_few_topics_hold_what_they_say(topics: int, least: float) -> None:
    """90 % intervals of normal scores; without Student's width 4 topics would hold .81."""
    held = []
    for world in range(150):
        scores = np.random.default_rng(world).normal(0.4, 0.1, (1, topics, 6))
        found = intervals(of_draws(scores, axis=""), replicates=400, seed=world)
        held.append(((found.low <= 0.4) & (found.high >= 0.4)).mean())
    assert least < np.mean(held) < 0.95


def test_all_that_there_is_by_default(values: Floats) -> None:
    assert intervals(of_draws(values)).over == "both"
    assert intervals(of_draws(values[:, :1])).over == "draws"
    assert intervals(of_draws(values[:1], axis="")).over == "topics"
    assert intervals(of_draws(values).averages()).over == "draws"


def test_scores_are_not_below_zero() -> None:
    scores = np.zeros((1, 3, 2))
    scores[0, 0] = 0.5
    found = intervals(of_draws(scores, axis=""))
    assert (found.low == 0).all()
