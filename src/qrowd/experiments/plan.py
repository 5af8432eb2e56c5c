"""The plan of an experiment: TOML in, a `Plan` out; every complaint names the line.

    [experiment]                        what it is called
    [data]                              where judgements and gold come from, or how they are made
    [runs]                              a name for each set of runs, and its files
    [grid]                              approaches, measures, statistics, kinds of gold
    [panels]                            how many assessors are merged, how often, which seed
    [topics]                            groups of topic sets: the topics that are scored

A topic set is a list of the topics that are scored; approaches learn from gold on all other topics
of the gold, or on `train` where a set is written `{test = [...], train = [...]}`. Without
`[topics]` all topics are one set.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from qrowd import registry
from qrowd.collection.plan_reading import line_of
from qrowd.errors import FormatError, InputError, ParameterError, UnknownNameError, UsageError
from qrowd.evaluation.measure import measures_of
from qrowd.registry import param, params_of

STATISTICS = ("tau_ap", "tau", "rmse")
GOLDS = ("certain", "random")


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
    pools: str = param("", "how judgements are simulated on gold and runs", choices=("", "trec21"))
    made: bool = param(False, "make a collection where the files are not there")
    documents: int = param(1800, "documents of a topic, if it is made", at_least=10)
    systems: int = param(129, "runs of a run set, if it is made", at_least=2)
    seed: int = param(0, "random seed of what is simulated", at_least=0)


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


_SECTIONS: dict[str, type] = {"experiment": About, "data": Data, "grid": Grid, "panels": Panels}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole plan. `file` is where it was read, for messages; paths are relative to `folder`."""

    experiment: About
    data: Data
    grid: Grid
    panels: Panels
    runs: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, TopicSets] = field(default_factory=dict)
    text: str = ""
    file: str = "plan"
    folder: str = "."

    @classmethod
    def unpacked(cls, packed: str) -> Plan:
        """The plan that `packed` made a text of."""
        found = json.loads(packed)
        for name, kind in _SECTIONS.items():
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in found[name].items()}
            found[name] = kind(**values)
        found["topics"] = {
            name: tuple(TopicSet(tuple(test), tuple(train)) for test, train in sets)
            for name, sets in found["topics"].items()
        }
        return cls(**found)

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

    def only(self, groups: tuple[str, ...]) -> Plan:
        """The plan with these groups of topic sets only; all of them if none is named."""
        for name in groups:
            if name not in self.topics:
                raise UnknownNameError.among("group of topic sets", name, self.topics)
        kept = {name: sets for name, sets in self.topics.items() if not groups or name in groups}
        return replace(self, topics=kept)


def read_plan(path: str | Path) -> Plan:
    """Read a plan file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise FormatError("is not text in UTF-8", file=str(path)) from None
    return replace(parse_plan(text, str(path)), folder=str(Path(path).resolve().parent))


def parse_plan(text: str, file: str = "plan") -> Plan:
    """A plan from its text; `file` is what messages call it."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        at = int(line.group(1)) if line else text.count("\n") + 1
        raise FormatError(f"is not TOML: {error}", file=file, line=at) from None
    known = [*_SECTIONS, "runs", "topics"]
    for name, table in found.items():
        if name not in known:
            _refuse(text, file, UnknownNameError.among("section", name, known), name)
        if not isinstance(table, dict):
            _refuse(text, file, f"{name} must be a section, [{name}]", name)
    parts: dict[str, Any] = {
        name: _section(name, kind, found.get(name, {}), text, file)
        for name, kind in _SECTIONS.items()
    }
    plan = Plan(
        **parts,
        runs=_runs(found.get("runs", {}), text, file),
        topics=_topics(found.get("topics", {}), text, file),
        text=text,
        file=file,
    )
    _check(plan)
    return plan


def _refuse(text: str, file: str, message: object, section: str, key: str = "") -> NoReturn:
    raise InputError(str(message), file=file, line=line_of(text, section, key))


def _section(name: str, kind: type, table: Mapping[str, Any], text: str, file: str) -> Any:
    known = {one.name: one for one in params_of(kind)}
    values = {}
    for key, value in table.items():
        if key not in known:
            _refuse(text, file, UnknownNameError.among(f"key of [{name}]", key, known), name, key)
        given = tuple(value) if isinstance(value, list) else value
        try:
            values[key] = known[key].check(given, f"[{name}]")
        except ParameterError as error:
            _refuse(text, file, error, name, key)
    return kind(**values)


def _runs(table: Mapping[str, Any], text: str, file: str) -> dict[str, str]:
    for name, value in table.items():
        if not isinstance(value, str):
            _refuse(text, file, f"[runs]: {name} must be a file or a folder", "runs", name)
    return dict(table)


def _topics(table: Mapping[str, Any], text: str, file: str) -> dict[str, TopicSets]:
    groups = {}
    for name, sets in table.items():
        found = [_topic_set(one) for one in sets] if isinstance(sets, list) else []
        kept = tuple(one for one in found if one is not None)
        if not found or len(kept) < len(found):
            message = f"[topics]: {name} must be a list of lists of topics, each topic in quotes"
            _refuse(text, file, message, "topics", name)
        groups[name] = kept
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


def _check(plan: Plan) -> None:
    """What one look at the plan alone can tell."""
    grid, panels = plan.grid, plan.panels
    needed = (
        (plan.experiment.name, "experiment", "name", "an experiment needs a name"),
        (grid.approaches, "grid", "approaches", "name at least one, as in \"mv\""),
        (panels.sizes, "panels", "sizes", "name at least one, as in [3, 5]"),
        (plan.runs or plan.data.made, "runs", "", "name at least one set of runs"),
        (plan.data.gold or plan.data.made, "data", "gold", "name the qrels to compare with"),
        (plan.data.judgements or plan.data.pools, "data", "judgements",
         "name a file, or say how they are simulated (pools = \"trec21\")"),
    )  # fmt: skip
    for there, section, key, message in needed:
        if not there:
            raise plan.wrong(section, key, message)
    for key, allowed in (("statistics", STATISTICS), ("gold", GOLDS)):
        for name in getattr(grid, key):
            if name not in allowed:
                raise plan.wrong("grid", key, str(UnknownNameError.among(key, name, allowed)))
    if min(panels.sizes) < 1:
        raise plan.wrong("panels", "sizes", "a panel has at least one assessor")
    _check_specs(plan)
    _check_sets(plan)


def _check_specs(plan: Plan) -> None:
    for spec in plan.grid.approaches:
        try:
            card = registry.get(spec).card
        except UsageError as error:
            raise plan.wrong("grid", "approaches", str(error), spec) from None
        needs = [need for need in card.needs if need not in ("reference", "random")]
        if card.level == "orders" or needs:
            what = "merges orders" if card.level == "orders" else f"needs {', '.join(needs)}"
            message = f"{spec} {what}, which an experiment does not have"
            raise plan.wrong("grid", "approaches", message, spec)
        if "reference" in card.needs and not plan.topics:
            message = f"{spec} learns from gold on other topics; name topic sets in [topics]"
            raise plan.wrong("grid", "approaches", message, spec)
    try:
        measures_of(plan.grid.measures)
    except UsageError as error:
        raise plan.wrong("grid", "measures", str(error)) from None
    for key in ("approaches", "statistics", "gold"):
        names = getattr(plan.grid, key)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise plan.wrong("grid", key, f"{twice[0]} is there twice", twice[0])
    if len(set(plan.panels.sizes)) < len(plan.panels.sizes):
        raise plan.wrong("panels", "sizes", "a size is there twice")


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
