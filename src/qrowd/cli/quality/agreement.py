"""Coefficients of agreement among assessors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qrowd.cli.output import say, show

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements


def run(
    crowd: Judgements,
    *,
    per_topic: bool,
    bootstrap: int,
    resample: str,
    seed: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """Print or save them."""
    from qrowd.quality.agreement import agreement

    found = agreement(crowd, per_topic=per_topic, bootstrap=bootstrap, resample=resample, seed=seed)
    say(f"{found.compared} of {found.pairs} pairs have two judgements or more", quiet)
    for note in found.notes:
        say(f"note: {note}", quiet)
    show(found.table(), output, as_json)
