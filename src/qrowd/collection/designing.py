"""From a draft to a campaign: the questions, what the answers come to, what is missing, launch.

Pages and programs ask here what a draft holds (`material_of`), costs (`outlook`), lacks
(`problems`), and start it (`launch`).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from qrowd.collection import audit, uploads
from qrowd.collection.building import GoldRow, Material, create_campaign
from qrowd.collection.composing import set_key
from qrowd.collection.drafts import Draft
from qrowd.collection.forecasting import Forecast, forecast, refuse_unmeetable
from qrowd.collection.gathering import gather, pool_sizes, priority_rows
from qrowd.collection.plan import Plan
from qrowd.collection.plan_limits import complaints
from qrowd.collection.plan_reading import parse_plan
from qrowd.collection.plan_writing import plan_text
from qrowd.collection.proposing import arranged, write_gold
from qrowd.collection.store import Store
from qrowd.errors import InputError

# the questions in their order, and the keys of the plan that each is about
STEPS: dict[str, tuple[str, ...]] = {
    "name": ("campaign.title", "campaign.name"),
    "topics": ("files.topics",),
    "documents": ("files.documents",),
    "pool": ("files.pool", "files.runs", "files.depth"),
    "mode": ("campaign.mode", "hit.owner_days", "hit.second_share", "files.priorities"),
    "way": ("campaign.way", "sets.couples"),
    "grades": ("scale.grades", "scale.labels", "scale.relevant_from"),
    "sets": ("sets.size", "hit.sets", "hit.lease_minutes", "hit.longest_minutes"),
    "target": ("sets.target",),
    "gold": ("files.gold", "hit.gold", "hit.first_gold"),
    "checks": (
        "checks.binary.at_least",
        "checks.binary.action",
        "checks.ndcg.at_least",
        "checks.ndcg.action",
        "checks.seconds.at_least",
        "checks.seconds.action",
        "checks.screen_out_after",
    ),
    "qualification": (
        "qualification.sets",
        "qualification.pass_share",
        "qualification.tries",
        "qualification.gold",
        "files.qualification",
    ),
    "techniques": (
        "techniques.justification",
        "techniques.expertise_share",
        "techniques.review_share",
        "techniques.expert_share",
        "files.questions",
    ),
    "words": ("campaign.instructions", "campaign.examples", "campaign.language", "people.consent"),
    "people": ("platform.preset", "people.workers", "people.recognise", "campaign.accept"),
    "pay": (
        "pay.hit",
        "pay.screen_out",
        "pay.qualification",
        "pay.review",
        "pay.currency",
        "pay.seconds_per_document",
    ),
    "budget": ("pay.budget",),
}
FILES = ("topics", "documents", "pool", "runs", "gold", "qualification", "questions", "priorities")
DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)
_PLACE = re.compile(r"\[([\w.]+)\] (\w+): (.*)", re.DOTALL)
SHOWN = 3


@dataclass(frozen=True)
class Problem:
    """Something that keeps a draft from being launched, and the question to answer again."""

    step: str
    message: str


def step_of(section: str, key: str) -> str:
    """The question that a key of the plan belongs to."""
    name = f"{section}.{key}"
    return next((step for step, names in STEPS.items() if name in names), "name")


# --- what a draft holds ---------------------------------------------------------------------------


def material_of(draft: Draft) -> Material:
    """What the files of a draft hold so far, except the documents themselves."""
    files = draft.plan.files
    return Material(
        topics=uploads.topics(_at(draft, files.topics)) if files.topics else (),
        pool=pool_of(draft),
        gold=uploads.gold(_at(draft, files.gold)) if files.gold else (),
        qualification=uploads.gold(_at(draft, files.qualification)) if files.qualification else (),
        questions=uploads.questions(_at(draft, files.questions)) if files.questions else (),
        priorities=dict(priority_rows(_at(draft, files.priorities))) if files.priorities else {},
    )


def _at(draft: Draft, name: str) -> str:
    return str(draft.folder / name)


def run_paths(draft: Draft) -> tuple[str, ...]:
    """The files of the runs."""
    return tuple(_at(draft, name) for name in draft.plan.files.runs)


def pool_of(draft: Draft) -> tuple[tuple[str, str], ...]:
    """The pairs to judge: those of a file, or of runs to a depth."""
    files = draft.plan.files
    if files.pool:
        return uploads.pool(_at(draft, files.pool))
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
    write_gold(uploads.gold(_at(draft, plan.files.gold)), place / "graded.tsv")
    held = set_key(plan, "files", "gold", draft.relative(place / "gold.tsv"))
    return rearranged(draft, held)


def is_arranged(draft: Draft) -> bool:
    """Whether gold sets are made here, not given."""
    gold = draft.plan.files.gold
    return bool(gold) and (draft.folder / gold).with_name("graded.tsv").is_file()


# --- what it lacks --------------------------------------------------------------------------------


def problems(draft: Draft) -> list[Problem]:
    """All that keeps the draft from being launched, in the order of the questions."""
    files = draft.plan.files
    missing = list(_missing_files(draft))
    found = [
        *(
            Problem(step_of(section, key), message)
            for wrong, section, key, message in complaints(draft.plan)
            if wrong
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
    full, empty = uploads.texts(_at(draft, files.documents))
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


# --- plan files, both ways ------------------------------------------------------------------------


def packed(draft: Draft) -> tuple[Plan, dict[str, Path]]:
    """The plan as others read it, its files by the names that it gives them."""
    plan = draft.plan
    files: dict[str, Path] = {}
    for kind in FILES:
        given = getattr(plan.files, kind)
        names = [
            _packed_name(kind, draft.folder / one, files)
            for one in (given if isinstance(given, tuple) else (given,))
            if one
        ]
        value = tuple(names) if isinstance(given, tuple) else "".join(names)
        plan = set_key(plan, "files", kind, value)
    return plan, files


def _packed_name(kind: str, path: Path, files: dict[str, Path]) -> str:
    name = path.name if path.name not in files else f"{kind}-{path.name}"
    files[name] = path
    return name


def plan_of(draft: Draft) -> str:
    """The draft's plan file."""
    return plan_text(packed(draft)[0])


def bundle(draft: Draft, file: BinaryIO) -> None:
    """The plan and all its files as a zip, which `qrowd campaign check` reads when unpacked."""
    plan, files = packed(draft)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("plan.toml", plan_text(plan))
        for name, path in files.items():
            inside = [path] if path.is_file() else sorted(path.rglob("*"))
            for one in (each for each in inside if each.is_file()):
                target.write(one, name if one == path else f"{name}/{one.relative_to(path)}")


# --- launch ---------------------------------------------------------------------------------------


def make(store: Store, draft: Draft) -> int:
    """The draft as a campaign, not yet started; its number."""
    lacks = problems(draft)
    if lacks:
        raise InputError(lacks[0].message)
    plan = parse_plan(plan_of(draft))
    material = gather(draft.plan, draft.plan_path)
    refuse_unmeetable(plan, material)
    return create_campaign(store, plan, material)


def launch(store: Store, draft: Draft, who: str) -> int:
    """Make the campaign and start it; the number of the act, for undo."""
    number = make(store, draft)
    with store.write(number) as work:
        return audit.launch(work, who)
