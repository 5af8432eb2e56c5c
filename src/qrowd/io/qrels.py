"""Qrels, probabilities of grades, samples of labels: from files and frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, freeze, refuse_rows
from qrowd.data.index import Index, Pairs
from qrowd.data.merged import AssessorTable, Fit, Merged
from qrowd.data.provenance import Provenance
from qrowd.data.qrels import NOT_JUDGED, Qrels, QrelsSet, SoftQrels, TeamLabels
from qrowd.data.sample import BY, GOALS, UNIFORM, Choice, Decisions, Sample
from qrowd.data.scale import BINARY, Scale
from qrowd.errors import InputError, UsageError
from qrowd.io.columns import Columns, Reading, Wanted, tables
from qrowd.io.grades import Grading, Words, graded
from qrowd.io.origin import located, say
from qrowd.io.provenance import read_provenance
from qrowd.io.table import Table, coded, say_what_is_odd

_TREC = ("topic", "assessor", "doc", "grade")
_P = re.compile(r"p\((-?\d+)\)")
QRELS = Wanted(
    "qrels", needed=("topic", "doc", "grade"), optional=("assessor",), plain=_TREC, graded=True
)
SUBTOPICS = Wanted(
    "qrels by subtopic",
    needed=("topic", "subtopic", "doc", "grade"),
    plain=("topic", "subtopic", "doc", "grade"),
)
PAIRS = Wanted("pairs", needed=("topic", "doc"), optional=("assessor", "grade"), plain=_TREC)
PROBABILITIES = Wanted(
    "probabilities", needed=("topic", "doc"), optional=("grade", "given"), others=_P.pattern
)
LABELS = Wanted(
    "labels",
    needed=("topic", "doc"),
    optional=("assessor", "grade", "given"),
    plain=_TREC,
    others=_P.pattern,
)
SAMPLE = Wanted(
    "human labels",
    needed=("topic", "doc", "grade"),
    optional=("assessor", "probability", "by", "worth", "goal"),
    plain=_TREC,
)
DRAWN = Wanted("what `qrowd sample` drew", needed=("topic", "doc", "probability"), optional=("by",))
REVISED = Wanted(
    "a list of `qrowd next --goal gold`",
    needed=("topic", "doc"),
    optional=("grade", "goal", "gold_hash", "nominated_by"),
)
WORKLIST = Wanted(
    "a list of `qrowd next`", needed=("topic", "doc", "goal"), optional=("probability", "grade")
)


def read_qrels(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    columns: Columns = None,
    format: str | None = None,
    grades: Words = None,
    missing: str = "skip",
    cut: float | None = None,
) -> Qrels:
    """Qrels (gold) from TREC's four columns, a table with a header, or a data frame.

    The second column of TREC's form is ignored. A pair may repeat only with the same grade. Where
    labels come from is read too, if a file beside them says it (`.provenance`). Rows without a
    grade are left out (`missing="error"` refuses them); `cut` makes fractions binary. Of the file
    of a tool for annotation, what it flags as gold.
    """
    reading = Reading(columns, format, grading=Grading(grades, missing, cut))
    qrels = _qrels_of(tables(source, QRELS, reading))
    return replace(qrels, provenance=read_provenance(source))


def read_subtopics(
    source: str | Path | Sequence[str | Path] | Any, *, format: str | None = None
) -> QrelsSet:
    """Qrels by subtopic, for `alpha_nDCG` and its kin: TREC's form, whose second column names it.

    In a table the column is called `subtopic` or `iteration`.
    """
    parts = tables(source, SUBTOPICS, Reading(format=format))
    indexes, codes = coded(parts, "topic", "doc", "subtopic")
    pairs, pair = Pairs.from_codes(*indexes[:2], *codes[:2])
    grade = np.concatenate([table.whole_numbers("grade") for table in parts])
    subtopics, subtopic = indexes[2], codes[2]
    dense = np.full((len(pairs), len(subtopics)), NOT_JUDGED, np.int8)
    dense[pair, subtopic] = grade
    clash = dense[pair, subtopic] != grade
    with located([table.origin for table in parts]):
        refuse_rows(
            clash,
            lambda row: (
                f"{pairs.called(pair[row])} has two grades for subtopic "
                f"{subtopics.names[subtopic[row]]}; keep one of them"
            ),
        )
    return QrelsSet(pairs, "subtopic", subtopics, dense=freeze(dense, np.int8))


def _qrels_of(parts: Sequence[Table]) -> Qrels:
    grades = np.concatenate([table.whole_numbers("grade") for table in parts])
    indexes, codes = coded(parts, "topic", "doc")
    say_what_is_odd(parts[0].origin.name, topics=indexes[0], documents=indexes[1])
    with located([table.origin for table in parts]):
        return replace(Qrels.from_codes(indexes, codes, grades), words=parts[0].words)


def read_pairs(source: str | Path | Sequence[str | Path] | Any) -> Pairs:
    """The pairs of a pool: of qrels, or of a table with `topic` and `doc`."""
    indexes, codes = coded(tables(source, PAIRS), "topic", "doc")
    return Pairs.from_codes(*indexes, *codes)[0]


def read_probabilities(
    source: str | Path | Any, *, format: str | None = None, relevant_from: int = 1
) -> Merged:
    """What `save` wrote of a `Merged`: the posterior of each pair, and which pairs were given.

    The assessors' table is empty; `grades()` gives the grades of the file.
    """
    (table,) = tables(source, PROBABILITIES, Reading(format=format))
    return _of_table(table, relevant_from, read_provenance(source))


def read_labels(
    source: str | Path | Any, *, format: str | None = None, grades: Words = None
) -> Merged | Qrels:
    """Merged labels from a file of probabilities, or of qrels: whichever it is."""
    (table,) = tables(source, LABELS, Reading(format=format))
    provenance = read_provenance(source)
    if any(_P.fullmatch(name) for name in table.columns):
        return _of_table(table, 1, provenance)
    if "grade" not in table:
        raise table.origin.error("neither grades nor columns p(0) p(1) ...: these are no labels")
    return replace(_qrels_of(graded([table], Grading(grades))), provenance=provenance)


def read_teams(source: str | Path | Any, by: str) -> dict[str, TeamLabels]:
    """The labels of several teams from one table: `topic doc`, a label from 0 to 1, whose it is
    (the column `by`) and, where they ranked documents, `rank` and the `set` that was ranked.
    """
    import polars as pl

    if by in ("topic", "doc", "grade", "rank", "set"):
        raise UsageError(f"--by names the column that says whose a label is, not {by}")
    wanted = Wanted(
        "labels of teams",
        needed=("topic", "doc", "grade"),
        optional=("rank", "set"),
        others=re.escape(by),
    )
    (table,) = tables(source, wanted)
    if by not in table:
        raise table.origin.error(f"has no column {by}, which --by names")
    p = table.numbers("grade")
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        row = int(np.argmax(bad))
        raise table.origin.error(f"a label must lie between 0 and 1, got {p[row]:g}", row)
    columns: dict[str, Any] = {
        "team": table.names(by),
        "topic": table.names("topic"),
        "doc": table.names("doc"),
        "p": p,
        "rank": table.numbers("rank") if "rank" in table else np.full(len(p), np.nan),
        "set": table.names("set") if "set" in table else [""] * len(p),
    }
    frame = pl.DataFrame(columns).sort("team", "topic", "doc")
    teams = {}
    for (name,), own in frame.group_by("team", maintain_order=True):
        if own.select("topic", "doc").is_duplicated().any():
            raise InputError(f"{name} has two labels on one pair", file=table.origin.name)
        pairs = Pairs.of(own["topic"].to_list(), own["doc"].to_list())
        chance = own["p"].to_numpy()
        soft = SoftQrels(pairs, BINARY, np.stack([1 - chance, chance], axis=1))
        rank = own["rank"].to_numpy()
        ranked = not np.isnan(rank).all()
        sets = own["set"].to_numpy()
        teams[str(name)] = TeamLabels(soft, sets, rank) if ranked else TeamLabels(soft)
    return teams


def _of_table(table: Table, relevant_from: int, provenance: Provenance | None) -> Merged:
    matches = (_P.fullmatch(name) for name in table.columns)
    grades = sorted(int(match[1]) for match in matches if match)
    if len(grades) < 2:
        raise table.origin.error("no columns p(0) p(1) ...: not a file of probabilities")
    posterior = np.stack([table.numbers(f"p({grade})") for grade in grades], axis=1)
    bad = ~((posterior >= 0).all(axis=1) & (np.abs(posterior.sum(axis=1) - 1) < 1e-6))
    if bad.any():
        row = int(np.argmax(bad))
        shown = " ".join(f"{p:g}" for p in posterior[row])
        raise table.origin.error(f"probabilities must be at least 0 and sum to 1, got {shown}", row)
    indexes, codes = coded([table], "topic", "doc")
    pairs, pair = Pairs.from_codes(*indexes, *codes)
    if len(pairs) < len(pair):
        raise table.origin.error("a pair appears twice; keep one of its rows")
    order = np.argsort(pair)
    given = np.zeros(len(pairs), np.bool_)
    if "given" in table:
        given = table.whole_numbers("given")[order] > 0
    elif provenance is not None:
        given = provenance.gave(pairs)
    return Merged(
        pairs,
        Scale(tuple(grades), relevant_from),
        posterior[order],
        AssessorTable(Index.of([])),
        Fit(table.origin.name),
        given,
        decided=table.whole_numbers("grade")[order] if "grade" in table else None,
        provenance=provenance,
    )


def read_sample(
    source: str | Path | Any, *, columns: Columns = None, grades: Words = None
) -> Sample | Qrels:
    """Human labels: with a column `probability` a `Sample`, else plain qrels.

    The file is one that `qrowd sample` wrote, with the human's `grade` added to each row; or
    `qrowd next`, of which only the rows count that were drawn uniformly.
    """
    (table,) = tables(source, SAMPLE, Reading(columns))
    table = _drawn_uniformly(table)
    (table,) = graded([table], Grading(grades, missing="error"))
    indexes, codes = coded([table], "topic", "doc")
    chance = table.numbers("probability") if "probability" in table else None
    by = _by(table) if "by" in table else "random"
    with located([table.origin]):
        grade = table.whole_numbers("grade")
        qrels = Qrels.from_codes(indexes, codes, grade)
        if chance is None:
            return qrels
        again = np.ones(len(grade), np.bool_)
        again[np.unique(np.stack(codes), axis=1, return_index=True)[1]] = False
        refuse_rows(again, lambda row: "this pair has an earlier row, too; keep one of them")
        refuse_rows(
            np.isnan(chance),
            lambda row: (
                "no probability: this row was chosen and not drawn at random, so that no "
                "score can be estimated from it; `qrowd sample` draws"
            ),
        )
        order = np.lexsort(codes[::-1])
        return Sample(qrels.pairs, chance[order], by, qrels.grade)


def is_drawn(path: str | Path) -> bool:
    """Whether `qrowd sample` wrote a file of pairs, with their probabilities."""
    try:
        read_drawn(path)
    except InputError:
        return False
    return True


def read_drawn(source: str | Path | Any) -> Sample:
    """The pairs that `qrowd sample` drew, as it wrote them: whatever was said of them since."""
    (table,) = tables(source, DRAWN)
    indexes, codes = coded([table], "topic", "doc")
    with located([table.origin]):
        chance = table.numbers("probability")
        drawn = Qrels.from_codes(indexes, codes, np.zeros(len(chance), np.int64))
        if len(drawn) < len(chance):
            raise InputError("a pair appears twice; keep one row of each")
        by = _by(table) if "by" in table else "random"
        return Sample(drawn.pairs, chance[np.lexsort(codes[::-1])], by)


def _drawn_uniformly(table: Table) -> Table:
    """Of a list of `qrowd next` the rows that are a sample of the pool."""
    if "worth" not in table:
        return table
    goals = table.column("goal") if "goal" in table else None
    rows = np.flatnonzero(goals == UNIFORM) if goals is not None else np.zeros(0, np.int64)
    if not len(rows):
        raise table.origin.error(
            "these rows were chosen by what had been said before, and not drawn at random from "
            "the pool, so that no score can be estimated from them; `qrowd sample` draws, and "
            "`qrowd next --uniform 0.1` does along the way"
        )
    if len(rows) < len(table):
        say(
            f"{table.origin.name}: {len(rows)} of {len(table)} rows were drawn uniformly, and "
            "count; the others were chosen by what had been said before"
        )
    return table.of_rows(rows)


def read_decisions(
    source: str | Path | Any, *, grades: Words = None, goals: bool = False
) -> Decisions:
    """A list of gold to judge again (`qrowd next --goal gold`), with the grades that it was given.

    Rows without a grade are undecided; with `goals` only why pairs are listed is read.
    """
    (table,) = tables(source, REVISED)
    name = table.origin.name
    if goals and "goal" not in table:
        raise InputError("has no column goal; name the list that is not blind", file=name)
    if not goals and "grade" not in table:
        raise InputError("has no column grade: nobody has decided anything", file=name)
    goal = np.full(len(table), "", object)
    if "goal" in table:
        goal = _goals_of(table)
    said = {}
    for about in ("gold_hash", "nominated_by"):
        values = table.names(about).unique().to_list() if about in table else []
        if len(values) > 1:
            raise InputError(
                f"column {about} has several values; give one list at a time", file=name
            )
        said[about] = values[0] if values else ""
    listed = table.of_rows(np.arange(len(table)))
    indexes, codes = coded([listed], "topic", "doc")
    pairs, pair = Pairs.from_codes(*indexes, *codes)
    if len(pairs) < len(pair):
        raise InputError("a pair is listed twice", file=name)
    order = np.argsort(pair)
    known = np.zeros(len(table), np.bool_)
    if not goals:
        column = table.column("grade", filled=False).cast(str)
        known = (column.fill_null("").str.strip_chars() != "").to_numpy()
    decided = Qrels.of([], [], [])
    if known.any():
        rows = table.of_rows(np.flatnonzero(known))
        decided = _qrels_of(graded([rows], Grading(grades)))
    return Decisions(pairs, goal[order], decided, int((~known).sum()), **said)


def read_choice(source: str | Path | Sequence[str | Path] | Any) -> Choice:
    """How pairs were chosen to be judged: of one or several lists of `qrowd next`."""
    return choice_of(tables(source, WORKLIST))


def is_worklist(table: Table) -> bool:
    """Whether its column `goal` is that of `qrowd next`; somebody else's may say anything."""
    if not all(name in table for name in ("topic", "doc", "goal", "probability")):
        return False
    goals = table.column("goal", filled=False).drop_nulls().cast(str).unique().to_list()
    return {*goals} <= {"", *GOALS}


