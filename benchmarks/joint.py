"""Assessors and documents in one model: what `joint` gains and costs, and which errors it finds.

    QROWD_DATA=folder python -m benchmarks.joint [--only PART ...] [--seed 500]

Real abstracts (`cystic_fibrosis`; relevant: the four assessors' mean grade is 1 or more) and made
text of strength 0 and .6, judged by made crowds of 60: with independent errors, and with pairs that
are hard for all (2 logits). *votes* is the same model without the text, *text* is what it says of a
document before its votes. Differences of accuracy, ties half right; 90 % intervals over topics, of
means over crowds.

errors: labels (the majority's) that `qrowd next --goal errors` lists first, beside a list by votes
alone and one by an out-of-fold logistic regression on the texts of each topic.

rules: the majority's labels, and what `skierarchy` makes of those that the text contradicts. time:
CPU seconds of a fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import folder, over_topics
from qrowd.data.arrays import Floats, Mask

PARTS = ("crowds", "gold", "errors", "rules", "time")


@dataclass(frozen=True)
class Options:
    votes: tuple[int, ...] = (1, 2, 3, 5)
    crowds: int = 5
    seed: int = 0
    topics: int = 99
    gold: int = 100  # pairs
    only: tuple[str, ...] = option(PARTS, choices=PARTS)
    texts: tuple[str, ...] = option(("real", "permuted", "made .6", "made 0"))


SHORT = Options(votes=(1, 2), crowds=1, topics=6, gold=30, texts=("made .6",))


@dataclass(frozen=True, eq=False)
class Collection:
    """Topics, the truth, and vectors of texts."""

    truth: q.Qrels
    vectors: q.Vectors


def abstracts(options: Options) -> Collection:
    data = folder("cystic_fibrosis")
    rows = q.read_judgements(data / "judgements.tsv.gz")
    vectors = q.tfidf(q.read_documents(data / "documents.tsv.gz"))
    rows = q.with_text(rows[q.Index(rows.topics.names[: options.topics])], vectors).judgements
    grade = np.array(rows.scale.grades)[rows.grade]
    n = len(rows.pairs)
    mean = np.bincount(rows.pair, grade, n) / np.bincount(rows.pair, minlength=n)
    return Collection(q.Qrels(rows.pairs, (mean >= 1).astype(np.int8)), vectors)


def made(options: Options, strength: float) -> Collection:
    collection = q.simulate(
        topics=min(options.topics, 60),
        documents=50,
        runs=0,
        assessors=5,
        votes=1,
        text=strength,
        seed=options.seed + 77,
    )
    assert collection.documents is not None
    return Collection(collection.truth.binary(1), q.tfidf(collection.documents))


def permuted(collection: Collection, seed: int) -> Collection:
    vectors = collection.vectors
    order = np.random.default_rng([seed, 3]).permutation(len(vectors))
    return replace(collection, vectors=q.Vectors(vectors.index, vectors.rows[order]))


def collection_of(text: str, options: Options) -> Collection:
    if text.startswith("made"):
        return made(options, float(text.split()[1]))
    real = abstracts(options)
    return permuted(real, options.seed) if text == "permuted" else real


def cases(options: Options) -> Iterator[tuple[Sequence[object], Collection, float, int]]:
    """What each table goes through: its first three cells, and what they stand for."""
    for text in options.texts:
        collection = collection_of(text, options)
        for hard in (0.0, 2.0):
            for votes in options.votes:
                errors = "hard pairs" if hard else "independent"
                yield (text, errors, votes), collection, hard, votes


def crowd(truth: q.Qrels, votes: int, hard: float, seed: int, assessors: int = 60) -> q.Judgements:
    """Judges with a sensitivity and a specificity of their own; `hard`: pairs differ for all."""
    random = np.random.default_rng([seed, votes, round(10 * hard)])
    n, sign = len(truth), np.where(truth.grade > 0, 1.0, -1.0)
    skill = random.normal(1.2, 0.7, assessors) * (1.2 if hard else 1.0)
    leaning = random.normal(0.0, 0.5, assessors)
    who = np.argsort(random.random((n, assessors)), axis=1)[:, :votes].ravel()
    pair = np.repeat(np.arange(n), votes)
    ease = random.normal(0.0, hard, n)[pair] if hard else 0.0
    yes = random.random(len(pair)) < expit((skill[who] + ease) * sign[pair] + leaning[who])
    topics = truth.pairs.topics.names[truth.pairs.topic[pair]]
    documents = truth.pairs.document_names[pair]
    return q.Judgements.of(topics, documents, [f"a{at:02}" for at in who], yes.astype(np.int8))


def right(relevant: Floats, truth: q.Qrels) -> Floats:
    gap = relevant - 0.5
    sign = np.where(np.abs(gap) < 1e-9, 0.0, np.sign(gap))
    return np.asarray(0.5 + 0.5 * sign * (2.0 * truth.grade - 1))


def believed(
    judgements: q.Judgements, vectors: q.Vectors, gold: q.Qrels | None = None
) -> dict[str, q.Merged]:
    given = q.Given(documents=vectors, gold=gold)
    return {
        "mv": q.MajorityVote().fit(judgements, given),
        "votes": q.Joint(text="never").fit(judgements, given),
        "joint": q.Joint().fit(judgements, given),
    }


def crowds(options: Options) -> None:
    table = Table(
        "text",
        "errors",
        "votes a pair",
        "mv",
        "votes alone",
        "text alone",
        "joint",
        "joint - votes",
        "joint - text",
        "power",
        "text used",
        title="Accuracy without gold",
    )
    for case, collection, hard, votes in cases(options):
        table.row(*case, *cell(collection, hard, votes, options))


def cell(collection: Collection, hard: float, votes: int, options: Options) -> list[str]:
    truth, rows, powers, used = collection.truth, [], [], []
    for seed in range(options.seed, options.seed + options.crowds):
        judgements = crowd(truth, votes, hard, seed)
        made = believed(judgements, collection.vectors)
        beliefs = [made[name].relevant for name in ("mv", "votes")]
        joint = made["joint"]
        beliefs += [joint.details["before_votes"], joint.relevant]
        rows.append([right(each, truth) for each in beliefs])
        powers.append(joint.details["power"])
        used.append(joint.details["text"])
    mean = np.mean(rows, axis=0)
    return [
        *(f"{each.mean():.3f}" for each in mean),
        over_topics(mean[3] - mean[1], truth.pairs.topic),
        over_topics(mean[3] - mean[2], truth.pairs.topic),
        f"{np.mean(powers):.2f}",
        f"{np.sum(used)} of {len(used)}",
    ]


def with_gold(options: Options) -> None:
    table = Table(
        "text",
        "errors",
        "votes a pair",
        "votes alone",
        "joint",
        "joint - votes",
        "text used",
        title="Accuracy with gold",
    )
    for case, collection, hard, votes in cases(options):
        table.row(*case, *gold_cell(collection, hard, votes, options))


def gold_cell(collection: Collection, hard: float, votes: int, options: Options) -> list[str]:
    truth, rows, used = collection.truth, [], []
    for seed in range(options.seed, options.seed + options.crowds):
        random = np.random.default_rng([seed, 5])
        chosen = np.zeros(len(truth), np.bool_)
        chosen[random.choice(len(truth), min(options.gold, len(truth) // 2), replace=False)] = True
        judgements = crowd(truth, votes, hard, seed)
        made = believed(judgements, collection.vectors, truth.select(chosen))
        held = ~chosen
        rows.append([right(made[name].relevant, truth) * held for name in ("votes", "joint")])
        used.append(made["joint"].details["text"])
    mean = np.mean(rows, axis=0) / (1 - min(options.gold, len(truth) // 2) / len(truth))
    return [
        *(f"{each.mean():.3f}" for each in mean),
        over_topics(mean[1] - mean[0], truth.pairs.topic),
        f"{np.sum(used)} of {len(used)}",
    ]


def errors(options: Options) -> None:
    table = Table(
        "text",
        "errors",
        "votes a pair",
        "wrong labels",
        "of the first tenth",
        "stated",
        "by votes alone",
        "by logistic regression",
        "of all errors in the first fifth",
        title="Wrong labels",
    )
    for case, collection, hard, votes in cases(options):
        rows = [
            found(collection, crowd(collection.truth, votes, hard, seed))
            for seed in range(options.seed, options.seed + options.crowds)
        ]
        table.row(*case, *(f"{each:.2f}" for each in np.mean(rows, axis=0)))


def found(collection: Collection, judgements: q.Judgements) -> list[float]:
    """Shares of wrong labels: among all, the first tenth by each way; and in the first fifth."""
    truth, n = collection.truth, len(collection.truth)
    no, yes = judgements.votes.T
    # a tied label is a coin: half an error
    wrong = np.where(yes == no, 0.5, ((yes > no) != (truth.grade > 0)).astype(float))
    shares, stated = [], 0.0
    fits = [q.Joint(), q.Joint(text="never")]
    given = q.Given(documents=collection.vectors)
    lists = [
        np.where(yes > no, 1 - p, p)
        for p in (each.fit(judgements, given).relevant for each in fits)
    ]
    lists = [np.where(yes == no, 0.5, each) for each in lists]
    lists.append(np.where(yes == no, 0.5, contradicted_by_regression(collection, yes > no)))
    for p_wrong in lists:
        first = np.argsort(-p_wrong, kind="stable")[: n // 10]
        shares.append(float(wrong[first].mean()))
        stated = stated or float(p_wrong[first].mean())
    fifth = np.argsort(-lists[0], kind="stable")[: n // 5]
    return [
        float(wrong.mean()),
        shares[0],
        stated,
        *shares[1:],
        float(wrong[fifth].sum() / wrong.sum()),
    ]


def contradicted_by_regression(collection: Collection, label: Mask) -> Floats:
    """P(the label is wrong) by the text of documents of the topic in other folds."""
    pairs, vectors = collection.truth.pairs, collection.vectors
    document = vectors.index.find(pairs.documents)[pairs.document]
    p = np.full(len(pairs), float(label.mean()))
    for first, last in pairwise(pairs.topic_starts.tolist()):
        y = label[first:last]
        fewest = int(min(y.sum(), (~y).sum()))
        if fewest < 3:
            continue
        folds = StratifiedKFold(min(10, fewest), shuffle=True, random_state=0)
        for train, test in folds.split(y, y):
            model = LogisticRegression(C=10).fit(vectors.rows[document[first + train]], y[train])
            p[first + test] = model.predict_proba(vectors.rows[document[first + test]])[:, 1]
    return np.where(label, 1 - p, p)


def rules(options: Options) -> None:
    names = ("keep", "take", "mix")
    table = Table(
        "text",
        "errors",
        "votes a pair",
        *names,
        "mix - keep",
        "joint",
        "contradicted",
        "text used",
        title="A classifier",
    )
    for case, collection, hard, votes in cases(options):
        truth, rows, told = collection.truth, [], []
        for seed in range(options.seed, options.seed + options.crowds):
            judgements = crowd(truth, votes, hard, seed)
            given = q.Given(documents=collection.vectors)
            made = [q.Skierarchy(rule=rule).fit(judgements, given) for rule in names]
            made.append(q.Joint().fit(judgements, given))
            rows.append([right(each.relevant, truth) for each in made])
            told.append((made[0].details["contradicted"].mean(), made[0].details["tells"]))
        mean = np.mean(rows, axis=0)
        accuracy = [f"{each.mean():.3f}" for each in mean]
        table.row(
            *case,
            *accuracy[:3],
            over_topics(mean[2] - mean[0], truth.pairs.topic),
            accuracy[3],
            f"{np.mean(told, axis=0)[0]:.2f}",
            f"{sum(tells for _, tells in told)} of {len(told)}",
        )


def times(options: Options) -> None:
    table = Table("pairs", "topics", "votes", "CPU seconds of a fit", title="Time")
    topics = 50 if options.topics >= 50 else options.topics
    collection = q.simulate(
        topics=topics, documents=200, runs=0, assessors=60, votes=3, text=0.6, seed=options.seed
    )
    assert collection.documents is not None
    given = q.Given(documents=q.tfidf(collection.documents))
    taken = []
    for _ in range(3):
        began = time.process_time()
        q.Joint().fit(collection.judgements, given)
        taken.append(time.process_time() - began)
    table.row(len(collection.truth), topics, 3, f"{min(taken):.2f}")


def main(options: Options) -> None:
    parts: dict[str, Callable[[Options], None]] = dict(
        zip(PARTS, (crowds, with_gold, errors, rules, times), strict=True)
    )
    for name, part in parts.items():
        if name in options.only:
            part(options)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
