"""Pictures of a grid: main effects, interactions, lines by panel size, figures by test topics.

Eighteen lines stay legible in colour and in print: each has a colour and a dash of its own, and its
name stands at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.experiments.results import FACTORS, Results
from qrowd.experiments.run import cells
from qrowd.reporting.drawing import INK, MARKERS, SERIES, drawn
from qrowd.reporting.parts import Figure

_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)))
_LINE = 0.052  # the least distance between names, as a share of the height


def figures(results: Results) -> dict[str, Figure]:
    """All pictures of one statistic and group of topic sets, by name."""
    several = [name for name in FACTORS if results.frame[name].n_unique() > 1]
    found = {f"main-{name}": main_effect(results, name) for name in several}
    found["main-size"] = lines(results, "", "size")
    for name in several:
        found[f"{name}-size"] = lines(results, name, "size")
    for at, first in enumerate(several):
        for second in several[at + 1 :]:
            found[f"{first}-{second}"] = interaction(results, first, second)
    if len(results.book.plan.topics) > 1:
        found["approach-topics"] = by_topics(results)
    return found


def main_effect(results: Results, factor: str) -> Figure:
    """The mean of every level of a factor, a dot each."""
    means = results.means([factor])
    levels, values = means[factor].to_list(), means[results.statistic].to_list()
    return _dots(results, f"main-{factor}", {"mean": dict(zip(levels, values, strict=True))})


def interaction(results: Results, first: str, second: str) -> Figure:
    """The means of two factors together: a row per level of the first, a mark per the second."""
    means: dict[str, dict[str, float]] = {}
    for one, other, value in results.means([first, second]).iter_rows():
        means.setdefault(other, {})[one] = value
    return _dots(results, f"{first}-{second}", means)


def lines(results: Results, factor: str, axis: str) -> Figure:
    """Means along a column of numbers, a line per level of a factor, or one line of all."""
    found: dict[str, dict[float, float]] = {}
    for row in results.means([factor, axis] if factor else [axis]).iter_rows():
        name, at, value = row if factor else ("all", *row)
        found.setdefault(name, {})[float(at)] = value
    return _lines(results, f"{factor or 'main'}-{axis}", "assessors merged", found)


def by_topics(results: Results) -> Figure:
    """Means against the number of topics that are scored, a line per approach."""
    found: dict[str, dict[float, float]] = {}
    everything = cells(results.book)
    for group, sets in results.book.plan.topics.items():
        one = replace(results, group=group, frame=everything.filter(everything["topics"] == group))
        for approach, value in one.means(["approach"]).iter_rows():
            found.setdefault(approach, {})[float(len(sets[0].test))] = value
    return _lines(results, "approach-topics", "test topics", found)


def _lines(
    results: Results, name: str, along: str, found: Mapping[str, Mapping[float, float]]
) -> Figure:
    height = max(3.4, 0.28 * len(found))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for at, means in enumerate(found.values()):
            axes.plot(list(means), list(means.values()), **_look(at))
        axes.set(xlabel=along, ylabel=results.statistic)
        axes.margins(x=0.0)
        axes.grid()
        _name_ends(axes, {label: list(means.values())[-1] for label, means in found.items()})

    ends = ", ".join(f"{label} {list(means.values())[-1]:.3f}" for label, means in found.items())
    alt = f"Lines of {results.statistic} by {along}; at the right end: {ends}."
    return _figure(results, name, 7.6, height, draw, alt)


def _name_ends(axes: Any, ends: Mapping[str, float]) -> None:
    """The name of each line at its right end, moved apart where they would touch."""
    low, high = axes.get_ylim()
    wanted = np.array([(value - low) / (high - low) for value in ends.values()])
    for at, (label, place) in enumerate(zip(ends, _apart(wanted, _LINE), strict=True)):
        look = _look(at)
        axes.annotate(
            label, (1.0, wanted[at]), xytext=(1.08, place), xycoords="axes fraction",
            textcoords="axes fraction", va="center", fontsize=8.5, color=look["color"],
            arrowprops={**look, "arrowstyle": "-", "linewidth": 1.2, "relpos": (0.0, 0.5),
                        "shrinkA": 1, "shrinkB": 1},
        )  # fmt: skip


def _apart(places: Floats, least: float) -> Floats:
    """Places in 0..1, moved so that neighbours are `least` apart and none is above 1."""
    order = np.argsort(places, kind="stable")
    steps = np.arange(len(places)) * least
    level = places[order] - steps
    rising = np.maximum.accumulate(level)
    falling = np.minimum.accumulate(level[::-1])[::-1]
    result = np.empty(len(places))
    result[order] = np.minimum((rising + falling) / 2 + steps, 1.0 - steps[::-1])
    return result


def _look(at: int) -> dict[str, Any]:
    dash = _DASHES[at // len(SERIES) % len(_DASHES)]
    return {"color": INK[SERIES[at % len(SERIES)]], "linestyle": dash}


def _dots(results: Results, name: str, means: Mapping[str, Mapping[str, float]]) -> Figure:
    """A row per level, a mark per series."""
    levels: Sequence[str] = list(next(iter(means.values())))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for at, (label, values) in enumerate(means.items()):
            axes.plot(
                [values[level] for level in levels], range(len(levels)), linestyle="",
                marker=MARKERS[at % len(MARKERS)], markersize=5,
                color=INK[SERIES[at % len(SERIES)]], label=label,
            )  # fmt: skip
        axes.set(xlabel=results.statistic, ylim=(len(levels) - 0.5, -0.5))
        axes.set_yticks(range(len(levels)), levels)
        axes.grid()
        if len(means) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))

    told = "; ".join(
        f"{label}: " + ", ".join(f"{level} {values[level]:.3f}" for level in levels)
        for label, values in means.items()
    )
    return _figure(results, name, 6.4, 1.0 + 0.27 * len(levels), draw,
                   f"Means of {results.statistic}. {told}.")  # fmt: skip


def _figure(
    results: Results, name: str, width: float, height: float, draw: Callable[[Any], None], alt: str
) -> Figure:
    return Figure(drawn(f"experiment-{name}", width, height, draw), alt, results.caption)
