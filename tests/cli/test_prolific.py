"""`qrowd campaign prolific`: shown first, then sent; errors before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="campaigns need the extra `serve`")
pytest.importorskip("httpx", reason="no client to call Prolific with")

from benchmarks.prolific import Participant, Platform, serving
from tests.cli.campaign_lines import run, said
from tests.collection.making import Site, make_site, material
from tests.collection.test_prolific import PROLIFIC

from qrowd.collection.database.schema import platform_call
from qrowd.collection.people import entry
from qrowd.collection.prolific import calls, contract
from qrowd.collection.record import audit

ADDRESS = "--address https://judge.example.org"


@pytest.fixture
def platform() -> Iterator[Platform]:
    made = Platform()
    with serving(made):
        yield made


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A campaign whose people come from Prolific."""
    made = make_site(f"sqlite:///{tmp_path / 'campaign.db'}", PROLIFIC, material(pool=9))
    yield made
    made.store.close()


def database(site: Site) -> str:
    return str(site.store.engine.url.database)


def come(site: Site, platform: Platform) -> None:
    """Somebody comes, does a batch, and enters the code."""
    number, name = f"{1:024x}", f"{2:024x}"
    platform.people[number] = Participant(number, name, contract.AWAITING)
    study = next(iter(platform.studies))
    seen = {"PROLIFIC_PID": name, "STUDY_ID": study, "SESSION_ID": number}
    site.whole(site.work(entry.come_in, site.work(entry.admitted, "", seen)).id)


def complaint(capsys: pytest.CaptureFixture[str], line: str, code: int = 1) -> str:
    """The error of a command, which is its last line."""
    return run(capsys, line, code)[1].splitlines()[-1]


def told(platform: Platform) -> list[str]:
    return [f"{method} {path}" for method, path in platform.calls if method != "GET"]


