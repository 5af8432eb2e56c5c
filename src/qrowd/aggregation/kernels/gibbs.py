"""Gibbs sampling of the hierarchical model: one chain's sweeps, compiled.

Populations are numbered: 0 holds the topics' prevalences, 1 + c the assessors' rows for true grade
c. Each population has a mean `phi` (a distribution over the grades) and a size `kappa`; its members
have counts[member, grade]. The members' own parameters are integrated out of the updates of `phi`
and `kappa` (a Dirichlet-multinomial likelihood, which sees only how often each count occurs), and
prevalence is integrated out of the updates of z.

Pairs are ordered so that those with equally many judgements stand together, judgements column by
column: the loop that adds log odds has no branch. Counts are gathered, cell by cell, not scattered.
The generator is splitmix64, a hash of a counter: one stream per chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Grades, Offsets
from qrowd.kernel import kernel

FEW = 4096  # counts below this are histogrammed, larger ones are listed one by one
FLOOR = 1e-300  # gamma draws below this are lifted to it: log ratios stay finite
_GOLDEN, _M1, _M2 = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_U30, _U27, _U31, _U11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_LAYER = np.uint64(127)


def _ziggurat() -> Floats:
    """The edges of the 128 layers of equal area under the normal density (Doornik 2005)."""
    edge = np.zeros(129)
    edge[1], area = 3.442619855899, 9.91256303526217e-3
    edge[0] = area / np.exp(-0.5 * edge[1] ** 2)
    for i in range(2, 128):
        edge[i] = np.sqrt(-2 * np.log(area / edge[i - 1] + np.exp(-0.5 * edge[i - 1] ** 2)))
    return edge


_EDGE = _ziggurat()


class Crowd(NamedTuple):
    """The data, coded, without change during the run.

    Pairs without gold come first, in groups of equally many judgements; group g holds the pairs
    first[g]..first[g + 1] and its judgements are columns[at[g] :] as [judgement, pair].
    """

    first: Offsets
    at: Offsets
    columns: Codes  # cell = assessor * grades + grade
    column_weight: Floats  # empty: every judgement weighs 1
    topic: Codes
    cell_starts: Offsets  # by cell, all judgements: whose z they look at
    cell_pairs: Codes
    cell_weight: Floats
    total: Floats  # by cell, all judgements' weights
    kappa_min: float
    pareto: float


class State(NamedTuple):
    """Where one chain is; every array is written in place."""

    random: Array  # uint64[1]
    z: Grades
    phi: Floats  # [populations, grades]
    kappa: Floats  # [populations]
    width: Floats  # [populations, 1 + grades], of the slices
    counts: Floats  # [grades, assessors * grades]
    topic_counts: Floats  # [topics, grades]
    theta: Floats  # [grades, assessors * grades]
    pi: Floats  # [topics, grades]
    likelihood: Floats  # [grades, free pairs], scratch
    value: Floats  # [1 + grades, members], scratch: the distinct counts of a population ...
    times: Floats  # ... and how often each occurs; the last row is for the totals
    histogram: Offsets  # [FEW], zero between uses


class Record(NamedTuple):
    """What one chain leaves behind."""

    hyper: Floats  # [sweeps, populations, grades + 1]: phi, then kappa
    accuracy: Array  # float32[kept sweeps, assessors, grades]: P(says c | is c)
    prevalence: Array  # float32[kept sweeps, topics, grades - 1]
    z: Grades  # [draws, pairs]
    p: Floats  # [grades - 1, free pairs], sums of P(z = c | rest)
    confusion: Floats  # [grades, assessors * grades], sums; empty for two grades


# --- random numbers -------------------------------------------------------------------------------


@kernel
def _bits(random: Array) -> np.uint64:
    """64 random bits."""
    random[0] += _GOLDEN
    x = random[0]
    x = (x ^ (x >> _U30)) * _M1
    x = (x ^ (x >> _U27)) * _M2
    return np.uint64(x ^ (x >> _U31))


@kernel
def _uniform(random: Array) -> float:
    """A number in (0, 1)."""
    return (np.int64(_bits(random) >> _U11) + 0.5) * 1.1102230246251565e-16


@kernel
def _normal(random: Array) -> float:
    """A standard normal draw."""
    while True:
        bits = _bits(random)
        layer = np.int64(bits & _LAYER)
        u = (np.int64(bits >> _U11) + 0.5) * 2.220446049250313e-16 - 1.0
        x = u * _EDGE[layer]
        if abs(x) < _EDGE[layer + 1]:
            return float(x)
        if layer == 0:  # the tail
            while True:
                x = np.log(_uniform(random)) / _EDGE[1]
                if -2.0 * np.log(_uniform(random)) > x * x:
                    return float(x - _EDGE[1] if u < 0.0 else _EDGE[1] - x)
        low = np.exp(0.5 * (x * x - _EDGE[layer] ** 2))
        high = np.exp(0.5 * (x * x - _EDGE[layer + 1] ** 2))
        if low + _uniform(random) * (high - low) < 1.0:
            return float(x)


@kernel
def _gamma(random: Array, shape: float) -> float:
    """A gamma draw (Marsaglia & Tsang 2000), at least FLOOR."""
    boost = 1.0
    if shape < 1.0:
        boost = np.exp(np.log(_uniform(random)) / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = _normal(random)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = _uniform(random)
        if u < 1.0 - 0.0331 * x * x * x * x or np.log(u) < 0.5 * x * x + d * (1.0 - v + np.log(v)):
            return float(max(d * v * boost, FLOOR))


# --- hyperparameters ------------------------------------------------------------------------------


@kernel
def _log_gamma(x: float) -> float:
    """Stirling's series for x > 0; the error stays below 1e-11."""
    product = 1.0
    while x < 8.0:
        product *= x
        x += 1.0
    r = 1.0 / x
    q = r * r
    series = r * (1.0 / 12.0 - q * (1.0 / 360.0 - q * (1.0 / 1260.0 - q / 1680.0)))
    return float((x - 0.5) * np.log(x) - x + 0.9189385332046727 + series - np.log(product))


