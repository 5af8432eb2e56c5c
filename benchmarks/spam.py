"""How well spammers are found: ROC curves on crowds whose spammers are known.

python -m benchmarks.spam                       prints the tables of docs/quality.md
python -m benchmarks.spam --figures docs/figures
                                                also draws its ROC curves

A fifth of each crowd are spammers (8 % random with a coin of their own, 4 % always yes, 4 % always
no, 4 % repeat a pattern of two to six answers), the others are good, sloppy and biased assessors
(5 : 2 : 1). 30 % of the pairs are relevant, five judgements each, correlated errors.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import qrowd as q
from qrowd.data.arrays import Array, Floats
from qrowd.quality.evidence import Evidence

SIZES = (10, 20, 50, 100, 200)
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
RULES = (
    "random-spam(comparisons=1)",
    "uniform-spam(comparisons=1)",
    "trust(judgements=1)",
    "suspected",
)
ASSESSORS, CROWDS = 100, 30


def crowds(size: int, prevalence: float) -> Iterator[tuple[Evidence, Array]]:
    """Crowds of assessors with about `size` judgements each, and what they are."""
    for seed in range(CROWDS):
        documents = ASSESSORS * size // (5 * 10)
        c = q.simulate(
            topics=10,
            documents=documents,
            assessors=ASSESSORS,
            votes=5,
            skew=0,
            runs=0,
            prevalence=prevalence,
            difficulty=0.2,
            seed=seed,
            **MIX,
        )
        yield Evidence(c.judgements), c.assessors["kind"].astype(str)


def curve(spam: Floats, honest: Floats) -> tuple[Floats, Floats, float]:
    """False alarms, detections and the area under their curve; ties count half."""
    bounds = np.unique(np.concatenate([spam, honest]))[::-1]
    alarms, hits = (
        np.concatenate([[0.0], 1 - np.searchsorted(np.sort(part), bounds) / len(part)])
        for part in (honest, spam)
    )
    return alarms, hits, float(np.trapezoid(hits, alarms))


def measured(size: int, prevalence: float) -> tuple[dict[str, Floats], Array, dict[str, Array]]:
    """The statistics of all assessors of all crowds, their kinds, and whom the rules doubt."""
    values, kinds, doubted = defaultdict(list), [], defaultdict(list)
    for evidence, kind in crowds(size, prevalence):
        for name, statistic in STATISTICS.items():
            values[name].append(np.nan_to_num(statistic(evidence)))
        for rule in RULES:
            doubted[rule].append(q.get(rule, "rule").doubts(evidence).doubted)
        kinds.append(kind)
    joined = {name: np.concatenate(parts) for name, parts in values.items()}
    caught = {rule: np.concatenate(parts) for rule, parts in doubted.items()}
    return joined, np.concatenate(kinds), caught


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", metavar="FOLDER")
    parser.add_argument("--prevalence", type=float, default=0.3)
    options = parser.parse_args(arguments or [])
    areas: dict[tuple[str, str, int], float] = {}
    points: list[str] = []
    curves: dict[str, dict[str, dict[str, tuple[Floats, Floats]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for size in SIZES:
        values, kinds, caught = measured(size, options.prevalence)
        honest = np.isin(kinds, HONEST)
        for kind, members in KINDS.items():
            spam = np.isin(kinds, members)
            for name, value in values.items():
                alarms, hits, areas[name, kind, size] = curve(value[spam], value[honest])
                curves[name][kind][str(size)] = (alarms, hits)
        for rule, doubt in caught.items():
            shares = [doubt[np.isin(kinds, members)].mean() for members in KINDS.values()]
            wrong = [doubt[kinds == kind].mean() for kind in HONEST]
            cells = " | ".join(f"{share:.3f}" for share in (*shares, *wrong))
            points.append(f"| {rule.split('(')[0]} | {size} | {cells} |")
    print(area_table(areas))
    print()
    print("| rule | judgements | random | uniform | pattern | good | sloppy | biased |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(sorted(points, key=_place)))
    if options.figures:
        draw(curves, Path(options.figures))


def _place(line: str) -> int:
    names = [rule.split("(")[0] for rule in RULES]
    return names.index(line.split("|")[1].strip())


def area_table(areas: dict[tuple[str, str, int], float]) -> str:
    head = "| statistic | spammers | " + " | ".join(str(size) for size in SIZES) + " |"
    rows = [
        f"| {name} | {kind} | "
        + " | ".join(f"{areas[name, kind, size]:.3f}" for size in SIZES)
        + " |"
        for name in STATISTICS
        for kind in KINDS
    ]
    return "\n".join([head, "|---|---|" + "---|" * len(SIZES), *rows])


def draw(curves: dict[str, dict[str, dict[str, tuple[Floats, Floats]]]], folder: Path) -> None:
    from qrowd.reporting.figures import roc, standalone

    folder.mkdir(parents=True, exist_ok=True)
    for name, file in (("distance / chance", "roc-random-spam"), ("pattern", "roc-uniform-spam")):
        (folder / f"{file}.svg").write_text(standalone(roc(curves[name])), encoding="utf-8")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
