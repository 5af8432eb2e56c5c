"""People of a campaign before they are workers: who may come in, the list, letters to those on it;
and the page of those who say no.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from qrowd.collection.database.schema import listed_person
from qrowd.collection.database.store import Store, Work
from qrowd.collection.office import digest, erasure
from qrowd.collection.office.acts.letters import ChangeMail, InvitePeople
from qrowd.collection.people import declined, entry, letters
from qrowd.collection.people.entry import PersonRow
from qrowd.collection.record import audit
from qrowd.collection.record.act import Act, Details
from qrowd.errors import QrowdError, RuleError
from qrowd.io.people import encoded_people, read_invited, read_pasted
from qrowd.texts import Text, language_of
from qrowd.web.access import TheStore
from qrowd.web.api.workers import judging_page
from qrowd.web.files import keep_upload
from qrowd.web.limits import WRONG_LINKS, Caller
from qrowd.web.pages.frame import CampaignVisit, Confirmation, KeeperVisit, Part, page_router
from qrowd.web.pages.judging import show_problem
from qrowd.web.pages.templates import templates
from qrowd.web.problems import status_of
from qrowd.web.settings import Settings

router = page_router()
public = APIRouter(include_in_schema=False)  # for people who have nothing but a link
PAGE = 100
MOST_PROBLEMS = 20  # that are shown at once
REMINDERS = (letters.FIRST, letters.SECOND)


@router.get("/campaigns/{name}/people")
def people_page(visit: KeeperVisit, page: int = 1) -> Response:
    """Who was asked and what became of it, the letters that wait, the list; and what is next."""
    with visit.read() as work:
        part = Part.of(work.count(listed_person, work.own(listed_person)), page, PAGE)
        mine, going = _waiting(work, visit.settings)
        mail = work.plan.mail
        data = {
            "lines": [
                (
                    line,
                    letters.shown_state(line, work.now),
                    judging_page(work, visit.settings, entry.link_text(work, line.key))
                    if line.key
                    else "",
                )
                for line in letters.invited(work, limit=part.end)[part.start :]
            ],
            "steps": _steps(letters.funnel(work)),
            "mine": mine,
            "going": len(going),
            "copied": encoded_people(letters.table_of(work, mine, visit.settings.address)).decode(),
            "server": bool(visit.settings.mail and mail.contact),
            "minutes": lambda n: -(-n // mail.per_minute),
            "doubtful": letters.doubtful(work),
            "due": sum(len(letters.recipients_of(work, each)) for each in REMINDERS),
            "unwritten": len(letters.recipients_of(work, letters.INVITATION)),
            "digests": digest.wanted(work),
            "rule": work.plan.rule,
            "taken": entry.places_taken(work),
            "page": part.page,
            "pages": part.pages,
            "sent": visit.text,
            **visit.top(work, "/workers"),
        }
    return visit.show("organiser/people.html.j2", **data)


def _waiting(
    work: Work, settings: Settings
) -> tuple[list[letters.LetterToSend], list[letters.LetterToSend]]:
    """Letters that wait for the organiser, and those that the server sends by itself."""
    rows, server = letters.waiting(work), settings.mail and work.plan.mail.contact
    going = [row for row in rows if server and row.email and row.next_at != letters.HELD]
    numbers = {row.letter for row in going}
    return [row for row in rows if row.letter not in numbers], going


def _steps(funnel: letters.Funnel) -> list[tuple[str, int, int]]:
    """The rows of the funnel: what, how many, of how many."""
    counts = asdict(funnel)
    usual = ("invited", "sent", "entered", "qualified", "passing")
    return [
        (name, n, funnel.entered if name in ("qualified", "passing") else funnel.invited)
        for name, n in counts.items()
        if n or name in usual
    ]


# --- inviting -------------------------------------------------------------------------------------


@router.post("/campaigns/{name}/people")
def invite(visit: KeeperVisit) -> Response:
    """The letter as the first of these people would get it; then invite them."""
    try:
        people = _people_sent(visit)
        acts = [*_mail_sent(visit, people), InvitePeople(people=people, days=_days(visit))]
        if not visit.sure:
            return _previewed(visit, acts, people)
        with visit.write() as work:
            seen = visit.number("seen")
            numbers = [audit.perform(work, visit.member.name, act, seen=seen) for act in acts]
            stored = audit.details_numbered(work, numbers[-1])
            if visit.settings.mail:  # until it is said who sends them
                letters.hold(work, stored["letters"])
            said = audit.said_of(work, numbers[-1])
    except QrowdError as error:
        return people_page(visit.with_problem(error, 422))
    return visit.go(visit.address("/people"), message=said, undo=numbers[-1])


def _people_sent(visit: CampaignVisit) -> list[PersonRow]:
    """People of the file that was chosen, or that were pasted; what is wrong has its line."""
    sent, text = visit.files("file"), visit.text("people")
    if not sent and not text:
        return []  # everybody on the list who has no letter yet
    if sent:
        with TemporaryDirectory() as folder:
            name, file = sent[0]
            table = read_invited(keep_upload(Path(folder), name, file))
    else:
        table = read_pasted(text)
    rows = [PersonRow(**fields) for _, fields in table]
    problems = [f"{table[at][0]}: {problem}" for at, problem in entry.problems(rows)]
    if problems:
        more = (
            [f"and {len(problems) - MOST_PROBLEMS} more"] if len(problems) > MOST_PROBLEMS else []
        )
        shown = "; line ".join(problems[:MOST_PROBLEMS])
        raise RuleError("bad-value", ", ".join([f"line {shown}", *more]))
    return rows


def _mail_sent(visit: CampaignVisit, people: Sequence[PersonRow]) -> list[Act]:
    """Whom letters come from, where that is asked for with the people."""
    if visit.text("contact"):
        return [ChangeMail(contact=visit.text("contact"), sender=visit.text("sender"))]
    with visit.read() as work:
        if not work.plan.mail.contact and any(row.email for row in people):
            letters.refuse_silence(work)
    return []


def _days(visit: CampaignVisit) -> float:
    return float(InvitePeople.details()["days"].kind.read("days", visit.text("days", "30")))


def _previewed(visit: CampaignVisit, acts: Sequence[Act], people: Sequence[PersonRow]) -> Response:
    """What the acts would do, found out by doing them and taking them back."""
    with visit.write() as work:
        tried = work.db.begin_nested()
        done: Details = {}
        for act in acts:
            done = act.do(work) or {}
            work = work.as_stored()
        written = [row for row in letters.waiting(work) if row.letter in done["letters"]]
        firsts: dict[str, letters.LetterToSend] = {}
        for row in written:
            if row.email:
                firsts.setdefault(language_of(row.language, work.plan.campaign.language), row)
        data = {
            "n": len(written),
            "samples": [
                (language, row, _sample(work, visit.settings, row))
                for language, row in firsts.items()
            ],
            "bare": sum(not row.email for row in written),
            "declined": done["declined"],
            "before": max(0, len(people) - len(written) - done["declined"]),
            **visit.top(work, "/workers"),
        }
        tried.rollback()
    table = {name: [getattr(row, name) for row in people] for name in PersonRow.__annotations__}
    kept = {name: visit.text(name) for name in ("days", "contact", "sender", "seen")}
    kept["people"] = encoded_people(table).decode() if people else ""
    return visit.show("organiser/invite.html.j2", kept=kept, **data)


def _sample(work: Work, settings: Settings, row: letters.LetterToSend) -> letters.Words:
    """A letter whose links are not real: there are none yet."""
    words = letters.words_of(work, row, letters.INVITATION, settings.address)
    text = words.text
    for address in (words.link, words.decline):
        text = text.replace(address, address.partition("=")[0] + "=…")
    return replace(words, text=text)


# --- how letters go out ---------------------------------------------------------------------------


@router.get("/campaigns/{name}/people/letters.csv")
def letters_table(visit: KeeperVisit) -> Response:
    """The letters that wait, as a table for a mail merge."""
    with visit.read() as work:
        rows, _ = _waiting(work, visit.settings)
        table = letters.table_of(work, rows, visit.settings.address)
    return _file(encoded_people(table, "letters.csv"), "text/csv; charset=utf-8", "letters.csv")


@router.get("/campaigns/{name}/people/letters.zip")
def letters_files(visit: KeeperVisit) -> Response:
    """The letters that wait, as files that mail programs open."""
    with visit.read() as work:
        rows, _ = _waiting(work, visit.settings)
        files = letters.files_of(work, rows, visit.settings.address)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return _file(packed.getvalue(), "application/zip", "letters.zip")


def _file(content: bytes, media_type: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


@router.post("/campaigns/{name}/people/send")
def send(visit: KeeperVisit) -> Response:
    """Let the server send the letters that wait."""
    with visit.write() as work:
        letters.refuse_silence(work)
        letters.release(work)
    return visit.go(visit.address("/people"))


@router.post("/campaigns/{name}/people/sent")
def sent_by_hand(visit: KeeperVisit) -> Response:
    """Letters that were on the page have gone out by the organiser's own mailer."""
    last = visit.number("last") or 0
    with visit.write() as work:
        rows, _ = _waiting(work, visit.settings)
        letters.handed_out(work, [row.letter for row in rows if row.letter <= last])
    return visit.go(visit.address("/people"), message=Text("office.people.marked-sent"))


