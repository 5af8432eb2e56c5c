"""The report of a release: the campaign's own figures, from the release's files alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qrowd.data.given import NOTHING, Given
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError
from qrowd.io.release import Release
from qrowd.quality.agreement import agreement
from qrowd.rendering import grouped, percent
from qrowd.reporting.parts import Prose, Report, Section, Table
from qrowd.reporting.report import report
from qrowd.reporting.study import Study, study


def study_of(release: Release, gold: Qrels | None = None, **options: Any) -> Study:
    """The study of a release; `options` are those of `study`, the campaign's own by default."""
    if release.judgements is None:
        message = "this release has orders only, no grades; `qrowd rank` reads its orders.tsv"
        raise InputError(message, file=release.title)
    given = NOTHING if release.gold is None else Given(gold=release.gold)
    own = release.figures
    usual = {
        "methods": [own["method"]],
        "measures": tuple(own["measures"]),
        "draws": own["draws"],
        "level": own["level"],
        "informed": own["informed"],
    }
    stated = {name: value for name, value in options.items() if value not in ((), None)}
    return study(release.judgements, release.runs, gold, given=given, **{**usual, **stated})


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
    over = "topics" if len(done.judgements.topics) > 1 else "pairs"
    agreed = agreement(done.judgements, resample=over)
    caption = f"Agreement of assessors, with {percent(agreed.level)} intervals over {over}"
    section = Section("Agreement", (Table(caption, agreed.table()),))
    nouns = (done, _release_section(release), section)
    return report(*nouns, title=title or release.title, commands=commands)


def _release_section(release: Release) -> Section:
    files = release.about["files"]
    licence = release.about["licence"] or "not stated"
    about = (
        f"The release of the campaign `{release.name}`, licence: {licence}. The checksums of its "
        f"{len(files)} files were verified. What the data are is in its datasheet.md."
    )
    columns = {"file": list(files), "rows": [grouped(file["rows"]) for file in files.values()]}
    return Section("Release", (Prose(about), Table("What it holds", columns)))
