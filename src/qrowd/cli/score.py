"""`qrowd score`: merged labels against gold."""

from __future__ import annotations

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.files import grades_option, stated_grades
from qrowd.cli.output import put, say, show_json


@click.command()
@click.argument("merged", callback=opt.once)
@click.argument("gold", callback=opt.once)
@opt.grade(
    "--gold-rel",
    help="Make gold binary: this grade and higher ones are relevant (for graded gold beside 0/1 "
    "labels). Default: --rel.",
)
@opt.grade(
    "--rel",
    help="Make merged labels binary: this grade and higher ones are relevant.",
)
@opt.input_file(
    "--given",
    help="Qrels that the method was given as gold: these pairs are scored separately. A file of "
    "probabilities marks them already.",
)
@opt.switch("--per-topic", help="Also print one line per topic.")
@opt.switch(
    "--calibration",
    help="Also print how well the probabilities are calibrated: the table of a reliability "
    "diagram, and the parts of the Brier score.",
)
@opt.with_default(
    "--bins",
    type=click.IntRange(min=1),
    default=10,
    help="Number of bins of the calibration table.",
)
@grades_option
@opt.output
@opt.as_json
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
    from qrowd.comparison.labels import calibration_text, per_topic_text
    from qrowd.io.qrels import read_labels

    labels = read_labels(merged, grades=stated_grades())
    truth = opt.read_qrels(gold)
    seen = opt.read_qrels(given) if given else None
    cut = rel if gold_rel is None else gold_rel
    truth = truth if cut is None else truth.binary(cut)
    labels = labels if rel is None else labels.binary(rel)
    scores = q.score_labels(labels, truth, given=seen, bins=bins)
    if output:
        put(scores, output)
    if as_json:
        show_json(scores.to_dict())
    elif not output:
        blocks = [str(scores)]
        blocks += [per_topic_text(scores)] if per_topic else []
        blocks += [calibration_text(scores.calibration)] if calibration else []
        click.echo("\n\n".join(blocks))
    for note in scores.notes if output and not as_json else ():
        say(f"note: {note}")