@kernel
def _rising(a: float, value: Floats, times: Floats) -> float:
    """The sum of times * log(Gamma(a + value) / Gamma(a)); times 0 ends the list."""
    total = 0.0
    seen = 0.0
    for i in range(len(value)):
        if times[i] == 0.0:
            break
        total += times[i] * _log_gamma(a + value[i])
        seen += times[i]
    return total - seen * _log_gamma(a)


@kernel
def _distinct(counts: Floats, histogram: Offsets, value: Floats, times: Floats) -> None:
    """List the distinct counts above 0 and how often each occurs; times 0 ends the list."""
    n = 0
    top = 0
    for count in counts:
        at = int(count)
        if at == count and at < FEW:
            histogram[at] += 1
            top = max(top, at)
        else:
            value[n] = count
            times[n] = 1.0
            n += 1
    for at in range(1, top + 1):
        if histogram[at] > 0:
            value[n] = at
            times[n] = histogram[at]
            n += 1
    histogram[: top + 1] = 0
    if n < len(times):
        times[n] = 0.0


@kernel
def _honest(phi: Floats, population: int) -> bool:
    """No two true grades would be better explained with their names swapped."""
    c = population - 1
    if c < 0:
        return True
    for d in range(phi.shape[1]):
        if d != c and phi[1 + c, c] + phi[1 + d, d] <= phi[1 + c, d] + phi[1 + d, c]:
            return False
    return True


@kernel
def _others(row: Floats, which: int) -> float:
    """The sum of the other entries; 1 - row[which] would lose all digits where that is near 1."""
    total = 0.0
    for g in range(len(row)):
        total += row[g] if g != which else 0.0
    return total


@kernel
def _density(
    x: float,
    which: int,
    population: int,
    row: Floats,
    phi: Floats,
    kappa: Floats,
    value: Floats,
    times: Floats,
    kappa_min: float,
    pareto: float,
) -> float:
    """The log posterior of log kappa (which < 0) or of logit phi[which], members integrated out.

    phi[which] moves along the line on which the other grades keep their proportions. `row` holds
    phi as it was; phi and kappa are left at the place that was looked at.
    """
    grades = len(row)
    if which < 0:
        kappa[population] = np.exp(x)
        if kappa[population] < kappa_min:
            return -np.inf
        result = -pareto * x - _rising(kappa[population], value[grades], times[grades])
    else:
        share = 1.0 / (1.0 + np.exp(-x))
        rest = 1.0 / (1.0 + np.exp(x))
        others = _others(row, which)
        for g in range(grades):
            phi[population, g] = row[g] * rest / others
        phi[population, which] = share
        if not _honest(phi, population):
            return -np.inf
        result = np.log(share) + (grades - 1) * np.log(rest)
    for g in range(grades):
        if phi[population, g] < 1e-12:
            return -np.inf
        result += _rising(kappa[population] * phi[population, g], value[g], times[g])
    return result


