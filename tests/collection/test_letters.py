"""Letters: written once, sent once over kills, encoded whatever a name holds, never to whoever
declined.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

pytest.importorskip("aiosmtpd", reason="no mail server to test with")

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session
from benchmarks.mail import serving, survive
from tests.collection.making import PLAN, Site, make_site, material

from qrowd.collection.database.schema import campaign as campaign_table
from qrowd.collection.database.schema import declined, digest, letter, link, listed_person
from qrowd.collection.database.store import Work
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.office import digest as digests
from qrowd.collection.office import erasure
from qrowd.collection.people import entry, letters
from qrowd.collection.people.declined import DeclinedPeople
from qrowd.collection.people.entry import PersonRow
from qrowd.collection.people.letters import Outcome
from qrowd.collection.people.mailer import Mailer, MailError, mail_password, send_due
from qrowd.collection.plan.addresses import wire_address
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit
from qrowd.collection.record.act import act_named
from qrowd.errors import InputError, RuleError, UsageError

MAIL = f'{PLAN}[mail]\ncontact = "lab@example.org"\nsender = "The lab"\nper_minute = 1000\n'
ADDRESS = "https://judge.example.org"
DAY = 24 * 60


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    """A running campaign whose plan has a contact."""
    made = make_site(url, MAIL)
    yield made
    made.store.engine.dispose()


def body_of(message: EmailMessage, kind: str = "plain") -> str:
    """What a part of a letter says."""
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def read(envelope: Envelope) -> EmailMessage:
    """A letter that has arrived."""
    assert isinstance(envelope.content, bytes)
    parsed = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert isinstance(parsed, EmailMessage)
    return parsed


class Inbox:
    """A mail server that says to a recipient what it was told to, else OK."""

    def __init__(self, replies: dict[str, list[str]] | None = None, mail: str = "") -> None:
        self.replies = replies or {}
        self.mail = mail
        self.envelopes: list[Envelope] = []

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return self.mail or "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        replies = self.replies.get(str(envelope.rcpt_tos[0]), [])
        reply = replies.pop(0) if replies else "250 OK"
        if reply.startswith("250") or reply == "drop":
            self.envelopes.append(envelope)
        if reply == "drop":
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return reply

    @property
    def recipients(self) -> list[str]:
        return [str(each.rcpt_tos[0]) for each in self.envelopes]


def invite(site: Site, people: object) -> int:
    return int(site.work(audit.perform, "o", "invite people", {"people": people}))


def rows(*names: str) -> list[PersonRow]:
    return [PersonRow(name, name.title(), f"{name}@example.org") for name in names]


def states(site: Site) -> dict[str, str]:
    with site.store.read(site.name) as work:
        return {
            person.platform_id: letters.shown_state(person, work.now)
            for person in letters.invited(work)
        }


def send(site: Site, port: int) -> dict[str, int]:
    mailer = Mailer.of(f"smtp://127.0.0.1:{port}")
    try:
        return dict(send_due(site.store, site.name, mailer, ADDRESS))
    finally:
        mailer.close()


def message_to(site: Site, name: str = "ann", language: str = "", round: int = 0) -> EmailMessage:
    with site.store.write(site.name) as work:
        person = next(one for one in letters.waiting(work) if one.platform_id == name)
        return letters.message_of(work, person, round, ADDRESS)


# --- sent -----------------------------------------------------------------------------------------


def test_each_is_written_to_once(site: Site) -> None:
    invite(site, rows("ann", "bob"))
    inbox = Inbox()
    with serving(inbox) as port:
        assert send(site, port) == {"sent": 2}
        assert send(site, port) == {}
        with pytest.raises(RuleError, match="invited already"):
            invite(site, rows("ann", "bob"))
        invite(site, rows("ann", "cat"))  # of whom cat is new
        assert send(site, port) == {"sent": 1}
    assert sorted(inbox.recipients) == [f"{name}@example.org" for name in ("ann", "bob", "cat")]
    assert states(site) == {"ann": "sent", "bob": "sent", "cat": "sent"}


def test_an_undone_invitation_is_not_sent_again(site: Site) -> None:
    number = invite(site, rows("ann"))
    inbox = Inbox()
    with serving(inbox) as port:
        send(site, port)
        site.work(audit.undo, "o", number)
        assert states(site) == {"ann": "off"}
        with pytest.raises(RuleError, match="invited already"):
            invite(site, rows("ann"))
        send(site, port)
    assert inbox.recipients == ["ann@example.org"]


def test_put_off_with_growing_pauses_then_given_up(site: Site) -> None:
    invite(site, rows("ann"))
    (waiting,) = site.work(letters.waiting)
    pauses = []
    for _ in range(letters.MOST_TRIES):
        assert site.work(letters.begin, waiting.letter) is not None
        site.work(letters.done, waiting.letter, Outcome("later", "451 busy"))
        left = site.work(letters.waiting)
        if left:
            pauses.append((left[0].next_at - site.clock.now) // 60_000)
            assert site.work(letters.due) == []
            site.clock.forward(pauses[-1])
            assert len(site.work(letters.due)) == 1
    assert pauses[:6] == [1, 5, 15, 60, 240, 240]
    assert states(site) == {"ann": "refused"}


def test_what_a_server_answers(site: Site) -> None:
    invite(site, rows("later", "twice", "full", "drop", "good"))
    inbox = Inbox(
        {
            "later@example.org": ["451 4.3.0 busy"],
            "twice@example.org": ["452 4.2.2 full", "421 4.3.2 closing"],
            "full@example.org": ["552-5.2.2 never\x1b[2J\r\n552 5.2.2 ever"],
            "drop@example.org": ["drop"],
        }
    )
    with serving(inbox) as port:
        assert send(site, port) == {"later": 2, "refused": 1, "doubt": 1, "sent": 1}
        now = {"later": "waiting", "twice": "waiting", "full": "refused", "drop": "in doubt"}
        assert states(site) == {**now, "good": "sent"}
        for minutes in (1, 5):
            site.clock.forward(minutes)
            send(site, port)
        assert states(site) == {**now, "later": "sent", "twice": "sent", "good": "sent"}
        site.clock.forward(DAY)
        assert send(site, port) == {}, "what is in doubt is not sent by itself"
        site.work(audit.perform, "o", "settle doubt", {"sent": False})
        assert send(site, port) == {"sent": 1}
    assert inbox.recipients.count("drop@example.org") == 2
    with site.store.read(site.name) as work:
        problems = {one.platform_id: one.problem for one in letters.invited(work)}
    assert problems["full"] == "552 5.2.2 never [2J 5.2.2 ever", "in one line, which moves nothing"


def test_a_letter_whose_sender_died_is_in_doubt_and_asked_about(site: Site) -> None:
    invite(site, rows("ann", "bob"))
    for waiting in site.work(letters.waiting):
        site.work(letters.begin, waiting.letter)
        assert site.work(letters.begin, waiting.letter) is None, "two would send it"
    assert states(site) == {"ann": "waiting", "bob": "waiting"}
    site.clock.forward(11)
    assert states(site) == {"ann": "in doubt", "bob": "in doubt"}
    assert site.work(letters.due) == []
    assert site.work(letters.funnel).in_doubt == 2
    site.work(audit.perform, "o", "settle doubt", {"sent": True})
    assert states(site) == {"ann": "sent", "bob": "sent"}
    with pytest.raises(RuleError, match="no letter is in doubt"):
        site.work(audit.perform, "o", "settle doubt", {"sent": True})


def test_none_is_lost_or_sent_twice_over_kills(url: str) -> None:
    figures = survive(url, 60, 4)
    assert figures.kills == 4
    assert figures.refused <= 3  # one of them may be in doubt
    assert (figures.lost, figures.twice) == (0, 0)
    assert (figures.lost_in_the_end, figures.twice_unasked) == (0, 0)


def test_at_most_so_many_a_minute(url: str) -> None:
    site = make_site(url, MAIL.replace("1000", "2"))
    invite(site, rows("ann", "bob", "cat", "dan", "eve"))
    inbox = Inbox()
    with serving(inbox) as port:
        assert send(site, port) == {"sent": 2}
        assert send(site, port) == {}
        site.clock.forward(1.01)
        assert send(site, port) == {"sent": 2}
        site.clock.forward(1.01)
        assert send(site, port) == {"sent": 1}
    site.store.close()


def test_a_server_that_is_away_loses_nothing(site: Site) -> None:
    invite(site, rows("ann"))
    with serving(Inbox()) as port:
        pass
    with pytest.raises(MailError, match=r"the mail server 127\.0\.0\.1: "):
        send(site, port)
    assert states(site) == {"ann": "waiting"}
    refusing = Inbox(mail="550 5.7.1 who are you")
    with serving(refusing) as port, pytest.raises(MailError, match=r"no mail from lab@\S+ 550"):
        send(site, port)
    assert states(site) == {"ann": "waiting"}
    (waiting,) = site.work(letters.due)
    assert waiting.attempts == 0, "it is not ann's fault"
    with serving(Inbox()) as port:
        assert send(site, port) == {"sent": 1}


def test_nothing_is_sent_in_the_clear_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qrowd.collection.people.mailer._HERE", ())
    with serving(Inbox()) as port, pytest.raises(MailError, match="offers no STARTTLS"):
        Mailer.of(f"smtp://127.0.0.1:{port}").connect()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of this machine that nobody has signed but itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "cert.pem").write_bytes(made.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, form, plain))
    return folder / "cert.pem", folder / "key.pem"


def test_over_tls_with_a_password(
    certificate: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'tls.db'}", MAIL)
    invite(site, rows("ann"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)

    def allowed(*data: Any) -> AuthResult:
        return AuthResult(success=data[-1].password == b"right", handled=False)

    inbox = Inbox()
    settings = {"tls_context": context, "require_starttls": True, "auth_required": True}
    with serving(inbox, authenticator=allowed, **settings) as port:
        url = f"smtp://lab@localhost:{port}"
        with pytest.raises(MailError, match="certificate"):
            Mailer.of(url, "right").connect()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        with pytest.raises(MailError, match="the mail server localhost: 535"):
            Mailer.of(url, "wrong").connect()
        mailer = Mailer.of(url, "right")
        assert send_due(site.store, site.name, mailer, ADDRESS) == {"sent": 1}
        mailer.close()
    assert inbox.recipients == ["ann@example.org"]
    site.store.close()


def test_a_closed_campaign_sends_nothing(site: Site) -> None:
    invite(site, rows("ann"))
    site.work(audit.perform, "o", "close")
    assert site.work(letters.due) == []
    for act in ("invite people", "remind"):
        with pytest.raises(RuleError, match="closed: nobody can be invited") as refused:
            site.work(audit.perform, "o", act, {})
        assert refused.value.code == "closed"


def test_whoever_came_or_was_taken_off_gets_no_letter(site: Site) -> None:
    invite(site, rows("ann", "bob", "cat"))
    with site.store.write(site.name) as work:
        ann = next(one for one in letters.waiting(work) if one.platform_id == "ann")
        assert ann.key is not None
        entry.come_in(work, entry.admitted(work, entry.link_text(work, ann.key)))
        entry.take_off(work, [entry.person_called(work, "bob").id])
    inbox = Inbox()
    with serving(inbox) as port:
        send(site, port)
    assert inbox.recipients == ["cat@example.org"]
    assert states(site) == {"ann": "entered", "bob": "off", "cat": "sent"}
    funnel = site.work(letters.funnel)
    assert (funnel.invited, funnel.listed, funnel.sent, funnel.entered) == (2, 0, 1, 1)


def test_the_funnel_goes_on_to_passing(site: Site) -> None:
    invite(site, rows("ann", "bob"))
    for name in ("ann", "bob"):
        with site.store.write(site.name) as work:
            row = next(one for one in entry.people(work) if one.platform_id == name)
            assert row.key is not None
            came = entry.come_in(work, entry.admitted(work, entry.link_text(work, row.key)))
        if name == "ann":
            site.whole(came.id)
    funnel = site.work(letters.funnel)
    assert (funnel.invited, funnel.entered, funnel.qualified, funnel.passing) == (2, 2, 2, 1)
    site.work(entry.put_on_list, rows("cat"))
    funnel = site.work(letters.funnel)
    assert (funnel.invited, funnel.listed, funnel.waiting, funnel.sent) == (3, 1, 0, 0)


# --- reminders, bounces ---------------------------------------------------------------------------


def test_two_reminders_and_no_more(site: Site) -> None:
    invite(site, rows("ann", "bob"))
    inbox = Inbox()
    with serving(inbox) as port:
        send(site, port)
        with pytest.raises(RuleError, match="nobody is due a reminder"):
            site.work(audit.perform, "o", "remind")  # within a day
        for n in (1, 2):
            site.clock.forward(DAY)
            if n == 2:
                site.work(audit.perform, "o", "mark refused", {"addresses": "BOB@example.org"})
            told = site.work(lambda work: act_named("remind").of({}).foretell(work))
            assert str(told.question) == ("Remind 2 people?" if n == 1 else "Remind 1 person?")
            site.work(audit.perform, "o", "remind")
            send(site, port)
        site.clock.forward(9 * DAY)
        with pytest.raises(RuleError, match="nobody is due a reminder"):
            site.work(audit.perform, "o", "remind")
    assert sorted(inbox.recipients) == ["ann@example.org"] * 3 + ["bob@example.org"] * 2
    assert states(site) == {"ann": "sent", "bob": "refused"}
    subjects = [read(one)["Subject"] for one in inbox.envelopes]
    assert [str(subject) for subject in subjects].count("Reminder: tiny") == 3


def test_another_address_for_somebody_whose_letter_came_back(site: Site) -> None:
    invite(site, rows("ann"))
    inbox = Inbox()
    with serving(inbox) as port:
        send(site, port)
        site.work(audit.perform, "o", "mark refused", {"addresses": "<ann@example.org>, x@y.org"})
        invite(site, [PersonRow("ann", "", "ann@elsewhere.org")])
        send(site, port)
    assert inbox.recipients == ["ann@example.org", "ann@elsewhere.org"]
    with pytest.raises(RuleError, match="no letter was sent to any"):
        site.work(audit.perform, "o", "mark refused", {"addresses": "x@y.org"})


# --- what letters say -----------------------------------------------------------------------------


def test_a_letter_says_all_that_it_should(site: Site) -> None:
    invite(site, [PersonRow("ann", "Ann Ö.", "ann@example.org", "de-AT"), *rows("bob")])
    message = message_to(site)
    text, html = (body_of(message, kind) for kind in ("plain", "html"))
    for words in ("Guten Tag Ann Ö.,", "The lab bittet", "2 Minuten", "1.00 EUR", "2027-02-14"):
        assert words in text
        assert words in html
    (link_to, decline_at) = re.findall(r"https://\S+", text)
    assert link_to.startswith(f"{ADDRESS}/judge/tiny?link=")
    assert decline_at.startswith(f"{ADDRESS}/decline/tiny?link=")
    raw = bytes(message)
    # in one line as it is: programs read it
    assert f"List-Unsubscribe: <{decline_at}>\r\n".encode() in raw
    assert b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in raw
    assert message["From"].addresses[0] == Address("The lab", addr_spec="lab@example.org")
    assert message["Reply-To"] == message["From"]
    assert message["Message-ID"] == message_to(site)["Message-ID"]
    assert message["Message-ID"] != message_to(site, "bob")["Message-ID"]
    assert "Hello Bob," in body_of(message_to(site, "bob"), "plain")
    assert raw.isascii()
    with site.store.read(site.name) as work:
        entry.admitted(work, link_to.partition("=")[2])


def test_own_words(url: str) -> None:
    own = '[mail]\ncontact = "lab@example.org"\nsubject = "For {name}"\n'
    own += 'text = """\nDear {name}, <b>\n\n{link} {decline}"""\n'
    site = make_site(url, PLAN + own)
    invite(site, [PersonRow("ann", "{link}<i>", "ann@example.org")])
    message = message_to(site)
    assert message["Subject"] == "For {link}<i>"
    assert body_of(message, "plain").startswith("Dear {link}<i>, <b>\n")
    assert "<p>Dear {link}&lt;i&gt;, &lt;b&gt;</p>" in body_of(message, "html")
    site.store.close()


@pytest.mark.parametrize(
    ("mail", "message"),
    [
        ('contact = "lab"', "an address has an @"),
        ('contact = "a@b.org, c@d.org"', "is no address that mail can be sent to"),
        ('sender = "a\\nBcc: x@y.org"', "must be short text in one line"),
        ('subject = "{link.x}"', "may hold"),
        ('subject = "{name!r:>9}"', "may hold"),
        ('text = "{"', "a brace is not closed"),
        ('text = "come"', "must hold {link} and {decline}"),
    ],
)
def test_odd_mail_in_a_plan_is_refused(mail: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse_plan(f"{PLAN}[mail]\n{mail}\n")


HOSTILE = [
    "Ann\r\nBcc: evil@example.org",
    "Ann\nSubject: other\n\nbody",
    "Ann\r\n\r\n<script>alert(1)</script>",
    "Ann\u2028Bcc: evil@example.org",
    "Ann\u2029x",
    "Ann\x0bBcc: evil@example.org",
    "Ann\x0cBcc: evil@example.org",
    "Ann\x1eBcc: evil@example.org",
    "Ann\x85Bcc: evil@example.org",
    "Ann\x00",
    "Ann\x1b[31m",
    "=?utf-8?q?=0D=0ABcc=3A_evil=40example=2Eorg?=",
    "=?utf-8?b?DQpCY2M6IGV2aWxAZXhhbXBsZS5vcmc=?=",
    '"Ann" <evil@example.org>',
    "Ann <evil@example.org>, Bob",
    "Ann, evil@example.org",
    "Ann; evil@example.org",
    "Ann (comment)",
    "Ann \\",
    'Ann "quoted',
    "group: evil@example.org;",
    "Ann@example.org",
    "<>",
    ".",
    "..",
    "Ann\t tab",
    "  blanks  around  ",
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@SUM(1)",
    "{name}",
    "{link}{0}{__class__}",
    "%s%n",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "&amp;&#x0a;",
    "Åsa Öberg",
    "Łukasz Żółć",
    "Ωμέγα Ψ",
    "Анна Каренина",
    "王小明",
    "田中 太郎",
    "김철수",
    "नमस्ते",
    "مرحبا",
    "שלום",
    "👩‍👩‍👧‍👦 family",
    "e\u0301 combining",
    "ﬁ ligature",
    "\u200bzero\u200dwidth",
    "\ufeffmark",
    "a" * 400,
    "ö" * 400,
    "word " * 79,
    "wörd " * 79,
    "👍" * 200,
    "'; DROP TABLE letter; --",
    "O'Brien-Smith Jr.",
    "d’Arc",
    "Ann\udcff",
]
# each of them at other places of a name, too
NAMES = [*HOSTILE, *(f"Dr. {name}" for name in HOSTILE), *(f"{name} ü" for name in HOSTILE)]
NAMES += [f"{name} {'long ' * 30}" for name in HOSTILE]
NAMES += [f"{first}{second}" for first, second in zip(HOSTILE, HOSTILE[7:], strict=False)]
HEADERS = {
    *("From", "To", "Date", "Subject", "Reply-To", "Message-ID", "List-Unsubscribe"),
    *("List-Unsubscribe-Post", "Auto-Submitted", "MIME-Version", "Content-Type"),
}


def test_no_name_gets_through_unencoded(tmp_path: Path) -> None:
    assert len(NAMES) >= 200
    site = make_site(f"sqlite:///{tmp_path / 'names.db'}", MAIL)
    invite(site, rows("ann"))
    (ann,) = site.work(letters.waiting)
    inbox, refused = Inbox(), 0
    with serving(inbox) as port, site.store.read(site.name) as work:
        mailer = Mailer.of(f"smtp://127.0.0.1:{port}")
        mailer.connect()
        for at, name in enumerate(NAMES):
            refused += entry.first_problem([PersonRow("x", name)]) is not None
            # whatever was stored before such names were refused
            person: Any = Named(ann, name, f"p{at}@example.org")
            message = letters.message_of(work, person, 0, ADDRESS)
            raw = bytes(message)
            assert raw.isascii()
            assert all(len(line) <= 998 for line in raw.split(b"\r\n"))
            assert b"\n" not in raw.replace(b"\r\n", b"")
            assert b"\r" not in raw.replace(b"\r\n", b"")
            assert mailer.deliver(message).kind == "sent"
            parsed = email.message_from_bytes(raw, policy=email.policy.default)
            assert set(parsed.keys()) == HEADERS, name
            assert len(parsed.keys()) == len(HEADERS)
            (to,) = parsed["To"].addresses
            assert to.addr_spec == f"p{at}@example.org"
            assert not parsed["To"].defects, (name, parsed["To"].defects)
            # where a long name goes on in another line, Python reads a blank
            shown, meant = to.display_name, letters.display_name(name)
            assert shown.replace(" ", "") == meant.replace(" ", ""), name
            html = body_of(parsed, "html")
            assert "<script" not in html
            assert "<img" not in html
        mailer.close()
    assert refused > 20
    assert inbox.recipients == [f"p{at}@example.org" for at in range(len(NAMES))]
    site.store.close()


class Named:
    """A row with another name and address than what can be stored."""

    def __init__(self, row: Any, name: str, address: str) -> None:
        self.row, self.name, self.email = row, name, address

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("ann@example.org", "ann@example.org"),
        (" ann+tag@Example.ORG ", "ann+tag@example.org"),
        ("ann@münchen.de", "ann@xn--mnchen-3ya.de"),
        ("ann@例え.jp", "ann@xn--r8jz45g.jp"),
        ("jörg@münchen.de", "jörg@xn--mnchen-3ya.de"),
    ],
)
def test_domains_go_out_in_ascii(text: str, wire: str) -> None:
    assert wire_address(text) == wire


@pytest.mark.parametrize(
    "text",
    [
        "ann",
        "@",
        "ann@",
        "@example.org",
        "a@b@c.org",
        "ann @example.org",
        "ann@exa mple.org",
        "ann@example.org\r\nBcc: x@y.org",
        "ann@example.org\nx",
        "ann@example.org, bob@example.org",
        "ann@example.org;bob",
        "<ann@example.org>",
        '"ann"@example.org',
        "ann@[127.0.0.1]",
        "ann@-x.org",
        "ann@x..org",
        "ann@.org",
        ".ann@example.org",
        "a..n@example.org",
        "ann@example.org\x00",
        "ann@exam\u2028ple.org",
        "ann@straße.de",
        "a" * 65 + "@example.org",
        "ann@" + "a" * 64 + ".org",
        "ann@example.org SMTPUTF8",
        "ann@ex_ample.org",
        "",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(RuleError):
        wire_address(text)


def test_an_address_that_needs_smtputf8(site: Site) -> None:
    invite(site, [PersonRow("jörg", "Jörg", "jörg@münchen.de")])
    assert "jörg@xn--mnchen-3ya.de".encode() in bytes(message_to(site, "jörg"))
    with serving(Inbox(), enable_SMTPUTF8=False) as port:
        assert send(site, port) == {"refused": 1}
    with site.store.read(site.name) as work:
        (row,) = letters.invited(work)
    assert "SMTPUTF8" in (row.problem or "")
    inbox = Inbox()
    invite(site, [PersonRow("ülf", "", "ülf@example.org")])
    with serving(inbox) as port:
        assert send(site, port) == {"sent": 1}
    assert inbox.recipients == ["ülf@example.org"]


# --- declining ------------------------------------------------------------------------------------


def link_of(site: Site, name: str) -> str:
    with site.store.read(site.name) as work:
        row = next(one for one in entry.people(work) if one.platform_id == name)
        assert row.key is not None
        return entry.link_text(work, row.key)


def test_whoever_declines_is_never_written_to_again(site: Site) -> None:
    invite(site, [*rows("ann", "bob"), PersonRow("cat", "", "Cat@MÜNCHEN.de")])
    links = {name: link_of(site, name) for name in ("ann", "cat")}
    for link_text in links.values():
        site.work(letters.decline, link_text)
        site.work(letters.decline, link_text)  # twice is fine
    assert list(states(site)) == ["bob"]
    with pytest.raises(RuleError, match="has ended"):
        site.work(entry.admitted, links["ann"])
    with pytest.raises(RuleError, match="not complete"):
        site.work(letters.decline, links["ann"] + "x")
    again = [
        PersonRow("ann"),
        PersonRow("other", "", "ANN@Example.org"),
        PersonRow("third", "", "cat@xn--mnchen-3ya.de"),
    ]
    for row in again:
        assert site.work(has_declined, row)
        for act in ("invite people", "list people", "make links"):
            with pytest.raises(RuleError, match="not interested"):
                site.work(audit.perform, "o", act, {"people": [row]})
    assert not site.work(has_declined, PersonRow("dan", "", "dan@example.org"))
    number = invite(site, [*again, *rows("dan")])
    assert audit.details_of(site.work(audit.act_numbered, number))["declined"] == 3
    assert list(states(site)) == ["bob", "dan"]
    funnel = site.work(letters.funnel)
    assert (funnel.invited, funnel.declined) == (4, 2)


def has_declined(work: Work, row: PersonRow) -> bool:
    return DeclinedPeople(work).has(row.id, row.email)


def test_declined_in_one_campaign_is_declined_in_all(site: Site) -> None:
    create_campaign(site.store, parse_plan(MAIL.replace('"tiny"', '"other"')), material())
    other = Site(site.store, site.clock, "other")
    other.work(audit.perform, "o", "launch")
    invite(site, rows("ann", "bob"))
    invite(other, rows("bob"))
    site.work(letters.decline, link_of(site, "ann"))
    site.work(letters.decline, link_of(site, "bob"))
    assert other.work(has_declined, rows("ann")[0])
    # what somebody of an own panel is called is somebody else there
    assert not other.work(has_declined, PersonRow("ann", "", "ann@elsewhere.org"))
    assert other.work(letters.waiting) == [], "for a file"
    inbox = Inbox()
    with serving(inbox) as port:
        send(other, port)
    assert inbox.recipients == [], "bob waits there, and has declined here"


def test_whoever_came_in_and_declines_keeps_the_door(site: Site) -> None:
    invite(site, rows("ann"))
    link_text = link_of(site, "ann")
    ann = site.work(lambda work: entry.come_in(work, entry.admitted(work, link_text)))
    site.work(letters.decline, link_text)
    assert site.work(lambda work: entry.admitted(work, link_text)).worker == ann.id
    with site.store.read(site.name) as work:
        assert [row.email for row in entry.people(work)] == [""]
        assert work.count(letter) == 0
    site.clock.forward(DAY)
    with pytest.raises(RuleError, match="not interested"):
        invite(site, rows("ann"))


def test_nothing_but_hashes_is_left(tmp_path: Path) -> None:
    file = tmp_path / "gone.db"
    site = make_site(f"sqlite:///{file}", MAIL)
    invite(site, [PersonRow("zyx-id", "Zyxname", "zyxmail@example.org"), *rows("bob")])
    link_text = link_of(site, "zyx-id")
    with site.store.read(site.name) as work:
        key = work.db.scalar(
            select(link.c.key).join(listed_person).where(listed_person.c.platform_id == "zyx-id")
        )
    site.work(letters.decline, link_text)
    erasure.scrub(site.store)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for trace in ("zyx-id", "Zyxname", "zyxmail", str(key)):
        assert trace.encode() not in content
    with site.store.read(site.name) as work:
        kinds = list(work.db.scalars(select(declined.c.kind).order_by(declined.c.kind)))
        secret = work.db.scalar(select(campaign_table.c.secret))
    assert kinds == ["email", "link", "person"]
    assert secret
    site.store.close()


def test_forget_takes_letters_too(site: Site) -> None:
    invite(site, rows("ann", "bob"))
    with site.store.read(site.name) as work:
        bob = entry.person_called(work, "bob").id
    erasure.forget_listed(site.store, site.name, bob, who="o")
    link_text = link_of(site, "ann")
    ann = site.work(lambda work: entry.come_in(work, entry.admitted(work, link_text)))
    assert len(site.work(erasure.my_data, ann.id)["letter"]) == 1
    erasure.forget(site.store, site.name, ann.number, who="o")
    with site.store.read(site.name) as work:
        assert work.count(letter) == work.count(link) == work.count(listed_person) == 0


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ("ann;Ann;ann@example.org\nann;Ann;ann@elsewhere.org", "row 2: 'ann' has a row already"),
        ("ann;;ann@example.org\nbob;;ANN@example.org", "row 2: 'ANN@example.org' is 'ann' already"),
        ("ann;Ann;ann.example.org", "row 1: an address has an @"),
        ([{"id": "ann", "email": "a@b.org\r\nBcc: x@y.org"}], "row 1: names, emails"),
    ],
)
def test_bad_rows_are_refused_whole(site: Site, people: object, message: str) -> None:
    with pytest.raises(RuleError, match=re.escape(message)):
        invite(site, people)
    assert states(site) == {}


def test_no_contact_no_letter(url: str) -> None:
    site = make_site(url)
    invite(site, rows("ann"))
    assert site.work(letters.due) == []
    with pytest.raises(RuleError, match=r"the plan has no \[mail\] contact"):
        message_to(site)
    site.work(audit.perform, "o", "change mail", {"contact": "lab@example.org"})
    assert len(site.work(letters.due)) == 1
    for contact in ("lab", "lab@example.org\r\nBcc: x@y.org"):
        with pytest.raises(RuleError):
            site.work(audit.perform, "o", "change mail", {"contact": contact})
    site.store.close()


def test_passwords_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_text("secret\n")
    file.chmod(0o640)
    with pytest.raises(UsageError, match=r"others can read it \(mode 0640\)"):
        mail_password(str(file))
    file.chmod(0o600)
    assert mail_password(str(file)) == "secret"
    with pytest.raises(UsageError, match="No such file"):
        mail_password(str(tmp_path / "none"))
    monkeypatch.setenv("QROWD_MAIL_PASSWORD", "other")
    assert mail_password() == "other"
    assert Mailer.of("smtp://ann%40example.org@mail.example.org", "x").user == "ann@example.org"
    assert (Mailer.of("smtps://mail.example.org").port, Mailer.of("smtp://h").port) == (465, 587)
    for url, message in {
        "smtp://ann:secret@mail.example.org": "seen by everybody",
        "smtp://ann@mail.example.org": "needs a password",
        "mail.example.org": "a mail server is smtp://",
        "https://mail.example.org": "a mail server is smtp://",
        "smtp://mail.example.org:port": "a mail server is smtp://",
    }.items():
        with pytest.raises(UsageError, match=message):
            Mailer.of(url)
    for address in ("http://127.0.0.1:8000", "http://localhost", "http://[::1]:80"):
        with pytest.raises(UsageError, match="lead to this machine; say --address"):
            Mailer.of("smtp://mail.example.org").refuse_local(address)
        Mailer.of("smtp://localhost").refuse_local(address)
    Mailer.of("smtp://mail.example.org").refuse_local(ADDRESS)


# --- digests --------------------------------------------------------------------------------------


def test_a_digest_tells_nothing_twice(site: Site) -> None:
    site.work(audit.perform, "o", "send digests", {"addresses": "boss@example.org"})
    with pytest.raises(RuleError, match="get digests already"):
        site.work(audit.perform, "o", "send digests", {"addresses": "boss@example.org"})
    inbox = Inbox()
    with serving(inbox) as port:
        mailer = Mailer.of(f"smtp://127.0.0.1:{port}")

        def sent() -> int:
            number = digests.send_digests(site.store, site.name, mailer, ADDRESS)
            mailer.close()
            return number

        assert sent() == 1  # nobody works yet
        assert sent() == 0
        site.work(audit.perform, "o", "pause")
        assert sent() == 0, "at most one a day"
        site.clock.forward(DAY)
        assert sent() == 1
        site.clock.forward(DAY)
        assert sent() == 0, "it was told"
        site.work(audit.perform, "o", "close")
        assert sent() == 1
        site.work(audit.perform, "o", "stop digests", {"addresses": "boss@example.org"})
        site.clock.forward(9 * DAY)
        assert sent() == 0
    texts = [body_of(read(one)) for one in inbox.envelopes]
    assert "paused" in str(texts[1])
    assert f"{ADDRESS}/campaigns/tiny" in str(texts[1])
    assert "closed" in str(texts[2])
    assert "paused" not in str(texts[2])


def test_a_digest_that_a_server_put_off_comes_later(site: Site) -> None:
    site.work(audit.perform, "o", "send digests", {"addresses": "boss@example.org"})
    inbox = Inbox({"boss@example.org": ["451 4.3.0 busy"]})
    with serving(inbox) as port:
        mailer = Mailer.of(f"smtp://127.0.0.1:{port}")
        numbers = [digests.send_digests(site.store, site.name, mailer, ADDRESS) for _ in range(3)]
        mailer.close()
    assert numbers == [0, 1, 0]
    with site.store.read(site.name) as work:
        assert work.count(digest) == 1


def test_a_digest_waits_where_the_server_refuses_the_contact(site: Site) -> None:
    site.work(audit.perform, "o", "send digests", {"addresses": "boss@example.org"})
    inbox = Inbox(mail="553 5.7.1 not yours to send")
    with serving(inbox) as port:
        mailer = Mailer.of(f"smtp://127.0.0.1:{port}")
        with pytest.raises(MailError, match="takes no mail from"):
            digests.send_digests(site.store, site.name, mailer, ADDRESS)
        inbox.mail = ""
        assert digests.send_digests(site.store, site.name, mailer, ADDRESS) == 1
        mailer.close()
