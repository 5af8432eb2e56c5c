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
GROUPS = {
    "Look": {
        "check": Verb("check:command", "Say what files are, and whether they fit together."),
        "convert": Verb("check:convert", "Write what files hold in another form."),
        "quality": Verb("quality:command", "Find out whom to trust: assessors, agreement, spam."),
        "judges": Verb("human_labels:judges", "Compare machine judges with a few human labels."),
        "content": Verb("content:command", "Look at the documents' texts."),
    },
    "Merge": {
        "merge": Verb("merge:command", "Merge the judgements of many assessors into qrels."),
        "rank": Verb("rank:command", "Merge rankings and preferences into a consensus ranking."),
        "aware": Verb("aware:command", "Merge scores under each assessor, not labels (AWARE)."),
    },
    "Score": {
        "evaluate": Verb("evaluate:command", "Score runs under qrels or uncertain relevance."),
        "compare": Verb("compare:compare", "Compare rankings of systems, or the systems."),
        "score": Verb("compare:score", "Score merged labels against gold."),
        "report": Verb("report:command", "Write a report: whom to trust, which systems are best."),
    },
    "Spend": {
        "sample": Verb("human_labels:sample", "Choose pairs for a human to judge."),
        "next": Verb("worklist:command", "List what to look at next, the most worthwhile first."),
        "progress": Verb(
            "worklist:progress", "Say which labels are decided, and which votes would change."
        ),
        "adjudicate": Verb("adjudicate:command", "Judge gold again where a crowd contradicts it."),
        "loop": Verb("loop:command", "Ask for votes one by one, merge after each, and score."),
    },
    "Collect": {
        "ask": Verb("ask:command", "Ask machine judges about pairs."),
        "serve": Verb("serve:command", "Run the web application for campaigns."),
        "accounts": Verb(
            "accounts:command",
            "Manage who signs in to `qrowd serve`: organisers, experts, administrators.",
        ),
        "campaign": Verb("campaign:command", "Collect judgements: campaigns in a database."),
    },
    "Study": {
        "simulate": Verb("simulation:simulate", "Simulate a collection with known truth."),
        "experiment": Verb("experiment:command", "Compare approaches on a grid of settings."),
        "demo": Verb("simulation:demo", "Go the whole way on simulated data, and write a report."),
    },
    "Reference": {
        "methods": Verb("catalogue:methods", "List the merging methods, or describe one."),
        "measures": Verb("catalogue:measures", "List the measures, or describe one."),
        "completion": Verb("completion:command", "Print what makes a shell complete commands."),
    },
}


@click.group(cls=Verbs, groups=GROUPS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qrowd")
def command() -> None:
    """Turn the judgements of many assessors into relevance judgements and scores you can trust.

    \b
    qrowd check crowd.tsv                          what is in a file?
    qrowd merge auto crowd.tsv -o merged.qrels     one label for each pair
    qrowd report crowd.tsv --runs 'runs/*'         a page: whom to trust, which system is best
    qrowd COMMAND --help                           options and examples

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
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        ctx = getattr(error, "ctx", None)
        hint = f" (see {ctx.command_path} --help)" if ctx else ""
        _stop(" ".join(error.format_message().split()).removesuffix(".") + hint, error.exit_code)
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
