"""Pictures of a grid: main effects, interactions, lines by panel size, figures by test topics.

Eighteen lines in one pair of axes cannot be told apart. So they are drawn six at a time, approaches
of a kind together, with all others thin and grey behind them; each of the six has a colour, a dash
and a mark of its own, and its name at its end, so that they are told apart in colour and in print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.experiments.inputs import Inputs
from qrowd.experiments.plan import Plan
from qrowd.experiments.results import FACTORS, Results
from qrowd.experiments.run import Book
from qrowd.experiments.singles import KINDS, Singles
from qrowd.reporting.drawing import INK, MARKERS, SERIES, drawn
from qrowd.reporting.parts import Figure

Means = Mapping[str, Mapping[float, float]]
MOST = 6  # lines that are told apart in one pair of axes
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (9, 3)), (0, (3, 1, 1, 1, 1, 1)))
_NEAR = 0.088  # the least distance between names, as a share of the height


def pictures(book: Book, inputs: Inputs, statistic: str = "", group: str = "") -> dict[str, Figure]:
    """All pictures of an experiment by name, of all statistics and groups if none is named."""
    plan = book.plan
    statistics = [statistic] if statistic else list(plan.grid.statistics)
    groups = [group] if group else list(plan.topics) or ["all"]
    found: dict[str, Figure] = {}
    for one in statistics:
        several = [Results.of(book, one, name) for name in groups]
        for results in several:
            found |= {
                f"{one}-{results.group}-{name}": figure for name, figure in figures(results).items()
            }
        if len(several) > 1:
            found[f"{one}-topics"] = by_topics(several)
        found |= {
            f"{one}-{name}": figure for name, figure in of_singles(several[0], inputs).items()
        }
    return found


def figures(results: Results) -> dict[str, Figure]:
    """The effects on one statistic in one group of topic sets, by name."""
    several = [name for name in FACTORS if results.frame[name].n_unique() > 1]
    found = {f"main-{name}": main_effect(results, name) for name in several}
    found["main-size"] = lines(results, "")
    for name in several:
        found[f"{name}-size"] = lines(results, name)
    for at, first in enumerate(several):
        for second in several[at + 1 :]:
            found[f"{first}-{second}"] = interaction(results, first, second)
    return found


def main_effect(results: Results, factor: str) -> Figure:
    """The mean of every level of a factor, a dot each."""
    means = results.means([factor])
    levels, values = means[factor].to_list(), means[results.statistic].to_list()
    found = {"mean": dict(zip(levels, values, strict=True))}
    return _dots(results.statistic, f"main-{factor}", found, results.caption)


def interaction(results: Results, first: str, second: str) -> Figure:
    """The means of two factors together: a row per level of the first, a mark per the second."""
    means: dict[str, dict[str, float]] = {}
    for one, other, value in results.means([first, second]).iter_rows():
        means.setdefault(other, {})[one] = value
    return _dots(results.statistic, f"{first}-{second}", means, results.caption)


def lines(results: Results, factor: str) -> Figure:
    """Means by panel size, a line per level of a factor, or one line of all."""
    found: dict[str, dict[float, float]] = {}
    for row in results.means([factor, "size"] if factor else ["size"]).iter_rows():
        name, at, value = row if factor else ("all", *row)
        found.setdefault(name, {})[float(at)] = value
    return _lines(results, f"{factor or 'main'}-size", "assessors merged", found, results.caption)


def by_topics(several: Sequence[Results]) -> Figure:
    """Means against the number of topics that are scored, a line per approach."""
    found: dict[str, dict[float, float]] = {}
    ordered = sorted(several, key=lambda one: len(one.sets[0].test))
    for results in ordered:
        for approach, value in results.means(["approach"]).iter_rows():
            found.setdefault(approach, {})[float(len(results.sets[0].test))] = value
    first = ordered[0]
    caption = (
        f"{first.statistic} by the number of topics that are scored; the others are learned from; "
        f"{first.book.plan.legend}{first.book.caption}"
    )
    return _lines(first, "topics", "topics that are scored", found, caption)


def of_singles(results: Results, inputs: Inputs) -> dict[str, Figure]:
    """Every assessor's figure against gold on all topics: overall, by measure, by run set."""
    found = {
        (name, measure): dict(zip(inputs.crowd.assessors, values.tolist(), strict=True))
        for name in inputs.runs
        for measure, values in zip(
            inputs.measures,
            Singles.of(inputs, name).figures(results.statistic, KINDS[0]),
            strict=True,
        )
    }
    caption = f"Single assessors against gold, all topics; {results.book.caption}"
    parts: dict[str, dict[str, dict[str, float]]] = {"single": {"mean": _mean([*found.values()])}}
    for at, factor in enumerate(("runs", "measure")):
        levels = sorted({key[at] for key in found})
        if len(levels) > 1:
            parts[f"single-{factor}"] = {
                level: _mean([means for key, means in found.items() if key[at] == level])
                for level in levels
            }
    return {name: _dots(results.statistic, name, means, caption) for name, means in parts.items()}


def _mean(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([one[name] for one in several])) for name in several[0]}


