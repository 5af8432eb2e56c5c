"""Does relevance follow the text? The cluster hypothesis (van Rijsbergen & Sparck Jones 1973)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.content.similarity import Alike, groups_of, nearest_first, one_of_each
from qrowd.data.arrays import Array, Floats, Mask, over
from qrowd.data.documents import Documents, Likeness
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError
from qrowd.rendering import percent

_REPLICATES = 2000
_POINTS = 101


@dataclass(frozen=True, eq=False)
class TopicContent:
    """One topic: its similarities of two relevant documents, and of a relevant and another one."""

    inner: Floats
    outer: Floats
    documents: int
    relevant: int
    groups: tuple[tuple[str, ...], ...]
    hits: int
    hits_without: int
    left: int

    @property
    def separation(self) -> float:
        """P(inner > outer) - P(inner < outer); NaN where one of them is missing."""
        if not len(self.inner) or not len(self.outer):
            return float("nan")
        ordered = np.sort(self.outer)
        below = np.searchsorted(ordered, self.inner, side="left")
        above = len(ordered) - np.searchsorted(ordered, self.inner, side="right")
        return float((below - above).mean() / len(ordered))

    def density(self, which: str, grid: Floats) -> Floats:
        """A Gaussian kernel density of `inner` or `outer` (Scott's bandwidth)."""
        values: Floats = getattr(self, which)
        if len(values) < 2 or values.std() == 0:
            return np.full(len(grid), np.nan)
        width = values.std(ddof=1) * len(values) ** -0.2
        z = (grid[:, None] - values[None, :]) / width
        return np.asarray(np.exp(-z * z / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))


@dataclass(frozen=True, eq=False)
class ClusterTest(Framed):
    """Similarities within and across relevance, topic by topic, and near-duplicates."""

    topics: Index
    of_topic: tuple[TopicContent, ...]
    level: float
    seed: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ClusterTest({len(self)} topics; separation {self.separation:.3f})"

    def __len__(self) -> int:
        return len(self.topics)

    def _each(self, figure: str) -> Floats:
        return np.array([_mean(getattr(topic, figure)) for topic in self.of_topic])

    @cached_property
    def inner(self) -> float:
        """The mean similarity of two relevant documents, mean of topics."""
        return _mean_defined(self._each("inner"))

    @cached_property
    def outer(self) -> float:
        """The mean similarity of a relevant and a non-relevant document, mean of topics."""
        return _mean_defined(self._each("outer"))

    @cached_property
    def separations(self) -> Floats:
        """The separation of each topic."""
        return np.array([topic.separation for topic in self.of_topic])

    @cached_property
    def separation(self) -> float:
        """The mean of the topics' separations: 0 is none, 1 is perfect."""
        return _mean_defined(self.separations)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Where the separation lies, topics being a sample: percentiles of bootstrap samples."""
        defined = self.separations[~np.isnan(self.separations)]
        n = len(defined)
        if n < 2:
            return float("nan"), float("nan")
        random = np.random.default_rng(self.seed)
        means = random.multinomial(n, np.full(n, 1 / n), _REPLICATES) @ defined / n
        low, high = np.quantile(means, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)

    @property
    def duplicates(self) -> int:
        """How many documents are near-duplicates of another one that is kept."""
        return sum(topic.documents - topic.left for topic in self.of_topic)

    def nearest(self, without_duplicates: bool = False) -> float:
        """How often a document is as relevant as its nearest neighbour, mean of topics."""
        counts = [
            (topic.hits_without, topic.left)
            if without_duplicates
            else (topic.hits, topic.documents)
            for topic in self.of_topic
        ]
        return _mean(np.array([hits / documents for hits, documents in counts if documents > 1]))

    def histograms(self, bins: int = 20) -> dict[str, list[float]]:
        """Shares of the similarities of all topics together, in equal bins from 0 to 1."""
        edges = np.linspace(0, 1, bins + 1)
        shares = {"edges": edges.tolist()}
        for which in ("inner", "outer"):
            joined = np.concatenate([getattr(topic, which) for topic in self.of_topic])
            counts = np.histogram(np.clip(joined, 0, 1), edges)[0]
            shares[which] = (counts / max(counts.sum(), 1)).tolist()
        return shares

    def densities(self, topic: str | None = None) -> dict[str, Any]:
        """One topic's densities of inner and outer similarities; the one with most, by default."""
        sizes = [len(content.inner) for content in self.of_topic]
        at = int(np.argmax(sizes)) if topic is None else self.topics.code(topic, "topic")
        grid = np.linspace(0, 1, _POINTS)
        content = self.of_topic[at]
        return {
            "topic": self.topics.names[at],
            "at": grid,
            "inner": content.density("inner", grid),
            "outer": content.density("outer", grid),
        }

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic documents relevant inner outer separation duplicates nearest`."""
        documents, relevant, left, hits = np.array(
            [(topic.documents, topic.relevant, topic.left, topic.hits) for topic in self.of_topic]
        ).T
        return {
            "topic": Coded(self.topics, np.arange(len(self), dtype=np.int32)),
            "documents": documents,
            "relevant": relevant,
            "inner": self._each("inner"),
            "outer": self._each("outer"),
            "separation": self.separations,
            "duplicates": documents - left,
            "nearest": over(hits, documents),
        }

    def to_dict(self, topic: str | None = None) -> dict[str, Any]:
        """All of it, as JSON has it."""
        low, high = self.interval
        contents = zip(self.topics, self.of_topic, strict=True)
        groups = {name: content.groups for name, content in contents if content.groups}
        return {
            "topics": len(self),
            "inner": self.inner,
            "outer": self.outer,
            "separation": self.separation,
            "low": low,
            "high": high,
            "level": self.level,
            "nearest": self.nearest(),
            "nearest_without_duplicates": self.nearest(True),
            "duplicates": self.duplicates,
            "groups": groups,
            "histograms": self.histograms(),
            "densities": self.densities(topic),
            "notes": self.notes,
        }


def cluster_test(
    documents: Documents | Likeness,
    qrels: Qrels,
    *,
    near: float = 0.95,
    level: float = 0.9,
    seed: int = 0,
) -> ClusterTest:
    """Are relevant documents more alike to each other than to others?

    For each topic of the qrels, the cosines of every two relevant documents (*inner*) and of a
    relevant and a non-relevant one (*outer*). The *separation* is the probability that an inner one
    is higher than an outer one, less the probability of the reverse. Documents with a cosine of
    `near` or more are near-duplicates; methods that read documents look better than they are where
    there are many, so that the nearest neighbour's hit rate is told with and without them.

    >>> import qrowd as q
    >>> vectors = q.Vectors.of("abcd", [[1, 0, 1], [1, 0.2, 1], [0, 1, 0.3], [0, 1, 0]])
    >>> test = q.cluster_test(vectors, q.Qrels.of(["t"] * 4, list("abcd"), [1, 1, 0, 0]))
    >>> round(test.inner, 2), round(test.outer, 2), test.separation
    (0.99, 0.17, 1.0)
    """
    if not len(qrels):
        raise InputError("these qrels have no pairs: nothing to test")
    qrels = qrels.select(np.ones(len(qrels), np.bool_))  # no topic without pairs
    alike = Alike.of(qrels.pairs, documents)
    contents = tuple(
        _content(cosines, qrels.grade[rows] >= 1, qrels.pairs.document_names[rows], near)
        for rows, cosines in alike.topics()
    )
    notes = alike.notes
    undefined = sum(np.isnan(content.separation) for content in contents)
    if undefined:
        notes.append(
            f"{undefined} topics have no separation: it takes two relevant documents and another"
        )
    return ClusterTest(qrels.topics, contents, level, seed, tuple(notes))


def _content(cosines: Floats, relevant: Mask, names: Array, near: float) -> TopicContent:
    above = np.triu(np.ones(cosines.shape, np.bool_), 1)
    inner = cosines[above & relevant[:, None] & relevant[None, :]]
    outer = cosines[np.ix_(relevant, ~relevant)].ravel()
    group = groups_of(cosines, near)
    several = np.flatnonzero(np.bincount(group) > 1)
    kept = one_of_each(group)
    part = cosines[np.ix_(kept, kept)]
    return TopicContent(
        inner,
        outer,
        len(cosines),
        int(relevant.sum()),
        tuple(tuple(map(str, names[group == number])) for number in several),
        _hits(cosines, relevant),
        _hits(part, relevant[kept]),
        len(kept),
    )


def _hits(cosines: Floats, relevant: Mask) -> int:
    """How many documents are as relevant as their nearest neighbour."""
    if len(cosines) < 2:
        return 0
    return int((relevant[nearest_first(cosines)[:, 0]] == relevant).sum())


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _mean_defined(values: Floats) -> float:
    return _mean(values[~np.isnan(values)])


def text_of(test: ClusterTest) -> str:
    """The findings, for eyes."""
    low, high = test.interval
    groups = sum(len(topic.groups) for topic in test.of_topic)
    lines = {
        "two relevant documents (inner)": f"{test.inner:.4f}",
        "a relevant and another (outer)": f"{test.outer:.4f}",
        "separation (0 none, 1 perfect)": f"{test.separation:.4f}  [{low:.4f}, {high:.4f}]",
        "as relevant as the nearest": f"{test.nearest():.4f}",
        "the same without near-duplicates": f"{test.nearest(True):.4f}",
        "near-duplicates": f"{test.duplicates} in {groups} groups",
    }
    width = max(map(len, lines))
    head = f"{len(test)} topics; means of topics, {percent(test.level)} interval over topics"
    return "\n".join([head, *(f"{name:<{width}}  {value}" for name, value in lines.items())])
