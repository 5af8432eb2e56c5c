"""A step of the wizard is one class and one template; a draft of a step that is gone goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="pages need the extra serve")

import jinja2
from tests.web.office import words
from tests.web.test_wizard import Wizard, paths, wizard

from qrowd import texts
from qrowd.collection.drafts import steps
from qrowd.collection.drafts.draft import Draft, all_drafts, new_draft, open_draft, save
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.steps import Step, all_steps, step_of
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError, UsageError
from qrowd.texts import Text
from qrowd.web.files import drafts_in
from qrowd.web.pages.templates import templates

__all__ = ["paths", "wizard"]
TEMPLATE = """
{% extends "organiser/wizard.html.j2" %}
{% import "organiser/parts.html.j2" as parts with context %}
{% block question %}
<p>{{ known }}</p>
{{ parts.number("hit.repeats", t("office.step.repeats.short"), plan.hit.repeats * 100, unit="%") }}
{% endblock %}
"""
WORDS = {
    "office.step.repeats.short": "Repeats",
    "office.step.repeats.question": "How often is a set shown twice?",
    "office.step.repeats.many": "nobody likes to see every second set twice",
}


@contextmanager
def no_steps_left_behind(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Steps that are made here are gone afterwards."""
    with patch.context() as own:
        own.setattr(steps, "REGISTERED", dict(steps.REGISTERED))
        yield


