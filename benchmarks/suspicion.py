"""Whom suspected types accuse, and whom they find: on crowds whose assessors are known.

    python -m benchmarks.suspicion

Good crowds are of good assessors only; in mixed ones three in ten are spammers (12 % random with a
coin of their own, 6 % always yes, 6 % always no, 6 % repeat a pattern), the others are good (40 %),
sloppy, biased and a few adversarial. 50 assessors, three or five judgements a pair in turn, errors
that correlate by .2. Accused is who is called random, uniform or adversarial.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._data import CROWDS, binary_crowd, present
from qrowd.data.arrays import Array
from qrowd.quality.suspicion import SUSPICIOUS, UNTOLD

ASSESSORS = 50
MIXES = {
    "good": dict.fromkeys(
        ("sloppy", "biased", "random", "yes", "no", "pattern", "adversarial"), 0.0
    ),
    "mixed": {
        "good": 0.4,
        "sloppy": 0.16,
        "biased": 0.1,
        "random": 0.12,
        "yes": 0.06,
        "no": 0.06,
        "pattern": 0.06,
        "adversarial": 0.04,
    },
}
KINDS = {"random": ("random",), "uniform": ("yes", "no", "pattern")}


@dataclass(frozen=True)
class Options:
    crowds: int = 17  # in each of twelve settings
    sizes: tuple[int, ...] = (10, 50, 200)
    first: int = 7000  # seed


SHORT = Options(crowds=2, sizes=(10, 50))


def crowd(mix: str, size: int, prevalence: float, seed: int) -> q.Collection:
    """A crowd of assessors with about `size` judgements each."""
    votes = 3 + 2 * (seed % 2)
    return q.simulate(
        topics=10,
        documents=max(ASSESSORS * size // (votes * 10), 1),
        assessors=ASSESSORS,
        votes=votes,
        skew=0,
        runs=0,
        prevalence=prevalence,
        difficulty=0.2,
        gold=0.3,
        seed=seed,
        **MIXES[mix],
    )


def types_of(made: q.Collection) -> dict[str, Array]:
    """The suspected types by what is known."""
    known = {"no gold": q.NOTHING, "gold for 30 %": q.Given(gold=made.gold)}
    return {
        name: q.assessors(made.judgements, given)["type"].astype(str)
        for name, given in known.items()
    }


def main(options: Options) -> None:
    table = Table(
        "known", "relevant", "crowd", "answers", "good accused", "good called good",
        "good untold", "sloppy accused", "random found", "uniform found", "crowds",
        title="Made crowds", optional=("sloppy accused", "random found", "uniform found"),
    )  # fmt: skip
    for prevalence in (0.2, 0.5):
        for mix in MIXES:
            for size in options.sizes:
                of_setting(table, prevalence, mix, size, options)
    real()


def of_setting(table: Table, prevalence: float, mix: str, size: int, options: Options) -> None:
    types, kinds = defaultdict(list), []
    for seed in range(options.first, options.first + options.crowds):
        made = crowd(mix, size, prevalence, seed)
        kinds.append(made.assessors["kind"].astype(str))
        for name, found in types_of(made).items():
            types[name].append(found)
    kind = np.concatenate(kinds)
    for name, each in types.items():
        said, good = np.concatenate(each), kind == "good"
        hits = ["-"] * 3
        if mix == "mixed":
            sloppy = np.isin(said[kind == "sloppy"], SUSPICIOUS).mean()
            spammers = [
                np.isin(said[np.isin(kind, members)], ("random", "uniform")).mean()
                for members in KINDS.values()
            ]
            hits = [f"{share:.3f}" for share in (sloppy, *spammers)]
        shares = np.isin(said[good], SUSPICIOUS), said[good] == "good", said[good] == UNTOLD
        told = [f"{share.mean():.3f}" for share in shares]
        table.row(name, f"{prevalence:.0%}", mix, size, *told, *hits, len(kinds))


def real() -> None:
    """Types without gold, beside those on gold alone."""
    table = Table(
        "crowd",
        "good on gold",
        "accused without gold",
        "accused on gold",
        "found",
        title="Real crowds",
    )
    for name in present(list(CROWDS)):
        judgements, gold = binary_crowd(name)
        with_gold = judgements.of_pairs(gold.pairs.locate(judgements.pairs) >= 0)
        alone = q.assessors(with_gold, q.Given(gold=gold))["type"].astype(str)
        without = np.isin(q.assessors(judgements)["type"].astype(str), SUSPICIOUS)
        good, bad = alone == "good", np.isin(alone, SUSPICIOUS)
        table.row(name, good.sum(), (without & good).sum(), bad.sum(), (without & bad).sum())


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
