"""Leave out, or weigh down, the assessors whom rules doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.output import put, say, show_json

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements
    from qrowd.data.qrels import Qrels


def run(
    crowd: Judgements,
    rules: tuple[str, ...],
    gold: Qrels | None,
    cut: int,
    *,
    merge: str | None,
    down_weight: bool,
    each: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """The judgements that are kept to a file; who was left out, and why, to stdout."""
    from qrowd.data.given import Given
    from qrowd.quality.screening import screen
    from qrowd.registry import get

    found = screen(
        crowd,
        rules,
        Given(gold=gold),
        merge=get(merge) if merge else None,
        down_weight=down_weight,
        gold_rel=cut,
        each=each,
    )
    if output:
        put(found.kept, output)
        say(f"{len(found.kept)} of {len(crowd)} judgements kept in {output}", quiet)
    if as_json:
        show_json(found.to_dict())
    else:
        click.echo(str(found))
