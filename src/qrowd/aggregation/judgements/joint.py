"""Assessors and documents in one model: what votes say, what texts say, how far to trust each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qrowd.aggregation.fit import Fitting, topic_folds
from qrowd.aggregation.revision import evidence, newton_step
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask, over
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Copula, Merged
from qrowd.registry import method, param

PERMUTATIONS, GATE = 20, 3.0  # of texts; standard deviations that real ones must be beyond them
SURE = 1.0  # standard error: evidence is weakened only where that is likely better
POWERS = np.linspace(1.0, 0.1, 10)  # of the votes' evidence
ENOUGH = 20  # gold pairs, of two topics or more, from which on gold chooses
ASSUMED = 20.0  # judgements that the assumed accuracy counts as
UNSEEN = 3.0  # the same, for each judgement of a pair that nobody else judged, where text is read
RIDGE, FREE = 0.1, 1e-3  # precision of predictors' weights, and of the intercept
PEOPLE, _STEPS = 10.0, 4  # precision of the weights of what is known of people; Newton's steps


@method(
    "joint",
    paper="qrowd, after Raykar et al. 2010",
    needs=("documents",),
    uses=("gold", "runs", "features", "people"),
    grades="binary",
)
class Joint:
    r"""Votes, the reliability of assessors, and the documents' text in one model.

    With $y_{ij}$ what assessor $j$ said of pair $i$ of topic $t$,

    $$\operatorname{logit} p_i = b_0 + u_t + \phi_i \cdot b + g\, \ell_i, \qquad
      \ell_i = \sum_j \log \frac{P(y_{ij} \mid 1)}{P(y_{ij} \mid 0)}$$

    where each assessor has a sensitivity and a specificity, drawn to the crowd's (`shrinkage`
    votes), and $\phi_i$ is what is known of the document: a score from its text, the runs' fused
    ranks and their square where runs are given, and further columns (`features`). Coins, $b$ and
    $u_t \sim N(0, 1)$ are learned together by EM. Assessors of whom more is known (`people`: a
    country, a language) are drawn to those like them (Carpenter 2011, section 10).

    **The text's score** of a document comes from the *other* documents of its topic: kernel ridge
    regression, leave one out in closed form, with the cosines $K$ and $r$ what votes alone say,

    $$c_i = r_i - \frac{[A^{-1} r]_i}{[A^{-1}]_{ii}}, \qquad A = K + \lambda I,$$

    $r$ less its mean in the topic. A document's own votes never enter its own score.

    **A gate.** Where the real texts agree with votes no better than permuted ones do (20 within
    each topic; 3 standard deviations), the text is left out, and that is said.

    **The power** $g$ is 1 where assessors err independently. Where they err together their
    evidence is counted too often. Since $c$ knows nothing of a document's own votes, it agrees best
    with $\operatorname{logit}^{-1}(b_0 + u_t + g \ell_i)$ where that is right: $g$ is the largest
    power that is within one standard error (over topics) of the best one. It needs two votes a
    pair; below that it is 1. With gold for 20 pairs of two topics or more, the power, and
    whether the text is used at all, are those with the smallest log loss on gold of topics that
    were held out.

    Labels that text has bent favour systems that match words: they are for training and for
    finding errors; to rank systems, merge without text. Draws are joint: documents that are alike
    share their fate as far as the text decided (`details["text_share"]`, by topic).

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 4, list("aacd"), ["ann", "bob", "ann", "bob"], [1, 1, 0, 0])
    >>> crowd = crowd.with_pool(q.Pairs.of(["t"], ["b"]))
    >>> vectors = q.Vectors.of("abcd", [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]])
    >>> merged = q.Joint(text="always").fit(crowd, q.Given(documents=vectors))
    >>> merged.qrels().grade.tolist()
    [1, 1, 0, 0]

    References: Raykar et al. 2010; Davtyan, Eickhoff & Hofmann 2015, section 5; Carpenter 2011,
    section 10. The leave-one-out score, the gate and the power are ours.
    """

    ridge: float = param(2.0, "how little the text's score trusts single neighbours", above=0)
    shrinkage: float = param(4.0, "votes by which an assessor is drawn to the crowd", above=0)
    power: float | None = param(None, "power of the votes; none: learned", above=0, at_most=1)
    text: str = param(
        "gate",
        "whether it is used; gate: if it tells something",
        choices=("gate", "always", "never"),
    )
    accuracy: float = param(
        0.8, "how often a vote is right, assumed where that cannot be learned", above=0.5, below=1
    )
    max_iter: int = param(500, "maximum number of EM iterations", at_least=1)
    tol: float = param(1e-4, "settled when no probability moves by more", above=0)
    clamp: bool = param(True, "gold fixes its pairs, teaches coins, and chooses the power")
    seed: int = param(0, "random seed of the permutations", at_least=0)

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The probability of relevance of every pair of the pool."""
        from scipy.special import expit

        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        model = _Model.of(self, fitting)
        alone = model.by_votes(fitting.gold)
        beyond = model.beyond_permuted(alone.relevant)
        reads = self.text == "always" or (self.text == "gate" and beyond > GATE)
        labelled = fitting.labelled
        topics = len(np.unique(fitting.judgements.pairs.topic[labelled]))
        if len(labelled) >= ENOUGH and topics > 1:
            power, reads = model.by_gold(fitting, labelled, reads)
        else:
            power = self.power or (model.power(alone) if reads else 1.0)
        if reads:
            whole = model.with_text(alone, fitting.gold, fitting)
        else:  # on from where it was, so that it is said if it has not settled
            whole = model.by_votes(fitting.gold, alone.relevant, fitting)
        odds = whole.prior + power * whole.votes
        share = model.text_share(whole, power)
        fitting.notes += _notes(beyond, power if self.power is None else 1.0, share)
        together = tuple(
            part * cosines + (1 - part) * np.eye(len(cosines))
            for cosines, part in zip(model.cosines, share, strict=True)
        )
        own = {
            "power": power,
            "text": reads,
            "beyond_permuted": beyond,
            "text_share": share,
            "before_votes": expit(whole.prior),
        }
        merged = fitting.merged(
            expit(np.stack([-odds, odds], axis=1)),
            {"sensitivity": whole.coins[1], "specificity": whole.coins[0]},
            keep_unvoted=True,
            details=Details(own=own),
            copula=Copula(together),
        )
        return merged if reads else without_text(merged)


