"""Gibbs sampling of the hierarchical model: one chain's sweeps, compiled.

Populations are numbered: 0 holds the topics' prevalences, 1 + c the assessors' rows for true grade
c. Each population has a mean `phi` (a distribution over the grades) and a size `kappa`; its members
have counts[population, member, grade]. The members' own distributions are integrated out of the
updates of `phi` and `kappa` (a Dirichlet-multinomial likelihood, which sees only how often each
count occurs), and prevalence is integrated out of the updates of z.

The generator is splitmix64, a hash of a counter: one stream per chain. Loops are written out:
assignments and sums of whole arrays would take numba seconds to compile.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Grades, Offsets
from qrowd.kernel import inner, kernel

FEW = 4096  # counts below this are histogrammed, larger ones are listed one by one
FLOOR = 1e-300  # gamma draws below this are lifted to it: log ratios stay finite
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_U30, _U27, _U31, _U11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


class Crowd(NamedTuple):
    """The data, coded, without change during the run: the pairs that take part and their votes."""

    starts: Offsets  # of each pair's judgements
    cell: Array  # uint32, of each judgement: assessor * grades + grade
    weight: Floats  # of each judgement
    topic: Codes
    gold: Grades  # -1 where it is unknown
    members: Offsets  # of each population
    anchored: bool  # by some gold, which tells the grades apart
    kappa_min: float
    pareto: float


class State(NamedTuple):
    """Where one chain is; every array is written in place."""

    random: Array  # uint64[1]
    z: Grades
    phi: Floats  # [populations, grades]
    kappa: Floats  # [populations]
    width: Floats  # [populations, 1 + grades], of the slices
    counts: Floats  # [populations, members, grades]
    cells: Floats  # the same numbers as [populations, members * grades]
    share: Floats  # [populations, members, grades]: each member's distribution
    odds: Floats  # [grades, cells], scratch: log odds of the grades against the lowest
    old: Floats  # [grades], scratch
    value: Floats  # [1 + grades, members], scratch: the distinct counts of a population ...
    times: Floats  # ... and how often each occurs; the last row is for the totals
    histogram: Offsets  # [FEW], zero between uses


class Record(NamedTuple):
    """What one chain leaves behind."""

    hyper: Floats  # [sweeps, populations, grades + 1]: phi, then kappa
    accuracy: Array  # float32[kept sweeps, assessors, grades]: P(says c | is c)
    prevalence: Array  # float32[kept sweeps, topics, grades - 1]
    z: Grades  # [draws, pairs]
    said: Array  # float32[draws, grades, assessors * grades]: P(says h | is c); empty for two
    p: Floats  # [pairs, grades], sums of P(z = c | rest)
    confusion: Floats  # [grades, assessors * grades], sums of P(says h | is c)


# --- random numbers -------------------------------------------------------------------------------


@inner
def _uniform(random: Array) -> float:
    """A number in (0, 1)."""
    random[0] += _GOLDEN
    x = random[0]
    x = (x ^ (x >> _U30)) * _M1
    x = (x ^ (x >> _U27)) * _M2
    x = x ^ (x >> _U31)
    return (np.int64(x >> _U11) + 0.5) * 1.1102230246251565e-16


@inner
def _gamma(random: Array, shape: float) -> float:
    """A gamma draw (Marsaglia & Tsang 2000), at least FLOOR; normal draws by the polar method."""
    d = shape - 1.0 / 3.0 if shape >= 1.0 else shape + 2.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = 2.0 * _uniform(random) - 1.0
        y = 2.0 * _uniform(random) - 1.0
        s = x * x + y * y
        if s >= 1.0:
            continue
        x *= math.sqrt(-2.0 * math.log(s) / s)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = _uniform(random)
        if u < 1.0 - 0.0331 * x * x * x * x:
            break
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            break
    boost = math.exp(math.log(_uniform(random)) / shape) if shape < 1.0 else 1.0
    return max(d * v * boost, FLOOR)


@inner
def _members(population: int, crowd: Crowd, state: State) -> None:
    """Draw every member's distribution over the grades given its counts."""
    grades = len(state.old)
    for m in range(crowd.members[population]):
        total = 0.0
        for g in range(grades):
            alpha = state.kappa[population] * state.phi[population, g]
            draw = _gamma(state.random, alpha + state.counts[population, m, g])
            state.share[population, m, g] = draw
            total += draw
        for g in range(grades):
            state.share[population, m, g] /= total


# --- hyperparameters ------------------------------------------------------------------------------


