"""Drafts: answers become a plan, files are looked at, two people at once, plan files both ways."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collection.campaign_files import GOLD, POOL, TOPICS, write_files

from qrowd.collection.database.opening import open_store
from qrowd.collection.drafts import contents, forms, own_gold, uploads
from qrowd.collection.drafts.draft import Draft, all_drafts, discard, new_draft, open_draft, save
from qrowd.collection.drafts.forms import fill_in
from qrowd.collection.drafts.launch import everybody_passes, launch, problems, warnings
from qrowd.collection.drafts.plan_file import draft_of_files, plan_of, write_bundle
from qrowd.collection.drafts.steps import StepForm, all_steps, suggested
from qrowd.collection.plan.changes import change, name_of
from qrowd.collection.plan.forecast import set_sizes
from qrowd.collection.plan.gold_sets import arrange_gold
from qrowd.collection.plan.rows import GoldRow
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan, plan_text, read_plan, stored_plan
from qrowd.errors import InputError, QrowdError, RuleError

EXAMPLE = Path(__file__).parents[2] / "examples" / "campaign"
FILES = {"topics": "topics", "documents": "documents", "pool": "pool", "gold": "gold"}


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path]:
    """The files of a small campaign."""
    return write_files(tmp_path / "mine")


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    """An empty draft."""
    return new_draft(tmp_path / "drafts", "ann", 1)


def given_file(step: str, kind: str, *files: Path, **choices: str) -> StepForm:
    """An answer that is a file."""
    return StepForm(
        step, {}, {kind: [(one.name, io.BytesIO(one.read_bytes())) for one in files]}, choices
    )


def answered(draft: Draft, paths: dict[str, Path], *, until: str = "") -> Draft:
    """A draft with all answers as suggested."""
    for step in all_steps():
        if step == until:
            break
        plan = suggested(draft, step)
        if step in FILES:
            given = given_file(step, FILES[step], paths[step], source="arranged")
        elif step == "name":
            given = StepForm(step, {"campaign.title": "Which pages help?"})
        else:
            texts = {
                name: forms._shown(plan, name)
                for name in all_steps()[step].keys
                if not name.startswith("files.")
            }
            lists = {name: text.replace(", ", "\n") for name, text in texts.items()}
            given = StepForm(step, {**texts, **{n: lists[n] for n in lists if "labels" in n}})
        draft = fill_in(draft, given, "ann", 2)
    return draft


# --- plans as text --------------------------------------------------------------------------------


def test_a_plan_file_is_written_as_it_is_read() -> None:
    plan = read_plan(EXAMPLE / "plan.toml")
    text = plan_text(plan)
    assert replace(parse_plan(text), text="") == replace(plan, text="")
    assert plan_text(parse_plan(text)) == text
    assert plan_text(Plan()) == '[campaign]\nname = ""\n'


@settings(max_examples=40, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=3),
    st.floats(0, 1e6),
    st.integers(1, 1000),
)
def test_any_text_and_number_comes_back(
    text: str, examples: list[str], amount: float, n: int
) -> None:
    plan = Plan()
    about = replace(plan.campaign, instructions=text, examples=tuple(examples))
    plan = replace(
        plan,
        campaign=about,
        pay=replace(plan.pay, budget=amount),
        sets=replace(plan.sets, target=n),
    )
    assert replace(stored_plan(plan_text(plan)), text="") == plan


def test_answers_that_are_not_allowed_name_the_key() -> None:
    bad = (
        ("sets.target", "none"),
        ("sets.target", "0"),
        ("pay.hit", "nan"),
        ("pay.hit", ""),
        ("campaign.way", "guess"),
        ("scale.grades", "a b"),
    )
    for name, text in bad:
        with pytest.raises(InputError, match=name.split(".")[1]):
            change(Plan(), {name: text})
    with pytest.raises(QrowdError, match="did you mean"):
        change(Plan(), {"sets.targt": "3"})
    assert change(Plan(), {"pay.hit": "1,50"}).pay.hit == 1.5
    assert change(Plan(), {"scale.grades": "0, 1, 2, 3"}).scale.grades == (0, 1, 2, 3)
    assert change(Plan(), {"campaign.way": "preferences"}).sets.size == 2
    assert change(Plan(), {"campaign.mode": "owner"}).sets.target == 1
    assert name_of("Which pages help? ÄÖ") == "which-pages-help"


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(uploads.WANTED))
def test_files_of_the_wrong_kind_are_told(
    kind: str, draft: Draft, paths: dict[str, Path], tmp_path: Path
) -> None:
    strange = {
        "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        "letter.pdf": b"%PDF-1.7 \xff\xfe\n",
        "nothing.tsv": b"",
        "prose.txt": b"Dear all,\nthis is a letter.\n",
        "plan.toml": b"[campaign]\nname = 'a'\n",
    }
    for name, content in strange.items():
        with pytest.raises(InputError) as told:
            uploads.take(draft, kind, [(name, io.BytesIO(content))])
        assert name in str(told.value)
        assert "Wanted: " in str(told.value)
    right = {"qualification": "gold", "runs": "run"}.get(kind, kind)
    others = (
        {"topics", "documents", "pool", "run"} - {right} - ({"gold"} if kind == "pool" else set())
    )
    for other in sorted(others):
        with pytest.raises(InputError, match="Wanted: "):
            uploads.take(draft, kind, [(paths[other].name, io.BytesIO(paths[other].read_bytes()))])
    assert not list((draft.folder / "files").iterdir())


def test_a_folder_of_documents_as_zip(draft: Draft) -> None:
    def packed(**files: bytes) -> io.BytesIO:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as target:
            for name, content in files.items():
                target.writestr(name.replace("__", "/"), content)
        file.seek(0)
        return file

    name = uploads.take(draft, "documents", [("docs.zip", packed(docs__a=b"one", docs__b=b""))])
    full, _, empty = contents.texts(str(draft.folder / str(name)))
    assert (set(full), set(empty)) == ({"a"}, {"b"})
    for bad in (packed(), io.BytesIO(packed(a=b"one" * 99).getvalue()[:-30])):
        with pytest.raises(InputError):
            uploads.take(draft, "documents", [("docs.zip", bad)])
    with zipfile.ZipFile(outside := io.BytesIO(), "w") as target:
        target.writestr("../../evil.txt", "x")
    outside.seek(0)
    with pytest.raises(InputError, match="cannot be unpacked"):
        uploads.take(draft, "documents", [("docs.zip", outside)])
    assert not list(draft.folder.parent.rglob("evil.txt"))


def _damaged(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip whose list is whole, and whose file is not."""
    with zipfile.ZipFile(file := io.BytesIO(), "w", method) as target:
        target.writestr("plan.toml", bytes(range(256)) * 50)
    whole = file.getvalue()
    return whole[:60] + b"\xff" * 40 + whole[100:]


