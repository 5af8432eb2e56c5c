"""`qrowd evaluate`: scores of runs, and with --correct scores that a few human labels correct."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import deliver, put, say_notes, show, show_json
from qrowd.errors import InputError, UsageError
from qrowd.rendering import records

if TYPE_CHECKING:
    from qrowd.aggregation.run_scores import Belief


_OF_PLAIN_SCORES = ("intervals", "per_topic", "average", "keep", "unjudged")


@dataclass(frozen=True)
class Relevance:
    """The options that say under which relevance runs are scored."""

    qrels: str | None
    judgements: tuple[str, ...]
    columns: str | None
    format: str | None
    topics: str | None
    per_assessor: bool
    method: str | None
    gold: opt.GoldFile
    documents: opt.DocumentFiles
    probabilities: str | None
    draws: int | None
    recalibrate: str | None
    informed: bool
    worklist: tuple[str, ...]
    pairs: str | None
    depth: int

    def check(self, correcting: bool) -> None:
        """One source of relevance, and only options that say something about it."""
        sources = {
            "--qrels": self.qrels,
            "--judgements": self.judgements,
            "--probabilities": self.probabilities,
        }
        named = [name for name, value in sources.items() if value]
        if len(named) != 1:
            got = " and ".join(named) or "none"
            raise UsageError(f"runs are scored under one of {', '.join(sources)}; got {got}")
        beliefs = {
            "--draws": self.draws,
            "--recalibrate": self.recalibrate,
            "--informed": self.informed,
        }
        for name in (name for name, value in beliefs.items() if value):
            if not (self.probabilities or self.method):
                raise UsageError(f"{name} needs --probabilities, or --judgements with a --method")
        if self.worklist and not self.method:
            raise UsageError("--worklist is about --judgements that are merged by a --method")
        if self.documents and not self.method:
            raise UsageError("--documents and --vectors are for a --method that reads them")
        if (self.per_assessor or self.method or self.gold.path) and not self.judgements:
            raise UsageError("--per-assessor, --method and --gold need --judgements")
        if correcting and (self.qrels or any(beliefs.values())):
            raise UsageError(
                "--human needs machine labels (--judgements or --probabilities), none of "
                "--draws, --recalibrate, --informed"
            )
        if bool(self.judgements) != (self.per_assessor != bool(self.method)):
            raise UsageError("judgements are scored --per-assessor, or merged first by a --method")

    def crowd(self) -> q.Judgements | None:
        """The judgements, if there are any."""
        if not self.judgements:
            return None
        return opt.JudgementFiles(
            self.judgements, self.columns, self.format, self.topics, worklist=self.worklist
        ).read()

    def pool(self, systems: q.RunSet) -> q.Pairs:
        """What lists of `qrowd next` were drawn from, beside what is judged."""
        return q.read_pairs(self.pairs) if self.pairs else systems.pool(self.depth)

    def read(self, crowd: q.Judgements | None) -> q.Qrels | q.Judgements | q.Merged:
        """What the options say to score under, on the topics of --topics only."""
        if crowd is None:
            labels: q.Qrels | q.Merged = (
                opt.read_qrels(self.qrels, self.format)
                if self.qrels
                else q.read_probabilities(str(self.probabilities), format=self.format)
            )
            return labels[opt.kept_topics(labels.topics, self.topics)] if self.topics else labels
        if not self.method:
            return crowd
        from qrowd.aggregation.run_scores import merge_by

        trusted = self.gold.read()
        texts = self.documents.read(crowd, trusted)
        if texts:
            given = q.Given(gold=texts.gold, documents=texts.documents)
            return merge_by(self.method, texts.judgements, given)
        return merge_by(self.method, crowd, q.Given(gold=trusted))

    def belief(self, seed: int) -> Belief:
        """How far probabilities are believed."""
        from qrowd.aggregation.run_scores import Belief

        sample = opt.GoldFile(self.recalibrate, self.gold.rel).read()
        return Belief(sample=sample, informed=self.informed, draws=self.draws or 0, seed=seed)


@dataclass(frozen=True)
class Correction:
    """The options of human labels that correct scores under machine labels."""

    human: str | None
    correct: str | None
    sampled: str | None
    quantiles: str
    labels_needed: float | None


@opt.command(old={"--topics qrels": "--average qrels", "--topics both": "--average both"})
@opt.runs
@opt.input_file("--qrels", help="Score the runs under these qrels.")
@opt.input_file(
    "--judgements",
    multiple=True,
    help="Score under each assessor of these judgements (--per-assessor), or under the result of "
    "merging them (--method). Repeatable.",
)
@opt.method(
    help="Merge the judgements with this method first: ds, hier-bayes, "
    '"ds(max_iter=50)", ... (see `qrowd methods`). --draws uses the method\'s own '
    "posterior draws if it has them.",
)
@opt.gold
@opt.documents
@opt.columns
@opt.rows
@opt.format
@opt.topics
@opt.rel
@opt.worklist
@opt.input_file(
    "--pairs",
    help="With --worklist: the pool that the lists were drawn from, as `qrowd next --pairs` had "
    "it.  [default: what the runs have among their first --depth]",
)
@opt.count("--depth", 100, "With --worklist and without --pairs: as `qrowd next --depth` had it.")
@opt.switch("--per-assessor", help="Give each assessor a score of their own.")
@opt.input_file(
    "--probabilities",
    "--merged",
    help="Score under probabilities written by `qrowd merge --probabilities`: expected measures, "
    "or draws with --draws.",
)
@opt.option(
    "--draws",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Score under N qrels drawn from the probabilities.",
)
@opt.input_file(
    "--recalibrate",
    help="Correct overconfident probabilities with these qrels, which should cover a random sample "
    "of the pairs (--gold-rel makes them binary).",
)
@opt.human
@opt.option(
    "--correct",
    type=click.Choice(("ppi", "recalibrate", "rg")),
    help="How --human labels correct the scores under machine labels: prediction-powered "
    "inference, recalibrated labels, or Rogan and Gladen's formula (P only).  [default: ppi]",
)
@opt.choice(
    "--quantiles",
    choices=("t", "bootstrap"),
    help="Where the intervals of --correct ppi end: at Student's quantiles, or at those of a "
    "bootstrap.",
)
@opt.switch(
    "--informed",
    help="Use the runs' rankings as evidence of relevance besides the votes: better scores when "
    "pairs have few votes (see Uncertainty in the documentation).",
)
@opt.option(
    "--unjudged",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="P",
    help="For expected measures: the probability that a document outside the pool is relevant.",
)
@opt.measures(
    "AP, nDCG@20, P(rel=2)@10, ... (see `qrowd measures`); trec_eval's names and lists of "
    "cutoffs (P_5,10) too; -m official and -m all_trec print as trec_eval does. Repeatable. "
    "Default: AP and nDCG@20; with --human and sampled pairs P@10, AP and nDCG@10."
)
@opt.choice(
    "--average",
    choices=("qrels", "both"),
    help="Average over all judged topics (a run without a topic scores 0 there), or only over "
    "topics that a run also has.",
)
@opt.choice(
    "--keep",
    choices=("topics", "means"),
    help="Keep the scores of each draw by topic, or only their means.",
)
@opt.switch(
    "--intervals",
    help="Print intervals of places (under fixed qrels of scores too), and the probability of "
    "being the best run (in JSON also of beating each other run).",
)
@opt.option(
    "--over",
    type=click.Choice(("draws", "topics", "both")),
    help="What the intervals cover: draws of relevance, topics (bootstrap), or both. "
    "Default: all that there is. With --human only topics: intervals for more topics like these, "
    "else for this pool.",
)
@opt.input_file(
    "--leave-out-runs",
    help="With --qrels: score each group's runs without the judged pairs that only they brought "
    "into the pool. A table with run and group: what would a new system lose under these qrels?",
)
@opt.count("--pool-depth", 100, "With --leave-out-runs: how many documents of a run were pooled.")
@opt.level
@opt.seed
@opt.output
@opt.switch(
    "-q",
    "--per-topic",
    part="out",
    help="Print every topic (files always have them). The letter is trec_eval's; in all other "
    "commands -q is --quiet.",
)
@opt.as_json
@opt.quiet_in_full
@opt.bundled("relevance", Relevance)
@opt.bundled("correction", Correction)
def command(
    runs: opt.RunFiles,
    relevance: Relevance,
    correction: Correction,
    unjudged: float,
    measures: tuple[str, ...],
    rel: int | None,
    average: str,
    keep: str,
    intervals: bool,
    over: str | None,
    leave_out_runs: str | None,
    pool_depth: int,
    level: float,
    per_topic: bool,
    output: str | None,
    as_json: bool,
    seed: int,
) -> None:
    """Score runs under qrels or uncertain relevance.

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
      qrowd evaluate --runs 'runs/*.gz' --judgements llm.tsv --human few.tsv -m AP -m nDCG@10
      qrowd evaluate --runs 'runs/*.gz' --judgements llm.tsv --human few.tsv --over topics
      qrowd evaluate --runs 'runs/*.gz' --qrels nist.qrels --leave-out-runs groups.tsv
      qrowd evaluate --runs 'runs/*.gz' --judgements crowd.tsv --method mv \\
          --worklist next.tsv -m P@10
    """
    from qrowd.aggregation.run_scores import score_runs
    from qrowd.evaluation.measure import measures_of
    from qrowd.evaluation.trec_eval import NICKNAMES, printed

    correcting = bool(correction.human)
    if correction.correct and not correcting:
        raise UsageError("--correct says how to use human labels: name them with --human")
    if correcting and relevance.judgements and not relevance.per_assessor:
        relevance = replace(relevance, method=relevance.method or "mv")
    if (over or level != 0.9) and not (intervals or correcting or relevance.worklist):
        raise UsageError("--over and --level say what intervals are: they need --intervals")
    relevance.check(correcting)
    if leave_out_runs and not relevance.qrels:
        raise UsageError("--leave-out-runs needs --qrels")
    if leave_out_runs:
        opt.refuse_stated((*_OF_PLAIN_SCORES, "over"), "does not go with --leave-out-runs")
    else:
        opt.refuse_stated(("pool_depth",), "needs --leave-out-runs")
    if correcting:
        opt.refuse_stated(_OF_PLAIN_SCORES, "does not go with --human")
        if over not in (None, "topics"):
            raise UsageError(f"--human has intervals for this pool, or --over topics; got {over}")
        if over and correction.labels_needed:
            raise UsageError("labels cannot replace topics: --labels-needed or --over topics")
    systems = runs.read()
    if leave_out_runs:
        labels = relevance.read(None)
        assert isinstance(labels, q.Qrels)
        groups = q.read_groups(leave_out_runs)
        chosen = measures_of(measures or ("AP", "nDCG@10"), rel=rel)
        try:
            found = q.leave_out_runs(systems, labels, groups, chosen, depth=pool_depth)
        except InputError as error:
            raise error if error.file else error.at(leave_out_runs) from None
        deliver(found, output, as_json)
        return
    if correcting:
        corrected = _corrected(
            systems, relevance, correction, measures, rel, over or "pool", level, seed
        )
        _deliver_corrected(corrected, correction.labels_needed, output, as_json)
        return
    crowd = relevance.crowd()
    if crowd is not None and crowd.choice is not None and crowd.choice.decides and relevance.method:
        crowd = crowd.with_pool(relevance.pool(systems))
        labels = relevance.read(crowd)
        assert isinstance(labels, q.Merged)
        chosen = measures_of(measures or ("P@10", "DCG@10"), rel=rel)
        estimated = q.uniform_scores(systems, crowd, labels, chosen, level=level)
        _deliver_corrected(estimated, correction.labels_needed, output, as_json)
        return
    chosen = measures_of(measures or ("AP", "nDCG@20"), rel=rel)
    of_subtopics = relevance.qrels and any(measure.of_subtopics for measure in chosen)
    scores = score_runs(
        systems,
        q.read_subtopics(str(relevance.qrels)) if of_subtopics else relevance.read(crowd),
        chosen,
        belief=relevance.belief(seed),
        topics=average,
        unjudged=unjudged,
        keep=keep,
    )
    if intervals:
        deliver(q.intervals(scores, over=over, level=level, seed=seed), output, as_json)
    elif NICKNAMES.keys() & set(measures) and not (output or as_json):
        for line in printed(scores, measures, per_topic, rel):
            click.echo(line)
    else:
        deliver_scores(scores, output, as_json, per_topic)
    if not as_json and (output or not intervals):  # which say it themselves
        say_notes(scores.notes)


def deliver_scores(
    scores: q.Scores, output: str | None, as_json: bool, per_topic: bool = False
) -> None:
    """Scores to a file, as JSON, or for eyes."""
    from qrowd.data.frames import polars_frame
    from qrowd.evaluation.notes import score_table

    if output:
        put(scores, output)
    if as_json:
        if per_topic:
            rows = polars_frame(scores.file_columns()).to_dicts()
        else:
            rows = records(score_table(scores))
        about = {"measures": scores.measures, "topics": list(scores.topics)}
        show_json({**about, "scores": rows, "notes": scores.notes})
    elif not output and per_topic:
        put(scores, None)
    elif not output:
        show(score_table(scores))


# --- corrected by human labels --------------------------------------------------------------------


def _corrected(
    systems: q.RunSet,
    relevance: Relevance,
    correction: Correction,
    measures: tuple[str, ...],
    rel: int | None,
    over: str,
    level: float,
    seed: int,
) -> q.Corrected:
    from qrowd.evaluation.measure import measures_of

    human = opt.read_human(str(correction.human), relevance.gold.rel)
    # what these labels can correct
    if (correction.sampled or getattr(human, "by", "")) == "topic":
        usual: tuple[str, ...] = ("AP", "nDCG@20")
    else:
        usual = ("P@10",) if correction.correct == "rg" else ("P@10", "AP", "nDCG@10")
    chosen = measures_of(measures or usual, rel=rel)
    machine = relevance.read(relevance.crowd())
    assert not isinstance(machine, q.Qrels)  # which `check` refuses
    return opt.corrected(
        str(correction.human),
        human,
        systems,
        machine,
        chosen,
        method=correction.correct or "ppi",
        sampled=correction.sampled,
        over=over,
        level=level,
        quantiles=correction.quantiles,
        seed=seed,
    )


def _deliver_corrected(
    corrected: q.Corrected, half_width: float | None, output: str | None, as_json: bool
) -> None:
    """Corrected scores to a file, as JSON, or for eyes; and how many labels are needed."""
    needed = corrected.labels_needed(half_width) if half_width else {}
    deliver(corrected, output, as_json, labels_needed=needed)
    if as_json:
        return
    if output:
        say_notes(corrected.notes)
    for name in corrected.measures if half_width else ():
        if name in needed:
            line = (
                f"{name}: for intervals of at most {half_width:g} to each side a human must judge "
                f"{needed[name]} {corrected.unit}s ({corrected.labels} now)"
            )
        else:
            line = f"{name}: {labels_unknown(corrected)}"
        click.echo(line, err=bool(output))


def labels_unknown(corrected: q.Corrected) -> str:
    """What is said where `labels_needed` has no number."""
    if corrected.labels >= corrected.size:
        return f"no more human labels are needed, all {corrected.unit}s are judged"
    return "how many human labels are needed is unknown, there is no interval"
