"""`qrowd quality`: who to trust.

Six jobs: a table of assessors, agreement, independence, screening, simulated checks, orders.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, save_pictures, say, say_notes, show, show_json
from qrowd.errors import InputError, UnknownNameError, UsageError
from qrowd.registry import get
from qrowd.rendering import DIGITS, table_of


@dataclass(frozen=True)
class Options:
    """What was asked for; most of it concerns one of the jobs."""

    merge: str | None
    probabilities: str | None
    sort: str
    shown: str | None
    enough: int
    agreeing: bool
    weights: str
    of_pairs: bool
    independent: bool
    per_topic: bool
    level: float
    bootstrap: int
    resample: str
    rules: tuple[str, ...]
    down_weight: bool
    each: int
    simulate_checks: bool
    binary_at_least: float
    ndcg_at_least: float
    accuracy_at_least: float
    ideal: str
    curve: bool
    ranked: str | None
    figures: str | None
    output: str | None
    as_json: bool
    seed: int
    by: str | None
    least: int
    known: str | None
    consensus: bool

    def refuse_strays(self) -> None:
        """Options of a job that was not asked for."""
        by_topic = self.agreeing or self.independent
        strays = (
            ("--per-topic", self.per_topic, "--agreement or --independence", by_topic),
            ("--known", bool(self.known), "--screen learned", bool(self.rules)),
            ("--weights", self.weights != "identity", "--agreement", self.agreeing),
            ("--down-weight", self.down_weight, "--screen", bool(self.rules)),
            ("--curve", self.curve, "--simulate-checks", self.simulate_checks),
        )
        for name, stated, job, asked in strays:
            if stated and not asked:
                raise UsageError(f"{name} goes with {job}, which was not given")
        tables = {
            "--by": bool(self.by),
            "--consensus": self.consensus,
            "--agreement": self.agreeing,
            "--pairs": self.of_pairs,
            "--independence": self.independent,
        }
        asked_for = [name for name, stated in tables.items() if stated]
        if len(asked_for) > 1:
            raise UsageError(f"{' and '.join(asked_for)} print a table each: choose one of them")


def _bound(flag: str, default: float, score: str) -> Callable[[Any], Any]:
    about = f"With --simulate-checks: the lowest {score} that passes."
    return opt.with_default(flag, type=float, default=default, help=about)


@opt.command(old={"--merge": "--method"})
@opt.judgements_if_any
@opt.gold
@opt.method(
    "--method",
    "merge",
    help="Estimate accuracies with this merging method (ds, mv, two-coin, ...); with "
    "--screen, show how its result changes.",
)
@opt.input_file(
    "--probabilities",
    help="Estimate accuracies with these, which `qrowd merge --probabilities` wrote.",
)
@opt.with_default(
    "--sort",
    default="judgements",
    metavar="COLUMN",
    help="Sort the assessors by this column; -COLUMN reverses the order.",
)
@opt.option(
    "--show",
    "shown",
    metavar="NAMES",
    part="out",
    help="Show only these columns, separated by commas.",
)
@opt.count("--enough", 10, "Do not suspect assessors with fewer judgements than this.")
@opt.switch("--agreement", "agreeing", help="Print coefficients of agreement instead of the table.")
@opt.with_default(
    "--weights",
    default="identity",
    metavar="WORD|ROWS",
    help="With --agreement: how far two grades agree: identity, linear, quadratic, ordinal, "
    "radical, or own rows of numbers, '1,.5,0;.5,1,.5;0,.5,1'.",
)
@opt.switch(
    "--pairs",
    "of_pairs",
    help="Print the vote, its consistency and uncertainty of each pair instead of the table.",
)
@opt.switch(
    "--independence",
    "independent",
    help="Whether assessors err together, and who with whom, instead of the table.",
)
@opt.switch(
    "--per-topic",
    help="With --agreement: also for each topic. With --independence: each "
    "topic instead of couples.",
)
@opt.count(
    "--bootstrap",
    1000,
    "Bootstrap samples for the intervals of --agreement; 0 for none.",
    least=0,
    most=100_000,
)
@opt.choice("--resample", choices=("pairs", "topics"), help="What the bootstrap samples.")
@opt.repeated(
    "--screen",
    "rules",
    type=opt.Spec("rule"),
    metavar="RULE",
    help="Leave out assessors whom this rule doubts. Repeatable; with 'A & B' both rules must "
    "doubt. -o gets the remaining judgements, stdout the reasons. Rules: gold-accuracy, "
    "surely-worse, binary-score, ndcg-score, too-fast, random-spam, uniform-spam, trust, "
    "few-judgements, nothing-relevant, suspected, learned.",
)
@opt.input_file(
    "--known",
    help="With --screen learned: people whom somebody has marked, a table with assessor and bad "
    "(1 or 0).",
)
@opt.switch(
    "--consensus",
    help="How often single answers and merged labels (--method, by default mv; it is not told the "
    "gold) are right, and what merging gains: over all topics, and by topic.",
)
@opt.switch("--down-weight", help="With --screen: give doubted assessors a smaller weight instead.")
@opt.count(
    "--each",
    25,
    "With --screen and --method: for how many assessors to show the effect of each.",
    least=0,
)
@opt.switch(
    "--simulate-checks", help="How often good and bad workers would pass the checks on gold."
)
@_bound("--binary-at-least", 0.85, "binary score")
@_bound("--ndcg-at-least", 0.62, "NDCG score")
@_bound("--accuracy-at-least", 0.6, "accuracy")
@opt.choice(
    "--ideal",
    choices=("tied", "standard"),
    help="With --simulate-checks: how the NDCG score treats ties in the ideal ranking.",
)
@opt.switch("--curve", help="With --simulate-checks: print the pass rate at every threshold.")
@opt.input_file(
    "--orders",
    "ranked",
    help="Judge rankings or preferences instead: NDCG score on gold, whether ranks fit "
    "the grades; with --agreement, Kendall's W, tau, cycles.",
)
@opt.option(
    "--by",
    metavar="COLUMNS",
    help="Compare groups of people instead, by these columns of --people (country,training): the "
    "mean accuracy of each, people as units.",
)
@opt.count("--least", 5, "With --by: groups of fewer people are merged.", metavar="N")
@opt.level
@opt.seed
@opt.output
@opt.figures("Folder for figures (SVG).")
@opt.as_json
@opt.quiet
@opt.bundled("options", Options)
def command(files: opt.JudgementFiles, gold: opt.GoldFile, options: Options) -> None:
    """Find out whom to trust: assessors, agreement, spam.

    Prints one row per assessor: judgements, suspected type, agreement with the others, accuracy on
    gold, estimates of a merging method, seconds, repeated answers, trust, spam statistics. A
    terminal shows the main columns; files and pipes get all of them. Gold may have more grades
    than the judgements: --gold-rel and higher count as relevant (default: --rel, else 1).

    \b
    Examples:
      qrowd quality crowd.tsv
      qrowd quality crowd.tsv --gold nist.qrels --method ds --sort -accuracy -o assessors.tsv
      qrowd quality crowd.tsv --agreement --per-topic
      qrowd quality crowd.tsv --independence
      qrowd quality crowd.tsv --gold g.qrels --consensus --method ds
      qrowd quality crowd.tsv --gold g.qrels --screen 'gold-accuracy(at_least=.6)' -o kept.tsv
      qrowd quality crowd.tsv --screen random-spam --screen uniform-spam --method ds --json
      qrowd quality --simulate-checks --gold g.qrels --figures pictures
      qrowd quality crowd.tsv --orders orders.tsv --gold g.qrels
      qrowd quality crowd.tsv --gold g.qrels --people people.tsv --by kind --least 1
    """
    options.refuse_strays()
    about = _people(files, options.by) if options.by else {}
    trusted = opt.GoldFile(gold.path).read()
    if options.simulate_checks:
        _show_checks(trusted, options)
        return
    if options.ranked:
        _show_orders(options.ranked, files, trusted, options)
        return
    if not files.paths:
        raise UsageError("no judgements given; name a file, or `-` for stdin")
    crowd = files.read(need_kinds=not options.by)
    cuts = (gold.rel, files.rel, 1)
    cut = next(cut for cut in cuts if cut is not None)
    if trusted is not None:
        judged = int((crowd.pairs.locate(trusted.pairs) >= 0).sum())
        if not judged:
            raise InputError(
                "gold and judgements have no pair in common; do topic and document names match?"
            )
        say(f"gold is relevant from grade {cut}; {judged} of {len(trusted)} gold pairs were judged")
    if options.by:
        table = q.assessors(
            crowd,
            q.Given(gold=trusted),
            merge=get(options.merge) if options.merge else None,
            gold_rel=cut,
            enough=options.enough,
            level=options.level,
        )
        columns = options.by.split(",")
        rows = q.groups(
            table, about, columns, least=options.least, level=options.level, seed=options.seed
        )
        show(table_of(rows), options.output, options.as_json)
    elif options.consensus:
        if trusted is None:
            raise UsageError("--consensus needs --gold, to know what is right")
        merged = get(options.merge or "mv").fit(crowd)
        gains = q.gain_by_topic(
            crowd, merged, trusted, gold_rel=cut, level=options.level, seed=options.seed
        )
        show(table_of(gains), options.output, options.as_json)
        if options.figures:
            from qrowd.reporting.figures import consensus_of

            save_pictures({"consensus": consensus_of(gains)}, options.figures)
    elif options.agreeing:
        _show_agreement(crowd, options)
    elif options.of_pairs:
        show(
            q.pair_agreement(crowd).to_polars().to_dict(as_series=False),
            options.output,
            options.as_json,
        )
    elif options.independent:
        _show_independence(crowd, options)
    elif options.rules:
        _screen(crowd, trusted, cut, options)
    else:
        _show_assessors(crowd, trusted, cut, options)


def _people(files: opt.JudgementFiles, by: str) -> dict[str, dict[str, str]]:
    """What --people says of everybody, by name."""
    if not files.people:
        raise UsageError("--by groups people by columns of --people FILE, which was not given")
    table = q.read_assessors(files.people)
    for name in by.split(","):
        if name not in table.columns:
            raise UnknownNameError.among(f"column in {files.people}", name, table.columns)
    columns = {name: [_word(value) for value in table[name].tolist()] for name in by.split(",")}
    return {
        who: {name: column[at] for name, column in columns.items()}
        for at, who in enumerate(table.assessors)
    }


def _word(value: object) -> str:
    """A cell as the name of a group; "" where it is empty."""
    if isinstance(value, float):
        return "" if value != value else f"{value:g}"
    return "" if value is None else str(value)


# --- assessors ------------------------------------------------------------------------------------


def _show_assessors(crowd: q.Judgements, gold: q.Qrels | None, cut: int, options: Options) -> None:
    """Everything that is known of each assessor: to print, save or draw."""
    if crowd.choice is not None:
        say_notes(crowd.choice.caution("agreement, accuracy, says_relevant"))
    belief = get(options.merge) if options.merge else None
    if options.probabilities:
        if belief is not None:
            raise UsageError("accuracies are estimated by --method or by --probabilities, not both")
        belief = q.read_probabilities(options.probabilities)
        missing = int((belief.pairs.locate(crowd.pairs)[crowd.pair] < 0).sum())
        if missing:
            raise InputError(f"lacks the pairs of {missing} judgements", file=options.probabilities)
    table = q.assessors(
        crowd,
        q.Given(gold=gold),
        merge=belief,
        gold_rel=cut,
        enough=options.enough,
        level=options.level,
    )
    # numbers descend, text ascends; a leading minus turns that around
    key = options.sort.lstrip("-")
    is_text = key == "assessor" or (key in table.columns and table[key].dtype == object)
    rows = table.listed(key, descending=is_text == options.sort.startswith("-"))
    names = _columns(list(rows), options)
    show(
        {name: rows[name].tolist() for name in names},
        options.output,
        options.as_json,
        digits=DIGITS,
    )
    if options.figures:
        from qrowd.reporting import figures

        pictures = {
            "assessors": figures.sensitivity_specificity(table),
            "agreement": figures.agreement_matrix(q.cohen(crowd, most=60)),
            "speed": figures.speed_of(table),
            "quantity": figures.quantity_of(table, options.level, options.seed),
        }
        if pictures["quantity"] is not None:
            say(pictures["quantity"].alt)
        save_pictures(pictures, options.figures)


def _columns(names: list[str], options: Options) -> list[str]:
    """The columns that were asked for, after the assessors' names; on a terminal the main ones."""
    from qrowd.quality.assessors import MAIN

    if options.shown:
        chosen = options.shown.split(",")
    elif options.output or options.as_json or not sys.stdout.isatty():
        chosen = names
    else:
        chosen = [name for name in names if name in MAIN]
    for name in chosen:
        if name not in names:
            raise UnknownNameError.among("column", name, names)
    return list(dict.fromkeys(["assessor", *chosen]))


