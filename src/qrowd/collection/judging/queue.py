"""What a worker does next: the open batch, an expired one again, the qualification, or a new one.

    next_batch(work, worker_id) -> Offer | Nothing
    end_batch(work, worker_id, key, go_on) -> Ending     the end of a batch and the next one at once

`Offer` is all that a page needs, under random names: which sets are gold cannot be told from it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, bindparam, exists, func, select

from qrowd.collection.books import ledger, notices
from qrowd.collection.database import schema
from qrowd.collection.database.schema import PLACED_SETS, assignment, judging_set, place
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold, hierarchy, peer_review, picks, submission
from qrowd.collection.judging.assignments import lease, move
from qrowd.collection.judging.hierarchy import Standing
from qrowd.collection.judging.offer import Offer, show
from qrowd.collection.judging.submission import Ended, Finished
from qrowd.collection.people import workers
from qrowd.collection.plan.composition import hide

_WHY = {
    "not-running": "this campaign is not running now; please come back later",
    "consent": "please read and accept the terms first",
    "failed": "thank you; the qualification was not passed, so there are no batches for you here",
    "screened-out": "thank you for your work; there are no more batches for you in this campaign",
    "stopped": "thank you for your work; there are no more batches for you in this campaign",
    "no-work-left": "there is nothing left to judge for you now; thank you",
    "no-budget": "there is nothing left to judge for you now; thank you",
    "visit-done": "thank you: this visit is complete; please go back to where you came from",
    "later": "there is nothing to judge for you just now; more will come, please look again later",
    "gold-used-up": "you have done all the batches that one person can do here; thank you",
}


@dataclass(frozen=True)
class Nothing:
    """No batch: a short name of why, and a sentence for the worker."""

    code: str
    message: str


def _nothing(code: str) -> Nothing:
    return Nothing(code, _WHY[code])


def next_batch(work: Work, worker_id: int) -> Offer | Nothing:
    """The batch that a worker should work on now."""
    submission.sweep(work)
    if work.state != "running":
        return _nothing("not-running")
    state = str(workers.worker_of(work, worker_id).state)
    if state in ("failed", "screened-out", "stopped"):
        return _nothing(state)
    if workers.consent_needed(work, worker_id):
        return _nothing("consent")
    assigned = _open(work, worker_id) or _again(work, worker_id)
    if assigned is not None:
        return show(work, assigned)
    if _visit_is_done(work, worker_id):
        return _nothing("visit-done")
    now = Standing.of(work) if work.plan.in_phases else None
    if work.plan.qualification.sets and state == "new":
        # nobody is tested, and paid for it, where nothing is left to judge
        if work.count(judging_set, picks.open_to(work, worker_id, now)):
            return _qualify(work, worker_id)
        is_later = now is not None and hierarchy.comes_later(work, now)
        return _nothing("later" if is_later else "no-work-left")
    share = work.plan.techniques.review_share
    if share > 0 and work.random.random() < share:
        review = peer_review.lease_review(work, worker_id)
        if review is not None:
            return show(work, review)
    if now is not None:
        return _lease_in_phases(work, worker_id, now)
    return _lease_topic(work, worker_id) if work.plan.owner else _lease_batch(work, worker_id)


def _lease_in_phases(work: Work, worker_id: int, now: Standing) -> Offer | Nothing:
    """Mode hierarchy: own answers once more, where they fill a batch or nothing else is left."""
    if full := hierarchy.lease_revision(work, worker_id, now, full=True):
        return show(work, full)
    offer = _lease_batch(work, worker_id, now)
    if isinstance(offer, Offer):
        return offer
    if rest := hierarchy.lease_revision(work, worker_id, now, full=False):
        return show(work, rest)
    is_later = offer.code == "no-work-left" and hierarchy.comes_later(work, now)
    return _nothing("later") if is_later else offer


def _visit_is_done(work: Work, worker_id: int) -> bool:
    """Whether somebody whom a platform sent has done the batches that one visit is for."""
    if work.plan.platform.preset == "own":
        return False
    since = workers.visit_since(work, worker_id)
    if since is None:
        return False
    during = assignment.c.finished_at.is_not(None) & (assignment.c.leased_at >= since)
    done = work.count(assignment, _judged_by(worker_id), during)
    return done >= work.plan.campaign.hits_per_session


def batches_left(work: Work, worker_id: int) -> int:
    """How many batches there are for a worker as things stand, an open one counted: what is open,
    check questions that are new to them, and what the budget pays, whichever ends first.
    """
    plan = work.plan
    is_out = workers.worker_of(work, worker_id).state in ("failed", "screened-out", "stopped")
    if work.state != "running" or is_out:
        return 0
    allowed = picks.open_to(work, worker_id)
    if plan.owner:
        owned = select(judging_set.c.topic_id).where(work.pool_sets(), judging_set.c.held > 0)
        topic_id = judging_set.c.topic_id
        topics = select(func.count(topic_id.distinct())).where(allowed, topic_id.not_in(owned))
        left = work.number(topics)
    else:
        left = math.ceil(work.count(judging_set, allowed) / plan.counted_per_hit)
        if plan.gold_per_hit:
            is_new = not work.count(assignment, _judged_by(worker_id))
            golds = len(gold.unmet(work, worker_id)) - is_new * plan.hit.first_gold
            left = min(left, max(0, golds) // plan.gold_per_hit)
    if pay := plan.pay_of("judge"):
        left = min(left, ledger.balance(work).free // pay)
    return left + (_open(work, worker_id) is not None)


def _judged_by(worker_id: int) -> ColumnElement[bool]:
    return (assignment.c.worker_id == worker_id) & (assignment.c.kind == "judge")


_OWN = select(assignment).where(assignment.c.worker_id == bindparam("worker"))
_OPEN_BATCH = (
    _OWN.where(assignment.c.kind != "expert", assignment.c.state.in_(OPEN))
    .order_by(assignment.c.id)
    .limit(1)
)
_WANTED = exists().where(
    place.c.assignment_id == assignment.c.id,
    place.c.kind == "count",
    judging_set.c.id == place.c.set_id,
    judging_set.c.held < judging_set.c.target,
    judging_set.c.open == 1,
)
_EXPIRED = _OWN.where(
    assignment.c.state == "expired", (assignment.c.kind != "judge") | _WANTED
).order_by(assignment.c.id)


def _open(work: Work, worker_id: int) -> schema.Assignment | None:
    return work.row(_OPEN_BATCH, schema.Assignment, {"worker": worker_id})


def _again(work: Work, worker_id: int) -> schema.Assignment | None:
    """The worker's oldest expired batch that still has a place that is wanted."""
    for assigned in work.rows(_EXPIRED, schema.Assignment, {"worker": worker_id}):
        if assigned.promised or ledger.affordable(work, assigned.pay):
            return move(work, assigned, "offer again")
    return None


