"""What keeps a draft from being launched, what should be looked at first, and launching it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from qrowd.collection.database.store import Store
from qrowd.collection.drafts.contents import campaign_rows, forecast_of, path_in, pool_of, texts
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.plan_file import names_of, plan_of
from qrowd.collection.drafts.steps import FILES, STEPS, step_of
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.files import read_plan_files
from qrowd.collection.plan.forecast import refuse_unmeetable
from qrowd.collection.plan.limits import complaints
from qrowd.collection.plan.rows import GoldRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit
from qrowd.errors import InputError
from qrowd.rendering import thousands

SHOWN = 3  # names in a message
_SECTION_AND_KEY = re.compile(r"\[([\w.]+)\] (\w+): (.*)", re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """Something that keeps a draft from being launched, and the step to fill in again."""

    step: str
    message: str


def make(store: Store, draft: Draft) -> int:
    """The draft as a campaign, not yet started; its number."""
    lacks = problems(draft)
    if lacks:
        raise InputError(lacks[0].message)
    plan = parse_plan(plan_of(draft))
    rows = read_plan_files(draft.plan, draft.plan_path)
    refuse_unmeetable(plan, rows)
    return create_campaign(store, plan, rows)


def launch(store: Store, draft: Draft, who: str) -> int:
    """Make the campaign and start it; the number of the act, for undo."""
    number = make(store, draft)
    with store.write(number) as work:
        return audit.perform(work, who, "launch")


def problems(draft: Draft) -> list[Problem]:
    """All that keeps the draft from being launched, in the order of the steps."""
    files = draft.plan.files
    missing = list(_missing_files(draft))
    all_problems = [
        *(
            Problem(step_of(complaint.section, complaint.key), complaint.message)
            for complaint in complaints(draft.plan)
        ),
        *missing,
    ]
    if {problem.step for problem in missing} <= {"gold"}:
        all_problems += _without_text(draft)
    if pool_of(draft) and (files.gold or not draft.plan.gold_per_hit):
        all_problems += _unmeetable(draft)
    order = list(STEPS)
    return sorted(dict.fromkeys(all_problems), key=lambda problem: order.index(problem.step))


def warnings(draft: Draft) -> list[Problem]:
    """What can be launched, but should be looked at."""
    expected = forecast_of(draft)
    return [
        Problem("budget" if text.startswith("the budget") else "gold", text)
        for text in (expected.warnings if expected else ())
    ]


def everybody_passes(draft: Draft) -> str:
    """What to say where the gold tells nobody apart; "" where it does."""
    messages = [warning.message for warning in warnings(draft)]
    return next((message for message in messages if message.startswith("everybody")), "")


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
        for name in names_of(draft.plan, kind):
            if not (draft.folder / name).exists():
                yield Problem(step_of("files", kind), f"the file {name} is not there; upload it")


def _without_text(draft: Draft) -> Iterator[Problem]:
    """Pairs whose topic or document is not there, or has no text."""
    rows, files = campaign_rows(draft), draft.plan.files
    topics = {row.name for row in rows.topics}
    full, empty = texts(path_in(draft, files.documents))
    used = (
        ("pool", rows.pool),
        ("gold", _pairs(rows.gold)),
        ("qualification", _pairs(rows.qualification)),
    )
    for step, pairs in used:
        strange = {topic for topic, _ in pairs} - topics
        if strange:
            yield Problem(step, f"{_some(strange, 'topic')} of the {step} not in the topics' file")
        documents = {document for _, document in pairs}
        lost = documents - full - empty
        if lost:
            yield Problem(
                step,
                f"{_some(lost, 'document')} of the {step} not in the documents' "
                "file, so there is no text to show",
            )
        blank = documents & empty
        if blank:
            yield Problem(step, f"{_some(blank, 'document')} of the {step} without any text")


def _pairs(rows: Collection[GoldRow]) -> list[tuple[str, str]]:
    return [(row.topic, row.document) for row in rows]


def _some(names: Collection[str], noun: str) -> str:
    """How many, and the first few: "12 documents (a, b, c, ...) are"."""
    first = ", ".join(sorted(names)[:SHOWN])
    if len(names) == 1:
        return f"1 {noun} ({first}) is"
    others = ", ..." if len(names) > SHOWN else ""
    return f"{thousands(len(names))} {noun}s ({first}{others}) are"


def _unmeetable(draft: Draft) -> Iterator[Problem]:
    try:
        refuse_unmeetable(draft.plan, campaign_rows(draft))
    except InputError as error:
        match = _SECTION_AND_KEY.fullmatch(error.message)
        if match:
            yield Problem(step_of(match[1], match[2]), match[3])
        else:
            yield Problem("gold", error.message)
