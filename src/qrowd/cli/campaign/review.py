"""`qrowd campaign review`: experts look at a random sample, and at what is disputed."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import campaign_option, database_argument, opened
from qrowd.cli.options import output_option
from qrowd.cli.output import say, show


@click.command()
@database_argument
@campaign_option
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Draw this many judgements at random for experts to judge again.",
)
@click.option("--disputed", is_flag=True, help="List what judges disagree on instead.")
@click.option(
    "--decide", metavar="FILE", help="Decisions: TSV with topic, doc, grade, and optionally reason."
)
@click.option("--expert", default="expert", show_default=True, help="Who decided.")
@output_option
def command(
    database: str,
    name: str | None,
    sample: int | None,
    disputed: bool,
    decide: str | None,
    expert: str,
    output: str | None,
) -> None:
    """List what an expert should judge, take the decisions, and estimate the error rate.

    The list shows nobody's grades: experts judge blind. The error rate is that of the random
    sample, with a 95 % interval; disputed documents are no sample and are left out of it.

    \b
    Examples:
      qrowd campaign review campaign.db --sample 20 -o sample.tsv
      qrowd campaign review campaign.db --disputed
    """
    from qrowd.collection.adjudication import expert_sample
    from qrowd.collection.plan.files import gold_rows

    with opened(database) as store, store.write(store.only(name)) as work:
        if sample is not None:
            say(f"{expert_sample.draw_sample(work, sample)} judgements drawn")
        for row in gold_rows(decide) if decide else ():
            if row.grade is not None:
                pair = expert_sample.pair_named(work, row.topic, row.document)
                expert_sample.decide(work, expert, pair, row.grade, row.reason)
        rows = expert_sample.disputed(work) if disputed else expert_sample.to_judge(work)
        rate = expert_sample.error_rate(work)
    names = ("topic", "doc", "votes", "relevant") if disputed else ("topic", "doc")
    show({key: [getattr(row, key) for row in rows] for key in names}, output)
    if rate.judged:
        say(
            f"error rate {rate.rate:.1%} ({rate.low:.1%} to {rate.high:.1%}): {rate.wrong} of "
            f"{rate.judged} sampled judgements differ from the expert's"
        )
