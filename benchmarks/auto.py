"""Is `auto` a safe method to begin with? Against `mv` and `ds`, and, with gold, the best assessor.

    QROWD_DATA=folder python -m benchmarks.auto [panels of each size] [further ones]

Without gold: six crowds, and panels of 4 to 30 of the 82 machine assessors of DL 2021; then data
that shaped nothing: further panels, parts of the other crowds' assessors, simulated worlds with
errors that are independent, shared or copied. Accuracy (a tie counts half) should be at most 1
point (or one standard error of the paired difference, if larger) below the better of `mv` and `ds`;
log loss, unclipped, at most .05 above the better of the smoothed vote (x + 1) / (n + 2) and
`ds(smoothing=1)`. `mv` and `ds` themselves are put to the same test. With gold for all pairs of
five topics: accuracy on the other topics against that of the assessor who is best on the five.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import qrowd as q
from benchmarks.coverage import Setting, make_world
from qrowd.data.arrays import Array, Codes, Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels

CROWDS = {
    "trec_rf10": (1, 1),
    "trec11_crowd_task1": (1, 1),
    "dl21": (1, 2),
    "product_er_text": (1, 1),
    "snow2008_rte": (1, 1),
    "spectral_bluebird": (2, 2),
}
SIZES = (4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)
TOPICS, DRAWS = 5, 20


def data() -> Path:
    """The folder of real collections."""
    return Path(os.environ.get("QROWD_DATA") or Path(__file__).parents[2] / "shared" / "data")


def crowd(name: str) -> tuple[Judgements, Qrels]:
    """Binary judgements and gold."""
    rel, gold_rel = CROWDS[name]
    folder = data() / name
    judgements = q.read_judgements(folder / "judgements.tsv.gz").binary(rel)
    return judgements, q.read_qrels(folder / "gold.qrels.gz").binary(gold_rel)


def panels(judgements: Judgements, each: int, first: int = 0) -> Iterator[Judgements]:
    """Panels of those who judged nearly everything, and half as many of all assessors."""
    count = judgements.per_assessor
    pools = {
        "diligent": np.flatnonzero(count > 0.9 * len(judgements.pairs)),
        "any": np.arange(len(count)),
    }
    for size in SIZES:
        for seed in range(first, first + each):
            pool = "any" if seed % 3 == 2 else "diligent"
            random = np.random.default_rng([size, seed])
            chosen = np.sort(random.choice(pools[pool], size, replace=False))
            yield judgements.of_assessors(Index(judgements.assessors.names[chosen]))


def parts(name: str) -> Iterator[tuple[Judgements, Qrels]]:
    """A quarter, half and three quarters of a crowd's assessors, twice."""
    judgements, gold = crowd(name)
    everybody = len(judgements.assessors)
    for seed in range(6):
        size = everybody * (1 + seed % 3) // 4
        chosen = np.random.default_rng([77, seed]).choice(everybody, size, replace=False)
        names = judgements.assessors.names[np.sort(chosen)]
        yield judgements.of_assessors(Index(names)), gold


def worlds(each: int = 4) -> Iterator[tuple[Judgements, Qrels]]:
    """Simulated crowds: 30 assessors of whom 3 to 10 judge a pair, or 8 who judge all."""
    usual = Setting(topics=10, documents=100, runs=2)
    few, many = replace(usual, assessors=8, votes=8), replace(usual, votes=10)
    settings = [usual, few, many, replace(usual, votes=3)]
    settings += [replace(one, difficulty=2.0) for one in (usual, few, many)]
    settings += [replace(one, copying=0.7) for one in (usual, few, many)]
    settings.append(replace(usual, difficulty=1.0))
    for setting in settings:
        for seed in range(each):
            world = make_world(setting, 900 + seed)
            yield world.judgements, world.truth


def right(p: Floats, truth: Array) -> Floats:
    """1 where the likelier grade is true, .5 where neither is."""
    return np.where(np.abs(p - 0.5) < 1e-12, 0.5, (p > 0.5) == (truth > 0)).astype(np.float64)


def log_loss(odds: Floats, truth: Array) -> float:
    """Of log odds: no clip."""
    return float(np.logaddexp(0.0, np.where(truth > 0, -odds, odds)).mean())


def standard_error(difference: Floats, topic: Codes) -> float:
    """Of the mean, topics being a sample; pairs, where there is one topic."""
    group = topic if len(np.unique(topic)) > 1 else np.arange(len(topic))
    sums = np.bincount(group, difference - difference.mean())
    used = len(np.unique(group))
    return float(np.sqrt(used / (used - 1) * (sums**2).sum()) / len(difference))


@dataclass(frozen=True)
class Result:
    """How a method fared on one crowd: what it lost, and what it was allowed to lose."""

    name: str
    accuracy: float
    lost: float
    allowed: float
    log_loss: float
    extra: float
    note: str

    @property
    def failed(self) -> bool:
        """More than a point, and more than a standard error, below the better one."""
        return self.lost > self.allowed


