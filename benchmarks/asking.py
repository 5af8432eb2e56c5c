"""Asking machine judges: `python -m benchmarks.asking`.

A made server in a process of its own answers at once. *Questions*: `qrowd ask` with the journal
synced, 64 at a time. *Kills*: the command is killed (-9) again and again while it asks, then ends;
lost are pairs without an answer, twice are questions asked again beyond those under way when it was
killed. *Honest*: judges who are wrong about 5 % of texts, whichever they are; accused are those
whom a kind of probe names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import psutil
from tests.asking.judge_server import Body, Reply, grade, serving

import qrowd as q
from benchmarks._benchmark import Table, run
from qrowd.asking.journal import Journal
from qrowd.asking.probes import FALLS, _newcombe


@dataclass(frozen=True)
class Options:
    questions: int = 10_000
    at_once: int = 64
    kills: int = 50
    while_asking: int = 5_000
    judges: int = 10_000


SHORT = Options(questions=200, kills=2, while_asking=400, judges=200)
PRICE, CAP = "1,1", 100.0


def _serve(pipe: Connection) -> None:
    def judge(body: Body, asked_before: int) -> Reply:
        return grade(len(body["messages"][-1]["content"]) % 4)

    with serving(judge) as server:
        server.keep = False
        pipe.send(server.url)
        while pipe.recv() == "asked":
            again = sum(count - 1 for count in server.asked.values())
            pipe.send((sum(server.asked.values()), again))


def _files(folder: Path, number: int, what: str) -> list[str]:
    lines = [f"t{at % 50} 0 d{at} 0\n" for at in range(number)]
    (folder / "pool.qrels").write_text("".join(lines))
    queries = [{"topic": f"t{at}", "query": f"a query {at}"} for at in range(50)]
    (folder / "topics.jsonl").write_text("\n".join(map(json.dumps, queries)))
    texts = [{"doc": f"d{at}", "text": f"{what} {at}. " + "word " * 100} for at in range(number)]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, texts)))
    named = {"--topics": "topics.jsonl", "--documents": "docs.jsonl", "-o": "llm.jsonl"}
    files = [part for flag, name in named.items() for part in (flag, str(folder / name))]
    command = [sys.executable, "-m", "qrowd", "ask", str(folder / "pool.qrels"), *files]
    return [*command, "--model", "made", "--price", PRICE, "--cap", str(CAP), "-q"]


def main(options: Options) -> None:
    table = Table("what", "figure", title="Asking machine judges")
    ours, theirs = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    url = ours.recv()
    at_once = ["--endpoint", url, "--at-once", str(options.at_once)]
    with tempfile.TemporaryDirectory() as path:
        command = [*_files(Path(path), options.questions, "Text"), *at_once]
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
    half = len(memory) // 2
    table.row("memory at half time, at most, MB", f"{memory[half]:.0f}, {max(memory):.0f}")
    ours.send("asked")
    before = ours.recv()
    with tempfile.TemporaryDirectory() as path:
        command = [*_files(Path(path), options.while_asking, "Note"), *at_once]
        journal, chance = Path(path) / "llm.journal.jsonl", np.random.default_rng(7)
        killed = 0
        for _ in range(options.kills):
            size = journal.stat().st_size if journal.exists() else 0
            share = options.while_asking * 450 // (options.kills + 1)
            more = int(chance.uniform(0.2, 1.5) * share)
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
    ours.send("end")
    random = np.random.default_rng(5)
    plain = random.binomial(20, 0.05, options.judges)
    probes = random.binomial(20, 0.05, (options.judges, len(FALLS)))
    accused = [
        any(_newcombe(np.array([hits, usual]), 20)[0] > 0.05 for hits in row)
        for usual, row in zip(plain, probes, strict=True)
    ]
    table.row("honest judges accused, 20 probes a kind", f"{np.mean(accused):.1%}")


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
