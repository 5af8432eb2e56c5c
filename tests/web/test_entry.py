"""Who is let in: by a signed link, by a list, by a platform, or anybody; the same by every door."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.collection.conftest import ENGINES, fresh_postgresql
from tests.collection.making import PLAN, platform_key
from tests.web.office import desk, words
from tests.web.serving import API, Server, make_server

from qrowd.collection.database.schema import campaign, worker
from qrowd.collection.people import entry
from qrowd.collection.plan.toml import rewritten
from qrowd.collection.record import audit

MADE_UP = 150
PLACES = 7
UNPAID = PLAN.replace("hit = 1.00", "hit = 0").replace("screen_out = 0.20", "screen_out = 0")


def plan_of(rule: str, platform: str = "own", more: str = "", plan: str = PLAN) -> str:
    """The small campaign with a rule, of a platform."""
    section = f'[platform]\npreset = "{platform}"\n{more}'
    return f'{plan}\n[people]\nentry = "{rule}"\n{section}'


def enter(server: Server, **body: Any) -> Any:
    """Somebody at the door."""
    reply = server.client.post(f"{API}/enter", json=body)
    server.client.cookies.clear()
    return reply


def by_id(server: Server, person: str) -> Any:
    """Somebody of an own panel who says no more than a name."""
    return enter(server, parameters={"worker": person})


def sent(number: int, **changed: str) -> dict[str, str]:
    """What Prolific's address has of a person."""
    return {
        "PROLIFIC_PID": f"{number:024x}",
        "STUDY_ID": "5" * 24,
        "SESSION_ID": f"{number:024x}",
    } | changed


def code(reply: Any) -> tuple[int, str]:
    """The status of a refusal, and its name."""
    return reply.status_code, reply.json().get("error", {}).get("code", "")


def who(server: Server, reply: Any) -> int:
    """The worker whom a door led to."""
    assert reply.status_code == 200, reply.text
    headers = {"Authorization": f"Bearer {reply.json()['token']}"}
    return int(server.client.get(f"{API}/judging/me", headers=headers).json()["worker"])


def listed(server: Server, *people: str) -> list[int]:
    """The numbers of people whom an organiser puts on the list."""
    wanted = {"act": "list people", "details": {"people": list(people)}}
    reply = server.client.post(f"{API}/messages", json=wanted, headers=server.token("organiser"))
    assert reply.status_code == 201, reply.text
    return [server.site.work(entry.listed_as, person).id for person in people]


# --- closed by default ----------------------------------------------------------------------------


def test_nobody_comes_in_without_a_link(server: Server) -> None:
    assert code(by_id(server, "mallory")) == (401, "needs-link")
    assert code(enter(server)) == (401, "needs-link")
    page = server.client.get("/judge/tiny?worker=x")
    assert page.status_code == 401
    assert "ask for your link" in page.text
    assert "tiny" not in page.text
    german = server.client.get("/judge/tiny?worker=x&lang=de")
    assert "fragen Sie nach Ihrem Link" in german.text
    assert enter(server, link=server.link("ann")).status_code == 200


@pytest.fixture(params=ENGINES)
def where(request: pytest.FixtureRequest) -> str:
    """The URL of a new database of each engine; "" for a file."""
    postgresql = request.param == "postgresql"
    return fresh_postgresql(request.getfixturevalue("postgresql")) if postgresql else ""


@pytest.mark.parametrize(
    ("rule", "platform", "most"),
    [
        ("links", "own", 0),
        ("listed", "own", 0),
        ("", "own", 0),
        ("links", "prolific", 0),
        ("listed", "prolific", 0),
        ("platform", "prolific", PLACES),
        ("", "prolific", PLACES),
        ("platform", "generic", PLACES),
    ],
)
def test_made_up_people(tmp_path: Path, where: str, rule: str, platform: str, most: int) -> None:
    """150 of them at once, by eight threads: no more than the rule lets in, on both engines."""
    more = f"places = {PLACES}" if platform != "own" else ""
    with make_server(tmp_path, where, plan_of(rule, platform, more)) as server:
        server.link("ann")  # somebody is on the list

        def comes(number: int) -> int:
            parameters = sent(number) if platform == "prolific" else {"worker": f"m{number}"}
            reply = server.client.post(f"{API}/enter", json={"parameters": parameters})
            return int(reply.status_code)

        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(comes, range(MADE_UP)))
        assert statuses.count(200) == most
        assert set(statuses) <= {200, 401, 403}
        with server.site.store.snapshot() as db:
            assert len(list(db.scalars(select(worker.c.id)))) == most


