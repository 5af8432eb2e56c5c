"""How often which workers would pass the checks on gold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qrowd.cli.output import save_pictures, say, show
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.data.qrels import Qrels


def run(
    gold: Qrels | None,
    *,
    binary_at_least: float,
    ndcg_at_least: float,
    accuracy_at_least: float,
    ideal: str,
    seed: int,
    curve: bool,
    figures: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """Print or save the shares, or the curves over all thresholds; draw these."""
    from qrowd.quality.pass_chances import curve_table, curves_of, passing_table, simulate_checks

    if gold is None:
        raise UsageError("--simulate-checks needs the gold sets; name them with --gold")
    bounds = {"binary": binary_at_least, "ndcg": ndcg_at_least, "accuracy": accuracy_at_least}
    limits: dict[str, Any] = {f"{name}_at_least": bound for name, bound in bounds.items()}
    table = passing_table(simulate_checks(gold, **limits, ideal=ideal, seed=seed))
    problems = zip(table["gold"], table["problem"], strict=True)
    for line in dict.fromkeys(f"gold {grades}: {text}" for grades, text in problems if text):
        say(f"warning: {line}", quiet)
    curves = curves_of(gold, ideal=ideal, seed=seed) if curve or figures else {}
    show(curve_table(curves) if curve else table, output, as_json)
    if figures:
        save_pictures(_pictures(curves, bounds), figures, quiet)


def _pictures(curves: dict[tuple[int, ...], Any], bounds: dict[str, float]) -> dict[str, Any]:
    from qrowd.quality.pass_chances import THRESHOLDS
    from qrowd.reporting.figures import passing

    many = len(curves) > 1
    return {
        f"checks-{at}" if many else "checks": passing(curve, THRESHOLDS, bounds, grades)
        for at, (grades, curve) in enumerate(curves.items(), start=1)
    }
