"""A collection whose truth is known, made by `simulate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrowd.data.arrays import Floats, Grades, Offsets
from qrowd.data.documents import Documents
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.orders import Orders
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scale import Scale
from qrowd.data.topics import Topics
from qrowd.errors import ParameterError, require_name
from qrowd.registry import params_of
from qrowd.simulation import corpus
from qrowd.simulation.carpenter import carpenter
from qrowd.simulation.crowd import Crowd, answers, judged_rows, ranked, sets_of
from qrowd.simulation.setting import KINDS, PRESETS, Setting


@dataclass(frozen=True, eq=False)
class Collection:
    """Topics, documents, runs and a crowd, and the truth about all of them.

    `truth` has every pair of the pool, `gold` the share of what is judged that was asked for (where
    sentences are, `gold` is of them, and `truth` of the documents). `assessors` has
    each one's kind, sensitivity, specificity and accuracy as they are, not as they happened to
    come out; `confusion[assessor, true, said]` is behind them. `quality` is the signal of each run,
    `difficulty` how misleading each pair is (the lower, the more). `orders` are the same assessors'
    rankings of sets, `topics` and `documents` have made text, where these were asked for.
    """

    setting: Setting
    judgements: Judgements
    truth: Qrels
    gold: Qrels
    runs: RunSet
    assessors: AssessorTable
    confusion: Floats
    quality: Floats
    difficulty: Floats
    orders: Orders | None = None
    topics: Topics | None = None
    documents: Documents | None = None

    def __repr__(self) -> str:
        return f"Collection({self.judgements!r}, {self.runs!r})"


def simulate(preset: str | Setting = Setting(), /, **changes: Any) -> Collection:  # noqa: B008
    """A collection with known truth: `simulate(topics=10, votes=3, seed=7)`.

    Starts from a `Setting`, or from the name of a preset (`demo`, `graded`, `panel`,
    `carpenter`), and changes the parameters that are named. The same setting gives the same
    collection.

    >>> import qrowd as q
    >>> q.simulate(topics=5, documents=40, assessors=9, votes=3, seed=1).judgements
    Judgements(600 judgements of 200 pairs in 5 topics by 9 assessors; grades 0 1 (relevant from 1))
    """
    setting = _changed(preset, changes)
    if setting.model == "carpenter":
        return _like_carpenter(setting)
    if setting.sentences and (setting.orders or setting.text is not None or setting.grades > 2):
        raise ParameterError("simulate: sentences have two grades, and neither orders nor text")
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(setting.seed).spawn(6)]
    strength, grade = corpus.relevance(setting, streams[0])
    # signals evenly spaced from worst to best, in random order
    quality = streams[1].permutation(np.linspace(setting.worst, setting.best, setting.runs))
    retrieved, scores = corpus.rankings(setting, strength, quality, streams[1])
    pool = corpus.pooled(setting, retrieved)
    topics, documents = _names(setting)
    topic, position = (codes.astype(np.int32) for codes in np.nonzero(pool))
    pairs = Pairs(topics, documents, topic, topic * np.int32(setting.documents) + position)
    crowd = Crowd.of(setting, streams[2])
    truth = Qrels(pairs, grade[pool])
    judged = corpus.sentences(setting, truth, streams[5]) if setting.sentences else truth
    pairs = judged.pairs
    difficulty = streams[3].standard_normal(len(pairs))
    sets = sets_of(pairs, setting.size, streams[4]) if setting.orders else None
    pair, assessor = judged_rows(setting, crowd, pairs, sets, streams[3])
    twice = streams[3].random(len(pair)) < setting.again
    pair, assessor = np.append(pair, pair[twice]), np.append(assessor, assessor[twice])
    rows = (pair, assessor)
    answer, seconds, time = answers(
        crowd, rows, judged.grade, difficulty, setting.difficulty, streams[3]
    )
    judgements = Judgements(
        pairs,
        _numbered("a", setting.assessors),
        Scale(tuple(range(setting.grades))),
        pair.astype(np.int32),
        assessor,
        answer,
        seconds=seconds if setting.timed else None,
        time=time if setting.timed else None,
    )
    orders = None
    if sets is not None:
        orders = ranked(setting, judgements, crowd.kind, sets, strength[pool], streams[4])
    topic_texts, document_texts = corpus.texts(setting, topics, documents, grade, streams[5])
    return Collection(
        setting=setting,
        judgements=judgements,
        truth=truth,
        gold=judged.select(streams[3].random(len(pairs)) < setting.gold),
        runs=_runs(setting, topics, documents, retrieved, scores),
        assessors=_table(crowd, judged.grade),
        confusion=crowd.confusion,
        quality=quality,
        difficulty=difficulty,
        orders=orders,
        topics=topic_texts,
        documents=document_texts,
    )


def _like_carpenter(setting: Setting) -> Collection:
    """No runs, two grades, no difficulty: what Carpenter's model has and nothing else."""
    if setting.orders or setting.text is not None or setting.sentences:
        raise ParameterError("simulate: model=carpenter has neither orders, text nor sentences")
    if setting.grades != 2 or setting.runs or setting.difficulty or setting.timed:
        raise ParameterError(
            "simulate: model=carpenter has two grades and no runs, difficulty or times; "
            f"got grades={setting.grades}, runs={setting.runs}, "
            f"difficulty={setting.difficulty:g}, timed={setting.timed}"
        )
    drawn = carpenter(setting, np.random.default_rng(setting.seed))
    depth = int(drawn.position.max()) + 1
    topics, documents = _names(replace(setting, documents=depth))
    pairs = Pairs(topics, documents, drawn.topic, drawn.topic * np.int32(depth) + drawn.position)
    truth = Qrels(pairs, drawn.grade)
    names = _numbered("a", setting.assessors)
    right = np.diagonal(drawn.confusion, axis1=1, axis2=2)
    share = np.bincount(drawn.grade, minlength=2) / len(drawn.grade)
    columns = {
        "kind": np.array(drawn.kind, object),
        "sensitivity": right[:, 1],
        "specificity": right[:, 0],
        "accuracy": right @ share,
    }
    pair, scale = drawn.pair.astype(np.int32), Scale((0, 1))
    return Collection(
        setting=setting,
        judgements=Judgements(pairs, names, scale, pair, drawn.assessor, drawn.answer),
        truth=truth,
        gold=truth.select(drawn.gold),
        runs=RunSet.of([], [], [], []),
        assessors=AssessorTable(names, columns),
        confusion=drawn.confusion,
        quality=np.zeros(0),
        difficulty=np.zeros(len(pairs)),
    )


