"""The pictures of a report. Each takes arrays and names and gives a `Figure`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qrowd.comparison.correlation import places
from qrowd.comparison.intervals import Intervals
from qrowd.comparison.label_measures import Calibration
from qrowd.data.arrays import Array, Floats, Offsets
from qrowd.data.merged import AssessorTable
from qrowd.errors import InputError
from qrowd.quality.independence import Couples
from qrowd.quality.people import quantity
from qrowd.quality.suspicion import TYPES
from qrowd.rendering import grouped, percent
from qrowd.reporting.drawing import DASHED, INK, MARKERS, colour_of, drawn, panel_grid
from qrowd.reporting.parts import Figure

_MOST = 60  # systems in one picture
_PANELS = 3  # side by side
_POINTS = 500  # of a curve
_STEPS = 10  # shades of a colour
_THEME = """<style>
svg { --c-ink: #1d2327; --c-muted: #5d6b72; --c-grid: #dfe3e4; --c-page: #ffffff; --c-one: #0b7a75;
  --c-two: #c8553d; --c-three: #3f5fa8; --c-four: #b7860b; --c-five: #7d4f9e; --c-six: #5a7d2a;
  background: var(--c-page); font-family: ui-sans-serif, system-ui, Arial, sans-serif; }
@media (prefers-color-scheme: dark) {
  svg { --c-ink: #e8e6e1; --c-muted: #9aa6ab; --c-grid: #273136; --c-page: #181f23;
    --c-one: #45b8ae; --c-two: #f08a6f; --c-three: #86a6ef; --c-four: #e3b341;
    --c-five: #c79be6; --c-six: #a3c76a; }
}
</style>"""


def standalone(figure: Figure) -> str:
    """The picture as a file of its own: light or dark as the reader's screen is."""
    from xml.sax.saxutils import escape

    head, body = figure.svg.split(">", 1)
    return f'{head} role="img"><title>{escape(figure.alt)}</title>{_THEME}{body}\n'


def votes_per_pair(votes: Offsets) -> Figure:
    """How many pairs have how many judgements."""
    counts = np.bincount(votes)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.bar(np.arange(len(counts)), counts, color=INK["one"], width=0.8)
        axes.set(xlabel="judgements of a pair", ylabel="pairs")
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
        x, y = at + 1, ordered[at]
        axes.fill_between(x, y, step="mid", color=INK["two"], alpha=0.25, linewidth=0)
        axes.step(x, y, where="mid", color=INK["two"])
        axes.set(xlabel="assessors, the busiest first", ylabel="judgements", ylim=(0, None))
        axes.grid(axis="y")

    alt = (
        f"A falling curve: the busiest of {len(ordered)} assessors made {ordered[0]} judgements, "
        f"the middle one {np.median(ordered):g}."
    )
    return Figure(drawn("workload", 4.2, 2.8, draw), alt, "Judgements per assessor.")


def skilled(table: AssessorTable, prefix: str = "") -> Array:
    """The rows whose sensitivity and specificity are both known; none without such columns."""
    if f"{prefix}sensitivity" not in table.columns:
        return np.arange(0)
    return np.flatnonzero(~np.isnan(table[f"{prefix}sensitivity"] + table[f"{prefix}specificity"]))


def assessors(
    table: AssessorTable, rows: Array, every_kind: Sequence[str] | Array, how: str, prefix: str = ""
) -> Figure:
    """Sensitivity against specificity; on the diagonal one might as well throw a coin."""
    sensitivity = table[f"{prefix}sensitivity"][rows]
    specificity = table[f"{prefix}specificity"][rows]
    kinds = [str(every_kind[row]) for row in rows]
    judgements = table["judgements"][rows]
    size = 28 + 260 * judgements / max(int(judgements.max(initial=1)), 1)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.fill_between([0, 1], [1, 0], 0, color=INK["muted"], alpha=0.08, linewidth=0)
        axes.plot([0, 1], [1, 0], **DASHED)
        axes.text(0.03, 0.04, "worse than chance", color=INK["muted"], fontsize=9)
        _mark_assessors(axes, specificity, sensitivity, size, kinds, clip_on=False)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="specificity", ylabel="sensitivity")
        axes.set_aspect("equal")
        axes.grid()
        if len(set(kinds)) > 1:
            _assessor_legend(axes)

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