def without_text(merged: Merged) -> Merged:
    """The same, known not to come from the documents, though they were given."""
    assert merged.provenance is not None
    return replace(merged, provenance=replace(merged.provenance, text=False))


def _notes(beyond: float, power: float, share: Floats) -> list[str]:
    told = f"texts agree with votes {beyond:.1f} standard deviations better than permuted ones"
    if share.any():
        spread = f"{share.mean():.2f} on average, {share.min():.2f} to {share.max():.2f} by topic"
        notes = [f"the text is used: {told}; its share in what tells documents apart: {spread}"]
    else:
        notes = [f"the text is left out: {told}"]
    if power < 1:
        notes.append(
            f"the votes' evidence counts with the power {power:.1f}: assessors err together, or "
            "some pairs are hard for all"
        )
    return notes


@dataclass(frozen=True, eq=False)
class _Believed:
    """Log odds of each pair before its votes and by them, and what they come from."""

    prior: Floats
    votes: Floats
    text: Floats  # what the text adds to `prior`
    coins: Floats  # [true grade, assessor]: how often they say so
    relevant: Floats


@dataclass(frozen=True, eq=False)
class _Model:
    """What EM works on: votes row by row, the topics' texts, predictors of pairs and of people."""

    method: Joint
    rows: Judgements
    weight: Floats
    places: tuple[slice, ...]  # of each topic's pairs
    cosines: tuple[Floats, ...]
    inverses: tuple[Floats, ...]
    further: Floats  # predictors of pairs beside the text
    people: Floats  # predictors of assessors

    @classmethod
    def of(cls, method: Joint, fitting: Fitting) -> _Model:
        rows, given = fitting.judgements, fitting.given
        places, cosines = zip(*fitting.alike(), strict=True)
        inverses = [np.linalg.inv(each + method.ridge * np.eye(len(each))) for each in cosines]
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        none = np.zeros((len(rows.assessors), 0))
        people = given.people.design(rows.assessors) if given.people else none
        further = [np.zeros((len(rows.pairs), 0))]
        if given.runs is not None:
            fused = evidence(given.runs, rows.pairs)
            further.append(np.stack([fused, fused * fused - 1], axis=1))
        if given.features is not None:
            further.append(given.features.design(rows.pairs.documents)[rows.pairs.document])
        return cls(
            method, rows, weight, places, cosines, tuple(inverses), np.hstack(further), people
        )

    # --- votes ------------------------------------------------------------------------------------

    def by_votes(
        self, gold: Grades, start: Floats | None = None, fitting: Fitting | None = None
    ) -> _Believed:
        """What is believed without the text."""
        rows, n = self.rows, len(self.rows.pairs)
        if start is None:
            yes = np.bincount(rows.pair, self.weight * rows.grade, n)
            start = (yes + 0.5) / (np.bincount(rows.pair, self.weight, n) + 1)
        return self._settle(start, None, gold, fitting)

    def with_text(
        self, alone: _Believed, gold: Grades, fitting: Fitting | None = None
    ) -> _Believed:
        """What is believed with it."""
        return self._settle(alone.relevant, self.score(alone.relevant), gold, fitting)

    def _settle(
        self,
        relevant: Floats,
        text: Floats | None,
        gold: Grades,
        fitting: Fitting | None,
    ) -> _Believed:
        """EM over coins and the regression, from probabilities of relevance on.

        `fitting` is told of its steps, where this is the fit and not a part of it.
        """
        from scipy.special import expit

        topic, n = self.rows.pairs.topic, len(relevant)
        spread = 0.0 if text is None else float(text.std())
        score = np.zeros((n, 0)) if not spread or text is None else text[:, None] / spread
        design = np.hstack([np.ones((n, 1)), score, self.further])
        ridge = np.full(design.shape[1], RIDGE)
        ridge[0] = FREE
        beta, shift = np.zeros(design.shape[1]), np.zeros(len(self.rows.pairs.topics))
        centre, relevant = np.zeros_like(beta), _clamped(relevant, gold)
        witnessed = (np.bincount(self.rows.pair, minlength=n) > 1) | (gold != UNKNOWN)
        steps = self.method.max_iter
        for _ in fitting.iterations(steps) if fitting else range(steps):
            coins = self.coins(relevant, witnessed, by_text=text is not None)
            votes = self.evidence(coins)
            beta, shift = newton_step(design, topic, relevant, beta, shift, centre, ridge)
            prior = design @ beta + shift[topic]
            before, relevant = relevant, _clamped(expit(prior + votes), gold)
            settled = bool(np.abs(relevant - before).max() < self.method.tol)
            if fitting:
                fitting.settled = settled
            elif settled:
                break
        added = score @ beta[1 : 1 + score.shape[1]]
        return _Believed(prior, votes, added, coins, relevant)

    def coins(self, relevant: Floats, witnessed: Mask, *, by_text: bool) -> Floats:
        """How often each assessor says so where a pair is not relevant, and where it is.

        `witnessed`: pairs that others judged too, or that have gold. Without a text nothing can be
        learned of the others' judges. With one it can, but a weak text and single votes would
        convince each other of anything: there an assumed accuracy counts more than they do.
        """
        rows, n, method = self.rows, len(self.rows.assessors), self.method
        seen = witnessed[rows.pair]
        weight = self.weight if by_text else self.weight * seen
        result = np.empty((2, n))
        for truth, share in enumerate((1 - relevant, relevant)):
            counted = weight * share[rows.pair]
            right, total = (
                np.asarray(np.bincount(rows.assessor, each, n), np.float64)
                for each in (counted * (rows.grade == truth), counted)
            )
            assumed = UNSEEN * float(counted[~seen].sum()) if by_text else ASSUMED
            usual = (right.sum() + 1 + assumed * method.accuracy) / (total.sum() + 2 + assumed)
            like = _like_people(right, total, float(usual), self.people)
            result[truth] = (right + method.shrinkage * like) / (total + method.shrinkage)
        return result

    def evidence(self, coins: Floats) -> Floats:
        """The log likelihood ratio of each pair's votes."""
        no, yes = coins
        said = np.stack([np.log((1 - yes) / no), np.log(yes / (1 - no))])
        each = said[self.rows.grade, self.rows.assessor] * self.weight
        return np.asarray(np.bincount(self.rows.pair, each, len(self.rows.pairs)), np.float64)

    # --- the text ---------------------------------------------------------------------------------

    def score(self, relevant: Floats, random: np.random.Generator | None = None) -> Floats:
        """What the topic's other documents say of each; `random`: with their texts permuted."""
        result = np.zeros(len(relevant))
        for place, inverse in zip(self.places, self.inverses, strict=True):
            r = relevant[place] - relevant[place].mean()
            order = np.arange(len(r)) if random is None else random.permutation(len(r))
            part = np.empty(len(r))
            part[order] = r[order] - inverse @ r[order] / np.diag(inverse)
            result[place] = part
        return result

    def beyond_permuted(self, relevant: Floats) -> float:
        """How much better texts agree with votes than permuted ones, in standard deviations."""
        random = np.random.default_rng(self.method.seed)
        permuted = [
            self._agreement(self.score(relevant, random), relevant).sum()
            for _ in range(PERMUTATIONS)
        ]
        real = self._agreement(self.score(relevant), relevant).sum()
        return float((real - np.mean(permuted)) / max(np.std(permuted, ddof=1), 1e-12))

    def _agreement(self, score: Floats, relevant: Floats) -> Floats:
        """The covariance of both within topics, by topic, each scaled over all of them."""
        topic = self.rows.pairs.topic
        x, y = _within(score, topic), _within(relevant, topic)
        total = float(np.sqrt((x @ x) * (y @ y)))
        by_topic = np.bincount(topic, x * y, len(self.rows.pairs.topics))
        return np.asarray(by_topic / max(total, 1e-300))

    def power(self, alone: _Believed) -> float:
        """The largest power of the votes' evidence with which they agree with the text as well as
        with any, as far as topics tell.
        """
        from scipy.special import expit

        rows = self.rows
        if len(rows) < 2 * len(np.unique(rows.pair)):
            return 1.0  # one vote cannot tell
        score = self.score(alone.relevant)
        agreed = [self._agreement(score, expit(alone.prior + g * alone.votes)) for g in POWERS]
        best = agreed[int(np.argmax([each.sum() for each in agreed]))]
        for power, each in zip(POWERS, agreed, strict=True):
            loss = best - each
            # topics are a sample: the standard error of a sum over them
            error = np.sqrt(len(loss)) * loss.std(ddof=1) if len(loss) > 1 else np.inf
            if loss.sum() <= SURE * error:
                return float(power)
        raise AssertionError("the best power is as good as itself")

    def by_gold(self, fitting: Fitting, labelled: Array, reads: bool) -> tuple[float, bool]:
        """The power, and whether to read the text: what predicts gold of held-out topics best."""
        method = self.method
        powers = POWERS if method.power is None else np.array([method.power])
        sign = np.where(fitting.gold[labelled] == 1, 1.0, -1.0)
        fold = topic_folds(self.rows.pairs, labelled)
        losses = np.zeros((2, len(powers)))  # without and with the text
        for out in (fold == part for part in np.unique(fold)):
            gold, held = fitting.gold.copy(), labelled[out]
            gold[held] = UNKNOWN
            alone = self.by_votes(gold)
            for way, each in enumerate([alone, self.with_text(alone, gold) if reads else alone]):
                odds = each.prior[held] + powers[:, None] * each.votes[held]
                losses[way] += np.logaddexp(0.0, -sign[out] * odds).sum(axis=1)
        losses[0] += np.inf if method.text == "always" else 0.0
        losses[1] += 0.0 if reads else np.inf
        way, at = divmod(int(np.argmin(losses)), len(powers))
        chosen = f"power {powers[at]:.1f}, {'with' if way else 'without'} the text"
        fitting.notes.append(f"{chosen}: what predicts gold of held-out topics best")
        return float(powers[at]), bool(way)

    def text_share(self, whole: _Believed, power: float) -> Floats:
        """By topic: how much of what tells its documents apart comes from the text."""
        topic = self.rows.pairs.topic
        text, votes = (
            np.bincount(topic, _within(part, topic) ** 2, len(self.rows.pairs.topics))
            for part in (whole.text, power * whole.votes)
        )
        used = [place.start for place in self.places]
        return np.nan_to_num(over(text, text + votes))[topic[used]]


def _clamped(relevant: Floats, gold: Grades) -> Floats:
    return np.where(gold == UNKNOWN, relevant, gold)


def _within(values: Floats, topic: Codes) -> Floats:
    """The values less the mean of their topic."""
    return values - over(np.bincount(topic, values), np.bincount(topic))[topic]


def _like_people(right: Floats, total: Floats, usual: float, people: Floats) -> Floats:
    """How often people like each assessor are right: a binomial regression on what is known of
    them, drawn to the crowd's usual rate.
    """
    from scipy.special import expit, logit

    rate, beta = np.full(len(right), usual), np.zeros(people.shape[1])
    for _ in range(_STEPS if len(beta) else 0):
        spread = total * rate * (1 - rate)
        inner = people.T @ (people * spread[:, None]) + PEOPLE * np.eye(len(beta))
        beta = beta + np.linalg.solve(inner, people.T @ (right - total * rate) - PEOPLE * beta)
        rate = expit(logit(usual) + people @ beta)
    return rate
