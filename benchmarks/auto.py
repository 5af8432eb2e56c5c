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

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import CROWDS, binary_crowd, diligent, folder, of_assessors
from benchmarks.coverage import Setting, make_world
from qrowd.data.arrays import Array, Codes, Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels

TOPICS = 5  # with gold


@dataclass(frozen=True)
class Options:
    panels: int = option(9, positional=True)  # of each size
    further: int = option(20, positional=True)
    crowds: tuple[str, ...] = tuple(CROWDS)
    sizes: tuple[int, ...] = (4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)
    draws: int = 20  # of topics with gold
    worlds: int = 4  # of each setting
    documents: int = 100  # of a topic of a world
    parts: int = 6  # of each crowd
    topics: int = 53  # of dl21


SHORT = Options(
    panels=1,
    further=2,
    crowds=("snow2008_rte", "spectral_bluebird"),
    sizes=(4,),
    draws=1,
    worlds=1,
    documents=10,
    parts=1,
    topics=7,
)


def panels(judgements: Judgements, options: Options, seeds: range) -> Iterator[Judgements]:
    """Panels of those who judged nearly everything, and half as many of all assessors."""
    for size in options.sizes:
        for seed in seeds:
            anybody = np.arange(len(judgements.assessors))
            pool = anybody if seed % 3 == 2 else diligent(judgements)
            random = np.random.default_rng([size, seed])
            yield of_assessors(judgements, random.choice(pool, size, replace=False))


def parts(name: str, number: int) -> Iterator[tuple[Judgements, Qrels]]:
    """A quarter, half and three quarters of a crowd's assessors, in turn."""
    judgements, gold = binary_crowd(name)
    everybody = len(judgements.assessors)
    for seed in range(number):
        size = everybody * (1 + seed % 3) // 4
        random = np.random.default_rng([77, seed])
        yield of_assessors(judgements, random.choice(everybody, size, replace=False)), gold


def worlds(options: Options) -> Iterator[tuple[Judgements, Qrels]]:
    """Simulated crowds: 30 assessors of whom 3 to 10 judge a pair, or 8 who judge all."""
    usual = Setting(topics=10, documents=options.documents, runs=2)
    few, many = replace(usual, assessors=8, votes=8), replace(usual, votes=10)
    settings = [usual, few, many, replace(usual, votes=3)]
    settings += [replace(setting, difficulty=2.0) for setting in (usual, few, many)]
    settings += [replace(setting, copying=0.7) for setting in (usual, few, many)]
    settings.append(replace(usual, difficulty=1.0))
    for setting in settings:
        for seed in range(options.worlds):
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
    judged = at >= 0
    at, truth, topic = at[judged], gold.grade[judged], gold.pairs.topic[judged]
    fits = {name: q.get(name).fit(judgements) for name in ("mv", "ds", "auto", "ds(smoothing=1)")}
    scores = {name: right(fit.relevant[at], truth) for name, fit in fits.items()}
    odds = {name: fit.log_odds[at] for name, fit in fits.items()}
    votes = judgements.votes[at] + 1
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


def whole_crowds(options: Options) -> None:
    """Print the table of the six crowds."""
    table = Table(
        "crowd",
        "mv",
        "ds",
        "auto",
        "lost",
        "allowed",
        "log loss",
        "above the better",
        "chosen",
    )
    for name in options.crowds:
        by_method = results(*binary_crowd(name))
        auto = by_method["auto"]
        figures = [by_method[method].accuracy for method in ("mv", "ds", "auto")]
        figures += [auto.lost, auto.allowed, auto.log_loss, auto.extra]
        cells = [f"{figure:.3f}" for figure in figures]
        table.row(name, *cells, auto.note.removeprefix("chosen: "))


def many_panels(options: Options) -> None:
    """Print how often each method fails, and by how much at most."""
    judgements, gold = binary_crowd("dl21", options.topics)

    def drawn(number: int, first: int = 0) -> Iterator[tuple[Judgements, Qrels]]:
        for panel in panels(judgements, options, range(first, first + number)):
            yield panel, gold

    groups: dict[str, Iterator[tuple[Judgements, Qrels]]] = {
        "panels of dl21": drawn(options.panels),
        "further panels of dl21": drawn(options.further, 100),
        "panels of dl21, drawn last": drawn(options.further // 2, 200),
        "parts of the other crowds": (
            part for name in options.crowds if name != "dl21" for part in parts(name, options.parts)
        ),
        "simulated worlds": worlds(options),
    }
    table = Table(
        "data",
        "method",
        "lose more than allowed",
        "at most",
        "log loss above .05",
        "log loss above by at most",
    )
    for label, group in groups.items():
        outcomes = [results(*crowd) for crowd in group]
        for name in ("auto", "mv", "ds"):
            own = [outcome[name] for outcome in outcomes]
            table.row(
                f"{len(own)} {label}",
                name,
                f"{np.mean([result.failed for result in own]):.1%}",
                f"{max(result.lost for result in own):.3f}",
                f"{np.mean([result.extra > 0.05 for result in own]):.1%}",
                f"{max(result.extra for result in own):.3f}",
            )


def with_gold(options: Options) -> None:
    """Print what gold for five topics of dl21 gives on the others."""
    judgements, gold = binary_crowd("dl21", options.topics)
    rows = [five_topics(judgements, gold, seed) for seed in range(options.draws)]
    own, best, error, loss = (np.array([row[at] for row in rows]) for at in range(4))
    table = Table(
        "auto",
        "best assessor on the five",
        "below by more than an error",
        "log loss",
        "chosen",
        title=f"dl21, gold for {TOPICS} topics, the others scored, {options.draws} draws",
    )
    choices = Counter(row[4] for row in rows)
    table.row(
        f"{own.mean():.4f}",
        f"{best.mean():.4f}",
        f"{(own < best - error).mean():.0%}",
        f"{loss.mean():.3f}",
        ", ".join(f"{name} {times}" for name, times in sorted(choices.items())),
    )


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


def main(options: Options) -> None:
    """Print all tables."""
    warnings.simplefilter("ignore")
    for name in (*options.crowds, "dl21"):
        folder(name)
    whole_crowds(options)
    with_gold(options)
    many_panels(options)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
