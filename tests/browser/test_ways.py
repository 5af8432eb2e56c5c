"""Other ways to judge, mostly by touch on a phone: preferences, free ranks, a slider, questions."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect
from sqlalchemy import select
from tests.browser.serving import Site, serve_campaign, serve_trial
from tests.browser.walking import in_place, judge_all, keep_picture, saved, start
from tests.collection.making import material

from qrowd.collection.database.schema import note
from qrowd.collection.plan.rows import CampaignRows, QuestionRow

PLAN = """
[campaign]
name = "tiny"
way = "{way}"
[sets]
size = {size}
target = 2
couples = 2
[hit]
sets = 2
gold = 0
[checks.seconds]
at_least = 0
{more}
"""

THUMBS = """
import { Way } from "/static/way.js";

export default class Thumbs extends Way {
  kinds = { grade: "grade" };

  choices() {
    return [
      { name: "thumb.up", key: "+", text: "Thumb up", answer: { kind: "grade", grade: 1 } },
      { name: "thumb.down", key: "-", text: "Thumb down", answer: { kind: "grade", grade: 0 } },
    ];
  }
}
"""


def phone(browser: Browser) -> Page:
    """A page on a phone, used by touch."""
    size = {"width": 320, "height": 640}
    return browser.new_context(viewport=size, has_touch=True, is_mobile=True).new_page()  # type: ignore[arg-type]


def begin(page: Page, link: str) -> None:
    """From the link to the batch, by touch."""
    page.goto(link)
    page.get_by_role("button", name="Continue").tap()
    page.get_by_role("button", name="Start").tap()


def plan(way: str, more: str = "") -> str:
    """A small plan."""
    return PLAN.format(way=way, more=more, size=2 if way == "preferences" else 3)


def test_two_documents_side_by_side(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, plan("preferences"), made) as site:
        page = phone(browser)
        begin(page, site.link)
        expect(page.locator(".sides .text")).to_have_count(2)
        keep_picture(page, "pair-phone")
        page.get_by_role("button", name="The first is better").tap()
        expect(page.locator(".where")).to_contain_text("Pair 2 of")
        page.keyboard.press("ArrowLeft")
        in_place(page)
        page.keyboard.press("x")  # takes the place of the order
        expect(page.locator(".where")).to_contain_text("Pair 2 of")
        saved(page)
        assert [one.kind for one in site.events()][-2:] == ["cannot-tell", "clear"]
        in_place(page)
        page.keyboard.press("0")
        saved(page)
        assert {one.ranking for one in site.events()} & {"1 2", "2 1"}
        assert "1 1" in {one.ranking for one in site.events()}
        page.get_by_role("button", name="Finish the batch").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        page.context.close()


def test_plain_grades_by_touch_alone(browser: Browser, tmp_path: Path) -> None:
    with serve_trial(tmp_path) as site:
        page = phone(browser)
        page.goto(site.link)
        for name in ("Continue", "I agree", "Start"):
            page.get_by_role("button", name=name, exact=True).tap()
        page.locator(".fold > summary").tap()  # the whole topic, and one line again
        expect(page.locator(".topic-text")).to_be_visible()
        page.locator(".fold > summary").tap()
        page.get_by_role("button", name="Cannot tell").tap()
        page.get_by_role("button", name="Undo").tap()
        for at in range(12):
            expect(page.locator(".where")).to_contain_text(
                f"Topic {at // 4 + 1} of 3 · document {at % 4 + 1} of 4"
            )
            page.get_by_role("button", name="Relevant", exact=True).tap()
        page.get_by_role("button", name="Finish the batch").tap()
        page.get_by_role("button", name="I see").first.tap()
        page.get_by_role("button", name="Hand in").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Handed in and paid")
        kinds = [one.kind for one in site.events()]
        assert kinds == ["cannot-tell", "clear"] + ["grade"] * 12
        page.context.close()


def test_from_one_batch_to_the_next_at_once(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=3, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, plan("grades"), made) as site:
        page = phone(browser)
        begin(page, site.link)
        judge_all(page, 6)
        saved(page)
        page.get_by_role("button", name="Finish, then the next batch").tap()
        expect(page.locator(".notes")).to_contain_text("that went well")
        expect(page.locator(".where")).to_contain_text("Topic 1 of 1 · document 1 of 3")
        judge_all(page, 3)
        saved(page)
        page.get_by_role("button", name="Finish, then the next batch").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        assert len(site.events()) == 9
        page.context.close()


def test_free_ranks_must_fit_the_grades(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, plan("free-ranks"), made) as site:
        page = phone(browser)
        begin(page, site.link)
        for name in ("Not relevant", "Relevant", "Highly relevant"):
            page.get_by_role("button", name=name, exact=True).tap()
        page.locator(".card").nth(2).get_by_role("button", name="Move up").tap()
        expect(page.get_by_role("alert")).to_contain_text("found relevant stands below")
        page.get_by_role("button", name="Looks right").tap()
        assert "ranking" not in [one.kind for one in site.events()]
        page.locator(".card").nth(2).get_by_role("button", name="Move up").tap()
        page.get_by_role("button", name="Looks right").tap()
        page.get_by_role("button", name="Finish the batch").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        assert [one.kind for one in site.events()][-1] == "ranking"
        page.context.close()


def test_a_test_with_questions_and_reasons(browser: Browser, tmp_path: Path) -> None:
    more = "[qualification]\nsets = 1\n[techniques]\njustification = 'reason'\nexpertise_share = 1"
    base = material(topics=1, pool=3, gold_sets=0, qualification=2)
    asked = [QuestionRow("t0", "How many legs has a turkey?", ("two", "four"), 0)]
    made = CampaignRows(base.topics, base.documents, base.pool, (), base.qualification, asked)
    with serve_campaign(tmp_path, plan("grades", more), made) as site:
        page = phone(browser)
        begin(page, site.link)
        expect(page.get_by_label("two")).to_be_visible()
        keep_picture(page, "questions-phone")
        page.get_by_label("two").tap()
        page.get_by_role("button", name="Continue").tap()
        for at in range(1, 4):
            expect(page.locator(".where")).to_contain_text(f"document {at} of 3")
            page.get_by_role("button", name="Not relevant", exact=True).tap()
            expect(page.get_by_role("button", name="Save")).to_be_disabled()
            expect(page.get_by_label("Reason")).to_have_attribute("maxlength", "10000")
            page.get_by_label("Reason").fill("it says so")
            page.get_by_role("button", name="Save").tap()
        page.get_by_role("button", name="Finish the batch").tap()
        expect(page.locator(".missed")).to_have_count(2)
        page.get_by_role("button", name="Hand in").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Not passed this time")
        page.context.close()


def ratings(site: Site) -> list[tuple[str, float | None, int | None]]:
    """What was said, with the grades that the server made of it."""
    return [(one.kind, one.value, one.grade) for one in site.events()]


def is_unset(page: Page) -> None:
    """Nothing is chosen, and that can be seen and heard."""
    expect(page.get_by_role("button", name="Move the slider")).to_be_disabled()
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "not chosen yet")


def test_a_slider_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with serve_trial(tmp_path, "slider") as site:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        start(page, site.link)
        where, slider = page.locator(".where"), page.get_by_role("slider")
        is_unset(page)
        page.keyboard.press("Enter")  # there is nothing to say yet
        page.keyboard.press("6")
        expect(slider).to_be_focused()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowUp")
        expect(slider).to_have_attribute("aria-valuetext", "62 of 100: Relevant")
        expect(where).to_contain_text("document 1 of")
        in_place(page)
        page.keyboard.press("Enter")
        expect(where).to_contain_text("document 2 of")
        expect(page.locator(".notes")).to_have_text("You said: 62 (Relevant).")
        is_unset(page)
        page.keyboard.press("ArrowRight")  # the slider has the focus no more
        expect(where).to_contain_text("document 3 of")
        page.keyboard.press("ArrowLeft")
        in_place(page)
        page.keyboard.press("x")
        expect(where).to_contain_text("document 3 of")
        page.keyboard.press("u")
        page.keyboard.press("u")
        expect(where).to_contain_text("document 1 of")
        is_unset(page)
        page.keyboard.press("0")
        in_place(page)
        page.keyboard.press("Enter")
        expect(where).to_contain_text("document 2 of")
        page.keyboard.press("5")
        page.get_by_role("button", name="Say 50").press("Enter")
        saved(page)
        page.reload()
        expect(where).to_contain_text("document 3 of")
        page.keyboard.press("ArrowLeft")
        expect(slider).to_have_value("50")
        page.keyboard.press("ArrowLeft")
        expect(slider).to_have_attribute("aria-valuetext", "0 of 100: Not relevant")
        page.keyboard.press("3")
        in_place(page)
        page.keyboard.press("Enter")
        expect(where).to_contain_text("document 3 of")
        page.keyboard.press("u")  # what was said before comes back
        expect(slider).to_have_value("0")
        page.keyboard.press("9")
        page.keyboard.press("End")
        in_place(page)
        page.keyboard.press("Enter")
        expect(where).to_contain_text("document 3 of")
        # all are relevant then, so half of the check questions are right, wherever they stand
        judge_all(page, 10, "9", "End", "Enter")
        saved(page)
        page.get_by_role("button", name="Finish the batch").press("Enter")
        missed = page.locator(".missed").first
        expect(missed.locator(".said").first).to_have_text(re.compile(r"\d+ \(.*elevant\)"))
        expect(missed.locator(".said").last).to_have_text(re.compile(r"^\D*elevant$"))
        keep_picture(page, "slider-review")
        page.get_by_role("button", name="Hand in").press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Handed in and paid")
        zero, half = ("rating", 0, 0), ("rating", 50, 1)
        assert ratings(site) == [
            ("rating", 62, 1),
            ("cannot-tell", None, None),
            ("clear", None, None),
            ("clear", None, None),
            *(zero, half, ("rating", 30, 0), zero),
            *[("rating", 100, 2)] * 11,
        ]
        assert problems == []
        page.close()


def test_a_slider_by_touch_alone(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, plan("slider", "[scale]\ncuts = [50, 90]"), made) as site:
        page = phone(browser)
        begin(page, site.link)
        where, slider = page.locator(".where"), page.get_by_role("slider")
        is_unset(page)
        box, said = slider.bounding_box(), []
        assert box
        for at, share in enumerate((0.5, 0.2, 0.9), 1):
            expect(where).to_contain_text(f"document {at} of 3")
            slider.tap(position={"x": box["width"] * share, "y": 20})
            value = int(slider.input_value())
            assert abs(value - 100 * share) <= 6
            page.get_by_role("button", name="One more").tap()
            page.get_by_role("button", name="One less").tap()
            page.get_by_role("button", name="One less").tap()
            keep_picture(page, "slider-phone")
            page.get_by_role("button", name=f"Say {value - 1} ").tap()
            said.append(value - 1)
        page.get_by_role("button", name="Go back").tap()
        drag(page, slider)
        page.get_by_role("button", name="Say 0 Not relevant").tap()
        page.get_by_role("button", name="Finish the batch").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        grades = [(value >= 50) + (value >= 90) for value in said]
        wanted = [("rating", value, grade) for value, grade in zip(said, grades, strict=True)]
        assert ratings(site) == [*wanted, ("rating", 0, 0)]
        page.context.close()


def drag(page: Page, slider: Locator) -> None:
    """A finger takes the thumb to the left end."""
    box = slider.bounding_box()
    assert box
    finger, y = page.context.new_cdp_session(page), box["y"] + box["height"] / 2
    at, end = (box["x"] + float(slider.input_value()) / 100 * box["width"], box["x"] + 2)
    for kind, points in (
        ("touchStart", [at]),
        *[("touchMove", [at + (end - at) * step / 10]) for step in range(11)],
        ("touchEnd", []),
    ):
        touches = [{"x": x, "y": y} for x in points]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


def test_a_slider_with_reasons_and_keys_of_ones_own(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    more = "[techniques]\njustification = 'reason'"
    with serve_campaign(tmp_path, plan("slider", more), made) as site:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(site.link)
        for name in ("Continue", "Start"):
            page.get_by_role("button", name=name, exact=True).press("Enter")
        expect(page.locator(".page .text")).to_be_visible()
        page.keyboard.press("7")
        page.keyboard.press("?")
        page.get_by_label("Say the number and go on").press("s")
        page.keyboard.press("Escape")
        expect(page.get_by_role("slider")).to_have_value("70")  # not lost meanwhile
        page.keyboard.press("Enter")
        page.keyboard.press("s")
        expect(page.get_by_role("heading", name="Why “70 (Highly relevant)”?")).to_be_visible()
        page.keyboard.type("it says so 5")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(".where")).to_contain_text("document 2 of 3")
        page.keyboard.press("?")
        page.get_by_label("Use keys").press("Space")
        page.keyboard.press("Escape")
        page.keyboard.press("5")
        is_unset(page)
        page.get_by_role("slider").press("ArrowRight")
        page.get_by_role("button", name="Say 51").press("Enter")
        page.keyboard.type("half")
        page.get_by_role("button", name="Save").press("Enter")
        saved(page)
        assert ratings(site) == [("rating", 70, 2), ("rating", 51, 1)]
        with site.store.snapshot() as db:
            assert list(db.scalars(select(note.c.text))) == ["it says so 5", "half"]
        page.close()


def test_an_owner_sees_the_numbers_of_a_topic(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    text = plan("slider").replace('name = "tiny"', 'name = "tiny"\nmode = "owner"')
    with serve_campaign(tmp_path, text.replace("target = 2", "target = 1"), made) as site:
        page = phone(browser)
        begin(page, site.link)
        page.get_by_role("slider").tap(position={"x": 2, "y": 20})
        page.get_by_role("button", name="Say 0").tap()
        expect(page.locator(".topic .earlier")).to_contain_text("(1)")
        page.locator(".topic .earlier > summary").tap()
        expect(page.locator(".topic .earlier li")).to_contain_text("0 (Not relevant)")
        saved(page)
        page.context.close()


def test_a_way_is_one_script(browser: Browser, tmp_path: Path) -> None:
    with serve_trial(tmp_path) as site:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.route(
            "**/static/ways/grades.js",
            lambda route: route.fulfill(body=THUMBS, content_type="text/javascript"),
        )
        start(page, site.link)
        page.keyboard.press("+")
        expect(page.locator(".notes")).to_have_text("You said: Thumb up.")
        page.get_by_role("button", name="Thumb down").click()
        expect(page.locator(".where")).to_contain_text("document 3 of")
        page.keyboard.press("u")
        expect(page.locator(".where")).to_contain_text("document 2 of")
        page.keyboard.press("?")
        expect(page.locator("dialog").get_by_label("Thumb up")).to_have_value("+")
        page.keyboard.press("Escape")
        saved(page)
        said = [(one.kind, one.grade) for one in site.events()]
        assert said == [("grade", 1), ("grade", 0), ("clear", None)]
        page.close()
