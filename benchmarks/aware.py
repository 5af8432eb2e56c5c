"""Which merging ranks systems best, on the machine assessors of TREC DL 2021; AWARE's speed.

    python -m benchmarks.aware [--panels 8] [--sizes 2,5,10,20,55] [--training 0,5,10,26]
        [--splits 100] [--all]

Every cell is the mean over random panels (and, with gold, random training topics) of tau_AP with
NIST's ranking of the 63 runs, on topics that no method was trained on, with a 95 % t-interval over
panels.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import qrowd as q
from qrowd import registry
from qrowd.aggregation.gaps import GAPS
from qrowd.aggregation.scores.unsupervised import UnsupervisedAware
from qrowd.comparison.correlation import tau_ap
from qrowd.comparison.significance import means_of
from qrowd.data.arrays import Floats

LEFT_OUT = {"hier-bayes"}  # minutes for hundreds of panels; hier-vb has the same model
SLOW = {"em-gauss", "glad", "m3v", "mace"}  # left out of the tables with gold, unless --all
UNSUPERVISED = ("aware-uni", "sgl_apc_msd", "tpc_apc_msd", "sgl_fro_msd", "sgl_kld_msd")
SUPERVISED = (
    "sup_apc",
    "sup_tau",
    "sup_fro",
    "sup_kld",
    "aware-s(gap='apc', power=8)",
    "aware-s(gap='apc', power=8, shrink=5)",
    "aware-r",
    "aware-t",
)


def data_folder() -> Path:
    beside = Path(__file__).parents[2] / "shared" / "data"
    return Path(os.environ.get("QROWD_DATA") or beside) / "dl21"


class Study:
    """The collection, and what is computed once for all panels."""

    def __init__(self, folder: Path, everything: bool = False) -> None:
        self.everything = everything
        self.crowd = q.read_judgements(folder / "judgements.tsv.gz")
        self.gold = q.read_qrels(folder / "gold.qrels.gz")
        self.runs = q.read_runs(str(folder / "runs"))
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
        self.random = q.random_scores(self.runs, self.gold.pairs, self.measures)

    def label_methods(self, with_gold: bool) -> list[str]:
        """Every judgement-level method that needs nothing but judgements."""
        left_out = LEFT_OUT | SLOW if with_gold and not self.everything else LEFT_OUT
        return [
            id
            for id, card in registry.cards("method").items()
            if card.level == "judgements" and not card.needs and id not in left_out
        ]

    def agreement(self, scores: q.Scores, test: Iterable[str]) -> Floats:
        """tau_AP with gold of each measure and column, on these topics: [measure, column].

        A topic may repeat, and then counts as often.
        """
        names = list(test)
        truth, found = (
            means_of(one.values[:, :, [one.topics.code(name, "topic") for name in names]], axis=2)
            for one in (self.by_gold, scores)
        )
        return np.asarray(tau_ap(found, truth))

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
        for spec in UNSUPERVISED if train is None else (*UNSUPERVISED[:2], *SUPERVISED):
            yield spec, self.agreement(registry.get(spec).fit(by_each, given), test)[:, 0]
        crowd = self.crowd.of_assessors(q.Index.of(panel))
        semi = q.Given(gold=None if train is None else self.binary[train])
        for id in self.label_methods(train is not None):
            merged = registry.get(id).fit(crowd, semi)
            kinds = {"binmv": ("soft",), "qbinmv": ("soft",), "stack": ("hard", "soft")}
            for kind in kinds.get(id, ("hard",)):
                relevance = merged.soft()[test] if kind == "soft" else merged.qrels()[test]
                scores = q.evaluate(self.runs, relevance, self.measures)
                name = f"{id} (expected)" if kind == "soft" else id
                yield name, self.agreement(scores, test)[:, 0]


def table(study: Study, size: int, panels: int, training: int) -> dict[str, Floats]:
    """tau_AP of every method: [panel, measure]."""
    found: dict[str, list[Floats]] = {}
    for number in range(1 if size == len(study.crowd.assessors) and not training else panels):
        random = np.random.default_rng([size, training, number])
        names = study.crowd.assessors.names
        panel = random.choice(names, size, replace=False).tolist()
        train = None
        if training:
            train = q.Index.of(random.choice(study.gold.topics.names, training, replace=False))
        for name, value in study.results(panel, train):
            found.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in found.items()}


def print_table(study: Study, sizes: list[int], panels: int, training: int) -> None:
    from scipy import stats

    columns = {size: table(study, size, panels, training) for size in sizes}
    gold = f"gold for {training} topics, scored on the others" if training else "no gold"
    for m, measure in enumerate(study.measures):
        print(f"\n### {measure}, {gold}\n")
        print("| method | " + " | ".join(f"{size} assessors" for size in sizes) + " |")
        print("|---|" + "---|" * len(sizes))
        last = columns[sizes[-1]]
        for name in sorted(last, key=lambda name: -last[name][:, m].mean()):
            cells = []
            for size in sizes:
                values = columns[size][name][:, m]
                width = 0.0
                if len(values) > 1:
                    width = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
                cells.append(f"{values.mean():.3f}" + (f" ± {width:.3f}" if width else ""))
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def head_to_head(study: Study, splits: int) -> None:
    """All assessors: what is learned, against the best single one in hindsight."""
    specs = ("aware-uni", "sup_apc", "aware-s(gap='apc', power=8)", "aware-r")
    print(f"\n### All assessors, {splits} sets of training topics: tau_AP above the best single")
    print(
        "\nThe single one is the best on the very test topics. 95 % intervals that take the topics "
        f"for a sample: {splits} times they are drawn with replacement, a training set is drawn "
        "among them, and the weights are learned again.\n"
    )
    print("| measure | training topics | " + " | ".join(specs) + " | single, best in training |")
    print("|---|---|" + "---|" * (len(specs) + 1))
    for m, measure in enumerate(study.measures):
        for training in (5, 10, 26):
            found = np.array([_gains(study, specs, training, n)[m] for n in range(splits)])
            drawn = [_gains(study, specs, training, n, anew=True)[m] for n in range(splits)]
            width = 2.0 * np.std(drawn, axis=0, ddof=1)
            cells = [f"{a:+.3f} ± {b:.3f}" for a, b in zip(found.mean(axis=0), width, strict=True)]
            print(f"| {measure} | {training} | " + " | ".join(cells) + " |", flush=True)


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
    specs = [f"sup_{gap}" for gap in GAPS] + [f"sgl_{gap}_msd" for gap in GAPS]
    specs += ["aware-s(gap='apc', power=8)", "aware-s(gap='kld', beta=10)", "aware-r"]
    print("\n### Effective number of assessors, 10 training topics\n")
    print("| method | " + " | ".join(study.measures) + " |\n|---|---|---|")
    for spec in specs:
        weight = registry.get(spec).accuracies(study.by_each, given)[:, :, 0]
        weight = weight / weight.sum(axis=1, keepdims=True)
        cells = [f"{number:.1f}" for number in 1 / (weight**2).sum(axis=1)]
        print(f"| {spec} | " + " | ".join(cells) + " |", flush=True)


def speed() -> None:
    """All thirty u-AWARE estimators: 31 assessors, 300 random ones, 129 runs, 50 topics."""
    random = np.random.default_rng(1)
    topics, runs = (q.Index.of([f"{n:03d}" for n in range(size)]) for size in (50, 129))
    own = q.Index.of([f"a{n}" for n in range(31)])
    names = q.Index.of([f"{p}:{n:04d}" for p in (0.05, 0.5, 0.95) for n in range(100)])
    scores = q.Scores(("AP",), "assessor", own, topics, runs, random.random((1, 31, 50, 129)))
    chance = q.Scores(("AP",), "random", names, topics, runs, random.random((1, 300, 50, 129)))
    given = q.Given(random=chance)
    UnsupervisedAware(gap="apc").accuracies(scores.of_columns(["a1"]), given)  # compile
    print("| gap | sgl, 3 weights, CPU s | tpc, 3 weights, CPU s |\n|---|---|---|")
    total = 0.0
    for gap in GAPS:
        spent = []
        for per in ("sgl", "tpc"):
            start = time.process_time()
            for weight in ("md", "msd", "med"):
                UnsupervisedAware(gap=gap, weight=weight, per=per).accuracies(scores, given)
            spent.append(time.process_time() - start)
        total += sum(spent)
        print(f"| {gap} | {spent[0]:.2f} | {spent[1]:.2f} |", flush=True)
    print(f"\nAll 30 estimators: {total:.1f} s of CPU")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=8)
    parser.add_argument("--sizes", default="2,5,10,20,55")
    parser.add_argument("--training", default="0,5,10,26", help="numbers of topics with gold")
    parser.add_argument("--splits", type=int, default=100, help="for the head to head")
    parser.add_argument("--all", action="store_true", help="slow methods with gold, too")
    options = parser.parse_args(arguments or [])
    warnings.simplefilter("ignore")
    print("## u-AWARE: gaps of 31 assessors to 300 random ones, 129 runs, 50 topics\n")
    speed()
    if not data_folder().is_dir():
        print(f"\nno DL 2021 data in {data_folder()}; QROWD_DATA names another folder")
        return
    study = Study(data_folder(), options.all)
    print(
        f"\n## TREC DL 2021: {len(study.crowd.assessors)} machine assessors, {len(study.runs)} runs"
    )
    sharpness(study)
    head_to_head(study, options.splits)
    for training in map(int, options.training.split(",")):
        print_table(study, [int(s) for s in options.sizes.split(",")], options.panels, training)


if __name__ == "__main__":
    main(sys.argv[1:])
