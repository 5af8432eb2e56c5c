"""`prolific`: a study made, Prolific told what was decided, bonuses."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli import options as opt
from qrowd.cli.campaign.database import confirmed, opened, user
from qrowd.cli.campaign.office import counted
from qrowd.cli.output import say, show_json
from qrowd.errors import RuleError, UsageError

if TYPE_CHECKING:
    from qrowd.collection.database.store import Store, Work
    from qrowd.collection.prolific.calls import News, Request
    from qrowd.collection.record.act import Act
    from qrowd.http import Client

# the acts of each verb: who has done one of them has seen what it sends
ACTS = {
    "study": ("make study", "take study", "publish study", "raise places"),
    "sync": ("tell decisions",),
    "bonus": ("send bonuses",),
}
DONE = {
    "done": "{n} done",
    "refused": "{n} not done; why: `campaign prolific DB sync --json`, under `refused`",
    "later": "{n} put off, to be sent again: run this again in a minute",
    "doubt": "{n} in doubt: nobody knows whether they were taken; Prolific is asked about them "
    "when this runs again, twenty minutes from now at the earliest",
}


@opt.command()
@opt.database
@click.argument("what", type=click.Choice(tuple(ACTS)))
@opt.campaign
@opt.option(
    "--places",
    type=click.IntRange(min=1),
    metavar="N",
    part="in",
    help="Of a study: how many people; they only grow. Those of the plan, if nothing is said.",
)
@opt.option(
    "--take",
    metavar="ID",
    part="in",
    help="Of a study: take over one that was made by hand, instead of making one.",
)
@opt.switch("--publish", help="Of a study: publish the draft, so that people come.")
@opt.address
@opt.option(
    "--dry-run/--send",
    "dry",
    default=None,
    help="Show what would be sent, or send it. The first time of each verb is a dry run.",
)
@opt.yes
@opt.as_json
@opt.quiet
def prolific(
    database: str,
    what: str,
    name: str | None,
    places: int | None,
    take: str | None,
    publish: bool,
    address: str,
    dry: bool | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Run a campaign's study at Prolific: study, sync or bonus.

    `study` makes it as a draft from the plan (title, pay, minutes, places, address, codes), raises
    its places, or publishes it. `sync` asks what became of submissions, frees the sets of those
    who returned or ran out of time, tells Prolific whom the campaign approves, screens out or asks
    to return, and raises places where sets came free. `bonus` pays what people have earned beyond
    that. Nobody is ever rejected by a rule.

    The token is in QROWD_PROLIFIC_TOKEN, and nowhere else. Each call is shown before it is made,
    the first run of each verb only shows, and what was sent is in the record. Whatever a kill or
    a lost answer leaves in doubt is asked about, and never sent twice.

    \b
    Examples:
      qrowd campaign prolific study.db study --address https://judge.example.org
    """
    from qrowd.collection.prolific import calls
    from qrowd.collection.record import audit

    if what != "study" and (places or take or publish):
        raise UsageError("--places, --take and --publish are about `study`")
    if bool(places) + bool(take) + publish > 1:
        raise UsageError("one thing at a time: --places, --take or --publish")
    with opened(database) as store, closing(calls.open_client()) as client:
        campaign = store.only(name)
        with store.read(campaign) as work:
            before = {row.act for row in audit.acts(work, limit=10_000)}
        is_dry = not before & set(ACTS[what]) if dry is None else dry
        calls.refuse_unfit(store, campaign, client)
        news = _news(store, campaign, client)
        acts = _acts(store, campaign, client, what, places, take, publish, address)
        shown = _preview(store, campaign, news, acts)
        for line in shown.lines:
            say(str(line))
        for line in shown.doubts:
            say(f"in doubt, sent again only where Prolific has nothing of it: {line}")
        for problem in shown.problems:
            say(f"note: {problem}")
        sent: Counter[str] = Counter()
        if is_dry:
            again = "" if dry else ", since this was the first time: say --send to send it"
            say(f"nothing was sent{again}")
        elif (waiting := [*shown.lines, *shown.doubts]) and not confirmed(
            f"Send {counted(waiting, 'call')}?", yes
        ):
            return
        else:
            sent = _send(store, campaign, client, news, shown, yes)
        with store.read(campaign) as work:
            state, words_of_state = _state(work)
    for kind, words in DONE.items():
        if sent[kind]:
            say(words.format(n=sent[kind]))
    if as_json:
        lines = [
            {"method": each.method, "path": each.path, "body": each.body} for each in shown.lines
        ]
        show_json({"dry_run": is_dry, "calls": lines, "sent": dict(sent), **state})
    else:
        say(words_of_state)


