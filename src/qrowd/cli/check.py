"""`qrowd check`: what files are, and whether they fit together; `qrowd convert`: other forms."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, show, show_json, warn
from qrowd.errors import InputError, UsageError
from qrowd.io.atomic import refuse_unwritable
from qrowd.rendering import table_of

if TYPE_CHECKING:
    from qrowd.io.describe import Findings

TARGETS = (  # as `qrowd.io.export` has them, which is imported when it is needed
    *("beir", "hugging-face", "pyterrier", "ranx", "msmarco", "quepid"),
    *("rank-eval", "opensearch", "label-studio", "argilla"),
)
KINDS = (
    "judgements",
    "qrels",
    "runs",
    "scores",
    "probabilities",
    "assessors",
    "topics",
    "documents",
    "orders",
)


@dataclass(frozen=True)
class Files:
    """What `check` and `convert` read, and how."""

    paths: tuple[str, ...]
    kind: str | None
    columns: str | None
    format: str | None
    people: str | None
    machines: tuple[str, ...]
    topics: str | None
    documents: tuple[str, ...]


def _files(metavar: str, required: bool) -> Callable[[opt.Command], opt.Command]:
    about = "What the files are, where it is unclear."
    return opt.bundled(
        "files",
        Files,
        (),
        opt.files("paths", metavar, required=required),
        opt.option("--as", "kind", type=click.Choice(KINDS), part="in", help=about),
        opt.columns,
        opt.format,
        opt.people,
        opt.machines,
        opt.grades,
        opt.rows,
        opt.input_file(
            "--topics",
            help="Topics that judgements and runs are about, or whose texts judgements have, and "
            "no ids.",
        ),
        opt.input_file(
            "--documents",
            multiple=True,
            help="Documents that were judged; or items, where judgements have no ids.",
        ),
    )


@opt.command()
@_files("FILE...", required=False)
@opt.rel
@opt.gold
@opt.runs_if_any
@opt.output
@opt.as_json
@opt.quiet
def command(
    files: Files,
    rel: int | None,
    gold: opt.GoldFile,
    runs: opt.RunFiles,
    output: str | None,
    as_json: bool,
) -> None:
    """Say what files are, and whether they fit together.

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
    named = {
        "qrels": [gold.path] if gold.path else [],
        "runs": list(runs.paths),
        "topics": [files.topics] if files.topics else [],
        "documents": list(files.documents),
    }
    if not (files.paths or any(named.values())):
        raise UsageError("name at least one file")
    checked = Checked(files, runs, rel, rel if gold.rel is None else gold.rel)
    for name, group in [*checked.grouped().items(), *named.items()]:
        if group:
            checked.add(name, group)
    checked.print(output, as_json)
    if checked.failed:
        sys.exit(1)


