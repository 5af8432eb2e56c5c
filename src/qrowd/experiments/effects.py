"""Pictures of a grid: main effects, interactions, lines by panel size, figures by test topics.

Eighteen lines in one pair of axes cannot be told apart. So they are drawn six at a time, approaches
of a kind together, with all others thin and grey behind them; each of the six has a colour, a dash
and a mark of its own, and its name at its end, so that they are told apart in colour and in print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.experiments.inputs import Inputs
from qrowd.experiments.plan import Plan
from qrowd.experiments.results import FACTORS, Results
from qrowd.experiments.run import Book
from qrowd.experiments.singles import KINDS, Singles
from qrowd.reporting.drawing import INK, MARKERS, colour_of, drawn, panel_grid
from qrowd.reporting.parts import Figure

Means = Mapping[str, Mapping[float, float]]
Drawing = Callable[[], Figure]
MOST = 6  # lines that are told apart in one pair of axes
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (9, 3)), (0, (3, 1, 1, 1, 1, 1)))
_NEAR = 0.088  # the least distance between names, as a share of the height


def pictures(
    book: Book,
    inputs: Inputs,
    statistic: str = "",
    group: str = "",
    only: Sequence[str] = (),
) -> dict[str, Figure]:
    """The pictures of an experiment by name, of all statistics and groups if none is named.

    With `only`, none but those of these names are drawn.
    """
    plan = book.plan
    statistics = [statistic] if statistic else list(plan.grid.statistics)
    groups = [group] if group else list(plan.topics) or ["all"]
    drawings: dict[str, Drawing] = {}
    for quantity in statistics:
        several = [Results.of(book, quantity, name) for name in groups]
        for results in several:
            prefix = f"{quantity}-{results.group}"
            drawings |= {f"{prefix}-{name}": draw for name, draw in figures(results).items()}
        if len(several) > 1:
            drawings[f"{quantity}-topics"] = partial(by_topics, several)
        singles = of_singles(several[0], inputs)
        drawings |= {f"{quantity}-{name}": draw for name, draw in singles.items()}
    return {name: draw() for name, draw in drawings.items() if not only or name in only}


def figures(results: Results) -> dict[str, Drawing]:
    """The effects on one statistic in one group of topic sets, by name."""
    several = [name for name in FACTORS if results.frame[name].n_unique() > 1]
    effects: dict[str, Drawing] = {}
    for name in several:
        effects[f"main-{name}"] = partial(main_effect, results, name)
    effects["main-size"] = partial(lines, results, "")
    effects |= {f"{name}-size": partial(lines, results, name) for name in several}
    for first, second in combinations(several, 2):
        effects[f"{first}-{second}"] = partial(interaction, results, first, second)
    return effects


def main_effect(results: Results, factor: str) -> Figure:
    """The mean of every level of a factor, a dot each."""
    means = {"mean": dict(results.means([factor]).iter_rows())}
    return _dots(results.statistic, f"main-{factor}", means, results.caption)


def interaction(results: Results, first: str, second: str) -> Figure:
    """The means of two factors together: a row per level of the first, a mark per the second."""
    means: dict[str, dict[str, float]] = {}
    for level, series, value in results.means([first, second]).iter_rows():
        means.setdefault(series, {})[level] = value
    return _dots(results.statistic, f"{first}-{second}", means, results.caption)


def lines(results: Results, factor: str) -> Figure:
    """Means by panel size, a line per level of a factor, or one line of all."""
    means: dict[str, dict[float, float]] = {}
    for row in results.means([factor, "size"] if factor else ["size"]).iter_rows():
        name, size, value = row if factor else ("all", *row)
        means.setdefault(name, {})[float(size)] = value
    return _lines(results, f"{factor or 'main'}-size", "assessors merged", means, results.caption)


def by_topics(several: Sequence[Results]) -> Figure:
    """Means against the number of topics that are scored, a line per approach."""
    means: dict[str, dict[float, float]] = {}
    ordered = sorted(several, key=lambda results: len(results.sets[0].test))
    for results in ordered:
        for approach, value in results.means(["approach"]).iter_rows():
            means.setdefault(approach, {})[float(len(results.sets[0].test))] = value
    first = ordered[0]
    caption = (
        f"{first.statistic} by the number of topics that are scored; the others are learned from; "
        f"{first.book.plan.legend}{first.book.caption}"
    )
    return _lines(first, "topics", "topics that are scored", means, caption)


def of_singles(results: Results, inputs: Inputs) -> dict[str, Drawing]:
    """Every assessor's figure against gold on all topics: overall, by measure, by run set."""
    drawings: dict[str, Drawing] = {"single": partial(_singles, results, inputs, "")}
    for factor, levels in (("runs", inputs.runs), ("measure", inputs.plan.grid.measures)):
        if len(levels) > 1:
            drawings[f"single-{factor}"] = partial(_singles, results, inputs, factor)
    return drawings


