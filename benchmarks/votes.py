"""Which vote next, and when to stop: votes of real crowds, each asked for at most once.

    QROWD_DATA=folder python -m benchmarks.votes [--only PART ...]

Parts: labels, change, stopping, wrong, systems, loop, scores, time.

labels: accuracy of majority votes on gold pairs with six votes or more, picked by margin against
fewest first, both on the same streams of votes. change: how often a label changes until nine votes,
stated against seen. stopping: a pair is asked about until its label changes with at most .2, or
nine votes; against five votes each. wrong: the share of wrong labels as 100 gold pairs tell it,
while 90 % intervals are about this pool. systems: an expert's judgements until the order
of runs by AP is nearly that of all judgements (tau_AP .9), drawn by `couples` against rank by rank
over all runs, both scored by the same model; with and without a tenth that is drawn uniformly.
loop: the same choice in `qrowd loop`, beside documents in random order, on the first collection.
scores: 90 % intervals of runs' scores from that uniform part alone, after judgements were chosen to
tell systems apart. Intervals of differences are over topics, or the pairs of one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import binary_crowd, dl21, folder, over_topics
from qrowd.budget.decisions import FinalVote
from qrowd.budget.votes import Pool, drawn
from qrowd.data.arrays import Array, Floats, Grades

MOST, RISK = 9, 0.2
PARTS = ("labels", "change", "stopping", "wrong", "systems", "loop", "scores", "time")


@dataclass(frozen=True)
class Options:
    crowds: tuple[str, ...] = option(("trec11_crowd_task1", "trec_rf10", "snow2008_rte"))
    orders: int = 100
    gold: int = 100
    collections: tuple[str, ...] = option(("dl21", "trec8_t21"))
    copies: int = 6
    repetitions: int = 100
    uniform: tuple[float, ...] = option((0.1, 0.3))
    only: tuple[str, ...] = option(PARTS, choices=PARTS)


SHORT = Options(
    orders=3, copies=1, repetitions=1, crowds=("trec11_crowd_task1",), collections=("dl21",)
)


def crowd(name: str, at_least: int) -> tuple[q.Judgements, q.Qrels]:
    """The votes on pairs with gold that have at least so many, and the gold."""
    rows, gold = binary_crowd(name)
    has_gold = gold.pairs.locate(rows.pairs) >= 0
    rows = rows.of_pairs(has_gold & (np.diff(rows.pair_starts) >= at_least))
    return rows, gold.select(rows.pairs.locate(gold.pairs) >= 0)


def streams(rows: q.Judgements, orders: int, votes: int) -> Iterator[Grades]:
    """[pair, vote]: the first votes of each pair, its votes in a random order."""
    for seed in range(orders):
        random = np.random.default_rng([seed, 11])
        order = np.argsort(rows.pair + random.random(len(rows)))
        yield rows.grade[order[rows.pair_starts[:-1, None] + np.arange(votes)]]


def right(yes: Array, votes: Array | int, truth: Grades) -> Floats:
    return np.where(2 * yes == votes, 0.5, (2 * yes > votes) == (truth == 1))


def labels(options: Options) -> None:
    table = Table(
        "crowd",
        "pairs",
        "votes a pair",
        "fewest first",
        "by margin",
        "difference",
        "as good as fewest first with",
        title="Picked by margin",
    )
    for name in options.crowds:
        rows, gold = crowd(name, 6)
        loop = q.Loop(
            votes=6,
            randomisations=options.orders,
            every=10**9,
            request="once",
            picks=("even", "margin"),
            most=MOST,
        )
        curves = q.vote_by_vote(rows, gold, ["mv"], loop=loop)
        even, margin = (curves.mean(method) for method in curves.methods)
        gain, low, high = curves.gain(*reversed(curves.methods))
        sure = [f"{g:+.3f} [{a:+.3f}, {b:+.3f}]" for g, a, b in zip(gain, low, high, strict=True)]
        if len(rows.topics) == 1:
            sure = over_pairs(rows, gold, loop)
        for at in range(1, 6):
            equal = float(np.interp(margin[at], np.maximum.accumulate(even), curves.votes))
            table.row(
                name,
                len(rows.pairs),
                at + 1,
                f"{even[at]:.3f}",
                f"{margin[at]:.3f}",
                sure[at],
                f"{'more than ' if margin[at] > even.max() else ''}{equal:.1f}",
            )


def over_pairs(rows: q.Judgements, gold: q.Qrels, loop: q.Loop) -> list[str]:
    """The difference after each vote a pair, of one topic: with its interval over pairs."""
    pool, share = Pool.of(rows, gold, loop.request), []
    for pick in loop.picks:
        how = loop.votes, loop.randomisations, loop.request, loop.seed, pick, loop.most
        (topic,) = drawn(pool, *how)
        hits = np.zeros((loop.votes, len(topic.pairs)))
        for votes, copy in np.ndindex(loop.votes, loop.randomisations):
            seen = slice(topic.taken(votes + 1)[copy])
            pair, said = topic.document[copy, seen], topic.grade[copy, seen]
            count = np.bincount(pair, minlength=len(topic.pairs))
            hits[votes] += right(np.bincount(pair, said, len(count)), count, topic.truth)
        share.append(hits / loop.randomisations)
    return [over_topics(gain, np.arange(len(gain))) for gain in share[1] - share[0]]


def change(options: Options) -> None:
    table = Table("crowd", "p_change", "labels", "stated", "changed", title="Changed labels")
    for name in options.crowds:
        whole, _ = binary_crowd(name)
        rows = whole.of_pairs(np.diff(whole.pair_starts) >= MOST)
        if not len(rows):
            continue
        stated, seen = [], []
        for seed, votes in enumerate(streams(rows, min(options.orders, 20), MOST)):
            n = np.random.default_rng([seed, 12]).integers(1, MOST, len(votes))
            yes = (votes * (np.arange(MOST) < n[:, None])).sum(axis=1)
            final = FinalVote.of(yes, n, MOST)
            p = final.at(final.p_change, yes, n)
            # a tied label is the one that is likelier in the end, as FinalVote has it
            now = np.where(2 * yes == n, final.at(final.relevant, yes, n) > 0.5, 2 * yes > n)
            stated.append(p)
            seen.append(now != (2 * votes.sum(axis=1) > MOST))
        said, was = np.concatenate(stated), np.concatenate(seen)
        for low in np.arange(0, 1, 0.1):
            inside = (said >= low) & (said < low + 0.1)
            if inside.sum() >= 100:
                table.row(
                    name,
                    f"{low:.1f} to {low + 0.1:.1f}",
                    inside.sum(),
                    f"{said[inside].mean():.3f}",
                    f"{was[inside].mean():.3f}",
                )


def stopped(votes: Grades) -> tuple[Array, Array]:
    """Yes and votes of each pair, asked until its label changes with at most RISK, or MOST."""
    total = votes.cumsum(axis=1)
    n = np.full(len(votes), 2)
    while True:
        yes = total[np.arange(len(n)), n - 1]
        final = FinalVote.of(yes, n, MOST)
        further = (final.at(final.p_change, yes, n) > RISK) & (n < MOST)
        if not further.any():
            return yes, n
        n = n + further


def stopping(options: Options) -> None:
    table = Table(
        "crowd",
        "pairs",
        "votes a pair",
        "accuracy",
        "with five votes each",
        "difference",
        "fewer votes",
        title="Stopping",
    )
    for name in options.crowds:
        rows, gold = crowd(name, MOST)
        if len(rows.pairs) < 100:
            continue
        truth = gold.grade[gold.pairs.locate(rows.pairs)]
        one = len(rows.topics) == 1  # then pairs are the sample
        topics = np.arange(len(truth)) if one else rows.pairs.topic
        own, five, count = [], [], []
        for votes in streams(rows, options.orders, MOST):
            yes, n = stopped(votes)
            own.append(right(yes, n, truth))
            five.append(right(votes[:, :5].sum(axis=1), 5, truth))
            count.append(n.mean())
        ours, theirs, used = np.mean(own, axis=0), np.mean(five, axis=0), float(np.mean(count))
        table.row(
            name,
            len(rows.pairs),
            f"{used:.2f}",
            f"{ours.mean():.3f}",
            f"{theirs.mean():.3f}",
            over_topics(ours - theirs, topics),
            f"{1 - used / 5:.0%}",
        )


def wrong(options: Options) -> None:
    table = Table(
        "crowd",
        "gold pairs",
        "rule",
        "stated wrong",
        "wrong",
        "intervals that hold it",
        title="Wrong labels",
    )
    for name in options.crowds:
        for rule in ("3 votes", "5 votes", "stopping"):
            rows, gold = crowd(name, MOST if rule == "stopping" else int(rule[0]))
            if len(rows.pairs) < 300:
                continue
            truth = gold.grade[gold.pairs.locate(rows.pairs)]
            stated, held, real = [], 0, []
            at_most = MOST if rule == "stopping" else int(rule[0])
            for seed, votes in enumerate(streams(rows, options.orders, at_most)):
                n = stopped(votes)[1] if rule == "stopping" else np.full(len(votes), at_most)
                asked = np.arange(at_most) < n[:, None]
                some = replace(
                    rows,
                    pair=np.repeat(np.arange(len(n), dtype=np.int32), n),
                    assessor=np.concatenate([np.arange(k, dtype=np.int32) for k in n]),
                    grade=votes[asked],
                    weight=None,
                    seconds=None,
                    time=None,
                )
                sample = q.sample(some, options.gold, seed=seed).labelled(gold)
                state = q.decisions(some, most=MOST, gold=sample)
                assert state.wrong is not None
                real.append((state.grade != truth).mean())
                stated.append(state.wrong.mean)
                held += state.wrong.low <= real[-1] <= state.wrong.high
            table.row(
                name,
                len(rows.pairs),
                rule,
                f"{np.mean(stated):.3f}",
                f"{np.mean(real):.3f}",
                f"{held} of {options.orders}",
            )


def systems(options: Options) -> None:
    table = Table(
        "collection",
        "picked",
        "judgements to tau_AP .9",
        "tau_AP at 600",
        "1000",
        "1400",
        "1800",
        "couples called decided at 1000",
        "of them wrong",
        "stated",
        title="Systems",
    )
    for name in options.collections:
        runs, gold = judged_runs(name)
        true = q.evaluate(runs, gold, "AP").values.mean(axis=-2).ravel()
        for pick in ("rank by rank", "couples", "couples, a tenth uniform"):
            share = 0.1 if pick.endswith("uniform") else 0.0
            courses = []
            for seed in range(options.copies):
                steps = course(runs, gold, pick, share, seed)
                courses.append([figures(step.told, true) for step in steps])
            # what is drawn uniformly may be judged already: steps are nearly, not quite, of 100
            n, tau, decided, wrong, stated = np.mean(courses, axis=0).T
            reached = np.flatnonzero(np.maximum.accumulate(tau) >= 0.9)
            at = {number: int(np.argmin(abs(n - number))) for number in (600, 1000, 1400, 1800)}
            table.row(
                f"{name}: {len(gold)} pairs, {len(runs)} runs",
                pick,
                f"{n[reached[0]]:.0f}" if len(reached) else f"more than {n[-1]:.0f}",
                *(f"{tau[each]:.3f}" for each in at.values()),
                f"{decided[at[1000]]:.2f}",
                f"{wrong[at[1000]]:.3f}",
                f"{stated[at[1000]]:.3f}",
            )


def judged_runs(name: str) -> tuple[q.RunSet, q.Qrels]:
    if name == "dl21":
        _, gold, runs = dl21()
        return runs, gold.binary(2)
    data = folder(name)
    gold = q.read_qrels(data / "nist.qrels.gz").binary(1)
    return q.read_runs(str(data / "runs" / "*")), gold


@dataclass(frozen=True, eq=False)
class Step:
    """The judgements so far, over the pool, and what they tell."""

    rows: q.Judgements
    told: q.Couples


def course(
    runs: q.RunSet, gold: q.Qrels, pick: str, share: float, seed: int, size: int = 100
) -> Iterator[Step]:
    """An expert's judgements in batches, of which this share is drawn uniformly."""
    pairs, random = gold.pairs, np.random.default_rng([seed, 13])
    names = list(zip(pairs.topic_names, pairs.document_names, strict=True))
    place = {name: at for at, name in enumerate(names)}
    best = np.full(len(pairs), np.inf)
    for topic, doc, rank in runs.to_polars().select("topic", "doc", "rank").iter_rows():
        if (topic, doc) in place:
            best[place[topic, doc]] = min(best[place[topic, doc]], rank)
    order = np.lexsort((random.random(len(pairs)), best))
    judged, uniform = np.zeros((2, len(pairs)), np.bool_)
    judged[order[:200]] = True
    drawn = round(share * size)
    for _ in range(200, 1801, size):
        some = gold.select(judged)
        expert = ["expert"] * len(some)
        choice = q.Choice(pairs, judged & ~uniform, uniform, ("systems",), len(pairs))
        rows = replace(
            q.Judgements.of(
                some.pairs.topic_names, some.pairs.document_names, expert, some.grade
            ).with_pool(pairs),
            choice=choice,
        )
        told = q.couples(rows, runs, q.MajorityVote().fit(rows), "AP")
        yield Step(rows, told)
        if pick.startswith("couples"):
            even = max(0.1 - share, 0.0)
            todo = told.worklist(size - drawn, int(random.integers(2**31)), even)
            todo = todo.with_uniform(rows, drawn, share, seed) if drawn else todo
            chosen = np.array([place[name] for name in zip(todo.topic, todo.document, strict=True)])
            uniform = uniform.copy()
            uniform[chosen[todo.goal == "uniform"]] = True
        else:
            chosen = order[~judged[order]][:size]
        judged[chosen] = True


