"""`qrowd experiment table`: the figures of an experiment."""

from __future__ import annotations

from typing import Any

import click

from qrowd.cli.experiment.choosing import group_option, results_of, statistic_option
from qrowd.cli.options import json_option, output_option, quiet_option
from qrowd.cli.output import say, show


@click.command()
@click.argument("folder")
@click.option("--single", is_flag=True, help="Single assessors against gold: mean tau and tau_AP.")
@click.option("--agreement", is_flag=True, help="The assessors' agreement with gold by topic.")
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
    folder: str, single: bool, agreement: bool, against: str | None, sizes: tuple[int, ...],
    measures: tuple[str, ...], statistic: str, group: str, output: str | None, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Means by approach and panel size; the caption says what is real and what simulated.

    With -o, the suffix .tex writes LaTeX. `--single` and `--agreement` read the data again.

    \b
    Examples:
      qrowd experiment table trec21-merging
      qrowd experiment table trec21-merging --single
      qrowd experiment table trec21-aware --topics train5 --against aware-uni --size 2 --size 3
    """
    if single or agreement:
        table, caption = _of_data(folder, single)
    else:
        from qrowd.experiments import results as figures
        from qrowd.experiments.tables import by_size

        results = results_of(folder, statistic, group)
        where = {"size": list(sizes), "measure": list(measures)}
        chosen: dict[str, Any] = {name: values for name, values in where.items() if values}
        table = figures.against(results, against, **chosen) if against else by_size(results)
        caption = results.caption
    say(caption, quiet)
    _write(table, caption, output, as_json)


def _of_data(folder: str, single: bool) -> tuple[dict[str, list[Any]], str]:
    from qrowd.experiments.material import load
    from qrowd.experiments.run import Book
    from qrowd.experiments.tables import agreement, single_assessors

    book = Book.read(folder)
    material = load(book.plan)
    return (single_assessors if single else agreement)(material), book.caption


def _write(table: dict[str, list[Any]], caption: str, output: str | None, as_json: bool) -> None:
    if not output or not output.endswith(".tex"):
        show(table, output, as_json)
        return
    from qrowd.io.atomic import written
    from qrowd.rendering import cell, latex, latex_text

    rows = [[latex_text(cell(value)) for value in row] for row in zip(*table.values(), strict=True)]
    with written(output) as beside:
        beside.write_text(latex([latex_text(name) for name in table], rows, caption), "utf-8")
