"""A campaign's judgements as the library reads them, and the methods that merge them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import qrowd as q
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.datasheet import Figures
from qrowd.data.collected import Collected
from qrowd.errors import InputError, RuleError
from qrowd.evaluation.measure import measures_of
from qrowd.io.qrels import read_drawn
from qrowd.web.files import CampaignFiles

DRAWS = 300
MEASURES = ("AP", "nDCG@10")


def taken_from(files: CampaignFiles) -> Collected:
    """The campaign as it is now."""
    with files.read() as work:
        return collected(work)


def merger_of(spec: str) -> q.Merger:
    """The merging method of a spec string."""
    method = q.get(spec)
    if method.card.level != "judgements":
        raise RuleError("bad-value", f"{spec} does not merge judgements")
    merger: q.Merger = method
    return merger


def merged(files: CampaignFiles, spec: str, by_people: bool = False) -> tuple[Collected, q.Merged]:
    """The campaign as it is now, and its judgements merged by a method; those `by_people` only,
    where machines' came in, too.
    """
    crowd = taken_from(files)
    said = crowd.judgements
    if by_people and said.kinds is not None:
        said = said.of_assessors(said.assessors.without(said.of_kind("machine").assessors))
        said = said.of_pairs(np.diff(said.pair_starts) > 0)
    return crowd, merger_of(spec).fit(said, crowd.given)


def sampled(drawn: Path | None, said: Path | None) -> tuple[q.Sample, q.Judgements] | None:
    """What was drawn for people to judge, and what machines say of all that it was drawn from; an
    error where a file cannot be read or they do not fit, None where there are not both.
    """
    sample = read_drawn(drawn) if drawn else None
    machine = q.read_judgements(said) if said else None
    if sample is None or machine is None:
        return None
    outside = int((machine.pairs.locate(sample.pairs) < 0).sum())
    if outside:
        raise InputError(
            f"the machines' file says nothing of {outside} of the {len(sample)} documents that "
            "were drawn; take the file that `qrowd sample` drew from"
        )
    return sample, machine


def figures_of(spec: str, measures: Sequence[str] = ()) -> Figures:
    """How a campaign's figures are made, for its release."""
    method = merger_of(spec)
    names = tuple(repr(measure) for measure in measures_of(measures or MEASURES))
    return Figures(merge=method, method=repr(method), measures=names, draws=DRAWS)
