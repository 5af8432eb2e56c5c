"""The grades that judgements may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from qrowd.data.arrays import Array, Floats, Grades, Mask, refuse_rows
from qrowd.errors import ScaleError

LOWEST, HIGHEST = -127, 127
_LEAST = 5e-324  # what a probability of 0 counts as in log odds: the smallest number above it


@dataclass(frozen=True)
class Scale:
    """An ordered tuple of whole-number grades; `relevant_from` is the lowest relevant one.

    Methods see *codes*, the positions 0..K-1 in `grades`; grades are what files and people see.
    Labels without an order have `words`, one for each grade, and none of them is relevant.
    """

    grades: tuple[int, ...]
    relevant_from: int = 1
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if list(self.grades) != sorted(set(self.grades)) or len(self.grades) < 2:
            raise ScaleError(f"a scale needs two or more ascending grades, got {self.grades}")
        if self.grades[0] < LOWEST or self.grades[-1] > HIGHEST:
            raise ScaleError(f"grades must lie between {LOWEST} and {HIGHEST}, got {self.grades}")

    @classmethod
    def of(cls, grades: Array, relevant_from: int = 1) -> Self:
        """The scale of the grades that occur; 0 and 1 if nothing else does."""
        seen = _distinct(grades)
        if seen <= {0, 1}:
            seen = {0, 1}
        if len(seen) < 2:  # a lone grade: its scale needs a second one
            seen |= {0}
        return cls(tuple(sorted(int(grade) for grade in seen)), relevant_from)

    @classmethod
    def of_words(cls, words: tuple[str, ...]) -> Self:
        """The scale of labels without an order."""
        words = words if len(words) > 1 else (*words, "other")
        return cls(tuple(range(len(words))), 1, words)

    def __len__(self) -> int:
        return len(self.grades)

    def __str__(self) -> str:
        if self.words:
            return f"{', '.join(self.words)} (labels without an order)"
        return " ".join(map(str, self.grades)) + f" (relevant from {self.relevant_from})"

    def require_order(self, what: str) -> None:
        """An error where these are labels without an order."""
        if self.words:
            listed = ",".join(f"{word}=NUMBER" for word in self.words)
            raise ScaleError(
                f"{what} needs grades that have an order, and these are labels without one; say "
                f"what they mean: grades='{listed}', on the command line --grades"
            )

    def require_words(self, words: tuple[str, ...], whose: str = "judgements") -> None:
        """An error unless gold has the same words for the same numbers, as far as both know."""
        both = min(len(words), len(self.words))
        if words[:both] != self.words[:both] or bool(words) != bool(self.words):
            raise ScaleError(
                f"gold has the labels {', '.join(words) or 'of numbers'} but {whose} have "
                f"{', '.join(self.words) or 'numbers'}; read gold with the same meaning: "
                "grades=judgements.scale.words, on the command line --grades 'WORD=NUMBER,...'"
            )

    @property
    def binary(self) -> bool:
        """Whether there are two grades, one of them relevant."""
        return len(self.grades) == 2 and self.relevant.tolist() == [False, True]

    @property
    def relevant(self) -> Mask:
        """Which codes are relevant."""
        return (np.array(self.grades) >= self.relevant_from) & (not self.words)

    def log_odds(self, p: Floats) -> Floats:
        """The log odds of relevance, from the probabilities p[pairs, grades].

        Relevant and other grades are summed apart, so that odds far beyond 1e16, where the
        probability is exactly 1, still differ. A probability of 0 counts as the least above it.
        """
        yes, no = p[:, self.relevant].sum(axis=1), p[:, ~self.relevant].sum(axis=1)
        return np.asarray(np.log(np.maximum(yes, _LEAST)) - np.log(np.maximum(no, _LEAST)))

    def codes(self, grades: Array) -> Grades:
        """The code of each grade; -1 for grades that are not on the scale."""
        if grades.dtype == np.int8:  # as files give them: a table of all 256
            table = np.full(256, -1, np.int8)
            table[np.array(self.grades)] = np.arange(len(self), dtype=np.int8)
            return np.asarray(table[grades], np.int8)
        scale = np.array(self.grades)
        at = np.minimum(np.searchsorted(scale, grades), len(scale) - 1)
        return np.where(scale[at] == grades, at, -1).astype(np.int8)

    def codes_strictly(self, grades: Array, what: str = "grade") -> Grades:
        """The code of each grade; an error that names the first row off the scale."""
        codes = self.codes(grades)
        scale = " ".join(map(str, self.grades))
        refuse_rows(codes < 0, lambda row: f"{what} {grades[row]} is not on the scale {scale}")
        return codes

    def codes_of_gold(self, gold: Array, whose: str = "judgements") -> Grades:
        """The code of each grade of gold, negative ones being non-relevant.

        Grades that are not on the scale need a cut: an error says so.
        """
        codes = self.codes(np.maximum(gold, min(self.grades[0], 0)))
        if (codes < 0).any():
            raise self.misfit(Scale.of(gold), whose)
        return codes

    def misfit(self, gold: Scale, whose: str = "judgements") -> ScaleError:
        """What to say of gold that is on another scale than these grades are."""
        if self.words:
            listed = ", ".join(self.words)
            return ScaleError(f"gold has labels that {whose} do not have, which are {listed}")
        cut = "say from which grade on gold is relevant: gold.binary(at_least=...), on the command "
        cut += "line --gold-rel"
        both = "make both binary, each by .binary(at_least=...), on the command line --rel and "
        both += "--gold-rel"
        return ScaleError(
            f"gold has grades {' '.join(map(str, gold.grades))} but {whose} have "
            f"{' '.join(map(str, self.grades))}; {cut if self.grades == (0, 1) else both}"
        )


def _distinct(grades: Array) -> set[int]:
    if grades.dtype == np.int8 and len(grades):
        low, high = int(grades.min()), int(grades.max())
        if high - low < 8:
            return {grade for grade in range(low, high + 1) if (grades == grade).any()}
        return set((np.flatnonzero(np.bincount(grades.view(np.uint8) ^ 128)) - 128).tolist())
    return set(np.unique(grades).tolist()) if len(grades) else set()


BINARY = Scale((0, 1), 1)
