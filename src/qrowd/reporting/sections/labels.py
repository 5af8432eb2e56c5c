"""Merged labels: what the methods are, and how right they are where there is gold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from qrowd import registry
from qrowd.comparison.label_measures import CLIP, Calibration
from qrowd.comparison.labels import LabelScores
from qrowd.data.chains import ParameterTable
from qrowd.data.details import Caution
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.reporting import figures
from qrowd.reporting.paper_figures import bayes_figures
from qrowd.reporting.parts import Note, Part, Prose, Section, Table

_MEASURES = {
    "accuracy": ("accuracy", "max", "share of pairs with the right grade"),
    "recall": ("sensitivity", "max", "share of relevant pairs that are found"),
    "specificity": ("specificity", "max", "share of non-relevant pairs that are recognised"),
    "precision": ("precision", "max", "share of pairs called relevant that are"),
    "f1": ("F1", "max", "harmonic mean of precision and sensitivity"),
    "auc": ("AUC", "max", "chance that a relevant pair has a higher probability than another"),
    "log_loss": (
        "log loss",
        "min",
        f"mean surprise at gold, in nats; probabilities clipped at {CLIP:g}",
    ),
    "mse": ("Brier", "min", "mean squared distance of probability and gold"),
}
_PARAMETER_COLUMNS = ("mean", "sd", "low", "high", "rhat", "ess_bulk", "ess_tail")
_PARAMETER_WORDS = {
    "low": "lower end of the central 95 % interval",
    "high": "upper end of the central 95 % interval",
    "rhat": "rank-normalised split R-hat; 1.01 or less if the chains have mixed",
    "ess_bulk": "effective sample size for the middle of the distribution",
    "ess_tail": "effective sample size for its tails",
}


def label_section(
    merged: Mapping[str, Merged],
    labels: Mapping[str, LabelScores],
    command: str = "",
    merging: str = "",
) -> Section:
    """How the fits went; against gold the table and the reliability diagram.

    `command` prints the figures against gold, `merging` the others.
    """
    columns: dict[str, list[Any]] = {
        "way of merging": list(merged),
        "share relevant": [m.share_relevant for m in merged.values()],
        "in doubt": [m.share_in_doubt for m in merged.values()],
        "iterations": [m.fit.iterations for m in merged.values()],
    }
    words = {"in doubt": "share of pairs whose probability of relevance lies between 0.1 and 0.9"}
    parts: list[Part] = [Table("Ways of merging", columns, words=words, command=merging)]
    if labels:
        calibrations = {name: scores.calibration for name, scores in labels.items()}
        diagram = figures.reliability(calibrations)
        against, brier = _scores(labels), _parts_of_brier(calibrations)
        tables = [replace(table, command=command) for table in (against, brier)]
        parts += [_about_scores(labels), tables[0], diagram, tables[1]]
    return Section("Merged judgements", tuple(parts))


def posterior_sections(
    merged: Merged, judgements: Judgements | None = None, command: str = ""
) -> list[Section]:
    """A section where the fit kept its chains; none otherwise. `command` prints the table."""
    chains, parameters = merged.details.chains, merged.details.parameters
    if chains is None or parameters is None:
        return []
    worst = float(np.nanmax(parameters["rhat"]))
    least = float(np.nanmin(parameters["ess_bulk"]))
    about = Prose(
        f"{chains.chains} chains of {chains.draws} draws after the warm-up. Over all "
        f"{len(parameters)} parameters the worst R-hat is {worst:.3f} and the smallest effective "
        f"sample size {least:.0f}. Every topic has its prevalence, every assessor a sensitivity "
        "and a specificity, each kind from a population with a mean (phi) and a size (kappa)."
    )
    pictures = bayes_figures(judgements, merged)
    parts: list[Part] = [about, replace(_populations(parameters), command=command)]
    parts += [pictures[name] for name in pictures if name != "assessors"]
    parts += [Note(note) for note in merged.fit.notes if isinstance(note, Caution)]
    return [Section(f"Posterior of {merged.fit.method}", tuple(parts))]


def summary_of(spec: str) -> str:
    """What a method is, in a line."""
    name = registry.parse_spec(spec)[0]
    card = registry.cards("method").get(name)
    return f"{card.summary} ({card.paper})" if card else ""


def _about_scores(labels: Mapping[str, LabelScores]) -> Prose:
    first = next(iter(labels.values()))
    left_out = ""
    if first.given:
        left_out = f" {len(first.given)} pairs whose gold was given are left out."
    return Prose(
        f"Merged grades against gold on {len(first)} pairs of {len(first.topics)} topics."
        f"{left_out} Where few documents are relevant, answering “not relevant” to everything gets "
        "a high accuracy; log loss and the Brier score judge the probabilities and punish false "
        "certainty."
    )


def _scores(labels: Mapping[str, LabelScores]) -> Table:
    columns: dict[str, list[Any]] = {"way of merging": list(labels)}
    for measure, (name, _, _) in _MEASURES.items():
        columns[name] = [scores[measure] for scores in labels.values()]
    columns["ECE"] = [scores.calibration.expected_error for scores in labels.values()]
    best = {name: end for name, end, _ in _MEASURES.values()} | {"ECE": "min"}
    words = {name: about for name, _, about in _MEASURES.values()}
    words["ECE"] = "expected calibration error: mean distance from the dashed line below"
    return Table("Merged grades against gold; the best in bold", columns, best=best, words=words)


def _parts_of_brier(calibrations: Mapping[str, Calibration]) -> Table:
    columns: dict[str, list[Any]] = {"way of merging": list(calibrations)}
    for part in ("brier", "reliability", "resolution", "uncertainty"):
        columns[part] = [getattr(calibration, part) for calibration in calibrations.values()]
    words = {
        "reliability": "mean squared distance from the dashed line; less is better",
        "resolution": "how far the groups of pairs differ; more is better",
        "uncertainty": "what gold alone determines",
    }
    best = {"brier": "min", "reliability": "min", "resolution": "max"}
    caption = "The Brier score and its parts: reliability - resolution + uncertainty, nearly"
    return Table(caption, columns, best=best, words=words)


def _populations(parameters: ParameterTable) -> Table:
    hyper = np.array([str(name).startswith(("phi", "kappa")) for name in parameters.parameter])
    names = [
        f"{kind} {name}".replace("_", " ").strip()
        for kind, name in zip(parameters.parameter[hyper], parameters.name[hyper], strict=True)
    ]
    columns = {name: parameters[name][hyper].tolist() for name in _PARAMETER_COLUMNS}
    return Table("The populations", {"parameter": names, **columns}, words=_PARAMETER_WORDS)
