"""Scoring many runs under many assessors, beside pytrec_eval, ir_measures and ranx.

    python -m benchmarks evaluation

AP and nDCG@20 of 129 runs, 1000 documents deep. The runs are those of TREC-8 on ten topics, from
the folder that `QROWD_DATA` names; where they are absent, simulated ones of the same shape. The
assessors are simulated: they err on 15 % of the pool. Peers are looped over assessors and runs, as
their users must, from their own forms of the data in memory; where that takes minutes, a sample of
assessors is measured in the same run, and the whole is reckoned from it. Peers that are not
installed are left out, and that is said. From files, it is the best of five rounds for each. On a
busy machine the seconds of the processors (all threads together) are the steadier ones.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import qrowd as q
from qrowd.data.index import Pairs

MEASURES = ("AP", "nDCG@20")
TREC_EVAL = {"map", "ndcg_cut.20"}
ERRORS = 0.15
RunDicts = dict[str, dict[str, dict[str, float]]]
QrelDicts = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Timing:
    """How long something took, by the clock and by the processors; what of it was measured."""

    seconds: float = float("nan")
    cpu: float = float("nan")
    who: str = "qrowd"
    note: str = ""

    def times(self, factor: float) -> Timing:
        return replace(self, seconds=self.seconds * factor, cpu=self.cpu * factor)


def main() -> None:
    with collection() as (folder, qrels_file, source):
        runs, gold = q.read_runs(str(folder / "*.gz")), q.read_qrels(qrels_file)
        print(f"Runs: {source}. {len(runs)} runs, {len(gold.topics)} topics, {len(gold)} pairs.\n")
        thirty_one = assessors_of(gold, 31)
        table("31 assessors, from memory", in_memory(runs, thirty_one, sample=31))
        more, many = repeated(runs, gold, 5)
        random = assessors_of(many, 300)
        name = f"300 assessors, {len(many.topics)} topics (the same ones repeated), from memory"
        table(name, in_memory(more, random, sample=1))
        table("Files to scores, one qrels", from_files(folder, qrels_file))
        draws()


# --- data -----------------------------------------------------------------------------------------


@contextmanager
def collection() -> Iterator[tuple[Path, Path, str]]:
    """A folder of gzipped runs, a file of qrels, and what they are."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    real = Path(os.environ.get("QROWD_DATA") or beside) / "trec8_t21"
    if real.is_dir():
        yield real / "runs", real / "nist.qrels.gz", "TREC-8 ad hoc, ten topics"
        return
    with tempfile.TemporaryDirectory() as made:
        simulated = q.simulate(topics=10, documents=4000, runs=129, depth=1000, votes=1, seed=8)
        write_runs(simulated.runs, Path(made) / "runs")
        q.save(simulated.gold, Path(made) / "gold.qrels")
        yield Path(made) / "runs", Path(made) / "gold.qrels", "simulated (no TREC-8 here)"


def write_runs(runs: q.RunSet, folder: Path) -> None:
    folder.mkdir()
    for name, topics in dicts_of_runs(runs).items():
        with gzip.open(folder / f"{name}.gz", "wt") as into:
            for topic, scored in topics.items():
                for place, (document, score) in enumerate(scored.items(), 1):
                    into.write(f"{topic} Q0 {document} {place} {score} {name}\n")


def assessors_of(gold: q.Qrels, count: int) -> q.QrelsSet:
    """Assessors who judge the whole pool and err at random."""
    grades, random = np.empty((len(gold), count), np.int8), np.random.default_rng(0)
    for lo in range(0, count, 100):  # few at a time: no large array that would hide a peak
        part = grades[:, lo : lo + 100]
        part[:] = (gold.grade[:, None] > 0) ^ (random.random(part.shape) < ERRORS)
    return q.QrelsSet.of_draws(gold.pairs, grades)


