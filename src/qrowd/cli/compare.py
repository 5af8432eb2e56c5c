"""`qrowd compare` and `qrowd score`: rankings of systems, and merged labels, against the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.evaluate import labels_unknown
from qrowd.cli.output import deliver, put, say_notes, show, show_json
from qrowd.errors import UsageError
from qrowd.io.atomic import write
from qrowd.io.source import stem
from qrowd.rendering import table_of

_OF_FILES_OF_SCORES = (
    *("format", "topics", "leave_out", "reference", "bootstrap", "test", "correction", "alpha"),
    *("top_of", "rank_ties", "latex"),
)
_RANKINGS = ("estimate", "reference", "symmetric")


@dataclass(frozen=True)
class HumanLabels:
    """The options of human labels that systems are compared by."""

    judgements: tuple[str, ...]
    method: str | None
    human: str | None
    sampled: str | None
    gold_rel: int | None
    labels_needed: float | None
    topics_needed: float | None
    over: str | None

    def check(self, scores: tuple[str, ...], systems: bool, runs: bool, baseline: str) -> None:
        """Human labels correct scores under machine labels, which files of scores do not have."""
        if not self.human:
            options = ("judgements", "method", "sampled", "gold_rel", "labels_needed")
            for name in (*options, "topics_needed", "over"):
                if getattr(self, name):
                    raise UsageError(f"--{name.replace('_', '-')} needs --human")
            if runs:
                raise UsageError("--runs needs --human; without it, name a file of scores")
            return
        if scores:
            raise UsageError(
                "--human cannot correct files of scores: name --runs and --judgements instead"
            )
        if not (systems and runs and self.judgements):
            raise UsageError("--human needs --systems, --runs and --judgements")
        opt.refuse_stated(_OF_FILES_OF_SCORES, "is for files of scores, not for --human")
        if not baseline and self.topics_needed:
            raise UsageError("--topics-needed needs --baseline")
        if self.over and self.labels_needed:
            raise UsageError("labels cannot replace topics: --labels-needed or --over topics")

    def corrected(
        self, systems: q.RunSet, measures: tuple[str, ...], level: float, seed: int
    ) -> tuple[q.Corrected, q.Unjudged]:
        """Corrected scores, and what nobody judged."""
        from qrowd.aggregation.run_scores import merge_by

        crowd = opt.JudgementFiles(self.judgements, None, None, None).read()
        machine = merge_by(self.method or "mv", crowd, q.Given())
        human = opt.read_human(str(self.human), self.gold_rel)
        chosen = measures or ("P@10", "AP", "nDCG@10")
        found = opt.corrected(
            str(self.human),
            human,
            systems,
            machine,
            chosen,
            sampled=self.sampled,
            over=self.over or "pool",
            level=level,
            seed=seed,
        )
        return found, opt.unjudged(systems, machine, human, chosen)


@opt.command(old={f"--over {word}": f"--top-of {word}" for word in _RANKINGS})
@opt.files("scores", "[SCORES...]", required=False)
@opt.format
@opt.topics
@opt.leave_out
@opt.input_file("--reference", help="The reference scores, such as those under gold.")
@opt.switch(
    "--systems",
    help="Instead test the runs of one file of scores against each other; or compare --runs by "
    "--judgements and --human labels.",
)
@opt.option(
    "--baseline",
    metavar="RUN",
    default="",
    help="With --systems: compare every run with this one only.",
)
@opt.runs_if_any
@opt.input_file(
    "--judgements",
    multiple=True,
    help="With --systems and --human: the machines' judgements. Repeatable.",
)
@opt.method(help="How the judgements are merged first.  [default: mv]")
@opt.human
@opt.gold_rel
@opt.option(
    "--topics-needed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="D",
    help="With --human and --baseline: also print how many topics would show a difference of D "
    "with power .8.",
)
@opt.option(
    "--over",
    type=click.Choice(("topics",)),
    help="With --human: intervals for more topics like these, instead of for this pool.",
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
    choices=_RANKINGS,
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
@opt.bundled("labels", HumanLabels)
def compare(
    scores: tuple[str, ...],
    labels: HumanLabels,
    runs: opt.RunFiles,
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
    number. With --human, runs are compared by machine labels that human ones correct: scores and
    places with intervals, or with --baseline the difference of each run with its interval, topics
    won and lost, the topics that moved most with their documents; and unjudged documents, with how
    much they could raise a run's score at most.

    \b
    Examples:
      qrowd compare ds.tsv mv.tsv --reference nist.tsv
      qrowd compare DS=a.tsv AWARE=b.tsv --reference nist.tsv --leave-out train.txt --latex
      qrowd compare --systems nist.tsv -m AP --baseline run01
      qrowd compare --systems --runs 'runs/*' --judgements llm.tsv --human few.tsv --baseline run01
    """
    labels.check(scores, systems, bool(runs), baseline)
    if labels.human:
        found, missing = labels.corrected(runs.read(), measures, level, seed)
        _by_human_labels(found, missing, runs, labels, baseline, output, as_json)
        return
    if not scores:
        raise UsageError("name a file of scores, as `qrowd evaluate -o` writes it")
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


