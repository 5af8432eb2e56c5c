"""Consensus of preferences beside crowd-kit and choix: CPU seconds to (nearly) equal likelihood.

python -m benchmarks.orders [--limit SECONDS]

Every fit runs in a process of its own on one thread; a peer that takes longer than the limit, or
more memory than there is, is said to. The likelihood is Bradley and Terry's (for the noisy models,
that of the model itself) per preference, computed here for all alike, so that a faster answer that
is worse shows.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, run, skip
from benchmarks._measure import ONE_THREAD, FailedError, alone, timed

PEOPLE = 50
FITS = (
    ("plain", "qrowd plackett-luce"),
    ("plain", "crowd-kit BradleyTerry"),
    ("plain", "choix opt_pairwise"),
    ("plain", "choix ilsr_pairwise"),
    ("noisy", "qrowd crowd-bt"),
    ("noisy", "crowd-kit NoisyBradleyTerry"),
)
Preferences = tuple[np.ndarray, np.ndarray, np.ndarray]  # better, worse, assessor
Fit = Callable[[], tuple[np.ndarray, np.ndarray]]  # worths, accuracies


@dataclass(frozen=True)
class Options:
    limit: float = 600.0  # seconds of a fit
    preferences: tuple[int, ...] = (100_000, 1_000_000)
    documents: tuple[int, ...] = (2_000, 10_000)


SHORT = Options(limit=60.0, preferences=(500,), documents=(10,))


def preferences(n: int, documents: int, noisy: bool) -> Preferences:
    """The same for the same arguments."""
    random = np.random.default_rng(7)
    worth = random.normal(size=documents)
    left = random.integers(0, documents, n)
    right = (left + random.integers(1, documents, n)) % documents
    assessor = random.integers(0, PEOPLE, n)
    p = 1 / (1 + np.exp(worth[right] - worth[left]))
    eta = random.beta(10, 2, PEOPLE)[assessor] if noisy else np.ones(n)
    wins = random.random(n) < eta * p + (1 - eta) * (1 - p)
    return np.where(wins, left, right), np.where(wins, right, left), assessor


def likelihood(worth: np.ndarray, data: Preferences, eta: np.ndarray) -> float:
    """The mean log-likelihood of a preference."""
    better, worse, assessor = data
    p = 1 / (1 + np.exp(worth[worse] - worth[better]))
    return float(np.log(eta[assessor] * p + (1 - eta[assessor]) * (1 - p)).mean())


def fit(name: str, n: int, documents: int) -> tuple[float, float]:
    """CPU seconds and likelihood of one fit, for a process of its own."""
    data = preferences(n, documents, noisy="Noisy" in name or "crowd-bt" in name)
    peer, method = name.split()
    make = {"qrowd": _qrowd, "crowd-kit": _crowd_kit, "choix": _choix}[peer]
    make(method, preferences(500, 10, noisy=False), 10)()  # compiles
    (worth, eta), spent = timed(make(method, data, documents))
    return spent.cpu, likelihood(worth, data, eta)


def _qrowd(name: str, data: Preferences, documents: int) -> Fit:
    better, worse, assessor = (each.astype(np.int32) for each in data)
    names = q.Index(np.array([f"d{at:05}" for at in range(documents)], object))
    people = q.Index(np.array([f"w{at:02}" for at in range(PEOPLE)], object))
    topic = np.zeros(len(better), np.int32)
    indexes = (q.Index.of(["t"]), names, people)
    orders = q.Orders.from_couples(indexes, (topic, better, worse, assessor))

    def work() -> tuple[np.ndarray, np.ndarray]:
        consensus = q.get(name).fit(orders)
        eta = consensus.assessors.columns.get("accuracy", np.ones(PEOPLE))
        return consensus.worth, np.asarray(eta)

    return work


def _crowd_kit(name: str, data: Preferences, documents: int) -> Fit:
    import pandas as pd
    from crowdkit.aggregation import BradleyTerry, NoisyBradleyTerry

    better, worse, assessor = data
    frame = pd.DataFrame({"worker": assessor, "left": better, "right": worse, "label": better})

    def work() -> tuple[np.ndarray, np.ndarray]:
        if name == "BradleyTerry":
            scores = BradleyTerry(n_iter=100_000, tol=1e-12).fit_predict(frame)
            worth, eta = np.log(scores.to_numpy() + 1e-300), np.ones(PEOPLE)
        else:
            model = NoisyBradleyTerry(n_iter=1000).fit(frame)
            scores, eta = model.scores_, model.skills_.sort_index().to_numpy()
            worth = np.log(np.maximum(scores.to_numpy(), 1e-300))
        placed = np.zeros(documents)
        placed[scores.index.to_numpy()] = worth
        return placed, eta

    return work


def _choix(name: str, data: Preferences, documents: int) -> Fit:
    import choix

    pairs = list(zip(data[0].tolist(), data[1].tolist(), strict=True))
    alpha = 1 / 9 if name == "opt_pairwise" else 1e-3

    def work() -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(getattr(choix, name)(documents, pairs, alpha=alpha)), np.ones(PEOPLE)

    return work


def main(options: Options) -> None:
    """All fits, one after another."""
    columns = ("preferences", "documents", "fit", "CPU seconds", "ratio", "log-likelihood each")
    table = Table(*columns, optional=("ratio", "log-likelihood each"))
    for n, documents in zip(options.preferences, options.documents, strict=True):
        base: dict[str, float] = {}
        for kind, name in FITS:
            outcome = _measured(name, n, documents, options.limit)
            if isinstance(outcome, str):
                if outcome:
                    table.row(f"{n:,}", f"{documents:,}", name, outcome, "", "", complete=False)
                continue
            cpu, value = outcome
            base.setdefault(kind, cpu)
            ratio = f"{cpu / base[kind]:.1f}"
            table.row(f"{n:,}", f"{documents:,}", name, f"{cpu:.2f}", ratio, f"{value:.6f}")


def _measured(name: str, n: int, documents: int, limit: float) -> tuple[float, float] | str:
    """CPU seconds and likelihood, or why there are none."""
    try:
        return alone(fit, name, n, documents, environment=ONE_THREAD, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"over {limit:.0f} s"
    except FailedError as error:
        if name.startswith("qrowd"):
            raise
        if "No module named" in str(error):
            skip(f"no peer {name.split()[0]}")
            return ""
        return f"failed: {str(error)[:60]}"


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
