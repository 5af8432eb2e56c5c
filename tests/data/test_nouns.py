from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qrowd as q
from qrowd.data.merged import AssessorTable, Fit, Merged, tied_argmax
from qrowd.data.qrels import NOT_JUDGED, QrelsSet
from qrowd.errors import InputError, ParameterError, ScaleError, UnknownNameError

rows = st.lists(
    st.tuples(
        st.sampled_from(["1", "10", "9"]),
        st.sampled_from(["a", "b", "é", "B"]),
        st.sampled_from(["x", "y"]),
        st.sampled_from([0, 1, 3]),
    ),
    min_size=1,
)


def judgements(table: list[tuple[str, str, str, int]]) -> q.Judgements:
    topics, documents, assessors, grades = zip(*table, strict=True)
    return q.Judgements.of(topics, documents, assessors, grades, scale=q.Scale((0, 1, 3)))


def as_names(made: q.Judgements) -> list[tuple[str, str, str, int]]:
    names = (
        made.pairs.topic_names[made.pair],
        made.pairs.document_names[made.pair],
        made.assessors.names[made.assessor],
        np.array(made.scale.grades)[made.grade].tolist(),
    )
    return list(zip(*names, strict=True))


@given(rows)
@settings(deadline=None)
def test_judgements_hold_what_they_were_made_of_in_one_order(
    table: list[tuple[str, str, str, int]],
) -> None:
    made = judgements(table)
    assert as_names(made) == sorted(table)
    again = judgements(table[::-1])
    for field in ("pair", "assessor", "grade"):
        assert np.array_equal(getattr(made, field), getattr(again, field))


def test_extras_follow_their_rows_and_repeats_are_sorted_by_time() -> None:
    made = q.Judgements.of(
        ["1", "1", "1"], ["b", "a", "a"], ["x"] * 3, [0, 0, 1], time=np.array([3.0, 2.0, 1.0])
    )
    assert made.time is not None
    assert made.time.tolist() == [1.0, 2.0, 3.0]
    assert made.grade.tolist() == [1, 0, 0]
    assert made.by_assessor().qrels("x").grade.tolist() == [0, 0]  # a: the latest


def test_repeats_without_time_take_the_commonest_grade_then_the_lower() -> None:
    made = q.Judgements.of(["1"] * 5, ["a", "a", "a", "b", "b"], ["x"] * 5, [1, 1, 0, 0, 1])
    assert made.by_assessor().qrels("x").grade.tolist() == [1, 0]
    assert made.one_each().grade.tolist() == [1, 0]
    assert len(made.one_each().one_each()) == 2


def test_one_each_keeps_the_latest_with_its_seconds() -> None:
    extras: dict[str, Any] = {
        "time": np.array([2.0, 1.0, 5.0]),
        "seconds": np.array([20.0, 10.0, 50.0]),
    }
    made = q.Judgements.of(["1"] * 3, ["a", "a", "b"], ["x"] * 3, [0, 1, 1], **extras)
    single = made.one_each()
    assert single.grade.tolist() == [0, 1]
    assert single.seconds is not None
    assert single.seconds.tolist() == [20.0, 50.0]


