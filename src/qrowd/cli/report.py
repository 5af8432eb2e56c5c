"""`qrowd report`: one page about one's own files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import save_pictures, say, show_json
from qrowd.errors import UsageError, require_name

if TYPE_CHECKING:
    from qrowd.reporting.commands import Files


@opt.command(old={"--judgements": ""})
@opt.judgements
@opt.gold
@opt.runs_if_any
@opt.input_file(
    "--given", help="Qrels that the methods may learn from. Left out of every comparison with gold."
)
@opt.input_file(
    "--human",
    help="With --runs: human labels of some pairs, the file of `qrowd sample` with a grade added "
    "to each row. Scores that they correct come first on the page.",
)
@opt.option(
    "--baseline",
    metavar="RUN",
    default="",
    help="With --human: also show every run's difference to this one.",
)
@opt.input_file(
    "--probes",
    help="What machine judges said of made-up documents: the file of `qrowd ask --probe`. The page "
    "names those that can be talked into a grade.",
)
@opt.repeated(
    "--screen",
    "rules",
    type=opt.Spec("rule"),
    metavar="RULE",
    help="Leave out assessors whom this rule doubts, such as random-spam. Repeatable.",
)
@opt.method(
    "--method",
    "methods",
    multiple=True,
    help="A merging method, with parameters if you like: 'ds(prior=topic)'. Repeatable.  "
    "[default: mv, ds, auto; for more than two grades also wmv-iter]",
)
@opt.measures("A measure. Repeatable; the first is used for rankings.  [default: AP, nDCG@20]")
@opt.method(
    "--chosen",
    help="The merging method that the intervals are based on.  [default: auto, hier-bayes, "
    "hier-vb or ds if used, else the last one]",
)
@opt.with_default(
    "--informed/--no-informed",
    default=False,
    help="Use the systems' rankings as evidence of relevance in the intervals.",
)
@opt.count(
    "--draws",
    1000,
    "Number of qrels drawn from the merged probabilities for the intervals.",
    least=2,
    most=100_000,
)
@opt.level
@opt.seed
@opt.with_default("--title", default="Judgements of a crowd", part="out", help="Title of the page.")
@opt.output_file("-o", "--output", default="report.html", show_default=True, help="Output file.")
@opt.figures("Folder for the pictures of the page, as files of their own (SVG).")
@opt.as_json
@opt.quiet
def command(
    files: opt.JudgementFiles,
    gold: opt.GoldFile,
    runs: opt.RunFiles,
    given: str | None,
    human: str | None,
    baseline: str,
    probes: str | None,
    title: str,
    output: str,
    figures: str | None,
    as_json: bool,
    **options: Any,  # parameters of `qrowd.study`, under its names
) -> None:
    """Write a report: whom to trust, which systems are best.

    The report also says how sure that is. Only JUDGEMENTS are required. --runs adds a ranking of
    systems with intervals; --gold adds a comparison of everything with gold. The page is a single
    file. Prints its path.

    JUDGEMENTS may also be a release of a campaign, alone: a folder or zip that `qrowd campaign
    release` wrote. Its checksums are verified, its runs and experts' grades used, and by default
    the method and measures of the campaign's own figures.

    \b
    Examples:
      qrowd report crowd.tsv.gz --gold nist.qrels --runs runs -o report.html
      qrowd report llm.tsv --runs runs --human few.tsv --baseline run01 --probes probes.json
      qrowd report crowd.tsv.gz --method mv --method 'ds(prior=topic)'
      qrowd report crowd.tsv.gz --screen random-spam --screen uniform-spam
      qrowd report release.zip
    """
    from qrowd.io.release import is_release
    from qrowd.reporting.report import report_on
    from qrowd.reporting.study import MEASURES

    if (human and not runs) or (baseline and not human):
        raise UsageError("--human needs --runs, and --baseline needs --human")
    # no other file of judgements is a zip: what is wrong with one is said as of a release
    if any(is_release(path) or path.lower().endswith(".zip") for path in files.paths):
        if len(files.paths) > 1:
            raise UsageError("a release is reported alone; name no other judgements")
        own: tuple[Any, ...] = (files.columns, files.format, files.topics, files.rel, gold.rel)
        own = (*own, given, human, probes)
        if runs or files.machines or files.people or any(option is not None for option in own):
            raise UsageError(
                "a release says itself what it holds: leave out --columns, --format, --topics, "
                "--rel, --gold-rel, --given, --human, --probes, --people, --machines, --runs"
            )
        # what was not asked for is as in the campaign's own figures
        ctx = click.get_current_context()
        stated = {
            name: value
            for name, value in {**options, "title": title}.items()
            if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        }
        truth = gold.read()
        release = q.read_release(files.paths[0])
        if release.lacks:
            say(f"note: {release.lacks}")
        page = report_on(release, truth, commands=[_typed()], **stated)
    else:
        systems = runs.read_if_any()
        if baseline and systems is not None:  # before the work begins
            require_name("baseline", baseline, systems.runs)
        study = q.study(
            files.read(),
            systems,
            gold.read(files.rel),
            given=q.Given(gold=opt.GoldFile(given, gold.rel).read(files.rel)),
            **options | {"measures": options["measures"] or MEASURES},
        )
        cut = files.rel if gold.rel is None else gold.rel  # judgements are binary by --rel, too
        corrected = _by_human_labels(study, human, cut, baseline) if human else []
        page = q.report(
            *corrected,
            study,
            *([q.read_probes(probes)] if probes else []),
            title=title,
            commands=[_typed()],
            files=_files(files, gold, given, runs),
        )
    q.save(page, output)
    if figures:
        save_pictures(page.pictures, figures)
    if as_json:
        show_json({"report": output})
    else:
        click.echo(output)


def _by_human_labels(
    study: q.Study, human: str, rel: int | None, baseline: str
) -> list[q.Corrected | q.Contrast | q.Unjudged]:
    """The scores under the chosen way of merging, corrected; against the baseline; and what nobody
    judged.
    """
    assert study.runs is not None
    merged = study.merged[study.chosen]
    labels = opt.read_human(human, rel)
    if isinstance(labels, q.Qrels):
        raise UsageError(
            f"{human} has no probabilities, which a report needs: take the file of `qrowd sample` "
            "with grades added; of other labels `qrowd evaluate --human FILE --sampled random` (or "
            "topic) has the scores"
        )
    measures = ("P@10", "AP", "nDCG@10")
    found = opt.corrected(human, labels, study.runs, merged, measures, seed=study.seed)
    missing = opt.unjudged(study.runs, merged, labels, measures)
    return [found, *([q.against(found, study.runs, baseline)] if baseline else []), missing]


def _files(
    files: opt.JudgementFiles, gold: opt.GoldFile, given: str | None, runs: opt.RunFiles
) -> Files:
    """The files as further commands name them."""
    from qrowd.reporting.commands import Files

    reading = {
        "--columns": files.columns,
        "--format": files.format,
        "--people": files.people,
        "--topics": files.topics,
        "--rel": files.rel,
    }
    rows = opt.stated("where", "wide", "fractions", "repeated")
    judged = _words(*files.paths, **reading) + _said(rows)
    judged += "".join(f" --machines {shlex.quote(pattern)}" for pattern in files.machines)
    whole = len(files.paths) == 1 and files.topics is None
    ranked = [f"--runs {shlex.quote(path)}" for path in runs.paths]
    ranked += [] if runs.names == "auto" else [f"--run-names {runs.names}"]
    return Files(
        judgements=judged,
        gold=_words(gold.path or "GOLD"),
        runs=" ".join(ranked),
        given=_words(given or "GIVEN"),
        checked=judged if whole else "",
        pool=_words(*files.paths) if whole and not (files.columns or files.format or rows) else "",
        cut=files.rel if gold.rel is None else gold.rel,
        grades=_said(opt.stated_grades()),
    )


def _said(options: Mapping[str, Any]) -> str:
    """Options as they were typed; some may be given several times."""
    each = [
        (name, value)
        for name, values in options.items()
        for value in (values if isinstance(values, list | tuple) else [values])
    ]
    return "".join(f" --{name} {shlex.quote(str(value))}" for name, value in each)


def _words(*paths: str, **options: Any) -> str:
    stated = [
        f"{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None
    ]
    return " ".join([*map(shlex.quote, paths), *stated])


def _typed() -> str:
    """The command line as it was typed."""
    return shlex.join(["qrowd", *sys.argv[1:]])
