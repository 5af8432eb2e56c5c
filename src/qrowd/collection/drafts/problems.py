"""What keeps a draft from being launched, and what should be looked at first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from qrowd.collection.drafts import uploads
from qrowd.collection.drafts.contents import material_of, outlook, path_in, pool_of
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.steps import FILES, STEPS, step_of
from qrowd.collection.plan.forecast import refuse_unmeetable
from qrowd.collection.plan.limits import complaints
from qrowd.collection.plan.rows import GoldRow
from qrowd.errors import InputError

_PLACE = re.compile(r"\[([\w.]+)\] (\w+): (.*)", re.DOTALL)


SHOWN = 3


@dataclass(frozen=True)
class Problem:
    """Something that keeps a draft from being launched, and the question to answer again."""

    step: str
    message: str


def problems(draft: Draft) -> list[Problem]:
    """All that keeps the draft from being launched, in the order of the questions."""
    files = draft.plan.files
    missing = list(_missing_files(draft))
    found = [
        *(
            Problem(step_of(complaint.section, complaint.key), complaint.message)
            for complaint in complaints(draft.plan)
        ),
        *missing,
    ]
    if not missing or {one.step for one in missing} <= {"gold"}:
        found += _without_text(draft)
    if pool_of(draft) and (files.gold or not draft.plan.gold_per_hit):
        found += _unmeetable(draft)
    order = list(STEPS)
    return sorted(dict.fromkeys(found), key=lambda one: order.index(one.step))


def _missing_files(draft: Draft) -> Iterator[Problem]:
    files = draft.plan.files
    if not files.topics:
        yield Problem("topics", "there are no topics yet")
    if not files.documents:
        yield Problem("documents", "there are no documents yet")
    if not files.pool and not files.runs:
        yield Problem("pool", "there are no pairs to judge yet")
    if draft.plan.gold_per_hit and not files.gold:
        yield Problem("gold", "there is no gold yet; add some, or do without")
    for kind in FILES:
        given = getattr(files, kind)
        for name in given if isinstance(given, tuple) else [given] * bool(given):
            if not (draft.folder / name).exists():
                yield Problem(step_of("files", kind), f"the file {name} is not there; upload it")


def _without_text(draft: Draft) -> Iterator[Problem]:
    """Pairs whose topic or document is not there, or has no text."""
    material, files = material_of(draft), draft.plan.files
    topics = {row.name for row in material.topics}
    full, empty = uploads.texts(path_in(draft, files.documents))
    used = (
        ("pool", material.pool),
        ("gold", _pairs(material.gold)),
        ("qualification", _pairs(material.qualification)),
    )
    for step, pairs in used:
        strange = {topic for topic, _ in pairs} - topics
        if strange:
            yield Problem(step, f"{_some(strange, 'topic')} of the {step} not in the topics' file")
        lost = {document for _, document in pairs} - full - empty
        if lost:
            yield Problem(
                step,
                f"{_some(lost, 'document')} of the {step} not in the documents' "
                "file, so there is no text to show",
            )
        blank = {document for _, document in pairs} & empty
        if blank:
            yield Problem(step, f"{_some(blank, 'document')} of the {step} without any text")


def _pairs(rows: Collection[GoldRow]) -> list[tuple[str, str]]:
    return [(row.topic, row.document) for row in rows]


def _some(names: Collection[str], what: str) -> str:
    """How many, and the first few: "12 documents (a, b, c, ...) are"."""
    first = sorted(names)[:SHOWN]
    more = ", ..." if len(names) > SHOWN else ""
    verb = (
        f"{what} ({first[0]}) is" if len(names) == 1 else f"{what}s ({', '.join(first)}{more}) are"
    )
    return f"{len(names):,} {verb}"


def _unmeetable(draft: Draft) -> Iterator[Problem]:
    try:
        refuse_unmeetable(draft.plan, material_of(draft))
    except InputError as error:
        found = _PLACE.fullmatch(error.message)
        step = step_of(found[1], found[2]) if found else "gold"
        yield Problem(step, found[3] if found else error.message)


def warnings(draft: Draft) -> list[Problem]:
    """What can be launched, but should be looked at."""
    found = outlook(draft)
    said = found.warnings if found else ()
    return [Problem("budget" if text.startswith("the budget") else "gold", text) for text in said]


def everybody_passes(draft: Draft) -> str:
    """What to say where the gold tells nobody apart; "" where it does."""
    said = [one.message for one in warnings(draft) if one.message.startswith("everybody")]
    return said[0] if said else ""
