r"""What a crowd would say in the end, from what it has said so far: `FinalVote` and `progress`.

Pairs differ in the share of voters $\theta$ who would call them relevant. How they differ is
learned from all votes so far: a mixture over a grid of shares, by maximum likelihood. With $y$ of
$n$ votes on a pair, the chance that most of `most` votes say relevant is

$$q(y, n) = \sum_\theta P(\theta \mid y, n)\,
  P\big(y + \text{Binomial}(m - n, \theta) > \tfrac{m}{2}\big), \qquad m = \text{most},$$

a tie counting half. Everything else follows from it: `p_change`, the chance that the label is
another one in the end, and `worth`, by how much the next votes are expected to lower it. None of
it knows the truth: where the whole crowd errs, it agrees on what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qrowd.aggregation.revision import climbed
from qrowd.comparison.significance import wilson
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.sample import Sample
from qrowd.errors import ParameterError, ScaleError, UsageError

AHEAD = (1, 3)  # votes: where one alone cannot change a label, three may
GRID = 41  # shares of relevant votes that are told apart
RIDGE = np.array([1e-3, 0.1, 0.1])  # precision of the weights by which labels are wrong
FEWEST = 30  # gold pairs that tell how many labels are wrong
_STEPS = 300  # of EM
_SMOOTHING = 0.02  # pairs of each share, so that none becomes impossible


def refuse_more_grades(judgements: Judgements) -> None:
    """An error unless these are votes: of two grades."""
    if len(judgements.scale) != 2:
        raise ScaleError(
            f"votes must have two grades, got {' '.join(map(str, judgements.scale.grades))}; say "
            "from which grade on a pair is relevant: judgements.binary(at_least=...), on the "
            "command line --rel"
        )


def counts_of(judgements: Judgements) -> tuple[Codes, Codes]:
    """How many votes of each pair of the pool say relevant, and how many there are."""
    refuse_more_grades(judgements)
    if judgements.weight is not None:
        raise UsageError("these votes have weights: which one is next needs votes that count alike")
    n = len(judgements.pairs)
    votes = np.bincount(judgements.pair, minlength=n)
    yes = np.bincount(judgements.pair[judgements.grade == 1], minlength=n)
    return yes.astype(np.int32), votes.astype(np.int32)


@dataclass(frozen=True, eq=False)
class FinalVote:
    """What most of `most` voters would say, after `yes` of `votes` votes: tables [yes, votes].

    `relevant`: the chance that most of them say relevant. `following`: that the next one does.
    `divided`: that more than half of all voters are on the side which is less likely.

    >>> crowd = FinalVote.of(np.array([0, 1, 1, 5, 4, 0]), np.array([5, 5, 2, 5, 4, 4]), most=9)
    >>> p = crowd.p_change
    >>> bool(p[5, 5] < p[3, 4] < p[1, 2])
    True
    """

    most: int
    relevant: Floats
    following: Floats
    divided: Floats

    @classmethod
    def of(cls, yes: Array, votes: Array, most: int) -> FinalVote:
        """Learned from the votes of all pairs."""
        from scipy.special import xlog1py, xlogy

        if most < 1:
            raise ParameterError(f"most must be at least 1 vote, got {most}")
        share = (np.arange(GRID) + 0.5) / GRID

        def likelihood(yes: Array, no: Array) -> Floats:
            log = xlogy(yes[..., None], share) + xlog1py(no[..., None], -share)
            return np.asarray(np.exp(log - log.max(axis=-1, keepdims=True)))

        kinds, number = np.unique(np.stack([yes, votes - yes]), axis=1, return_counts=True)
        each, weight = likelihood(*kinds), np.full(GRID, 1 / GRID)
        for _ in range(_STEPS):
            posterior = weight * each
            posterior /= posterior.sum(axis=1, keepdims=True)
            weight = number @ posterior + _SMOOTHING
            weight /= weight.sum()

        y, n = np.indices((most + 1, most + 1))
        posterior = weight * likelihood(y, np.maximum(n - y, 0))
        posterior /= posterior.sum(axis=-1, keepdims=True)
        following = posterior @ share
        relevant = (np.sign(2 * y - most) + 1) / 2  # at the end
        for at in range(most - 1, -1, -1):
            relevant[:, at] = _one_vote_on(relevant, following)[:, at]
        half = posterior @ ((np.sign(share - 0.5) + 1) / 2)
        return cls(most, relevant, following, np.minimum(half, 1 - half))

    @property
    def p_change(self) -> Floats:
        """The chance that the label at `most` votes differs from the one now; a tie has the label
        that is likelier in the end.
        """
        y, n = np.indices(self.relevant.shape)
        now = np.sign(2 * y - n)
        label = np.where(now == 0, self.relevant > 0.5, now > 0)
        return np.where(label, 1 - self.relevant, self.relevant)

    @property
    def worth(self) -> Floats:
        """How much a vote is expected to lower the chance of a wrong guess at the final label:
        the best of one and of three votes ahead, by vote.
        """
        unsure = np.minimum(self.relevant, 1 - self.relevant)
        result = np.zeros_like(unsure)
        later = unsure
        for ahead in range(1, min(max(AHEAD), self.most) + 1):
            later = _one_vote_on(later, self.following)
            if ahead in AHEAD:
                there = slice(None), slice(0, self.most + 1 - ahead)  # so many votes are left
                result[there] = np.maximum(result[there], (unsure - later)[there] / ahead)
        return result

    def at(self, table: Floats, yes: Array, votes: Array) -> Floats:
        """A table's value for each pair; of more than `most` votes the share that fits counts."""
        n = np.minimum(votes, self.most)
        y = np.where(votes > n, np.rint(yes * (n / np.maximum(votes, 1))), yes)
        return np.asarray(table[y.astype(int), n])


