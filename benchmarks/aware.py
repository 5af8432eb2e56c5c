"""Which merging ranks systems best, on the machine assessors of TREC DL 2021; AWARE's speed.

    python -m benchmarks.aware --only ranking [--panels 8] [--training 0 5 10 26]
    python -m benchmarks.aware --only speed

tau_AP with NIST's ranking of the 63 runs, on topics that no method was trained on: means over
random training topics (and panels, where these are smaller than all), with 95 % t-intervals over
them. Judgement-level methods are given gold on the training topics, too. Sharpness: the effective
number of assessors, 1 / sum(a^2), of weights a that add up to 1; even ones have all of them.

Above the best single assessor: the one that is best on the very test topics; 95 % intervals take
the topics for a sample, which is drawn with replacement, a training set among it, and the weights
are learned again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import dl21
from benchmarks._measure import timed
from qrowd import registry
from qrowd.aggregation.gaps import GAPS
from qrowd.aggregation.scores.unsupervised import UnsupervisedAware
from qrowd.comparison.correlation import tau_ap
from qrowd.comparison.significance import means_of
from qrowd.data.arrays import Floats

UNSUPERVISED = ("aware-uni", "sgl_apc_msd", "sgl_kld_msd")
SUPERVISED = ("sup_apc", "aware-s(gap='apc', power=8)", "aware-r", "aware-t")
GOLD = 10  # topics with gold, of panels and of weights
PARTS = ("speed", "ranking")
SOFT = {"binmv": ("soft",), "qbinmv": ("soft",), "stack": ("soft",)}  # what is scored


@dataclass(frozen=True)
class Options:
    panels: int = 8
    sizes: tuple[int, ...] = (2, 5, 10, 20, 55)
    training: tuple[int, ...] = (0, 5, 10, 26)  # numbers of topics with gold
    splits: int = 60  # for the head to head
    methods: tuple[str, ...] = ("mv", "ds", "kos", "qbinmv", "stack")  # judgement-level ones
    topics: int = 53
    replicates: int = 100  # of a random assessor
    gaps: tuple[str, ...] = tuple(GAPS)
    only: tuple[str, ...] = option((), choices=PARTS)


SHORT = Options(
    panels=2,
    sizes=(3, 5),
    training=(0, 5),
    splits=2,
    methods=("mv", "binmv"),
    topics=12,
    replicates=2,
    gaps=("fro", "apc"),
)


class Study:
    """The collection, and what is computed once for all panels."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.crowd, self.gold, self.runs = dl21(options.topics)
        counts = self.crowd.per_assessor
        full = self.crowd.assessors.names[counts >= 0.95 * len(self.gold)]
        self.crowd = self.crowd.of_assessors(q.Index.of(full))
        self.binary = self.gold.binary(at_least=2)
        self.measures = ("AP", "nDCG@10")
        self.by_each = q.evaluate(self.runs, self.crowd.by_assessor(), self.measures)
        certain = q.evaluate(self.runs, self.binary, ["AP"])
        graded = q.evaluate(self.runs, self.gold, ["nDCG@10"])
        self.by_gold = q.Scores(
            self.measures,
            "",
            certain.columns,
            certain.topics,
            certain.runs,
            np.concatenate([certain.values, graded.values]),
        )
        self.random = q.random_scores(
            self.runs, self.gold.pairs, self.measures, replicates=options.replicates
        )

    def agreement(self, scores: q.Scores, test: Iterable[str]) -> Floats:
        """tau_AP with gold of each measure and column, on these topics: [measure, column].

        A topic may repeat, and then counts as often.
        """
        names = list(test)
        truth, own = (
            means_of(some.values[:, :, [some.topics.code(name, "topic") for name in names]], axis=2)
            for some in (self.by_gold, scores)
        )
        return np.asarray(tau_ap(own, truth))

    def results(self, panel: list[str], train: q.Index | None) -> Iterator[tuple[str, Floats]]:
        """Names and tau_AP per measure of all methods on one panel."""
        test = self.gold.topics if train is None else self.gold.topics.without(train)
        by_each = self.by_each.of_columns(panel)
        singles = self.agreement(by_each, test)
        yield "single assessor, mean", singles.mean(axis=1)
        yield "single assessor, best on the test topics", singles.max(axis=1)
        if train is not None:
            known = np.asarray(tau_ap(by_each[train].means(), self.by_gold[train].means()))
            chosen = known.argmax(axis=1)
            yield "single assessor, best on training topics", singles[[0, 1], chosen]
        given = q.Given(
            random=self.random, reference=None if train is None else self.by_gold[train]
        )
        for spec in UNSUPERVISED if train is None else (*UNSUPERVISED, *SUPERVISED):
            yield spec, self.agreement(registry.get(spec).fit(by_each, given), test)[:, 0]
        crowd = self.crowd.of_assessors(q.Index.of(panel))
        semi = q.Given(gold=None if train is None else self.binary[train])
        for id in self.options.methods:
            merged = registry.get(id).fit(crowd, semi)
            for kind in SOFT.get(id, ("hard",)):
                relevance = merged.soft()[test] if kind == "soft" else merged.qrels()[test]
                scores = q.evaluate(self.runs, relevance, self.measures)
                name = f"{id} (expected)" if kind == "soft" else id
                yield name, self.agreement(scores, test)[:, 0]


