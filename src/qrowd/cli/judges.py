"""`qrowd judges`: machine judges against a few human labels."""

from __future__ import annotations

import click

from qrowd.cli.correction import load_human
from qrowd.cli.options import (
    json_option,
    judgements_argument,
    load_judgements,
    load_runs,
    once,
    output_option,
)
from qrowd.cli.output import show


@click.command()
@judgements_argument
@click.option(
    "--human",
    required=True,
    metavar="FILE",
    callback=once,
    help="Human labels of some pairs: qrels, or the file of `qrowd sample` with a grade "
    "added to each row.",
)
@click.option(
    "--gold-rel",
    type=int,
    metavar="GRADE",
    help="Make human labels binary: this grade and higher ones are relevant. Default: --rel.",
)
@click.option(
    "--runs",
    multiple=True,
    metavar="FILE",
    callback=once,
    help="Also show how well each judge ranks these runs. Repeatable.",
)
@click.option(
    "-m",
    "--measure",
    default="nDCG@10",
    show_default=True,
    metavar="MEASURE",
    help="The measure by which runs are ranked.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="Confidence level of the intervals.",
)
@output_option
@json_option
def command(
    judgements: tuple[str, ...],
    columns: str | None,
    format: str | None,
    rel: int | None,
    human: str,
    gold_rel: int | None,
    runs: tuple[str, ...],
    measure: str,
    level: float,
    output: str | None,
    as_json: bool,
) -> None:
    """Compare machine judges with a few human labels, one line per judge, the best first.

    Columns: pairs judged, rate of relevant answers, pairs with a human label, Cohen's kappa and its
    interval over topics, sensitivity, specificity, bias of the rate, group of judges who err alike
    (0: alone), and with --runs tau_AP of the systems' order with that under recalibrated labels.

    \b
    Examples:
      qrowd judges llm.tsv --human few.qrels
      qrowd judges llm.tsv --human few.qrels --runs 'runs/*.gz' -o judges.tsv
    """
    from qrowd.aggregation.run_scores import judges

    crowd = load_judgements(judgements, columns, format, rel)
    known = load_human(human, rel if gold_rel is None else gold_rel)
    ranked = load_runs(runs) if runs else None
    found = judges(crowd, known, ranked, measure=measure, level=level)
    table = found.listed("kappa", descending=True)
    show({name: column.tolist() for name, column in table.items()}, output, as_json)
