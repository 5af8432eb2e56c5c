"""`qrowd campaign`: from a plan to an export, and what is said when something is wrong."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.campaign_lines import run, said

pytest.importorskip("sqlalchemy", reason="campaigns need the extra serve")

import qrowd as q

EXAMPLE = Path(__file__).parents[2] / "examples" / "campaign"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example's files."""
    shutil.copytree(EXAMPLE, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_from_a_plan_to_an_export(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "check plan.toml")
    for word in ("always relevant", "an hour", "batches a worker", "survives"):
        assert word in text
    assert "18 pairs of 3 topics" in text
    assert "18 pairs, 6 sets, 9 batches" in said(capsys, "new plan.toml -o c.db --launch")
    assert "example: running; 0.0% done" in said(capsys, "status c.db")
    assert "18 judgements of 1 assessors" in said(capsys, "import c.db machine.tsv")
    assert "merged.qrels" in said(capsys, "export c.db -o out")
    assert len(q.read_judgements("out/judgements.tsv")) == 18
    assert len(q.read_qrels("out/merged.qrels")) == 18
    said(capsys, "backup c.db -o b.db")
    said(capsys, "restore b.db -o r.db")
    said(capsys, "move r.db m.db")
    said(capsys, "export m.db -o out2")
    for one in Path("out").iterdir():
        assert (Path("out2") / one.name).read_bytes() == one.read_bytes()


def test_an_import_goes_by_the_kind_of_assessors(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "new plan.toml -o c.db --launch")
    rows = Path("machine.tsv").read_text().splitlines()
    for kind in ("person", "expert"):
        lines = [f"{rows[0]}\tkind", *(f"{row}\t{kind}" for row in rows[1:])]
        Path(f"{kind}.tsv").write_text("\n".join(lines) + "\n")
    refused = "people judge in the campaign itself; else say what they are: --as machine, or --as"
    text = said(capsys, "import c.db person.tsv", 1)
    assert text.startswith("qrowd: person.tsv:2: ")
    assert refused in text
    assert len(text.splitlines()) == 1
    said(capsys, "export c.db -o before")
    assert len(Path("before/judgements.tsv").read_text().splitlines()) == 1
    assert "18 judgements of 1 assessors" in said(capsys, "import c.db person.tsv --as machine")
    assert "18 judgements of 1 assessors" in said(capsys, "import c.db expert.tsv")
    said(capsys, "export c.db -o out")
    assert q.read_judgements("out/judgements.tsv").kind_counts == {"machine": 1}
    assert Path("out/controls.tsv").read_text().count("\texpert\n") == 18


def test_check_says_who_stays_and_how_well_gold_is_hidden(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exposed = json.loads(said(capsys, "check plan.toml --json"))["exposure"]
    text = said(capsys, "check plan.toml")
    assert f"AUC of {exposed['area']:.2f}" in text
    plan = Path("plan.toml").read_text()
    Path("plan.toml").write_text(re.sub('"screen-out(-surely)?"', '"exclude"', plan))
    text = said(capsys, "check plan.toml")
    assert "survives" not in text
    assert "Nobody is screened out for missing gold" in text
    rows = json.loads(said(capsys, "check plan.toml --json"))["passing"]
    assert {tuple(row["survives"]) for row in rows} == {(1.0, 1.0, 1.0)}
    assert "warning: [checks] screen_out_after has no effect: no check" in text
    Path("plan.toml").write_text(re.sub('"screen-out(-surely)?"', '"none"', plan))
    assert "would tell good workers" not in said(capsys, "check plan.toml")  # than 0 0 0


def test_check_says_what_looking_again_costs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Path("plan.toml").read_text()
    assert "look at again" not in said(capsys, "check plan.toml")
    plan = plan.replace("[campaign]", '[campaign]\nmode = "hierarchy"')
    Path("plan.toml").write_text(plan)
    text = said(capsys, "check plan.toml")
    assert "warning: batches are paid, but looking again at one's own answers is not" in text
    Path("plan.toml").write_text(plan.replace("[pay]", "[pay]\nreview = 0.25"))
    text = said(capsys, "check plan.toml")
    assert "warning: batches are paid" not in text
    assert re.search(r"0\.25 EUR  more for each batch of up to \d+ own answers", text)


def test_acts_are_written_down_and_undone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "new plan.toml -o c.db --launch")
    assert "undo it with --undo 2" in said(capsys, "act c.db pause")
    assert "paused" in said(capsys, "status c.db")
    said(capsys, "act c.db --undo 2")
    assert json.loads(said(capsys, "status c.db --json"))["state"] == "running"
    assert "cannot be undone" in said(capsys, "act c.db message worker=1 text=hello", 2)
    assert "did you mean pause" in said(capsys, "act c.db pouse", 2)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('act c.db "raise target"', "raise target needs target"),
        ('act c.db "raise target" target=many', "must be a whole number, got 'many'"),
        ('act c.db "screen out" worker=w99', "there is no worker 99"),
        ("act c.db bonus worker=1", "bonus needs amount"),
        ("act c.db pause resaon=tired", "did you mean reason"),
        ("act c.db prioritise priorities=1", "rows of topic, doc, number"),
        ("status mysql://x/y", "is not supported"),
        ("robots c.db --address http://127.0.0.1:9 --robots 1", "no server answers"),
        ('links c.db ""', "a name that is not empty"),
        ("extend c.db --budget nan", "must be an amount"),
        ("export c.db -o out --method plackett-luce", "does not merge judgements"),
    ],
)
def test_odd_details_are_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], line: str, what: str
) -> None:
    said(capsys, "new plan.toml -o c.db --launch")
    code = 2 if any(word in line for word in ("mysql", "links", "nan", "export")) else 1
    text = said(capsys, line, code)
    assert what in text
    assert len(text.strip().splitlines()) == 1


