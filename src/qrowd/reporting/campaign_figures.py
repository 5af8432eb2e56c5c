"""Pictures about campaigns: who would pass the checks, before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qrowd.reporting.drawing import INK, MARKERS, SERIES, drawn
from qrowd.reporting.parts import Figure


def _percents(axis: str) -> dict[str, Any]:
    return {f"{axis}ticks": (0, 0.5, 1), f"{axis}ticklabels": ("0 %", "50 %", "100 %")}


def survivors(batch: Mapping[str, float], after: Mapping[str, Sequence[float]]) -> Figure:
    """Kinds of workers: how often each passes a batch, and how many are left after n batches."""

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
        names, at = list(batch), np.arange(len(batch))[::-1]
        colours = [INK[SERIES[place % len(SERIES)]] for place in range(len(names))]
        left.barh(at, list(batch.values()), color=colours, height=0.6)
        for place, name in zip(at, names, strict=True):
            left.text(batch[name] + 0.02, place, f"{batch[name]:.0%}", va="center")
        left.set_yticks(at, names)
        left.tick_params(axis="y", length=0)
        left.set(xlim=(0, 1.18), xlabel="pass a batch", **_percents("x"))
        for place, (name, shares) in enumerate(after.items()):
            right.plot(
                range(1, len(shares) + 1),
                shares,
                color=colours[place],
                label=name,
                marker=MARKERS[place % len(MARKERS)],
                markersize=4,
            )
        right.set(xlabel="batches done", ylabel="still there", ylim=(-0.03, 1.04), **_percents("y"))
        right.grid()
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)

    shares = ", ".join(f"{name} {share:.0%}" for name, share in batch.items())
    alt = f"Bars and curves: how often kinds of workers pass a batch ({shares}), and who is left."
    caption = (
        "Left: the share of batches whose checks each kind of worker passes. Right: the "
        "share of them who have not been screened out after so many batches."
    )
    return Figure(drawn("survivors", 8.2, 3.4, draw), alt, caption)
