"""Consensus of preferences beside crowd-kit and choix: CPU seconds to (nearly) equal likelihood.

python -m benchmarks.orders [--limit SECONDS]

Every fit runs in a process of its own on one thread; a peer that takes longer than the limit, or
more memory than there is, is said to. The likelihood is Bradley and Terry's (for the noisy models,
that of the model itself) per preference, computed here for all alike, so that a faster answer that
is worse shows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

SIZES = ((100_000, 2_000), (1_000_000, 10_000))
PEOPLE = 50
FITS = (
    ("plain", "qrowd plackett-luce"),
    ("plain", "crowd-kit BradleyTerry"),
    ("plain", "choix opt_pairwise"),
    ("plain", "choix ilsr_pairwise"),
    ("noisy", "qrowd crowd-bt"),
    ("noisy", "crowd-kit NoisyBradleyTerry"),
)


def preferences(n: int, documents: int, noisy: bool) -> tuple[np.ndarray, ...]:
    """Better, worse and assessor of each preference; the same for the same arguments."""
    random = np.random.default_rng(7)
    worth = random.normal(size=documents)
    one = random.integers(0, documents, n)
    other = (one + random.integers(1, documents, n)) % documents
    who = random.integers(0, PEOPLE, n)
    right = 1 / (1 + np.exp(worth[other] - worth[one]))
    eta = random.beta(10, 2, PEOPLE)[who] if noisy else np.ones(n)
    wins = random.random(n) < eta * right + (1 - eta) * (1 - right)
    return np.where(wins, one, other), np.where(wins, other, one), who


def likelihood(worth: np.ndarray, data: tuple[np.ndarray, ...], eta: np.ndarray) -> float:
    """The mean log-likelihood of a preference."""
    better, worse, who = data
    p = 1 / (1 + np.exp(worth[worse] - worth[better]))
    return float(np.log(eta[who] * p + (1 - eta[who]) * (1 - p)).mean())


def fit(name: str, n: int, documents: int) -> None:
    """One fit, in this process: prints CPU seconds and likelihood."""
    data = preferences(n, documents, noisy="Noisy" in name or "crowd-bt" in name)
    make = {"qrowd": _qrowd, "crowd-kit": _crowd_kit, "choix": _choix}[name.split()[0]]
    run = make(name.split()[1], data, documents)  # type: ignore[no-untyped-call]
    started = time.process_time()
    worth, eta = run()
    seconds = time.process_time() - started
    print(f"{seconds:.2f} {likelihood(worth, data, eta):.6f}")


def _qrowd(name, data, documents):  # type: ignore[no-untyped-def]
    import qrowd as q

    better, worse, who = (each.astype(np.int32) for each in data)
    names = q.Index(np.array([f"d{at:05}" for at in range(documents)], object))
    people = q.Index(np.array([f"w{at:02}" for at in range(PEOPLE)], object))
    topic = np.zeros(len(better), np.int32)
    indexes = (q.Index.of(["t"]), names, people)
    orders = q.Orders.from_couples(indexes, (topic, better, worse, who))

    def run():  # type: ignore[no-untyped-def]
        found = q.get(name).fit(orders)
        eta = found.assessors.columns.get("accuracy", np.ones(PEOPLE))
        return found.worth, np.asarray(eta)

    return run


def _crowd_kit(name, data, documents):  # type: ignore[no-untyped-def]
    import pandas as pd
    from crowdkit.aggregation import BradleyTerry, NoisyBradleyTerry

    better, worse, who = data
    frame = pd.DataFrame({"worker": who, "left": better, "right": worse, "label": better})

    def run():  # type: ignore[no-untyped-def]
        if name == "BradleyTerry":
            found = BradleyTerry(n_iter=100_000, tol=1e-12).fit_predict(frame)
            worth, eta = np.log(found.to_numpy() + 1e-300), np.ones(PEOPLE)
        else:
            model = NoisyBradleyTerry(n_iter=1000).fit(frame)
            found, skills = model.scores_, model.skills_.sort_index().to_numpy()
            worth, eta = np.log(np.maximum(found.to_numpy(), 1e-300)), skills
        placed = np.zeros(documents)
        placed[found.index.to_numpy()] = worth
        return placed, eta

    return run


def _choix(name, data, documents):  # type: ignore[no-untyped-def]
    import choix

    pairs = list(zip(data[0].tolist(), data[1].tolist(), strict=True))
    alpha = 1 / 9 if name == "opt_pairwise" else 1e-3

    def run():  # type: ignore[no-untyped-def]
        return np.asarray(getattr(choix, name)(documents, pairs, alpha=alpha)), np.ones(PEOPLE)

    return run


def main() -> None:
    """All fits, one after another."""
    if "--fit" in sys.argv:
        at = sys.argv.index("--fit")
        fit(sys.argv[at + 1], int(sys.argv[at + 2]), int(sys.argv[at + 3]))
        return
    limit = float(sys.argv[sys.argv.index("--limit") + 1]) if "--limit" in sys.argv else 600.0
    print("| preferences | documents | fit | CPU seconds | ratio | log-likelihood each |")
    print("|---|---|---|---|---|---|")
    for n, documents in SIZES:
        base: dict[str, float] = {}
        for kind, name in FITS:
            seconds, value = _measured(name, n, documents, limit)
            base.setdefault(kind, seconds)
            ratio = "" if np.isnan(seconds) else f"{seconds / base[kind]:.1f}"
            shown = f"{seconds:.2f}" if not np.isnan(seconds) else value
            print(f"| {n:,} | {documents:,} | {name} | {shown} | {ratio} | {value} |", flush=True)


def _measured(name: str, n: int, documents: int, limit: float) -> tuple[float, str]:
    command = [sys.executable, "-m", "benchmarks.orders", "--fit", name, str(n), str(documents)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env={**os.environ, **one}
        )
    except subprocess.TimeoutExpired:
        return float("nan"), f"over {limit:.0f} s"
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return float("nan"), f"failed: {reason[:60]}"
    seconds, value = done.stdout.split()[-2:]
    return float(seconds), value


if __name__ == "__main__":
    main()
