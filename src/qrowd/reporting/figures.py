"""The pictures of a report. Each takes arrays and names and gives a `Figure`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qrowd.comparison.correlation import places
from qrowd.comparison.intervals import Intervals
from qrowd.data.arrays import Array, Floats, Offsets
from qrowd.quality.suspicion import TYPES
from qrowd.reporting.drawing import INK, MARKERS, SERIES, drawn
from qrowd.reporting.parts import Figure

_MOST = 60  # systems in one picture
_PANELS = 3  # side by side
_POINTS = 500  # of a curve


def votes_per_pair(votes: Offsets) -> Figure:
    """How many pairs have how many judgements."""
    counts = np.bincount(votes)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.bar(np.arange(len(counts)), counts, color=INK["one"], width=0.8)
        axes.set_xlabel("judgements of a pair")
        axes.set_ylabel("pairs")
        axes.grid(axis="y")
        axes.locator_params(axis="x", integer=True)

    alt = (
        f"Bars: {len(votes)} pairs have between {votes.min()} and {votes.max()} judgements, "
        f"{np.median(votes):g} in the middle."
    )
    return Figure(drawn("votes", 4.2, 2.8, draw), alt, "Judgements per pair.")


def workload(per_assessor: Offsets) -> Figure:
    """How unequally the work is shared: judgements of each assessor, most first."""
    ordered = np.sort(per_assessor)[::-1]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        at = np.unique(np.linspace(0, len(ordered) - 1, _POINTS).round().astype(np.int64))
        axes.fill_between(
            at + 1, ordered[at], step="mid", color=INK["two"], alpha=0.25, linewidth=0
        )
        axes.step(at + 1, ordered[at], where="mid", color=INK["two"])
        axes.set_xlabel("assessors, the busiest first")
        axes.set_ylabel("judgements")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")

    alt = (
        f"A falling curve: the busiest of {len(ordered)} assessors made {ordered[0]} judgements, "
        f"the middle one {np.median(ordered):g}."
    )
    return Figure(drawn("workload", 4.2, 2.8, draw), alt, "Judgements per assessor.")


def looks(kinds: Sequence[str]) -> dict[str, dict[str, str]]:
    """Colour and marker of each kind of assessor: a suspected type has its own in all pictures."""
    types = TYPES if set(kinds) & set(TYPES) else ()
    order = [*types, *sorted(set(kinds) - set(types))]
    return {
        kind: {"color": INK[SERIES[at % len(SERIES)]], "marker": MARKERS[at % len(MARKERS)]}
        for at, kind in enumerate(order)
        if kind in kinds
    }


def assessors(
    sensitivity: Floats, specificity: Floats, judgements: Offsets, kinds: list[str], how: str
) -> Figure:
    """Sensitivity against specificity; on the diagonal one might as well throw a coin."""
    size = 28 + 260 * judgements / max(int(judgements.max(initial=1)), 1)
    known = looks(kinds)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.fill_between([0, 1], [1, 0], 0, color=INK["muted"], alpha=0.08, linewidth=0)
        axes.plot([0, 1], [1, 0], color=INK["muted"], linestyle=(0, (4, 3)), linewidth=1)
        axes.text(0.03, 0.04, "worse than chance", color=INK["muted"], fontsize=9)
        for kind, look in known.items():
            chosen = np.array([name == kind for name in kinds])
            axes.scatter(
                specificity[chosen],
                sensitivity[chosen],
                s=size[chosen],
                alpha=0.75,
                **look,
                edgecolors=INK["page"],
                linewidths=0.6,
                label=kind,
                clip_on=False,
                zorder=3,
            )
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="specificity", ylabel="sensitivity")
        axes.set_aspect("equal")
        axes.grid()
        if len(known) > 1:
            legend = axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
            for handle in legend.legend_handles:
                handle.set_sizes([40])

    below = int((sensitivity + specificity < 1).sum())
    alt = (
        f"Scatter plot of {len(kinds)} assessors; {below} of them lie below the line of chance, "
        "where sensitivity is 1 minus specificity."
    )
    caption = (
        f"Each mark is an assessor, its size the number of judgements; {how}. On the dashed line "
        "answers carry no information, below it they mislead."
    )
    return Figure(drawn("assessors", 6.2, 4.6, draw), alt, caption)


def reliability(methods: Mapping[str, tuple[Any, ...]]) -> Figure:
    """Predicted against observed shares of relevant pairs, one panel per method.

    Each has (predicted, observed, low, high, count), one entry per bin.
    """
    rows, columns = -(-len(methods) // _PANELS), min(len(methods), _PANELS)

    def draw(figure: Any) -> None:
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, (name, (predicted, observed, low, high, count)) in zip(
            panels, methods.items(), strict=False
        ):
            used = count > 0
            axes.plot([0, 1], [0, 1], color=INK["muted"], linestyle=(0, (4, 3)), linewidth=1)
            axes.vlines(
                predicted[used], low[used], high[used], color=INK["three"], alpha=0.35, linewidth=3
            )
            axes.scatter(
                predicted[used],
                observed[used],
                s=14 + 160 * np.sqrt(count[used] / count.sum()),
                color=INK["three"],
                edgecolors=INK["page"],
                linewidths=0.6,
                clip_on=False,
                zorder=3,
            )
            axes.set_title(name, fontsize=10)
            axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
            axes.set_aspect("equal")
            axes.grid()
        for axes in panels[len(methods) :]:
            axes.set_visible(False)
        figure.supxlabel("predicted probability of relevance", fontsize=10)
        figure.supylabel("share relevant in gold", fontsize=10)

    alt = "Reliability diagram: " + "; ".join(
        f"{name} is off by {np.average(abs(p - o)[c > 0], weights=c[c > 0]):.3f} on average"
        for name, (p, o, _, _, c) in methods.items()
        if (c > 0).any()
    )
    caption = (
        "Do probabilities mean what they say? Pairs by the probability that a method gave them "
        "(larger marks: more pairs), with 90% intervals of the share that is relevant in gold. "
        "Below the dashed line a method is too sure of relevance, above it not sure enough."
    )
    size = (0.6 + 2.1 * columns, 0.7 + 2.25 * rows)
    return Figure(drawn("reliability", *size, draw), alt + ".", caption)


def ranking(found: Intervals, wide: Intervals | None, gold: Floats | None) -> Figure:
    """Scores and places of systems with their intervals, best on top, by the first measure."""
    order = found.order()[:_MOST]
    rows = np.arange(len(order))
    names = [str(name) for name in found.runs.names[order]]
    truth = None if gold is None else places(gold)

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        for axes, column, colour, true in (
            (left, ("mean", "low", "high"), INK["one"], gold),
            (right, ("place", "place_low", "place_high"), INK["two"], truth),
        ):
            for source, width, alpha in ((wide, 8, 0.18), (found, 4, 0.55)):
                if source is not None and (axes is right or source.of_scores):
                    low, high = (getattr(source, name)[0][order] for name in column[1:])
                    axes.hlines(rows, low, high, color=colour, linewidth=width, alpha=alpha)
            axes.plot(getattr(found, column[0])[0][order], rows, "o", color=colour, markersize=5)
            if true is not None:
                axes.plot(
                    true[order],
                    rows,
                    linestyle="none",
                    marker="|",
                    markersize=11,
                    markeredgewidth=1.8,
                    color=INK["ink"],
                    label="gold",
                )
            axes.grid(axis="x")
        if gold is not None:
            left.legend(loc="lower right")
        left.set_yticks(rows, names)
        left.set_ylim(len(rows) - 0.4, -0.6)
        left.set_xlabel(f"mean {found.measures[0]}")
        right.set_xlabel("place")
        step = max(1, len(found.runs) // 6)
        right.set_xticks([1, *range(1 + step, len(found.runs) + 1, step)])
        right.tick_params(axis="y", length=0)

    top = order[0]
    alt = (
        f"Systems by mean {found.measures[0]}, and their places with {found.level:.0%} intervals; "
        f"{names[0]} is first with {found.mean[0, top]:.3f}, place {found.place_low[0, top]:g} to "
        f"{found.place_high[0, top]:g}."
    )
    more = f" The first {_MOST} of {len(found.runs)} systems." if len(found.runs) > _MOST else ""
    paler = "; paler: over topics too" if wide is not None else ""
    both = "" if not found.of_scores else "both "
    caption = (
        f"Mean {found.measures[0]} of each system, left, and its place, right, {both}with "
        f"{found.level:.0%} intervals over {found.source}{paler}.{more}"
    )
    return Figure(drawn("ranking", 7.6, 1.1 + 0.27 * len(rows), draw), alt, caption)


def agreement(
    name: str, names: Sequence[str], value: Floats, low: Floats, high: Floats, what: str
) -> Figure:
    """One figure per way of merging, with its interval, best on top."""
    order = np.argsort(-value, kind="stable")
    place = np.arange(len(names))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        known: Array = ~(np.isnan(low) | np.isnan(high))
        rows = place[known[order]]
        axes.hlines(
            rows,
            low[order][known[order]],
            high[order][known[order]],
            color=INK["three"],
            linewidth=4,
            alpha=0.35,
        )
        axes.plot(value[order], place, "o", color=INK["three"], markersize=6)
        axes.set_yticks(place, [names[at] for at in order])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel(what)
        axes.grid(axis="x")

    best = int(order[0])
    alt = f"{what} of {len(names)} ways of merging; {names[best]} is best with {value[best]:.3f}."
    caption = f"{what}; intervals by drawing topics again."
    return Figure(drawn(f"agreement-{name}", 6.2, 0.9 + 0.3 * len(names), draw), alt, caption)