def _changed(preset: str | Setting, changes: Mapping[str, Any]) -> Setting:
    if isinstance(preset, str):
        require_name("preset", preset, PRESETS)
        preset = PRESETS[preset]
    names = [parameter.name for parameter in params_of(Setting)]
    for name in changes:
        require_name("parameter of simulate", name, names)
    return replace(preset, **changes)


def _names(setting: Setting) -> tuple[Index, Index]:
    topics, documents = _numbered("t", setting.topics), _numbered("-d", setting.documents)
    return topics, Index((topics.names[:, None] + documents.names[None, :]).ravel())


def _numbered(letter: str, n: int) -> Index:
    """Names like t01, t02, ...: sorted as their numbers are."""
    width = max(2, len(str(n)))
    return Index(np.array([f"{letter}{at:0{width}d}" for at in range(1, n + 1)], object))


def _runs(
    setting: Setting, topics: Index, documents: Index, retrieved: Offsets, scores: Floats
) -> RunSet:
    run, topic, _ = np.indices(retrieved.shape, dtype=np.int32)
    document = topic * np.int32(setting.documents) + retrieved.astype(np.int32)
    codes = (run.ravel(), topic.ravel(), document.ravel())
    names = (_numbered("run", setting.runs), topics, documents)
    return RunSet.from_codes(names, codes, scores.ravel())


def _table(crowd: Crowd, truth: Grades) -> AssessorTable:
    grades = crowd.confusion.shape[1]
    share = np.bincount(truth, minlength=grades) / max(len(truth), 1)
    yes = crowd.confusion[:, :, 1:].sum(axis=2)
    relevant = share[1:] / max(share[1:].sum(), 1e-300)
    columns = {
        "kind": np.array(KINDS, dtype=object)[crowd.kind],
        "sensitivity": yes[:, 1:] @ relevant,
        "specificity": 1 - yes[:, 0],
        "accuracy": np.diagonal(crowd.confusion, axis1=1, axis2=2) @ share,
        "pace": crowd.pace,
    }
    return AssessorTable(_numbered("a", len(crowd.kind)), columns)
