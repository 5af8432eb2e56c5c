"""The commands that print a report's numbers, one set for each table."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qrowd.comparison.intervals import SHOWN
from qrowd.reporting.study import Study


@dataclass(frozen=True)
class Files:
    """What a study was read from, as it is typed, with the options that say how to read it.

    `gold_cut` if gold was made binary: then no command scores runs under it as the study did.
    """

    judgements: str = "JUDGEMENTS"
    gold: str = "GOLD"
    runs: str = "--runs RUNS"
    given: str = "GIVEN"
    gold_cut: bool = False


NAMELESS: Files = Files()


class Commands:
    """The commands of a study's tables; empty where none would print the same."""

    assessors = screening = labels = systems = comparison = ""

    def __init__(self, done: Study, files: Files) -> None:
        self.done, self.files = done, files
        judged = f"qrowd quality {files.judgements}"
        learned = f" --gold {files.given}" if done.given else ""
        rules = done.screened.rules if done.screened is not None else ()
        if rules:
            self.screening = judged + learned + _options("--screen", rules)
        if done.gold is not None:
            self.assessors = f"{judged} --gold {files.gold}"
        elif not rules and not done.given:  # the method saw all of these judgements and no more
            self.assessors = f"{judged} --method {shlex.quote(done.chosen)}"
        # what writes each method's labels and probabilities
        crowd, before = files.judgements, []
        if done.screened is not None:
            crowd, before = "kept.tsv", [f"{self.screening} -o kept.tsv"]
            if (np.diff(done.screened.kept.pair_starts) == 0).any():
                return  # a file has no pairs that lost all of their votes
        merge = {
            name: f"qrowd merge {shlex.quote(name)} {crowd}{learned} -o {_stem(name)}.qrels "
            f"--probabilities {_stem(name)}.tsv"
            for name in done.merged
        }
        steps = [*before, *merge.values()]
        if done.labels:
            score = "qrowd score {}.tsv " + files.gold + " --calibration"
            self.labels = "\n".join([*steps, *(score.format(_stem(name)) for name in merge)])
        if not done.by_merged:
            return
        evaluate = f"qrowd evaluate {files.runs}"
        measures = _options("-m", next(iter(done.by_merged.values())).measures)
        self.systems = "\n".join([*before, merge[done.chosen], self._intervals(evaluate, measures)])
        if done.merged[done.chosen].samples is not None:  # which a file does not hold
            source = f"--judgements {crowd} --method {shlex.quote(done.chosen)}{learned}"
            plain = len(shlex.split(crowd)) == 1 and not files.gold_cut
            direct = self._intervals(evaluate, measures, source)
            self.systems = "\n".join([*before, direct]) if plain else ""
        if done.gold_means is None or files.gold_cut:
            return
        if self.systems:
            self.systems += f"\n{evaluate} --qrels {files.gold}{measures}"
        if done.comparison is not None and not done.given:
            qrels = evaluate + " --qrels {}" + measures + " -o by-{}.tsv"
            scores = [qrels.format(f"{_stem(name)}.qrels", _stem(name)) for name in merge]
            names = " ".join(shlex.quote(f"{name}=by-{_stem(name)}.tsv") for name in merge)
            last = f"qrowd compare {names} --reference by-gold.tsv"
            last += f" --level {done.comparison.level:g} --seed {done.seed}"
            self.comparison = "\n".join([*steps, *scores, qrels.format(files.gold, "gold"), last])

    def _intervals(self, evaluate: str, measures: str, source: str = "") -> str:
        """What draws and prints intervals."""
        done, estimate = self.done, self.done.wide or self.done.intervals
        assert estimate is not None
        source = source or f"--probabilities {_stem(done.chosen)}.tsv"
        informed = " --informed" if done.informed else ""
        all_pairs = " --json" if len(estimate.runs) > SHOWN else ""  # of systems: P(beats)
        return (
            f"{evaluate} {source}{measures} --draws {estimate.draws}{informed} --seed {done.seed} "
            f"--intervals --over {estimate.over} --level {estimate.level:g}{all_pairs}"
        )


def _options(name: str, values: Sequence[str]) -> str:
    return "".join(f" {name} {shlex.quote(value)}" for value in values)


def _stem(method: str) -> str:
    """A method as the name of a file."""
    return re.sub(r"[^\w.-]+", "-", method).strip("-")
