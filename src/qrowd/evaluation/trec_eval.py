"""trec_eval's own words: its names of measures, its lists of them, the layout that it prints; and
ranx's names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.scores import Scores
from qrowd.errors import UsageError

_RANKS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_RECALLS = tuple(f"{point / 10:.2f}" for point in range(11))
_TIMES = tuple(f"{point / 5:.2f}" for point in range(1, 11))


@dataclass(frozen=True)
class Family:
    """One of trec_eval's measures: ours, and where it stands for several, which."""

    spec: str
    cutoffs: tuple[str, ...] = ()
    whole: bool = False  # printed without a point
    topics: bool = True  # printed for single topics too
    several: bool = True  # its bare name is all of them; else one has to be named
    further: str = ""  # with what stands behind its name, where that is no cutoff


FAMILIES = {  # in the order in which trec_eval prints them
    "num_q": Family("NumQ", whole=True, topics=False),
    "num_ret": Family("NumRet", whole=True),
    "num_rel": Family("NumRel", whole=True),
    "num_rel_ret": Family("NumRelRet", whole=True),
    "map": Family("AP"),
    "gm_map": Family("GMAP", topics=False),
    "Rprec": Family("Rprec"),
    "bpref": Family("Bpref"),
    "recip_rank": Family("RR"),
    "iprec_at_recall": Family("IPrec@{}", _RECALLS),
    "P": Family("P@{}", _RANKS, several=False),  # ir_measures' P needs its cutoff
    "recall": Family("R@{}", _RANKS),
    "infAP": Family("infAP"),
    "gm_bpref": Family("GMBpref", topics=False),
    "Rprec_mult": Family("Rprec(times={})", _TIMES),
    "utility": Family("Utility"),
    "11pt_avg": Family("IAP"),
    "binG": Family("G(binary=True)"),
    "G": Family("G"),
    "ndcg": Family("nDCG"),
    "ndcg_rel": Family("nDCGrel"),
    "Rndcg": Family("RnDCG"),
    "ndcg_cut": Family("nDCG@{}", _RANKS),
    "map_cut": Family("AP@{}", _RANKS),
    "relative_P": Family("SetP(relative=True)@{}", _RANKS),
    "success": Family("Success@{}", ("1", "5", "10")),
    "set_P": Family("SetP"),
    "set_relative_P": Family("SetP(relative=True)"),
    "set_recall": Family("R"),
    "set_map": Family("SetAP"),
    "set_F": Family("SetF", further="SetF(beta={})"),
    "num_nonrel_judged_ret": Family("NumNonrelRet", whole=True),
}
NICKNAMES = {
    "official": tuple(FAMILIES)[: list(FAMILIES).index("P") + 1],
    "all_trec": tuple(FAMILIES),
    "set": (
        *("num_q", "num_ret", "num_rel", "num_rel_ret", "utility"),
        *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    ),
}
RANX = {  # its names, before the cutoff
    "precision": "P",
    "recall": "R",
    "f1": "SetF",
    "hit_rate": "Success",
    "r-precision": "Rprec",
    "mrr": "RR",
    "map": "AP",
    "dcg": "DCG",
    "dcg_burges": "DCG(dcg='exp-log2')",
    "ndcg": "nDCG",
    "ndcg_burges": "nDCG(dcg='exp-log2')",
}
_RBP = re.compile(r"rbp\.(\d+)")  # ranx's
_NAME = re.compile(r"(\w+?)(?:[_.]((?:\d+(?:\.\d+)?,?)+))?")


def names_of(word: str) -> list[str]:
    """The measures that one of trec_eval's words stands for, by its names; [] if it is not its."""
    if word in NICKNAMES:
        return [name for family in NICKNAMES[word] for name in _of_family(family, ())]
    if word in FAMILIES:
        return _of_family(word, ()) if FAMILIES[word].several else []
    match = _NAME.fullmatch(word)
    if not match or match[1] not in FAMILIES or not match[2]:
        return []
    return _of_family(match[1], match[2].rstrip(",").split(","))


def _of_family(family: str, cutoffs: Sequence[str]) -> list[str]:
    return [f"{family}_{cut}" for cut in cutoffs or FAMILIES[family].cutoffs] or [family]


def specs_of(word: str) -> list[str]:
    """The specs of our measures that a word stands for: trec_eval's names, ranx's, or itself."""
    specs = []
    for name in names_of(word.strip()):
        match = _NAME.fullmatch(name)
        assert match is not None
        plain = name in FAMILIES
        family = FAMILIES[name if plain else match[1]]
        spec = family.spec
        if not plain and "{}" not in spec:
            spec = family.further or f"{spec}@{{}}"
        specs.append(spec if plain else spec.format(match[2]))
    name, at, cutoff = word.strip().partition("@")
    if not specs and name in RANX:
        specs = ["SetP"] if name == "precision" and not at else [f"{RANX[name]}{at}{cutoff}"]
    if match := _RBP.fullmatch(word.strip()):
        specs = [f"RBP(p=0.{match[1]})"]
    return specs or [word]


def printed(
    scores: Scores, words: Sequence[str], per_topic: bool, rel: int | None = None
) -> Iterator[str]:
    """Lines as trec_eval prints them, one run after another, of scores of these words; `rel` is as
    for `measures_of`.
    """
    from qrowd.evaluation.measure import measures_of  # which asks here what words mean

    if len(scores.columns) > 1:
        raise UsageError("trec_eval's layout holds scores under one set of qrels; use -o or --json")
    names = list(dict.fromkeys(name for word in words for name in names_of(word) or [word]))
    wanted = [measures_of(specs_of(name)[0], rel=rel)[0] for name in names]
    where = [scores.measures.index(repr(each)) for each in wanted]  # names may share one
    means = scores.means()[:, 0]
    for run, called in enumerate(scores.runs):
        for topic, title in enumerate(scores.topics if per_topic else []):
            values = scores.values[where, 0, topic, run]
            if not np.isnan(values).all():
                yield from _lines(names, values, title, single=True)
        yield f"{'runid':<22}\tall\t{called}"
        yield from _lines(names, means[where, run], "all")


def _lines(names: Sequence[str], values: Floats, topic: str, single: bool = False) -> Iterator[str]:
    for name, value in zip(names, values, strict=True):
        family = FAMILIES.get(name, Family(""))
        if family.topics or not single:
            yield f"{name:<22}\t{topic}\t{value:.{0 if family.whole else 4}f}"
