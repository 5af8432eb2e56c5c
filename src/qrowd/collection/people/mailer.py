"""Handing letters to a mail server, by SMTP.

    mailer = Mailer.of("smtp://ann@mail.example.org", password)
    tally = send_due(store, "web-2026", mailer, "https://judge.example.org")

Mail goes over TLS: by STARTTLS (smtp://, port 587) or from the start (smtps://, port 465); in the
clear only to this machine. A campaign's letters may be sent by several processes: each letter is
taken by one of them, and together they keep to the plan's number in a minute.
"""

from __future__ import annotations

import contextlib
import logging
import os
import smtplib
import ssl
import stat
import time
from collections import Counter
from email.message import EmailMessage
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from qrowd.collection.database.store import Store
from qrowd.collection.people import letters
from qrowd.collection.people.letters import DOUBT, LATER, REFUSED, SENT, UNTRIED, Outcome
from qrowd.errors import RuleError, UsageError

PASSWORD_VARIABLE = "QROWD_MAIL_PASSWORD"
TIMEOUT = 60.0  # seconds for each answer; five of them stay below `letters.DOUBT_AFTER`
_HERE = ("localhost", "127.0.0.1", "::1")
_PORTS = {"smtp": 587, "smtps": 465}
_log = logging.getLogger(__name__)


class MailError(RuleError):
    """The mail server cannot be used; nothing is lost, letters wait."""

    def __init__(self, message: str) -> None:
        super().__init__("no-mail", message)


class Stop(Protocol):
    """An event of threads or of processes."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is time to stop, at most for so many seconds."""
        ...


def mail_password(file: str | None = None) -> str:
    """The mail server's password: of a file that only its owner reads, or of the environment."""
    if not file:
        return os.environ.get(PASSWORD_VARIABLE, "")
    try:
        with Path(file).open(encoding="utf-8") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            if mode & 0o077:
                raise UsageError(
                    f"{file}: others can read it (mode {mode:04o}); chmod 600 it, then try again"
                )
            return opened.read().strip()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None


