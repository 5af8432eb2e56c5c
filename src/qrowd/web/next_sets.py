"""Which sets of a campaign come next: what people said so far, and what `qrowd.budget` makes of it.

    choose(store, campaign, who, runs)    one act, which writes priorities and targets; its number

A job does it again and again, `qrowd campaign next` once, robots on their own clock. Votes of
machine judges are left out: documents that were chosen by them made rankings of systems worse.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sqlalchemy import select

import qrowd as q
from qrowd.budget.decisions import FinalVote, counts_of
from qrowd.collection.database.schema import (
    NAMED_PAIRS,
    PAIR_NAMES,
    assignment,
    judging_set,
    member,
    pair,
    place,
)
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging.hierarchy import Findings
from qrowd.collection.office.acts.next_sets import ChooseNext, NextSets, most_votes
from qrowd.collection.plan.sections import MINUTE
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.export import given_names
from qrowd.collection.record import audit
from qrowd.data.arrays import Codes, Floats, Mask, Offsets
from qrowd.data.collected import qrels_of
from qrowd.data.index import Pairs, encode_columns
from qrowd.errors import RuleError
from qrowd.web import hierarchy

LEVELS = 10  # of priorities, at most


def choose(
    store: Store, campaign: str | int, who: str, runs: q.RunSet | None = None, pick: str = ""
) -> int:
    """Work out which sets come next and which are decided, and write it down as one act.

    `runs` are for the pick `systems`; another `pick` than the plan's is for dry runs. Nobody waits
    while it is worked out.
    """
    with store.read(campaign) as work:
        rule = work.plan.next
        pick = pick or rule.pick
        if pick == "even" and not work.plan.in_phases:
            message = 'the plan gives every document as many judgements: [next] pick = "even"'
            raise RuleError("not-allowed", message)
        number, pool, member_pair = _members(work)
        crowd = _votes_of_people(work).with_pool(pool)
        experts = given_names(work)
        most = max([rule.least, *most_votes(work).values()])
        lately = _places_lately(work)
        chance = np.random.default_rng(work.random.getrandbits(64))
        learnt = hierarchy.Campaign.of(work) if work.plan.in_phases else None
        holds = select(judging_set.c.id, judging_set.c.held).where(work.pool_sets())
        held = dict(work.db.execute(holds).all())
    at = crowd.pairs.locate(pool)[member_pair]
    yes, votes = counts_of(crowd)
    state = q.decisions(crowd, most=most, risk=rule.risk).state
    decided = (state == 0) & (votes >= rule.least) & (pick != "even")
    if experts:
        decided |= qrels_of(experts).pairs.locate(crowd.pairs) >= 0
    sets, of_set = np.unique(number, return_inverse=True)
    is_open = np.bincount(of_set, ~decided[at]) > 0
    if learnt is not None:
        found, text = learnt.find(pool)
        few = np.array([held[each] for each in sets.tolist()]) < rule.least
        topics = np.zeros(len(sets), np.int64)
        topics[of_set] = pool.topic[member_pair]
        by_text = hierarchy.priorities(text[member_pair], of_set, topics, few)
        open_even = is_open | (pick == "even")  # what experts decided is judged all the same
        return _written(store, campaign, who, sets, by_text, open_even, decided[at], found)
    final = FinalVote.of(yes, votes, most)
    if pick == "margin":
        worth = np.where(votes < most, final.at(final.worth, yes, votes), 0.0)
    elif runs is None:
        raise RuleError("no-runs", "there are no runs to tell apart; add some")
    else:
        worth = _worth_to_systems(crowd, runs, final)
    score = np.bincount(of_set, worth[at]) / np.bincount(of_set)
    if pick == "systems":  # drawn in proportion to its root: by the largest it is sure too soon
        score = -chance.exponential(size=len(sets)) / np.maximum(np.sqrt(score), 1e-12)
    # A set keeps its priority until the next time. So that it does not get all its votes meanwhile,
    # so many sets are of one priority as places are given out: among these the fewest held is next.
    levels = int(np.clip(is_open.sum() // max(lately, 1), 1, LEVELS))
    better = np.searchsorted(np.sort(-score[is_open]), -score)
    priority = 1 - np.minimum(better * levels // max(is_open.sum(), 1), levels - 1) / levels
    return _written(store, campaign, who, sets, priority, is_open, decided[at])


def _written(
    store: Store,
    campaign: str | int,
    who: str,
    sets: Offsets,
    priority: Floats,
    is_open: Mask,
    decided: Mask,
    text: Findings | None = None,
) -> int:
    priorities = zip(sets.tolist(), priority.tolist(), is_open.tolist(), strict=True)
    chosen = NextSets(
        {number: value if unsure else None for number, value, unsure in priorities},
        documents=len(decided),
        decided=int(decided.sum()),
        text=text,
    )
    with store.write(campaign) as work:
        return audit.perform(work, who, ChooseNext(chosen=chosen))


def _votes_of_people(work: Work) -> q.Judgements:
    crowd = collected(work).judgements.of_kind("person")
    if not len(crowd):
        message = (
            "only machine judges have judged so far, and people's votes tell which documents are "
            "in doubt: chosen by machine judges alone, documents made rankings of systems worse"
        )
        raise RuleError("no-judgements", message)
    return crowd.binary(work.plan.scale.relevant_from)


def _members(work: Work) -> tuple[Offsets, Pairs, Codes]:
    """Row by row, the number of an offered set and a pair in it; all pairs stand in between."""
    joined = NAMED_PAIRS.join(member, member.c.pair_id == pair.c.id).join(
        judging_set, judging_set.c.id == member.c.set_id
    )
    query = select(judging_set.c.id, *PAIR_NAMES).select_from(joined)
    rows = work.db.execute(query.where(work.pool_sets(), judging_set.c.open == 1)).all()
    numbers, topics, documents = zip(*rows, strict=True) if rows else ((), (), ())
    indexes, codes = encode_columns(topics, documents)
    pairs, code = Pairs.from_codes(*indexes, *codes)
    return np.array(numbers, np.int64), pairs, code


def _places_lately(work: Work) -> int:
    """How many sets were given out in the time until it is worked out again."""
    since = work.now - round(work.plan.next.refresh_minutes * MINUTE)
    recent = work.own(assignment) & (assignment.c.leased_at > since) & (place.c.kind == "count")
    return work.count(place.join(assignment), recent)


def _worth_to_systems(crowd: q.Judgements, runs: q.RunSet, final: FinalVote) -> Floats:
    """What a vote on each pair takes off what is open between runs, under what most would say."""
    yes, votes = counts_of(crowd)
    relevant, following = (
        final.at(table, yes, votes) for table in (final.relevant, final.following)
    )
    merged = q.MajorityVote().fit(crowd)
    believed = replace(merged, posterior=np.stack([1 - relevant, relevant], axis=1))
    agrees = relevant * following + (1 - relevant) * (1 - following)
    accuracy = float(np.clip(agrees.mean(), 0.55, 1.0))
    return q.couples(crowd, runs, believed, "AP", accuracy=accuracy).worth
