"""What a plan's cells are computed from: judgements, gold, runs, and what is real of them."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.budget.votes import Pool
from qrowd.content.similarity import with_text
from qrowd.data.documents import Documents
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.errors import DataWarning, InputError, ScaleError, UnknownNameError, UsageError
from qrowd.evaluation.engine import evaluate, random_scores
from qrowd.experiments.plan import Plan, TopicSet, TopicSets
from qrowd.io.documents import read_documents
from qrowd.io.judgements import read_judgements
from qrowd.io.qrels import read_qrels
from qrowd.io.runs import read_runs
from qrowd.quality.screening import screen
from qrowd.rendering import some_of
from qrowd.simulation.collection import simulate
from qrowd.simulation.trec21 import TOPICS, simulate_pools


@dataclass(frozen=True, eq=False)
class Inputs:
    """The data of a plan. `sources` says of each part whether it is real or simulated."""

    plan: Plan
    crowd: Judgements
    gold: Qrels
    runs: Mapping[str, RunSet]
    sources: Mapping[str, str]
    documents: Documents | None = None

    @property
    def caption(self) -> str:
        """What is real and what is simulated, for the caption of every table."""
        return "; ".join(f"{part}: {source}" for part, source in self.sources.items())

    @cached_property
    def groups(self) -> dict[str, TopicSets]:
        """The groups of topic sets; one of all topics where the plan has none."""
        return dict(self.plan.topics) or {"all": (TopicSet(tuple(self.gold.topics)),)}

    def training(self, topic_set: TopicSet) -> tuple[str, ...]:
        """The topics to learn from: those of the set, or all others that gold and crowd have."""
        shared = self.gold.topics.intersection(self.crowd.topics)
        return topic_set.train or tuple(name for name in shared if name not in topic_set.test)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all data: names and numbers, not the form of the files."""
        crowd, gold = self.crowd, self.gold
        parts = [*_parts_of(crowd.pairs), crowd.assessors, crowd.pair, crowd.assessor, crowd.grade]
        parts += [*_parts_of(gold.pairs), gold.grade]
        if self.documents is not None:
            parts += [self.documents.index, "\n".join(self.documents.text)]
        for name in sorted(self.runs):
            runs = self.runs[name]
            parts += [name, runs.runs, runs.topics, runs.documents, runs.starts, runs.document]
        digest = hashlib.sha256()
        for part in parts:
            text = "\n".join(part.names) if isinstance(part, Index) else part
            content = text.encode() if isinstance(text, str) else np.asarray(text).tobytes()
            digest.update(hashlib.sha256(content).digest())
        return digest.hexdigest()[:16]

    # --- scores that many cells share -------------------------------------------------------------

    @cached_property
    def assessor_scores(self) -> dict[str, Scores]:
        """The scores of every run set under each assessor alone."""
        each = self.crowd.by_assessor()
        return {name: evaluate(runs, each, self.measures) for name, runs in self.runs.items()}

    @cached_property
    def gold_scores(self) -> dict[tuple[str, str], Scores]:
        """The scores under gold, by run set and kind of gold."""
        grid = self.plan.grid
        kinds: dict[str, Qrels | SoftQrels] = {
            "certain": self.gold,
            "random": self.gold.soft(grid.p_rel, grid.p_nonrel),
        }
        return {
            (name, kind): evaluate(runs, kinds[kind], self.measures)
            for name, runs in self.runs.items()
            for kind in {"certain", *grid.gold}
        }

    @cached_property
    def random_assessor_scores(self) -> dict[str, Scores]:
        """The scores under random assessors, by run set."""
        replicates, seed = self.plan.grid.replicates, self.plan.panels.seed
        return {
            name: random_scores(
                runs, self.crowd.pairs, self.measures, replicates=replicates, seed=seed
            )
            for name, runs in self.runs.items()
        }

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures as spec strings."""
        return self.plan.measures

    def prepare(self) -> None:
        """Make what all tasks share, before several threads ask for it."""
        self.gold_scores  # noqa: B018
        cards = [self.plan.method(name).card for name in self.plan.grid.approaches]
        if any(card.level == "scores" for card in cards):
            self.assessor_scores  # noqa: B018
        if any("random" in card.needs for card in cards):
            self.random_assessor_scores  # noqa: B018


def _parts_of(pairs: Pairs) -> list[Any]:
    return [pairs.topics, pairs.documents, pairs.topic, pairs.document]


def load(plan: Plan) -> Inputs:
    """The data that a plan names, or made ones, checked against the plan before anything runs."""
    missing = _missing(plan)
    if missing and not plan.data.made:
        section, key, path = missing
        raise plan.wrong(section, key, f"there is no {path}; name one that is there")
    # real judgements on made runs, or the other way round, would fit nothing: all or none are made
    simulated = missing is not None or not plan.data.gold
    # a crowd with gold for some of its pairs, no runs
    if simulated and plan.data.pools == "trec11":
        crowd = simulate("carpenter", seed=plan.data.seed)
        source = f"SIMULATED like TREC 2011 (the plan's files are not there; seed {plan.data.seed})"
        sources = {"gold": source, "judgements": source}
        inputs = Inputs(plan, crowd.judgements, crowd.gold, {}, sources)
    elif plan.loop.votes:
        inputs = _with_texts(plan, simulated)
    else:
        inputs = _with_runs(plan, simulated)
    if plan.data.screen:
        inputs = _screened(inputs)
    _check(inputs)
    return inputs


def _with_runs(plan: Plan, simulated: bool) -> Inputs:
    """Gold and runs that are read, or made; judgements that are read, or simulated on these."""
    gold, runs, sources = _simulated(plan) if simulated else _read(plan)
    if plan.data.judgements and not simulated:
        crowd = read_judgements(_path(plan, plan.data.judgements))
        sources["judgements"] = f"as in {Path(plan.data.judgements).name}"
    else:
        crowd = simulate_pools(gold, next(iter(runs.values())), plan.data.seed)
        sources["judgements"] = f"SIMULATED pools of TREC 2012 (seed {plan.data.seed})"
    return Inputs(plan, crowd, gold, runs, sources)


def _with_texts(plan: Plan, simulated: bool) -> Inputs:
    """Judgements and gold for votes one by one, and texts, if there are any."""
    if simulated:
        made = simulate(
            topics=20, documents=60, assessors=30, votes=7, text=0.6, seed=plan.data.seed
        )
        source = f"SIMULATED (the plan's files are not there; seed {plan.data.seed})"
        sources = {"judgements": source, "gold": source, "texts": source}
        named = replace(plan, loop=replace(plan.loop, leave_out=()))  # topics of the files
        return _of_topics(named, made.judgements, made.truth, sources, made.documents)
    crowd = read_judgements(_path(plan, plan.data.judgements))
    gold = read_qrels(_path(plan, plan.data.gold))
    gold = gold.binary(plan.data.gold_rel) if plan.data.gold_rel else gold
    files = {"judgements": plan.data.judgements, "gold": plan.data.gold}
    sources = {name: f"as in {Path(file).name}" for name, file in files.items()}
    if plan.data.texts:
        texts = with_text(crowd, read_documents(_path(plan, plan.data.texts)), gold)
        sources["texts"] = f"as in {Path(plan.data.texts).name}"
        assert texts.gold is not None
        assert isinstance(texts.documents, Documents)
        return _of_topics(plan, texts.judgements, texts.gold, sources, texts.documents)
    reading = [name for name in plan.grid.approaches if "documents" in plan.method(name).card.needs]
    kept = tuple(name for name in plan.grid.approaches if name not in reading)
    if not kept:
        raise plan.wrong("data", "texts", f"{', '.join(reading)} read texts; name a file of them")
    if reading:
        sources["texts"] = f"none, so that {', '.join(reading)} are left out"
        names = {name: spec for name, spec in plan.names.items() if name not in reading}
        plan = replace(plan, grid=replace(plan.grid, approaches=kept), names=names)
    return _of_topics(plan, crowd, gold, sources, None)


def _of_topics(
    plan: Plan,
    crowd: Judgements,
    gold: Qrels,
    sources: dict[str, str],
    documents: Documents | None,
) -> Inputs:
    """Without the topics that the plan leaves out, by name or by its rule; they are named."""
    for name in plan.loop.leave_out:
        if name not in crowd.topics:
            message = str(UnknownNameError.among("topic in the judgements", name, crowd.topics))
            raise plan.wrong("loop", "leave_out", message, name)
    crowd = crowd[crowd.topics.without(Index.of(plan.loop.leave_out))]
    kept = Pool.of(crowd, gold, at_least=plan.loop.at_least).judgements.topics
    few = sorted(set(crowd.topics.intersection(gold.topics)).difference(kept))
    left = [*plan.loop.leave_out, *few]
    if left:
        sources["topics"] = f"{len(kept)}, without {', '.join(left)}"
    return Inputs(plan, crowd[kept], gold, {}, sources, documents)


def _screened(inputs: Inputs) -> Inputs:
    """The inputs without those whom the plan's rules doubt; the caption says who they are."""
    try:
        screened = screen(inputs.crowd, list(inputs.plan.data.screen))
    except UsageError as error:
        raise inputs.plan.wrong("data", "screen", str(error)) from None
    names = ", ".join(row.assessor for row in screened.left_out)
    kept = f"{inputs.sources['judgements']} without {names}" if names else ""
    sources = {**inputs.sources, "judgements": kept or inputs.sources["judgements"]}
    return replace(inputs, crowd=screened.kept, sources=sources)


