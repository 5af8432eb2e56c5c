"""The `qrowd` command: the list of its verbs; errors become one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from pathlib import Path
from typing import NoReturn, TextIO

import click

from qrowd import __version__
from qrowd.cli.verbs import Verb, Verbs
from qrowd.errors import QrowdError

# What `qrowd --help` lists, without importing a command: a test says that it is their own text.
VERBS = {
    "aware": Verb(
        "aware:command",
        "Score runs under each assessor, then merge the scores instead of the judgements (AWARE).",
    ),
    "campaign": Verb("campaign:command", "Collect judgements: campaigns on SQLite or PostgreSQL."),
    "check": Verb(
        "check:command",
        short_help="Say what files are, what is in them, and whether they fit together.",
    ),
    "compare": Verb(
        "compare:compare",
        "Compare rankings of systems with a reference ranking, or systems with each other.",
    ),
    "content": Verb("content:command", "Look at the documents' texts."),
    "demo": Verb("simulation:demo", "Run everything on a simulated collection and write a report."),
    "evaluate": Verb(
        "evaluate:command",
        "Score runs under qrels, under each assessor, or under uncertain relevance.",
    ),
    "experiment": Verb(
        "experiment:command",
        "Compare approaches on a grid of panels, topic sets, measures and run sets.",
    ),
    "judges": Verb(
        "human_labels:judges",
        "Compare machine judges with a few human labels, one line per judge, the best first.",
    ),
    "loop": Verb(
        "loop:command", "Ask for votes one by one, merge after each, and score against gold."
    ),
    "measures": Verb("catalogue:measures", "List the measures, or describe one."),
    "merge": Verb("merge:command", "Merge the judgements of many assessors into qrels."),
    "methods": Verb("catalogue:methods", "List the merging methods, or describe one."),
    "quality": Verb(
        "quality:command", "Find out whom to trust: assessors, agreement, spam, and checks on gold."
    ),
    "rank": Verb(
        "rank:command",
        "Merge rankings and preferences of many assessors into one consensus ranking.",
    ),
    "report": Verb(
        "report:command",
        "Write a one-page HTML report: how good the assessors are, which systems are best, "
        "how sure.",
    ),
    "sample": Verb(
        "human_labels:sample",
        "Choose pairs for a human to judge, with the probability of each being chosen.",
    ),
    "score": Verb("compare:score", "Score merged labels against gold."),
    "serve": Verb(
        "serve:command",
        "Run the web application on the campaigns in PLACE: a folder, or a database file.",
    ),
    "simulate": Verb("simulation:simulate", "Simulate a collection with known truth."),
}


@click.group(cls=Verbs, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qrowd")
def command() -> None:
    """Turn the judgements of many assessors into relevance judgements and scores you can trust.

    Results go to stdout, or to a file with -o; messages go to stderr. A file named - is stdin.
    Exit codes: 1 for bad data, 2 for a wrong command line.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: whatever fails is one line, with an exit code."""
    warnings.showwarning = lambda message, *_, **__: click.echo(f"warning: {message}", err=True)
    sys.stderr = sys.stderr or _nowhere()
    if sys.stdout is None:
        _stop("stdout is closed; open it, or send it to a file", 2)
    try:
        command.main(arguments, prog_name="qrowd", standalone_mode=False)
        sys.stdout.flush()
    except QrowdError as error:
        _stop(str(error), error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        _stop("interrupted", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stdout = _nowhere()  # the reader of our output went away, as `head` does
        sys.exit(0)
    except OSError as error:  # a full disk, a folder or file that cannot be written to or read
        if error.errno == errno.ENOSPC:
            sys.stdout = _nowhere()  # or what is left in its buffer fails once more at the end
        _stop(f"{error.filename or 'output'}: {error.strerror or error}", 1)
    except MemoryError as error:
        _stop(f"not enough memory: {error}; use fewer draws or samples, or less data", 1)


def _stop(message: str, code: int) -> NoReturn:
    click.echo(f"qrowd: {message}", err=True)
    sys.exit(code)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
