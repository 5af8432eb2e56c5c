"""The first screen of a report: can this be trusted, which system is best, what to do next.

Every sentence rests on figures that stand further down, and says less where they contradict it:
where gold shows that intervals do not hold, no probability is given.
"""

from __future__ import annotations

import numpy as np

from qrowd.asking.probes import Probes
from qrowd.comparison.intervals import Intervals
from qrowd.comparison.prediction_powered import Corrected
from qrowd.rendering import grouped, percent
from qrowd.reporting.parts import Verdict, sentence
from qrowd.reporting.sections.systems import Coverage
from qrowd.reporting.study import Study

_DOUBTED = ("adversarial", "uniform", "random", "biased")
_NAMED = 3


def verdicts_of(
    done: Study, corrected: Corrected | None = None, probes: Probes | None = None
) -> tuple[Verdict, ...]:
    """Three answers, or two where there are no systems; by scores that human labels corrected,
    where there are such. `probes` tell which machine judges can be talked into a grade.
    """
    held = None  # how well intervals hold what gold says, where both are there
    if done.intervals is not None and done.gold_means is not None:
        held = Coverage.of(done.intervals, done.gold_means)
    estimate = done.wide or done.intervals
    best = [_best(estimate, held)] if estimate is not None else []
    if corrected is not None:
        best = [_best_by_humans(corrected)]
    return (_trust(done, held, probes), *best, _next(done, held, corrected))


# --- can these judgements be trusted? -------------------------------------------------------------


def _trust(done: Study, held: Coverage | None, probes: Probes | None) -> Verdict:
    """What the live page says too; whether intervals hold gold's places, and who falls for what."""
    quality = done.quality
    reasons = [str(found.text) for found in quality.findings]
    level, answer = quality.level, str(quality.answer)
    if held is not None:
        reasons.append(held.sentence)
        if not held.holds:
            level, answer = "bad", "Not for scores of systems"
    if probes is not None and probes.notes:
        reasons = [*map(sentence, probes.notes), *reasons]
        if level in ("good", "unknown"):
            level, answer = "caution", "A machine judge falls for tricks"
    return Verdict("Can these judgements be trusted?", level, answer, " ".join(reasons))


# --- which system is best? ------------------------------------------------------------------------


def _best(estimate: Intervals, held: Coverage | None) -> Verdict:
    first = int(np.argmax(estimate.best[0]))
    name, measure = str(estimate.runs.names[first]), estimate.measures[0]
    many, of = len(estimate.contenders()), len(estimate.runs)
    over = "judgements and topics" if estimate.over == "both" else "judgements"
    asked = "Which system is best?"
    if held is not None and not held.holds:
        text = (
            f"Under the merged grades {name} comes first by {measure}; under gold it is "
            f"{held.best}. The intervals do not hold gold's places, so no probability is given."
        )
        return Verdict(asked, "bad", "Not known from these judgements", text)
    chance = sure(float(estimate.best[0, first]))
    gold = f" Under gold, {held.best} comes first." if held is not None else ""
    if many == 1:
        text = f"By {measure} {name} is the best of {of} with a probability {chance}, over {over}."
        level = "good" if held is None or held.best == name else "caution"
        return Verdict(asked, level, name, text + gold)
    text = (
        f"By {measure} it comes first with a probability {chance}, over {over}; the best one "
        f"may be any of {many} of the {of} systems."
    )
    return Verdict(asked, "caution", f"Perhaps {name}", text + gold)


def _leader(corrected: Corrected) -> tuple[int, int, bool]:
    """The first measure that has places, else the first; the run that leads by it, and whether all
    others are surely behind.
    """
    known = np.flatnonzero(~np.isnan(corrected.place_low).all(axis=1))
    m = int(known[0]) if len(known) else 0
    first = int(corrected.order(corrected.measures[m])[0])
    return m, first, bool(corrected.place_high[m, first] == 1)


