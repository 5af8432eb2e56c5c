"""Scores of all runs under all columns of a set of qrels, at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.index import Index, Pairs
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels, QrelsSet, SoftQrels, SoftQrelsSet
from qrowd.data.runs import RunSet
from qrowd.data.sample import refuse_scores
from qrowd.data.scale import BINARY
from qrowd.data.scores import MEAN, Scores, after_topics, before_topics
from qrowd.errors import InputError, ParameterError, UsageError
from qrowd.evaluation.measure import Measure, measures_of
from qrowd.evaluation.notes import Findings, expected_notes, notes_of, provenance_notes
from qrowd.evaluation.relevance import Certain, Random, Ranked, Rankings
from qrowd.kernel import in_blocks

WIDTH = 32  # columns that are scored together
TOPICS = ("qrels", "both")
KEEP = ("topics", "means")
CHANCES = (0.05, 0.5, 0.95)  # of random assessors, the yardstick of u-AWARE


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be scored: the rankings of every topic that counts."""

    runs: RunSet
    pool: Pairs
    measures: tuple[Measure, ...]
    both: bool

    def scores(
        self, values: Floats, axis: str, columns: Index, notes: tuple[str, ...], means: bool = False
    ) -> Scores:
        """The values with their names; `means`: they are means over topics."""
        topics = Index.of([MEAN]) if means else self.topics
        notes += (f"means over {len(self.topics)} topics",) * means
        names = tuple(map(repr, self.measures))
        return Scores(names, axis, columns, topics, self.runs.runs, values, notes)

    @cached_property
    def topics(self) -> Index:
        """The topics with pairs in the pool; with `both`, those that a run has too."""
        topics = Index(self.pool.topics.names[np.diff(self.pool.topic_starts) > 0])
        shared = topics.intersection(self.runs.topics)
        if len(shared) == 0:
            raise InputError(
                "the runs and the judgements have no topic in common; do their topic names match?"
                if len(topics)
                else "there are no judged topics to score runs on"
            )
        return shared if self.both else topics

    @cached_property
    def in_pool(self) -> Codes:
        """The pool's code of each topic."""
        return self.pool.topics.find(self.topics)

    @property
    def rankings(self) -> Iterator[tuple[int, Ranked]]:
        """The pool's code of each topic, with its rankings."""
        return zip(self.in_pool.tolist(), self.ranked, strict=True)

    @cached_property
    def in_runs(self) -> Codes:
        """The runs' code of each topic; -1 where no run has it."""
        return self.runs.topics.find(self.topics)

    @cached_property
    def ranked(self) -> list[Ranked]:
        """The rankings of each topic."""
        rankings = Rankings(self.runs, self.pool)
        cases = list(zip(self.in_runs.tolist(), self.in_pool.tolist(), strict=True))
        made = in_blocks(
            lambda lo, hi: [rankings.of_topic(*case) for case in cases[lo:hi]], len(cases)
        )
        return [ranked for block in made for ranked in block]

    @cached_property
    def missing(self) -> Mask:
        """Which run lacks which topic: [topics, runs]."""
        return np.array([ranked.lengths == 0 for ranked in self.ranked])


def evaluate(
    runs: RunSet,
    relevance: Qrels | SoftQrels | QrelsSet | SoftQrelsSet | Merged,
    measures: Measure | str | Iterable[Measure | str],
    *,
    topics: str = "qrels",
    unjudged: float = 0.0,
    keep: str = "topics",
) -> Scores:
    """The scores of all runs under certain relevance, random relevance, or many assessors or draws.

    `measures` are values (`q.AP`, `q.nDCG @ 20`) or strings. A `QrelsSet` gives the scores its
    axis; `SoftQrels` gives expected measures, with p = `unjudged` for documents outside the pool, a
    `SoftQrelsSet` (`crowd.by_assessor().soft(.95, .05)`) expected measures along that axis; a
    `Merged` counts as its hard qrels, or as soft ones where its method means them so (`binmv`).
    All topics of the judgements count; a run without one scores 0 there (`topics='both'`: is left
    out there). `keep='means'` keeps only means over topics, for thousands of draws.
    """
    if isinstance(relevance, Merged):
        relevance = relevance.relevance()
    _check_kinds(runs, relevance)
    _check(topics, keep, unjudged, relevance)
    if isinstance(relevance, Qrels | SoftQrels):
        relevance.scale.require_order("relevance")
    labels = relevance.hard if isinstance(relevance, SoftQrelsSet) else relevance
    if labels.provenance is not None:
        refuse_scores(labels.provenance.chosen)
    chosen = measures_of(measures)
    task = Task(runs, relevance.pairs, chosen, topics == "both")
    if any(measure.of_subtopics for measure in chosen):
        scores = _of_subtopics(task, relevance)
    elif isinstance(relevance, SoftQrels):
        scores = _expected(task, relevance, unjudged)
    elif isinstance(relevance, SoftQrelsSet):
        scores = _expected_each(task, relevance, unjudged)
    else:
        many = QrelsSet.of_qrels(relevance) if isinstance(relevance, Qrels) else relevance
        scores = _certain(task, many, keep == "means")
    scores = replace(scores, notes=(*provenance_notes(labels.provenance, runs), *scores.notes))
    return scores if keep == "topics" or scores.averaged else scores.averages()