def figures(told: q.Couples, true: Floats) -> tuple[float, ...]:
    """Judgements so far, tau_AP, and of couples: decided, of these wrong, and stated to be."""
    upper = np.triu_indices(len(true), 1)
    better = np.subtract.outer(true, true)[upper] > 0
    error = told.error[upper]
    decided = error <= 0.05
    missed = (np.subtract.outer(told.expected, told.expected)[upper] > 0) != better
    tau = float(q.tau_ap(told.expected, true))
    return told.judged.sum(), tau, decided.mean(), missed[decided].mean(), error[decided].mean()


def in_loop(options: Options) -> None:
    name = options.collections[0]
    runs, gold = judged_runs(name)
    picks = ("even", "systems")
    table = Table("share judged", *(f"tau_AP, {pick}" for pick in picks), title="In the loop")
    expert = ["expert"] * len(gold)
    rows = q.Judgements.of(
        gold.pairs.topic_names, gold.pairs.document_names, expert, gold.grade
    ).with_pool(gold.pairs)
    loop = q.Loop(votes=1, randomisations=options.copies, request="once", picks=picks)
    curves = q.vote_by_vote(rows, gold, ["mv"], runs=runs, loop=loop)
    assert curves.order is not None
    for share, taus in zip(curves.votes, curves.order.mean(axis=1).T, strict=True):
        table.row(f"{share:.2f}", *(f"{tau:.3f}" for tau in taus))


