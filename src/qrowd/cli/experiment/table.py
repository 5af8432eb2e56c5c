"""`qrowd experiment table`: the figures of an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.experiment.choosing import book_of, group_option, results_of, statistic_option
from qrowd.cli.options import json_option, output_option, quiet_option
from qrowd.cli.output import say, show
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.experiments.run import Book

Table = dict[str, list[Any]]


@click.command()
@click.argument("folder")
@click.option("--single", is_flag=True, help="Single assessors against gold: mean tau and tau_AP.")
@click.option(
    "--differences",
    is_flag=True,
    help="Single assessors: random relevance less relevance as judged, with 95 % "
    "intervals over topics.",
)
@click.option("--agreement", is_flag=True, help="The assessors' agreement with gold by topic.")
@click.option(
    "--significance",
    is_flag=True,
    help="Significant differences between runs: gold as it is, and random.",
)
@click.option(
    "--against",
    metavar="APPROACH",
    help="Every approach less this one, with 95 % intervals over topics; `single` is the "
    "mean of single assessors (certain gold).",
)
@click.option(
    "--less-topics",
    metavar="GROUP",
    help="Every approach on --topics less on this group of topic sets, with 95 % "
    "intervals over topics.",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=int,
    metavar="N",
    help="With intervals: panels of this size only. Repeatable.",
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="With intervals: this measure only. Repeatable.",
)
@click.option(
    "--gold",
    "golds",
    multiple=True,
    metavar="KIND",
    help="With intervals: certain or random gold only. Repeatable.",
)
@statistic_option
@group_option
@output_option
@json_option
@quiet_option
def command(
    folder: str,
    against: str | None,
    less_topics: str | None,
    statistic: str,
    group: str,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Means by approach and panel size; the caption says what is real and what simulated.

    With -o, the suffix .tex writes LaTeX. The tables of single assessors, agreement and
    significance are computed from the data.

    \b
    Examples:
      qrowd experiment table results
      qrowd experiment table results --single
      qrowd experiment table results --against mv --size 2 --size 3
    """
    of_data = {
        "single": "single_assessors",
        "differences": "single_differences",
        "agreement": "agreement",
        "significance": "significance",
    }
    wanted = [name for option, name in of_data.items() if chosen[option]]
    if len(wanted) + (against is not None) + (less_topics is not None) > 1:
        raise UsageError(
            "--single, --differences, --agreement, --significance, --against and "
            "--less-topics are one table each"
        )
    book = book_of(folder)
    if book.plan.labels.folds:
        others = (less_topics, group, *chosen.values())
        table, caption = _of_labels(book, against, statistic, any(others))
    elif wanted:
        table, caption = _of_data(book, wanted[0])
    else:
        where = {"size": chosen["sizes"], "measure": chosen["measures"], "gold": chosen["golds"]}
        table, caption = _of_cells(
            folder,
            statistic,
            group,
            against,
            less_topics,
            {name: list(values) for name, values in where.items() if values},
        )
    say(caption, quiet)
    _write(table, caption, output, as_json)


def _of_cells(
    folder: str,
    statistic: str,
    group: str,
    against: str | None,
    less_topics: str | None,
    where: dict[str, Any],
) -> tuple[Table, str]:
    from qrowd.experiments import results as figures
    from qrowd.experiments.results import by_size

    results = results_of(folder, statistic, group)
    if against == figures.SINGLE:
        from qrowd.experiments.inputs import load
        from qrowd.experiments.singles import with_singles

        results = with_singles(results, load(results.book.plan))
    if against:
        return figures.against(results, against, **where), results.caption
    if less_topics:
        return figures.against_topics(results, less_topics, **where), results.caption
    return by_size(results), results.caption


def _of_data(book: Book, name: str) -> tuple[Table, str]:
    from qrowd.experiments import results as tables
    from qrowd.experiments import singles
    from qrowd.experiments.inputs import load

    room = singles if name.startswith("single") else tables
    return getattr(room, name)(load(book.plan)), book.caption


def _of_labels(book: Book, against: str | None, statistic: str, other: bool) -> tuple[Table, str]:
    from qrowd.experiments.results import LabelResults

    if other:
        raise UsageError(
            f"{book.folder} has labels: of these options only --against and --statistic are for it"
        )
    results = LabelResults.of(book)
    table = results.against(against, statistic) if against else results.table()
    return table, results.caption


def _write(table: Table, caption: str, output: str | None, as_json: bool) -> None:
    if not output or not output.endswith(".tex"):
        show(table, output, as_json)
        return
    from qrowd.io.atomic import written
    from qrowd.rendering import cell, latex, latex_text

    rows = [[latex_text(cell(value)) for value in row] for row in zip(*table.values(), strict=True)]
    with written(output) as beside:
        beside.write_text(latex([latex_text(name) for name in table], rows, caption), "utf-8")
