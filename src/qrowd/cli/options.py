"""Options that several verbs share: `from qrowd.cli import options as opt`.

Each is declared here once, and means the same in every verb. Those that travel together reach a
command as one object (`bundled`), which reads what they name:

    @opt.judgements          JUDGEMENTS... and how they are read       files: JudgementFiles
                             (--columns --format --people --machines --topics --rel
                             --grades)
    @opt.judgements_if_any   the same, none being allowed
    @opt.gold                --gold FILE --gold-rel --grades           gold: GoldFile
    @opt.documents           --documents FILE --vectors --without-text documents: DocumentFiles
    @opt.runs                --runs FILES (many) --run-names --run-format  runs: RunFiles
    @opt.runs_if_any         the same, none being allowed

The others reach it under their long names:

    @opt.columns  --columns NAMES      @opt.format   --format NAME     @opt.rel    --rel GRADE
    @opt.topics   --topics FILE        @opt.pairs    --pairs FILE      @opt.qrels  --qrels FILE
    @opt.output   -o FILE              @opt.as_json  --json            @opt.level  --level SHARE
    @opt.ties     --ties RULE          @opt.seed     --seed N          @opt.yes    --yes
    @opt.database DATABASE             @opt.campaign --campaign NAME
    @opt.people   --people FILE        @opt.machines --machines PATTERN
    @opt.human    --human FILE --sampled random|topic --labels-needed H
    @opt.quiet    -q, which no command sees: `output.say` does

A verb makes options of its own by opt.option (click's, with the `part` of the help that lists it),
or by these where they say more: with_default (it is shown), choice (one of some words), switch
(without a value), repeated (many values), count, grade, method, measure, measures, figures, target,
input_file, output_file. A command is made by @opt.command, which also takes former spellings.

`qrowd` loads what it is asked for when it is asked, so that `--help` of a verb imports neither
numpy nor Polars.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

import qrowd as q
from qrowd.cli.files import checking_files, writable
from qrowd.cli.output import QUIET
from qrowd.cli.verbs import Command as _Command
from qrowd.cli.verbs import Option
from qrowd.errors import DataWarning, InputError, QrowdError, UsageError, require_name
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


def command(name: str | None = None, **settings: Any) -> Callable[[Command], click.Command]:
    """As click.command; `old` has former spellings (see `verbs.Command`)."""
    return click.command(name, cls=_Command, **settings)


def option(*flags: str, **settings: Any) -> Callable[[F], F]:
    """As click.option; `part` says where help lists it: what goes in, how, what comes out."""
    return click.option(*flags, cls=Option, **settings)


def with_default(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option whose default `--help` shows."""
    return option(*flags, show_default=True, **settings)


def choice(*flags: str, choices: tuple[str, ...], **settings: Any) -> Callable[[F], F]:
    """An option with one of these values, the first of them where it is not given."""
    return with_default(*flags, type=click.Choice(choices), default=choices[0], **settings)


class FileName(click.ParamType[str]):
    """A file, a folder, a pattern, or -; shells complete it."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Shells know files themselves."""
        return [CompletionItem(incomplete, type="file")]


class Spec(click.ParamType[str]):
    """A method, measure or rule, with parameters perhaps; shells complete its name."""

    def __init__(self, kind: str) -> None:
        self.name = self.kind = kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin like this, each with what it is."""
        from qrowd.registry import cards

        return [
            CompletionItem(id, help=card.summary)
            for id, card in cards(self.kind).items()
            if id.startswith(incomplete)
        ]


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


def switch(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option without a value: it is on, or off."""
    return option(*flags, is_flag=True, **settings)


