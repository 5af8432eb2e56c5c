"""Gold that the organiser makes here: which documents to grade, and keeping the grades.

Proposed are documents of the pool, topic by topic, in turns from the top of the runs (likely
relevant) and from their bottom (likely not), so that sets can be made of them that spammers fail.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from qrowd.collection.drafts import uploads
from qrowd.collection.drafts.answers import ATTEMPTS
from qrowd.collection.drafts.contents import is_arranged, material_of, rearranged, run_paths
from qrowd.collection.drafts.draft import Draft, open_draft, save
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.forecast import gold_levels
from qrowd.collection.plan.gold_proposal import arranged, set_sizes_of, write_gold
from qrowd.collection.plan.rows import GoldRow
from qrowd.collection.plan.sections import Plan
from qrowd.data.runs import RunSet
from qrowd.errors import InputError, RuleError

MORE = 2  # documents beyond a set's size: not all turn out as expected
Pair = tuple[str, str]


def graded(draft: Draft) -> list[GoldRow]:
    """What has been graded here so far, or was uploaded to be put in sets."""
    if not is_arranged(draft):
        return list(material_of(draft).gold)
    whole = (draft.folder / draft.plan.files.gold).with_name("graded.tsv")
    return list(uploads.gold(str(whole)))


def proposed(draft: Draft) -> list[Pair]:
    """Documents to grade next: all of one topic, the one with fewest graded so far."""
    pool, done = material_of(draft).pool, graded(draft)
    known = {(row.topic, row.document) for row in done}
    left: dict[str, list[str]] = defaultdict(list)
    for topic, document in pool:
        if (topic, document) not in known:
            left[topic].append(document)
    counts = Counter(row.topic for row in done)
    size = max(set_sizes_of(draft.plan, pool).values(), default=draft.plan.sets.size)
    # a topic keeps enough documents that are not gold
    free = [name for name, names in left.items() if len(names) > size]
    if not free:
        return []
    topic = min(free, key=lambda name: (counts[name], name))
    return [(topic, one) for one in _in_turns(draft, topic, left[topic])[: size + MORE]]


def _in_turns(draft: Draft, topic: str, documents: Sequence[str]) -> list[str]:
    """Documents from the top and from the bottom of the runs in turns; by chance without runs."""
    order = random.Random(f"{draft.plan.campaign.seed} {topic}").sample(
        sorted(documents), len(documents)
    )
    paths = run_paths(draft)
    if paths:
        places = _places(uploads.runs(paths), topic)
        order.sort(key=lambda name: places.get(name, 10**9))
    found: list[str] = []
    while order:
        found.append(order.pop(0 if len(found) % 2 == 0 else -1))
    return found


def _places(runs: RunSet, topic: str) -> Mapping[str, int]:
    """The best place of each document of a topic in any run."""
    at = list(runs.topics.names).index(topic) if topic in set(runs.topics.names) else -1
    found: dict[str, int] = {}
    for run in range(len(runs) if at >= 0 else 0):
        cell = at * len(runs) + run
        codes = runs.document[int(runs.starts[cell]) : int(runs.starts[cell + 1])]
        for place, code in enumerate(codes.tolist()):
            name = str(runs.documents.names[code])
            found[name] = min(place, found.get(name, place))
    return found


def with_grades(draft: Draft, rows: Sequence[GoldRow]) -> Plan:
    """The plan with more graded documents, put in sets that spammers fail as far as that goes."""
    known = {(row.topic, row.document): row for row in (*graded(draft), *rows)}
    if not rows:
        raise InputError("grade at least one document")
    plan = set_key(draft.plan, "hit", "gold", max(1, draft.plan.hit.gold))
    place = draft.fresh_folder()
    write_gold(list(known.values()), place / "graded.tsv")
    plan = set_key(plan, "files", "gold", draft.relative(place / "gold.tsv"))
    if arranged(plan, list(known.values()), material_of(draft).pool):
        return rearranged(draft, plan)
    write_gold([], place / "gold.tsv")
    return plan


def keep(draft: Draft, rows: Sequence[GoldRow], who: str, now: int) -> Draft:
    """Save more graded documents; those that somebody else has graded meanwhile stay."""
    for _ in range(ATTEMPTS):
        newest = open_draft(draft.folder.parent, draft.key)
        try:
            return save(newest, with_grades(newest, rows), who, now, "gold")
        except RuleError as error:
            if error.code != "conflict":
                raise
    raise RuleError("conflict", "others change this draft all the time; try again")


def sets_made(draft: Draft) -> int:
    """How many gold sets there are."""
    return len(gold_levels(draft.plan, material_of(draft).gold))
