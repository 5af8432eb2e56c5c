"""What a server has to do and whether its rules hold, in figures over all campaigns: no names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection, func, select, text

from qrowd.collection.database.schema import assignment, campaign, event, job, judging_set
from qrowd.collection.database.triggers import TRIGGERS


@dataclass(frozen=True)
class Gauge:
    """A figure, or one for each kind or state: `of` has the values of the labels."""

    name: str
    help: str
    labels: tuple[str, ...]
    of: dict[tuple[str, ...], float]
    kind: str = "gauge"


def gauges(db: Connection, now: int) -> list[Gauge]:
    """The figures at one moment: jobs, leases, answers, coverage, rules."""

    def number(query: object) -> float:
        return float(db.scalar(query) or 0)  # type: ignore[call-overload]

    jobs: Counter[tuple[str, ...]] = Counter()
    counted = select(job.c.kind, job.c.state, func.count()).group_by(job.c.kind, job.c.state)
    for kind, state, n in db.execute(counted):
        jobs[kind.split()[0], state] += n  # what follows a dry run's kind is the key of its draft
    oldest = db.scalar(select(func.min(job.c.made_at)).where(job.c.state == "waiting"))
    batches = select(assignment.c.state, func.count()).group_by(assignment.c.state)
    campaigns = select(campaign.c.state, func.count()).group_by(campaign.c.state)
    leased = assignment.c.state.in_(("active", "finished"))
    overdue = select(func.count()).where(leased, assignment.c.expires_at < now)
    pool = select(func.sum(judging_set.c.held), func.sum(judging_set.c.target))
    held, wanted = db.execute(pool.where(judging_set.c.role == "pool")).one()
    rules = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if db.dialect.name == "postgresql":
        rules = "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D' AND NOT tgisinternal"
    in_force = set(db.scalars(text(rules)))
    above = select(func.count()).where(judging_set.c.held > judging_set.c.target)
    accounts = campaign.c.free + campaign.c.promised + campaign.c.owed + campaign.c.settled
    unbalanced = select(func.count()).where(campaign.c.budget != accounts)

    def one(name: str, help: str, value: float, kind: str = "gauge") -> Gauge:
        return Gauge(name, help, (), {(): value}, kind)

    def each(name: str, help: str, query: object) -> Gauge:
        rows = db.execute(query).all()  # type: ignore[call-overload]
        return Gauge(name, help, ("state",), {(state,): float(n) for state, n in rows})

    return [
        each("campaigns", "Campaigns by state.", campaigns),
        Gauge("jobs", "Background jobs by kind and state.", ("kind", "state"), {**jobs}),
        one(
            "job_waiting_seconds",
            "How long the oldest waiting job has waited.",
            0.0 if oldest is None else max(0, now - oldest) / 1000,
        ),
        each("batches", "Batches by state; active and finished ones are leased.", batches),
        one("leases_overdue", "Leases that are over and not swept yet.", number(overdue)),
        one("places_held", "Judgements that are done or reserved.", float(held or 0)),
        one("places_wanted", "Judgements that are wanted.", float(wanted or 0)),
        one(
            "answers_total",
            "What workers have said.",
            number(select(func.count()).select_from(event)),
            "counter",
        ),
        one(
            "rules_missing",
            "Rules of the database that are not in force; must be 0.",
            float(len({trigger.name for trigger in TRIGGERS} - in_force)),
        ),
        one(
            "rules_broken",
            "Sets held above their target and ledgers out of balance; must be 0.",
            number(above) + number(unbalanced),
        ),
    ]