def _read(plan: Plan) -> tuple[Qrels, dict[str, RunSet], dict[str, str]]:
    gold = read_qrels(_path(plan, plan.data.gold))
    gold = gold.binary(plan.data.gold_rel) if plan.data.gold_rel else gold
    runs = {name: read_runs(_path(plan, path)) for name, path in plan.runs.items()}
    named = ", ".join(f"{name} ({len(run_set)} runs)" for name, run_set in runs.items())
    sources = {"runs": f"as in {named}"} if runs else {}
    sources["gold"] = f"as in {Path(plan.data.gold).name}"
    return gold, runs, sources


def _simulated(plan: Plan) -> tuple[Qrels, dict[str, RunSet], dict[str, str]]:
    """A made collection with the plan's topics."""
    halves = [half for sets in plan.topics.values() for topic_set in sets for half in topic_set]
    topics = Index.of(sorted({name for half in halves for name in half}) or TOPICS)
    data = plan.data
    collection = simulate(
        topics=len(topics),
        documents=data.documents,
        runs=data.systems,
        assessors=2,
        votes=1,
        prevalence=0.04,
        depth=min(1000, data.documents),
        seed=data.seed,
    )
    pool = collection.truth.pairs
    gold = Qrels(Pairs(topics, pool.documents, pool.topic, pool.document), collection.truth.grade)
    runs = {next(iter(plan.runs), "made"): replace(collection.runs, topics=topics)}
    source = f"SIMULATED (the plan's files are not there; seed {data.seed})"
    return gold, runs, {"runs": source, "gold": source}


