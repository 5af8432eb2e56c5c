"""What an organiser sees and does while a campaign runs: `status`, `act`, `pay` and their kin."""

from __future__ import annotations

import json
from collections.abc import Sequence, Sized
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from qrowd.cli import options as opt
from qrowd.cli.campaign.database import confirmed, opened, user
from qrowd.cli.output import say, show, show_json, show_people
from qrowd.cli.verbs import Command
from qrowd.errors import FormatError, MissingExtraError, RuleError, UsageError
from qrowd.rendering import percent, records, thousands

if TYPE_CHECKING:
    from qrowd.collection.books.progress import Status
    from qrowd.collection.database.schema import Audit
    from qrowd.collection.database.store import Store
    from qrowd.collection.office.causes import Cause
    from qrowd.collection.office.payout import Payment
    from qrowd.collection.people.entry import PersonRow
    from qrowd.collection.plan.sections import Plan


@opt.command(old={"--topics": "--per-topic"})
@opt.database
@opt.campaign
@opt.switch("--per-topic", part="out", help="Also one line per topic.")
@opt.switch("--acts", part="out", help="Also what organisers did, with the numbers to undo.")
@opt.as_json
def status(database: str, name: str | None, per_topic: bool, acts: bool, as_json: bool) -> None:
    """Show how a campaign is going: what goes wrong and why, coverage, money, what to decide.

    \b
    Examples:
      qrowd campaign status campaign.db
      qrowd campaign status campaign.db --per-topic --acts
      qrowd campaign status campaign.db --json
    """
    from qrowd.collection.books import progress
    from qrowd.collection.office.todo import overview
    from qrowd.collection.record import audit

    with opened(database) as store, store.read(store.only(name)) as work:
        state = progress.status(work)
        seen = overview(work)
        pace = seen.pace
        history = audit.acts(work)
        plan = work.plan
        decisions = [str(need.text) for need in seen.needs]
    if as_json:
        ahead = {"per_day": pace.per_day, "ready_at": pace.ready_at, "expected": pace.expected}
        sentence = str(seen.first_sentence(plan.pay))
        causes = [cause.told() for cause in seen.causes]
        shown = {"sentence": sentence, "causes": causes, **asdict(state), **ahead}
        shown["notices"] = decisions
        shown["next"] = asdict(pace.decided) if pace.decided else None
        if acts:
            keys = ("id", "at", "who", "act")
            shown["acts"] = [
                {**{key: getattr(row, key) for key in keys}, "details": _details_text(row)}
                for row in history
            ]
        show_json(shown)
        return
    for cause in seen.causes:
        click.echo(f"{cause.text}{_helping(cause)}")
    click.echo(pace.sentence(plan.pay, opened=not seen.causes))
    if pace.decided:
        click.echo(pace.decided.sentence)
    click.echo(_status_text(plan, state))
    if per_topic:
        for topic in state.topics:
            click.echo(f"  {topic.topic}\t{topic.held} of {topic.wanted}")
    for decision in decisions:
        click.echo(f"needs a decision: {decision}")
    for row in reversed(history) if acts else ():
        when = datetime.fromtimestamp(row.at / 1000, UTC).strftime("%Y-%m-%d %H:%M")
        click.echo(f"  {row.id}\t{when}\t{row.who}\t{row.act}\t{_details_text(row)}")


def _details_text(row: Audit) -> str:
    from qrowd.collection.record import audit

    return json.dumps(audit.readable_details(row), sort_keys=True)


def _helping(cause: Cause) -> str:
    """The command that helps, after a sentence."""
    if not cause.act:
        return ""
    name = f'"{cause.act}"' if " " in cause.act else cause.act
    return " What helps: act " + " ".join([name, *(f"{k}={v}" for k, v in cause.details)])


def _status_text(plan: Plan, state: Status) -> str:
    money, shown = state.money, plan.pay.shown
    batches = ", ".join(f"{n} {name}" for name, n in state.assignments.items()) or "none yet"
    workers = ", ".join(f"{n} {name}" for name, n in state.workers.items()) or "none yet"
    votes = ", ".join(f"{thousands(n)} with {number}" for number, n in state.by_votes.items())
    return (
        f"{state.name}: {state.state}; {percent(state.share, 1)} done ({thousands(state.valid)} of "
        f"{thousands(state.wanted)} judgements; {thousands(state.pending)} more are reserved)\n"
        f"documents  {votes} judgements\n"
        f"money      {shown(money.budget)}: {shown(money.free)} free, {shown(money.promised)} "
        f"promised, {shown(money.owed)} owed, {shown(money.settled)} settled\n"
        f"batches    {batches}\n"
        f"workers    {workers}"
    )