def _by_human_labels(
    corrected: q.Corrected,
    missing: q.Unjudged,
    runs: opt.RunFiles,
    labels: HumanLabels,
    baseline: str,
    output: str | None,
    as_json: bool,
) -> None:
    """Corrected scores, or each run against the baseline."""
    result: q.Corrected | q.Contrast = corrected
    needed: dict[str, dict[str, int]] = {}
    if baseline:
        contrast = result = q.against(corrected, runs.read(), baseline)
        if labels.topics_needed:
            needed["topics_needed"] = contrast.topics_needed(labels.topics_needed)
    if labels.labels_needed:
        needed["labels_needed"] = result.labels_needed(labels.labels_needed)
    deliver(result, output, as_json, unjudged=missing.to_polars().to_dicts(), **needed)
    if as_json:
        return
    lines = [] if output else ["", str(missing)]
    said = {
        "labels_needed": (
            f"{'differences' if baseline else 'scores'} within {labels.labels_needed} to each side "
            f"need {{}} human labels ({corrected.labels} now)",
            labels_unknown(corrected),
        ),
        "topics_needed": (
            f"a difference of {labels.topics_needed} is shown with power .8 by about {{}} topics",
            "how many topics are needed is unknown, there is one only",
        ),
    }
    for name, by_measure in needed.items():
        what, unknown = said[name]
        lines += [
            f"{measure}: {what.format(by_measure[measure]) if measure in by_measure else unknown}"
            for measure in corrected.measures
        ]
    for line in lines:
        click.echo(line, err=bool(output))


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
@opt.option(
    "--by",
    metavar="COLUMN",
    part="in",
    help="MERGED has labels of several teams, and this column says whose each is, as in --by team: "
    "a row for each of them. Labels from 0 to 1; with a column rank (and set), MAP and NDCG are of "
    "the teams' own ranks.",
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
    by: str | None,
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
      qrowd score teams.tsv nist.qrels --by team
    """
    from qrowd.comparison.labels import calibration_text, per_topic_text
    from qrowd.io.qrels import read_labels

    if by is not None:
        if topics or given or per_topic or calibration:
            raise UsageError("--by has one row for each team: no --topics, --given, --per-topic")
        cut = rel if gold_rel is None else gold_rel
        truth = opt.read_qrels(gold).binary(1 if cut is None else cut)
        rows = q.score_teams(q.read_teams(merged, by), truth)
        show(table_of(rows), output, as_json)
        nothing = [row["team"] for row in rows if not row["pairs"]]
        if nothing:
            say_notes([f"no label on any pair of the gold: {', '.join(nothing)}"])
        return
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
