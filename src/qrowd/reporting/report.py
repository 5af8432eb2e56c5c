"""The verb `report`: nouns to sections, a study or a release to the whole page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import qrowd
from qrowd.asking.probes import Probes
from qrowd.comparison.baseline import Contrast
from qrowd.comparison.compare import Comparison
from qrowd.comparison.intervals import Intervals, intervals
from qrowd.comparison.labels import LabelScores
from qrowd.comparison.pooling import Unjudged
from qrowd.comparison.prediction_powered import Corrected
from qrowd.data.frames import Framed
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.qrels import Qrels
from qrowd.data.scores import Scores
from qrowd.errors import InputError, UsageError
from qrowd.io.release import Release
from qrowd.quality.screening import Screened
from qrowd.rendering import grouped, percent
from qrowd.reporting.commands import NAMELESS, Commands, Files
from qrowd.reporting.parts import (
    Code,
    Fact,
    Items,
    Note,
    Part,
    Prose,
    Report,
    Section,
    Table,
    sentence,
)
from qrowd.reporting.sections import systems
from qrowd.reporting.sections.judgements import (
    agreement_section,
    assessor_section,
    checks_section,
    data_section,
    kinds_said,
    probe_section,
    screening_section,
)
from qrowd.reporting.sections.labels import label_section, posterior_sections, summary_of
from qrowd.reporting.study import Study, study
from qrowd.reporting.verdicts import verdicts_of

_MOST = 200  # rows of a table


def report(
    *nouns: Any,
    title: str = "Judgements of a crowd",
    commands: Sequence[str] = (),
    files: Files | None = NAMELESS,
) -> Report:
    """A report on these nouns: a `study` gives the whole page, other nouns a section each.

    Judgements, `Screened`, `Merged`, `LabelScores`, `Comparison`, `Intervals`, `Scores` (over
    draws, or corrected by human labels: with intervals), `Probes` of machine judges, and whatever
    can be laid out as a table.
    `commands` are shown as the way to make it again; `files` are named in the commands beside a
    study's tables (None: no such commands).

    >>> import qrowd as q
    >>> made = q.simulate(topics=4, documents=20, assessors=8, votes=3, runs=3, seed=1)
    >>> q.report(made.judgements, q.MajorityVote().fit(made.judgements))
    Report(Judgements of a crowd: Data, Merged judgements, Assessors, How to reproduce this report)
    """
    if not nouns:
        raise UsageError("a report needs something to report on, got nothing")
    studies = [noun for noun in nouns if isinstance(noun, Study)]
    sections = [section for noun in nouns for section in sections_of(noun, files)]
    notes = dict.fromkeys(note for noun in nouns for note in getattr(noun, "notes", ()))
    if notes:
        sections.append(Section("Notes", tuple(Note(note) for note in notes)))
    made = f"Made by qrowd {qrowd.__version__}."
    if not studies:
        lead = "What the data contain, and what follows from them."
        return Report(title, lead, (), (*sections, _again(commands)), made)
    first = studies[0]
    sections.append(_again(commands, f" Seed {first.seed}."))
    corrected = next((noun for noun in nouns if isinstance(noun, Corrected)), None)
    probes = next((noun for noun in nouns if isinstance(noun, Probes)), None)
    verdicts = verdicts_of(first, corrected, probes)
    return Report(title, lead_of(first), facts_of(first), tuple(sections), made, verdicts)


def sections_of(noun: Any, files: Files | None = None) -> list[Section]:
    """The sections of one noun; a study's with the commands that read these files."""
    match noun:
        case Study():
            return _study_sections(noun, files)
        case Section():
            return [noun]
        case Judgements():
            return [data_section(noun)]
        case Merged():
            labels = label_section({noun.fit.method: noun}, {})
            return [labels, *sections_of(noun.assessors), *posterior_sections(noun)]
        case AssessorTable():
            columns = noun.to_polars().head(_MOST).to_dict(as_series=False)
            return [Section("Assessors", (Table("As the method sees them", columns),))]
        case LabelScores():
            return [label_section({}, {"merged": noun})]
        case Comparison():
            return [systems.ranking_section(noun)]
        case Screened():
            return [screening_section(noun)]
        case Intervals():
            return [systems.system_section(noun)]
        case Probes():
            return [probe_section(noun)]
        case Corrected():
            return [systems.corrected_section(noun)]
        case Contrast():
            return [systems.contrast_section(noun)]
        case Unjudged():
            return [systems.unjudged_section(noun)]
        case Scores() if noun.axis == "draw":
            return [systems.system_section(intervals(noun))]
        case Scores():
            return [Section("Systems", (systems.means_table(noun),))]
        case Framed():
            frame = noun.to_polars().head(_MOST)
            rest = f"The first {_MOST} rows." if len(frame) == _MOST else ""
            name = type(noun).__name__
            table = Table(f"{name}. {rest}".strip(), frame.to_dict(as_series=False))
            return [Section(name, (table,))]
    raise UsageError(f"cannot report on a {type(noun).__name__}")