def scores(options: Options) -> None:
    table = Table(
        "collection",
        "drawn uniformly",
        "measure",
        "pairs",
        "runs with an interval",
        "that hold it",
        "half width",
        "bias",
        "bias of scores under all labels",
        title="Scores",
    )
    measures = ("P@10", "P@100", "DCG@100", "RBP(p=0.95)")
    for name in options.collections:
        runs, gold = judged_runs(name)
        true = q.evaluate(runs, gold, measures).means()[:, 0]
        for share in options.uniform:
            seen = []
            for seed in range(options.repetitions):
                *_, last = course(runs, gold, "couples", share, seed, 400)
                rows = last.rows
                made = q.uniform_scores(runs, rows, q.MajorityVote().fit(rows), measures)
                every = gold.select(np.diff(rows.pair_starts) > 0)
                under_all = q.evaluate(runs, every, measures).means()[:, 0]
                labels = np.full(true.shape, float(made.labels))
                seen.append([labels, made.value, made.low, made.high, under_all])
            for at, measure in enumerate(measures):
                labels, value, low, high, under_all = np.array(seen)[:, :, at].swapaxes(0, 1)
                known = ~np.isnan(low)
                held, half = "none", "none"
                if known.any():
                    held = f"{((low <= true[at]) & (true[at] <= high))[known].mean():.3f}"
                    half = f"{(high - low)[known].mean() / 2:.3f}"
                table.row(
                    f"{name}: {len(gold)} pairs, {len(runs)} runs",
                    f"{share:.0%}",
                    measure,
                    f"{labels.mean():.0f}",
                    f"{known.mean():.2f}",
                    held,
                    half,
                    f"{np.nanmean(value - true[at]):+.3f}",
                    f"{(under_all - true[at]).mean():+.3f}",
                )


def times(options: Options) -> None:
    table = Table("goal", "pairs", "runs", "CPU seconds of the list", title="Time")
    made = q.simulate(topics=50, documents=200, runs=60, assessors=60, votes=3, seed=1)
    crowd = made.judgements
    merged = q.MajorityVote().fit(crowd)
    lists: dict[str, Callable[[], object]] = {
        "labels": lambda: q.undecided(crowd, number=100),
        "systems, AP": lambda: q.couples(crowd, made.runs, merged, "AP").worklist(100),
        "systems, P@100": lambda: q.couples(crowd, made.runs, merged, "P@100").worklist(100),
    }
    for goal, listed in lists.items():
        taken = []
        for _ in range(5):
            began = time.process_time()
            listed()
            taken.append(time.process_time() - began)
        table.row(goal, len(crowd.pairs), len(made.runs), f"{min(taken):.3f}")


def main(options: Options) -> None:
    for name, part in (
        ("labels", labels),
        ("change", change),
        ("stopping", stopping),
        ("wrong", wrong),
        ("systems", systems),
        ("loop", in_loop),
        ("scores", scores),
        ("time", times),
    ):
        if name in options.only:
            part(options)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
