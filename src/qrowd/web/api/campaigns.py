"""The campaigns of a server: what everybody may know of one, and the list."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fastapi import APIRouter, UploadFile
from pydantic import BaseModel
from sqlalchemy import select

from qrowd.collection.books.prospect import batch_documents
from qrowd.collection.database.schema import campaign
from qrowd.collection.database.store import Work
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.files import read_plan_files
from qrowd.collection.plan.forecast import forecast, hourly_wage, refuse_unmeetable
from qrowd.collection.plan.sections import SURELY
from qrowd.collection.plan.toml import read_plan
from qrowd.errors import RuleError
from qrowd.web.access import Administrator, Signed, TheStore, roles_of
from qrowd.web.files import keep_upload
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"], responses=RESPONSES)


class Listed(BaseModel):
    """A campaign in the list."""

    name: str
    state: str


class Terms(BaseModel):
    """What workers agree to; empty where nothing is asked."""

    text: str
    version: str


class About(BaseModel):
    """What anybody may know before taking part. Pay is in minor units; `hourly` has the test."""

    name: str
    title: str
    state: str
    mode: str
    way: str
    script: str
    language: str
    grades: list[int]
    labels: list[str]
    relevant_from: int
    cuts: list[float]
    instructions: str
    examples: list[str]
    documents_per_batch: int
    batches_per_visit: int | None
    minutes_per_batch: float
    hourly: int
    pay: int
    currency: str
    digits: int
    qualification: bool
    justification: str
    #: the checks of a finished batch that may keep it from counting
    checks: list[str]
    seconds_per_document: float
    #: set: on average over a set; document: for every one
    seconds_for: str
    #: pay of a batch with which the checks end somebody's work; None where they do not
    screen_out_pay: int | None
    consent: Terms


def about(work: Work) -> About:
    """What a campaign says to everybody."""
    plan, documents = work.plan, batch_documents(work)
    return About(
        name=plan.campaign.name,
        title=plan.campaign.title or plan.campaign.name,
        state=work.state,
        mode=plan.campaign.mode,
        way=plan.way.name,
        script=plan.way.script,
        language=plan.campaign.language,
        grades=list(plan.scale.grades),
        labels=list(plan.scale.labels),
        relevant_from=plan.scale.relevant_from,
        cuts=list(plan.way.cuts(plan)),
        instructions=plan.campaign.instructions,
        examples=list(plan.campaign.examples),
        documents_per_batch=round(documents),
        batches_per_visit=None  # any number
        if plan.platform.preset == "own"
        else plan.campaign.hits_per_session,
        minutes_per_batch=plan.seconds_of(1) * documents / 60,
        hourly=hourly_wage(plan, documents),
        pay=plan.pay_of("judge"),
        currency=plan.pay.currency,
        digits=plan.pay.digits,
        qualification=bool(plan.qualification.sets),
        justification=plan.techniques.justification,
        checks=[
            name
            for name in plan.way.checks
            if (check := getattr(plan.checks, name)).action != "none" and check.at_least > 0
            if name == "seconds" or plan.gold_per_hit
        ],
        seconds_per_document=plan.checks.seconds.at_least,
        seconds_for=plan.checks.seconds_for,
        screen_out_pay=plan.pay.minor(plan.pay.screen_out)
        if plan.acts("screen-out") or plan.acts(SURELY)
        else None,
        consent=Terms(text=plan.people.consent, version=plan.people.consent_version),
    )


@router.get("")
def listed(bearer: Signed, store: TheStore) -> list[Listed]:
    """The campaigns that are open to whoever asks."""
    query = select(campaign.c.name, campaign.c.state).order_by(campaign.c.id)
    with store.snapshot() as db:
        if bearer.plain_account:
            mine = [row.campaign_id for row in roles_of(db, bearer.account or 0)]
            query = query.where(campaign.c.id.in_(mine))
        elif not bearer.administrator:
            query = query.where(campaign.c.id == bearer.campaign)
        return [Listed(name=name, state=state) for name, state in db.execute(query)]


@router.get("/{name}/about")
def public(name: str, store: TheStore) -> About:
    """What anybody may know before taking part."""
    with store.read(name) as work:
        return about(work)


class Made(BaseModel):
    """A campaign that was made, as a draft."""

    name: str
    pairs: int
    batches: int
    cost: int
    warnings: list[str]


@router.post("", status_code=201)
def make(files: list[UploadFile], _: Administrator, store: TheStore) -> Made:
    """A new campaign from `plan.toml` and the files that it names, sent together."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in files:
            keep_upload(folder, file.filename, file.file)
        path = folder / "plan.toml"
        if not path.is_file():
            raise RuleError("bad-value", "send a file plan.toml, and the files that it names")
        plan = read_plan(path)
        rows = read_plan_files(plan, path, within=folder)
        refuse_unmeetable(plan, rows, "plan.toml")
        create_campaign(store, plan, rows)
        expected = forecast(plan, rows)
    return Made(
        name=plan.campaign.name,
        pairs=expected.pairs,
        batches=expected.batches,
        cost=expected.spend.total,
        warnings=[str(warning.message) for warning in expected.warnings],
    )
