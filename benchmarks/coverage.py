"""Do 90 % intervals hold the truth in 90 %? When the model is right, and when it is not.

    python -m benchmarks.coverage [worlds] [belief ...] [--seed SEED]

A world has systems, documents whose relevance is drawn from known probabilities, and assessors
whose error rates are known; what draws from a merging method say is held against the truth. Systems
rank by what makes a document likely to be relevant, not by its relevance: a posterior that knows
these probabilities and the assessors ("all known") is then exactly right, and its intervals must
hold the truth in 90 %. "assessors known" knows the error rates and the share of relevant documents,
but not what the systems know; methods know the judgements only; "+ rankings" is what `inform` makes
of a belief; "a tenth gold" has gold for a tenth of the pairs. The first columns are over draws, for
the truth is of these topics; the last three over draws and topics, the default of `intervals`.
Standard errors of shares that are means over 40 worlds are about .02.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, ndtr

import qrowd as q
from benchmarks._benchmark import Table, option, run
from qrowd.data.arrays import Codes, Floats, Grades
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Fit, Merged
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scale import BINARY

Tally = dict[str, float]
GOLD = ", a tenth gold"
SPECS = {"hier-bayes": "hier-bayes(chains=2, sweeps=600, draws=300)"}


@dataclass(frozen=True)
class Setting:
    """How a world is made."""

    topics: int = 10
    documents: int = 60
    runs: int = 20
    assessors: int = 30
    votes: int = 5
    difficulty: float = 0.0  # spread (in logits) of what all assessors find hard about a pair
    copying: float = 0.0  # probability that an answer is that of the assessor's group
    groups: int = 4  # groups of assessors that copy
    informative: float = 1.0  # how much the systems' signal says about relevance


@dataclass(frozen=True, eq=False)
class World:
    """A collection, its truth, and what one who knows everything but the truth would believe."""

    runs: RunSet
    truth: Qrels
    judgements: Judgements
    all_known: Merged
    assessors_known: Merged


def make_world(setting: Setting, seed: int) -> World:
    """Draw a world."""
    random = np.random.default_rng(seed)
    shape = (setting.topics, setting.documents)
    signal = random.normal(size=shape)
    chance = ndtr(
        -0.8 + 0.4 * random.normal(size=(setting.topics, 1)) + setting.informative * signal
    )
    chance = np.clip(chance, 1e-6, 1 - 1e-6).ravel()
    relevant = (random.random(chance.size) < chance).astype(np.int8)
    pairs = _pairs(setting)
    right = np.stack(
        [random.beta(14, 4, setting.assessors), random.beta(12, 5, setting.assessors)], axis=1
    )  # P(right | non-relevant), P(right | relevant)
    judgements = _votes(setting, random, pairs, relevant, right)
    truth = Qrels(pairs, relevant)
    beliefs = [
        _posterior(judgements, right, prior) for prior in (chance, chance * 0 + chance.mean())
    ]
    return World(_runs(setting, random, signal, pairs), truth, judgements, *beliefs)


def _pairs(setting: Setting) -> Pairs:
    topics = Index.of(f"t{at:02d}" for at in range(setting.topics))
    documents = Index.of(f"d{at:04d}" for at in range(setting.documents))
    topic = np.repeat(np.arange(setting.topics), setting.documents)
    document = np.tile(np.arange(setting.documents), setting.topics)
    return Pairs(topics, documents, topic.astype(np.int32), document.astype(np.int32))


def _votes(
    setting: Setting, random: np.random.Generator, pairs: Pairs, relevant: Grades, right: Floats
) -> Judgements:
    n, names = len(pairs), Index.of(f"a{at:03d}" for at in range(setting.assessors))
    chosen = random.random((n, setting.assessors)).argsort(axis=1)[:, : setting.votes]
    pair: Codes = np.repeat(np.arange(n), setting.votes).astype(np.int32)
    assessor = chosen.ravel().astype(np.int32)
    hard = setting.difficulty * random.normal(size=n)[pair]
    correct = random.random(len(pair)) < expit(logit(right[assessor, relevant[pair]]) - hard)
    group = assessor % setting.groups
    leader = random.random((n, setting.groups)) < right.mean(axis=0)[relevant][:, None]
    copies = random.random(len(pair)) < setting.copying
    correct = np.where(copies, leader[pair, group], correct)
    grade = np.where(correct, relevant[pair], 1 - relevant[pair]).astype(np.int8)
    return Judgements(pairs, names, BINARY, pair, assessor, grade)


def _posterior(judgements: Judgements, right: Floats, prior: Floats) -> Merged:
    """Bayes' rule with the true error rates; assessors are believed to err independently."""
    no, yes = right[judgements.assessor].T
    said = judgements.grade == 1
    odds = np.where(said, np.log(yes) - np.log1p(-no), np.log1p(-yes) - np.log(no))
    p = expit(logit(prior) + np.bincount(judgements.pair, odds, minlength=len(prior)))
    nobody, given = AssessorTable(Index.of([])), np.zeros(len(p), np.bool_)
    return Merged(judgements.pairs, BINARY, np.stack([1 - p, p], 1), nobody, Fit("bayes"), given)


def _runs(setting: Setting, random: np.random.Generator, signal: Floats, pairs: Pairs) -> RunSet:
    quality = np.linspace(0.3, 0.8, setting.runs)[:, None, None]
    noise = random.normal(size=(setting.runs, *signal.shape))
    score = quality * signal + np.sqrt(1 - quality**2) * noise
    run, topic, document = np.indices(score.shape, dtype=np.int32)
    names = Index.of(f"run{at:02d}" for at in range(setting.runs))
    codes = (run.ravel(), topic.ravel(), document.ravel())
    return RunSet.from_codes((names, pairs.topics, pairs.documents), codes, score.ravel())


