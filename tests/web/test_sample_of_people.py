"""People judge what was drawn from a machine's pool: the page corrects scores by what they say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="pages need the extra serve")

from tests.collection.making import PLAN, material
from tests.web.office import Desk, desk, words
from tests.web.serving import API, Server, make_server

import qrowd as q
from qrowd.collection.publishing.collected import collected
from qrowd.web import tasks
from qrowd.web.access import OFFICE_COOKIE, forgery_token
from qrowd.web.files import CampaignFiles, only_file
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.traffic import Clock

AT = "/campaigns/tiny"
TOPICS, POOL, DRAWN = 4, 40, 15


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A campaign on 15 of the 40 documents that a machine judged of each topic."""
    with make_server(tmp_path, plan=PLAN, made=material(TOPICS, DRAWN)) as made:
        yield made


@pytest.fixture
def files() -> dict[str, str]:
    return made_files()


def made_files() -> dict[str, str]:
    """What was drawn, what the machine says, and two runs."""
    chance = random.Random(3)
    drawn, said = ["topic\tdoc\tprobability\tby"], ["topic\tdoc\tassessor\tgrade\tkind"]
    for t in range(TOPICS):
        drawn += [f"t{t}\td{t}-{d}\t{DRAWN / POOL}\trandom" for d in range(DRAWN)]
        said += [f"t{t}\td{t}-{d}\tllm\t{chance.randrange(3)}\tmachine" for d in range(POOL)]
    runs = {
        name: "".join(
            f"t{t} Q0 d{t}-{d} {at} {99 - at} {name}\n"
            for t in range(TOPICS)
            for at, d in enumerate(chance.sample(range(POOL), POOL))
        )
        for name in ("one", "two")
    }
    return {"sample": "\n".join(drawn) + "\n", "machine": "\n".join(said) + "\n", **runs}


def sent(desk: Desk, **files: str) -> Any:
    """The form of the page, with files."""
    desk.server.client.cookies.clear()
    return desk.server.client.post(
        f"{AT}/sample",
        data={"forgery": forgery_token(desk.server.settings, desk.token)},
        files={kind: (f"{kind}.tsv", text) for kind, text in files.items()},
        headers={"Cookie": f"{OFFICE_COOKIE}={desk.token}"},
        follow_redirects=False,
    )


def work_out(server: Server, *measures: str) -> dict[str, Any]:
    organiser = server.token("organiser")
    asked = {"method": "mv", "measures": measures or ["P@10", "AP"]}
    assert server.client.post(f"{API}/results/systems", json=asked, headers=organiser).is_success
    while tasks.run_one(server.site.store, server.settings.folder):
        pass
    found = server.client.get(f"{API}/results/systems", headers=organiser).json()
    return dict(found["result"])


def folder_of(server: Server) -> CampaignFiles:
    with server.site.store.read("tiny") as work:
        return CampaignFiles(server.site.store, server.settings.folder, work.campaign)


def test_scores_are_corrected_once_people_have_judged_the_sample(
    server: Server, files: dict[str, str], tmp_path: Path
) -> None:
    clock = Clock(server.site.clock.now)
    object.__setattr__(server.site.store, "clock", clock)
    ann = desk(server, "organiser")
    for name in ("one", "two"):
        run = {"file": (f"{name}.run", files[name])}
        headers = server.token("organiser")
        assert server.client.post(f"{API}/runs", files=run, headers=headers).is_success
    assert sent(ann, sample=files["sample"], machine=files["machine"]).status_code == 303
    shown = words(ann.get(f"{AT}/systems"))
    assert "There are: sample.tsv, machine.tsv." in shown
    worker = server.site.worker("ann")
    server.site.whole(worker)

    waiting = work_out(server)["corrected"]
    assert 0 < waiting["judged"] < waiting["sampled"] == TOPICS * DRAWN
    said = f"{waiting['judged']} of the {TOPICS * DRAWN} documents that were drawn"
    assert said in words(ann.get(f"{AT}/systems"))
    assert "corrected scores come when all 60" in words(ann.get(AT))

    judge(server.site.store, clock, tmp_path, "tiny", Crowd(robots=12))
    found = work_out(server)["corrected"]
    # the same as the command line's composition says of what people said
    with server.site.store.read("tiny") as work:
        people = collected(work).judgements
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_text(text)
    labels = q.get("mv").fit(people).qrels()
    pairs = labels.pairs
    chance = [DRAWN / POOL] * len(pairs)
    sample = q.Sample(pairs, chance, "random", labels.grade)  # type: ignore[arg-type]
    machine = q.get("mv").fit(q.read_judgements(tmp_path / "machine.txt"))
    runs = q.read_runs([tmp_path / "one.txt", tmp_path / "two.txt"])
    expected = q.correct(runs, machine, sample, ["P@10", "AP"])
    for row, wanted in zip(found["rows"], expected.to_dict()["rows"], strict=True):
        assert row == {
            key: pytest.approx(value) if isinstance(value, float) else value
            for key, value in wanted.items()
        }
    page = words(ann.get(f"{AT}/systems"))
    assert "corrected by what people said of 60 documents" in page
    assert f"{found['rows'][0]['value']:.4f}" in page
    leader = next(row for row in found["rows"] if row["measure"] == "P@10")["run"]
    assert f"{leader} leads by P@10, corrected by people:" in words(ann.get(AT))
    (first, *_) = work_out(server, "AP")["corrected"]["rows"]
    assert first["low"] is None
    shown = f"{first['run']} leads by AP, corrected by people: {first['value']:.2f}"
    assert f"{shown} ·" in words(ann.get(AT))


def test_files_that_do_not_fit_change_nothing(server: Server, files: dict[str, str]) -> None:
    ann = desk(server, "organiser")
    assert sent(ann, sample=files["sample"]).status_code == 303
    before = only_file(folder_of(server).sample)
    assert before is not None
    text = before.read_text()
    refused = sent(ann, sample="topic\tdoc\nt0\td0-0\n" + "t0\td0-1\n" * 60_000)
    assert refused.status_code == 422
    other = "topic\tdoc\tassessor\tgrade\nt0\td0-0\tllm\t1\nt0\td0-1\tllm\t0\n"
    refused = sent(ann, machine=other)
    assert refused.status_code == 422
    assert "says nothing of 58 of the 60 documents" in words(refused)
    assert only_file(folder_of(server).machine) is None
    assert only_file(folder_of(server).sample) == before
    assert before.read_text() == text
    nothing = sent(ann)
    assert nothing.status_code == 303


def test_machines_in_the_campaign_are_not_people(
    server: Server, files: dict[str, str], tmp_path: Path
) -> None:
    """Imported judgements cover all, and correct nothing: people have to."""
    from qrowd.collection.publishing.imports import import_judgements

    (tmp_path / "llm.tsv").write_text(files["machine"])
    server.site.work(import_judgements, tmp_path / "llm.tsv")
    ann = desk(server, "organiser")
    sent(ann, sample=files["sample"], machine=files["machine"])
    run = {"file": ("one.run", files["one"])}
    server.client.post(f"{API}/runs", files=run, headers=server.token("organiser"))
    assert work_out(server)["corrected"] == {"judged": 0, "sampled": TOPICS * DRAWN}
    server.site.whole(server.site.worker("ann"))
    assert 0 < work_out(server)["corrected"]["judged"] < TOPICS * DRAWN
