"""What a judgement-level method believes: `Merged`, its `Fit`, `AssessorTable` and `Copula`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask, freeze, freeze_fields
from qrowd.data.details import NONE, Details
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index, Pairs, Pooled
from qrowd.data.provenance import Provenance
from qrowd.data.qrels import Qrels, QrelsSet, SoftQrels
from qrowd.data.runs import RunSet, run_of
from qrowd.data.scale import BINARY, Scale
from qrowd.errors import InputError, ParameterError, UnknownNameError, require_choice

MOST_CELLS = 4_000_000_000  # draws x pairs, a byte each
TIES = ("coin", "relevant", "nonrelevant")
_ALMOST = 1e-9
_BLOCK = 256  # draws at a time


@dataclass(frozen=True, eq=False)
class Merged(Pooled, Framed):
    """posterior[pairs, grades] for every pair of the pool, and what was learned of the assessors.

    `given` marks pairs whose gold was given to the method: they are left out when it is scored.
    `samples[pairs, draws]` (codes) are posterior draws, where the method has them; `copula` says
    which pairs share their fate, where it knows that. `decided` are grades that a tie rule has
    chosen already (those of a file). `provenance` says where it comes from; labels that are made
    of it have it from `label_provenance`.
    """

    pairs: Pairs
    scale: Scale
    posterior: Floats
    assessors: AssessorTable
    fit: Fit
    given: Mask
    samples: Grades | None = None
    details: Details = NONE
    decided: Grades | None = None
    copula: Copula | None = None
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, posterior=np.float64, given=np.bool_)

    def __repr__(self) -> str:
        state = "" if self.fit.converged else ", not converged"
        return f"Merged({self.fit.method}: {len(self.pairs)} pairs, grades {self.scale}{state})"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc grade given p(0) p(1) ...`."""
        return {
            **self.pairs.frame_columns(),
            "grade": self.grades(),
            "given": self.given.astype(np.int8),
            **{f"p({grade})": self.posterior[:, k] for k, grade in enumerate(self.scale.grades)},
        }

    @property
    def relevant(self) -> Floats:
        """The probability that each pair is relevant."""
        return np.asarray(self.posterior[:, self.scale.relevant].sum(axis=1))

    @property
    def share_relevant(self) -> float:
        """The share of pairs that are relevant rather than not."""
        return float((self.relevant > 0.5).mean())

    @property
    def share_in_doubt(self) -> float:
        """The share of pairs whose probability of relevance lies between 0.1 and 0.9."""
        return float((np.abs(self.relevant - 0.5) < 0.4).mean())

    @property
    def log_odds(self) -> Floats:
        """The log odds of relevance of each pair: they differ even where probabilities are 1."""
        return self.scale.log_odds(self.posterior)

    def grades(self, ties: str | None = None, seed: int = 0) -> Grades:
        """The likeliest grade of each pair; equal ones by the tie rule.

        `coin`: fair, keyed by a hash of (seed, topic, document), so that nothing else matters;
        `relevant`: the highest of the tied grades; `nonrelevant`: the lowest. None: as decided
        before, else `coin`.
        """
        if ties is None and self.decided is not None:
            return self.decided
        codes = tied_argmax(self.posterior, self.pairs, ties or "coin", seed)
        return np.array(self.scale.grades, np.int8)[codes]

    def qrels(self, ties: str | None = None, seed: int = 0) -> Qrels:
        """Hard qrels over the whole pool; ties as in `grades`."""
        provenance = self.label_provenance(ties, seed)
        return Qrels(self.pairs, self.grades(ties, seed), provenance, self.scale.words)

    def __getitem__(self, topics: Index | str) -> Merged:
        """The belief about these topics only."""
        topics = self.topics.chosen(topics)
        kept, copula = self.pairs.of_topics(topics), self.copula
        if copula is not None:
            known = zip(self.topics, copula.correlations, strict=True)
            copula = Copula(tuple(part for topic, part in known if topic in topics))
        samples, decided = (
            None if column is None else column[kept] for column in (self.samples, self.decided)
        )
        return replace(
            self,
            pairs=self.pairs.select(kept),
            posterior=self.posterior[kept],
            given=self.given[kept],
            samples=samples,
            decided=decided,
            copula=copula,
        )

    def binary(self, at_least: int) -> Merged:
        """The same belief about two grades: 1 from `at_least` on, else 0."""
        self.scale.require_order("relevance")
        yes = np.array(self.scale.grades) >= at_least
        p = self.posterior[:, yes].sum(axis=1)
        samples = None if self.samples is None else yes[self.samples].astype(np.int8)
        decided = None if self.decided is None else (self.decided >= at_least).astype(np.int8)
        posterior = np.stack([self.posterior[:, ~yes].sum(axis=1), p], axis=1)
        return replace(
            self,
            scale=BINARY,
            posterior=posterior,
            samples=samples,
            decided=decided,
            provenance=self.provenance and self.provenance.binary(at_least),
        )

    def relevance(self, ties: str | None = None, seed: int = 0) -> Qrels | SoftQrels:
        """What `evaluate` takes: soft qrels of a method that means them so, else hard ones."""
        return self.soft() if self.details.soft else self.qrels(ties, seed)

    def ranking(self, name: str = "merged", seed: int = 0) -> RunSet:
        """The consensus ranking as a run: each topic's documents by their expected grade, equal
        ones by a fair coin (the same for the same seed, topic and document).
        """
        self.scale.require_order("a ranking")
        expected = self.posterior @ np.array(self.scale.grades, np.float64)
        return run_of(self.pairs, np.asarray(expected), name, seed)

    def soft(self) -> SoftQrels:
        """The posterior as random relevance."""
        total = self.posterior.sum(axis=1, keepdims=True)
        return SoftQrels(self.pairs, self.scale, self.posterior / total, self.label_provenance())

    def draws(self, n: int = 1000, seed: int = 0) -> QrelsSet:
        """`n` qrels drawn from what is believed.

        The method's own posterior draws, where it has them, or draws that know which pairs share
        their fate; else every pair on its own, from its probabilities, which leaves out what is
        uncertain about the assessors, and is noted.
        """
        self.scale.require_order("relevance")
        if n < 1:
            raise ParameterError(f"draws: n must be at least 1, got {n}")
        if n * len(self.pairs) > MOST_CELLS:
            most = MOST_CELLS // max(len(self.pairs), 1)
            raise ParameterError(
                f"{n} draws of {len(self.pairs)} pairs are too many; use at most {most}"
            )
        notes: tuple[str, ...] = ()
        random = np.random.default_rng(seed)
        if self.samples is not None:
            kept = self.samples.shape[1]
            few = n <= kept
            chosen = np.linspace(0, kept - 1, n).round() if few else random.integers(0, kept, n)
            codes = self.samples[:, chosen.astype(np.int64)]
        elif self.copula is not None:
            codes = self.copula.draws(self.posterior, n, seed)
        else:
            codes = np.empty((len(self.pairs), n), np.int8)
            for draw in range(n):
                codes[:, draw] = self.one_draw(random)
            notes = (
                f"{self.fit.method} has no posterior draws: each pair drawn from its probabilities",
            )
        drawn = QrelsSet.of_draws(self.pairs, np.array(self.scale.grades, np.int8)[codes], notes)
        return replace(drawn, provenance=self.provenance)

    def label_provenance(self, ties: str | None = None, seed: int = 0) -> Provenance | None:
        """Where labels come from that are made of this, with these arguments of `grades`."""
        if self.provenance is None:
            return None
        decided = ties is None and self.decided is not None  # by what the provenance says
        return replace(
            self.provenance,
            grades=self.scale.grades,
            relevant_from=self.scale.relevant_from,
            ties=self.provenance.ties if decided else ties or "coin",
            seed=self.provenance.seed if decided else seed,
            given=self.pairs.select(self.given) if self.given.any() else None,
        )

    def one_draw(self, random: np.random.Generator) -> Grades:
        """A code for every pair, drawn from its probabilities: on its own, unless the copula says
        which pairs share their fate.
        """
        edges = np.cumsum(self.posterior, axis=1)[:, :-1]
        if self.copula is None:
            coin = random.random(len(self.pairs))
        else:
            coin = self.copula.places(1, random)[:, 0]
        return np.asarray((coin[:, None] >= edges).sum(axis=1), np.int8)


