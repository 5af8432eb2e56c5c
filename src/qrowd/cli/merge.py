"""`qrowd merge METHOD`: judgements of many into one belief about every pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import numpy as np

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.method_commands import MethodGroup
from qrowd.cli.output import iterations, put, quiet, save_pictures, say, show_json
from qrowd.errors import UsageError
from qrowd.registry import Card, cards
from qrowd.rendering import counted

_CHECKED = 200_000  # judgements at most whose independence is checked


def _with_parameter_table() -> str:
    return ", ".join(id for id, card in cards().items() if card.parameter_table)


def _parameters_option(command: Any) -> Any:
    """Made when a method's command is: only then are the cards at hand."""
    about = f"Write every parameter's mean, interval and diagnostics ({_with_parameter_table()})."
    return opt.output_file("--parameters", help=about)(command)


SHARED = (
    opt.judgements,
    opt.gold,
    opt.pairs,
    opt.documents,
    opt.runs_if_any,
    opt.input_file(
        "--features",
        help="What else is known of documents, to predict by: a table with doc and columns.",
    ),
    opt.input_file(
        "--priors",
        help="Prior knowledge about assessors: the --assessors file of an earlier merge.",
    ),
    opt.ties,
    opt.seed,
    opt.output,
    opt.as_json,
    opt.output_file("--probabilities", help="Write the probability of each grade."),
    opt.output_file("--ranking", help="Write the consensus ranking as a run, by expected grades."),
    opt.output_file("--assessors", help="Write what was learned about each assessor."),
    _parameters_option,
    opt.figures(
        "Folder for figures (SVG): votes against estimates, assessors, and sampler chains if any."
    ),
    opt.quiet,
)


def _words(card: Card) -> tuple[str, ...]:
    grades = "two grades (see --rel)" if card.grades == "binary" else "any number of grades"
    uses = [f"--{use}" for use in (*card.needs, *card.uses)]
    takes = f"Merges {grades}" + (f"; takes {', '.join(uses)}" if uses else "")
    after = "" if card.paper == "qrowd" else f"After {card.paper}; "
    needed = " --documents docs.jsonl" if "documents" in card.needs else ""
    example = f"qrowd merge {card.id} crowd.tsv.gz{needed}"
    return (
        f"{takes}. {after}the model: `qrowd methods {card.id}`.",
        f"{example} -o merged.qrels",
        f"{example} --gold some.qrels --probabilities merged.tsv",
    )


def _merge(
    method: Any,
    *,
    files: opt.JudgementFiles,
    gold: opt.GoldFile,
    pairs: str | None,
    documents: opt.DocumentFiles,
    runs: opt.RunFiles,
    features: str | None,
    priors: str | None,
    ties: str,
    seed: int,
    output: str | None,
    as_json: bool,
    probabilities: str | None,
    ranking: str | None,
    assessors: str | None,
    parameters: str | None,
    figures: str | None,
) -> None:
    """Read what the options name, merge, say what happened, write."""
    card = method.card
    _refuse_useless(card, priors=priors, runs=runs, features=features)
    predicts = "people" in card.uses
    crowd = files.read(pairs, need_kinds=not predicts)
    if "documents" not in (*card.needs, *card.uses) and opt.found_ids():
        documents = opt.DocumentFiles((), None, "refuse")
    _refuse_useless(card, documents=documents)
    trusted = gold.read(files.rel)
    given = q.Given(
        gold=trusted,
        priors=q.read_assessors(priors) if priors else None,
        runs=runs.read() if runs else None,
        features=q.read_features(features) if features else None,
        people=files.read_people() if predicts else None,
    )
    texts = documents.read(crowd, trusted)
    if texts:
        if texts.missing:
            fate = {"skip": "left out", "alone": "taken to be like no other"}[documents.without]
            first = " ".join(texts.missing[:5]) + (" ..." if len(texts.missing) > 5 else "")
            say(f"{len(texts.missing)} documents without text {fate}: {first}")
        crowd = texts.judgements
        given = replace(given, documents=texts.documents, gold=texts.gold)
    if probabilities:
        crowd.scale.require_order("a file of probabilities")
    with iterations(card.id, sampled=card.sampled) as progress:
        merged: q.Merged = method.fit(crowd, replace(given, progress=progress))
    doubts = [] if quiet() and not as_json else _doubts(crowd, card)
    for line in (_course(merged), *merged.fit.notes, *doubts, _outcome(merged, ties, seed)):
        say(line)
    if output or probabilities:
        from qrowd.io.provenance import with_files

        merged = with_files(
            merged,
            files.rel,
            judgements=files.paths,
            topics=files.topics,
            gold=gold.path,
            pairs=pairs,
            documents=documents.vectors or documents.texts,
            priors=priors,
            runs=runs.paths,
            features=features,
        )
    labels = merged.qrels(ties, seed)
    if as_json:
        show_json(_account(merged, labels, doubts, whole=not output))
    if output or not (probabilities or ranking or as_json):
        put(labels, output)
    if probabilities:
        put(merged, probabilities, ties=ties, seed=seed)
    if ranking:
        put(merged.ranking(card.id, seed), ranking)
    if assessors:
        put(merged.assessors, assessors)
    if parameters:
        table = merged.details.parameters
        if table is None:
            having = _with_parameter_table()
            raise UsageError(
                f"--parameters: {merged.fit.method} has none; methods that do: {having}"
            )
        put(table, parameters)
        without_interval = dict.fromkeys(table.parameter[table["sd"] != table["sd"]].tolist())
        if without_interval:
            names = ", ".join(without_interval)
            say(f"no interval (NaN), only the likeliest value: {names}")
    if figures:
        from qrowd.reporting.paper_figures import bayes_figures  # imports matplotlib

        save_pictures(bayes_figures(crowd, merged), figures)


