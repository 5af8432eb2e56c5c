"""Pictures of the cluster hypothesis (as in Davtyan, Eickhoff & Hofmann 2015, figures 1 to 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.content.hypothesis import ClusterTest
from qrowd.reporting.drawing import INK, drawn
from qrowd.reporting.parts import Figure

_NAMES = {"inner": "two relevant documents", "outer": "a relevant and another"}


def similarities(test: ClusterTest) -> Figure:
    """Histograms of inner and outer similarities, all topics together."""
    shares = test.histograms()
    edges = np.array(shares["edges"])

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (which, name), colour in zip(panels, _NAMES.items(), ("one", "two"), strict=True):
            axes.bar(
                edges[:-1],
                shares[which],
                np.diff(edges),
                align="edge",
                color=INK[colour],
                edgecolor=INK["page"],
                linewidth=0.6,
            )
            axes.set(title=name, xlabel="cosine", xlim=(0, 1))
            axes.grid(axis="y")
        panels[0].set_ylabel("share of pairs of documents")

    alt = f"Histograms of cosines: inner mean {test.inner:.3f}, outer mean {test.outer:.3f}."
    return Figure(drawn("similarities", 6.8, 3.0, draw), alt, "Similarities of all topics.")


def densities(test: ClusterTest, topic: str | None = None) -> Figure:
    """Densities of one topic's inner and outer similarities."""
    found = test.densities(topic)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (which, name), colour in zip(_NAMES.items(), ("one", "two"), strict=True):
            axes.plot(found["at"], found[which], color=INK[colour], label=name)
        axes.set(xlabel="cosine", ylabel="density", xlim=(0, 1), ylim=(0, None))
        axes.grid()
        axes.legend()

    alt = f"Two densities of cosines on topic {found['topic']}."
    caption = f"Similarities on topic {found['topic']}."
    return Figure(drawn("densities", 4.8, 3.2, draw), alt, caption)
