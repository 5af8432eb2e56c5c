"""`qrowd compare` and `qrowd score`: rankings of systems, and merged labels, against the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import deliver, put, say_notes, show_json
from qrowd.errors import UsageError
from qrowd.io.atomic import write
from qrowd.io.source import stem


@opt.command(old={"--over": "--top-of"})
@opt.files("scores", "SCORES...")
@opt.format
@opt.topics
@opt.leave_out
@opt.input_file("--reference", help="The reference scores, such as those under gold.")
@opt.switch("--systems", help="Instead test the runs of one file of scores against each other.")
@opt.option(
    "--baseline",
    metavar="RUN",
    default="",
    help="With --systems: test every run against this one only.",
)
@opt.measures("Compare this measure only. Repeatable.")
@opt.count(
    "--bootstrap",
    1000,
    "Bootstrap samples of topics for the intervals; 0 for none.",
    least=0,
    most=100_000,
)
@opt.level
@opt.choice(
    "--test",
    choices=("randomisation", "t", "wilcoxon"),
    help="Test between estimates (or systems), paired over topics.",
)
@opt.choice(
    "--correction",
    choices=("holm", "hochberg", "bonferroni", "sidak", "fdr", "by", "none"),
    help="Correction for the number of tests.",
)
@opt.with_default(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    help="Significance level of the marks.",
)
@opt.choice(
    "--top-of",
    choices=("estimate", "reference", "symmetric"),
    help="The ranking whose top tau_AP weighs most.",
)
@opt.choice(
    "--rank-ties",
    choices=("independent", "together"),
    help="How tau_AP breaks ties: in each ranking separately, or alike.",
)
@opt.seed
@opt.output
@opt.switch("--latex", part="out", help="Print LaTeX.")
@opt.as_json
@opt.quiet
def compare(
    scores: tuple[str, ...],
    format: str | None,
    topics: str | None,
    leave_out: str | None,
    reference: str | None,
    systems: bool,
    baseline: str,
    measures: tuple[str, ...],
    bootstrap: int,
    level: float,
    test: str,
    correction: str,
    alpha: float,
    top_of: str,
    rank_ties: str,
    seed: int,
    output: str | None,
    latex: bool,
    as_json: bool,
) -> None:
    """Compare rankings of systems, or the systems.

    SCORES are files that `qrowd evaluate -o` wrote; each is named by its file, or as in
    NAME=FILE. Prints, for each measure, Kendall's tau_a and tau_b, tau_AP, rank-biased overlap,
    Spearman's rho, the RMSE of the systems' means and the largest drop in places, with intervals
    over topics; letters mark which estimates are significantly nearer to the reference than which,
    topic by topic. -o writes one row per figure (or LaTeX, to a name that ends in .tex).

    With --systems: which runs of one file differ by more than the choice of topics explains, by
    paired tests of all pairs of runs, or of each run against --baseline, corrected for their
    number.

    \b
    Examples:
      qrowd compare ds.tsv mv.tsv --reference nist.tsv
      qrowd compare DS=a.tsv AWARE=b.tsv --reference nist.tsv --leave-out train.txt --latex
      qrowd compare --systems nist.tsv -m AP --baseline run01
    """
    if systems == bool(reference):
        raise UsageError("say either --reference FILE or --systems")
    if systems and len(scores) > 1:
        raise UsageError("--systems takes one file of scores, with all runs in it")
    if baseline and not systems:
        raise UsageError("--baseline needs --systems")
    comparison: q.Comparison | q.SystemComparison
    if reference:
        truth = _chosen(q.read_scores(reference), measures)
        comparison = q.compare(
            {name: q.read_scores(file, format=format) for name, file in _named(scores).items()},
            truth,
            topics=opt.kept_topics(truth.topics, topics, leave_out),
            bootstrap=bootstrap,
            level=level,
            test=test,
            correction=correction,
            alpha=alpha,
            over=top_of,
            ties=rank_ties,
            seed=seed,
        )
    else:
        by_run = _chosen(q.read_scores(scores[0], format=format), measures)
        comparison = q.compare_systems(
            by_run[opt.kept_topics(by_run.topics, topics, leave_out)],
            baseline=baseline,
            test=test,
            correction=correction,
            alpha=alpha,
            level=level,
            seed=seed,
        )
    if output and output.endswith(".tex"):
        write(output, comparison.to_latex())
    elif output:
        put(comparison, output)
    if as_json:
        show_json(comparison.to_dict())
    elif latex:
        click.echo(comparison.to_latex(), nl=False)
    elif not output:
        click.echo(str(comparison))


def _named(scores: tuple[str, ...]) -> dict[str, str]:
    """Names of files: as stated, else the file's own, without folders and suffixes."""
    files: dict[str, str] = {}
    for text in scores:
        name, sign, file = text.partition("=")
        if not sign or Path(text).exists():
            name, file = stem(text), text
        if name in files:
            raise UsageError(f"two of the scores are named {name!r}; name them: NAME=FILE")
        files[name] = file
    return files


