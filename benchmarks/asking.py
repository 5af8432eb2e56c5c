"""Asking machine judges: `python -m benchmarks.asking`.

A made server in a process of its own. *Questions*: `qrowd ask` with the journal synced, 64 at a
time, to a server that answers at once. *Kills*: the command is killed (-9) again and again while it
asks, then ends; lost are pairs without an answer, asked again are questions beyond those under way
when it was killed. *Troubles*: how the pairs of a server with every kind of trouble end. *Made
judges*: for what they are named after 20 probes a kind. *Honest*: judges who are wrong about 5 % of
texts, whichever they are; accused are those whom any kind of probe names. *Families*: two judges of
the same skill, who err at random, or of whom one favours what its own two of ten runs have; 200
labels by weight on 30 topics: how often `own` and `more_tau_ap` surely differ from 0.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import psutil
from tests.asking.judge_server import (
    SECONDS,
    TRIES,
    TROUBLES,
    Body,
    Reply,
    grade,
    said,
    serving,
    text_of,
)
from tests.asking.made_judges import OF_ONE, OF_TWO, collection, judged, mostly_honest, preferred

import qrowd as q
from benchmarks import _results
from benchmarks._benchmark import Table, run
from qrowd.asking.journal import Journal


@dataclass(frozen=True)
class Options:
    questions: int = 10_000
    at_once: int = 64
    kills: int = 50
    while_asking: int = 5_000
    judges: int = 2_000
    probes: int = 20
    crowds: int = 200


SHORT = Options(questions=200, kills=2, while_asking=400, judges=50, probes=10, crowds=3)
PRICE, CAP = "1,1", 100.0


def _serve(pipe: Connection) -> None:
    chance = random.Random(1)

    def judge(body: Body, asked_before: int) -> Reply:
        prompt = body["messages"][-1]["content"]
        if body["model"] == "made":
            return grade(len(prompt) % 4)
        if body["model"] == "troubles":
            return TROUBLES[text_of(body)][0](asked_before)
        if "Text A stands" in prompt:
            return said(json.dumps({"better": preferred(body, chance)}))
        return grade(judged(body, chance))

    with serving(judge) as server:
        server.keep = False
        pipe.send(server.url)
        while pipe.recv() == "asked":
            again = sum(count - 1 for count in server.asked.values())
            pipe.send((sum(server.asked.values()), again))


def _files(folder: Path, number: int, what: str) -> list[str]:
    """A pool of so many pairs in 50 topics, and the command that asks about it."""
    names = [(f"t{at % 50}", f"d{at}") for at in range(number)]
    texts = {doc: f"{what} {at}. " + "word " * 100 for at, (_, doc) in enumerate(names)}
    return _command(folder, names, {f"t{at}": f"a query {at}" for at in range(50)}, texts)


def _command(
    folder: Path,
    pairs: Sequence[tuple[str, ...]],
    queries: Mapping[str, str],
    texts: Mapping[str, str],
) -> list[str]:
    head = ("topic", "doc") if len(pairs[0]) == 2 else ("topic", "left", "right")
    (folder / "pool.tsv").write_text("".join("\t".join(row) + "\n" for row in (head, *pairs)))
    topics = [{"topic": name, "query": query} for name, query in queries.items()]
    (folder / "topics.jsonl").write_text("\n".join(map(json.dumps, topics)))
    documents = [{"doc": name, "text": text} for name, text in texts.items()]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    named = {"--topics": "topics.jsonl", "--documents": "docs.jsonl", "-o": "llm.jsonl"}
    files = [part for flag, name in named.items() for part in (flag, str(folder / name))]
    command = [sys.executable, "-m", "qrowd", "ask", str(folder / "pool.tsv"), *files]
    return [*command, "--price", PRICE, "--cap", str(CAP), "-q"]


def _troubles(at_once: list[str]) -> tuple[int, int]:
    """How many kinds of trouble end as they should, and how many tracebacks there are."""
    names = {f"d{at}": name for at, name in enumerate(TROUBLES)}
    limits = ["--tries", str(TRIES), "--seconds", str(SECONDS), "--model", "troubles"]
    with tempfile.TemporaryDirectory() as path:
        pairs = [("t", doc) for doc in names]
        command = [*_command(Path(path), pairs, {"t": "soup"}, names), *at_once, *limits]
        ended = subprocess.run(command, capture_output=True, text=True)
        lines = (Path(path) / "llm.jsonl").read_text().splitlines()
    rows = {names[row["doc"]]: row for row in map(json.loads, lines)}
    right = 0
    for name, (_, expected, why) in TROUBLES.items():
        row = rows[name]
        is_right = row["grade"] == expected and (row["missing"] or "").startswith(why)
        right += is_right
        if not is_right:
            print(f"{name}: not as expected: {row}")
    return right, ended.stderr.count("Traceback")


def _made_judges(at_once: list[str], probes: int) -> None:
    """For what each made judge is named."""
    table = Table("prompt", "made judge", "falls for", title="Made judges")
    pairs, topics, documents = collection()
    queries = {name: topics[name].query for name in topics.index}
    texts = {name: documents[name].text for name in documents.index}
    couples = [(one[0], one[1], other[1]) for one, other in pairwise(pairs)]
    couples = [row for row in couples if row[1][:2] == row[2][:2]]
    for prompt, models, pool in (("graded", OF_ONE, pairs), ("preference", OF_TWO, couples)):
        with tempfile.TemporaryDirectory() as path:
            command = [*_command(Path(path), pool, queries, texts), *at_once]
            for model in models:
                command += ["--model", model]
            subprocess.run([*command, "--prompt", prompt, "--probe", str(probes)], check=True)
            found = q.read_probes(Path(path) / "llm.probes.json")
        for judge in found.judges:
            falls = ", ".join(found.falls(judge)) or "nothing"
            table.row(prompt, judge.partition("/")[0], falls)


def _families(crowds: int) -> None:
    """How often a judge is named who favours its own family's runs, and one who does not."""
    columns = (
        "judge",
        "pairs of judges",
        "surely favours its own",
        "order of systems surely another",
    )
    table = Table(*columns, title="Own family")
    families = {"run01": "a", "run02": "a"}
    for called, favour in (("errs at random", 0.0), ("calls a quarter of its own relevant", 0.25)):
        own, order = 0, 0
        for seed in range(crowds):
            made = q.simulate(topics=30, documents=50, assessors=2, votes=2, runs=10, seed=seed)
            truth, chance = made.truth, np.random.default_rng(seed)
            top = made.runs.of_runs(q.Index.of(families)).pool(10)
            kin = truth.pairs.locate(top)
            says = [
                np.where(chance.random(len(truth)) < 0.2, 1 - truth.grade, truth.grade)
                for _ in "ab"
            ]
            says[0][kin[chance.random(len(kin)) < favour]] = 1
            judgements = q.Judgements.of(
                np.tile(truth.pairs.topic_names, 2),
                np.tile(truth.pairs.document_names, 2),
                np.repeat(["a", "b"], len(truth)),
                np.concatenate(says),
            )
            few = q.sample(judgements, 200, by="weight", runs=made.runs, seed=seed).labelled(truth)
            found = q.judges(judgements, few, made.runs, families=families, against="b")
            own += bool(found["own_low"][0] > 0)
            order += bool(found["more_tau_ap_low"][0] > 0 or found["more_tau_ap_high"][0] < 0)
        table.row(called, crowds, f"{own / crowds:.1%}", f"{order / crowds:.1%}")