@kernel
def _slice(
    which: int,
    population: int,
    phi: Floats,
    kappa: Floats,
    width: Floats,
    value: Floats,
    times: Floats,
    kappa_min: float,
    pareto: float,
    random: Array,
    adapt: bool,
) -> None:
    """One slice-sampling update (Neal 2003: stepping out, shrinking) of one coordinate."""
    row = phi[population].copy()
    x = np.log(kappa[population])
    if which >= 0:
        x = np.log(row[which]) - np.log(_others(row, which))
    step = width[population, which + 1]
    lo = x - step * _uniform(random)
    hi = lo + step
    level = np.inf
    new = x
    stage = 0  # 0: the height, 1: stepping out below, 2: above, 3: shrinking
    while True:
        at = x if stage == 0 else lo if stage == 1 else hi if stage == 2 else new
        height = _density(at, which, population, row, phi, kappa, value, times, kappa_min, pareto)
        if stage == 0:
            level = height + np.log(_uniform(random))
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
        width[population, which + 1] = max(0.95 * step + 0.15 * abs(new - x), 1e-3)


@kernel
def _population(
    population: int,
    counts: Floats,
    phi: Floats,
    kappa: Floats,
    width: Floats,
    value: Floats,
    times: Floats,
    histogram: Offsets,
    kappa_min: float,
    pareto: float,
    random: Array,
    adapt: bool,
) -> None:
    """Update the phi and kappa of one population from its members' counts[member, grade]."""
    grades = counts.shape[1]
    for g in range(grades):
        _distinct(counts[:, g], histogram, value[g], times[g])
    _distinct(counts.sum(axis=1), histogram, value[grades], times[grades])
    for which in range(-1, grades if grades > 2 else 1):
        _slice(
            which,
            population,
            phi,
            kappa,
            width,
            value,
            times,
            kappa_min,
            pareto,
            random,
            adapt,
        )


@kernel
def _column_evidence(a: float, counts: Floats, histogram: Offsets, room: Floats) -> float:
    """The sum over members of log(Gamma(a + count) / Gamma(a))."""
    _distinct(counts, histogram, room[0], room[1])
    return _rising(a, room[0], room[1])


@kernel
def _swap(
    counts: Floats,
    topic_counts: Floats,
    z: Grades,
    phi: Floats,
    kappa: Floats,
    histogram: Offsets,
    room: Floats,
    random: Array,
) -> None:
    """Metropolis: exchange the names of two true grades in z; the populations stay as they are.

    This is the way out for a chain that a misleading vote started in the mirror.
    """
    grades = len(counts)
    c = int(_uniform(random) * grades)
    d = (c + 1 + int(_uniform(random) * (grades - 1))) % grades
    gain = 0.0
    for one, other in ((c, d), (d, c)):
        a = kappa[0] * phi[0, one]
        gain += _column_evidence(a, topic_counts[:, other], histogram, room)
        gain -= _column_evidence(a, topic_counts[:, one], histogram, room)
        own = counts[one].reshape(-1, grades)
        new = counts[other].reshape(-1, grades)
        for g in range(grades):
            a = kappa[1 + one] * phi[1 + one, g]
            gain += _column_evidence(a, new[:, g], histogram, room)
            gain -= _column_evidence(a, own[:, g], histogram, room)
        gain -= _column_evidence(kappa[1 + one], new.sum(axis=1), histogram, room)
        gain += _column_evidence(kappa[1 + one], own.sum(axis=1), histogram, room)
    if np.log(_uniform(random)) >= gain:
        return
    for i in range(len(z)):
        if z[i] == c:
            z[i] = d
        elif z[i] == d:
            z[i] = c
    kept = counts[c].copy()
    counts[c] = counts[d]
    counts[d] = kept
    column = topic_counts[:, c].copy()
    topic_counts[:, c] = topic_counts[:, d]
    topic_counts[:, d] = column


