"""`qrowd adjudicate`: gold that was judged again where `qrowd next --goal gold` contested it."""

from __future__ import annotations

import click
import numpy as np

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, say, show, show_json
from qrowd.cli.verbs import Family
from qrowd.data.sample import CONTROL, GOLD
from qrowd.errors import InputError
from qrowd.rendering import counted, table_of


@click.group(cls=Family)
def command() -> None:
    """Judge gold again where a crowd contradicts it.

    `qrowd next --goal gold` lists the pairs; somebody grades them; `apply` makes the new gold of
    it, and `table` says what has changed.

    \b
    Examples:
      qrowd next crowd.tsv --goal gold --gold nist.qrels --control 20 -o contested.tsv
      qrowd adjudicate apply decisions.tsv nist.qrels -o adjudicated.qrels
    """


@command.command()
@opt.file("decisions")
@opt.file("gold")
@opt.grades
@opt.output
@opt.as_json
@opt.quiet
def apply(decisions: str, gold: str, output: str | None, as_json: bool) -> None:
    """Make new gold of GOLD and of what was decided of some of its pairs.

    DECISIONS is the list of `qrowd next --goal gold`, or its --blind form, with a column `grade`;
    rows without a grade are undecided, and keep their gold. Grades must be among those of the gold,
    and the list must be of this gold: it has its hash.

    \b
    Examples:
      qrowd adjudicate apply decisions.tsv nist.qrels -o adjudicated.qrels
    """
    decided = q.read_decisions(decisions, **opt.stated("grades"))
    before = opt.read_qrels(gold)
    if decided.gold_hash and decided.gold_hash != q.gold_hash(before):
        raise InputError(
            f"these are decisions on other gold than {gold} has (hash {decided.gold_hash}, not "
            f"{q.gold_hash(before)}); name the gold that the list was made from",
            file=decisions,
        )
    after = q.adjudicated(before, decided.grades, decided.nominated_by)
    changed = int((after.grade != before.grade).sum())
    if output or not as_json:
        put(after, output)
    if as_json:
        show_json({"decided": len(decided.grades), "changed": changed, "hash": q.gold_hash(after)})
    undecided = f"; {counted(decided.undecided, 'row')} undecided" if decided.undecided else ""
    say(f"{counted(len(decided.grades), 'pair')} decided, {changed} changed{undecided}")


@command.command()
@opt.file("before")
@opt.file("after")
@opt.file("contested", metavar="LIST")
@opt.rel
@opt.grades
@opt.output
@opt.switch(
    "--as-printed",
    part="out",
    help="As Table 4.2 of Piazzon 2019 has it: its headings, whole per cents, and that of relevant "
    "documents by non-relevant ones instead of by all documents.",
)
@opt.as_json
@opt.quiet
def table(
    before: str,
    after: str,
    contested: str,
    rel: int | None,
    output: str | None,
    as_printed: bool,
    as_json: bool,
) -> None:
    """What became of the gold by topic: contested, changed, relevant BEFORE and AFTER.

    LIST is what `qrowd next --goal gold` wrote. Its controls are not counted as contested; how many
    of them were changed is said.

    \b
    Examples:
      qrowd adjudicate table nist.qrels adjudicated.qrels contested.tsv
    """
    nominated = q.read_decisions(contested, goals=True)
    cut = 1 if rel is None else rel
    old, new = opt.read_qrels(before).binary(cut), opt.read_qrels(after).binary(cut)
    listed = nominated.pairs.select(nominated.goal == GOLD)
    show(table_of(q.adjudication_table(old, new, listed, as_printed=as_printed)), output, as_json)
    control = nominated.pairs.select(nominated.goal == CONTROL)
    at = old.pairs.locate(control)
    if len(at):
        turned = int((old.grade != new.grade)[at[at >= 0]].sum())
        say(f"of {counted(len(control), 'control pair')} {turned} changed")
    elsewhere = np.ones(len(old), np.bool_)
    elsewhere[old.pairs.locate(listed)] = False
    elsewhere[at[at >= 0]] = False
    others = int((elsewhere & (old.grade != new.grade)).sum())
    if others:
        say(f"note: {counted(others, 'pair')} changed that nobody contested")
