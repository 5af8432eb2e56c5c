"""`qrowd content check`: whether relevance follows the text."""

from __future__ import annotations

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, save_pictures, say_notes, show_json
from qrowd.cli.verbs import Family
from qrowd.errors import UsageError


@click.group(cls=Family)
def command() -> None:
    """Look at the documents' texts.

    \b
    Examples:
      qrowd content check docs.jsonl --qrels nist.qrels
    """


@command.command(old={"--documents": "", "--qrels-rel": "--rel"})
@opt.documents_first
@opt.qrels
@opt.topics
@opt.leave_out
@opt.rel
@opt.with_default(
    "--near",
    type=click.FloatRange(0, 1),
    default=0.95,
    metavar="COSINE",
    help="Two documents are near-duplicates from this cosine on.",
)
@opt.option(
    "--topic",
    metavar="TOPIC",
    help="The topic whose densities to show. Default: the one with most relevant documents.",
)
@opt.level
@opt.seed
@opt.output
@opt.figures("Draw the similarities.")
@opt.as_json
@opt.quiet
def check(
    documents: opt.DocumentFiles,
    qrels: str,
    topics: str | None,
    leave_out: str | None,
    rel: int | None,
    near: float,
    topic: str | None,
    level: float,
    seed: int,
    output: str | None,
    figures: str | None,
    as_json: bool,
) -> None:
    """Are relevant documents more alike to each other than to others?

    Only then can methods that read documents (gp, mev, mvnn) gain from it. Prints the mean cosine
    of two relevant documents (inner) and of a relevant and another one (outer), how well they are
    separated, how often a document is as relevant as its nearest neighbour, and what becomes of
    that without near-duplicates. -o writes one row per topic.

    \b
    Examples:
      qrowd content check docs.jsonl --qrels nist.qrels --json
      qrowd content check docs.jsonl --qrels nist.qrels -o topics.tsv
    """
    from qrowd.content.hypothesis import text_of
    from qrowd.content.similarity import qrels_with_text

    if bool(documents.texts) == bool(documents.vectors):
        raise UsageError("name the documents, or their --vectors FILE")
    content = documents.content()
    gold = opt.read_qrels(qrels).binary(1 if rel is None else rel)
    if topics or leave_out:
        gold = gold[opt.kept_topics(gold.topics, topics, leave_out)]
    if documents.without != "refuse":
        content, gold = qrels_with_text(gold, content, without=documents.without)
    test = q.cluster_test(content, gold, near=near, level=level, seed=seed)
    if output:
        put(test, output)
    if figures:
        from qrowd.reporting.paper_figures import densities, similarities  # imports matplotlib

        pictures = {"similarities": similarities(test), "densities": densities(test, topic)}
        save_pictures(pictures, figures)
    if as_json:
        show_json(test.to_dict(topic))
        return
    if not output:
        click.echo(text_of(test))
    say_notes(test.notes)
