"""Enhanced Bayesian classifier combination: grades with subtypes, so that errors may correlate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qrowd.aggregation.confusion import confusion_columns
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Array, Floats
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param

MANY = 10
GAIN, MOVED = 0.01, 0.25  # of the bound, per judgement; share of pairs whose grade may change
APART = 0.2  # how far apart subtypes start: far apart they tear the grades themselves


@method("ebcc", paper="Li, Rubinstein & Cohn 2019", uses=("gold",))
class EBCC:
    r"""EBCC: each grade has subtypes, so that assessors' errors may correlate.

    `ds` takes assessors to err independently once the true grade is known. Here each pair of true
    grade $k$ also belongs to one of $M$ subtypes of that grade, the same for all assessors, and
    assessor $j$ has a row of the confusion matrix for each: where a subtype is hard, all who find
    it hard are wrong together.

    $$\tau \sim \mathrm{Dir}(\alpha), \quad \pi_k \sim \mathrm{Dir}(\tfrac{a}{M}, \dots,
      \tfrac{a}{M}), \quad v_{jkm} \sim \mathrm{Dir}(\beta_k), \quad
      z_i \sim \tau, \quad g_i \mid z_i \sim \pi_{z_i}, \quad y_{ij} \sim v_{j z_i g_i}$$

    with $\beta_{kl}$ = `right` if $l = k$, else `wrong`. The posterior is sought among products
    $q(z, g)\, q(\tau)\, q(\pi)\, q(v)$ (mean field), whose updates are

    $$q(z_i = k, g_i = m) \propto \exp\Big(E \log \tau_k + E \log \pi_{km} + \sum_j
      E \log v_{j k m y_{ij}}\Big)$$

    and Dirichlet distributions with the expected counts added; the lower bound of the evidence (the
    `trace`) never falls. It stops when the bound gains less than `tol` per judgement.

    With one subtype this is Bayesian `ds` (BCC; Kim & Ghahramani 2012). Unless `subtypes` is given,
    both 1 and 10 are fitted. A larger bound alone is no proof of subtypes: those of one grade may
    swallow another grade, and on crowds whose errors are independent a bound that is larger by
    0.0004 a judgement came with 11 % of the grades right instead of 92 %. So 10 are kept where the
    bound is larger by 0.01 a judgement or more and at most a quarter of the grades change (machine
    judges: 0.012 to 0.11, and 2 to 7 %), else 1, and that is said. The fit starts from the shares
    of votes, subtypes from the leading singular vectors of the residuals (what assessors said less
    what their matrices under the vote expect), not at random as in the paper: names and seeds do
    not matter.

    Subtypes allow for errors that correlate; they do not know which cluster is *relevant*. Where
    most assessors err alike, no method without gold can tell. Its probabilities are less
    overconfident than those of `ds`, and still too sure.

    Gold is certain and teaches the parameters; only pairs with votes take part.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> q.EBCC().fit(crowd).qrels().grade.tolist()
    [1, 0, 1]

    References: Li, Rubinstein & Cohn 2019 (ICML).
    """

    subtypes: int | None = param(None, "subtypes of each grade; none: 1 or 10", at_least=1)
    sparsity: float = param(
        0.1, "prior count of each subtype; small values leave some empty", above=0
    )
    right: float = param(4.0, "prior count of right answers, per row", above=0)
    wrong: float = param(1.0, "prior count of each wrong answer", above=0)
    tol: float = param(1e-7, "stop when the bound gains less per judgement", above=0)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "treat gold as certain, and learn from it")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, and the assessors' confusion matrices."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        votes = _Votes.of(fitting)
        sizes = (1, MANY) if self.subtypes is None else (self.subtypes,)
        states = [_State.of(self, votes, size) for size in sizes]
        enough = self.tol * max(len(fitting.judgements), 1)
        for _ in fitting.iterations(self.max_iter):
            for state in states:
                state.step(enough)
            fitting.gain(max(state.trace[-1] for state in states))
            fitting.settled = all(state.settled for state in states)
        best, reason = states[0], " (given)"
        if len(states) > 1:
            one, many = states
            gain = (many.trace[-1] - one.trace[-1]) / max(len(fitting.judgements), 1)
            moved = float((one.grades != many.grades)[votes.voted].mean())
            best = many if gain >= GAIN and moved <= MOVED else one
            reason = (
                f", by evidence: {MANY} gain {gain:+.4f} a judgement (log of the bound; {GAIN:g} "
                f"or more is asked for) and change {moved:.1%} of the grades (at most {MOVED:.0%})"
            )
        fitting.trace = best.trace
        fitting.notes.append(f"subtypes of each grade: {best.member.shape[2]}{reason}")
        counts = best.counts.reshape(*best.counts.shape[:3], -1).sum(axis=3)
        columns = confusion_columns(counts, fitting.judgements.scale)
        details = Details(own={"subtypes": best.shares})
        return fitting.merged(best.member.sum(axis=2), columns, details=details)


@dataclass(frozen=True, eq=False)
class _Votes:
    """Sparse votes[pair, assessor * grades + grade] of the voted pairs, and where they start."""

    sparse: Any
    turned: Any
    start: Floats
    gold: Floats
    voted: Any

    @classmethod
    def of(cls, fitting: Fitting) -> _Votes:
        from scipy.sparse import csr_array

        rows, size = fitting.judgements, len(fitting.judgements.scale)
        cell = rows.assessor.astype(np.int64) * size + rows.grade
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        shape = (len(rows.pairs), len(rows.assessors) * size)
        votes = csr_array((weight, (rows.pair, cell)), shape=shape)
        closed = (fitting.gold != UNKNOWN)[:, None] & (fitting.gold[:, None] != np.arange(size))
        barred = np.where(closed, -np.inf, 0.0)
        return cls(votes, votes.T.tocsr(), fitting.shares(), barred, fitting.voted)

    @property
    def size(self) -> int:
        """The number of grades."""
        return int(self.start.shape[1])


@dataclass(eq=False)
class _State:
    """Q of one number of subtypes: member[pair, grade, subtype], counts[assessor, said, true, m].

    `beta[said, true]` and `spread` are the prior counts of answers and of subtypes.
    """

    votes: _Votes
    member: Floats
    beta: Floats
    spread: float
    counts: Floats = field(default_factory=lambda: np.zeros(0))
    shares: Floats = field(default_factory=lambda: np.zeros(0))
    trace: list[float] = field(default_factory=list)
    settled: bool = False

    @property
    def grades(self) -> Array:
        """The likeliest grade of each pair."""
        return np.asarray(self.member.sum(axis=2).argmax(axis=1))

    @classmethod
    def of(cls, model: EBCC, votes: _Votes, subtypes: int) -> _State:
        beta = np.full((votes.size, votes.size), model.wrong)
        np.fill_diagonal(beta, model.right)
        member = votes.start[:, :, None] * _first_subtypes(votes, subtypes)[:, None, :]
        return cls(votes, member, beta, model.sparsity / subtypes)

    def step(self, enough: float) -> None:
        """One update of everything, unless it has settled."""
        if self.settled:
            return
        votes, (pairs, size, subtypes) = self.votes, self.member.shape
        inside = self.member * votes.voted[:, None, None]
        counts = votes.turned @ inside.reshape(pairs, -1)
        self.counts = counts.reshape(-1, size, size, subtypes)
        of_subtype = inside.sum(axis=0)
        of_grade = of_subtype.sum(axis=1)
        answer, answers_lost = _dirichlet(self.counts, self.beta[None, :, :, None], 1)
        within, subtypes_lost = _dirichlet(of_subtype, np.array(self.spread), 1)
        share, grades_lost = _dirichlet(of_grade, np.array(1.0), 0)
        score = votes.sparse @ answer.reshape(-1, size * subtypes)
        score += (within + share[:, None]).reshape(-1)
        score += np.repeat(votes.gold, subtypes, axis=1)
        top = score.max(axis=1, keepdims=True)
        odds = np.exp(score - top)
        total = odds.sum(axis=1, keepdims=True)
        self.member = (odds / total).reshape(pairs, size, subtypes)
        self.shares = of_subtype / np.maximum(of_grade[:, None], 1e-300)
        fitted = float((top + np.log(total))[votes.voted].sum())
        self.trace.append(fitted - answers_lost - subtypes_lost - grades_lost)
        self.settled = len(self.trace) > 1 and abs(self.trace[-1] - self.trace[-2]) < enough


def _dirichlet(counts: Floats, prior: Floats, axis: int) -> tuple[Floats, float]:
    """Expected logs under Dirichlet(prior + counts), and its divergence from the prior."""
    from scipy.special import digamma, gammaln

    before = np.broadcast_to(prior, counts.shape)
    after = before + counts
    total = after.sum(axis=axis, keepdims=True)
    logs = digamma(after) - digamma(total)
    constants = gammaln(total).sum() - gammaln(after).sum() + gammaln(before).sum()
    constants -= gammaln(before.sum(axis=axis)).sum()
    return np.asarray(logs), float(constants + (counts * logs).sum())


def _first_subtypes(votes: _Votes, subtypes: int) -> Floats:
    """Where each pair starts: subtypes lie on both ends of the residuals' main directions."""
    pairs = len(votes.start)
    ends = min(subtypes // 2, min(votes.sparse.shape) - 1)
    place = np.zeros((pairs, subtypes))
    if ends > 0 and votes.sparse.nnz:
        from scipy.sparse.linalg import svds

        residual = _residuals(votes)
        first = np.random.default_rng(0).normal(size=min(residual.shape))
        ways = svds(residual, k=ends, v0=first)[0] * (APART * np.sqrt(pairs))
        place[:, : 2 * ends] = np.concatenate([ways, -ways], axis=1)
    odds = np.exp(place - place.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _residuals(votes: _Votes) -> Any:
    """What each assessor said, less what the vote's matrices expect: sparse, like the votes."""
    from scipy.sparse import csr_array

    size, rows = votes.size, votes.sparse.tocoo()
    counts = (votes.turned @ votes.start).reshape(-1, size, size) + 1.0
    chance = counts / counts.sum(axis=1, keepdims=True)
    assessor, answer = np.divmod(rows.col, size)
    parts = []
    for grade in range(size):
        expected = (chance[assessor, grade] * votes.start[rows.row]).sum(axis=1)
        parts.append(rows.data * ((answer == grade) - expected))
    where = (np.tile(rows.row, size), np.concatenate([assessor * size + g for g in range(size)]))
    return csr_array((np.concatenate(parts), where), shape=rows.shape)
