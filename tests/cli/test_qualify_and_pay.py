"""`qrowd campaign qualify`, `pay` and `invite --from`: what goes out to others and comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.campaign_lines import run

pytest.importorskip("sqlalchemy", reason="campaigns need the extra serve")

from tests.collection.making import PLAN, Site, make_site, material

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import worker
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.toml import parse_plan

TESTED = PLAN + "[qualification]\nsets = 2\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    made = make_site(f"sqlite:///{tmp_path / 'c.db'}", TESTED, material(qualification=4))
    yield made
    made.store.close()


def results(people: dict[str, int], file: str = "results.tsv") -> None:
    """What people answered to the task: everything right, or as many as a number says."""
    rows = [line.split("\t") for line in Path("task.tsv").read_text().splitlines()]
    topic, doc = rows[0].index("topic"), rows[0].index("doc")
    lines = ["participant_id\ttopic\tdoc\tgrade"]
    for person, number in people.items():
        for at, row in enumerate(rows[1:]):
            right = int(row[doc].split("-")[1])  # material() numbers documents by their grades
            grade = right if at < number else 0 if right else 2
            lines.append(f"{person}\t{row[topic]}\t{row[doc]}\t{grade}")
    Path(file).write_text("\n".join(lines) + "\n")


def test_a_qualification_elsewhere(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert "6 documents in task.tsv" in run(capsys, "export c.db --qualification -o task.tsv")[1]
    assert "6 documents in test.xml" in run(capsys, "export c.db --qualification -o test.xml")[1]
    assert Path("test.xml").read_text().count("<Question>") == 6
    assert "grade" not in Path("task.tsv").read_text().splitlines()[0].split("\t")
    results({"5f01": 6, "5f02": 5, "5f03": 2})
    out, err = run(capsys, "qualify c.db results.tsv")
    assert [line.split("\t")[:2] for line in out.splitlines()] == [
        ["person", "passed"],
        ["5f01", "yes"],
        ["5f02", "yes"],
        ["5f03", "no"],
    ]
    # 5 or 6 of 6 by chance: 7 of 64; one has failed: 7 / 57
    assert "2 of 3 passed; act 2: 2 people put on the list" in err
    assert "passes 11\N{NO-BREAK SPACE}% of the time" in err
    assert "about 0.1 of the 2 who passed" in err
    run(capsys, "export c.db --qualified -o ids.csv")
    assert Path("ids.csv").read_text() == "5f01\n5f02\n"
    assert Path("ids.csv").stat().st_mode & 0o777 == 0o600
    results({"5f01": 6, "5f04": 6})
    assert (
        "act 3: 1 person put on the list (1 were before"
        in run(capsys, "qualify c.db results.tsv")[1]
    )
    assert "none of them is new" in run(capsys, "qualify c.db results.tsv")[1]
    run(capsys, "act c.db --undo 2")
    run(capsys, "export c.db --qualified -o ids.csv")
    assert Path("ids.csv").read_text() == "5f04\n"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("qualify c.db other.tsv", 1, "other.tsv:2: t9 d9 is not of the test"),
        ("qualify c.db missing.tsv", 1, "missing.tsv"),
        ("qualify plain.db results.tsv", 1, "this campaign has no qualification"),
        ("qualify closed.db results.tsv", 1, "this campaign is closed"),
        ("export c.db --qualification --qualified -o x", 2, "write one thing at a time"),
        ("export c.db --per-set -o x", 2, "--per-set is about --qualification"),
        ("export c.db --qualification --per-set -o x.xml", 2, "--per-set is about tables"),
        ("export plain.db --qualification -o x.csv", 1, "this campaign has no qualification"),
        ("pay c.db --paid results.tsv --yes", 1, "results.tsv: this is no payout file"),
        ("pay c.db --paid p.csv -o q.csv", 2, "leave out -o and --settle"),
        ("pay c.db --settle --yes", 2, "--settle needs -o"),
        ("invite c.db --from c.db", 1, "these are the people of this campaign"),
        ("invite c.db --from nowhere.db", 1, "nowhere.db"),
        ("invite c.db --from plain.db", 1, "nobody of 'plain' can be asked: of 0 workers"),
        ("invite c.db results.tsv --from plain.db", 2, "not both"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_stored(
    site: Site, capsys: pytest.CaptureFixture[str], line: str, code: int, message: str
) -> None:
    for name, plan in (("plain", PLAN), ("closed", TESTED)):
        text = plan.replace('"tiny"', f'"{name}"')
        other = make_site(f"sqlite:///{name}.db", text, material(qualification=4))
        if name == "closed":
            run(capsys, "act closed.db close --yes")
        other.store.close()
    run(capsys, "export c.db --qualification -o task.tsv")
    results({"ann": 6})
    Path("other.tsv").write_text("worker\ttopic\tdoc\tgrade\nann\tt9\td9\t1\n")
    out, err = run(capsys, line, code)
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""
    assert json.loads(run(capsys, "people c.db --json")[0]) == []


def test_a_table_that_cannot_be_written_stores_nothing(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "export c.db --qualification -o task.tsv")
    results({"ann": 6})
    run(capsys, "qualify c.db results.tsv -o no/folder.tsv", 1)
    assert json.loads(run(capsys, "people c.db --json")[0]) == []


# --- pay ------------------------------------------------------------------------------------------


def owe(site: Site, **amounts: int) -> None:
    with site.store.write("tiny") as work:
        from qrowd.collection.people import workers

        for name, amount in amounts.items():
            ledger.bonus(work, workers.enter(work, "own", name, name=name.title()).id, amount)


def money(site: Site) -> tuple[int, int]:
    with site.store.read("tiny") as work:
        balance = ledger.balance(work)
        return balance.owed, balance.settled


def test_pay_by_a_file(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing is owed" in run(capsys, "pay c.db -o payout.csv")[1]
    owe(site, ann=250, bob=100)
    run(capsys, "pay c.db -o payout.csv")
    assert Path("payout.csv").stat().st_mode & 0o777 == 0o600
    assert "w1,Ann,own,ann,,2.50,EUR,0.00,tiny,q" in Path("payout.csv").read_text()
    assert money(site) == (350, 0)
    assert "Add --yes" in run(capsys, "pay c.db --paid payout.csv", 2)[1]
    owe(site, ann=30)
    err = run(capsys, "pay c.db --paid payout.csv --yes")[1]
    assert "3.50 EUR marked as paid" in err
    assert money(site) == (30, 350)
    again = run(capsys, "pay c.db --paid payout.csv --yes", 1)[1]
    assert "all of this file was marked as paid before" in again
    assert len(again.splitlines()) == 1
    assert money(site) == (30, 350)
    out = json.loads(run(capsys, "pay c.db --json")[0])
    assert [(row["worker"], row["amount"], row["paid_before"]) for row in out] == [
        ("w1", "0.30", "2.50")
    ]


def test_rows_that_were_paid_before_are_said(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    owe(site, ann=250, bob=100)
    run(capsys, "pay c.db -o payout.csv")
    lines = Path("payout.csv").read_text().splitlines(True)
    Path("part.csv").write_text(lines[0] + lines[1])
    run(capsys, "pay c.db --paid part.csv --yes")
    assert money(site) == (100, 250)
    out, err = run(capsys, "pay c.db --paid payout.csv --yes --json")
    assert "note: 1 row is left out, which was marked as paid before: w1." in err
    said = json.loads(out)
    assert (said["paid"], said["amount"], said["left_out"]) == (["w2"], 100, ["w1"])
    assert money(site) == (0, 350)


def test_settle_writes_first(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    owe(site, ann=250)
    run(capsys, "pay c.db --settle --yes -o no/payout.csv", 1)
    assert money(site) == (250, 0)
    assert "2.50 EUR marked as paid" in run(capsys, "pay c.db --settle --yes -o p.csv")[1]
    assert "2.50" in Path("p.csv").read_text()
    assert money(site) == (0, 250)


# --- people of before -----------------------------------------------------------------------------


def test_people_of_another_campaign_are_invited(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = PLAN.replace('"tiny"', '"before"').replace("target = 2", "target = 4")
    create_campaign(site.store, parse_plan(plan), material(topics=4, pool=12))
    before = Site(site.store, site.clock, "before")
    run(capsys, "act c.db launch --campaign before")
    for name in ("ann", "bob"):
        for _ in range(4):
            before.whole(before.worker(name))
    with site.store.write("before") as work:
        work.update(worker, worker.c.number == 1, work.own(worker), ask_again_at=work.now)
    line = "invite c.db --campaign tiny --from before --passed .7 --at-least 12"
    assert "act 3: 1 letter to be sent" in run(capsys, line)[1]
    (person,) = json.loads(run(capsys, "people c.db --campaign tiny --json")[0])
    assert person["id"] == "ann"
    refused = run(capsys, line.replace(".7", ".8"), 1)[1]
    assert "1 of them answered at least 12 check questions, and none is surely right 80" in refused
