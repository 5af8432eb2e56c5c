"""Crowdsourcing vote by vote (Davtyan, Eickhoff & Hofmann 2015, algorithm 1)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrowd import registry
from qrowd.budget.couples import couples
from qrowd.budget.curves import Curves
from qrowd.budget.votes import PICKS, REQUESTS, Draws, Pool, Systems, drawn, without_duplicates
from qrowd.comparison.correlation import tau_ap
from qrowd.content.similarity import Alike
from qrowd.content.vectors import likeness_of
from qrowd.data.arrays import Floats
from qrowd.data.documents import Documents, Likeness
from qrowd.data.given import Given, Incremental, Merger
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.errors import NotConvergedWarning, ParameterError, UsageError, require_choice
from qrowd.evaluation.measure import Measure

TIES = ("expected", "coin", "prevalence")
_ALMOST = 1e-9
_PARTS = 10
_SWEEP = re.compile(r"\s*([A-Za-z][\w-]*)\.(\w+)\s*=\s*(.+)")

Progress = Callable[[int, int, float], None]


@dataclass(frozen=True, kw_only=True)
class Loop:
    """How votes are asked for and scored.

    votes: for each document. randomisations: how often all of it is done again, with the same
    draws for all methods. every: score after so many votes on a topic (of the largest one); None: 1
    or, where a method must be refitted, a tenth of the documents. ties: `expected` (half right),
    `coin` (fair), `prevalence` (a coin with the share of relevant votes so far). request:
    `resample` real votes with replacement, take each of them `once` at most, or `simulated`
    assessors. picks: which document is asked about next, `even`, by `margin`, or by what it tells
    of `systems` (see `next`), at most `most` votes each; with several, each method under each of
    them. at_least: leave out topics where a document has fewer real votes. near: keep one of the
    documents of a topic that have this cosine or more; None: keep all.
    """

    votes: int = 5
    randomisations: int = 50
    every: int | None = None
    ties: str = "expected"
    request: str = "resample"
    picks: tuple[str, ...] = ("even",)
    most: int = 9
    at_least: int = 1
    near: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("votes", "randomisations", "every", "at_least"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} must be at least 1, got {value}")
        if self.near is not None and not 0 < self.near <= 1:
            raise ParameterError(f"near must be above 0 and at most 1, got {self.near:g}")
        require_choice("ties", self.ties, TIES)
        require_choice("request", self.request, REQUESTS)
        for pick in self.picks:
            require_choice("pick", pick, PICKS)
        if set(self.picks) - {"even"} and self.most < self.votes:
            raise ParameterError(
                f"most must be at least the {self.votes} votes that documents have on average, "
                f"got {self.most}"
            )


def vote_by_vote(
    judgements: Judgements,
    gold: Qrels,
    methods: Sequence[str | Merger] | Mapping[str, Merger],
    *,
    documents: Documents | Likeness | None = None,
    runs: RunSet | None = None,
    measure: Measure | str = "AP",
    loop: Loop = Loop(),
    progress: Progress | None = None,
) -> Curves:
    """How right merged labels are after each vote: accuracy on gold, for each method and topic.

    At each step one of the documents with the fewest votes is picked at random (or another one,
    `loop.picks`), one vote on it is drawn, all votes so far are merged, and the labels of the
    documents with gold are scored. With `runs`, also how far their order by `measure` is the one
    under all labels (tau_AP): gold's, elsewhere what most of all votes say. They are scored as
    `couples` does it, with a model of documents that have no vote yet.
    Methods that offer steps (`Incremental`) take the vote as it comes; others, and all where there
    are runs, are fitted anew.

    >>> import qrowd as q
    >>> made = q.simulate(topics=3, documents=20, assessors=8, votes=5, seed=2)
    >>> loop = q.Loop(votes=3, randomisations=5, every=20)
    >>> curves = q.vote_by_vote(made.judgements, made.truth, ["mv"], loop=loop)
    >>> curves.votes.tolist()
    [1.0, 2.0, 3.0]
    >>> curves.mean("mv").shape
    (3,)
    """
    named = _named(methods)
    given = Given(documents=None if documents is None else likeness_of(documents))
    _refuse_unfit(named, given)
    left_out: tuple[str, ...] = ()
    if loop.near is not None:
        if given.documents is None:
            raise UsageError(
                "near-duplicates are found by their text; on the command line --documents"
            )
        judgements, left_out = without_duplicates(judgements, gold, given.documents, loop.near)
    # without replacement there must be as many votes as are asked for
    at_least = max(loop.at_least, loop.votes if loop.request == "once" else 1)
    pool = Pool.of(judgements, gold, loop.request, at_least)
    if given.documents is not None:
        Alike.of(pool.judgements.pairs, given.documents)  # all have a text: checked before the work
    systems = None if runs is None else Systems(runs, measure)
    if "systems" in loop.picks and systems is None:
        raise UsageError("which votes tell systems apart needs runs; on the command line --runs")
    stepping = [systems is None and isinstance(each, Incremental) for each in named.values()]
    topics, grid = pool.judgements.pairs.topics, _checkpoints(pool, loop, all(stepping))
    names = [
        each if pick == "even" else f"{each} by {pick}" for pick in loop.picks for each in named
    ]
    accuracy = np.full((len(names), len(topics), loop.randomisations, len(grid)), np.nan)
    order = np.full((len(names), loop.randomisations, len(grid)), np.nan)
    reference = None if systems is None else _Reference.of(pool, systems)
    for first, pick in enumerate(loop.picks):
        draws = drawn(
            pool, loop.votes, loop.randomisations, loop.request, loop.seed, pick, loop.most, systems
        )
        course = _Course(pool, draws, grid, loop, reference)
        for at, (method, steps) in enumerate(
            zip(named.values(), stepping, strict=True), first * len(named)
        ):
            run = course.stepped if steps else course.refitted
            for done, of in run(method, given, accuracy[at], order[at]):
                if progress is not None:
                    progress(at * 1000 + 1000 * done // of, len(names) * 1000, float("nan"))
    notes = (*left_out, *pool.notes, *(() if reference is None else (reference.note,)))
    return Curves(
        tuple(names),
        topics,
        grid,
        accuracy,
        notes,
        loop.seed,
        order=None if reference is None else order,
    )


def _named(methods: Sequence[str | Merger] | Mapping[str, Merger]) -> dict[str, Any]:
    if isinstance(methods, Mapping):
        return dict(methods)
    made = [registry.get(each) if isinstance(each, str) else each for each in methods]
    return {repr(method): method for method in made}


def _refuse_unfit(named: Mapping[str, Any], given: Given) -> None:
    """Methods that merge something else, or need what is not there: known before the work."""
    for name, method in named.items():
        card = getattr(method, "card", None)
        if card is not None and card.level != "judgements":
            raise UsageError(f"{name} does not merge judgements; see qrowd methods")
        for need in () if card is None else card.needs:
            if getattr(given, need, None) is None:
                raise UsageError(f"{name} needs {need}; on the command line --{need}")


def _checkpoints(pool: Pool, loop: Loop, stepped: bool) -> Floats:
    """Votes per document at which labels are scored: each `every` votes, and whole numbers."""
    n = int(np.diff(pool.judgements.pairs.topic_starts).max())
    every = loop.every or (1 if stepped else max(1, n // _PARTS))
    steps = {*range(every, loop.votes * n + 1, every), *range(n, loop.votes * n + 1, n)}
    return np.array(sorted(steps), np.float64) / n


@dataclass(frozen=True, eq=False)
class _Reference:
    """The runs' scores under all labels, with which their scores so far are compared."""

    systems: Systems
    scores: Floats
    note: str

    @classmethod
    def of(cls, pool: Pool, systems: Systems) -> _Reference:
        """Under gold; where it is silent under what most of all votes say."""
        has_gold = pool.truth >= 0
        merged = registry.get("mv").fit(pool.judgements)
        p = np.where(has_gold, pool.truth, merged.relevant)
        merged = replace(merged, posterior=np.stack([1 - p, p], axis=1))
        told = couples(pool.judgements, systems.runs, merged, systems.measure)
        note = (
            f"tau_ap: of {len(systems.runs)} runs by {told.measure}, with their order under gold "
            f"({int(has_gold.sum())} pairs) and what most votes say ({int((~has_gold).sum())})"
        )
        return cls(systems, told.expected, note)

    def agreement(self, rows: Judgements, merged: Merged) -> float:
        """tau_AP of the runs by what is judged so far."""
        if len(np.unique(rows.pair)) < 2:
            return float("nan")
        told = couples(rows, self.systems.runs, merged, self.systems.measure)
        return float(tau_ap(told.expected, self.scores))


