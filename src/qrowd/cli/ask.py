"""`qrowd ask`: machine judges are asked about pairs, over HTTP or by files."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import quiet, say, show_json, warn
from qrowd.errors import InputError, UsageError
from qrowd.rendering import counted, thousands

if TYPE_CHECKING:
    from qrowd.asking.questions import Judge, Price
    from qrowd.asking.session import Estimate, Session

KEY = "QROWD_ASK_KEY"
_HOLD_TEXT = (".jsonl", ".json", ".parquet")
_STEP = 10.0  # seconds between lines of progress where nobody watches


@opt.command()
@opt.file("pool", "POOL")
@opt.input_file(
    "--topics", required=True, help="What each topic asks for: a table, TREC topics, JSON."
)
@opt.input_file(
    "--documents",
    required=True,
    multiple=True,
    help="The documents' texts: a table with doc and text, SGML, XML, or a folder. Repeatable.",
)
@opt.repeated(
    "--model", "models", required=True, metavar="NAME", help="The model to ask. Repeatable."
)
@opt.option(
    "--endpoint",
    metavar="URL",
    help="A server that speaks the chat interface: its address up to /v1. The key comes from "
    f"the environment ({KEY}).",
)
@opt.repeated(
    "--prompt",
    "prompts",
    metavar="PROMPT",
    help="What is asked: graded (the default), reasons, aspects, preference, umbrela, or a file. "
    "Repeatable.",
)
@opt.repeated(
    "--price",
    "prices",
    metavar="IN,OUT",
    help="Price of a million tokens of questions, and of answers; MODEL=IN,OUT for one model. "
    "Repeatable.",
)
@opt.option("--cap", type=click.FloatRange(0), help="Spend at most this much money.")
@opt.option("--most", type=click.IntRange(0), metavar="N", help="Ask at most so many questions.")
@opt.count("--samples", 1, "How often each question is asked.", most=100)
@opt.with_default(
    "--temperature", type=click.FloatRange(0, 2), default=0.0, help="How freely a model answers."
)
@opt.switch("--logprobs", help="Ask for probabilities, and write the mean grade by them.")
@opt.repeated(
    "--parameter",
    "parameters",
    metavar="NAME=JSON",
    help="Anything else that the server takes: max_completion_tokens=2000, seed=1; "
    "temperature=null sends none. Repeatable.",
)
@opt.count(
    "--longest",
    20_000,
    "Show at most so many letters of a text; longer ones are marked (cut).",
    least=100,
)
@opt.count("--at-once", 8, "Questions under way at the same time.", most=1024)
@opt.count(
    "--tries",
    6,
    "How often a question is tried that a server turns away; not counted while it answers others.",
    most=100,
)
@opt.with_default(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    help="How long one try may take.",
)
@opt.switch("--again", help="Ask again where an answer is missing.")
@opt.option(
    "--probe",
    type=click.IntRange(1),
    metavar="N",
    help="Also show N made-up documents of each kind that try to talk a judge into a grade (for "
    "the prompt preference, N couples in both orders); `qrowd judges --probes` reads what came of "
    "it. They go to a file of their own.",
)
@opt.output_file(
    "--requests", help="Write the questions for a batch interface instead of asking them."
)
@opt.input_file("--answers", help="Take the answers of a batch interface.")
@opt.seed
@opt.yes
@opt.output_file(
    "-o",
    "--output",
    required=True,
    help="Judgements, or preferences. Beside it: NAME.journal.jsonl, by which the same command "
    "goes on, NAME.manifest.json, NAME.probes.json.",
)
@opt.as_json
@opt.quiet
def command(
    pool: str,
    topics: str,
    documents: tuple[str, ...],
    models: tuple[str, ...],
    endpoint: str | None,
    prompts: tuple[str, ...],
    prices: tuple[str, ...],
    cap: float | None,
    most: int | None,
    samples: int,
    temperature: float,
    logprobs: bool,
    parameters: tuple[str, ...],
    longest: int,
    at_once: int,
    tries: int,
    seconds: float,
    again: bool,
    probe: int | None,
    requests: str | None,
    answers: str | None,
    seed: int,
    yes: bool,
    output: str,
    as_json: bool,
) -> None:
    """Ask machine judges about pairs.

    POOL has the pairs: qrels, or a table with topic and doc; for the prompt preference with topic,
    left and right. Each model with each prompt is an assessor, MODEL/PROMPT. What cannot be read as
    a grade is missing, with a reason. Stop at any time: the same command goes on where it stopped,
    and asks nothing twice. With --requests it writes the questions for a batch interface, with
    --answers it takes what came of them.

    \b
    Examples (for a server, in the place of --requests FILE:
    --endpoint http://127.0.0.1:8080/v1 --price 0.15,0.60 --cap 5):
      qrowd ask g.qrels --topics topics.xml --documents docs.jsonl \\
        --model NAME --requests batch.jsonl -o asked.jsonl
      qrowd ask g.qrels --topics topics.xml --documents docs.jsonl --probe 20 \\
        --model NAME --prompt graded --prompt umbrela --requests batch.jsonl -o asked.jsonl
    """
    from qrowd.asking.client import Limits, shown_address
    from qrowd.asking.journal import Journal
    from qrowd.asking.probes import probe_items, save_probes
    from qrowd.asking.prompts import read_prompt
    from qrowd.asking.questions import Judge, items
    from qrowd.asking.session import Session, batch, take

    if sum(way is not None for way in (endpoint, requests, answers)) != 1:
        raise UsageError("give one of --endpoint, --requests and --answers")
    if not output.endswith(_HOLD_TEXT):
        raise UsageError(f"-o is a file that can hold texts: {', '.join(_HOLD_TEXT)}")
    if not all(name.strip() for name in models):
        raise UsageError("--model is the name by which the server knows it; got an empty one")
    server, key = shown_address(endpoint) if endpoint is not None else None, _key()
    topic_list, texts = q.read_topics(topics), q.read_documents(list(documents))
    asked = [read_prompt(source, tuple(texts.others)) for source in prompts or ("graded",)]
    per_model = _prices(prices, models)
    if cap is not None and math.isnan(cap):
        raise UsageError("--cap is an amount of money; got nan")
    if cap is not None and None in per_model.values():
        without = next(model for model, price in per_model.items() if price is None)
        raise UsageError(f"--cap needs the price of {without}: --price IN,OUT of a million tokens")
    sizes = {prompt.documents for prompt in asked}
    if len(sizes) > 1:
        raise UsageError("prompts about one document and about two need two commands")
    scales = {(prompt.scale, prompt.relevant_from): prompt.name for prompt in asked}
    if len(scales) > 1:
        two = " and ".join(list(scales.values())[:2])
        raise UsageError(f"the prompts {two} have other grades; they need two commands")
    extra: dict[str, Any] = {"temperature": temperature, **_parameters(parameters)}
    extra = {name: value for name, value in extra.items() if value is not None}
    if logprobs:
        extra |= {"logprobs": True, "top_logprobs": 20}
    judges = [
        Judge(model, prompt, per_model[model], samples, extra)
        for model in dict.fromkeys(models)
        for prompt in asked
    ]
    if len({judge.name for judge in judges}) < len(judges):
        raise UsageError("two prompts have one name; rename one of the files")
    size = sizes.pop()
    pairs = _pairs(pool, size)
    items_asked = items(pairs, topic_list, texts, longest)
    probes = probe_items(pairs, topic_list, texts, probe, seed, longest, size == 2) if probe else []
    stem = Path(output).with_suffix("")
    limits = Limits(at_once, tries, seconds, cap, most)
    started = time.time()
    with Journal(f"{stem}.journal.jsonl") as journal:
        if again:
            journal.forget_missing()
        once = [replace(judge, samples=1) for judge in judges]
        session, probing = Session(judges, items_asked, journal), Session(once, probes, journal)
        estimates = [each.estimate() for each in (session, probing)]
        _say_estimate(estimates, cap)
        stopped, failed = "", None
        if requests:
            number = 0
            with Path(requests).open("w", encoding="utf-8") as file:
                for line in batch(chain(session.open(), probing.open()), journal, limits):
                    file.write(line)
                    number += 1
            say(f"{counted(number, 'question')} in {requests}; bring the answers by --answers")
            left = sum(each.questions for each in estimates) - number
            if left:
                warn(f"{counted(left, 'question')} left out: no room below --cap or --most")
            if as_json:
                show_json({"questions": number, "left_out": left, "requests": requests})
            return
        if answers:
            taken, strangers = take(answers, chain(session.open(), probing.open()), journal)
            hint = "; what is missing: see --again" if not taken and session.missing() else ""
            say(f"{counted(taken, 'answer')} taken, {strangers} of no open question here{hint}")
        else:
            expected = sum(each.cost for each in estimates)
            if expected and cap is None and not yes:
                click.confirm(
                    f"About {expected:.2f}, without a --cap. Go on?", abort=True, err=True
                )
            for each, estimate in zip((session, probing), estimates, strict=True):
                if each.items and not stopped:
                    progress = _Progress(estimate.questions, cap)
                    try:
                        stopped = each.ask(endpoint or "", limits, key, progress)
                    except InputError as error:  # what was paid is saved first
                        failed, stopped = error, "the server refused"
        _save(session, output)
        if probe:
            save_probes(probing, f"{stem}.probes.json")
            say(f"probes: {stem}.probes.json; look at them with `qrowd judges --probes`")
        about = {"longest": longest, "seed": seed, "probe": probe, "endpoint": server}
        _save_manifest(stem, session, pool, topics, documents, extra, about, started)
        if failed is None or journal.spent:
            _say_outcome(session, "" if failed else stopped, cap)
        if failed is not None:
            raise failed
        if as_json:
            left = sum(1 for each in (session, probing) for _ in each.open())
            show_json(
                {
                    "spent": journal.spent,
                    "missing": session.missing(),
                    "not_asked": left,
                    "stopped": stopped,
                    "judgements": output,
                }
            )


def _key() -> str:
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{KEY} has letters that no key has; look at where it comes from")
    return key


def _pairs(pool: str, documents: int) -> list[tuple[str, ...]]:
    if documents == 1:
        pairs = q.read_pairs(pool)
        return list(zip(pairs.topic_names, pairs.document_names, strict=True))
    from qrowd.io.columns import Wanted, tables

    wanted = Wanted("a pool of two documents each", needed=("topic", "left", "right"))
    rows = [
        row
        for table in tables(pool, wanted)
        for row in zip(*(table.column(name).to_list() for name in wanted.needed), strict=True)
    ]
    distinct: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
    for row in rows:
        if row[1] == row[2]:
            raise InputError(f"{row[1]} stands on both sides", file=pool)
        distinct.setdefault((row[0], frozenset(row[1:])), row)
    return list(distinct.values())


def _prices(texts: Sequence[str], models: Sequence[str]) -> dict[str, Price | None]:
    from qrowd.asking.questions import Price

    prices: dict[str, Price | None] = dict.fromkeys(models)
    for text in texts:
        model, _, numbers = text.rpartition("=")
        try:
            price = Price(*(float(part) for part in numbers.split(",")))
            if not (0 <= price.asked < math.inf and 0 <= price.answered < math.inf):
                raise ValueError
        except (ValueError, TypeError):
            message = f"--price is two numbers, of a million tokens: 0.15,0.60; got {text!r}"
            raise UsageError(message) from None
        if model and model not in prices:
            raise UsageError(f"--price is for {model}, which no --model names")
        prices |= {model: price} if model else {name: price for name in prices if not prices[name]}
    return prices


def _parameters(texts: Sequence[str]) -> dict[str, Any]:
    from qrowd.asking.questions import LIMITS

    parameters = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name in ("model", "messages", "stream", "n"):
            raise UsageError(f"--parameter is NAME=JSON, as in seed=1; got {text!r}")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
        if name in LIMITS and (type(parameters[name]) is not int or parameters[name] < 1):
            raise UsageError(f"--parameter {name} is a whole number of tokens, at least 1")
    return parameters


class _Progress:
    """How far it is, what it has cost and how long it takes, on stderr."""

    def __init__(self, number: int, cap: float | None) -> None:
        self.number, self.cap = number, cap
        self.started = self.shown = time.monotonic()

    def __call__(self, done: int, missing: int, spent: float) -> None:
        now = time.monotonic()
        if quiet() or (now - self.shown < _STEP and done < self.number):
            return
        self.shown = now
        left = (now - self.started) / done * (self.number - done)
        of = f" of {self.cap:g}" if self.cap is not None else ""
        less = f" ({thousands(missing)} missing)" if missing else ""
        shown = f"{thousands(done)} of {thousands(self.number)}{less}"
        say(f"{shown}, {spent:.4f}{of}, {left:.0f} s left")


def _say_estimate(estimates: Sequence[Estimate], cap: float | None) -> None:
    number, tokens = sum(e.questions for e in estimates), sum(e.tokens for e in estimates)
    cost, cut = sum(e.cost for e in estimates), sum(e.cut for e in estimates)
    before = sum(e.answered for e in estimates)
    most = sum(e.most for e in estimates)
    money = f", about {cost:.4f} and at most {most:.4f}" if cost else ""
    say(
        f"{thousands(number)} questions, about {thousands(tokens)} tokens{money}; {before} answered"
    )
    if cut:
        say(f"note: {counted(cut, 'question')} with a text that is cut (--longest)")
    if cap is not None and cost > cap:
        warn(f"about {cost:.4f} is more than the cap of {cap:g}: not all will be asked")


def _save(session: Session, output: str) -> None:
    from qrowd.io.save import save_table

    two = session.judges[0].prompt.documents == 2
    save_table(session.preferences() if two else session.judgements(), output)


def _say_outcome(session: Session, stopped: str, cap: float | None) -> None:
    prompt = session.judges[0].prompt
    if prompt.documents == 1 and prompt.relevant_from > prompt.scale[1]:
        say(f"relevant is grade {prompt.relevant_from} or more: --rel {prompt.relevant_from}")
    for why, number in session.missing().most_common():
        say(f"missing, {why}: {number}")
    first, of = session.first_place()
    if of:
        say(f"the text shown first was preferred in {first} of {of} answers")
    journal = session.journal
    if any(judge.price for judge in session.judges):
        of_cap = f" of {cap:g}" if cap is not None else ""
        say(f"spent: {journal.spent:.4f}{of_cap}")
    if journal.unpriced:
        say(f"note: {journal.unpriced} answers came without tokens: counted at their most")
    if stopped:
        warn(stopped)


def _save_manifest(
    stem: Path,
    session: Session,
    pool: str,
    topics: str,
    documents: Sequence[str],
    parameters: dict[str, Any],
    about: dict[str, Any],
    started: float,
) -> None:
    """Everything to repeat it."""
    from qrowd.io.atomic import write
    from qrowd.io.provenance import checksum
    from qrowd.rendering import to_json

    versions: dict[str, set[str]] = {}
    for question, line in session.answers():
        versions.setdefault(question.judge.name, set()).add(line.get("version", ""))
    prompts = {prompt.hash: asdict(prompt) for prompt in (each.prompt for each in session.judges)}
    manifest = {
        "qrowd": q.__version__,
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(time.time() - started, 1),
        **about,
        "judges": [_about(judge, versions) for judge in session.judges],
        "parameters": parameters,
        "prompts": prompts,
        "files": dict(map(checksum, (pool, topics, *documents))),
        "spent": session.journal.spent,
        "missing": session.missing(),
    }
    write(f"{stem}.manifest.json", to_json(manifest) + "\n")


def _about(judge: Judge, versions: dict[str, set[str]]) -> dict[str, Any]:
    return {
        "assessor": judge.name,
        "model": judge.model,
        "versions": sorted(versions.get(judge.name, ())),
        "prompt": judge.prompt.hash,
        "samples": judge.samples,
        "price": asdict(judge.price) if judge.price else None,
    }
