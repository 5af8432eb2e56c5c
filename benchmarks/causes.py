"""Does the overview name the cause? Twelve made situations, and healthy campaigns that have none.

python -m benchmarks.causes [--healthy 200] [--times 10] [--seed 1]

People with a skill, a pace and habits judge in campaigns of their own, by the functions that the
server calls, under a clock that jumps. Each situation is made `times` times with fresh seeds, 100
at most; the first sentence of the overview must be that of its cause. Healthy campaigns differ in
size, people, skill, days and how far they are.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks._benchmark import Table, run
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.office.todo import Overview, overview
from qrowd.collection.people import workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit
from qrowd.data.topics import Topic

START = 1_800_259_200_000  # a Monday morning
SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
NAME = "made"
PLAN = """
[campaign]
name = "made"
instructions = "Read, then judge."
[sets]
target = {target}
[hit]
sets = {sets}
[pay]
hit = 1.50
screen_out = 0.30
qualification = 0.50
budget = {budget}
seconds_per_document = 20
[qualification]
sets = {tests}
[people]
consent = "{consent}"
[checks.seconds]
at_least = 6
"""
SIZE = 5


@dataclass(frozen=True)
class Person:
    """Who judges: how often right, how many seconds for a document, how busy."""

    name: str
    skill: float = 0.85
    seconds: float = 20.0
    busy: float = 1.0
    copies: str = ""  # from whom, where that one was earlier


@dataclass(frozen=True)
class Setting:
    """A campaign and its crowd; what is wrong with it is said by the fields that differ."""

    topics: int = 6
    documents: int = 40  # of each topic
    target: int = 3
    sets: int = 6  # of a batch
    gold_sets: int = 30
    tests: int = 0
    consent: str = ""
    budget: float = 400.0
    people: int = 14
    skill: float = 0.85
    seconds: float = 20.0
    spread: float = 0.6  # of how busy people are
    days: int = 5
    share: float = 0.6  # of the judgements that are wanted
    careless: float = 0.0  # share of people
    abandoned: float = 0.03  # share of batches
    bad_gold: bool = False
    bad_test: bool = False
    hard_query: str = ""
    broken: float = 0.005  # share of documents
    leaving: float = 0.1  # for each who works, so many come and go
    lost_day: int | None = None
    dominant: bool = False
    copying: bool = False


class Clock:
    """A clock that is set."""

    now = START

    def __call__(self) -> int:
        return self.now


@dataclass
class Made:
    """A campaign under way, its truth, and what was answered."""

    setting: Setting
    store: Store
    clock: Clock
    chance: random.Random
    truth: dict[str, int]
    broken: set[str]
    difficulty: dict[str, float]
    said: dict[tuple[str, str], int] = field(default_factory=dict)
    keys: Iterator[int] = field(default_factory=itertools.count)

    def enter(self, person: Person) -> int:
        """Come in, and accept the terms."""
        with self.store.write(NAME) as work:
            number = workers.enter(work, "own", person.name, parameters={}).id
            if workers.consent_needed(work, number):
                workers.give_consent(work, number, work.plan.people.consent_version)
        return number

    def batch(self, person: Person) -> bool:
        """One batch from its lease to its end, or left; whether there was one."""
        number = self.enter(person)
        with self.store.write(NAME) as work:
            offer = queue.next_batch(work, number)
        if not isinstance(offer, Offer):
            return False
        if self.chance.random() < self.setting.abandoned:
            return True
        times = [
            [self.chance.lognormvariate(0, 0.4) * person.seconds * 0.92 for _ in shown.documents]
            for shown in offer.sets
        ]
        self.clock.now += round(sum(map(sum, times)) * SECOND) + 20 * SECOND
        with self.store.write(NAME) as work:
            for shown, seconds in zip(offer.sets, times, strict=True):
                for document, spent in zip(shown.documents, seconds, strict=True):
                    kind, grade = self.answer(person, shown.topic.query, document.title)
                    said = events.Said(
                        key=f"k{next(self.keys)}",
                        place=shown.key,
                        kind=kind,
                        position=document.position,
                        grade=grade,
                        seconds=spent,
                    )
                    events.save(work, number, said)
            submission.finish(work, number, offer.key)
            submission.submit(work, number, offer.key)
        return True

    def answer(self, person: Person, query: str, title: str) -> tuple[str, int | None]:
        """What this person says of a document, which its title names."""
        if title in self.broken:
            return ("broken", None) if self.chance.random() < 0.85 else ("cannot-tell", None)
        if self.chance.random() < 0.01:
            return "cannot-tell", None
        skill = person.skill - self.difficulty[title]
        if query == self.setting.hard_query:
            if self.chance.random() < 0.1:
                return "cannot-tell", None
            skill = 1 / 3
        right = self.truth[title]
        grade = right if self.chance.random() < skill else self.chance.choice((0, 1, 2))
        if person.copies and (person.copies, title) in self.said:
            grade = self.said[person.copies, title]
        self.said[person.name, title] = grade
        return "grade", grade


def crowd_of(setting: Setting, chance: random.Random) -> list[Person]:
    """People who differ as people do."""
    people = [
        Person(
            f"p{at}",
            min(0.98, max(0.5, chance.gauss(setting.skill, 0.06))),
            setting.seconds * chance.lognormvariate(0, 0.25),
            chance.lognormvariate(0, setting.spread),
        )
        for at in range(setting.people)
    ]
    for at in chance.sample(range(len(people)), round(setting.careless * len(people))):
        people[at] = replace(people[at], skill=0.0)
    if setting.dominant:
        rest = sum(person.busy for person in people[1:])
        people[0] = replace(people[0], busy=rest * 1.3)
    if setting.copying:
        for one, other in ((0, 1), (1, 0)):  # whoever comes later
            people[one] = replace(people[one], skill=0.7, copies=people[other].name, busy=2.5)
    return people


def material_of(setting: Setting, made: Made) -> CampaignRows:
    """Topics with documents whose titles are their names; gold that may be wrong."""
    chance = made.chance

    def document(name: str, grade: int) -> DocumentRow:
        made.truth[name] = grade
        made.difficulty[name] = chance.choice((0.0, 0.0, 0.1, 0.3))
        return DocumentRow(name, f"text {name}".encode(), name)

    topics = [Topic(f"t{at}", query=f"query {at}") for at in range(setting.topics)]
    documents, pool = [], []
    for topic in topics:
        weights = (chance.uniform(2, 6), 1.5, 1.5)  # topics have few or many relevant documents
        for at in range(setting.documents):
            name = f"{topic.name}-{at}"
            documents.append(document(name, chance.choices((0, 1, 2), weights)[0]))
            pool.append((topic.name, name))
            if chance.random() < setting.broken:
                made.broken.add(name)
    graded: dict[str, list[GoldRow]] = {"g": [], "q": []}
    sizes = {"g": setting.gold_sets, "q": 2 * setting.tests}
    for letter, rows in graded.items():
        for number in range(sizes[letter]):
            wrong = setting.bad_test if letter == "q" else setting.bad_gold and number == 0
            for at, grade in enumerate((0, 1, 2, 0, 1)):
                name = f"{letter}{number}-{at}"
                documents.append(document(name, grade))
                made.difficulty[name] = 0.0  # experts choose clear ones
                shown = (2 if grade == 0 else 0) if wrong else grade
                of = topics[number % len(topics)].name
                rows.append(GoldRow(of, name, shown, "because", "", f"s{number}"))
    return CampaignRows(topics, documents, pool, graded["g"], graded["q"])


@contextmanager
def campaign(setting: Setting, seed: int) -> Iterator[Made]:
    """The campaign, launched, in a database of its own."""
    chance, clock = random.Random(seed), Clock()
    clock.now = START
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'made.db'}"
        with open_store(url, clock=clock, seed=seed, new=True) as store:
            made = Made(setting, store, clock, chance, {}, set(), {})
            plan = PLAN.format(**vars(setting))
            create_campaign(store, parse_plan(plan), material_of(setting, made))
            with store.write(NAME) as work:
                audit.perform(work, "benchmark", "launch")
            yield made


def lived(made: Made) -> None:
    """Its days: people come, judge or leave, by day and not by night."""
    setting, chance = made.setting, made.chance
    crowd = crowd_of(setting, chance)
    judgements = setting.topics * setting.documents * setting.target
    batches = round(judgements * setting.share / ((setting.sets - 1) * SIZE))
    come = [Person(f"gone{at}") for at in range(round(setting.people * setting.leaving))]
    starts = sorted(
        START + chance.randrange(setting.days) * DAY + round(chance.betavariate(2, 2) * 14 * HOUR)
        for _ in range(max(3, batches))
    )
    for start in starts:
        if setting.lost_day is not None and (start - START) // DAY == setting.lost_day:
            continue
        made.clock.now = max(made.clock.now, start)
        if come and chance.random() < 0.2:
            made.enter(come.pop())
        weights = [person.busy for person in crowd]
        made.batch(chance.choices(crowd, weights)[0])
    made.clock.now = max(made.clock.now + 2 * HOUR, START + (setting.days - 1) * DAY + 15 * HOUR)


def nobody(made: Made) -> None:
    """Three days, and nobody."""
    made.clock.now += 3 * DAY


def visited(made: Made) -> None:
    """Many come and read the instructions; few begin."""
    for at in range(22):
        made.clock.now += HOUR
        if at % 7 == 3:
            made.batch(Person(f"p{at}"))
        else:
            made.enter(Person(f"p{at}"))
    made.clock.now += 2 * HOUR


@dataclass(frozen=True)
class Situation:
    """Something that goes wrong, and the name of its cause."""

    title: str
    cause: str
    setting: Setting
    live: Callable[[Made], None] = lived


MADE: tuple[tuple[Any, ...], ...] = (
    ("fast clickers", "fast", {"seconds": 2.0, "skill": 0.55, "careless": 0.8}),
    ("one bad gold set", "gold", {"bad_gold": True, "gold_sets": 6, "documents": 160}),
    ("one topic too hard", "topic", {"hard_query": "query 2", "documents": 70, "share": 0.9}),
    ("nobody comes", "nobody", {}, nobody),
    ("people come and leave at the instructions", "leaving", {}, visited),
    ("budget short", "budget", {"budget": 30.0, "share": 0.45}),
    ("one person does half", "one-person", {"dominant": True, "gold_sets": 40, "documents": 120}),
    (
        "two people copy",
        "copies",
        {"copying": True, "people": 8, "documents": 240, "spread": 0.2},
    ),
    ("a server day lost", "server", {"lost_day": 10, "days": 12, "sets": 2, "documents": 100}),
    ("documents that do not load", "broken", {"broken": 0.2}),
    ("a test that nobody passes", "test", {"tests": 4, "bad_test": True, "people": 24}),
    ("pay below what was promised", "pay", {"seconds": 45.0, "people": 24, "documents": 80}),
)
SITUATIONS = tuple(
    Situation(title, cause, Setting(**differing), *live) for title, cause, differing, *live in MADE
)


def healthy_setting(chance: random.Random) -> Setting:
    """A campaign as they are when nothing is wrong."""
    people = chance.choice((3, 5, 8, 12, 20, 30))
    return Setting(
        topics=chance.choice((2, 4, 6, 10)),
        documents=chance.choice((15, 30, 60)),
        target=chance.choice((2, 3) if people < 5 else (2, 3, 5)),
        gold_sets=chance.choice((8, 12, 20)),
        tests=chance.choice((0, 0, 3)),
        consent=chance.choice(("", "I agree.")),
        budget=900.0,
        people=people,
        skill=chance.uniform(0.78, 0.94),
        seconds=chance.uniform(14, 22),
        spread=chance.uniform(0.2, 0.7),
        days=chance.choice((1, 3, 6, 12)),
        share=chance.choice((0.05, 0.2, 0.5, 0.8, 1.0)),
        careless=chance.choice((0.0, 0.05, 0.1)),
        leaving=chance.uniform(0.0, 0.3),
    )


def seen(setting: Setting, live: Callable[[Made], None], seed: int) -> tuple[Overview, str]:
    """The overview of a campaign that lived so, and its first sentence."""
    with campaign(setting, seed) as made:
        live(made)
        with made.store.read(NAME) as work:
            looked = overview(work)
            return looked, str(looked.first_sentence(work.plan.pay))


@dataclass(frozen=True)
class Options:
    healthy: int = 200
    times: int = 10
    seed: int = 1


SHORT = Options(healthy=2, times=1)


def main(options: Options) -> None:
    """All situations, then healthy campaigns."""
    table = Table(
        "what is wrong", "right", "first sentence, for example", "instead", optional=["instead"]
    )
    first = options.seed * 10_000
    for at, each in enumerate(SITUATIONS):
        seeds = range(first + 100 * at, first + 100 * at + options.times)
        table.row(
            each.title, *found(((each.setting, each.live, seed) for seed in seeds), each.cause)
        )
    seeds = range(first + 5_000, first + 5_000 + options.healthy)
    healthy = ((healthy_setting(random.Random(seed)), lived, seed) for seed in seeds)
    table.row("nothing", *found(healthy, ""))


def found(made: Iterable[tuple[Setting, Callable[[Made], None], int]], cause: str) -> list[str]:
    """How many overviews name this cause first, what they say, and what others name instead."""
    right, sentence, others = 0, "", list[str]()
    for each in made:
        looked, said = seen(*each)
        name = looked.causes[0].name if looked.causes else ""
        if name == cause:
            right, sentence = right + 1, sentence or said
        else:
            others.append(name or "none")
    return [f"{right} of {right + len(others)}", sentence, ", ".join(others)]


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
