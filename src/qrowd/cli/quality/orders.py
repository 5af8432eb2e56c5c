"""Whom to trust by rankings and preferences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qrowd.cli.output import say, show

if TYPE_CHECKING:
    from qrowd.data.judgements import Judgements
    from qrowd.data.qrels import Qrels


def run(
    file: str,
    crowd: Judgements | None,
    gold: Qrels | None,
    agreeing: bool,
    rel: int | None,
    *,
    bootstrap: int,
    seed: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """Print or save the assessors' checks, or how far all agree."""
    from qrowd.io.orders import read_orders
    from qrowd.quality.rankings import order_agreement, order_checks

    orders = read_orders(file)
    if agreeing:
        found = order_agreement(orders, bootstrap=bootstrap, seed=seed)
        say(f"{found.compared} ballots of {found.pairs} pairs", quiet)
        show(found.table(), output, as_json)
        return
    table = order_checks(orders, gold, crowd, rel=1 if rel is None else rel)
    rows = {name: column.tolist() for name, column in table.listed().items()}
    show(rows, output, as_json)
