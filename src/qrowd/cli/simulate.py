"""`qrowd simulate`: a collection with known truth, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.options import quiet_option
from qrowd.cli.output import say
from qrowd.errors import InputError
from qrowd.registry import Param, params_of
from qrowd.simulation.setting import PRESETS, Setting

if TYPE_CHECKING:
    from pathlib import Path

    from qrowd.simulation.collection import Collection

# What it means that a parameter is None.
_WITHOUT = {"pool": "all documents", "text": "no text"}


def _option(known: Param) -> click.Option:
    """A parameter of `simulate` as an option; what is not given stays as the preset has it."""
    flag = f"--{known.name}"
    default = _WITHOUT.get(known.name, str(known.default).lower())
    about = f"{known.help[0].upper()}{known.help[1:]}.  [default: {default}]"
    if known.type is bool:
        return click.Option([f"{flag}/--no-{known.name}"], default=None, help=about)
    return click.Option([flag], type=known.type, default=None, help=about)


@click.command(params=[_option(known) for known in params_of(Setting)])
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    default="simulated",
    show_default=True,
    help="Output folder; created if needed.",
)
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="Start from these settings.")
@quiet_option
def command(folder: str, preset: str | None, quiet: bool, **given: Any) -> None:
    """Simulate a collection with known truth.

    Makes topics, documents, runs of better and worse systems, and judgements by a crowd of good,
    sloppy, biased and adversarial assessors and several kinds of spammers. Writes these files to
    the folder:

    \b
      crowd.tsv.gz     the judgements: topic doc assessor grade seconds time
      gold.qrels       the true grades (of the share of pairs given by --gold)
      runs/            one file per system
      assessors.tsv    the truth about the assessors
      orders.tsv       rankings of sets by the same assessors (with --orders)
      topics.jsonl, docs.jsonl    topics and documents with made text (with --text)

    The same options give the same files.

    \b
    Examples:
      qrowd simulate -o tryout --topics 10 --assessors 20 --votes 3 --seed 7
      qrowd simulate -o graded --preset graded --topics 5 --documents 40
      qrowd simulate -o ranks --topics 5 --documents 30 --orders --text 0.6
      qrowd simulate -o spam --topics 5 --good 0.3 --random 0.5 --yes 0.2
    """
    from pathlib import Path

    from qrowd.simulation.collection import simulate

    changes = {name: value for name, value in given.items() if value is not None}
    made = simulate(PRESETS[preset] if preset else Setting(), **changes)
    say(f"{made.judgements!r}", quiet)
    for path in save_collection(made, Path(folder)):
        click.echo(path)


def save_collection(made: Collection, folder: Path) -> list[Path]:
    """Write a collection's files; the paths of what was written."""
    from qrowd.data.index import Index
    from qrowd.io.atomic import made_folder
    from qrowd.io.save import save

    names = [f"{name}.run.gz" for name in made.runs.runs]
    _refuse_others(made_folder(folder / "runs"), names)
    gold = {"gold.qrels": made.gold} if len(made.gold) else {}
    more = {"orders.tsv": made.orders, "topics.jsonl": made.topics, "docs.jsonl": made.documents}
    nouns = {"crowd.tsv.gz": made.judgements, **gold, "assessors.tsv": made.assessors}
    nouns |= {name: noun for name, noun in more.items() if noun is not None}
    for name, noun in nouns.items():
        save(noun, folder / name)
    for run, name in zip(made.runs.runs, names, strict=True):
        save(made.runs.of_runs(Index.of([run])), folder / "runs" / name)
    return [*(folder / name for name in nouns), folder / "runs"]


def _refuse_others(folder: Path, names: list[str]) -> None:
    """An earlier simulation's runs must not be taken for this one's."""
    others = sorted(path.name for path in folder.iterdir() if path.name not in names)
    if others:
        message = f"holds {others[0]}, which is not of this collection; name another folder (-o)"
        raise InputError(message, file=str(folder))
