"""Releases: what they hold and what they must not, who is told before one is voided."""

from __future__ import annotations

import errno
import html
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.collection.making import PLAN, Site, make_site, wrong

import qrowd as q
from qrowd.cli.main import main
from qrowd.collection.books import ledger
from qrowd.collection.judging import events, submission
from qrowd.collection.material import clarification
from qrowd.collection.office import erasure
from qrowd.collection.people.workers import give_consent, new_worker
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.datasheet import Figures
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.release import _numbers, release, releases
from qrowd.collection.record import audit
from qrowd.errors import FormatError, RuleError
from qrowd.io.release import is_release

RANKED = (
    PLAN.replace("[sets]", 'way = "free-ranks"\n[sets]')
    + """
[people]
consent = "You may stop at any time."
[release]
text = true
licence = "CC BY 4.0"
"""
)
MV = q.get("mv")


def made(site: Site, target: Path, **more: Any) -> Any:
    """A release, asked for twice."""
    return release(
        site.store, "tiny", target, Figures(merge=MV, method="mv"), who="ada", sure=True, **more
    )


def judged(site: Site, people: str = "ann bob cat") -> Site:
    """A campaign that people have judged, a batch each in turn."""
    workers = [site.worker(name) for name in people.split()]
    for _ in range(6):
        for worker in workers:
            site.whole(worker)
            site.clock.forward(1)
    return site