def results(judgements: Judgements, gold: Qrels) -> dict[str, Result]:
    """`auto`, `mv` and `ds` by the same test."""
    at = judgements.pairs.locate(gold.pairs)
    found, truth = at >= 0, gold.grade[at >= 0]
    topic = gold.pairs.topic[found]
    fits = {name: q.get(name).fit(judgements) for name in ("mv", "ds", "auto", "ds(smoothing=1)")}
    scores = {name: right(fit.relevant[at[found]], truth) for name, fit in fits.items()}
    odds = {name: fit.log_odds[at[found]] for name, fit in fits.items()}
    votes = judgements.votes[at[found]] + 1
    smoothed = np.log(votes[:, 1]) - np.log(votes[:, 0])
    least = min(log_loss(smoothed, truth), log_loss(odds["ds(smoothing=1)"], truth))
    best = max(("mv", "ds"), key=lambda name: scores[name].mean())
    made = {}
    for name in ("auto", "mv", "ds"):
        lost = scores[best] - scores[name]
        loss = log_loss(odds[name], truth)
        made[name] = Result(
            name,
            float(scores[name].mean()),
            float(lost.mean()),
            max(0.01, standard_error(lost, topic)),
            loss,
            loss - least,
            fits[name].fit.notes[0] if name == "auto" else "",
        )
    return made


def whole_crowds() -> None:
    """Print the table of the six crowds."""
    print("| crowd | mv | ds | auto | lost | allowed | log loss | above the better | chosen |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for name in CROWDS:
        one = results(*crowd(name))
        auto = one["auto"]
        figures = (
            one["mv"].accuracy,
            one["ds"].accuracy,
            auto.accuracy,
            auto.lost,
            auto.allowed,
            auto.log_loss,
            auto.extra,
        )
        cells = " | ".join(f"{figure:.3f}" for figure in figures)
        print(f"| {name} | {cells} | {auto.note.removeprefix('chosen: ')} |", flush=True)


def many_panels(each: int, fresh: int) -> None:
    """Print how often each method fails, and by how much at most."""
    judgements, gold = crowd("dl21")
    others = [name for name in CROWDS if name != "dl21"]
    groups: dict[str, Iterator[tuple[Judgements, Qrels]]] = {
        "panels of dl21": ((rows, gold) for rows in panels(judgements, each)),
        "further panels of dl21": ((rows, gold) for rows in panels(judgements, fresh, 100)),
        "panels of dl21, drawn last": (
            (rows, gold) for rows in panels(judgements, fresh // 2, 200)
        ),
        "parts of the other crowds": (one for name in others for one in parts(name)),
        "simulated worlds": worlds(),
    }
    print("\n| data | method | lose more than allowed | at most | log loss above .05 | at most |")
    print("|---|---|---:|---:|---:|---:|")
    for label, group in groups.items():
        found = [results(*one) for one in group]
        for name in ("auto", "mv", "ds"):
            some = [one[name] for one in found]
            print(
                f"| {len(found)} {label} | {name} | {np.mean([one.failed for one in some]):.1%} "
                f"| {max(one.lost for one in some):.3f} "
                f"| {np.mean([one.extra > 0.05 for one in some]):.1%} "
                f"| {max(one.extra for one in some):.3f} |",
                flush=True,
            )


def with_gold() -> None:
    """Print what gold for five topics of dl21 gives on the others."""
    judgements, gold = crowd("dl21")
    rows = [five_topics(judgements, gold, seed) for seed in range(DRAWS)]
    own, best, error = (np.array([row[at] for row in rows]) for at in range(3))
    print(f"\ndl21, gold for {TOPICS} topics, the others scored, {DRAWS} draws\n")
    print("| auto | best assessor on the five | below by more than an error | log loss | chosen |")
    print("|---:|---:|---:|---:|---|")
    kept = sorted({row[4] for row in rows})
    chosen = ", ".join(f"{name} {sum(row[4] == name for row in rows)}" for name in kept)
    loss = np.mean([row[3] for row in rows])
    worse = (own < best - error).mean()
    print(f"| {own.mean():.4f} | {best.mean():.4f} | {worse:.0%} | {loss:.3f} | {chosen} |")


def five_topics(
    judgements: Judgements, gold: Qrels, seed: int
) -> tuple[float, float, float, float, str]:
    """Accuracy of `auto` and of the best assessor, the error of the difference, log loss, choice.

    The best is among those who judged half of the gold pairs; both are scored where it judged.
    """
    drawn = np.random.default_rng(seed).choice(gold.topics.names, TOPICS, replace=False)
    learned = Index(np.sort(drawn))
    given, held = gold[learned], gold[gold.topics.without(learned)]
    merged = q.get("auto").fit(judgements, q.Given(gold=given))
    code = np.full(len(judgements.pairs), -1)
    code[judgements.pairs.locate(given.pairs)] = given.grade
    inside = code[judgements.pair] >= 0
    who, same = judgements.assessor[inside], (judgements.grade == code[judgements.pair])[inside]
    count = np.bincount(who, minlength=len(judgements.assessors))
    share = np.bincount(who, same, len(judgements.assessors)) / np.maximum(count, 1)
    best = int(np.where(count > len(given) / 2, share, 0).argmax())
    code[:] = -1
    code[judgements.pairs.locate(held.pairs)] = held.grade
    theirs = (judgements.assessor == best) & (code[judgements.pair] >= 0)
    pair, truth = judgements.pair[theirs], code[judgements.pair[theirs]]
    at = merged.pairs.locate(judgements.pairs)[pair]
    own = right(merged.relevant[at], truth)
    other = (judgements.grade[theirs] == truth).astype(np.float64)
    error = standard_error(own - other, judgements.pairs.topic[pair])
    loss = log_loss(merged.log_odds[at], truth)
    choice = merged.fit.notes[0].removeprefix("chosen: ").partition(",")[0]
    return float(own.mean()), float(other.mean()), error, loss, choice


def main(each: int = 9, fresh: int = 20) -> None:
    """Print all tables."""
    warnings.simplefilter("ignore")
    if not (data() / "dl21").is_dir():
        print(f"no real data in {data()}; QROWD_DATA names another folder")
        return
    whole_crowds()
    with_gold()
    many_panels(each, fresh)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))
