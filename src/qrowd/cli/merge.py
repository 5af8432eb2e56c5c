"""`qrowd merge METHOD`: judgements of many into one belief about every pair."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.method_commands import MethodGroup, method_command
from qrowd.cli.options import (
    documents_option,
    gold_option,
    judgements_argument,
    load_documents,
    load_gold,
    load_judgements,
    once,
    output_option,
    pairs_option,
    quiet_option,
    seed_option,
    ties_option,
    written_option,
)
from qrowd.cli.output import iterations, put, save_pictures, say
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.data.chains import ParameterTable
    from qrowd.data.given import Given
    from qrowd.data.judgements import Judgements
    from qrowd.data.merged import Merged
    from qrowd.registry import Card

_CHECKED = 200_000  # judgements at most whose independence is checked


def _parameters_option(command: Any) -> Any:
    about = f"Write every parameter's mean, interval and diagnostics ({_with_parameters()})."
    return written_option("--parameters", help=about)(command)


def _with_parameters() -> str:
    from qrowd.registry import cards

    return ", ".join(id for id, card in cards().items() if card.parameter_table)


SHARED = (
    judgements_argument,
    gold_option,
    pairs_option,
    documents_option,
    click.option(
        "--priors",
        metavar="FILE",
        callback=once,
        help="Prior knowledge about assessors: the --assessors file of an earlier merge.",
    ),
    ties_option,
    seed_option,
    output_option,
    written_option("--probabilities", help="Write the probability of each grade."),
    written_option("--ranking", help="Write the consensus ranking as a run, by expected grades."),
    written_option("--assessors", help="Write what was learned about each assessor."),
    _parameters_option,
    click.option(
        "--figures",
        metavar="FOLDER",
        help="Folder for figures (SVG): votes against estimates, assessors, and sampler "
        "chains if any.",
    ),
    quiet_option,
)


def _command_of(name: str, method: Any) -> click.Command:
    return method_command(name, method, SHARED, _merge, _help(method.card))


@click.group(
    cls=MethodGroup,
    level="judgements",
    make=_command_of,
    subcommand_metavar="METHOD JUDGEMENTS... [OPTIONS]",
)
def command() -> None:
    """Merge the judgements of many assessors into qrels.

    METHOD is one of the methods below, with parameters if you like: 'ds(max_iter=50)'. For the
    model and the paper behind a method, see `qrowd methods ds`; for its options, `qrowd merge ds
    --help`.

    \b
    Examples:
      qrowd merge mv crowd.tsv.gz -o merged.qrels
      qrowd merge ds crowd.tsv.gz --gold some.qrels -o merged.qrels --assessors assessors.tsv
      qrowd merge 'ds(max_iter=50)' crowd.tsv.gz --rel 2 --probabilities merged.tsv
      qrowd merge ds crowd.tsv.gz --ranking consensus.run
    """


def _help(card: Card) -> str:
    """The first paragraph, the source, what it takes, and examples."""
    about = (inspect.getdoc(card.cls) or "").split("\n\n")[0]
    grades = "two grades (see --rel)" if card.grades == "binary" else "any number of grades"
    uses = [f"--{use}" for use in (*card.needs, *card.uses)]
    takes = f"Merges {grades}" + (f"; takes {', '.join(uses)}" if uses else "")
    needed = " --documents docs.jsonl" if "documents" in card.needs else ""
    examples = [
        f"qrowd merge {card.id} crowd.tsv.gz{needed} -o merged.qrels",
        f"qrowd merge {card.id} crowd.tsv.gz{needed} --gold some.qrels --probabilities merged.tsv",
    ]
    listed = "\n".join(f"  {line}" for line in examples)
    after = "" if card.paper == "qrowd" else f"After {card.paper}; "
    source = f"{takes}. {after}the model: `qrowd methods {card.id}`."
    return f"{about}\n\n{source}\n\n\b\nExamples:\n{listed}"


def _merge(method: Any, *, ties: str, seed: int, quiet: bool, **options: Any) -> None:
    """Read what the options name, merge, say what happened, write."""
    from dataclasses import replace

    card = method.card
    _refuse_useless(
        card,
        priors=options["priors"],
        documents=options["documents"] or options["vectors"],
    )
    rows, given = _read(quiet=quiet, **options)
    with iterations(card.id, quiet, sampled=card.sampled) as told:
        merged: Merged = method.fit(rows, replace(given, progress=told))
    _summarise(rows, merged, card, ties, seed, quiet)
    _write(merged, card.id, ties=ties, seed=seed, quiet=quiet, **options)
    if options["figures"]:
        from qrowd.reporting.paper_figures import bayes_figures

        save_pictures(bayes_figures(rows, merged), options["figures"], quiet)


def _read(
    *,
    judgements: tuple[str, ...],
    columns: str | None,
    format: str | None,
    rel: int | None,
    gold: str | None,
    gold_rel: int | None,
    pairs: str | None,
    priors: str | None,
    quiet: bool,
    **texts: Any,
) -> tuple[Judgements, Given]:
    """The judgements, and what the method may see beside them."""
    rows = load_judgements(judgements, columns, format, rel, pairs)
    given = _given(load_gold(gold, gold_rel, rel), priors)
    return _with_texts(rows, given, quiet=quiet, **texts)


def _with_texts(
    rows: Judgements,
    given: Given,
    *,
    documents: tuple[str, ...],
    vectors: str | None,
    without_text: str,
    quiet: bool,
    **_: Any,
) -> tuple[Judgements, Given]:
    """The same with the documents, for methods that read them."""
    from dataclasses import replace

    texts = load_documents(rows, given.gold, documents, vectors, without_text)
    if not texts:
        return rows, given
    _say_missing(texts.missing, without_text, quiet)
    return texts.judgements, replace(given, documents=texts.documents, gold=texts.gold)


def _write(
    merged: Merged,
    name: str,
    *,
    ties: str,
    seed: int,
    quiet: bool,
    output: str | None,
    probabilities: str | None,
    ranking: str | None,
    assessors: str | None,
    parameters: str | None,
    **_: Any,
) -> None:
    """Every file that was asked for; qrels to stdout where there was none."""
    if output or not (probabilities or ranking):
        put(merged.qrels(ties, seed), output)
    if probabilities:
        put(merged, probabilities, ties=ties, seed=seed)
    if ranking:
        put(merged.ranking(name, seed), ranking)
    if assessors:
        put(merged.assessors, assessors)
    if parameters:
        table = _parameters_of(merged)
        put(table, parameters)
        _say_without_interval(table, quiet)


def _refuse_useless(card: Card, **named: Any) -> None:
    """Options that say something which this method does not look at."""
    from qrowd.registry import cards

    for what in (name for name, value in named.items() if value):
        if what not in (*card.needs, *card.uses):
            others = [id for id, c in cards().items() if what in (*c.needs, *c.uses)]
            raise UsageError(
                f"--{what}: {card.id} has no use for them; methods that do: {', '.join(others)}"
            )


def _say_missing(missing: tuple[str, ...], without_text: str, quiet: bool) -> None:
    if missing:
        what = {"skip": "left out", "alone": "taken to be like no other"}[without_text]
        more = " ..." if len(missing) > 5 else ""
        say(f"{len(missing)} documents without text {what}: {' '.join(missing[:5])}{more}", quiet)


def _parameters_of(merged: Merged) -> Any:
    if merged.details.parameters is None:
        raise UsageError(
            f"--parameters: {merged.fit.method} has none; methods that do: {_with_parameters()}"
        )
    return merged.details.parameters


def _say_without_interval(table: ParameterTable, quiet: bool) -> None:
    """Which parameters have a single value and no interval."""
    bare = dict.fromkeys(table.parameter[table["sd"] != table["sd"]].tolist())
    if bare:
        say(f"no interval (NaN), only the likeliest value: {', '.join(bare)}", quiet)


def _given(gold: Any, priors: str | None) -> Given:
    from qrowd.data.given import Given
    from qrowd.io.judgements import read_assessors

    return Given(gold=gold, priors=read_assessors(priors) if priors else None)


def _summarise(
    rows: Judgements, merged: Merged, card: Card, ties: str, seed: int, quiet: bool
) -> None:
    """What happened, on stderr."""
    if quiet:
        return
    doubts = _doubts(rows) if card.assumes_independence else []
    for line in (_course(merged), *merged.fit.notes, *doubts, _outcome(merged, ties, seed)):
        say(line)


def _doubts(rows: Judgements) -> list[str]:
    """A warning where these assessors err together."""
    from qrowd.aggregation.judgements.ds import DawidSkene
    from qrowd.quality.independence import independence

    found = independence(rows, DawidSkene(smoothing=1), replicates=1, most=_CHECKED)
    return [f"warning: {found.verdict}"] if found.together else []


def _course(merged: Merged) -> str:
    fit = merged.fit
    if not fit.iterations:
        return f"{fit.method}: {len(merged.pairs)} pairs in {fit.seconds:.2f} s"
    end = f", objective {fit.trace[-1]:.6g}" if fit.trace else ""
    state = "settled" if fit.converged else "not settled"
    return f"{fit.method}: {state} after {fit.iterations} iterations{end}, {fit.seconds:.2f} s"


def _outcome(merged: Merged, ties: str, seed: int) -> str:
    grades = merged.grades(ties, seed)
    counts = [f"{int((grades == g).sum())} of grade {g}" for g in merged.scale.grades]
    tied = int((merged.grades("relevant") != merged.grades("nonrelevant")).sum())
    rule = f"{ties}, seed {seed}" if ties == "coin" else ties
    decided = f"{tied} {'tie' if tied == 1 else 'ties'} decided ({rule})" if tied else "no ties"
    scale = merged.scale
    all_of_them = f", so every grade: is --rel {scale.grades[0] + 1} meant?"
    relevant = f"relevant from {scale.relevant_from} on (--rel)" + all_of_them * all(scale.relevant)
    return f"{len(grades)} pairs: {', '.join(counts)}; {relevant}; {decided}"