def sensitivity_specificity(table: AssessorTable) -> Figure | None:
    """Sensitivity against specificity by the best that is known; nothing if neither is."""
    for prefix, how in (("", "measured on gold"), ("est_", "estimated by merging")):
        known = skilled(table, prefix)
        if len(known):
            return assessors(table, known, table["type"], how, prefix)
    return None


def consensus_of(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Merged labels against single answers, a mark for each topic: above the line merging gains."""
    whole, topics = rows[0], rows[1:]
    single, merged = ([row[name] for row in topics] for name in ("single", "merged"))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], **DASHED)
        axes.plot(single, merged, "o", color=colour_of(0), markersize=4)
        axes.set(
            xlabel="single answers that are right",
            ylabel="merged labels that are right",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
        )
        axes.grid()

    alt = (
        f"Scatter plot of {len(topics)} topics; over all, {whole['single']:.3f} of single answers "
        f"and {whole['merged']:.3f} of merged labels are right."
    )
    return Figure(drawn("consensus", 4.6, 4.2, draw), alt, alt)


def quantity_of(table: AssessorTable, level: float = 0.9, seed: int = 0) -> Figure | None:
    """How good people are by how much they judged, with Spearman's rho; nothing of too few."""
    try:
        found = quantity(table, level, seed)
    except InputError:
        return None
    known = np.isfinite(table[found.column])
    number, good = table["judgements"][known], table[found.column][known]
    kinds = [str(kind) for kind in table["type"][known]]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.set_xscale("log")
        _mark_assessors(axes, number, good, np.full(len(number), 30.0), kinds)
        # one, two and five of each power of ten: more would run into each other
        ticks = [int(n * 10**power) for power in range(7) for n in (1, 2, 5)]
        inside = [tick for tick in ticks if number.min() <= tick <= number.max()]
        axes.set_xticks(inside, [grouped(tick) for tick in inside])
        axes.minorticks_off()
        axes.set(xlabel="judgements", ylabel=found.column)
        axes.grid()
        _assessor_legend(axes)

    caption = f"{found} ({percent(level)} interval, people drawn with replacement)."
    return Figure(drawn("quantity", 5.6, 3.8, draw), str(found), caption)


def speed_of(table: AssessorTable, bound: float = 6.0) -> Figure | None:
    """Speed against the best that is known of accuracy; nothing if no time is known.

    Who takes less than `bound` seconds is too fast to have read.
    """
    if "seconds" not in table.columns:
        return None
    names = {
        "accuracy": "accuracy on gold",
        "est_accuracy": "estimated accuracy",
        "agreement": "agreement with the others",
    }
    column = next(name for name in names if name in table.columns)
    label = names[column]
    timed = ~np.isnan(table[column]) & (table["seconds"] > 0)
    if not timed.any():
        return None
    seconds, value = table["seconds"][timed], table[column][timed]
    judgements, kinds = table["judgements"][timed], [str(kind) for kind in table["type"][timed]]
    size = 14 + 220 * judgements / max(int(judgements.max(initial=1)), 1)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.axvline(bound, **DASHED)
        axes.set_xscale("log")
        _mark_assessors(axes, seconds, value, size, kinds)
        low, high = seconds.min(), seconds.max()
        inside = [t for t in (0.5, 1, 2, 3, 6, 12, 25, 50, 100, 200, 400) if low <= t <= high]
        ticks = sorted({*inside, bound})
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        axes.set(xlabel="seconds per document (median)", ylabel=label, ylim=(-0.02, 1.02))
        axes.grid()
        _assessor_legend(axes)

    quick = int((seconds < bound).sum())
    alt = f"Scatter plot of {len(seconds)} assessors; {quick} take less than {bound:g} seconds."
    caption = (
        f"Seconds per document against {label}; each mark is an assessor, its size the number of "
        f"judgements. Dashed: {bound:g} seconds."
    )
    return Figure(drawn("speed", 6.4, 4.0, draw), alt, caption)


def looks(kinds: Sequence[str]) -> dict[str, dict[str, str]]:
    """Colour and marker of each kind of assessor: a suspected type has its own in all pictures."""
    types = TYPES if set(kinds) & set(TYPES) else ()
    order = [*types, *sorted(set(kinds) - set(types))]
    return {
        kind: {"color": colour_of(at), "marker": MARKERS[at % len(MARKERS)]}
        for at, kind in enumerate(order)
        if kind in kinds
    }


def agreement_matrix(couples: Couples) -> Figure:
    """Cohen's kappa of each two assessors, alike ones side by side."""
    order = couples.order()
    kappa, n = couples.kappa[np.ix_(order, order)], len(order)
    names = [str(name) for name in couples.assessors.names[order]]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for colour, step in [(c, s) for c in ("two", "one") for s in range(1, _STEPS + 1)]:
            cells = _shade(kappa if colour == "one" else -kappa) == step
            if cells.any():
                axes.add_patch(_squares(np.argwhere(cells), INK[colour], step / _STEPS))
        axes.set(xlim=(0, n), ylim=(n, 0), xticks=[], aspect="equal")
        axes.set_yticks(np.arange(n) + 0.5, names, fontsize=min(9, max(4, 300 / n)))
        axes.tick_params(length=0)
        _kappa_legend(axes)

    defined = couples.kappa[~np.isnan(couples.kappa)]
    middle = float(np.median(defined)) if len(defined) else np.nan
    alt = f"Matrix of Cohen's kappa between {n} assessors; the median is {middle:.2f}."
    caption = (
        "Cohen's kappa of each two assessors on the pairs that both judged, alike ones side by "
        "side. Fuller is farther from chance; blank: at chance, or no pair in common."
    )
    size = 2.2 + 0.16 * n
    return Figure(drawn("kappa", size + 1.4, size, draw), alt, caption)


def reliability(methods: Mapping[str, Calibration]) -> Figure:
    """Predicted against observed shares of relevant pairs, one panel per method."""
    rows, columns = -(-len(methods) // _PANELS), min(len(methods), _PANELS)

    def draw(figure: Any) -> None:
        grid = panel_grid(figure, len(methods), columns, sharey=True)
        for axes, (name, bins) in zip(grid.flat, methods.items(), strict=False):
            used = bins.count > 0
            predicted, share = bins.predicted[used], bins.count[used] / bins.count.sum()
            ends = bins.low[used], bins.high[used]
            axes.plot([0, 1], [0, 1], **DASHED)
            axes.vlines(predicted, *ends, color=INK["three"], alpha=0.35, linewidth=3)
            axes.scatter(
                predicted,
                bins.observed[used],
                s=14 + 160 * np.sqrt(share),
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
        figure.supxlabel("predicted probability of relevance", fontsize=10)
        figure.supylabel("share relevant in gold", fontsize=10)

    alt = "Reliability diagram: " + "; ".join(
        f"{name} is off by {bins.expected_error:.3f} on average"
        for name, bins in methods.items()
        if (bins.count > 0).any()
    )
    caption = (
        "Do probabilities mean what they say? Pairs by the probability that a method gave them "
        "(larger marks: more pairs), with 90% intervals of the share that is relevant in gold. "
        "Below the dashed line a method is too sure of relevance, above it not sure enough."
    )
    size = (0.6 + 2.1 * columns, 0.7 + 2.25 * rows)
    return Figure(drawn("reliability", *size, draw), alt + ".", caption)


def ranking(estimate: Intervals, wide: Intervals | None, gold: Floats | None) -> Figure:
    """Scores and places of systems with their intervals, best on top, by the first measure."""
    order = estimate.order()[:_MOST]
    rows = np.arange(len(order))
    names = [str(name) for name in estimate.runs.names[order]]
    truth = None if gold is None else places(gold)

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        for axes, column, colour, true in (
            (left, ("mean", "low", "high"), INK["one"], gold),
            (right, ("place", "place_low", "place_high"), INK["two"], truth),
        ):
            for source, width, alpha in ((wide, 8, 0.18), (estimate, 4, 0.55)):
                if source is not None and (axes is right or source.of_scores):
                    low, high = (getattr(source, name)[0][order] for name in column[1:])
                    axes.hlines(rows, low, high, color=colour, linewidth=width, alpha=alpha)
            axes.plot(getattr(estimate, column[0])[0][order], rows, "o", color=colour, markersize=5)
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
        left.set_xlabel(f"mean {estimate.measures[0]}")
        right.set_xlabel("place")
        step = max(1, len(estimate.runs) // 6)
        right.set_xticks([1, *range(1 + step, len(estimate.runs) + 1, step)])
        right.tick_params(axis="y", length=0)

    top = order[0]
    alt = (
        f"Systems by mean {estimate.measures[0]}, and their places with {percent(estimate.level)} "
        f"intervals; {names[0]} is first with {estimate.mean[0, top]:.3f}, place "
        f"{estimate.place_low[0, top]:g} to {estimate.place_high[0, top]:g}."
    )
    rest = (
        f" The first {_MOST} of {len(estimate.runs)} systems." if len(estimate.runs) > _MOST else ""
    )
    paler = "; paler: over topics too" if wide is not None else ""
    both = "" if not estimate.of_scores else "both "
    caption = (
        f"Mean {estimate.measures[0]} of each system, left, and its place, right, {both}with "
        f"{percent(estimate.level)} intervals over {estimate.source}{paler}.{rest}"
    )
    return Figure(drawn("ranking", 7.6, 1.1 + 0.27 * len(rows), draw), alt, caption)


def agreement(
    name: str, names: Sequence[str], value: Floats, low: Floats, high: Floats, label: str
) -> Figure:
    """One figure per way of merging, with its interval, best on top."""
    order = np.argsort(-value, kind="stable")
    rows = np.arange(len(names))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        bounded = ~np.isnan(low + high)[order]
        ends = low[order][bounded], high[order][bounded]
        axes.hlines(rows[bounded], *ends, color=INK["three"], linewidth=4, alpha=0.35)
        axes.plot(value[order], rows, "o", color=INK["three"], markersize=6)
        axes.set_yticks(rows, [names[at] for at in order])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel(label)
        axes.grid(axis="x")

    best = int(order[0])
    alt = f"{label} of {len(names)} ways of merging; {names[best]} is best with {value[best]:.3f}."
    caption = f"{label}; intervals by drawing topics again."
    return Figure(drawn(f"agreement-{name}", 6.2, 0.9 + 0.3 * len(names), draw), alt, caption)


def passing(
    curves: Mapping[str, Mapping[str, Floats]],
    thresholds: Sequence[float],
    bounds: Mapping[str, float],
    gold: Sequence[int],
) -> Figure:
    """How often each worker passes each check, over its threshold."""

    def draw(figure: Any) -> None:
        panels = np.atleast_1d(figure.subplots(1, len(curves), sharey=True))
        for axes, (check, workers) in zip(panels, curves.items(), strict=True):
            for at, (name, values) in enumerate(workers.items()):
                axes.plot(thresholds, values, color=colour_of(at), label=name)
            if check in bounds:
                axes.axvline(bounds[check], **DASHED)
            axes.set(xlabel=f"{check} at least", xlim=(0, 1), ylim=(-0.02, 1.02))
            axes.grid()
        panels[0].set_ylabel("share who pass")
        _legend_below(figure, panels[0], ncols=5)

    grades = " ".join(map(str, gold))
    alt = f"Curves: how often five kinds of workers pass the checks on gold {grades}."
    caption = f"Share of workers who reach each threshold on gold {grades}; dashed: the bounds."
    return Figure(drawn("checks", 8.4, 3.4, draw), alt, caption)


def roc(
    panels: Mapping[str, Mapping[str, tuple[Floats, Floats]]],
    label: str = "judgements per assessor",
) -> Figure:
    """Detection against false alarms: one panel per kind of spammer, one curve per number."""

    def draw(figure: Any) -> None:
        axes_of = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for axes, (kind, curves) in zip(axes_of, panels.items(), strict=True):
            axes.plot([0, 1], [0, 1], **DASHED)
            for at, (name, (alarms, hits)) in enumerate(curves.items()):
                axes.plot(alarms, hits, color=colour_of(at), label=name)
            axes.set(title=kind, xlabel="false alarms", xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
            axes.grid()
        axes_of[0].set_ylabel("spammers found")
        _legend_below(figure, axes_of[0], ncols=6, title=label)

    alt = f"ROC curves of spam detection for {', '.join(panels)} spammers."
    caption = f"Spammers found against false alarms among honest assessors, by {label}."
    return Figure(drawn("roc", 2.6 * len(panels) + 0.6, 3.7, draw), alt, caption)


def survivors(batch: Mapping[str, float], after: Mapping[str, Sequence[float]]) -> Figure:
    """Kinds of workers: how often each passes a batch, and how many are left after n batches.

    Where nobody ever leaves, `after` is empty, and so is the right half.
    """

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
        names, at = list(batch), np.arange(len(batch))[::-1]
        colours = [colour_of(series) for series in range(len(names))]
        left.barh(at, list(batch.values()), color=colours, height=0.6)
        for height, name in zip(at, names, strict=True):
            left.text(batch[name] + 0.02, height, percent(batch[name]), va="center")
        left.set_yticks(at, names)
        left.tick_params(axis="y", length=0)
        left.set(xlim=(0, 1.18), xlabel="pass a batch", **_percents("x"))
        if not after:
            right.set_axis_off()
            return
        for series, (name, shares) in enumerate(after.items()):
            right.plot(
                range(1, len(shares) + 1),
                shares,
                color=colours[series],
                label=name,
                marker=MARKERS[series % len(MARKERS)],
                markersize=4,
            )
        right.set(xlabel="batches done", ylabel="still there", ylim=(-0.03, 1.04), **_percents("y"))
        right.grid()
        _legend_below(figure, right, ncols=3)

    shares = ", ".join(f"{name} {percent(share)}" for name, share in batch.items())
    alt = f"Bars: how often kinds of workers pass a batch ({shares})."
    caption = "The share of batches whose checks each kind of worker passes."
    if after:
        alt = alt.replace("Bars", "Bars and curves").replace(").", "), and who is left.")
        caption = f"Left: {caption[0].lower()}{caption[1:]} Right: the share of them who have not "
        caption += "been screened out after so many batches."
    return Figure(drawn("survivors", 8.2, 3.4, draw), alt, caption)


def _mark_assessors(
    axes: Any, x: Floats, y: Floats, size: Floats, kinds: Sequence[str], clip_on: bool = True
) -> None:
    for kind, look in looks(kinds).items():
        chosen = np.array([name == kind for name in kinds])
        axes.scatter(
            x[chosen],
            y[chosen],
            s=size[chosen],
            alpha=0.75,
            **look,
            edgecolors=INK["page"],
            linewidths=0.6,
            label=kind,
            clip_on=clip_on,
            zorder=3,
        )


def _assessor_legend(axes: Any) -> None:
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    for handle in legend.legend_handles:  # of one size, whatever the marks have
        handle.set_sizes([40])


def _legend_below(figure: Any, axes: Any, **look: Any) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", **look)


def _shade(values: Floats) -> Array:
    return np.ceil(np.clip(np.nan_to_num(values), 0, 1) * _STEPS - 1e-9).astype(np.int64)


def _squares(cells: Array, colour: str, alpha: float) -> Any:
    """All cells of one shade as one path, which keeps the file small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corner = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], float)
    points = (cells[:, None, ::-1] + corner).reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(cells)
    return PathPatch(Path(points, codes), facecolor=colour, alpha=alpha, linewidth=0)


def _kappa_legend(axes: Any) -> None:
    from matplotlib.patches import Patch

    kappas = {1.0: "one", 0.6: "one", 0.2: "one", -0.2: "two", -0.6: "two"}
    handles = [
        Patch(color=INK[colour], alpha=abs(kappa), linewidth=0, label=f"{kappa:g}")
        for kappa, colour in kappas.items()
    ]
    axes.legend(handles=handles, title="kappa", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _percents(axis: str) -> dict[str, Any]:
    return {f"{axis}ticks": (0, 0.5, 1), f"{axis}ticklabels": ("0 %", "50 %", "100 %")}