def test_a_link_is_a_door_under_every_rule(tmp_path: Path) -> None:
    rules = [("links", ""), ("listed", ""), ("platform", "places = 1"), ("open", "")]
    for at, (rule, more) in enumerate(rules):
        folder = tmp_path / str(at)
        folder.mkdir()
        plan = plan_of(rule, "generic", more, UNPAID)
        with make_server(folder, plan=plan) as server:
            people = {who(server, enter(server, link=server.link(name))) for name in ("a", "b")}
            assert len(people) == 2


# --- a list ---------------------------------------------------------------------------------------


def test_people_on_the_list_come_by_their_id_where_nothing_is_signed(tmp_path: Path) -> None:
    with make_server(tmp_path, plan=plan_of("listed", "prolific")) as server:
        ann, bob = (sent(number)["PROLIFIC_PID"] for number in (1, 2))
        assert code(enter(server, parameters=sent(1))) == (403, "not-listed")
        numbers = listed(server, ann, bob)
        first = who(server, enter(server, parameters=sent(1)))
        assert who(server, enter(server, link=server.link(ann))) == first
        assert who(server, enter(server, link=server.link(bob))) != first
        assert who(server, enter(server, parameters=sent(2))) != first
        assert code(enter(server, parameters=sent(3))) == (403, "not-listed")
        said = words(desk(server, "organiser").get("/campaigns/tiny/people"))
        assert "whoever knows an id on the list comes in as that person" in said
        server.site.work(audit.perform, "o", "take off list", {"person": numbers[0]})
        assert code(enter(server, parameters=sent(1))) == (403, "not-listed")


def test_a_name_of_somebody_with_a_link_opens_nothing(tmp_path: Path) -> None:
    """Names of an own panel can be guessed: they are nobody's key to what a link leads to."""
    for at, plan in enumerate((plan_of("listed"), plan_of("open", plan=UNPAID))):
        folder = tmp_path / str(at)
        folder.mkdir()
        with make_server(folder, plan=plan) as server:
            ann = who(server, enter(server, link=server.link("ann")))
            assert code(by_id(server, "ann")) == (401, "needs-link")
            (number,) = listed(server, "bob")
            bob = who(server, by_id(server, "bob"))
            assert who(server, enter(server, link=server.link("bob"))) == bob != ann
            assert code(by_id(server, "bob")) == (401, "needs-link")
            server.site.work(audit.perform, "o", "revoke links", {"person": number})
            assert who(server, by_id(server, "bob")) == bob


# --- platforms ------------------------------------------------------------------------------------


def test_ids_that_are_not_the_platforms_are_refused(tmp_path: Path) -> None:
    with make_server(tmp_path, plan=plan_of("platform", "prolific", "places = 9")) as server:
        odd = ({"PROLIFIC_PID": "mallory"}, {"STUDY_ID": "x"}, {"SESSION_ID": ""})
        for changed in odd:
            parameters = sent(1, **changed)
            assert code(enter(server, parameters=parameters)) == (401, "wrong-address")
        assert enter(server, parameters=sent(1)).status_code == 200
        address = "/judge/tiny?PROLIFIC_PID=mallory&STUDY_ID=x&SESSION_ID=y"
        assert server.client.get(address).status_code == 401
        for odd_id in ("p" * 3000, "a%00b", "a%0Ab"):
            page = server.client.get(f"/judge/tiny?PROLIFIC_PID={odd_id}&lang=de")
            assert page.status_code == 422
            assert "zu lang oder kein einfacher Text" in page.text


def test_a_study_is_named_by_its_shape(tmp_path: Path) -> None:
    more = f'places = 9\nshapes = ["STUDY_ID={"5" * 24}"]'
    with make_server(tmp_path, plan=plan_of("platform", "prolific", more)) as server:
        other = sent(1, STUDY_ID="6" * 24)
        assert code(enter(server, parameters=other)) == (401, "wrong-address")
        assert enter(server, parameters=sent(1)).status_code == 200


