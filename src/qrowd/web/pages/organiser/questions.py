"""The wizard's questions in words, and how the form of each is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qrowd.collection.drafts.answers import Answer
from qrowd.collection.drafts.steps import STEPS
from qrowd.web.pages.organiser.frame import Visit

KINDS = {
    "topics": ("topics",),
    "documents": ("documents",),
    "pool": ("pool", "runs"),
    "mode": ("priorities",),
    "gold": ("gold",),
    "qualification": ("qualification",),
    "techniques": ("questions",),
}
CHOICES = ("source",)
# a switch and the key that it turns off: what the key is then
SWITCHES = {
    "techniques.justification": "none",
    "techniques.expertise_share": "0",
    "techniques.review_share": "0",
    "techniques.expert_share": "0",
    "qualification.sets": "0",
    "people.recognise": "no",
}
PERCENT = (
    "techniques.expertise_share",
    "techniques.review_share",
    "techniques.expert_share",
    "qualification.pass_share",
    "hit.second_share",
)


@dataclass(frozen=True)
class Words:
    """A question: its short name in the list, and the question itself."""

    short: str
    question: str


QUESTIONS = {
    "name": Words("Name", "What is the campaign called?"),
    "topics": Words("Topics", "Which topics?"),
    "documents": Words("Documents", "Where are the documents?"),
    "pool": Words("Pool", "Which documents are judged?"),
    "mode": Words("Who judges what", "Many people, or one for each topic?"),
    "way": Words("Way of judging", "How is a document judged?"),
    "grades": Words("Grades", "Which grades are there?"),
    "sets": Words("Batches", "How is the work cut up?"),
    "target": Words("Target", "How many people judge each document?"),
    "gold": Words("Gold", "How do you find out who judges badly?"),
    "checks": Words("Checks", "What must a batch reach, and what if it does not?"),
    "qualification": Words("Qualification", "Is there a test before the first batch?"),
    "techniques": Words("Further controls", "Do you want further controls?"),
    "words": Words("Instructions", "What do people read before they start?"),
    "people": Words("People", "Where do the people come from?"),
    "pay": Words("Pay", "What do they get for a batch?"),
    "budget": Words("Budget", "How much may be spent?"),
}
LAST = {
    "passing": Words("Who would pass", "Who would pass?"),
    "rehearsal": Words("Dry run", "What would happen? A dry run with robots"),
    "launch": Words("Launch", "Ready to launch?"),
}
ORDER = (*QUESTIONS, *LAST)


def next_of(step: str) -> str:
    """The question after this one."""
    return ORDER[min(ORDER.index(step) + 1, len(ORDER) - 1)]


def before(step: str) -> str:
    """The question before this one; none before the first."""
    at = ORDER.index(step)
    return ORDER[at - 1] if at else ""


def answer_of(visit: Visit, step: str) -> Answer:
    """What the form of a question said."""
    files = {
        kind: [(one.filename or "file", one.file) for one in visit.files(kind)]
        for kind in KINDS.get(step, ())
        if visit.files(kind)
    }
    choices = {name: visit.text(name) for name in CHOICES if visit.text(name)}
    return Answer(step, texts_of(visit, step), files, choices)


def texts_of(visit: Visit, step: str) -> dict[str, str]:
    """The fields of a question's form, by key of the plan."""
    found: dict[str, str] = {}
    for name in STEPS[step]:
        if name.startswith("files.") and name != "files.depth":
            continue
        if name in SWITCHES and f"has-{name}" in visit.form:
            on = visit.text(f"on-{name}") == "yes"
            found[name] = (visit.text(name) or "yes") if on else SWITCHES[name]
        elif name in visit.form:
            found[name] = visit.text(name)
    return _as_shares(found)


def _as_shares(texts: Mapping[str, str]) -> dict[str, str]:
    """Forms ask for percents, plans have shares."""
    return {name: _share(text) if name in PERCENT else text for name, text in texts.items()}


def _share(text: str) -> str:
    try:
        return repr(float(text.replace(",", ".")) / 100)
    except ValueError:
        return text
