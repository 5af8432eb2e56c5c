"""Labels of a base method, held against a classifier of the texts that never saw them."""

from __future__ import annotations

import numpy as np

from qrowd import registry
from qrowd.aggregation.fit import Fitting
from qrowd.aggregation.judgements.joint import without_text
from qrowd.comparison.label_measures import auc
from qrowd.data.arrays import Array, Floats, Mask
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param

FOLDS, FEWEST = 10, 3  # documents of either label from which on a topic's classifier can learn
GATE = 3.0  # standard deviations that the AUC must be above that of a classifier that knows nothing
TINY = 1e-10  # share of the largest eigenvalue


def bases() -> tuple[str, ...]:
    """Methods whose labels can be held against the texts: of two grades, from judgements alone."""
    cards = registry.cards().items()
    return tuple(id for id, card in cards if card.level == "judgements" and not card.needs)


@method(
    "skierarchy",
    paper="Piazzon 2019",
    needs=("documents",),
    uses=("gold",),
    grades="binary",
)
class Skierarchy:
    r"""A base method's labels, and what a classifier of the texts says against them.

    The batch part of Skierarchy, the best pools of the TREC 2012 crowdsourcing track. In each
    topic a logistic regression on the documents' tf-idf vectors $x_i$ learns the labels $y_i$ of
    the base method,

    $$\min_{w, b} \sum_i \log(1 + e^{-\pm_i (w \cdot x_i + b)}) + \tfrac{\lambda}{2} |w|^2,
      \qquad \pm_i = 2 y_i - 1,$$

    in ten folds, so that $q_i$, its probability that document $i$ is relevant, comes from
    documents other than $i$. Where $q_i$ and $y_i$ are on different sides of 1/2 the text
    *contradicts* the label (`details["contradicted"]`: what should be looked at again). What
    becomes of such a pair until somebody has looked is `rule`: the base method's answer stays, the
    classifier's is taken, or the mean of both. Pairs that nobody judged have the
    classifier's. Gold, such as experts' decisions, overrides both and teaches the classifier.

    A classifier that does not tell relevant documents from others is not used: its
    area under the curve within topics (`details["auc"]`) must be 3 standard deviations above 1/2.

    There, assessors look at what is contradicted once more; the rule for what nobody has looked at,
    the gate and the penalty are ours. To find errors, `next --goal errors`, which asks `joint`,
    is better.

    >>> import numpy as np
    >>> import qrowd as q
    >>> names = [f"d{at:02}" for at in range(24)]
    >>> vectors = q.Vectors.of(names, np.repeat(np.eye(2), 12, axis=0))
    >>> crowd = q.Judgements.of(["t"] * 24, names, ["ann"] * 24, [0] + [1] * 11 + [0] * 12)
    >>> merged = q.Skierarchy(rule="take").fit(crowd, q.Given(documents=vectors))
    >>> np.flatnonzero(merged.details["contradicted"]).tolist(), merged.qrels().grade[0]
    ([0], np.int8(1))

    References: Piazzon 2019, section 2.5.5; Nellapati, Peerreddy & Singhal 2012.
    """

    base: str = param("mv", "the method whose labels are held against the texts", names=bases)
    rule: str = param(
        "mix",
        "where the text contradicts a label: keep it, take the classifier's, or the mean of both",
        choices=("keep", "take", "mix"),
    )
    ridge: float = param(0.1, "penalty of the classifier's weights", above=0)
    clamp: bool = param(True, "gold fixes its pairs, and teaches the classifier")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The probability of relevance of every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        teaching = Given(gold=given.gold) if self.clamp else NOTHING
        merged = registry.get(self.base).fit(fitting.judgements, teaching)
        fitting.settled, fitting.steps = merged.fit.converged, merged.fit.iterations
        posterior, fixed = fitting.clamped(merged.posterior), fitting.gold != UNKNOWN
        known, label = fitting.voted | fixed, posterior[:, 1] > 0.5
        coins = fitting.judgements.pairs.hashes(np.arange(len(label), dtype=np.int32), 0)
        text = np.full(len(label), np.nan)
        for rows, cosines in fitting.alike():
            fold = _folds(label[rows], known[rows], coins[rows])
            if fold.max(initial=-1) > 0:
                text[rows] = _out_of_fold(cosines, label[rows], known[rows], fold, self.ridge)
        area, low, high, above = _area(text, label, known, fitting.judgements.pairs.topic)
        tells = above > GATE
        contradicted = known & ~fixed & ((text > 0.5) != label) & ~np.isnan(text) & tells
        if tells:
            changed = ~np.isnan(text) & (~known | (contradicted & (self.rule != "keep")))
            own = np.where(known & (self.rule == "mix"), 0.5, 0.0)  # the label's part in it
            mixed = own * posterior[:, 1] + (1 - own) * text
            posterior[changed] = np.stack([1 - mixed, mixed], axis=1)[changed]
        fitting.notes.append(_note(tells, area, low, high, int(contradicted.sum())))
        details = {
            "text": text,
            "contradicted": contradicted,
            "tells": tells,
            "auc": area,
            "auc_low": low,
            "auc_high": high,
        }
        done = fitting.merged(posterior, keep_unvoted=tells, details=Details(own=details))
        return done if tells and self.rule != "keep" else without_text(done)


