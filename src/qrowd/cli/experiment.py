"""`qrowd experiment`: a grid of approaches, panels, topic sets and measures.

What experiments need takes half a second to import: each verb imports it when it runs.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli import options as opt
from qrowd.cli.output import quiet, save_pictures, say, show, show_json
from qrowd.cli.verbs import Family
from qrowd.errors import UsageError
from qrowd.io.atomic import write
from qrowd.rendering import Table, cell, latex, latex_text

if TYPE_CHECKING:
    from qrowd.experiments.plan import Plan
    from qrowd.experiments.results import Results
    from qrowd.experiments.run import Book

on_option = opt.with_default(
    "--on",
    default="threads",
    metavar="WHERE",
    help="Where it is computed: threads, processes, dask (on this machine), or tcp://HOST:PORT of "
    "a Dask scheduler.",
)
workers_option = opt.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of threads, processes or Dask workers. Default: as many as there are cores.",
)
statistic_option = opt.option(
    "--statistic",
    default="",
    metavar="NAME",
    help="tau_ap, tau or rmse, or a figure of labels. Default: the plan's first.",
)
group_option = opt.option(
    "--topic-sets",
    "group",
    default="",
    metavar="GROUP",
    help="A group of topic sets of the plan. Default: its first.",
)


OLD_GROUP = {"--topics": "--topic-sets"}


@click.group(cls=Family)
def command() -> None:
    """Compare approaches on a grid of settings.

    A plan crosses approaches with panels, topic sets, measures and run sets: a plan file (TOML)
    says what is crossed with what; presets repeat published experiments. Results are a folder with
    one Parquet file of cells; a run that was stopped goes on with `resume`.
    """


@command.command()
@click.argument("name", required=False)
@opt.output
@opt.as_json
def presets(name: str | None, output: str | None, as_json: bool) -> None:
    """List the presets, or print the plan of one.

    \b
    Examples:
      qrowd experiment presets
      qrowd experiment presets trec21-aware
    """
    from qrowd.experiments.presets import names, preset

    if name:
        text = preset(name).text
        if output:
            write(output, text)
        elif as_json:
            show_json({"preset": name, "plan": text})
        else:
            click.echo(text, nl=False)
        return
    about = [preset(name).experiment.about for name in names()]
    show({"preset": names(), "about": about}, output, as_json)


# --- computing ------------------------------------------------------------------------------------


@command.command(old=OLD_GROUP)
@opt.file("plan")
@opt.input_file("--judgements", help="Judgements instead of the plan's.")
@opt.gold_file
@opt.input_file("--texts", help="The documents' texts, for a plan of votes one by one.")
@opt.input_file(
    "--runs",
    multiple=True,
    metavar="NAME=FILES",
    help="Run sets instead of the plan's. Repeatable.",
)
@opt.repeated(
    "--topic-sets",
    metavar="GROUP",
    help="Only this group of topic sets of the plan. Repeatable.",
)
@opt.option(
    "--part", metavar="K/N", help="Compute the K-th of N parts only, for a cluster; then join them."
)
@on_option
@workers_option
@opt.target("FOLDER", "The folder of results. Default: the plan's name.", required=False)
@opt.as_json
@opt.quiet
def run(
    plan: str,
    judgements: str | None,
    gold: str | None,
    texts: str | None,
    runs: tuple[str, ...],
    topic_sets: tuple[str, ...],
    part: str | None,
    on: str,
    workers: int | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Compute the cells of PLAN, a TOML file or the name of a preset, into a folder.

    What is finished is kept: a run that was stopped goes on where it was, with the same command or
    with `qrowd experiment resume`.

    \b
    Examples:
      qrowd experiment run grid.toml -o results
      qrowd experiment run grid.toml -o results --part 3/32
    """
    from qrowd.experiments.presets import plan_of

    own = plan_of(plan)
    if texts:
        own = replace(own, data=replace(own.data, texts=str(Path(texts).resolve())))
    grid = _with_own_files(own, judgements, gold, runs).only(topic_sets)
    _compute(grid, output or grid.experiment.name, on, workers, part, as_json)


