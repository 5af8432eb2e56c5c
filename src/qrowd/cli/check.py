"""`qrowd check`: what files are, what is in them, and whether they fit together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.files import grades_option, stated_grades
from qrowd.cli.options import FORMATS, json_option, once
from qrowd.cli.output import say, show, show_json
from qrowd.errors import InputError

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements
    from qrowd.data.qrels import Qrels
    from qrowd.data.runs import RunSet
    from qrowd.io.describe import Findings

KINDS = (
    *("judgements", "qrels", "runs", "scores", "probabilities", "assessors"),
    *("topics", "documents", "orders"),
)


@click.command(short_help="Say what files are, what is in them, and whether they fit together.")
@click.argument("files", nargs=-1, metavar="FILE...", callback=once)
@click.option(
    "--gold", metavar="FILE", callback=once, help="Qrels to compare the judgements and runs with."
)
@click.option(
    "--runs",
    multiple=True,
    metavar="FILES",
    callback=once,
    help="Runs to compare judgements and gold with: a file, a folder or a quoted pattern.",
)
@click.option("--as", "kind", type=click.Choice(KINDS), help="What FILEs are, where it is unclear.")
@click.option("--format", type=click.Choice(FORMATS), help="The format of the FILEs.")
@click.option("--columns", metavar="NAMES", help="The columns of judgements, as in qrowd merge.")
@grades_option
@json_option
def command(
    files: tuple[str, ...],
    gold: str | None,
    runs: tuple[str, ...],
    kind: str | None,
    format: str | None,
    columns: str | None,
    as_json: bool,
) -> None:
    """Say what FILEs are, what is in them, and whether they fit together.

    Judgements, qrels, runs, scores, probabilities, tables of assessors, topics, documents
    and orders are told apart by their columns or elements. A file that cannot be read is named
    with its line and what to do, and the exit code is 1; what is odd but usable is a warning.

    \b
    Examples:
      qrowd check crowd.tsv
      qrowd check crowd.tsv --gold nist.qrels --runs 'runs/*.gz'
      qrowd check merged.qrels scores.tsv --json
      qrowd check topics.xml docs.jsonl
      qrowd check votes.csv --columns doc=url,assessor=who,grade=stars
    """
    if not (files or gold or runs):
        raise click.UsageError("name at least one file")
    checked = Checked(kind, format, columns)
    for name, group in grouped(checked, files).items():
        checked.add(name, group)
    if gold:
        checked.add("qrels", [gold])
    if runs:
        checked.add("runs", list(runs))
    checked.hold_together()
    checked.print(as_json)
    if checked.failed:
        sys.exit(1)


class Checked:
    """What was found in each file, and the nouns that can be held against each other."""

    def __init__(self, kind: str | None, format: str | None, columns: str | None) -> None:
        self.kind, self.format, self.columns = kind, format, columns
        self.found: list[tuple[str, Findings]] = []
        self.judgements: Judgements | None = None
        self.gold: Qrels | None = None
        self.runs: RunSet | None = None
        self.failed = False
        self._opened: dict[str, Any] = {}

    def source(self, file: str) -> Any:
        """A file that is looked at several times, opened once."""
        from qrowd.io.source import opened

        if file not in self._opened:
            self._opened[file] = opened(file)
        return self._opened[file]

    def add(self, kind: str, files: list[str]) -> None:
        """Read files of one kind; runs as one set, the others one by one."""
        for group in [files] if kind == "runs" else [[file] for file in files]:
            try:
                self._add(kind, group)
            except InputError as error:
                self.fail(error)

    def fail(self, error: InputError) -> None:
        """Say what is wrong with a file, and go on."""
        self.failed = True
        say(f"qrowd: {error}")

    def _add(self, kind: str, files: list[str]) -> None:
        from qrowd.data.judgements import Judgements
        from qrowd.data.qrels import Qrels
        from qrowd.data.runs import RunSet
        from qrowd.io.anything import ranks_are_read
        from qrowd.io.describe import described

        with ranks_are_read():
            noun = self._read(kind, files)
        name = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        if isinstance(noun, Judgements):
            self.judgements = noun
        elif isinstance(noun, Qrels):
            self.gold = noun
        elif isinstance(noun, RunSet):
            self.runs = noun
        self.found.append((name, described(noun)))
        if isinstance(noun, Judgements):
            self._add_ranks(name, self.source(files[0]))

    def _add_ranks(self, name: str, file: Any) -> None:
        """The orders that are in a file of judgements, too."""
        from qrowd.io.anything import has_ranks
        from qrowd.io.describe import described
        from qrowd.io.orders import read_orders

        if not self.columns and has_ranks(file):
            self.found.append((name, described(read_orders(file, format=self.format))))

    def _read(self, kind: str, files: list[str]) -> Any:
        from qrowd.io.anything import read_any
        from qrowd.io.judgements import read_judgements
        from qrowd.io.runs import read_runs

        found, words = [self.source(file) for file in files], stated_grades()
        if kind == "runs":
            return read_runs(found, format=self.format)
        if kind == "judgements" and (self.columns or self.kind):
            columns, format = self.columns, self.format
            return read_judgements(found[0], columns=columns, format=format, grades=words)
        return read_any(found[0], kind, format=self.format, grades=words)

    def hold_together(self) -> None:
        """Find how judgements, gold and runs overlap."""
        from qrowd.io.describe import fitted

        overlap = fitted(self.judgements, self.gold, self.runs)
        if overlap.facts:
            self.found.append(("together", overlap))

    def print(self, as_json: bool) -> None:
        """Facts to stdout, warnings to stderr; all of it as one JSON object."""
        if as_json:
            show_json([{"file": name, **vars(found)} for name, found in self.found])
            return
        if sys.stdout.isatty():
            self._print_for_eyes()
        else:
            self._print_rows()
        for name, found in self.found:
            for warning in found.warnings:
                say(f"warning: {name}: {warning}")

    def _print_for_eyes(self) -> None:
        for name, found in self.found:
            values = [_text(value) for value in found.facts.values()]
            show({"what": list(found.facts), "value": values}, title=f"{name}: {found.kind}")
            click.echo()

    def _print_rows(self) -> None:
        rows = [
            (name, found.kind, fact, _text(value))
            for name, found in self.found
            for fact, value in found.facts.items()
        ]
        if rows:
            columns = zip(*rows, strict=True)
            show(dict(zip(("file", "kind", "what", "value"), columns, strict=True)))


def grouped(checked: Checked, files: tuple[str, ...]) -> dict[str, list[str]]:
    """The files by what they are."""
    from qrowd.io.anything import kind_of_path

    groups: dict[str, list[str]] = {}
    for file in files:
        try:
            kind = checked.kind or ("judgements" if checked.columns else None)
            kind = kind or kind_of_path(checked.source(file), checked.format)
            groups.setdefault(kind, []).append(file)
        except InputError as error:
            checked.fail(error)
    return groups


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {item:g}" for name, item in value.items())
    return f"{value:.4f}" if isinstance(value, float) else str(value)
