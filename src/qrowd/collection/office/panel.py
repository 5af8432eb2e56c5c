"""People of an earlier campaign who may be asked again: they agreed, and were surely good."""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlalchemy import Select, func, or_, select

from qrowd.collection.database.schema import TypedRow, listed_person, person, worker
from qrowd.collection.database.store import Work
from qrowd.collection.judging.checks import gold_record
from qrowd.collection.people import workers
from qrowd.collection.people.entry import LISTED, PersonRow
from qrowd.comparison.significance import wilson
from qrowd.errors import RuleError
from qrowd.rendering import percent


class Acquaintance(TypedRow):
    """Somebody who agreed to be asked again."""

    worker_id: int
    platform_id: str
    name: str
    email: str
    language: str


def people_of_before(work: Work, passed: float, at_least: int) -> list[PersonRow]:
    """Those of this campaign who agreed to be asked again, and whose accuracy on check questions is
    surely `passed`: with `at_least` so many answers, the lower end of Wilson's 95 % interval.

    Not whoever was screened out, stopped or taken off the list. An error says why there is nobody.
    """
    if not 0 < passed < 1 or at_least < 1:
        message = "the accuracy must be above 0 and below 1, and the number of answers at least 1"
        raise RuleError("bad-value", message)
    agreed = work.rows(_agreed(work), Acquaintance)
    records = [gold_record(work, row.worker_id) for row in agreed]
    right, asked = (np.array([getattr(each, n) for each in records]) for n in ("right", "asked"))
    tried = asked >= at_least
    surely = tried & (wilson(right, asked)[0] >= passed)
    if not surely.any():
        everybody = work.count(worker, workers.people(work))
        raise RuleError(
            "not-found",
            f"nobody of {work.name!r} can be asked: of {everybody} workers {len(agreed)} agreed to "
            f"be asked again and are in good standing, {int(tried.sum())} of them answered at "
            f"least {at_least} check questions, and none is surely right {percent(passed)} of the "
            "time",
        )
    return [
        PersonRow(row.platform_id, row.name, row.email, row.language)
        for row, good in zip(agreed, surely, strict=True)
        if good
    ]


def _agreed(work: Work) -> Select[Any]:
    w, p, row = worker.c, person.c, listed_person.c
    joined = worker.join(person, p.worker_id == w.id).outerjoin(
        listed_person, row.worker_id == w.id
    )
    columns = (
        w.id.label("worker_id"),
        func.coalesce(row.platform_id, p.platform_id).label("platform_id"),
        func.coalesce(func.nullif(row.name, ""), p.name).label("name"),
        func.coalesce(func.nullif(row.email, ""), p.address).label("email"),
        func.coalesce(row.language, "").label("language"),
    )
    good = (
        workers.people(work),
        w.state == "qualified",
        w.ask_again_at.is_not(None),
        w.forget_asked.is_(None),
        or_(row.state.is_(None), row.state == LISTED),
    )
    return select(*columns).select_from(joined).where(*good).order_by(w.number)


def refuse_others(before: Work, now: Work) -> None:
    """An error unless people of one campaign are known by the same ids in the other."""
    if before.campaign == now.campaign and before.db.engine.url == now.db.engine.url:
        raise RuleError("bad-value", "these are the people of this campaign; name another one")
    platforms = [work.plan.platform.preset for work in (before, now)]
    if len(set(platforms)) > 1:
        raise RuleError(
            "not-allowed",
            f"people of {before.name!r} have ids of {platforms[0]}, those of {now.name!r} of "
            f"{platforms[1]}: nobody can be asked by them",
        )
