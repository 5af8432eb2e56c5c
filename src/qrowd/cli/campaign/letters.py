"""Writing to people: `invite` and `invited`."""

from __future__ import annotations

from collections import Counter
    with opened(database) as store:
=======
    details: dict[str, Any] = {"days": days} | ({"people": rows} if rows else {})
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
        question = f"Send {n + n_waiting} letters?" if mail else ""
        question = f"Remind {n} people?" if remind else question
        if n + n_waiting and question and not confirmed(question, yes):
            return
        number, written = None, 0
        if n or not n_waiting:
            try:
                with store.write(campaign) as work:
                    number = audit.perform(work, user(), act, details)
                    stored = audit.details_of(audit.act_numbered(work, number))
            except RuleError as error:
                if error.code != "conflict" or not n_waiting:
                    raise  # otherwise those of before go out
            else:
                written = len(stored["letters"])
                undo = "" if mail or eml or output else f"; undo it with `act --undo {number}`"
                say(f"act {number}: {counted(stored['letters'], 'letter')} to be sent{undo}")
                if stored.get("declined"):
                    say(f"{stored['declined']} left out, who said that they are not interested")
        tally: Counter[str] = Counter()
        if mailer is not None:
            tally = _sent(store, campaign, mailer, address.rstrip("/"))
        elif eml or output:
            tally["sent"] = _handed_out(store, campaign, address.rstrip("/"), eml, output)
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
                stored = audit.details_of(audit.act_numbered(work, number))
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
