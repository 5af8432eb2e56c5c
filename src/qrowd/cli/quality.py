"""`qrowd quality`: who to trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.options import (
    gold_option,
    json_option,
    judgements_if_any,
    load_gold,
    load_judgements,
    output_option,
    quiet_option,
    seed_option,
)
from qrowd.cli.output import put, say, show, show_json
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.data.given import Given
    from qrowd.data.judgements import Judgements
    from qrowd.data.merged import AssessorTable
    from qrowd.data.qrels import Qrels
    from qrowd.quality.screening import Screened

_FOR_EYES = (
    "judgements", "type", "agreement", "accuracy", "sensitivity", "specificity", "est_accuracy",
    "seconds", "longest_run", "entropy", "relative_trust", "random_spam_ratio", "uniform_spam",
)  # fmt: skip


@click.command()
@judgements_if_any
@gold_option
@click.option(
    "--merge", metavar="METHOD",
    help="A merging method (ds, 'mv', 'two-coin', ...) whose belief gives estimated accuracies, "
    "and whose result a screening is measured on.",
)  # fmt: skip
@click.option(
    "--sort", default="judgements", show_default=True, metavar="COLUMN",
    help="Order the assessors by this column; -COLUMN ascends where plain descends.",
)  # fmt: skip
@click.option("--show", "shown", metavar="NAMES", help="Only these columns, separated by commas.")
@click.option("--enough", type=click.IntRange(min=1), default=10, show_default=True,
              help="Judgements below which nobody is suspected of anything.")  # fmt: skip
@click.option("--agreement", "agreeing", is_flag=True,
              help="Coefficients of agreement instead of the table.")  # fmt: skip
@click.option("--per-topic", is_flag=True, help="With --agreement: also for each topic.")
@click.option("--bootstrap", type=click.IntRange(min=0), default=1000, show_default=True,
              help="Draws behind the intervals of --agreement; 0 for none.")  # fmt: skip
@click.option("--resample", type=click.Choice(("pairs", "topics")), default="pairs",
              show_default=True, help="What those draws draw.")  # fmt: skip
@click.option(
    "--screen", "rules", multiple=True, metavar="RULE",
    help="Leave out whom this rule doubts; may repeat; 'A & B' must both doubt. -o gets the "
    "judgements that are kept, stdout the account. Rules: gold-accuracy, binary-score, "
    "ndcg-score, too-fast, random-spam, uniform-spam, trust, few-judgements, suspected.",
)  # fmt: skip
@click.option("--down-weight", is_flag=True,
              help="With --screen: keep the doubted, with a smaller weight.")  # fmt: skip
@click.option("--each", type=click.IntRange(min=0), default=25, show_default=True,
              help="With --screen and --merge: fit again without each of so many.")  # fmt: skip
@click.option("--simulate-checks", is_flag=True,
              help="How often which workers pass the checks on gold.")  # fmt: skip
@click.option("--binary-at-least", type=float, default=0.85, show_default=True,
              help="With --simulate-checks: the bound of the binary score.")  # fmt: skip
@click.option("--ndcg-at-least", type=float, default=0.62, show_default=True,
              help="With --simulate-checks: the bound of the NDCG score.")  # fmt: skip
@click.option("--accuracy-at-least", type=float, default=0.6, show_default=True,
              help="With --simulate-checks: the bound of accuracy.")  # fmt: skip
@click.option("--ideal", type=click.Choice(("tied", "standard")), default="tied",
              show_default=True,
              help="With --simulate-checks: the ideal of the NDCG score.")  # fmt: skip
@click.option("--curve", is_flag=True,
              help="With --simulate-checks: the shares over all thresholds instead.")  # fmt: skip
@click.option("--figures", metavar="FOLDER", help="Also draw pictures (SVG) there.")
@output_option
@json_option
@seed_option
@quiet_option
def command(
    judgements: tuple[str, ...], columns: str | None, format: str | None, rel: int | None,
    gold: str | None, gold_rel: int | None, merge: str | None, sort: str, shown: str | None,
    enough: int, agreeing: bool, per_topic: bool, bootstrap: int, resample: str,
    rules: tuple[str, ...], down_weight: bool, each: int, simulate_checks: bool,
    binary_at_least: float, ndcg_at_least: float, accuracy_at_least: float, ideal: str, curve: bool,
    figures: str | None, output: str | None, as_json: bool, seed: int, quiet: bool,
) -> None:  # fmt: skip
    """Who to trust: assessors, agreement, spam, and the checks on gold.

    Prints one row per assessor: judgements, suspected type, agreement with the others, accuracy on
    gold, estimates of a merging method, seconds, runs of the same answer, trust, spam statistics.
    Off a terminal, and with -o, all columns. Gold may have more grades than the judgements: it
    counts as relevant from --gold-rel on (default: --rel, else 1).

    \b
    Examples:
      qrowd quality crowd.tsv
      qrowd quality crowd.tsv --gold nist.qrels --merge ds --sort -accuracy -o assessors.tsv
      qrowd quality crowd.tsv --agreement --per-topic
      qrowd quality crowd.tsv --gold g.qrels --screen 'gold-accuracy(at_least=.6)' -o kept.tsv
      qrowd quality crowd.tsv --screen random-spam --screen uniform-spam --merge ds --json
      qrowd quality --simulate-checks --gold g.qrels --figures pictures
    """
    _belongs("--agreement", agreeing, {"--per-topic": per_topic})
    _belongs("--screen", bool(rules), {"--down-weight": down_weight})
    _belongs("--simulate-checks", simulate_checks, {"--curve": curve})
    trusted = load_gold(gold)
    if simulate_checks:
        bounds = {"binary": binary_at_least, "ndcg": ndcg_at_least, "accuracy": accuracy_at_least}
        _checks(trusted, bounds, ideal, seed, curve, figures, output, as_json)
        return
    if not judgements:
        raise UsageError("no judgements given; name a file, or `-` for stdin")
    crowd = load_judgements(judgements, columns, format, rel)
    cut = gold_rel if gold_rel is not None else rel if rel is not None else 1
    if trusted is not None:
        shared = _judged(crowd, trusted)
        say(f"gold is relevant from grade {cut} on; {shared} gold pairs were judged", quiet)
    if agreeing:
        _agreement(crowd, per_topic, bootstrap, resample, seed, output, as_json)
    elif rules:
        given = _given(trusted)
        _screen(crowd, rules, given, merge, down_weight, cut, each, output, as_json, quiet)
    else:
        _table(crowd, _given(trusted), merge, cut, enough, sort, shown, output, as_json, figures)


def _belongs(to: str, there: bool, options: dict[str, bool]) -> None:
    for name, given in options.items():
        if given and not there:
            raise UsageError(f"{name} goes with {to}, which was not given")


def _judged(crowd: Judgements, gold: Qrels) -> str:
    """How many of the gold's pairs have judgements, in words."""
    from qrowd.errors import InputError

    shared = int((crowd.pairs.locate(gold.pairs) >= 0).sum())
    if not shared:
        raise InputError("gold and judgements have no pair in common; are the topics' names so?")
    return f"{shared} of {len(gold)}"


