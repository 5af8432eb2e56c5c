"""What a hierarchy gains in a campaign: `python -m benchmarks.hierarchy`.

Robots do campaigns over the application's own interface, all with the same budget: every document
gets three judgements; by margin, up to five; in mode hierarchy, up to three by margin, and what
that saves is for revision. Documents have made text of a strength (0: it tells nothing). A robot
that looks at an answer once more judges anew. The expert of the hierarchy is right 95 % of the
time; even picking and margin are shown without experts, and with an expert who decides as many
documents (those whose votes are closest) as the hierarchy's did.

Labels are majority votes under experts' decisions, a tie is half right. Missed: the share of
relevant documents that are not called relevant. Differences are to even picking in the same
repetition, with the same documents; intervals of 90 % are over repetitions.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qrowd as q
from benchmarks._benchmark import Table, option, run
from qrowd.collection.adjudication import expert_sample
from qrowd.collection.books import ledger
from qrowd.collection.database.opening import open_store
from qrowd.collection.judging.hierarchy import hierarchy
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.export import given_names
from qrowd.data.collected import grades_of
from qrowd.data.topics import Topic
from qrowd.simulation.setting import CROWDS
from qrowd.web.api import work as interface
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.robot import EAGER
from qrowd.web.robots.traffic import Clock

PLAN = """
[campaign]
name = "hierarchy"
mode = "{mode}"
[scale]
grades = [0, 1]
[sets]
size = 1
target = {most}
[next]
pick = "{pick}"
refresh_minutes = 3
[hierarchy]
training = {training}
hours = 4
[hit]
sets = 10
gold = 0
[checks.seconds]
action = "none"
[pay]
hit = 1.00
review = 1.00
budget = {budget}
"""
EACH = 3  # judgements of a document that the budget is for
ARMS = {  # mode, pick, judgements of a document at most
    "even": ("crowd", "even", EACH),
    "margin": ("crowd", "margin", 5),
    "hierarchy": ("hierarchy", "margin", EACH),
}


@dataclass(frozen=True)
class Options:
    topics: int = 2
    documents: int = 75  # of a topic
    training: int = 10  # of them
    repetitions: int = 10
    robots: int = 12
    crowd: str = "careful"
    seconds: float = 60.0  # of an expert for a document
    strengths: tuple[float, ...] = option((0.0, 0.3, 0.6), positional=True)


SHORT = Options(topics=1, documents=30, training=5, repetitions=2, strengths=(0.6,))


@dataclass(frozen=True)
class Done:
    """A campaign: shares, how many documents experts decided, and what it cost."""

    missed: float
    accuracy: float
    decided: int
    spent: float
    revised: int = 0
    changed: int = 0
    tells: float = 0.0  # of the topics


def campaign(
    options: Options, arm: str, made: q.Collection, seed: int
) -> tuple[Done, dict[int, Done]]:
    """What came of an arm; for arms without experts also with so many decisions."""
    mode, pick, most = ARMS[arm]
    number = options.topics * options.documents
    plan = parse_plan(
        PLAN.format(
            mode=mode,
            pick=pick,
            most=most,
            training=options.training,
            budget=number * EACH / 10,
        )
    )
    truth = grades_of(made.gold.binary(at_least=1))
    assert made.documents is not None
    texts = dict(zip(made.documents.index, made.documents.text, strict=True))
    rows = CampaignRows(
        [Topic(name, query=name) for name in made.gold.pairs.topics],
        [DocumentRow(name, str(texts[name]).encode(), "") for _, name in truth],
        sorted(truth),
    )
    crowd = Crowd(
        robots=options.robots,
        per_hour=1000,  # all at once: a few would do all of so little
        setting=CROWDS[options.crowd],
        habits=EAGER,
        truth=made.gold.binary(at_least=1),
        seed=seed,
        most_batches=10_000,
    )
    with tempfile.TemporaryDirectory() as path:
        clock = Clock(1_700_000_000_000)
        with open_store(f"{path}/made.db", new=True, clock=clock, seed=seed) as store:
            create_campaign(store, plan, rows)
            judge(store, clock, Path(path), "hierarchy", crowd)
            with store.read("hierarchy") as work:
                votes, experts = collected(work).judgements, given_names(work)
                money, split = ledger.balance(work), expert_sample.disputed(work, number)
                found = hierarchy(work) if arm == "hierarchy" else None
    spent = (money.owed + money.settled) / 100
    if found is not None:
        telling = float(np.mean([line.text.tells for line in found.topics]))
        again, changed = found.count("revised"), found.count("changed")
        missed, accuracy = scored(votes, experts, truth)
        return Done(missed, accuracy, len(experts), spent, again, changed, telling), {}
    order = [(row.topic, row.doc) for row in split]
    chance = np.random.default_rng(seed)
    said = {pair: int(truth[pair] == (chance.random() < crowd.expert)) for pair in order}
    with_experts = {
        n: Done(
            *scored(votes, {pair: said[pair] for pair in order[:n]}, truth),
            min(n, len(order)),
            spent,
        )
        for n in range(number + 1)
    }
    return with_experts[0], with_experts


def scored(
    votes: q.Judgements,
    experts: Mapping[tuple[str, str], int],
    truth: Mapping[tuple[str, str], int],
) -> tuple[float, float]:
    """The share of relevant documents that is missed, and of all documents that is right."""
    lead = np.bincount(votes.pair, 2.0 * votes.grade - 1, len(votes.pairs))
    names = zip(votes.pairs.topic_names, votes.pairs.document_names, strict=True)
    says = dict(zip(names, np.where(lead == 0, 0.5, lead > 0).tolist(), strict=True))
    label = {pair: float(experts.get(pair, says.get(pair, 0.0))) for pair in truth}
    missed = [1 - label[pair] for pair, grade in truth.items() if grade]
    return float(np.mean(missed)), float(np.mean([1 - abs(label[p] - g) for p, g in truth.items()]))


def main(options: Options) -> None:
    logging.disable(logging.INFO)
    interface.STEP = 1e-4  # nobody is here whom the time could tell anything
    number = options.topics * options.documents
    table = Table(
        "strength",
        "campaign",
        "missed",
        "missed, against even",
        "accuracy",
        "accuracy, against even",
        "experts, minutes",
        "EUR",
        "looked at again, changed",
        "topics that tell",
        optional=(
            "missed, against even",
            "accuracy, against even",
            "looked at again, changed",
            "topics that tell",
        ),
        title=f"{options.repetitions} repetitions of {number} documents, {options.robots} robots "
        f"({options.crowd}), budget {number * EACH / 10:g} EUR",
    )
    done: dict[float, dict[str, list[Done]]] = {each: {} for each in options.strengths}
    for seed in range(options.repetitions):
        shape = {"topics": options.topics, "documents": options.documents, "seed": seed}
        others = {
            arm: campaign(options, arm, q.simulate(text=0.0, **shape), seed)
            for arm in ("even", "margin")  # to which texts are nothing
        }
        for strength, rows in done.items():
            made = q.simulate(text=strength, **shape)
            runs = {**others, "hierarchy": campaign(options, "hierarchy", made, seed)}
            for arm, (plain, with_experts) in runs.items():
                rows.setdefault(arm, []).append(plain)
                if with_experts:
                    decided = with_experts[runs["hierarchy"][0].decided]
                    rows.setdefault(f"{arm}, experts", []).append(decided)
    for strength, rows in done.items():
        for arm, each in rows.items():
            table.row(f"{strength:g}", arm, *_cells(each, rows["even"], options.seconds))


def _cells(runs: list[Done], even: list[Done], seconds: float) -> list[str]:
    cells = []
    for name in ("missed", "accuracy"):
        values = np.array([getattr(each, name) for each in runs])
        gain = values - np.array([getattr(each, name) for each in even])
        cells += [f"{values.mean():.3f}", _interval(gain) if runs is not even else "-"]
    minutes = np.mean([each.decided for each in runs]) * seconds / 60
    means = {
        name: np.mean([getattr(each, name) for each in runs])
        for name in ("spent", "revised", "changed", "tells")
    }
    looked = f"{means['revised']:.1f}, {means['changed']:.1f}"
    is_text = means["revised"] + means["tells"] > 0
    told = f"{means['tells']:.0%}"
    spent = f"{means['spent']:.1f}"
    return [*cells, f"{minutes:.0f}", spent, *((looked, told) if is_text else ("-", "-"))]


def _interval(values: np.ndarray) -> str:
    from scipy.special import stdtrit

    reach = stdtrit(len(values) - 1, 0.95) * values.std(ddof=1) / np.sqrt(len(values))
    mean = values.mean()
    return f"{mean:+.3f} [{mean - reach:+.3f}, {mean + reach:+.3f}]"


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