@inner
def _list(population: int, crowd: Crowd, state: State) -> None:
    """List, in row g of `value`, the distinct counts of grade g above 0 and how often each occurs,
    and those of the members' totals in the last row; times 0 ends a list.
    """
    grades = len(state.old)
    for at in range(1 + grades):
        value, times = state.value[at], state.times[at]
        n, top = 0, 0
        for m in range(crowd.members[population]):
            count = 0.0
            for g in range(grades):
                count += state.counts[population, m, g] if at in (g, grades) else 0.0
            whole = int(count)
            if whole == count and whole < FEW:
                state.histogram[whole] += 1
                top = max(top, whole)
            else:
                value[n], times[n] = count, 1.0
                n += 1
        for whole in range(top + 1):
            if whole > 0 and state.histogram[whole] > 0:
                value[n], times[n] = whole, state.histogram[whole]
                n += 1
            state.histogram[whole] = 0
        if n < len(times):
            times[n] = 0.0


@inner
def _rising(a: float, at: int, state: State) -> float:
    """The sum of times * log(Gamma(a + value) / Gamma(a)) over the list in row `at`."""
    total, seen = 0.0, 0.0
    for i in range(state.value.shape[1]):
        times = state.times[at, i]
        if times == 0.0:
            break
        total += times * math.lgamma(a + state.value[at, i])
        seen += times
    return total - seen * math.lgamma(a)


@inner
def _honest(phi: Floats, population: int) -> bool:
    """No two true grades would be better explained with their names swapped."""
    c = population - 1
    if c < 0:
        return True
    for d in range(phi.shape[1]):
        if d != c and phi[1 + c, c] + phi[1 + d, d] <= phi[1 + c, d] + phi[1 + d, c]:
            return False
    return True


@inner
def _density(x: float, which: int, population: int, crowd: Crowd, state: State) -> float:
    """The log posterior of log kappa (which < 0) or of logit phi[which], members integrated out.

    phi[which] moves along the line on which the other grades keep their proportions. `old` holds
    phi as it was; phi and kappa are left at the place that was looked at.
    """
    grades = len(state.old)
    phi, kappa = state.phi, state.kappa
    if which < 0:
        kappa[population] = math.exp(x)
        if kappa[population] < crowd.kappa_min:
            return -np.inf
        result = -crowd.pareto * x - _rising(kappa[population], grades, state)
    else:
        share, rest = 1.0 / (1.0 + math.exp(-x)), 1.0 / (1.0 + math.exp(x))
        others = 0.0  # 1 - old[which] would lose all digits where that is near 1
        for g in range(grades):
            others += state.old[g] if g != which else 0.0
        for g in range(grades):
            phi[population, g] = state.old[g] * rest / others if g != which else share
        if not _honest(phi, population):
            return -np.inf
        result = math.log(share) + (grades - 1) * math.log(rest)
    for g in range(grades):
        if phi[population, g] < 1e-12:
            return -np.inf
        result += _rising(kappa[population] * phi[population, g], g, state)
    return result


@inner
def _slice(which: int, population: int, crowd: Crowd, state: State, adapt: bool) -> None:
    """One slice-sampling update (Neal 2003: stepping out, shrinking) of one coordinate."""
    random, others = state.random, 0.0
    for g in range(len(state.old)):
        state.old[g] = state.phi[population, g]
        others += state.old[g] if g != which else 0.0
    x = math.log(state.old[which] / others) if which >= 0 else math.log(state.kappa[population])
    step = state.width[population, which + 1]
    lo = x - step * _uniform(random)
    hi = lo + step
    level, new = np.inf, x
    stage = 0  # 0: the height, 1: stepping out below, 2: above, 3: shrinking
    while True:
        at = x if stage == 0 else lo if stage == 1 else hi if stage == 2 else new
        height = _density(at, which, population, crowd, state)
        if stage == 0:
            level = height + math.log(_uniform(random))
            stage = 1
        elif stage == 1:
            if height > level:
                lo -= step
            else:
                stage = 2
        elif stage == 2 and height > level:
            hi += step
        else:
            if stage == 3:
                if height > level or new == x:
                    break
                if new < x:
                    lo = new
                else:
                    hi = new
            stage = 3
            new = lo + (hi - lo) * _uniform(random)
    if adapt:
        state.width[population, which + 1] = max(0.95 * step + 0.15 * abs(new - x), 1e-3)


@inner
def _swap(crowd: Crowd, state: State) -> None:
    """Metropolis: exchange the names of two true grades in z; the populations stay as they are.

    This is the way out for a chain that a misleading vote started in the mirror.
    """
    grades = len(state.old)
    c = int(_uniform(state.random) * grades)
    d = (c + 1 + int(_uniform(state.random) * (grades - 1))) % grades
    gain = 0.0
    for case in range(8):  # whose evidence: topics' or assessors', the own grade's or the other's
        owner, of = c if case & 2 else d, c if case & 1 else d
        sign = -1.0 if owner == of else 1.0
        if case == 0 or case >= 4:
            _list(1 + of if case >= 4 else case, crowd, state)
        if case < 4:
            gain += sign * _rising(state.kappa[0] * state.phi[0, owner], of, state)
            continue
        kappa = state.kappa[1 + owner]
        for g in range(1 + grades):
            a = kappa * state.phi[1 + owner, g] if g < grades else kappa
            gain += (sign if g < grades else -sign) * _rising(a, g, state)
    if math.log(_uniform(state.random)) >= gain:
        return
    for i in range(len(state.z)):
        if state.z[i] == c or state.z[i] == d:
            state.z[i] = c + d - state.z[i]
    for at in range(state.cells.shape[1]):
        kept = state.cells[1 + c, at]
        state.cells[1 + c, at] = state.cells[1 + d, at]
        state.cells[1 + d, at] = kept
    for t in range(crowd.members[0]):
        kept = state.counts[0, t, c]
        state.counts[0, t, c] = state.counts[0, t, d]
        state.counts[0, t, d] = kept


