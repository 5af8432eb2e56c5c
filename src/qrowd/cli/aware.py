"""`qrowd aware METHOD`: scores of runs under many assessors into one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.evaluate import deliver_intervals, deliver_scores
from qrowd.cli.method_commands import MethodGroup, method_command
from qrowd.cli.options import (
    gold_option,
    json_option,
    load_gold,
    load_judgements,
    load_runs,
    load_topics,
    output_option,
    quiet_option,
    runs_option,
    seed_option,
    written_option,
)
from qrowd.cli.output import put, say

if TYPE_CHECKING:
    from qrowd.aggregation.aware import Aware
    from qrowd.data.index import Index
    from qrowd.registry import Card

SHARED = (
    runs_option,
    click.option(
        "--judgements",
        multiple=True,
        required=True,
        metavar="FILE",
        help="The judgements of the assessors. Repeatable.",
    ),
    click.option(
        "--columns",
        metavar="NAMES",
        help="Which columns of the judgements to read; see `qrowd merge ds --help`.",
    ),
    click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="MEASURE",
        help="AP, nDCG@20, ... (see `qrowd measures`). Repeatable. Default: AP.",
    ),
    gold_option,
    click.option(
        "--train-topics",
        metavar="FILE|TOPICS|SHARE",
        help="Topics to learn from gold on: a file with one topic per line, topics separated by "
        "commas, or a random share such as 0.3. Default: every topic that has gold.",
    ),
    click.option(
        "--replicates",
        type=click.IntRange(1, 10_000),
        default=100,
        show_default=True,
        help="Number of random assessors of each kind, for aware-u.",
    ),
    written_option("--assessors", help="Write the weight of each assessor."),
    click.option(
        "--intervals",
        is_flag=True,
        help="Intervals of scores and places: topics and assessors drawn anew, weights relearned.",
    ),
    click.option(
        "--level",
        type=float,
        default=0.9,
        show_default=True,
        help="Confidence level of the intervals.",
    ),
    seed_option,
    output_option,
    json_option,
    quiet_option,
)


def _command_of(name: str, method: Any) -> click.Command:
    return method_command(name, method, SHARED, _aware, _help(method.card))


@click.group(
    cls=MethodGroup,
    level="scores",
    make=_command_of,
    subcommand_metavar="METHOD --runs FILES --judgements FILE [OPTIONS]",
)
def command() -> None:
    """Score runs under each assessor, then merge the scores instead of the judgements (AWARE).

    METHOD is one of the methods below, with parameters if you like: "aware-u(gap='tau')". The
    thesis's names (sup_apc, sgl_fro_msd) work too. For a method's options, see `qrowd aware aware-s
    --help`.

    \b
    Examples:
      qrowd aware aware-uni --runs 'runs/*.gz' --judgements crowd.tsv -m AP -m nDCG@20
      qrowd aware aware-s --gap apc --runs 'runs/*.gz' --judgements crowd.tsv --gold some.qrels \\
        --train-topics train.txt -o scores.tsv --assessors weights.tsv
    """


def _help(card: Card) -> str:
    """The first paragraph, the source, what it takes, and an example."""
    about = (inspect.getdoc(card.cls) or "").split("\n\n")[0]
    gold = " --gold some.qrels --train-topics 0.3" if "reference" in card.needs else ""
    needs = "Needs --gold. " if gold else ""
    example = f"qrowd aware {card.id} --runs 'runs/*.gz' --judgements crowd.tsv{gold} -o scores.tsv"
    source = f"{needs}After {card.paper}; the model: `qrowd methods {card.id}`."
    return f"{about}\n\n{source}\n\n\b\nExamples:\n  {example}"


def _aware(
    method: Any,
    *,
    runs: tuple[str, ...],
    run_names: str,
    judgements: tuple[str, ...],
    columns: str | None,
    measures: tuple[str, ...],
    replicates: int,
    seed: int,
    quiet: bool,
    gold: str | None,
    gold_rel: int | None,
    **options: Any,
) -> None:
    """Read what the options name, merge the scores, write."""
    from qrowd.aggregation.aware import aware, check_gold

    check_gold(method.card, gold is not None)
    crowd, systems = load_judgements(judgements, columns), load_runs(runs, run_names)
    trusted = load_gold(gold, gold_rel)
    if trusted is not None:
        shared = trusted.topics.intersection(crowd.topics)
        trusted = trusted[load_topics(options["train_topics"], shared, seed)]
    done = aware(
        method, systems, crowd, measures or ("AP",), gold=trusted, replicates=replicates, seed=seed
    )
    if done.training is not None:
        say(_trained(done.training), quiet)
    _write(done, seed=seed, quiet=quiet, **options)


def _write(
    done: Aware,
    *,
    assessors: str | None,
    intervals: bool,
    level: float,
    seed: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> None:
    if assessors:
        put(done.weights(), assessors)
    if intervals:
        from qrowd.comparison.intervals import intervals as intervals_of

        draws = done.resampled(seed=seed)
        drawn = "samples of topics and assessors"
        found = intervals_of(draws, level=level, seed=seed, drawn=drawn)
        deliver_intervals(found, output, as_json)
    else:
        deliver_scores(done.merged, output, as_json)
    for note in () if as_json else done.merged.notes:
        say(f"note: {note}", quiet)


def _trained(topics: Index) -> str:
    return (
        f"learned on {len(topics)} topics ({', '.join(list(topics)[:10])}"
        f"{', ...' if len(topics) > 10 else ''}): compare on the others, "
        "qrowd compare --leave-out"
    )
