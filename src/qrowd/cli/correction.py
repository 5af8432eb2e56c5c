"""What `qrowd evaluate --correct` adds: options of human labels, and corrected scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qrowd.cli.files import stated_grades
from qrowd.cli.options import once
from qrowd.cli.output import put, say, show_json
from qrowd.errors import InputError, UsageError

if TYPE_CHECKING:
    from qrowd.comparison.corrected import Corrected
    from qrowd.data.judgements import Judgements
    from qrowd.data.merged import Merged
    from qrowd.data.qrels import Qrels
    from qrowd.data.runs import RunSet
    from qrowd.data.sample import Sample
    from qrowd.evaluation.measure import Measure

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--human",
        metavar="FILE",
        callback=once,
        help="Human labels of some pairs: the file of `qrowd sample` with a grade added to each "
        "row, or qrels (then --sampled says how they were chosen).",
    ),
    click.option(
        "--correct",
        type=click.Choice(("ppi", "recalibrate", "rg")),
        help="Correct the scores under machine labels by the human ones: prediction-powered "
        "inference, recalibrated labels, or Rogan and Gladen's formula (P only).",
    ),
    click.option(
        "--sampled",
        type=click.Choice(("random", "topic")),
        help="How human labels without probabilities were chosen: pairs at random, or whole "
        "topics at random.",
    ),
    click.option(
        "--quantiles",
        type=click.Choice(("t", "bootstrap")),
        default="t",
        show_default=True,
        help="Where the intervals of --correct ppi end: at Student's quantiles, or at those of a "
        "bootstrap.",
    ),
    click.option(
        "--labels-needed",
        type=click.FloatRange(min=0, min_open=True),
        metavar="H",
        help="Also print how many human labels would make every interval at most H to each side.",
    ),
)


def human_options(function: F) -> F:
    """--human --correct --sampled --quantiles --labels-needed."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def load_human(human: str, gold_rel: int | None = None) -> Sample | Qrels:
    """Human labels, with probabilities where the file has them; binary if `gold_rel` says so."""
    from qrowd.io.qrels import read_sample

    found = read_sample(human, grades=stated_grades())
    return found if gold_rel is None else found.binary(gold_rel)


def measures_for(human: Sample | Qrels, correct: str, sampled: str | None) -> tuple[str, ...]:
    """What is scored unless it is said: what these labels can correct."""
    if (sampled or getattr(human, "by", "")) == "topic":
        return ("AP", "nDCG@20")
    return ("P@10",) if correct == "rg" else ("P@10", "DCG@10")


def deliver_corrected(
    runs: RunSet,
    machine: Qrels | Judgements | Merged,
    known: Sample | Qrels,
    measures: tuple[Measure, ...],
    output: str | None,
    as_json: bool,
    level: float,
    *,
    human: str,
    correct: str,
    sampled: str | None,
    quantiles: str,
    labels_needed: float | None,
    seed: int,
    **_: Any,
) -> None:
    """Corrected scores to a file, as JSON, or for eyes."""
    from qrowd.aggregation.correction import correct as corrected
    from qrowd.data.qrels import Qrels

    if isinstance(machine, Qrels):
        raise UsageError("--correct needs machine labels: --judgements or --probabilities")
    try:
        found = corrected(
            runs,
            machine,
            known,
            measures,
            method=correct,
            sampled=sampled,
            level=level,
            quantiles=quantiles,
            seed=seed,
        )
    except InputError as error:
        raise error if error.file else error.at(human) from None
    needed = found.labels_needed(labels_needed) if labels_needed else {}
    if output:
        put(found, output)
    if as_json:
        show_json({**found.to_dict(), "labels_needed": needed})
        return
    if not output:
        click.echo(str(found))
    for note in found.notes if output else ():
        say(f"note: {note}")
    for line in _needed(found, labels_needed, needed) if labels_needed else ():
        click.echo(line, err=bool(output))


def _needed(found: Corrected, half_width: float, needed: dict[str, int]) -> list[str]:
    for_all = f"for intervals of at most {half_width:g} to each side"
    return [
        f"{name}: {for_all} a human must judge {needed[name]} {found.unit}s ({found.labels} now)"
        if name in needed
        else f"{name}: how many human labels are needed is unknown, there is no interval"
        for name in found.measures
    ]