SECRET = "root:x:0:0"


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"file": "{outside}"}, "secret.txt is not among the files in the folder of"),
        ({"file": "../secret.txt"}, "secret.txt is not among the files in the folder of"),
        ({"file": "link.txt"}, "link.txt is not among the files in the folder of"),
        ({"media": "text/html\r\nX-Evil: 1"}, "media must be like text/html"),
        ({"media": "text/html\u2028"}, "media must be like text/html"),
        ({"media": "x" * 300 + "/y"}, "media must be like text/html"),
        ({"doc": "a\tb"}, "cannot be a name"),
    ],
)
@pytest.mark.parametrize(
    "command", ["new plan.toml -o c.db", "extend c.db --documents {file} --yes"]
)
def test_documents_that_name_other_files_or_odd_types_are_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, str], what: str, command: str
) -> None:
    outside = here.parent / "secret.txt"
    outside.write_text(SECRET)
    (here / "link.txt").symlink_to(outside)
    said(capsys, "new plan.toml -o c.db")
    file = here / "documents.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0] |= {key: value.format(outside=outside) for key, value in changed.items()}
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if command.startswith("new"):
        (here / "c.db").unlink()
    else:
        command += " --pool pool.tsv"
    text = said(capsys, command.format(file=file.name), 1)
    assert what in text
    assert SECRET not in text
    assert len(text.strip().splitlines()) == 1


def test_a_folder_of_documents_with_a_link_to_elsewhere_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = here.parent / "secret.txt"
    outside.write_text(SECRET)
    (here / "folder").mkdir()
    (here / "folder" / "a.txt").symlink_to(outside)
    plan = here / "plan.toml"
    plan.write_text(plan.read_text().replace("documents.jsonl", "folder"))
    text = said(capsys, "new plan.toml -o c.db", 1)
    assert "a.txt is not among the files in that folder; copy it there" in text
    assert len(text.strip().splitlines()) == 1


FORMULA = '=HYPERLINK("http://evil.example/","click")'