def test_who_has_a_place_comes_back_and_the_list_comes_beside(tmp_path: Path) -> None:
    with make_server(tmp_path, plan=plan_of("platform", "prolific", "places = 1")) as server:
        first = who(server, enter(server, parameters=sent(1)))
        assert code(enter(server, parameters=sent(2))) == (403, "no-places")
        again = sent(1, SESSION_ID="9" * 24)
        assert who(server, enter(server, parameters=again)) == first
        two = sent(2)["PROLIFIC_PID"]
        assert who(server, enter(server, link=server.link(two))) != first
        assert enter(server, parameters=sent(2)).status_code == 200  # known by the link
        assert code(enter(server, parameters=sent(3))) == (403, "no-places")
        act = {"act": "change entry", "details": {"entry": "platform", "places": 2}}
        organiser = server.token("organiser")
        assert server.client.post(f"{API}/acts", json=act, headers=organiser).status_code == 201
        assert enter(server, parameters=sent(3)).status_code == 200
        assert code(enter(server, parameters=sent(4))) == (403, "no-places")
        said = words(desk(server, "organiser").get("/campaigns/tiny/people"))
        assert "2 of 2 are taken" in said


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Any, str]:
    """A platform's key, and the lines of a plan that trust it."""
    private, path = platform_key(tmp_path)
    return private, f'jwks = "{path}"\naudience = "us"\n'


def test_a_signature_is_enough_for_the_platform_and_needed_for_the_list(
    tmp_path: Path, signed: tuple[Any, str]
) -> None:
    import jwt

    private, lines = signed

    def token(number: int) -> dict[str, str]:
        claims = {**sent(number), "aud": "us", "exp": time.time() + 600}
        return {"token": jwt.encode(claims, private, "RS256", headers={"kid": "k1"})}

    for at, rule in enumerate(("platform", "listed")):
        folder = tmp_path / str(at)
        folder.mkdir()
        with make_server(folder, plan=plan_of(rule, "prolific", lines)) as server:
            server.site.clock.now = round(time.time() * 1000)
            if rule == "listed":
                assert code(enter(server, parameters=token(1))) == (403, "not-listed")
                listed(server, sent(1)["PROLIFIC_PID"])
            assert code(enter(server, parameters=sent(1))) == (401, "no-sign-in")
            first = who(server, enter(server, parameters=token(1)))
            assert who(server, enter(server, link=server.link(sent(1)["PROLIFIC_PID"]))) == first


# --- open, and closed again -----------------------------------------------------------------------


def test_open_goes_with_no_pay_in_new_plans(tmp_path: Path) -> None:
    from qrowd.collection.plan.toml import parse_plan
    from qrowd.errors import InputError

    with pytest.raises(InputError, match=r"plan:\d+: \[people\] entry: anybody would come in"):
        parse_plan(plan_of("open"))
    with make_server(tmp_path, plan=plan_of("open", plan=UNPAID)) as server:
        assert by_id(server, "mallory").status_code == 200
        page = desk(server, "organiser").get("/campaigns/tiny")
        assert '<li class="wrong">' in page.text
        assert "Anybody who knows the address can come in and judge." in words(page)


def opened_before(server: Server) -> None:
    """Give the campaign the rule that campaigns of before have, with pay."""
    with server.site.store.write("tiny") as work:
        text = rewritten(work.plan.text, "people", {"entry": "open"})
        work.update(campaign, campaign.c.id == work.campaign, plan=text)


def test_a_campaign_that_was_open_says_so_and_is_closed_by_an_act(server: Server) -> None:
    opened_before(server)
    mallory = by_id(server, "mallory")
    ann = by_id(server, "ann")
    bob = enter(server, link=server.link("bob"))
    office = desk(server, "organiser")
    page = office.get("/campaigns/tiny")
    assert '<li class="wrong">' in page.text
    assert "can come in, judge and be paid" in words(page)
    asked = office.post("/campaigns/tiny/act", act="change entry", entry="links", places="0")
    assert "Nobody comes in without a signed link" in words(asked)
    done = office.post(
        "/campaigns/tiny/act", act="change entry", entry="links", places="0", sure="yes"
    )
    assert done.status_code == 303
    assert '<li class="wrong">' not in office.get("/campaigns/tiny").text
    assert code(by_id(server, "mallory")) == (401, "needs-link")
    for reply, status in ((mallory, 401), (bob, 200)):
        headers = {"Authorization": f"Bearer {reply.json()['token']}"}
        assert server.client.post(f"{API}/judging/next", headers=headers).status_code == status
    # a link leads to what somebody has judged already
    linked = enter(server, link=server.link("ann")).json()["token"]
    headers = {"Authorization": f"Bearer {linked}"}
    with server.site.store.read("tiny") as work:
        assert server.client.get(f"{API}/judging/me", headers=headers).json()["worker"] == 2
        number = audit.last_act(work)
    assert ann.status_code == 200
    server.site.work(audit.undo, "o", number)
    assert by_id(server, "mallory").status_code == 200
    organiser = server.token("organiser")
    again = {"act": "change entry", "details": {"entry": "open"}}
    server.site.work(audit.perform, "o", "change entry", {"entry": "links"})
    refused = server.client.post(f"{API}/acts", json=again, headers=organiser)
    assert (refused.status_code, "be paid" in refused.text) == (422, True)


