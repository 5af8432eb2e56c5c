"""Pages without a browser: what is sent, what is left out of documents, who may see them."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest

pytest.importorskip("nh3", reason="pages need the extra serve")

from tests.web.serving import API, Server
from tests.web.test_work import judge

from qrowd.collection.judging import queue
from qrowd.texts import FOLDER as TEXTS
from qrowd.texts import catalogue, language_of, languages, worker_words
from qrowd.web.api.work import in_whole_steps
from qrowd.web.pages.templates import FOLDER
from qrowd.web.sanitiser import original_of_html, reader_of_html, reader_of_text, text_of

HOLES = re.compile(r"\{(\w+)\}")


def test_languages_have_the_same_sentences_with_the_same_holes() -> None:
    assert {"de", "en"} <= set(languages())
    english = catalogue("en")
    for language in languages():
        other = json.loads((TEXTS / f"{language}.json").read_text(encoding="utf-8"))
        assert worker_words("en").keys() <= other.keys() <= english.keys()
        for name, text in other.items():
            assert set(HOLES.findall(text)) == set(HOLES.findall(english[name])), name
    assert language_of("xx", "de-AT") == "de"
    assert language_of("xx") == "en"


def test_scripts_ask_for_sentences_that_there_are() -> None:
    scripts = [path.read_text("utf-8") for path in (FOLDER / "static").rglob("*.js")]
    code = re.sub(r"^\s*//.*$", "", "\n".join(scripts), flags=re.M)
    asked = set(re.findall(r'\bt\("([^"]+)"', code))
    assert len(asked) > 100
    assert asked <= catalogue("en").keys()


def test_workers_are_told_in_their_language_why_there_is_no_batch() -> None:
    shown = set(queue._WHY) - {"consent"}  # a screen of its own
    assert {f"nothing.{code}" for code in shown} <= worker_words("de").keys()


def test_the_page_needs_little_and_nothing_from_elsewhere() -> None:
    files = [path.read_bytes() for path in (FOLDER / "static").rglob("*.*")]
    assert sum(len(gzip.compress(one)) for one in files) < 60_000
    assert not [one for one in files if re.search(rb"https?://(?!www\.w3\.org)", one)]


def test_the_page_of_a_campaign(server: Server) -> None:
    reply = server.client.get("/judge/tiny?lang=de")
    assert reply.status_code == 200
    assert '<html lang="de">' in reply.text
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    missing = server.client.get("/judge/nowhere")
    assert missing.status_code == 404
    assert "copy the whole link" in missing.text


def test_unknown_addresses_are_pages_for_browsers_and_json_for_programs(server: Server) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    unknown = ("/nowhere", "/judge/tiny/no/such/page", "/judge/tiny/original/xyz", "/favicon.ico")
    for path in unknown:
        page = server.client.get(path, headers=browser, follow_redirects=False)
        assert page.status_code == 404, path
        assert page.headers["content-type"].startswith("text/html")
        assert "This address leads to no page" in page.text
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    wrong = server.client.delete("/campaigns", headers=browser)
    assert (wrong.status_code, wrong.headers["content-type"][:9]) == (405, "text/html")
    for path, headers in (("/nowhere", {}), ("/api/nowhere", browser)):
        told = server.client.get(path, headers=headers)
        assert (told.status_code, told.json()["error"]["code"]) == (404, "not-found")
    german = server.client.get("/judge/a/b/c/d", headers={**browser, "Accept-Language": "de"})
    assert "Diese Adresse führt zu keiner Seite" in german.text


def test_what_is_known_before_starting(server: Server) -> None:
    about = server.client.get(f"{API}/about").json()
    assert about["checks"] == ["binary"]
    ann = server.worker("ann")
    before = server.client.get(f"{API}/judging/ahead", headers=ann).json()
    assert before == {"batches": before["batches"], "contact": ""}
    done = 0
    while batch := server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]:
        left = server.client.get(f"{API}/judging/ahead", headers=ann).json()["batches"]
        assert left == before["batches"] - done  # the open one counted
        judge(server, ann, batch)
        for step in ("finish", "submit"):
            server.client.post(f"{API}/judging/batches/{batch['key']}/{step}", headers=ann)
        done += 1
    assert done == before["batches"] > 1
    assert server.client.get(f"{API}/judging/ahead", headers=ann).json()["batches"] == 0


def test_links_lead_to_the_page(server: Server) -> None:
    made = server.client.post(
        f"{API}/links", json={"people": ["ann"]}, headers=server.token("organiser")
    ).json()
    address = made[0]["link"].removeprefix("http://testserver")
    assert address.startswith("/judge/tiny?link=")
    assert server.client.get(address).status_code == 200


def _first(server: Server, headers: dict[str, str]) -> str:
    batch: Any = server.client.post(f"{API}/judging/next", headers=headers).json()["batch"]
    return f"/judge/tiny/documents/{batch['sets'][0]['key']}/1"


def test_nobody_reads_anothers_document(server: Server) -> None:
    ann, bob = server.worker("ann"), server.worker("bob")
    address = _first(server, ann)
    found = server.client.get(address, headers=ann)
    assert found.json()["kind"] == "text"
    assert found.json()["html"].startswith("<p>text ")
    assert server.client.get(address, headers=bob).status_code == 404
    assert server.client.get(address).status_code == 401
    for ticket in ("x", "W10.x.y"):
        assert server.client.get(f"/judge/tiny/original/{ticket}").status_code == 404


def test_what_stays_of_a_page() -> None:
    page = (
        "<h1 onclick=x() id=main class=a>Hi</h1><script>bad()</script><style>p{}</style>"
        "<p style='color:red' dir=rtl>a <a href='http://b'>link</a><img src=http://c></p>"
    )
    assert reader_of_html(page) == '<h3>Hi</h3><p dir="rtl">a link</p>'
    shown = original_of_html(page)
    assert "color:red" in shown
    assert not [word for word in ("script", "http:", "onclick", "href") if word in shown]
    assert reader_of_text("a <b>\n\nc") == "<p>a &lt;b&gt;</p>\n<p>c</p>"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("ä".encode(), "ä"),
        ("ä".encode("cp1252"), "ä"),
        ("\ufeffä".encode(), "ä"),
        ("ä".encode("utf-16"), "ä"),
        ("<meta charset=iso-8859-2>ł".encode("iso-8859-2"), "<meta charset=iso-8859-2>ł"),
        (b"<meta charset=nonsense>a\0b", "<meta charset=nonsense>ab"),
    ],
)
def test_bytes_become_text(content: bytes, text: str) -> None:
    assert text_of(content, marked_up=True) == text


def test_elements_that_are_nested_too_deep_are_left_out() -> None:
    deep = "<div>" * 20_000 + "deep" + "</div>" * 20_000
    assert reader_of_html(deep).count("<div>") == 500
    assert "deep" in reader_of_html(deep)
    flat = "<p>one <b>two</b><br>" * 2000
    assert reader_of_html(flat).count("<b>two</b>") == 2000
    many = f"<p {' '.join(f'a{at}=1' for at in range(9000))}>text</p>"
    assert reader_of_html(many).strip() == "text<p></p>"


def test_replies_about_gold_are_like_others(server: Server) -> None:
    """The same headers and the same names of values; what is long or new differs in all alike."""
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    own = re.compile(r"content-length|x-request-id")
    kinds: dict[str, set[str]] = {}
    for shown in batch["sets"]:
        key, position = shown["key"], 1
        answer = {"key": key, "place": key, "kind": "grade", "position": position, "grade": 1}
        replies = [
            server.client.get(f"{API}/judging/sets/{key}/documents/{position}", headers=ann),
            server.client.get(f"/judge/tiny/documents/{key}/{position}", headers=ann),
            server.client.post(f"{API}/judging/answers", json=answer, headers=ann),
        ]
        shapes = []
        for reply in replies:
            assert reply.status_code == 200
            headers = {name: value for name, value in reply.headers.items() if not own.match(name)}
            assert "etag" not in headers
            names = sorted(reply.json()) if "json" in headers["content-type"] else []
            shapes.append((headers, names))
        kinds.setdefault(repr(shapes), set()).add(key)
    assert len(kinds) == 1


def test_the_time_of_a_document_comes_in_whole_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    times = iter((100.0, 100.03))
    monkeypatch.setattr("qrowd.web.api.work.time.monotonic", lambda: next(times))
    monkeypatch.setattr("qrowd.web.api.work.time.sleep", slept.append)
    with in_whole_steps():
        pass
    assert slept == [pytest.approx(0.02)]