def _missing(plan: Plan) -> tuple[str, str, str] | None:
    """The first file that a plan names and that is not there: section, key, path."""
    named = [("data", "gold", plan.data.gold), ("data", "judgements", plan.data.judgements)]
    named = [file for file in named if file[2]]
    texts = _path(plan, plan.data.texts)
    if plan.data.texts and not texts.exists():  # never made for judgements that are there
        raise plan.wrong("data", "texts", f"there is no {plan.data.texts}; name one that is there")
    named += [("runs", name, path) for name, path in plan.runs.items()]
    for section, key, name in named:
        path = _path(plan, name)
        if not path.exists() and not any(path.parent.glob(path.name)):  # a pattern may match
            return section, key, name
    return None


def _path(plan: Plan, name: str) -> Path:
    """A path of a plan: relative to its folder; variables of the environment are filled in."""
    return Path(plan.folder) / Path(os.path.expandvars(name)).expanduser()


def _tell_gaps(name: str, runs: RunSet, scored: set[str]) -> None:
    """A warning of runs that lack some of the topics on which they are scored."""
    wanted = [at for at, topic in enumerate(runs.topics.names) if topic in scored]
    empty = np.diff(runs.starts).reshape(len(runs.topics), len(runs))[wanted] == 0
    gaps = [
        f"{runs.runs.names[run]} ({', '.join(runs.topics.names[np.array(wanted)[empty[:, run]]])})"
        for run in np.flatnonzero(empty.any(axis=0))
    ]
    if gaps:
        message = f"runs {name}: topics missing from {some_of(gaps, 'run')}: scored 0 there"
        warnings.warn(message, DataWarning, stacklevel=2)


