"""Where labels come from: `Provenance`, which merged labels carry, and files keep beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from qrowd.data.arrays import Mask
from qrowd.data.index import Pairs
from qrowd.rendering import counted

ADJUDICATED = "judged again where nominated by "  # the method of gold that was; then whose labels


@dataclass(frozen=True)
class Input:
    """Something that labels were made of: how many rows, and of which files.

    `files` has the sha256 of each by its name as it was typed; empty where there is none (a pipe).
    """

    rows: int | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Provenance:
    """The method that made labels (its spec), the version of qrowd, and what it was given.

    `inputs` are named by what they are: judgements, gold, documents, ... `text`: the method has
    read documents. `shares`: its probabilities are shares of votes, at least in part.
    `cut`: the grade from which on judgements counted as relevant, where grades were made binary.
    `ties` and `seed` decided equal grades, where labels are grades. `recalibrated` on so many
    pairs, and `informed` by runs of these names. `given`: the pairs whose gold the method was
    given. `chosen`: the goals of the lists (`qrowd next`) by which pairs were chosen to be judged.
    `file`: the labels' own, if they were read from one.
    """

    method: str
    version: str
    inputs: Mapping[str, Input] = field(default_factory=dict)
    text: bool = False
    shares: bool = False
    grades: tuple[int, ...] = ()
    relevant_from: int = 1
    cut: int | None = None
    ties: str = ""
    seed: int = 0
    recalibrated: int = 0
    informed: tuple[str, ...] = ()
    given: Pairs | None = None
    chosen: tuple[str, ...] = ()
    file: str = field(default="", compare=False)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        sources = []
        for name, source in self.inputs.items():
            size = "" if source.rows is None else f"{source.rows} "
            files = f" ({', '.join(source.files)})" if source.files else ""
            sources.append(f"{size}{'gold pairs' if name == 'gold' else name}{files}")
        steps = [
            f"{self.method} (qrowd {self.version}) from {', '.join(sources) or 'unknown data'}"
        ]
        if self.cut is not None:
            steps.append(f"relevant from grade {self.cut} on")
        if self.recalibrated:
            steps.append(f"recalibrated on {counted(self.recalibrated, 'pair')}")
        if self.informed:
            steps.append(f"informed by {counted(len(self.informed), 'run')}")
        if self.chosen:
            steps.append(f"pairs chosen by what had been said before ({', '.join(self.chosen)})")
        return "; ".join(steps)

    @property
    def notes(self) -> tuple[str, ...]:
        """What scores under these labels should tell, where they were read from a file."""
        return (f"{self.file}: {self}",) if self.file else ()

    def gave(self, pairs: Pairs) -> Mask:
        """Which of these pairs had gold that the method was given."""
        seen = np.zeros(len(pairs), np.bool_)
        if self.given is not None:
            rows = pairs.locate(self.given)
            seen[rows[rows >= 0]] = True
        return seen

    def binary(self, at_least: int) -> Provenance:
        """That of the same labels with two grades: 1 from `at_least` on, else 0."""
        cut = at_least if self.cut is None else self.cut
        return replace(self, grades=(0, 1), relevant_from=1, cut=cut)