def _study_sections(done: Study, files: Files | None) -> list[Section]:
    by = Commands(done, files)
    skilled = assessor_section(
        done.assessors, done.chosen, done.known, done.independence, by.assessors, by.couples
    )
    sections = [
        _what_was_done(done),
        data_section(done.judgements, done.runs, done.gold, by.data),
        agreement_section(done.quality, by.agreement),
        *([checks_section(done.quality)] if done.quality.gain is not None else []),
        skilled,
        *([screening_section(done.screened, by.screening)] if done.screened else []),
        label_section(done.merged, done.labels, by.labels, by.merging),
    ]
    for name, merged in done.merged.items():
        sections += posterior_sections(merged, done.judgements, by.parameters.get(name, ""))
    if done.intervals is not None:
        sections.append(
            systems.system_section(
                done.intervals, done.chosen, done.wide, done.gold_means, done.informed, by.systems
            )
        )
    if done.comparison is not None:
        sections.append(systems.ranking_section(done.comparison, by.comparison))
    return sections


# --- words ----------------------------------------------------------------------------------------


def lead_of(done: Study) -> str:
    """What the page is about, in two sentences."""
    crowd = done.judgements
    ways = f"{len(done.merged)} ways" if len(done.merged) > 1 else "one way"
    text = (
        f"{grouped(len(crowd))} judgements by {grouped(len(crowd.assessors))} assessors"
        f"{kinds_said(crowd)} of {grouped(len(crowd.pairs))} pairs in {len(crowd.topics)} topics, "
        f"merged in {ways}"
    )
    scored = f"; {len(done.runs)} systems scored under the result" if done.runs else ""
    held = ", and everything compared with gold" if done.gold else ""
    return f"{text}{scored}{held}."


def facts_of(done: Study) -> tuple[Fact, ...]:
    """The few numbers at the head of the page."""
    facts, way = [], done.chosen
    if done.labels:
        accuracy = {name: f"{scores['accuracy']:.3f}" for name, scores in done.labels.items()}
        mv = f"mv {accuracy['mv']}" if "mv" in accuracy and way != "mv" else ""
        about = f"of {way}'s merged grades agree with gold"
        facts.append(Fact(accuracy[way], about, mv, "Merged judgements"))
    if done.comparison is not None:
        tau, measure = done.comparison.value(way), done.comparison.measures[0]
        name = f"τ_AP of {way} with gold's ranking"
        about = f"systems by mean {measure}"
        facts.append(Fact(f"{tau:.3f}", name, about, "Rankings against gold"))
    quality, gain = done.quality, done.quality.gain
    if gain is not None:
        single = percent(gain.single.value, 1)
        if gain.known:
            name, about = "of merged answers to check questions are right", f"single ones {single}"
            facts.append(Fact(percent(gain.merged.value, 1), name, about, "Check questions"))
        else:
            about = "what merging gains cannot be known"
            name = "of answers to check questions are right"
            facts.append(Fact(single, name, about, "Check questions"))
    if quality.told:
        about = f"of {quality.told} about whom enough is known"
        facts.append(Fact(grouped(quality.good), "assessors are good", about, "Assessors"))
    return tuple(facts)


