"""Answers about sentences, as players of a game give them, merged into labels of documents."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from qrowd import registry
from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.aggregation.judgements.skierarchy import bases
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param

VOTE = "vote"
ALMOST = 1e-6  # of a probability


def _first_methods() -> tuple[str, ...]:
    return (VOTE, *bases())


@method("geann", paper="Piazzon 2019", uses=("gold",), grades="binary")
class Geann:
    r"""Sentences' answers merged into documents', as in GeAnn, the game of the TREC 2011 track.

    What is judged are sentences: `doc#3` is the third one of the document `doc`, and 1 means that a
    player put it into the topic's bucket. First, each sentence has $p_s$: the share of votes for
    the topic's bucket, weighted by how reliable the players are on sentences with gold,

    $$w_j = \frac{B r_j - 1}{B - 1}, \qquad r_j = \frac{\text{right}_j + 1}{\text{seen}_j + 2}$$

    with $B$ buckets (`weighted=False`: plain); or what another method of the library makes of it
    (`base=ds`). Of wrong buckets only the topic's can be seen in a grade, one in $B - 1$: each
    sentence off the topic that was put there counts as $B - 1$ errors.

    Then documents, from their $n$ sentences: `mean`, $\sum_s p_s / n$; `any`,
    $1 - \prod_s (1 - p_s)$; or `majority` as printed, the share of sentences that are on the topic
    rather than not. Half of the sentences of a long document are never on the topic, so the
    threshold is not 1/2: it lets as large a share of documents be relevant as gold of documents
    has, and without such gold it splits the scores into the two groups that differ most (Otsu
    1979). The probability is the logistic function of the score's log odds less those of the
    threshold. A document of which there are no
    sentences is as the first step has it, and gold of whole documents overrides.

    The game and both votes are described there; the other rules and the threshold are ours.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 8, ["a#1", "a#1", "a#2", "a#2", "b#1", "b#1", "b#2", "b#2"],
    ...     ["ann", "bob"] * 4, [1, 1, 0, 0, 0, 1, 0, 0],
    ... )
    >>> merged = q.Geann(threshold=.3).fit(crowd)
    >>> merged.pairs.document_names.tolist(), merged.relevant.round(2).tolist()
    (['a', 'b'], [0.7, 0.44])

    References: Piazzon 2019, sections 2.3 and 2.5.3; Eickhoff, Harris, Srinivasan & de Vries 2011.
    """

    base: str = param(VOTE, "the method that merges answers about sentences", names=_first_methods)
    rule: str = param("mean", "documents from their sentences", choices=("mean", "any", "majority"))
    weighted: bool = param(True, "whether votes weigh by how reliable players are on gold")
    buckets: int = param(4, "answers that a player can choose from", at_least=2)
    threshold: float | None = param(
        None,
        "score from which on a document is relevant; none: by gold, or found",
        above=0,
        below=1,
    )
    clamp: bool = param(True, "gold tells who is reliable, and fixes its sentences and documents")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The probability of relevance of every document of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        if self.base == VOTE:
            weight = self._weight(fitting.judgements, fitting.gold)
            shares = Ballot(fitting.judgements, fitting.gold).shares(weight)
            sentences = fitting.merged(shares, {"weight": weight})
        else:
            teaching = Given(gold=given.gold) if self.clamp else NOTHING
            merged = registry.get(self.base).fit(fitting.judgements, teaching)
            fitting.settled, fitting.steps = merged.fit.converged, merged.fit.iterations
            sentences = fitting.merged(merged.posterior)
        return self._of_documents(fitting, sentences)

    def _weight(self, rows: Judgements, gold: Grades) -> Floats:
        """The weight of each player's votes; all are 1 without gold."""
        known = gold[rows.pair] != UNKNOWN
        if not self.weighted or not known.any():
            return np.ones(len(rows.assessors))
        wrong = (rows.grade != gold[rows.pair]).astype(np.float64)
        wrong[gold[rows.pair] == 0] *= self.buckets - 1  # of which only one can be seen
        seen = np.bincount(rows.assessor, known, len(rows.assessors))
        right = seen - np.bincount(rows.assessor, known * wrong, len(rows.assessors))
        reliable = np.maximum((right + 1) / (seen + 2), 0.0)
        return np.asarray((self.buckets * reliable - 1) / (self.buckets - 1))

    def _of_documents(self, fitting: Fitting, sentences: Merged) -> Merged:
        documents, document, part = parts_of(sentences.pairs)
        told = part & (fitting.voted | sentences.given)
        n = np.bincount(document[told], minlength=len(documents))
        if not n.any():  # documents were judged as a whole
            return sentences
        score = self._score(sentences.relevant[told], document[told], n)
        threshold = self._threshold(score[n > 0], fitting.gold[~part])
        odds = _log_odds(score) - _log_odds(np.array(threshold))
        relevant = np.where(n > 0, 1 / (1 + np.exp(-odds)), 0.5)
        given = np.zeros(len(documents), np.bool_)
        given[document[~part]] = sentences.given[~part]
        alone = ~part & (sentences.given | (n[document] == 0))
        relevant[document[alone]] = sentences.relevant[alone]
        fitting.notes.append(
            f"{int(n.sum())} sentences of {int((n > 0).sum())} documents, which are relevant from "
            f"a score of {threshold:.2f} on"
        )
        return replace(
            sentences,
            pairs=documents,
            posterior=np.stack([1 - relevant, relevant], axis=1),
            given=given,
            fit=fitting.summary(),
            details=Details(own={"score": score, "sentences": n}),
        )

    def _score(self, relevant: Floats, document: Codes, n: Array) -> Floats:
        """The score of each document, 0 to 1; 0 where there is no sentence."""
        if self.rule == "any":
            none = np.log1p(-np.minimum(relevant, 1 - ALMOST))
            return np.asarray(1 - np.exp(np.bincount(document, none, len(n))))
        if self.rule == "majority":
            relevant = (1 + np.sign(relevant - 0.5)) / 2  # one half where it is a tie
        return np.asarray(np.bincount(document, relevant, len(n)) / np.maximum(n, 1))

    def _threshold(self, score: Floats, gold: Grades) -> float:
        """The score from which on documents are relevant, of which some have gold."""
        ordered, known = np.sort(score), gold[gold != UNKNOWN]
        below = 1 + np.flatnonzero(np.diff(ordered) > 0)  # documents below each possible threshold
        if self.threshold is not None or not len(below):
            return self.threshold or 0.5
        above = len(score) - below
        if len(known):
            best = np.argmin(np.abs(above / len(score) - (known == 1).mean()))
        else:
            total = np.cumsum(ordered)
            lower = total[below - 1]
            best = np.argmax(below * above * ((total[-1] - lower) / above - lower / below) ** 2)
        return float(ordered[below[best] - 1 : below[best] + 1].mean())


def parts_of(pairs: Pairs) -> tuple[Pairs, Codes, Mask]:
    """The documents of pairs, each pair's one, and which pairs are sentences (`doc#3` of `doc`)."""
    cut = [re.fullmatch(r"(.+)#\d+", name, re.DOTALL) for name in pairs.documents.names]
    part = np.array([found is not None for found in cut], np.bool_)
    names = [
        found[1] if found else name for found, name in zip(cut, pairs.documents.names, strict=True)
    ]
    index, code = Index.encode(names)
    documents, document = Pairs.from_codes(pairs.topics, index, pairs.topic, code[pairs.document])
    return documents, document, part[pairs.document]


def _log_odds(p: Floats) -> Floats:
    inside = np.clip(p, ALMOST, 1 - ALMOST)
    return np.asarray(np.log(inside / (1 - inside)))
