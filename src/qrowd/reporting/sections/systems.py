"""Systems: scores and places with intervals, who beats whom, and the ranking under gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrowd.comparison.baseline import Contrast
from qrowd.comparison.compare import LESS_IS_BETTER, Comparison
from qrowd.comparison.correlation import places
from qrowd.comparison.intervals import Intervals
from qrowd.comparison.pooling import TOP, Unjudged
from qrowd.comparison.prediction_powered import OVER, Corrected
from qrowd.data.arrays import Floats
from qrowd.data.scores import Scores
from qrowd.rendering import percent
from qrowd.reporting import figures
from qrowd.reporting.parts import UNKNOWN, Matrix, Part, Prose, Section, Shown, Table

_NOTABLE = 0.02  # a difference that people would notice
_MOST = 30  # systems in the matrix
_INFORMED = (
    "First the systems' rankings were used as further evidence of relevance (`inform`): what many "
    "systems rank high is more likely to be relevant. Without it, every score would be too low."
)
_NO_SCORES = (
    "Scores have no interval here: with uncertain labels all of them come out too low, and "
    "intervals of scores did not hold official ones where this was tried."
)
_STATISTICS = {
    "tau_ap": ("τ_AP", "rank correlation that weighs the top most (Yilmaz et al. 2008)"),
    "tau_b": ("τ_b", "Kendall's rank correlation, corrected for ties"),
    "tau_a": ("τ_a", "Kendall's rank correlation"),
    "rbo": ("RBO", "rank-biased overlap: how much the tops have in common"),
    "spearman": ("ρ", "Spearman's rank correlation"),
    "rmse": ("RMSE", "root mean squared difference of the systems' scores"),
    "max_drop": ("max drop", "the largest number of places that a system falls"),
}


def system_section(
    estimate: Intervals,
    method: str = "",
    wide: Intervals | None = None,
    gold: Floats | None = None,
    informed: bool = False,
    command: str = "",
) -> Section:
    """Intervals, the table and the matrix, by the first measure.

    `wide` are intervals over draws and topics, and all probabilities are theirs; `gold` the
    systems' means under gold, if known; `informed` if the method was told how the systems rank the
    documents. `command` prints the figures.
    """
    shown = wide or estimate
    parts: list[Part] = [_words(estimate, method, wide)]
    if informed:
        parts.append(Prose(_INFORMED))
    parts.append(figures.ranking(estimate, wide, gold))
    if gold is not None and estimate.over == "draws":
        parts.append(_covered(estimate, gold))
    held = gold is None or estimate.over != "draws" or Coverage.of(estimate, gold).holds
    parts += [
        replace(_table(shown, gold), command=command),
        _contenders(shown, held),
        replace(_matrix(shown), command=command),
    ]
    return Section("Systems", tuple(parts))


def means_table(scores: Scores) -> Table:
    """Mean scores of systems, one column per measure."""
    columns: dict[str, list[Any]] = {"system": scores.runs.names.tolist()}
    for measure, means in zip(scores.measures, scores.means().mean(axis=1), strict=True):
        columns[measure] = means.tolist()
    return Table("Mean scores of systems", columns, best=dict.fromkeys(scores.measures, "max"))


def corrected_section(corrected: Corrected) -> Section:
    """Scores from few human labels beside many machine labels, measure by measure."""
    about = Prose(
        "Scores under machine labels, corrected by the labels that a human gave to "
        f"{corrected.labels} of {corrected.size} {corrected.unit}s (`{corrected.method}`); beside "
        "them what the human labels say alone. The intervals are for the scores on "
        f"{OVER[corrected.over]}. Systems are in the order of recalibrated labels."
    )
    tables = [_corrected_table(corrected, m) for m in range(len(corrected.measures))]
    return Section("Systems, corrected by human labels", (about, *tables))


def contrast_section(contrast: Contrast) -> Section:
    """Each system against the one that is in use, measure by measure."""
    about = Prose(
        f"Each system against {contrast.baseline}: the difference of corrected scores with its "
        f"{percent(contrast.level)} interval, and the topics that it won, lost and tied under "
        f"recalibrated labels, whose order the table has. {contrast.about_verdicts}"
    )
    tables = []
    for name in contrast.measures:
        rows = [row for row in contrast.rows() if row["measure"] == name]
        columns: dict[str, list[Any]] = {"system": [row["run"] for row in rows]}
        columns["difference"] = [
            Shown(f"{row['difference']:+.3f} ({row['low']:+.3f} … {row['high']:+.3f})", value)
            if row["low"] == row["low"]
            else Shown(f"{row['difference']:+.3f}", value)
            for row in rows
            for value in [row["difference"]]
        ]
        columns |= {
            name: [row[name] for row in rows] for name in ("verdict", "won", "lost", "tied")
        }
        tables.append(Table(f"{name} against {contrast.baseline}", columns))
        moves = contrast.moves(name)
        if moves:
            words = {
                "documents": "Those whose ranks make most of the difference: their rank, that in "
                f"{contrast.baseline}, and the probability that they are relevant."
            }
            moved: dict[str, list[Any]] = {key: [move[key] for move in moves] for key in moves[0]}
            moved["difference"] = [Shown(text, float(text)) for text in moved["difference"]]
            title = f"Topics that moved most by {name}, of the first systems above"
            tables.append(Table(title, {"system": moved.pop("run")} | moved, words=words))
    return Section(f"Systems against {contrast.baseline}", (about, *tables, _needed(contrast)))


def _needed(contrast: Contrast) -> Table:
    """What more labels or topics would buy."""
    labels = {} if contrast.over == "topics" else contrast.labels_needed(_NOTABLE)
    topics, names = contrast.topics_needed(_NOTABLE), contrast.measures
    columns: dict[str, list[Any]] = {"measure": list(names)}
    for name, needed in ((f"{contrast.unit}s judged", labels), ("topics", topics)):
        if needed:
            columns[name] = [needed.get(measure, "unknown") for measure in names]
    words = {
        f"{contrast.unit}s judged": "that make every interval above so narrow; now "
        f"{contrast.labels} are",
        "topics": "that show such a difference with power .8; take it for the least",
    }
    title = f"Labels or topics that would show differences of {_NOTABLE:g}"
    return Table(title, columns, words={name: words[name] for name in columns if name in words})


def unjudged_section(unjudged: Unjudged) -> Section:
    """Documents on top of systems that nobody judged, and what they would change."""
    title = f"Unjudged among the first {TOP}"
    rows = [row for row in unjudged.rows() if row["unjudged"]]
    if not rows:
        return Section(title, (Prose(f"All documents among the systems' first {TOP} are judged."),))
    about = Prose(
        f"Documents among the first {TOP} of each topic that nobody judged, neither machine nor "
        "human: they count as not relevant. Beside them is how much the system's score under the "
        "machine's labels would rise at most if some of its own had the highest grade "
        f"({unjudged.highest})."
    )
    columns: dict[str, list[Any]] = {
        "system": [row["run"] for row in rows],
        "unjudged": [row["unjudged"] for row in rows],
        f"of the first {TOP}": [row["shown"] for row in rows],
    }
    for name in unjudged.measures:
        columns[name] = [Shown(f"{row[name]:+.3f}", row[name]) for row in rows]
    return Section(title, (about, Table("Systems with unjudged documents", columns)))


def ranking_section(comparison: Comparison, command: str = "") -> Section:
    """One table and one picture per measure; `command` prints the tables."""
    about = Prose(
        f"Would the merged judgements have ranked the {len(comparison.runs)} systems as gold does? "
        f"On {len(comparison.topics)} topics, with {percent(comparison.level)} intervals over "
        "topics. Ways of merging that mislabel many documents may still rank systems well, if "
        "their errors hit all systems alike."
    )

    parts: list[Part] = [about]
    s = comparison.statistics.index("tau_ap")
    for m, measure in enumerate(comparison.measures):
        picture = figures.agreement(
            str(m),
            comparison.estimates,
            comparison.values[m, :, s],
            comparison.low[m, :, s],
            comparison.high[m, :, s],
            f"τ_AP with gold, by {measure}",
        )
        parts += [picture, replace(_rankings_table(comparison, m), command=command)]
    return Section("Rankings against gold", tuple(parts))


@dataclass(frozen=True)
class Coverage:
    """How many systems have gold's place inside their intervals."""

    places: int
    systems: int
    level: float
    best: str

    @classmethod
    def of(cls, estimate: Intervals, gold: Floats) -> Coverage:
        """From the first measure's intervals and the means under gold."""
        under = places(gold)
        place = int(((under >= estimate.place_low[0]) & (under <= estimate.place_high[0])).sum())
        best = str(estimate.runs.names[int(np.argmax(gold))])
        return cls(place, len(gold), estimate.level, best)

    @property
    def holds(self) -> bool:
        """Whether places hold at least half as often as the intervals promise."""
        return self.places >= self.systems * self.level / 2

    @property
    def sentence(self) -> str:
        """The figures in words."""
        return (
            f"The place under gold lies inside the interval of {self.places} of {self.systems} "
            "systems."
        )


