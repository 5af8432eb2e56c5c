"""Scoring many runs under many assessors, beside pytrec_eval, ir_measures and ranx.

    python -m benchmarks evaluation

AP and nDCG@20 of 129 runs, 1000 documents deep. The runs are those of TREC-8 on ten topics, from
the folder that `QROWD_DATA` names; where they are absent, simulated ones of the same shape. The
assessors are simulated: they err on 15 % of the pool. Peers are looped over assessors and runs, as
their users must, from their own forms of the data in memory; where that takes minutes, a sample of
assessors is measured in the same run, and the whole is reckoned from it. Peers that are not
installed are left out, and that is said. The 50 topics are the ten, five times. From gzipped files,
it is the best of five rounds for each. On a busy machine the seconds of the processors (all threads
together) are the steadier ones. The last table is of the runs of DL 2021: nDCG@10 where the
relevance of a pair is the share of 82 machine judges who say so.
"""

from __future__ import annotations

import gzip
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, attempt, run, skip
from benchmarks._data import dl21, folder, there
from benchmarks._measure import Spent, alone, forget_peak, peak_memory, timed
from qrowd.data.index import Pairs

MEASURES = ("AP", "nDCG@20")
TREC_EVAL = {"map", "ndcg_cut.20"}
ERRORS = 0.15
RunDicts = dict[str, dict[str, dict[str, float]]]
QrelDicts = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Options:
    simulated: bool = False  # even where TREC-8 is here
    runs: int = 129
    depth: int = 1000
    assessors: int = 31
    random_assessors: int = 300
    rounds: int = 5
    draws: tuple[int, ...] = (300, 3000, 6000)
    unsure_draws: int = 200  # 0: without the last table


SHORT = Options(
    simulated=True,
    runs=4,
    depth=50,
    assessors=3,
    random_assessors=4,
    rounds=1,
    draws=(10, 20),
    unsure_draws=0,
)


def main(options: Options) -> None:
    with collection(options) as (runs_folder, qrels_file, source):
        runs, gold = q.read_runs(str(runs_folder / "*.gz")), q.read_qrels(qrels_file)
        print(f"Runs: {source}. {len(runs)} runs, {len(gold.topics)} topics, {len(gold)} pairs.")
        number = options.assessors
        title = f"{number} assessors, {len(gold.topics)} topics"
        beside_peers(title, runs, assessors_of(gold, number), options)
        longer, topics = repeated(runs, gold, 5)
        number = options.random_assessors
        title = f"{number} assessors, {len(topics.topics)} topics"
        beside_peers(title, longer, assessors_of(topics, number), options, 1)
        from_files(runs_folder, qrels_file, options)
        draws(runs_folder, qrels_file, options)
    if options.unsure_draws:
        attempt(lambda: unsure(options.unsure_draws))


# --- data -----------------------------------------------------------------------------------------


@contextmanager
def collection(options: Options) -> Iterator[tuple[Path, Path, str]]:
    """A folder of gzipped runs, a file of qrels, and what they are."""
    if not options.simulated and there("trec8_t21"):
        real = folder("trec8_t21")
        yield real / "runs", real / "nist.qrels.gz", "TREC-8 ad hoc, ten topics"
        return
    depth = options.depth
    with tempfile.TemporaryDirectory() as made:
        simulated = q.simulate(
            topics=10, documents=4 * depth, runs=options.runs, depth=depth, votes=1, seed=8
        )
        write_runs(simulated.runs, Path(made) / "runs")
        q.save(simulated.gold, Path(made) / "gold.qrels")
        yield Path(made) / "runs", Path(made) / "gold.qrels", "simulated (not TREC-8's)"


def write_runs(runs: q.RunSet, where: Path) -> None:
    where.mkdir()
    for name, topics in dicts_of_runs(runs).items():
        with gzip.open(where / f"{name}.gz", "wt") as into:
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
    longer = q.RunSet.of(columns[0], topics, columns[1], columns[2])
    names = [f"{name}.{time}" for time in range(times) for name in pairs.topic_names]
    documents = np.tile(pairs.document_names, times)
    order = Pairs.of(names, documents)
    return longer, q.Qrels(order, q.Qrels.of(names, documents, np.tile(gold.grade, times)).grade)


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


