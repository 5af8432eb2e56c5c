"""What jobs found, for pages: the last result with its age, and the one that is under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from markupsafe import Markup

from qrowd.collection.database.store import Work
from qrowd.errors import RuleError
from qrowd.web import jobs
from qrowd.web.folders import Place
from qrowd.web.pages.organiser.frame import Visiting, own_address, page_router
from qrowd.web.pages.organiser.pictures import placed

router = page_router()
ASKED = ("quality", "merge", "systems")


@dataclass(frozen=True)
class Finding:
    """The last result of a kind, `age` in milliseconds; and the job under way, or why it failed."""

    kind: str
    result: Mapping[str, Any] | None
    parameters: Mapping[str, Any]
    age: int
    running: int | None
    problem: str | None

    @property
    def method(self) -> str:
        """The method that was asked for last."""
        return str(self.parameters.get("method", "auto"))


def finding(work: Work, kind: str) -> Finding:
    """What there is of a kind."""
    last, newest = jobs.latest(work, kind), jobs.newest(work, kind)
    state = newest.state if newest is not None else ""
    return Finding(
        kind,
        last.result if last else None,
        last.parameters if last else {},
        last.age if last else 0,
        newest.id if newest is not None and state in ("waiting", "running") else None,
        str(newest.problem) if newest is not None and state == "failed" else None,
    )


def drawn(place: Place, found: Finding, *names: str) -> list[dict[str, Any]]:
    """The pictures of a result: svg, alt, caption."""
    told = {one["file"]: one for one in (found.result or {}).get("pictures", ())}
    made = []
    for name in names:
        file = f"{name}.svg"
        if file in told:
            svg = place.result(file).read_text(encoding="utf-8")
            made.append({**told[file], "svg": _named(placed(svg), told[file]["alt"])})
    return made


def _named(svg: Markup, alt: str) -> Markup:
    """The picture with its words, for those who do not see it."""
    head, _, body = str(svg).partition(">")
    return Markup('{} role="img" aria-label="{}">{}').format(Markup(head), alt, Markup(body))


@router.post("/campaigns/{name}/find")
def find(name: str, visit: Visiting) -> Response:
    """Ask for a result."""
    member = visit.organiser(name, "manage")
    kind = visit.text("kind")
    if kind not in ASKED:
        raise RuleError("bad-value", f"there is no result {kind!r}")
    wanted: dict[str, Any] = {"method": _spec(visit.text("method", "auto"), visit.text("more"))}
    if kind == "systems":
        wanted["measures"] = visit.text("measures").split()
    with member.store.write(member.campaign) as work:
        jobs.ask(work, kind, _checked(wanted))
    back = own_address(visit.text("back"))
    return visit.go(back, told="Asked for. It is worked out in the background.")


def _spec(name: str, more: str) -> str:
    return f"{name}({more})" if more and "(" not in name else name


def _checked(wanted: dict[str, Any]) -> dict[str, Any]:
    """The same; an error now where the job would fail at once."""
    from qrowd.evaluation.measure import measures_of
    from qrowd.web.tasks import merger

    merger(wanted["method"])
    measures_of(wanted.get("measures") or ["AP"])
    return wanted


def methods() -> list[tuple[str, str]]:
    """The methods that can merge a campaign's judgements as they are: name, words."""
    from qrowd import registry

    found = registry.cards("method").values()
    able = [one for one in found if one.level == "judgements" and not one.needs]
    named = sorted((one.id, f"{one.id}: {one.summary}") for one in able)
    return sorted(named, key=lambda one: one[0] != "auto")