def _one_vote_on(table: Floats, following: Floats) -> Floats:
    """What a table [yes, votes] is expected to say one vote later; at the end, what it says."""
    later = table.copy()
    yes, no = table[1:, 1:], table[:-1, 1:]
    later[:-1, :-1] = following[:-1, :-1] * yes + (1 - following[:-1, :-1]) * no
    return later


# --- what is decided ------------------------------------------------------------------------------

STATES = ("decided", "open", "stuck")


@dataclass(frozen=True, eq=False)
class Wrong:
    """How many labels are wrong by gold that was drawn at random: now, and `at_most` votes."""

    p_wrong: Floats  # of each pair
    mean: float
    low: float
    high: float
    at_most: float


@dataclass(frozen=True, eq=False)
class Decisions(Framed):
    """For each pair whether further votes would change its label: decided, open or stuck.

    `p_change` is the chance that the label at `most` votes of this crowd differs from the one now.
    It needs no gold, and says nothing of what is true. A pair is `decided` where that is at most
    `risk`. It is `stuck` where it has `most` votes, and which side the crowd is on is still unsure
    by more than `risk`: more votes of this crowd do not help it, an expert does. `wrong`, with gold
    only, is about the truth.
    """

    pairs: Pairs
    votes: Codes
    grade: Grades  # the label: what most say, or where they are tied what is likelier in the end
    state: Codes
    p_change: Floats
    most: int
    risk: float
    wrong: Wrong | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        listed = ", ".join(f"{n} {name}" for name, n in self.counts.items())
        return f"Decisions({listed}, at risk {self.risk:g} and at most {self.most} votes)"

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs are in each state."""
        count = np.bincount(self.state, minlength=len(STATES))
        return dict(zip(STATES, count.tolist(), strict=True))

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc votes label state p_change`, and `p_wrong` where gold tells."""
        columns: dict[str, Coded | Array] = {
            **self.pairs.frame_columns(),
            "votes": self.votes,
            "label": self.grade,
            "state": np.array(STATES, object)[self.state],
            "p_change": self.p_change,
        }
        return columns if self.wrong is None else columns | {"p_wrong": self.wrong.p_wrong}


