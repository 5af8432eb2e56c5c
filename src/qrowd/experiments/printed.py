"""Tables and figures in the layout of the papers, by the number that they have there.

Tables 1 and 2 are those of Ferrante, Ferro & Losiouk (2019), the others and all figures those of
Piazzon (2019). What is in the cells is of the folder at hand: its caption says what is real.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from qrowd.errors import UsageError, require_name
from qrowd.experiments.inputs import Inputs, load
from qrowd.experiments.plan import Plan, Soft
from qrowd.experiments.results import Results, Table, agreement, columns_of
from qrowd.experiments.run import Book
from qrowd.experiments.singles import single_assessors
from qrowd.rendering import table_of

SIZES = (2, 3, 4, 5, 10, 20, 30)  # of Table 2, of 2 to 30
LEVEL = 0.95  # of the intervals of Table 1; the paper does not say which
ANOVA = {  # statistic and number of scored topics
    "5.1": ("tau_ap", 5),
    "5.2": ("rmse", 5),
    "A.1": ("tau_ap", 3),
    "A.2": ("rmse", 3),
    "A.3": ("tau_ap", 7),
    "A.4": ("rmse", 7),
}
TABLES = ("1", "2", "5.3", *ANOVA)
_APPROACHES = {"aware-uni": "AWARE"}
_RANDOM = ("binmv", "qbinmv", "wbinmv")  # their relevance is random
_TERMS = {"size": "K-uple Size", "runs": "Systems"}

# --- figures --------------------------------------------------------------------------------------

_SINGLE = ("single", "single-measure", "single-runs")
_EFFECTS_5 = ("main-approach", "main-size", "main-measure", "main-runs")
_EFFECTS_A = ("main-approach", "main-measure", "main-size", "main-runs")
_PAIRS = ("approach-size", "approach-measure", "approach-runs")


def _figures() -> dict[str, tuple[str, int, str]]:
    """The statistic, the number of scored topics (0: all) and the picture of every figure."""
    both = ("tau_ap", "rmse")
    chapter = [(statistic, 0, name) for statistic in both for name in _SINGLE]
    chapter += [(statistic, 5, name) for statistic in both for name in (*_EFFECTS_5, *_PAIRS)]
    chapter += [(statistic, 0, "topics") for statistic in both]
    appendix = [(s, n, name) for n in (3, 7) for s in both for name in (*_EFFECTS_A, *_PAIRS)]
    return {f"5.{at}": each for at, each in enumerate(chapter, 1)} | {
        f"A.{at}": each for at, each in enumerate(appendix, 1)
    }


FIGURES = _figures()


def picture_name(plan: Plan, number: str) -> str:
    """The name among `effects.pictures` of a figure of the thesis."""
    require_name("figure", number, FIGURES)
    statistic, topics, name = FIGURES[number]
    require_name("statistic of this plan", statistic, plan.grid.statistics)
    if name.endswith("runs") and len(plan.runs) < 2:
        raise UsageError(f"figure {number} has the factor Systems, which takes two sets of runs")
    if name == "topics" and len(plan.topics) < 2:
        raise UsageError(f"figure {number} takes groups of topic sets of several sizes")
    return "-".join([statistic, *([group_of(plan, topics)] if topics else []), name])


def group_of(plan: Plan, topics: int) -> str:
    """The group of topic sets with so many scored topics each."""
    for name, sets in plan.topics.items():
        if all(len(each.test) == topics for each in sets):
            return name
    raise UsageError(f"the plan has no group of topic sets in which {topics} topics are scored")


# --- tables ---------------------------------------------------------------------------------------


def printed_table(book: Book, number: str, statistic: str = "") -> Table:
    """The table of this number, from a folder's cells, or from its data (1 and 5.3)."""
    require_name("printed table", number, TABLES)
    if number == "1":
        return table_1(load(book.plan))
    if number == "2":
        return table_2(Results.of(book, statistic))
    if number == "5.3":
        return table_5_3(load(book.plan))
    quantity, topics = ANOVA[number]
    return anova_table(Results.of(book, quantity, group_of(book.plan, topics)))