def _given(gold: Qrels | None) -> Given:
    from qrowd.data.given import Given

    return Given(gold=gold)


def _method(spec: str | None) -> Any:
    from qrowd.registry import get

    return get(spec) if spec else None


# --- the table ------------------------------------------------------------------------------------


def _table(
    crowd: Judgements, given: Given, merge: str | None, cut: int, enough: int, sort: str,
    shown: str | None, output: str | None, as_json: bool, figures: str | None,
) -> None:  # fmt: skip
    import sys

    from qrowd.quality.assessing import assessors

    table = assessors(crowd, given, merge=_method(merge), gold_rel=cut, enough=enough)
    rows = table.listed(sort.lstrip("-"), descending=not _ascends(sort, table))
    bare = not (output or as_json) and sys.stdout.isatty()
    wanted = shown.split(",") if shown else [n for n in rows if not bare or n in _FOR_EYES]
    for name in wanted:
        if name not in rows:
            from qrowd.errors import UnknownNameError

            raise UnknownNameError.among("column", name, rows)
    kept = {"assessor": rows["assessor"], **{n: rows[n] for n in wanted if n != "assessor"}}
    show({name: column.tolist() for name, column in kept.items()}, output, as_json, digits=3)
    if figures:
        _draw(crowd, table, figures)


def _ascends(sort: str, table: AssessorTable) -> bool:
    """Numbers descend, text ascends; a leading minus turns that around."""
    name = sort.lstrip("-")
    text = name == "assessor" or (name in table.columns and table[name].dtype == object)
    return text != sort.startswith("-")


def _draw(crowd: Judgements, table: AssessorTable, folder: str) -> None:
    from qrowd.quality.couples import cohen
    from qrowd.reporting import quality_figures as drawn

    pictures = {
        "assessors": drawn.sensitivity_specificity(table),
        "agreement": drawn.agreement_matrix(cohen(crowd, most=60)),
        "speed": drawn.speed_of(table),
    }
    _save_pictures(pictures, folder)


