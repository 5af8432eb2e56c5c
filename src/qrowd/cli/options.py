"""Options that several verbs share, and what turns their values into nouns.

Decorators (the parameter that the command gets is the option's long name):

    judgements_argument   JUDGEMENTS... --columns --format --rel  -> judgements columns format rel
                          (and --grades, as gold_option and qrels_option, which loaders know of)
    judgements_if_any     the same, none being allowed
    gold_option           --gold FILE --gold-rel N                -> gold gold_rel
    pairs_option          --pairs FILE                            -> pairs
    documents_option      --documents FILE --vectors FILE --without-text
                                                                  -> documents vectors without_text
    runs_option           --runs FILE (many) --run-names          -> runs run_names
    qrels_option          --qrels FILE                            -> qrels
    output_option         -o FILE                                 -> output
    written_option        another FILE to write, under its flags
    json_option           --json                                  -> as_json
    ties_option           --ties RULE                             -> ties
    seed_option           --seed N                                -> seed
    quiet_option          -q                                      -> quiet
    parameter_option      --max-iter, from a method's parameter   -> max_iter

Loaders (they import what they need when they are called):

    load_judgements(judgements, columns, format, rel, pairs) -> Judgements
    load_gold(gold, gold_rel, rel) -> Qrels | None
    load_qrels(qrels) -> Qrels
    load_runs(runs, run_names) -> RunSet
    load_topic_list(file) -> Index | None
    load_topics(stated, known, seed) -> Index
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qrowd.cli.files import checking_files, grades_option, stated_grades, writable

if TYPE_CHECKING:
    from qrowd.content.similarity import WithText
    from qrowd.content.vectors import Vectors
    from qrowd.data.documents import Documents
    from qrowd.data.index import Index
    from qrowd.data.judgements import Judgements
    from qrowd.data.qrels import Qrels
    from qrowd.data.runs import RunSet
    from qrowd.registry import Param

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("tsv", "csv", "json", "jsonl", "parquet", "trec", "mturk")


def _all(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several decorators as one, the first one outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def once(ctx: click.Context, _: click.Parameter, value: Any) -> Any:
    """A callback of what is read: `-` may be named once in all of a command."""
    names = value if isinstance(value, tuple) else (value,)
    if "-" in names and sys.stdin is None:
        from qrowd.errors import UsageError

        raise UsageError("stdin is closed; name a file instead of -")
    seen = ctx.meta["qrowd.stdin"] = ctx.meta.get("qrowd.stdin", 0) + names.count("-")
    if seen > 1:
        from qrowd.errors import UsageError

        raise UsageError("stdin (-) can be read only once; name a file for the others")
    return value


def _judgements(required: bool, metavar: str) -> Callable[[F], F]:
    return _all(
        click.argument("judgements", nargs=-1, required=required, metavar=metavar, callback=once),
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
        click.option(
            "--rel",
            type=int,
            metavar="GRADE",
            help="Make judgements and gold binary: this grade and higher ones are relevant. "
            "By default grades are kept, and 1 and higher count as relevant.",
        ),
        grades_option,
    )


def judgements_argument(function: F) -> F:
    """JUDGEMENTS... and what says how to read them."""
    return _judgements(True, "JUDGEMENTS...")(function)


def judgements_if_any(function: F) -> F:
    """The same where a command has work without judgements, too."""
    return _judgements(False, "[JUDGEMENTS...]")(function)


gold_option = _all(
    click.option(
        "--gold",
        metavar="FILE",
        callback=once,
        help="Trusted qrels for some of the pairs.",
    ),
    click.option(
        "--gold-rel",
        type=int,
        metavar="GRADE",
        help="Make gold binary: this grade and higher ones are relevant (for graded gold "
        "beside 0/1 judgements). Default: --rel.",
    ),
    grades_option,
)

pairs_option = click.option(
    "--pairs",
    metavar="FILE",
    callback=once,
    help="Pairs to include in the pool even if nobody judged them: qrels, or a table with topic "
    "and doc.",
)

documents_option = _all(
    click.option(
        "--documents",
        multiple=True,
        metavar="FILE",
        callback=once,
        help="The documents' texts, for methods that read them: a table with doc and text, SGML, "
        "XML, or a folder; may repeat.",
    ),
    click.option(
        "--vectors",
        metavar="FILE",
        help="The documents' vectors, instead of their texts: a .npy file, one row each, with the "
        "documents' names, one per line, in a file .ids beside it.",
    ),
    click.option(
        "--without-text",
        type=click.Choice(("refuse", "skip", "alone")),
        default="refuse",
        show_default=True,
        help="Judged documents without text: stop, leave them out, or take them to be like no "
        "other.",
    ),
)

runs_option = _all(
    click.option(
        "--runs",
        multiple=True,
        required=True,
        metavar="FILES",
        callback=once,
        help="Runs in TREC format: a file, a folder or a quoted pattern ('runs/*.gz'). Repeatable.",
    ),
    click.option(
        "--run-names",
        type=click.Choice(("auto", "tag", "file")),
        default="auto",
        show_default=True,
        help="Name runs by their tag, by their file, or by the tag unless two files share one.",
    ),
)

qrels_option = _all(
    click.option(
        "--qrels",
        required=True,
        metavar="FILE",
        callback=once,
        help="The qrels.",
    ),
    grades_option,
)


def written_option(*flags: str, **others: Any) -> Callable[[F], F]:
    """An option that names a file to write.

    One that cannot be written, that is read too, or that two options name, is refused at once.
    """
    return _all(click.option(*flags, metavar="FILE", callback=writable, **others), checking_files)


output_option = written_option(
    "-o",
    "--output",
    help="Output file instead of stdout. The suffix sets the format: .tsv .csv .json .jsonl "
    ".parquet, or TREC format; add .gz .xz .bz2 or .zst to compress.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

ties_option = click.option(
    "--ties",
    type=click.Choice(("coin", "relevant", "nonrelevant")),
    default="coin",
    show_default=True,
    help="How to choose between equally likely grades: a coin flip (set by --seed), the "
    "highest, or the lowest.",
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed.",
)

quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Print no messages and no progress."
)


def parameter_option(known: Param, default: Any) -> click.Option:
    """A parameter of a method as an option; None where it is not given.

    The names are those of the library: `max_iter` is --max-iter, a switch also has its --no-.
    """
    flag = f"--{known.name.replace('_', '-')}"
    shown = "none" if default is None else str(default).lower() if known.type is bool else default
    about = f"{known.help[0].upper()}{known.help[1:]}.  [default: {shown}]"
    if known.type is bool:
        flag = f"{flag}/--no-{known.name.replace('_', '-')}"
        return click.Option([flag, known.name], default=None, help=about)
    kind = click.Choice(known.choices) if known.choices else known.type
    return click.Option([flag, known.name], type=kind, default=None, help=about)


def load_judgements(
    judgements: Sequence[str],
    columns: str | None = None,
    format: str | None = None,
    rel: int | None = None,
    pairs: str | None = None,
) -> Judgements:
    """The judgements that were named, binary if `rel` says so, over a pool with `pairs` too."""
    from qrowd.io.judgements import read_judgements
    from qrowd.io.qrels import read_pairs

    one = judgements[0] if len(judgements) == 1 else judgements
    found = read_judgements(one, columns=columns, format=format, grades=stated_grades())
    if rel is not None:
        _warn_of_high("--rel", rel, found.scale.grades)
        found = found.binary(rel)
    return found.with_pool(read_pairs(pairs)) if pairs else found


def load_gold(
    gold: str | None, gold_rel: int | None = None, rel: int | None = None
) -> Qrels | None:
    """The gold that was named, binary if `gold_rel` or `rel` says so."""
    if gold is None:
        return None
    found = load_qrels(gold)
    cut = gold_rel if gold_rel is not None else rel
    if cut is None:
        return found
    _warn_of_high("--gold-rel" if gold_rel is not None else "--rel", cut, found.scale.grades)
    return found.binary(cut)


def _warn_of_high(option: str, cut: int, grades: Sequence[int]) -> None:
    """A cut above every grade makes nothing relevant: hardly meant."""
    if grades and cut > max(grades):
        import warnings

        from qrowd.errors import DataWarning

        listed = " ".join(map(str, grades))
        warnings.warn(
            f"{option} {cut} is above every grade ({listed}), so nothing counts as relevant",
            DataWarning,
            stacklevel=3,
        )


def load_qrels(qrels: str) -> Qrels:
    """The qrels that were named."""
    from qrowd.io.qrels import read_qrels

    return read_qrels(qrels, grades=stated_grades())


def load_runs(runs: Sequence[str], run_names: str = "auto") -> RunSet:
    """The runs that were named."""
    from qrowd.io.runs import read_runs

    return read_runs(list(runs), names=run_names)


def load_topic_list(file: str | None) -> Index | None:
    """The topics of the file that was named, if one was."""
    from qrowd.io.qrels import read_topic_list

    return read_topic_list(file) if file else None


def load_topics(stated: str | None, known: Index, seed: int) -> Index:
    """Some of the `known` topics: those of a file, those listed, or a share of them at random."""
    from pathlib import Path

    from qrowd.data.index import Index
    from qrowd.errors import InputError
    from qrowd.io.qrels import read_topic_list

    if not len(known):
        raise InputError("gold and judgements have no topic in common; do topic names match?")
    if stated is None:
        return known
    if "." in stated and stated.replace(".", "", 1).isdigit():
        return known.split(float(stated), seed)[0]
    there = Path(stated).is_file()
    wanted = read_topic_list(stated) if there else Index.of(stated.split(","))
    missing = wanted.without(known)
    if len(missing):
        raise InputError(
            f"training topics without gold or judgements: {', '.join(missing)}; "
            f"gold has {', '.join(list(known)[:10])}"
        )
    return wanted


def load_documents(
    rows: Judgements,
    gold: Qrels | None,
    documents: Sequence[str],
    vectors: str | None,
    without_text: str = "refuse",
) -> WithText | None:
    """The documents that were named, with the judgements and the gold that fit them."""
    from qrowd.content.similarity import WithText, with_text

    if not documents and not vectors:
        return None
    if documents and vectors:
        from qrowd.errors import UsageError

        raise UsageError("documents are known by --documents or by --vectors; name one of them")
    content = load_content(documents, vectors)
    if without_text == "refuse":
        return WithText(rows, content, gold, ())
    return with_text(rows, content, gold, without=without_text)


def load_content(documents: Sequence[str], vectors: str | None) -> Documents | Vectors:
    """Texts, or vectors."""
    from qrowd.io.documents import read_documents, read_vectors

    return read_vectors(vectors) if vectors else read_documents(list(documents))
