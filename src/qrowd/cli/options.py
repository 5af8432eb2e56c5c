"""Options that several verbs share: `from qrowd.cli import options as opt`.

Options that travel together reach a command as one object (`bundled`), which reads what they name:

    @opt.judgements          JUDGEMENTS... --columns --format --rel    files: JudgementFiles
                             --machines (and --grades, as gold and qrels)
    @opt.judgements_if_any   the same, none being allowed
    @opt.gold                --gold FILE --gold-rel N                  gold: GoldFile
    @opt.documents           --documents FILE --vectors FILE --without-text
                                                                       documents: DocumentFiles
    @opt.runs                --runs FILE (many) --run-names            runs: RunFiles

The others reach it under their long names:

    @opt.pairs               --pairs FILE                              pairs
    @opt.qrels               --qrels FILE                              qrels
    @opt.output              -o FILE                                   output
    @opt.as_json             --json                                    as_json
    @opt.ties                --ties RULE                               ties
    @opt.seed                --seed N                                  seed
    @opt.quiet               -q                                        quiet
    @opt.level               --level SHARE                             level
    @opt.columns             --columns NAMES, of --judgements          columns
    @opt.machines            --machines PATTERN (many)                 machines
    @opt.database            DATABASE, of a campaign                   database
    @opt.campaign            --campaign NAME                           name
    @opt.yes                 --yes                                     yes

A verb makes options of its own by click.option, or by these where they say more: with_default (it
is shown), choice (one of some words), switch (without a value), repeated (many values), count,
grade, measure, measures, figures, target, input_file, output_file.

`qrowd` loads what it is asked for when it is asked, so that `--help` of a verb imports neither
numpy nor Polars.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

import qrowd as q
from qrowd.cli.files import checking_files, writable
from qrowd.errors import DataWarning, UsageError, require_name
from qrowd.io import formats

if TYPE_CHECKING:
    from qrowd.content.similarity import WithText
    from qrowd.registry import Param

Command = Callable[..., Any]
F = TypeVar("F", bound=Command)
_USUAL = ("tsv", "csv", "json", "jsonl", "parquet", "trec")  # what most files are: listed first
FORMATS = (*_USUAL, *(name for name in formats.FORMATS if name not in _USUAL))


def _all(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several decorators as one, the first one outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def with_default(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option whose default `--help` shows."""
    return click.option(*flags, show_default=True, **settings)


def choice(*flags: str, choices: tuple[str, ...], help: str) -> Callable[[F], F]:
    """An option with one of these values, the first of them where it is not given."""
    return with_default(*flags, type=click.Choice(choices), default=choices[0], help=help)


class Registered(click.ParamType[str]):
    """One of the names that something is registered under, which are asked for when needed."""

    def __init__(self, name: str, names: Callable[[], tuple[str, ...]]) -> None:
        self.name, self._names = name, names

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """As `--help` lists them."""
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; an error says which was perhaps meant."""
        require_name(self.name, value, self._names())
        return value


def switch(*flags: str, help: str) -> Callable[[F], F]:
    """An option without a value: it is on, or off."""
    return click.option(*flags, is_flag=True, help=help)


def repeated(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option that may repeat: the command gets a tuple."""
    return click.option(*flags, multiple=True, **settings)


def count(
    flag: str, default: int, help: str, least: int = 1, most: int | None = None, **more: Any
) -> Callable[[F], F]:
    """An option whose value is a whole number, from `least` to `most`."""
    return with_default(flag, type=click.IntRange(least, most), default=default, help=help, **more)


def grade(*flags: str, help: str) -> Callable[[F], F]:
    """An option whose value is a grade."""
    return click.option(*flags, type=int, metavar="GRADE", help=help)


def measures(help: str) -> Callable[[F], F]:
    """--measure, which may repeat; the command gets `measures`."""
    return repeated("-m", "--measure", "measures", metavar="MEASURE", help=help)


