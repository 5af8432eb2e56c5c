"""Pictures of assessors and of the checks on them; `standalone` makes a file of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets
from qrowd.data.merged import AssessorTable
from qrowd.quality.couples import Couples
from qrowd.reporting.drawing import INK, SERIES, drawn
from qrowd.reporting.figures import assessors as square
from qrowd.reporting.figures import looks
from qrowd.reporting.parts import Figure

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


def sensitivity_specificity(table: AssessorTable) -> Figure | None:
    """Sensitivity against specificity by the best that is known; nothing if neither is."""
    for prefix, how in (("", "measured on gold"), ("est_", "estimated by merging")):
        if f"{prefix}sensitivity" in table.columns:
            sensitivity, specificity = table[f"{prefix}sensitivity"], table[f"{prefix}specificity"]
            known = ~(np.isnan(sensitivity) | np.isnan(specificity))
            if known.any():
                return square(
                    sensitivity[known],
                    specificity[known],
                    table["judgements"][known],
                    [str(kind) for kind in table["type"][known]],
                    how,
                )
    return None


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

    found = couples.kappa[~np.isnan(couples.kappa)]
    middle = float(np.median(found)) if len(found) else np.nan
    alt = f"Matrix of Cohen's kappa between {n} assessors; the median is {middle:.2f}."
    caption = "Cohen's kappa of each two assessors on the pairs that both judged, alike ones side "
    size = 2.2 + 0.16 * n
    return Figure(
        drawn("kappa", size + 1.4, size, draw),
        alt,
        caption + "by side. Fuller is farther from chance; blank: at chance, or no pair in common.",
    )


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

    shown = [
        ("one", 1.0, "1"),
        ("one", 0.6, "0.6"),
        ("one", 0.2, "0.2"),
        ("two", 0.2, "-0.2"),
        ("two", 0.6, "-0.6"),
    ]
    handles = [
        Patch(color=INK[c], alpha=alpha, linewidth=0, label=name) for c, alpha, name in shown
    ]
    axes.legend(handles=handles, title="kappa", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def speed(
    seconds: Floats,
    value: Floats,
    judgements: Offsets,
    kinds: Sequence[str],
    what: str,
    bound: float = 6.0,
) -> Figure:
    """Speed against accuracy: who is too fast to have read."""
    size = 14 + 220 * judgements / max(int(judgements.max(initial=1)), 1)
    known = looks(kinds)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.axvline(bound, color=INK["muted"], linestyle=(0, (4, 3)), linewidth=1)
        axes.set_xscale("log")
        for kind, look in known.items():
            chosen = np.array([name == kind for name in kinds])
            axes.scatter(
                seconds[chosen],
                value[chosen],
                s=size[chosen],
                alpha=0.75,
                label=kind,
                **look,
                edgecolors=INK["page"],
                linewidths=0.6,
                zorder=3,
            )
        low, high = seconds.min(), seconds.max()
        ticks = [t for t in (0.5, 1, 2, 3, 6, 12, 25, 50, 100, 200, 400) if low <= t <= high]
        axes.set_xticks(sorted({*ticks, bound}), [f"{t:g}" for t in sorted({*ticks, bound})])
        axes.minorticks_off()
        axes.set(xlabel="seconds per document (median)", ylabel=what, ylim=(-0.02, 1.02))
        axes.grid()
        legend = axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
        for handle in legend.legend_handles:
            handle.set_sizes([40])

    quick = int((seconds < bound).sum())
    alt = f"Scatter plot of {len(seconds)} assessors; {quick} take less than {bound:g} seconds."
    caption = (
        f"Seconds per document against {what}; each mark is an assessor, its size the number of "
        f"judgements. Dashed: {bound:g} seconds."
    )
    return Figure(drawn("speed", 6.4, 4.0, draw), alt, caption)


def speed_of(table: AssessorTable) -> Figure | None:
    """Speed against the best that is known of accuracy; nothing if no time is known."""
    if "seconds" not in table.columns:
        return None
    names = {
        "accuracy": "accuracy on gold",
        "est_accuracy": "estimated accuracy",
        "agreement": "agreement with the others",
    }
    column = next(name for name in names if name in table.columns)
    known = ~(np.isnan(table["seconds"]) | np.isnan(table[column])) & (table["seconds"] > 0)
    if not known.any():
        return None
    kinds = [str(kind) for kind in table["type"][known]]
    return speed(
        table["seconds"][known],
        table[column][known],
        table["judgements"][known],
        kinds,
        names[column],
    )


def passing(
    curves: Mapping[str, Mapping[str, Floats]],
    thresholds: Sequence[float],
    bounds: Mapping[str, float],
    gold: Sequence[int],
) -> Figure:
    """How often each worker passes each check, over its threshold."""

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(curves), sharey=True)
        for axes, (check, workers) in zip(np.atleast_1d(panels), curves.items(), strict=True):
            for at, (name, values) in enumerate(workers.items()):
                axes.plot(thresholds, values, color=INK[SERIES[at % len(SERIES)]], label=name)
            if check in bounds:
                axes.axvline(bounds[check], color=INK["muted"], linestyle=(0, (4, 3)), linewidth=1)
            axes.set(xlabel=f"{check} at least", xlim=(0, 1), ylim=(-0.02, 1.02))
            axes.grid()
        np.atleast_1d(panels)[0].set_ylabel("share who pass")
        handles, labels = np.atleast_1d(panels)[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5)

    grades = " ".join(map(str, gold))
    alt = f"Curves: how often five kinds of workers pass the checks on gold {grades}."
    caption = f"Share of workers who reach each threshold on gold {grades}; dashed: the bounds."
    return Figure(drawn("checks", 8.4, 3.4, draw), alt, caption)


def roc(
    panels: Mapping[str, Mapping[str, tuple[Floats, Floats]]], what: str = "judgements per assessor"
) -> Figure:
    """Detection against false alarms: one panel per kind of spammer, one curve per number."""

    def draw(figure: Any) -> None:
        axes_of = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for axes, (kind, curves) in zip(axes_of, panels.items(), strict=True):
            axes.plot([0, 1], [0, 1], color=INK["muted"], linestyle=(0, (4, 3)), linewidth=1)
            for at, (name, (alarms, hits)) in enumerate(curves.items()):
                axes.plot(alarms, hits, color=INK[SERIES[at % len(SERIES)]], label=name)
            axes.set(title=kind, xlabel="false alarms", xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
            axes.grid()
        axes_of[0].set_ylabel("spammers found")
        handles, labels = axes_of[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, title=what)

    alt = f"ROC curves of spam detection for {', '.join(panels)} spammers."
    caption = f"Spammers found against false alarms among honest assessors, by {what}."
    return Figure(drawn("roc", 2.6 * len(panels) + 0.6, 3.7, draw), alt, caption)
