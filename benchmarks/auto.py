"""Is `auto` a safe method to begin with? Against `mv` and `ds`, and, with gold, the best assessor.

    QROWD_DATA=folder python -m benchmarks.auto [panels of each size] [further ones]
    QROWD_DATA=folder python -m benchmarks.auto --only single crowds gold weight panels

single: made crowds of 300 pairs with one vote each, some with a second one, right in .88.
crowds: six crowds, and what one answer to everything would have. gold: gold for all pairs of some
topics, the others scored; *regret* is against `mv` or, where somebody judged 95 % of the pairs, the
better of `mv` and the one of them who is best on the gold; made collections, whose judges err
together, have other judges and topics in each draw. weight: `ds` with gold for some topics, where a
judgement of a gold pair counts once, or as often as `ds(gold_weight=none)` learns. panels: 4 to 30
of the 82 machine assessors of DL 2021; then data that shaped nothing: further panels, parts of the
other crowds' assessors, simulated worlds with errors that are independent, shared or copied.

Without gold, accuracy should be at most 1 point (or one standard error of the paired difference, if
larger) below the better of `mv` and `ds`; log loss, unclipped, at most .05 above the better of the
smoothed vote (x + 1) / (n + 2) and `ds(smoothing=1)`. `mv` and `ds` themselves are put to the same
test. Ties are decided as everywhere: by the coin of `qrowd score`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import CROWDS, binary_crowd, diligent, folder, of_assessors
from benchmarks.coverage import Setting, make_world
from qrowd.data.arrays import Array, Codes, Floats, Names
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels

GOLD = ("dl21", "trec_rf10", "trec11_crowd_task1")
MADE = ("copies", "hard pairs", "yes-sayers", "independent")  # collections with gold
DILIGENT = 0.95  # share of the pairs that the best assessor has judged
OVERLAPS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
SIZES = (2, 3, 5, 10, 30)  # assessors who give single votes
PARTS = ("single", "crowds", "gold", "weight", "panels")


@dataclass(frozen=True)
class Options:
    panels: int = option(9, positional=True)  # of each size
    further: int = option(20, positional=True)
    crowds: tuple[str, ...] = tuple(CROWDS)
    sizes: tuple[int, ...] = (4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)
    only: tuple[str, ...] = option((), choices=PARTS)  # some parts of it
    draws: int = 100  # of topics with gold
    seed: int = 0  # of these draws, and of made crowds
    gold: tuple[str, ...] = GOLD
    gold_topics: tuple[int, ...] = (5, 20)  # of made collections the first
    weight_draws: int = 20
    made: tuple[str, ...] = MADE
    votes: int = 20  # crowds with single votes, of each kind
    overlaps: tuple[float, ...] = OVERLAPS
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
    gold=("dl21",),
    gold_topics=(3,),
    weight_draws=1,
    made=("copies",),
    votes=1,
    overlaps=(0.0,),
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


def right(merged: Merged, at: Codes, truth: Array) -> Floats:
    """1 where the label is true, ties by the coin."""
    return np.asarray(merged.grades()[at] == truth, np.float64)


def constant(truth: Array) -> float:
    """The share that is right if all pairs get the commonest grade."""
    return float(np.bincount(truth).max() / len(truth))


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
    scores = {name: right(fit, at, truth) for name, fit in fits.items()}
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
        "one answer",
        "mv",
        "ds",
        "auto",
        "lost",
        "allowed",
        "log loss",
        "above the better",
        "chosen",
        title="Whole crowds, without gold",
    )
    for name in options.crowds:
        judgements, gold = binary_crowd(name)
        by_method = results(judgements, gold)
        auto = by_method["auto"]
        figures = [constant(gold.grade)]
        figures += [by_method[method].accuracy for method in ("mv", "ds", "auto")]
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
        "worst loss",
        "log loss more than .05 above",
        title="Many smaller crowds, without gold",
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
            )


# --- single votes ---------------------------------------------------------------------------------


def single_votes(options: Options) -> None:
    """Print how far labels are below the vote's where most pairs have one vote."""
    table = Table(
        "pairs with two votes",
        "grades",
        "mv",
        "auto",
        *(f"below: {size} assessors" for size in SIZES),
        "mean probability of the label",
        title="Pairs with one vote",
    )
    for overlap in options.overlaps:
        for grades in (2, 3, 4):
            of_size = [
                [
                    kept(*sparse(overlap, grades, assessors, options.seed + seed))
                    for seed in range(options.votes)
                ]
                for assessors in SIZES
            ]
            figures = np.array(of_size)  # [assessors, seed, (mv, auto, probability)]
            below = figures[:, :, 0] - figures[:, :, 1]
            means = [f"{mean:.3f}" for mean in below.mean(axis=1)]
            vote, auto, sure = figures.mean(axis=(0, 1))
            cells = [f"{vote:.3f}", f"{auto:.3f}", *means, f"{sure:.2f}"]
            table.row(f"{overlap:.0%}", grades, *cells)