@opt.command("next")
@opt.database
@opt.campaign
@opt.runs_if_any
@opt.as_json
@opt.quiet
def next_sets(database: str, name: str | None, runs: opt.RunFiles, as_json: bool) -> None:
    """Work out which sets come next, and give back the places of those that are decided.

    What `[next]` of the plan says, done once: `qrowd serve` does it by itself every
    `refresh_minutes`. It is one act, which can be undone; the server does not do it again then,
    until this command has. Needs --runs where the plan picks by systems.

    \b
    Examples:
      qrowd campaign next crowd.db
      qrowd campaign next crowd.db --json
    """
    from qrowd.collection.office.acts.next_sets import decided_now
    from qrowd.web.next_sets import choose

    with opened(database) as store:
        campaign = store.only(name)
        number = choose(store, campaign, user(), runs.read_if_any())
        with store.read(campaign) as work:
            decided = decided_now(work)
    # in mode hierarchy with every document judged as often, nothing is decided
    done = str(decided.sentence) if decided else "worked out; `campaign hierarchy` shows it"
    say(f"act {number}: {done}; undo it with `act --undo {number}`")
    if as_json:
        more = {**asdict(decided), "saved": decided.saved} if decided else {}
        show_json({"act": number, **more})


@opt.command("hierarchy")
@opt.database
@opt.campaign
@opt.output
@opt.as_json
@opt.quiet
def phases(database: str, name: str | None, output: str | None, as_json: bool) -> None:
    """Show the phase of each topic in mode hierarchy, and what the texts tell.

    Training, judging, revision, done; what a topic waits for; how well a classifier of the texts
    tells its relevant documents from others (area under the curve, out of fold; where it does not
    tell, it is not used); how many answers were looked at again, changed, sent to experts.
    `campaign next` works it out again.

    \b
    Examples:
      qrowd campaign hierarchy phases.db
      qrowd campaign hierarchy phases.db --json
    """
    from qrowd.collection.judging.hierarchy import hierarchy

    with opened(database) as store, store.read(store.only(name)) as work:
        found = hierarchy(work)
    lines = found.topics
    table: dict[str, list[object]] = {
        "topic": [line.topic for line in lines],
        "phase": [line.phase for line in lines],
        "waits_for": [str(line.sentence) for line in lines],
        "auc": [line.text.auc for line in lines],
        "low": [line.text.low for line in lines],
        "high": [line.text.high for line in lines],
        "tells": ["yes" if line.text.tells else "no" for line in lines],
        "looked_at_again": [line.revised for line in lines],
        "changed": [line.changed for line in lines],
        "sent_to_experts": [line.sent for line in lines],
    }
    if output or not as_json:
        show(table, output)
    if as_json:
        show_json({**asdict(found), "waits": found.waits})
    minutes = f"{found.minutes:.0f} minutes"
    say(f"{found.sentence} Decided by experts: {found.decisions} documents, about {minutes}.")