# --- lines ----------------------------------------------------------------------------------------


def families(plan: Plan, names: Sequence[str]) -> list[list[str]]:
    """The names in lots of six at most, approaches of a kind together."""
    kinds: list[tuple[object, list[str]]] = []
    for name in names:
        kind: object = name
        if name in plan.grid.approaches:
            method = plan.method(name)
            kind = (method.card.id, getattr(method, "per", ""))
        if kinds and kinds[-1][0] == kind:
            kinds[-1][1].append(name)
        else:
            kinds.append((kind, [name]))
    lots: list[list[str]] = []
    for _, lot in kinds:
        for at in range(0, len(lot), MOST):
            piece = lot[at : at + MOST]
            if lots and len(lots[-1]) + len(piece) <= MOST:
                lots[-1] += piece
            else:
                lots.append(piece)
    return lots


def _lines(results: Results, name: str, along: str, found: Means, caption: str) -> Figure:
    lots = families(results.book.plan, list(found))
    columns = min(len(lots), 2)
    rows = math.ceil(len(lots) / columns)

    def draw(figure: Any) -> None:
        every = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, lot in zip(every, lots, strict=False):
            _draw_lot(axes, found, lot)
            axes.set(xlabel=along, ylabel=results.statistic)
        for axes in every[len(lots) :]:
            axes.set_visible(False)

    ends = ", ".join(f"{label} {list(means.values())[-1]:.3f}" for label, means in found.items())
    alt = f"Lines of {results.statistic} by {along}; at the right end: {ends}."
    note = "; each part has a scale of its own" if len(lots) > 1 else ""
    return Figure(drawn(f"experiment-{name}", 5.4 * columns, 3.3 * rows, draw), alt, caption + note)


def _draw_lot(axes: Any, found: Means, lot: Sequence[str]) -> None:
    """Some lines in full, with their names; the others thin behind them, where they come in."""
    for label, means in found.items():
        if label not in lot:
            axes.plot(
                list(means), list(means.values()), color=INK["muted"], linewidth=0.5, alpha=0.45
            )
    for at, label in enumerate(lot):
        means = found[label]
        axes.plot(
            list(means),
            list(means.values()),
            **_look(at),
            markersize=4,
            markevery=(at * 2, 11) if len(means) > 11 else 1,
        )
    places = sorted({place for label in lot for place in found[label]})
    if len(places) < 6:
        axes.set_xticks(places, [f"{place:g}" for place in places])
    values = np.array([value for label in lot for value in found[label].values()])
    margin = 0.06 * max(float(np.ptp(values)), 1e-3)
    axes.set_ylim(values.min() - margin, values.max() + margin)
    axes.margins(x=0.02)
    axes.grid()
    _name_ends(axes, {label: list(found[label].values())[-1] for label in lot})


def _name_ends(axes: Any, ends: Mapping[str, float]) -> None:
    """The name of each line at its right end, moved apart where they would touch."""
    low, high = axes.get_ylim()
    wanted = np.array([(value - low) / (high - low) for value in ends.values()])
    for at, (label, place) in enumerate(zip(ends, _apart(wanted, _NEAR), strict=True)):
        look = _look(at) | {"marker": ""}
        line = {name: look[name] for name in ("color", "linestyle")}
        axes.annotate(
            label,
            (1.0, wanted[at]),
            xytext=(1.1, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=look["color"],
            arrowprops={
                **line,
                "arrowstyle": "-",
                "linewidth": 1.2,
                "relpos": (0.0, 0.5),
                "shrinkA": 1,
                "shrinkB": 1,
            },
        )


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
    """The colour, dash and mark of the at-th line."""
    return {
        "color": INK[SERIES[at % len(SERIES)]],
        "linestyle": _DASHES[at % len(_DASHES)],
        "marker": MARKERS[at % len(MARKERS)],
    }


# --- dots -----------------------------------------------------------------------------------------


def _dots(
    statistic: str, name: str, means: Mapping[str, Mapping[str, float]], caption: str
) -> Figure:
    """A row per level, a mark per series; every other series hollow, so that both are seen."""
    levels: Sequence[str] = list(next(iter(means.values())))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for at, (label, values) in enumerate(means.items()):
            colour = INK[SERIES[at % len(SERIES)]]
            axes.plot(
                [values[level] for level in levels],
                range(len(levels)),
                linestyle="",
                marker=MARKERS[at % len(MARKERS)],
                markersize=5 + at % 2 * 1.5,
                color=colour,
                markerfacecolor="none" if at % 2 else colour,
                label=label,
            )
        axes.set(xlabel=statistic, ylim=(len(levels) - 0.5, -0.5))
        axes.set_yticks(range(len(levels)), levels)
        axes.grid()
        if len(means) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))

    told = "; ".join(
        f"{label}: " + ", ".join(f"{level} {values[level]:.3f}" for level in levels)
        for label, values in means.items()
    )
    height, alt = 1.0 + 0.25 * len(levels), f"Means of {statistic}. {told}."
    return Figure(drawn(f"experiment-{name}", 6.4, height, draw), alt, caption)
