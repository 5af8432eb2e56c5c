"""An act is one class: whoever adds one finds it everywhere, and all of them say what they must."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="pages need the extra serve")

from sqlalchemy import select, update
from tests.collection.making import make_site, wrong
from tests.web.office import desk, words
from tests.web.serving import API, Server
from tests.web.test_live import AT, asked, done, undo
from tests.web.test_office import account, sign_in

from qrowd.cli.main import main
from qrowd.collection.database import schema
from qrowd.collection.database.schema import person, sampled
from qrowd.collection.database.store import Work
from qrowd.collection.people.workers import worker_by_number
from qrowd.collection.record import audit
from qrowd.collection.record.act import Act, Details, Stored, act_named, all_acts
from qrowd.collection.record.details import (
    Inside,
    Line,
    Money,
    Priorities,
    WorkerNumber,
    WorkerNumbers,
    YesNo,
    detail,
)
from qrowd.errors import RuleError, UnknownNameError
from qrowd.texts import catalogue
from qrowd.web.app import make_app
from qrowd.web.settings import Settings

PRAISED = {
    "name": "praise",
    "title": "Praise",
    "look": "Look at it first",
    "detail.words": "What for",
    "question": "Praise worker {worker} for {words}?",
    "follows": "It is beside the name from now on.",
    "button": "Praise {worker}",
    "done": "Praised for {words}.",
}


@pytest.fixture
def praise(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Act]]:
    """A new act: one class, and its texts."""

    class Praise(Act):
        """Say what a worker did well."""

        name = "praise"
        on = ("worker",)
        states = ("qualified",)
        scope = "people"
        subject = "worker {worker}"
        worker: int = detail(WorkerNumber())
        words: str = detail(Line())

        def do(self, work: Work) -> Details:
            return {"before": call(work, self.worker, self.words)}

        @staticmethod
        def undo(work: Work, stored: Stored) -> None:
            call(work, int(stored["worker"]), stored["before"])

    words: Any = catalogue("en")
    for part, text in PRAISED.items():
        monkeypatch.setitem(words, f"office.act.praise.{part}", text)
    monkeypatch.setitem(words, "office.detail.words", "for {value}")
    yield Praise
    del all_acts()["praise"]


def call(work: Work, number: int, name: str) -> str:
    """Another name for the person behind a worker; the one before."""
    mine = person.c.worker_id == worker_by_number(work, number).id
    before = work.db.scalar(select(person.c.name).where(mine))
    work.db.execute(update(person).where(mine).values(name=name))
    return str(before)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Server]:
    """A campaign with one worker, and its organiser signed in."""
    from starlette.testclient import TestClient

    where = f"sqlite:///{tmp_path / 'campaign.db'}"
    site = make_site(where)
    site.whole(site.worker("ann"))
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        server = Server(site, settings, client)
        account(server, "ann", "organiser")
        sign_in(server, "ann")
        yield server


def name_of(office: Server) -> str:
    """What worker 1 is called."""
    with office.site.store.read("tiny") as work:
        worker_id = worker_by_number(work, 1).id
        query = select(person.c.name).where(person.c.worker_id == worker_id)
        return str(work.db.scalar(query))


def test_a_new_act_has_a_button_a_question_a_line_and_an_undo(
    office: Server, praise: type[Act]
) -> None:
    page = office.client.get(f"{AT}/workers/1").text
    assert "What for</label>" in page
    assert "Look at it first</button>" in page
    question, kept = asked(office, "/workers/1", "praise", worker="1", words="patience")
    words = re.sub(r"\s+", " ", question)
    assert "Praise worker w1 for patience? This costs nothing. It is beside the name" in words
    assert "Praise w1" in words
    told = done(office, kept)
    assert "Praised for patience." in told
    assert name_of(office) == "patience"
    record = unescape(re.sub(r"<[^>]+>", " ", office.client.get(f"{AT}/acts").text))
    assert re.search(r"praise\s+worker w1, for patience", record)
    assert "Taken back: praise." in undo(office, told)
    assert name_of(office) == ""
    office.site.work(audit.perform, "o", "stop", {"worker": 1})
    assert "Look at it first" not in office.client.get(f"{AT}/workers/1").text


def test_a_new_act_in_the_interface(office: Server, praise: type[Act]) -> None:
    organiser = office.token("organiser")
    wanted = {"act": "praise", "details": {"worker": "w1", "words": "patience"}}
    done = office.client.post(f"{API}/messages", json=wanted, headers=organiser)
    assert done.status_code == 201
    line = office.client.get(f"{API}/acts", headers=organiser).json()[0]
    assert (line["act"], line["reversible"]) == ("praise", True)
    assert line["details"] == {"worker": 1, "words": "patience", "before": ""}
    elsewhere = office.client.post(f"{API}/acts", json=wanted, headers=organiser)
    assert (elsewhere.status_code, "/messages" in elsewhere.text) == (403, True)
    number = done.json()["number"]
    undone = office.client.post(f"{API}/acts/{number}/undo", headers=organiser)
    assert (undone.status_code, name_of(office)) == (201, "")
    wanted = {"act": "praise", "details": {"worker": 1}}
    missing = office.client.post(f"{API}/messages", json=wanted, headers=organiser)
    assert (missing.status_code, "praise needs words" in missing.text) == (422, True)
    described = office.client.get("/api/openapi.json").json()["components"]["schemas"]["ActWanted"]
    acts = described["properties"]["act"]["description"]
    assert "- POST /messages: `praise worker=N words=TEXT`. Say what a worker did well." in acts
    for name, act in all_acts().items():
        command = ("choose next", "extend", "qualify people", "release", "take study")
        assert (act.usage() in acts) == (name not in command)


def test_a_new_act_on_the_command_line(
    office: Server, praise: type[Act], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["campaign", "act", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "praise worker=N words=TEXT Say what a worker did well." in words
    for act in all_acts().values():
        assert (act.command or act.usage()) in words
    where = str(tmp_path / "campaign.db")
    main(["campaign", "act", where, "praise", "worker=w1", "words=patience"])
    assert name_of(office) == "patience"
    said = capsys.readouterr().err
    number = re.search(r"act (\d+): praise; undo it with --undo \1", said)
    assert number
    main(["campaign", "act", where, "--undo", number[1]])
    assert name_of(office) == ""


def test_a_detail_hides_nothing() -> None:
    with pytest.raises(TypeError, match="no detail can be called page"):

        class Turn(Act):
            """Turn a page."""

            name = "turn"
            page: str = detail(Line())  # type: ignore[misc]

    assert "turn" not in all_acts()


def test_an_act_is_gone_with_its_class() -> None:
    assert "praise" not in all_acts()
    with pytest.raises(UnknownNameError, match="no act 'pauze'; did you mean pause"):
        act_named("pauze")


# where buttons stand, and the details that the page there knows
PLACES: dict[str, set[str]] = {
    "campaign": set(),
    "money": set(),
    "topic": set(),
    "worker": {"worker"},
    "batch": {"assignment"},
    "gold": {"set"},
    "appeal": {"appeal"},
    "entry": set(),
    "people": set(),
    "listed": {"person"},
    "letters": set(),
    "doubt": set(),
    "digests": set(),
    "study": set(),
    "submission": set(),
}


def parts_of(act: type[Act]) -> Iterator[str]:
    """The texts that an act must have."""
    yield from ("name", "question", "button", "done")
    for place in act.on:
        for each in act.inputs(PLACES[place]):
            yield "title"
            if isinstance(each.kind, YesNo):
                yield from (f"detail.{each.name}.yes", f"detail.{each.name}.no")
            else:
                yield f"detail.{each.name}"
                yield from [f"detail.{each.name}.hint"] if each.hint else []
        if not any(isinstance(each.kind, YesNo) for each in act.inputs(PLACES[place])):
            yield from ["look"] if act.inputs(PLACES[place]) else []


def test_every_act_says_what_it_must() -> None:
    words = catalogue("en")
    for name, act in all_acts().items():
        missing = [part for part in parts_of(act) if act.says(part).id not in words]
        assert missing == [], name
        stored = [each.name for each in act.details().values() if each.recorded]
        for detail_name in (*stored, *(result for result, _ in act.results)):
            assert f"office.detail.{detail_name}" in words, (name, detail_name)
        assert act.summary().endswith("."), name
        assert act.scope in ("manage", "pay", "people"), name


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (WorkerNumber(), "seven", "must be a whole number, got 'seven'"),
        (WorkerNumbers(), 7, "must be numbers of workers"),
        (Money(), "1e9", "must be a whole number"),
        (Line(), 7, "must be text, got 7"),
        (Line(), "a\0b", "without zeros"),
        (YesNo(), "perhaps", "must be yes or no"),
        (Priorities(), [["t", "d", float("nan")]], "finite"),
        (Inside(of=dict), "{}", "cannot be given like this"),
    ],
)
def test_a_wrong_detail_is_named(kind: Any, value: Any, words: str) -> None:
    with pytest.raises(RuleError, match=re.escape(words)) as told:
        kind.read("it", value)
    assert str(told.value).startswith("it ")


def test_a_form_and_the_interface_agree(office: Server) -> None:
    """An amount is in the currency's units in a form, in minor units elsewhere."""
    bonus = act_named("bonus")
    with office.site.store.read("tiny") as work:
        pay = work.plan.pay
    sent = {"worker": "1", "amount": "2,5"}
    form = bonus.of_form(lambda name: sent.get(name, ""), pay)
    assert form == bonus.of({"worker": "w1", "amount": 250})
    assert form.form(pay) == {"worker": "w1", "amount": "2.50"}
    assert form.recorded() == {"worker": 1, "amount": 250}
    message = act_named("message").of({"worker": 1, "text": "secret"})
    assert "secret" not in json.dumps(message.recorded())


