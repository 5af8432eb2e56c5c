"""`qrowd merge METHOD`: judgements of many into one belief about every pair."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.options import (
    gold_option,
    judgements_argument,
    load_gold,
    load_judgements,
    output_option,
    pairs_option,
    parameter_option,
    quiet_option,
    seed_option,
    ties_option,
)
from qrowd.cli.output import iterations, put, say
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.data.given import Given
    from qrowd.data.merged import Merged
    from qrowd.registry import Card

SHARED = (
    judgements_argument,
    gold_option,
    pairs_option,
    click.option(
        "--priors",
        metavar="FILE",
        help="What is known of assessors from before: the --assessors file of an earlier merge.",
    ),
    ties_option,
    seed_option,
    output_option,
    click.option("--probabilities", metavar="FILE", help="Write the probability of each grade."),
    click.option("--assessors", metavar="FILE", help="Write what was learned of each assessor."),
    quiet_option,
)

COMMON = {"seed", "ties"}  # what a method may have too: said once, for the method and the result


class Methods(click.Group):
    """One command per judgement-level method; a spec string, `ds(max_iter=50)`, is one too."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The methods, sorted."""
        from qrowd.registry import cards

        return [id for id, card in cards().items() if card.level == "judgements"]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a method, or of a method with parameters."""
        from qrowd.registry import get

        self._refuse_file(ctx, name)
        method = get(name)
        if method.card.level != "judgements":
            raise UsageError(f"{method.card.id} merges scores, not judgements: qrowd aware")
        return _command_of(name, method)

    def _refuse_file(self, ctx: click.Context, name: str) -> None:
        from pathlib import Path

        if Path(name).exists() or "/" in name:
            known = ", ".join(self.list_commands(ctx))
            raise UsageError(f"name the method before the file: qrowd merge ds {name}; has {known}")


@click.group(cls=Methods, subcommand_metavar="METHOD JUDGEMENTS... [OPTIONS]")
def command() -> None:
    """Merge the judgements of many assessors into qrels.

    METHOD is one of those below, or one with parameters, as in 'ds(max_iter=50)'. What each one
    believes and whence it comes: `qrowd methods ds`. Its options: `qrowd merge ds --help`.

    \b
    Examples:
      qrowd merge mv crowd.tsv.gz -o merged.qrels
      qrowd merge ds crowd.tsv.gz --gold some.qrels -o merged.qrels --assessors assessors.tsv
      qrowd merge 'ds(max_iter=50)' crowd.tsv.gz --rel 2 --probabilities merged.tsv
    """


def _command_of(name: str, method: Any) -> click.Command:
    """The command of one method, its options made from its card."""
    card: Card = method.card
    own_params = [known for known in card.params if known.name not in COMMON]

    @click.pass_context
    def run(ctx: click.Context, /, **given: Any) -> None:
        stated = {name: value for name, value in given.items() if _is_stated(ctx, name)}
        own = {known.name for known in card.params}
        changed = _changed(method, {name: stated[name] for name in own & set(stated)})
        for name in COMMON & own:
            given[name] = _common(changed, name, given[name])
        _merge(
            changed, **{name: value for name, value in given.items() if name not in own - COMMON}
        )

    for decorate in reversed(SHARED):
        run = decorate(run)
    options = [parameter_option(known, getattr(method, known.name)) for known in own_params]
    made = click.command(name=name, help=_help(card), short_help=card.summary)(run)
    made.params = [*options, *made.params]
    return made


def _help(card: Card) -> str:
    """The first paragraph, the source, what it takes, and examples."""
    about = (inspect.getdoc(card.cls) or "").split("\n\n")[0]
    grades = "two grades (see --rel)" if card.grades == "binary" else "any number of grades"
    uses = [f"--{use}" for use in (*card.needs, *card.uses)]
    takes = f"Merges {grades}" + (f"; takes {', '.join(uses)}" if uses else "")
    examples = [
        f"qrowd merge {card.id} crowd.tsv.gz -o merged.qrels",
        f"qrowd merge {card.id} crowd.tsv.gz --gold some.qrels --probabilities merged.tsv",
    ]
    listed = "\n".join(f"  {line}" for line in examples)
    source = f"{takes}. After {card.paper}; the model: `qrowd methods {card.id}`."
    return f"{about}\n\n{source}\n\n\b\nExamples:\n{listed}"


def _common(method: Any, name: str, otherwise: Any) -> Any:
    """What the method has, where that is something for the result too."""
    from qrowd.data.merged import TIES

    own = getattr(method, name)
    return own if name != "ties" or own in TIES else otherwise


def _is_stated(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def _changed(method: Any, own: dict[str, Any]) -> Any:
    """The method with the parameters that options changed."""
    from qrowd.registry import build

    before = {known.name: getattr(method, known.name) for known in method.card.params}
    return build(method.card, [], before | own)


def _merge(
    method: Any,
    *,
    judgements: tuple[str, ...],
    columns: str | None,
    format: str | None,
    rel: int | None,
    gold: str | None,
    gold_rel: int | None,
    pairs: str | None,
    priors: str | None,
    ties: str,
    seed: int,
    output: str | None,
    probabilities: str | None,
    assessors: str | None,
    quiet: bool,
) -> None:
    from dataclasses import replace

    rows = load_judgements(judgements, columns, format, rel, pairs)
    given = _given(load_gold(gold, gold_rel, rel), priors)
    with iterations(method.card.id, quiet) as told:
        merged: Merged = method.fit(rows, replace(given, progress=told))
    _summarise(merged, ties, seed, quiet)
    if output or not probabilities:
        put(merged.qrels(ties, seed), output)
    if probabilities:
        put(merged, probabilities, ties=ties, seed=seed)
    if assessors:
        put(merged.assessors, assessors)


def _given(gold: Any, priors: str | None) -> Given:
    from qrowd.data.given import Given
    from qrowd.io.assessors import read_assessors

    return Given(gold=gold, priors=read_assessors(priors) if priors else None)


def _summarise(merged: Merged, ties: str, seed: int, quiet: bool) -> None:
    """What happened, on stderr."""
    for line in (_course(merged), *merged.fit.notes, _outcome(merged, ties, seed)):
        say(line, quiet)


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
    decided = f"{tied} ties decided ({rule})" if tied else "no ties"
    return (
        f"{len(grades)} pairs: {', '.join(counts)}; relevant from {merged.scale.relevant_from} on "
        f"(--rel); {decided}"
    )
