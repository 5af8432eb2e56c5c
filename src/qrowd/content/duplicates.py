"""Near-duplicates: groups of documents that are all but one document."""

from __future__ import annotations

import numpy as np

from qrowd.content.alike import Alike
from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.documents import Documents
from qrowd.data.index import Pairs
from qrowd.data.likeness import Likeness


def groups_of(cosines: Floats, near: float) -> Codes:
    """The group of each document: those linked by cosines of `near` or more are one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    return np.asarray(
        connected_components(csr_array(cosines >= near - 1e-12), directed=False)[1], np.int32
    )


def one_of_each(group: Codes) -> Codes:
    """The first document of each group, in order."""
    return np.sort(np.unique(group, return_index=True)[1]).astype(np.int32)


def distinct(pairs: Pairs, documents: Documents | Likeness, near: float, preferred: Mask) -> Mask:
    """Which pairs stay when a topic keeps one of each group: the first preferred one, if any."""
    kept = np.zeros(len(pairs), np.bool_)
    for rows, cosines in Alike.of(pairs, documents).topics():
        group = groups_of(cosines, near)
        order = np.argsort(~preferred[rows], kind="stable")
        kept[rows.start + order[one_of_each(group[order])]] = True
    return kept
