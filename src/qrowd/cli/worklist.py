"""`qrowd next`: what to look at next, and why."""

from __future__ import annotations

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, say, show_json
from qrowd.errors import UsageError


@opt.command()
@opt.judgements
@opt.choice(
    "--goal",
    choices=("errors",),
    help="What looking should give. errors: find answers that are wrong, because the text and "
    "other answers contradict them.",
)
@opt.documents
@opt.gold
@opt.choice(
    "--by", choices=("pair", "assessor"), help="Labels of pairs, or each assessor's answers."
)
@opt.option(
    "-n", "--number", type=click.IntRange(1), metavar="N", help="How many at most; all by default."
)
@opt.output
@opt.as_json
@opt.quiet
def command(
    files: opt.JudgementFiles,
    goal: str,
    documents: opt.DocumentFiles,
    gold: opt.GoldFile,
    by: str,
    number: int | None,
    output: str | None,
    as_json: bool,
) -> None:
    """List what to look at next, the most worthwhile first.

    Writes `topic doc [assessor] reason worth p_wrong probability`. `p_wrong` is the probability
    that what is said now is wrong. `probability` is the chance of having been drawn: empty here,
    since nothing was drawn at random, so that these rows are no sample to estimate scores from
    (that is `qrowd sample`).

    \b
    Examples:
      qrowd next crowd.tsv --goal errors --documents docs.jsonl -n 100 -o todo.tsv
      qrowd next crowd.tsv --goal errors --documents docs.jsonl --by assessor -o answers.tsv
    """
    if not documents:
        raise UsageError("--goal errors reads the documents: name them with --documents")
    crowd = files.read()
    trusted = gold.read(files.rel)
    texts = documents.read(crowd, trusted)
    assert texts is not None
    if len(texts.judgements.scale) != 2:
        texts_scale = " ".join(map(str, texts.judgements.scale.grades))
        raise UsageError(f"next compares two grades, got {texts_scale}; say --rel GRADE")
    todo = q.contradictions(
        texts.judgements, texts.documents, q.Joint(), by=by, gold=texts.gold, number=number
    )
    if output or not as_json:
        put(todo, output)
    if as_json:
        show_json({"notes": todo.notes, "rows": todo.to_polars().to_dicts()})
    for note in todo.notes:
        say(note)
    first = todo.p_wrong[: min(100, len(todo))]
    if len(first):
        wrong = f"{first.sum():.0f}" if first.sum() >= 10 else f"{first.sum():.1f}"
        say(f"of the first {len(first)} about {wrong} are wrong, if the model is right")
