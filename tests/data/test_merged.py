from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrowd.data.index import Index, Pairs
from qrowd.data.merged import AssessorTable, Fit, Merged
from qrowd.data.scale import Scale


def test_binary_adds_up_the_grades() -> None:
    pairs = Pairs.of(["t", "t"], ["a", "b"])
    posterior = np.array([[0.1, 0.3, 0.6], [0.5, 0.4, 0.1]])
    samples = np.array([[0, 2, 2], [1, 0, 0]], np.int8)
    merged = Merged(
        pairs,
        Scale((0, 1, 2)),
        posterior,
        AssessorTable(Index.of([])),
        Fit("none"),
        np.array([True, False]),
        samples=samples,
        decided=np.array([2, 0], np.int8),
    )
    low, high = merged.binary(1), merged.binary(2)
    assert np.allclose(low.relevant, [0.9, 0.5])
    assert np.allclose(high.posterior, [[0.4, 0.6], [0.9, 0.1]])
    assert high.grades().tolist() == [1, 0]
    assert high.samples is not None
    assert high.samples.tolist() == [[0, 1, 1], [0, 0, 0]]
    assert high.given.tolist() == [True, False]
    assert high.draws(3).notes == ()
    alone = replace(high, samples=None).draws(3)
    assert alone.notes == ("none has no posterior draws: each pair drawn from its probabilities",)


def test_table_of_assessors_shows_what_it_has() -> None:
    table = AssessorTable(Index.of(["ann", "bob"]), {"judgements": np.array([3, 14])})
    assert repr(table) == "AssessorTable(2 assessors; judgements)"
    assert "ann" in str(table)
    assert "14" in str(table)
