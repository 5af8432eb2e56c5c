"""Platforms: who comes, who only looks, and the way back, as the hosts document it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.collection.making import platform_key

from qrowd.collection.plan.platforms import provider_of
from qrowd.collection.plan.sections import Platform
from qrowd.errors import RuleError, UsageError

PROLIFIC = {"PROLIFIC_PID": "p1", "STUDY_ID": "s1", "SESSION_ID": "v1", "other": "x"}
MTURK = {
    "assignmentId": "A1",
    "hitId": "H1",
    "workerId": "W1",
    "turkSubmitTo": "https://workersandbox.mturk.com",
}


def test_prolific_comes_and_goes() -> None:
    provider = provider_of(Platform(preset="prolific", codes=("completed=ABC", "failed=DEF")))
    arrival = provider.arrive(PROLIFIC)
    assert (arrival.person, arrival.kept) == ("p1", {"STUDY_ID": "s1", "SESSION_ID": "v1"})
    base = "https://app.prolific.com/submissions/complete?cc="
    assert provider.leave("completed", "own", arrival).address == f"{base}ABC"
    assert provider.leave("failed", "own", arrival).address == f"{base}DEF"
    assert provider.leave("no-work", "own", arrival).address == f"{base}own"


def test_mturk_previews_and_posts_to_known_hosts_only() -> None:
    provider = provider_of(Platform(preset="mturk"))
    look = provider.arrive({**MTURK, "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    assert look.preview
    departure = provider.leave("completed", "c1", provider.arrive(MTURK))
    assert departure.address == "https://workersandbox.mturk.com/mturk/externalSubmit"
    assert departure.form == {
        "assignmentId": "A1",
        "hitId": "H1",
        "code": "c1",
        "turkSubmitTo": "https://workersandbox.mturk.com",
    }


@pytest.mark.parametrize(
    "host",
    [
        "https://evil.example",
        "http://www.mturk.com",
        "https://www.mturk.com:444",
        "javascript:1",
        "https://www.mturk.com.evil.example",
        "https://evil.example/https://www.mturk.com",
    ],
)
def test_mturk_refuses_other_hosts(host: str) -> None:
    provider = provider_of(Platform(preset="mturk"))
    with pytest.raises(RuleError, match="is not a host to send work to"):
        provider.leave("completed", "c1", provider.arrive({**MTURK, "turkSubmitTo": host}))


def test_any_other_platform() -> None:
    section = Platform(
        preset="generic",
        person="id",
        keep=("batch",),
        redirect="https://panel.example/done?c={code}&w={worker}",
    )
    arrival = provider_of(section).arrive({"id": "ä&b", "batch": "7"})
    departure = provider_of(section).leave("completed", "c 1", arrival)
    assert departure.address == "https://panel.example/done?c=c%201&w=%C3%A4%26b"


def test_who_does_not_say_who_is_told_where_to_come_from() -> None:
    for given in ({}, {"PROLIFIC_PID": ""}):
        with pytest.raises(RuleError, match="where you found the work"):
            provider_of(Platform(preset="prolific")).arrive(given)
    with pytest.raises(RuleError, match="too long or not plain text"):
        provider_of(Platform(preset="prolific")).arrive({"PROLIFIC_PID": "a\nb"})
    with pytest.raises(RuleError, match="no outcome 'done'"):
        provider_of(Platform(codes=("done=1",)))


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Any, Platform]:
    """A key of the platform's, and a plan that trusts it."""
    private, path = platform_key(tmp_path)
    return private, Platform(preset="prolific", jwks=str(path), audience="us")


def test_signed_visits(signed: tuple[Any, Platform]) -> None:
    import jwt

    private, section = signed
    provider = provider_of(section)

    def token(aud: str = "us", until: float = 60, kid: str = "k1") -> dict[str, str]:
        claims = {**PROLIFIC, "aud": aud, "exp": time.time() + until}
        return {"token": jwt.encode(claims, private, "RS256", headers={"kid": kid})}

    assert provider.arrive(token()).person == "p1"
    with pytest.raises(RuleError, match="has ended"):
        provider.arrive(token(until=-60))
    for wrong in (token(aud="them"), token(kid="k2"), {"token": "x"}, PROLIFIC):
        with pytest.raises(RuleError, match=r"not signed by|a key that is not known"):
            provider.arrive(wrong)
    unsigned = {"token": jwt.encode({**PROLIFIC, "aud": "us"}, "s" * 32, "HS256")}
    with pytest.raises(RuleError):
        provider.arrive(unsigned)


def test_a_file_without_keys_is_named(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text("[]")
    section = Platform(preset="prolific", jwks=str(path), audience="us")
    jwt = pytest.importorskip("jwt")
    sent = {"token": jwt.encode({"aud": "us"}, "s" * 32, "HS256")}
    with pytest.raises(UsageError, match="not a JWKS document"):
        provider_of(section).arrive(sent)


def test_a_visit_is_for_so_many_batches(tmp_path: Path) -> None:
    from tests.collection.making import PLAN, make_site

    from qrowd.collection.people import workers

    text = PLAN.replace("seed = 1", "seed = 1\nhits_per_session = 2")
    site = make_site(
        f"sqlite:///{tmp_path / 'c.db'}", text + '[platform]\npreset = "prolific"\nplaces = 9\n'
    )

    def visits(session: str) -> int:
        found = site.work(workers.enter, "prolific", "p1", parameters={"SESSION_ID": session})
        return int(found.id)

    ann = visits("s1")
    assert [site.whole(ann).state for _ in range(2)] == ["accepted", "accepted"]
    assert site.next(ann).code == "visit-done"
    assert site.next(visits("s1")).code == "visit-done"  # the same address, opened again
    site.clock.forward(1)
    assert site.whole(visits("s2")).state == "accepted"
    site.store.engine.dispose()