def _words(estimate: Intervals, method: str, wide: Intervals | None) -> Prose:
    if estimate.over != "draws":
        return Prose(f"Intervals are over {estimate.source}.")
    subject = f"`{method}` does" if method else "The method does"
    wider = (
        " The paler, wider intervals add the chance in the choice of topics: where the systems "
        "would stand on other topics of this kind."
        if wide is not None
        else ""
    )
    return Prose(
        f"{subject} not know the grade of every pair: it gives probabilities. So {estimate.draws} "
        "qrels were drawn from them, and every system was scored under each. What differs between "
        "draws is what the judgements leave open: it becomes the interval of a place and the "
        f"probability that one system beats another. {_NO_SCORES}{wider}"
    )


def _covered(estimate: Intervals, gold: Floats) -> Prose:
    """Whether gold's places lie inside."""
    held = Coverage.of(estimate, gold)
    why = [held.sentence]
    if (gold > estimate.mean[0]).mean() > 0.8:
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


def _contenders(estimate: Intervals, held: bool) -> Prose:
    if not held:
        return Prose(
            "Which system is the best cannot be told from these intervals, since gold shows that "
            "they do not hold; the probabilities here are what the method believes."
        )
    names = estimate.contenders()
    over = "judgements and topics" if estimate.over == "both" else estimate.source
    sure = f"with {percent(estimate.containing)}, as far as {over} tell"
    if len(names) == 1:
        return Prose(f"By {estimate.measures[0]}, {names[0]} is the best system {sure}.")
    return Prose(
        f"By {estimate.measures[0]}, the best system is one of these {len(names)} {sure}: "
        f"{', '.join(names)}."
    )


