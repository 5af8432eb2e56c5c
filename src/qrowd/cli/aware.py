"""`qrowd aware METHOD`: scores of runs under many assessors into one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.method_commands import MethodGroup, method_command
from qrowd.cli.options import (
    gold_option,
    json_option,
    load_gold,
    load_judgements,
    load_runs,
    output_option,
    quiet_option,
    runs_option,
    seed_option,
    written_option,
)
from qrowd.cli.output import put, say, show, show_json
from qrowd.errors import InputError, UsageError

if TYPE_CHECKING:
    from qrowd.data.given import Given
    from qrowd.data.index import Index
    from qrowd.data.judgements import Judgements
    from qrowd.data.merged import AssessorTable
    from qrowd.data.runs import RunSet
    from qrowd.data.scores import Scores
    from qrowd.registry import Card

SHARED = (
    runs_option,
    click.option(
        "--judgements",
        multiple=True,
        required=True,
        metavar="FILE",
        help="The judgements of the assessors; may repeat.",
    ),
    click.option("--columns", metavar="NAMES", help="What the columns of the judgements are."),
    click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="MEASURE",
        help="AP, nDCG@20, ... as `qrowd measures` lists them; may repeat. Default: AP.",
    ),
    gold_option,
    click.option(
        "--train-topics",
        metavar="FILE|TOPICS|SHARE",
        help="Where gold is used: a file with one topic a line, topics separated by commas, or a "
        "share (0.3) drawn by --seed. Default: every topic that gold has.",
    ),
    click.option(
        "--replicates",
        type=click.IntRange(min=1),
        default=100,
        show_default=True,
        help="Random assessors of each kind, for aware-u.",
    ),
    written_option("--assessors", help="Write the weight of each assessor."),
    click.option(
        "--intervals",
        is_flag=True,
        help="Intervals of scores and places by resampling assessors and topics.",
    ),
    click.option("--level", type=float, default=0.9, show_default=True, help="Of the intervals."),
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
    """Merge the scores of runs under each assessor, without ever making one truth (AWARE).

    METHOD is one of those below, or one with parameters, as in "aware-u(gap='tau')"; the names of
    the thesis (sup_apc, sgl_fro_msd) are understood. Its options: `qrowd aware aware-s --help`.

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
    gold: str | None,
    gold_rel: int | None,
    train_topics: str | None,
    replicates: int,
    assessors: str | None,
    intervals: bool,
    level: float,
    seed: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from qrowd.evaluation.engine import evaluate

    named = measures or ("AP",)
    crowd, systems = load_judgements(judgements, columns), load_runs(runs, run_names)
    by_each = evaluate(systems, crowd.by_assessor(), named)
    given = _given(
        method.card, systems, crowd, by_each, (gold, gold_rel, train_topics), replicates, seed
    )
    merged = method.fit(by_each, given)
    if given.reference is not None:
        say(_trained(given.reference.topics), quiet)
    if assessors:
        put(_weights(by_each, method.accuracies(by_each, given)), assessors)
    if intervals:
        accuracies = method.accuracies(by_each, given)
        _deliver_intervals(by_each, accuracies, level, seed, output, as_json)
    else:
        _deliver(merged, output, as_json)
    for note in () if as_json else merged.notes:
        say(f"note: {note}", quiet)


def _given(
    card: Card,
    runs: RunSet,
    crowd: Judgements,
    by_each: Scores,
    gold: tuple[str | None, int | None, str | None],
    replicates: int,
    seed: int,
) -> Given:
    """What the method needs: scores under gold on training topics, scores of random assessors."""
    from qrowd.data.given import Given
    from qrowd.evaluation.engine import evaluate
    from qrowd.evaluation.random_assessors import random_scores

    file, cut, topics = gold
    reference = random = None
    if "reference" in card.needs:
        trusted = load_gold(file, cut)
        if trusted is None:
            raise UsageError(f"{card.id} learns from gold: name it by --gold")
        train = _topics(topics, trusted.topics.intersection(by_each.topics), seed)
        reference = evaluate(runs, trusted[train], by_each.measures)
    elif file:
        raise UsageError(f"{card.id} uses no gold: leave --gold out, or choose aware-s")
    if "random" in card.needs:
        random = random_scores(
            runs, crowd.pairs, by_each.measures, replicates=replicates, seed=seed
        )
    return Given(reference=reference, random=random)


def _topics(stated: str | None, known: Index, seed: int) -> Index:
    """The training topics that the option names; all of gold's by default."""
    from qrowd.data.index import Index

    if stated is None:
        return known
    if stated.replace(".", "", 1).isdigit() and "." in stated:
        return known.split(float(stated), seed)[0]
    names = Path(stated).read_text().split() if Path(stated).is_file() else stated.split(",")
    wanted = Index.of(names)
    missing = wanted.without(known)
    if len(missing):
        raise InputError(
            f"training topics without gold or judgements: {', '.join(missing)}; "
            f"gold has {', '.join(list(known)[:10])}"
        )
    return wanted


def _trained(topics: Index) -> str:
    return (
        f"learned on {len(topics)} topics ({', '.join(list(topics)[:10])}"
        f"{', ...' if len(topics) > 10 else ''}): compare on the others, "
        "qrowd compare --leave-out"
    )


def _weights(by_each: Scores, accuracies: Any) -> AssessorTable:
    """The mean weight of each assessor over topics, for each measure; even weights are 1 / n."""
    import numpy as np

    from qrowd.aggregation.gaps import judged_topics
    from qrowd.aggregation.panels import panel_weights
    from qrowd.data.merged import AssessorTable

    columns: dict[str, Any] = {
        "topics": judged_topics(by_each.values[0]).sum(axis=1).astype(np.int64)
    }
    everyone = np.ones((1, len(by_each.columns)))
    for name, values, accuracy in zip(by_each.measures, by_each.values, accuracies, strict=True):
        weights = panel_weights(accuracy, judged_topics(values), everyone)[0]
        columns[f"weight({name})"] = np.nan_to_num(weights).mean(axis=1)
        columns[f"accuracy({name})"] = accuracy.mean(axis=1)
    return AssessorTable(by_each.columns, columns)


def _deliver(merged: Scores, output: str | None, as_json: bool) -> None:
    from qrowd.cli.evaluate import score_rows, score_table

    if output:
        put(merged, output)
    if as_json:
        show_json({"scores": score_rows(merged), "notes": merged.notes})
    elif not output:
        show(score_table(merged))


def _deliver_intervals(
    by_each: Scores,
    accuracies: Any,
    level: float,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    from qrowd.aggregation.panels import resampled_scores
    from qrowd.cli.evaluate import deliver_intervals
    from qrowd.comparison.intervals import intervals as intervals_of

    draws = resampled_scores(by_each, accuracies, 1000, seed)
    deliver_intervals(intervals_of(draws, over="both", level=level, seed=seed), output, as_json)
