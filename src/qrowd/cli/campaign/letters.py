"""Writing to people: `invite` and `invited`."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from qrowd.cli import options as opt
from qrowd.cli.campaign.database import confirmed, opened, user
from qrowd.cli.campaign.office import counted, people_in
from qrowd.cli.output import say, show_json, show_people
from qrowd.errors import RuleError, UsageError
from qrowd.io.atomic import made_folder, write
from qrowd.rendering import records

if TYPE_CHECKING:
    from qrowd.collection.database.store import Store
    from qrowd.collection.people.entry import PersonRow
    from qrowd.collection.people.mailer import Mailer

DONE = {
    "sent": "{n} sent",
    "later": "{n} put off by the mail server, to be tried again",
    "refused": "{n} refused",
    "doubt": "{n} in doubt: nobody knows whether they went out; say it by `campaign invited "
    "--in-doubt`",
}


@opt.command()
@opt.database
@click.argument("people", required=False, metavar="[PEOPLE]", type=opt.FileName())
@opt.campaign
@opt.option(
    "--from",
    "before",
    metavar="OTHER",
    part="in",
    help="People of another campaign who agreed to be asked again: of this database by its name, "
    "or another database (DATABASE#NAME where it has several).",
)
@opt.with_default(
    "--passed",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    part="in",
    help="Of those of --from: right on check questions surely this often.",
)
@opt.with_default(
    "--at-least",
    type=click.IntRange(min=1),
    default=20,
    part="in",
    help="Of those of --from: who answered this many check questions.",
)
@opt.switch("--remind", help="Remind those who did not come instead; at most twice.")
@opt.with_default(
    "--days",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    help="How long the link in a letter lets its person in.",
)
@opt.address
@opt.option(
    "--mail",
    metavar="URL",
    part="out",
    help="Send the letters by this server: smtp://USER@HOST:587 (STARTTLS) or smtps://...; the "
    "password is in QROWD_MAIL_PASSWORD.",
)
@opt.option(
    "--mail-password-file",
    metavar="FILE",
    help="Where the password is instead; only you may be able to read it (mode 0600).",
)
@opt.option(
    "--eml", metavar="FOLDER", part="out", help="Write letters as .eml files, for your own mailer."
)
@opt.yes
@opt.output
@opt.as_json
@opt.quiet
def invite(
    database: str,
    people: str | None,
    name: str | None,
    before: str | None,
    passed: float,
    at_least: int,
    remind: bool,
    days: float,
    address: str,
    mail: str | None,
    mail_password_file: str | None,
    eml: str | None,
    yes: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Write to people, who are put on the campaign's list; each gets one invitation.

    PEOPLE is a table with person, email, name, language, platform id, or some of them; without it,
    everybody on the list is meant who has no invitation yet. Letters have the person's own link,
    the pay, the minutes of a batch, until when, and a link to decline. They wait until a server
    that runs with --mail sends them; or they are sent at once by --mail, or written by -o (a table
    for a mail merge) or --eml, which counts as sent. Whoever declined is never written to again.

    With --from, as in `--from spring.db --passed .9 --at-least 20`, people of another campaign are
    meant who agreed to be asked again and whose accuracy on check questions is surely --passed: the
    lower end of its 95 % interval (Wilson's).

    \b
    Examples:
      qrowd campaign invite campaign.db invited.tsv
      qrowd campaign invite campaign.db --address https://judge.example.org -o letters.csv
      qrowd campaign invite campaign.db --address https://judge.example.org --eml letters
    """
    from qrowd.collection.people import letters
    from qrowd.collection.people.mailer import Mailer, mail_password
    from qrowd.collection.record import audit

    if sum(map(bool, (mail, eml, output))) > 1:
        raise UsageError("letters go one way: --mail, --eml or -o")
    if remind and (people or before):
        raise UsageError("--remind writes to those who were invited, and takes no further people")
    if people and before:
        raise UsageError("name a table of people, or --from, not both")
    typed = click.get_current_context().get_parameter_source("address")
    if (eml or output) and typed is ParameterSource.DEFAULT:
        raise UsageError(
            "say --address https://..., where people can reach `qrowd serve`: links in letters "
            "lead there, and a letter is written once"
        )
    rows = people_in(people) if people else []
    mailer = Mailer.of(mail, mail_password(mail_password_file)) if mail else None
    if mailer is not None:
        mailer.refuse_local(address)
    act = "remind" if remind else "invite people"
    with opened(database) as store, closing(mailer) if mailer else nullcontext():
        campaign = store.only(name)
        if before:
            rows = _of_before(store, campaign, before, passed, at_least)
        details: dict[str, Any] = {"days": days} | ({"people": rows} if rows else {})
        with store.read(campaign) as work:
            letters.refuse_state(work)
            if mail or eml:
                letters.refuse_silence(work)
            rounds = (letters.FIRST, letters.SECOND) if remind else (letters.INVITATION,)
            n = len(rows) or sum(len(letters.recipients_of(work, each)) for each in rounds)
            n_waiting = len(letters.waiting(work))
        if mailer is not None:
            mailer.connect()  # before anything is written
        goes_out = bool(mail or eml or output)
        question = f"Send {counted(range(n + n_waiting), 'letter')}?" if mail else ""
        if remind and n:
            question = f"Remind {counted(range(n), 'person', 'people')}?"
        if n + n_waiting and question and not confirmed(question, yes):
            return
        number, written = None, 0
        if n or not (n_waiting and goes_out):
            try:
                with store.write(campaign) as work:
                    number = audit.perform(work, user(), act, details)
                    stored = audit.details_numbered(work, number)
            except RuleError as error:
                if error.code != "conflict" or not (n_waiting and goes_out):
                    raise  # otherwise those of before go out
            else:
                written = len(stored["letters"])
                undo = "" if mail or eml or output else f"; undo it with `act --undo {number}`"
                say(f"act {number}: {counted(stored['letters'], 'letter')} to be sent{undo}")
                if stored.get("declined"):
                    say(f"{stored['declined']} left out, who said that they are not interested")
        tally: Counter[str] = Counter()
        if mailer is not None:
            tally = _sent(store, campaign, mailer, address)
        elif eml or output:
            tally["sent"] = _handed_out(store, campaign, address, eml, output)
    if as_json:
        show_json({"act": number, "letters": written, **tally})


