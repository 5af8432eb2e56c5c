"""`qrowd report`: one page about one's own files."""

from __future__ import annotations

from typing import Any

import click

from qrowd.cli.options import (
    gold_option,
    judgements_if_any,
    load_gold,
    load_judgements,
    load_runs,
    once,
    seed_option,
    written_option,
)


@click.command
@judgements_if_any
@click.option(
    "--judgements",
    "further",
    multiple=True,
    metavar="FILE",
    callback=once,
    help="The same as naming JUDGEMENTS. Repeatable.",
)
@gold_option
@click.option(
    "--runs",
    multiple=True,
    metavar="FILES",
    callback=once,
    help="Runs in TREC format: a file, a folder or a quoted pattern ('runs/*.gz'). Repeatable.",
)
@click.option(
    "--given",
    metavar="FILE",
    callback=once,
    help="Qrels that the methods may learn from. Left out of every comparison with gold.",
)
@click.option(
    "--screen",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Leave out assessors whom this rule doubts, such as random-spam. Repeatable.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="METHOD",
    help="A merging method, with parameters if you like: 'ds(prior=topic)'. Repeatable.  "
    "[default: mv, ds, auto; for more than two grades also wmv-iter]",
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="A measure. Repeatable; the first is used for rankings.  [default: AP, nDCG@20]",
)
@click.option(
    "--chosen",
    metavar="METHOD",
    help="The merging method that the intervals are based on.  [default: auto, hier-bayes, "
    "hier-vb or ds if used, else the last one]",
)
@click.option(
    "--informed/--no-informed",
    default=False,
    show_default=True,
    help="Use the systems' rankings as evidence of relevance in the intervals.",
)
@click.option(
    "--draws",
    type=click.IntRange(2, 100_000),
    default=1000,
    show_default=True,
    help="Number of qrels drawn from the merged probabilities for the intervals.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="Confidence level of the intervals.",
)
@seed_option
@click.option(
    "--title", default="Judgements of a crowd", show_default=True, help="Title of the page."
)
@written_option("-o", "--output", default="report.html", show_default=True, help="Output file.")
def command(
    judgements: tuple[str, ...],
    further: tuple[str, ...],
    columns: str | None,
    format: str | None,
    rel: int | None,
    gold: str | None,
    gold_rel: int | None,
    runs: tuple[str, ...],
    given: str | None,
    title: str,
    output: str,
    **options: Any,
) -> None:
    """Write a one-page HTML report: how good the assessors are, which systems are best, how sure.

    Only JUDGEMENTS are required. --runs adds a ranking of systems with intervals; --gold adds a
    comparison of everything with gold. The page is a single file. Prints its path.

    JUDGEMENTS may also be a release of a campaign, alone: a folder or zip that `qrowd campaign
    release` wrote. Its checksums are verified, its runs and experts' grades used, and by default
    the method and measures of the campaign's own figures.

    \b
    Examples:
      qrowd report crowd.tsv.gz --gold nist.qrels --runs runs -o report.html
      qrowd report crowd.tsv.gz --method mv --method 'ds(prior=topic)'
      qrowd report crowd.tsv.gz --screen random-spam --screen uniform-spam
      qrowd report release.zip
    """
    from qrowd.data.given import Given
    from qrowd.errors import UsageError
    from qrowd.io.release import is_release
    from qrowd.io.save import save
    from qrowd.reporting.report import report
    from qrowd.reporting.study import MEASURES, study

    if not (judgements or further):
        raise UsageError("name at least one file of judgements")
    if any(is_release(one) for one in (*judgements, *further)):
        _refuse_beside_release((*judgements, *further), columns, format, rel, gold_rel, given, runs)
        known = load_gold(gold)
        page = _of_release((*judgements, *further)[0], known, title, options)
        save(page, output)
        click.echo(output)
        return
    done = study(
        load_judgements((*judgements, *further), columns, format, rel),
        load_runs(runs) if runs else None,
        load_gold(gold, gold_rel, rel),
        given=Given(gold=load_gold(given, gold_rel, rel)),
        **options | {"measures": options["measures"] or MEASURES},
    )
    save(report(done, title=title, commands=[_typed()]), output)
    click.echo(output)


def _refuse_beside_release(named: tuple[str, ...], *others: Any) -> None:
    """A release says all of this itself."""
    from qrowd.errors import UsageError

    if len(named) > 1:
        raise UsageError("a release is reported alone; name no other judgements")
    if any(one not in (None, ()) for one in others):
        told = "--columns, --format, --rel, --gold-rel, --given, --runs"
        raise UsageError(f"a release says itself what it holds: leave out {told}")


def _of_release(path: str, gold: Any, title: str, options: dict[str, Any]) -> Any:
    """The report of a release; what was not asked for is as in the campaign's own figures."""
    from click.core import ParameterSource

    from qrowd.io.release import read_release
    from qrowd.reporting.released import report_on

    ctx = click.get_current_context()
    stated = {
        name: value
        for name, value in {**options, "title": title}.items()
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    return report_on(read_release(path), gold, commands=[_typed()], **stated)


def _typed() -> str:
    """The command line as it was typed."""
    import shlex
    import sys

    return shlex.join(["qrowd", *sys.argv[1:]])
