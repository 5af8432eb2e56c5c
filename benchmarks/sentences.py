"""Documents judged sentence by sentence: what each rule of `geann` makes of players' buckets.

    QROWD_DATA=folder python -m benchmarks.sentences [--draws 20] [--seed 500]

made: documents of 12 sentences, a third of them on the topic where the document is relevant (a
share of .3 is), 3 % elsewhere; each sentence is put into one of 4 buckets by 3 of 100 players, who
choose the right one in `right` of cases, a fifth of them at random; each has 30 known sentences,
half of them on the topic. Area under the curve of documents, mean of draws of 1,000 documents with
its 90 % interval; differences are paired.

abstracts: those of `cystic_fibrosis` of grade 2 or 0 for the first assessor, cut into their real
sentences; half of a relevant abstract's sentences are on the topic, 3 % of others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._data import folder, present
from qrowd.comparison.label_measures import auc
from qrowd.content.sentences import sentences
from qrowd.data.arrays import Array, Floats

RULES = ("mean", "any", "majority")
WAYS = {"weighted": "", "plain": ", weighted=False", "ds": ", base=ds"}
BUCKETS, VOTES, PLAYERS, KNOWN, DICE = 4, 3, 100, 30, 0.2


@dataclass(frozen=True)
class Options:
    draws: int = 20
    documents: int = 1000
    seed: int = 0
    right: tuple[float, ...] = (0.8, 0.85, 0.9)


SHORT = Options(draws=2, documents=60, right=(0.85,))


def played(
    on_topic: Array, document: Array, right: float, random: np.random.Generator
) -> tuple[q.Judgements, q.Qrels]:
    """Answers about sentences, and about known ones, which are gold."""
    chance = np.where(random.random(PLAYERS) < DICE, 1 / BUCKETS, right)
    who = np.argsort(random.random((len(on_topic), PLAYERS)), axis=1)[:, :VOTES].ravel()
    names = [f"d{at:05}#{number}" for number, at in enumerate(document)]
    known = random.random(PLAYERS * KNOWN) < 0.5
    truth = np.concatenate([np.repeat(on_topic, VOTES), known])
    player = np.concatenate([who, np.repeat(np.arange(PLAYERS), KNOWN)])
    golden = [f"known#{number}" for number in range(len(known))]
    rows = [name for name in names for _ in range(VOTES)] + golden
    wrong = (1 - chance[player]) / (BUCKETS - 1)  # this one, of the wrong buckets
    said = random.random(len(truth)) < np.where(truth, chance[player], wrong)
    called = [f"p{at}" for at in player]
    crowd = q.Judgements.of(["t"] * len(rows), rows, called, said.astype(int).tolist())
    return crowd, q.Qrels.of(["t"] * len(golden), golden, known.astype(int).tolist())


def areas(on_topic: Array, document: Array, relevant: Array, right: float, seed: int) -> Floats:
    """The area under the curve of each way and rule."""
    crowd, gold = played(on_topic, document, right, np.random.default_rng([seed, 1]))
    found = []
    for way in WAYS.values():
        for rule in RULES:
            merged = q.get(f"geann(rule={rule}{way})").fit(crowd, q.Given(gold=gold))
            names = merged.pairs.document_names
            mine = names != "known"
            at = np.array([int(name[1:]) for name in names[mine]])
            truth = relevant[at].astype(np.float64)
            group = np.zeros(len(truth), np.int64)
            found.append(float(auc(merged.details["score"][mine], truth, group, 1)[0]))
    return np.array(found).reshape(len(WAYS), len(RULES))


def made(options: Options, right: float) -> Floats:
    draws = []
    for draw in range(options.draws):
        random = np.random.default_rng([options.seed, draw, int(100 * right)])
        relevant = random.random(options.documents) < 0.3
        document = np.repeat(np.arange(options.documents), 12)
        on_topic = random.random(len(document)) < np.where(relevant, 1 / 3, 0.03)[document]
        draws.append(areas(on_topic, document, relevant, right, options.seed + draw))
    return np.array(draws)


def abstracts(options: Options) -> Floats:
    data = folder("cystic_fibrosis")
    texts = q.read_documents(data / "documents.tsv.gz")
    text = dict(zip(texts.index.names, texts.text, strict=True))
    rows = q.read_judgements(data / "judgements.tsv.gz")
    first = rows.assessor == 0
    grade = dict(
        zip(rows.pair[first].tolist(), np.array(rows.scale.grades)[rows.grade[first]], strict=True)
    )
    pairs = [pair for pair, value in grade.items() if value in (0, 2)][: 4 * options.documents]
    numbers = np.array([len(sentences(text.get(rows.pairs.document_names[p], ""))) for p in pairs])
    pairs = [pair for pair, n in zip(pairs, numbers, strict=True) if n]
    relevant = np.array([grade[pair] == 2 for pair in pairs])
    document = np.repeat(np.arange(len(pairs)), numbers[numbers > 0])
    draws = []
    for draw in range(min(options.draws, 5)):
        random = np.random.default_rng([options.seed, draw])
        on_topic = random.random(len(document)) < np.where(relevant, 0.5, 0.03)[document]
        draws.append(areas(on_topic, document, relevant, 0.85, options.seed + draw))
    return np.array(draws)


def _interval(draws: Floats) -> str:
    mean, n = draws.mean(), len(draws)
    half = stdtrit(n - 1, 0.95) * draws.std(ddof=1) / np.sqrt(n)
    return f"{mean:.3f} [{mean - half:.3f}, {mean + half:.3f}]"


def main(options: Options) -> None:
    table = Table("data", "right", "sentences", *RULES, "mean less plain mean")
    for right in options.right:
        _rows(table, "made", right, made(options, right))
    if present(["cystic_fibrosis"]):
        _rows(table, "abstracts", 0.85, abstracts(options))


def _rows(table: Table, name: str, right: float, draws: Floats) -> None:
    plain = draws[:, list(WAYS).index("plain"), 0]
    for at, way in enumerate(WAYS):
        cells = [_interval(draws[:, at, rule]) for rule in range(len(RULES))]
        table.row(name, right, way, *cells, _interval(draws[:, at, 0] - plain))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
