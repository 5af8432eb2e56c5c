"""A campaign's judgements as the library reads them, and the methods that merge them."""

from __future__ import annotations

from collections.abc import Sequence

import qrowd as q
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.datasheet import Figures
from qrowd.data.collected import Collected
from qrowd.errors import RuleError
from qrowd.evaluation.measure import measures_of
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


def merged(files: CampaignFiles, spec: str) -> tuple[Collected, q.Merged]:
    """The campaign as it is now, and its judgements merged by a method."""
    crowd = taken_from(files)
    return crowd, merger_of(spec).fit(crowd.judgements, crowd.given)


def figures_of(spec: str, measures: Sequence[str] = ()) -> Figures:
    """How a campaign's figures are made, for its release."""
    method = merger_of(spec)
    names = tuple(repr(measure) for measure in measures_of(measures or MEASURES))
    return Figures(merge=method, method=repr(method), measures=names, draws=DRAWS)