def _best_by_humans(corrected: Corrected) -> Verdict:
    m, first, ahead = _leader(corrected)
    measure, places = corrected.measures[m], corrected.place_low[m]
    name, value = str(corrected.runs.names[first]), corrected.value[m, first]
    many, of = int(((places == 1) | np.isnan(places)).sum()), len(corrected.runs)
    by = f"By {measure}, corrected by the human labels of {corrected.labels} {corrected.unit}s"
    asked = "Which system is best?"
    if np.isnan(places).all():
        text = f"{by}, {name} comes first ({value:.3f}); there is no interval, the notes say why."
        return Verdict(asked, "caution", f"Perhaps {name}", text)
    low, high = corrected.low[m, first], corrected.high[m, first]
    ends = "" if np.isnan(low) else f", {percent(corrected.level)} from {low:.3f} to {high:.3f}"
    text = f"{by}, its score is {value:.3f}{ends}"
    if ahead:
        return Verdict(asked, "good", name, f"{text}; all {of - 1} others are surely behind it.")
    text += f"; the best one may be any of {many} of the {of} systems."
    return Verdict(asked, "caution", f"Perhaps {name}", text)


def sure(probability: float) -> str:
    """A probability in words that never claim certainty."""
    if probability > 0.99:
        return "above 99 %"
    return "below 1 %" if probability < 0.01 else f"of {percent(probability)[:-1]} %"


# --- what to do next? -----------------------------------------------------------------------------


def _next(done: Study, held: Coverage | None, corrected: Corrected | None = None) -> Verdict:
    steps = []
    weight = " --by weight --runs RUNS" if done.runs is not None else ""
    if done.partial_gold:
        steps.append(sentence(done.partial_gold))
    if corrected is not None:
        if not _leader(corrected)[2]:
            steps.append(
                "To tell the leading systems apart, judge more pairs or topics: `qrowd compare "
                "--systems --runs RUNS --judgements JUDGEMENTS --human FILE --baseline RUN "
                "--labels-needed .02 --topics-needed .02` says how many."
            )
    elif (done.gold is None and done.quality.gain is None) or (held and not held.holds):
        steps.append(
            f"Let a trusted person judge some pairs: `qrowd sample JUDGEMENTS -n 300{weight}` "
            "says which; then `qrowd evaluate --human FILE` corrects the scores."
        )
    elif done.intervals is not None and len((done.wide or done.intervals).contenders()) > 1:
        steps.append(
            "To tell the leading systems apart, judge more topics, or more of the pairs that they "
            "rank high: `qrowd sample JUDGEMENTS -n 300 --by weight --runs RUNS`."
        )
    doubted = _doubted(done)
    steps += [doubted] if doubted else []
    asked = "What to do next?"
    if steps:
        return Verdict(asked, "caution", "Before you rely on this", " ".join(steps))
    ahead = ", and one system is ahead" if done.intervals is not None else ""
    text = f"No assessor is doubted on enough evidence{ahead}."
    return Verdict(asked, "good", "Nothing stands out", text)


def _doubted(done: Study) -> str:
    """Whom to look at: only people against whom there is enough evidence, in `quality`'s words."""
    kinds = [str(kind) for kind in done.assessors["type"]]
    count = done.assessors["judgements"]
    doubted = [at for at, kind in enumerate(kinds) if kind in _DOUBTED and count[at]]
    if not doubted:
        return ""
    doubted.sort(key=lambda at: -int(count[at]))
    named = ", ".join(
        f"{done.assessors.assessors.names[at]} ({kinds[at]}, {grouped(int(count[at]))} judgements)"
        for at in doubted[:_NAMED]
    )
    share = sum(int(count[at]) for at in doubted) / max(len(done.judgements), 1)
    rest = f" and {len(doubted) - _NAMED} more" if len(doubted) > _NAMED else ""
    return f"Look at {named}{rest}: together they made {percent(share)} of the judgements."
