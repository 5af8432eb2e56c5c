"""`qrowd simulate` and `qrowd demo`: a collection with known truth, and the whole way on one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import say, show_json
from qrowd.errors import InputError
from qrowd.io.atomic import made_folder
from qrowd.registry import Param, params_of
from qrowd.simulation.setting import PRESETS, Setting

if TYPE_CHECKING:
    from qrowd.reporting.parts import Section

METHODS = ("mv", "wmv-iter", "one-coin", "glad", "ds", "hier-bayes")  # of the demo
MEASURES = ("AP", "nDCG@20")
DRAWS = 1000

# What it means that a parameter is None.
_WITHOUT = {"pool": "all documents", "text": "no text"}


def _folder(default: str) -> Callable[[Any], Any]:
    return opt.target("FOLDER", "Output folder; created if needed.", "folder", default=default)


def _option(param: Param) -> click.Option:
    """A parameter as an option; a word that is not allowed is refused by `Setting`."""
    none = _WITHOUT.get(param.name, "none")
    return opt.parameter(replace(param, choices=()), param.default, none)


@opt.command(params=[_option(param) for param in params_of(Setting)])
@opt.option("--preset", type=click.Choice(sorted(PRESETS)), help="Start from these settings.")
@_folder("simulated")
@opt.as_json
@opt.quiet
def simulate(folder: str, preset: str | None, as_json: bool, **settings: Any) -> None:
    """Simulate a collection with known truth.

    Nothing goes in: --topics, --documents, --runs and --gold say how many or which share to make.
    Makes topics, documents, runs of better and worse systems, and judgements by a crowd of good,
    sloppy, biased and adversarial assessors and several kinds of spammers. Writes these files to
    the folder:

    \b
      crowd.tsv.gz     the judgements: topic doc assessor grade seconds time
      gold.qrels       the true grades (of the share of pairs given by --gold)
      documents.qrels  the true grades of documents (with --sentences, when gold is of sentences)
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
      qrowd simulate -o game --topics 5 --documents 30 --sentences 12 --gold 0.1
      qrowd simulate -o spam --topics 5 --good 0.3 --random 0.5 --yes 0.2
    """
    changes = {name: value for name, value in settings.items() if value is not None}
    collection = q.simulate(PRESETS[preset] if preset else Setting(), **changes)
    say(f"{collection.judgements!r}")
    files = [str(path) for path in _save(collection, Path(folder))]
    if as_json:
        show_json({"files": files})
    else:
        click.echo("\n".join(files))


def _save(collection: q.Collection, folder: Path) -> list[Path]:
    """Write a collection's files; the paths of what was written."""
    names = [f"{name}.run.gz" for name in collection.runs.runs]
    # an earlier simulation's runs must not be taken for this one's
    runs = made_folder(folder / "runs")
    others = sorted(path.name for path in runs.iterdir() if path.name not in names)
    if others:
        message = f"holds {others[0]}, which is not of this collection; name another folder (-o)"
        raise InputError(message, file=str(runs))
    nouns = {
        "crowd.tsv.gz": collection.judgements,
        "gold.qrels": collection.gold if len(collection.gold) else None,
        "documents.qrels": collection.truth if collection.setting.sentences else None,
        "assessors.tsv": collection.assessors,
        "orders.tsv": collection.orders,
        "topics.jsonl": collection.topics,
        "docs.jsonl": collection.documents,
    }
    written = {folder / name: noun for name, noun in nouns.items() if noun is not None}
    for path, noun in written.items():
        q.save(noun, path)
    for run, name in zip(collection.runs.runs, names, strict=True):
        q.save(collection.runs.of_runs(q.Index.of([run])), runs / name)
    return [*written, runs]


@opt.command()
@opt.seed
@_folder("demo")
@opt.as_json
@opt.quiet
def demo(folder: str, seed: int, as_json: bool) -> None:
    """Go the whole way on simulated data, and write a report.

    Simulates a small collection judged by good, sloppy, biased and spamming assessors, merges the
    judgements with several methods, scores the systems, compares with gold, lets robots do a small
    campaign (where the extra `serve` is installed), and writes a one-page report. The last two
    lines printed are the command that opens the judging page, and the path of the report.

    \b
    Examples:
      qrowd demo
      qrowd demo -o tryout --seed 7
    """
    into = Path(folder)
    say("1 of 4: a crowd, documents and systems are simulated, so that the truth is known")
    collection = q.simulate("demo", seed=seed)
    _save(collection, into)
    say(f"{collection.judgements!r}")
    names = ", ".join(METHODS)
    say(f"2 of 4: merging by {names}, scoring {len(collection.runs)} systems under {DRAWS} draws")
    study = q.study(
        collection.judgements,
        collection.runs,
        collection.gold,
        methods=METHODS,
        measures=MEASURES,
        draws=DRAWS,
        seed=seed,
    )
    study = replace(study, known=collection.assessors)
    sections = _campaign(into, seed)
    say("4 of 4: writing the report")
    page = into / "report.html"
    options = " ".join([*(f"--method {name}" for name in METHODS), f"--seed {seed}"])
    files = "--gold gold.qrels --runs runs -o report.html"
    again = [
        f"qrowd simulate --preset demo --seed {seed} -o .",
        f"qrowd report crowd.tsv.gz {files} {options}",
    ]
    q.save(q.report(study, *sections, title="A simulated crowd, merged", commands=again), page)
    judge = f"{_as_called()} serve --try"
    if as_json:
        show_json({"report": str(page), "judging_page": judge})
    else:
        click.echo(f"the judging page, to try: {judge}")
        click.echo(page)


def _as_called() -> str:
    """How to type this command again: by its path, where the shell would not find it."""
    typed = Path(sys.argv[0])
    elsewhere = typed.name == "qrowd" and which("qrowd") != str(typed.absolute())
    return str(typed) if elsewhere else "qrowd"


def _campaign(folder: Path, seed: int) -> list[Section]:
    """What robots did in a small campaign, where campaigns can run."""
    if find_spec("fastapi") is None or find_spec("sqlalchemy") is None:
        say("3 of 4: left out, no campaign without the extra: pip install 'qrowd[serve]'")
        return []
    from qrowd.web.robots.demo import demo_campaign

    say("3 of 4: robots do a small campaign, from the entrance test to qrels")
    return [demo_campaign(folder, seed)]