def _table(estimate: Intervals, gold: Floats | None) -> Table:
    order = estimate.order()
    means: list[Any] = estimate.mean[0][order].tolist()
    if estimate.of_scores:
        means = _with_ends(estimate.mean, estimate.low, estimate.high, 0, order, ".3f")
    columns: dict[str, list[Any]] = {
        "system": estimate.runs.names[order].tolist(),
        f"mean {estimate.measures[0]}": means,
        "place": _with_ends(estimate.place, estimate.place_low, estimate.place_high, 0, order, "g"),
        "P(best)": estimate.best[0][order].tolist(),
    }
    if gold is not None:
        columns["under gold"] = gold[order].tolist()
        columns["place under gold"] = [Shown(f"{p:g}", float(p)) for p in places(gold)[order]]
    words = {"P(best)": "probability that this system is the best one"}
    of = "" if estimate.of_scores else " of places"
    caption = f"Systems with {percent(estimate.level)} intervals{of} over {estimate.source}"
    return Table(caption, columns, words=words)


def _matrix(estimate: Intervals) -> Matrix:
    order = estimate.order()[:_MOST]
    rest = f", the first {_MOST}" if len(estimate.runs) > _MOST else ""
    return Matrix(
        f"Probability, in percent, that the system of the row beats that of the column{rest}",
        estimate.runs.names[order].tolist(),
        estimate.beats[0][np.ix_(order, order)].tolist(),
        f"By mean {estimate.measures[0]}, over {estimate.source}. Near 50, the data do not tell "
        "which of two systems is better.",
    )


def _corrected_table(corrected: Corrected, m: int) -> Table:
    order = corrected.order(corrected.measures[m])
    few = (corrected.human, corrected.human_low, corrected.human_high)
    columns: dict[str, list[Any]] = {
        "system": corrected.runs.names[order].tolist(),
        "corrected": _with_ends(corrected.value, corrected.low, corrected.high, m, order, ".3f"),
        "human labels only": _with_ends(*few, m, order, ".3f"),
    }
    if not np.isnan(corrected.place_low[m]).all():
        best, worst = corrected.place_low[m][order], corrected.place_high[m][order]
        columns["places"] = [
            "" if np.isnan(a) else f"{a:.0f} to {b:.0f}" for a, b in zip(best, worst, strict=True)
        ]
    beside = {"machine labels only": corrected.machine, "infAP": corrected.infap}
    for name, values in beside.items():
        if not np.isnan(values[m]).all():
            columns[name] = [Shown(f"{v:.3f}", float(v)) for v in values[m][order]]
    return Table(f"{corrected.measures[m]} with {percent(corrected.level)} intervals", columns)


def _with_ends(
    value: Floats, low: Floats, high: Floats, m: int, order: Any, form: str
) -> list[Shown]:
    """Cells of measure m with their intervals, where these are known."""
    return [
        Shown(f"{v:{form}} ({a:{form}} … {b:{form}})" if a == a else f"{v:{form}}", float(v))
        for v, a, b in zip(value[m][order], low[m][order], high[m][order], strict=True)
    ]


def _rankings_table(comparison: Comparison, m: int) -> Table:
    columns: dict[str, list[Any]] = {"way of merging": list(comparison.estimates)}
    best, words = {}, {}
    for s, statistic in enumerate(comparison.statistics):
        name, about = _STATISTICS.get(statistic, (statistic, ""))
        columns[name] = [_cell(comparison, m, e, s) for e in range(len(comparison.estimates))]
        best[name] = "min" if statistic in LESS_IS_BETTER else "max"
        words[name] = about
    caption = f"Rankings by mean {comparison.measures[m]} against gold's; the best in bold"
    return Table(caption, columns, best=best, words=words)


def _cell(comparison: Comparison, m: int, e: int, s: int) -> Shown | float:
    value, low, high = (
        float(array[m, e, s]) for array in (comparison.values, comparison.low, comparison.high)
    )
    if comparison.statistics[s] == "max_drop":
        return Shown(f"{value:g}", value)
    if comparison.statistics[s] not in ("tau_ap", "rmse"):
        return value
    ends = UNKNOWN if low != low else f"{low:.3f} … {high:.3f}"
    return Shown(f"{value:.3f} ({ends})", value)
