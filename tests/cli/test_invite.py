"""`qrowd campaign invite` and `invited`: from a table to letters, and what is said of bad input."""

from __future__ import annotations

import email
import email.policy
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.campaign_lines import said

pytest.importorskip("sqlalchemy", reason="campaigns need the extra serve")
pytest.importorskip("aiosmtpd", reason="no mail server to test with")

from benchmarks.mail import serving

import qrowd as q
from qrowd.cli.main import main

AT = "--address https://judge.example.org"
EXAMPLE = Path(__file__).parents[2] / "examples" / "campaign"
PEOPLE = """Participant,E-Mail,Full name,Lang,Prolific ID
ann,ann@example.org,Ann Ö.,de,
bob,bob@example.org,"=HYPERLINK(""http://evil"")",,
,cat@example.org,,,5f1
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a launched campaign, whose plan does not say whom letters come from."""
    shutil.copytree(EXAMPLE, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    plan, mail, _ = Path("plan.toml").read_text(encoding="utf-8").partition("[mail]")
    assert mail
    Path("plan.toml").write_text(plan, encoding="utf-8")
    main(["campaign", "new", "plan.toml", "-o", "c.db", "--launch", "-q"])
    Path("people.csv").write_text(PEOPLE)
    return tmp_path / "here"


def contact(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, 'act c.db "change mail" contact=lab@example.org sender="The lab"')


class Inbox:
    """Takes every letter, and says 550 of bob's."""

    def __init__(self) -> None:
        self.got: list[str] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if "bob" in envelope.rcpt_tos[0]:
            return "550 5.1.1 nobody of this name"
        self.got.append(envelope.rcpt_tos[0])
        return "250 OK"


def test_letters_for_a_mail_merge(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "invite c.db people.csv -o letters.csv --address https://j.example.org/")
    assert "3 letters written to letters.csv, and taken as sent" in text
    assert Path("letters.csv").stat().st_mode & 0o777 == 0o600
    assert "'=HYPERLINK" in Path("letters.csv").read_text()
    table = q.read_people("letters.csv")
    assert table["person"] == ["ann", "bob", "5f1"]
    assert table["name"][1] == '=HYPERLINK("http://evil")'
    assert table["subject"][0].startswith("Einladung: ")
    assert all(
        link.startswith("https://j.example.org/judge/example?link=") for link in table["link"]
    )
    rows = json.loads(said(capsys, "invited c.db --json"))
    assert {row["state"] for row in rows["people"]} == {"sent"}
    assert rows["funnel"]["invited"] == rows["funnel"]["sent"] == 3
    assert "all of them came or were invited already" in said(
        capsys, f"invite c.db people.csv -o again.csv {AT}", 1
    )
    assert not Path("again.csv").exists()


def test_letters_as_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the plan has no [mail] contact" in said(
        capsys, f"invite c.db people.csv --eml out {AT}", 1
    )
    assert not Path("out").exists()
    contact(capsys)
    said(capsys, f"invite c.db people.csv --eml out {AT}")
    files = sorted(Path("out").iterdir())
    assert [file.name for file in files] == ["p1-0.eml", "p2-0.eml", "p3-0.eml"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    letter = email.message_from_bytes(files[0].read_bytes(), policy=email.policy.default)
    assert letter["To"] == '"Ann Ö." <ann@example.org>'
    body = letter.get_body(("plain",))
    assert body is not None
    assert "Guten Tag Ann Ö.," in body.get_content()


def test_letters_by_a_mail_server(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inbox = Inbox()
    with serving(inbox) as port:
        mail = f"--mail smtp://127.0.0.1:{port}"
        assert "has no [mail] contact" in said(capsys, f"invite c.db people.csv {mail} --yes", 1)
        contact(capsys)
        assert "Send 3 letters? Add --yes" in said(capsys, f"invite c.db people.csv {mail}", 2)
        assert json.loads(said(capsys, "invited c.db --json"))["people"] == []
        text = said(capsys, f"invite c.db people.csv {mail} --yes")
        assert "2 sent" in text
        assert "1 refused" in text
        assert inbox.got == ["ann@example.org", "cat@example.org"]
        said(capsys, f"invite c.db {mail} --yes", 1)
        assert len(inbox.got) == 2
    Path("bounced.txt").write_text("cat@example.org\n")
    text = said(capsys, "invited c.db --refused bounced.txt -o list.tsv")
    assert "mark refused: 1 letter" in text
    assert re.search(r"3 invited, 0 listed, 0 waiting, 1 sent, 0 in doubt, 2 refused", text)
    assert q.read_people("list.tsv")["state"] == ["sent", "refused", "refused"]
    assert "nobody is due a reminder" in said(capsys, "invite c.db --remind --yes", 1)


def test_letters_that_wait_go_out_with_the_next(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contact(capsys)
    assert "3 letters to be sent; undo it" in said(capsys, "invite c.db people.csv")
    inbox = Inbox()
    with serving(inbox) as port:
        said(capsys, f"invite c.db people.csv --mail smtp://127.0.0.1:{port} --yes")
    assert inbox.got == ["ann@example.org", "cat@example.org"]


def test_nobody_to_write_to_is_said_where_letters_wait(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "invite c.db people.csv")
    for line in ("people.csv", "", "--json"):
        assert "nobody is written to twice" in said(capsys, f"invite c.db {line}", 1)
    assert "nobody is due a reminder" in said(capsys, "invite c.db --remind", 1)
    assert "3 letters written" in said(capsys, f"invite c.db --remind -o letters.csv {AT}")


def test_people_on_the_list_are_invited_without_a_table(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "people c.db ann bob")
    assert "2 letters to be sent" in said(capsys, "invite c.db")
    assert "waiting" in said(capsys, "people c.db")


@pytest.mark.parametrize(
    ("text", "line", "code", "message"),
    [
        (
            "person,email\nann,a@b.org\nann,c@d.org\n",
            "people.csv",
            1,
            ":3: 'ann' has a row already",
        ),
        ("person,email\nann,a@b.org\nbob,A@b.org\n", "people.csv", 1, "people.csv:3: 'A@b.org' is"),
        ("person,email\nann,a.b.org\n", "people.csv", 1, "people.csv:2: an address has an @"),
        ("person,name\n,Ann\n", "people.csv", 1, "people.csv:2: a person needs an id"),
        ("person,shoe\nann,42\n", "people.csv", 1, "people.csv:1: the columns must be person"),
        ("person,id\nann,42\n", "people.csv", 1, "two of them are the person"),
        ("name\nann\n", "people.csv", 1, "people.csv:1: the columns must be person"),
        ("person\nann\n", "missing.csv", 1, "missing.csv"),
        ("person\nann\n", "people.csv -o l.csv --eml out", 2, "letters go one way"),
        ("person\nann\n", "people.csv -o l.csv", 2, "say --address"),
        ("person\nann\n", "people.csv -o l.csv --address a.org", 2, "--address is like https://"),
        ("person\nann\n", "people.csv --remind", 2, "takes no further people"),
        ("person\nann\n", "people.csv --mail mail.example.org", 2, "a mail server is smtp://"),
        ("person\nann\n", "people.csv --mail smtp://a:b@h --yes", 2, "seen by everybody"),
        ("person\nann\n", "people.csv --days 0", 2, "--days"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_sent(
    text: str, line: str, code: int, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("people.csv").write_text(text)
    assert message in said(capsys, f"invite c.db {line}", code)
    assert json.loads(said(capsys, "invited c.db --json"))["people"] == []


def test_a_campaign_that_is_not_running(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "new plan.toml -o draft.db")
    assert "not launched" in said(capsys, "invite draft.db people.csv", 1)
    said(capsys, "act c.db close")
    assert "closed: nobody can be invited" in said(capsys, "invite c.db people.csv", 1)


def test_a_mail_server_that_is_away(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contact(capsys)
    with serving(Inbox()) as port:
        pass
    away = f"invite c.db people.csv --mail smtp://127.0.0.1:{port} --yes"
    assert "the mail server 127.0.0.1: " in said(capsys, away, 1)
    assert json.loads(said(capsys, "invited c.db --json"))["people"] == []


def test_a_password_that_others_can_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("password").write_text("x")
    Path("password").chmod(0o644)
    line = "invite c.db people.csv --mail smtp://a@h --mail-password-file password"
    assert "others can read it (mode 0644)" in said(capsys, line, 2)
