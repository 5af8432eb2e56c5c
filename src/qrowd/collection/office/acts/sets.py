"""What is judged: targets, priorities, gold sets, instructions of a topic, more of everything."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, select

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    NAMED_PAIRS,
    PAIR_NAMES,
    Assignment,
    JudgingSet,
    document,
    judging_set,
    outcome,
    pair,
    topic,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold
from qrowd.collection.judging.assignments import by_id, move, undo_details
from qrowd.collection.judging.checks import checked_again
from qrowd.collection.judging.submission import failed_outcomes, screened_out_by
from qrowd.collection.material import campaign_rows, clarification
from qrowd.collection.office.acts.batches import take_back
from qrowd.collection.office.acts.money import take_back_bonus
from qrowd.collection.office.acts.workers import (
    Readmit,
    batch_to_restore,
    readmitted,
    undo_readmission,
)
from qrowd.collection.people.workers import worker_by_number, worker_of
from qrowd.collection.plan.files import blank_documents, by_title
from qrowd.collection.plan.forecast import gold_problem, set_sizes, unpassable
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.plan.sections import SURELY
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import (
    Identifier,
    Inside,
    Line,
    Number,
    Priorities,
    Words,
    detail,
)
from qrowd.data.topics import Topic
from qrowd.errors import RuleError
from qrowd.texts import Text, listed

NAMED = 5  # unknown names in a sentence


@dataclass(frozen=True)
class Cost:
    """What an extension comes to, in minor units, and what is free."""

    pairs: int
    judgements: int
    batches: int
    amount: int
    free: int


def _cost(work: Work, pairs: int, sets: int, judgements: int) -> Cost:
    batches = math.ceil(sets / work.plan.counted_per_hit)
    amount = batches * work.plan.pay_of("judge")
    return Cost(pairs, judgements, batches, amount, ledger.balance(work).free)


class RaiseTarget(Act):
    """Ask for more (or fewer) judgements of every document, or of those of one topic."""

    name = "raise target"
    on = ("campaign", "topic")
    target: int = detail(Number(low=0, high=1000), suggest=lambda plan: plan.sets.target + 1)
    topic: str | None = detail(Line(), default=None, hint=True)

    def do(self, work: Work) -> Details:
        sets, s = _offered_sets(work, self.topic), judging_set.c
        before: list[list[int]] = []  # first set, last set, target; neighbours with equal ones
        rows = work.db.execute(select(s.id, s.target).where(sets).order_by(s.id))
        for target, same in groupby(rows, itemgetter(1)):
            numbers = [number for number, _ in same]
            before.append([numbers[0], numbers[-1], target])
        if not before:
            raise RuleError("not-found", "there is no open set of that topic")
        _set_target(work, self.target, sets)
        return {"before": before}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        sets, before = _offered_sets(work, stored.get("topic")), stored["before"]
        if isinstance(before, int):  # schema 0001: one target of them all
            _set_target(work, before, sets)
            return
        for first, last, target in before:
            _set_target(work, int(target), and_(sets, judging_set.c.id.between(first, last)))

    def foretell(self, work: Work) -> Consequence:
        more = self.cost(work)
        where = self.says("topic" if self.topic else "every-topic", topic=self.topic)
        parts = ("wanted", "more", "follows")
        return self.ask(work, *parts, cost=more.amount, where=where, **vars(more))

    def cost(self, work: Work) -> Cost:
        """What it would cost."""
        s = judging_set.c
        added = self.target - s.target
        lower = and_(_offered_sets(work, self.topic), s.target < self.target)
        query = select(func.sum(added), func.sum(added * s.size), func.sum(s.size)).where(lower)
        sets, judgements, pairs = (int(total or 0) for total in work.db.execute(query).one())
        return _cost(work, pairs, sets, judgements)


def _offered_sets(work: Work, topic_name: str | None) -> ColumnElement[bool]:
    """The pool's sets that are offered (of one topic, where it is named)."""
    offered = and_(work.pool_sets(), judging_set.c.open == 1)
    if topic_name is None:
        return offered
    named = select(topic.c.id).where(work.own(topic), topic.c.name == topic_name)
    return and_(offered, judging_set.c.topic_id.in_(named))


def _set_target(work: Work, target: int, sets: ColumnElement[bool]) -> None:
    held = judging_set.c.held
    never_below_held = case((held > target, held), else_=target)
    work.update(judging_set, sets, target=never_below_held)


