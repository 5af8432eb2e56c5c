"""`qrowd evaluate`: scores of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.correction import deliver_corrected, human_options, load_human, measures_for
from qrowd.cli.options import (
    documents_option,
    gold_option,
    json_option,
    load_documents,
    load_gold,
    load_judgements,
    load_qrels,
    load_runs,
    once,
    output_option,
    runs_option,
    seed_option,
)
from qrowd.cli.output import put, say, show, show_json
from qrowd.errors import UsageError
from qrowd.rendering import records

if TYPE_CHECKING:
    from qrowd.aggregation.run_scores import Belief
    from qrowd.comparison.intervals import Intervals
    from qrowd.data.judgements import Judgements
    from qrowd.data.merged import Merged
    from qrowd.data.qrels import Qrels
    from qrowd.data.scores import Scores

_SOURCES = ("--qrels", "--judgements", "--probabilities")


@click.command()
@runs_option
@click.option("--qrels", metavar="FILE", callback=once, help="Score the runs under these qrels.")
@click.option(
    "--judgements",
    multiple=True,
    metavar="FILE",
    callback=once,
    help="Score under each assessor of these judgements (--per-assessor), or under the result of "
    "merging them (--method). Repeatable.",
)
@click.option(
    "--method",
    metavar="SPEC",
    help="Merge the judgements with this method first: ds, hier-bayes, "
    '"ds(max_iter=50)", ... (see `qrowd methods`). --draws uses the method\'s own '
    "posterior draws if it has them.",
)
@gold_option
@documents_option
@click.option("--per-assessor", is_flag=True, help="Give each assessor a score of their own.")
@click.option(
    "--columns",
    metavar="NAMES",
    help="Which columns of the judgements to read; see `qrowd merge ds --help`.",
)
@click.option(
    "--probabilities",
    "--merged",
    metavar="FILE",
    callback=once,
    help="Score under probabilities written by `qrowd merge --probabilities`: expected measures, "
    "or draws with --draws.",
)
@click.option(
    "--draws",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Score under N qrels drawn from the probabilities.",
)
@click.option(
    "--recalibrate",
    metavar="FILE",
    callback=once,
    help="Correct overconfident probabilities with these qrels, which should cover a random sample "
    "of the pairs (--gold-rel makes them binary).",
)
@human_options
@click.option(
    "--informed",
    is_flag=True,
    help="Use the runs' rankings as evidence of relevance besides the votes: better scores when "
    "pairs have few votes (see Uncertainty in the documentation).",
)
@click.option(
    "--unjudged",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="P",
    help="For expected measures: the probability that a document outside the pool is relevant.",
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="AP, nDCG@20, P(rel=2)@10, ... (see `qrowd measures`). Repeatable. "
    "Default: AP and nDCG@20; with --correct and sampled pairs P@10 and "
    "DCG@10.",
)
@click.option(
    "--rel",
    type=click.IntRange(min=0),
    metavar="GRADE",
    help="Relevant from this grade on, for every measure that does not say so itself "
    "(trec_eval's -l); nDCG and other measures with gains stay graded.",
)
@click.option(
    "--topics",
    type=click.Choice(("qrels", "both")),
    default="qrels",
    show_default=True,
    help="Average over all judged topics (a run without a topic scores 0 there), or only over "
    "topics that a run also has.",
)
@click.option(
    "--keep",
    type=click.Choice(("topics", "means")),
    default="topics",
    show_default=True,
    help="Keep the scores of each draw by topic, or only their means.",
)
@click.option(
    "--intervals",
    is_flag=True,
    help="Print intervals of places (under fixed qrels of scores too), and the probability of "
    "being the best run (in JSON also of beating each other run).",
)
@click.option(
    "--over",
    type=click.Choice(("draws", "topics", "both")),
    help="What the intervals cover: draws of relevance, topics (bootstrap), or both. "
    "Default: all that there is.",
)
@click.option(
    "--level", type=float, default=0.9, show_default=True, help="Confidence level of the intervals."
)
@click.option("-q", "--per-topic", is_flag=True, help="Print every topic (files always have them).")
@click.option("--quiet", is_flag=True, help="Print no messages.")
@output_option
@json_option
@seed_option
def command(
    runs: tuple[str, ...],
    run_names: str,
    measures: tuple[str, ...],
    rel: int | None,
    intervals: bool,
    over: str | None,
    level: float,
    per_topic: bool,
    quiet: bool,
    output: str | None,
    as_json: bool,
    **sources: Any,
) -> None:
    """Score runs under qrels, under each assessor, or under uncertain relevance.

    Prints the mean of each run, best first. -o writes every topic (`run topic measure value`), or
    with --intervals the table of intervals.

    \b
    Examples:
      qrowd evaluate --runs 'runs/*.gz' --qrels nist.qrels -m AP -m nDCG@20 -o scores.tsv
      qrowd evaluate --runs 'runs/*.gz' --qrels nist.qrels --rel 2 -m AP -m RR@10
      qrowd evaluate --runs 'runs/*.gz' --judgements crowd.tsv --per-assessor -o each.tsv
      qrowd evaluate --runs 'runs/*.gz' --probabilities merged.tsv -m AP
      qrowd evaluate --runs 'runs/*.gz' --merged merged.tsv --draws 1000 --intervals
      qrowd evaluate --runs 'runs/*.gz' --judgements crowd.tsv --method ds --draws 1000 --intervals
      qrowd evaluate --runs 'runs/*.gz' --judgements llm.tsv --human few.tsv --correct ppi -m P@10
    """
    from qrowd.aggregation.run_scores import score_runs
    from qrowd.evaluation.measure import measures_of

    correct, human = sources["correct"], sources["human"]
    if bool(correct) != bool(human):
        raise UsageError("--human names the labels and --correct how to use them: give both")
    if correct and sources["judgements"] and not sources["per_assessor"]:
        sources["method"] = sources["method"] or "mv"
    if (over or level != 0.9) and not (intervals or correct):
        raise UsageError("--over and --level say what intervals are: they need --intervals")
    _check_sources(**sources)
    ranked = load_runs(runs, run_names)
    if correct:
        known = load_human(human, sources["gold_rel"])
        usual = measures_for(known, correct, sources["sampled"])
        chosen = measures_of(measures or usual, rel=rel)
        source = _source(**sources)
        deliver_corrected(ranked, source, known, chosen, output, as_json, level, **sources)
        return
    chosen = measures_of(measures or ("AP", "nDCG@20"), rel=rel)
    how = {name: sources[name] for name in ("topics", "unjudged", "keep")}
    scores = score_runs(ranked, _source(**sources), chosen, belief=_belief(**sources), **how)
    if intervals:
        from qrowd.comparison.intervals import intervals as intervals_of

        found = intervals_of(scores, over=over, level=level, seed=sources["seed"])
        deliver_intervals(found, output, as_json)
    else:
        deliver_scores(scores, output, as_json, per_topic)
    for note in () if as_json or (intervals and not output) else scores.notes:
        say(f"note: {note}", quiet)


def _check_sources(
    qrels: str | None,
    judgements: tuple[str, ...],
    probabilities: str | None,
    per_assessor: bool,
    method: str | None,
    gold: str | None,
    draws: int | None,
    recalibrate: str | None,
    informed: bool,
    documents: tuple[str, ...],
    vectors: str | None,
    correct: str | None,
    **_: Any,
) -> None:
    """One source of relevance, and only options that say something about it."""
    named = dict(zip(_SOURCES, (qrels, judgements, probabilities), strict=True))
    given = [name for name, value in named.items() if value]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise UsageError(f"runs are scored under one of {', '.join(_SOURCES)}; got {got}")
    beliefs = {"--draws": draws, "--recalibrate": recalibrate, "--informed": informed}
    for name in (name for name, value in beliefs.items() if value):
        if not (probabilities or method):
            raise UsageError(f"{name} needs --probabilities, or --judgements with a --method")
    if (documents or vectors) and not method:
        raise UsageError("--documents and --vectors are for a --method that reads them")
    if (per_assessor or method or gold) and not judgements:
        raise UsageError("--per-assessor, --method and --gold need --judgements")
    if correct and (qrels or draws or recalibrate or informed):
        raise UsageError(
            "--correct needs machine labels (--judgements or --probabilities), none of --draws, "
            "--recalibrate, --informed"
        )
    if bool(judgements) != (per_assessor != bool(method)):
        raise UsageError("judgements are scored --per-assessor, or merged first by a --method")


def _source(
    qrels: str | None,
    judgements: tuple[str, ...],
    columns: str | None,
    per_assessor: bool,
    method: str | None,
    gold: str | None,
    gold_rel: int | None,
    probabilities: str | None,
    documents: tuple[str, ...],
    vectors: str | None,
    without_text: str,
    **_: Any,
) -> Qrels | Judgements | Merged:
    """What the options say to score under."""
    if qrels:
        return load_qrels(qrels)
    if per_assessor:
        return load_judgements(judgements, columns)
    if method:
        from qrowd.aggregation.run_scores import merge_by
        from qrowd.data.given import Given

        rows, known = load_judgements(judgements, columns), load_gold(gold, gold_rel)
        texts = load_documents(rows, known, documents, vectors, without_text)
        if texts:
            given = Given(gold=texts.gold, documents=texts.documents)
            return merge_by(method, texts.judgements, given)
        return merge_by(method, rows, Given(gold=known))
    from qrowd.io.qrels import read_probabilities

    return read_probabilities(str(probabilities))


def _belief(
    recalibrate: str | None,
    gold_rel: int | None,
    informed: bool,
    draws: int | None,
    seed: int,
    **_: Any,
) -> Belief:
    from qrowd.aggregation.run_scores import Belief

    sample = load_gold(recalibrate, gold_rel)
    return Belief(sample=sample, informed=informed, draws=draws or 0, seed=seed)


def deliver_scores(
    scores: Scores, output: str | None, as_json: bool, per_topic: bool = False
) -> None:
    """Scores to a file, as JSON, or for eyes."""
    from qrowd.evaluation.notes import score_table

    if output:
        put(scores, output)
    if as_json:
        from qrowd.data.frames import polars_frame

        topics = polars_frame(scores.file_columns()) if per_topic else None
        rows = records(score_table(scores)) if topics is None else topics.to_dicts()
        about = {"measures": scores.measures, "topics": list(scores.topics)}
        show_json({**about, "scores": rows, "notes": scores.notes})
    elif not output and per_topic:
        put(scores, None)
    elif not output:
        show(score_table(scores))


def deliver_intervals(found: Intervals, output: str | None, as_json: bool) -> None:
    """Intervals to a file, as JSON, or for eyes."""
    if output:
        put(found, output)
    if as_json:
        show_json(found.to_dict())
    elif not output:
        click.echo(str(found))