@dataclass(frozen=True, eq=False)
class _Course:
    """The votes of all topics in their order, and the points of the `grid` at which labels are
    scored. A run fills accuracy[topic, randomisation, point] and, where there is a reference,
    order[randomisation, point]; it yields how much it has done.
    """

    pool: Pool
    draws: list[Draws]
    grid: Floats
    loop: Loop
    reference: _Reference | None

    def stepped(
        self, method: Any, given: Given, accuracy: Floats, order: Floats
    ) -> Iterator[tuple[int, int]]:
        """Topic by topic, all randomisations at a time; topics take turns here."""
        for topic, draws in enumerate(self.draws):
            steps = method.steps(draws.pairs, self.loop.randomisations, given)
            made = 0
            for at, point in enumerate(self.grid.tolist()):
                votes = int(draws.taken(point)[0])
                while made < votes:
                    steps.add(draws.document[:, made], draws.grade[:, made])
                    made += 1
                p = steps.relevant()[:, draws.gold]
                accuracy[topic, :, at] = _right(draws, p, votes, self.loop.ties)
            yield topic + 1, len(self.draws)

    def refitted(
        self, method: Any, given: Given, accuracy: Floats, order: Floats
    ) -> Iterator[tuple[int, int]]:
        """All topics at a time, randomisation by randomisation."""
        unsettled = 0
        for at, point in enumerate(self.grid.tolist()):
            taken = [draws.taken(point) for draws in self.draws]
            for copy in range(self.loop.randomisations):
                votes = [int(each[copy]) for each in taken]
                rows = self._so_far(votes, copy)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", NotConvergedWarning)
                    merged = method.fit(rows, given)
                unsettled += any(issubclass(w.category, NotConvergedWarning) for w in caught)
                for topic, draws in enumerate(self.draws):
                    p = merged.relevant[draws.rows][draws.gold][None]
                    right = _right(draws, p, votes[topic], self.loop.ties, copy)
                    accuracy[topic, copy, at] = right[0]
                if self.reference is not None:
                    order[copy, at] = self.reference.agreement(rows, merged)
            yield at + 1, len(self.grid)
        if unsettled:
            message = f"{method!r} had not settled in {unsettled} of its fits"
            warnings.warn(message, NotConvergedWarning, stacklevel=3)

    def _so_far(self, votes: list[int], copy: int) -> Judgements:
        """The votes of one randomisation up to here."""
        parts = list(zip(self.draws, votes, strict=True))
        pair = [draws.rows.start + draws.document[copy, :n] for draws, n in parts]
        return self.pool.voted(
            np.concatenate(pair).astype(np.int32),
            np.concatenate([draws.assessor[copy, :n] for draws, n in parts]),
            np.concatenate([draws.grade[copy, :n] for draws, n in parts]),
        )


