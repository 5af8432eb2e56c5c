"""The table of assessors: everything that is known of each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from qrowd.cli.output import save_pictures, show
from qrowd.errors import UnknownNameError
from qrowd.rendering import DIGITS

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements
    from qrowd.data.merged import AssessorTable
    from qrowd.data.qrels import Qrels


def run(
    crowd: Judgements,
    gold: Qrels | None,
    cut: int,
    *,
    merge: str | None,
    enough: int,
    sort: str,
    shown: str | None,
    output: str | None,
    as_json: bool,
    figures: str | None,
    quiet: bool,
    **_: Any,
) -> None:
    """Print, save or draw it."""
    from qrowd.data.given import Given
    from qrowd.quality.assessors import assessors
    from qrowd.registry import get

    method = get(merge) if merge else None
    table = assessors(crowd, Given(gold=gold), merge=method, gold_rel=cut, enough=enough)
    rows = table.listed(sort.lstrip("-"), descending=not _ascends(sort, table))
    for_eyes = not (output or as_json) and sys.stdout.isatty()
    kept = {name: rows[name].tolist() for name in _chosen(list(rows), shown, for_eyes)}
    show(kept, output, as_json, digits=DIGITS)
    if figures:
        save_pictures(_pictures(crowd, table), figures, quiet)


def _chosen(names: list[str], shown: str | None, for_eyes: bool) -> list[str]:
    """The columns that were asked for, after the assessors' names; on a terminal the main ones."""
    from qrowd.quality.assessors import MAIN

    wanted = shown.split(",") if shown else [n for n in names if not for_eyes or n in MAIN]
    for name in wanted:
        if name not in names:
            raise UnknownNameError.among("column", name, names)
    return list(dict.fromkeys(["assessor", *wanted]))


def _ascends(sort: str, table: AssessorTable) -> bool:
    """Numbers descend, text ascends; a leading minus turns that around."""
    name = sort.lstrip("-")
    text = name == "assessor" or (name in table.columns and table[name].dtype == object)
    return text != sort.startswith("-")


def _pictures(crowd: Judgements, table: AssessorTable) -> dict[str, Any]:
    from qrowd.quality.independence import cohen
    from qrowd.reporting import figures as drawn

    return {
        "assessors": drawn.sensitivity_specificity(table),
        "agreement": drawn.agreement_matrix(cohen(crowd, most=60)),
        "speed": drawn.speed_of(table),
    }
