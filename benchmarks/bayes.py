"""hier-bayes beside JAGS, hier-vb beside hier-bayes, and both on TREC 2011's crowd.

    python -m benchmarks.bayes [accuracy] [calibration] [variants] [vb] [jags]
        [--crowds 400] [--first-crowd 0] [--jags-sweeps 1000] [--jags-chains 3]

`accuracy`, `jags` and the first part of `vb` want the folder trec_rf10 of QROWD_DATA; without it
they use a simulated crowd of the same make (`q.simulate("carpenter")`) and say so. `variants` takes
those of six crowds that are there. `jags` wants the program jags (Debian's package jags, 4.3.1) and
takes long: more than 10 minutes of CPU.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import qrowd as q
from benchmarks._calibration import BINS, ranks, uniform
from qrowd.comparison.diagnostics import ess_bulk, rhat
from qrowd.data.arrays import Floats
from qrowd.errors import DataWarning, NotConvergedWarning

HYPER = ("phi_pi", "kappa_pi", "phi_0", "kappa_0", "phi_1", "kappa_1")
OURS = (
    "phi_prevalence",
    "kappa_prevalence",
    "phi_specificity",
    "kappa_specificity",
    "phi_sensitivity",
    "kappa_sensitivity",
)
MODEL = """model {
  phi_pi ~ dbeta(1, 1)
  phi_0 ~ dbeta(1, 1)
  phi_1 ~ dbeta(1, 1)
  kappa_pi ~ dpar(1.5, 0.1)
  kappa_0 ~ dpar(1.5, 0.1)
  kappa_1 ~ dpar(1.5, 0.1)
  for (t in 1:T) { pi[t] ~ dbeta(kappa_pi * phi_pi, kappa_pi * (1 - phi_pi)) T(LO, HI) }
  for (j in 1:J) {
    theta_0[j] ~ dbeta(kappa_0 * phi_0, kappa_0 * (1 - phi_0)) T(LO, HI)
    theta_1[j] ~ dbeta(kappa_1 * phi_1, kappa_1 * (1 - phi_1)) T(LO, HI)
  }
  for (i in 1:I) { z[i] ~ dbern(pi[tt[i]]) }
  for (k in 1:K) {
    y[k] ~ dbern(z[ii[k]] * theta_1[jj[k]] + (1 - z[ii[k]]) * (1 - theta_0[jj[k]]))
  }
}
""".replace("LO", "1.0E-6").replace("HI", "0.999999")
# JAGS stops ("slicer stuck at value with infinite density") where a draw is 0 or 1 to the last bit


def collection() -> tuple[q.Judgements, q.Qrels, str]:
    """The crowd, its gold and its name."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("QROWD_DATA") or beside) / "trec_rf10"
    if folder.is_dir():
        crowd = q.read_judgements(folder / "judgements.tsv.gz")
        return crowd, q.read_qrels(folder / "gold.qrels.gz"), "trec_rf10"
    made = q.simulate("carpenter")
    return made.judgements, made.gold, "simulated like trec_rf10"


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def header(*cells: str) -> None:
    row(*cells)
    row(*["---"] * len(cells))