def table(study: Study, size: int, panels: int, training: int) -> dict[str, Floats]:
    """tau_AP of every method: [panel, measure]."""
    taus: dict[str, list[Floats]] = {}
    for number in range(1 if size == len(study.crowd.assessors) and not training else panels):
        random = np.random.default_rng([size, training, number])
        names = study.crowd.assessors.names
        panel = random.choice(names, size, replace=False).tolist()
        train = None
        if training:
            train = q.Index.of(random.choice(study.gold.topics.names, training, replace=False))
        for name, value in study.results(panel, train):
            taus.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in taus.items()}


def by_gold(study: Study) -> None:
    """All assessors, by the number of topics with gold: a table for each measure."""
    size, panels = len(study.crowd.assessors), study.options.panels
    columns = {
        f"gold for {training} topics" if training else "no gold": table(
            study, size, panels, training
        )
        for training in study.options.training
    }
    for m, measure in enumerate(study.measures):
        _print_methods(f"{measure} by gold", columns, m)


def by_size(study: Study) -> None:
    """nDCG@10 with a little gold, by the size of the panel."""
    gold, panels = min(GOLD, *study.options.training[-1:]), study.options.panels
    everybody = len(study.crowd.assessors)
    sizes = [min(size, everybody) for size in study.options.sizes]
    columns = {f"{size} assessors": table(study, size, panels, gold) for size in sizes}
    _print_methods("nDCG@10 by panel", columns, 1)


def _print_methods(title: str, columns: dict[str, dict[str, Floats]], measure: int) -> None:
    """A row for each method; some need gold, and have no figure without."""
    printed = Table("method", *columns, title=title, optional=columns)
    for name in list(columns.values())[-1]:
        cells = (taus[name][:, measure] if name in taus else None for taus in columns.values())
        printed.row(name, *("" if taus is None else _mean(taus) for taus in cells))


def _mean(values: Floats) -> str:
    """With its 95 % t-interval, where there are several."""
    if len(values) == 1:
        return f"{values[0]:.3f}"
    width = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{values.mean():.3f} ± {width:.3f}"


