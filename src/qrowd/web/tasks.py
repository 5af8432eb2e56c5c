"""The process for background jobs: what each job does, by the whole library, and what is due.

Each task works on an export of the campaign (one snapshot); what it finds is JSON, and files that
people want are kept in the folder of results, pictures too. Between jobs the process ends leases
that are over, asks again for what pages show, and draws pictures of documents.
"""

from __future__ import annotations

import contextlib
import json
import logging
import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

import qrowd as q
from qrowd.collection.adjudication import cases
from qrowd.collection.books import notices
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import (
    assignment,
    campaign,
    content,
    declined,
    document,
    study,
)
from qrowd.collection.database.store import Store, Work
from qrowd.collection.drafts.draft import open_draft
from qrowd.collection.drafts.plan_file import plan_of
from qrowd.collection.judging.submission import sweep
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.next_sets import decided_now, is_stopped
from qrowd.collection.office.digest import send_digests
from qrowd.collection.people import mailer as mail
from qrowd.collection.people.mailer import Mailer
from qrowd.collection.plan.files import read_plan_files
from qrowd.collection.plan.sections import MINUTE
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.prolific import calls
from qrowd.collection.publishing.export import export, given_names
from qrowd.collection.publishing.release import release
from qrowd.data.collected import qrels_of
from qrowd.errors import RuleError, StoreError
from qrowd.http import Client
from qrowd.io.atomic import write
from qrowd.rendering import plain, tsv
from qrowd.reporting.parts import Figure
from qrowd.web import findings, jobs, pictures
from qrowd.web.files import CampaignFiles, drafts_in, only_file
from qrowd.web.judgements import (
    DRAWS,
    MEASURES,
    figures_of,
    merged,
    merger_of,
    sampled,
    taken_from,
)
from qrowd.web.logs import cause_of
from qrowd.web.next_sets import choose
from qrowd.web.settings import Settings

SWEEP_EVERY = 20.0  # seconds
PAUSE = 0.5
REFRESH = 15 * 60_000
LETTERS_EVERY, LONGEST_PAUSE = 2.0, 300.0  # seconds between looks for letters
DIGESTS_EVERY = 600.0
TELLING_EVERY, LISTENING_EVERY = 10.0, 300.0
METHOD = "auto"  # what pages are shown first
_log = logging.getLogger(__name__)

Parameters = Mapping[str, Any]
Task = Callable[[CampaignFiles, Parameters], dict[str, Any]]