def _check_kinds(runs: object, relevance: object) -> None:
    """An error that says what to write where an argument is of another kind."""
    if not isinstance(runs, RunSet):
        got = type(runs).__name__
        raise UsageError(f"evaluate takes runs first, got {got}; qrowd.read_runs(...) reads them")
    if not isinstance(relevance, Qrels | SoftQrels | QrelsSet | SoftQrelsSet):
        got = type(relevance).__name__
        how = "qrowd.read_qrels(...) reads them; of judgements write judgements.by_assessor()"
        raise UsageError(f"evaluate takes qrels after the runs, got {got}; {how}")


def _check(
    topics: str, keep: str, unjudged: float, relevance: Qrels | SoftQrels | QrelsSet | SoftQrelsSet
) -> None:
    for name, value, choices in (("topics", topics, TOPICS), ("keep", keep, KEEP)):
        if value not in choices:
            raise ParameterError(f"evaluate: {name} must be one of {choices}, got {value!r}")
    if not 0 <= unjudged <= 1:
        raise ParameterError(f"evaluate: unjudged must lie between 0 and 1, got {unjudged}")
    if unjudged and not isinstance(relevance, (SoftQrels, SoftQrelsSet)):
        raise UsageError("unjudged is a probability: it needs soft qrels, as merged.soft() gives")


def random_scores(
    runs: RunSet,
    pool: Pairs,
    measures: Sequence[Measure | str],
    *,
    chances: Sequence[float] = CHANCES,
    replicates: int = 100,
    seed: int = 0,
) -> Scores:
    """The scores of all runs under random assessors who judge the whole pool without looking.

    An assessor of chance p calls each pair relevant with probability p; there are `replicates` of
    each chance, in columns named `chance:replicate`. Made once, and shared by all panels:

        Given(random=random_scores(runs, gold.pairs, measures))
    """
    if replicates < 1 or not all(0 <= chance <= 1 for chance in chances):
        raise ParameterError(
            f"random_scores needs chances in [0, 1] and at least one replicate, "
            f"got {tuple(chances)} and {replicates}"
        )
    names = [f"{chance:g}:{i:04d}" for chance in sorted(chances) for i in range(replicates)]
    random = np.random.default_rng(seed)
    grades = np.empty((len(pool), len(names)), np.int8)
    for column, chance in enumerate(np.repeat(sorted(chances), replicates)):
        grades[:, column] = random.random(len(pool)) < chance
    drawn = QrelsSet.of_draws(pool, grades)
    return evaluate(runs, replace(drawn, axis="random", columns=Index.of(names)), measures)


# --- certain relevance: one or many columns -------------------------------------------------------


def _certain(task: Task, many: QrelsSet, means: bool) -> Scores:
    task.ranked  # noqa: B018  made here, not inside the threads that use it
    findings = Findings.none(task.measures, len(many), len(task.topics))
    values = (_averaged if means else _each_topic)(task, many, findings)
    notes = (*many.notes, *notes_of(task, many.axis, findings))
    return task.scores(values, many.axis, many.columns, notes, means)


def _blocks(many: QrelsSet) -> list[tuple[int, int]]:
    return [(lo, min(lo + WIDTH, len(many))) for lo in range(0, len(many), WIDTH)]


def _each_topic(task: Task, many: QrelsSet, findings: Findings) -> Floats:
    values = np.empty((len(task.measures), len(many), len(task.topics), len(task.runs)))
    cells = [(topic, block) for topic in range(len(task.topics)) for block in _blocks(many)]

    def work(first: int, last: int) -> None:
        for topic, (lo, hi) in cells[first:last]:
            values[:, lo:hi, topic, :] = _score(task, many, topic, lo, hi, findings)

    in_blocks(work, len(cells), blocks=64)
    return values