def held(intervals: q.Intervals, truth: Floats, measure: int = 0) -> Tally:
    """How often the intervals of a measure, and P(A beats B), are right."""
    low, high = intervals.low[measure], intervals.high[measure]
    place_low, place_high = intervals.place_low[measure], intervals.place_high[measure]
    place = q.places(truth)
    a, b = np.triu_indices(len(truth), 1)
    p, won = intervals.beats[measure, a, b], truth[a] > truth[b]
    surety = np.maximum(p, 1 - p)
    right = np.where(p >= 0.5, won, ~won)
    sure = surety >= 0.95
    return {
        "scores": float(((low <= truth) & (truth <= high)).mean()),
        "places": float(((place_low <= place) & (place <= place_high)).mean()),
        "width": float((high - low).mean()),
        "places' width": float((place_high - place_low).mean()),
        "bias": float((intervals.mean[measure] - truth).mean()),
        "P(A>B) said": float(surety.mean()),
        "P(A>B) true": float(right.mean()),
        ">= .95 true": float(right[sure].mean()) if sure.any() else float("nan"),
        ">= .95 said": float(sure.mean()),
        "best in set": float(intervals.contender[measure, truth.argmax()]),
        "set": float(intervals.contender[measure].sum()),
    }


def tally(world: World, merged: Merged, draws: int, seed: int, level: float = 0.9) -> Tally:
    """Hold the intervals of one belief against the truth of its world."""
    truth = q.evaluate(world.runs, world.truth, ["AP"]).means()[0, 0]
    by_draw = q.evaluate(world.runs, merged.draws(draws, seed), ["AP"])
    over_draws = held(q.intervals(by_draw, over="draws", level=level), truth)
    both = held(q.intervals(by_draw, over="both", level=level, seed=seed), truth)
    return over_draws | {
        "places, both": both["places"],
        ">= .95 true": float(np.nan_to_num(both[">= .95 true"], nan=1.0)),
        ">= .95 said": both[">= .95 said"],
    }


def coverage(
    setting: Setting, names: tuple[str, ...], worlds: int, draws: int = 300, first: int = 0
) -> dict[str, Tally]:
    """The mean tally over worlds of each belief: two that know much, or a method's."""
    tallies: dict[str, list[Tally]] = {name: [] for name in names}
    for seed in range(first, first + worlds):
        world = make_world(setting, seed)
        beliefs: dict[str, Merged] = {}
        for name in names:
            tallies[name].append(tally(world, _belief(world, name, beliefs), draws, seed))
    return {
        name: {key: float(np.mean([each[key] for each in several])) for key in several[0]}
        for name, several in tallies.items()
    }


def _belief(world: World, name: str, made: dict[str, Merged]) -> Merged:
    """A belief by its name; `made` keeps what was fitted."""
    known = {"all known": world.all_known, "assessors known": world.assessors_known}
    method, _, rankings = name.partition(" + ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method.endswith(GOLD):
            return _with_gold(world, method.removesuffix(GOLD))
        if method not in made:
            made[method] = known.get(method) or q.get(SPECS.get(method, method)).fit(
                world.judgements
            )
        return q.inform(made[method], world.runs) if rankings else made[method]


def _with_gold(world: World, method: str) -> Merged:
    """The belief of a method with gold for a tenth of the pairs; `auto` takes it itself."""
    gold = world.truth.select(np.random.default_rng(7).random(len(world.truth)) < 0.1)
    if method == "auto":
        return q.Automatic(draws=300).fit(world.judgements, q.Given(gold=gold))
    return q.recalibrate(q.get(method).fit(world.judgements), gold, draws=300)


@dataclass(frozen=True)
class Options:
    worlds: int = option(40, positional=True)
    beliefs: tuple[str, ...] = option((), positional=True)  # all of them, if none is named
    tables: int = 3
    seed: int = 0  # of the first world


SHORT = Options(
    worlds=1, beliefs=("all known", "ds + rankings", f"ds{GOLD}", f"auto{GOLD}"), tables=1
)


def main(options: Options) -> None:
    """Print the tables, of some beliefs or of all."""
    usual = Setting()
    hard = replace(usual, difficulty=2.0)
    scenes = {
        "Systems know nothing of relevance": {"5 votes": replace(usual, informative=0.0)},
        "Systems know something": {
            "5 votes": usual,
            "3 votes": replace(usual, votes=3),
            "15 votes": replace(usual, votes=15),
        },
        "Assessors make the same errors": {
            "pairs hard for all, 1 logit": replace(usual, difficulty=1.0),
            "pairs hard for all, 2 logits": hard,
            "the same, 20 votes": replace(hard, votes=20),
            "assessors copy in 4 groups": replace(usual, copying=0.7),
        },
    }
    bases = ("assessors known", "hier-bayes", "ds")
    names = ("all known", *(f"{name}{more}" for name in bases for more in ("", " + rankings")))
    names = options.beliefs or (*names, "ebcc", "auto", f"auto{GOLD}")
    keys = (
        "scores",
        "places",
        "width",
        "bias",
        "P(A>B) said",
        "P(A>B) true",
        "best in set",
        "set",
        "places, both",
        ">= .95 true",
        ">= .95 said",
    )
    for title, worlds in list(scenes.items())[: options.tables]:
        table = Table("world", "belief", *keys, title=title)
        for scene, setting in worlds.items():
            beliefs = coverage(setting, names, options.worlds, first=options.seed)
            for name, means in beliefs.items():
                table.row(scene, name, *(f"{means[key]:.3f}" for key in keys))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