def test_a_release_holds_what_it_says_and_nobody(site: Site, tmp_path: Path) -> None:
    judged(site)
    made(site, tmp_path / "out")
    read = q.read_release(tmp_path / "out")
    assert read.judgements is not None
    assert read.merged is not None
    assert len(read.judgements) == 42
    assert set(read.judgements.assessors) == {"a1", "a2", "a3"}
    assert read.judgements.kind_counts == {"person": 3}
    assert len(read.topics) == 3
    header = (tmp_path / "out" / "judgements.tsv").read_text().splitlines()
    assert header[0] == "topic\tdoc\tassessor\tgrade\tkind"
    assert header[1:] == sorted(header[1:])
    assert len(read.merged) == 21
    assert read.merged.provenance is not None
    assert (read.merged.provenance.method, read.merged.provenance.inputs["judgements"].rows) == (
        "mv",
        42,
    )
    assert {f"{name}.provenance.json" for name in ("merged.qrels", "probabilities.tsv")} < set(
        read.about["files"]
    )
    names = [str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*")]
    assert set(names) == {"SHA256SUMS", "manifest.json", *read.about["files"]}


def test_answers_to_check_questions_and_habits(site: Site, tmp_path: Path) -> None:
    """What tells how good judgements are, without times, under the numbers of the judgements."""
    site.whole(site.worker("dan"), wrong)  # nothing of dan counts
    judged(site)
    made(site, tmp_path / "out")
    read = q.read_release(tmp_path / "out")
    crowd = read.collected
    assert crowd is not None
    assert crowd.answers is not None
    assert crowd.key is not None
    assert crowd.habits is not None
    assert read.lacks == ""
    header = (tmp_path / "out" / "checks.tsv").read_text().splitlines()
    assert header[0] == "topic\tdoc\tassessor\tgrade\tkind"
    assert header[1:] == sorted(header[1:])
    assert set(crowd.judgements.assessors) < set(crowd.answers.assessors)
    assert len(crowd.answers.assessors) == 4
    # of the check questions that nobody has answered nothing is told
    asked = {line.rsplit("\t", 3)[0] for line in header[1:]}
    key = [
        line.split("\t") for line in (tmp_path / "out" / "checks.qrels").read_text().splitlines()
    ]
    assert {f"{topic}\t{doc}" for topic, _, doc, _ in key} == asked
    assert set(crowd.habits.assessors) == set(crowd.together.assessors)
    assert list(crowd.habits.columns) == ["seconds", "longest_run", "repeats", "uniform_spam"]
    about = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert about["merged"] == {"method": "mv", "choice": ""}
    assert about["sample"]["judged"] == 0


def test_what_auto_chose_is_written_down(site: Site, tmp_path: Path) -> None:
    judged(site)
    auto = q.get("auto")
    figures = Figures(merge=auto, method="auto")
    release(site.store, "tiny", tmp_path / "out", figures, who="ada", sure=True)
    with site.store.read("tiny") as work:
        export(work, tmp_path / "export", merge=auto)
    for folder in ("out", "export"):
        about = json.loads((tmp_path / folder / "manifest.json").read_text())
        assert about["merged"]["choice"] == "the mean of the vote and of ds"
    sheet = (tmp_path / "out" / "datasheet.md").read_text()
    assert "It chose: the mean of the vote and of ds." in sheet


def test_whose_answers_to_check_questions_are_kept(site: Site, tmp_path: Path) -> None:
    left, erased = site.worker("dan"), site.worker("eve")
    offer = site.next(left)
    site.judge(left, offer)
    site.work(submission.finish, left, offer.key)
    site.work(submission.give_back, left, offer.key)
    site.whole(erased, wrong)
    judged(site)
    with site.store.read("tiny") as work:
        before = collected(work).answers
    assert before is not None
    assert set(before.assessors) == {"w2", "w3", "w4", "w5"}  # dan gave all back
    with site.store.write("tiny") as work:
        ledger.settle(work, [row.id for row in ledger.owed(work)])
    erasure.forget(site.store, "tiny", 2, who="ada", void=True)
    erasure.forget(site.store, "tiny", 3, who="ada")
    with site.store.read("tiny") as work:
        after = collected(work).answers
    assert after is not None
    assert set(after.assessors) == {"w3", "w4", "w5"}


def test_a_release_of_before_says_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parent / "stored" / "releases" / "without-checks.zip"
    read = q.read_release(path)
    assert read.collected is not None
    assert read.collected.answers is None
    assert "no answers to check questions" in read.lacks
    pytest.importorskip("matplotlib", reason="a report needs the extra `report`")
    main(["report", str(path), "-o", str(tmp_path / "report.html")])
    assert read.lacks in capsys.readouterr().err
    page = (tmp_path / "report.html").read_text("utf-8")
    assert read.lacks[1:] in html.unescape(page)
    assert "given to the method that merges" in page  # it has six grades by experts
    assert "There is no gold" not in page


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({}, "no release"),
        ({"readme.txt": "x"}, "no release"),
        ({"manifest.json": "{}"}, "no release"),
        ({"../evil": "x"}, "leads outside"),
        ({"a/../../evil": "x"}, "leads outside"),
        ({"/evil": "x"}, "leads outside"),
        ({"C:\\evil": "x"}, "leads outside"),
    ],
)
def test_zips_that_are_refused(
    site: Site, tmp_path: Path, entries: dict[str, str], told: str
) -> None:
    path = tmp_path / "r.zip"
    if told == "leads outside":
        judged(site, "ann")
        made(site, path)
    with zipfile.ZipFile(path, "a") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    with pytest.raises(FormatError, match=told):
        q.read_release(path)
    assert [each.name for each in tmp_path.iterdir() if "evil" in each.name] == []