class Ratios(Table):
    """Seconds, and how many times as long as the first row that is."""

    def __init__(self, title: str) -> None:
        columns = ("who", "seconds", "times ours", "CPU seconds", "times our CPU", "note")
        super().__init__(*columns, title=title, optional=("note",))
        self.base: Spent | None = None

    def add(self, name: str, spent: Spent, note: str = "") -> None:
        self.base = self.base or spent
        times = spent.seconds / self.base.seconds, spent.cpu / self.base.cpu
        seconds, cpu = f"{spent.seconds:.3f}", f"{spent.cpu:.3f}"
        self.row(name, seconds, f"{times[0]:,.1f}", cpu, f"{times[1]:,.1f}", note)


def beside_peers(
    title: str, runs: q.RunSet, assessors: q.QrelsSet, options: Options, sample: int = 0
) -> None:
    """All runs under all assessors; pytrec_eval under a sample of them, other peers under one."""
    table = Ratios(title)
    table.add("qrowd", middle(lambda: q.evaluate(runs, assessors, MEASURES), options.rounds))
    means = middle(lambda: q.evaluate(runs, assessors, MEASURES, keep="means"), options.rounds)
    table.add("qrowd, means only", means)
    as_dicts = dicts_of_runs(runs)
    chosen = list(assessors.columns)[: sample or None]
    columns = [dicts_of_qrels(assessors.qrels(name)) for name in chosen]
    for name, measure in PEERS.items():
        share = columns if name == "pytrec_eval" else columns[:1]
        factor = len(assessors) / len(share)
        note = "" if factor == 1 else f"from {len(share)} of {len(assessors)}"
        spent = by_peer(measure, as_dicts, share)
        if spent is not None:
            table.add(name, Spent(spent.seconds * factor, spent.cpu * factor), note)


def by_peer(measure: Callable[..., Spent], *arguments: Any) -> Spent | None:
    """What a peer takes; nothing where it is not installed, which is said."""
    try:
        return measure(*arguments)
    except ImportError as missing:
        skip(f"no peer {missing.name}")
        return None


def middle(work: Callable[[], Any], times: int) -> Spent:
    """The median of several, after one to compile."""
    work()
    rounds = sorted((timed(work)[1] for _ in range(times)), key=lambda spent: spent.seconds)
    return rounds[times // 2]


def by_pytrec_eval(runs: RunDicts, columns: list[QrelDicts]) -> Spent:
    import pytrec_eval

    def work() -> None:
        for qrels in columns:
            evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC_EVAL)
            for ranking in runs.values():
                evaluator.evaluate(ranking)

    return timed(work)[1]


def by_ir_measures(runs: RunDicts, columns: list[QrelDicts]) -> Spent:
    import ir_measures

    def work() -> None:
        for qrels in columns:
            evaluator = ir_measures.evaluator([ir_measures.AP, ir_measures.nDCG @ 20], qrels)
            for ranking in runs.values():
                list(evaluator.iter_calc(ranking))

    return timed(work)[1]


def by_ranx(runs: RunDicts, columns: list[QrelDicts]) -> Spent:
    import ranx

    made = [ranx.Run(ranking, name=name) for name, ranking in runs.items()]

    def work() -> None:
        for qrels in columns:
            judged = ranx.Qrels(qrels)
            for ranking in made:
                ranx.evaluate(judged, ranking, ["map", "ndcg@20"], make_comparable=True)

    first = ranx.Run(next(iter(runs.values())))
    ranx.evaluate(ranx.Qrels(columns[0]), first, ["map", "ndcg@20"], make_comparable=True)
    return timed(work)[1]


PEERS = {"pytrec_eval": by_pytrec_eval, "ir_measures": by_ir_measures, "ranx": by_ranx}