@command.command()
@opt.file("folder")
@on_option
@workers_option
@opt.as_json
@opt.quiet
def resume(folder: str, on: str, workers: int | None, as_json: bool) -> None:
    """Compute what FOLDER lacks. Finished tasks are kept, and none is counted twice.

    \b
    Examples:
      qrowd experiment resume results
    """
    _compute(_book(folder).plan, folder, on, workers, None, as_json)


@command.command()
@opt.file("folder")
@opt.files("more", "[MORE]...", required=False)
@opt.as_json
@opt.quiet
def join(folder: str, more: tuple[str, ...], as_json: bool) -> None:
    """Join the parts in FOLDER, and in other folders of the same plan, to one Parquet file.

    \b
    Examples:
      qrowd experiment join results
    """
    from qrowd.experiments import run

    cells = str(run.join(_book(folder), more))
    say(cells)
    if as_json:
        show_json({"cells": cells})


def _with_own_files(
    plan: Plan, judgements: str | None, gold: str | None, runs: tuple[str, ...]
) -> Plan:
    """The plan with one's own files, which are relative to the working folder."""
    data = plan.data
    if judgements:
        data = replace(data, judgements=str(Path(judgements).resolve()))
    if gold:
        data = replace(data, gold=str(Path(gold).resolve()))
    if judgements or gold or runs:
        data = replace(data, made=False)
    named = [text.partition("=") for text in runs]
    if not all(name and path for name, _, path in named):
        raise UsageError("--runs takes NAME=FILES, as in T08=runs/")
    paths = {name: str(Path(path).resolve()) for name, _, path in named}
    return replace(plan, data=data, runs=paths or plan.runs)


def _compute(
    plan: Plan, folder: str, on: str, workers: int | None, part: str | None, as_json: bool
) -> None:
    """Run what a folder lacks, and say what came of it."""
    from qrowd.experiments import run

    book = run.run(plan, folder, on=on, workers=workers or 0, part=_part(part), report=_progress())
    say(f"\r{book.caption}" if sys.stderr.isatty() else book.caption)
    left = len(book.missing)
    if left:
        say(
            f"{left} of {len(book.keys)} tasks are left; when all parts are done: "
            f"qrowd experiment join {folder}"
        )
    else:
        say(f"{folder}/cells.parquet: all {len(book.keys)} tasks")
    if as_json:
        show_json({"folder": folder, "tasks": len(book.keys), "left": left})


def _part(text: str | None) -> tuple[int, int]:
    """`3/32` as (3, 32)."""
    if text is None:
        return 1, 1
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--part must be like 3/32: the third of 32 parts, got {text!r}")
    return int(match[1]), int(match[2])


def _progress() -> Callable[[str], None]:
    """What shows progress: one line that changes on a terminal, else a line now and then."""
    live = sys.stderr.isatty()
    wait = 0.2 if live else 10
    last = 0.0

    def show_line(line: str) -> None:
        nonlocal last
        if quiet() or time.monotonic() - last < wait:
            return
        last = time.monotonic()
        click.echo(f"\r{line:<79}" if live else line, err=True, nl=not live)

    return show_line


# --- reading --------------------------------------------------------------------------------------


