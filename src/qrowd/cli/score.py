"""`qrowd score`: merged labels against gold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qrowd.cli.files import grades_option, stated_grades
from qrowd.cli.options import json_option, once, output_option
from qrowd.cli.output import put, say, show_json

if TYPE_CHECKING:
    from qrowd.comparison.labels import LabelScores


@click.command()
@click.argument("merged", callback=once)
@click.argument("gold", callback=once)
@click.option(
    "--gold-rel",
    type=int,
    metavar="GRADE",
    help="Make gold binary: this grade and higher ones are relevant (for graded gold beside 0/1 "
    "labels). Default: --rel.",
)
@click.option(
    "--rel",
    type=int,
    metavar="GRADE",
    help="Make merged labels binary: this grade and higher ones are relevant.",
)
@click.option(
    "--given",
    metavar="FILE",
    callback=once,
    help="Qrels that the method was given as gold: these pairs are scored separately. A file of "
    "probabilities marks them already.",
)
@click.option("--per-topic", is_flag=True, help="Also print one line per topic.")
@click.option(
    "--calibration",
    is_flag=True,
    help="Also print how well the probabilities are calibrated: the table of a reliability "
    "diagram, and the parts of the Brier score.",
)
@click.option(
    "--bins",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of bins of the calibration table.",
)
@grades_option
@output_option
@json_option
def command(
    merged: str,
    gold: str,
    gold_rel: int | None,
    rel: int | None,
    given: str | None,
    per_topic: bool,
    calibration: bool,
    bins: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Score merged labels against gold.

    MERGED is a file of qrels, or of probabilities as `qrowd merge --probabilities` writes them;
    GOLD is a file of qrels. Only pairs that both have are scored. Pairs whose gold was given to
    the method are scored separately.

    Quantised figures score the most likely grade of each pair; fractional ones count a probability
    p as p of the answer "relevant". -o writes one row per topic.

    \b
    Examples:
      qrowd score merged.qrels nist.qrels
      qrowd score merged.tsv nist.qrels --calibration --per-topic
      qrowd score merged.tsv nist.qrels --gold-rel 2 --json
    """
    from qrowd.comparison.labels import score_labels
    from qrowd.io.qrels import read_labels, read_qrels

    words = stated_grades()
    labels, truth = read_labels(merged, grades=words), read_qrels(gold, grades=words)
    seen = read_qrels(given, grades=words) if given else None
    cut = rel if gold_rel is None else gold_rel
    truth = truth if cut is None else truth.binary(cut)
    labels = labels if rel is None else labels.binary(rel)
    found = score_labels(labels, truth, given=seen, bins=bins)
    if output:
        put(found, output)
    if as_json:
        show_json(found.to_dict())
    elif not output:
        click.echo(_text(found, per_topic, calibration))
    for note in found.notes if output and not as_json else ():
        say(f"note: {note}")


def _text(found: LabelScores, per_topic: bool, calibration: bool) -> str:
    from qrowd.comparison.labels import calibration_text, per_topic_text

    blocks = [str(found)]
    blocks += [per_topic_text(found)] if per_topic else []
    blocks += [calibration_text(found.calibration)] if calibration else []
    return "\n\n".join(blocks)