@kernel
def _members(counts: Floats, phi: Floats, kappa: float, random: Array, out: Floats) -> None:
    """Draw every member's distribution over the grades given its counts[member, grade]."""
    grades = counts.shape[1]
    for m in range(len(counts)):
        total = 0.0
        for g in range(grades):
            out[m, g] = _gamma(random, kappa * phi[g] + counts[m, g])
            total += out[m, g]
        for g in range(grades):
            out[m, g] /= total


# --- relevance ------------------------------------------------------------------------------------


@kernel
def _add_columns(
    first: Offsets, at: Offsets, columns: Codes, weight: Floats, log_odds: Floats, out: Floats
) -> None:
    """The sum of the log odds of each free pair's judgements."""
    out[:] = 0.0
    weighted = len(weight) > 0
    for group in range(len(first) - 1):
        size = first[group + 1] - first[group]
        odds = out[first[group] : first[group + 1]]
        for begin in range(at[group], at[group + 1], size):
            cells = columns[begin : begin + size]
            if weighted:
                shares = weight[begin : begin + size]
                for i in range(size):
                    odds[i] += shares[i] * log_odds[cells[i]]
            else:
                for i in range(size):
                    odds[i] += log_odds[cells[i]]


@kernel
def _exp(x: float) -> float:
    """Exp for |x| <= 600 within 1e-14, in a form that the compiler can vectorise."""
    k = np.floor(x * 1.4426950408889634 + 0.5)
    q = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10
    y = 1.0 / 3628800.0 + q / 39916800.0
    y = 1.0 / 40320.0 + q * (1.0 / 362880.0 + q * y)
    y = 1.0 / 720.0 + q * (1.0 / 5040.0 + q * y)
    y = 1.0 / 24.0 + q * (1.0 / 120.0 + q * y)
    y = 0.5 + q * (1.0 / 6.0 + q * y)
    y = 1.0 + q * (1.0 + q * y)
    return float(y * np.int64((np.int64(k) + 1023) << 52).view(np.float64))


@kernel
def _exponentiate(odds: Floats) -> None:
    """Exp of the log odds [grades, pairs] against grade 0, scaled so that nothing overflows."""
    grades, pairs = odds.shape
    if grades == 2:
        for i in range(pairs):
            odds[1, i] = _exp(min(max(odds[1, i], -600.0), 600.0))
        return
    for i in range(pairs):
        top = 0.0
        for c in range(1, grades):
            top = max(top, odds[c, i])
        odds[0, i] = _exp(max(-top, -600.0))
        for c in range(1, grades):
            odds[c, i] = _exp(max(odds[c, i] - top, -600.0))


@kernel
def _draw_binary(
    likelihood: Floats,
    topic: Codes,
    prior: Floats,
    z: Grades,
    topic_counts: Floats,
    random: Array,
    p: Floats,
    keep: bool,
) -> None:
    """Draw every free pair's z given theta and the other pairs' z, prevalence integrated out."""
    for i in range(len(likelihood)):
        t = np.uint32(topic[i])
        old = z[i]
        one = (prior[1] + topic_counts[t, 1] - old) * likelihood[i]
        total = one + prior[0] + topic_counts[t, 0] - (1 - old)
        new = np.int8(_uniform(random) * total < one)
        if keep:
            p[i] += one / total
        z[i] = new
        topic_counts[t, 1] += new - old
        topic_counts[t, 0] -= new - old


@kernel
def _draw_graded(
    likelihood: Floats,
    topic: Codes,
    prior: Floats,
    z: Grades,
    topic_counts: Floats,
    random: Array,
    p: Floats,
    keep: bool,
) -> None:
    """The same for any number of grades."""
    grades, pairs = likelihood.shape
    share = np.zeros(grades)
    for i in range(pairs):
        counts = topic_counts[topic[i]]
        counts[z[i]] -= 1.0
        total = 0.0
        for c in range(grades):
            share[c] = (prior[c] + counts[c]) * likelihood[c, i]
            total += share[c]
        coin = _uniform(random) * total
        new = 0
        below = share[0]
        for c in range(1, grades):
            new += coin >= below
            below += share[c]
            if keep:
                p[c - 1, i] += share[c] / total
        z[i] = new
        counts[new] += 1.0