def tied_argmax(
    weights: Floats, pairs: Pairs, ties: str = "coin", seed: int = 0, at: Codes | None = None
) -> Codes:
    """The column with the largest weight in each row; ties by the one rule.

    Rows belong to the pairs one after the other, or to the pairs with the codes `at`.
    """
    require_choice("ties", ties, TIES)
    best = weights.max(axis=1, keepdims=True)
    top = weights >= best - _ALMOST * np.maximum(np.abs(best), 1e-300)
    if ties == "relevant":
        return np.asarray(weights.shape[1] - 1 - top[:, ::-1].argmax(axis=1), dtype=np.int32)
    codes: Codes = top.argmax(axis=1).astype(np.int32)
    rows = np.flatnonzero(top.sum(axis=1) > 1).astype(np.int32)
    if ties == "coin" and len(rows):
        coded = rows if at is None else at[rows]
        chosen = (pairs.hashes(coded, seed) % top[rows].sum(axis=1).astype(np.uint64)).astype(
            np.int64
        )
        order = np.argsort(~top[rows], axis=1, kind="stable")
        codes[rows] = order[np.arange(len(rows)), chosen]
    return codes


@dataclass(frozen=True)
class Fit:
    """How a fit went: the method's spec, whether it settled, and what it learned on the way.

    `choice` is what a method that chooses among others, such as `auto`, has taken.
    """

    method: str
    converged: bool = True
    iterations: int = 0
    trace: tuple[float, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    choice: str = ""


@dataclass(frozen=True, eq=False)
class AssessorTable(Framed):
    """One row per assessor, named columns; NaN where a value is not known."""

    assessors: Index
    columns: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in self.columns.items():
            if len(column) != len(self.assessors):
                raise InputError(f"column {name} has {len(column)} rows, not {len(self.assessors)}")

    def __repr__(self) -> str:
        return f"AssessorTable({len(self)} assessors; {', '.join(self.columns) or 'no columns'})"

    def __str__(self) -> str:
        return str(self.to_polars())

    def __getitem__(self, column: str) -> Array:
        return self.columns[column]

    def listed(self, by: str = "assessor", descending: bool = False) -> dict[str, Array]:
        """All columns, `assessor` first, in the order of one of them; unknown values last."""
        columns = {"assessor": self.assessors.names, **self.columns}
        if by not in columns:
            raise UnknownNameError.among("column", by, columns)
        key = np.asarray(columns[by])
        rank = np.unique(key.astype(str) if key.dtype == object else key, return_inverse=True)[1]
        unknown = np.isnan(key) if key.dtype.kind == "f" else np.zeros(len(key), np.bool_)
        order = np.lexsort((-rank if descending else rank, unknown))
        return {name: np.asarray(column)[order] for name, column in columns.items()}

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`assessor`, then the table's own columns."""
        codes = np.arange(len(self), dtype=np.int32)
        return {"assessor": Coded(self.assessors, codes), **self.columns}

    def __len__(self) -> int:
        return len(self.assessors)


@dataclass(frozen=True, eq=False)
class Copula:
    """A Gaussian copula over a pool's pairs: correlation[pairs, pairs] per topic, in pair order.

    Topics are independent. A draw gives each pair a standard normal number, and the pair's
    probabilities turn it into a grade: so the share of each grade is its probability, whatever the
    probabilities are, and pairs that are correlated get the same grade more often than chance.
    """

    correlations: tuple[Floats, ...]

    def __post_init__(self) -> None:
        fixed = tuple(freeze(each, np.float64) for each in self.correlations)
        object.__setattr__(self, "correlations", fixed)

    def __len__(self) -> int:
        return sum(len(each) for each in self.correlations)

    @cached_property
    def factors(self) -> tuple[Floats, ...]:
        """Roots of the correlations."""
        return tuple(_root(each) for each in self.correlations)

    def places(self, n: int, random: np.random.Generator) -> Floats:
        """Numbers in [0, 1], [pairs, n]: each pair's are uniform, those of pairs like it alike."""
        from scipy.special import ndtr

        parts = [each @ random.standard_normal((each.shape[1], n)) for each in self.factors]
        return np.asarray(ndtr(np.concatenate(parts)) if parts else np.zeros((0, n)))

    def draws(self, posterior: Floats, n: int, seed: int) -> Grades:
        """Codes[pairs, n] with the shares of posterior[pairs, grades]."""
        if len(self) != len(posterior):
            raise InputError(f"draws: {len(posterior)} pairs, but the copula has {len(self)}")
        random = np.random.default_rng(seed)
        edges = np.cumsum(posterior, axis=1)[:, :-1]
        result = np.zeros((len(self), n), np.int8)
        for first in range(0, n, _BLOCK):
            place = self.places(min(_BLOCK, n - first), random)
            for edge in edges.T:
                result[:, first : first + _BLOCK] += place >= edge[:, None]
        return result


def _root(correlation: Floats) -> Floats:
    """A root of the matrix, its rows scaled to length 1."""
    values, vectors = np.linalg.eigh(correlation)
    kept = values > 1e-12 * max(values.max(initial=0.0), 1e-300)
    root = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(root / np.linalg.norm(root, axis=1, keepdims=True))
