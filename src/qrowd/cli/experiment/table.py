"""`qrowd experiment table`: the figures of an experiment."""

from __future__ import annotations

from typing import Any

import click

from qrowd.cli.experiment.choosing import group_option, results_of, statistic_option
from qrowd.cli.options import json_option, output_option, quiet_option
from qrowd.cli.output import say, show
from qrowd.errors import UsageError


@click.command()
@click.argument("folder")
@click.option("--single", is_flag=True, help="Single assessors against gold: mean tau and tau_AP.")
@click.option("--agreement", is_flag=True, help="The assessors' agreement with gold by topic.")
@click.option("--significance", is_flag=True,
              help="Significant differences between runs: gold as it is, and random.")  # fmt: skip
@click.option("--against", metavar="APPROACH",
              help="Every approach less this one, with 95 % intervals over topics.")  # fmt: skip
@click.option("--size", "sizes", multiple=True, type=int, metavar="N",
              help="With --against: panels of this size only. Repeatable.")  # fmt: skip
@click.option("--measure", "measures", multiple=True, metavar="MEASURE",
              help="With --against: this measure only. Repeatable.")  # fmt: skip
@statistic_option
@group_option
@output_option
@json_option
@quiet_option
def command(
    folder: str, single: bool, agreement: bool, significance: bool, against: str | None,
    sizes: tuple[int, ...], measures: tuple[str, ...], statistic: str, group: str,
    output: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Means by approach and panel size; the caption says what is real and what simulated.

    With -o, the suffix .tex writes LaTeX. The tables of single assessors, agreement and
    significance are computed from the data.

    \b
    Examples:
      qrowd experiment table results
      qrowd experiment table results --single
      qrowd experiment table results --against mv --size 2 --size 3
    """
    chosen = {"single_assessors": single, "agreement": agreement, "significance": significance}
    wanted = [name for name, asked in chosen.items() if asked]
    if len(wanted) + (against is not None) > 1:
        raise UsageError("--single, --agreement, --significance and --against are one table each")
    if wanted:
        table, caption = _of_data(folder, wanted[0])
    else:
        from qrowd.experiments import results as figures
        from qrowd.experiments.tables import by_size

        results = results_of(folder, statistic, group)
        where = {"size": list(sizes), "measure": list(measures)}
        named: dict[str, Any] = {name: values for name, values in where.items() if values}
        table = figures.against(results, against, **named) if against else by_size(results)
        caption = results.caption
    say(caption, quiet)
    _write(table, caption, output, as_json)


def _of_data(folder: str, name: str) -> tuple[dict[str, list[Any]], str]:
    from qrowd.experiments import tables
    from qrowd.experiments.material import load
    from qrowd.experiments.run import Book

    book = Book.read(folder)
    material = load(book.plan)
    return getattr(tables, name)(material), book.caption


def _write(table: dict[str, list[Any]], caption: str, output: str | None, as_json: bool) -> None:
    if not output or not output.endswith(".tex"):
        show(table, output, as_json)
        return
    from qrowd.io.atomic import written
    from qrowd.rendering import cell, latex, latex_text

    rows = [[latex_text(cell(value)) for value in row] for row in zip(*table.values(), strict=True)]
    with written(output) as beside:
        beside.write_text(latex([latex_text(name) for name in table], rows, caption), "utf-8")
