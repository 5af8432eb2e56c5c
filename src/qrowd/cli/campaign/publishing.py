"""`qrowd campaign export`, `import` and `release`: what leaves a campaign, and what comes in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qrowd.cli import options as opt
from qrowd.cli.campaign.database import confirmed, opened, user
from qrowd.cli.output import say, show, show_json
from qrowd.errors import InputError, UsageError
from qrowd.rendering import thousands

if TYPE_CHECKING:
    from qrowd.collection.database.store import Store


@opt.command(old={"--merge": "--method"})
@opt.database
@opt.target("FOLDER", "The folder to write to; made if it is not there.", "folder")
@opt.campaign
@opt.method(
    default="mv",
    show_default=True,
    help="The method that makes qrels and probabilities; none for no such files.",
)
@opt.switch("--parquet", part="out", help="Tables as Parquet, too.")
@opt.as_json
@opt.quiet
def export(
    database: str, folder: str, name: str | None, method: str, parquet: bool, as_json: bool
) -> None:
    """Write judgements, orders, gold, qrels and a manifest with checksums; at any time.

    The files are of one moment, whoever is working meanwhile. Assessors are numbers: no names.

    \b
    Examples:
      qrowd campaign export campaign.db -o results
      qrowd campaign export campaign.db -o results --method ds --parquet
    """
    from qrowd.collection.publishing import export
    from qrowd.registry import get

    merger = None if method == "none" else get(method)
    if merger is not None and merger.card.level != "judgements":
        raise UsageError(f"--method: {method} does not merge judgements; see `qrowd methods`")
    with opened(database) as store, store.read(store.only(name)) as work:
        files = export.export(work, folder, parquet=parquet, merge=merger)
    columns = {key: [getattr(file, key) for file in files] for key in ("name", "rows", "sha256")}
    show(columns, None, as_json)


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