def _news(store: Store, campaign: str, client: Client) -> News | None:
    """What Prolific has of the study and its submissions, if there is a study."""
    from qrowd.collection.prolific import calls
    from qrowd.collection.prolific.submissions import study_of

    with store.read(campaign) as work:
        of = study_of(work)
    if of is None or of.platform_id is None:
        return None
    say(f"asking about study {of.platform_id} and its submissions (GET)")
    return calls.ask(store, campaign, client)


def _acts(
    store: Store,
    campaign: str,
    client: Client,
    what: str,
    places: int | None,
    take: str | None,
    publish: bool,
    address: str,
) -> list[Act]:
    """What is to be done."""
    from qrowd.collection.office.acts import prolific as acts
    from qrowd.collection.prolific import calls
    from qrowd.collection.prolific.submissions import made_study, study_of

    with store.read(campaign) as work:
        of = study_of(work)
        if what != "study":
            made_study(work)  # or an error
    if what == "sync":
        return [acts.TellDecisions()]
    if what == "bonus":
        return [acts.SendBonuses()]
    if take:
        return [acts.TakeStudy(made=acts.Made(calls.study_to_take(store, campaign, client, take)))]
    if publish:
        return [acts.PublishStudy()]
    if of is None:
        return [acts.MakeStudy(address=address, places=places or 0)]
    return [acts.RaisePlaces(places=places)] if places else []


@dataclass(frozen=True)
class Preview:
    """What acts would send, found out by doing them and taking them back."""

    lines: list[Request]
    doubts: list[Request]  # sent before, and perhaps again
    acts: list[Act]  # those that have something to do
    problems: list[str]


def _preview(store: Store, campaign: str, news: News | None, acts: list[Act]) -> Preview:
    from qrowd.collection.prolific import calls

    possible: list[Act] = []
    problems: list[str] = []
    with store.write(campaign) as work:
        tried = work.db.begin_nested()
        if news is not None:
            calls.take_in(work, news)
        for act in acts:
            work = work.as_stored()
            try:
                act.do(work)
            except RuleError as error:
                if error.code != "conflict" or act.name not in ("tell decisions", "send bonuses"):
                    raise
                problems.append(str(error))
            else:
                possible.append(act)
        work = work.as_stored()
        lines = calls.requests_of(work, calls.calls_in(work, calls.WAITING))
        doubts = calls.requests_of(work, calls.in_doubt(work))
        tried.rollback()
    return Preview(lines, doubts, possible, problems)


def _send(
    store: Store, campaign: str, client: Client, news: News | None, shown: Preview, yes: bool
) -> Counter[str]:
    """Do what was shown, and send it; an error where it would be something else by now."""
    from qrowd.collection.prolific import calls
    from qrowd.collection.record import audit

    done = []
    with store.write(campaign) as work:
        if news is not None:
            calls.take_in(work, news)
        for act in shown.acts:
            number = audit.perform(work.as_stored(), user(), act, sure=True)
            undo = "" if act.final else "; what is not sent yet: `act --undo {number}`"
            done.append(f"act {number}: {act.name}{undo.format(number=number)}")
        work = work.as_stored()
        more = [
            line
            for line in calls.requests_of(work, calls.calls_in(work, calls.WAITING))
            if line not in shown.lines
        ]
        if more and not yes:
            raise RuleError(
                "conflict",
                f"meanwhile something else is to be sent ({more[0]}); nothing was sent: run this "
                "again",
            )
    for line in (*more, *done):
        say(str(line))
    return calls.send_all(store, campaign, client)


def _state(work: Work) -> tuple[dict[str, Any], str]:
    """Where the study stands, for programs and in words."""
    from qrowd.collection.prolific import calls, submissions

    of = submissions.study_of(work)
    if of is None:
        return {"study": None, "submissions": {}}, "no study yet"
    states = submissions.by_state(work)
    base, bonuses = submissions.told_to_pay(work)
    shown = work.plan.pay.shown
    listed = [f"{n} {state.lower()}" for state, n in states.items()] or ["no submissions"]
    refused = [
        {"kind": row.kind, "worker": f"w{row.number}" if row.number else "", "problem": row.problem}
        for row in calls.calls_in(work, calls.REFUSED)
    ]
    values = {
        "study": {"id": of.platform_id, "state": of.state, "places": of.places},
        "submissions": states,
        "paid": {"submissions": base, "bonuses": bonuses},
        "refused": refused,
        "in_doubt": len(calls.in_doubt(work)),
    }
    words = (
        f"study {of.platform_id or 'not made yet'}{f' ({of.state.lower()})' if of.state else ''}, "
        f"{of.places} places; {', '.join(listed)}; told to pay {shown(base)}, and {shown(bonuses)} "
        "in bonuses"
    )
    return values, words
