"""Hostile documents behind a proxy that logs: nothing runs, nothing leaves, links clicked too."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Response, expect
from sqlalchemy import select
from tests.browser.hostile import LINKED, PAGES, PAPERS, PICTURES, SVG, TEXTS, E
from tests.browser.serving import Site, serve_campaign

from qrowd.collection.database.schema import place
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.data.topics import Topic
from qrowd.web.tasks import draw_one, undrawn_documents

PLAN = """
[campaign]
name = "hostile"
[sets]
size = 100
target = 1
[hit]
sets = 1
gold = 0
"""


@contextmanager
def logging_proxy() -> Iterator[tuple[str, list[str]]]:
    """A proxy that goes nowhere and keeps the first line of every request."""
    log: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    link, _ = server.accept()
                except OSError:
                    return
                with link:
                    log.append(link.recv(2000).split(b"\r\n")[0].decode("latin-1"))
                    link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", log
        server.shutdown(socket.SHUT_RDWR)


def material() -> CampaignRows:
    """A topic with one document for each trick."""
    documents = [
        DocumentRow(f"h{at}", page.encode(), f"page {at}", "", "text/html")
        for at, page in enumerate(PAGES)
    ]
    documents += [DocumentRow(f"t{at}", text.encode(), "text") for at, text in enumerate(TEXTS)]
    others = [("image/svg+xml", SVG.encode()), *PICTURES]
    others += [("application/pdf", one) for one in PAPERS]
    documents += [
        DocumentRow(f"o{at}", body, f"other {at}", "", media)
        for at, (media, body) in enumerate(others)
    ]
    return CampaignRows(
        [Topic("t", "<script>ran=1</script>")], documents, [("t", one.name) for one in documents]
    )


def _is_original(reply: Response) -> bool:
    return "/original/" in reply.url and reply.request.is_navigation_request()


def look_at(page: Page) -> None:
    """Read a document, click in it, open its original, click there."""
    expect(page.locator(".page")).not_to_have_attribute("aria-busy", "true")
    page.locator(".page").click(position={"x": 60, "y": 60})
    original = page.get_by_role("button", name="Original", exact=True)
    if original.is_visible():
        with page.expect_response(_is_original) as shown:
            original.click()
        shown.value.finished()
        frame = page.locator(".page iframe")
        for x, y in ((30, 30), (60, 60)):
            frame.click(position={"x": x, "y": y})
        inside = frame.element_handle().content_frame()
        assert inside
        assert inside.url == shown.value.url
        page.get_by_role("button", name="Back to the reader").click()


def test_nothing_runs_and_no_request_leaves(browser: Browser, tmp_path: Path) -> None:
    with logging_proxy() as (proxy, log), serve_campaign(tmp_path, PLAN, material()) as site:
        undrawn = undrawn_documents(site.store, tmp_path)
        while draw_one(site.store, tmp_path, undrawn):  # as the process for jobs does
            pass
        context = browser.new_context(
            proxy={"server": proxy, "bypass": "127.0.0.1"}, viewport={"width": 1200, "height": 800}
        )
        control = context.new_page()
        control.goto("http://control.example/control")
        assert any("/control" in line for line in log)  # the proxy does see what leaves
        del log[:]
        page = context.new_page()
        asked: list[str] = []
        page.on("requestfinished", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: asked.append(f"{E}/dialog"))
        walk(page, site)
        assert [url for url in asked if not url.startswith(site.address)] == []
        assert [line for line in log if "evil" in line] == []
        assert page.evaluate("typeof ran") == "undefined"
        assert len(context.pages) == 2
        context.close()


def walk(page: Page, site: Site) -> None:
    """Through all documents."""
    page.goto(site.link)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Start").click()
    number = len(list(material().documents))
    assert number >= 80
    for at in range(1, number + 1):
        expect(page.locator(".where")).to_contain_text(f"document {at} of {number}")
        look_at(page)
        page.get_by_role("button", name="Next", exact=True).click()


def test_links_of_documents_that_are_opened_by_themselves_lead_nowhere(
    browser: Browser, tmp_path: Path
) -> None:
    documents = [
        DocumentRow(f"d{at}", body.encode(), "", "", media)
        for at, (media, body) in enumerate(LINKED)
    ]
    rows = CampaignRows([Topic("t", "t")], documents, [("t", one.name) for one in documents])
    with logging_proxy() as (proxy, log), serve_campaign(tmp_path, PLAN, rows) as site:
        context = browser.new_context(proxy={"server": proxy, "bypass": "127.0.0.1"})
        page = context.new_page()
        page.goto(site.link)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Start").click()
        expect(page.locator(".where")).to_contain_text("document 1 of 4")
        with site.store.snapshot() as db:
            key = db.scalar(select(place.c.key))
        for at in range(1, len(LINKED) + 1):
            reading = page.request.get(f"{site.address}/judge/hostile/documents/{key}/{at}").json()
            raw = f"{site.address}/api/campaigns/hostile/judging/sets/{key}/documents/{at}"
            for address in (raw, site.address + reading["original"]):
                alone = context.new_page()
                alone.goto(address)
                alone.mouse.click(30, 20)
                alone.wait_for_timeout(300)
                assert alone.url.rstrip("#") == address
                alone.close()
        assert [line for line in log if "evil" in line] == []
        assert len(context.pages) == 1
        context.close()
