"""Runs, and scores of runs, from files and frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Codes, Floats, Mask, refuse_rows
from qrowd.data.index import Index
from qrowd.data.runs import RunSet
from qrowd.data.scores import ALL, MEAN, Scores
from qrowd.errors import FormatError, InputError, require_choice
from qrowd.io.columns import Reading, Wanted, tables
from qrowd.io.origin import Origin, located, say
from qrowd.io.records import strict_rows
from qrowd.io.source import stem
from qrowd.io.table import Table, coded, encoded, say_what_is_odd, short, stacked

if TYPE_CHECKING:
    import polars as pl

RUNS = Wanted(
    "runs",
    needed=("topic", "doc", "score"),
    optional=("run", "rank"),
    plain=("topic", "Q0", "doc", "rank", "score", "run"),
    shorter=("topic", "doc", "rank"),  # MS MARCO's
    instead={"score": ("rank",)},
)
NAMES = ("auto", "tag", "file")
AXES = ("assessor", "draw")
_FEW = 5  # tags, of which somebody is told
_MANY = 10  # lines of a run
SCORES = Wanted("scores", needed=("run", "topic", "measure", "value"), optional=AXES)
CORRECTED = Wanted("scores", needed=("run", "measure", "value", "human_low"))


def read_runs(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    names: str = "auto",
    format: str | None = None,
) -> RunSet:
    """Runs from TREC's six columns (one or many per file, many files), a table or a data frame.

    Without scores, as in MS MARCO's three columns (topic, document, rank), ranks give the order.

    A run's name is its tag (`names="tag"`), or the name of its file (`names="file"`). By default it
    is the tag, but files that share a tag are named after the file, with a warning.
    """
    require_choice("names", names, NAMES)
    parts = tables(source, RUNS, Reading(format=format))
    scores = np.concatenate(
        [table.numbers("score") if "score" in table else -table.numbers("rank") for table in parts]
    )
    runs, run = encoded(stacked(parts, "run", _named_by_file(parts, names)))
    (topics, documents), (topic, document) = coded(parts, "topic", "doc")
    by_rank = np.repeat(["score" not in table for table in parts], [len(table) for table in parts])
    origins = [table.origin for table in parts]
    say_what_is_odd(origins[0].name, runs=runs, topics=topics, documents=documents)
    _say_of_lone_tags(origins[0].name, runs, run)
    del parts  # millions of strings
    with located(origins):
        if by_rank.any():
            _refuse_equal_ranks(run, topic, scores, by_rank)
        return RunSet.from_codes((runs, topics, documents), (run, topic, document), scores)


def _refuse_equal_ranks(run: Codes, topic: Codes, scores: Floats, by_rank: Mask) -> None:
    """An error where a list has a rank twice: these are grades, perhaps, and no run."""
    rows = np.stack([run, topic, scores], axis=1)
    _, first = np.unique(rows, axis=0, return_index=True)
    again = np.ones(len(rows), np.bool_)
    again[first] = False
    refuse_rows(
        again & by_rank,
        lambda row: (
            f"rank {-scores[row]:g} is twice in one list; three columns without a header are "
            "topic, document and rank: qrels have four, or a header"
        ),
    )


def _say_of_lone_tags(where: str, runs: Index, run: Codes) -> None:
    """Of a tag on one line only that begins as one on many lines does, or the other way round."""
    lines = np.bincount(run, minlength=len(runs))
    often = runs.names[lines >= _MANY]
    for name in runs.names[lines == 1][:_FEW]:
        kin = [other for other in often if other.startswith(name) or name.startswith(other)]
        if kin:
            say(
                f"{where}: only one line has the tag {short(name)!r}, which is like {kin[0]!r}: is "
                "the file damaged, or cut short?"
            )


def _named_by_file(parts: list[Table], names: str) -> list[str | None]:
    """The name of each file whose run is named after it; None where a column names runs."""
    tags_of = {table.origin.name: _tags(table) for table in parts}
    used = Counter(tag for tags in tags_of.values() for tag in tags)
    by_file: dict[str, str | None] = {}
    clashing = []
    for file, tags in tags_of.items():
        shared = names == "auto" and any(used[tag] > 1 for tag in tags)
        by_file[file] = stem(file) if shared or not tags or names == "file" else None
        if shared:
            clashing.append(file)
    if clashing:
        rest = f" and {len(clashing) - 3} more" if len(clashing) > 3 else ""
        files = ", ".join(clashing[:3]) + rest
        say(f"{files} share a tag: these runs are named after their files")
    return [by_file[table.origin.name] for table in parts]


def _tags(table: Table) -> list[str]:
    """The distinct tags of a file, which mostly has one."""
    if "run" not in table:
        return []
    tags = table.names("run", keep=True)
    return [tags[0]] if (tags == tags[0]).all() else tags.unique().to_list()


def read_scores(source: str | Path | Any, *, format: str | None = None) -> Scores:
    """Scores as `save` wrote them; rows of the topic `all` are left out and computed anew.

    Corrected scores have no column `topic`: they are means over topics already.
    """
    import polars as pl

    table = _table(source, format)
    axis = next((name for name in AXES if name in table), "")
    names = [name for name in ("measure", axis, "topic", "run") if name in table]
    frame = pl.DataFrame([table.names(name) for name in names])
    frame = frame.with_columns(pl.Series("value", table.numbers("value"), dtype=pl.Float64))
    if "topic" not in table:
        frame = frame.with_columns(pl.lit(MEAN).alias("topic"))
    frame = frame.filter(pl.col("topic") != ALL)
    if not frame.height:
        raise table.origin.error(f"no topics, only {ALL!r}; scores need their topics")
    return _dense(table.origin, frame, axis)


def _table(source: str | Path | Any, format: str | None) -> Table:
    """Scores by topic; or corrected ones, which have intervals instead."""
    try:
        (table,) = tables(source, SCORES, Reading(format=format))
    except InputError as error:
        try:
            (table,) = tables(source, CORRECTED, Reading(format=format))
        except InputError:
            raise error from None
    return table


def _dense(origin: Origin, frame: pl.DataFrame, axis: str) -> Scores:
    measures = tuple(frame["measure"].unique(maintain_order=True).to_list())
    sorted_measures, measure = encoded(frame["measure"])
    measure = np.argsort(sorted_measures.codes(measures)).astype(np.int32)[measure]
    columns, column = encoded(frame[axis]) if axis else (Index.of(["-"]), np.zeros_like(measure))
    topics, topic = encoded(frame["topic"])
    runs, run = encoded(frame["run"])
    values = np.full((len(measures), len(columns), len(topics), len(runs)), np.nan)
    where = (measure, column, topic, run)
    cells = np.ravel_multi_index(where, values.shape)
    if len(np.unique(cells)) < len(cells):
        raise origin.error("a run has two values for one topic and measure; keep one of them")
    values[where] = frame["value"].to_numpy()
    return Scores(measures, axis, columns, topics, runs, values)


def read_groups(path: str | Path) -> dict[str, str]:
    """The group of each run, such as the team that submitted it: a table `run group`."""
    groups: dict[str, str] = {}
    for line, row in strict_rows(path, ("run", "group")):
        run, group = row["run"].strip(), row["group"].strip()
        if not run or not group:
            raise FormatError("a run and its group must have names", file=str(path), line=line)
        if groups.setdefault(run, group) != group:
            raise FormatError(
                f"run {run} is in group {group} here and in {groups[run]} before; keep one line",
                file=str(path),
                line=line,
            )
    if not groups:
        raise FormatError("no run is in a group; write `run group` lines", file=str(path))
    return groups
