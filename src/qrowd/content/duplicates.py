"""Near-duplicates: groups of documents that are all but one document."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Codes, Floats


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
