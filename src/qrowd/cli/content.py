"""`qrowd content check`: whether relevance follows the text."""

from __future__ import annotations

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, save_pictures, say_notes, show_json
from qrowd.errors import UsageError


@click.group()
def command() -> None:
    """Look at the documents' texts.

    \b
    Examples:
      qrowd content check --documents docs.jsonl --qrels nist.qrels
    """


@command.command()
@opt.documents
@opt.qrels
@opt.with_default(
    "--qrels-rel", type=int, default=1, metavar="GRADE", help="Relevant from this grade on."
)
@opt.with_default(
    "--near",
    type=click.FloatRange(0, 1),
    default=0.95,
    metavar="COSINE",
    help="Two documents are near-duplicates from this cosine on.",
)
@click.option(
    "--topic",
    metavar="TOPIC",
    help="The topic whose densities to show. Default: the one with most relevant documents.",
)
@opt.with_default(
    "--level",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    help="Confidence level of the interval.",
)
@opt.figures("Draw the similarities.")
@opt.output
@opt.as_json
@opt.seed
@opt.quiet
def check(
    documents: opt.DocumentFiles,
    qrels: str,
    qrels_rel: int,
    near: float,
    topic: str | None,
    level: float,
    figures: str | None,
    output: str | None,
    as_json: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Are relevant documents more alike to each other than to others?

    Only then can methods that read documents (gp, mev, mvnn) gain from it. Prints the mean cosine
    of two relevant documents (inner) and of a relevant and another one (outer), how well they are
    separated, how often a document is as relevant as its nearest neighbour, and what becomes of
    that without near-duplicates. -o writes one row per topic.

    \b
    Examples:
      qrowd content check --documents docs.jsonl --qrels nist.qrels --json
      qrowd content check --documents docs.jsonl --qrels nist.qrels -o topics.tsv
    """
    from qrowd.content.hypothesis import text_of
    from qrowd.content.similarity import qrels_with_text

    if bool(documents.texts) == bool(documents.vectors):
        raise UsageError("name the documents: --documents FILE, or --vectors FILE")
    content = documents.content()
    gold = opt.read_qrels(qrels).binary(qrels_rel)
    if documents.without != "refuse":
        content, gold = qrels_with_text(gold, content, without=documents.without)
    test = q.cluster_test(content, gold, near=near, level=level, seed=seed)
    if output:
        put(test, output)
    if figures:
        from qrowd.reporting.paper_figures import densities, similarities  # imports matplotlib

        pictures = {"similarities": similarities(test), "densities": densities(test, topic)}
        save_pictures(pictures, figures, quiet)
    if as_json:
        show_json(test.to_dict(topic))
        return
    if not output:
        click.echo(text_of(test))
    say_notes(test.notes, quiet)