@dataclass(frozen=True)
class Ending:
    """The end of a batch. `ended` is None where something is to be read before it is handed in;
    `batch` or `nothing` is what comes next, where that was asked for and nothing is to be read.
    """

    finished: Finished
    ended: Ended | None = None
    batch: Offer | None = None
    nothing: Nothing | None = None


def end_batch(work: Work, worker_id: int, key: str, *, go_on: bool) -> Ending:
    """Finish a batch, hand it in where nothing is to be read, and go on to the next one.

    One transaction instead of four: with short batches, everybody waits for them. Again for a
    batch that was handed in: the same result.
    """
    finished = submission.finish(work, worker_id, key)
    if finished.is_to_be_read:
        return Ending(finished)
    ended = submission.submit(work, worker_id, key)
    # a test's result, and points, are read as well; the next batch would be reserved meanwhile
    if not go_on or ended.qualified is not None or finished.points is not None:
        return Ending(finished, ended)
    following = next_batch(work, worker_id)
    if isinstance(following, Nothing):
        return Ending(finished, ended, nothing=following)
    return Ending(finished, ended, batch=following)


# --- qualification --------------------------------------------------------------------------------


def _qualify(work: Work, worker_id: int) -> Offer | Nothing:
    wanted = work.plan.qualification.sets
    chosen = gold.unmet(work, worker_id, "qualification")[:wanted]
    if len(chosen) < wanted:
        notices.tell(work, "qualification-used-up")
        return _nothing("failed")
    return _offer(work, worker_id, "qualification", [(row, "qualification") for row in chosen])


# --- new batches ----------------------------------------------------------------------------------