def repeated(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option that may repeat: the command gets a tuple."""
    return option(*flags, multiple=True, **settings)


def count(
    flag: str, default: int, help: str, least: int = 1, most: int | None = None, **more: Any
) -> Callable[[F], F]:
    """An option whose value is a whole number, from `least` to `most`."""
    return with_default(flag, type=click.IntRange(least, most), default=default, help=help, **more)


def grade(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option whose value is a grade from which on documents are relevant."""
    return option(*flags, type=click.IntRange(0), metavar="GRADE", **settings)


def method(*flags: str, **settings: Any) -> Callable[[F], F]:
    """--method, how judgements are merged."""
    names = flags or ("--method",)
    return option(*names, type=Spec("method"), metavar="METHOD", **settings)


def measures(help: str) -> Callable[[F], F]:
    """--measure, which may repeat; the command gets `measures`."""
    kind = Spec("measure")
    return repeated("-m", "--measure", "measures", type=kind, metavar="MEASURE", help=help)


def measure(default: str, help: str) -> Callable[[F], F]:
    """--measure, once."""
    kind = Spec("measure")
    flags = ("-m", "--measure")
    return with_default(*flags, type=kind, default=default, metavar="MEASURE", help=help)


def figures(help: str) -> Callable[[F], F]:
    """--figures, the folder that pictures go to."""
    return option("--figures", type=FileName(), metavar="FOLDER", part="out", help=help)


def target(metavar: str, help: str, name: str = "output", **settings: Any) -> Callable[[F], F]:
    """-o where it is not a table: a folder, a database; the command gets it as `name`."""
    settings = {"required": "default" not in settings, "show_default": True} | settings
    flags = ("-o", "--output", name)
    return option(*flags, type=FileName(), part="out", metavar=metavar, help=help, **settings)


def once(ctx: click.Context, _: click.Parameter, value: Any) -> Any:
    """A callback of what is read: `-` may be named once in all of a command."""
    names = value if isinstance(value, tuple) else (value,)
    if "-" in names and sys.stdin is None:
        raise UsageError("stdin is closed; name a file instead of -")
    seen = ctx.meta["qrowd.stdin"] = ctx.meta.get("qrowd.stdin", 0) + names.count("-")
    if seen > 1:
        raise UsageError("stdin (-) can be read only once; name a file for the others")
    return value


def files(name: str, metavar: str, *, required: bool = True) -> Callable[[F], F]:
    """What a command works on: files, named without an option; - is stdin."""
    settings: dict[str, Any] = {"nargs": -1, "required": required, "metavar": metavar}
    return click.argument(name, type=FileName(), callback=once, **settings)


def file(name: str, metavar: str | None = None) -> Callable[[F], F]:
    """What a command works on: one file, named without an option; - is stdin."""
    return click.argument(name, type=FileName(), callback=once, metavar=metavar)


def input_file(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option that names a file to read; - is stdin."""
    settings = {"metavar": "FILE", "type": FileName(), "callback": once, "part": "in"} | settings
    return option(*flags, **settings)


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


_READING = "qrowd.reading"
_FOUND = "qrowd.found"


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """A callback of options about how files are read: whoever reads them asks `stated` for it."""
    if value in (None, ()):
        return
    ctx.meta.setdefault(_READING, {})[param.name] = value
    if param.name == "grades":
        from qrowd.io.grades import meaning

        meaning(value)  # which says what is wrong with it
    if param.name == "where":
        from qrowd.io.where import conditions

        conditions(value)


def _reading(*flags: str, **settings: Any) -> Callable[[F], F]:
    return option(*flags, expose_value=False, callback=_keep, part="in", **settings)


_grades = (
    _reading(
        "--grades",
        metavar="WORDS",
        help="What words mean as grades, in judgements, qrels and gold: 'Perfect=3,Related=1,"
        "unrateable=_' (_ leaves these judgements out); nominal: they have no order.",
    ),
    _reading(
        "--missing",
        type=click.Choice(("skip", "error")),
        help="Rows without a grade: leave them out and say how many (skip, the default), or stop.",
    ),
    _reading(
        "--cut",
        type=float,
        metavar="X",
        help="Grades are fractions, and relevant from X on: .5, or 50 of 100.",
    ),
)
_rows = (
    _reading(
        "--where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="Only these rows of the judgements: status=APPROVED, 'status!=REJECTED' (* is any "
        "text). Repeatable: values of one column are alternatives.",
    ),
    _reading(
        "--wide",
        metavar="NAMES",
        help="These columns of the judgements are assessors, and hold their grades: ann,bob or "
        "'rater_*'.",
    ),
    _reading(
        "--fractions",
        type=click.Choice(("refuse", "weights")),
        help="Grades that are fractions: refuse them (the default; see --cut), or take each as two "
        "weighted votes.",
    ),
    _reading(
        "--repeated",
        type=click.Choice(("keep", "once")),
        help="Identical rows of the judgements: further votes (keep, the default), or one.",
    ),
)


def grades(function: F) -> F:
    """--grades, --missing and --cut, once, whichever of a command's groups bring them."""
    names = [option.name for option in getattr(function, "__click_params__", [])]
    return function if "grades" in names else _all(*_grades)(function)


rows = _all(*_rows)  # which rows of judgements count, and how


def stated(*names: str) -> dict[str, Any]:
    """What was said by these of the options about how files are read."""
    ctx = click.get_current_context(silent=True)
    said = ctx.meta.get(_READING, {}) if ctx else {}
    return {name: said[name] for name in names if name in said}


def refuse_stated(names: Container[str], why: str) -> None:
    """An error if one of these options was typed, by its first long name."""
    ctx = click.get_current_context()
    for param in ctx.command.params:
        typed = ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT
        if param.name in names and typed:
            flag = next(flag for flag in param.opts if flag.startswith("--"))
            raise UsageError(f"{flag} {why}; leave it out")


def stated_grades() -> dict[str, Any]:
    """What was said of grades, in judgements, qrels and gold."""
    return stated("grades", "missing", "cut")


def stated_rows() -> dict[str, Any]:
    """All that was said of how judgements are read, and of files that hold their texts."""
    names = ("where", "wide", "fractions", "repeated", "topics", "documents")
    return {**stated_grades(), **stated(*names)}


columns = option(
    "--columns",
    metavar="NAMES",
    part="in",
    help="Which columns of the judgements to read. For a file with its own header: "
    "topic=query,doc=url,assessor=who,grade=stars. For a file without a header, all "
    "columns in order (_ skips one): topic,doc,assessor,grade.",
)
format = option(
    "--format",
    type=click.Choice(FORMATS),
    part="in",
    help="The file format of what is worked on, if it is not detected correctly.",
)
machines = repeated(
    "--machines",
    metavar="PATTERN",
    part="in",
    help="Assessors of these names are machines, where the file does not say so: 'gpt*' (quoted; "
    "* is any text). Repeatable.",
)
people = input_file(
    "--people",
    help="Who the assessors are: a table with assessor and kind (person, expert or machine).",
)
worklist = input_file(
    "--worklist",
    multiple=True,
    help="The lists of `qrowd next` by which pairs were chosen to be judged, where the file does "
    "not say so itself (column goal): then figures that need a random sample say so. Repeatable.",
)
topics = input_file(
    "--topics",
    help="Only these topics: a file with one topic per line, qrels, or topics with their queries.",
)
leave_out = input_file("--leave-out", help="Without these topics: a file as for --topics.")
rel = grade(
    "--rel",
    part="in",
    help="Relevant from this grade on (default 1). What is merged becomes binary by it, gold too; "
    "measures with gains (nDCG) stay graded.",
)


def kept_topics(known: q.Index, only: str | None, without: str | None = None) -> q.Index:
    """Those of the `known` topics that --topics and --leave-out leave; an error if none is left."""
    from qrowd.io.topics import read_topic_list

    kept = known.intersection(read_topic_list(only)) if only else known
    kept = kept.without(read_topic_list(without)) if without else kept
    if not len(kept):
        some = ", ".join(list(known)[:5])
        raise InputError(f"leaves no topic; there are {some}, ...", file=str(without or only))
    return kept


def with_people(
    crowd: q.Judgements, people: str | None, machines: tuple[str, ...], need_kinds: bool = True
) -> q.Judgements:
    """The judgements with what --people and --machines say of their assessors."""
    table = q.read_assessors(people) if people else None
    if people and table is not None and (need_kinds or "kind" in table.columns):
        if "kind" not in table.columns:
            raise InputError("no column kind, which says who is a person or a machine", file=people)
        kinds = dict(zip(table.assessors, map(str, table["kind"]), strict=True))
        try:
            crowd = crowd.with_kinds({name: kind for name, kind in kinds.items() if kind})
        except QrowdError as error:
            raise InputError(str(error), file=people) from None
    return crowd.with_kind("machine", *machines)


@dataclass(frozen=True)
class JudgementFiles:
    """Files of judgements, and how to read them; binary from grade `rel` on, if there is one."""

    paths: tuple[str, ...]
    columns: str | None = None
    format: str | None = None
    topics: str | None = None
    rel: int | None = None
    machines: tuple[str, ...] = ()
    people: str | None = None
    worklist: tuple[str, ...] = ()

    def read_people(self) -> q.Features | None:
        """What --people tells of assessors, to predict by."""
        table = q.read_assessors(self.people) if self.people else None
        return q.Features(table.assessors, table.columns) if table is not None else None

    def read(self, pairs: str | None = None, need_kinds: bool = True) -> q.Judgements:
        """The judgements, over a pool that has the pairs of the file `pairs`, too."""
        source = self.paths[0] if len(self.paths) == 1 else self.paths
        from qrowd.io.joins import FOUND
        from qrowd.io.origin import heard

        texts = {"topics": self.topics} if self.topics else {}
        with heard() as facts:
            crowd = q.read_judgements(
                source, columns=self.columns, format=self.format, **{**texts, **stated_rows()}
            )
        found = any(text.startswith(FOUND) for about in facts.values() for text in about.values())
        if found and (ctx := click.get_current_context(silent=True)):
            ctx.meta[_FOUND] = True
        crowd = with_people(crowd, self.people, self.machines, need_kinds)
        if self.worklist:
            crowd = replace(crowd, choice=q.read_choice(self.worklist))
        if self.rel is not None:
            _warn_of_high("--rel", self.rel, crowd.scale.grades)
            crowd = crowd.binary(self.rel)
        crowd = crowd.with_pool(q.read_pairs(pairs)) if pairs else crowd
        return crowd[kept_topics(crowd.topics, self.topics)] if self.topics else crowd


def _judgements(required: bool, metavar: str) -> Callable[[Command], Command]:
    values = ("paths", "columns", "format", "topics", "rel", "machines", "people", "worklist")
    paths = files("paths", metavar, required=required)
    options = (paths, columns, format, people, machines, worklist, topics, rel, grades, rows)
    return bundled("files", JudgementFiles, values, *options)


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


gold_file = input_file("--gold", help="Trusted qrels for some of the pairs.")
gold_rel = grade(
    "--gold-rel",
    part="in",
    help="Gold is relevant from this grade on, where it is on another scale than judgements "
    "(graded gold beside 0/1). Default: --rel.",
)
gold = bundled("gold", GoldFile, ("gold", "gold_rel"), gold_file, gold_rel, grades)


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


def found_ids() -> bool:
    """Whether ids of judgements were found in --documents, which then have been of use."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.meta.get(_FOUND))


def _keep_texts(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """As `once`; who reads judgements may find in them what these have no ids for."""
    if value:
        ctx.meta.setdefault(_READING, {})[param.name] = list(value)
    return once(ctx, param, value)


_texts = input_file(
    "--documents",
    callback=_keep_texts,
    multiple=True,
    help="The documents' texts, for methods that read them: a table with doc and text, "
    "SGML, XML, or a folder. Repeatable.",
)
_about_texts = (
    input_file(
        "--vectors",
        help="The documents' vectors, instead of their texts: a .npy file, one row each, with "
        "the documents' names, one per line, in a file .ids beside it.",
    ),
    choice(
        "--without-text",
        choices=("refuse", "skip", "alone"),
        part="in",
        help="Judged documents without text: stop, leave them out, or take them to be like no "
        "other.",
    ),
)
_values = ("documents", "vectors", "without_text")
documents = bundled("documents", DocumentFiles, _values, _texts, *_about_texts)
documents_first = bundled(  # for a command that works on them
    "documents",
    DocumentFiles,
    _values,
    files("documents", "[DOCUMENTS...]", required=False),
    *_about_texts,
)


@dataclass(frozen=True)
class RunFiles:
    """Files of runs, and how the runs are named."""

    paths: tuple[str, ...]
    names: str = "auto"
    format: str | None = None

    def __bool__(self) -> bool:
        return bool(self.paths)

    def read(self) -> q.RunSet:
        """The runs."""
        return q.read_runs(list(self.paths), names=self.names, format=self.format)

    def read_if_any(self) -> q.RunSet | None:
        """The runs, where some were named."""
        return self.read() if self.paths else None


def _runs(required: bool) -> Callable[[Command], Command]:
    paths = input_file(
        "--runs",
        multiple=True,
        required=required,
        metavar="FILES",
        help="Runs in TREC format: a file, a folder or a quoted pattern ('runs/*.gz'). Repeatable.",
    )
    names = choice(
        "--run-names",
        choices=("auto", "tag", "file"),
        part="in",
        help="Name runs by their tag, by their file, or by the tag unless two files share one.",
    )
    form = option(
        "--run-format",
        type=click.Choice(FORMATS),
        part="in",
        help="The file format of --runs, if it is not detected correctly.",
    )
    return bundled("runs", RunFiles, ("runs", "run_names", "run_format"), paths, names, form)


runs = _runs(True)
runs_if_any = _runs(False)


qrels = _all(input_file("--qrels", required=True, help="The qrels."), grades)


def read_qrels(path: str, format: str | None = None) -> q.Qrels:
    """The qrels of a file, in the words of --grades."""
    return q.read_qrels(path, format=format, **stated_grades())


def read_human(path: str, rel: int | None) -> q.Sample | q.Qrels:
    """Human labels, with probabilities where the file has them; binary from `rel` on."""
    labels = q.read_sample(path, **stated("grades"))
    return labels if rel is None else labels.binary(rel)


def corrected(
    path: str,
    human: q.Sample | q.Qrels,
    runs: q.RunSet,
    machine: q.Merged | q.Judgements,
    measures: Sequence[q.Measure | str],
    **how: Any,  # parameters of `qrowd.correct`, under its names
) -> q.Corrected:
    """Scores corrected by the human labels of this file, which are enough of them."""
    from qrowd.aggregation.correction import too_few

    try:
        found = q.correct(runs, machine, human, measures, **how)
    except InputError as error:
        raise error if error.file else error.at(path) from None
    short = too_few(found.labels, found.unit)
    if short:
        raise InputError(short, file=path)
    return found


def unjudged(
    runs: q.RunSet, machine: q.Merged, human: q.Sample | q.Qrels, measures: Sequence[str]
) -> q.Unjudged:
    """What nobody judged on top of the runs; the highest grade is that of either judge."""
    labels = human if isinstance(human, q.Qrels) else human.qrels
    highest = max(*machine.scale.grades, *labels.scale.grades)
    return q.unjudged(runs, machine.qrels(), measures, highest=highest)


human = _all(
    input_file(
        "--human",
        help="Human labels of some pairs: the file of `qrowd sample` with a grade added to each "
        "row, or qrels (then --sampled says how they were chosen).",
    ),
    option(
        "--sampled",
        type=click.Choice(("random", "topic")),
        help="How human labels without probabilities were chosen: pairs at random, or whole topics "
        "at random.",
    ),
    option(
        "--labels-needed",
        type=click.FloatRange(min=0, min_open=True),
        metavar="H",
        help="Also print how many human labels would make every interval at most H to each side.",
    ),
)
pairs = input_file(
    "--pairs",
    help="Pairs to include in the pool even if nobody judged them: qrels, or a table with topic "
    "and doc.",
)


# --- what is written, and how ---------------------------------------------------------------------


def output_file(*flags: str, **settings: Any) -> Callable[[F], F]:
    """An option that names a file to write.

    One that cannot be written, that is read too, or that two options name, is refused at once.
    """
    settings = {"metavar": "FILE", "type": FileName(), "part": "out"} | settings
    return _all(option(*flags, callback=writable, **settings), checking_files)


output = output_file(
    "-o",
    "--output",
    help="Output file instead of stdout. The suffix sets the format: .tsv .csv .json .jsonl "
    ".parquet, or TREC format; add .gz .xz .bz2 or .zst to compress.",
)

as_json = switch("--json", "as_json", part="out", help="Print JSON.")

ties = choice(
    "--ties",
    choices=("coin", "relevant", "nonrelevant"),
    help="How to choose between equally likely grades: a coin flip (set by --seed), the "
    "highest, or the lowest.",
)

seed = count("--seed", 0, "Random seed.", least=0)


def _keep_quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[QUIET] = value


def _quiet(*flags: str) -> Callable[[F], F]:
    about = "Print no messages and no progress."
    settings: dict[str, Any] = {"expose_value": False, "callback": _keep_quiet, "part": "out"}
    return switch(*flags, help=about, **settings)


quiet = _quiet("-q", "--quiet")
quiet_in_full = _quiet("--quiet")  # where -q is taken

level = with_default(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    help="Confidence level of the intervals.",
)


# --- campaigns ------------------------------------------------------------------------------------

database = click.argument("database", type=FileName())


def public_address(_: click.Context, param: click.Parameter, value: str) -> str:
    """What links begin with: a scheme and a host, since pages stand at the root of the server."""
    if value == param.default:
        return value
    try:
        parts = urlsplit(value)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        bare = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
    except ValueError:
        whole = bare = False
    if not (whole and bare):
        example = "https://judge.example.org, without a path"
        raise UsageError(f"--address is like {example}; got {value!r}")
    return f"{parts.scheme}://{parts.netloc.lower()}"  # as browsers say it


address = with_default(
    "--address",
    default="http://127.0.0.1:8000",
    metavar="URL",
    callback=public_address,
    help="Where `qrowd serve` can be reached.",
)
campaign = option(
    "--campaign", "name", metavar="NAME", help="Which campaign, if the database has several."
)
yes = switch("--yes", help="Do it without asking.")


def parameter(param: Param, default: Any, none: str = "none") -> Option:
    """A parameter of a method as an option; None where it is not given.

    The names are those of the library: `max_iter` is --max-iter, a switch also has its --no-. Where
    the default is None, its help says `none`.
    """
    flag = f"--{param.name.replace('_', '-')}"
    shown = none if default is None else str(default).lower() if param.type is bool else default
    about = f"{param.help[0].upper()}{param.help[1:]}.  [default: {shown}]"
    if param.type is bool:
        flag = f"{flag}/--no-{param.name.replace('_', '-')}"
        return Option([flag, param.name], default=None, help=about)
    kind = click.Choice(param.choices) if param.choices else param.type
    return Option([flag, param.name], type=kind, default=None, help=about)
