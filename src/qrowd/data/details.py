"""What a merging method tells beyond probabilities: its `Details`, and notes that are cautions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from qrowd.data.arrays import Floats
from qrowd.data.chains import Chains, ParameterTable
from qrowd.errors import UnknownNameError


class Caution(str):
    """A note that puts a result in doubt: it is a warning too, and stands beside the result."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class Details:
    """What a fit found on the way; None where the method has no such thing.

    `soft`: the result is meant as random relevance, not as grades. `prior[group, grade]` are
    prevalences. `parameters` has a row per parameter; `chains` and `warmup` are draws after and
    during the warm-up. `own` has what only one method knows, such as GLAD's `easiness`. All of it
    can be had by name: `details["chains"]`.
    """

    soft: bool = False
    prior: Floats | None = None
    parameters: ParameterTable | None = None
    chains: Chains | None = None
    warmup: Floats | None = None
    own: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        named = self.named
        if name not in named:
            raise UnknownNameError.among("detail", name, named)
        return named[name]

    def __contains__(self, name: object) -> bool:
        return name in self.named

    @property
    def named(self) -> dict[str, Any]:
        """All that there is, by name."""
        common = {name: getattr(self, name) for name in ("prior", "parameters", "chains", "warmup")}
        return {name: value for name, value in common.items() if value is not None} | dict(self.own)


NONE = Details()