def _singles(results: Results, inputs: Inputs, factor: str) -> Figure:
    """Every assessor's figure, a mark for each level of a factor, or one of all."""
    by_level: dict[str, list[dict[str, float]]] = {}
    for name in inputs.runs:
        table = Singles(inputs, name).figures(results.statistic, KINDS[0])
        for measure, values in zip(inputs.plan.grid.measures, table.tolist(), strict=True):
            level = {"runs": name, "measure": measure}.get(factor, "mean")
            own = dict(zip(inputs.crowd.assessors, values, strict=True))
            by_level.setdefault(level, []).append(own)
    means = {level: _mean(several) for level, several in sorted(by_level.items())}
    caption = f"Single assessors against gold, all topics; {results.book.caption}"
    return _dots(results.statistic, f"single-{factor}".rstrip("-"), means, caption)


def _mean(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([means[name] for means in several])) for name in several[0]}


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


def _lines(results: Results, name: str, along: str, means: Means, caption: str) -> Figure:
    lots = families(results.book.plan, list(means))
    columns = min(len(lots), 2)
    rows = math.ceil(len(lots) / columns)

    def draw(figure: Any) -> None:
        grid = panel_grid(figure, len(lots), columns, sharex=False)
        for axes, lot in zip(grid.flat, lots, strict=False):
            _draw_lot(axes, means, lot)
            axes.set(xlabel=along, ylabel=results.statistic)

    ends = ", ".join(f"{label} {list(line.values())[-1]:.3f}" for label, line in means.items())
    alt = f"Lines of {results.statistic} by {along}; at the right end: {ends}."
    note = "; each part has a scale of its own" if len(lots) > 1 else ""
    return Figure(drawn(f"experiment-{name}", 5.4 * columns, 3.3 * rows, draw), alt, caption + note)


def _draw_lot(axes: Any, means: Means, lot: Sequence[str]) -> None:
    """Some lines in full, with their names; the others thin behind them, where they come in."""
    behind = {"color": INK["muted"], "linewidth": 0.5, "alpha": 0.45}
    for label, line in means.items():
        if label not in lot:
            axes.plot(list(line), list(line.values()), **behind)
    for at, label in enumerate(lot):
        line = means[label]
        every = (at * 2, 11) if len(line) > 11 else 1
        axes.plot(list(line), list(line.values()), **_look(at), markersize=4, markevery=every)
    ticks = sorted({x for label in lot for x in means[label]})
    if len(ticks) < 6:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    values = np.array([value for label in lot for value in means[label].values()])
    margin = 0.06 * max(float(np.ptp(values)), 1e-3)
    axes.set_ylim(values.min() - margin, values.max() + margin)
    axes.margins(x=0.02)
    axes.grid()
    _name_ends(axes, {label: list(means[label].values())[-1] for label in lot})


def _name_ends(axes: Any, ends: Mapping[str, float]) -> None:
    """The name of each line at its right end, moved apart where they would touch."""
    low, high = axes.get_ylim()
    wanted = np.array([(value - low) / (high - low) for value in ends.values()])
    for at, (label, height) in enumerate(zip(ends, _apart(wanted, _NEAR), strict=True)):
        look = _look(at)
        axes.annotate(
            label,
            (1.0, wanted[at]),
            xytext=(1.1, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=look["color"],
            arrowprops={
                "color": look["color"],
                "linestyle": look["linestyle"],
                "arrowstyle": "-",
                "linewidth": 1.2,
                "relpos": (0.0, 0.5),
                "shrinkA": 1,
                "shrinkB": 1,
            },
        )


def _apart(heights: Floats, least: float) -> Floats:
    """Heights in 0..1, moved so that neighbours are `least` apart and none is above 1."""
    order = np.argsort(heights, kind="stable")
    steps = np.arange(len(heights)) * least
    level = heights[order] - steps
    rising = np.maximum.accumulate(level)
    falling = np.minimum.accumulate(level[::-1])[::-1]
    result = np.empty(len(heights))
    result[order] = np.minimum((rising + falling) / 2 + steps, 1.0 - steps[::-1])
    return result


def _look(at: int) -> dict[str, Any]:
    """The colour, dash and mark of the at-th line."""
    return {
        "color": colour_of(at),
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
            look = {**_look(at), "linestyle": "", "label": label}
            axes.plot(
                [values[level] for level in levels],
                range(len(levels)),
                markersize=5 + at % 2 * 1.5,
                markerfacecolor="none" if at % 2 else look["color"],
                **look,
            )
        axes.set(xlabel=statistic, ylim=(len(levels) - 0.5, -0.5))
        axes.set_yticks(range(len(levels)), levels)
        axes.grid()
        if len(means) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))

    listed = "; ".join(
        f"{label}: " + ", ".join(f"{level} {values[level]:.3f}" for level in levels)
        for label, values in means.items()
    )
    height, alt = 1.0 + 0.25 * len(levels), f"Means of {statistic}. {listed}."
    return Figure(drawn(f"experiment-{name}", 6.4, height, draw), alt, caption)