def _goals_of(table: Table) -> Array:
    """The column `goal`, empty where nothing stands."""
    return table.column("goal", filled=False).fill_null("").cast(str).to_numpy()


def choice_of(lists: Sequence[Table]) -> Choice:
    """What tables with a column `goal` say; each is a list of its own."""
    goals, sizes = [], {}
    for table in lists:
        own = _goals_of(table)
        odd = ~np.isin(own, ["", *GOALS])
        if odd.any():
            row = int(np.argmax(odd))
            raise table.origin.error(f"goal must be {', '.join(GOALS)}; got {own[row]!r}", row)
        drawn = own == UNIFORM
        if drawn.any():
            chance = table.numbers("probability")[drawn] if "probability" in table else np.zeros(1)
            if not (chance[0] > 0 and (chance == chance[0]).all()):
                raise table.origin.error(
                    "rows that were drawn uniformly have one and the same probability"
                )
            sizes[round(drawn.sum() / chance[0])] = table.origin.name
        goals.append(own)
    if len(sizes) > 1:
        listed = ", ".join(f"{name} ({size})" for size, name in sizes.items())
        raise InputError(f"these lists were drawn from pools of different sizes: {listed}")
    goal = np.concatenate(goals)
    indexes, codes = coded(lists, "topic", "doc")
    pairs, pair = Pairs.from_codes(*indexes, *codes)
    drawn, chosen = goal == UNIFORM, ~np.isin(goal, ["", UNIFORM])
    adaptive, uniform = (
        np.bincount(pair[rows], minlength=len(pairs)) > 0 for rows in (chosen, drawn)
    )
    named = tuple(each for each in GOALS if each != UNIFORM and (goal == each).any())
    return Choice(pairs, adaptive, uniform, named, next(iter(sizes), 0))


def _by(table: Table) -> str:
    """How all of the pairs were chosen."""
    values = table.names("by").unique().to_list()
    if len(values) > 1 or values[0] not in BY:
        raise table.origin.error(
            f"column by must hold one of {', '.join(BY)}, the same in all rows; "
            f"got {', '.join(sorted(values)[:4])}"
        )
    return str(values[0])