def test_an_act_that_somebody_has_just_done_is_a_sentence(office: Server) -> None:
    _, pause = asked(office, "", "pause")
    office.site.work(audit.perform, "bob", "pause")
    late = office.client.post(f"{AT}/act", data={**pause, "sure": "yes"})
    assert late.status_code == 409
    assert "Meanwhile bob did this: pause" in late.text
    unseen = {**pause, "sure": "yes", "seen": ""}
    assert "This campaign is paused" in office.client.post(f"{AT}/act", data=unseen).text
    unknown = office.client.post(f"{AT}/act", data={**pause, "act": "pauze"})
    assert (unknown.status_code, "did you mean pause" in unescape(unknown.text)) == (422, True)


def test_a_sample_drawn_by_a_command_is_put_back(
    office: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = str(tmp_path / "campaign.db")

    def drawn() -> int:
        with office.site.store.read("tiny") as work:
            return work.count(sampled)

    main(["campaign", "review", where, "--sample", "2"])
    number = re.search(r"act (\d+): 2 judgements drawn", capsys.readouterr().err)
    assert number
    assert drawn() == 2
    main(["campaign", "review", where, "--sample", "2"])
    assert "no further judgements" in capsys.readouterr().err
    main(["campaign", "act", where, "--undo", number[1]])
    assert drawn() == 0


def test_retiring_gold_offers_to_let_in_whom_it_screened_out(server: Server) -> None:
    ann = server.site.worker("ann")
    while server.site.whole(ann, wrong).state != "screened-out":
        pass
    with server.site.store.read("tiny") as work:
        gold = select(schema.place.c.set_id).where(schema.place.c.kind == "gold")
        met = work.db.scalar(gold.order_by(schema.place.c.id.desc()).limit(1))
    organiser = desk(server, "organiser")
    page = organiser.post(f"{AT}/act", act="retire gold", set=str(met), back=f"{AT}/gold")
    assert "It screened out w1, who would not be out without it" in words(page)
    assert re.search(r'name="act" value="readmit">\s*<input[^>]*name="back"', page.text)
    assert 'name="worker" value="w1"' in page.text
    again = organiser.post(f"{AT}/act", act="readmit", worker="w1", back=f"{AT}/gold", sure="yes")
    assert again.status_code == 303
    with server.site.store.read("tiny") as work:
        assert worker_by_number(work, 1).state == "qualified"


def test_batches_are_checked_again_where_an_expert_contradicts_gold(server: Server) -> None:
    ann = server.site.worker("ann")
    while server.site.whole(ann, wrong).state != "screened-out":
        pass
    with server.site.store.read("tiny") as work:
        gold = select(schema.place.c.set_id).where(schema.place.c.kind == "gold")
        met = int(work.db.scalar(gold.order_by(schema.place.c.id.desc()).limit(1)) or 0)
        named = select(*schema.PAIR_NAMES, schema.pair.c.id, schema.gold.c.grade).select_from(
            schema.NAMED_PAIRS.join(
                schema.member, schema.member.c.pair_id == schema.pair.c.id
            ).join(schema.gold, schema.gold.c.pair_id == schema.pair.c.id)
        )
        rows = work.db.execute(named.where(schema.member.c.set_id == met)).all()
    expert, organiser = desk(server, "expert"), desk(server, "organiser")
    assert "an expert says otherwise" not in words(organiser.get(f"{AT}/gold"))
    for topic, doc, _, grade in rows:
        other = str(wrong("", grade))
        expert.post(f"{AT}/experts/pair", topic=topic, doc=doc, grade=other)
        seen = words(expert.get(f"{AT}/experts/pair?topic={topic}&doc={doc}"))
        assert "Gold says" in seen
        assert "because" in seen
    page = organiser.get(f"{AT}/gold")
    assert "an expert says otherwise" in words(page)
    assert 'value="check again"' in page.text
    assert f"than gold set {met} says" in words(organiser.get(AT))
    form = {"act": "check again", "set": str(met), "back": f"{AT}/gold"}
    asked = words(organiser.post(f"{AT}/act", **form))
    assert "w1 would not be screened out without it" in asked
    assert "0.80 EUR" in asked
    assert organiser.post(f"{AT}/act", sure="yes", **form).status_code == 303
    with server.site.store.read("tiny") as work:
        assert worker_by_number(work, 1).state == "qualified"
    again = organiser.post(f"{AT}/act", sure="yes", **form)
    assert "nothing is left to check again" in words(again)
    assert "an expert says otherwise" not in words(organiser.get(f"{AT}/gold"))
