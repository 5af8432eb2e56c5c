"""The 31 crowd pools of TREC 2012 that Piazzon (2019) merges, simulated on given gold and runs.

The pools themselves are not public. Piazzon's Table 5.3 prints how often each of them agrees with
the gold among documents that some run has in its top 20; from that, the pools' errors are drawn:

- as many misses as false alarms, but at most 35 of 100 relevant documents are missed;
- false alarms in proportion to (share of runs with the document in their top 100) ** 0.3, and
  half as often where no run has the document in its top 20;
- errors of different assessors on one document correlate by 0.3 (a shared normal difficulty):
  independent errors would make the majority vote far better than Ferrante, Ferro & Losiouk (2019)
  print.

On the TREC-8 runs and the NIST qrels this comes within .011 (root mean square) of the six
deterministic figures of their Table 1.
"""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scale import BINARY

TOPICS = ("411", "416", "417", "420", "427", "432", "438", "445", "446", "447")
POWER, MISSED, BELOW, SHARED = 0.3, 0.35, 0.5, 0.3
_MOST = 0.98  # the most likely a false alarm can be

# Piazzon 2019, Table 5.3: agreement with the gold by topic.
_PRINTED = """
BUPTPRISZHS .9577 .8601 .9257 .9026 .8792 .9752 .8193 .8916 .8364 .9487
NEUEM1 .9423 .8497 .4053 .3377 .9101 .3665 .8368 .8940 .7262 .4103
NEUElo2 .9442 .8357 .9221 .8896 .9045 .9752 .8336 .8819 .8381 .9615
NEUElo3 .9481 .8357 .9209 .8896 .9045 .9789 .7702 .8916 .8214 .9637
NEUElo4 .9442 .8357 .9209 .8896 .9045 .9752 .7718 .8916 .8214 .9615
NEUElo5 .9442 .8357 .9221 .8896 .9045 .9752 .7971 .8819 .8381 .9615
NEUNugget12 .9442 .8252 .9209 .8896 .8961 .9516 .8082 .8313 .7997 .9637
Orc2G .8654 .4895 .7998 .5552 .6854 .6994 .6197 .6530 .8314 .6197
Orc2GUL .8538 .5070 .7962 .5519 .6882 .6795 .6149 .6313 .7012 .6175
Orc2GULConf .8500 .5140 .7938 .5292 .6938 .6820 .6181 .6241 .7012 .6197
OrcVB1 .7481 .5070 .7614 .5747 .7022 .7404 .5578 .5976 .7295 .6987
OrcVB1Conf .7442 .5070 .7614 .5747 .7022 .7391 .5578 .6000 .7295 .6987
OrcVBW16Conf .7385 .4790 .7602 .5974 .7472 .6820 .5959 .5494 .6845 .6560
OrcVBW80 .7115 .5979 .8165 .6948 .6517 .7714 .6292 .6265 .7279 .7201
OrcVBW80Conf .7115 .5979 .8165 .6948 .6517 .7714 .6292 .6265 .7279 .7201
OrcVBW9Conf .8115 .4720 .7626 .5000 .8034 .7056 .5737 .5639 .6845 .7009
SSEC3excl .9500 .9790 .9580 .9286 .9719 .9466 .9303 .9614 .9199 .9808
SSEC3incl .9385 .9580 .9412 .9058 .9663 .9354 .8875 .9590 .9149 .9936
SSEC3inclML .9423 .9685 .9532 .9188 .9719 .9404 .8954 .9614 .9182 .9957
SSECML2to99 .9327 .9580 .9412 .9058 .9691 .9354 .8843 .9590 .9098 .9957
SSECML50pct .9365 .9580 .9400 .9026 .9691 .9404 .8859 .9614 .9065 .9957
SSECML75pct .9365 .9615 .9400 .9026 .9691 .9404 .8859 .9614 .9032 .9957
SSML2pct .9327 .9615 .9388 .9091 .9579 .9478 .8827 .9590 .9165 .9936
SSNoEC .9327 .9615 .9365 .9091 .9635 .9441 .8811 .9639 .9065 .9936
UIowaS01r .9462 .7902 .9089 .8831 .8989 .9776 .8019 .8602 .8013 .9637
UIowaS02r .9462 .7867 .9029 .8701 .8989 .9702 .7892 .8554 .7947 .9637
UIowaS03r .9462 .7902 .9053 .8831 .9017 .9764 .8035 .8651 .8047 .9637
yorku12cs01 .7923 .6818 .8765 .6364 .7219 .9255 .7132 .6554 .7596 .8483
yorku12cs02 .8038 .6573 .8321 .5974 .7416 .8981 .7496 .6771 .7813 .9338
yorku12cs03 .7654 .6329 .8921 .5487 .7022 .7888 .6910 .6892 .8598 .8312
yorku12cs04 .7654 .6503 .8909 .5974 .7022 .8050 .6878 .6916 .8581 .8526
"""


