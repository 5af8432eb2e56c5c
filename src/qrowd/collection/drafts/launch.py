"""What keeps a draft from being launched, what should be looked at first, and launching it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from qrowd.collection.database.store import Store
from qrowd.collection.drafts.contents import (
    campaign_rows,
    forecast_of,
    lost_files,
    pool_of,
    unprepared,
)
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.plan_file import plan_of
from qrowd.collection.drafts.steps import all_steps, step_of
from qrowd.collection.drafts.uploads import KINDS
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan import pass_rates
from qrowd.collection.plan.files import read_plan_files
from qrowd.collection.plan.forecast import refuse_unmeetable, unmeetable
from qrowd.collection.plan.limits import Complaint, complaints
from qrowd.collection.plan.toml import stored_plan
from qrowd.collection.record import audit
from qrowd.errors import InputError
from qrowd.texts import Text


@dataclass(frozen=True)
class Problem:
    """What is wrong with a draft, and the step that asks for it; "" where none does."""

    step: str
    message: Text

    @classmethod
    def of(cls, complaint: Complaint) -> Problem:
        """A complaint about the draft's plan, at its step."""
        step = step_of(complaint.section, complaint.key)
        return cls(step, complaint.message if step else Text("office.plan.at", **vars(complaint)))


def make(store: Store, draft: Draft) -> int:
    """The draft as a campaign, not yet started; its number."""
    lacks = problems(draft)
    if lacks:
        raise InputError(str(lacks[0].message))
    plan = stored_plan(plan_of(draft))  # nothing is wrong with it that should not be
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
    own = [Problem.of(complaint) for complaint in _own_problems(draft)]
    unmet = unmeetable(draft.plan, campaign_rows(draft)) if pool_of(draft) else ()
    # where a step lacks a file, what follows from that is not said too
    lacking = {problem.step for problem in own}
    follows = [problem for problem in map(Problem.of, unmet) if problem.step not in lacking]
    everything = [*map(Problem.of, _refused(draft)), *own, *follows]
    order = [*all_steps(), ""]
    return sorted(dict.fromkeys(everything), key=lambda problem: order.index(problem.step))


def _refused(draft: Draft) -> Iterator[Complaint]:
    """What is wrong with the plan; what a draft of before was allowed is allowed to it still."""
    for complaint in complaints(draft.plan):
        former = (complaint.section, complaint.key) == ("people", "entry") and draft.since < "0004"
        if not (former and draft.plan.entry == "open"):
            yield complaint


def _own_problems(draft: Draft) -> Iterator[Complaint]:
    """What steps say of themselves, and files that are not there."""
    for step in all_steps().values():
        yield from step.problems(draft)
    yield from unprepared(draft)
    for kind in KINDS:
        for name in lost_files(draft, kind):
            shown = PurePosixPath(name).name
            yield Complaint.of(f"files.{kind}", "office.plan.uploaded.lost", name=shown)


def warnings(draft: Draft) -> list[Problem]:
    """What can be launched, but should be looked at."""
    expected = forecast_of(draft)
    return [Problem.of(complaint) for complaint in (expected.warnings if expected else ())]


def everybody_passes(draft: Draft) -> Text | None:
    """What to say where the gold tells nobody apart; None where it does."""
    expected = forecast_of(draft)
    useless = pass_rates.useless(expected.passing if expected else ())
    return next((complaint.message for complaint in useless), None)
