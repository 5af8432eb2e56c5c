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

    `checked` is how `qrowd check` names the judgements, "" where it would count others: of several
    files, or of some topics. `pool` is a file that has every judged pair, if one has. `cut` is the
    grade from which on gold is relevant, where it was made binary.
    """

    judgements: str = "JUDGEMENTS"
    gold: str = "GOLD"
    runs: str = "--runs RUNS"
    given: str = "GIVEN"
    checked: str = "JUDGEMENTS"
    pool: str = "JUDGEMENTS"
    cut: int | None = None
    grades: str = ""  # what words mean as grades, as an option


NAMELESS: Files = Files()


class Commands:
    """The commands of a study's tables; empty where none would print the same, or without files."""

    data = agreement = assessors = couples = screening = merging = labels = systems = comparison = (
        ""
    )

    def __init__(self, done: Study, files: Files | None) -> None:
        self.done = done
        self.parameters: dict[str, str] = {}  # by method
        if files is None:
            return
        gold_cut = "" if files.cut is None else f" --gold-rel {files.cut}"
        gold, given = f"{files.gold}{gold_cut}", f"{files.given}{gold_cut}"
        judged = f"{files.judgements}{files.grades}"
        quality = f"qrowd quality {judged}"
        self.agreement = f"{quality} --agreement --resample {done.quality.over}"
        learned = f" --gold {given}" if done.given else ""
        if files.checked:
            self.data = f"qrowd check {files.checked}{files.grades}"
            self.data += f" --gold {gold}" if done.gold is not None else ""
            self.data += f" {files.runs}" if done.runs is not None else ""
        rules = done.screened.rules if done.screened is not None else ()
        crowd, before = judged, []
        if rules:
            self.screening = quality + learned + _options("--screen", rules)
            crowd, before = "kept.tsv", [f"{self.screening} -o kept.tsv"]
        if done.gold is not None:
            self.assessors = f"{quality} --gold {gold}"
        elif not rules and not done.given:  # the method saw all of these judgements and no more
            self.assessors = f"{quality} --method {shlex.quote(done.chosen)}"
        self.couples = "\n".join(
            [*before, f"qrowd quality {crowd} --independence --seed {done.seed}"]
        )
        # what writes each method's labels and probabilities
        pool = ""
        if done.screened is not None and (np.diff(done.screened.kept.pair_starts) == 0).any():
            pool = f" --pairs {files.pool}"  # where somebody's pairs lost all of their votes
            if not files.pool:
                return
        merge = {
            name: f"qrowd merge {shlex.quote(name)} {crowd}{pool}{learned} -o {_stem(name)}.qrels "
            f"--probabilities {_stem(name)}.tsv --json"
            for name in done.merged
        }
        steps = [*before, *merge.values()]
        self.merging = "\n".join(steps)
        self.parameters = {
            name: "\n".join([*before, f"{line} --parameters {_stem(name)}-parameters.tsv"])
            for name, line in merge.items()
        }
        if not self.assessors:
            by_chosen = f"{quality}{learned} --probabilities {_stem(done.chosen)}.tsv"
            self.assessors = "\n".join([*before, merge[done.chosen], by_chosen])
        if done.labels:
            score = "qrowd score {}.tsv " + f"{gold}{files.grades} --calibration"
            self.labels = "\n".join([*steps, *(score.format(_stem(name)) for name in merge)])
        if not done.by_merged:
            return
        evaluate = f"qrowd evaluate {files.runs}"
        measures = _options("-m", next(iter(done.by_merged.values())).measures)
        self.systems = "\n".join([*before, merge[done.chosen], self._intervals(evaluate, measures)])
        if done.merged[done.chosen].samples is not None:  # which a file does not hold
            source = f"--judgements {crowd} --method {shlex.quote(done.chosen)}{learned}"
            plain = len(shlex.split(crowd)) == 1 and files.cut is None and not pool
            direct = self._intervals(evaluate, measures, source)
            self.systems = "\n".join([*before, direct]) if plain else ""
        if done.gold_means is None:
            return
        under, trusted = f"{files.gold}{files.grades}", []
        if files.cut is not None:  # a judgement of each pair: runs are scored under the binary gold
            trusted = [f"qrowd merge mv {under} --rel {files.cut} -o binary-gold.qrels"]
            under = "binary-gold.qrels"
        if self.systems:
            scored = f"{evaluate} --qrels {under}{measures} --intervals"  # and places
            self.systems = "\n".join([self.systems, *trusted, scored])
        if done.comparison is not None:
            qrels = evaluate + " --qrels {}" + measures + " -o by-{}.tsv"
            scores = [qrels.format(f"{_stem(name)}.qrels", _stem(name)) for name in merge]
            names = " ".join(shlex.quote(f"{name}=by-{_stem(name)}.tsv") for name in merge)
            last = f"qrowd compare {names} --reference by-gold.tsv"
            last += f" --leave-out {files.given}" if done.given else ""
            last += f" --level {done.comparison.level:g} --seed {done.seed}"
            by_gold = qrels.format(under, "gold")
            self.comparison = "\n".join([*steps, *scores, *trusted, by_gold, last])

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
