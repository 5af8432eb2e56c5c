"""Are dependent errors found at the bound that the check states, and independent ones let alone?

    QROWD_DATA=folder python -m benchmarks.independence [worlds] [--seed SEED]

For each seed a crowd with independent errors is made, and the check tells (or raises a false alarm)
how much copying and how much common difficulty it would have found in 80 %. Then a new crowd is
made with just that much copying, and one with just that much difficulty: how many are found? The
crowds are made here, from skills that the check does not know. Below: the crowds of the data, as
`qrowd quality --independence` sees them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

import qrowd as q
from benchmarks._benchmark import Table, attempt, option, run
from benchmarks._data import CROWDS, folder, present
from qrowd.data.arrays import Array
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.scale import Scale
from qrowd.quality.detection import GROUPS, detection

DS = q.DawidSkene(smoothing=1)
TOPICS = 10


@dataclass(frozen=True)
class Design:
    """How many judge how much, and what is there to judge."""

    assessors: int
    votes: int
    relevant: float
    pairs: int = 600
    grades: int = 2
    uneven: float = 0.0  # standard deviation of the logarithm of assessors' workloads


DESIGNS = (
    Design(30, 5, 0.2),
    Design(30, 5, 0.5),
    Design(10, 3, 0.2),
    Design(10, 3, 0.5),
    Design(8, 8, 0.2),
    Design(8, 8, 0.5),
    Design(8, 8, 0.2, pairs=200),
    Design(40, 5, 0.3, uneven=1.2),
    Design(200, 10, 0.3, pairs=1500),
    Design(30, 5, 0.5, grades=3),
    Design(12, 6, 0.6, grades=4),
)


@dataclass(frozen=True)
class Options:
    worlds: int = option(200, positional=True)  # of each design
    seed: int = 0  # of the made crowds; the check's constants were chosen from 0
    designs: tuple[int, ...] = tuple(range(len(DESIGNS)))  # by their numbers


SHORT = Options(worlds=2, designs=(0, 2))


def make_crowd(
    design: Design, seed: int, copying: float = 0.0, difficulty: float = 0.0
) -> Judgements:
    """Judgements by assessors who err together for one reason or another, or independently."""
    random = np.random.default_rng(seed)
    n, people, size = design.pairs, design.assessors, design.grades
    share = [1 - design.relevant] + [design.relevant / (size - 1)] * (size - 1)
    truth = random.choice(size, n, p=share)
    right = random.beta(12, 5, (people, size))
    right[:, 0] = random.beta(14, 4, people)
    workload = np.exp(design.uneven * random.standard_normal(people))
    who = (random.exponential(size=(n, people)) / workload).argsort(axis=1)[:, : design.votes]
    pair, assessor = np.repeat(np.arange(n), design.votes), who.ravel()
    hard = difficulty * random.standard_normal(n)
    odds = logit(right[assessor, truth[pair]]) - hard[pair]

    def said(true: Array, correct: Array) -> Array:
        """The true grade, or another, a nearer one twice as often as the next."""
        step = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        wrong = np.where(step > 0, 0.5**step, 0.0)
        ends = np.cumsum(wrong / wrong.sum(axis=1, keepdims=True), axis=1)[true, :-1]
        return np.where(correct, true, (random.random(len(true))[:, None] >= ends).sum(axis=1))

    own = said(truth[pair], random.random(len(pair)) < expit(odds))
    groups = min(GROUPS, people // 2)
    true = np.repeat(truth, groups)
    of_group = said(true, random.random(len(true)) < right.mean(axis=0)[true]).reshape(n, groups)
    copied = random.random(len(pair)) < copying
    grade = np.where(copied, of_group[pair, assessor % groups], own)
    documents = n // TOPICS
    pairs = Pairs(
        Index.of(f"t{at:02d}" for at in range(TOPICS)),
        Index.of(f"d{at:04d}" for at in range(documents)),
        np.repeat(np.arange(TOPICS), documents).astype(np.int32),
        np.tile(np.arange(documents), TOPICS).astype(np.int32),
    )
    names = Index.of(f"a{at:03d}" for at in range(people))
    scale = Scale(tuple(range(size)))
    codes = (pair.astype(np.int32), assessor.astype(np.int32), grade.astype(np.int8))
    return Judgements(pairs, names, scale, *codes)


def made_worlds(options: Options) -> None:
    """Print what is found at the bound, and what where nothing is."""
    table = Table(
        "assessors",
        "votes a pair",
        "pairs",
        "grades",
        "relevant",
        "false alarms",
        "copying: bound",
        "copying: found at it",
        "difficulty: bound",
        "difficulty: found at it",
        title="At the bound that is stated",
        optional=("copying: found at it", "difficulty: found at it"),
    )
    pooled: dict[str, list[bool]] = {"alarm": [], "copying": [], "difficulty": []}
    for number in options.designs:
        design = DESIGNS[number]
        alarms: list[bool] = []
        bounds: dict[str, list[float]] = {"copying": [], "difficulty": []}
        found: dict[str, list[bool]] = {"copying": [], "difficulty": []}
        for at in range(options.worlds):
            seed = 1_000_000 * (number + 1) + 10 * (options.seed + at)
            check = detection(make_crowd(design, seed), DS, seed=at)
            alarms.append(check.found)
            if check.found:
                continue
            for offset, cause in enumerate(bounds, start=1):
                bound = getattr(check, cause)
                bounds[cause].append(bound)
                if np.isfinite(bound):
                    crowd = make_crowd(design, seed + offset, **{cause: bound})
                    found[cause].append(detection(crowd, DS, seed=at).found)
        pooled["alarm"] += alarms
        figures = []
        for cause in bounds:
            pooled[cause] += found[cause]
            figures += [_middle(bounds[cause]), _share(found[cause])]
        uneven = ", uneven" if design.uneven else ""
        table.row(
            f"{design.assessors}{uneven}",
            design.votes,
            design.pairs,
            design.grades,
            f"{design.relevant:.0%}",
            _share(alarms),
            *figures,
        )
    table.row(
        "all", "any", "any", "any", "any", _share(pooled["alarm"]),
        "any", _share(pooled["copying"]), "any", _share(pooled["difficulty"]),
    )  # fmt: skip


def _share(found: list[bool]) -> str:
    return f"{np.mean(found):.1%} of {len(found)}" if found else ""


def _middle(bounds: list[float]) -> str:
    """The median; none where most worlds have none."""
    middle = float(np.median(bounds)) if bounds else np.inf
    return f"{middle:.2f}" if np.isfinite(middle) else "none"


def real_crowds() -> None:
    """Print what the check says of the crowds of the data."""
    names = ("copying: bound", "difficulty: bound")
    table = Table(
        "crowd",
        "assessors",
        "judgements",
        "found",
        "p",
        *names,
        "correlation of errors",
        "95 % over topics",
        title="Real crowds",
        optional=names,
    )
    for name in present([*CROWDS, "cystic_fibrosis", "dawid_skene_1979"]):
        crowd = q.read_judgements(folder(name) / "judgements.tsv.gz")
        crowd = crowd.binary(CROWDS[name][0]) if name in CROWDS else crowd
        verdict = q.independence(crowd, DS, bound=True)
        check = verdict.detection or detection(crowd, DS)
        table.row(
            name,
            len(crowd.assessors),
            f"{len(crowd):,}",
            check.sign if check.found else "nothing",
            f"{check.p:.3f}" if check.p >= 0.001 else "< .001",
            *(
                _middle([bound]) if not check.found else ""
                for bound in (check.copying, check.difficulty)
            ),
            f"{verdict.rho:.3f}",
            f"[{verdict.low:.3f}, {verdict.high:.3f}]",
        )


def main(options: Options) -> None:
    """Print both tables."""
    made_worlds(options)
    attempt(real_crowds)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