def _right(draws: Draws, p: Floats, votes: int, ties: str, copy: int | None = None) -> Floats:
    """The share of right labels of the documents with gold, for each randomisation in p."""
    copies = slice(None) if copy is None else slice(copy, copy + 1)
    tied = np.abs(p - 0.5) < _ALMOST
    yes = (p > 0.5).astype(np.float64)
    if ties == "expected":
        yes = np.where(tied, 0.5, yes)
    elif tied.any():
        bound = np.full((len(p), 1), 0.5)
        if ties == "prevalence" and votes:
            bound = draws.grade[copies, :votes].mean(axis=1, keepdims=True)
        yes = np.where(tied, draws.coins(votes)[copies] < bound, yes)
    return np.asarray(np.where(draws.truth == 1, yes, 1 - yes).mean(axis=1))


# --- methods by name ------------------------------------------------------------------------------


def specs_of(listed: str) -> list[str]:
    """The spec strings of a list, separated by commas outside of brackets.

    >>> specs_of("mv, mev(votes=2, own_counts=false), gp")
    ['mv', 'mev(votes=2, own_counts=false)', 'gp']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", listed) if part.strip()]


def swept(sweep: str) -> dict[str, list[str]]:
    """The methods of a sweep such as `mvnn.similarity=0.1,0.5,0.9`, under its name.

    >>> swept("mev.votes=1,2")
    {'mev.votes': ['mev', 'mev(votes=2.0)']}
    """
    match = _SWEEP.fullmatch(sweep)
    if not match:
        raise UsageError(
            f"cannot read the sweep {sweep!r}; expected method.parameter=value,value,..., as in "
            "mvnn.similarity=0.1,0.5,0.9"
        )
    method, parameter, values = match.groups()
    specs = [f"{method}({parameter}={value.strip()})" for value in values.split(",")]
    return {f"{method}.{parameter}": [repr(registry.get(spec)) for spec in specs]}
