"""`qrowd campaign act`: what an organiser does, written down, with an undo."""

from __future__ import annotations

import click

from qrowd.cli.campaign.opening import (
    campaign_option,
    confirmed,
    database_argument,
    opened,
    who,
    yes_option,
)
from qrowd.cli.output import say


@click.command()
@database_argument
@click.argument("act", required=False)
@click.argument("details", nargs=-1, metavar="[KEY=VALUE]...")
@campaign_option
@click.option("--undo", "undone", type=int, metavar="NUMBER", help="Take back this act instead.")
@yes_option
def command(
    database: str,
    act: str | None,
    details: tuple[str, ...],
    name: str | None,
    undone: int | None,
    yes: bool,
) -> None:
    """Launch, pause, resume or close a campaign, raise a target, send a bonus, and more.

    Acts: launch, pause, resume, close; `raise target` target=5 [topic=T]; `retire gold` set=N;
    fund amount=CENTS; `screen out`, stop worker=N; accept, exclude, refuse assignment=N; bonus
    worker=N amount=CENTS; message worker=N text=...; settle [workers=1,2]. Each may have a
    reason=... Amounts are in cents (the currency's smallest unit). Asks before doing what cannot
    be undone.

    \b
    Examples:
      qrowd campaign act campaign.db pause
      qrowd campaign act campaign.db "raise target" target=4
    """
    from qrowd.collection.office.acts import ACTS
    from qrowd.collection.record.audit import perform, undo
    from qrowd.errors import UnknownNameError, UsageError

    if (act is None) == (undone is None):
        raise UsageError("say what to do, or --undo NUMBER")
    if act is not None and act not in ACTS:
        raise UnknownNameError.among("act", act, ACTS)
    told = _details(details)
    sure = act is not None and ACTS[act].undo is None
    if sure and not confirmed(f"{act} cannot be undone. Do it?", yes):
        return
    with opened(database) as store, store.write(store.only(name)) as work:
        if undone is not None:
            say(f"act {undo(work, who(), undone)}: act {undone} is undone")
            return
        number = perform(work, who(), str(act), told, sure=sure)
    say(f"act {number}: {act}" + ("" if sure else f"; undo it with --undo {number}"))


def _details(given: tuple[str, ...]) -> dict[str, str]:
    from qrowd.errors import UsageError

    for one in given:
        if "=" not in one:
            raise UsageError(f"expected KEY=VALUE, got {one!r}")
    return dict(one.split("=", 1) for one in given)
