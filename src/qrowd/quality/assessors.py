"""The table of assessors: everything that is known of each, one row per assessor."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from qrowd.comparison.significance import wilson
from qrowd.data.arrays import Array
from qrowd.data.given import NOTHING, Given, Merger, as_given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.quality import behaviour
from qrowd.quality.evidence import Evidence, given_on_scale
from qrowd.quality.suspicion import ENOUGH, suspect

ABOUT = {
    "judgements": "how many judgements were made",
    "topics": "in how many topics",
    "kind": "person, expert, machine or unknown",
    "type": "suspected type",
    "informedness": "sensitivity + specificity - 1, against gold or what the others say",
    "reference": "what the type rests on: gold, others or both",
    "agreement": "mean share of the others who gave the same grade",
    "says_relevant": "share of the judgements that say relevant",
    "gold": "judgements of pairs with gold",
    "accuracy": "share that is right on gold (_low, _high: Wilson's interval, of 90 %)",
    "sensitivity": "share of the relevant gold pairs said to be relevant",
    "specificity": "share of the non-relevant gold pairs said to be non-relevant",
    "est_accuracy": "accuracy by the merging method's belief",
    "est_sensitivity": "sensitivity by the merging method's belief",
    "est_specificity": "specificity by the merging method's belief",
    "binary_score": "binary score on gold (Xia et al. 2011)",
    "ndcg_score": "NDCG score on gold (Xia et al. 2011), mean over topics",
    "ndcg_best": "the best NDCG score that could be reached on these topics",
    "seconds": "median seconds per document",
    "longest_run": "longest run of the same answer",
    "repeats": "largest share of answers equal to those 1 to 6 places before",
    "entropy": "entropy of the answers, in bits",
    "trust": "trust by TurkRank; all, and gold, sum to 1",
    "relative_trust": "trust over what it would be if all agreed; 1 is usual",
    "random_spam": "mean squared distance to the others' grades (scaled to 0..1)",
    "random_spam_ratio": "the same over its value by chance; 1 is as good as not looking",
    "uniform_spam": "squared disagreement while repeating answers",
}
"""What each column says."""


MAIN = (
    "judgements",
    "kind",
    "type",
    "agreement",
    "accuracy",
    "sensitivity",
    "specificity",
    "est_accuracy",
    "seconds",
    "longest_run",
    "entropy",
    "relative_trust",
    "random_spam_ratio",
    "uniform_spam",
)
"""The columns that a person looks at first."""


def assessors(
    judgements: Judgements,
    given: Given = NOTHING,
    *,
    merge: Merger | Merged | None = None,
    gold_rel: int = 1,
    enough: int = ENOUGH,
    level: float = 0.9,
) -> AssessorTable:
    """One row per assessor with everything that can be said of the quality; see `ABOUT`.

    Columns that need gold, seconds, kinds or a merging method (`merge=q.DawidSkene()`) are there if
    these are. The method sees the gold, too; what is merged already is taken as it is. Gold is
    relevant from `gold_rel` on.

    >>> import qrowd as q
    >>> c = q.simulate(seed=1)
    >>> table = q.assessors(c.judgements, q.Given(gold=c.gold), merge=q.MajorityVote())
    >>> table["type"][:3].tolist()
    ['sloppy', 'good', 'good']
    """
    given = as_given(given)
    if merge is None or isinstance(merge, Merged):
        merged = merge
    else:
        merged = merge.fit(judgements, given_on_scale(judgements, given, gold_rel))
    return table_of(Evidence(judgements, given, gold_rel, merged), enough, level)


def table_of(evidence: Evidence, enough: int = ENOUGH, level: float = 0.9) -> AssessorTable:
    """The table of what is known."""
    judgements, suspicion = evidence.judgements, suspect(evidence, enough)
    columns: dict[str, Array] = {
        "judgements": judgements.per_assessor,
        "topics": behaviour.topics_judged(evidence.single),
        **({} if judgements.kinds is None else {"kind": judgements.kinds}),
        "type": suspicion.type,
        "informedness": suspicion.informedness,
        "reference": suspicion.reference,
        "agreement": evidence.agreement,
        **({} if judgements.scale.words else {"says_relevant": evidence.says_relevant}),
        **_gold_columns(evidence, level),
    }
    if evidence.by_merged is not None:
        for name in ("accuracy", "sensitivity", "specificity"):
            columns[f"est_{name}"] = getattr(evidence.by_merged, name)
    if evidence.timed:
        columns["seconds"] = evidence.seconds
    columns |= {
        "longest_run": evidence.longest_run,
        "repeats": evidence.repeats,
        "entropy": behaviour.entropies(evidence.answers),
        "trust": evidence.trust.assessors,
        "relative_trust": evidence.relative_trust,
        "random_spam": evidence.distances.mean,
        "random_spam_ratio": evidence.distances.ratio,
        "uniform_spam": evidence.pattern_disagreement,
    }
    return AssessorTable(judgements.assessors, columns)


def habits(judgements: Judgements) -> AssessorTable:
    """What only times tell of each assessor: for who gives the judgements away without them."""
    evidence = Evidence(judgements)
    columns = {
        "seconds": evidence.seconds,
        "longest_run": evidence.longest_run,
        "repeats": evidence.repeats,
        "uniform_spam": evidence.pattern_disagreement,
    }
    return AssessorTable(judgements.assessors, columns)


def _gold_columns(evidence: Evidence, level: float) -> dict[str, Array]:
    if evidence.given.gold is None:
        return {}
    held = evidence.by_gold
    columns: dict[str, Array] = {"gold": held.n.astype(np.int64)}
    parts = {
        "accuracy": (held.right, held.n),
        "sensitivity": (held.relevant_right, held.relevant_n),
        "specificity": (held.other_right, held.other_n),
    }
    for name, (hits, n) in parts.items():
        columns[name] = getattr(held, name)
        columns[f"{name}_low"], columns[f"{name}_high"] = wilson(
            hits, n, NormalDist().inv_cdf((1 + level) / 2)
        )
    score, best = evidence.ndcg
    return columns | {"binary_score": evidence.binary_score, "ndcg_score": score, "ndcg_best": best}