def printed_agreement() -> tuple[tuple[str, ...], Floats]:
    """The assessors' names, and their agreement[assessors, TOPICS] as printed."""
    rows = [line.split() for line in _PRINTED.strip().splitlines()]
    return tuple(row[0] for row in rows), np.array([row[1:] for row in rows], np.float64)


def simulate_pools(gold: Qrels, runs: RunSet, seed: int = 0) -> Judgements:
    """Judgements of every pair of the gold by 31 assessors, as many errors as printed.

    Topics that have a printed column get it; others get the columns in turn.
    """
    from scipy.special import ndtri

    names, printed = printed_agreement()
    column = [
        TOPICS.index(topic) if topic in TOPICS else at % len(TOPICS)
        for at, topic in enumerate(gold.topics.names)
    ]
    chance = _chances(gold, runs, printed[:, column])
    # errors on a pair are correlated by a normal that all assessors share
    random = np.random.default_rng(seed)
    shared = np.sqrt(SHARED) * random.standard_normal(chance.shape[1])
    own = np.sqrt(1 - SHARED) * random.standard_normal(chance.shape)
    grade = (gold.grade > 0) ^ (shared + own < ndtri(chance))
    rows = np.arange(grade.size)
    order = np.argsort(names)
    return Judgements(
        gold.pairs,
        Index(np.array(names, object)[order]),
        BINARY,
        pair=(rows // len(names)).astype(np.int32),
        assessor=(rows % len(names)).astype(np.int32),
        grade=grade[order].T.ravel().astype(np.int8),
    )


def retrieved_share(gold: Qrels, runs: RunSet, depth: int) -> Floats:
    """The share of runs that have each pair of the gold among their first `depth` documents."""
    length = np.diff(runs.starts)
    rank = np.arange(len(runs.document)) - np.repeat(runs.starts[:-1], length)
    topic = np.repeat(np.arange(len(length)) // max(len(runs.runs), 1), length)
    top = rank < depth
    width = max(len(runs.documents), 1)
    count = np.bincount(topic[top] * width + runs.document[top], minlength=len(runs.topics) * width)
    at_topic = runs.topics.find(gold.topics)[gold.pairs.topic].astype(np.int64)
    at_document = runs.documents.find(gold.pairs.documents)[gold.pairs.document]
    inside = (at_topic >= 0) & (at_document >= 0)
    times = np.where(inside, count[np.where(inside, at_topic * width + at_document, 0)], 0)
    return np.asarray(times / max(len(runs.runs), 1))


def _chances(gold: Qrels, runs: RunSet, agreement: Floats) -> Floats:
    """How likely each assessor errs on each pair, from the agreement[assessors, topics]."""
    shallow = retrieved_share(gold, runs, 20) > 0
    share = np.maximum(retrieved_share(gold, runs, 100), 0.5 / max(len(runs.runs), 1))
    weight = share**POWER
    relevant = gold.grade > 0
    chance = np.zeros((len(agreement), len(gold)))
    for topic in range(len(gold.topics)):
        of_topic = gold.pairs.topic == topic
        seen = of_topic & shallow
        errors = (1 - agreement[:, topic]) * seen.sum()
        misses = np.minimum(errors / 2, MISSED * (seen & relevant).sum())
        chance[:, of_topic & relevant] = (misses / max((seen & relevant).sum(), 1))[:, None]
        scale = _scales(weight[seen & ~relevant], errors - misses)[:, None]
        others = of_topic & ~relevant
        factor = np.where(shallow, 1.0, BELOW) * weight
        chance[:, others] = np.minimum(_MOST, scale * factor[others])
    return chance


def _scales(weight: Floats, wanted: Floats) -> Floats:
    """c[assessors] so that the sum of min(_MOST, c * weight) is what is wanted, by bisection."""
    low, high = np.zeros(len(wanted)), np.full(len(wanted), 1e4)
    for _ in range(60):
        middle = (low + high) / 2
        enough = np.minimum(_MOST, middle[:, None] * weight).sum(axis=1) >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray((low + high) / 2)