def timed(work: Callable[[], q.Merged]) -> tuple[q.Merged, float, float]:
    """The result, wall seconds and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


# --- accuracy -------------------------------------------------------------------------------------


def right(merged: q.Merged, gold: q.Qrels) -> float:
    at = merged.pairs.locate(gold.pairs)
    return float((merged.grades()[at[at >= 0]] == gold.grade[at >= 0]).mean())


def accuracy() -> None:
    """Unsupervised, and with half of the gold given, on the other half (5 random halves)."""
    crowd, gold, name = collection()
    print(f"\nShare of right grades on gold, {name}; with gold: the mean over 5 random halves\n")
    header("method", "no gold, all", "no gold, other half", "half of gold given, other half")
    halves = []
    for seed in range(5):
        chosen = np.random.default_rng(seed).permutation(len(gold)) < len(gold) // 2
        halves.append((gold.select(chosen), gold.select(~chosen)))
    for spec in ("mv", "ds", "hier-bayes", "hier-vb"):
        plain = q.get(spec).fit(crowd)
        without = [right(plain, other) for _, other in halves]
        given = [right(q.get(spec).fit(crowd, q.Given(gold=half)), other) for half, other in halves]
        row(spec, *(f"{x:.3f}" for x in (right(plain, gold), np.mean(without), np.mean(given))))


# --- JAGS -----------------------------------------------------------------------------------------


def dump(name: str, values: object) -> str:
    listed = np.atleast_1d(np.asarray(values)).tolist()
    inside = listed[0] if len(listed) == 1 else "c(" + ",".join(map(str, listed)) + ")"
    return f"`{name}` <- {inside}\n"


def write_jags(crowd: q.Judgements, folder: Path, chains: int, burn: int, sweeps: int) -> None:
    sizes = {"T": len(crowd.topics), "J": len(crowd.assessors), "I": len(crowd.pairs)}
    columns = {"tt": crowd.pairs.topic + 1, "jj": crowd.assessor + 1, "ii": crowd.pair + 1}
    data = {**sizes, "K": len(crowd), **columns, "y": crowd.grade}
    (folder / "model.bug").write_text(MODEL)
    (folder / "data.R").write_text("".join(dump(*item) for item in data.items()))
    votes, random = crowd.votes, np.random.default_rng(0)
    lines = ['model in "model.bug"', 'data in "data.R"', f"compile, nchains({chains})"]
    for chain in range(1, chains + 1):
        z = votes[:, 1] + random.random(len(votes)) > votes[:, 0] + 0.5
        generator = '`.RNG.name` <- "base::Mersenne-Twister"\n' + dump(".RNG.seed", chain)
        start = [dump(h, random.uniform(0.5, 0.9) if "phi" in h else 5.0) for h in HYPER]
        (folder / f"start{chain}.R").write_text("".join([dump("z", z * 1), generator, *start]))
        lines.append(f'parameters in "start{chain}.R", chain({chain})')
    lines += ["initialize", f"update {burn}", "monitor z, type(mean)"]
    lines += [*(f"monitor {h}" for h in HYPER), f"update {sweeps}"]
    (folder / "run.cmd").write_text("\n".join([*lines, "coda *"]) + "\n")


def run_jags(
    crowd: q.Judgements, chains: int, burn: int, sweeps: int
) -> tuple[Floats, Floats, float]:
    """Draws[chain, draw, hyperparameter], the mean of z of each pair, and CPU seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_jags(crowd, folder, chains, burn, sweeps)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["jags", "run.cmd"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        files = [folder / f"CODAchain{chain}.txt" for chain in range(1, chains + 1)]
        draws = [np.loadtxt(file)[:, 1].reshape(len(HYPER), sweeps).T for file in files]
        tables = [folder / f"CODAtable{chain}.txt" for chain in range(1, chains + 1)]
        z = np.mean([np.loadtxt(table, usecols=1) for table in tables], axis=0)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return np.stack(draws), z, cpu


def decisions(merged: q.Merged, theirs: Floats, gold: q.Qrels) -> None:
    """Share of right grades on gold by both posteriors of z, and how many decisions are equal."""
    at = merged.pairs.locate(gold.pairs)
    true, at = gold.grade[at >= 0] > 0, at[at >= 0]
    ours = merged.relevant > 0.5
    print("\nPairs decided by the posterior mean of z\n")
    header("", f"right of {len(at):,} with gold", "standard error", "as hier-bayes, all pairs")
    for who, said in (("hier-bayes", ours), ("JAGS", theirs > 0.5)):
        share = float((said[at] == true).mean())
        error = np.sqrt(share * (1 - share) / len(at))
        row(who, f"{share:.4f}", f"{error:.3f}", f"{(said == ours).mean():.2%}")


def jags(sweeps: int = 1000, chains: int = 3) -> None:
    """Effective samples of the slowest hyperparameter per CPU second; what each decides."""
    if not shutil.which("jags"):
        print("no program jags here (Debian: apt install jags); skipped", file=sys.stderr)
        return
    crowd, gold, name = collection()
    q.HierBayes(sweeps=20).fit(crowd)  # compile
    merged, _, cpu = timed(lambda: q.HierBayes().fit(crowd))
    drawn = merged.details["chains"]
    ours = np.stack([drawn[name] for name in OURS], axis=2)
    theirs, z, jags_cpu = run_jags(crowd, chains, sweeps // 2, sweeps)
    print(f"\nHyperparameters, {name}: effective samples (bulk) and R-hat\n")
    header("", *HYPER)
    for who, draws in (("hier-bayes", ours), ("JAGS", theirs)):
        row(f"{who}: mean", *(f"{x:.3f}" for x in draws.mean(axis=(0, 1))))
        row(f"{who}: sd", *(f"{x:.3f}" for x in draws.std(axis=(0, 1))))
        row(f"{who}: effective", *(f"{x:.0f}" for x in ess_bulk(draws)))
        row(f"{who}: R-hat", *(f"{x:.3f}" for x in rhat(draws)))
    print()
    header("", "chains x kept (dropped) sweeps", "CPU s", "slowest, effective / CPU s", "ratio")
    rates = ess_bulk(ours).min() / cpu, ess_bulk(theirs).min() / jags_cpu
    row(
        "hier-bayes",
        "3 x 1000 (1000)",
        f"{cpu:.1f}",
        f"{rates[0]:.3g}",
        f"{rates[0] / rates[1]:.0f}",
    )
    row("JAGS", f"{chains} x {sweeps} ({sweeps // 2})", f"{jags_cpu:.0f}", f"{rates[1]:.3g}", 1)
    decisions(merged, z, gold)


# --- variational ----------------------------------------------------------------------------------


def large_crowd(judgements: int) -> q.Judgements:
    """Five judgements per pair by a hundred per assessor and more; coded, not read."""
    random = np.random.default_rng(0)
    pairs, assessors, topics = judgements // 5, max(judgements // 500, 10), 200
    truth = random.random(pairs) < 0.5
    right = random.beta(6, 2, (2, assessors))
    pair = np.repeat(np.arange(pairs), 5)
    who = random.integers(0, assessors, len(pair)).astype(np.int32)
    hit = random.random(len(pair)) < right[truth[pair].astype(np.int8), who]
    grade = np.where(hit, truth[pair], ~truth[pair]).astype(np.int8)
    depth = -(-pairs // topics)
    indexes = tuple(
        q.Index(np.array([f"{letter}{i:07d}" for i in range(n)], object))
        for letter, n in (("t", topics), ("d", depth), ("a", assessors))
    )
    codes = ((pair // depth).astype(np.int32), (pair % depth).astype(np.int32), who)
    return q.Judgements.from_codes(indexes, codes, grade, scale=q.Scale((0, 1)))  # type: ignore[arg-type]


def vb_alone(judgements: int) -> None:
    """One fit in a process of its own, for its peak memory; kernels come from their cache."""
    q.HierVB(max_iter=1).fit(large_crowd(1000))
    crowd = large_crowd(judgements)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    merged, wall, cpu = timed(lambda: q.HierVB().fit(crowd))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = (f"{wall:.2f}", f"{cpu:.2f}", f"{before:.0f}", f"{after:.0f}")
    row(f"{judgements:,}", merged.fit.iterations, *cells)


def vb() -> None:
    """hier-vb beside hier-bayes on one crowd, then on millions of judgements."""
    crowd, _, name = collection()
    q.HierBayes(sweeps=20).fit(crowd)
    sampled, _, sampled_cpu = timed(lambda: q.HierBayes().fit(crowd))
    found, _, cpu = timed(lambda: q.HierVB().fit(crowd))
    differ = float(((sampled.relevant > 0.5) != (found.relevant > 0.5)).mean())
    print(
        f"\n{name}: hier-bayes {sampled_cpu:.1f} s of CPU, hier-vb {cpu:.2f} s; "
        f"{differ:.2%} of decisions differ\n"
    )
    header("judgements", "iterations", "s", "CPU s", "peak MB before the fit", "and after")
    for size in (100_000, 1_000_000, 10_000_000):
        subprocess.run([sys.executable, "-m", "benchmarks.bayes", "--alone", str(size)], check=True)


# --- variants -------------------------------------------------------------------------------------


def variants() -> None:
    """The model changed in one way at a time: right decisions and log loss on six crowds' gold."""
    from benchmarks._variants import VARIANTS
    from benchmarks.merging_accuracy import COLLECTIONS, FOLDER

    there = [each for each in COLLECTIONS if (FOLDER / each.name).is_dir()]
    print("\nShare of right grades on gold / log loss (p kept within 0.001 and 0.999)\n")
    header("model", *(each.name for each in there))
    read = [each.read() for each in there]
    for name, relevant in VARIANTS.items():
        row(name, *(_scored(relevant(crowd), crowd, gold) for crowd, gold in read))


def _scored(p: Floats, crowd: q.Judgements, gold: q.Qrels) -> str:
    at = crowd.pairs.locate(gold.pairs)
    true, p = gold.grade[at >= 0] > 0, np.clip(p[at[at >= 0]], 1e-3, 1 - 1e-3)
    loss = -np.log(np.where(true, p, 1 - p)).mean()
    return f"{((p > 0.5) == true).mean():.3f} / {loss:.2f}"


# --- calibration ----------------------------------------------------------------------------------


def calibration(crowds: int = 400, first: int = 0) -> None:
    """Ranks of the truth among draws, over simulated crowds, and how far from uniform they are."""
    warnings.simplefilter("ignore", DataWarning)
    shape, sweeps = (6, 15, 12, 4), 2000
    for kappa_min in (0.1, 1.0):
        found = [ranks(seed, kappa_min, shape, sweeps) for seed in range(first, first + crowds)]
        print(
            f"\n{crowds} crowds from the prior, kappa_min {kappa_min}; topics, pairs per topic, "
            f"assessors, votes per pair {shape}; {sweeps} sweeps\n"
        )
        header("parameter", f"ranks in {BINS} bins", "chi-square", "p")
        for name in found[0]:
            seen, statistic, p = uniform([each[name] for each in found])
            row(name, " ".join(map(str, seen)), f"{statistic:.1f}", f"{p:.3f}")


def main(arguments: list[str] | None = None) -> None:
    warnings.simplefilter("ignore", NotConvergedWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", help="accuracy calibration variants vb jags; all without"
    )
    parser.add_argument("--crowds", type=int, default=400, help="of the calibration")
    parser.add_argument("--first-crowd", type=int, default=0, help="its seed")
    parser.add_argument("--jags-sweeps", type=int, default=1000)
    parser.add_argument("--jags-chains", type=int, default=3)
    parser.add_argument("--alone", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments or [])
    parts: dict[str, Callable[[], None]] = {
        "accuracy": accuracy,
        "calibration": lambda: calibration(given.crowds, given.first_crowd),
        "variants": variants,
        "vb": vb,
        "jags": lambda: jags(given.jags_sweeps, given.jags_chains),
    }
    if given.alone:
        vb_alone(given.alone)
        return
    for name in given.parts or parts:
        parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