@kernel
def _count(
    starts: Offsets, pairs: Codes, weight: Floats, z: Grades, grade: int, out: Floats
) -> None:
    """The judgements of each cell (assessor, grade said) on pairs whose z is `grade`."""
    wanted = np.int8(grade)
    weighted = len(weight) > 0
    for cell in range(len(out)):
        if weighted:
            total = 0.0
            for k in range(starts[cell], starts[cell + 1]):
                total += weight[k] if z[pairs[k]] == wanted else 0.0
            out[cell] = total
        else:
            found = np.int64(0)
            for k in range(np.uint64(starts[cell]), np.uint64(starts[cell + 1])):
                found += np.int8(z[np.uint32(pairs[k])] == wanted)
            out[cell] = found


# --- a chain --------------------------------------------------------------------------------------


@kernel
def _note(sweep: int, warmup: int, state: State, record: Record) -> None:
    """Write down where the chain is after a sweep."""
    grades = len(state.theta)
    record.hyper[sweep, :, :grades] = state.phi
    record.hyper[sweep, :, grades] = state.kappa
    at = sweep - warmup
    if at < 0:
        return
    for c in range(grades):
        record.accuracy[at, :, c] = state.theta[c].reshape(-1, grades)[:, c]
    record.prevalence[at] = state.pi[:, 1:]
    if len(record.confusion):
        record.confusion[:] += state.theta
    kept, draws = len(record.accuracy), len(record.z)
    if (at + 1) * draws // kept > at * draws // kept:
        record.z[at * draws // kept] = state.z


@kernel
def sweeps(
    first: int, last: int, warmup: int, scans: int, crowd: Crowd, state: State, record: Record
) -> None:
    """The sweeps first..last of one chain: hyperparameters, then members and relevance."""
    grades = len(state.theta)
    random = state.random
    for sweep in range(first, last):
        adapt = sweep < warmup
        if state.likelihood.shape[1] == len(state.z):  # no gold tells the grades apart
            _swap(
                state.counts,
                state.topic_counts,
                state.z,
                state.phi,
                state.kappa,
                state.histogram,
                state.value,
                random,
            )
        for population in range(grades + 1):
            counts = state.topic_counts
            if population > 0:
                counts = state.counts[population - 1].reshape(-1, grades)
            _population(
                population,
                counts,
                state.phi,
                state.kappa,
                state.width,
                state.value,
                state.times,
                state.histogram,
                crowd.kappa_min,
                crowd.pareto,
                random,
                adapt,
            )
        for _ in range(1 if adapt else scans):
            for c in range(grades):
                counts = state.counts[c].reshape(-1, grades)
                rows = state.theta[c].reshape(-1, grades)
                _members(counts, state.phi[1 + c], state.kappa[1 + c], random, rows)
            for c in range(1, grades):
                _add_columns(
                    crowd.first,
                    crowd.at,
                    crowd.columns,
                    crowd.column_weight,
                    np.log(state.theta[c] / state.theta[0]),
                    state.likelihood[c],
                )
            _exponentiate(state.likelihood)
            prior = state.kappa[0] * state.phi[0]
            if grades == 2:
                _draw_binary(
                    state.likelihood[1],
                    crowd.topic,
                    prior,
                    state.z,
                    state.topic_counts,
                    random,
                    record.p[0],
                    not adapt,
                )
            else:
                _draw_graded(
                    state.likelihood,
                    crowd.topic,
                    prior,
                    state.z,
                    state.topic_counts,
                    random,
                    record.p,
                    not adapt,
                )
            state.counts[0] = crowd.total
            for c in range(1, grades):
                _count(
                    crowd.cell_starts,
                    crowd.cell_pairs,
                    crowd.cell_weight,
                    state.z,
                    c,
                    state.counts[c],
                )
                state.counts[0] -= state.counts[c]
            state.counts[0] = np.maximum(state.counts[0], 0.0)
        if sweep >= warmup:
            _members(state.topic_counts, state.phi[0], state.kappa[0], random, state.pi)
        _note(sweep, warmup, state, record)
