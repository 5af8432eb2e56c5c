"""Labels go back into Label Studio itself: it imports the file, and its interface shows them.

`QROWD_LABEL_STUDIO` names an interpreter that has `label-studio` (1.23); starting it takes a minute
or two, on an empty database of its own.
"""

from __future__ import annotations

import http.client
import http.cookiejar
import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qrowd as q
from qrowd.errors import DataWarning

PYTHON = os.environ.get("QROWD_LABEL_STUDIO", "")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="QROWD_LABEL_STUDIO names no interpreter that has label-studio"
)
LOGIN = {"email": "ann@example.org", "password": "not-a-secret-1"}
ASKED = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="relevance" toName="text">
    <Choice value="Not relevant"/><Choice value="Relevant"/>
  </Choices>
</View>
"""


class Studio:
    """Label Studio, running, and somebody who is signed in."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def sign_in(self) -> None:
        page = self.opener.open(f"{self.address}/user/login/", timeout=60).read().decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token
        form = urllib.parse.urlencode({"csrfmiddlewaretoken": token[1], **LOGIN}).encode()
        self.opener.open(
            urllib.request.Request(
                f"{self.address}/user/login/",
                form,
                {"Referer": f"{self.address}/user/login/"},
            ),
            timeout=60,
        )

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        token = next((each.value for each in self.cookies if each.name == "csrftoken"), "") or ""
        request = urllib.request.Request(
            self.address + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-CSRFToken": token, "Referer": self.address},
            method=method,
        )
        return json.loads(self.opener.open(request, timeout=120).read() or b"null")

    def project(self, title: str, tasks: list[dict[str, Any]]) -> int:
        made = self.ask("POST", "/api/projects", {"title": title, "label_config": ASKED})
        self.ask("POST", f"/api/projects/{made['id']}/import", tasks)
        return int(made["id"])

    def tasks(self, project: int) -> list[dict[str, Any]]:
        found = self.ask("GET", f"/api/tasks?project={project}&fields=all")["tasks"]
        return sorted(found, key=lambda task: str(task["data"]["docno"]))


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("label-studio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [PYTHON, "-c", "from label_studio.server import main; main()", "start", "--no-browser"]
    words += ["--internal-host", "127.0.0.1", "--port", str(port)]
    words += ["--username", LOGIN["email"], "--password", LOGIN["password"]]
    settings = {"LABEL_STUDIO_BASE_DATA_DIR": str(folder), "COLLECT_ANALYTICS": "False"}
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(words, env=clean | settings, stdout=log, stderr=log)
    try:
        running = Studio(f"http://127.0.0.1:{port}")
        for _ in range(240):
            assert server.poll() is None, (folder / "log").read_text()[-2000:]
            try:
                running.sign_in()
                break
            except (urllib.error.URLError, http.client.HTTPException, OSError):
                time.sleep(2)
        yield running
    finally:
        server.terminate()
        server.wait(30)


def test_label_studio_imports_what_we_write(studio: Studio, tmp_path: Path) -> None:
    empty = [{"data": {"qid": "q1", "docno": doc, "text": f"of {doc}"}} for doc in "ab"]
    first = studio.project("asked", empty)
    for task, word in zip(studio.tasks(first), ("Relevant", "Not relevant"), strict=True):
        shown = {"from_name": "relevance", "to_name": "text", "type": "choices"}
        result = [{**shown, "value": {"choices": [word]}}]
        studio.ask("POST", f"/api/tasks/{task['id']}/annotations", {"result": result})
    export = studio.ask(
        "GET", f"/api/projects/{first}/export?exportType=JSON&download_all_tasks=true"
    )
    like, back = tmp_path / "export.json", tmp_path / "back.json"
    like.write_text(json.dumps(export))
    with pytest.warns(DataWarning, match="Not relevant = 0, Relevant = 1"):
        crowd = q.read_judgements(like)
    (ann,) = crowd.assessors
    merged = q.merge(crowd, "mv")
    q.convert(merged, back, "label-studio", like=like)
    predicted = studio.tasks(studio.project("merged", json.loads(back.read_text())))
    merged_grades = [
        (task["data"]["docno"], each["model_version"], each["score"], each["result"][0]["value"])
        for task in predicted
        for each in task["predictions"]
    ]
    assert merged_grades == [
        ("a", "mv", 1.0, {"choices": ["Relevant"]}),
        ("b", "mv", 1.0, {"choices": ["Not relevant"]}),
    ]
    # judgements of several: those of its own people are annotations, all others' predictions
    several = q.Judgements.of(["q1"] * 3, list("aab"), [ann, "gpt", "gpt"], [0, 1, 1])
    with pytest.warns(DataWarning, match=r"1 assessor \(gpt\): not annotators"):
        q.convert(several, back, "label-studio", like=like)
    one, two = studio.tasks(studio.project("several", json.loads(back.read_text())))
    (annotation,) = one["annotations"]
    assert annotation["result"][0]["value"] == {"choices": ["Not relevant"]}
    assert annotation["completed_by"] == export[0]["annotations"][0]["completed_by"]
    assert [each["model_version"] for each in one["predictions"] + two["predictions"]] == [
        "gpt"
    ] * 2
    assert two["annotations"] == []
