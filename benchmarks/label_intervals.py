"""Do the intervals of merged labels' accuracy and kappa hold the truth, and stay where they can be?

    python -m benchmarks.label_intervals [coverage] [calibration]

`coverage`, on made labels: they are right with a probability that differs from topic to topic
(beta, so that errors of a topic's pairs correlate by `within`) about a true accuracy. 30 % of the
pairs are relevant. The true kappa is that of the population.

`calibration`: how right the labels of three methods are on DL 2021, and how right their
probabilities, as `qrowd score` says it, with standard errors over topics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, attempt, option, run
from benchmarks._data import binary_crowd

MEASURES = ("accuracy", "kappa")
LEAST = {"accuracy": 0.0, "kappa": -1.0}
RELEVANT = 0.3
METHODS = ("mv", "ds", "mace")
CALIBRATED = {
    "accuracy": "accuracy",
    "kappa": "kappa",
    "auc": "AUC",
    "map": "MAP",
    "log_loss": "log loss",
}
NAMES = ("coverage", "calibration")


@dataclass(frozen=True)
class Options:
    parts: tuple[str, ...] = option(NAMES, positional=True, choices=NAMES)
    samples: int = 400
    seed: int = 41
    topics: tuple[int, ...] = (5, 20, 50)
    pairs: tuple[int, ...] = (10, 50)
    level: float = 0.9


SHORT = Options(samples=5, topics=(5,), pairs=(10,))


def labels(
    topics: int, pairs: int, accuracy: float, within: float, random: np.random.Generator
) -> tuple[q.Qrels, q.Qrels]:
    """Gold and merged labels of a sample of topics."""
    right = np.full(topics, accuracy)
    if within and accuracy < 1:
        firm = 1 / within - 1
        right = random.beta(accuracy * firm, (1 - accuracy) * firm, topics)
    gold = random.random((topics, pairs)) < RELEVANT
    wrong = random.random((topics, pairs)) >= right[:, None]
    index = q.Pairs.of(
        np.repeat([f"t{at:03}" for at in range(topics)], pairs).tolist(),
        [f"d{at:03}" for at in range(pairs)] * topics,
    )
    truth, said = (q.Qrels(index, side.ravel().astype(np.int8)) for side in (gold, gold ^ wrong))
    return truth, said


def true_kappa(accuracy: float) -> float:
    """Of labels that are right with this probability, whatever the gold."""
    said = RELEVANT * accuracy + (1 - RELEVANT) * (1 - accuracy)
    chance = RELEVANT * said + (1 - RELEVANT) * (1 - said)
    return (accuracy - chance) / (1 - chance)


def main(options: Options) -> None:
    """Print both tables."""
    if "coverage" in options.parts:
        coverage(options)
    if "calibration" in options.parts:
        attempt(calibration)


def calibration() -> None:
    """How right three methods are on DL 2021, and how right their probabilities."""
    judgements, gold = binary_crowd("dl21")
    table = Table("method", *CALIBRATED.values(), title="Calibration")
    for method in METHODS:
        scores = q.score_labels(q.get(method).fit(judgements), gold)
        cells = [f"{scores[name]:.3f} ({scores.errors[name]:.3f})" for name in CALIBRATED]
        table.row(method, *cells)


def coverage(options: Options) -> None:
    """How often intervals hold the truth, and leave the range, and how wide they are."""
    title = f"Coverage of {options.level:.0%} intervals"
    names = [f"{measure}: {what}" for measure in MEASURES for what in ("holds", "width", "outside")]
    table = Table("accuracy", "within", "topics", "pairs each", *names, title=title)
    for accuracy in (0.9, 0.98, 1.0):
        truth = {"accuracy": accuracy, "kappa": true_kappa(accuracy)}
        for within in (0.0, 0.05, 0.2) if accuracy < 1 else (0.0,):
            for topics in options.topics:
                for pairs in options.pairs:
                    random = np.random.default_rng([options.seed, topics, pairs, int(100 * within)])
                    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in MEASURES}
                    for _ in range(options.samples):
                        gold, merged = labels(topics, pairs, accuracy, within, random)
                        scores = q.score_labels(merged, gold)
                        for measure in MEASURES:
                            ends[measure].append(scores.interval(measure, options.level))
                    cells = []
                    for measure, found in ends.items():
                        low, high = np.array(found).T
                        known = ~np.isnan(low)
                        held = ((low <= truth[measure] + 1e-9) & (truth[measure] <= high + 1e-9))[
                            known
                        ]
                        outside = ((low < LEAST[measure] - 1e-9) | (high > 1 + 1e-9))[known]
                        cells += [f"{held.mean():.3f}", f"{(high - low)[known].mean():.3f}"]
                        cells += [f"{outside.mean():.3f}"]
                    table.row(accuracy, within, topics, pairs, *cells)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