def main(options: Options) -> None:
    _results.also_all("asking", "cli")
    table = Table("what", "figure", title="Questions")
    ours, theirs = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    url = ours.recv()
    at_once = ["--endpoint", url, "--at-once", str(options.at_once)]
    with tempfile.TemporaryDirectory() as path:
        command = [*_files(Path(path), options.questions, "Text"), *at_once, "--model", "made"]
        started, memory = time.monotonic(), []
        running = psutil.Popen(command)
        cpu = 0.0
        while running.poll() is None:
            try:
                memory.append(running.memory_info().rss / 2**20)
                cpu = sum(running.cpu_times()[:2])
            except psutil.Error:
                break
            time.sleep(0.2)
        seconds = time.monotonic() - started
        assert running.wait() == 0
    table.row("questions", f"{options.questions:,}, {options.at_once} at a time")
    table.row("a second", f"{options.questions / seconds:.0f}")
    table.row("CPU of a question, ms", f"{1000 * cpu / options.questions:.2f}")
    quarters = [memory[len(memory) * part // 4] for part in (1, 2, 3)]
    shown = ", ".join(f"{each:.0f}" for each in (*quarters, max(memory)))
    table.row("memory at 1/4, 1/2, 3/4 of the time, at most, MB", shown)
    ours.send("asked")
    before = ours.recv()
    with tempfile.TemporaryDirectory() as path:
        command = [*_files(Path(path), options.while_asking, "Note"), *at_once, "--model", "made"]
        journal, chance = Path(path) / "llm.journal.jsonl", np.random.default_rng(7)
        killed = 0
        for _ in range(options.kills):
            size = journal.stat().st_size if journal.exists() else 0
            share = options.while_asking * 450 // (options.kills + 1)
            more = int(chance.uniform(0.1, 0.9) * share)
            asking = subprocess.Popen(command)
            while asking.poll() is None and (
                not journal.exists() or journal.stat().st_size < size + more
            ):
                time.sleep(0.002)
            if asking.poll() is None:
                os.kill(asking.pid, signal.SIGKILL)
                killed += 1
            asking.wait()
        assert subprocess.run(command).returncode == 0
        lost = options.while_asking - len(q.read_judgements(Path(path) / "llm.jsonl"))
        with Journal(journal) as read:
            spent = read.spent
        ours.send("asked")
        again = ours.recv()[1] - before[1]
    table.row("kills, pairs lost", f"{killed}, {lost}")
    table.row("asked again, under way at kills at most", f"{again}, {killed * options.at_once}")
    table.row("money counted, cap", f"{spent:.2f}, {CAP:g}")
    with tempfile.TemporaryDirectory() as path:
        (Path(path) / "probes.json").write_text(json.dumps(mostly_honest(options.judges, seed=7)))
        found = q.read_probes(Path(path) / "probes.json")
    accused = np.mean([bool(found.falls(judge)) for judge in found.judges])
    table.row("honest judges accused of anything, 20 probes a kind", f"{accused:.1%}")
    right, tracebacks = _troubles(at_once)
    table.row(
        "kinds of trouble, ended as they should, tracebacks",
        f"{len(TROUBLES)}, {right}, {tracebacks}",
    )
    _made_judges(at_once, options.probes)
    ours.send("end")
    _families(options.crowds)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
