"""The scores of runs under assessors who do not look: the yardstick of u-AWARE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qrowd.data.arrays import Grades
from qrowd.data.index import Index, Pairs
from qrowd.data.qrels import QrelsSet
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.errors import ParameterError
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.measure import Measure

CHANCES = (0.05, 0.5, 0.95)


def random_scores(
    runs: RunSet,
    pool: Pairs,
    measures: Sequence[Measure | str],
    *,
    chances: Sequence[float] = CHANCES,
    replicates: int = 100,
    seed: int = 0,
) -> Scores:
    """The scores of all runs under random assessors who judge the whole pool.

    An assessor of chance p calls each pair relevant with probability p; there are `replicates` of
    each chance, in columns named `chance:replicate`. Made once, and shared by all panels:

        Given(random=random_scores(runs, gold.pairs, measures))
    """
    if replicates < 1 or not all(0 <= chance <= 1 for chance in chances):
        raise ParameterError(
            f"random_scores needs chances in [0, 1] and at least one replicate, "
            f"got {tuple(chances)} and {replicates}"
        )
    names = [f"{chance:g}:{i:04d}" for chance in sorted(chances) for i in range(replicates)]
    drawn = QrelsSet.of_draws(pool, _draws(len(pool), sorted(chances), replicates, seed))
    assessors = replace(drawn, axis="random", columns=Index.of(names))
    return evaluate(runs, assessors, measures)


def _draws(pairs: int, chances: Sequence[float], replicates: int, seed: int) -> Grades:
    random = np.random.default_rng(seed)
    result = np.empty((pairs, len(chances) * replicates), np.int8)
    for column, chance in enumerate(np.repeat(chances, replicates)):
        result[:, column] = random.random(pairs) < chance
    return result
