"""The plan of an experiment: its sections, as they stand in a TOML file.

    [experiment]                        what it is called
    [data]                              where judgements and gold come from, or how they are made
    [runs]                              a name for each set of runs, and its files
    [grid]                              approaches, measures, statistics, kinds of gold
    [names]                             short names of approaches
    [panels]                            how many assessors are merged, how often, which seed
    [topics]                            groups of topic sets: the topics that are scored
    [labels]                            instead of runs, panels and topics: gold that is held out

A topic set is a list of the topics that are scored; approaches learn from gold on all other topics
of the gold, or on `train` where a set is written `{test = [...], train = [...]}`. Without
`[topics]` all topics are one set.

With `[labels]` the merged labels themselves are scored: approaches are given gold on all folds of
the gold's pairs but one, and are scored on that one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from qrowd import registry
from qrowd.errors import InputError, UnknownNameError
from qrowd.io.plan_files import line_of
from qrowd.registry import param


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
    pools: str = param(
        "",
        "how judgements are simulated: on gold and runs (trec21), or with their gold (trec11)",
        choices=("", "trec21", "trec11"),
    )
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


SECTIONS: dict[str, type] = {
    "experiment": About,
    "data": Data,
    "grid": Grid,
    "panels": Panels,
    "labels": Labels,
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole plan. `file` is where it was read, for messages; paths are relative to `folder`."""

    experiment: About
    data: Data
    grid: Grid
    panels: Panels
    labels: Labels = Labels()
    names: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, TopicSets] = field(default_factory=dict)
    text: str = ""
    file: str = "plan"
    folder: str = "."

    @classmethod
    def unpacked(cls, packed: str) -> Plan:
        """The plan that `packed` made a text of."""
        found = json.loads(packed)
        for name, kind in SECTIONS.items():
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

    def spec(self, approach: str) -> str:
        """The spec string of an approach that may have a short name."""
        return self.names.get(approach, approach)

    @property
    def legend(self) -> str:
        """What the short names stand for, for captions; with "; " after it."""
        return "".join(f"{name}: {spec}; " for name, spec in self.names.items())

    def method(self, approach: str) -> Any:
        """The method that an approach of the plan is."""
        return registry.get(self.spec(approach))

    def only(self, groups: tuple[str, ...]) -> Plan:
        """The plan with these groups of topic sets only; all of them if none is named."""
        for name in groups:
            if name not in self.topics:
                raise UnknownNameError.among("group of topic sets", name, self.topics)
        kept = {name: sets for name, sets in self.topics.items() if not groups or name in groups}
        return replace(self, topics=kept)
