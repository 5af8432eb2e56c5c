"""Pictures of votes coming in one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qrowd import registry
from qrowd.budget.curves import Curves
from qrowd.reporting.drawing import INK, SERIES, drawn
from qrowd.reporting.parts import Figure

_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)))


def accuracy_by_votes(curves: Curves, methods: Sequence[str] | None = None) -> Figure:
    """Accuracy against votes per document, the mean of topics, one line per method."""
    shown = list(methods or curves.methods)
    means, (low, high) = curves.means()[:, 0], curves.bounds()

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for at, name in enumerate(shown):
            row = curves.methods.index(name)
            look = {"color": INK[SERIES[at % len(SERIES)]]}
            axes.fill_between(
                curves.votes, low[row, 0], high[row, 0], alpha=0.12, linewidth=0, **look
            )
            dash = _DASHES[at // len(SERIES) % len(_DASHES)]
            axes.plot(curves.votes, means[row], label=name, linestyle=dash, **look)
        axes.set(xlabel="votes per document", ylabel="accuracy on gold", xlim=(0, None))
        axes.grid()
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))

    ends = ", ".join(f"{name} {means[curves.methods.index(name), -1]:.3f}" for name in shown)
    alt = f"Curves of accuracy; at {curves.votes[-1]:g} votes per document: {ends}."
    caption = (
        f"Accuracy by votes per document, mean of {len(curves.topics)} topics; bands: 95 % "
        "intervals over topics."
    )
    return Figure(drawn("loop", 6.4, 3.6, draw), alt, caption)


def accuracy_by_parameter(
    curves: Curves, name: str, methods: Sequence[str], votes: Sequence[float]
) -> Figure:
    """Accuracy against a parameter's value, one line per number of votes per document."""
    parameter = name.split(".")[1]
    values = [float(getattr(registry.get(spec), parameter)) for spec in methods]
    rows = [curves.methods.index(spec) for spec in methods]
    means = curves.means()[rows, 0]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for at, count in enumerate(votes):
            axes.plot(
                values,
                means[:, curves.at(count)],
                marker="o",
                markersize=3.5,
                color=INK[SERIES[at % len(SERIES)]],
                label=f"{count:g}",
            )
        axes.set(xlabel=name, ylabel="accuracy on gold")
        axes.grid()
        axes.legend(title="votes per document", loc="center left", bbox_to_anchor=(1.02, 0.5))

    best = {c: values[int(np.argmax(means[:, curves.at(c)]))] for c in votes}
    told = ", ".join(f"{value:g} at {count:g}" for count, value in best.items())
    alt = f"Accuracy by {name}; best: {told} votes per document."
    return Figure(drawn(f"sweep-{parameter}", 5.4, 3.2, draw), alt, f"Accuracy by {name}.")


def loop_figures(curves: Curves, sweeps: Mapping[str, Sequence[str]]) -> dict[str, Figure]:
    """The curves of all methods that are not of a sweep, and one picture per sweep."""
    within = {spec for specs in sweeps.values() for spec in specs}
    plain = [name for name in curves.methods if name not in within] or list(curves.methods)
    whole = [float(v) for v in curves.votes if abs(v - round(v)) < 1e-9]
    pictures = {"accuracy": accuracy_by_votes(curves, plain)}
    for name, specs in sweeps.items():
        pictures[name] = accuracy_by_parameter(curves, name, specs, whole)
    return pictures