@click.group(
    cls=MethodGroup,
    level="judgements",
    shared=SHARED,
    act=_merge,
    words=_words,
    subcommand_metavar="METHOD JUDGEMENTS... [OPTIONS]",
)
def command() -> None:
    """Merge the judgements of many assessors into qrels.

    `auto` chooses a method by the data; `mv` is the majority vote; `ds` learns how good assessors
    are. Gold for some of the pairs makes all of them better.

    \b
    Examples:
      qrowd merge auto crowd.tsv.gz -o merged.qrels --probabilities merged.tsv
      qrowd merge ds crowd.tsv.gz --gold some.qrels -o merged.qrels --assessors assessors.tsv
      qrowd merge 'ds(max_iter=50)' crowd.tsv.gz --rel 2 --ranking consensus.run

    What a method computes, and its paper: `qrowd methods ds`. Its own options: `qrowd merge ds
    --help`.
    """


def _refuse_useless(card: Card, **named: Any) -> None:
    """Options that say something which this method does not look at."""
    for name in (name for name, value in named.items() if value):
        if name not in (*card.needs, *card.uses):
            others = [id for id, other in cards().items() if name in (*other.needs, *other.uses)]
            raise UsageError(
                f"--{name}: {card.id} has no use for them; methods that do: {', '.join(others)}"
            )


def _doubts(crowd: q.Judgements, card: Card) -> list[str]:
    """A warning where these assessors err together, and the method takes them not to."""
    if not card.assumes_independence:
        return []
    from qrowd.aggregation.judgements.ds import DawidSkene
    from qrowd.quality.independence import independence

    doubt = independence(crowd, DawidSkene(smoothing=1), replicates=1, most=_CHECKED)
    return [f"warning: {doubt.verdict}"] if doubt.together else []


def _account(
    merged: q.Merged, labels: q.Qrels, doubts: list[str], *, whole: bool
) -> dict[str, Any]:
    """What happened, for --json; and the labels, if they are not written elsewhere."""
    fit = merged.fit
    grades, counts = np.unique(labels.grade, return_counts=True)
    return {
        "method": fit.method,
        "converged": fit.converged,
        "iterations": fit.iterations,
        "pairs": len(merged.pairs),
        "grades": dict(zip(map(str, grades), counts, strict=True)),
        "share_relevant": merged.share_relevant,
        "share_in_doubt": merged.share_in_doubt,
        "notes": [*fit.notes, *doubts],
        **({"labels": labels.to_polars().to_dicts()} if whole else {}),
    }


def _course(merged: q.Merged) -> str:
    fit = merged.fit
    if not fit.iterations:
        return f"{fit.method}: {len(merged.pairs)} pairs in {fit.seconds:.2f} s"
    end = f", objective {fit.trace[-1]:.6g}" if fit.trace else ""
    state = "settled" if fit.converged else "not settled"
    return f"{fit.method}: {state} after {fit.iterations} iterations{end}, {fit.seconds:.2f} s"


def _outcome(merged: q.Merged, ties: str, seed: int) -> str:
    scale = merged.scale
    grades = merged.grades(ties, seed)
    shown = scale.words or [f"grade {grade}" for grade in scale.grades]
    counts = [
        f"{int((grades == g).sum())} of {name}" for g, name in zip(scale.grades, shown, strict=True)
    ]
    tied = int((merged.grades("relevant") != merged.grades("nonrelevant")).sum())
    rule = f"{ties}, seed {seed}" if ties == "coin" else ties
    decided = f"{counted(tied, 'tie')} decided ({rule})" if tied else "no ties"
    relevant = f"relevant from {scale.relevant_from} on (--rel)"
    if scale.words:
        relevant = "labels without an order"
    elif all(scale.relevant):
        relevant += f", so every grade: is --rel {scale.grades[0] + 1} meant?"
    return f"{len(grades)} pairs: {', '.join(counts)}; {relevant}; {decided}"