def measure(default: str, help: str) -> Callable[[F], F]:
    """--measure, once."""
    return with_default("-m", "--measure", default=default, metavar="MEASURE", help=help)


def figures(help: str) -> Callable[[F], F]:
    """--figures, the folder that pictures go to."""
    return click.option("--figures", metavar="FOLDER", help=help)


def target(metavar: str, help: str, name: str = "output") -> Callable[[F], F]:
    """-o where it must be given: a folder, a database; the command gets it as `name`."""
    return click.option("-o", "--output", name, required=True, metavar=metavar, help=help)


def once(ctx: click.Context, _: click.Parameter, value: Any) -> Any:
    """A callback of what is read: `-` may be named once in all of a command."""
    names = value if isinstance(value, tuple) else (value,)
    if "-" in names and sys.stdin is None:
        raise UsageError("stdin is closed; name a file instead of -")
    seen = ctx.meta["qrowd.stdin"] = ctx.meta.get("qrowd.stdin", 0) + names.count("-")
    if seen > 1:
        raise UsageError("stdin (-) can be read only once; name a file for the others")
    return value


def input_file(*flags: str, metavar: str = "FILE", **settings: Any) -> Callable[[F], F]:
    """An option that names a file to read; - is stdin."""
    return click.option(*flags, metavar=metavar, callback=once, **settings)


def bundled(
    name: str, noun: type, values: Sequence[str] = (), *options: Callable[[Any], Any]
) -> Callable[[Command], Command]:
    """Options whose values a command gets as one object, a `noun`, under `name`.

    `values` are the options' names, in the order of the noun's fields; without them, its fields'.
    """
    taken = values or [field.name for field in fields(noun)]

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def command(*arguments: Any, **params: Any) -> Any:
            params[name] = noun(*[params.pop(value) for value in taken])
            return function(*arguments, **params)

        return _all(*options)(command)

    return decorate


# --- what is read ---------------------------------------------------------------------------------


def _keep_grades(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        from qrowd.io.table import meaning

        meaning(value)  # which says what is wrong with it
        ctx.meta["qrowd.grades"] = value


_grades = click.option(
    "--grades",
    metavar="WORDS",
    expose_value=False,
    callback=_keep_grades,
    help="What words mean as grades, in judgements, qrels and gold: 'Perfect=3,Related=1,"
    "unrateable=_' (_ leaves these judgements out).",
)


def grades(function: F) -> F:
    """--grades, once, whichever of a command's groups of options bring it."""
    names = [option.name for option in getattr(function, "__click_params__", [])]
    return function if "grades" in names else _grades(function)


def stated_grades() -> str | None:
    """What --grades said; loaders ask for it."""
    ctx = click.get_current_context(silent=True)
    words: str | None = ctx.meta.get("qrowd.grades") if ctx else None
    return words


@dataclass(frozen=True)
class JudgementFiles:
    """Files of judgements, and how to read them; binary from grade `rel` on, if there is one."""

    paths: tuple[str, ...]
    columns: str | None = None
    format: str | None = None
    rel: int | None = None
    machines: tuple[str, ...] = ()

    def read(self, pairs: str | None = None) -> q.Judgements:
        """The judgements, over a pool that has the pairs of the file `pairs`, too."""
        source = self.paths[0] if len(self.paths) == 1 else self.paths
        crowd = q.read_judgements(
            source, columns=self.columns, format=self.format, grades=stated_grades()
        ).with_kind("machine", *self.machines)
        if self.rel is not None:
            _warn_of_high("--rel", self.rel, crowd.scale.grades)
            crowd = crowd.binary(self.rel)
        return crowd.with_pool(q.read_pairs(pairs)) if pairs else crowd


machines = repeated(
    "--machines",
    metavar="PATTERN",
    help="Assessors of these names are machines, where the file does not say so: 'gpt*' (quoted; "
    "* is any text). Repeatable.",
)


def _judgements(required: bool, metavar: str) -> Callable[[Command], Command]:
    return bundled(
        "files",
        JudgementFiles,
        ("paths", "columns", "format", "rel", "machines"),
        click.argument("paths", nargs=-1, required=required, metavar=metavar, callback=once),
        click.option(
            "--columns",
            metavar="NAMES",
            help="Which columns to read. For a file with its own header: "
            "topic=query,doc=url,assessor=who,grade=stars. For a file without a header, all "
            "columns in order (_ skips one): topic,doc,assessor,grade.",
        ),
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            help="The file format of the judgements, if it is not detected correctly.",
        ),
        grade(
            "--rel",
            help="Make judgements and gold binary: this grade and higher ones are relevant. "
            "By default grades are kept, and 1 and higher count as relevant.",
        ),
        machines,
        grades,
    )