@opt.command()
@_files("FILES...", required=True)
@opt.option(
    "--to",
    type=click.Choice(TARGETS),
    part="out",
    help="The tool whose file is written; without it the suffix of -o says the form.",
)
@opt.input_file(
    "--like",
    help="With --to label-studio, argilla or rank-eval: an export of the project that labels go "
    "back to; it has the ids of records and the names of what is asked.",
)
@opt.option(
    "--fuse",
    type=click.Choice(("rrf", "combsum", "combmnz")),
    help="Of several runs make one: reciprocal rank fusion, CombSUM or CombMNZ.",
)
@opt.output
@opt.as_json
@opt.quiet
def convert(
    files: Files,
    to: str | None,
    like: str | None,
    fuse: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Write what files hold in another form.

    Judgements, qrels, runs and all else that `qrowd check` knows; several files of judgements,
    qrels or runs become one. The suffix of -o says the form, or --to the tool. Tools that ask for
    texts of queries get them from --topics, those that want words for grades from --grades. Most
    hold one grade for each pair; label-studio, argilla and hugging-face also judgements of several
    people. What a tool's file cannot hold is an error.

    \b
    Examples:
      qrowd convert crowd.tsv -o crowd.parquet
      qrowd convert export.json -o judgements.tsv
      qrowd convert votes.csv --columns doc=url,assessor=who,grade=stars -o judgements.tsv
      qrowd convert merged.qrels --to quepid --topics topics.xml -o ratings.csv
      qrowd convert merged.tsv --to label-studio --like export.json -o predictions.json
      qrowd convert merged.qrels --to beir --topics topics.xml --documents docs.jsonl -o folder
      qrowd convert 'runs/*.gz' --fuse rrf -o fused.run
    """
    if to and (not output or as_json):
        raise UsageError(f"--to {to} writes a file: name it with -o, without --json")
    if output and to != "beir":
        refuse_unwritable(output)
    if like and not to:
        raise UsageError("--like goes with --to, which was not given")
    checked = Checked(files)
    kinds = checked.grouped()
    if checked.failed:
        sys.exit(1)
    if len(kinds) > 1:
        named = ", ".join(f"{group[0]} {name}" for name, group in kinds.items())
        raise UsageError(f"files of one kind become one file; these are {named}")
    ((name, group),) = kinds.items()
    noun = checked.noun(name, group)
    if fuse:
        if not isinstance(noun, q.RunSet):
            raise UsageError(f"--fuse makes one run of several; these are {name}")
        noun = q.fuse(noun, fuse)
    if to:
        q.convert(
            noun,
            str(output),
            to,
            like=like,
            topics=q.read_topics(files.topics) if files.topics else None,
            documents=q.read_documents(list(files.documents)) if files.documents else None,
            grades=opt.stated("grades").get("grades"),
        )
        return
    if as_json:
        show_json(noun.to_polars().to_dicts())
    if output or not as_json:
        put(noun, output)


class Checked:
    """What is in each file, and the nouns that can be held against each other."""

    def __init__(
        self,
        files: Files,
        runs: opt.RunFiles | None = None,
        rel: int | None = None,
        gold_rel: int | None = None,
    ) -> None:
        self.files, self.runs = files, runs or opt.RunFiles(())
        self.rel, self.gold_rel = rel, gold_rel
        self.findings: list[tuple[str, Findings]] = []
        self.nouns: dict[type, Any] = {}  # the last one of each kind
        self.failed = False
        self._sources: dict[str, Any] = {}

    def source(self, file: str) -> Any:
        """A file that is looked at several times, opened once."""
        from qrowd.io.source import opened

        if file not in self._sources:
            self._sources[file] = opened(file)
        return self._sources[file]

    def grouped(self) -> dict[str, list[str]]:
        """The files by what they are."""
        from qrowd.io.anything import kind_of_path

        wide = self.files.columns or opt.stated("wide")
        stated = self.files.kind or ("judgements" if wide else None)
        groups: dict[str, list[str]] = {}
        for file in self._apart(stated):
            try:
                kind = stated or kind_of_path(self.source(file), self.files.format)
            except InputError as error:
                self._fail(error)
            else:
                groups.setdefault(kind, []).append(file)
        return groups

    def _apart(self, stated: str | None) -> list[str]:
        """The files, and those of a folder that holds several kinds, as BEIR's do, one by one."""
        from qrowd.io.anything import kinds_in

        apart: list[str] = []
        for file in self.files.paths:
            inside = kinds_in(file) if stated is None else {}
            apart += list(inside) if len(set(inside.values())) > 1 else [file]
        return apart

    def add(self, kind: str, files: list[str]) -> None:
        """Read files of one kind; runs as one set, the others one by one."""
        for group in [files] if kind == "runs" else [[file] for file in files]:
            try:
                self._add(kind, group)
            except InputError as error:
                self._fail(error)

    def _fail(self, error: InputError) -> None:
        """Say what is wrong with a file, and go on."""
        self.failed = True
        click.echo(f"qrowd: {error}", err=True)

    def _add(self, kind: str, files: list[str]) -> None:
        from qrowd.io.anything import has_ranks, ranks_are_read
        from qrowd.io.describe import described
        from qrowd.io.origin import heard

        name = _called(files)
        with ranks_are_read(), heard() as about:
            noun = self.noun(kind, files)
        findings = described(noun)
        taken = next(iter(about.values()), {})
        stay = ("file of", "read as")
        facts = {what if what in stay else f"{what} is": text for what, text in taken.items()}
        findings.facts = facts | findings.facts
        if isinstance(noun, q.Judgements | q.Qrels):
            findings.facts["to go on"] = self._command(noun, files)
        self.findings.append((name, findings))
        self.nouns[type(noun)] = noun
        if isinstance(noun, q.Judgements):
            file = self.source(files[0])
            if not self.files.columns and has_ranks(file):  # orders are in it, too
                orders = q.read_orders(file, format=self.files.format)
                self.findings.append((name, described(orders)))

    def noun(self, kind: str, files: list[str]) -> Any:
        """What these files hold."""
        noun = self._read(kind, files)
        if isinstance(noun, q.Qrels) and self.gold_rel is not None:
            return noun.binary(self.gold_rel)
        if not isinstance(noun, q.Judgements):
            return noun
        try:
            noun = opt.with_people(noun, self.files.people, self.files.machines)
        except InputError as error:
            raise (error if error.file else error.at(_called(files))) from None
        return noun if self.rel is None else noun.binary(self.rel)

    def _command(self, noun: Any, files: list[str]) -> str:
        """The command that reads these files as they were read now."""
        params = click.get_current_context().params
        said = {"columns": self.files.columns, "format": self.files.format, **opt.stated_rows()}
        said |= {name: params[name] for name in ("topics", "documents") if params.get(name)}
        words = ["qrowd", "merge", "auto", *files]
        if isinstance(noun, q.Qrels):
            words = ["qrowd", "evaluate", "--qrels", *files, "--runs", "RUNS"]
        for name, value in said.items():
            several = value if isinstance(value, list | tuple) else [value]
            words += [word for each in several if each is not None for word in (f"--{name}", each)]
        return shlex.join(map(str, words))

    def _read(self, kind: str, files: list[str]) -> Any:
        from qrowd.io.anything import read_any

        sources = [self.source(file) for file in files]
        first = sources[0] if len(sources) == 1 else sources
        said = {
            "topics": self.files.topics,
            "documents": list(self.files.documents),
            **opt.stated_rows(),
        }
        said = {name: value for name, value in said.items() if value}
        if kind == "runs":
            form = self.runs.format or self.files.format
            return q.read_runs(sources, format=form, names=self.runs.names)
        if kind == "judgements" and (self.files.columns or self.files.kind):
            return q.read_judgements(
                first, columns=self.files.columns, format=self.files.format, **said
            )
        if len(sources) > 1 and kind in ("judgements", "qrels"):
            reader: Any = q.read_judgements if kind == "judgements" else q.read_qrels
            return reader(sources, format=self.files.format, **said)
        return read_any(sources[0], kind, format=self.files.format, **said)

    def print(self, output: str | None, as_json: bool) -> None:
        """Facts to a file or stdout, warnings to stderr; all of it as one JSON object.

        Last come those about judgements, gold, runs and texts together: how far they overlap.
        """
        from qrowd.io.describe import fitted

        overlap = fitted(
            self.nouns.get(q.Judgements),
            self.nouns.get(q.Qrels),
            self.nouns.get(q.RunSet),
            self.nouns.get(q.Topics),
            self.nouns.get(q.Documents),
        )
        if overlap.facts:
            self.findings.append(("together", overlap))
        if as_json:
            show_json([{"file": name, **vars(findings)} for name, findings in self.findings])
        if as_json and not output:
            return
        if sys.stdout.isatty() and not output:
            for name, findings in self.findings:
                values = [_text(value) for value in findings.facts.values()]
                table = {"what": list(findings.facts), "value": values}
                show(table, title=f"{name}: {findings.kind}")
                click.echo()
        elif self.findings:  # each has facts
            rows = [
                {"file": name, "kind": findings.kind, "what": fact, "value": _text(value)}
                for name, findings in self.findings
                for fact, value in findings.facts.items()
            ]
            show(table_of(rows), output)
        for name, findings in self.findings:
            for warning in findings.warnings:
                warn(f"{name}: {warning}")


def _called(files: list[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {item:g}" for name, item in value.items())
    return f"{value:.4f}" if isinstance(value, float) else str(value)