class Mailer:
    """A mail server, connected to when it is needed."""

    def __init__(
        self, host: str, port: int, user: str, password: str, *, tls_first: bool = False
    ) -> None:
        self.host, self.port = host, port
        self.user, self.password = user, password
        self.tls_first = tls_first
        self.smtp: smtplib.SMTP | None = None

    @classmethod
    def of(cls, url: str, password: str = "") -> Mailer:
        """The server of an address such as smtp://user@host:587."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in _PORTS or not parts.hostname or parts.path not in ("", "/"):
            raise UsageError(f"a mail server is smtp://USER@HOST:PORT or smtps://..., got {url!r}")
        if parts.password is not None:
            raise UsageError(
                "a password in an address is seen by everybody on this machine; put it into "
                f"{PASSWORD_VARIABLE}, or into a file that only you read"
            )
        user = unquote(parts.username or "")
        if user and not password:
            raise UsageError(f"{user} needs a password: set {PASSWORD_VARIABLE}, or name a file")
        return cls(
            parts.hostname,
            port or _PORTS[parts.scheme],
            user,
            password,
            tls_first=parts.scheme == "smtps",
        )

    def refuse_local(self, address: str) -> None:
        """An error where letters that leave this machine would have links that lead to it."""
        if urlsplit(address).hostname in _HERE and self.host not in _HERE:
            raise UsageError(
                f"links in letters to {address} lead to this machine; say --address https://... "
                "where people can reach it"
            )

    def connect(self) -> None:
        """Be connected and signed in; an error says what is in the way."""
        if self.smtp is not None:
            try:
                if self.smtp.noop()[0] == 250:
                    return
            except (OSError, smtplib.SMTPException):
                pass
            self._drop()
        try:
            self.smtp = self._signed_in()
        except MailError:
            self._drop()
            raise
        except (OSError, smtplib.SMTPException) as error:
            self._drop()
            raise MailError(f"the mail server {self.host}: {_reason(error)}") from error

    def _signed_in(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self.tls_first:
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=TIMEOUT, context=context
            )
        else:
            smtp = smtplib.SMTP(self.host, self.port, timeout=TIMEOUT)
        self.smtp = smtp  # so that it is closed where the rest fails
        smtp.ehlo_or_helo_if_needed()
        if not self.tls_first and (smtp.has_extn("starttls") or self.host not in _HERE):
            if not smtp.has_extn("starttls"):
                raise MailError(
                    f"the mail server {self.host} offers no STARTTLS, and nothing is sent in the "
                    "clear; try smtps://"
                )
            smtp.starttls(context=context)
            smtp.ehlo()
        if self.user:
            smtp.login(self.user, self.password)
        return smtp

    def close(self) -> None:
        """End the connection, politely."""
        if self.smtp is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                self.smtp.quit()
        self._drop()

    def _drop(self) -> None:
        smtp, self.smtp = self.smtp, None
        if smtp is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                smtp.close()

    def deliver(self, message: EmailMessage) -> Outcome:
        """Hand a message over, once, to a server that is connected.

        4xx: later. 5xx for the recipient or the message: refused. 5xx for the sender is no
        recipient's fault: an error. Without an answer to the message itself it is in doubt.
        """
        assert self.smtp is not None, "connect first"
        smtp, handed_over = self.smtp, False
        sender = message["From"].addresses[0].addr_spec
        recipient = message["To"].addresses[0].addr_spec
        international = not (sender + recipient).isascii()
        if international and not smtp.has_extn("smtputf8"):
            return Outcome(REFUSED, "the mail server takes no such address: it lacks SMTPUTF8")
        try:
            code, said = smtp.mail(sender, ["SMTPUTF8"] if international else [])
            if code >= 500:
                self._drop()
                raise MailError(
                    f"the mail server {self.host} takes no mail from {sender}: {_words(code, said)}"
                )
            if code == 250:
                code, said = smtp.rcpt(recipient)
            if code in (250, 251):
                code, said = smtp.docmd("DATA")
            if code == 354:
                body = bytes(message).replace(b"\r\n.", b"\r\n..")
                handed_over = True
                smtp.send(body + (b"" if body.endswith(b"\r\n") else b"\r\n") + b".\r\n")
                code, said = smtp.getreply()
        except (OSError, smtplib.SMTPException) as error:
            self._drop()
            return Outcome(DOUBT if handed_over else LATER, _reason(error))
        except BaseException:  # somebody ends the process
            self._drop()
            raise
        if code == 250:
            return Outcome(SENT)
        if code == 421:  # the server closes
            self._drop()
        else:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                smtp.rset()
        return Outcome(REFUSED if code >= 500 else LATER, _words(code, said))


def _words(code: int, said: bytes) -> str:
    return letters.one_line(f"{code} {said.decode('utf-8', 'replace')}")[:300]


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error
        return _words(error.smtp_code, said if isinstance(said, bytes) else said.encode())
    return " ".join(str(error).split())[:300] or type(error).__name__


def send_due(
    store: Store,
    campaign: str | int,
    mailer: Mailer,
    address: str,
    stop: Stop | None = None,
) -> Counter[str]:
    """Send the letters of a campaign that are due now; how many were sent, put off, refused, are in
    doubt. An error where the mail server cannot be reached: the letters wait.
    """
    tally: Counter[str] = Counter()
    with store.read(campaign) as work:
        ready = [row.letter for row in letters.due(work)]
    for number in ready:
        if stop is not None and stop.is_set():
            break
        mailer.connect()
        with store.write(campaign) as work:
            row = letters.begin(work, number)
            if row is None:
                continue
            try:
                message = letters.message_of(work, row, row.round, address)
            except (RuleError, ValueError) as error:  # an address that was stored without a look
                letters.done(work, number, Outcome(REFUSED, str(error)))
                tally[REFUSED] += 1
                continue
        outcome = Outcome(DOUBT, "ended while it was handed over")
        try:
            outcome = mailer.deliver(message)
        except MailError as error:
            outcome = Outcome(UNTRIED, str(error))
            raise
        finally:
            with store.write(campaign) as work:
                letters.done(work, number, outcome)
        tally[outcome.kind] += 1
        _log.info("letter", extra={"number": number, "outcome": outcome.kind})
    return tally


def send_all(store: Store, campaign: str | int, mailer: Mailer, address: str) -> Counter[str]:
    """Send until nothing is due any more but what was put off; keeps to the plan's pace."""
    tally: Counter[str] = Counter()
    while True:
        tally += send_due(store, campaign, mailer, address)
        with store.read(campaign) as work:
            if not letters.ready(work, 1):
                return tally
        time.sleep(1.0)