def _averaged(task: Task, many: QrelsSet, findings: Findings) -> Floats:
    """Means over topics, added in the order of topics, for one block of columns after another."""
    shape = (len(task.measures), len(many), 1, len(task.runs))
    total, count = np.zeros(shape), np.zeros(shape)
    blocks, how = _blocks(many), [measure.card.over_topics for measure in task.measures]

    def work(first: int, last: int) -> None:
        for lo, hi in blocks[first:last]:
            for topic in range(len(task.topics)):
                values = _score(task, many, topic, lo, hi, findings)
                values = np.array([before_topics(*each) for each in zip(how, values, strict=True)])
                defined = ~np.isnan(values)
                total[:, lo:hi, 0] += np.where(defined, values, 0.0)
                count[:, lo:hi, 0] += defined

    in_blocks(work, len(blocks), blocks=len(blocks))
    return np.array([after_topics(*each) for each in zip(how, total, count, strict=True)])


def _score(task: Task, many: QrelsSet, topic: int, lo: int, hi: int, findings: Findings) -> Floats:
    """values[measures, columns lo..hi, runs] of one topic; adds to `findings` on the way."""
    grades = np.array(many.block(int(task.in_pool[topic]), lo, hi), order="C")  # writable
    case = Certain(task.ranked[topic], grades)
    values = np.array([measure.under(case).T for measure in task.measures])
    values[:, case.nothing] = np.nan
    if task.both:
        values[:, :, task.missing[topic]] = np.nan
    findings.see(topic, lo, hi, case)
    return values


def _of_subtopics(task: Task, relevance: object) -> Scores:
    """Scores under all subtopics of each topic at once."""
    if not (isinstance(relevance, QrelsSet) and relevance.axis == "subtopic"):
        named = next(measure for measure in task.measures if measure.of_subtopics)
        raise UsageError(f"{named!r} needs qrels by subtopic: qrowd.read_subtopics(...) reads them")
    if plain := [measure for measure in task.measures if not measure.of_subtopics]:
        raise UsageError(f"{plain[0]!r} is not of subtopics; score it by itself, under plain qrels")
    findings = Findings.none(task.measures, 1, len(task.topics))
    values = np.empty((len(task.measures), 1, len(task.topics), len(task.runs)))
    for topic, (code, ranked) in enumerate(zip(task.in_pool, task.ranked, strict=True)):
        case = Certain(ranked, np.array(relevance.block(int(code), 0, len(relevance)), order="C"))
        values[:, 0, topic] = [measure.score(case)[:, 0] for measure in task.measures]
        findings.see(topic, 0, 1, Certain(ranked, case.grades.max(axis=1, keepdims=True)))
    if task.both:
        values[:, 0, task.missing] = np.nan
    return task.scores(values, "", Index.of(["-"]), notes_of(task, "", findings))


# --- random relevance -----------------------------------------------------------------------------


def _expected(task: Task, soft: SoftQrels, unjudged: float) -> Scores:
    starts = soft.pairs.topic_starts[:-1], soft.pairs.topic_starts[1:]
    first, last = (edge[task.in_pool] for edge in starts)
    cases = [
        Random(ranked, soft.scale, soft.p[lo:hi], unjudged)
        for ranked, lo, hi in zip(task.ranked, first, last, strict=True)
    ]
    values = _under_all(task, [cases])
    return task.scores(values, "", Index.of(["-"]), expected_notes(task, [cases], unjudged))


def _expected_each(task: Task, many: SoftQrelsSet, unjudged: float) -> Scores:
    """Expected scores along the axis; a column that has judged nothing on a topic is NaN there."""
    cases = []
    for column in range(len(many)):
        blocks = [many.block(int(topic), column) for topic in task.in_pool]
        cases.append(
            [
                Random(ranked.within(judged), BINARY, p, unjudged)
                for ranked, (judged, p) in zip(task.ranked, blocks, strict=True)
            ]
        )
    values = _under_all(task, cases)
    nothing = np.array([[len(case.p) == 0 for case in of_column] for of_column in cases])
    values[:, nothing] = np.nan
    axis = many.hard.axis
    notes = (*many.hard.notes, *expected_notes(task, cases, unjudged, axis))
    return task.scores(values, axis, many.hard.columns, notes)


def _under_all(task: Task, cases: list[list[Random]]) -> Floats:
    """values[measures, columns, topics, runs] of cases[columns][topics]."""
    values = np.empty((len(task.measures), len(cases), len(task.topics), len(task.runs)))
    cells = [(column, topic) for column in range(len(cases)) for topic in range(len(task.topics))]

    def work(lo: int, hi: int) -> None:
        for column, topic in cells[lo:hi]:
            for at, measure in enumerate(task.measures):
                values[at, column, topic] = measure.under(cases[column][topic])

    in_blocks(work, len(cells))
    if task.both:
        values[:, :, task.missing] = np.nan
    return values