def test_lists_of_people_run_nothing_in_a_spreadsheet_and_are_private(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from qrowd.collection.database.opening import open_store
    from qrowd.collection.people import workers
    from qrowd.collection.record import audit

    said(capsys, "new plan.toml -o c.db --launch")
    with open_store("c.db") as store, store.write("example") as work:
        number = workers.enter(work, "own", FORMULA).number
        audit.perform(work, "ann", "bonus", {"worker": number, "amount": 100})
    person = shlex.quote(FORMULA)
    for line in ("pay c.db", f"links c.db {person}"):
        assert f"'{FORMULA}" in said(capsys, line)
        for name, column in (("list.csv", 0), ("list.tsv", 0), ("list.jsonl", 0)):
            said(capsys, f"{line} -o {name}")
            table = q.read_people(name)
            assert FORMULA in (table.get("id") or table["person"])[column]
            assert Path(name).stat().st_mode & 0o777 == 0o600
            assert ("'=H" in Path(name).read_text()) == (not name.endswith("jsonl"))


def test_a_question_blocks_nobody(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an organiser thinks about an answer, others can write."""
    from qrowd.collection.database.opening import open_store
    from qrowd.collection.record import audit

    said(capsys, "new plan.toml -o c.db --launch")
    asked: list[str] = []

    def answer(question: str, yes: bool) -> bool:
        store = open_store("c.db")
        with store.write("example") as work:
            audit.perform(work, "another", "fund", {"amount": 1})
        store.engine.dispose()
        asked.append(question)
        return True

    for room in ("office", "plan"):
        monkeypatch.setattr(f"qrowd.cli.campaign.{room}.confirmed", answer)
    said(capsys, "extend c.db --target 5")
    said(capsys, "act c.db settle")
    assert len(asked) == 2


def test_extending_shows_its_cost_and_asks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "new plan.toml -o c.db --launch")
    assert "nothing to add" in said(capsys, "extend c.db", 2)
    assert "Add --yes" in run(capsys, "extend c.db --target 5", 2)[1]  # below what it costs
    assert "36 judgements" in said(capsys, "extend c.db --target 5 --yes")
    assert json.loads(said(capsys, "status c.db --json"))["wanted"] == 90


def test_an_old_and_a_new_schema_are_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    said(capsys, "new plan.toml -o c.db")
    assert "version" in said(capsys, "upgrade c.db")
    with sqlite3.connect("c.db") as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    db.close()
    assert "newer qrowd" in said(capsys, "status c.db", 1)
    assert "newer qrowd" in said(capsys, "upgrade c.db", 1)


@pytest.mark.parametrize(
    ("changes", "line", "what"),
    [
        ([("target = 3", "target = 0")], "target = 0", "at least 1"),
        ([("gold = 1\n", "gold = 9\n")], "gold = 9", "must have a set that is not gold"),
        ([("budget = 30.00", "budget = 0.10")], "budget = 0.10", "below the pay of one batch"),
        ([("size = 3", "sise = 3")], "sise = 3", "did you mean size"),
        ([("[people]", "[people]\nworkers = 2")], "target = 3", "above the number of workers"),
        (
            [("gold = 1\n", "gold = 2\n"), ("[people]", "[people]\nworkers = 3")],
            'gold = "gold.tsv"',
            "workers do 9 batches, 18 are needed",
        ),
        ([('gold = "gold.tsv"', 'gold = "nothing.tsv"')], 'gold = "nothing', "there is no file"),
        ([("[checks]\n", "[qualification]\nsets = 2\n[checks]\n")], "sets = 2", "the file has 0"),
        ([("at_least = 0.85", "at_least = 1.5")], "at_least = 1.5", "nobody can pass"),
        ([("at_least = 3", "at_least = 1e6")], "at_least = 1e6", "nobody can pass"),
        ([("budget = 30.00", "budget = inf")], "budget = inf", "must be finite"),
        (
            [
                ("budget = 30.00", "budget = 1.0\nqualification = 2.0"),
                ("[checks]\n", "[qualification]\nsets = 2\n[checks]\n"),
            ],
            "budget = 1.0",
            "below the pay of one qualification and one batch",
        ),
        ([('name = "example"', 'name = "a/b"')], 'name = "a/b"', "it is part of addresses"),
        ([('way = "grades"', 'mode = "owner"'), ("target = 3\n", "")], "[sets]", "must be 1"),
        ([("[people]", '[platform]\ncodes = ["done=1"]\n[people]')], "codes", "no outcome 'done'"),
        (
            [("[people]", '[platform]\nredirect = "https://x/{who}"\n[people]')],
            "redirect",
            "no {who}",
        ),
    ],
)
def test_a_plan_that_cannot_be_met_is_refused_at_its_line(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    changes: list[tuple[str, str]],
    line: str,
    what: str,
) -> None:
    plan = Path("plan.toml")
    for change in changes:
        assert change[0] in plan.read_text()
        plan.write_text(plan.read_text().replace(*change))
    lines = plan.read_text().splitlines()
    at = next(number for number, text in enumerate(lines, 1) if text.startswith(line))
    text = said(capsys, "check plan.toml", 1)
    assert what in text
    assert f"plan.toml:{at}:" in text


def test_gold_that_nobody_can_pass_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("plan.toml").write_text(Path("plan.toml").read_text().replace('"grades"', '"ranked"', 1))
    rows = Path("gold.tsv").read_text().splitlines()
    flat = [rows[0], *("\t".join([*row.split("\t")[:2], "0", "so", row[-4:]]) for row in rows[1:])]
    Path("gold.tsv").write_text("\n".join(flat) + "\n")
    assert "nobody can pass the NDCG check" in said(capsys, "check plan.toml", 1)


@pytest.mark.parametrize(
    ("line", "code", "what"),
    [
        ("status nothing.db", 1, "no such database"),
        ("status gold.tsv", 1, "not a database"),
        ("status .", 1, "is a folder"),
        ("new plan.toml -o nowhere/c.db", 1, "folder does not exist"),
        ("pya c.db", 2, "did you mean pay"),
        ("new nothing.toml -o c.db", 1, "cannot be read"),
    ],
)
def test_bad_input_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], line: str, code: int, what: str
) -> None:
    text = said(capsys, line, code)
    assert what in text
    assert len(text.strip().splitlines()) == 1


@pytest.mark.usefixtures("here")
def test_what_robots_cost_is_told_by_item(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from qrowd.web.robots import rehearsal

    for name, value in (("TIMES", 1), ("LEAST_ROBOTS", 4)):
        monkeypatch.setattr(rehearsal, name, value)
    said(capsys, "new plan.toml -o c.db --launch")
    found = json.loads(said(capsys, "robots c.db --robots 2 --json --quiet"))
    assert sum(found["outlay"].values()) == pytest.approx(found["spent"])
    worked_out = said(capsys, "check plan.toml --crowd rough")
    assert "rough crowd, worked out" in worked_out
    tried = json.loads(said(capsys, "check plan.toml --dry-run --json --quiet"))
    assert tried["spend"]["robots"] is True
    assert tried["spend"]["low"] < sum(tried["spend"]["items"].values()) < tried["spend"]["high"]