# --- pages ----------------------------------------------------------------------------------------


def test_whoever_is_in_comes_back_by_an_old_address(server: Server) -> None:
    link = server.link("ann")
    server.client.post(f"{API}/enter", json={"link": link})
    server.site.clock.forward(2 * 24 * 60)
    assert server.client.get(f"/judge/tiny?link={link}").status_code == 200
    server.client.cookies.clear()
    page = server.client.get(f"/judge/tiny?link={link}")
    assert page.status_code == 401
    assert "ask for a new one" in page.text


def test_nobody_finds_out_by_trying_who_is_on_the_list(tmp_path: Path) -> None:
    from qrowd.web.limits import WRONG_LINKS

    with make_server(tmp_path, plan=plan_of("listed")) as server:
        listed(server, "ann")
        addresses = [f"/judge/tiny?worker=n{at}" for at in range(WRONG_LINKS.times)]
        assert {server.client.get(address).status_code for address in addresses} == {403}
        server.client.get("/judge/tiny?worker=ann")  # one is let through, then there is a pause
        page = server.client.get("/judge/tiny?worker=ann")
        assert page.status_code == 429
        assert "too many tries" in page.text


def test_links_and_the_list_on_the_page(server: Server) -> None:
    office = desk(server, "organiser")
    office.post("/campaigns/tiny/people", people="ann\nbob\nzoe; Zoe <b>; zoe@example.org\nyan")
    assert "ann" not in words(office.get("/campaigns/tiny/people")).split()  # only looked at
    people = "ann\nbob\nzoe; Zoe <b>\nyan"
    done = office.post("/campaigns/tiny/people", people=people, days="3", sure="yes")
    assert done.status_code == 303
    page = office.get("/campaigns/tiny/people")
    assert page.text.count('<code class="link">http://testserver/judge/tiny?link=') == 4
    assert "Zoe &lt;b&gt;" in page.text
    number = server.site.work(entry.listed_as, "ann").id
    for act in ("revoke links", "take off list"):
        done = office.post("/campaigns/tiny/act", act=act, person=str(number), sure="yes")
        assert done.status_code == 303
    assert office.get("/campaigns/tiny/people").text.count('<code class="link">') == 3
    record = words(office.get("/campaigns/tiny/acts"))
    assert "4 letters" in record
    assert not {"ann", "zoe"} & set(record.split())
    asked = office.post(f"/campaigns/tiny/people/{number}/forget")
    assert f"Erase p{number}?" in words(asked)
    office.post(f"/campaigns/tiny/people/{number}/forget", sure="yes")
    assert "ann" not in words(office.get("/campaigns/tiny/people")).split()
    lines = server.client.get(f"{API}/people", headers=server.token("organiser")).json()
    assert [line["id"] for line in lines] == ["bob", "zoe", "yan"]


# --- a scope gives no more than it has ------------------------------------------------------------


def token_of(server: Server, maker: dict[str, str], **wanted: Any) -> Any:
    """A token that another one makes."""
    return server.client.post(f"{API}/tokens", json=wanted, headers=maker)


@pytest.mark.parametrize("scope", ["read", "manage", "pay", "people", "export"])
def test_no_single_scope_makes_an_experts_token(server: Server, scope: str) -> None:
    maker = server.token("organiser", scopes=["people", scope])
    assert token_of(server, maker, role="expert").status_code == 403
    assert token_of(server, server.token("organiser"), role="expert").status_code == 201


def test_what_a_token_makes_ends_with_it(server: Server) -> None:
    keeper = server.token("organiser", scopes=["people"], days=1)
    made = token_of(server, keeper, days=3650).json()["token"]
    server.site.clock.forward(25 * 60)
    headers = {"Authorization": f"Bearer {made}"}
    assert server.client.get(f"{API}/people", headers=headers).status_code == 401


def test_roles_and_invitations_are_for_whoever_may_do_everything(server: Server) -> None:
    weak = server.token("organiser", campaign_id=None, scopes=["manage", "people"])
    whole = server.token("organiser", campaign_id=None)
    wanted = {"login": "eve", "campaign": "tiny", "role": "organiser"}
    for headers, status in ((weak, 403), (whole, 201)):
        reply = server.client.post("/api/invitations", json=wanted, headers=headers)
        assert reply.status_code == status
        reply = server.client.put("/api/roles", json=wanted, headers=headers)
        assert (reply.status_code == 403) == (status == 403)
