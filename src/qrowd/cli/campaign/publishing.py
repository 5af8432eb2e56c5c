"""`qrowd campaign export`, `import`, `qualify`, `release`: what leaves a campaign, and comes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qrowd.cli import options as opt
from qrowd.cli.campaign.database import confirmed, opened, user
from qrowd.cli.campaign.office import counted
from qrowd.cli.output import say, show, show_json, show_people
from qrowd.errors import InputError, RuleError, UsageError
from qrowd.rendering import Table, thousands

if TYPE_CHECKING:
    from qrowd.collection.database.store import Store, Work
    from qrowd.collection.office.acts.people import QualifyPeople
    from qrowd.collection.publishing.qualification import Result


@opt.command(old={"--merge": "--method"})
@opt.database
@opt.target("FOLDER", "The folder to write to (made if it is not there), or a file.", "target")
@opt.campaign
@opt.method(
    default="mv",
    show_default=True,
    help="The method that makes qrels and probabilities; none for no such files.",
)
@opt.switch("--parquet", part="out", help="Tables as Parquet, too.")
@opt.switch("--qualification", part="out", help="Instead: the test, to be taken elsewhere.")
@opt.switch("--per-set", part="out", help="Of the test: a row for each set of documents.")
@opt.switch("--qualified", part="out", help="Instead: the ids of those who passed it, one a line.")
@opt.as_json
@opt.quiet
def export(
    database: str,
    target: str,
    name: str | None,
    method: str,
    parquet: bool,
    qualification: bool,
    per_set: bool,
    qualified: bool,
    as_json: bool,
) -> None:
    """Write judgements, orders, gold, qrels and a manifest with checksums; at any time.

    The files are of one moment, whoever is working meanwhile. Assessors are numbers: no names.

    With --qualification, the documents of one try are written for another platform, without their
    grades, as a table or (.xml) as a QuestionForm of Mechanical Turk; what people answer there
    comes back by `qualify`. With --qualified, the ids of those who
    passed are written as they are, for that platform's list of who is let in.

    \b
    Examples:
      qrowd campaign export campaign.db -o results
      qrowd campaign export campaign.db -o results --method ds --parquet
      qrowd campaign export tested.db --qualification -o task.csv
      qrowd campaign export tested.db --qualification -o test.xml
      qrowd campaign export tested.db --qualified -o ids.csv
    """
    from qrowd.collection.publishing import export
    from qrowd.registry import get

    if qualification or qualified:
        if (qualification and qualified) or parquet or (per_set and qualified):
            raise UsageError("write one thing at a time: the results, the test, or the ids")
        _export_test(database, name, target, per_set, qualified, as_json)
        return
    if per_set:
        raise UsageError("--per-set is about --qualification")
    merger = None if method == "none" else get(method)
    if merger is not None and merger.card.level != "judgements":
        raise UsageError(f"--method: {method} does not merge judgements; see `qrowd methods`")
    with opened(database) as store, store.read(store.only(name)) as work:
        files = export.export(work, target, parquet=parquet, merge=merger)
    columns = {key: [getattr(file, key) for file in files] for key in ("name", "rows", "sha256")}
    show(columns, None, as_json)


def _export_test(
    database: str, name: str | None, file: str, per_set: bool, qualified: bool, as_json: bool
) -> None:
    from qrowd.collection.publishing import qualification
    from qrowd.io.atomic import write
    from qrowd.io.save import save_table

    with opened(database) as store, store.read(store.only(name)) as work:
        if qualified:
            ids = qualification.qualified_ids(work)
            write(file, "".join(f"{each}\n" for each in ids), private=True)
            rows, what = len(ids), counted(ids, "id")
        else:
            table = qualification.task_table(work, per_set=per_set)
            if file.lower().endswith(".xml"):
                if per_set:
                    raise UsageError("--per-set is about tables; a QuestionForm has all sets")
                write(file, qualification.question_form(work))
            else:
                save_table(table, file)
            rows, what = (
                len(table["topic"]),
                counted(table["topic"], "set" if per_set else "document"),
            )
    say(f"{what} in {file}")
    if as_json:
        show_json({"file": file, "rows": rows})


@opt.command()
@opt.database
@opt.files("results", "RESULTS...")
@opt.campaign
@opt.columns
@opt.grades
@opt.output
@opt.as_json
@opt.quiet
def qualify(
    database: str,
    results: tuple[str, ...],
    name: str | None,
    columns: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Score a qualification that people took elsewhere, and put those who pass on the list.

    RESULTS are what `export --qualification` brought from a platform: tables with worker, topic,
    doc, grade (and rank where sets are ranked), under the names that judgements may have too, or
    batch files of Mechanical Turk. The plan's rule says who passes ([qualification] gold and
    pass_share; where sets are ranked, the mean of their NDCG scores must reach [checks.ndcg], too).
    What somebody did not answer is wrong; of two answers to one document the first one counts.

    Whoever passes needs no test here, in whatever way they come in. Nothing is kept of the others.
    It is an act, which can be undone.

    \b
    Examples:
      qrowd campaign qualify tested.db results.csv
    """
    from qrowd.collection.office.acts.people import Passed, QualifyPeople
    from qrowd.collection.publishing import qualification
    from qrowd.io.columns import Reading
    from qrowd.io.grades import Grading

    stated = opt.stated_grades()
    words = {"words": stated.pop("grades")} if "grades" in stated else {}
    reading = Reading(columns, grading=Grading(**words, **stated))
    with opened(database) as store:
        campaign = store.only(name)
        with store.read(campaign) as work:
            scored = qualification.read_results(work, list(results), reading)
            luck = qualification.luck(work, scored)
        # the table comes first: where it cannot be written, nothing is stored
        show_people(_results_table(scored), output, as_json)
        for note in qualification.oddities(scored):
            say(f"note: {note}")
        shares = {result.person: result.share for result in scored if result.passed}
        said = f"{thousands(len(shares))} of {thousands(len(scored))} passed"
        if shares:
            with store.write(campaign) as work:
                said += f"; {_put_on_list(work, QualifyPeople(passed=Passed(shares)))}"
    say(said)
    say(str(luck))


