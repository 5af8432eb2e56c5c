"""Rankings of systems under merged judgements, held against the ranking under gold."""

from __future__ import annotations

from typing import Any

from qrowd.comparison.compare import LESS_IS_BETTER, Comparison
from qrowd.reporting import figures
from qrowd.reporting.parts import UNKNOWN, Part, Prose, Section, Shown, Table

_NAMES = {
    "tau_ap": ("τ_AP", "rank correlation that weighs the top most (Yilmaz et al. 2008)"),
    "tau_b": ("τ_b", "Kendall's rank correlation, corrected for ties"),
    "tau_a": ("τ_a", "Kendall's rank correlation"),
    "rbo": ("RBO", "rank-biased overlap: how much the tops have in common"),
    "spearman": ("ρ", "Spearman's rank correlation"),
    "rmse": ("RMSE", "root mean squared difference of the systems' scores"),
    "max_drop": ("max drop", "the largest number of places that a system falls"),
}


def ranking_section(comparison: Comparison) -> Section:
    """One table and one picture per measure."""
    parts: list[Part] = [_words(comparison)]
    for m in range(len(comparison.measures)):
        parts += [_picture(comparison, m), _table(comparison, m)]
    return Section("Rankings against gold", tuple(parts))


def _words(comparison: Comparison) -> Prose:
    return Prose(
        f"Would the merged judgements have ranked the {len(comparison.runs)} systems as gold does? "
        f"On {len(comparison.topics)} topics, with {comparison.level:.0%} intervals over topics. "
        "Ways of merging that mislabel many documents may still rank systems well, if their errors "
        "hit all systems alike."
    )


def _picture(comparison: Comparison, m: int) -> Part:
    s = comparison.statistics.index("tau_ap")
    return figures.agreement(
        str(m),
        comparison.estimates,
        comparison.values[m, :, s],
        comparison.low[m, :, s],
        comparison.high[m, :, s],
        f"τ_AP with gold, by {comparison.measures[m]}",
    )


def _table(comparison: Comparison, m: int) -> Table:
    columns: dict[str, list[Any]] = {"way of merging": list(comparison.estimates)}
    best, words = {}, {}
    for s, statistic in enumerate(comparison.statistics):
        name, about = _NAMES.get(statistic, (statistic, ""))
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