def _of_before(
    store: Store, campaign: str, before: str, passed: float, at_least: int
) -> list[PersonRow]:
    """Those of another campaign, in this database or in another one, who may be asked again."""
    from qrowd.collection.office.panel import people_of_before, refuse_others

    own = before in store.campaigns()
    file, _, name = before.partition("#")
    with nullcontext(store) if own else opened(file) as other:
        named = before if own else other.only(name or None)
        with other.read(named) as earlier, store.read(campaign) as work:
            refuse_others(earlier, work)
            return people_of_before(earlier, passed, at_least)


def _sent(store: Store, campaign: str, mailer: Mailer, address: str) -> Counter[str]:
    """Send all that is due; what became of it, in words."""
    from qrowd.collection.people import letters
    from qrowd.collection.people.mailer import send_all

    with store.write(campaign) as work:
        letters.release(work)  # what a page holds until somebody says how it goes out
    tally = send_all(store, campaign, mailer, address)
    for kind, words in DONE.items():
        if tally[kind]:
            say(words.format(n=tally[kind]))
    with store.read(campaign) as work:
        left = letters.waiting(work)
    without = sum(not row.email for row in left)
    if without:
        say(f"{without} have no address; write their letters with -o")
    if len(left) > without:
        say("the rest waits: run this again later, or let `qrowd serve --mail` send it")
    return tally


def _handed_out(
    store: Store, campaign: str, address: str, eml: str | None, output: str | None
) -> int:
    """Write the letters that wait for somebody's own mailer, which counts as sent."""
    from qrowd.collection.people import letters

    with store.write(campaign) as work:
        rows = letters.waiting(work)
        if eml:
            rows = [row for row in rows if row.email]
            folder = made_folder(eml)
            for file, content in letters.files_of(work, rows, address).items():
                write(Path(folder) / file, content, private=True)
        else:
            show_people(letters.table_of(work, rows, address), output, as_json=False)
        letters.handed_out(work, [row.letter for row in rows])
    say(f"{counted(rows, 'letter')} written to {eml or output}, and taken as sent")
    return len(rows)


@opt.command()
@opt.database
@opt.campaign
@opt.input_file(
    "--refused", help="Addresses that letters came back from, one a line: marked as refused."
)
@opt.option(
    "--in-doubt",
    type=click.Choice(("sent", "again")),
    help="What to do with letters of which nobody knows whether they went out: take them as sent, "
    "or send them again.",
)
@opt.output
@opt.as_json
@opt.quiet
def invited(
    database: str,
    name: str | None,
    refused: str | None,
    in_doubt: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """List the people of a campaign with what became of them, from invited to passing.

    A person is listed, waiting (for the letter to go out), sent, in doubt, refused (by the mail
    server, or marked so), entered, or off. Of those who declined only their number is known.

    \b
    Examples:
      qrowd campaign invited campaign.db
      qrowd campaign invited campaign.db -o people.csv
    """
    from qrowd.collection.people import letters
    from qrowd.collection.record import audit
    from qrowd.io.formats.text import text_of
    from qrowd.io.source import sources

    with opened(database) as store:
        campaign = store.only(name)
        acts: list[tuple[str, dict[str, Any]]] = []
        if refused:
            (source,) = sources(refused)
            acts.append(("mark refused", {"addresses": text_of(source)}))
        if in_doubt:
            acts.append(("settle doubt", {"sent": in_doubt == "sent"}))
        for act, details in acts:
            with store.write(campaign) as work:
                number = audit.perform(work, user(), act, details)
                stored = audit.details_numbered(work, number)
            undo = f"undo it with `act --undo {number}`"
            say(f"act {number}: {act}: {counted(stored['letters'], 'letter')}; {undo}")
        with store.read(campaign) as work:
            table, funnel = letters.list_of(work), letters.funnel(work)
    steps = {key.replace("_", " "): value for key, value in asdict(funnel).items()}
    if as_json and not output:
        show_json({"funnel": steps, "people": records(table)})
        return
    show_people(table, output, as_json=False)
    say(", ".join(f"{value} {key}" for key, value in steps.items()))
    if steps["in doubt"]:
        say("those in doubt: were they sent? say --in-doubt sent, or --in-doubt again")