def _put_on_list(work: Work, act: QualifyPeople) -> str:
    """What became of those who passed."""
    from qrowd.collection.record import audit

    try:
        number = audit.perform(work, user(), act)
    except RuleError as error:
        if error.code != "conflict":
            raise
        return str(error)
    new = audit.details_numbered(work, number)["qualified"]
    known = len(act.passed.shares) - len(new)
    others = f" ({thousands(known)} were before, are off it, or declined)" if known else ""
    return (
        f"act {number}: {counted(new, 'person', 'people')} put on the list{others}; "
        f"undo it with `act --undo {number}`"
    )


def _results_table(scored: Sequence[Result]) -> Table:
    table: Table = {
        "person": [result.person for result in scored],
        "passed": ["yes" if result.passed else "no" for result in scored],
        "share": [result.share for result in scored],
        "right": [result.right for result in scored],
        "counted": [result.counted for result in scored],
        "answered": [result.answered for result in scored],
        "twice": [result.twice for result in scored],
    }
    ranked = any(result.ranks is not None for result in scored)
    return {**table, "ranks": [result.ranks for result in scored]} if ranked else table


@opt.command("import")
@opt.database
@opt.file("file")
@opt.campaign
@opt.option(
    "--as",
    "kind",
    type=click.Choice(("machine", "expert")),
    help="Whose judgements they are, whatever FILE says.  [default: as its column kind says, "
    "machine where it says nothing]",
)
@opt.as_json
@opt.quiet
def import_(database: str, file: str, name: str | None, kind: str | None, as_json: bool) -> None:
    """Import judgements made elsewhere, such as those of machine judges or experts.

    FILE is TSV with a header: topic, doc, assessor, grade and, if known, seconds, time and kind
    (machine or expert). They are exported with the others and never count towards a target. All of
    it comes in, or nothing.

    \b
    Examples:
      qrowd campaign import campaign.db machine.tsv
      qrowd campaign import campaign.db earlier.tsv --as expert
    """
    from qrowd.collection.publishing.imports import import_judgements

    with opened(database) as store, store.write(store.only(name)) as work:
        counts = import_judgements(work, file, kind)
    say(f"{thousands(counts.judgements)} judgements of {thousands(counts.assessors)} assessors")
    if counts.unknown:
        say(f"note: {thousands(counts.unknown)} rows are of pairs that the campaign does not have")
    if as_json:
        show_json(asdict(counts))


@opt.command()
@opt.database
@opt.target("FOLDER", "A new folder to write to, or a file that ends in .zip.")
@opt.campaign
@opt.method(default="auto", show_default=True, help="The method that makes the qrels.")
@opt.input_file(
    "--runs",
    multiple=True,
    help="A run to include; repeatable.  [default: the runs that were uploaded to the "
    "server of this database]",
)
@opt.yes
@opt.as_json
@opt.quiet
def release(
    database: str,
    output: str,
    name: str | None,
    method: str,
    runs: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Write what a campaign publishes: a folder or zip that `qrowd report` reads alone.

    Topics, pool, documents' ids (their texts if the plan says so), qrels, judgements, orders and
    answers to check questions without times and reasons under numbers that mean nothing, runs, the
    consent text, a datasheet, a manifest with checksums. It is written down and cannot be taken
    back, so you are asked.

    \b
    Examples:
      qrowd campaign release campaign.db -o published.zip --yes
    """
    from qrowd.collection.publishing import release
    from qrowd.web.judgements import figures_of

    figures = figures_of(method)
    with opened(database) as store:
        campaign = store.only(name)
        if not confirmed("A release cannot be taken back. Make it?", yes):
            return
        paths = _runs(store, campaign, runs)
        published = release.release(
            store, campaign, output, figures, who=user(), runs=paths, sure=True
        )
    show({"file": list(published.files), "rows": list(published.files.values())}, None, as_json)


def _runs(store: Store, campaign: str, files: tuple[str, ...]) -> list[Path]:
    """The runs that were named, or uploaded."""
    from sqlalchemy.engine import make_url

    for file in files:
        if not Path(file).is_file():
            raise InputError("there is no such run; name a file", file=file)
    if files or not store.is_sqlite:
        return [Path(file) for file in files]
    with store.read(campaign) as work:
        number = work.campaign
    # where a server of this database keeps them (qrowd.web.files); looked at, not made
    folder = Path(str(make_url(store.url).database)).parent / "files" / str(number) / "runs"
    return sorted(folder.iterdir()) if folder.is_dir() else []