def test_from_draft_to_bonus(
    site: Site, platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    db = database(site)
    # the first time of each verb shows, and sends nothing
    shown = said(capsys, f"prolific {db} study {ADDRESS}")
    assert 'POST studies/ {"name": "tiny"' in shown
    assert "nothing was sent, since this was the first time: say --send to send it" in shown
    assert told(platform) == []
    assert complaint(capsys, f"prolific {db} study {ADDRESS} --send", 2) == (
        "qrowd: Send 1 call? Add --yes to do it."
    )
    assert "1 done" in said(capsys, f"prolific {db} study {ADDRESS} --send --yes")
    assert "(unpublished), 3 places; no submissions" in said(capsys, f"prolific {db} study --yes")
    said(capsys, f"prolific {db} study --publish --yes")
    said(capsys, f"prolific {db} study --places 9 --yes")
    assert [body["status"] for body in platform.studies.values()] == ["ACTIVE"]
    come(site, platform)
    shown = said(capsys, f"prolific {db} sync")
    assert f'POST submissions/{1:024x}/transition/ {{"action": "APPROVE"}}  (w1, 1.00 GBP)' in shown
    assert "since this was the first time" in shown
    assert platform.people[f"{1:024x}"].status == contract.AWAITING
    assert "1 approved" in said(capsys, f"prolific {db} sync --send --yes")
    assert platform.people[f"{1:024x}"].status == contract.APPROVED
    said(capsys, f"act {db} bonus worker=1 amount=35")
    shown = said(capsys, f"prolific {db} bonus")
    assert f"{2:024x},0.35" in shown
    assert "bulk-bonus-payments/<its id>/pay/ {}  (0.35 GBP)" in shown
    out, _ = run(capsys, f"prolific {db} bonus --send --yes --json")
    values = json.loads(out)
    assert values["sent"] == {"done": 1}
    assert values["paid"] == {"submissions": 100, "bonuses": 35}
    assert "there is nothing to tell" in said(capsys, f"prolific {db} sync --yes")
    assert "nothing is owed beyond" in said(capsys, f"prolific {db} bonus --yes")
    # `--dry-run` shows also later
    assert "nothing was sent\n" in said(capsys, f"prolific {db} sync --dry-run")
    assert [amount for _, amount in platform.people[f"{1:024x}"].bonuses] == [35]


def test_only_what_was_shown_is_sent(
    site: Site,
    platform: Platform,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    db = database(site)
    shown = said(capsys, f"prolific {db} study {ADDRESS}")
    said(capsys, f"prolific {db} study {ADDRESS} --send --yes")
    (body,) = platform.studies.values()
    assert all(f'"{each["code"]}"' in shown for each in body["completion_codes"])
    said(capsys, f"prolific {db} study --publish --yes")
    come(site, platform)
    said(capsys, f"prolific {db} sync --send --yes")
    said(capsys, f"act {db} bonus worker=1 amount=35")

    def slowly(question: str, yes: bool) -> bool:
        """Somebody else is at work while one looks."""
        site.work(audit.perform, "o", "bonus", {"worker": 1, "amount": 20})
        return True

    with monkeypatch.context() as patched:
        patched.setattr("qrowd.cli.campaign.prolific.confirmed", slowly)
        assert "meanwhile something else is to be sent" in complaint(
            capsys, f"prolific {db} bonus --send", 1
        )
    one = platform.people[f"{1:024x}"]
    assert one.bonuses == []
    # what is in doubt is shown, and asked for, before it is sent again
    platform.planned = [("/pay/", "errs before")]
    assert "1 in doubt" in said(capsys, f"prolific {db} bonus --send --yes")
    site.work(
        lambda work: work.update(
            platform_call,
            platform_call.c.state == "sending",
            tried_at=platform_call.c.made_at - 10**7,
        )
    )
    asked = complaint(capsys, f"prolific {db} bonus --send", 2)
    assert "Send 2 calls? Add --yes" in asked
    shown = said(capsys, f"prolific {db} bonus --send --yes")
    assert "in doubt, sent again only where Prolific has nothing of it: POST submissions/b" in shown
    assert [amount for _, amount in one.bonuses] == [55]


def test_errors_come_before_anything_is_sent(
    site: Site,
    platform: Platform,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    db = database(site)
    assert "has no study at Prolific" in complaint(capsys, f"prolific {db} sync", 1)
    assert "are about `study`" in complaint(capsys, f"prolific {db} sync --places 4", 2)
    assert "one thing at a time" in complaint(
        capsys, f"prolific {db} study --places 4 --publish", 2
    )
    plain = complaint(capsys, f"prolific {db} study --send --yes", 1)
    assert "by https: got address 'http://127.0.0.1:8000'" in plain
    site.work(
        entry.come_in,
        site.work(
            entry.admitted,
            "",
            {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24},
        ),
    )
    few = said(capsys, f"prolific {db} study {ADDRESS} --places 1 --send --yes")
    assert "1 done" in few  # as many as are taken
    assert "places only grow, so that 1 cannot be" in complaint(
        capsys, f"prolific {db} study --places 1 --yes", 1
    )
    before = told(platform)
    platform.currency = "USD"
    assert "the account pays in USD" in complaint(capsys, f"prolific {db} sync --send --yes", 1)
    platform.currency = "GBP"
    study = next(iter(platform.studies.values()))
    address, study["external_study_url"] = study["external_study_url"], "https://x/judge/other"
    assert "leads to https://x/judge/other, which is not campaign 'tiny'" in complaint(
        capsys, f"prolific {db} sync --send --yes", 1
    )
    study["external_study_url"] = address
    platform.token = "another"
    assert "lets this token do nothing here" in complaint(capsys, f"prolific {db} bonus", 1)
    monkeypatch.delenv(calls.TOKEN_VARIABLE)
    assert "set QROWD_PROLIFIC_TOKEN" in complaint(capsys, f"prolific {db} bonus", 2)
    assert told(platform) == before
