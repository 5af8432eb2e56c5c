"""`qrowd accounts`: who signs in to a server, without a browser.

Whoever can write the database can do all of it: these commands ask for no password.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qrowd.cli import options as opt
from qrowd.cli.campaign.database import confirmed, opened, user
from qrowd.cli.output import say, show, show_json, show_people
from qrowd.cli.verbs import Family
from qrowd.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from qrowd.collection.database.store import Store

    F = TypeVar("F", bound=Callable[..., Any])


def _server(command: F) -> F:
    """PLACE and --database, as `qrowd serve` takes them."""
    elsewhere = opt.option(
        "--database", metavar="URL", default="", help="The database, if it is not in PLACE."
    )
    place = click.argument("place", type=opt.FileName())
    return place(elsewhere(command))


@contextmanager
def _opened(place: str, database: str) -> Iterator[Store]:
    """The database of a server."""
    where = str(Path(place) / "qrowd.db") if Path(place).is_dir() else place
    with opened(database or where) as store:
        yield store


def _settings(place: str, database: str, address: str) -> Any:
    """What signs links: the secret in the server's folder, or in QROWD_SECRET."""
    from qrowd.web.settings import Settings

    folder = Path(place)
    if not folder.exists():  # a secret that is made here would sign links that the server refuses
        raise UsageError(f"{place}: there is no such folder; give the one of `qrowd serve`")
    return Settings.of_folder(folder if folder.is_dir() else folder.parent, database, address)


def _said(done: str, as_json: bool, **values: Any) -> None:
    say(done)
    if as_json:
        show_json(values)


def _when(at: int | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at / 1000, UTC).isoformat(" ", "minutes")


_login = click.argument("login")


@opt.command("list")
@_server
@opt.output
@opt.as_json
@opt.quiet
def list_(place: str, database: str, output: str | None, as_json: bool) -> None:
    """List the accounts with what they may do, and the links that are still good.

    \b
    Examples:
      qrowd accounts list campaign.db
    """
    from qrowd.web import accounts

    with _opened(place, database) as store, store.snapshot() as db:
        rows = accounts.accounts(db)
        links = accounts.open_links(db, store.clock())
    table: dict[str, list[Any]] = {"login": [], "roles": [], "since": [], "link": []}
    good = {act.login: act.act for act in links}
    for row in rows:
        roles = [f"{role.role} of {role.campaign}" for role in row.roles]
        table["login"].append(row.login)
        table["roles"].append(", ".join([*(["everything"] * row.administrator), *roles]))
        table["since"].append(_when(row.made_at))
        table["link"].append("to another password" if good.pop(row.login, "") else "")
    for login in good:
        for name, value in (("login", login), ("roles", ""), ("since", ""), ("link", "invited")):
            table[name].append(value)
    show_people(table, output, as_json)


@opt.command()
@_server
@_login
@opt.option("--campaign", "name", metavar="NAME", default="", help="With a role in this campaign.")
@opt.choice("--role", choices=("organiser", "expert", "administrator"), help="What they may be.")
@opt.address
@opt.switch("--withdraw", help="Make the links useless that were handed over instead.")
@opt.as_json
@opt.quiet
def invite(
    place: str,
    database: str,
    login: str,
    name: str,
    role: str,
    address: str,
    withdraw: bool,
    as_json: bool,
) -> None:
    """Print a link with which somebody makes an account; it works once, within a week.

    \b
    Examples:
      qrowd accounts invite campaign.db bob --campaign example --role organiser
      qrowd accounts invite campaign.db bob --withdraw
    """
    from qrowd.web import accounts

    with _opened(place, database) as store:
        if withdraw:
            n = accounts.withdraw_links(store, login, who=user())
            _said(f"{n} links for {login} are withdrawn", as_json, withdrawn=n)
            return
        guest = accounts.Guest.of_role(login, role, name)
        settings = _settings(place, database, address)
        _show_link(accounts.invite(store, settings, guest, who=user()), as_json)


def _show_link(link: str, as_json: bool) -> None:
    if as_json:
        show_json({"link": link})
    else:
        click.echo(link)


@opt.command()
@_server
@_login
@opt.address
@opt.as_json
@opt.quiet
def reset(place: str, database: str, login: str, address: str, as_json: bool) -> None:
    """Print a link to another password, to hand over; it works once, within a day.

    \b
    Examples:
      qrowd accounts reset campaign.db ann
    """
    from qrowd.web import accounts

    with _opened(place, database) as store:
        settings = _settings(place, database, address)
        _show_link(accounts.make_reset_link(store, settings, login, who=user()), as_json)


