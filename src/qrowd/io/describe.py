"""What is in a noun, what is odd about it, and how judgements, gold and runs fit together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.documents import Documents
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.orders import Orders
from qrowd.data.provenance import Provenance
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scale import LOWEST
from qrowd.data.scores import Scores
from qrowd.data.topics import Topics
from qrowd.rendering import percent, some_of

_DEPTH = 10


@dataclass
class Findings:
    """Facts by name, and sentences that somebody should read."""

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def warn(self, condition: bool, message: str) -> None:
        """Note the message if the condition holds."""
        if condition:
            self.warnings.append(message)


@singledispatch
def described(noun: object) -> Findings:
    """What is in a noun, and what is odd about it."""
    raise NotImplementedError(type(noun).__name__)


@described.register
def _(noun: Judgements) -> Findings:
    votes = np.diff(noun.pair_starts)
    again, contrary = _repeats(noun)
    findings = Findings(
        "judgements",
        {
            "judgements": len(noun),
            "topics": len(noun.topics),
            "pairs": len(noun.pairs),
            "assessors": len(noun.assessors),
            "grades": _counts(np.array(noun.scale.words or noun.scale.grades)[noun.grade]),
            "share relevant": float(noun.scale.relevant[noun.grade].mean()),
            "judgements per pair": _spread(votes),
            "pairs judged once": int((votes == 1).sum()),
            "judgements per assessor": _spread(noun.per_assessor),
            "repeated by the same assessor": again,
            "repeated with another grade": contrary,
        },
    )
    extras = [name for name in ("weight", "seconds", "time") if getattr(noun, name) is not None]
    if extras:
        findings.facts["also known"] = " ".join(extras)
    if noun.kinds is not None:
        findings.facts["kinds of assessors"] = noun.kind_counts
    if noun.choice is not None:
        findings.facts["chosen"] = str(noun.choice)
        findings.warnings += noun.choice.caution("share relevant, judgements per pair")
    grades = tuple(np.array(noun.scale.grades)[np.unique(noun.grade)].tolist())
    if noun.scale.words:  # none is relevant
        del findings.facts["share relevant"]
    else:
        _warn_of_scale(findings, grades, findings.facts["share relevant"])
    findings.warn(bool((votes <= 1).all()), "no pair was judged twice: there is nothing to merge")
    findings.warn(len(noun.assessors) == 1, "all judgements are by one assessor")
    return findings


@described.register
def _(noun: Qrels) -> Findings:
    if noun.words:
        labels = _counts(np.array(noun.words)[noun.grade])
        return Findings("qrels", {"topics": len(noun.topics), "pairs": len(noun), "labels": labels})
    relevant = noun.grade >= 1
    per_topic = np.bincount(noun.pairs.topic, weights=relevant, minlength=len(noun.topics))
    findings = Findings(
        "qrels",
        {
            "topics": len(noun.topics),
            "pairs": len(noun),
            "grades": _counts(noun.grade),
            "share relevant": float(relevant.mean()),
            "pairs per topic": _spread(np.diff(noun.pairs.topic_starts)),
            "topics without a relevant document": int((per_topic == 0).sum()),
        },
    )
    _made_by(findings, noun.provenance)
    _warn_of_scale(findings, tuple(set(noun.grade.tolist())), findings.facts["share relevant"])
    none = noun.topics.names[per_topic == 0]
    findings.warn(
        0 < len(none) < len(noun.topics), f"no relevant document in {some_of(none, 'topic')}"
    )
    return findings


@described.register
def _(noun: RunSet) -> Findings:
    lengths = np.diff(noun.starts).reshape(len(noun.topics), len(noun.runs))
    inside = np.repeat(np.arange(lengths.size), lengths.ravel())
    tied = (np.diff(noun.score.astype(np.float32)) == 0) & (np.diff(inside) == 0)
    findings = Findings(
        "runs",
        {
            "runs": len(noun),
            "topics": len(noun.topics),
            "ranked documents": len(noun.document),
            "distinct documents": len(noun.documents),
            "documents per list": _spread(lengths[lengths > 0]),
            "share tied with the next": float(tied.mean()) if len(tied) else 0.0,
        },
    )
    short = noun.runs.names[(lengths == 0).any(axis=0)]
    findings.warn(len(short) > 0, f"not all topics have a list in {some_of(short, 'run')}")
    return findings


@described.register
def _(noun: Scores) -> Findings:
    findings = Findings("scores", {"measures": " ".join(noun.measures)})
    if noun.axis:
        findings.facts[f"{noun.axis}s"] = len(noun.columns)
    undefined = int(np.isnan(noun.values).sum())
    findings.facts |= {"topics": len(noun.topics), "runs": len(noun.runs), "undefined": undefined}
    best = np.nanmax(noun.means(), axis=(1, 2), initial=-np.inf)
    findings.facts["best mean"] = " ".join(
        f"{name} {value:.4f}" for name, value in zip(noun.measures, best, strict=True)
    )
    return findings


@described.register
def _(noun: Merged) -> Findings:
    top = np.sort(noun.posterior, axis=1)
    findings = Findings(
        "probabilities",
        {
            "topics": len(noun.topics),
            "pairs": len(noun.pairs),
            "grades": _counts(noun.grades()),
            "given": int(noun.given.sum()),
            "share relevant": float(noun.relevant.mean()),
            "undecided": int((top[:, -1] - top[:, -2] < 1e-9).sum()),
        },
    )
    _made_by(findings, noun.provenance)
    return findings


def _made_by(findings: Findings, provenance: Provenance | None) -> None:
    if provenance is not None:
        findings.facts["made by"] = str(provenance)


@described.register
def _(noun: Provenance) -> Findings:
    findings = Findings("provenance", {"labels": noun.file, "made by": str(noun)})
    for name, source in noun.inputs.items():
        for file, sha in source.files.items():
            findings.facts[f"sha256 of {name} {file}"] = sha or "unknown"
    if noun.ties:
        findings.facts["ties"] = (
            f"{noun.ties}, seed {noun.seed}" if noun.ties == "coin" else noun.ties
        )
    findings.facts |= {
        "grades": " ".join(map(str, noun.grades)),
        "relevant from": noun.relevant_from,
        "pairs whose gold was given": 0 if noun.given is None else len(noun.given),
        "documents were read": "yes" if noun.text else "no",
    }
    findings.warn(not Path(noun.file).is_file(), f"the labels, {noun.file}, are not there")
    return findings


@described.register
def _(noun: AssessorTable) -> Findings:
    return Findings("assessors", {"assessors": len(noun), "columns": " ".join(noun.columns)})


@described.register
def _(noun: Topics) -> Findings:
    findings = Findings("topics", {"topics": len(noun)})
    for name in noun.known:
        findings.facts[f"with {name}"] = int((getattr(noun, name) != "").sum())
    findings.warn(not noun.known, "no topic has a text")
    return findings


@described.register
def _(noun: Documents) -> Findings:
    words = np.array([len(text.split()) for text in noun.text])
    findings = Findings("documents", {"documents": len(noun), "words": _spread(words)})
    for name in noun.known:
        column = noun.others[name] if name in noun.others else getattr(noun, name)
        findings.facts[f"with {name}"] = int((column != "").sum())
    empty = noun.index.names[(noun.text == "") & (noun.file == "")]
    findings.warn(len(empty) > 0, f"no text and no bytes of {some_of(empty, 'document')}")
    return findings


@described.register
def _(noun: Orders) -> Findings:
    per_pair = np.bincount(noun.pair, minlength=len(noun.pairs))
    tied = (np.diff(noun.ballot) == 0) & (np.diff(noun.place) == 0)  # with the row before
    tied &= ~noun.unordered[1:]
    findings = Findings(
        "orders",
        {
            "ballots": len(noun),
            "topics": len(noun.topics),
            "pairs": len(noun.pairs),
            "assessors": len(noun.assessors),
            "documents per ballot": _spread(noun.sizes),
            "ballots per pair": _spread(per_pair),
            "ballots with ties": len(np.unique(noun.ballot[1:][tied])),
        },
    )
    findings.warn(bool((noun.sizes < 2).any()), "a ballot of one document says nothing")
    return findings


def fitted(
    judgements: Judgements | None,
    gold: Qrels | None,
    runs: RunSet | None,
    topics: Topics | None = None,
    documents: Documents | None = None,
) -> Findings:
    """How far judgements, gold, runs and texts are about the same topics and documents."""
    findings = Findings("overlap")
    if judgements is not None and gold is not None:
        _judgements_and_gold(findings, judgements, gold)
    for name, pairs in (("judgements", judgements), ("gold", gold)):
        if runs is not None and pairs is not None:
            _runs_and_pairs(findings, runs, pairs.pairs, name)
    for name, judged in (("judgements", judgements), ("gold", gold)):
        if judged is not None and topics is not None:
            _topics(findings, judged.topics, topics.index, name, "queries")
        if judged is not None and documents is not None:
            bare = judged.pairs.documents.without(documents.index).names
            findings.facts[f"documents of {name} without text"] = len(bare)
            findings.warn(len(bare) > 0, f"no text of {some_of(bare, 'document')} of the {name}")
    return findings


def _judgements_and_gold(findings: Findings, judgements: Judgements, gold: Qrels) -> None:
    both = int((judgements.pairs.locate(gold.pairs) >= 0).sum())
    findings.facts["judged pairs with gold"] = both
    findings.facts["gold pairs that nobody judged"] = len(gold) - both
    _topics(findings, judgements.topics, gold.topics, "judgements", "gold")
    findings.warn(both == 0, "no judged pair has gold: do the names of topics and documents match?")
    on = {*judgements.scale.grades, *range(LOWEST, min(judgements.scale.grades[0], 1))}
    off = sorted(set(gold.grade.tolist()) - on)
    findings.warn(
        bool(off),
        f"gold has grades that judgements do not have ({' '.join(map(str, off))}): "
        "say from which grade on gold is relevant, --gold-rel",
    )


def _runs_and_pairs(findings: Findings, runs: RunSet, pairs: Pairs, name: str) -> None:
    _topics(findings, runs.topics, pairs.topics, "runs", name)
    share = judged_share(runs, pairs)
    findings.facts[f"share of the top {_DEPTH} with {name}"] = share
    few = f"only {percent(share)} of the runs' top {_DEPTH} documents have {name}"
    findings.warn(0 < share < 0.5, few)
    findings.warn(
        share == 0, f"no document in the runs' top {_DEPTH} has {name}: do the names match?"
    )


def _topics(findings: Findings, topics: Index, other: Index, name: str, against: str) -> None:
    missing, extra = topics.without(other).names, other.without(topics).names
    findings.facts[f"topics of {name} without {against}"] = len(missing)
    findings.facts[f"topics of {against} without {name}"] = len(extra)
    findings.warn(
        len(missing) > 0,
        f"{some_of(missing, 'topic')} of {name} without {against}: left out of what needs both",
    )


def judged_share(runs: RunSet, pairs: Pairs) -> float:
    """The mean share of the first ten documents that are among the pairs, over all lists of
    topics that have pairs.
    """
    document = pairs.documents.find(runs.documents)
    topic = pairs.topics.find(runs.topics)
    shares = [np.zeros(0)]
    for at, code in enumerate(topic):
        if code < 0:
            continue
        listed = runs.lists(at)[0][:, :_DEPTH]
        lo, hi = pairs.topic_starts[code : code + 2]
        judged = (listed >= 0) & np.isin(document[listed], pairs.document[lo:hi])
        lengths = (listed >= 0).sum(axis=1)
        shares.append(judged.sum(axis=1)[lengths > 0] / lengths[lengths > 0])
    flat = np.concatenate(shares)
    return float(flat.mean()) if len(flat) else 0.0


def _warn_of_scale(findings: Findings, grades: tuple[int, ...], share: float) -> None:
    if share == 1.0 and len(grades) == 1:
        findings.warnings.append(f"every grade is {grades[0]}, which counts as relevant")
    elif share == 1.0:
        lowest = min(grades)
        findings.warnings.append(
            f"every grade counts as relevant (the lowest is {lowest}); say from which grade on "
            f"documents are relevant: --rel {lowest + 1}"
        )
    findings.warn(share == 0.0, "no grade counts as relevant")


def _repeats(noun: Judgements) -> tuple[int, int]:
    """How often an assessor judged a pair again, and how often with another grade."""
    same = (np.diff(noun.pair) == 0) & (np.diff(noun.assessor) == 0)
    return int(same.sum()), int((same & (np.diff(noun.grade) != 0)).sum())


def _counts(grades: Array) -> dict[str, int]:
    values, counts = np.unique(grades, return_counts=True)
    return {str(value): int(count) for value, count in zip(values, counts, strict=True)}


def _spread(counts: Array) -> dict[str, float]:
    if not len(counts):
        return {}
    return {
        "min": int(counts.min()),
        "median": float(np.median(counts)),
        "mean": round(float(counts.mean()), 2),
        "max": int(counts.max()),
    }
