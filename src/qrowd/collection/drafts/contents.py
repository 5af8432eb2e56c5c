"""What a draft holds so far, and what that comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qrowd.collection.drafts import uploads
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.files import pool_sizes, priority_rows
from qrowd.collection.plan.forecast import Forecast, forecast
from qrowd.collection.plan.gold_proposal import arranged, write_gold
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)


# --- what a draft holds ---------------------------------------------------------------------------


def material_of(draft: Draft) -> CampaignRows:
    """What the files of a draft hold so far, except the documents themselves."""
    files = draft.plan.files

    def content(name: str, read: Callable[[str], Any]) -> Any:
        return read(path_in(draft, name)) if name else ()

    return CampaignRows(
        topics=content(files.topics, uploads.topics),
        pool=pool_of(draft),
        gold=content(files.gold, uploads.gold),
        qualification=content(files.qualification, uploads.gold),
        questions=content(files.questions, uploads.questions),
        priorities=dict(content(files.priorities, priority_rows)),
    )


def path_in(draft: Draft, name: str) -> str:
    """Where a file of a draft is."""
    return str(draft.folder / name)


def run_paths(draft: Draft) -> tuple[str, ...]:
    """The files of the runs."""
    return tuple(path_in(draft, name) for name in draft.plan.files.runs)


def pool_of(draft: Draft) -> tuple[tuple[str, str], ...]:
    """The pairs to judge: those of a file, or of runs to a depth."""
    files = draft.plan.files
    if files.pool:
        return uploads.pool(path_in(draft, files.pool))
    return uploads.pool_at(run_paths(draft), files.depth) if files.runs else ()


def depth_costs(draft: Draft) -> list[tuple[int, int, int]]:
    """Of each depth of the runs: pairs, and what judging them costs in minor units."""
    if not draft.plan.files.runs:
        return []
    known = sorted({*DEPTHS, draft.plan.files.depth})
    sizes = pool_sizes(uploads.runs(run_paths(draft)), known)
    whole = max(sizes.values())
    enough = next(depth for depth in known if sizes[depth] == whole)
    rows = []
    for depth, pairs in sizes.items():
        if depth > enough:
            break
        plan = set_key(set_key(draft.plan, "files", "depth", depth), "files", "pool", "")
        found = outlook(replace(draft, plan=plan))
        rows.append((depth, pairs, found.cost if found else 0))
    return rows


def outlook(draft: Draft) -> Forecast | None:
    """What the draft comes to; none before there is a pool."""
    material = material_of(draft)
    return forecast(draft.plan, material) if material.pool else None


def rearranged(draft: Draft, plan: Plan) -> Plan:
    """A plan whose gold is in sets that spammers fail, where that was asked for."""
    whole = draft.folder / plan.files.gold
    whole = whole.with_name("graded.tsv")
    if not plan.files.gold or not whole.is_file():
        return plan
    rows = arranged(plan, uploads.gold(str(whole)), pool_of(replace(draft, plan=plan)))
    if not rows:
        raise InputError(
            "no gold set can be made of these grades that spammers would fail: each "
            f"topic needs {plan.sets.size} graded documents, some relevant and some "
            "not",
            file="gold",
        )
    place = draft.fresh_folder()
    write_gold(uploads.gold(str(whole)), place / "graded.tsv")
    return set_key(plan, "files", "gold", draft.relative(write_gold(rows, place / "gold.tsv")))


def arrange(draft: Draft, plan: Plan) -> Plan:
    """A plan whose gold file is kept, and put in sets that spammers fail."""
    place = draft.fresh_folder()
    write_gold(uploads.gold(path_in(draft, plan.files.gold)), place / "graded.tsv")
    held = set_key(plan, "files", "gold", draft.relative(place / "gold.tsv"))
    return rearranged(draft, held)


def is_arranged(draft: Draft) -> bool:
    """Whether gold sets are made here, not given."""
    gold = draft.plan.files.gold
    return bool(gold) and (draft.folder / gold).with_name("graded.tsv").is_file()


# --- what it lacks --------------------------------------------------------------------------------


# --- plan files, both ways ------------------------------------------------------------------------


# --- launch ---------------------------------------------------------------------------------------