# --- relevance ------------------------------------------------------------------------------------


@inner
def _count_anew(crowd: Crowd, state: State) -> None:
    """Forget the judgements' counts; work out the log odds of every cell."""
    grades = len(state.old)
    for c in range(grades):
        for m in range(crowd.members[1]):
            for g in range(grades):
                ratio = state.share[1 + c, m, g] / state.share[1, m, g]
                state.odds[c, m * grades + g] = math.log(ratio)
                state.counts[1 + c, m, g] = 0.0


@inner
def _scan(crowd: Crowd, state: State, p: Floats, keep: bool) -> None:
    """Draw every free pair's z given the assessors' rows and the other pairs' z, prevalence
    integrated out, and count its judgements; with `keep`, add its probabilities to p[pair].

    One loop, for a call would hand over all of crowd and state at each pair.
    """
    grades, score = len(state.old), state.old
    for pair in range(len(state.z)):
        first, last, new = crowd.starts[pair], crowd.starts[pair + 1], state.z[pair]
        if crowd.gold[pair] < 0:
            counts = state.counts[0, crowd.topic[pair]]
            counts[new] -= 1.0
            score[0], shift, total = 0.0, 0.0, 0.0
            for c in range(1, grades):
                odds = 0.0
                for v in range(first, last):
                    odds += crowd.weight[v] * state.odds[c, crowd.cell[v]]
                score[c] = odds
                shift = max(shift, odds - 600.0)  # so that nothing overflows
            for c in range(grades):
                prior = state.kappa[0] * state.phi[0, c] + counts[c]
                if c > 0 or shift > 0.0:
                    prior *= math.exp(max(score[c] - shift, -600.0))
                score[c] = prior
                total += score[c]
            coin, below, new = _uniform(state.random) * total, 0.0, 0
            for c in range(grades):
                below += score[c]
                new += coin >= below and c + 1 < grades
                if keep:
                    p[pair, c] += score[c] / total
            counts[new] += 1.0
            state.z[pair] = new
        cells = state.cells[1 + new]
        for v in range(first, last):
            cells[crowd.cell[v]] += crowd.weight[v]


# --- a chain --------------------------------------------------------------------------------------


@inner
def _note(sweep: int, warmup: int, crowd: Crowd, state: State, record: Record) -> None:
    """Write down where the chain is after a sweep."""
    grades = len(state.old)
    for population in range(1 + grades):
        for g in range(grades):
            record.hyper[sweep, population, g] = state.phi[population, g]
        record.hyper[sweep, population, grades] = state.kappa[population]
    at = sweep - warmup
    if at < 0:
        return
    for t in range(crowd.members[0]):
        for c in range(1, grades):
            record.prevalence[at, t, c - 1] = state.share[0, t, c]
    draws, kept = len(record.z), len(record.accuracy)
    draw = at * draws // kept
    drawn = (at + 1) * draws // kept > draw
    for c in range(grades):
        for m in range(crowd.members[1]):
            record.accuracy[at, m, c] = state.share[1 + c, m, c]
            for g in range(grades):
                record.confusion[c, m * grades + g] += state.share[1 + c, m, g]
                if drawn and len(record.said) > 0:
                    record.said[draw, c, m * grades + g] = state.share[1 + c, m, g]
    if drawn:
        for pair in range(len(state.z)):
            record.z[draw, pair] = state.z[pair]


@kernel
def sweeps(
    first: int, last: int, warmup: int, scans: int, crowd: Crowd, state: State, record: Record
) -> None:
    """The sweeps first..last of one chain: hyperparameters, then members and relevance."""
    grades = len(state.old)
    for sweep in range(first, last):
        adapt = sweep < warmup
        if not crowd.anchored:
            _swap(crowd, state)
        for population in range(1 + grades):
            _list(population, crowd, state)
            for which in range(-1, grades if grades > 2 else 1):
                _slice(which, population, crowd, state, adapt)
        for _ in range(1 if adapt else scans):
            for population in range(1 + grades):
                _members(population, crowd, state)
            _count_anew(crowd, state)
            _scan(crowd, state, record.p, not adapt)
        _note(sweep, warmup, crowd, state, record)
