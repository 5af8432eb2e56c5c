"""`qrowd loop`: crowdsourcing vote by vote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.options import (
    documents_option,
    gold_option,
    json_option,
    judgements_argument,
    load_documents,
    load_gold,
    load_judgements,
    load_topic_list,
    output_option,
    quiet_option,
    seed_option,
    written_option,
)
from qrowd.cli.output import iterations, put, save_pictures, say, show, show_json
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.budget.curves import Curves
    from qrowd.data.documents import Documents, Likeness
    from qrowd.data.judgements import Judgements
    from qrowd.data.qrels import Qrels


@click.command()
@judgements_argument
@gold_option
@documents_option
@click.option(
    "--methods",
    metavar="LIST",
    help="Methods, separated by commas: mv,gp,'mev(votes=2)'. Default: mv and ds; with "
    "documents mv, mvnn, mev and gp.",
)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="METHOD.PARAMETER=VALUES",
    help="Also a method with each of these values of a parameter, as in "
    "mvnn.similarity=0.1,0.5,0.9; may repeat.",
)
@click.option(
    "--votes",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Votes per document at the end.",
)
@click.option(
    "--randomisations",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How often all of it is done again, all methods on the same draws.",
)
@click.option(
    "--every",
    type=click.IntRange(min=1),
    metavar="K",
    help="Score after each K votes on a topic. Default: 1 or, where a method must be "
    "fitted anew, a tenth of the documents.",
)
@click.option(
    "--ties",
    type=click.Choice(("expected", "coin", "prevalence")),
    default="expected",
    show_default=True,
    help="A label that is tied counts as half right, is decided by a "
    "fair coin, or by a coin with the share of relevant votes so far.",
)
@click.option(
    "--request",
    type=click.Choice(("resample", "simulated")),
    default="resample",
    show_default=True,
    help="A vote is one of the document's real votes, drawn with "
    "replacement, or that of a simulated assessor who errs as somebody of the crowd does "
    "on gold.",
)
@click.option(
    "--at-least",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Leave out topics where a judged document has fewer real votes.",
)
@click.option(
    "--near",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="COSINE",
    help="Leave out near-duplicates: of documents of a topic with this cosine or more, "
    "keep one (one with gold, if any). Default: keep all.",
)
@click.option("--leave-out", metavar="FILE", help="Leave out these topics (one on each line).")
@click.option(
    "--at",
    type=float,
    default=1.0,
    show_default=True,
    metavar="VOTES",
    help="Votes per document of the table of topics.",
)
@written_option(
    "--table",
    help="Write the table of topics: accuracy at --at votes per document; "
    "* better than the first method, # than all others (Wilcoxon, .05).",
)
@click.option("--figures", metavar="FOLDER", help="Draw the curves, and a picture of each sweep.")
@output_option
@json_option
@seed_option
@quiet_option
def command(
    judgements: tuple[str, ...],
    columns: str | None,
    format: str | None,
    rel: int | None,
    gold: str | None,
    gold_rel: int | None,
    documents: tuple[str, ...],
    vectors: str | None,
    without_text: str,
    leave_out: str | None,
    **options: Any,
) -> None:
    """Ask for votes one by one, merge after each, and score against gold.

    At each step one of the documents with the fewest votes is picked at random, one vote on it is
    drawn, all votes so far are merged by each method, and the labels of the documents with gold
    are scored. -o writes `method topic votes accuracy low high`: the topic `all` is the mean of
    topics, `votes` is per document; the interval of a topic is over randomisations, that of `all`
    over topics. --json also has gold less the majority vote of all real votes, for each topic.

    \b
    Examples:
      qrowd loop crowd.tsv --gold nist.qrels --methods mv,ds --votes 2 --randomisations 3 -o c.tsv
      qrowd loop crowd.tsv --gold nist.qrels --documents docs.jsonl --votes 2 --randomisations 5 \\
          --sweep mvnn.similarity=0.1,0.5 --table topics.tsv
    """
    if gold is None:
        raise UsageError("labels are scored against gold: --gold FILE")
    rows = load_judgements(judgements, columns, format, rel)
    truth = load_gold(gold, gold_rel, rel)
    assert truth is not None
    dropped = load_topic_list(leave_out)
    if dropped is not None:
        rows = rows[rows.topics.without(dropped)]
    texts = load_documents(rows, None, documents, vectors, without_text)
    content = texts.documents if texts else None
    _run(texts.judgements if texts else rows, truth, content, **options)


def _run(
    rows: Judgements,
    gold: Qrels,
    content: Documents | Likeness | None,
    *,
    methods: str | None,
    sweeps: tuple[str, ...],
    at: float,
    table: str | None,
    figures: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    from qrowd.budget.loop import Loop, specs_of, swept, vote_by_vote
    from qrowd.budget.votes import gold_minus_majority

    usual = "mv,ds" if content is None else "mv,mvnn,mev,gp"
    wanted = specs_of(methods or usual)
    parts: dict[str, list[str]] = {}
    for sweep in sweeps:
        parts |= swept(sweep)
    names = list(dict.fromkeys([*wanted, *(spec for specs in parts.values() for spec in specs)]))
    with iterations("loop", quiet) as told:
        curves = vote_by_vote(rows, gold, names, documents=content, loop=Loop(**how), progress=told)
    for note in curves.notes:
        say(f"note: {note}", quiet)
    if table:
        show(curves.table(at), table)
    if figures:
        from qrowd.reporting.paper_figures import loop_figures

        save_pictures(loop_figures(curves, parts), figures, quiet)
    _deliver(curves, gold_minus_majority(rows, gold), output, as_json)


def _deliver(curves: Curves, gaps: dict[str, float], output: str | None, as_json: bool) -> None:
    if output:
        put(curves, output)
    if as_json:
        show_json(
            {
                "methods": curves.methods,
                "topics": list(curves.topics),
                "summary": curves.summary(),
                "gold_minus_mv": gaps,
                "notes": curves.notes,
            }
        )
    elif not output:
        show(curves.summary())