def measures_of(plan: Plan) -> dict[str, tuple[str, str]]:
    """For every measure of certain relevance: that of random relevance, and what it is called.

    A measure of the plan whose name is `eR` before another's is that one's.
    """
    names = plan.grid.measures
    certain = [name for name in names if name.removeprefix("eR") not in names or name[:2] != "eR"]
    return {name: (f"eR{name}" if f"eR{name}" in names else name, f"eR{name}") for name in certain}


def table_1(inputs: Inputs) -> Table:
    """Mean tau and tau_AP over single assessors with their intervals, by run set."""
    table = single_assessors(inputs, LEVEL)
    figures = {
        (runs, measure, assessors, gold): each
        for runs, measure, assessors, gold, *each in zip(*table.values(), strict=True)
    }
    rows = []
    for measure, (twin, called) in measures_of(inputs.plan).items():
        for gold, label, own, kind in (
            ("DGS", measure, measure, ("certain", "certain")),
            ("DGS", called, twin, ("random", "certain")),
            ("RGS", called, twin, ("random", "random")),
        ):
            row = {"gold": gold, "measure": label}
            for runs in inputs.runs:
                tau, tau_half, tau_ap, tau_ap_half = figures[runs, own, *kind]
                row[f"{runs} mean tau"] = f"{tau:.4f} ± {tau_half:.4f}"
                row[f"{runs} mean tau_AP"] = f"{tau_ap:.4f} ± {tau_ap_half:.4f}"
            rows.append(row)
    return table_of(rows)


def table_2(results: Results) -> Table:
    """The statistic by approach and panel size, for each run set and measure.

    Hard merges are held against gold as it is, random relevance against both kinds of gold.
    """
    plan = results.book.plan
    if "random" not in plan.grid.gold:
        raise UsageError('table 2 has gold as random relevance, too: gold = ["certain", "random"]')
    means = results.means(["runs", "gold", "measure", "approach", "size"])
    figures = {tuple(row[:-1]): row[-1] for row in means.iter_rows()}
    sizes = [size for size in SIZES if size in plan.panels.sizes] or plan.panels.sizes
    random = [name for name in plan.grid.approaches if _is_random(plan.method(name))]
    hard = [name for name in plan.grid.approaches if name not in random]
    rows = []
    for runs, (measure, (twin, called)) in product(
        results.frame["runs"].unique(maintain_order=True), measures_of(plan).items()
    ):
        for gold, kind, approaches, own, label in (
            ("DGS", "certain", hard, measure, measure),
            ("DGS", "certain", random, twin, called),
            ("RGS", "random", random, twin, called),
        ):
            for name in approaches:
                row = {"systems": runs, "gold": gold}
                row["merged"] = f"{_APPROACHES.get(name, name.upper())} {label}"
                for size in sizes:
                    row[f"M = {size}"] = round(figures[runs, kind, own, name, size], 4)
                rows.append(row)
    return table_of(rows)


def _is_random(method: Any) -> bool:
    return isinstance(method, Soft) or method.card.id in _RANDOM


def anova_table(results: Results) -> Table:
    """The analysis of variance: subject, factors, their pairs, error, total."""
    rows = []
    for term in results.anova().terms:
        names = [_TERMS.get(name, name.capitalize()) for name in term.name.split("*")]
        rows.append(
            (
                "*".join(names),
                f"{term.ss:.5f}",
                term.df,
                _number(term.ms),
                _number(term.f),
                "" if math.isnan(term.p) else "<0.0001" if term.p < 1e-4 else f"{term.p:.4f}",
                _number(term.strength),
            )
        )
    return columns_of(("term", "SS", "DF", "MS", "F", "p-value", "SOA"), rows)


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.5f}"


def table_5_3(inputs: Inputs) -> Table:
    """Agreement with gold on the first 20 documents of each run: an assessor a row."""
    shares = agreement(inputs)
    return {"assessor": shares["assessor"]} | {
        topic: [f"{share:.4f}" for share in shares[topic]] for topic in inputs.gold.topics
    }
