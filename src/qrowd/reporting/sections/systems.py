"""Systems: their scores and ranks with intervals, and who beats whom with what probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.data.arrays import Floats, Offsets
from qrowd.data.scores import Scores
from qrowd.reporting import figures
from qrowd.reporting.parts import Matrix, Part, Prose, Section, Shown, Table

_MOST = 30  # systems in the matrix


@dataclass(frozen=True, eq=False)
class Standing:
    """Systems under one measure, best first: (middle, low, high) of scores and ranks over draws."""

    measure: str
    level: float
    order: Offsets
    names: list[str]
    score: tuple[Floats, Floats, Floats]
    rank: tuple[Floats, Floats, Floats]
    beats: Floats
    first: Floats


def standing_of(by_draw: Scores, measure: int = 0, level: float = 0.9) -> Standing:
    """Where systems stand over draws of the judgements."""
    drawn = by_draw.means()[measure]
    rank = (drawn[:, None, :] > drawn[:, :, None]).sum(axis=2) + 1.0
    order = np.argsort(-drawn.mean(axis=0), kind="stable")
    ends = ((1 - level) / 2, (1 + level) / 2)

    def spread(values: Floats) -> tuple[Floats, Floats, Floats]:
        low, high = np.quantile(values[:, order], ends, axis=0)
        return values[:, order].mean(axis=0), low, high

    placed = drawn[:, order]
    beats = np.array([(placed[:, [run]] > placed).mean(axis=0) for run in range(len(order))])
    equal = np.array([(placed[:, [run]] == placed).mean(axis=0) for run in range(len(order))])
    return Standing(
        by_draw.measures[measure],
        level,
        order,
        by_draw.runs.names[order].tolist(),
        spread(drawn),
        spread(rank),
        beats + equal / 2,
        (rank[:, order] == 1).mean(axis=0),
    )


def system_section(standing: Standing, method: str, draws: int, gold: Floats | None) -> Section:
    """Intervals, the matrix, the table. `gold` are the systems' means under gold, if known."""
    truth = None if gold is None else gold[standing.order]
    parts: list[Part] = [_words(standing, method, draws)]
    parts.append(
        figures.ranking(
            standing.names, standing.score, standing.rank, truth, standing.measure, standing.level
        )
    )
    if truth is not None:
        parts.append(_covered(standing, truth))
    parts += [_table(standing, truth), _matrix(standing)]
    return Section("Systems", tuple(parts))


def _words(standing: Standing, method: str, draws: int) -> Prose:
    return Prose(
        f"`{method}` does not know the grade of every pair: it gives probabilities. So {draws} "
        "qrels were drawn from them, and every system was scored under each. What differs between "
        "draws is what the judgements leave open: it becomes the interval of a score, of a rank, "
        "and the probability that one system beats another. It is not the chance in the choice "
        "of topics, which comes on top."
    )


def _covered(standing: Standing, gold: Floats) -> Prose:
    """Whether gold lies inside: of scores it often does not, of ranks it should."""
    place = (gold[None, :] > gold[:, None]).sum(axis=1) + 1
    inside = [
        int(((values >= low) & (values <= high)).sum())
        for values, (_, low, high) in ((gold, standing.score), (place, standing.rank))
    ]
    return Prose(
        f"The score under gold lies inside the interval of {inside[0]} of {len(gold)} systems, the "
        f"rank under gold inside that of {inside[1]}. Wrong grades that are left lower the scores "
        "of all systems, the best most: their documents are relevant oftener than the merged "
        "grades know. Compare systems with each other, not with the level under gold."
    )


def _table(standing: Standing, gold: Floats | None) -> Table:
    columns: dict[str, list[Any]] = {"system": standing.names}
    columns[f"mean {standing.measure}"] = _with_ends(standing.score, 3)
    columns["rank"] = _with_ends(standing.rank, 0)
    columns["P(best)"] = standing.first.tolist()
    if gold is not None:
        columns["under gold"] = gold.tolist()
        columns["rank under gold"] = ((gold[None, :] > gold[:, None]).sum(axis=1) + 1).tolist()
    words = {"P(best)": "share of draws in which this system is first"}
    return Table(f"Systems with {standing.level:.0%} intervals", columns, words=words)


def _with_ends(spread: tuple[Floats, Floats, Floats], digits: int) -> list[Shown]:
    middle = max(digits, 1)
    return [
        Shown(f"{value:.{middle}f} ({low:.{digits}f} … {high:.{digits}f})", float(value))
        for value, low, high in zip(*spread, strict=True)
    ]


def _matrix(standing: Standing) -> Matrix:
    shown = slice(0, _MOST)
    more = f", the first {_MOST}" if len(standing.names) > _MOST else ""
    return Matrix(
        f"Probability, in percent, that the system of the row beats that of the column{more}",
        standing.names[shown],
        standing.beats[shown, shown].tolist(),
        "Near 50 the judgements do not tell which of two systems is better.",
    )


def means_table(scores: Mapping[str, Scores]) -> Table:
    """Mean scores of systems, one column per way and measure."""
    first = next(iter(scores.values()))
    columns: dict[str, list[Any]] = {"system": first.runs.names.tolist()}
    for way, found in scores.items():
        for measure, means in zip(found.measures, found.means().mean(axis=1), strict=True):
            columns[f"{measure} {way}".strip()] = means.tolist()
    best = dict.fromkeys(list(columns)[1:], "max")
    return Table("Mean scores of systems", columns, best=best)