class Extend(Act):
    """Add topics, documents, gold and pool; the new pairs get sets of their own."""

    name = "extend"
    on = ("campaign",)
    adds = True
    page = "/extend"
    command = "qrowd campaign extend"
    results = tuple((name, Number()) for name in ("topics", "documents", "pairs", "sets"))
    rows: CampaignRows = detail(Inside(of=CampaignRows), recorded=False)

    def settled(self, work: Work) -> tuple[CampaignRows, set[str]]:
        """What is added, and the documents without a text: the plan says what becomes of them."""
        rows = replace(self.rows, documents=list(self.rows.documents))
        how, blank = work.plan.files.blank, blank_documents(rows.documents)
        if how == "leave out":
            kept = [row for row in rows.documents if row.name not in blank]
            rows = replace(rows.without(blank), documents=kept)
        elif how == "title":
            rows = replace(rows, documents=list(map(by_title, rows.documents)))
        else:
            blank = set()
        return work.plan.way.prepare(work.plan, rows), blank

    def do(self, work: Work) -> Details:
        if refused := self.refused(work):
            raise RuleError("bad-value", " ".join(str(text) for text in refused))
        before = {f"after_{name}": last for name, last in campaign_rows.highest(work).items()}
        added = campaign_rows.add(work, self.settled(work)[0])
        after = {f"last_{name}": last for name, last in campaign_rows.highest(work).items()}
        return {**vars(added), **before, **after}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        campaign_rows.withdraw(work, stored)

    def refused(self, work: Work) -> list[Text]:
        """Why it would be refused, all of it at once; nothing if it would not."""
        plan, rows = work.plan, self.settled(work)[0]
        problems = []
        wanted = dict.fromkeys([*rows.pool, *(row.pair for row in rows.gold)])
        sent = {
            "topic": {each.name for each in rows.topics},
            "document": {each.name for each in rows.documents},
        }
        for at, (noun, table) in enumerate((("topic", topic), ("document", document))):
            stored = set(work.db.scalars(select(table.c.name).where(work.own(table))))
            names = dict.fromkeys(names[at] for names in wanted)
            if unknown := [name for name in names if name not in stored | sent[noun]]:
                quoted = listed([repr(name) for name in unknown[:NAMED]])
                problems.append(self.says(f"unknown-{noun}", n=len(unknown), names=quoted))
        known = work.db.execute(select(topic.c.name, topic.c.query).where(work.own(topic)))
        topics = {each.name: each for each in rows.topics} | {
            name: Topic(name, query) for name, query in known
        }
        whole = replace(rows, topics=list(topics.values()))
        problems += [each.message for each in plan.way.unmeetable(whole)]
        present = _named_pairs(work)
        if used := [row.pair for row in rows.gold if row.pair in present]:
            quoted = listed([" ".join(names) for names in used[:NAMED]])
            problems.append(self.says("used", n=len(used), names=quoted))
        if not problems:  # sizes of sets of unknown topics would be no help
            sizes = campaign_rows.sizes_of(work, rows)
            if problem := gold_problem(plan, rows.gold) or unpassable(plan, rows.gold, sizes):
                problems.append(self.says("gold", problem=problem))
        return problems

    def foretell(self, work: Work) -> Consequence:
        if refused := self.refused(work):
            raise RuleError("bad-value", " ".join(str(text) for text in refused))
        (rows, _), more = self.settled(work), self.cost(work)
        pairs = self.says("pairs", topics=len({topic for topic, _ in rows.pool}), **vars(more))
        sent = {"topics": rows.topics, "documents": list(rows.documents), "gold": rows.gold}
        sizes = {name: len(each) for name, each in sent.items()}
        left = self.left_out(work)
        return self.ask(work, pairs, *left, "sent", "follows", cost=more.amount, **sizes)

    def left_out(self, work: Work) -> list[Text]:
        """What of it is not added, or not as it is."""
        rows, blank = self.settled(work)
        there, how = len(set(rows.pool)) - self.cost(work).pairs, work.plan.files.blank
        left = [self.says("left-out", n=there)] if there else []
        return left + ([self.says(f"blank.{how.replace(' ', '-')}", n=len(blank))] if blank else [])

    def cost(self, work: Work) -> Cost:
        """What judging those pairs of its pool would cost that the campaign does not have yet."""
        rows, _ = self.settled(work)
        present = _named_pairs(work) | {row.pair for row in rows.gold}
        fresh = [names for names in dict.fromkeys(rows.pool) if names not in present]
        sizes, target = set_sizes(work.plan, fresh), work.plan.sets.target
        return _cost(work, len(fresh), len(sizes) * target, sum(sizes) * target)


def _named_pairs(work: Work) -> set[tuple[str, str]]:
    pairs = select(*PAIR_NAMES).select_from(NAMED_PAIRS).where(work.own(pair))
    return {(topic, doc) for topic, doc in work.db.execute(pairs)}


def outside_pool(work: Work, topic_name: str) -> list[tuple[str, str]]:
    """The campaign's documents that are not judged under a topic, as pairs with it."""
    row = clarification.topic_named(work, topic_name)
    judged = select(pair.c.document_id).where(pair.c.topic_id == row.id)
    query = select(document.c.name).where(work.own(document), document.c.id.not_in(judged))
    return [(topic_name, name) for name in work.db.scalars(query.order_by(document.c.name))]