def head_to_head(study: Study) -> None:
    """All assessors: what is learned, against the best single one in hindsight."""
    specs = ("aware-uni", "sup_apc", "aware-s(gap='apc', power=8)", "aware-r")
    splits = study.options.splits
    rows: dict[tuple[int, int], list[str]] = {}
    for training in [number for number in (5, 10, 26) if number <= len(study.gold.topics) // 2]:
        gains = np.array([_gains(study, specs, training, n) for n in range(splits)])
        drawn = [_gains(study, specs, training, n, anew=True) for n in range(splits)]
        widths = 2.0 * np.std(drawn, axis=0, ddof=1)
        for m, each in enumerate(zip(gains.mean(axis=0), widths, strict=True)):
            rows[m, training] = [f"{a:+.3f} ± {b:.3f}" for a, b in zip(*each, strict=True)]
    title = "Above the best single assessor"
    table = Table("measure", "training topics", *specs, "single, best in training", title=title)
    for (m, training), cells in sorted(rows.items()):
        table.row(study.measures[m], training, *cells)


def _gains(
    study: Study, specs: tuple[str, ...], training: int, number: int, *, anew: bool = False
) -> Floats:
    """tau_AP less that of the best single assessor, [measure, method]; on topics drawn anew."""
    random = np.random.default_rng([training, number])
    names = study.gold.topics.names
    drawn = random.choice(names, len(names)) if anew else names
    train = q.Index.of(random.choice(np.unique(drawn.astype(str)), training, replace=False))
    test = [name for name in drawn if name not in train]
    singles = study.agreement(study.by_each, test)
    given = q.Given(reference=study.by_gold[train])
    merged = [study.agreement(registry.get(s).fit(study.by_each, given), test) for s in specs]
    known = np.asarray(tau_ap(study.by_each[train].means(), study.by_gold[train].means()))
    chosen = singles[[0, 1], known.argmax(axis=1)]
    return np.asarray(np.column_stack([*merged, chosen]) - singles.max(axis=1)[:, None])


def sharpness(study: Study) -> None:
    """The effective number of assessors under each estimator, with gold for 10 topics."""
    chosen = np.random.default_rng(1).choice(study.gold.topics.names, 10, replace=False)
    given = q.Given(reference=study.by_gold[q.Index.of(chosen)], random=study.random)
    gaps = study.options.gaps
    specs = [f"sup_{gap}" for gap in gaps] + [f"sgl_{gap}_msd" for gap in gaps]
    specs += ["aware-s(gap='apc', power=8)", "aware-s(gap='kld', beta=10)", "aware-r"]
    table = Table("weights", *study.measures, title="Sharpness of weights")
    for spec in specs:
        weight = registry.get(spec).accuracies(study.by_each, given)[:, :, 0]
        weight = weight / weight.sum(axis=1, keepdims=True)
        table.row(spec, *(f"{number:.1f}" for number in 1 / (weight**2).sum(axis=1)))


def speed(options: Options) -> None:
    """All u-AWARE estimators: gaps of 31 made assessors to random ones, 129 runs, 50 topics."""
    random = np.random.default_rng(1)
    topics, runs = (q.Index.of([f"{n:03d}" for n in range(size)]) for size in (50, 129))
    replicates = options.replicates
    own = q.Index.of([f"a{n}" for n in range(31)])
    names = q.Index.of([f"{p}:{n:04d}" for p in (0.05, 0.5, 0.95) for n in range(replicates)])
    shape = (1, 3 * replicates, 50, 129)
    scores = q.Scores(("AP",), "assessor", own, topics, runs, random.random((1, 31, 50, 129)))
    chance = q.Scores(("AP",), "random", names, topics, runs, random.random(shape))
    given = q.Given(random=chance)
    UnsupervisedAware(gap="apc").accuracies(scores.of_columns(["a1"]), given)  # compile
    heads = ("sgl, 3 weights, CPU s", "tpc, 3 weights, CPU s", "both, CPU s")
    table = Table("gap", *heads, title="Speed")

    def estimated(gap: str, per: str) -> None:
        for weight in ("md", "msd", "med"):
            UnsupervisedAware(gap=gap, weight=weight, per=per).accuracies(scores, given)

    total = np.zeros(2)
    for gap in options.gaps:
        spent = [timed(partial(estimated, gap, per))[1].cpu for per in ("sgl", "tpc")]
        total += spent
        table.row(gap, *(f"{seconds:.2f}" for seconds in (*spent, sum(spent))))
    table.row("all", *(f"{seconds:.1f}" for seconds in (*total, total.sum())))


def main(options: Options) -> None:
    """Print all tables, or those of one part."""
    warnings.simplefilter("ignore")
    parts = options.only or PARTS
    if "speed" in parts:
        speed(options)
    if "ranking" in parts:
        study = Study(options)
        for print_table in (sharpness, by_gold, by_size, head_to_head):
            print_table(study)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