def _what_was_done(done: Study) -> Section:
    steps = []
    if done.labels:
        steps.append("The merged grades were compared with gold, pair by pair.")
    if done.intervals is not None:
        measures = ", ".join(done.intervals.measures)
        steps.append(
            f"Every system was scored ({measures}) under the merged grades, and under "
            f"{done.intervals.draws} qrels drawn from the probabilities of `{done.chosen}`."
        )
    if done.comparison is not None:
        steps.append("The rankings of systems were compared with the ranking under gold.")
    if done.partial_gold:
        steps.append(sentence(done.partial_gold))
    gain = done.quality.gain
    if gain is not None:
        steps.append(
            f"Answers to {gain.pairs} check questions were compared with the experts' grades."
        )
    elif done.gold is None and done.given:
        steps.append("Gold was given to the methods, so it cannot tell how accurate they are.")
    elif done.gold is None:
        steps.append("There is no gold, so how accurate the results are is unknown.")
    merged = Prose("The judgements of each pair were merged into a probability for each grade, by:")
    ways = Items({name: _way(name, fitted) for name, fitted in done.merged.items()})
    return Section("What was done", (merged, ways, *(Prose(step) for step in steps)))


def _way(name: str, merged: Merged) -> str:
    """What a method is; and what it took, if it chooses among others."""
    choice = f". It chose: {merged.fit.choice}" if merged.fit.choice else ""
    return f"{summary_of(name)}{choice}"


def _again(commands: Sequence[str], seed: str = "") -> Section:
    parts: list[Part] = [Code("\n".join(commands))] if commands else []
    packages = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "polars")]
    python = f"Python {platform.python_version()}"
    versions = ", ".join([f"qrowd {qrowd.__version__}", python, *packages])
    parts.append(Prose(f"Made with {versions}.{seed}"))
    return Section("How to reproduce this report", tuple(parts))


# --- releases -------------------------------------------------------------------------------------


def study_of(release: Release, gold: Qrels | None = None, **options: Any) -> Study:
    """The study of a release; `options` are those of `study`, the campaign's own by default."""
    if release.collected is None:
        message = "this release has orders only, no grades; `qrowd rank` reads its orders.tsv"
        raise InputError(message, file=release.title)
    own = release.figures
    usual = {
        "methods": [own["method"]],
        "measures": tuple(own["measures"]),
        "draws": own["draws"],
        "level": own["level"],
        "informed": own["informed"],
    }
    stated = {name: value for name, value in options.items() if value not in ((), None)}
    return study(release.collected, release.runs, gold, **{**usual, **stated})


def report_on(
    release: Release,
    gold: Qrels | None = None,
    *,
    title: str = "",
    commands: Sequence[str] = (),
    **options: Any,
) -> Report:
    """The page about a release."""
    done = study_of(release, gold, **options)
    nouns = (done, _release_section(release))
    # no file names: what a release holds is read whole
    return report(*nouns, title=title or release.title, commands=commands, files=None)


def _release_section(release: Release) -> Section:
    files = release.about["files"]
    licence = release.about["licence"] or "not stated"
    about = (
        f"The release of the campaign `{release.name}`, licence: {licence}. The checksums of its "
        f"{len(files)} files were verified. What the data are is in its datasheet.md."
    )
    columns = {"file": list(files), "rows": [grouped(file["rows"]) for file in files.values()]}
    lacks = (Note(sentence(release.lacks)),) if release.lacks else ()
    return Section("Release", (Prose(about), *lacks, Table("What it holds", columns)))
