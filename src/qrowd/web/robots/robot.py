"""One robot: a generator that says what to send and how long to wait, and gets the replies.

    for step in Robot(...).live(): ...     # Call -> Reply, Wait -> None

Whoever drives it (in one process with a clock that jumps, or over HTTP in real time) is not its
business: see `traffic`.

What robots do beside judging, they do as often as people did it. The numbers were counted in the
logs of one team of TREC 2011 (Urbano et al. 2011; 3,599 visits of 122 workers): seconds per
document are log-normal, the first of a set takes longer; people look at 1.2 previews per batch
taken, give 12 % of batches back; a worker does 5 batches (median), 10 % do 30 or more. Double
clicks, second tabs and lost networks are not in those logs: their rates are those of the load test.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.turnout import (
    ABANDON,
    BATCHES_MEDIAN,
    BATCHES_SPREAD,
    BETWEEN,
    CANNOT_TELL,
    FIRST_OF_SET,
    GIVE_BACK,
    MEDIAN_SECONDS,
    WITHIN,
)
from qrowd.data.arrays import Floats


@dataclass(frozen=True)
class Habits:
    """How often a robot does what; shares of batches or of answers."""

    preview: float = 0.55  # of visits begin with a look
    give_back: float = GIVE_BACK  # of batches are returned
    abandon: float = ABANDON  # of batches are left lying
    double: float = 0.02  # of answers are sent twice
    second_tab: float = 0.01  # of answers are sent once more from an outdated page
    lost: float = 0.02  # of replies are lost, and the answer is sent again
    late: float = 0.02  # of batches are finished after the lease has ended
    change: float = 0.05  # of answers are changed afterwards
    cannot_tell: float = CANNOT_TELL  # of documents
    broken: float = 0.005  # of documents


CALM = Habits()
STORM = Habits(abandon=0.15, double=0.10, lost=0.20, second_tab=0.05, late=0.05)
EAGER = Habits(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

LATER = 1800.0  # seconds until somebody looks again

Truth = Mapping[tuple[str, str], int]  # (a topic's query, the hash of a document) -> grade


@dataclass(frozen=True)
class Call:
    """A request to send."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    token: str = ""


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True)
class Wait:
    """Time that passes before the next step."""

    seconds: float


Step = Call | Wait
Result = TypeVar("Result")
Talk = Generator[Step, Reply | None, Result]
Life = Talk[None]


@dataclass
class Tally:
    """What a robot has seen."""

    batches: int = 0
    answers: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    why: str = ""