@command.command(old={**OLD_GROUP, "--gold": "--gold-kind", "--less-topics": "--less-topic-sets"})
@opt.file("folder")
@opt.switch("--single", help="Single assessors against gold: mean tau and tau_AP.")
@opt.switch(
    "--differences",
    help="Single assessors: random relevance less relevance as judged, with intervals over topics.",
)
@opt.switch("--agreement", help="The assessors' agreement with gold by topic.")
@opt.switch(
    "--significance", help="Significant differences between runs: gold as it is, and random."
)
@opt.option(
    "--as-printed",
    metavar="TABLE",
    help="A table in the paper's layout, by its number: 1 or 2 (Ferrante et al. 2019), 5.1, 5.2, "
    "5.3 or A.1 to A.4 (Piazzon 2019).",
)
@opt.option(
    "--against",
    metavar="APPROACH",
    help="Every approach less this one, with intervals over topics; `single` is the "
    "mean of single assessors (certain gold).",
)
@opt.option(
    "--less-topic-sets",
    metavar="GROUP",
    help="Every approach on --topic-sets less on this group of topic sets, with intervals over "
    "topics.",
)
@opt.repeated(
    "--size",
    "sizes",
    type=int,
    metavar="N",
    help="With intervals: panels of this size only. Repeatable.",
)
@opt.measures("With intervals: this measure only. Repeatable.")
@opt.repeated(
    "--gold-kind",
    "golds",
    metavar="KIND",
    help="With intervals: certain or random gold only. Repeatable.",
)
@statistic_option
@group_option
@opt.level
@opt.output
@opt.as_json
@opt.quiet
def table(
    folder: str,
    single: bool,
    differences: bool,
    agreement: bool,
    significance: bool,
    as_printed: str | None,
    against: str | None,
    less_topic_sets: str | None,
    sizes: tuple[int, ...],
    measures: tuple[str, ...],
    golds: tuple[str, ...],
    statistic: str,
    group: str,
    level: float,
    output: str | None,
    as_json: bool,
) -> None:
    """Means by approach and panel size; the caption says what is real and what simulated.

    With -o, the suffix .tex writes LaTeX. The tables of single assessors, agreement and
    significance are computed from the data.

    \b
    Examples:
      qrowd experiment table results
      qrowd experiment table results --single
      qrowd experiment table results --against mv --size 2 --size 3
      qrowd experiment table results --as-printed 5.3
    """
    flags = (single, differences, agreement, significance)
    if sum(flags) + sum(each is not None for each in (as_printed, against, less_topic_sets)) > 1:
        raise UsageError(
            "--single, --differences, --agreement, --significance, --as-printed, --against and "
            "--less-topic-sets are one table each"
        )
    book = _book(folder)
    where: dict[str, Any] = {"size": list(sizes), "measure": list(measures), "gold": list(golds)}
    where = {name: values for name, values in where.items() if values}
    if book.plan.labels.folds:
        if any((*flags, as_printed, less_topic_sets, group, where)):
            raise UsageError(
                f"{book.folder} has labels: of these options only --against and --statistic are "
                "for it"
            )
        from qrowd.experiments.results import LabelResults

        labels = LabelResults.of(book)
        columns: Table = (
            labels.against(against, statistic, level) if against else labels.table(level)
        )
        caption = labels.caption(level)
    elif book.plan.loop.votes:
        if any((*flags, as_printed, against, less_topic_sets, group, where, statistic)):
            raise UsageError(f"{book.folder} has votes one by one: its table has no such options")
        from qrowd.experiments.results import LoopResults, bold

        votes = LoopResults.of(book)
        columns, caption = votes.table(), votes.caption
        if output and output.endswith(".tex"):
            say(caption)
            marked = [bold(row) for row in zip(*columns.values(), strict=True)]
            write(output, latex([latex_text(name) for name in columns], marked, caption))
            return
    elif as_printed:
        from qrowd.experiments.printed import printed_table

        columns, caption = printed_table(book, as_printed, statistic), book.caption
    elif any(flags):
        columns, caption = _of_data(book, flags, level), book.caption
    else:
        results = _results(folder, statistic, group)
        columns, caption = (
            _of_cells(results, against, less_topic_sets, level, where),
            results.caption,
        )
    say(caption)
    if not output or not output.endswith(".tex"):
        show(columns, output, as_json)
        return
    rows = [
        [latex_text(cell(value)) for value in row] for row in zip(*columns.values(), strict=True)
    ]
    write(output, latex([latex_text(name) for name in columns], rows, caption))


def _of_data(book: Book, flags: tuple[bool, ...], level: float) -> Table:
    """The table of the one flag that is set: single, differences, agreement or significance."""
    from qrowd.experiments import results, singles
    from qrowd.experiments.inputs import load

    inputs = load(book.plan)
    tables: tuple[Callable[[], Table], ...] = (
        lambda: singles.single_assessors(inputs, level),
        lambda: singles.single_differences(inputs, level),
        lambda: results.agreement(inputs),
        lambda: results.significance(inputs, level),
    )
    return tables[flags.index(True)]()


