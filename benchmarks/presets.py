"""The presets of experiments, and what they say of their papers' claims.

    python -m benchmarks.presets

`trec21-merging` on the panel sizes that are printed and `trec21-aware` with 10 panels of each size,
both on simulated pools; `trec11-consensus` on a real crowd. A claim is tried by contrasts: the mean
tau_AP (or RMSE) of some approaches less that of others, with 95 % intervals over topics. Few
assessors are 2 to 5, many 20 or more; where neither is said, it is panels of all sizes.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._benchmark import Table, attempt, run
from benchmarks._data import FOLDER, folder
from benchmarks._measure import timed
from qrowd.experiments import run as experiment
from qrowd.experiments.inputs import load
from qrowd.experiments.plan import Plan
from qrowd.experiments.presets import preset
from qrowd.experiments.results import LabelResults, Results, significance
from qrowd.experiments.run import Book
from qrowd.experiments.singles import single_differences, with_singles

LEVEL = 0.95
PRINTED = (2, 3, 4, 5, 10, 20, 30)  # panel sizes of Ferrante et al.
FUTURE = ("wbinmv", "wbinmv(by='trust')", "soft(ds)")  # what they leave for later
# claims, and contrasts: approaches - others, sizes; `mv?` is `mv` against a random gold
MERGING = {
    "merging beats single assessors": (
        *(f"mv - single, {size}" for size in (2, 5, 10)),
        "binmv - single, 10",
        "em - single, 30",
    ),
    "MV is best of many, AWARE at few": ("mv - aware-uni, many", "mv - aware-uni, few"),
    "EM needs many assessors": ("em - mv, 2", "em - mv, few", "em - mv, many"),
    "QBINMV is above BINMV": ("qbinmv - binmv", "qbinmv? - binmv?"),
    "BINMV is above MV and AWARE by RBP at few": ("binmv - mv, few", "binmv - aware-uni, few"),
    "BINMV and QBINMV under a random gold are often above others": tuple(
        f"{name}? - {other}, few"
        for name in ("binmv", "qbinmv")
        for other in ("mv", "em", "aware-uni")
    ),
    "(their future work) votes weighted by who is good": (
        *(f"{name} - binmv" for name in FUTURE[:2]),
        "soft(ds) - binmv, few",
    ),
}
GAPS = ("fro", "rmse", "kld", "tau", "apc")
AWARE = {
    "MV is best of many, AWARE at few": ("mv - sup_apc, many", "mv - sup_apc, few"),
    "all s-AWARE are above uniform": tuple(f"sup_{gap} - aware-uni" for gap in GAPS),
    "ranking gaps are best": ("sup_tau sup_apc - sup_fro sup_rmse", "sgl_rmse_msd - aware-uni"),
    "`kld` is good at ranks, bad at RMSE": ("sup_kld - sup_fro sup_rmse sup_tau sup_apc",),
    "s-AWARE is above its u-AWARE twin": tuple(
        f"sup_{gap} - {kind}_{gap}_msd" for gap in GAPS for kind in ("sgl", "tpc")
    ),
    "`sup_apc` and `sup_tau` are best in RMSE, `sup_fro` and `sup_rmse` below MV": tuple(
        f"sup_{gap} - mv" for gap in ("apc", "tau", "fro", "rmse")
    ),
}
LEARNED = tuple(f"sup_{gap} - aware-uni" for gap in ("apc", "tau", "fro"))
ENTRIES = {
    ("with-gold", "quantised"): "Carpenter: with gold, quantised",
    ("with-gold", "fractional"): "Carpenter: with gold, fractional",
    ("without-gold", "quantised"): "Carpenter: without gold, quantised",
    ("mv", "quantised"): "`mv`",
    ("one-coin", "quantised"): "`one-coin` (Xia et al.)",
    ("em-gauss", "quantised"): "`em-gauss` (Xia et al.)",
}
AS_PRINTED = {
    "printed: average of the track": (".769", ".800", ".825", ".716", ".816", ".921"),
    "printed: BUPT (Xia et al.)": (".941", ".923", ".983", ".972", ".816", ".928"),
}


@dataclass(frozen=True)
class Options:
    each: int = 10  # panels of each size
    made: int = 0  # documents of a topic, where all data are made; 0: real gold and runs


SHORT = Options(each=1, made=30)


def main(options: Options) -> None:
    os.environ.setdefault("QROWD_DATA", str(FOLDER))
    took: dict[str, float] = {}
    parts = (
        (merging, merging_plan(options.each), "trec8_t21"),
        (aware, aware_plan(options.each), "trec8_t21"),
        (consensus, preset("trec11-consensus"), "trec_rf10"),
    )
    with tempfile.TemporaryDirectory() as where:
        for shown, plan, collection in parts:

            def part(shown: Any = shown, plan: Plan = plan, collection: str = collection) -> None:
                if options.made:
                    data = replace(plan.data, gold="", documents=options.made, systems=5)
                    quick = {n: m.replace("hier-bayes", "hier-vb") for n, m in plan.names.items()}
                    plan = replace(plan, data=data, names=quick)
                else:
                    folder(collection)
                name = plan.experiment.name
                book, spent = timed(lambda: experiment.run(plan, Path(where) / name))
                took[name] = spent.cpu
                shown(book)

            attempt(part)
    if took:
        table = Table("run", "CPU seconds", title="Time")
        for name, seconds in took.items():
            table.row(f"`{name}`", f"{seconds:.0f}")


# --- Ferrante, Ferro & Losiouk 2019 ---------------------------------------------------------------


def merging_plan(each: int) -> Plan:
    plan = preset("trec21-merging").only(("nine",))  # of ten topics, for intervals
    approaches, measures = (*plan.grid.approaches, *FUTURE), ("AP", "DCG", "RBP")
    grid = replace(plan.grid, approaches=approaches, measures=measures, statistics=("tau_ap",))
    names = {name: spec for name, spec in plan.names.items() if name != "eRAP"}
    panels = replace(plan.panels, sizes=PRINTED, each=each)
    return replace(plan, grid=grid, names=names, panels=panels)


def merging(book: Book) -> None:
    measures, inputs = book.plan.grid.measures, load(book.plan)
    table = Table("claim", "contrast", *measures, title="Merging", optional=("claim",))
    singles = pl.DataFrame(single_differences(inputs, LEVEL)).filter(statistic="tau_ap")
    for gold, how in (
        ("random", "better with a random gold"),
        ("certain", "worse with a certain one"),
    ):
        rows = singles.filter(gold=gold).select("less certain", "low", "high").iter_rows()
        contrast = f"single assessors' random less certain relevance, {gold} gold"
        table.row(f"random measures agree {how}", contrast, *map(signed, rows))
    # single assessors, and `mv?`
    results = Results.of(book)
    certain = with_singles(results, inputs)
    random = results.frame.filter(gold="random").with_columns(
        pl.format("{}?", "approach").alias("approach")
    )
    results = replace(certain, frame=pl.concat([certain.frame, random]))
    columns = [(results, {"measure": measure}) for measure in measures]
    add_claims(table, MERGING, columns, book.plan)
    names = ("pairs", "certain", "random", "certain Holm", "random Holm")
    shown = ("pairs of runs", "certain", "random", "certain, by Holm", "random, by Holm")
    last = "share, random less certain"
    table = Table("measure", *shown, last, title="Significant differences")
    for row in pl.DataFrame(significance(inputs, LEVEL)).iter_rows(named=True):
        counts = (f"{row[name]:,}" for name in names)
        table.row(row["measure"], *counts, signed((row["more"], row["low"], row["high"])))


# --- Piazzon 2019 ---------------------------------------------------------------------------------


def aware_plan(each: int) -> Plan:
    plan = preset("trec21-aware")
    return replace(plan, panels=replace(plan.panels, each=each))


def aware(book: Book) -> None:
    results = Results.of(book, group="train5")
    errors = Results.of(book, "rmse", "train5")
    table = Table("claim", "contrast", "tau_AP", "RMSE", title="AWARE", optional=("claim",))
    add_claims(table, AWARE, [(results, {}), (errors, {})], book.plan)
    groups = [Results.of(book, group=f"train{number}") for number in (3, 5, 7)]
    table = Table("contrast", "from 3", "from 5", "from 7", title="Topics to learn from")
    for contrast in LEARNED:
        words, weights, _ = read(contrast, book.plan)
        table.row(words, *(signed(group.estimate(weights, LEVEL)) for group in groups))
    columns = ("approach", "3 scored", "5 scored", "7 scored", "7 less 3")
    table = Table(*columns, title="Topics that are scored")
    for name in ("mv", "aware-uni", "sup_apc"):
        means = [plain(f"{group.estimate({name: 1.0}).value:.3f}") for group in reversed(groups)]
        table.row(f"`{name}`", *means, signed(groups[0].above(groups[2], name, LEVEL)))
    without = replace(results, frame=results.frame.filter(pl.col("approach") != "em"))
    table = Table("factor", "tau_AP", "tau_AP without `em`", "RMSE", title="Analysis of variance")
    strengths = [pl.DataFrame(each.anova_columns(LEVEL)) for each in (results, without, errors)]
    for term in ("approach", "measure", "approach*measure"):
        rows = [each.filter(term=term).row(0, named=True) for each in strengths]
        cells = (f"{row['strength']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" for row in rows)
        table.row(term.replace("*", " × "), *map(plain, cells))


# --- Carpenter 2011, Xia et al. 2011 --------------------------------------------------------------


def consensus(book: Book) -> None:
    """Figures with half of their intervals in brackets."""
    figures, results = book.plan.grid.statistics, LabelResults.of(book)
    last = "accuracy less `mv`"
    names = [name.upper() if name in ("map", "ndcg") else name for name in figures]
    table = Table("approach", *names, last, title="Consensus labels", optional=(last,))
    rows, differences = (
        {(row[0], row[1]): row[2:] for row in zip(*columns.values(), strict=True)}
        for columns in (results.table(LEVEL), results.against("mv", "accuracy", LEVEL))
    )
    for entry, name in ENTRIES.items():
        pairs = zip(rows[entry][::2], rows[entry][1::2], strict=True)
        cells = (plain(f"{value:.3f} ({half:.3f})") for value, half in pairs)
        alike = entry in differences and entry[1] == "quantised"  # both answer by a grade
        table.row(name, *cells, signed(differences[entry]) if alike else "")
    for name, printed in AS_PRINTED.items():
        table.row(name, *printed, "")


# --- contrasts ------------------------------------------------------------------------------------


def add_claims(
    table: Table,
    claims: dict[str, tuple[str, ...]],
    columns: Sequence[tuple[Results, dict[str, Any]]],
    plan: Plan,
) -> None:
    """A row for each contrast, a column for each of these results and what is chosen of it."""
    for claim, contrasts in claims.items():
        for at, contrast in enumerate(contrasts):
            words, weights, sizes = read(contrast, plan)
            cells = (each.estimate(weights, LEVEL, **where, **sizes) for each, where in columns)
            table.row("" if at else claim, words, *map(signed, cells))


def read(contrast: str, plan: Plan) -> tuple[str, dict[str, float], dict[str, list[int]]]:
    """A contrast in words, the weights of its approaches, and the sizes that it is on."""
    both, _, size = contrast.partition(", ")
    sides = [side.split() for side in both.split(" - ")]
    weights = {
        name: sign / len(side) for sign, side in zip((1, -1), sides, strict=True) for name in side
    }
    words = " less ".join(", ".join(f"`{name}`" for name in side) for side in sides)
    words = words.replace("`single`", "single assessors").replace("?`", "` (random gold)")
    if not size:
        return words, weights, {}
    named = {"few": range(2, 6), "many": range(20, 31)}.get(size) or [int(size)]
    words += f", {size}" if size in ("few", "many") else f", of {size}"
    return words, weights, {"size": [each for each in plan.panels.sizes if each in named]}


def signed(estimate: Sequence[float]) -> str:
    """A difference and its interval."""
    value, low, high = estimate
    return plain(f"{value:+.3f} [{low:.3f}, {high:.3f}]")


def plain(text: str) -> str:
    """Without the naught before a point, and without a sign of naught."""
    return re.sub(r"[-+](?=\.0+\b)", "", re.sub(r"\b0\.", ".", text))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
