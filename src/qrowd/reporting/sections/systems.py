"""Systems: their scores and places with intervals, and who beats whom with what probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qrowd.comparison.corrected import Corrected
from qrowd.comparison.correlation import places
from qrowd.comparison.intervals import Intervals
from qrowd.data.arrays import Floats
from qrowd.data.scores import Scores
from qrowd.reporting import figures
from qrowd.reporting.coverage import Coverage
from qrowd.reporting.parts import Matrix, Part, Prose, Section, Shown, Table

_MOST = 30  # systems in the matrix
_INFORMED = (
    "First the systems' rankings were used as further evidence of relevance (`inform`): what many "
    "systems rank high is more likely to be relevant. Without it, every score would be too low."
)

_NO_SCORES = (
    "Scores have no interval here: with uncertain labels all of them come out too low, and "
    "intervals of scores did not hold official ones where this was tried."
)


def system_section(
    found: Intervals,
    method: str = "",
    wide: Intervals | None = None,
    gold: Floats | None = None,
    informed: bool = False,
) -> Section:
    """Intervals, the table and the matrix, by the first measure.

    `wide` are intervals over draws and topics; `gold` the systems' means under gold, if known;
    `informed` if the method was told how the systems rank the documents.
    """
    parts: list[Part] = [_words(found, method, wide)]
    if informed:
        parts.append(Prose(_INFORMED))
    parts.append(figures.ranking(found, wide, gold))
    if gold is not None and found.over == "draws":
        parts.append(_covered(found, gold))
    held = gold is None or found.over != "draws" or Coverage.of(found, gold).holds
    parts += [_table(found, gold), _contenders(wide or found, held), _matrix(found)]
    return Section("Systems", tuple(parts))


def _words(found: Intervals, method: str, wide: Intervals | None) -> Prose:
    if found.over != "draws":
        return Prose(f"Intervals are over {found.source}.")
    who = f"`{method}` does" if method else "The method does"
    more = (
        " The paler, wider intervals add the chance in the choice of topics: where the systems "
        "would stand on other topics of this kind."
        if wide is not None
        else ""
    )
    return Prose(
        f"{who} not know the grade of every pair: it gives probabilities. So {found.draws} qrels "
        "were drawn from them, and every system was scored under each. What differs between draws "
        "is what the judgements leave open: it becomes the interval of a place and the "
        f"probability that one system beats another. {_NO_SCORES}{more}"
    )


def _covered(found: Intervals, gold: Floats) -> Prose:
    """Whether gold's places lie inside."""
    held = Coverage.of(found, gold)
    why = [held.sentence]
    if (gold > found.mean[0]).mean() > 0.8:
        why.append(
            "Grades that are still wrong lower the scores of all systems, and of the best ones "
            "most: compare systems with each other, not with the level under gold."
        )
    if not held.holds:
        why.append(
            "That is far too few: the method is overconfident, as happens when assessors make the "
            "same errors."
        )
    return Prose(" ".join(why))


def _contenders(found: Intervals, held: bool) -> Prose:
    if not held:
        return Prose(
            "Which system is the best cannot be told from these intervals, since gold shows that "
            "they do not hold; the probabilities here are what the method believes."
        )
    names = found.contenders()
    over = "judgements and topics" if found.over == "both" else found.source
    sure = f"with {found.containing:.0%}, as far as {over} tell"
    if len(names) == 1:
        return Prose(f"By {found.measures[0]}, {names[0]} is the best system {sure}.")
    return Prose(
        f"By {found.measures[0]}, the best system is one of these {len(names)} {sure}: "
        f"{', '.join(names)}."
    )


def _table(found: Intervals, gold: Floats | None) -> Table:
    order = found.order()
    columns: dict[str, list[Any]] = {
        "system": found.runs.names[order].tolist(),
        f"mean {found.measures[0]}": _scores(found, order),
        "place": _with_ends(found.place, found.place_low, found.place_high, order, "g"),
        "P(best)": found.best[0][order].tolist(),
    }
    if gold is not None:
        columns["under gold"] = gold[order].tolist()
        columns["place under gold"] = [Shown(f"{p:g}", float(p)) for p in places(gold)[order]]
    words = {"P(best)": "probability that this system is the best one"}
    of = "" if found.of_scores else " of places"
    caption = f"Systems with {found.level:.0%} intervals{of} over {found.source}"
    return Table(caption, columns, words=words)


def _scores(found: Intervals, order: Any) -> list[Any]:
    """The means, with their intervals where these hold."""
    if found.of_scores:
        return _with_ends(found.mean, found.low, found.high, order, ".3f")
    return list(found.mean[0][order].tolist())


def _with_ends(value: Floats, low: Floats, high: Floats, order: Any, form: str) -> list[Shown]:
    return [
        Shown(f"{v:{form}} ({a:{form}} … {b:{form}})" if a == a else f"{v:{form}}", float(v))
        for v, a, b in zip(value[0][order], low[0][order], high[0][order], strict=True)
    ]


def _matrix(found: Intervals) -> Matrix:
    order = found.order()[:_MOST]
    more = f", the first {_MOST}" if len(found.runs) > _MOST else ""
    return Matrix(
        f"Probability, in percent, that the system of the row beats that of the column{more}",
        found.runs.names[order].tolist(),
        found.beats[0][np.ix_(order, order)].tolist(),
        f"By mean {found.measures[0]}, over {found.source}. Near 50, the data do not tell which "
        "of two systems is better.",
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


def corrected_section(found: Corrected) -> Section:
    """Scores from few human labels beside many machine labels, measure by measure."""
    about = Prose(
        f"Scores under machine labels, corrected by the labels that a human gave to {found.labels} "
        f"of {found.size} {found.unit}s (`{found.method}`); beside them what the human labels say "
        "alone. The intervals are for the scores that the whole pool would have if a human had "
        "judged it. Systems are in the order of recalibrated labels."
    )
    tables = [_corrected_table(found, m) for m in range(len(found.measures))]
    return Section("Systems, corrected by human labels", (about, *tables))


def _corrected_table(found: Corrected, m: int) -> Table:
    order = found.order(found.measures[m])
    at = slice(m, m + 1)
    columns: dict[str, list[Any]] = {
        "system": found.runs.names[order].tolist(),
        "corrected": _with_ends(found.value[at], found.low[at], found.high[at], order, ".3f"),
        "human labels only": _with_ends(
            found.human[at], found.human_low[at], found.human_high[at], order, ".3f"
        ),
    }
    return Table(f"{found.measures[m]} with {found.level:.0%} intervals", columns)