def repeated(runs: q.RunSet, gold: q.Qrels, times: int) -> tuple[q.RunSet, q.Qrels]:
    """The same topics several times, under other names."""
    frame, pairs = runs.to_polars(), gold.pairs
    topics = [f"{name}.{time}" for time in range(times) for name in frame["topic"].to_list()]
    columns = [frame[name].to_list() * times for name in ("run", "doc", "score")]
    more = q.RunSet.of(columns[0], topics, columns[1], columns[2])
    names = [f"{name}.{time}" for time in range(times) for name in pairs.topic_names]
    documents = np.tile(pairs.document_names, times)
    order = Pairs.of(names, documents)
    return more, q.Qrels(order, q.Qrels.of(names, documents, np.tile(gold.grade, times)).grade)


def dicts_of_runs(runs: q.RunSet) -> RunDicts:
    result: RunDicts = {name: {} for name in runs.runs}
    for cell in range(len(runs.starts) - 1):
        topic, run = divmod(cell, len(runs))
        rows = slice(runs.starts[cell], runs.starts[cell + 1])
        names = runs.documents.names[runs.document[rows]]
        if len(names):
            scored = dict(zip(names, runs.score[rows].tolist(), strict=True))
            result[runs.runs.names[run]][runs.topics.names[topic]] = scored
    return result


def dicts_of_qrels(qrels: q.Qrels) -> QrelDicts:
    result: QrelDicts = {name: {} for name in qrels.topics}
    rows = zip(
        qrels.pairs.topic_names, qrels.pairs.document_names, qrels.grade.tolist(), strict=True
    )
    for topic, document, grade in rows:
        result[topic][document] = grade
    return result


# --- who is measured ------------------------------------------------------------------------------


def in_memory(runs: q.RunSet, many: q.QrelsSet, sample: int) -> list[Timing]:
    """All runs under all assessors."""
    found = [ours(lambda: q.evaluate(runs, many, MEASURES))]
    means = ours(lambda: q.evaluate(runs, many, MEASURES, keep="means"))
    found.append(replace(means, who="qrowd, means only"))
    as_dicts = dicts_of_runs(runs)
    columns = [dicts_of_qrels(many.qrels(name)) for name in list(many.columns)[:sample]]
    for name, make in PEERS.items():
        share = columns if name == "pytrec_eval" else columns[:1]
        one = peer(name, make, as_dicts, share).times(len(many) / len(share))
        whole = len(share) == len(many) or one.note
        found.append(one if whole else replace(one, note=f"from {len(share)} of {len(many)}"))
    return found


def peer(name: str, work: Callable[..., Timing], *given: Any) -> Timing:
    """A peer's timing, or that it is not there."""
    try:
        return replace(work(*given), who=name)
    except ImportError as missing:
        return Timing(who=name, note=f"not installed ({missing.name})")


def ours(work: Callable[[], Any], times: int = 5) -> Timing:
    """The median of several, after one to compile."""
    work()
    found = [timed(work) for _ in range(times)]
    return sorted(found, key=lambda one: one.seconds)[times // 2]


def timed(work: Callable[[], Any]) -> Timing:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return Timing(time.perf_counter() - clock, time.process_time() - cpu)


def by_pytrec_eval(runs: RunDicts, columns: list[QrelDicts]) -> Timing:
    import pytrec_eval

    def work() -> None:
        for qrels in columns:
            evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC_EVAL)
            for run in runs.values():
                evaluator.evaluate(run)

    return timed(work)


def by_ir_measures(runs: RunDicts, columns: list[QrelDicts]) -> Timing:
    import ir_measures

    def work() -> None:
        for qrels in columns:
            evaluator = ir_measures.evaluator([ir_measures.AP, ir_measures.nDCG @ 20], qrels)
            for run in runs.values():
                list(evaluator.iter_calc(run))

    return timed(work)


def by_ranx(runs: RunDicts, columns: list[QrelDicts]) -> Timing:
    import ranx

    made = [ranx.Run(run, name=name) for name, run in runs.items()]

    def work() -> None:
        for qrels in columns:
            judged = ranx.Qrels(qrels)
            for run in made:
                ranx.evaluate(judged, run, ["map", "ndcg@20"], make_comparable=True)

    first = ranx.Run(next(iter(runs.values())))
    ranx.evaluate(ranx.Qrels(columns[0]), first, ["map", "ndcg@20"], make_comparable=True)
    return timed(work)


PEERS = {"pytrec_eval": by_pytrec_eval, "ir_measures": by_ir_measures, "ranx": by_ranx}