def test_what_is_wrong_with_a_zip_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (Path(__file__).parent / "stored" / "releases" / "without-checks.zip").read_bytes()
    cases = {
        "half.zip": (whole[: len(whole) // 2], "this zip is damaged"),
        "words.zip": (b"words\n", "this zip is damaged, or none"),
        "none.zip": (None, "no such file"),
    }
    for name, (content, told) in cases.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(SystemExit) as stopped:
            main(["report", str(tmp_path / name), "-o", str(tmp_path / "report.html")])
        assert stopped.value.code == 1
        said = capsys.readouterr().err
        assert told in said
        assert said.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_numbers_mean_nothing(tmp_path: Path) -> None:
    """A worker's number differs between releases: it does not follow from the campaign's own."""
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}")
    with site.store.read("tiny") as work:
        found = [_numbers(work, ["w1", "w2", "w10"]) for _ in range(40)]
    assert {one["w1"] for one in found} == {"a1", "a2", "a3"}
    assert all(sorted(one.values()) == ["a1", "a2", "a3"] for one in found)
    site.work(new_worker, "machine", "aardvark")
    with site.store.read("tiny") as work:
        assert _numbers(work, ["aardvark", "w1"]) == {"aardvark": "aardvark", "w1": "aaa1"}
    site.store.engine.dispose()


def test_a_zip_has_no_times_and_is_read_like_a_folder(site: Site, tmp_path: Path) -> None:
    judged(site)
    run = tmp_path / "a.run"
    run.write_text("t0 Q0 d0-0 1 1 a\n")
    done = made(site, tmp_path / "r.zip", runs=[run])
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    read = q.read_release(tmp_path / "r.zip")
    assert read.runs is not None
    assert list(read.runs.runs) == ["a"]
    with site.store.read("tiny") as work:
        act = releases(work)[0]
    assert json.loads(act.details)["sha256"] == done.sha256
    assert act.who == "ada"


def test_texts_orders_and_consent(tmp_path: Path) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", RANKED)
    worker = site.worker("ann")
    site.work(give_consent, worker, "1")
    offer = site.next(worker)
    site.judge(worker, offer)
    for shown in offer.sets:
        grades = [int(one.title.split()[-1]) for one in shown.documents]
        order = [at for _, at in sorted((-grade, at) for at, grade in enumerate(grades))]
        ranks = tuple(order.index(at) + 1 for at in range(len(grades)))
        said = events.Said(key=shown.key, place=shown.key, kind="ranking", position=0, ranks=ranks)
        site.work(events.save, worker, said)
    site.work(submission.finish, worker, offer.key)
    site.work(submission.submit, worker, offer.key)
    site.work(audit.perform, "ada", clarification.ACT, {"topic": "t0", "text": "only in print"})
    made(site, tmp_path / "out")
    read = q.read_release(tmp_path / "out")
    assert read.orders is not None
    assert len(q.read_documents(tmp_path / "out" / "documents.jsonl")) == 21
    assert "accepted by 1 people" in (tmp_path / "out" / "consent.txt").read_text()
    sheet = (tmp_path / "out" / "datasheet.md").read_text()
    assert "CC BY 4.0" in sheet
    assert "topic t0: only in print" in sheet
    assert read.topics["t0"].narrative.endswith("only in print")
    site.store.engine.dispose()


def test_a_clarification_is_undone(site: Site) -> None:
    def narrative() -> str:
        with site.store.read("tiny") as work:
            return str(clarification.topic_named(work, "t0").narrative)

    before = narrative()
    first = site.work(audit.perform, "ada", clarification.ACT, {"topic": "t0", "text": "one"})
    second = site.work(audit.perform, "ada", clarification.ACT, {"topic": "t0", "text": "two"})
    both = narrative()
    site.work(audit.undo, "ada", first)
    assert narrative() in both
    assert narrative().endswith(": two")
    site.work(audit.undo, "ada", second)
    assert narrative() == before
    for text in ("", "x" * 3000, "a\0b"):
        with pytest.raises(RuleError, match=r"1 to 2,000|without zeros"):
            site.work(audit.perform, "ada", clarification.ACT, {"topic": "t0", "text": text})
    with pytest.raises(RuleError, match="no topic 'x'"):
        site.work(audit.perform, "ada", clarification.ACT, {"topic": "x", "text": "a"})


def test_voiding_what_was_released_is_said_before(site: Site, tmp_path: Path) -> None:
    judged(site)
    with site.store.write("tiny") as work:
        ledger.settle(work, [row.id for row in ledger.owed(work)])
    made(site, tmp_path / "out")
    with pytest.raises(RuleError, match="holds answers of w1") as told:
        erasure.forget(site.store, "tiny", 1, who="ada", void=True)
    assert told.value.code == "released"
    erasure.forget(site.store, "tiny", 1, who="ada", void=True, despite=True)
    erasure.forget(site.store, "tiny", 2, who="ada")
    with site.store.read("tiny") as work:
        assert erasure.released(work, 1) == ""  # nothing of w1 counts any more


def test_a_release_is_asked_twice_and_never_replaces_one(site: Site, tmp_path: Path) -> None:
    figures = Figures(merge=MV, method="mv")
    with pytest.raises(RuleError, match="confirm") as told:
        release(site.store, "tiny", tmp_path / "out", figures, who="ada")
    assert told.value.code == "ask-twice"
    with pytest.raises(RuleError, match="no judgements"):
        made(site, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()
    judged(site, "ann")
    made(site, tmp_path / "out.zip")
    made(site, tmp_path / "out")
    for where in ("out", "out.zip"):
        with pytest.raises(RuleError, match=r"not empty|already"):
            made(site, tmp_path / where)
    with site.store.write("tiny") as work, pytest.raises(RuleError, match="qrowd campaign release"):
        audit.perform(work, "ada", "release", sure=True)


def test_a_changed_release_is_refused(site: Site, tmp_path: Path) -> None:
    judged(site, "ann")
    made(site, tmp_path / "out")
    for name, change in (
        ("judgements.tsv", "was changed after"),
        ("manifest.json", "was changed after"),
    ):
        path = tmp_path / "out" / name
        before = path.read_bytes()
        path.write_bytes(before.replace(b"t0", b"t1").replace(b'"mv"', b'"ds"'))
        with pytest.raises(FormatError, match=change):
            q.read_release(tmp_path / "out")
        path.write_bytes(before)
    (tmp_path / "out" / "pool.tsv").unlink()
    with pytest.raises(FormatError, match=r"pool\.tsv is missing"):
        q.read_release(tmp_path / "out")


def test_a_manifest_that_lacks_something_is_refused(site: Site, tmp_path: Path) -> None:
    judged(site, "ann")
    made(site, folder := tmp_path / "out")
    (folder / "SHA256SUMS").unlink()
    about = json.loads((folder / "manifest.json").read_text())
    q.read_release(folder)
    changes: list[dict[str, Any]] = [
        *({key: None} for key in ("campaign", "title", "figures", "files", "relevant_from")),
        {"figures": {}},
        {"scale": ["a", "b"]},
        {"files": {"pool.tsv": {"rows": 3}}},
        {"files": {"pool.tsv": {"sha256": ""}}},
        {"files": {"pool.tsv": None}},
    ]
    for change in changes:
        (folder / "manifest.json").write_text(json.dumps({**about, **change}))
        with pytest.raises(FormatError, match=r"manifest\.json lacks"):
            q.read_release(folder)


def test_a_release_on_another_disk(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(site, "ann")

    def across(real: Any) -> Any:
        def moved(source: Any, target: Any, **more: Any) -> None:
            if Path(source).parent != Path(target).parent:
                raise OSError(errno.EXDEV, "Invalid cross-device link")
            real(source, target, **more)

        return moved

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, across(getattr(os, name)))
    made(site, tmp_path / "out")
    assert q.read_release(tmp_path / "out").merged is not None


def test_a_zip_that_is_too_large_or_damaged(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(site, "ann")
    made(site, path := tmp_path / "out.zip")
    with monkeypatch.context() as small:
        small.setattr("qrowd.io.release.LARGEST", 100)
        with pytest.raises(FormatError, match="larger than"):
            q.read_release(path)

    def broken(*_: object) -> None:
        raise zlib.error("invalid block type")

    monkeypatch.setattr(zipfile.ZipFile, "extractall", broken)
    with pytest.raises(FormatError, match="this zip is damaged"):
        q.read_release(path)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "other"}', "no json"])
def test_what_is_no_release(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert not is_release(tmp_path)
    assert not is_release(tmp_path / "manifest.json")
    assert not is_release(tmp_path / "nothing")
    with pytest.raises(FormatError, match="no release"):
        q.read_release(tmp_path)