@pytest.mark.parametrize(
    ("extras", "message"),
    [
        ({"weight": np.array([1.0, np.nan])}, "weight must be a finite number of at least 0"),
        ({"weight": np.array([-1.0, 1.0])}, "got -1.0"),
        ({"seconds": np.array([1.0, -2.0])}, "seconds must be"),
        ({"time": np.array([np.inf, 0.0])}, "time must be a finite number, got inf"),
    ],
)
def test_bad_extras_are_refused(extras: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        q.Judgements.of(["1", "1"], ["a", "b"], ["x", "x"], [0, 1], **extras)


def test_a_grade_off_the_scale_names_its_row() -> None:
    with pytest.raises(InputError, match="grade 2 is not on the scale 0 1") as caught:
        q.Judgements.of(["1", "1"], ["a", "b"], ["x", "x"], [0, 2], scale=q.Scale((0, 1)))
    assert caught.value.row == 1


def test_selections() -> None:
    made = judgements([("1", "a", "x", 0), ("1", "a", "y", 1), ("9", "b", "y", 3)])
    only_y = made.of_assessors(q.Index.of(["y", "nobody"]))
    assert as_names(only_y) == [("1", "a", "y", 1), ("9", "b", "y", 3)]
    assert len(only_y.pairs) == 2
    nine = made[q.Index.of(["9"])]
    assert as_names(nine) == [("9", "b", "y", 3)]
    assert list(nine.topics) == ["9"]
    assert made.binary(at_least=3).votes.tolist() == [[2, 0], [0, 1]]
    assert made.votes.tolist() == [[1, 1, 0], [0, 0, 1]]


def test_gold_enlarges_the_pool_and_is_coded() -> None:
    made = judgements([("1", "b", "x", 0)])
    gold = q.Qrels.of(["1", "2"], ["a", "b"], [3, 0])
    pooled, codes = q.Given(gold=gold).with_gold(made)
    assert list(zip(pooled.pairs.topic_names, pooled.pairs.document_names, strict=True)) == [
        ("1", "a"),
        ("1", "b"),
        ("2", "b"),
    ]
    assert codes.tolist() == [2, -1, 0]
    assert as_names(pooled) == [("1", "b", "x", 0)]
    assert q.Given(gold=gold).with_gold(made, clamp=False)[1].tolist() == [-1, -1, -1]


def test_gold_on_another_scale_names_the_option() -> None:
    made = q.Judgements.of(["1"], ["a"], ["x"], [1])
    with pytest.raises(ScaleError, match="--gold-rel"):
        q.Given(gold=q.Qrels.of(["1"], ["a"], [2])).with_gold(made)


def test_gold_beside_graded_judgements_needs_two_cuts() -> None:
    made = q.Judgements.of(["1", "1"], ["a", "b"], ["x", "x"], [1, 4])
    gold = q.Qrels.of(["1", "1"], ["a", "b"], [0, 3])
    for each in (gold, gold.binary(2)):
        with pytest.raises(ScaleError, match=r"make both binary.* --rel and --gold-rel"):
            q.Given(gold=each).with_gold(made)
    assert q.Given(gold=gold.binary(2)).with_gold(made.binary(3))[1].tolist() == [0, 1]


def test_negative_gold_is_not_relevant_where_judgements_have_no_such_grade() -> None:
    gold = q.Given(gold=q.Qrels.of(["1", "1"], ["a", "b"], [-2, 1]))
    binary = q.Judgements.of(["1", "1"], ["a", "b"], ["x", "x"], [1, 0])
    assert gold.with_gold(binary)[1].tolist() == [0, 1]
    with_negatives = q.Judgements.of(["1", "1"], ["a", "b"], ["x", "x"], [-2, 1])
    assert with_negatives.scale.grades == (-2, 1)
    assert gold.with_gold(with_negatives)[1].tolist() == [0, 1]
    from_one = q.Judgements.of(["1", "1"], ["a", "b"], ["x", "x"], [1, 2])
    with pytest.raises(ScaleError, match="gold has grades -2 1 but judgements have 1 2"):
        gold.with_gold(from_one)


def test_scale_of_grades_that_occur() -> None:
    assert q.Scale.of(np.array([1, 1])).grades == (0, 1)
    assert q.Scale.of(np.array([4, 1, 2])).grades == (1, 2, 4)
    assert not q.Scale((1, 2)).binary  # everything is relevant
    assert q.Scale((1, 2), relevant_from=2).binary
    with pytest.raises(ScaleError, match="two or more ascending"):
        q.Scale((1,))


def test_qrels_refuse_two_grades_for_a_pair_but_not_the_same_twice() -> None:
    assert len(q.Qrels.of(["1", "1"], ["a", "a"], [1, 1])) == 1
    with pytest.raises(InputError, match="has grade 2 here and 1 earlier") as caught:
        q.Qrels.of(["1", "1", "1"], ["a", "b", "a"], [1, 0, 2])
    assert caught.value.row == 2
    with pytest.raises(InputError, match="between -127 and 127"):
        q.Qrels.of(["1"], ["a"], [1000])


@given(rows)
@settings(deadline=None)
def test_qrels_set_blocks_equal_the_single_columns(table: list[tuple[str, str, str, int]]) -> None:
    made = judgements(table)
    columns = made.by_assessor()
    for topic, name in enumerate(made.topics):
        block = columns.block(topic, 0, len(columns))
        for at, assessor in enumerate(columns.columns):
            single = columns.qrels(assessor)
            wanted: Any = single[q.Index.of([name])].grade if name in single.topics else []
            assert [g for g in block[:, at] if g != NOT_JUDGED] == list(wanted)


def test_locate_and_union() -> None:
    one = q.Pairs.of(["1", "2"], ["a", "b"])
    other = q.Pairs.of(["2", "1", "3"], ["b", "z", "a"])
    assert one.locate(other).tolist() == [-1, 1, -1]
    both = one.union(other)
    assert len(both) == 4
    assert both.locate(one).tolist() == [0, 2]
    assert one.union(one) is one
    assert q.Pairs.of([], []).locate(one).tolist() == [-1, -1]


def test_index_split_is_disjoint_and_seeded() -> None:
    index = q.Index.of([f"t{i}" for i in range(10)])
    train, test = index.split(0.3, seed=7)
    assert (len(train), len(test)) == (3, 7)
    assert sorted([*train, *test]) == list(index)
    assert index.split(0.3, seed=7)[0] == train
    with pytest.raises(ParameterError):
        index.split(1.0, seed=0)


def test_runs_are_ranked_as_trec_eval_does() -> None:
    scores = [1.0, 1.0 + 1e-9, 2.0, -0.0, 0.0]  # the first two are equal as float32
    runs = q.RunSet.of(["r"] * 5, ["1"] * 5, ["b", "a", "c", "d", "e"], scores)
    documents, lengths = runs.lists(0)
    assert [runs.documents.names[d] for d in documents[0]] == ["c", "b", "a", "e", "d"]
    assert lengths.tolist() == [5]


def test_a_document_twice_in_a_run_is_refused_at_its_second_row() -> None:
    with pytest.raises(InputError, match="document a appears twice in run r for topic 1") as caught:
        q.RunSet.of(["r"] * 3, ["1"] * 3, ["a", "b", "a"], [3, 2, 1])
    assert caught.value.row == 2


def merged(posterior: list[list[float]]) -> Merged:
    n = len(posterior)
    return Merged(
        q.Pairs.of([str(i) for i in range(n)], ["d"] * n),
        q.Scale((0, 1)),
        np.array(posterior),
        AssessorTable(q.Index.of([])),
        Fit("test"),
        np.zeros(n, np.bool_),
    )


def test_ties_follow_the_one_rule() -> None:
    half = merged([[0.5, 0.5]] * 400)
    assert set(half.grades("relevant")) == {1}
    assert set(half.grades("nonrelevant")) == {0}
    coins = half.grades("coin", seed=3)
    assert 150 < coins.sum() < 250
    assert np.array_equal(coins, half.grades("coin", seed=3))
    assert not np.array_equal(coins, half.grades("coin", seed=4))
    with pytest.raises(ParameterError, match="ties must be one of"):
        half.grades("heads")


def test_coins_depend_on_the_pair_alone() -> None:
    many = merged([[0.5, 0.5]] * 50)
    few = many.pairs.select(np.arange(50) % 2 == 0)
    chosen = tied_argmax(np.full((25, 2), 0.5), few)
    assert np.array_equal(chosen, tied_argmax(np.full((50, 2), 0.5), many.pairs)[::2])


def test_draws_follow_the_posterior() -> None:
    draws = merged([[0.9, 0.1], [0.0, 1.0], [1.0, 0.0]]).draws(4000, seed=1)
    share = np.array([draws.block(t, 0, 4000)[0].mean() for t in range(3)])
    assert abs(share[0] - 0.1) < 0.02
    assert share[1:].tolist() == [1, 0]
    assert isinstance(draws, QrelsSet)
    assert draws.axis == "draw"


def test_scores_mean_leaves_undefined_topics_out() -> None:
    values = np.array([[[[1.0, 0.5], [np.nan, 0.0]]]])
    scores = q.Scores(
        ("AP",), "", q.Index.of(["-"]), q.Index.of(["1", "2"]), q.Index.of("ab"), values
    )
    assert scores.means().tolist() == [[[1.0, 0.25]]]
    assert scores[q.Index.of(["2"])].values.shape == (1, 1, 1, 2)
    with pytest.raises(UnknownNameError):
        scores[q.Index.of(["3"])]
    with pytest.raises(InputError, match="may not be named 'all'"):
        q.Scores(
            ("AP",),
            "",
            q.Index.of(["-"]),
            q.Index.of(["all"]),
            q.Index.of("a"),
            values[:, :, :1, :1],
        )


@pytest.mark.parametrize("topics", [1, 7])
def test_rows_are_sorted_alike_with_and_without_extras(topics: int) -> None:
    random = np.random.default_rng(topics)
    topic, document, assessor = (
        [f"{letter}{i}" for i in random.integers(0, most, 5_000)]
        for letter, most in (("t", topics), ("d", 900), ("a", 60))
    )
    grades = random.integers(0, 3, 5_000)
    bare = q.Judgements.of(topic, document, assessor, grades)
    weighted = q.Judgements.of(topic, document, assessor, grades, weight=np.ones(5_000))
    assert bare.pairs == weighted.pairs
    assert bare.assessors == weighted.assessors
    for field in ("pair", "assessor", "grade"):
        np.testing.assert_array_equal(getattr(bare, field), getattr(weighted, field))


def test_votes_and_counts_do_not_depend_on_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from qrowd.data import arrays

    random = np.random.default_rng(2)
    t, d, a = ([f"{letter}{i}" for i in random.integers(0, 40, 3_000)] for letter in "tda")
    grades = random.integers(0, 3, 3_000)
    whole = q.Judgements.of(t, d, a, grades)
    votes, counts, starts = whole.votes, whole.per_assessor, whole.pair_starts
    monkeypatch.setattr(arrays, "PIECE", 17)
    apart = q.Judgements.of(t, d, a, grades)
    np.testing.assert_array_equal(apart.votes, votes)
    np.testing.assert_array_equal(apart.per_assessor, counts)
    np.testing.assert_array_equal(apart.pair_starts, starts)
    assert votes.sum() == counts.sum() == starts[-1] == 3_000


def test_an_index_that_holds_a_column_is_copied_and_sent() -> None:
    import polars as pl

    made = q.Index.of_sorted(pl.Series(["a", "b"]))
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
        assert other == made
        assert len(other) == 2


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("bad", [[0, 3, 1], [0, -1, 1], [0, 1]])
def test_codes_outside_their_index_are_refused(bad: list[int], column: int) -> None:
    rows = [[0, 1, 2]] * 3
    rows[column] = bad
    a, b, c = (np.array(each, np.int32) for each in rows)
    for noun in (q.Judgements, q.RunSet):
        with pytest.raises(InputError, match=r"must lie in 0\.\.2|has 2 rows, not 3"):
            noun.from_codes(
                (q.Index.of("abc"), q.Index.of("abc"), q.Index.of("abc")), (a, b, c), np.ones(3)
            )


def test_hashes_of_names_are_those_of_their_bytes_whatever_their_length() -> None:
    names = ["", "a", "ab", "ü日", "a\0b", "x" * 3000, *(f"clueweb09-en{i:05d}" for i in range(40))]
    index = q.Index.of(names)
    codes = np.random.default_rng(1).integers(0, len(index), 200).astype(np.int32)

    def slow(name: str) -> int:
        found = 0xCBF29CE484222325
        for letter in name.encode():
            found = (found ^ letter) * 0x100000001B3 % 2**64 if letter else found
        return found

    assert index.hashes(codes).tolist() == [slow(index.names[code]) for code in codes]
    assert index.hashes(codes[:0]).tolist() == []


def test_judgements_of_two_files_joined() -> None:
    one = q.Judgements.of(["t", "t"], ["a", "b"], ["x", "y"], [1, 0], seconds=np.array([3.0, 4.0]))
    one = one.with_kinds({"x": "person"})
    two = q.Judgements.of(["t", "u"], ["a", "c"], ["z", "x"], [0, 1]).with_kinds({"z": "machine"})
    both = one.joined(two)
    rows = set(
        zip(
            both.pairs.topic_names[both.pair],
            both.pairs.document_names[both.pair],
            both.assessors.names[both.assessor],
            both.grade.tolist(),
            strict=True,
        )
    )
    assert rows == {("t", "a", "x", 1), ("t", "b", "y", 0), ("t", "a", "z", 0), ("u", "c", "x", 1)}
    assert both.kinds is not None
    assert dict(zip(both.assessors, both.kinds, strict=True)) == {
        "x": "person",
        "y": "unknown",
        "z": "machine",
    }
    assert both.seconds is not None
    assert np.nansum(both.seconds) == 7.0
    assert int(np.isnan(both.seconds).sum()) == 2


def test_the_pool_of_runs(tiny_runs: q.RunSet) -> None:
    rows = tiny_runs.to_polars().filter(pl.col("rank") <= 2)
    wanted = sorted(set(rows.select("topic", "doc").iter_rows()))
    pool = tiny_runs.pool(2)
    assert list(zip(pool.topic_names, pool.document_names, strict=True)) == wanted
    assert len(tiny_runs.pool(10**6)) == len(
        set(tiny_runs.to_polars().select("topic", "doc").rows())
    )
