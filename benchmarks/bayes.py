"""hier-bayes beside JAGS, hier-vb beside hier-bayes, and both on TREC 2011's crowd.

    python -m benchmarks.bayes [accuracy] [fits] [calibration] [variants] [vb] [jags] [--crowds 400]

`accuracy`, `fits` and `jags` want the folder trec_rf10 of QROWD_DATA; without it
they use a simulated crowd of the same make (`q.simulate("carpenter")`) and say so. `variants` takes
those of six crowds that are there. `jags` wants the program jags (Debian's package jags, 4.3.1) and
takes long: more than 10 minutes of CPU. `calibration` is simulation-based: parameters from the
prior (constrained as the sampler is), a crowd from them, and the rank of the truth among draws of
the posterior, many times over.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import chi2

import qrowd as q
from benchmarks._benchmark import Table, attempt, need, option, run
from benchmarks._data import CROWDS, binary_crowd, folder, present, there
from benchmarks._measure import alone, command_spent, peak_memory, timed
from benchmarks._variants import VARIANTS
from qrowd.comparison.diagnostics import ess_bulk, rhat
from qrowd.data.arrays import Array, Floats, Offsets
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


BINS, DRAWS = 10, 99  # of the calibration: 100 ranks, ten to a bin
KINDS = ("prevalence", "specificity", "sensitivity")
NAMES = ("accuracy", "fits", "calibration", "variants", "vb", "jags")


@dataclass(frozen=True)
class Options:
    parts: tuple[str, ...] = option(NAMES, positional=True, choices=NAMES)
    methods: tuple[str, ...] = ("mv", "ds", "hier-bayes", "hier-vb")
    halves: int = 5  # of the gold
    fits: tuple[str, ...] = (
        "hier-bayes",
        "hier-bayes(seed=1)",
        "hier-bayes(seed=2)",
        "hier-bayes(kappa_min=0.5)",
        "hier-bayes(kappa_min=1.5)",
        "hier-bayes(kappa_min=3)",
        "hier-vb",
    )
    crowds: int = 400  # of the calibration
    first_crowd: int = 0  # its seed
    sweeps: int = 2000  # of hier-bayes
    jags_sweeps: int = 1000
    jags_chains: int = 3
    collections: tuple[str, ...] = tuple(CROWDS)  # of the variants
    variants: tuple[str, ...] = tuple(VARIANTS)
    sizes: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)  # of hier-vb alone


SHORT = Options(
    methods=("ds", "hier-vb"),
    halves=1,
    fits=("hier-bayes", "hier-vb"),
    crowds=2,
    sweeps=100,
    jags_sweeps=20,
    jags_chains=2,
    collections=("spectral_bluebird",),
    variants=("as printed", "bias and skill", "the same, shares for all topics"),
    sizes=(5_000,),
)


def collection() -> tuple[q.Judgements, q.Qrels, str]:
    """The crowd, its gold and its name."""
    if there("trec_rf10"):
        data = folder("trec_rf10")
        crowd = q.read_judgements(data / "judgements.tsv.gz")
        return crowd, q.read_qrels(data / "gold.qrels.gz"), "trec_rf10"
    made = q.simulate("carpenter")
    return made.judgements, made.gold, "simulated like trec_rf10"


# --- accuracy -------------------------------------------------------------------------------------


def right(merged: q.Merged, gold: q.Qrels) -> float:
    at = merged.pairs.locate(gold.pairs)
    return float((merged.grades()[at[at >= 0]] == gold.grade[at >= 0]).mean())


def accuracy(options: Options) -> None:
    """Unsupervised, and with half of the gold given, on the other half."""
    crowd, gold, name = collection()
    table = Table(
        "method",
        "no gold, all",
        "no gold, other half",
        "half of gold given, other half",
        title=f"Right grades on gold, {name}; with gold: the mean over "
        f"{options.halves} random halves",
    )
    halves = []
    for seed in range(options.halves):
        chosen = np.random.default_rng(seed).permutation(len(gold)) < len(gold) // 2
        halves.append((gold.select(chosen), gold.select(~chosen)))
    for spec in options.methods:
        plain = q.get(spec).fit(crowd)
        without = [right(plain, other) for _, other in halves]
        with_gold = [
            right(q.get(spec).fit(crowd, q.Given(gold=half)), other) for half, other in halves
        ]
        shares = (right(plain, gold), np.mean(without), np.mean(with_gold))
        table.row(spec, *(f"{share:.3f}" for share in shares))


# --- JAGS -----------------------------------------------------------------------------------------


def dump(name: str, values: object) -> str:
    listed = np.atleast_1d(np.asarray(values)).tolist()
    inside = listed[0] if len(listed) == 1 else "c(" + ",".join(map(str, listed)) + ")"
    return f"`{name}` <- {inside}\n"


def write_jags(crowd: q.Judgements, where: Path, chains: int, burn: int, sweeps: int) -> None:
    sizes = {"T": len(crowd.topics), "J": len(crowd.assessors), "I": len(crowd.pairs)}
    columns = {"tt": crowd.pairs.topic + 1, "jj": crowd.assessor + 1, "ii": crowd.pair + 1}
    data = {**sizes, "K": len(crowd), **columns, "y": crowd.grade}
    (where / "model.bug").write_text(MODEL)
    (where / "data.R").write_text("".join(dump(*item) for item in data.items()))
    votes, random = crowd.votes, np.random.default_rng(0)
    lines = ['model in "model.bug"', 'data in "data.R"', f"compile, nchains({chains})"]
    for chain in range(1, chains + 1):
        z = votes[:, 1] + random.random(len(votes)) > votes[:, 0] + 0.5
        generator = '`.RNG.name` <- "base::Mersenne-Twister"\n' + dump(".RNG.seed", chain)
        start = [dump(h, random.uniform(0.5, 0.9) if "phi" in h else 5.0) for h in HYPER]
        (where / f"start{chain}.R").write_text("".join([dump("z", z * 1), generator, *start]))
        lines.append(f'parameters in "start{chain}.R", chain({chain})')
    lines += ["initialize", f"update {burn}", "monitor z, type(mean)"]
    lines += [*(f"monitor {h}" for h in HYPER), f"update {sweeps}"]
    (where / "run.cmd").write_text("\n".join([*lines, "coda *"]) + "\n")


def run_jags(
    crowd: q.Judgements, chains: int, burn: int, sweeps: int
) -> tuple[Floats, Floats, float]:
    """Draws[chain, draw, hyperparameter], the mean of z of each pair, and CPU seconds."""
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        write_jags(crowd, where, chains, burn, sweeps)
        spent = command_spent(["jags", "run.cmd"], cwd=where, stdout=subprocess.DEVNULL)
        files = [where / f"CODAchain{chain}.txt" for chain in range(1, chains + 1)]
        draws = [np.loadtxt(file)[:, 1].reshape(len(HYPER), sweeps).T for file in files]
        tables = [where / f"CODAtable{chain}.txt" for chain in range(1, chains + 1)]
        z = np.mean([np.loadtxt(table, usecols=1) for table in tables], axis=0)
    return np.stack(draws), z, spent.cpu


def jags(options: Options) -> None:
    """Effective samples of the slowest hyperparameter per CPU second; what each decides."""
    need(shutil.which("jags"), "no program jags (Debian: apt install jags)")
    sweeps, chains, kept = options.jags_sweeps, options.jags_chains, options.sweeps // 2
    crowd, gold, _ = collection()
    q.HierBayes(sweeps=20).fit(crowd)  # compile
    merged, spent = timed(lambda: q.HierBayes(sweeps=options.sweeps).fit(crowd))
    drawn = merged.details["chains"]
    theirs, z, jags_cpu = run_jags(crowd, chains, sweeps // 2, sweeps)
    samplers = {
        "hier-bayes": (np.stack([drawn[name] for name in OURS], axis=2), spent.cpu),
        "JAGS": (theirs, jags_cpu),
    }
    sizes = {
        "hier-bayes": f"3 x {kept} ({kept})",
        "JAGS": f"{chains} x {sweeps} ({sweeps // 2})",
    }
    table = Table("figure", *HYPER, title="Populations")
    for sampler, (draws, _) in samplers.items():
        table.row(f"{sampler}: mean", *(f"{x:.3f}" for x in draws.mean(axis=(0, 1))))
        table.row(f"{sampler}: sd", *(f"{x:.3f}" for x in draws.std(axis=(0, 1))))
        table.row(f"{sampler}: effective", *(f"{x:.0f}" for x in ess_bulk(draws)))
        table.row(f"{sampler}: R-hat", *(f"{x:.3f}" for x in rhat(draws)))
    table = Table(
        "sampler",
        "chains x kept (dropped) sweeps",
        "CPU s",
        "slowest, effective / CPU s",
        "ratio",
        title="Speed",
    )
    base = ess_bulk(theirs).min() / jags_cpu
    for sampler, (draws, cpu) in samplers.items():
        rate = ess_bulk(draws).min() / cpu
        table.row(sampler, sizes[sampler], f"{cpu:.1f}", f"{rate:.3g}", f"{rate / base:.0f}")
    decisions(merged, z, gold)


def decisions(merged: q.Merged, theirs: Floats, gold: q.Qrels) -> None:
    """Share of right grades on gold by both posteriors of z, and how many decisions are equal."""
    at = merged.pairs.locate(gold.pairs)
    true, at = gold.grade[at >= 0] > 0, at[at >= 0]
    ours = merged.relevant > 0.5
    table = Table(
        "sampler",
        f"right of {len(at):,} with gold",
        "standard error",
        "as hier-bayes, all pairs",
        title="Decisions",
    )
    for sampler, decided in (("hier-bayes", ours), ("JAGS", theirs > 0.5)):
        share = float((decided[at] == true).mean())
        error = np.sqrt(share * (1 - share) / len(at))
        table.row(sampler, f"{share:.4f}", f"{error:.3f}", f"{(decided == ours).mean():.2%}")


# --- variational ----------------------------------------------------------------------------------


def large_crowd(judgements: int) -> q.Judgements:
    """Five judgements per pair by a hundred per assessor and more; coded, not read."""
    random = np.random.default_rng(0)
    pairs, assessors, topics = judgements // 5, max(judgements // 500, 10), 200
    truth = random.random(pairs) < 0.5
    right = random.beta(6, 2, (2, assessors))
    pair = np.repeat(np.arange(pairs), 5)
    assessor = random.integers(0, assessors, len(pair)).astype(np.int32)
    hit = random.random(len(pair)) < right[truth[pair].astype(np.int8), assessor]
    grade = np.where(hit, truth[pair], ~truth[pair]).astype(np.int8)
    depth = -(-pairs // topics)
    indexes = tuple(
        q.Index(np.array([f"{letter}{i:07d}" for i in range(n)], object))
        for letter, n in (("t", topics), ("d", depth), ("a", assessors))
    )
    codes = ((pair // depth).astype(np.int32), (pair % depth).astype(np.int32), assessor)
    return q.Judgements.from_codes(indexes, codes, grade, scale=q.Scale((0, 1)))  # type: ignore[arg-type]


def vb_alone(judgements: int) -> tuple[int, float, int, int]:
    """One fit for a process of its own: iterations, CPU seconds, peak before and after."""
    q.HierVB(max_iter=1).fit(large_crowd(1000))  # kernels come from their cache
    crowd = large_crowd(judgements)
    before = peak_memory()
    merged, spent = timed(lambda: q.HierVB().fit(crowd))
    return merged.fit.iterations, spent.cpu, before, peak_memory()


def fits(options: Options) -> None:
    """hier-bayes by seed and by `kappa_min`, and hier-vb, beside the first."""
    crowd, gold, name = collection()
    table = Table(
        "method",
        "right of all gold",
        "other decisions than the first",
        "worst R-hat",
        "CPU s",
        "peak MB so far",
        title=f"Fits of {name}, {len(crowd.pairs):,} pairs, {options.sweeps} sweeps",
        optional=("worst R-hat",),
    )
    q.HierBayes(sweeps=20).fit(crowd)  # compile
    q.HierVB(max_iter=1).fit(crowd)
    first = None
    for spec in options.fits:
        method = q.get(spec)
        if isinstance(method, q.HierBayes):
            method = replace(method, sweeps=options.sweeps)
        merged, spent = timed(partial(method.fit, crowd))
        decided = merged.relevant > 0.5
        first = decided if first is None else first
        table.row(
            f"`{spec}`",
            f"{right(merged, gold):.3f}",
            f"{(decided != first).mean():.2%}",
            worst_rhat(merged),
            f"{spent.cpu:.1f}",
            f"{peak_memory() / 2**20:.0f}",
        )


def worst_rhat(merged: q.Merged) -> str:
    """Over all parameters, where these were drawn."""
    table = merged.details.parameters
    if table is None or merged.details.chains is None:
        return ""
    return f"{np.nanmax(table['rhat']):.3f}"


def vb(options: Options) -> None:
    """hier-vb on millions of judgements."""
    table = Table(
        "judgements",
        "iterations",
        "CPU s",
        "peak MB before the fit",
        "and after",
        title="hier-vb on large crowds, a process each",
    )
    for size in options.sizes:
        iterations, cpu, before, after = alone(vb_alone, size)
        memory = [f"{peak / 2**20:.0f}" for peak in (before, after)]
        table.row(f"{size:,}", iterations, f"{cpu:.2f}", *memory)


# --- variants -------------------------------------------------------------------------------------


def variants(options: Options) -> None:
    """The model changed in one way at a time: right decisions and log loss on six crowds' gold."""
    names = present(options.collections)
    title = "Variants: right grades on gold / log loss (p kept within 0.001 and 0.999)"
    table = Table("model", *names, title=title)
    crowds = [binary_crowd(name) for name in names]
    for name in options.variants:
        relevant = VARIANTS[name]
        table.row(name, *(_scored(relevant(crowd), crowd, gold) for crowd, gold in crowds))


