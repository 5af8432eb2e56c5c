"""`qrowd quality`: who to trust.

Five jobs, one module each: `table` of assessors, `agreement`, `independence`, `screening`,
simulated `checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.options import (
    gold_option,
    json_option,
    judgements_if_any,
    load_gold,
    load_judgements,
    output_option,
    quiet_option,
    seed_option,
)
from qrowd.cli.output import say
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements
    from qrowd.data.qrels import Qrels


@click.command()
@judgements_if_any
@gold_option
@click.option(
    "--merge",
    metavar="METHOD",
    help="Estimate accuracies with this merging method (ds, mv, two-coin, ...); with "
    "--screen, show how its result changes.",
)
@click.option(
    "--sort",
    default="judgements",
    show_default=True,
    metavar="COLUMN",
    help="Sort the assessors by this column; -COLUMN reverses the order.",
)
@click.option(
    "--show", "shown", metavar="NAMES", help="Show only these columns, separated by commas."
)
@click.option(
    "--enough",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Do not suspect assessors with fewer judgements than this.",
)
@click.option(
    "--agreement",
    "agreeing",
    is_flag=True,
    help="Print coefficients of agreement instead of the table.",
)
@click.option(
    "--independence",
    "independent",
    is_flag=True,
    help="Whether assessors err together, and who with whom, instead of the table.",
)
@click.option(
    "--per-topic",
    is_flag=True,
    help="With --agreement: also for each topic. With --independence: each "
    "topic instead of couples.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(0, 100_000),
    default=1000,
    show_default=True,
    help="Bootstrap samples for the intervals of --agreement; 0 for none.",
)
@click.option(
    "--resample",
    type=click.Choice(("pairs", "topics")),
    default="pairs",
    show_default=True,
    help="What the bootstrap samples.",
)
@click.option(
    "--screen",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Leave out assessors whom this rule doubts. Repeatable; with 'A & B' both rules must "
    "doubt. -o gets the remaining judgements, stdout the reasons. Rules: gold-accuracy, "
    "binary-score, ndcg-score, too-fast, random-spam, uniform-spam, trust, few-judgements, "
    "suspected.",
)
@click.option(
    "--down-weight",
    is_flag=True,
    help="With --screen: give doubted assessors a smaller weight instead.",
)
@click.option(
    "--each",
    type=click.IntRange(min=0),
    default=25,
    show_default=True,
    help="With --screen and --merge: for how many assessors to show the effect of each.",
)
@click.option(
    "--simulate-checks",
    is_flag=True,
    help="How often good and bad workers would pass the checks on gold.",
)
@click.option(
    "--binary-at-least",
    type=float,
    default=0.85,
    show_default=True,
    help="With --simulate-checks: the lowest binary score that passes.",
)
@click.option(
    "--ndcg-at-least",
    type=float,
    default=0.62,
    show_default=True,
    help="With --simulate-checks: the lowest NDCG score that passes.",
)
@click.option(
    "--accuracy-at-least",
    type=float,
    default=0.6,
    show_default=True,
    help="With --simulate-checks: the lowest accuracy that passes.",
)
@click.option(
    "--ideal",
    type=click.Choice(("tied", "standard")),
    default="tied",
    show_default=True,
    help="With --simulate-checks: how the NDCG score treats ties in the ideal ranking.",
)
@click.option(
    "--curve", is_flag=True, help="With --simulate-checks: print the pass rate at every threshold."
)
@click.option(
    "--orders",
    "ranked",
    metavar="FILE",
    help="Judge rankings or preferences instead: NDCG score on gold, whether ranks fit "
    "the grades; with --agreement, Kendall's W, tau, cycles.",
)
@click.option("--figures", metavar="FOLDER", help="Folder for figures (SVG).")
@output_option
@json_option
@seed_option
@quiet_option
def command(
    judgements: tuple[str, ...],
    columns: str | None,
    format: str | None,
    rel: int | None,
    gold: str | None,
    gold_rel: int | None,
    agreeing: bool,
    independent: bool,
    rules: tuple[str, ...],
    simulate_checks: bool,
    ranked: str | None,
    **options: Any,
) -> None:
    """Find out whom to trust: assessors, agreement, spam, and checks on gold.

    Prints one row per assessor: judgements, suspected type, agreement with the others, accuracy on
    gold, estimates of a merging method, seconds, repeated answers, trust, spam statistics. A
    terminal shows the main columns; files and pipes get all of them. Gold may have more grades
    than the judgements: --gold-rel and higher count as relevant (default: --rel, else 1).

    \b
    Examples:
      qrowd quality crowd.tsv
      qrowd quality crowd.tsv --gold nist.qrels --merge ds --sort -accuracy -o assessors.tsv
      qrowd quality crowd.tsv --agreement --per-topic
      qrowd quality crowd.tsv --independence
      qrowd quality crowd.tsv --gold g.qrels --screen 'gold-accuracy(at_least=.6)' -o kept.tsv
      qrowd quality crowd.tsv --screen random-spam --screen uniform-spam --merge ds --json
      qrowd quality --simulate-checks --gold g.qrels --figures pictures
      qrowd quality crowd.tsv --orders orders.tsv --gold g.qrels
    """
    from qrowd.cli.quality import agreement, checks, independence, orders, screening, table

    _refuse_strays(agreeing or independent, bool(rules), simulate_checks, options)
    trusted = load_gold(gold)
    if simulate_checks:
        checks.run(trusted, **options)
        return
    if ranked:
        crowd = load_judgements(judgements, columns, format, rel) if judgements else None
        orders.run(ranked, crowd, trusted, agreeing, rel, **options)
        return
    if not judgements:
        raise UsageError("no judgements given; name a file, or `-` for stdin")
    crowd = load_judgements(judgements, columns, format, rel)
    cut = gold_rel if gold_rel is not None else rel if rel is not None else 1
    if trusted is not None:
        shared = _judged(crowd, trusted)
        say(f"gold is relevant from grade {cut}; {shared} gold pairs were judged", options["quiet"])
    if agreeing:
        agreement.run(crowd, **options)
    elif independent:
        independence.run(crowd, **options)
    elif rules:
        screening.run(crowd, rules, trusted, cut, **options)
    else:
        table.run(crowd, trusted, cut, **options)


def _refuse_strays(
    agreeing: bool, screening: bool, checking: bool, options: dict[str, Any]
) -> None:
    """Options of a job that was not asked for."""
    strays = {
        "--per-topic": (options["per_topic"], "--agreement or --independence", agreeing),
        "--down-weight": (options["down_weight"], "--screen", screening),
        "--curve": (options["curve"], "--simulate-checks", checking),
    }
    for name, (given, job, asked) in strays.items():
        if given and not asked:
            raise UsageError(f"{name} goes with {job}, which was not given")


def _judged(crowd: Judgements, gold: Qrels) -> str:
    """How many of the gold's pairs have judgements, in words."""
    from qrowd.errors import InputError

    shared = int((crowd.pairs.locate(gold.pairs) >= 0).sum())
    if not shared:
        raise InputError(
            "gold and judgements have no pair in common; do topic and document names match?"
        )
    return f"{shared} of {len(gold)}"