columns = click.option(
    "--columns",
    metavar="NAMES",
    help="Which columns of the judgements to read; see `qrowd merge ds --help`.",
)
judgements = _judgements(True, "JUDGEMENTS...")
judgements_if_any = _judgements(False, "[JUDGEMENTS...]")


@dataclass(frozen=True)
class GoldFile:
    """A file of gold, if there is one; binary from the grade `rel` on, if there is one."""

    path: str | None
    rel: int | None = None

    def read(self, rel: int | None = None) -> q.Qrels | None:
        """The gold; `rel` is what --rel says, where --gold-rel says nothing."""
        if self.path is None:
            return None
        gold = read_qrels(self.path)
        cut = rel if self.rel is None else self.rel
        if cut is None:
            return gold
        _warn_of_high("--rel" if self.rel is None else "--gold-rel", cut, gold.scale.grades)
        return gold.binary(cut)


gold = bundled(
    "gold",
    GoldFile,
    ("gold", "gold_rel"),
    input_file("--gold", help="Trusted qrels for some of the pairs."),
    grade(
        "--gold-rel",
        help="Make gold binary: this grade and higher ones are relevant (for graded gold "
        "beside 0/1 judgements). Default: --rel.",
    ),
    grades,
)


def _warn_of_high(option: str, cut: int, grades: Sequence[int]) -> None:
    """A cut above every grade makes nothing relevant: hardly meant."""
    if grades and cut > max(grades):
        listed = " ".join(map(str, grades))
        warnings.warn(
            f"{option} {cut} is above every grade ({listed}), so nothing counts as relevant",
            DataWarning,
            stacklevel=3,
        )


@dataclass(frozen=True)
class DocumentFiles:
    """Where the documents' texts are, or their vectors; `without`: what to do without a text."""

    texts: tuple[str, ...]
    vectors: str | None
    without: str

    def __bool__(self) -> bool:
        return bool(self.texts or self.vectors)

    def content(self) -> q.Documents | q.Vectors:
        """Texts, or vectors."""
        return q.read_vectors(self.vectors) if self.vectors else q.read_documents(list(self.texts))

    def read(self, crowd: q.Judgements, gold: q.Qrels | None = None) -> WithText | None:
        """The documents, if any were named, with the judgements and the gold that fit them."""
        from qrowd.content.similarity import WithText

        if not self:
            return None
        if self.texts and self.vectors:
            raise UsageError("documents are known by --documents or by --vectors; name one of them")
        if self.without == "refuse":
            return WithText(crowd, self.content(), gold, ())
        return q.with_text(crowd, self.content(), gold, without=self.without)


documents = bundled(
    "documents",
    DocumentFiles,
    ("documents", "vectors", "without_text"),
    input_file(
        "--documents",
        multiple=True,
        help="The documents' texts, for methods that read them: a table with doc and text, "
        "SGML, XML, or a folder; may repeat.",
    ),
    click.option(
        "--vectors",
        metavar="FILE",
        help="The documents' vectors, instead of their texts: a .npy file, one row each, with "
        "the documents' names, one per line, in a file .ids beside it.",
    ),
    choice(
        "--without-text",
        choices=("refuse", "skip", "alone"),
        help="Judged documents without text: stop, leave them out, or take them to be like no "
        "other.",
    ),
)


