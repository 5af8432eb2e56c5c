"""Gold in a draft: uploaded, or graded by the organiser here, and put in sets that spammers fail.

Proposed for grading are documents of the pool, topic by topic, in turns from the top of the runs
(likely relevant) and from their bottom (likely not), so that such sets can be made of them. Gold
that is put in sets here has two files in one folder: all grades, and those that came into sets.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from qrowd.collection.drafts import contents
from qrowd.collection.drafts.contents import pool_of, rows_of, run_paths
from qrowd.collection.drafts.draft import Draft, save_newest
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.forecast import gold_levels, set_sizes, sizes_of
from qrowd.collection.plan.gold_sets import arrange_gold, write_gold
from qrowd.collection.plan.rows import GoldRow, Pair, gold_parts
from qrowd.collection.plan.sections import Plan
from qrowd.data.runs import RunSet
from qrowd.errors import InputError

GRADED, IN_SETS, TEST = "graded.tsv", "gold.tsv", "test.tsv"
LEAST_FOR_BATCHES = 3  # gold sets that a test leaves
MOST_IN_TEST = 4  # sets of a test that is split off
SPARE = 2  # documents beyond a set's size: not all turn out as expected
UNRANKED = 10**9


def is_arranged(draft: Draft) -> bool:
    """Whether gold sets are made here, not given."""
    return bool(draft.plan.files.gold) and _graded_file(draft).is_file()


def _graded_file(draft: Draft) -> Path:
    return (draft.folder / draft.plan.files.gold).with_name(GRADED)


def graded(draft: Draft) -> list[GoldRow]:
    """What has been graded here so far, or was uploaded to be put in sets."""
    if is_arranged(draft):
        return list(contents.file_rows("gold", str(_graded_file(draft))))
    return list(rows_of(draft, "gold"))


def sets_made(draft: Draft) -> int:
    """How many gold sets there are."""
    sizes = sizes_of(draft.plan, contents.campaign_rows(draft))
    return len(gold_levels(draft.plan, rows_of(draft, "gold"), sizes))


# --- sets that spammers fail ----------------------------------------------------------------------


def in_sets(draft: Draft, plan: Plan, rows: Sequence[GoldRow]) -> Plan:
    """The plan with these grades as gold, put in sets of its size."""
    sets = _arranged(replace(draft, plan=plan), rows)
    if not sets:
        raise InputError(
            "no gold set can be made of these grades that spammers would fail: each topic needs "
            f"{plan.sets.size} graded documents, some relevant and some not",
            file="gold",
        )
    return _with_gold(draft, plan, rows, sets)


def _arranged(draft: Draft, rows: Sequence[GoldRow]) -> list[GoldRow]:
    if draft.plan.way.buckets:  # documents are cut when the campaign is made, then put in sets
        return [row for row in rows if row.grade is not None]
    return arrange_gold(draft.plan, rows, pool_of(draft))


def _with_gold(draft: Draft, plan: Plan, rows: Sequence[GoldRow], sets: Sequence[GoldRow]) -> Plan:
    folder = draft.fresh_folder()
    write_gold(rows, folder / GRADED)
    return set_key(plan, "files", "gold", draft.relative(write_gold(sets, folder / IN_SETS)))


def split_test(draft: Draft, plan: Plan) -> Plan:
    """The plan with a test made of a third of its gold sets; the rest stays gold."""
    parts = gold_parts(rows_of(draft, "gold"), plan.sets.size, random.Random(plan.campaign.seed))
    least = LEAST_FOR_BATCHES * max(1, plan.gold_per_hit)
    spare = min(len(parts) // 3, len(parts) - least)
    tries = min(plan.qualification.tries, spare)
    if tries < 1:
        raise InputError(
            f"there are {len(parts)} gold sets; a test needs one of them at least, and batches "
            f"{least}: grade more documents, or upload a test",
            file="gold",
        )
    sets = min(plan.qualification.sets or MOST_IN_TEST, spare // tries)
    # every third one, so that all topics stay in both
    taken = parts[:: max(1, len(parts) // (sets * tries))][: sets * tries]
    tests = [replace(row, set=f"test {at}") for at, part in enumerate(taken, 1) for row in part]
    kept = [
        replace(row, set=f"set {at}")
        for at, part in enumerate((part for part in parts if part not in taken), 1)
        for row in part
    ]
    folder = draft.fresh_folder()
    gone = {row.pair for row in tests}
    if is_arranged(draft):
        write_gold([row for row in graded(draft) if row.pair not in gone], folder / GRADED)
    for key, rows, name in (("gold", kept, IN_SETS), ("qualification", tests, TEST)):
        plan = set_key(plan, "files", key, draft.relative(write_gold(rows, folder / name)))
    plan = set_key(plan, "qualification", "tries", tries)
    return set_key(plan, "qualification", "sets", sets)


# --- grading --------------------------------------------------------------------------------------


def proposed(draft: Draft) -> list[Pair]:
    """Documents to grade next: all of one topic, the one with fewest graded so far."""
    pool, rows = pool_of(draft), graded(draft)
    done = {row.pair for row in rows}
    left: dict[str, list[str]] = defaultdict(list)
    for topic, document in pool:
        if (topic, document) not in done:
            left[topic].append(document)
    counts = Counter(row.topic for row in rows)
    size = max(set_sizes(draft.plan, pool), default=draft.plan.sets.size)
    # a topic keeps enough documents that are not gold
    free = [topic for topic, documents in left.items() if len(documents) > size]
    if not free:
        return []
    topic = min(free, key=lambda name: (counts[name], name))
    documents = _in_turns(draft, topic, left[topic])
    return [(topic, document) for document in documents[: size + SPARE]]


def _in_turns(draft: Draft, topic: str, documents: Sequence[str]) -> list[str]:
    """Documents from the top and from the bottom of the runs in turns; by chance without runs."""
    chance = random.Random(f"{draft.plan.campaign.seed} {topic}")
    order = chance.sample(sorted(documents), len(documents))
    if paths := run_paths(draft):
        ranks = _best_ranks(contents.runs(paths), topic)
        order.sort(key=lambda name: ranks.get(name, UNRANKED))
    turns: list[str] = []
    while order:
        turns.append(order.pop(0 if len(turns) % 2 == 0 else -1))
    return turns


def _best_ranks(runs: RunSet, topic: str) -> Mapping[str, int]:
    """The best rank, from 0, of each document of a topic in any run."""
    topics = list(runs.topics.names)
    if topic not in topics:
        return {}
    first = topics.index(topic) * len(runs)
    ranks: dict[str, int] = {}
    for cell in range(first, first + len(runs)):
        codes = runs.document[int(runs.starts[cell]) : int(runs.starts[cell + 1])]
        for rank, code in enumerate(codes.tolist()):
            name = str(runs.documents.names[code])
            ranks[name] = min(rank, ranks.get(name, rank))
    return ranks


def with_grades(draft: Draft, rows: Sequence[GoldRow]) -> Plan:
    """The plan with more graded documents, put in sets that spammers fail as far as that goes."""
    if not rows:
        raise InputError("grade at least one document")
    everything = list({row.pair: row for row in (*graded(draft), *rows)}.values())
    plan = set_key(draft.plan, "hit", "gold", max(1, draft.plan.hit.gold))
    return _with_gold(draft, plan, everything, _arranged(replace(draft, plan=plan), everything))


def keep(draft: Draft, rows: Sequence[GoldRow], who: str, now: int) -> Draft:
    """Save more graded documents; those that somebody else has graded meanwhile stay."""
    return save_newest(draft, lambda newest: with_grades(newest, rows), who, now, "gold")