def _screen(crowd: q.Judgements, gold: q.Qrels | None, cut: int, options: Options) -> None:
    """The judgements that are kept to a file; who was left out, and why, to stdout."""
    screened = q.screen(
        crowd,
        options.rules,
        q.Given(gold=gold, known=q.read_assessors(options.known) if options.known else None),
        merge=get(options.merge) if options.merge else None,
        down_weight=options.down_weight,
        gold_rel=cut,
        each=options.each,
    )
    if options.output:
        put(screened.kept, options.output)
        say(f"{len(screened.kept)} of {len(crowd)} judgements kept in {options.output}")
    if options.as_json:
        show_json(screened.to_dict())
    else:
        click.echo(str(screened))


# --- all together ---------------------------------------------------------------------------------


def _show_agreement(crowd: q.Judgements, options: Options) -> None:
    """Coefficients of agreement among assessors."""
    weights: str | list[list[float]] = options.weights
    if "," in options.weights:
        try:
            weights = [[float(cell) for cell in r.split(",")] for r in options.weights.split(";")]
        except ValueError:
            raise UsageError("--weights takes a word, or rows of numbers: '1,.5;.5,1'") from None
    coefficients = q.agreement(
        crowd,
        weights=weights,
        per_topic=options.per_topic,
        level=options.level,
        bootstrap=options.bootstrap,
        resample=options.resample,
        seed=options.seed,
    )
    say(f"{coefficients.compared} of {coefficients.pairs} pairs have two judgements or more")
    say_notes(coefficients.notes)
    show(coefficients.table(), options.output, options.as_json)