def _of_cells(
    results: Results,
    against: str | None,
    less_topic_sets: str | None,
    level: float,
    where: dict[str, Any],
) -> Table:
    from qrowd.experiments import results as figures
    from qrowd.experiments.inputs import load
    from qrowd.experiments.singles import with_singles

    if against == figures.SINGLE:
        results = with_singles(results, load(results.book.plan))
    if against:
        return figures.against(results, against, level, **where)
    if less_topic_sets:
        return figures.against_topics(results, less_topic_sets, level, **where)
    return figures.by_size(results)


@command.command(old=OLD_GROUP)
@opt.file("folder")
@statistic_option
@group_option
@opt.level
@opt.output
@opt.as_json
@opt.quiet
def anova(
    folder: str, statistic: str, group: str, level: float, output: str | None, as_json: bool
) -> None:
    """The analysis of variance of a finished experiment: panel sizes are the subject.

    Factors are approach, measure, run set and gold, where there are several, and their pairs.
    `strength` is omega squared; `low` and `high` are its interval over topics, where topic sets
    leave topics out.

    \b
    Examples:
      qrowd experiment anova results --statistic rmse --topic-sets half
    """
    results = _results(folder, statistic, group)
    say(results.caption)
    show(results.anova_columns(level), output, as_json)


@command.command(old=OLD_GROUP)
@opt.file("folder")
@statistic_option
@group_option
@opt.repeated(
    "--figure",
    "numbers",
    metavar="NUMBER",
    help="Only this figure of Piazzon 2019, by its number: 5.1 to 5.22, A.1 to A.28. Repeatable.",
)
@opt.target("FOLDER", "Where the SVG files go.")
@opt.as_json
@opt.quiet
def plot(
    folder: str,
    output: str,
    statistic: str,
    group: str,
    numbers: tuple[str, ...],
    as_json: bool,
) -> None:
    """Draw main effects, interactions, lines by panel size and by number of topics, as SVG files.

    Also every single assessor against gold. Pictures of all statistics and groups of topic sets are
    drawn, unless one is named; a file's name begins with these.

    \b
    Examples:
      qrowd experiment plot results -o pictures
      qrowd experiment plot results -o pictures --statistic tau_ap
      qrowd experiment plot results -o pictures --figure 5.1
    """
    from qrowd.experiments.effects import pictures
    from qrowd.experiments.inputs import load
    from qrowd.experiments.printed import picture_name

    book = _book(folder)
    if book.plan.labels.folds:
        raise UsageError(f"{folder} has labels, and no panels: see qrowd experiment table")
    if book.plan.loop.votes:
        drawings = _votes_pictures(book)
        files = save_pictures(drawings, output)
        if as_json:
            show_json({"files": files})
        return
    named = {picture_name(book.plan, number): f"figure-{number}" for number in numbers}
    drawings = pictures(book, load(book.plan), statistic, group, only=tuple(named))
    if named:
        if missing := [name for picture, name in named.items() if picture not in drawings]:
            raise UsageError(
                f"{missing[0]} is not among the pictures of this plan with its measures, "
                "--statistic and --group"
            )
        drawings = {name: drawings[picture] for picture, name in named.items()}
    files = save_pictures(drawings, output)
    if as_json:
        show_json({"files": files})


def _votes_pictures(book: Book) -> dict[str, Any]:
    """Figures 1 to 4 of Davtyan et al. 2015; the first three where there are texts."""
    from qrowd.content.hypothesis import cluster_test
    from qrowd.experiments.inputs import load
    from qrowd.experiments.results import LoopResults
    from qrowd.reporting.paper_figures import densities, loop_figures, similarities

    pictures = {"figure-4": loop_figures(LoopResults.of(book).curves, {})["accuracy"]}
    inputs = load(book.plan)
    if inputs.documents is not None:
        test = cluster_test(inputs.documents, inputs.gold)
        pictures |= {"figure-1": densities(test), "figures-2-3": similarities(test)}
    return pictures


def _book(folder: str) -> Book:
    from qrowd.experiments.run import Book

    return Book.read(folder)


def _results(folder: str, statistic: str, group: str) -> Results:
    """The cells of a folder on one statistic and group of topic sets."""
    from qrowd.experiments.results import Results

    return Results.of(_book(folder), statistic, group)