def sparse(overlap: float, grades: int, assessors: int, seed: int) -> tuple[Judgements, Qrels]:
    """300 pairs with a vote, a share of them with a second one, of assessors drawn at random."""
    random = np.random.default_rng([seed, round(100 * overlap), grades, assessors])
    truth = random.choice(grades, 300, p=[0.6, *[0.4 / (grades - 1)] * (grades - 1)])
    chosen = random.random((300, assessors)).argsort(axis=1)[:, :2]
    given = np.stack([np.ones(300, np.bool_), random.random(300) < overlap], axis=1)
    pair, who = np.repeat(np.arange(300), given.sum(axis=1)), chosen[given]
    wrong = (random.random(len(pair)) > 0.88) * random.integers(1, grades, len(pair))
    topics, docs, names = named(300, 6)
    rows = q.Judgements.of(topics[pair], docs[pair], names[who], (truth[pair] + wrong) % grades)
    return rows, q.Qrels.of(topics, docs, truth)


def kept(judgements: Judgements, truth: Qrels) -> tuple[float, float, float]:
    """Accuracy of `mv` and of `auto`, and the mean probability of its labels."""
    vote, auto = (q.get(method).fit(judgements) for method in ("mv", "auto"))
    at = auto.pairs.locate(truth.pairs)
    accuracy = [float(right(merged, at, truth.grade).mean()) for merged in (vote, auto)]
    return accuracy[0], accuracy[1], float(auto.posterior.max(axis=1).mean())


def named(pairs: int, topics: int) -> tuple[Names, Names, Names]:
    """Topics (in turn) and documents of pairs, and names of assessors."""
    return (
        np.array([f"t{at % topics:03d}" for at in range(pairs)], object),
        np.array([f"d{at:05d}" for at in range(pairs)], object),
        np.array([f"a{at:03d}" for at in range(pairs)], object),
    )


# --- with gold ------------------------------------------------------------------------------------


def with_gold(options: Options) -> None:
    """Print what gold for some topics gives on the others."""
    table = Table(
        "collection",
        "topics with gold",
        "one answer",
        "mv",
        "best assessor on the gold",
        "auto",
        "regret",
        "95 % at most",
        "worst",
        "log loss",
        "chosen",
        title="Gold for some topics",
    )
    seeds = range(options.seed, options.seed + options.draws)
    for name in options.gold:
        collection = binary_crowd(name, options.topics if name == "dl21" else None)
        for topics in options.gold_topics:
            row = learn(topics, [(seed, *collection) for seed in seeds])
            table.row(name, topics, *row)
    for kind in options.made:
        topics = options.gold_topics[0]
        row = learn(topics, ((seed, *made(kind, seed)) for seed in seeds))
        table.row(f"made: {kind}", topics, *row)


def learn(topics: int, drawn: Iterable[tuple[int, Judgements, Qrels]]) -> list[str]:
    """The figures of one collection."""
    rows = [some_topics(judgements, gold, topics, seed) for seed, judgements, gold in drawn]
    one, vote, best, auto, loss = np.array([row[:5] for row in rows]).T
    regret = np.fmax(vote, best) - auto
    choices = Counter(row[5] for row in rows).most_common()
    judge = "nobody" if np.isnan(best).all() else f"{best.mean():.3f}"
    figures = (auto.mean(), regret.mean(), np.quantile(regret, 0.95), regret.max(), loss.mean())
    return [
        f"{one.mean():.3f}",
        f"{vote.mean():.3f}",
        judge,
        *(f"{figure:.3f}" for figure in figures),
        ", ".join(f"{choice} {times}" for choice, times in choices),
    ]


def some_topics(
    judgements: Judgements, gold: Qrels, topics: int, seed: int
) -> tuple[float, float, float, float, float, str]:
    """On topics without gold: accuracy of one answer, `mv`, the best assessor on the gold, `auto`;
    the log loss of `auto`, and what it chose.
    """
    given, held = shared_out(judgements, gold, topics, seed)
    merged = q.get("auto(draws=1)").fit(judgements, q.Given(gold=given))
    accuracy, loss = on_held(merged, held)
    choice = merged.fit.notes[0].removeprefix("chosen: ").partition(",")[0]
    return (
        constant(held.grade),
        on_held(q.get("mv").fit(judgements), held)[0],
        best_assessor(judgements, given, held),
        accuracy,
        loss,
        "one alone" if choice.endswith(" alone") else choice,
    )


