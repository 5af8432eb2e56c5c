"""How well spammers are found: ROC curves on crowds whose spammers are known.

    python -m benchmarks.spam [--prevalence 0.1] [--figures docs/figures]

`--figures` draws ROC curves there.

A fifth of each crowd are spammers (8 % random with a coin of their own, 4 % always yes, 4 % always
no, 4 % repeat a pattern of two to six answers), the others are good, sloppy and biased assessors
(5 : 2 : 1). 30 % of the pairs are relevant, five judgements each, correlated errors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, run
from qrowd.data.arrays import Array, Floats
from qrowd.quality.evidence import Evidence
from qrowd.reporting.figures import roc, standalone

KINDS = {"random": ("random",), "uniform": ("yes", "no"), "pattern": ("pattern",)}
HONEST = ("good", "sloppy", "biased")
MIX = {
    "good": 0.5,
    "sloppy": 0.2,
    "biased": 0.1,
    "random": 0.08,
    "yes": 0.04,
    "no": 0.04,
    "pattern": 0.04,
    "adversarial": 0.0,
}
STATISTICS: dict[str, Callable[[Evidence], Floats]] = {
    "distance": lambda e: e.distances.mean,
    "distance / chance": lambda e: e.distances.ratio,
    "pattern": lambda e: e.pattern_disagreement,
    "1 - agreement": lambda e: 1 - e.agreement,
    "- trust": lambda e: -e.relative_trust,
}
RULES = {
    "random-spam": "random-spam(comparisons=1)",
    "uniform-spam": "uniform-spam(comparisons=1)",
    "trust": "trust(judgements=1)",
    "suspected": "suspected",
}
ASSESSORS = 100
Curves = dict[str, dict[str, dict[str, tuple[Floats, Floats]]]]


@dataclass(frozen=True)
class Options:
    figures: str = ""  # a folder to draw in
    prevalence: float = 0.3
    crowds: int = 30
    sizes: tuple[int, ...] = (10, 20, 50, 100, 200)


SHORT = Options(crowds=2, sizes=(10, 20))


def crowds(size: int, options: Options) -> Iterator[tuple[Evidence, Array]]:
    """Crowds of assessors with about `size` judgements each, and what they are."""
    for seed in range(options.crowds):
        crowd = q.simulate(
            topics=10,
            documents=ASSESSORS * size // (5 * 10),
            assessors=ASSESSORS,
            votes=5,
            skew=0,
            runs=0,
            prevalence=options.prevalence,
            difficulty=0.2,
            seed=seed,
            **MIX,
        )
        yield Evidence(crowd.judgements), crowd.assessors["kind"].astype(str)


def curve(spam: Floats, honest: Floats) -> tuple[Floats, Floats, float]:
    """False alarms, detections and the area under their curve; ties count half."""
    bounds = np.unique(np.concatenate([spam, honest]))[::-1]
    alarms, hits = (
        np.concatenate([[0.0], 1 - np.searchsorted(np.sort(part), bounds) / len(part)])
        for part in (honest, spam)
    )
    return alarms, hits, float(np.trapezoid(hits, alarms))


def measured(size: int, options: Options) -> tuple[dict[str, Floats], Array, dict[str, Array]]:
    """The statistics of all assessors of all crowds, their kinds, and whom the rules doubt."""
    values, kinds, doubted = defaultdict(list), [], defaultdict(list)
    for evidence, kind in crowds(size, options):
        for name, statistic in STATISTICS.items():
            values[name].append(np.nan_to_num(statistic(evidence)))
        for name, spec in RULES.items():
            doubted[name].append(q.get(spec, "rule").doubts(evidence).doubted)
        kinds.append(kind)
    joined = {name: np.concatenate(parts) for name, parts in values.items()}
    caught = {name: np.concatenate(parts) for name, parts in doubted.items()}
    return joined, np.concatenate(kinds), caught


def main(options: Options) -> None:
    areas: dict[tuple[str, str, int], float] = {}
    shares: dict[tuple[str, int], list[float]] = {}
    curves: Curves = defaultdict(lambda: defaultdict(dict))
    for size in options.sizes:
        values, kinds, caught = measured(size, options)
        honest = np.isin(kinds, HONEST)
        for kind, members in KINDS.items():
            spam = np.isin(kinds, members)
            for name, value in values.items():
                alarms, hits, areas[name, kind, size] = curve(value[spam], value[honest])
                curves[name][kind][str(size)] = (alarms, hits)
        for rule, doubt in caught.items():
            right = [doubt[np.isin(kinds, members)].mean() for members in KINDS.values()]
            wrong = [doubt[kinds == kind].mean() for kind in HONEST]
            shares[rule, size] = [*right, *wrong]
    table = Table("statistic", "spammers", *map(str, options.sizes), title="Area under the curve")
    for name in STATISTICS:
        for kind in KINDS:
            table.row(name, kind, *(f"{areas[name, kind, size]:.3f}" for size in options.sizes))
    table = Table("rule", "judgements", *KINDS, *HONEST, title="Share that is doubted")
    for rule in RULES:
        for size in options.sizes:
            table.row(rule, size, *(f"{share:.3f}" for share in shares[rule, size]))
    if options.figures:
        draw(curves, Path(options.figures))


def draw(curves: Curves, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in (("distance / chance", "roc-random-spam"), ("pattern", "roc-uniform-spam")):
        (folder / f"{file}.svg").write_text(standalone(roc(curves[name])), encoding="utf-8")


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