@opt.command()
@_server
@_login
@opt.as_json
@opt.quiet
def password(place: str, database: str, login: str, as_json: bool) -> None:
    """Set another password, asked for on the terminal or read from stdin; all sign-ins end.

    \b
    Examples:
      qrowd accounts password --help
    """
    from qrowd.web import accounts

    if sys.stdin is not None and sys.stdin.isatty():
        new = click.prompt("New password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        new = sys.stdin.readline().rstrip("\r\n") if sys.stdin is not None else ""
    with _opened(place, database) as store:
        accounts.set_password(store, login, new, who=user())
    _said(f"{login} has another password; all browsers and programs end", as_json, login=login)


@opt.command()
@_server
@_login
@opt.choice("--role", choices=("organiser", "expert", "administrator"), help="Which role.")
@opt.option("--campaign", "name", metavar="NAME", default="", help="In which campaign.")
@opt.switch("--take", help="Take it away instead of giving it.")
@opt.as_json
@opt.quiet
def role(
    place: str, database: str, login: str, role: str, name: str, take: bool, as_json: bool
) -> None:
    """Give somebody a role in a campaign, or take it away.

    \b
    Examples:
      qrowd accounts role campaign.db ann --role expert --campaign example
      qrowd accounts role campaign.db ann --role organiser --campaign example --take
    """
    from qrowd.web import accounts

    with _opened(place, database) as store:
        if role == accounts.ADMINISTRATOR:
            change = accounts.no_administrator if take else accounts.make_administrator
            change(store, login, who=user())
        else:
            change_role = accounts.take_role if take else accounts.give_role
            change_role(store, login, name, role, who=user())
    done = f"{login} is {'no longer ' * take}{role}{f' of {name}' if name else ''}"
    _said(done, as_json, login=login, role=role, campaign=name, taken=take)


@opt.command()
@_server
@_login
@opt.option("--revoke", type=click.IntRange(1), metavar="NUMBER", help="Make this one useless.")
@opt.switch("--revoke-all", help="Sign out everywhere: make all of them useless.")
@opt.output
@opt.as_json
@opt.quiet
def tokens(
    place: str,
    database: str,
    login: str,
    revoke: int | None,
    revoke_all: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """List where somebody is signed in: browsers, and programs with a token; or end that.

    \b
    Examples:
      qrowd accounts tokens campaign.db ann
      qrowd accounts tokens campaign.db ann --revoke-all
    """
    from qrowd.web import accounts

    with _opened(place, database) as store:
        number = accounts.account_called(store, login).id
        if revoke is not None:
            accounts.end_token(store, number, revoke, who=user())
            _said(f"token {revoke} of {login} is useless now", as_json, revoked=[revoke])
            return
        if revoke_all:
            n = accounts.sign_out_everywhere(store, number, who=user())
            _said(f"{login} is signed out everywhere ({n} tokens)", as_json, revoked=n)
            return
        with store.snapshot() as db:
            rows = accounts.tokens_of(db, number, store.clock())
    table: dict[str, list[Any]] = {
        "token": [row.id for row in rows],
        "kind": ["program" if row.campaign else "browser" for row in rows],
        "campaign": [row.campaign or "" for row in rows],
        "role": [row.role for row in rows],
        "scopes": [row.scopes for row in rows],
        "made": [_when(row.made_at) for row in rows],
        "until": [_when(row.expires_at) for row in rows],
    }
    show(table, output, as_json)


@opt.command()
@_server
@_login
@opt.yes
@opt.as_json
@opt.quiet
def remove(place: str, database: str, login: str, yes: bool, as_json: bool) -> None:
    """Remove an account: its roles and all sign-ins end; what was done stays under its name.

    \b
    Examples:
      qrowd accounts remove campaign.db ann --yes
    """
    from qrowd.web import accounts

    with _opened(place, database) as store:
        number = accounts.account_called(store, login).id
        if not confirmed(f"Remove the account of {login}? It cannot be undone.", yes):
            return
        accounts.remove_account(store, number, who=user())
    _said(f"the account of {login} is removed", as_json, removed=login)


@opt.command()
@_server
@opt.count("-n", 100, "How many acts, the newest first.")
@opt.output
@opt.as_json
@opt.quiet
def record(place: str, database: str, n: int, output: str | None, as_json: bool) -> None:
    """Show what was done to accounts: when, by whom, to whom.

    \b
    Examples:
      qrowd accounts record campaign.db
    """
    from qrowd.web import accounts

    with _opened(place, database) as store, store.snapshot() as db:
        rows = accounts.account_acts(db, n)
    details = [json.loads(row.details).items() for row in rows]
    table = {
        "when": [_when(row.at) for row in rows],
        "who": [row.who for row in rows],
        "act": [row.act for row in rows],
        "login": [row.login for row in rows],
        "details": [
            " ".join(f"{name}={value}" for name, value in each if value) for each in details
        ],
    }
    show_people(table, output, as_json)


@click.group(
    cls=Family,
    commands=[list_, invite, role, reset, password, tokens, remove, record],
)
def command() -> None:
    """Manage who signs in to `qrowd serve`: organisers, experts, administrators.

    PLACE is what `qrowd serve` was given: a folder or a database file. Each change is written down.
    """
    if find_spec("sqlalchemy") is None and not {"-h", "--help"} & set(sys.argv):
        raise MissingExtraError.needed("accounts", "serve")