@router.post("/campaigns/{name}/people/{number}/forget")
def forget_person(number: int, visit: KeeperVisit) -> Response:
    """Erase somebody on the list who never came in."""
    page = visit.address("/people")
    if not visit.sure:
        question = Confirmation(
            Text("office.people.forget-question", person=f"p{number}"),
            [Text("office.people.forget-follows"), Text("office.worker.forget-backups")],
            Text("office.price.nothing"),
            Text("office.worker.forget-button"),
            page,
            final=True,
        )
        return visit.confirm(question)
    erasure.forget_listed(visit.store, visit.name, number, who=visit.member.name)
    return visit.go(page, message=Text("office.worker.forgotten"))


# --- not interested -------------------------------------------------------------------------------


@public.get("/decline/{name}")
def asked(name: str, request: Request, store: TheStore, link: str = "") -> HTMLResponse:
    """Who asked, and a button that says no. Looking changes nothing: mail servers do it, too."""
    return _declining(name, request, store, link)


@public.post("/decline/{name}")
def decline(name: str, request: Request, store: TheStore, link: str = "") -> HTMLResponse:
    """Say no, by the button or by a mail program's one-click form (RFC 8058).

    The link is all that shows who says it: there is no cookie, so nothing can be forged with one.
    """
    return _declining(name, request, store, link, sure=True)


def _declining(
    name: str, request: Request, store: Store, link: str, sure: bool = False
) -> HTMLResponse:
    try:
        with Caller.of(request).wrong(WRONG_LINKS), store.read(name) as work:
            plan = work.plan
            key, row = entry.person_of_link(work, link)
            done = declined.by_link(work, key)
            if row is None and not done:
                raise RuleError("expired-link", entry.ENDED)
        if sure and not done:
            with store.write(name) as work:
                letters.decline(work, link)  # the jobs process scrubs what is left of it
    except RuleError as error:
        known = error.code in ("expired-link", "too-many")
        words = Text(f"error.{error.code}" if known else "problem.campaign")
        return show_problem(request, words, status_of(error))
    browser = request.headers.get("Accept-Language", "").split(",")[0]
    language = language_of(row.language if row else browser, plan.campaign.language)
    page = (
        templates()
        .get_template("decline.html.j2")
        .render(
            language=language,
            t=lambda id, **values: Text(id, **values).say(language),
            title=plan.campaign.title or name,
            who=plan.mail.who,
            worker=row is not None and row.worker_id is not None,
            asked=not (sure or done),
        )
    )
    return HTMLResponse(page)