@contextmanager
def repeats(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A further step of the wizard: its class, its template, its words."""
    (folder / "organiser/steps").mkdir(parents=True)
    (folder / "organiser/steps/repeats.html.j2").write_text(TEMPLATE, "utf-8")
    usual: Any = templates().loader
    loaders = [jinja2.FileSystemLoader(folder), usual]
    with no_steps_left_behind(patch), patch.context() as own:
        own.setattr(templates(), "loader", jinja2.ChoiceLoader(loaders))
        english: Any = texts.catalogue("en")
        for id, said in WORDS.items():
            own.setitem(english, id, said)

        class Repeats(Step):
            name = "repeats"
            after = "target"
            keys = ("hit.repeats",)
            percents = ("hit.repeats",)

            def suggest(self, draft: Draft) -> Plan:
                return set_key(draft.plan, "hit", "repeats", 0.1)

            def problems(self, draft: Draft) -> Iterator[Complaint]:
                if draft.plan.hit.repeats >= 0.5:
                    yield Complaint("hit", "repeats", Text("office.step.repeats.many"))

            def shown(self, draft: Draft) -> dict[str, str]:
                return {"known": f"Up to {draft.plan.hit.sets} sets."}

        yield


def test_a_new_step_is_a_class_and_a_template(
    wizard: Wizard, paths: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list(all_steps())
    with repeats(tmp_path / "templates", monkeypatch):
        order = list(all_steps())
        assert order[order.index("target") : order.index("gold") + 1] == [
            "target",
            "repeats",
            "gold",
        ]
        assert [name for name in order if name != "repeats"] == before
        wizard.whole(paths)
        reply = wizard.answer("target", **{"sets.target": "3"})
        assert reply.headers["location"].endswith("/repeats")
        page = wizard.desk.get(f"{wizard.address}/repeats")
        assert "How often is a set shown twice?" in words(page)
        assert "Up to 6 sets." in words(page)
        assert f"of {len(order) + 3}: Repeats" in words(page)
        assert 'value="10.0"' in page.text
        refused = wizard.answer("repeats", **{"hit.repeats": "80"})
        assert (refused.status_code, wizard.draft.plan.hit.repeats) == (422, 0.0)
        assert "Nobody likes to see every second set twice" in words(refused)
        taken = wizard.answer("repeats", **{"hit.repeats": "20"})
        assert taken.headers["location"].endswith("/gold")
        worse = set_key(wizard.draft.plan, "hit", "repeats", 0.6)
        good = wizard.draft.plan
        save(wizard.draft, worse, "ada", 5)
        launch = wizard.desk.get(f"{wizard.address}/launch")
        assert f'<a href="{wizard.address}/repeats">Repeats</a>: nobody likes' in launch.text
        save(wizard.draft, good, "ada", 6)
        assert wizard.answer("launch", sure="yes").status_code == 303
        with wizard.server.site.store.read("which-pages-help") as work:
            assert (work.state, work.plan.hit.repeats) == ("running", 0.2)
    assert list(all_steps()) == before


def test_a_draft_of_a_step_that_no_longer_exists_goes_on(
    wizard: Wizard, paths: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with repeats(tmp_path / "templates", monkeypatch):
        assert wizard.answer("repeats", **{"hit.repeats": "20"}).status_code == 303
    assert wizard.draft.answered == ("repeats",)
    gone = wizard.desk.get(f"{wizard.address}/repeats")
    assert gone.status_code == 404
    assert "does not ask the question “repeats”. Nothing that was filled in is lost" in words(gone)
    assert f'href="{wizard.address}"' in gone.text
    late = wizard.answer("repeats", **{"hit.repeats": "30"})
    assert (late.status_code, words(late)) == (404, words(gone))
    on = wizard.desk.get(wizard.address)
    assert on.headers["location"] == f"{wizard.address}/name"
    assert "that this one does not ask: repeats." in words(wizard.desk.get(on.headers["location"]))
    assert f"0 of {len(all_steps())} questions answered" in words(wizard.desk.get("/campaigns"))
    wizard.whole(paths)
    draft = wizard.draft
    assert "repeats" in draft.answered
    assert draft.plan.hit.repeats == 0.2
    assert wizard.answer("launch", sure="yes").status_code == 303
    with wizard.server.site.store.read("which-pages-help") as work:
        assert work.plan.hit.repeats == 0.2


def test_a_draft_with_a_key_of_another_version_is_kept(wizard: Wizard) -> None:
    folder = drafts_in(wizard.server.settings.folder)
    strange = new_draft(folder, "ann", 7)
    path = strange.folder / "versions" / "000002.json"
    plan = '[campaign]\nname = "later"\ntitle = "From the future"\n[sets]\nshape = "round"\n'
    text = json.dumps({"plan": plan, "answered": ["name"], "who": "ann", "at": 8})
    path.write_text(text, "utf-8")
    home = words(wizard.desk.get("/campaigns"))
    assert "From the future" in home
    assert "does not know (plan:5: no key of [sets] 'shape'" in home
    assert "Untitled" in home  # the other draft
    reply = wizard.desk.get(f"/drafts/{strange.key}/name")
    assert (reply.status_code, "nothing of it is lost" in words(reply)) == (422, True)
    with pytest.raises(InputError, match="nothing of it is lost"):
        open_draft(folder, strange.key)
    assert open_draft(folder, strange.key, 1).plan == Plan(text=strange.plan.text)
    assert path.read_text("utf-8") == text
    assert wizard.desk.post(f"/drafts/{strange.key}/delete", sure="yes").status_code == 303
    assert [draft.key for draft in all_drafts(folder)] == [wizard.draft.key]


def test_a_problem_of_a_key_that_no_step_asks_for(wizard: Wizard) -> None:
    plan = set_key(wizard.draft.plan, "platform", "redirect", "ftp://x")
    save(wizard.draft, plan, "ada", 1)
    assert step_of("platform", "redirect") == ""
    page = wizard.desk.get(f"{wizard.address}/launch")
    assert "Plan file : [platform] redirect: must begin with https://" in words(page)


def test_files_that_are_gone_are_told_at_their_step(wizard: Wizard, paths: dict[str, Path]) -> None:
    wizard.whole(paths)
    for kind in ("pool", "gold"):
        (wizard.draft.folder / getattr(wizard.draft.plan.files, kind)).unlink()
    assert [problem.step for problem in problems(wizard.draft)] == ["pool", "gold"]
    for step in (*all_steps(), "passing", "rehearsal", "launch", "gold/grade"):
        assert wizard.desk.get(f"{wizard.address}/{step}").status_code == 200, step
    assert "pool.tsv is not there; upload it" in words(wizard.desk.get(f"{wizard.address}/launch"))
    assert wizard.answer("pool", {"pool": paths["pool"]}).status_code == 303


def test_steps_whose_places_make_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(name: str, after: str) -> None:
        type(name, (Step,), {"name": name, "after": after})

    with no_steps_left_behind(monkeypatch):
        make("first", "target")
        make("second", "first")
        make("third", "target")
        order = list(all_steps())
        at = order.index("target")
        assert order[at : at + 5] == ["target", "third", "first", "second", "gold"]
        with pytest.raises(UsageError, match="two steps of the wizard are called 'third'"):
            make("third", "gold")
        make("lost", "nowhere")
        with pytest.raises(UsageError, match="'lost' comes after 'nowhere', which is no step"):
            all_steps()
    with no_steps_left_behind(monkeypatch):
        make("one", "other")
        make("other", "one")
        with pytest.raises(UsageError, match="in a circle: one, other"):
            all_steps()


def test_every_key_has_one_step_and_every_step_its_words() -> None:
    keys = [key for step in all_steps().values() for key in step.fills_in]
    assert len(keys) == len(set(keys))
    for name, step in all_steps().items():
        assert set(step.off) | set(step.percents) <= set(step.keys)
        for word in ("short", "question"):
            assert str(Text(f"office.step.{name}.{word}"))
