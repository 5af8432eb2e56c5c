"""Pictures of PDF pages: what is drawn, what is kept, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pypdfium2", reason="PDFium is not installed")
pytest.importorskip("nh3", reason="the web application is not installed")

from tests.browser.papers import pdf, picture

from qrowd.collection.database.opening import open_store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.data.topics import Topic
from qrowd.web import pictures, tasks
from qrowd.web.sanitiser import can_be_shown

DIGEST = "ab" * 32


def test_pages_and_where_their_text_stands(tmp_path: Path) -> None:
    found = pictures.pages_of(tmp_path, DIGEST, pdf([["one two", "three"], ["four"]]))
    (width, height, pieces), second = found.pages
    assert (width, height, found.cut) == (1200, 1500, False)
    assert [text for *_, text in pieces] == ["one two", "three"]
    assert [text for *_, text in second[2]] == ["four"]
    left, top, wide, tall, _ = pieces[0]
    assert left == pytest.approx(30 / 400 * 10_000, abs=60)
    assert top + tall == pytest.approx(50 / 500 * 10_000, abs=120)  # the line stands on y = 450
    assert wide > tall
    assert pictures.picture(tmp_path, DIGEST, 1).startswith(b"RIFF")
    assert pictures.picture(tmp_path, DIGEST, 3) == b""


def test_a_turned_page(tmp_path: Path) -> None:
    found = pictures.pages_of(tmp_path, DIGEST, pdf([["turned"]], page="/Rotate 90"))
    width, height, [(left, top, wide, tall, _)] = found.pages[0]
    assert width > height
    assert left + wide > 8000  # what was at the top is at the right
    assert tall > wide
    assert top < 2000


def test_they_are_made_once(tmp_path: Path) -> None:
    content = pdf([["once"]])
    first = pictures.pages_of(tmp_path, DIGEST, content)
    assert pictures.pages_of(tmp_path, DIGEST, b"not looked at") == first
    assert [path.name for path in (tmp_path / "pictures" / "ab").iterdir()] == [DIGEST]


@pytest.mark.parametrize("content", [b"", b"no PDF", pdf([["cut"]])[:60]])
def test_what_is_no_pdf_document(tmp_path: Path, content: bytes) -> None:
    assert pictures.pages_of(tmp_path, DIGEST, content).pages == []


def test_a_huge_page_and_many_pages(tmp_path: Path) -> None:
    wide = pictures.pages_of(tmp_path, DIGEST, pdf([["wide"]], size="0 0 14400 10"))
    assert wide.pages[0][0] == 1200
    tall = pictures.pages_of(tmp_path, "cd" * 32, pdf([["tall"]], size="0 0 10 14400"))
    assert tall.pages[0][1] <= 3601
    many = pictures.pages_of(tmp_path, "ef" * 32, pdf([["x"]] * 70, size="0 0 40 2"))
    assert (len(many.pages), many.cut) == (60, True)


def test_jobs_draw_what_nobody_has_asked_for_yet(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "qrowd.db"), new=True)
    plan = parse_plan("[campaign]\nname = 'p'\n[sets]\nsize = 1\n[hit]\nsets = 1\ngold = 0")
    one = DocumentRow("d", pdf([["text"]]), "", "", "application/pdf")
    create_campaign(store, plan, CampaignRows([Topic("t", "q")], [one], [("t", "d")]))
    undrawn = tasks.undrawn_documents(store, tmp_path)
    assert len(undrawn) == 1
    assert tasks.draw_one(store, tmp_path, undrawn)
    assert not tasks.draw_one(store, tmp_path, undrawn)
    assert tasks.undrawn_documents(store, tmp_path) == []
    store.engine.dispose()


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        (picture("png", 300, 200), True),
        (picture("png", 20_000, 20_000), False),
        (picture("gif", 2000, 2000, frames=30), False),
        (b"\x89PNG\r\n\x1a\nno picture", False),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><rect width='9' height='9'/></svg>", True),
        (b"<svg><g id='a'/><use href='#a'/></svg>", False),
        (b"<!DOCTYPE svg [<!ENTITY a 'aaaa'>]><svg>&a;</svg>", False),
    ],
)
def test_pictures_that_a_browser_can_show(image: bytes, shown: bool) -> None:
    assert can_be_shown(image) is shown
