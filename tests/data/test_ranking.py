"""Rank order as trec_eval has it, beside a slow sort."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import InputError


@pytest.mark.parametrize("kind", ["sorted", "shuffled", "tied", "zeros", "huge"])
def test_ranks_as_a_slow_sort(kind: str) -> None:
    random = np.random.default_rng(4)
    n = 2_000
    scores = {
        "sorted": -np.sort(-random.random(n)),
        "shuffled": random.normal(size=n),
        "tied": random.integers(0, 5, n).astype(float),
        "zeros": random.choice([0.0, -0.0, 1e-60, -1e-60, 1e-30, -1e-30], n),
        "huge": random.choice([1e300, -1e300, 1e39, 3.0, -np.inf, np.inf], n),
    }[kind]
    documents = [f"d{i}" for i in random.permutation(n)]
    topics, runs = (random.choice(["a", "b"], n).tolist() for _ in range(2))
    made = q.RunSet.of(runs, topics, documents, scores)
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    for topic in ("a", "b"):
        for run in ("a", "b"):
            rows = [i for i in range(n) if (topics[i], runs[i]) == (topic, run)]
            rows.sort(key=lambda i: (float(single[i]), documents[i]), reverse=True)
            cell = ("a", "b").index(topic) * 2 + ("a", "b").index(run)
            here = slice(made.starts[cell], made.starts[cell + 1])
            assert made.documents.names[made.document[here]].tolist() == [
                documents[i] for i in rows
            ]
            np.testing.assert_array_equal(made.score[here], scores[rows])


def test_a_document_twice_is_refused_with_the_row_of_the_second() -> None:
    with pytest.raises(InputError, match=r"document y appears twice in run r for topic t") as why:
        q.RunSet.of(["r"] * 4, ["t"] * 4, ["x", "y", "z", "y"], [4.0, 3.0, 2.0, 1.0])
    assert why.value.row == 3


def test_an_index_is_found_in_another_however_both_are_held() -> None:
    import polars as pl

    from qrowd.data.index import Index

    names, others = ["a", "b", "d", "ü"], ["A", "a", "c", "d", "~", "ü", "ÿ"]
    held, other = (Index.of_sorted(pl.Series(each)) for each in (names, others))
    expected = [-1, 0, -1, 2, -1, 3, -1]
    for mine in (held, Index.of(names)):
        for theirs in (other, Index.of(others)):
            assert mine.find(theirs).tolist() == expected
    assert Index.of_sorted(pl.Series([], dtype=pl.String)).find(other).tolist() == [-1] * 7