class RetireGold(Act):
    """Give a gold set to nobody any more."""

    name = "retire gold"
    on = ("gold",)
    states = ("in use",)
    subject = "set {set}"
    set: int = detail(Identifier())

    def do(self, work: Work) -> None:
        _use_gold(work, self.set, in_use=False)

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        _use_gold(work, int(stored["set"]), in_use=True)

    def foretell(self, work: Work) -> Consequence:
        _gold_set(work, self.set)
        left = gold.supply(work) - 1
        each = left // work.plan.gold_per_hit if work.plan.gold_per_hit else left
        out = [Readmit(worker=number) for number in screened_out_by(work, self.set)]
        who = listed([f"w{act.worker}" for act in out])
        screened = [self.says("screened-out", n=len(out), workers=who)] if out else []
        asked = self.ask(work, "follows", "left", *screened, n=left, batches=each)
        return replace(asked, offers=tuple(out))


class CheckAgain(Act):
    """Check batches again that failed by a gold set on which an expert decided otherwise.

    The set is retired. Batches that pass now are accepted, and paid where they were not; who would
    not be screened out without it is let in again. Nobody who passed fails.
    """

    name = "check again"
    on = ("gold",)
    states = ("contested",)
    subject = "set {set}"
    results = (("passing", Number()),)
    unread = ("outcomes", "batches", "bonuses", "readmitted", "failures", "was_open")
    set: int = detail(Identifier())

    def do(self, work: Work) -> Details:
        row, again = _gold_set(work, self.set), self.again(work)
        out = screened_out_by(work, self.set)
        work.insert_all(outcome, [each for batch in again.outcomes.values() for each in batch])
        if row.open:
            _use_gold(work, row.id, in_use=False)
        batches, bonuses, readmissions = [], [], []
        for assigned in again.restored:
            move(work, assigned, "restore")
            batches.append(undo_details(assigned))
        for assigned in again.sent_back:
            # its places went to others: the work is paid, the answers stay void
            if assigned.pay:
                ledger.bonus(work, assigned.worker_id, assigned.pay)
                bonuses.append([assigned.worker_id, assigned.pay])
        for assigned in (*again.restored, *again.sent_back):
            _count_failures(work, assigned.worker_id, -1)
        for number in out:
            judge = worker_by_number(work, number)
            if judge.id in again.judges:
                readmissions.append(readmitted(work, judge))
        return {
            "passing": len(again.outcomes),
            "outcomes": again.before,
            "batches": batches,
            "bonuses": bonuses,
            "readmitted": readmissions,
            "failures": [each.worker_id for each in (*again.restored, *again.sent_back)],
            "was_open": row.open,
        }

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        for each in stored["readmitted"]:
            undo_readmission(work, each)
        for batch in stored["batches"]:
            take_back(work, batch, "exclude")
        for worker_id, amount in stored["bonuses"]:
            take_back_bonus(work, worker_id, amount)
        for worker_id in stored["failures"]:
            _count_failures(work, worker_id, 1)
        work.insert_all(outcome, stored["outcomes"])
        if stored["was_open"]:
            _use_gold(work, int(stored["set"]), in_use=True)

    def again(self, work: Work) -> Rechecked:
        """What would come of it; an error where there is nothing to check again."""
        row = _gold_set(work, self.set)
        if not expert_sample.contested_gold(work, row.id):
            message = f"no expert has decided otherwise than gold set {row.id} says"
            raise RuleError("conflict", f"{message}; there is nothing to check again")
        again = Rechecked.of(work, row.id)
        if not row.open and not again.outcomes:
            message = f"no batch that failed by gold set {row.id} would pass"
            raise RuleError("conflict", f"{message}: nothing is left to check again")
        return again

    def foretell(self, work: Work) -> Consequence:
        again, pay = self.again(work), work.plan.pay
        follows, cost = [self.says("follows")], 0
        if again.restored:
            follows.append(self.says("restored", n=len(again.restored)))
        if again.sent_back:
            cost += sum(each.pay for each in again.sent_back)
            values = {"n": len(again.sent_back), "amount": pay.shown(cost)}
            follows.append(self.says("sent-back", **values))
        numbers = screened_out_by(work, self.set)
        judges = [worker_by_number(work, number) for number in numbers]
        judges = [each for each in judges if each.id in again.judges]
        if judges:
            who = listed([f"w{each.number}" for each in judges])
            follows.append(self.says("screened-out", n=len(judges), workers=who))
            endings = [batch_to_restore(work, each) for each in judges]
            cost += sum(each.pay - each.earned - each.paid for each in endings if each)
        if not again.outcomes:
            follows.append(self.says("nobody"))
        return self.ask(work, *follows, cost=cost)


