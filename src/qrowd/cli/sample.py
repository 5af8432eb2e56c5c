"""`qrowd sample`: which pairs a human should judge."""

from __future__ import annotations

import click

from qrowd.cli.options import (
    judgements_argument,
    load_judgements,
    load_runs,
    once,
    output_option,
    quiet_option,
    seed_option,
)
from qrowd.cli.output import put, say
from qrowd.errors import UsageError


@click.command()
@judgements_argument
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    help="How many pairs to choose.",
)
@click.option(
    "--by",
    type=click.Choice(("random", "weight", "uncertainty", "topic")),
    default="random",
    show_default=True,
    help="What makes a pair likelier to be chosen: nothing, how much the scores of the "
    "runs depend on it, how uncertain votes are; or choose whole topics.",
)
@click.option(
    "--runs",
    multiple=True,
    metavar="FILE",
    callback=once,
    help="Runs, for --by weight. Repeatable.",
)
@click.option(
    "-m",
    "--measure",
    default="P@10",
    show_default=True,
    metavar="MEASURE",
    help="Whose weights --by weight uses: P@k, DCG@k or RBP.",
)
@output_option
@seed_option
@quiet_option
def command(
    judgements: tuple[str, ...],
    columns: str | None,
    format: str | None,
    rel: int | None,
    pairs: int,
    by: str,
    runs: tuple[str, ...],
    measure: str,
    output: str | None,
    seed: int,
    quiet: bool,
) -> None:
    """Choose pairs for a human to judge, with the probability of each being chosen.

    Writes `topic doc probability by`. Add a column `grade` with the human's answers, and
    `qrowd evaluate --human FILE --correct ppi` scores runs with both kinds of labels. The
    probabilities are what makes the scores right, so keep all rows.

    \b
    Examples:
      qrowd sample llm.tsv --pairs 60 --by weight --runs 'runs/*.gz' -o todo.tsv
      qrowd sample llm.tsv --pairs 60 --by topic -o todo.tsv
    """
    from qrowd.budget.sampling_design import sample

    if by == "weight" and not runs:
        raise UsageError("--by weight needs --runs")
    crowd = load_judgements(judgements, columns, format, rel)
    ranked = load_runs(runs) if runs else None
    chosen = sample(crowd, pairs, by, runs=ranked, measure=measure, seed=seed)
    put(chosen, output)
    topics = len(chosen.pairs.topics)
    say(f"{len(chosen)} of {len(crowd.pairs)} pairs in {topics} topics, by {by}", quiet)
