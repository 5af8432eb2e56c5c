"""What a sampled posterior says beyond probabilities, and whether its chains can be believed."""

from __future__ import annotations

import numpy as np

from qrowd.data.chains import Chains, ParameterTable
from qrowd.data.details import Caution
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.reporting.bayes_figures import bayes_figures
from qrowd.reporting.parts import Note, Part, Prose, Section, Table

_COLUMNS = ("mean", "sd", "low", "high", "rhat", "ess_bulk", "ess_tail")
_WORDS = {
    "low": "lower end of the central 95 % interval",
    "high": "upper end of the central 95 % interval",
    "rhat": "rank-normalised split R-hat; 1.01 or less if the chains have mixed",
    "ess_bulk": "effective sample size for the middle of the distribution",
    "ess_tail": "effective sample size for its tails",
}


def posterior_sections(merged: Merged, judgements: Judgements | None = None) -> list[Section]:
    """A section where the fit kept its chains; none otherwise."""
    chains, parameters = merged.details.chains, merged.details.parameters
    if chains is None or parameters is None:
        return []
    figures = bayes_figures(judgements, merged)
    parts: list[Part] = [_words(chains, parameters), _populations(parameters)]
    parts += [figures[name] for name in figures if name != "assessors"]
    parts += [Note(note) for note in merged.fit.notes if isinstance(note, Caution)]
    return [Section(f"Posterior of {merged.fit.method}", tuple(parts))]


def _words(chains: Chains, parameters: ParameterTable) -> Prose:
    worst = float(np.nanmax(parameters["rhat"]))
    least = float(np.nanmin(parameters["ess_bulk"]))
    return Prose(
        f"{chains.chains} chains of {chains.draws} draws after the warm-up. Over all "
        f"{len(parameters)} parameters the worst R-hat is {worst:.3f} and the smallest effective "
        f"sample size {least:.0f}. Every topic has its prevalence, every assessor a sensitivity "
        "and a specificity, each kind from a population with a mean (phi) and a size (kappa)."
    )


def _populations(parameters: ParameterTable) -> Table:
    hyper = np.array([str(name).startswith(("phi", "kappa")) for name in parameters.parameter])
    names = [
        f"{kind} {name}".replace("_", " ").strip()
        for kind, name in zip(parameters.parameter[hyper], parameters.name[hyper], strict=True)
    ]
    columns = {name: parameters[name][hyper].tolist() for name in _COLUMNS}
    return Table("The populations", {"parameter": names, **columns}, words=_WORDS)