@dataclass(eq=False)
class Robot:
    """A worker of one kind; `confusion[true, said]` over the grades, or a pattern it repeats."""

    name: str
    plan: Plan
    entry: Mapping[str, Any]
    confusion: Floats
    truth: Truth
    random: np.random.Generator
    kind: str = "good"
    pattern: tuple[int, ...] = ()
    habits: Habits = CALM
    pace: float = MEDIAN_SECONDS
    most_batches: int | None = None
    patience: int = 100  # how often it looks again where there will be more later
    tally: Tally = field(default_factory=Tally)
    token: str = ""

    @property
    def campaign(self) -> str:
        """The name of the campaign."""
        return self.plan.campaign.name

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades there are, the lowest first."""
        return self.plan.scale.grades

    def live(self) -> Life:
        """Come in, work batch after batch, leave."""
        if self._chance(self.habits.preview):
            yield Call("GET", f"/api/campaigns/{self.campaign}/about")
            yield Wait(self.random.exponential(30))
        reply = yield Call("POST", f"/api/campaigns/{self.campaign}/enter", self.entry)
        assert reply is not None
        if reply.status != 200:
            self.tally.why = str(reply.json()["error"]["code"])
            return
        self.token = reply.json()["token"]
        yield from self._consent()
        most = self.most_batches or self._batches()
        while self.tally.batches < most:
            if not (yield from self._batch()):
                return

    def _chance(self, rate: float) -> bool:
        return bool(rate) and bool(self.random.random() < rate)

    def _batches(self) -> int:
        drawn = BATCHES_MEDIAN * np.exp(BATCHES_SPREAD * self.random.standard_normal())
        return max(1, round(float(drawn)))

    def _call(self, method: str, path: str, body: Any = None) -> Talk[Reply]:
        reply = yield Call(
            method, f"/api/campaigns/{self.campaign}/judging{path}", body, self.token
        )
        assert reply is not None
        if reply.status >= 400:
            self.tally.refused.append(f"{path.split('/')[-1]} {reply.json()['error']['code']}")
        return reply

    def _consent(self) -> Talk[None]:
        about = yield Call("GET", f"/api/campaigns/{self.campaign}/about")
        assert about is not None
        if about.status >= 400:  # too busy: what follows is refused, and told
            self.tally.refused.append(f"about {about.json()['error']['code']}")
            return
        terms = about.json()["consent"]
        if terms["text"]:
            yield Wait(self.random.exponential(20))
            yield from self._call("POST", "/consent", {"version": terms["version"]})

    # --- a batch ----------------------------------------------------------------------------------

    def _batch(self) -> Talk[bool]:
        """One batch; whether there may be another."""
        reply = yield from self._call("POST", "/next")
        offer = reply.json() if reply.status == 200 else {"nothing": {"code": "refused"}}
        batch: dict[str, Any] | None = offer.get("batch")
        if not batch:
            self.tally.why = offer["nothing"]["code"]
            if self.tally.why != "later" or not self.patience:
                return False
            self.patience -= 1
            yield Wait(LATER)
            return True
        self.tally.batches += 1
        way, sets_before = self._leaving(batch)
        for shown in batch["sets"][:sets_before]:
            yield from self._set(shown)
        if way == "give_back":
            yield from self._call("POST", f"/batches/{batch['key']}/return")
            return True
        if way == "abandon":
            self.tally.why = "abandoned"
            return False
        if way == "late":
            yield Wait((batch["expires_at"] - batch["leased_at"]) / 1000 + 60)
            for shown in batch["sets"]:
                yield from self._set(shown)
        yield from self._end(batch)
        return True

    def _leaving(self, batch: dict[str, Any]) -> tuple[str, int]:
        """How this batch is left, if it is, and how many of its sets are judged before."""
        sets = len(batch["sets"])
        if batch["state"] == "active":
            before = int(self.random.integers(0, sets))
            for way in ("give_back", "abandon", "late"):
                if self._chance(getattr(self.habits, way)):
                    return way, before
        return "", sets

    def _end(self, batch: dict[str, Any]) -> Talk[None]:
        reply = yield from self._call("POST", f"/batches/{batch['key']}/finish")
        if reply.status != 200:
            return
        yield Wait(self.random.exponential(10))
        ended = reply.json()
        if ended["can_submit"]:
            times = 2 if self._chance(self.habits.double) else 1
            for _ in range(times):
                reply = yield from self._call("POST", f"/batches/{batch['key']}/submit")
            ended = reply.json()
        self.tally.ended[ended.get("state", "refused")] += 1

    # --- a set ------------------------------------------------------------------------------------

    def _set(self, shown: dict[str, Any]) -> Talk[None]:
        if shown["questions"]:
            yield Wait(self.random.exponential(20))
            choices = {question["number"]: 0 for question in shown["questions"]}
            reply = yield from self._call("POST", "/questions", {"answers": choices})
            if reply.status == 200 and not reply.json()["passed"]:
                return
        grades: list[int] = []
        for document in shown["documents"]:
            grade = yield from self._document(shown, document)
            grades.append(grade)
        ranks = self.plan.way.robot_ranks(grades, self.random.random)
        if ranks:
            yield Wait(self.random.exponential(10))
            yield from self._say({"place": shown["key"], "kind": "ranking", "ranks": ranks})

    def _document(self, shown: dict[str, Any], document: dict[str, Any]) -> Talk[int]:
        path = f"/sets/{shown['key']}/documents/{document['position']}"
        body = yield from self._call("GET", path)
        seconds = self._seconds(document["position"])
        yield Wait(seconds)
        digest = hashlib.sha256(body.body).hexdigest()
        true = self.truth.get((shown["topic"]["query"], digest), self.grades[0])
        grade = self._grade(true)
        opinion = self._opinion(shown, grade)
        if not opinion:  # nothing is asked of single documents
            return grade
        answer = {"place": shown["key"], "position": document["position"], "seconds": seconds}
        if self._chance(self.habits.cannot_tell):
            first: dict[str, Any] = {"kind": "cannot-tell"}
        elif self._chance(self.habits.broken):
            first = {"kind": "broken"}
        else:
            first = {**opinion, "reason": "it says so"}
        yield from self._say({**answer, **first, "follows": 0})
        if self._chance(self.habits.change):
            grade = self._grade(true)
            yield from self._say({**answer, **self._opinion(shown, grade), "seconds": 1.0})
        return grade

    def _opinion(self, shown: dict[str, Any], grade: int) -> dict[str, Any]:
        return self.plan.way.robot_says(self.plan, shown, grade, self.random.random)

    def _grade(self, true: int) -> int:
        if self.pattern:
            return self.grades[self.pattern[self.tally.answers % len(self.pattern)]]
        row = self.confusion[self.grades.index(true)]
        return self.grades[int(self.random.choice(len(self.grades), p=row))]

    def _seconds(self, position: int) -> float:
        """Seconds of activity with one document; a robot's own pace holds for all of them."""
        first = FIRST_OF_SET if position == 1 else 1.0
        return float(self.pace * first * np.exp(WITHIN * self.random.standard_normal()))

    def _say(self, answer: dict[str, Any]) -> Talk[None]:
        """Send an answer, perhaps twice, perhaps again after a lost reply or from an old tab."""
        body = {"key": self.random.bytes(12).hex(), **answer}
        yield from self._call("POST", "/answers", body)
        self.tally.answers += 1
        if self._chance(self.habits.double):
            yield from self._call("POST", "/answers", body)
        if self._chance(self.habits.lost):
            yield Wait(self.random.exponential(5))
            yield from self._call("POST", "/answers", body)
        is_opinion = "position" in body and body["kind"] in self.plan.way.kinds
        if self._chance(self.habits.second_tab) and is_opinion:
            old = {**body, "key": self.random.bytes(12).hex(), "follows": 0}
            yield from self._call("POST", "/answers", old)


def pace_of(random: np.random.Generator, typical: float = MEDIAN_SECONDS) -> float:
    """How long one robot takes for a document, by and large."""
    return float(typical * np.exp(BETWEEN * random.standard_normal()))
