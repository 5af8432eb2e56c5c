"""The plan of an experiment: its sections, as they stand in a TOML file.

    [experiment]                        what it is called
    [data]                              where judgements and gold come from, or how they are made
    [runs]                              a name for each set of runs, and its files
    [grid]                              approaches, measures, statistics, kinds of gold
    [names]                             short names of approaches and measures
    [panels]                            how many assessors are merged, how often, which seed
    [topics]                            groups of topic sets: the topics that are scored
    [labels]                            instead of runs, panels and topics: gold that is held out
    [loop]                              instead of all these: votes that are asked for one by one

A topic set is a list of the topics that are scored; approaches learn from gold on all other topics
of the gold, or on `train` where a set is written `{test = [...], train = [...]}`. Without
`[topics]` all topics are one set.

With `[labels]` the merged labels themselves are scored: approaches are given gold on all folds of
the gold's pairs but one, and are scored on that one.

With `[loop]` votes are drawn one by one, merged after each, and the labels so far are scored
(Davtyan, Eickhoff & Hofmann 2015); approaches may read `texts` of documents then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from qrowd import registry
from qrowd.data.merged import Merged
from qrowd.errors import InputError, UnknownNameError, UsageError, require_name
from qrowd.evaluation.measure import measures_of
from qrowd.io.plan_files import PlanText, file_text, line_of, parsed_toml
from qrowd.registry import param, params_of


class TopicSet(NamedTuple):
    """The topics that are scored, and those to learn from (none named: all others of the gold)."""

    test: tuple[str, ...]
    train: tuple[str, ...] = ()


TopicSets = tuple[TopicSet, ...]


@dataclass(frozen=True, kw_only=True)
class About:
    """`[experiment]`: what it is."""

    name: str = param("", "the experiment's name")
    about: str = param("", "what it is after, in a sentence")


@dataclass(frozen=True, kw_only=True)
class Data:
    """`[data]`: judgements and gold; paths are relative to the plan."""

    judgements: str = param("", "a file of judgements; empty: simulated, as `pools` says")
    gold: str = param("", "the qrels that everything is compared with")
    gold_rel: int = param(
        0, "make gold binary: relevant from this grade on; 0: as it is", at_least=0
    )
    texts: str = param("", "the documents' texts, for plans with [loop]")
    pools: str = param(
        "",
        "how judgements are simulated: on gold and runs (trec21), or with their gold (trec11) and "
        "made texts (texts)",
        choices=("", "trec21", "trec11", "texts"),
    )
    made: bool = param(False, "make a collection where the files are not there")
    documents: int = param(1800, "documents of a topic, if it is made", at_least=10)
    systems: int = param(129, "runs of a run set, if it is made", at_least=2)
    seed: int = param(0, "random seed of what is simulated", at_least=0)
    screen: tuple[str, ...] = param((), "screening rules: whom they doubt is left out")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """`[grid]`: what is crossed with what."""

    approaches: tuple[str, ...] = param((), "methods, as spec strings")
    measures: tuple[str, ...] = param(("AP",), "measures, as spec strings")
    statistics: tuple[str, ...] = param(("tau_ap",), "how scores are held against gold's")
    gold: tuple[str, ...] = param(("certain",), "gold as it is, or as random relevance")
    p_rel: float = param(0.95, "random gold: probability of a relevant pair", at_least=0, at_most=1)
    p_nonrel: float = param(0.05, "random gold: probability of another", at_least=0, at_most=1)
    replicates: int = param(100, "random assessors of each kind, for aware-u", at_least=1)


@dataclass(frozen=True, kw_only=True)
class Panels:
    """`[panels]`: who is merged."""

    sizes: tuple[int, ...] = param((), "how many assessors are merged")
    each: int = param(10, "panels of each size", at_least=1)
    seed: int = param(0, "random seed of the panels", at_least=0)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """`[labels]`: which gold is given, which is scored, and how."""

    folds: int = param(
        0, "parts of the gold, each of which is held out in turn; 0: no labels", at_least=0
    )
    answers: tuple[str, ...] = param(("quantised",), "one grade per pair, or its probability too")
    ties: str = param(
        "coin",
        "the grade of pairs with two likeliest ones",
        choices=("coin", "relevant", "nonrelevant"),
    )
    seed: int = param(0, "random seed of the folds", at_least=0)
    gold: str = param(
        "file",
        "what labels are scored against: the gold of [data], or, on its pairs, the majority of the "
        "other approaches",
        choices=("file", "consensus"),
    )


@dataclass(frozen=True, kw_only=True)
class Voting:
    """`[loop]`: how votes are asked for and scored, as `qrowd loop` does it."""

    votes: int = param(0, "votes per document at the end; 0: no loop", at_least=0)
    randomisations: int = param(50, "how often all of it is done again", at_least=1)
    at_least: int = param(
        1, "leave out topics where a judged document has fewer real votes", at_least=1
    )
    leave_out: tuple[str, ...] = param((), "topics to leave out")
    at: float = param(1.0, "votes per document of the table of topics", above=0)
    seed: int = param(0, "random seed of the draws", at_least=0)


SECTIONS: dict[str, type] = {
    "experiment": About,
    "data": Data,
    "grid": Grid,
    "panels": Panels,
    "labels": Labels,
    "loop": Voting,
}


class Soft:
    """`soft(ds)`: a method that merges judgements, its belief taken as random relevance."""

    def __init__(self, method: Any) -> None:
        if method.card.level != "judgements":
            raise UsageError(f"soft({method}): only methods that merge judgements have a belief")
        self.method = method
        self.card = replace(method.card, id=f"soft({method.card.id})")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.method, name)

    def fit(self, *given: Any) -> Merged:
        """What the method says, for expected measures."""
        merged: Merged = self.method.fit(*given)
        return replace(merged, details=replace(merged.details, soft=True))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole plan. `file` is where it was read, for messages; paths are relative to `folder`."""

    experiment: About
    data: Data
    grid: Grid
    panels: Panels
    labels: Labels = Labels()
    loop: Voting = Voting()
    names: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, TopicSets] = field(default_factory=dict)
    text: str = ""
    file: str = "plan"
    folder: str = "."

    @classmethod
    def unpacked(cls, packed: str) -> Plan:
        """The plan that `packed` made a text of."""
        parts = json.loads(packed)
        for name, kind in SECTIONS.items():
            stored = parts.get(name, {})  # a folder of before there was such a section
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
            parts[name] = kind(**values)
        parts["topics"] = {
            name: tuple(TopicSet(tuple(test), tuple(train)) for test, train in sets)
            for name, sets in parts["topics"].items()
        }
        return cls(**parts)

    @property
    def packed(self) -> str:
        """The plan as one text, for files and other processes."""
        return json.dumps(asdict(self), sort_keys=True)

    def wrong(self, section: str, key: str, message: str, item: str = "") -> InputError:
        """The error for a key that cannot be met, at its line, or at that of an item of a list."""
        line = line_of(self.text, section, key)
        lines = self.text.splitlines()
        inside = [at for at in range(line, len(lines) + 1) if item and item in lines[at - 1]]
        where = inside[0] if inside else line
        return InputError(f"[{section}] {key}: {message}", file=self.file, line=where)

    @property
    def legend(self) -> str:
        """What the short names stand for, for captions; with "; " after it."""
        return "".join(f"{name}: {spec}; " for name, spec in self.names.items())

    def method(self, approach: str) -> Any:
        """The method that an approach of the plan is: a spec string, or a short name of one."""
        spec = self.names.get(approach, approach)
        soft = re.fullmatch(r"\s*soft\((.*)\)\s*", spec)
        return Soft(registry.get(soft[1])) if soft else registry.get(spec)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures as spec strings; `grid.measures` may have short names of them."""
        return tuple(self.names.get(name, name) for name in self.grid.measures)

    def only(self, groups: tuple[str, ...]) -> Plan:
        """The plan with these groups of topic sets only; all of them if none is named."""
        for name in groups:
            require_name("group of topic sets", name, self.topics)
        kept = {name: sets for name, sets in self.topics.items() if not groups or name in groups}
        return replace(self, topics=kept)


STATISTICS = ("tau_ap", "tau", "rmse")
RATES = ("accuracy", "recall", "precision", "specificity", "f1", "balanced_accuracy")
FIGURES = (*RATES, "kappa", "lam", "auc", "log_loss", "mse", "rmse", "map", "ndcg")
GOLDS = ("certain", "random")
ANSWERS = ("quantised", "fractional")


def check(plan: Plan) -> None:
    """An error where the plan contradicts itself, or lacks what it needs."""
    _refuse_missing(
        plan,
        (plan.experiment.name, "experiment", "name", "an experiment needs a name"),
        (plan.grid.approaches, "grid", "approaches", 'name at least one, as in "mv"'),
        (plan.data.gold or plan.data.made, "data", "gold", "name the qrels to compare with"),
        (
            plan.data.judgements or plan.data.pools,
            "data",
            "judgements",
            'name a file, or say how they are simulated (pools = "trec21")',
        ),
    )
    if plan.loop.votes:
        _check_loop(plan)
    elif plan.labels == Labels():
        _check_scores(plan)
    else:
        _check_labels(plan)


def _check_scores(plan: Plan) -> None:
    """A plan of panels and runs."""
    _refuse_missing(
        plan,
        (plan.panels.sizes, "panels", "sizes", "name at least one, as in [3, 5]"),
        (plan.runs or plan.data.made, "runs", "", "name at least one set of runs"),
    )
    if plan.data.pools == "trec11":
        raise plan.wrong("data", "pools", "trec11 has no runs: it is for plans with [labels]")
    _refuse_unknown(plan, "grid", "statistics", STATISTICS)
    _refuse_unknown(plan, "grid", "gold", GOLDS)
    if min(plan.panels.sizes) < 1:
        raise plan.wrong("panels", "sizes", "a panel has at least one assessor")
    if len(set(plan.panels.sizes)) < len(plan.panels.sizes):
        raise plan.wrong("panels", "sizes", "a size is there twice")
    _check_approaches(plan)
    try:
        measures_of(plan.measures)
    except UsageError as error:
        raise plan.wrong("grid", "measures", str(error)) from None
    _check_sets(plan)


def _check_labels(plan: Plan) -> None:
    """A plan of labels: no runs, no panels, no topic sets."""
    if plan.labels.folds < 2:
        raise plan.wrong("labels", "folds", "gold must have 2 parts or more, as in folds = 3")
    if plan.data.pools == "trec21" or (plan.data.gold and not plan.data.judgements):
        message = 'name a file, or let gold be made with them (pools = "trec11", made = true)'
        raise plan.wrong("data", "judgements", message)
    _refuse_panels(plan, "labels")
    _refuse_unknown(plan, "grid", "statistics", FIGURES)
    _refuse_unknown(plan, "labels", "answers", ANSWERS)
    if plan.labels.gold == "consensus" and len(plan.grid.approaches) < 3:
        raise plan.wrong("labels", "gold", "the majority of the others takes three approaches")
    _check_approaches(plan)
    for name in plan.grid.approaches:
        if plan.method(name).card.level != "judgements":
            message = f"{name} merges scores, and gives no labels"
            raise plan.wrong("grid", "approaches", message, name)


def _check_loop(plan: Plan) -> None:
    """A plan of votes one by one: no runs, no panels, no topic sets, no held-out gold."""
    _refuse_panels(plan, "loop")
    if plan.labels != Labels():
        raise plan.wrong("labels", "", "a plan has [labels] or [loop]: leave one of them out")
    if plan.loop.at > plan.loop.votes:
        raise plan.wrong("loop", "at", f"a document has {plan.loop.votes} votes at the end")
    _check_approaches(plan)
    for name in plan.grid.approaches:
        if plan.method(name).card.level != "judgements":
            message = f"{name} merges scores, and gives no labels"
            raise plan.wrong("grid", "approaches", message, name)


def _refuse_panels(plan: Plan, section: str) -> None:
    others = {"runs": plan.runs, "panels": plan.panels != Panels(), "topics": plan.topics}
    for other, content in others.items():
        if content:
            raise plan.wrong(other, "", f"a plan with [{section}] scores labels: leave this out")


def _refuse_missing(plan: Plan, *needed: tuple[object, str, str, str]) -> None:
    for content, section, key, message in needed:
        if not content:
            raise plan.wrong(section, key, message)


def _refuse_unknown(plan: Plan, section: str, key: str, allowed: tuple[str, ...]) -> None:
    for name in getattr(getattr(plan, section), key):
        if name not in allowed:
            raise plan.wrong(section, key, str(UnknownNameError.among(key, name, allowed)))


def _check_approaches(plan: Plan) -> None:
    for name in plan.grid.approaches:
        _check_approach(plan, name)
    for name in plan.names:
        if name not in (*plan.grid.approaches, *plan.grid.measures):
            raise plan.wrong("names", name, "no approach or measure of [grid] has this name")
    for key in ("approaches", "statistics", "gold"):
        names = getattr(plan.grid, key)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise plan.wrong("grid", key, f"{twice[0]} is there twice", twice[0])


def _check_approach(plan: Plan, name: str) -> None:
    def wrong(message: str) -> InputError:
        if name in plan.names:
            return plan.wrong("names", name, message)
        return plan.wrong("grid", "approaches", message, name)

    try:
        card = plan.method(name).card
    except UsageError as error:
        raise wrong(str(error)) from None
    there = ("reference", "random", *(("documents",) if plan.loop.votes else ()))
    needs = [need for need in card.needs if need not in there]
    if card.level == "orders" or needs:
        reason = "merges orders" if card.level == "orders" else f"needs {', '.join(needs)}"
        raise wrong(f"{name} {reason}, which an experiment does not have")
    if "reference" in card.needs and not (plan.topics or plan.labels.folds or plan.loop.votes):
        raise wrong(f"{name} learns from gold on other topics; name topic sets in [topics]")


def _check_sets(plan: Plan) -> None:
    for group, sets in plan.topics.items():
        for test, train in sets:
            twice = [name for name in test if test.count(name) > 1]
            if twice:
                raise plan.wrong("topics", group, f"topic {twice[0]} is twice in one set", twice[0])
            both = sorted(set(test) & set(train))
            if both:
                message = f"topic {both[0]} is in both halves of a set: in test and in train"
                raise plan.wrong("topics", group, message, both[0])


def read_plan(path: str | Path) -> Plan:
    """Read a plan file."""
    return replace(parse_plan(file_text(path), str(path)), folder=str(Path(path).resolve().parent))


def parse_plan(text: str, file: str = "plan") -> Plan:
    """A plan from its text; `file` is what messages call it."""
    reader = PlanText(text, file)
    tables = parsed_toml(text, file)
    sections = [*SECTIONS, "names", "runs", "topics"]
    for name, table in tables.items():
        if name not in sections:
            raise reader.error(UnknownNameError.among("section", name, sections), name)
        reader.refuse_value(name, table)
    parts: dict[str, Any] = {
        name: kind(**reader.values(name, tables.get(name, {}), params_of(kind)))
        for name, kind in SECTIONS.items()
    }
    # sections whose keys are free and whose values are texts
    for section, kind in (
        ("names", "a method or measure, as a spec string"),
        ("runs", "a file or a folder"),
    ):
        parts[section] = tables.get(section, {})
        for name, value in parts[section].items():
            if not isinstance(value, str):
                raise reader.error(f"[{section}]: {name} must be {kind}", section, name)
    topics = _topics(tables.get("topics", {}), reader)
    plan = Plan(**parts, topics=topics, text=text, file=file)
    check(plan)
    return plan


def _topics(table: Mapping[str, Any], reader: PlanText) -> dict[str, TopicSets]:
    groups = {}
    for name, listed in table.items():
        sets = [_topic_set(value) for value in listed] if isinstance(listed, list) else []
        groups[name] = tuple(topic_set for topic_set in sets if topic_set is not None)
        if not sets or None in sets:
            message = f"[topics]: {name} must be a list of lists of topics, each topic in quotes"
            raise reader.error(message, "topics", name)
    return groups


def _topic_set(value: Any) -> TopicSet | None:
    """A topic set from a list of topics, or from `{test = [...], train = [...]}`."""
    if isinstance(value, list):
        value = {"test": value}
    if not isinstance(value, dict) or not {"test"} <= set(value) <= {"test", "train"}:
        return None
    halves = [value["test"], value.get("train", [])]
    names = all(isinstance(half, list) and all(isinstance(n, str) for n in half) for half in halves)
    return TopicSet(*(tuple(half) for half in halves)) if names and value["test"] else None