def _scored(p: Floats, crowd: q.Judgements, gold: q.Qrels) -> str:
    at = crowd.pairs.locate(gold.pairs)
    true, p = gold.grade[at >= 0] > 0, np.clip(p[at[at >= 0]], 1e-3, 1 - 1e-3)
    loss = -np.log(np.where(true, p, 1 - p)).mean()
    return f"{((p > 0.5) == true).mean():.3f} / {loss:.2f}"


# --- calibration ----------------------------------------------------------------------------------


def crowd_of(
    random: np.random.Generator, kappa_min: float, shape: tuple[int, int, int, int]
) -> tuple[q.Judgements, dict[str, float]]:
    """A crowd of (topics, documents per topic, assessors, votes per pair), and the truth.

    Of the topics and the assessors, the truth is that of the first.
    """
    topics, documents, assessors, votes = shape
    phi = random.random(3)
    while phi[1] + phi[2] <= 1:
        phi = random.random(3)
    kappa = kappa_min * random.random(3) ** (-1 / 1.5)
    sizes = (topics, assessors, assessors)
    members = [
        random.beta(k * p, k * (1 - p), n) for p, k, n in zip(phi, kappa, sizes, strict=True)
    ]
    topic = np.repeat(np.arange(topics), documents)
    z = random.random(len(topic)) < members[0][topic]
    pair = np.repeat(np.arange(len(topic)), votes)
    assessor = random.random((len(topic), assessors)).argsort(axis=1)[:, :votes].ravel()
    right = np.where(z[pair], members[2][assessor], members[1][assessor])
    grade = (random.random(len(pair)) < right) == z[pair]
    crowd = q.Judgements.of(
        [f"t{t:02d}" for t in topic[pair]],
        [f"d{i:04d}" for i in pair],
        [f"a{j:03d}" for j in assessor],
        grade.astype(int),
        scale=q.Scale((0, 1)),
    )
    truth = {f"phi_{kind}": float(x) for kind, x in zip(KINDS, phi, strict=True)}
    truth |= {f"kappa_{kind}": float(x) for kind, x in zip(KINDS, kappa, strict=True)}
    first = (0, assessor.min(), assessor.min())
    truth |= {k: float(m[i]) for k, m, i in zip(KINDS, members, first, strict=True)}
    return crowd, truth | {"relevant pairs": float(z.sum())}