def from_files(runs_folder: Path, qrels_file: Path, options: Options) -> None:
    """From gzipped files to the means of all runs."""
    files = sorted(runs_folder.glob("*.gz"))

    def ours() -> None:
        runs, qrels = q.read_runs(str(runs_folder / "*.gz")), q.read_qrels(qrels_file)
        q.evaluate(runs, qrels, MEASURES).means()

    ours()  # to compile
    readers: dict[str, Callable[[], Spent | None]] = {
        "qrowd": lambda: timed(ours)[1],
        "pytrec_eval": lambda: by_peer(files_by_pytrec_eval, files, qrels_file),
        "ir_measures": lambda: by_peer(files_by_ir_measures, files, qrels_file),
    }
    rounds: dict[str, list[Spent]] = {name: [] for name in readers}
    for _ in range(options.rounds):
        for name, read in readers.items():
            spent = read()
            if spent is not None:
                rounds[name].append(spent)
    table = Ratios("Files to scores")
    for name, several in rounds.items():
        if several:
            seconds = min(spent.seconds for spent in several)
            table.add(name, Spent(seconds, min(spent.cpu for spent in several)))


def opened(file: Path) -> Any:
    return gzip.open(file, "rt") if file.suffix == ".gz" else file.open()


def files_by_pytrec_eval(files: list[Path], qrels_file: Path) -> Spent:
    import pytrec_eval

    def work() -> None:
        with opened(qrels_file) as lines:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), TREC_EVAL)
        for file in files:
            with opened(file) as lines:
                topics = evaluator.evaluate(pytrec_eval.parse_run(lines))
            statistics.mean(topic["map"] for topic in topics.values())

    return timed(work)[1]


def files_by_ir_measures(files: list[Path], qrels_file: Path) -> Spent:
    import ir_measures

    def work() -> None:
        qrels = list(ir_measures.read_trec_qrels(str(qrels_file)))
        evaluator = ir_measures.evaluator([ir_measures.AP, ir_measures.nDCG @ 20], qrels)
        for file in files:
            evaluator.calc_aggregate(ir_measures.read_trec_run(str(file)))

    return timed(work)[1]


def draws(runs_folder: Path, qrels_file: Path, options: Options) -> None:
    """Thousands of draws: what scoring takes beside the draws, each in a process of its own."""
    table = Table(
        "draws",
        "kept",
        "seconds",
        "draws, MB",
        "result, MB",
        "peak grew by, MB",
        title="Draws",
    )
    kinds = [(count, "means") for count in options.draws] + [(options.draws[1], "topics")]
    for count, keep in kinds:
        seconds, *sizes = alone(drawn, str(runs_folder), str(qrels_file), count, keep)
        table.row(f"{count:,}", keep, f"{seconds:.2f}", *(f"{size / 1e6:.0f}" for size in sizes))


def drawn(runs_folder: str, qrels_file: str, count: int, keep: str) -> tuple[float, ...]:
    """Seconds; bytes of the draws and of the result, and by how much the peak grew."""
    runs, gold = q.read_runs(f"{runs_folder}/*.gz"), q.read_qrels(qrels_file)
    q.evaluate(runs, assessors_of(gold, 40), MEASURES, keep=keep)  # compiles
    several = assessors_of(gold, count)
    forget_peak()
    before = peak_memory()
    scores, spent = timed(lambda: q.evaluate(runs, several, MEASURES, keep=keep))
    size = count * len(gold)
    return spent.seconds, size, scores.values.nbytes, peak_memory() - before


def unsure(count: int) -> None:
    """nDCG@10 under shares of votes: its expectation, the mean of draws, and the other number."""
    crowd, _, runs = dl21()
    votes = q.MajorityVote().fit(crowd)
    ratio = q.evaluate(runs, votes.soft(), ["nDCG@10", "nDCG(expected='ratio')@10"]).means()
    drawn = q.evaluate(runs, votes.draws(count, 1), ["nDCG@10"], keep="means").means()
    table = Table("nDCG@10", "mean of all runs", title="An expectation and a ratio")
    table.row("expectation", f"{ratio[0].mean():.4f}")
    table.row(f"mean of {count} draws", f"{drawn.mean():.4f}")
    table.row("expected='ratio'", f"{ratio[1].mean():.4f}")


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