def _chosen(scores: q.Scores, measures: tuple[str, ...]) -> q.Scores:
    if not measures:
        return scores
    at = [scores.measures.index(scores.measure(name).measures[0]) for name in measures]
    return replace(scores, measures=measures, values=scores.values[at])


# --- labels ---------------------------------------------------------------------------------------


@opt.command()
@opt.file("merged")
@opt.file("gold")
@opt.format
@opt.topics
@opt.rel
@opt.gold_rel
@opt.input_file(
    "--given",
    help="Qrels that the method was given as gold: these pairs are scored separately. Files that "
    "`qrowd merge` wrote tell them already.",
)
@opt.grades
@opt.level
@opt.count("--bins", 10, "Number of bins of the calibration table.")
@opt.output
@opt.switch("--per-topic", part="out", help="Also print one line per topic.")
@opt.switch(
    "--calibration",
    part="out",
    help="Also print how well the probabilities are calibrated: the table of a reliability "
    "diagram, and the parts of the Brier score.",
)
@opt.as_json
@opt.quiet
def score(
    merged: str,
    gold: str,
    format: str | None,
    topics: str | None,
    rel: int | None,
    gold_rel: int | None,
    given: str | None,
    level: float,
    bins: int,
    output: str | None,
    per_topic: bool,
    calibration: bool,
    as_json: bool,
) -> None:
    """Score merged labels against gold.

    MERGED is a file of qrels, or of probabilities as `qrowd merge --probabilities` writes them;
    GOLD is a file of qrels. Only pairs that both have are scored. Pairs whose gold was given to
    the method are scored separately.

    Quantised figures score the most likely grade of each pair; fractional ones count a probability
    p as p of the answer "relevant". -o writes one row per topic.

    \b
    Examples:
      qrowd score merged.qrels nist.qrels
      qrowd score merged.tsv nist.qrels --calibration --per-topic
      qrowd score merged.tsv nist.qrels --gold-rel 2 --json
    """
    from qrowd.comparison.labels import calibration_text, per_topic_text
    from qrowd.io.qrels import read_labels

    labels = read_labels(merged, format=format, **opt.stated("grades"))
    if topics:
        labels = labels[opt.kept_topics(labels.topics, topics)]
    truth = opt.read_qrels(gold)
    seen = opt.read_qrels(given) if given else None
    cut = rel if gold_rel is None else gold_rel
    truth = truth if cut is None else truth.binary(cut)
    labels = labels if rel is None else labels.binary(rel)
    scores = q.score_labels(labels, truth, given=seen, bins=bins, level=level)
    deliver(scores, output, as_json)
    if output and not as_json:
        say_notes(scores.notes)
    elif not as_json:
        if per_topic:
            click.echo(f"\n{per_topic_text(scores)}")
        if calibration:
            click.echo(f"\n{calibration_text(scores.calibration)}")
