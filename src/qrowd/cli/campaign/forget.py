"""`qrowd campaign forget`: erase a person."""

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
from qrowd.cli.output import say, show


@click.command()
@database_argument
@click.argument("worker", required=False, metavar="[WORKER]")
@campaign_option
@click.option("--void", is_flag=True, help="Take the answers out of the results, too.")
@click.option(
    "--despite-release", "despite", is_flag=True, help="Void answers that a release holds, too."
)
@yes_option
def command(
    database: str, worker: str | None, name: str | None, void: bool, despite: bool, yes: bool
) -> None:
    """Erase the person behind WORKER (as in w7); without it, list those who asked for it.

    Names, ids, addresses, messages and free text are gone from the database's files and from later
    backups and exports; answers stay under a number that means nothing, unless --void. It waits
    until everything is settled. Erase earlier backups yourself.

    \b
    Examples:
      qrowd campaign forget campaign.db
    """
    from qrowd.collection.office import erasure
    from qrowd.errors import UsageError

    with opened(database) as store:
        chosen = store.only(name)
        if worker is None:
            with store.read(chosen) as work:
                asked = erasure.waiting(work)
            show({"worker": [f"w{row.number}" for row in asked]})
            return
        number = worker.removeprefix("w")
        if not number.isdecimal():
            raise UsageError(f"a worker is named like w7, got {worker!r}")
        told = ""
        if void:
            with store.read(chosen) as work:
                told = erasure.released(work, int(number))
        if told and not despite:
            raise UsageError(f"{told}; to do it all the same, add --despite-release")
        if confirmed(f"Erase the person behind {worker}? This cannot be undone.", yes):
            erasure.forget(store, chosen, int(number), who=who(), void=void, despite=despite)
            say(f"{worker} is forgotten")