def shared_out(judgements: Judgements, gold: Qrels, topics: int, seed: int) -> tuple[Qrels, Qrels]:
    """Gold of some topics, drawn at random, and of the judged pairs of the others."""
    used = gold.topics.names[np.unique(gold.pairs.topic)]
    drawn = np.random.default_rng(seed).choice(used, topics, replace=False)
    learned = Index(np.sort(drawn))
    given, held = gold[learned], gold[gold.topics.without(learned)]
    return given, held.select(judgements.pairs.locate(held.pairs) >= 0)


def on_held(merged: Merged, held: Qrels) -> tuple[float, float]:
    """Accuracy and log loss."""
    at = merged.pairs.locate(held.pairs)
    return float(right(merged, at, held.grade).mean()), log_loss(merged.log_odds[at], held.grade)


def gold_weight(options: Options) -> None:
    """Print what `ds` makes of gold for some topics on the others, by the weight of gold."""
    specs = ("ds", "ds(gold_weight=none)")
    heads = [f"{spec}: {what}" for spec in specs for what in ("accuracy", "log loss")]
    seeds = range(options.seed, options.seed + options.weight_draws)
    table = Table("collection", "topics with gold", *heads, title="The weight of gold in ds")
    for name in options.gold:
        judgements, gold = binary_crowd(name, options.topics if name == "dl21" else None)
        for topics in options.gold_topics:
            figures = []
            for seed in seeds:
                given, held = shared_out(judgements, gold, topics, seed)
                fits = [q.get(spec).fit(judgements, q.Given(gold=given)) for spec in specs]
                figures.append([figure for fit in fits for figure in on_held(fit, held)])
            table.row(name, topics, *(f"{mean:.3f}" for mean in np.mean(figures, axis=0)))


def best_assessor(judgements: Judgements, given: Qrels, held: Qrels) -> float:
    """Accuracy of who is best on the gold, of those who judged nearly all; NaN without any."""
    single = judgements.one_each()
    often = single.per_assessor >= DILIGENT * len(np.unique(single.pair))
    shares = []
    for part in (given, held):
        code = np.full(len(single.pairs), -1)
        at = single.pairs.locate(part.pairs)
        code[at[at >= 0]] = part.grade[at >= 0]
        inside = code[single.pair] >= 0
        who, same = single.assessor[inside], (single.grade == code[single.pair])[inside]
        count = np.bincount(who, minlength=len(often))
        shares.append(np.bincount(who, same, len(often)) / np.maximum(count, 1))
    return float(shares[1][np.where(often, shares[0], -1).argmax()]) if often.any() else np.nan


def made(kind: str, seed: int) -> tuple[Judgements, Qrels]:
    """40 topics of 40 documents, judged by all of eight judges.

    A judge says yes where skill, an error that is common to all, an own one, a leaning and the
    topic's add up to more than 0. Copies: seven have a large common error, the eighth none.
    """
    random = np.random.default_rng([seed, 77])
    topic = np.arange(1600) % 40
    share = 1 / (1 + np.exp(-random.normal(-0.8, 0.8, 40)))
    truth = (random.random(1600) < share[topic]).astype(np.int8)
    skill, leaning = random.uniform(0.5, 1.3, 8), random.normal(0, 0.3, 8)
    size = {"copies": 1.5, "hard pairs": 1.2, "yes-sayers": 0.8, "independent": 0.0}[kind]
    common = size * random.normal(size=(1600, 1)) * np.ones(8)
    if kind == "copies":
        skill[:-1] *= 0.7
        skill[-1], common[:, -1] = 1.4, 0.0
    if kind == "yes-sayers":
        leaning = random.uniform(0.3, 1.5, 8)
    seen = skill * (2.0 * truth[:, None] - 1) + common + leaning
    seen += random.normal(0, 0.4, 40)[topic][:, None] + random.normal(size=(1600, 8))
    topics, docs, names = named(1600, 40)
    pair, who = (part.ravel() for part in np.indices(seen.shape))
    said = (seen > 0).ravel().astype(np.int8)
    rows = q.Judgements.of(topics[pair], docs[pair], names[who], said)
    return rows, q.Qrels.of(topics, docs, truth)


def main(options: Options) -> None:
    """Print all tables, or some of them."""
    warnings.simplefilter("ignore")
    parts_wanted = options.only or PARTS
    if set(parts_wanted) - {"single"}:
        for name in (*options.crowds, "dl21"):
            folder(name)
    tables = (single_votes, whole_crowds, with_gold, gold_weight, many_panels)
    for part, table in zip(PARTS, tables, strict=True):
        if part in parts_wanted:
            table(options)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