def _show_independence(crowd: q.Judgements, options: Options) -> None:
    """The verdict on stderr; couples who agree more than they should, or topics, as a table."""
    from qrowd.aggregation.judgements.ds import DawidSkene

    verdict = q.independence(crowd, DawidSkene(smoothing=1), bound=True, seed=options.seed)
    if options.as_json and not options.output:
        estimate = ("rho", "low", "high", "level", "agreement", "expected", "freedom", "method")
        account = {name: getattr(verdict, name) for name in ("verdict", "together", *estimate)}
        account["by_topic"] = dict(zip(verdict.topics, verdict.by_topic.tolist(), strict=True))
        account["detection"] = asdict(verdict.detection) if verdict.detection else None
        account["couples"] = [asdict(couple) for couple in verdict.couples]
        show_json(account)
        return
    for line in str(verdict).splitlines()[:2]:
        say(line)
    if options.per_topic:
        columns: dict[str, Any] = {"topic": verdict.topics, "rho": verdict.by_topic.tolist()}
    else:
        names = ("one", "other", "shared", "agreement", "expected", "z")
        columns = {name: [getattr(pair, name) for pair in verdict.couples] for name in names}
    show(columns, options.output, options.as_json)


# --- checks on gold, and orders -------------------------------------------------------------------