def _two_in_one_place() -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w") as target:
        target.writestr("a", "one")
        target.writestr("a/b", "two")
    return file.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_damaged_zips_are_told(draft: Draft, tmp_path: Path, method: int) -> None:
    bad = _damaged(method)
    with pytest.raises(InputError, match="cannot be unpacked"):
        uploads.take(draft, "documents", [("docs.zip", io.BytesIO(bad))])
    with pytest.raises(InputError, match="cannot be unpacked"):
        draft_of_files(tmp_path, "ada", 1, [("plan.zip", io.BytesIO(bad))])


def test_a_file_and_a_folder_of_one_name_in_a_zip(draft: Draft) -> None:
    with pytest.raises(InputError, match="cannot be unpacked"):
        uploads.take(draft, "documents", [("docs.zip", io.BytesIO(_two_in_one_place()))])
    assert not list((draft.folder / "files").iterdir())


def test_files_that_unpack_to_too_much(
    draft: Draft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qrowd.io.source.MOST_UNPACKED", 2**20)
    monkeypatch.setattr("qrowd.collection.drafts.plan_file.MOST_UNPACKED", 2**20)
    bomb = gzip.compress(b"t0 0 d0 1\n" * 2**18)
    with zipfile.ZipFile(inside := io.BytesIO(), "w") as target:
        target.writestr("docs/a.gz", bomb)
    with zipfile.ZipFile(plan := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("plan.toml", b"\n" * 2**21)
    for kind, name, file in (("pool", "a.gz", io.BytesIO(bomb)), ("documents", "d.zip", inside)):
        file.seek(0)
        with pytest.raises(InputError, match="larger than 1 MB"):
            uploads.take(draft, kind, [(name, file)])
    with pytest.raises(InputError, match="larger than 1 MB; send the plan file alone"):
        draft_of_files(tmp_path, "ada", 1, [("plan.zip", plan)])


def test_names_of_files_that_disks_do_not_take(draft: Draft) -> None:
    long = "\u6587" * 100 + ".txt"
    sent = [(name, io.BytesIO(b"some text")) for name in ("documents", long)]
    folder = draft.folder / str(uploads.take(draft, "documents", sent))
    assert len(list(folder.iterdir())) == 2
    assert all(len(one.name.encode()) <= 100 for one in folder.iterdir())
    assert any(one.name.endswith("\u6587.txt") for one in folder.iterdir())


def test_documents_and_gold_without_text(draft: Draft, paths: dict[str, Path]) -> None:
    lines = paths["documents"].read_text("utf-8").splitlines()
    lost = [line for line in lines if '"t1-d0"' not in line and '"t2-g1"' not in line]
    blank = [line.replace("text of t3-d1", " ") for line in lost]
    paths["documents"].write_text("\n".join(blank), "utf-8")
    draft = answered(draft, paths, until="pool")
    with pytest.raises(InputError, match=r"1 document \(t1-d0\) of the pool is not in the doc"):
        fill_in(draft, given_file("pool", "pool", paths["pool"]), "ann", 3)
    rows = paths["pool"].read_text("utf-8").replace("t1\tt1-d0\n", "")
    paths["pool"].write_text(rows, "utf-8")
    with pytest.raises(InputError, match=r"1 document \(t3-d1\) of the pool has no text at all"):
        fill_in(draft, given_file("pool", "pool", paths["pool"]), "ann", 3)
    paths["pool"].write_text(rows.replace("t3\tt3-d1\n", ""), "utf-8")
    draft = answered(draft, paths, until="gold")
    with pytest.raises(InputError, match=r"1 document \(t2-g1\) of the gold is not in"):
        fill_in(draft, given_file("gold", "gold", paths["gold"], source="chosen"), "ann", 3)


# --- gold that spammers fail ----------------------------------------------------------------------


def test_gold_is_put_together_so_that_spammers_fail(draft: Draft, paths: dict[str, Path]) -> None:
    draft = answered(draft, paths)
    rows = contents.campaign_rows(draft).gold
    found = contents.forecast_of(draft)
    assert found is not None
    assert {row.reason for row in rows} == {"Because."}
    assert len({row.set for row in rows}) == len(TOPICS)
    passes = {row.worker: row.batch for row in found.passing}
    assert passes["good"] > 0.5 > max(passes[name] for name in ("random", "always relevant"))
    assert found.warnings == ()
    smaller = fill_in(draft, StepForm("sets", {"sets.size": "3", "hit.sets": "4"}), "ann", 3)
    sizes = Counter(row.set for row in contents.campaign_rows(smaller).gold)
    assert set(sizes.values()) <= set(set_sizes(smaller.plan, contents.pool_of(smaller)))


def test_grades_that_tell_nobody_apart_make_no_gold_set() -> None:
    same = [GoldRow("t1", f"d{at}", 0) for at in range(10)]
    assert arrange_gold(Plan(), same) == []
    assert len(arrange_gold(Plan(), [*same, *(GoldRow("t1", f"r{at}", 1) for at in range(3))])) >= 5


def test_gold_that_everybody_passes_is_told(draft: Draft, paths: dict[str, Path]) -> None:
    lines = paths["gold"].read_text("utf-8").splitlines()
    easy = [lines[0], *(line.rsplit("\t", 2)[0] + "\t2\tBecause." for line in lines[1:])]
    paths["gold"].write_text("\n".join(easy) + "\n", "utf-8")
    draft = answered(draft, paths, until="gold")
    with pytest.raises(InputError, match="some relevant and some not"):
        fill_in(draft, given_file("gold", "gold", paths["gold"], source="arranged"), "ann", 3)
    draft = fill_in(draft, given_file("gold", "gold", paths["gold"], source="chosen"), "ann", 3)
    assert "'always relevant' passes 100% of batches" in str(everybody_passes(draft))


def test_gold_is_graded_here(draft: Draft, paths: dict[str, Path]) -> None:
    """Documents from both ends of the runs; once a set can be made of them, it is gold."""
    draft = answered(draft, paths, until="pool")
    draft = fill_in(draft, given_file("pool", "runs", paths["run"], paths["other"]), "ann", 3)
    first = own_gold.proposed(draft)
    assert {topic for topic, _ in first} == {"t1"}
    assert first[0][1] in ("t1-d1", "t1-d2")  # the best of one run, and the last of both
    assert first[1][1] == "t1-d9"
    rows = [GoldRow(topic, name, at % 2, "Seen.") for at, (topic, name) in enumerate(first)]
    seen = draft
    draft = own_gold.keep(draft, rows[:1], "ann", 4)
    assert (len(own_gold.graded(draft)), own_gold.sets_made(draft)) == (1, 0)
    assert first[0] not in own_gold.proposed(draft)
    draft = own_gold.keep(seen, rows[1:], "bob", 5)  # who did not see the first grade
    assert (len(own_gold.graded(draft)), own_gold.sets_made(draft)) == (len(rows), 1)
    assert {topic for topic, _ in own_gold.proposed(draft)} == {"t2"}
    found = contents.forecast_of(draft)
    assert found is not None
    assert everybody_passes(draft) is None
    with pytest.raises(InputError, match="at least one"):
        own_gold.with_grades(draft, [])


# --- two people, leaving and coming back ----------------------------------------------------------


def test_two_people_at_once(draft: Draft) -> None:
    first = fill_in(draft, StepForm("target", {"sets.target": "5"}), "ann", 2)
    second = fill_in(draft, StepForm("pay", {"pay.hit": "2"}), "bob", 3)  # saw the first version
    assert (second.plan.sets.target, second.plan.pay.hit) == (5, 2.0)
    assert set(second.answered) == {"target", "pay"}
    with pytest.raises(RuleError, match=r"ann has answered .*target = 5.*not saved yet") as told:
        fill_in(draft, StepForm("target", {"sets.target": "1"}), "bob", 4)
    assert told.value.code == "conflict"
    again = fill_in(second, StepForm("target", {"sets.target": "1"}), "bob", 5)
    assert again.plan.sets.target == 1
    with pytest.raises(RuleError, match="meanwhile"):
        save(first, first.plan, "ann", 6)


def test_drafts_are_listed_and_deleted(draft: Draft) -> None:
    folder = draft.folder.parent
    other = new_draft(folder, "bob", 5)
    assert [one.key for one in all_drafts(folder)] == [other.key, draft.key]
    discard(draft)
    assert [one.key for one in all_drafts(folder)] == [other.key]
    for key in (draft.key, "../x", "nothing"):
        with pytest.raises(RuleError, match="no such draft"):
            open_draft(folder, key)
    with pytest.raises(RuleError, match="launched or deleted"):
        save(draft, draft.plan, "ann", 6)


# --- the whole way --------------------------------------------------------------------------------


def test_an_empty_draft_says_what_is_missing(draft: Draft) -> None:
    assert [one.step for one in problems(draft)] == [
        "name",
        "topics",
        "documents",
        "pool",
        "gold",
    ]


def test_from_answers_to_a_campaign(draft: Draft, paths: dict[str, Path], url: str) -> None:
    draft = answered(draft, paths)
    assert (problems(draft), warnings(draft)) == ([], [])
    store = open_store(url, new=True)
    act = launch(store, draft, "ann")
    assert act > 0
    with store.read("which-pages-help") as work:
        assert work.state == "running"
        assert work.plan.files.topics == "topics.jsonl"
        assert work.plan.pay.budget >= work.plan.pay.hit > 0
    with pytest.raises(RuleError, match="already"):
        launch(store, draft, "ann")
    store.engine.dispose()


def test_a_plan_with_its_files_both_ways(draft: Draft, paths: dict[str, Path]) -> None:
    draft = answered(draft, paths)
    file = io.BytesIO()
    write_bundle(draft, file)
    file.seek(0)
    copy, missing = draft_of_files(draft.folder.parent, "bob", 9, [("all.zip", file)])
    assert missing == []
    assert set(copy.answered) == set(all_steps())
    assert plan_of(copy) == plan_of(draft)
    assert problems(copy) == []
    assert len(contents.campaign_rows(copy).pool) == POOL * len(TOPICS)
    text = io.BytesIO(plan_of(draft).encode())
    alone, missing = draft_of_files(draft.folder.parent, "bob", 9, [("plan.toml", text)])
    assert missing == ["topics.jsonl", "documents.jsonl", "pool.tsv", "gold.tsv"]
    assert {one.step for one in problems(alone)} == {"topics", "documents", "pool", "gold"}
    for bad in (
        [],
        [("a.txt", io.BytesIO(b"x"))],
        [("plan.toml", io.BytesIO(b"\xff"))],
        [("plan.toml", io.BytesIO(b"[campain]"))],
    ):
        with pytest.raises(QrowdError):
            draft_of_files(draft.folder.parent, "bob", 9, bad)
    assert len(all_drafts(draft.folder.parent)) == 3


def test_depths_of_runs_and_what_they_cost(draft: Draft, paths: dict[str, Path]) -> None:
    draft = answered(draft, paths, until="pool")
    draft = fill_in(draft, given_file("pool", "runs", paths["run"], paths["other"]), "ann", 3)
    rows = contents.depth_costs(draft)
    assert [depth for depth, _, _ in rows] == [1, 2, 3, 5, 10]
    assert [pairs for _, pairs, _ in rows] == sorted({pairs for _, pairs, _ in rows})
    assert rows[-1][1] == POOL * len(TOPICS)
    assert GOLD
