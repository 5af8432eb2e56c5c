"""`merge` and `evaluate` in one line: of nouns, or of paths, data frames and dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from qrowd import registry
from qrowd.data.given import Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels, QrelsSet, SoftQrels, SoftQrelsSet
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.errors import UsageError
from qrowd.evaluation import engine
from qrowd.evaluation.measure import Measure, measures_of
from qrowd.io.judgements import ONE_TOPIC, read_judgements
from qrowd.io.qrels import read_qrels, read_subtopics
from qrowd.io.runs import read_runs


def merge(
    judgements: Judgements | str | Path | Any,
    method: str | Any = "auto",
    *,
    gold: Any = None,
    **reading: Any,
) -> Merged:
    """Judgements merged by a method, in one line: `merge("crowd.tsv", "ds", gold="nist.qrels")`.

    Judgements and gold are nouns, paths, data frames or dictionaries; `method` is a spec, the name
    of its class, or a value (`q.DawidSkene(max_iter=50)`). `reading` is what `read_judgements`
    takes: `grades={"good": 1, "bad": 0}`, `columns=...`.

    >>> import polars as pl, qrowd as q
    >>> frame = pl.DataFrame(
    ...     {"task": ["t1", "t1", "t2"], "worker": ["w1", "w2", "w1"], "label": [1, 1, 0]}
    ... )
    >>> q.merge(frame, "mv").qrels().grade.tolist()
    [1, 0]
    """
    if _is_noun(judgements) and reading:
        raise UsageError(f"{', '.join(reading)} says how files are read; these are judgements")
    crowd: Any = judgements if _is_noun(judgements) else read_judgements(judgements, **reading)
    trusted: Any = gold
    if gold is not None and not _is_noun(gold):
        words = crowd.scale.words or reading.get("grades")
        if type(gold).__name__ == "Series":  # of pandas, as crowd-kit has gold: labels by task
            gold = gold.rename("label").rename_axis("task").reset_index()
        if list(crowd.topics) == [ONE_TOPIC]:  # tasks have no topics
            import polars as pl

            if isinstance(gold, Mapping) and not any(isinstance(v, Mapping) for v in gold.values()):
                gold = pl.DataFrame({"doc": list(gold), "grade": list(gold.values())})
            if hasattr(gold, "assign"):
                gold = gold.assign(topic=ONE_TOPIC)
            elif hasattr(gold, "with_columns"):
                gold = gold.with_columns(topic=pl.lit(ONE_TOPIC))
        trusted = read_qrels(gold, grades=words)
    if not isinstance(trusted, Qrels | None):
        raise UsageError(f"gold must be qrels, got {type(trusted).__name__}")
    wanted = registry.get(method) if isinstance(method, str) else method
    if not hasattr(wanted, "card"):
        raise UsageError(f"expected a method or its name, got {method!r}; see `qrowd methods`")
    if wanted.card.level != "judgements":
        level = wanted.card.level
        raise UsageError(f"{wanted!r} merges {level}, not judgements; see `qrowd methods`")
    merged: Merged = wanted.fit(crowd, Given(gold=trusted))
    return merged


def evaluate(
    runs: RunSet | str | Path | Any,
    relevance: Qrels | SoftQrels | QrelsSet | SoftQrelsSet | Merged | str | Path | Any,
    measures: Measure | str | Iterable[Measure | str],
    *,
    rel: int | None = None,
    topics: str = "qrels",
    unjudged: float = 0.0,
    keep: str = "topics",
) -> Scores:
    """The scores of all runs under certain relevance, random relevance, or many assessors or draws.

    Runs and qrels are nouns, paths (`"runs/*.gz"`), data frames or dictionaries. `measures` are
    values (`q.AP`, `q.nDCG @ 20`) or strings, `rel` the lowest relevant grade of those that do not
    say it. A `QrelsSet` gives the scores its axis; `SoftQrels` gives expected measures, with p =
    `unjudged` for documents outside the pool, a `SoftQrelsSet` (`crowd.by_assessor().soft(.95,
    .05)`) expected measures along that axis; a `Merged` counts as its hard qrels, or as soft ones
    where its method means them so (`binmv`). All topics of the judgements count; a run without one
    scores 0 there (`topics='both'`: is left out there). `keep='means'` keeps only means over
    topics, for thousands of draws.

    >>> import qrowd as q
    >>> runs = {"bm25": {"q1": {"d1": 2.5, "d2": 1}}}
    >>> scores = q.evaluate(runs, {"q1": {"d2": 1}}, ["RR", "P@1"])
    >>> scores["RR"]["bm25"]
    {'q1': 0.5}
    """
    chosen = measures_of(measures, rel=rel)
    systems: Any = runs if _is_noun(runs) else read_runs(runs)
    labels: Any = relevance
    if not _is_noun(relevance):
        by_subtopic = any(measure.of_subtopics for measure in chosen)
        labels = read_subtopics(relevance) if by_subtopic else read_qrels(relevance)
    return engine.evaluate(systems, labels, chosen, topics=topics, unjudged=unjudged, keep=keep)


def _is_noun(value: Any) -> bool:
    """Whether this is one of ours; what is of the wrong kind is told by who takes it."""
    return type(value).__module__.startswith("qrowd.")