def _check(inputs: Inputs) -> None:
    """An error where the data do not have what the plan asks for."""
    plan, crowd, gold = inputs.plan, inputs.crowd, inputs.gold
    most = max(plan.panels.sizes, default=0)
    if most > len(crowd.assessors):
        message = f"a panel of {most} is larger than the crowd of {len(crowd.assessors)}"
        raise plan.wrong("panels", "sizes", message)
    for group, sets in plan.topics.items():
        for topic_set in sets:
            _check_topics(inputs, group, topic_set)
    for name, runs in inputs.runs.items():
        scored = {topic for sets in inputs.groups.values() for each in sets for topic in each.test}
        missing = sorted(scored.difference(runs.topics))
        if missing:
            message = f"no run has topic{'s' * (len(missing) > 1)} {', '.join(missing)}"
            raise plan.wrong("runs", name, f"{message}; they are scored")
        _tell_gaps(name, runs, scored)
    if not len(gold.topics.intersection(crowd.topics)):
        raise InputError("gold and judgements have no topic in common", file=plan.file)
    if crowd.scale.grades != (0, 1):
        for spec in plan.grid.approaches:
            if plan.method(spec).card.grades == "binary":
                message = f"{spec} takes two grades; the judgements have {crowd.scale}"
                raise plan.wrong("grid", "approaches", message, spec)
    if plan.labels.folds:
        _check_gold(inputs)


def _check_topics(inputs: Inputs, group: str, topic_set: TopicSet) -> None:
    plan, gold, crowd = inputs.plan, inputs.gold.topics, inputs.crowd.topics
    for name in (*topic_set.test, *topic_set.train):
        for source, topics in (("gold", gold), ("judgements", crowd)):
            if name not in topics:
                message = str(UnknownNameError.among(f"topic in the {source}", name, topics))
                raise plan.wrong("topics", group, message, name)
    if not inputs.training(topic_set):
        for spec in plan.grid.approaches:
            if "reference" in plan.method(spec).card.needs:
                message = f"a set has all topics, so that {spec} has none to learn from"
                raise plan.wrong("topics", group, message)


def _check_gold(inputs: Inputs) -> None:
    """Gold that is held out in parts: on the judgements' grades, and enough of it."""
    plan, gold = inputs.plan, inputs.gold
    try:
        inputs.crowd.scale.codes_of_gold(gold.grade, "the judgements")
    except ScaleError:
        message = f"its grades go up to {gold.grade.max()}; the judgements have "
        message += f"{inputs.crowd.scale}: say from which grade on gold is relevant, gold_rel = 1"
        raise plan.wrong("data", "gold", message) from None
    if len(gold) < plan.labels.folds:
        message = f"gold has {len(gold)} pairs, fewer than parts"
        raise plan.wrong("labels", "folds", message)