@dataclass(frozen=True)
class Rechecked:
    """What checking batches again comes to that failed by a gold set: outcomes by batch, what was
    said before; batches that were void by it alone, those sent back, and whose batches pass.
    """

    outcomes: dict[int, list[dict[str, Any]]]
    before: list[dict[str, Any]]
    restored: list[Assignment]
    sent_back: list[Assignment]
    judges: frozenset[int]

    @classmethod
    def of(cls, work: Work, set_id: int) -> Rechecked:
        """The same with experts' decisions in place of what gold says."""
        scale = work.plan.scale
        grades = {at: each.grade for at, each in gold.grades_of(work, set_id).items()}
        grades |= {
            row.position: scale.gold_of(row.grade)
            for row in expert_sample.contested_gold(work, set_id)
        }
        outcomes = {
            number: passing
            for number, passing in checked_again(work, set_id, grades).items()
            if worker_of(work, by_id(work, number).worker_id).forgotten_at is None
        }
        columns = [column.name for column in outcome.c if column.name != "id"]
        restored, sent_back, before, judges = [], [], [], set()
        for number, passing in outcomes.items():
            assigned, names = by_id(work, number), {each["check"] for each in passing}
            failed = failed_outcomes(work, assigned)
            mine = [row for row in failed if row.set_id == set_id and row.check in names]
            before += [{name: getattr(row, name) for name in columns} for row in mine]
            actions = {row.action for row in mine}
            left = [row for row in failed if row not in mine and row.action not in ("none", "stop")]
            if not any(row.set_id == set_id for row in left):
                judges.add(assigned.worker_id)
            if left:
                continue  # it fails another check all the same
            if assigned.state == "excluded" and actions & {"exclude", "screen-out", SURELY}:
                restored.append(assigned)
            elif assigned.state == "returned" and "return" in actions:
                sent_back.append(assigned)
        return cls(outcomes, before, restored, sent_back, frozenset(judges))


def contested_sets(work: Work) -> dict[int, list[expert_sample.ContestedGold]]:
    """Gold sets in use that experts contradict, or by which batches failed that would pass."""
    rows = expert_sample.contested_gold(work)
    sets = {row.set_id: [each for each in rows if each.set_id == row.set_id] for row in rows}
    return {
        number: held
        for number, held in sets.items()
        if held[0].open or Rechecked.of(work, number).outcomes
    }


def _count_failures(work: Work, worker_id: int, more: int) -> None:
    failures = max(0, worker_of(work, worker_id).failed_hits + more)
    work.update(worker, worker.c.id == worker_id, failed_hits=failures)


def _use_gold(work: Work, number: int, *, in_use: bool) -> None:
    row = _gold_set(work, number)
    if bool(row.open) == in_use:
        state = "in use" if in_use else "retired"
        raise RuleError("conflict", f"gold set {row.id} is {state} already")
    work.update(judging_set, judging_set.c.id == row.id, open=int(in_use))


def _gold_set(work: Work, number: int) -> JudgingSet:
    is_gold = (judging_set.c.id == number) & (judging_set.c.role != "pool")
    query = select(judging_set).where(work.own(judging_set), is_gold)
    return work.existing(query, f"there is no gold set {number}", JudgingSet)


class Prioritise(Act):
    """Let some pairs be judged before others: a higher number comes first."""

    name = "prioritise"
    command = "qrowd campaign extend --priorities FILE"
    results = (("found", Number()),)
    priorities: list[tuple[str, str, float]] = detail(Priorities())

    def do(self, work: Work) -> Details:
        query = select(*PAIR_NAMES, pair.c.priority).select_from(NAMED_PAIRS)
        rows = work.db.execute(query.where(work.own(pair), pair.c.priority != 0))
        before = {(topic, doc): priority for topic, doc, priority in rows}
        wanted = {(topic, doc): priority for topic, doc, priority in self.priorities}
        return {
            "found": campaign_rows.set_priorities(work, wanted),
            "before": [[*names, before.get(names, 0.0)] for names in wanted],
        }

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        before = {(topic, doc): priority for topic, doc, priority in stored["before"]}
        campaign_rows.set_priorities(work, before)


class ClarifyTopic(Act):
    """Add a dated paragraph to a topic's instructions, for those who judge it from now on."""

    name = clarification.ACT
    on = ("topic",)
    subject = "topic {topic}"
    adds = True
    topic: str = detail(Line())
    text: str = detail(Words())

    def do(self, work: Work) -> Details:
        return clarification.clarify(work, self.topic, self.text)

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        clarification.take_back(work, stored["topic"], stored["added"])

    def foretell(self, work: Work) -> Consequence:
        clarification.topic_named(work, self.topic)
        return super().foretell(work)