def _show_checks(gold: q.Qrels | None, options: Options) -> None:
    """How often which workers would pass the checks on gold; or the curves over all thresholds."""
    from qrowd.quality import pass_chances

    if gold is None:
        raise UsageError("--simulate-checks needs the gold sets; name them with --gold")
    chances = pass_chances.simulate_checks(
        gold,
        binary_at_least=options.binary_at_least,
        ndcg_at_least=options.ndcg_at_least,
        accuracy_at_least=options.accuracy_at_least,
        ideal=options.ideal,
        seed=options.seed,
    )
    table = pass_chances.passing_table(chances)
    problems = zip(table["gold"], table["problem"], strict=True)
    for line in dict.fromkeys(f"gold {grades}: {text}" for grades, text in problems if text):
        say(f"warning: {line}")
    curves = {}
    if options.curve or options.figures:
        curves = pass_chances.curves_of(gold, ideal=options.ideal, seed=options.seed)
    shown = pass_chances.curve_table(curves) if options.curve else table
    show(shown, options.output, options.as_json)
    if options.figures:
        from qrowd.reporting.figures import passing

        bounds = {
            "binary": options.binary_at_least,
            "ndcg": options.ndcg_at_least,
            "accuracy": options.accuracy_at_least,
        }
        pictures = {
            f"checks-{at}" if len(curves) > 1 else "checks": passing(
                curve, pass_chances.THRESHOLDS, bounds, grades
            )
            for at, (grades, curve) in enumerate(curves.items(), start=1)
        }
        save_pictures(pictures, options.figures)


def _show_orders(
    ranked: str, files: opt.JudgementFiles, gold: q.Qrels | None, options: Options
) -> None:
    """Whom to trust by rankings and preferences, or how far all agree."""
    crowd = files.read() if files.paths else None
    orders = q.read_orders(ranked)
    if options.agreeing:
        agreement = q.order_agreement(
            orders, level=options.level, bootstrap=options.bootstrap, seed=options.seed
        )
        say(f"{agreement.compared} ballots of {agreement.pairs} pairs")
        show(agreement.table(), options.output, options.as_json)
        return
    table = q.order_checks(orders, gold, crowd, rel=1 if files.rel is None else files.rel)
    rows = {name: column.tolist() for name, column in table.listed().items()}
    show(rows, options.output, options.as_json)