def from_files(folder: Path, qrels_file: Path) -> list[Timing]:
    """From gzipped files to the means of all runs."""
    files = sorted(folder.glob("*.gz"))

    def all_of_ours() -> None:
        q.evaluate(q.read_runs(str(folder / "*.gz")), q.read_qrels(qrels_file), MEASURES).means()

    all_of_ours()  # to compile
    rounds = [
        (
            timed(all_of_ours),
            peer("pytrec_eval", files_by_pytrec_eval, files, qrels_file),
            peer("ir_measures", files_by_ir_measures, files, qrels_file),
        )
        for _ in range(5)
    ]
    return [best(each) for each in zip(*rounds, strict=True)]


def best(found: Sequence[Timing]) -> Timing:
    """The least time of several, by the clock and by the processors."""
    least = [min(getattr(one, field) for one in found) for field in ("seconds", "cpu")]
    return replace(found[0], seconds=least[0], cpu=least[1])


def opened(file: Path) -> Any:
    return gzip.open(file, "rt") if file.suffix == ".gz" else file.open()


def files_by_pytrec_eval(files: list[Path], qrels_file: Path) -> Timing:
    import pytrec_eval

    def work() -> None:
        with opened(qrels_file) as lines:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), TREC_EVAL)
        for file in files:
            with opened(file) as lines:
                found = evaluator.evaluate(pytrec_eval.parse_run(lines))
            statistics.mean(topic["map"] for topic in found.values())

    return timed(work)


def files_by_ir_measures(files: list[Path], qrels_file: Path) -> Timing:
    import ir_measures

    def work() -> None:
        qrels = list(ir_measures.read_trec_qrels(str(qrels_file)))
        evaluator = ir_measures.evaluator([ir_measures.AP, ir_measures.nDCG @ 20], qrels)
        for file in files:
            evaluator.calc_aggregate(ir_measures.read_trec_run(str(file)))

    return timed(work)


def draws() -> None:
    """Thousands of draws: what scoring takes beside the draws, each in a process of its own."""
    print("### Draws: seconds and memory\n")
    print("| draws | kept | seconds | draws, MB | result, MB | peak grew by, MB |")
    print("|---:|---|---:|---:|---:|---:|", flush=True)
    for count, keep in ((300, "means"), (3000, "means"), (6000, "means"), (3000, "topics")):
        asked = [sys.executable, "-m", "benchmarks.evaluation", str(count), keep]
        subprocess.run(asked, check=True)
    print()


def in_this_process(count: int, keep: str) -> None:
    """One row: the growth of the peak since just before the scoring."""
    with collection() as (folder, qrels_file, _):
        runs, gold = q.read_runs(str(folder / "*.gz")), q.read_qrels(qrels_file)
        q.evaluate(runs, assessors_of(gold, 40), MEASURES, keep=keep)  # compiles
        many = assessors_of(gold, count)
        before = peak_since_now()
        clock = time.perf_counter()
        scores = q.evaluate(runs, many, MEASURES, keep=keep)
        seconds = time.perf_counter() - clock
    figures = (count * len(gold) / 1e6, scores.values.nbytes / 1e6, peak() - before)
    cells = " | ".join(f"{figure:.0f}" for figure in figures)
    print(f"| {count:,} | {keep} | {seconds:.2f} | {cells} |", flush=True)


def peak_since_now() -> float:
    """The peak memory in MB, counted from here on where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> float:
    """The peak memory of this process in MB."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text())
        return int(found[1]) * 1024 / 1e6 if found else float("nan")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def table(title: str, found: list[Timing]) -> None:
    base = found[0]
    print(f"### {title}\n")
    print("| | seconds | times ours | CPU seconds | times ours | |\n|---|---:|---:|---:|---:|---|")
    for one in found:
        print(
            f"| {one.who} | {one.seconds:.3f} | {one.seconds / base.seconds:,.1f} | {one.cpu:.3f} "
            f"| {one.cpu / base.cpu:,.1f} | {one.note} |"
        )
    print(flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        in_this_process(int(sys.argv[1]), sys.argv[2])
    else:
        main()
