"""A payout file: what is owed goes out, the same file marks it as paid, nobody twice."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.collection.making import PLAN, Site, make_site

from qrowd.collection.books import ledger
from qrowd.collection.database.verification import broken
from qrowd.collection.office.acts.money import Payout, Settle
from qrowd.collection.office.payout import COLUMNS, payout_table, read_payout, settlement
from qrowd.collection.people import entry, workers
from qrowd.collection.record import audit
from qrowd.errors import InputError, RuleError
from qrowd.io.people import save_people

FORMULA = '=HYPERLINK("http://evil.example/";"ann")'
Rows = list[list[str]]


def written(site: Site, file: Path) -> Path:
    with site.store.read(site.name) as work:
        save_people(payout_table(work), file)
    return file


def pay(site: Site, file: Path) -> int:
    """Mark a file as paid; how much that was."""
    with site.store.write(site.name) as work:
        act = Settle(payout=Payout(read_payout(work, file)))
        number = audit.perform(work, "o", act, sure=True)
        return int(audit.details_of(audit.act_numbered(work, number))["amount"])


def balance(site: Site) -> tuple[int, int]:
    with site.store.read(site.name) as work:
        assert broken(work) == []
        money = ledger.balance(work)
        return money.owed, money.settled


@pytest.fixture
def owing(site: Site) -> Site:
    """Ann is owed two batches and a bonus, Bob one batch."""
    listed = entry.PersonRow("ann", FORMULA, "ann@example.org")
    site.work(audit.perform, "o", "list people", {"people": [listed]})
    row = site.work(entry.listed_as, "ann")
    site.work(entry.come_in, entry.Entrant("own", "ann", None, row))
    site.work(workers.enter, "own", "bob", name="Bob", address="bob@example.org")
    for name in ("ann", "bob", "ann"):
        site.whole(site.worker(name))
    site.work(audit.perform, "o", "bonus", {"worker": 1, "amount": 50})
    assert balance(site) == (350, 0)
    return site


def test_who_gets_what(owing: Site, tmp_path: Path) -> None:
    file = written(owing, tmp_path / "payout.csv")
    assert file.stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert list(rows[0]) == list(COLUMNS)
    assert rows[0]["name"] == f"'{FORMULA}"
    shown = [[row[name] for name in ("worker", "id", "email", "amount")] for row in rows]
    assert shown == [
        ["w1", "ann", "ann@example.org", "2.50"],
        ["w2", "bob", "bob@example.org", "1.00"],
    ]
    assert pay(owing, file) == 350
    assert balance(owing) == (0, 350)
    with pytest.raises(RuleError, match="all of this file was marked as paid before"):
        pay(owing, file)
    assert balance(owing) == (0, 350)


def test_what_was_earned_since_stays_owed_and_two_files_pay_one_debt_once(
    owing: Site, tmp_path: Path
) -> None:
    first = written(owing, tmp_path / "first.csv")
    owing.whole(owing.worker("bob"))
    owing.work(audit.perform, "o", "bonus", {"worker": 1, "amount": 30})
    second = written(owing, tmp_path / "second.csv")
    assert pay(owing, first) == 350
    assert balance(owing) == (130, 350)
    with pytest.raises(RuleError, match="are owed something else now than the file says"):
        pay(owing, second)
    both = tmp_path / "both.csv"
    both.write_text(first.read_text() + "".join(second.read_text().splitlines(True)[1:]))
    with owing.store.read("tiny") as work:
        stands = settlement(work, read_payout(work, both))
        assert (stands.due, stands.paid, stands.changed) == ((), (1, 2), (1, 2))
    third = written(owing, tmp_path / "third.csv")
    assert pay(owing, third) == 130
    assert balance(owing) == (0, 480)


def test_rows_of_two_files_in_one_pay_once(owing: Site, tmp_path: Path) -> None:
    first = written(owing, tmp_path / "first.csv")
    owing.whole(owing.worker("bob"))
    second = written(owing, tmp_path / "second.csv")
    both = tmp_path / "both.csv"
    both.write_text(second.read_text() + "".join(first.read_text().splitlines(True)[1:]))
    assert pay(owing, both) == 450  # as the second one says; bob's row of the first has no effect
    assert balance(owing) == (0, 450)


def test_rows_that_were_not_paid_may_be_left_out(owing: Site, tmp_path: Path) -> None:
    file = written(owing, tmp_path / "payout.csv")
    lines = file.read_text().splitlines(True)
    file.write_text(lines[0] + lines[2])
    assert pay(owing, file) == 100
    assert balance(owing) == (250, 100)


def _rows(file: Path) -> Rows:
    return list(csv.reader(io.StringIO(file.read_text())))


def _save(rows: Rows, file: Path, **form: str) -> None:
    with file.open("w", newline="", encoding=form.pop("encoding", "utf-8")) as target:
        csv.writer(target, **form).writerows(rows)  # type: ignore[arg-type]


def _other_order(rows: Rows) -> Rows:
    return [list(reversed(row)) for row in [rows[0], *reversed(rows[1:])]]


def _short_amounts(rows: Rows) -> Rows:
    return [[cell.replace("2.50", "2.5").replace("1.00", "1") for cell in row] for row in rows]


def _german(rows: Rows) -> Rows:
    return [[cell.replace("2.50", "2,5").replace("1.00", "1") for cell in row] for row in rows]


def _noted(rows: Rows) -> Rows:
    return [[*row, "paid on Monday"] for row in rows]


@pytest.mark.parametrize("change", [_other_order, _short_amounts, _german, _noted])
@pytest.mark.parametrize(
    "form",
    [
        {"quoting": csv.QUOTE_ALL},
        {"delimiter": ";", "lineterminator": "\n"},
        {"encoding": "utf-8-sig"},
    ],
)
def test_a_spreadsheet_may_have_saved_it(
    owing: Site, tmp_path: Path, change: Callable[[Rows], Rows], form: dict[str, str]
) -> None:
    file = written(owing, tmp_path / "payout.csv")
    _save(change(_rows(file)), file, **form)
    assert pay(owing, file) == 350


@pytest.mark.parametrize("column", range(len(COLUMNS)))
def test_a_changed_row_marks_nothing(owing: Site, tmp_path: Path, column: int) -> None:
    file = written(owing, tmp_path / "payout.csv")
    rows = _rows(file)
    rows[2][column] = {"worker": "w1", "amount": "9.00", "paid_before": "1.00"}.get(
        COLUMNS[column], "else"
    )
    _save(rows, file)
    expected = "of campaign 'else'" if COLUMNS[column] == "campaign" else "row 2 .* was changed"
    with pytest.raises(InputError, match=expected) as refused:
        pay(owing, file)
    assert "nothing was marked" in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert balance(owing) == (350, 0)


def test_a_file_of_another_campaign(owing: Site, tmp_path: Path) -> None:
    other = make_site(f"sqlite:///{tmp_path / 'other.db'}", PLAN.replace('"tiny"', '"other"'))
    twin = make_site(f"sqlite:///{tmp_path / 'twin.db'}")  # of the same name
    for site, message in (
        (other, "of campaign 'other', not of 'tiny'"),
        (twin, "another database"),
    ):
        site.whole(site.worker("ann"))
        file = written(site, tmp_path / f"{site.name}.csv")
        with pytest.raises(InputError, match=message):
            pay(owing, file)
        site.store.close()
    assert balance(owing) == (350, 0)


@pytest.mark.parametrize("text", ["worker,amount\nw1,2.50\n", "", "no table at all"])
def test_something_else_is_one_line(owing: Site, tmp_path: Path, text: str) -> None:
    file = tmp_path / "payout.csv"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        pay(owing, file)
    assert len(str(refused.value).splitlines()) == 1
    assert balance(owing) == (350, 0)


def test_what_is_owed_no_longer_is_left_out(owing: Site, tmp_path: Path) -> None:
    """A bonus taken back after the file was written: that row does not stand, the other does."""
    file = written(owing, tmp_path / "payout.csv")
    with owing.store.read("tiny") as work:
        bonus = next(row.id for row in audit.acts(work) if row.act == "bonus")
    owing.work(audit.undo, "o", bonus)
    with owing.store.read("tiny") as work:
        asked = Settle(payout=Payout(read_payout(work, file))).foretell(work)
    assert "1 row is left out" in str(asked.follows[2])
    assert pay(owing, file) == 100
    assert balance(owing) == (200, 100)


def test_the_record_has_numbers_only(owing: Site, tmp_path: Path) -> None:
    pay(owing, written(owing, tmp_path / "payout.csv"))
    with owing.store.read("tiny") as work:
        row = audit.acts(work, 1)[0]
    assert (row.act, row.details) == ("settle", '{"amount": 350, "workers": [1, 2]}')