def decisions(
    judgements: Judgements,
    *,
    most: int = 9,
    risk: float = 0.1,
    gold: Sample | None = None,
    level: float = 0.9,
) -> Decisions:
    """Which pairs further votes of this crowd would leave as they are.

    `gold`: human labels of pairs that were drawn at random (`qrowd sample`), before anybody looked
    at the votes, and voted on like all others. Then it is also told how many labels are wrong.

    >>> import qrowd as q
    >>> made = q.simulate(topics=5, documents=40, assessors=20, votes=4, seed=1)
    >>> q.decisions(made.judgements, most=9, risk=0.1)
    Decisions(144 decided, 56 open, 0 stuck, at risk 0.1 and at most 9 votes)
    """
    if not 0 < risk < 0.5:
        raise ParameterError(f"risk must be above 0 and below .5, got {risk:g}")
    yes, votes = counts_of(judgements)
    final = FinalVote.of(yes, votes, most)
    p_change = np.where(votes < most, final.at(final.p_change, yes, votes), 0.0)
    divided = final.at(final.divided, yes, votes)
    unsure = np.where(votes < most, p_change, divided)
    state = np.where(unsure <= risk, 0, np.where(votes < most, 1, 2))
    tied = 2 * yes == votes
    relevant = np.where(tied, final.at(final.relevant, yes, votes) > 0.5, 2 * yes > votes)
    scale = np.array(judgements.scale.grades)
    result = Decisions(
        judgements.pairs,
        votes,
        scale[relevant.astype(int)].astype(np.int8),
        state.astype(np.int32),
        p_change,
        most,
        risk,
    )
    if gold is None:
        return result
    wrong = _wrong(judgements, relevant, final, yes, votes, gold, level)
    notes = [
        f"about {wrong.mean:.0%} of labels are wrong now ({wrong.low:.0%} to {wrong.high:.0%}), "
        f"and about {wrong.at_most:.0%} at {most} votes each"
    ]
    if wrong.at_most > risk:
        notes.append(
            f"votes of this crowd do not bring errors down to {risk:.0%}: at {most} votes "
            f"{wrong.at_most:.0%} remain wrong"
        )
    return replace(result, wrong=wrong, notes=tuple(notes))


def _wrong(
    judgements: Judgements,
    relevant: Mask,
    final: FinalVote,
    yes: Codes,
    votes: Codes,
    gold: Sample,
    level: float,
) -> Wrong:
    """By a logistic regression, on gold, of whether a label is wrong: on how sure the crowd is, and
    on what it says, since a crowd may say yes too easily.
    """
    from scipy.special import expit, logit, ndtri

    if gold.by != "random":
        raise UsageError(
            f"how many labels are wrong is told by gold whose pairs were drawn at random, these "
            f"were drawn by {gold.by}"
        )
    at = judgements.pairs.locate(gold.pairs)
    if len(at) < FEWEST or (at < 0).any():
        strange = int((at < 0).sum())
        raise UsageError(
            f"how many labels are wrong is told by at least {FEWEST} gold pairs, all of them of "
            f"the pool: got {len(at)}{f', {strange} of them not in it' if strange else ''}"
        )
    sure = 1 - final.at(final.divided, yes, votes)
    design = np.stack([np.ones(len(sure)), logit(np.clip(sure, 0.5, 1 - 1e-6)), relevant], axis=1)
    missed = relevant[at] != (judgements.scale.codes_of_gold(gold.qrels.grade) == 1)
    # topics do not differ here: one shift, which is a part of the intercept
    none = np.zeros(len(at), np.int32)
    beta, shift = climbed(design[at], none, missed.astype(np.float64), 1, RIDGE)
    p_wrong = expit(design @ beta + shift)
    residual = missed - p_wrong[at]
    mean = float(np.clip(p_wrong.mean() + residual.mean(), 0, 1))
    # gold is a random part of this pool, and the larger that part, the surer; what the regression
    # explains is left out of it: where no gold is missed it would explain all
    worth = len(at) / max(1 - len(at) / len(sure), 1e-9)
    low, high = wilson(np.array([mean * worth]), np.array([worth]), float(ndtri((1 + level) / 2)))
    end = 1 - final.divided
    for _ in range(final.most):
        end = _one_vote_on(end, final.following)
    kept = (1 - mean) / sure.mean()  # of what the crowd is sure of so much is true
    at_most = float(np.clip(1 - kept * final.at(end, yes, votes).mean(), 0, 1))
    return Wrong(p_wrong, mean, float(low[0]), float(high[0]), at_most)
