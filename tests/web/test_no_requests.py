"""Addresses in documents, topics and plans: the server asks for none of them."""

from __future__ import annotations

import contextlib
import json
import select as ready
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pypdfium2", reason="PDFium is not installed")

from tests.browser.papers import pdf
from tests.collection.making import PLAN
from tests.web.serving import API, Server, make_server

import qrowd as q
from qrowd.collection.material.campaign_rows import add
from qrowd.collection.plan.files import read_extension, read_plan_files
from qrowd.collection.plan.toml import read_plan
from qrowd.errors import QrowdError
from qrowd.web.tasks import draw_one, undrawn_documents


@pytest.fixture
def trap() -> Iterator[tuple[str, socket.socket]]:
    """An address where somebody listens, who must hear nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", listener


def heard(listener: socket.socket) -> bool:
    """Whether anybody has come."""
    return bool(ready.select([listener], [], [], 0.2)[0])


def documents(trap: str) -> dict[str, tuple[str, bytes]]:
    """A document of each kind that names an address: media type and bytes."""
    link = f"<< /Type /Annot /Subtype /Link /Rect [0 0 400 500] /A << /S /URI /URI ({trap}/l) >> >>"
    form = f"<< /S /SubmitForm /F << /FS /URL /F ({trap}/form) >> >>"
    image = f"<< /Type /XObject /Subtype /Image /F << /FS /URL /F ({trap}/i) >> /Length 0 >>"
    image += "\nstream\n\nendstream"
    remote = f"<< /S /GoToR /F << /FS /URL /F ({trap}/r.pdf) >> >>"
    page = f"""<!doctype html><html><head><base href="{trap}/"><link rel=stylesheet href="{trap}/c">
        <link rel=dns-prefetch href="{trap}"><meta http-equiv=refresh content="0;url={trap}/m">
        <style>@import "{trap}/i"; p {{ background: url({trap}/b) }}</style></head>
        <body background="{trap}/g"><img src="{trap}/p"><img srcset="{trap}/s 2x">
        <iframe src="{trap}/f"></iframe><object data="{trap}/o"></object>
        <video poster="{trap}/v" src="{trap}/v"></video>
        <script src="{trap}/j"></script><p style="background:url({trap}/y)">x</p></body></html>"""
    svg = f"""<?xml version="1.0"?><?xml-stylesheet href="{trap}/x.css"?>
        <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
        <style>@import url({trap}/s);</style>
        <rect fill="url({trap}/f#a)" width="9" height="9"/></svg>"""
    xml = f"""<?xml version="1.0"?><!DOCTYPE x SYSTEM "{trap}/dtd" [<!ENTITY e SYSTEM "{trap}/e">
        <!ENTITY % p SYSTEM "{trap}/p"> %p;]><x xmlns:xi="http://www.w3.org/2001/XInclude">&e;
        <xi:include href="{trap}/i"/></x>"""
    return {
        "html": ("text/html", page.encode()),
        "xhtml": ("application/xhtml+xml", xml.encode()),
        "xml": ("text/xml", xml.encode()),
        "svg": ("image/svg+xml", svg.encode()),
        "link": ("application/pdf", pdf([["a"]], page="/Annots [4 0 R]", objects=[link])),
        "form": ("application/pdf", pdf([["b"]], catalog="/OpenAction 4 0 R", objects=[form])),
        "image": ("application/pdf", pdf([["c"]], page="/Thumb 4 0 R", objects=[image])),
        "remote": ("application/pdf", pdf([["d"]], catalog="/OpenAction 4 0 R", objects=[remote])),
        "address": ("text/plain", f"{trap}/text".encode()),
    }


def written(folder: Path, trap: str) -> Path:
    """The documents as files beside their table, which has addresses in all its other fields."""
    lines = []
    for name, (media, content) in documents(trap).items():
        (folder / name).write_bytes(content)
        lines.append(
            {"doc": name, "title": trap, "url": f"{trap}/url", "media": media, "file": name}
        )
    path = folder / "documents.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_documents_that_are_served_ask_for_nothing(
    tmp_path: Path, trap: tuple[str, socket.socket]
) -> None:
    address, listener = trap
    sent = tmp_path / "sent"
    sent.mkdir()
    pairs = "".join(f"t0\t{name}\n" for name in documents(address))
    (sent / "pool.tsv").write_text(f"topic\tdoc\n{pairs}")
    rows = read_extension(documents=written(sent, address), pool=sent / "pool.tsv")
    plan = PLAN.replace("gold = 1", "gold = 0").replace("\nsets = 3", "\nsets = 40")  # all in one
    with make_server(tmp_path, plan=plan) as server:
        with server.site.store.write("tiny") as work:
            add(work, rows)
        undrawn = undrawn_documents(server.site.store, tmp_path)
        while draw_one(server.site.store, tmp_path, undrawn):  # as the process for jobs does
            pass
        kinds = _look_at_all(server)
    assert {"text", "image", "pages"} <= kinds
    assert not heard(listener)
    with socket.create_connection(listener.getsockname()):
        assert heard(listener)  # the trap does hear who comes


def _look_at_all(server: Server) -> set[str]:
    """Read every document of all batches, its original and its bytes; how they were shown."""
    ann, kinds = server.worker("ann"), set()
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    for shown in batch["sets"]:
        for document in shown["documents"]:
            at = f"{shown['key']}/{document['position']}"
            reading = server.client.get(f"/judge/tiny/documents/{at}", headers=ann).json()
            kinds.add(reading["kind"])
            if reading["original"]:
                server.client.get(reading["original"])
            place, position = shown["key"], document["position"]
            path = f"{API}/judging/sets/{place}/documents/{position}"
            assert server.client.get(path, headers=ann).status_code == 200
    return kinds


@pytest.mark.parametrize("key", ["topics", "documents", "pool", "gold", "runs"])
def test_an_address_instead_of_a_file_is_not_asked_for(
    tmp_path: Path, trap: tuple[str, socket.socket], key: str
) -> None:
    address, listener = trap
    files = {"topics": "t.tsv", "documents": "d.jsonl", "pool": "p.tsv"}
    (tmp_path / "t.tsv").write_text("topic\tquery\nt\twords\n")
    (tmp_path / "d.jsonl").write_text(json.dumps({"doc": "d", "text": "words"}) + "\n")
    (tmp_path / "p.tsv").write_text("topic\tdoc\nt\td\n")
    for scheme in (address, address.replace("http", "s3"), address.replace("http", "hf")):
        named = {**files, key: f"{scheme}/x.parquet"}
        if key == "runs":
            named.pop("pool")
        lines = [
            f'{name} = ["{value}"]' if name == "runs" else f'{name} = "{value}"'
            for name, value in named.items()
        ]
        plan = tmp_path / "plan.toml"
        plan.write_text("\n".join(['[campaign]\nname = "x"\n[files]', *lines, "[hit]\ngold = 0\n"]))
        with pytest.raises(QrowdError):
            list(read_plan_files(read_plan(plan), plan).documents)
        for read in (q.read_topics, q.read_documents, q.read_judgements, q.read_qrels, q.read_runs):
            with contextlib.suppress(QrowdError):
                read(f"{scheme}/x.parquet")
    (tmp_path / "d.jsonl").write_text(json.dumps({"doc": "d", "file": f"{address}/x"}) + "\n")
    with pytest.raises(QrowdError):
        list(read_extension(documents=tmp_path / "d.jsonl", pool=tmp_path / "p.tsv").documents)
    assert not heard(listener)