def _save_pictures(pictures: dict[str, Any], folder: str) -> None:
    from pathlib import Path

    from qrowd.io.atomic import written
    from qrowd.reporting.quality_figures import standalone

    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, figure in pictures.items():
        if figure is not None:
            path = Path(folder) / f"{name}.svg"
            with written(path) as beside:
                beside.write_text(standalone(figure), encoding="utf-8")
            say(str(path))


# --- agreement ------------------------------------------------------------------------------------


def _agreement(
    crowd: Judgements, per_topic: bool, bootstrap: int, resample: str, seed: int,
    output: str | None, as_json: bool,
) -> None:  # fmt: skip
    from qrowd.quality.agreement import agreement

    found = agreement(crowd, per_topic=per_topic, bootstrap=bootstrap, resample=resample, seed=seed)
    say(f"{found.compared} of {found.pairs} pairs have two judgements or more")
    groups = {"all": found.overall, **found.per_topic}
    rows = [(topic, n, c) for topic, values in groups.items() for n, c in values.items()]
    table: dict[str, Sequence[Any]] = {"topic": [row[0] for row in rows]} if per_topic else {}
    table["coefficient"] = [row[1] for row in rows]
    for part in ("value", "low", "high"):
        table[part] = [getattr(row[2], part) for row in rows]
    show(table, output, as_json)


# --- screening ------------------------------------------------------------------------------------


def _screen(
    crowd: Judgements, rules: tuple[str, ...], given: Given, merge: str | None, down_weight: bool,
    cut: int, each: int, output: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    from qrowd.quality.screening import screen

    found = screen(
        crowd, rules, given, merge=_method(merge), down_weight=down_weight, gold_rel=cut, each=each
    )
    if output:
        put(found.kept, output)
        say(f"{len(found.kept)} of {len(crowd)} judgements kept in {output}", quiet)
    if as_json:
        show_json(_account(found))
    else:
        click.echo(str(found))


def _account(found: Screened) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "rules": found.rules,
        "method": found.method,
        "down_weight": found.weighed,
        "change": asdict(found.change),
        "per_rule": {rule: asdict(change) for rule, change in found.per_rule.items()},
        "left_out": [asdict(one) for one in found.left_out],
        "notes": found.notes,
    }


# --- checks ---------------------------------------------------------------------------------------


def _checks(
    gold: Qrels | None, bounds: dict[str, float], ideal: str, seed: int, curve: bool,
    figures: str | None, output: str | None, as_json: bool,
) -> None:  # fmt: skip
    from qrowd.quality.operating import (
        THRESHOLDS,
        gold_sets,
        named,
        passing_curves,
        simulate_checks,
    )

    if gold is None:
        raise UsageError("--simulate-checks needs the gold sets; name them with --gold")
    limits: dict[str, Any] = {f"{name}_at_least": bound for name, bound in bounds.items()}
    rows = simulate_checks(gold, **limits, ideal=ideal, seed=seed)
    table: dict[str, Sequence[Any]] = {
        "gold": [named(row.gold) for row in rows],
        **{
            name: [getattr(row, name) for row in rows]
            for name in ("topics", "best_ndcg", "worker", "binary", "ndcg", "both", "accuracy",
                         "exact", "problem")
        },
    }  # fmt: skip
    for text in dict.fromkeys(f"gold {g}: {p}" for g, p in _problems(table)):
        say(f"warning: {text}")
    sets = list(gold_sets(gold))
    curves = {one: passing_curves(one, ideal=ideal, seed=seed) for one in sets} if (
        curve or figures
    ) else {}  # fmt: skip
    show(_curve_table(curves, THRESHOLDS) if curve else table, output, as_json)
    if figures:
        from qrowd.reporting.quality_figures import passing

        many = len(sets) > 1
        pictures = {
            f"checks-{at + 1}" if many else "checks": passing(curves[one], THRESHOLDS, bounds, one)
            for at, one in enumerate(sets)
        }
        _save_pictures(pictures, figures)


def _problems(table: dict[str, Sequence[Any]]) -> list[tuple[Any, Any]]:
    return [(g, p) for g, p in zip(table["gold"], table["problem"], strict=True) if p]


def _curve_table(
    curves: dict[tuple[int, ...], dict[str, dict[str, Any]]], thresholds: Sequence[float]
) -> dict[str, Sequence[Any]]:
    from qrowd.quality.operating import named

    rows = [
        (named(gold), check, worker, at, float(share))
        for gold, checks in curves.items()
        for check, workers in checks.items()
        for worker, shares in workers.items()
        for at, share in zip(thresholds, shares, strict=True)
    ]
    names = ("gold", "check", "worker", "at_least", "passing")
    return {name: [row[n] for row in rows] for n, name in enumerate(names)}
