"""`qrowd sample` and `qrowd judges`: a few human labels beside those of machine judges."""

from __future__ import annotations

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, say, show
from qrowd.errors import UsageError
from qrowd.rendering import counted


@click.command()
@opt.judgements
@click.option(
    "--pairs", type=click.IntRange(1), required=True, metavar="N", help="How many pairs to choose."
)
@opt.choice(
    "--by",
    choices=("random", "weight", "uncertainty", "topic"),
    help="What makes a pair likelier to be chosen: nothing, how much the scores of the "
    "runs depend on it, how uncertain votes are; or choose whole topics.",
)
@opt.input_file("--runs", multiple=True, help="Runs, for --by weight. Repeatable.")
@opt.measure("P@10", "Whose weights --by weight uses: P@k, DCG@k or RBP.")
@opt.output
@opt.seed
@opt.quiet
def sample(
    files: opt.JudgementFiles,
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
    if by == "weight" and not runs:
        raise UsageError("--by weight needs --runs")
    crowd = files.read()
    systems = opt.RunFiles(runs).read() if runs else None
    chosen = q.sample(crowd, pairs, by, runs=systems, measure=measure, seed=seed)
    put(chosen, output)
    topics = len(chosen.pairs.topics)
    say(f"{len(chosen)} of {len(crowd.pairs)} pairs in {topics} topics, by {by}", quiet)


@click.command()
@opt.judgements
@opt.input_file(
    "--human",
    help="Human labels of some pairs: qrels, or the file of `qrowd sample` with a grade "
    "added to each row.  [default: what experts among the JUDGEMENTS say]",
)
@opt.grade(
    "--gold-rel",
    help="Make human labels binary: this grade and higher ones are relevant. Default: --rel.",
)
@opt.input_file(
    "--runs", multiple=True, help="Also show how well each judge ranks these runs. Repeatable."
)
@opt.measure("nDCG@10", "The measure by which runs are ranked.")
@opt.level
@opt.output
@opt.as_json
def judges(
    files: opt.JudgementFiles,
    human: str | None,
    gold_rel: int | None,
    runs: tuple[str, ...],
    measure: str,
    level: float,
    output: str | None,
    as_json: bool,
) -> None:
    """Compare machine judges with a few human labels, one line per judge, the best first.

    Where JUDGEMENTS say who is a machine (column kind, or --machines), only machines are compared.

    Columns: pairs judged, rate of relevant answers, pairs with a human label, Cohen's kappa and its
    interval over topics, sensitivity, specificity, bias of the rate, group of judges who err alike
    (0: alone), and with --runs tau_AP of the systems' order with that under recalibrated labels.

    \b
    Examples:
      qrowd judges llm.tsv --human few.qrels
      qrowd judges llm.tsv --human few.qrels --runs 'runs/*.gz' -o judges.tsv
      qrowd judges all.tsv --machines 'gpt*' --human few.qrels
    """
    crowd = files.read()
    cut = files.rel if gold_rel is None else gold_rel
    labels = opt.read_human(human, cut) if human else None
    systems = opt.RunFiles(runs).read() if runs else None
    table = q.judges(crowd, labels, systems, measure=measure, level=level)
    if labels is None:
        say(f"human labels: those of {counted(crowd.kind_counts['expert'], 'expert')}")
    others = len(crowd.assessors) - len(table)
    if others:
        say(f"left out, not known to be a machine: {counted(others, 'assessor')}")
    columns = table.listed("kappa", descending=True)
    show({name: column.tolist() for name, column in columns.items()}, output, as_json)