@dataclass(frozen=True)
class RunFiles:
    """Files of runs, and how the runs are named."""

    paths: tuple[str, ...]
    names: str = "auto"

    def read(self) -> q.RunSet:
        """The runs."""
        return q.read_runs(list(self.paths), names=self.names)


runs = bundled(
    "runs",
    RunFiles,
    ("runs", "run_names"),
    input_file(
        "--runs",
        multiple=True,
        required=True,
        metavar="FILES",
        help="Runs in TREC format: a file, a folder or a quoted pattern ('runs/*.gz'). Repeatable.",
    ),
    choice(
        "--run-names",
        choices=("auto", "tag", "file"),
        help="Name runs by their tag, by their file, or by the tag unless two files share one.",
    ),
)


qrels = _all(input_file("--qrels", required=True, help="The qrels."), grades)


def read_qrels(path: str) -> q.Qrels:
    """The qrels of a file, in the words of --grades."""
    return q.read_qrels(path, grades=stated_grades())


def read_human(path: str, rel: int | None) -> q.Sample | q.Qrels:
    """Human labels, with probabilities where the file has them; binary from `rel` on."""
    labels = q.read_sample(path, grades=stated_grades())
    return labels if rel is None else labels.binary(rel)


def read_topic_list(path: str) -> q.Index:
    """The topics of a file."""
    from qrowd.io.qrels import read_topic_list

    return read_topic_list(path)


pairs = input_file(
    "--pairs",
    help="Pairs to include in the pool even if nobody judged them: qrels, or a table with topic "
    "and doc.",
)


# --- what is written, and how ---------------------------------------------------------------------


def output_file(*flags: str, **others: Any) -> Callable[[F], F]:
    """An option that names a file to write.

    One that cannot be written, that is read too, or that two options name, is refused at once.
    """
    return _all(click.option(*flags, metavar="FILE", callback=writable, **others), checking_files)


output = output_file(
    "-o",
    "--output",
    help="Output file instead of stdout. The suffix sets the format: .tsv .csv .json .jsonl "
    ".parquet, or TREC format; add .gz .xz .bz2 or .zst to compress.",
)

as_json = switch("--json", "as_json", help="Print JSON.")

ties = choice(
    "--ties",
    choices=("coin", "relevant", "nonrelevant"),
    help="How to choose between equally likely grades: a coin flip (set by --seed), the "
    "highest, or the lowest.",
)

seed = count("--seed", 0, "Random seed.", least=0)

quiet = switch("-q", "--quiet", help="Print no messages and no progress.")

level = with_default(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    help="Confidence level of the intervals.",
)


# --- campaigns ------------------------------------------------------------------------------------

database = click.argument("database")
campaign = click.option(
    "--campaign", "name", metavar="NAME", help="Which campaign, if the database has several."
)
yes = switch("--yes", help="Do it without asking.")


def parameter(param: Param, default: Any, none: str = "none") -> click.Option:
    """A parameter of a method as an option; None where it is not given.

    The names are those of the library: `max_iter` is --max-iter, a switch also has its --no-. Where
    the default is None, its help says `none`.
    """
    flag = f"--{param.name.replace('_', '-')}"
    shown = none if default is None else str(default).lower() if param.type is bool else default
    about = f"{param.help[0].upper()}{param.help[1:]}.  [default: {shown}]"
    if param.type is bool:
        flag = f"{flag}/--no-{param.name.replace('_', '-')}"
        return click.Option([flag, param.name], default=None, help=about)
    kind = click.Choice(param.choices) if param.choices else param.type
    return click.Option([flag, param.name], type=kind, default=None, help=about)
