"""Draws of named parameters by several Markov chains, and the table that sums them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats, Names, Offsets
from qrowd.data.frames import Coded, Framed
from qrowd.errors import InputError, MissingExtraError, UsageError


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The log-likelihood of every pair's judgements at some of the draws.

    `draws` are the places of these draws in each chain; `work_out()` gives [chain, draw, pair].
    """

    draws: Offsets
    pairs: Names
    work_out: Callable[[], Array]


@dataclass(frozen=True, eq=False)
class Chains:
    """values[name] has the axes (chain, draw, ...); `axes[name]` names the further ones.

    `labels[axis]` are the names along an axis, such as the assessors'.
    """

    values: Mapping[str, Array]
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[str, Names] = field(default_factory=dict)
    likelihood: Likelihood | None = None

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            sizes = tuple(len(self.labels[axis]) for axis in self.axes.get(name, ()))
            if value.shape[2:] != sizes:
                raise InputError(f"{name} has the shape {value.shape}, not (chain, draw, *{sizes})")

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def __repr__(self) -> str:
        return f"Chains({self.chains} chains of {self.draws} draws: {', '.join(self.values)})"

    @property
    def chains(self) -> int:
        """How many chains there are."""
        return int(next(iter(self.values.values())).shape[0])

    @property
    def draws(self) -> int:
        """How many draws each chain has."""
        return int(next(iter(self.values.values())).shape[1])

    def pooled(self, name: str) -> Array:
        """A parameter's draws of all chains, one after the other: [draw, ...]."""
        value = self.values[name]
        return value.reshape(-1, *value.shape[2:])

    def flat(self) -> Iterator[tuple[str, Names, Floats]]:
        """Each parameter with the names of its entries and its draws[chain, draw, entry]."""
        for name, value in self.values.items():
            yield name, self.entries(name), value.reshape(*value.shape[:2], -1)

    def entries(self, name: str) -> Names:
        """The names of a parameter's entries, in order; one empty name for a single number."""
        names = np.array([""], object)
        for axis in self.axes.get(name, ()):
            labels = np.array([str(label) for label in self.labels[axis]], object)
            names = (np.where(names == "", "", names + ":")[:, None] + labels[None, :]).ravel()
        return names

    def to_arviz(self, log_likelihood: bool = False) -> Any:
        """As what the installed arviz works on (InferenceData before 1.0, a DataTree since).

        With `log_likelihood` also that of each pair's judgements, the pair's grade summed out, for
        `arviz.loo`: at those draws at which relevance was drawn, and only these are handed over.
        """
        arviz = _arviz()
        axes, labels, groups = dict(self.axes), dict(self.labels), {"posterior": dict(self.values)}
        if log_likelihood:
            if self.likelihood is None:
                raise UsageError(
                    "these chains have no log-likelihood; a whole fit of hier-bayes does"
                )
            at = self.likelihood.draws
            groups["posterior"] = {name: value[:, at] for name, value in self.values.items()}
            groups["log_likelihood"] = {"judgements": self.likelihood.work_out()}
            axes["judgements"], labels["pair"] = ("pair",), self.likelihood.pairs
        shape: dict[str, Any] = {
            "coords": {axis: list(names) for axis, names in labels.items()},
            "dims": {name: list(names) for name, names in axes.items()},
        }
        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.from_dict(**groups, **shape)
        return arviz.from_dict(groups, **shape)


def _arviz() -> Any:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz
    except ImportError:
        raise MissingExtraError.needed("arviz's form of the draws", "arviz") from None
    return arviz


@dataclass(frozen=True, eq=False)
class ParameterTable(Framed):
    """One row per number that was sampled: its `parameter`, whose it is (`name`), and columns."""

    parameter: Names
    name: Names
    columns: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.parameter)

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column]

    def of(self, parameter: str, column: str) -> Floats:
        """A column of one parameter's rows."""
        return np.asarray(self.columns[column][self.parameter == parameter])

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`parameter name` (`-` for what nobody owns), then the columns."""
        name = np.where(self.name == "", "-", self.name).astype(object)
        return {"parameter": self.parameter, "name": name, **self.columns}
