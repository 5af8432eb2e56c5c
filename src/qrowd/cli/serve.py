"""`qrowd serve`: the web application."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from qrowd.cli import options as opt
from qrowd.cli.output import say
from qrowd.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from qrowd.web.settings import Settings

EVERYWHERE = ("0.0.0.0", "::", "")  # hosts that stand for all addresses of this machine


def _ways() -> tuple[str, ...]:
    from qrowd.collection.plan.way import Way

    return Way.names()


def _networks(_: click.Context, __: click.Parameter, addresses: tuple[str, ...]) -> tuple[str, ...]:
    for address in addresses:
        try:
            ipaddress.ip_network(address)
        except ValueError:
            message = f"--proxy is an address or a network, such as 127.0.0.1, not {address!r}"
            raise UsageError(message) from None
    return addresses


@opt.command()
@click.argument("place", default="campaigns", required=False, type=opt.FileName())
@opt.option(
    "--database",
    metavar="URL",
    default="",
    help="A database elsewhere: postgresql://...; without it, PLACE/qrowd.db.",
)
@opt.with_default("--host", default="127.0.0.1", help="The address to listen on.")
@opt.count("--port", 8000, "The port to listen on.", most=65535)
@opt.option(
    "--address",
    metavar="URL",
    default="",
    callback=opt.public_address,
    help="The public address of this server, if it is behind a proxy.",
)
@opt.repeated(
    "--proxy",
    "proxies",
    metavar="ADDRESS",
    callback=_networks,
    help="The proxy in front, such as 127.0.0.1 or 10.0.0.0/8: only it may say whom a request "
    "comes from (X-Forwarded-For, X-Forwarded-Proto).",
)
@opt.option(
    "--mail",
    metavar="URL",
    default="",
    help="Send letters and digests by this server: smtp://USER@HOST:587 (STARTTLS) or smtps://...; "
    "the password is in QROWD_MAIL_PASSWORD.",
)
@opt.option(
    "--mail-password-file",
    metavar="FILE",
    help="Where the password is instead; only you may be able to read it (mode 0600).",
)
@opt.count("--processes", 1, "How many processes answer requests.", most=64)
@opt.with_default(
    "--log-level",
    type=click.Choice(("debug", "info", "warning", "error")),
    default="warning",
    help="What is logged to stderr: info has every request, job and act.",
)
@opt.choice("--log-format", choices=("text", "json"), help="How events are logged, one a line.")
@opt.switch(
    "--try",
    "trial",
    help="Make a small campaign in a new folder and print a worker's link to it; the "
    "folder is removed in the end.",
)
@opt.with_default(
    "--way",
    type=opt.Registered("way", _ways),
    default="grades",
    help="How documents are judged with --try.",
)
@opt.with_default("--language", default="en", help="The language of the pages with --try.")
def command(
    place: str,
    database: str,
    host: str,
    port: int,
    address: str,
    proxies: tuple[str, ...],
    mail: str,
    mail_password_file: str | None,
    processes: int,
    log_level: str,
    log_format: str,
    trial: bool,
    way: str,
    language: str,
) -> None:
    """Run the web application for campaigns.

    PLACE is a folder, or a database file. A folder is made if it is not there; its database is
    PLACE/qrowd.db. Prints where to go; the first time, a link to make the first account. Background
    jobs run in a process of their own. The server's secret is in QROWD_SECRET, or in secret.key
    beside the database. `qrowd serve --try` shows in a minute what judging is like.

    \b
    Examples:
      qrowd serve --help
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtraError.needed("the web application", "serve")
    from qrowd.web.server import serve
    from qrowd.web.settings import Settings

    os.umask(0o077)  # uploads, drafts and results have people, gold and licensed texts in them
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            message = f"{host}, port {port}: {(error.strerror or str(error)).lower()}"
            if error.errno == errno.EADDRINUSE:
                message = f"port {port} of {host} is in use; choose another with --port"
            elif error.errno == errno.EACCES:
                message = f"port {port} is for root only; choose one from 1024 on with --port"
            raise UsageError(message) from None
    public = address or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if not address and host in EVERYWHERE:
        public = f"http://127.0.0.1:{port}"
        say(
            f"qrowd: warning: {host} is open to the whole network without TLS, and links will "
            f"lead to {public}; say where people reach this server: --address https://..."
        )
    if address and not proxies and urlsplit(address).scheme == "https":
        say(
            "qrowd: warning: without --proxy everybody seems to have the address of the proxy in "
            "front, and shares its limits; name it, as in --proxy 127.0.0.1"
        )
    if trial:
        from qrowd.web.trial import make_trial

        with TemporaryDirectory(prefix="qrowd-try-") as temporary:
            settings = Settings.of_folder(Path(temporary), "", public, log_level, log_format)
            say(f"qrowd: judge here: {make_trial(settings, way, language)}")
            say("qrowd: stop with Ctrl-C")
            serve(settings, host, port)
        return
    password = ""
    if mail:
        from qrowd.collection.people.mailer import Mailer, mail_password

        password = mail_password(mail_password_file)
        Mailer.of(mail, password).refuse_local(public)  # what is wrong is said now
    folder = Path(place)
    if folder.is_file():
        folder, database = folder.resolve().parent, database or str(folder)
    settings = Settings.of_folder(folder, database, public, log_level, log_format, mail, password)
    _welcome(settings)
    serve(settings, host, port, processes, proxies)


def _welcome(settings: Settings) -> None:
    """Where to go, and how to make the first account."""
    from qrowd.collection.database.opening import open_store
    from qrowd.web.accounts import no_account_yet
    from qrowd.web.settings import set_up_code

    with open_store(settings.database, new=True) as store, store.snapshot() as db:
        first = no_account_yet(db)
    say(f"qrowd: serving {store.shown} at {settings.address}")
    if first:
        code = set_up_code(settings)
        say(f"qrowd: make the first account: {settings.address}/set-up?code={code}")