def _merge(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """Merge the judgements by a method (a spec string); qrels and probabilities are kept."""
    taken, belief = merged(files, str(parameters.get("method", "mv")))
    qrels = belief.qrels()
    q.save(qrels, files.results / "merged.qrels")
    q.save(belief, files.results / "probabilities.tsv")
    return {
        "method": belief.fit.method,
        "choice": belief.fit.choice,
        "pairs": len(belief.pairs),
        "judgements": len(taken.judgements),
        "assessors": len(taken.judgements.assessors),
        "grades": {str(grade): int((qrels.grade == grade).sum()) for grade in qrels.scale.grades},
        "converged": belief.fit.converged,
        "seconds": belief.fit.seconds,
        "notes": [str(note) for note in belief.fit.notes],
        "files": ["merged.qrels", "probabilities.tsv"],
    }


def _quality(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """The table of assessors, how far they agree, what merging gains, disputed pairs, pictures."""
    method = merger_of(str(parameters.get("method", "mv")))
    quality, assessors = findings.quality(taken_from(files), method)
    columns = assessors.to_polars().to_dict(as_series=False)
    write(files.results / "assessors.tsv", tsv(columns))
    return {
        **quality.summary,
        "files": ["assessors.tsv"],
        "pictures": _kept(files, quality.pictures),
    }


def _systems(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """Scores and places of the uploaded runs, with intervals over draws and topics.

    Where people judge a sample, machine labels of all of it that their judgements correct: scores
    under the sample alone would take all the rest for not relevant.
    """
    runs = _runs(files)
    measures = list(parameters.get("measures") or MEASURES)
    method = str(parameters.get("method", "mv"))
    by_sample = sampled(only_file(files.sample), only_file(files.machine))
    _, belief = merged(files, method, by_people=by_sample is not None)
    chosen = {"method": belief.fit.method, "choice": belief.fit.choice}
    if by_sample is not None:
        found = findings.corrected(belief, *by_sample, q.read_runs(runs), measures)
        return {**chosen, "corrected": found}
    systems = findings.systems(belief, q.read_runs(runs), measures, DRAWS)
    return {
        **chosen,
        **systems.summary,
        "pictures": _kept(files, systems.pictures),
    }


def _decisions(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """Which systems' scores the experts' decisions move, for organisers only."""
    with files.read() as work:
        decisions = cases.decisions(work)
        undecided = given_names(work, decided=False)
    if not decisions:
        raise RuleError("no-decisions", "experts have decided nothing yet")
    runs = q.read_runs(_runs(files))
    measure = str((parameters.get("measures") or MEASURES)[0])
    method = str(parameters.get("method", "mv"))
    taken, after = merged(files, method)
    given = q.Given(gold=qrels_of(undecided)) if undecided else q.NOTHING
    before = merger_of(method).fit(taken.judgements, given)
    return {
        "method": after.fit.method,
        "choice": after.fit.choice,
        "measure": measure,
        **findings.moved(runs, before.qrels(), after.qrels(), decisions, measure),
    }


def _next(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """Which sets come next, and which are decided; where that fails, all stays as it is."""
    try:
        with files.read() as work:
            by_systems = work.plan.next.pick == "systems"
        runs = q.read_runs(_runs(files)) if by_systems else None
        act = choose(files.store, files.campaign, "qrowd", runs)
    except Exception as error:  # whatever it is, somebody should know
        with files.store.write(files.campaign) as work:
            notices.tell(work, "next-failed", problem=str(error))
        raise
    with files.store.write(files.campaign) as work:
        notices.settle(work, "next-failed")
        decided = decided_now(work)
    return {"act": act, **(asdict(decided) if decided else {})}


def _export(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """All files of an export, kept until the next one."""
    with files.read() as work:
        done = export(work, files.results, parquet=bool(parameters.get("parquet")))
    return {"files": [*(file.name for file in done), "manifest.json"]}


def _release(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """A release as a zip that stays; `who` asked for it, twice."""
    taken = [int(path.stem) for path in files.releases.glob("*.zip") if path.stem.isdecimal()]
    made = release(
        files.store,
        files.campaign,
        files.releases / f"{max(taken, default=0) + 1}.zip",
        figures_of(str(parameters.get("method", "mv")), list(parameters.get("measures") or ())),
        who=str(parameters["who"]),
        runs=sorted(path for path in files.runs.iterdir() if path.is_file()),
        sure=True,
    )
    return {"act": made.act, "sha256": made.sha256, "files": dict(made.files)}


def _rehearsal(files: CampaignFiles, parameters: Parameters) -> dict[str, Any]:
    """A dry run of a draft, by robots."""
    from qrowd.web.robots.rehearsal import try_out  # the whole application, for this job alone

    draft = open_draft(drafts_in(files.folder), parameters["draft"], parameters["version"])
    logging.disable(logging.INFO)  # requests and acts of robots, in a campaign that is thrown away
    try:
        estimate = try_out(
            parse_plan(plan_of(draft)),
            read_plan_files(draft.plan, draft.plan_path),
            crowd=parameters["crowd"],
            per_hour=parameters["per_hour"],
            progress=files.progress,
        )
    finally:
        logging.disable(logging.NOTSET)
    return asdict(estimate)


def _runs(files: CampaignFiles) -> Path:
    if not any(files.runs.iterdir()):
        raise RuleError("no-runs", "there are no runs yet; add some")
    return files.runs


def _kept(files: CampaignFiles, figures: Mapping[str, Figure]) -> list[dict[str, str]]:
    """Pictures kept as files; their words."""
    for name, figure in figures.items():
        write(files.results / f"{name}.svg", figure.svg)
    return [
        {"file": f"{name}.svg", "alt": figure.alt, "caption": figure.caption}
        for name, figure in figures.items()
    ]


TASKS: dict[str, Task] = {
    "decisions": _decisions,
    "export": _export,
    "merge": _merge,
    "next": _next,
    "quality": _quality,
    "rehearsal": _rehearsal,
    "release": _release,
    "systems": _systems,
}


def run_one(store: Store, folder: Path) -> bool:
    """Do one job, if there is one; whether there was."""
    row = jobs.take(store)
    if row is None:
        return False
    kind, clock = row.kind.split()[0], time.monotonic()
    event: dict[str, Any] = {"kind": kind, "number": row.id, "campaign": row.campaign_id or 0}
    _log.info("job start", extra=event)
    tell = partial(jobs.tell_progress, store, row.id)
    with jobs.kept(store, row.id) as began:
        try:
            files = CampaignFiles(store, folder, row.campaign_id or 0, tell)
            result = json.dumps(plain(TASKS[kind](files, json.loads(row.parameters))))
        except SystemExit:  # the server ends and could not wait for it
            jobs.give_back(store, row.id)
            _log.warning("job given back", extra=event)
            raise
        except Exception as error:  # whatever it is, the process goes on
            event["seconds"] = round(time.monotonic() - clock, 3)
            _log.warning("job failed", exc_info=True, extra=event)
            jobs.fail(store, row.id, f"{type(error).__name__}: {error}", began)
        else:
            jobs.finish(store, row.id, result, began)
            event["seconds"] = round(time.monotonic() - clock, 3)
            _log.info("job done", extra=event)
    return True


# --- what is due ----------------------------------------------------------------------------------


def sweep_all(store: Store) -> int:
    """Do what is due in every campaign that is not over; how much that was."""
    total = 0
    for number in _campaigns(store, "running", "paused"):
        with store.write(number) as work:
            total += sweep(work)
    return total


def refresh_all(store: Store, folder: Path) -> int:
    """Ask again for what pages show and for what comes next, where batches came in since; how many
    jobs that were.

    Not oftener than every quarter of an hour (or what the plan says), nor than twenty times what it
    took.
    """
    asked = 0
    for number in _campaigns(store, "running"):
        has_runs = any(CampaignFiles(store, folder, number).runs.iterdir())
        with store.write(number) as work:
            asked += _refresh(work, "quality")
            if has_runs:
                asked += _refresh(work, "systems")
            if work.plan.is_reordered and not is_stopped(work):
                every = round(work.plan.next.refresh_minutes * MINUTE)
                asked += _refresh(work, "next", every)
    return asked


def _campaigns(store: Store, *states: str) -> list[int]:
    with store.snapshot() as db:
        return list(db.scalars(select(campaign.c.id).where(campaign.c.state.in_(states))))


def _refresh(work: Work, kind: str, every: int = REFRESH) -> bool:
    since, took, parameters = 0, 0, {"method": METHOD}
    last = jobs.newest(work, kind)
    if last is not None:
        if last.state in ("waiting", "running"):
            return False
        assert last.finished_at is not None
        assert last.leased_until is not None
        since, parameters = last.finished_at, json.loads(last.parameters)
        took = since - (last.leased_until - jobs.LEASE)
    valid = work.valid_batches()
    first = work.number(select(func.min(assignment.c.leased_at)).where(valid)) or work.now
    began = since - took  # what came in while it ran was not read
    fresh = select(assignment.c.id).where(valid, assignment.c.ended_at > began).limit(1)
    old = work.now - max(since, first) > max(every, 20 * took)
    if not old or not work.number(fresh):
        return False
    jobs.ask(work, kind, parameters)
    return True


def undrawn_documents(store: Store, folder: Path) -> list[str]:
    """The hashes of PDF documents without pictures of their pages.

    These are made before anybody asks: the time would tell what others have seen.
    """
    is_open = campaign.c.state.in_(("draft", "running", "paused"))
    pdf = document.c.media_type.like("application/%pdf%") & (document.c.content != "")
    query = select(document.c.content).distinct().select_from(document.join(campaign))
    with store.snapshot() as db:
        digests = list(db.scalars(query.where(is_open, pdf)))
    return [digest for digest in digests if not pictures.folder_of(folder, digest).exists()]


def draw_one(store: Store, folder: Path, undrawn: list[str]) -> bool:
    """Draw one of these documents; whether there was one."""
    if not undrawn:
        return False
    digest = undrawn.pop()
    with store.snapshot() as db:
        body = db.scalar(select(content.c.body).where(content.c.hash == digest))
    try:
        pictures.pages_of(folder, digest, body or b"")
    except OSError:  # no room to keep it; who asks for the document is told so
        return False
    return True


def scrub_declined(store: Store, until: int) -> int:
    """Leave no bytes of people who declined after a moment; when the last of them did."""
    with store.snapshot() as db:
        newest = db.scalar(select(func.max(declined.c.at))) or 0
    if newest > until:
        erasure.scrub(store)
    return newest


def send_letters(store: Store, mailer: Mailer, address: str, stop: Any) -> None:
    """Send what is due in every campaign, letters and digests, until `stop`.

    In a thread of its own: a slow mail server holds up no job, and no job a letter.
    """
    pause, next_digests = LETTERS_EVERY, 0.0
    while not stop.wait(pause):
        well = True
        # the overview, for digests, takes longer than a look for letters
        digests = time.monotonic() > next_digests
        if digests:
            next_digests = time.monotonic() + DIGESTS_EVERY
        for number in _open_to_mail(store):
            try:
                mail.send_due(store, number, mailer, address, stop)
                if digests:
                    send_digests(store, number, mailer, address)
            except Exception:  # the mail server or the database is away: letters wait
                _log.warning("letters not sent", exc_info=True, extra={"campaign": number})
                well = False
        mailer.close()  # until there is something to send again
        pause = LETTERS_EVERY if well else min(2 * pause, LONGEST_PAUSE)


def tell_prolific(store: Store, stop: Any) -> None:
    """Ask Prolific about every study and send what waits, until `stop`; in a thread of its own."""
    client = calls.open_client(wait=stop.wait)
    pause, next_looks = TELLING_EVERY, dict[int, float]()
    with contextlib.closing(client):
        while not stop.wait(pause):
            well = True
            for number, is_made in _with_study(store):
                try:
                    if is_made and time.monotonic() > next_looks.get(number, 0.0):
                        next_looks[number] = time.monotonic() + LISTENING_EVERY
                        calls.listen(store, number, client)
                    _send(store, number, client, stop)
                except Exception as error:  # the platform or the database is away: calls wait
                    _log.warning("prolific not told", exc_info=True, extra={"campaign": number})
                    well = False
                    _tell_of_failure(store, number, error)
            pause = TELLING_EVERY if well else min(2 * pause, LONGEST_PAUSE)


def _send(store: Store, number: int, client: Client, stop: Any) -> None:
    """Send what is due, unless the token, the currency or the study is another."""
    with store.read(number) as work:
        if not calls.are_due(work):
            return
    calls.refuse_unfit(store, number, client)
    with store.write(number) as work:
        notices.settle(work, "prolific-failed")
    calls.send_due(store, number, client, stop)


def _tell_of_failure(store: Store, number: int, error: Exception) -> None:
    """Tell the organiser what does not end by itself."""
    if isinstance(error, RuleError) and error.code != "no-platform":
        with contextlib.suppress(StoreError), store.write(number) as work:
            notices.tell(work, "prolific-failed", problem=str(error))


def _with_study(store: Store) -> list[tuple[int, bool]]:
    """Campaigns with a study, and whether the platform has it already."""
    try:
        with store.snapshot() as db:
            rows = db.execute(select(study.c.campaign_id, study.c.platform_id)).all()
            return [(number, platform_id is not None) for number, platform_id in rows]
    except StoreError as error:
        _log.warning("database cannot be used", extra={"cause": cause_of(error)})
        return []


def _open_to_mail(store: Store) -> list[int]:
    try:
        return _campaigns(store, "running", "paused", "closed")
    except StoreError as error:
        _log.warning("database cannot be used", extra={"cause": cause_of(error)})
        return []


def work_forever(settings: Settings, stop: Any = None) -> None:
    """The life of the process for jobs: until the event `stop`, or until its server is gone."""
    store = open_store(settings.database)
    ended = stop or threading.Event()
    over = threading.Event()
    aside = []
    if settings.mail:
        mailer = Mailer.of(settings.mail, settings.mail_password)
        arguments = (store, mailer, settings.address, over)
        aside.append(threading.Thread(target=send_letters, args=arguments, daemon=True))
    if settings.tells_prolific:
        aside.append(threading.Thread(target=tell_prolific, args=(store, over), daemon=True))
    for thread in aside:
        thread.start()
    try:
        _work(store, settings, ended)
    finally:
        over.set()
        for thread in aside:
            thread.join(5)  # what is being sent would be in doubt


def _work(store: Store, settings: Settings, ended: Any) -> None:
    scrubbed = 0
    swept, pause, undrawn = 0.0, PAUSE, list[str]()
    server = multiprocessing.parent_process()
    while not ended.is_set() and (server is None or server.is_alive()):
        try:
            if time.monotonic() - swept > SWEEP_EVERY:
                due, asked = sweep_all(store), refresh_all(store, settings.folder)
                undrawn = undrawn_documents(store, settings.folder)
                scrubbed = scrub_declined(store, scrubbed)
                _log.debug("sweep", extra={"due": due, "asked": asked, "undrawn": len(undrawn)})
                swept = time.monotonic()
            busy = run_one(store, settings.folder) or draw_one(store, settings.folder, undrawn)
        except Exception as error:  # the database is away, a file was just removed: try again
            if isinstance(error, StoreError):
                _log.warning("database cannot be used", extra={"cause": cause_of(error)})
            else:
                _log.warning("jobs loop failed", exc_info=True)
            busy, pause = False, min(2 * pause, SWEEP_EVERY)  # not a line every moment
        else:
            pause = PAUSE
        if not busy:
            ended.wait(pause)
