"""The page Quality: a verdict first; what cannot be known is said; results of before are read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.collection.making import PLAN
from tests.web.office import desk, words
from tests.web.serving import Server, make_server

from qrowd.texts import Text
from qrowd.web import jobs, tasks

AT = "/campaigns/tiny/quality"


def _worked_out(server: Server, method: str = "auto") -> None:
    with server.site.store.write("tiny") as work:
        jobs.ask(work, "quality", {"method": method})
    assert tasks.run_one(server.site.store, server.settings.folder)


def test_one_answer_to_each_check_question(server: Server) -> None:
    server.site.whole(server.site.worker("ann"))
    _worked_out(server)
    said = words(desk(server, "organiser").get(AT))
    assert "be trusted? That cannot be told yet . How good single judges are cannot be told" in said
    assert "what merging gains cannot be known, because each question has one answer" in said
    assert said.count("cannot be known") == 3  # the verdict, and in place of two numbers
    assert "gained -" not in said
    assert "See how many judgements there are" in said
    tiles = words(desk(server, "organiser").get(AT.removesuffix("/quality")))
    assert "agreement cannot be told" in tiles
    assert "alpha" not in tiles


def test_what_auto_chose_is_said(server: Server) -> None:
    for name in ("ann", "bob", "cat"):
        server.site.whole(server.site.worker(name))
    _worked_out(server)
    said = words(desk(server, "organiser").get(AT))
    assert "by auto , which chose: the mean of the vote and of ds ." in said
    # workers' evidence comes from the same job
    assert "which chose" in words(desk(server, "organiser").get("/campaigns/tiny/workers"))
    for name in ("dan", "eve", "fay"):  # until documents have two answers
        server.site.whole(server.site.worker(name))
    _worked_out(server)
    tiles = words(desk(server, "organiser").get(AT.removesuffix("/quality")))
    assert re.search(r"\d\.\d\d Krippendorff's alpha \(-?\d\.\d\d to -?\d\.\d\d\)", tiles)


def test_documents_that_were_chosen_are_no_random_sample(tmp_path: Path) -> None:
    plan = PLAN.replace("gold = 1", "gold = 0") + '[next]\npick = "margin"\nleast = 1\n'
    for text, is_said in ((plan, True), (plan.replace("margin", "even"), False)):
        folder = tmp_path / str(is_said)
        folder.mkdir()
        with make_server(folder, plan=text) as server:
            for name in ("ann", "bob", "cat", "dan", "eve", "fay"):  # two answers each
                server.site.whole(server.site.worker(name))
            _worked_out(server)
            said = words(desk(server, "organiser").get(AT))
            assert ("documents got more judgements than the others because" in said) is is_said


def test_a_result_of_before(server: Server) -> None:
    """What an earlier version worked out has no verdict: the page says what to do."""
    server.site.whole(server.site.worker("ann"))
    _worked_out(server)
    with server.site.store.write("tiny") as work:
        last = jobs.latest(work, "quality")
        assert last is not None
        result = dict(last.result)
        for name in ("findings", "level", "choice", "good", "told", "independence", "sample"):
            del result[name]
        number = jobs.ask(work, "quality", {"method": "auto"})
    taken = jobs.take(server.site.store)
    assert taken is not None
    assert taken.id == number
    jobs.finish(server.site.store, number, json.dumps(result), server.site.clock.now)
    organiser = desk(server, "organiser")
    said = words(organiser.get(AT))
    assert str(Text("office.quality.earlier")) in said
    for page in ("", "/workers", "/disputed", "/coverage"):
        assert organiser.get(f"/campaigns/tiny{page}").status_code == 200
