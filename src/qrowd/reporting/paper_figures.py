"""The pictures of Carpenter 2011 and of Davtyan, Eickhoff & Hofmann 2015."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qrowd import registry
from qrowd.budget.curves import Curves
from qrowd.content.hypothesis import ClusterTest
from qrowd.data.arrays import Array, Floats
from qrowd.data.chains import Chains
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.rendering import percent
from qrowd.reporting.drawing import DASHED, INK, SERIES, colour_of, drawn, panel_grid
from qrowd.reporting.figures import assessors, skilled
from qrowd.reporting.parts import Figure

CLOUDS, CLOUD_DRAWS, HYPER_DRAWS = 16, 120, 200
_TRACE, _BINS = 400, 20
_THIN = {**DASHED, "linewidth": 0.8}
_NAMES = {"inner": "two relevant documents", "outer": "a relevant and another"}
_LINES = ("-", (0, (5, 2)), (0, (1, 1.5)))


def bayes_figures(judgements: Judgements | None, merged: Merged) -> dict[str, Figure]:
    """Every picture that this fit has the numbers for, by a name fit for a file.

    `voted` needs the judgements, `assessors` a fit with sensitivity and specificity; `clouds`,
    `populations`, `traces` and `ranks` need one that kept its chains.
    """
    made: dict[str, Figure] = {}
    if judgements is not None:
        made["voted"] = voted_against_estimated(judgements.with_pool(merged.pairs), merged)
    if "sensitivity" in merged.assessors.columns:
        made["assessors"] = assessor_square(merged)
    chains = merged.details.chains
    if chains is None:
        return made
    if "sensitivity" in chains.values:
        made["clouds"] = assessor_clouds(merged.assessors, chains)
        made["populations"] = population_clouds(chains)
    names, draws = hyperparameters(chains)
    warmup = merged.details.warmup
    made["traces"] = traces(names, draws, 0 if warmup is None else warmup.shape[1])
    return {**made, "ranks": rank_plots(names, draws)}


def loop_figures(curves: Curves, sweeps: Mapping[str, Sequence[str]]) -> dict[str, Figure]:
    """The curves of all methods that are not of a sweep, and one picture per sweep."""
    within = {spec for specs in sweeps.values() for spec in specs}
    plain = [name for name in curves.methods if name not in within] or list(curves.methods)
    whole = [float(v) for v in curves.votes if abs(v - round(v)) < 1e-9]
    pictures = {"accuracy": accuracy_by_votes(curves, plain)}
    for name, specs in sweeps.items():
        pictures[name] = accuracy_by_parameter(curves, name, specs, whole)
    return pictures


# --- pairs and assessors --------------------------------------------------------------------------


def voted_against_estimated(judgements: Judgements, merged: Merged) -> Figure:
    """The share of votes for relevance against the probability of it, with a trend (Fig. 1)."""
    votes = judgements.votes
    total = votes.sum(axis=1)
    shown = (total > 0) & ~merged.given
    share = votes[shown][:, merged.scale.relevant].sum(axis=1) / total[shown]
    estimate = merged.relevant[shown]
    x, y, count = _heaped(share, estimate)
    line = np.linspace(0, 1, 101)
    trend = _smooth(share, estimate, line)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], **DASHED)
        size = 4 + 60 * np.sqrt(count / max(count.max(initial=1), 1))
        axes.scatter(x, y, s=size, color=INK["one"], alpha=0.35, linewidths=0)
        axes.plot(line, trend, color=INK["two"], linewidth=2.2, label="trend")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.set(xlabel="share of votes for relevant", ylabel="estimated probability")
        axes.set_aspect("equal")
        axes.grid()
        axes.legend(loc="upper left")

    middle = float(np.interp(0.5, line, trend)) if len(share) else float("nan")
    alt = (
        f"Voted against estimated relevance of {len(share)} pairs; where half of the votes say "
        f"relevant, the trend is at {middle:.2f}."
    )
    caption = (
        "Each mark is one or more pairs (larger: more): the share of votes, and the probability "
        "after weighing assessors and topics. On the dashed line both are equal."
    )
    return Figure(drawn("voted", 5.4, 4.6, draw), alt, caption)


def assessor_square(merged: Merged) -> Figure:
    """All assessors by sensitivity and specificity, with the line of chance (Fig. 2)."""
    table = merged.assessors
    kinds = ["assessor"] * len(table)
    return assessors(table, skilled(table), kinds, f"as {merged.fit.method} estimates them")


def assessor_clouds(table: AssessorTable, chains: Chains, n: int = CLOUDS) -> Figure:
    """Draws of some assessors' sensitivity and specificity, by number of judgements (Fig. 3)."""
    per, names = table["judgements"], table.assessors.names
    chosen = _spread(per, n)
    rows = -(-len(chosen) // 4)
    keep = _every(chains.chains * chains.draws, CLOUD_DRAWS)
    sensitivity, specificity = chains.pooled("sensitivity"), chains.pooled("specificity")

    def draw(figure: Any) -> None:
        grid = panel_grid(figure, len(chosen), 4, sharey=True)
        for axes, assessor in zip(grid.flat, chosen, strict=False):
            axes.plot([0, 1], [1, 0], **_THIN)
            axes.plot(
                specificity[keep, assessor],
                sensitivity[keep, assessor],
                ".",
                markersize=3.6,
                alpha=0.5,
                color=INK["one"],
                markeredgewidth=0,
                clip_on=False,
            )
            axes.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
            axes.set_title(f"{names[assessor]}: {per[assessor]}", fontsize=9)
            axes.set_aspect("equal")
            axes.grid()
        figure.supxlabel("specificity", fontsize=10)
        figure.supylabel("sensitivity", fontsize=10)

    alt = (
        f"{len(chosen)} panels, assessors with {per[chosen[0]]} to {per[chosen[-1]]} judgements: "
        "clouds of draws that shrink as judgements grow."
    )
    caption = (
        f"{len(keep)} draws from the posterior of single assessors, by growing number of "
        "judgements (after the name). On the dashed line answers tell nothing."
    )
    return Figure(drawn("clouds", 7.4, 0.7 + 1.75 * rows, draw), alt, caption)


def _heaped(share: Floats, estimate: Floats) -> tuple[Floats, Floats, Floats]:
    """Points that nearly coincide, as one with a count."""
    cell = np.round(share * 100).astype(np.int64) * 1000 + np.round(estimate * 50).astype(np.int64)
    heap, count = np.unique(cell, return_counts=True)
    return heap // 1000 / 100, heap % 1000 / 50, count.astype(np.float64)


def _smooth(x: Floats, y: Floats, at: Floats, width: float = 0.06) -> Floats:
    """A local linear trend with a Gaussian window, so that the ends are not pulled inwards."""
    points, back = np.unique(x, return_inverse=True)
    n = np.bincount(back, minlength=len(points)).astype(np.float64)
    mean = np.bincount(back, y, len(points)) / np.maximum(n, 1)
    result = np.full(len(at), np.nan)
    for i, centre in enumerate(at if len(points) else ()):
        weight = n * np.exp(-0.5 * ((points - centre) / width) ** 2)
        total = weight.sum() + 1e-300
        middle = (weight * points).sum() / total
        spread = (weight * (points - middle) ** 2).sum() + 1e-9 * total
        slope = (weight * (points - middle) * mean).sum() / spread
        result[i] = (weight * mean).sum() / total + slope * (centre - middle)
    return np.asarray(np.clip(result, 0, 1))


def _spread(per_assessor: Array, n: int) -> Array:
    """Assessors with few to many judgements, evenly on a logarithmic scale; the two busiest too."""
    order = np.argsort(per_assessor, kind="stable")
    order = order[per_assessor[order] > 0]
    if len(order) <= n:
        return order
    wanted = np.geomspace(per_assessor[order[0]], per_assessor[order[-1]], n)
    at = np.searchsorted(per_assessor[order], wanted).clip(0, len(order) - 1)
    for place in range(1, n):  # distinct, going up ...
        at[place] = max(at[place], at[place - 1] + 1)
    for back in range(1, n + 1):  # ... and ending with the busiest
        at[-back] = min(at[-back], len(order) - back)
    return np.asarray(order[at])


# --- populations and chains -----------------------------------------------------------------------


def population_clouds(chains: Chains) -> Figure:
    """Draws of the populations' means and sizes (Fig. 4)."""
    kinds = ("specificity", "sensitivity", "prevalence")
    keep = _every(chains.chains * chains.draws, HYPER_DRAWS)

    def draw(figure: Any) -> None:
        for axes, kind, colour in zip(figure.subplots(1, 3), kinds, SERIES, strict=False):
            phi, kappa = chains.pooled(f"phi_{kind}"), chains.pooled(f"kappa_{kind}")
            axes.plot(phi[keep], kappa[keep], ".", color=INK[colour], alpha=0.7, markersize=5)
            axes.set_title(kind, fontsize=10)
            axes.set_xlabel("mean (phi)")
            axes.grid()
            axes.margins(0.08)
            axes.locator_params(nbins=4)
        figure.axes[0].set_ylabel("size (kappa)")

    means = {kind: float(chains.pooled(f"phi_{kind}").mean()) for kind in kinds}
    listed = ", ".join(f"{kind} {mean:.2f}" for kind, mean in means.items())
    alt = f"Posterior of the populations' means and sizes; mean {listed}."
    caption = (
        f"{len(keep)} draws of the mean and the size of each population. A small size means that "
        "its members differ much."
    )
    return Figure(drawn("populations", 7.4, 2.7, draw), alt, caption)


def traces(names: list[str], draws: Floats, warmup: int = 0) -> Figure:
    """The chains' ways through the populations' parameters."""
    rows = -(-len(names) // 2)
    at = _every(draws.shape[1], _TRACE)

    def draw(figure: Any) -> None:
        grid = panel_grid(figure, len(names), 2)
        for number, (axes, name) in enumerate(zip(grid.flat, names, strict=False)):
            for chain, values in enumerate(draws[:, at, number]):
                axes.plot(warmup + at, values, color=colour_of(chain), linewidth=0.7, alpha=0.8)
            axes.set_title(name, fontsize=9, loc="left")
            axes.grid(axis="y")
            axes.locator_params(nbins=4)
        for axes in grid[-1]:
            axes.set_xlabel("sweep")

    alt = f"Traces of {len(draws)} chains for {', '.join(names)}."
    caption = "Each colour is a chain. Chains that have mixed cannot be told apart."
    return Figure(drawn("traces", 7.4, 0.6 + 1.3 * rows, draw), alt, caption)


def rank_plots(names: list[str], draws: Floats) -> Figure:
    """How the ranks of each chain's draws among all draws are spread."""
    rows = -(-len(names) // 2)
    chains, kept = draws.shape[:2]
    even = kept / _BINS

    def draw(figure: Any) -> None:
        grid = panel_grid(figure, len(names), 2, sharey=True)
        for number, (axes, name) in enumerate(zip(grid.flat, names, strict=False)):
            rank = draws[:, :, number].ravel().argsort(kind="stable").argsort(kind="stable")
            bins = (rank * _BINS // (chains * kept)).reshape(chains, kept)
            for chain in range(chains):
                share = np.bincount(bins[chain], minlength=_BINS) / even
                look = {"color": colour_of(chain), "linewidth": 1.2}
                axes.step(np.arange(_BINS) + 0.5, share, where="mid", **look)
            axes.axhline(1, **_THIN)
            axes.set_title(name, fontsize=9, loc="left")
            axes.set_xticks(())
        grid[0, 0].set_ylim(bottom=0)
        figure.supylabel("draws of a chain / expected", fontsize=10)
        figure.supxlabel("rank among the draws of all chains", fontsize=10)

    alt = f"Rank plots of {chains} chains for {', '.join(names)}."
    caption = "Each colour is a chain. Level lines at 1 mean that all chains drew from the same."
    return Figure(drawn("ranks", 7.4, 0.8 + 1.2 * rows, draw), alt, caption)


def hyperparameters(chains: Chains) -> tuple[list[str], Floats]:
    """The populations' parameters: names and draws[chain, draw, parameter]."""
    names: list[str] = []
    parts: list[Array] = []
    for name, entries, draws in chains.flat():
        if name.startswith(("phi", "kappa")):
            names += [f"{name} {entry}".replace("_", " ").strip() for entry in entries]
            parts.append(draws)
    return names, np.concatenate(parts, axis=2)


def _every(n: int, at_most: int) -> Array:
    """At most so many of 0..n-1, evenly spread."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, at_most)).round().astype(np.int64))


# --- similarities ---------------------------------------------------------------------------------


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
    curves = test.densities(topic)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (which, name), colour in zip(_NAMES.items(), ("one", "two"), strict=True):
            axes.plot(curves["at"], curves[which], color=INK[colour], label=name)
        axes.set(xlabel="cosine", ylabel="density", xlim=(0, 1), ylim=(0, None))
        axes.grid()
        axes.legend()

    alt = f"Two densities of cosines on topic {curves['topic']}."
    caption = f"Similarities on topic {curves['topic']}."
    return Figure(drawn("densities", 4.8, 3.2, draw), alt, caption)


# --- accuracy by votes ----------------------------------------------------------------------------


def accuracy_by_votes(curves: Curves, methods: Sequence[str]) -> Figure:
    """Accuracy against votes per document, the mean of topics, one line per method."""
    rows = {name: curves.methods.index(name) for name in methods}
    means, (low, high) = curves.means()[:, 0], curves.bounds()

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for at, (name, row) in enumerate(rows.items()):
            look = {"color": colour_of(at)}
            axes.fill_between(
                curves.votes, low[row, 0], high[row, 0], alpha=0.12, linewidth=0, **look
            )
            dash = _LINES[at // len(SERIES) % len(_LINES)]
            axes.plot(curves.votes, means[row], label=name, linestyle=dash, **look)
        axes.set(xlabel="votes per document", ylabel="accuracy on gold", xlim=(0, None))
        axes.grid()
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))

    ends = ", ".join(f"{name} {means[row, -1]:.3f}" for name, row in rows.items())
    alt = f"Curves of accuracy; at {curves.votes[-1]:g} votes per document: {ends}."
    caption = (
        f"Accuracy by votes per document, mean of {len(curves.topics)} topics; bands: "
        f"{percent(curves.level)} intervals over topics."
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
                color=colour_of(at),
                label=f"{count:g}",
            )
        axes.set(xlabel=name, ylabel="accuracy on gold")
        axes.grid()
        axes.legend(title="votes per document", loc="center left", bbox_to_anchor=(1.02, 0.5))

    best = {c: values[int(np.argmax(means[:, curves.at(c)]))] for c in votes}
    listed = ", ".join(f"{value:g} at {count:g}" for count, value in best.items())
    alt = f"Accuracy by {name}; best: {listed} votes per document."
    return Figure(drawn(f"sweep-{parameter}", 5.4, 3.2, draw), alt, f"Accuracy by {name}.")