class ActCommand(Command):
    """Its help lists the acts, which are imported when it is asked for."""

    def acts(self) -> list[tuple[str, str]]:
        """Every act with its details, and what it does; none where the extra is missing."""
        if find_spec("sqlalchemy") is None:
            return []
        from qrowd.collection.record.act import all_acts

        return [(act.command or act.usage(), act.summary()) for act in all_acts().values()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The acts before the options."""
        with formatter.section("Acts"):
            if acts := self.acts():
                formatter.write_dl(acts)
            else:
                formatter.write_text(str(MissingExtraError.needed("the list of acts", "serve")))
        super().format_options(ctx, formatter)


@click.command(cls=ActCommand)
@opt.database
@click.argument("act", required=False)
@click.argument("details", nargs=-1, metavar="[KEY=VALUE]...")
@opt.campaign
@opt.option("--undo", "undone", type=int, metavar="NUMBER", help="Take back this act instead.")
@opt.yes
@opt.as_json
@opt.quiet
def act(
    database: str,
    act: str | None,
    details: tuple[str, ...],
    name: str | None,
    undone: int | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Launch, pause, resume or close a campaign, raise a target, send a bonus, and more.

    Each act may have a reason=... Amounts are in cents (the currency's smallest unit), workers are
    numbers such as 7 or w7. Asks before doing what cannot be undone.

    \b
    Examples:
      qrowd campaign act campaign.db pause
      qrowd campaign act campaign.db "raise target" target=4
    """
    from qrowd.collection.record import audit
    from qrowd.collection.record.act import act_named

    if (act is None) == (undone is None):
        raise UsageError("say what to do, or --undo NUMBER")
    for detail in details:
        if "=" not in detail:
            raise UsageError(f"expected KEY=VALUE, got {detail!r}")
    values = dict(detail.split("=", 1) for detail in details)
    wanted = act_named(act).of(values) if act is not None else None
    if wanted and wanted.final and not confirmed(f"{act} cannot be undone. Do it?", yes):
        return
    with opened(database) as store, store.write(store.only(name)) as work:
        if wanted is None:
            number = audit.undo(work, user(), int(undone or 0))
            outcome = f"act {undone} is undone"
        else:
            number = audit.perform(work, user(), wanted, sure=True)
            outcome = str(act) + ("" if wanted.final else f"; undo it with --undo {number}")
    say(f"act {number}: {outcome}")
    if as_json:
        show_json({"number": number, "act": act, "undone": undone})


@opt.command()
@opt.database
@click.argument("people", nargs=-1, required=True, metavar="PERSON...")
@opt.campaign
@opt.address
@opt.with_default(
    "--days",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    help="How long a link lets its person in.",
)
@opt.switch("--revoke", help="Revoke all links of these people instead.")
@opt.output
@opt.as_json
@opt.quiet
def links(
    database: str,
    people: tuple[str, ...],
    name: str | None,
    address: str,
    days: float,
    revoke: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Make a signed link for each person, who is put on the campaign's list; links expire.

    A link leads to the worker whom you know by that name already. Its text tells nobody who it is
    for. Making and revoking are acts, which can be undone.

    \b
    Examples:
      qrowd campaign links campaign.db ann bob --days 14
      qrowd campaign links campaign.db ann --revoke
    """
    from qrowd.collection.people import entry
    from qrowd.collection.record import audit

    if not all(person.strip() for person in people):
        raise UsageError("a person needs a name that is not empty")
    if revoke:
        _act_on_each(database, name, people, "revoke links")
        return
    with opened(database) as store, store.write(store.only(name)) as work:
        wanted = {"people": list(people), "days": days}
        number = audit.perform(work, user(), "make links", wanted)
        made = entry.links_numbered(
            work, audit.details_of(audit.act_numbered(work, number))["links"]
        )
        page = f"{address.rstrip('/')}/judge/{quote(work.name, safe='')}?link="
    links = [page + quote(text, safe="") for _, text in made]
    show_people({"person": [person for person, _ in made], "link": links}, output, as_json)
    say(f"act {number}: {counted(made, 'link')}; undo it with `act --undo {number}`")


@opt.command()
@opt.database
@click.argument("people", nargs=-1, metavar="[PERSON]...")
@opt.campaign
@click.option(
    "--file",
    metavar="FILE",
    help="More people: a table with person, email, name, language, platform id, or some of them.",
)
@opt.switch("--off", help="Take these people off the list instead.")
@opt.output
@opt.as_json
@opt.quiet
def people(
    database: str,
    people: tuple[str, ...],
    name: str | None,
    file: str | None,
    off: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Put people on the campaign's list, or take them off; without any, show the list.

    PERSON is the platform's id, or whatever you know somebody of your own panel by. Who may come in
    is a rule of the plan ([people] entry); a link is a door under every rule. Whoever is taken off
    the list comes in by no door. Both are acts, which can be undone.

    \b
    Examples:
      qrowd campaign people campaign.db cat dan
      qrowd campaign people campaign.db bob --off
      qrowd campaign people campaign.db
    """
    from qrowd.collection.people import entry, letters
    from qrowd.collection.record import audit

    if off and (file or not people):
        raise UsageError("--off needs the people to take off, and no file")
    if off:
        _act_on_each(database, name, people, "take off list")
        return
    with opened(database) as store:
        campaign = store.only(name)
        if people or file:
            rows = [entry.PersonRow(person.strip()) for person in people]
            rows += people_in(file) if file else []
            with store.write(campaign) as work:
                number = audit.perform(work, user(), "list people", {"people": rows})
                stored = audit.details_numbered(work, number)
            new = [*stored["made"], *stored["back"]]
            say(f"act {number}: {counted(new, 'person', 'people')} put on the list")
            return
        with store.read(campaign) as work:
            table = letters.list_of(work)
    show_people(table, output, as_json)


def people_in(file: str) -> list[PersonRow]:
    """The people of a table, which a spreadsheet may have saved; what is wrong has its line."""
    from qrowd.collection.people.entry import PersonRow, first_problem
    from qrowd.io.people import read_invited

    table = read_invited(file)
    rows = [PersonRow(**columns) for _, columns in table]
    problem = first_problem(rows)
    if problem is not None:
        raise FormatError(problem[1], file=file, line=table[problem[0]][0])
    return rows


def _act_on_each(database: str, name: str | None, people: tuple[str, ...], act: str) -> None:
    """An act on everybody of these, who must be on the list."""
    from qrowd.collection.people import entry
    from qrowd.collection.record import audit

    with opened(database) as store, store.write(store.only(name)) as work:
        for person in people:
            row = entry.person_called(work, person.strip())
            number = audit.perform(work, user(), act, {"person": row.id})
            say(f"act {number}: {act}: {person}; undo it with `act --undo {number}`")


def counted(items: Sized, one: str, many: str = "") -> str:
    """How many there are, in words."""
    return f"{len(items)} {one if len(items) == 1 else many or one + 's'}"


@opt.command()
@opt.database
@opt.campaign
@opt.input_file("--paid", help="Mark as paid what this file says, which `pay` wrote.")
@opt.switch("--settle", help="Write the file, then mark as paid what it says.")
@opt.yes
@opt.output
@opt.as_json
@opt.quiet
def pay(
    database: str,
    name: str | None,
    paid: str | None,
    settle: bool,
    yes: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Write what each worker is owed: names, platforms' ids, emails, sums; mark it as paid.

    No money is sent from here: pay by the file, by your own means or the platform's, then give the
    same file back with --paid. Rows that were not paid may be left out of it. Each row has a hash
    and says what had been paid before, so that nobody is marked twice, and what was earned since
    stays owed. This cannot be undone, so you are asked.

    \b
    Examples:
      qrowd campaign pay campaign.db -o payout.csv
      qrowd campaign pay campaign.db --paid payout.csv --yes
    """
    from qrowd.collection.office.payout import payout_table, read_payout

    if paid and (settle or output):
        raise UsageError("--paid reads a file that was written before; leave out -o and --settle")
    if settle and not output:
        raise UsageError("--settle needs -o FILE, the record of who is to get what")
    with opened(database) as store:
        campaign = store.only(name)
        if paid is None:
            with store.read(campaign) as work:
                table = payout_table(work)
            show_people(table, output, as_json)
            if not table["worker"]:
                say("nothing is owed")
                return
            if not settle:
                return
        with store.read(campaign) as work:
            payments = read_payout(work, str(paid or output))
        _settle(store, campaign, payments, yes, as_json and paid is not None)


def _settle(
    store: Store, campaign: str, payments: Sequence[Payment], yes: bool, as_json: bool
) -> None:
    """Mark payments as paid, once that is confirmed."""
    from qrowd.collection.office.acts.money import Payout, Settle
    from qrowd.collection.office.payout import settlement
    from qrowd.collection.record import audit

    act = Settle(payout=Payout(payments))
    with store.read(campaign) as work:
        asked, stands, terms = act.foretell(work), settlement(work, payments), work.plan.pay
    for line in asked.follows[2:]:  # rows that are left out
        say(f"note: {line}")
    if not confirmed(f"Mark {terms.shown(stands.total)} as paid?", yes):
        return
    with store.write(campaign) as work:
        if settlement(work, payments) != stands:
            raise RuleError("conflict", "what is owed has changed meanwhile; try again")
        number = audit.perform(work, user(), act, sure=True)
    say(f"act {number}: {terms.shown(stands.total)} marked as paid")
    if as_json:
        show_json(
            {
                "number": number,
                "paid": [f"w{payment.worker}" for payment in stands.due],
                "amount": stands.total,
                "left_out": [f"w{each}" for each in (*stands.paid, *stands.changed)],
            }
        )


@opt.command()
@opt.database
@opt.campaign
@opt.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Draw this many judgements at random for experts to judge again.",
)
@opt.switch("--disputed", help="List what judges disagree on instead.")
@opt.input_file("--decide", help="Decisions: TSV with topic, doc, grade, and optionally reason.")
@opt.with_default("--expert", default="expert", help="Who decided.")
@opt.level
@opt.output
@opt.as_json
@opt.quiet
def review(
    database: str,
    name: str | None,
    sample: int | None,
    disputed: bool,
    decide: str | None,
    expert: str,
    level: float,
    output: str | None,
    as_json: bool,
) -> None:
    """List what an expert should judge, take the decisions, and estimate the error rate.

    The list shows nobody's grades: experts judge blind. The error rate is that of the random
    sample, with its interval; disputed documents are no sample and are left out of it.

    \b
    Examples:
      qrowd campaign review campaign.db --sample 20 -o sample.tsv
      qrowd campaign review campaign.db --disputed
    """
    from qrowd.collection.adjudication import expert_sample
    from qrowd.collection.plan.files import gold_rows
    from qrowd.collection.record import audit

    with opened(database) as store, store.write(store.only(name)) as work:
        if sample is not None:
            try:
                number = audit.perform(work, user(), "draw sample", {"size": sample})
                say(f"act {number}: {audit.said_of(work, number)}")
            except RuleError as error:
                if error.code != "conflict":
                    raise
                say(str(error))  # none is left: the list below is whole all the same
        for row in gold_rows(decide) if decide else ():
            if row.grade is not None:
                pair = expert_sample.pair_named(work, row.topic, row.document)
                expert_sample.decide(work, expert, pair, row.grade, row.reason)
        rows = expert_sample.disputed(work) if disputed else expert_sample.to_judge(work)
        rate = expert_sample.error_rate(work, level)
    names = ("topic", "doc", "votes", "relevant") if disputed else ("topic", "doc")
    table = {key: [getattr(row, key) for row in rows] for key in names}
    if as_json:
        show_json({"pairs": records(table), "error_rate": asdict(rate)})
    if output or not as_json:
        show(table, output)
    if rate.judged:
        say(
            f"error rate {percent(rate.rate, 1)} ({percent(rate.low, 1)} to "
            f"{percent(rate.high, 1)}): {rate.wrong} of {rate.judged} sampled judgements differ "
            "from the expert's"
        )


@opt.command()
@opt.database
@click.argument("worker", required=False, metavar="[WORKER]")
@opt.campaign
@opt.switch("--void", help="Take the answers out of the results, too.")
@opt.switch("--despite-release", "despite", help="Void answers that a release holds, too.")
@opt.yes
@opt.as_json
@opt.quiet
def forget(
    database: str,
    worker: str | None,
    name: str | None,
    void: bool,
    despite: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Erase the person behind WORKER (as in w7); without it, list those who asked for it.

    Somebody on the list who never came in is named as `people` shows them (p7).

    Names, ids, addresses, messages and free text are gone from the database's files and from later
    backups and exports; answers stay under a number that means nothing, unless --void. It waits
    until everything is settled. Erase earlier backups yourself.

    \b
    Examples:
      qrowd campaign forget campaign.db
    """
    from qrowd.collection.office import erasure

    with opened(database) as store:
        campaign = store.only(name)
        if worker is None:
            with store.read(campaign) as work:
                waiting = erasure.waiting(work)
            show({"worker": [f"w{row.number}" for row in waiting]}, None, as_json)
            return
        if worker.startswith("p") and worker[1:].isdecimal():
            if confirmed(f"Erase {worker} from the list? This cannot be undone.", yes):
                erasure.forget_listed(store, campaign, int(worker[1:]), who=user())
                say(f"{worker} is forgotten")
            return
        if not worker.removeprefix("w").isdecimal():
            raise UsageError(f"a worker is named like w7, got {worker!r}")
        number = int(worker.removeprefix("w"))
        if void:
            with store.read(campaign) as work:
                objection = erasure.released(work, number)
            if objection and not despite:
                raise UsageError(f"{objection}; to do it all the same, add --despite-release")
        if confirmed(f"Erase the person behind {worker}? This cannot be undone.", yes):
            erasure.forget(store, campaign, number, who=user(), void=void, despite=despite)
            say(f"{worker} is forgotten")
            if as_json:
                show_json({"forgotten": worker})
