"""The page is whole, small, asks nothing of the network, and says what the study found."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import UsageError
from qrowd.reporting.drawing import INK, themed
from qrowd.reporting.parts import Section, Shown, Table, cell_text

pytest.importorskip("jinja2", reason="pages need the extra `report`")
pytest.importorskip("matplotlib", reason="figures need the extra `report`")


class Outline(HTMLParser):
    """Tags that are open, headings' anchors, links, labels."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images = 0
        self.loose: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        if found.get("role") == "img":
            self.images += 1
            assert found["aria-label"]
        self.loose += [found[name] for name in ("src", "data") if name in found]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]


@pytest.fixture(scope="module")
def collection() -> q.Collection:
    return q.simulate("demo", topics=6, documents=30, votes=3, seed=3)


@pytest.fixture(scope="module")
def done(collection: q.Collection) -> q.Study:
    c = collection
    done = q.study(c.judgements, c.runs, c.gold, methods=["mv", "ds"], draws=60)
    return replace(done, known=c.assessors)


@pytest.fixture(scope="module")
def page(done: q.Study) -> str:
    return q.report(done, title="A <test> & more", commands=["qrowd demo"]).to_html()


def test_page_is_well_formed_and_its_links_lead_somewhere(page: str) -> None:
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert all(link.startswith("#") and link[1:] in outline.ids for link in outline.links)
    assert outline.images >= 6
    assert outline.loose == []


def test_page_asks_nothing_of_the_network_and_is_small(page: str) -> None:
    hosts = set(re.findall(r"https?://([^/\"' ]+)", page))
    assert hosts == {"www.w3.org"}  # names of XML vocabularies, never fetched
    assert not re.search(r"@import|<link|<img|<iframe|fetch\(|url\((?!#)", page)
    assert len(page) < 1_500_000


def test_text_of_users_is_escaped(page: str) -> None:
    assert "<title>A &lt;test&gt; &amp; more</title>" in page
    assert "<test>" not in page


def test_pictures_have_text_and_take_the_colours_of_the_page(page: str) -> None:
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) >= 6
    for picture in pictures:
        ET.fromstring(picture)
        assert "<text" in picture
        assert "var(--c-" in picture
        assert not re.findall(r"#[0-9a-fA-F]{6}\b", picture)
        assert "<style" not in picture
    assert all(f"--c-{word}:" in page for word in INK)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_marks_that_look_alike_are_styled_once() -> None:
    mark = '<use xlink:href="#m" x="{}" y="2" style="fill: red"/>'
    svg = "<svg>" + "\n".join(mark.format(x) for x in range(9)) + "<g/></svg>"
    small = themed(svg, "name")
    assert small.count("fill: red") == 1
    assert small.count("<use ") == 9
    ET.fromstring(small.replace("xlink:", ""))


def test_coordinates_are_shortened_and_what_is_read_is_not() -> None:
    small = themed('<svg><path d="M 1.23456 2"/><text x="3.999">0.625</text></svg>', "name")
    expected = '<svg data-name="name"><path d="M 1.23 2"/><text x="3.99">0.625</text></svg>'
    assert small == expected


def test_page_has_what_was_found(page: str, done: q.Study) -> None:
    for heading in ("What was done", "Data", "Assessors", "Merged judgements", "Systems"):
        assert f">{heading}</h2>" in page
    assert f"{done.labels['ds']['accuracy']:.3f}" in page
    assert done.comparison is not None
    assert f"{done.comparison.value('ds'):.3f}" in page
    assert "qrowd demo" in page
    assert "adversarial" in page
    _, best, _ = q.report(done).verdicts
    assert any(name in best.answer + best.reasons for name in done.by_merged["ds"].runs)


def test_same_study_same_page(done: q.Study) -> None:
    assert q.report(done).to_html() == q.report(done).to_html()


def test_saved_as_a_file(done: q.Study, tmp_path: Path) -> None:
    q.save(q.report(done), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_judgements_alone_are_enough(collection: q.Collection) -> None:
    found = q.report(q.study(collection.judgements))
    titles = [section.title for section in found.sections]
    assert "Systems" not in titles
    assert "Rankings against gold" not in titles
    assert "There is no gold" in found.to_html()


def test_graded_judgements(tmp_path: Path) -> None:
    made = q.simulate("graded", topics=4, documents=25, votes=4)
    done = q.study(made.judgements, made.runs, made.gold, draws=20, measures=["nDCG@10"])
    assert "grades 0, 1, 2, 3" in q.report(done).to_html()


def test_single_nouns(done: q.Study, collection: q.Collection) -> None:
    draws = q.evaluate(collection.runs, done.merged["ds"].draws(30), ["AP"])
    found = q.report(collection.judgements, done.merged["ds"], draws, done.comparison)
    titles = [section.title for section in found.sections]
    assert titles[:3] == ["Data", "Merged judgements", "Assessors"]
    assert titles[3:5] == ["Systems", "Rankings against gold"]
    assert found.to_html()


def test_who_was_left_out_and_why() -> None:
    screened = q.screen(q.simulate("demo", seed=3).judgements, [q.RandomSpam(), q.UniformSpam()])
    page = q.report(screened).to_html()
    assert screened.left_out
    assert all(f">{one.assessor}<" in page for one in screened.left_out)
    assert screened.left_out[0].evidence[0][:20] in page


def test_what_cannot_be_reported_is_said() -> None:
    with pytest.raises(UsageError, match="cannot report on a int"):
        q.report(3)
    with pytest.raises(UsageError, match="something to report on"):
        q.report()


def test_cells() -> None:
    cells = [1234567, 0.5, float("nan"), "word", Shown("0.5 (0.4 … 0.6)", 0.5)]
    shown = [cell_text(value, 2) for value in cells]
    assert shown == ["1\u202f234\u202f567", "0.50", "–", "word", "0.5 (0.4 … 0.6)"]


def test_best_cells() -> None:
    table = Table("t", {"m": ["a", "b", "c"], "x": [0.1, 0.3, 0.2999], "y": [1.0, 2.0, np.nan]}, 3)
    assert table.champions("x") == set()
    told = Table("t", table.columns, 3, best={"x": "max", "y": "min"})
    assert told.champions("x") == {1, 2}
    assert told.champions("y") == {0}


def test_anchors() -> None:
    assert Section("How to reproduce this report", ()).anchor == "how-to-reproduce-this-report"


def test_people_and_machines_are_told_apart() -> None:
    made = q.simulate(topics=3, documents=15, assessors=6, votes=3, seed=1)
    crowd = made.judgements.with_kind("machine", "a0[12]").with_kind("person", "a0[345]")
    done = q.study(crowd, methods=["mv"])
    page = q.report(done).to_html()
    assert "6 assessors (3 people, 2 machines, 1 unknown)" in page
    assert "of them machines" in page
    assert done.assessors["kind"].tolist() == ["machine"] * 2 + ["person"] * 3 + ["unknown"]
    plain = q.report(q.study(made.judgements, methods=["mv"])).to_html()
    assert "machine" not in plain