def _lease_batch(work: Work, worker_id: int, now: Standing | None = None) -> Offer | Nothing:
    plan = work.plan
    is_first = bool(plan.gold_per_hit) and not work.count(assignment, _judged_by(worker_id))
    first_gold = plan.hit.first_gold if is_first else 0
    repeated = _repeated(work, worker_id)
    batch = compose(work, worker_id, repeated, first_gold, now)
    golds = sum(row.role == "gold" for row in batch)
    if golds < plan.gold_per_hit + first_gold:
        name = workers.name_of(work, worker_id)
        notices.tell(work, "gold-used-up", name, worker=name)
        return _nothing("gold-used-up")
    if golds == len(batch):
        return _nothing("no-work-left")
    kinds = {"pool": "count", "gold": "gold"}
    first = [(row, "gold") for row in batch[:first_gold]]
    mixed = [(row, kinds[row.role]) for row in batch[first_gold:]]
    mixed += [(row, "repeat") for row in repeated]
    mixed = work.random.sample(mixed, len(mixed))
    if plan.way.together:
        topics = list(dict.fromkeys(row.topic_id for row, _ in mixed))
        mixed.sort(key=lambda each: topics.index(each[0].topic_id))
    return _offer(work, worker_id, "judge", first + mixed)


def compose(
    work: Work,
    worker_id: int,
    repeated: Sequence[schema.JudgingSet] = (),
    first_gold: int = 0,
    now: Standing | None = None,
) -> list[schema.JudgingSet]:
    """The sets of a new batch in the order of their picks, beside those that are repeated.

    The first gold of a new worker stands before them: its place tells it, on purpose.
    """
    plan, hidden = work.plan, work.plan.gold_per_hit
    counted = plan.counted_per_hit - len(repeated)
    picked = picks.pick(work, worker_id, counted + hidden, repeated, now)
    golds: list[schema.JudgingSet] = []
    if hidden:
        golds += gold.unmet(work, worker_id)
    if plan.way.anew:
        together = picks.unread(work, worker_id, [*picked, *golds])
        picked = [row for row in together if row.role == "pool"]
        golds = [row for row in together if row.role == "gold"]
    hidden = min(hidden, max(0, len(golds) - first_gold))
    uses = Counter(row.topic_id for row in repeated)
    rest = golds[first_gold:]
    return golds[:first_gold] + hide(picked, rest, hidden, counted, uses, work.random)


def _repeated(work: Work, worker_id: int) -> list[schema.JudgingSet]:
    """Now and then one of the worker's own accepted sets, once more."""
    if not work.plan.hit.repeats or work.random.random() >= work.plan.hit.repeats:
        return []
    mine = (place.c.worker_id == worker_id) & (place.c.kind == "count") & (place.c.held == 1)
    again = place.alias()
    had = exists().where(
        again.c.worker_id == worker_id, again.c.set_id == place.c.set_id, again.c.kind == "repeat"
    )
    query = select(judging_set).select_from(PLACED_SETS).where(mine, ~had)
    rows = work.rows(query.order_by(judging_set.c.id), schema.JudgingSet)
    return work.random.sample(rows, 1) if rows else []


def _lease_topic(work: Work, worker_id: int) -> Offer | Nothing:
    """Mode owner: all sets of a topic; then sets of others' topics to judge a second time."""
    chosen = picks.pick_topic(work, worker_id)
    if chosen:
        return _offer(work, worker_id, "judge", [(row, "count") for row in chosen])
    second = _second(work, worker_id)
    if not second:
        return _nothing("no-work-left")
    return _offer(work, worker_id, "second", [(row, "second") for row in second])


def _second(work: Work, worker_id: int) -> list[schema.JudgingSet]:
    """A random sample of sets that others judged, so far not judged twice."""
    s, again = judging_set.c, place.alias()
    judged = work.pool_sets() & (s.held > 0)
    wanted = round(work.plan.hit.second_share * work.count(judging_set, judged))
    left = wanted - work.count(PLACED_SETS, work.own(judging_set), place.c.kind == "second")
    twice = exists().where(again.c.set_id == s.id, again.c.kind == "second")
    mine = exists().where(again.c.set_id == s.id, again.c.worker_id == worker_id)
    query = select(judging_set).where(judged, ~twice, ~mine).order_by(s.id)
    rows = work.rows(query, schema.JudgingSet)
    return work.random.sample(rows, max(0, min(left, len(rows), work.plan.hit.sets)))


def _offer(
    work: Work, worker_id: int, kind: str, sets: Sequence[tuple[schema.JudgingSet, str]]
) -> Offer | Nothing:
    if not ledger.affordable(work, work.plan.pay_of(kind)):
        notices.tell(work, "no-budget")
        return _nothing("no-budget")
    return show(work, lease(work, worker_id, kind, sets))