def _note(tells: bool, area: float, low: float, high: float, contradicted: int) -> str:
    told = f"area under the curve {area:.2f} [{low:.2f}, {high:.2f}] within topics"
    if np.isnan(area):
        return "no topic has enough documents of either label for a classifier of their texts"
    if not tells:
        return f"the text does not tell relevant documents from others, and is not used: {told}"
    return f"the text contradicts {contradicted} labels; {told}"


def _folds(label: Mask, known: Mask, coins: Array) -> Array:
    """The fold of each document of a topic, both labels spread evenly; -1 if too few are known."""
    fold = (coins % np.uint64(FOLDS)).astype(np.int64)  # of those that teach nobody
    sides = [np.flatnonzero(known & (label == side)) for side in (False, True)]
    fewest = min(map(len, sides))
    if fewest < FEWEST:
        return np.full(len(label), -1)
    for side in sides:
        fold[side[np.argsort(coins[side])]] = np.arange(len(side)) % min(FOLDS, fewest)
    return np.asarray(np.where(known, fold, fold % min(FOLDS, fewest)))


def _out_of_fold(cosines: Floats, label: Mask, known: Mask, fold: Array, ridge: float) -> Floats:
    """P(relevant) of each document by the texts of documents in other folds; all folds at once.

    With the cosines' eigenvectors, scaled, as features, this is the regression on the vectors.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    values, vectors = np.linalg.eigh(cosines)
    used = values > TINY * values[-1]
    features = np.column_stack([np.ones(len(label)), vectors[:, used] * np.sqrt(values[used])])
    n, folds = features.shape[1], int(fold.max()) + 1
    teaches = (known[:, None] & (fold[:, None] != np.arange(folds))).astype(np.float64)
    sign = np.where(label, 1.0, -1.0)[:, None]
    penalty = np.full((n, 1), ridge)
    penalty[0] = 0.0

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(n, folds)
        margin = sign * (features @ weights)
        loss = (teaches * np.logaddexp(0, -margin)).sum() + (penalty * weights**2).sum() / 2
        slope = features.T @ (teaches * -sign * expit(-margin)) + penalty * weights
        return float(loss), slope.ravel()

    best = minimize(objective, np.zeros(n * folds), jac=True, method="L-BFGS-B", tol=1e-6)
    odds = features @ best.x.reshape(n, folds)
    return np.asarray(expit(odds[np.arange(len(label)), fold]))


def _area(
    text: Floats, label: Mask, known: Mask, topic: Array
) -> tuple[float, float, float, float]:
    """The area under the curve, mean over topics, its ends, and standard deviations above 1/2."""
    from scipy.special import stdtrit

    told = np.flatnonzero(known & ~np.isnan(text))
    if not len(told):
        return np.nan, np.nan, np.nan, 0.0
    distinct, group = np.unique(topic[told], return_inverse=True)
    yes = np.bincount(group, label[told])
    no = np.bincount(group) - yes
    areas = auc(text[told], label[told].astype(np.float64), group, len(distinct))
    # of a classifier that knows nothing (Mann and Whitney)
    chance = np.sqrt(((yes + no + 1) / (12 * yes * no)).sum()) / len(areas)
    mean, margin = float(areas.mean()), np.nan
    if len(areas) > 1:  # topics are a sample
        spread = areas.std(ddof=1) / np.sqrt(len(areas))
        margin = float(stdtrit(len(areas) - 1, 0.95)) * spread
    return mean, mean - margin, min(mean + margin, 1.0), (mean - 0.5) / chance