def ranks(
    seed: int, kappa_min: float, shape: tuple[int, int, int, int], sweeps: int
) -> dict[str, int]:
    """The rank, 0 to DRAWS, of the truth of one crowd among draws far from each other."""
    random = np.random.default_rng([7, seed])
    crowd, truth = crowd_of(random, kappa_min, shape)
    method = q.HierBayes(sweeps=sweeps, draws=2 * sweeps, kappa_min=kappa_min, seed=seed)
    merged = method.fit(crowd)
    chains = merged.details["chains"]
    drawn: dict[str, Array] = {name: chains.pooled(name) for name in chains.values}
    assert merged.samples is not None
    drawn["relevant pairs"] = merged.samples.sum(axis=0)
    result = {}
    for name, true in truth.items():
        values = drawn[name].reshape(len(drawn[name]), -1)[:, 0]
        values = values[np.linspace(0, len(values) - 1, DRAWS).astype(int)]
        mark = values.dtype.type(true)  # as exact as the draws: near 1 there are ties
        ties = int(random.integers((values == mark).sum() + 1))
        result[name] = int((values < mark).sum()) + ties
    return result


def uniform(ranked: list[int]) -> tuple[Offsets, float]:
    """How many ranks fall into each bin, and the p value of the chi-square of that."""
    bins = np.bincount(np.array(ranked) * BINS // (DRAWS + 1), minlength=BINS)
    expected = len(ranked) / BINS
    statistic = float(((bins - expected) ** 2 / expected).sum())
    return bins, float(chi2.sf(statistic, BINS - 1))


def calibration(options: Options) -> None:
    """Ranks of the truth among draws, over simulated crowds, and how far from uniform they are."""
    warnings.simplefilter("ignore", DataWarning)
    shape = (6, 15, 12, 4)
    seeds = range(options.first_crowd, options.first_crowd + options.crowds)
    kinds = (0.1, 1.0)
    crowds = {
        kappa: [ranks(seed, kappa, shape, options.sweeps) for seed in seeds] for kappa in kinds
    }
    columns = [f"{what}, kappa_min {kappa:g}" for kappa in kinds for what in ("ranks", "p")]
    table = Table(
        "parameter",
        *columns,
        title=f"Ranks of the truth of {options.crowds} crowds, in {BINS} bins; topics, pairs per "
        f"topic, assessors, votes per pair {shape}; {options.sweeps} sweeps",
    )
    for name in crowds[kinds[0]][0]:
        cells = []
        for kappa in kinds:
            bins, p = uniform([crowd[name] for crowd in crowds[kappa]])
            cells += [" ".join(map(str, bins)), f"{p:.3f}"]
        table.row(name, *cells)


def main(options: Options) -> None:
    warnings.simplefilter("ignore", NotConvergedWarning)
    for part in (accuracy, fits, calibration, variants, vb, jags):
        if part.__name__ in options.parts:
            attempt(partial(part, options))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
