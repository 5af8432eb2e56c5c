"""Orders in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import DataWarning, FormatError, InputError
from qrowd.io.anything import read_ranked

quick = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ballots = st.lists(
    st.tuples(
        st.sampled_from("tu"),
        st.sampled_from("xyz"),
        st.lists(st.integers(1, 6), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=6,
)


def of_ballots(found: list[tuple[str, str, list[int]]]) -> q.Orders:
    rows = [
        (topic, f"d{at}", who, place, f"s{number}")
        for number, (topic, who, places) in enumerate(found)
        for at, place in enumerate(places)
    ]
    return q.Orders.of(*map(list, zip(*rows, strict=True)))


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl", ".json", ".parquet", ".tsv.gz"])
@quick
@given(found=ballots)
def test_ballots_come_back(
    suffix: str, tmp_path: Path, found: list[tuple[str, str, list[int]]]
) -> None:
    made = of_ballots(found)
    q.save(made, tmp_path / f"orders{suffix}")
    again = q.read_orders(tmp_path / f"orders{suffix}")
    assert again.to_polars().rows() == made.to_polars().rows()
    assert again.starts.tolist() == made.starts.tolist()


@quick
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("tu"), st.integers(0, 4), st.integers(1, 4), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_preferences_come_back(tmp_path: Path, rows: list[tuple[str, int, int, bool]]) -> None:
    made = q.Orders.of_preferences(
        [topic for topic, *_ in rows],
        [f"d{one}" for _, one, *_ in rows],
        [f"d{(one + step) % 5}" for _, one, step, _ in rows],
        ["x"] * len(rows),
        tied=np.array([tied for *_, tied in rows]),
    )
    q.save(made, tmp_path / "preferences.tsv")
    assert (tmp_path / "preferences.tsv").read_text().startswith("topic\tbetter\tworse\tassessor")
    again = q.read_orders(tmp_path / "preferences.tsv")
    assert again.to_polars().rows() == made.to_polars().rows()


def test_ballots_that_a_file_could_not_tell_apart_are_refused(tmp_path: Path) -> None:
    one = q.Orders.of_preferences(["t", "t"], ["a", "b"], ["b", "c"], ["x", "x"])
    both = q.Orders.of(["t"] * 3, list("abc"), ["y"] * 3, [1, 2, 3])
    q.save(both, tmp_path / "o.tsv")
    pair, place = np.append(one.pair, both.pair), np.append(one.place, both.place)
    who, starts = np.array([0, 0, 1], np.int32), np.array([0, 2, 4, 7])
    mixed = q.Orders(both.pairs, q.Index.of(["x", "y"]), who, starts, pair, place)
    with pytest.raises(InputError, match="several ballots of one topic without a set's name"):
        q.save(mixed, tmp_path / "mixed.tsv")


def test_judgements_with_ranks_are_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crowd.tsv"
    path.write_text(
        "topic\tdoc\tassessor\tgrade\trank\nt\ta\tx\t1\t1\nt\tb\tx\t0\t2\nt\tb\ty\t0\t\n"
    )
    with pytest.warns(DataWarning, match=r"crowd\.tsv: ranks are no part of judgements"):
        assert len(q.read_judgements(path)) == 3
    orders, judgements = read_ranked([path])
    assert len(orders) == 1
    assert judgements is not None
    assert len(judgements) == 3
    main(["check", str(path)])
    kinds = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert {*kinds} == {"judgements", "orders"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "topic\tdoc\tassessor\tplace\tset\nt\ta\tx\t1\ts\nu\tb\tx\t2\ts",
            ":3: a ballot over two topics",
        ),
        (
            "topic\tdoc\tassessor\tplace\nt\ta\tx\t1\nt\ta\tx\t1",
            ":3: document a twice in one ballot",
        ),
        ("topic\tdoc\tassessor\tplace\nt\ta\tx\t1\nt\tb\tx\t0", ":3: place must be a whole number"),
        ("topic\tdoc\tassessor\tplace\nt\ta\tx\tfirst", ":2: place must be a number, got 'first'"),
        ("topic\tbetter\tworse\tassessor\nt\ta\ta\tx", ":2: document a against itself"),
        ("topic\tbetter\tworse\tassessor\ttied\nt\ta\tb\tx\t3", ":2: tied must be 0 or 1, got 3"),
        ("topic\tbetter\tassessor\nt\ta\tx", "no column for worse"),
        ("topic\tbetter\tworse\tassessor\tweight\nt\ta\tb\tx\t0", ":2: the weight of a ballot"),
        ("left\tright\twinner\na\tb\tc", ":2: the winner must be a, b or tie, got 'c'"),
        ("left\tright\twinner\na\ta\ta", ":2: document a against itself"),
        ("left\tright\twinner\n", "there is a header but no row"),
        ("topic\tdoc\tassessor\tchosen\nt\ta\tx\t2", ":2: chosen must be 0 or 1, got 2"),
    ],
)
def test_bad_orders(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "o.tsv").write_text(content)
    with pytest.raises(FormatError) as caught:
        q.read_orders(tmp_path / "o.tsv")
    assert said in str(caught.value)


def test_the_command_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "o.tsv").write_text(
        "topic\tdoc\tassessor\tplace\nt\ta\tx\t1\nt\tb\tx\t2\nt\ta\ty\t1\nt\tb\ty\t2\nu\tc\tx\t1\n"
        "u\td\tx\t2\nu\te\ty\t1\nu\tf\ty\t2\n"
    )
    out, worths, who = (str(tmp_path / name) for name in ("c.run", "w.tsv", "a.tsv"))
    main(
        [
            "rank",
            "borda",
            str(tmp_path / "o.tsv"),
            "-o",
            out,
            "--worths",
            worths,
            "--assessors",
            who,
        ]
    )
    assert "u has 2" in capsys.readouterr().err
    assert q.read_runs(out).runs.names.tolist() == ["consensus"]
    assert Path(worths).read_text().startswith("topic\tdoc\trank\tworth\tdeviation\tcomponent\n")
    assert q.read_assessors(who)["ballots"].tolist() == [2, 2]


def test_judgements_without_ranks_are_refused_where_ranks_are_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crowd.tsv").write_text("topic\tdoc\tassessor\tgrade\nt\ta\tx\t1\nt\ta\ty\t0\n")
    with pytest.raises(SystemExit) as stop:
        main(["rank", "borda", str(tmp_path / "crowd.tsv")])
    assert stop.value.code == 2
    assert "no ranks in it" in capsys.readouterr().err


def test_merge_writes_a_ranking(tmp_path: Path) -> None:
    crowd = q.simulate(topics=2, documents=10, seed=3, runs=0)
    q.save(crowd.judgements, tmp_path / "crowd.tsv")
    main(["merge", "mv", str(tmp_path / "crowd.tsv"), "--ranking", str(tmp_path / "r.run"), "-q"])
    assert q.read_runs(tmp_path / "r.run").document.size == 20


ARENA = """left\tright\twinner\tjudge
a\tb\ta\tw1
a\tc\tright\tw1
c\tb\tmodel_a\tw2
b\ta\ttie\tw2
"""


def test_files_of_arenas(tmp_path: Path) -> None:
    path = tmp_path / "arena.tsv"
    path.write_text(ARENA)
    orders = q.read_orders(path)
    rows = orders.to_polars().to_dicts()
    assert list(orders.topics) == ["arena"]
    assert list(orders.assessors) == ["w1", "w2"]
    said = {(row["assessor"], row["doc"], row["place"]) for row in rows}
    assert {("w1", "a", 1), ("w1", "b", 2), ("w1", "c", 1), ("w2", "a", 1), ("w2", "b", 1)} <= said
    assert len(orders) == 4
    assert q.get("plackett-luce").fit(orders).ranks().tolist()[2] == 1  # c won twice
    path.write_text(ARENA + "a\tb\tzebra\tw2\n")
    with pytest.raises(FormatError, match=r"arena.tsv:6: the winner must be a, b or tie"):
        q.read_orders(path)
    path.write_text("left\tright\twinner\n")
    with pytest.raises(FormatError, match="there is a header but no row"):
        q.read_orders(path)


def test_who_did_not_say_who_won_said_no_tie(tmp_path: Path) -> None:
    path = tmp_path / "arena.tsv"
    path.write_text(ARENA + "a\tb\t\tw2\nc\tb\t \tw2\nb\tc\tright\tw3\n")
    with pytest.warns(DataWarning, match=r"2 rows have no winner and count for nothing"):
        assert len(q.read_orders(path)) == 5
    path.write_text("left\tright\twinner\na\tb\t\n")
    with pytest.raises(FormatError, match="no row has a winner"):
        q.read_orders(path)
    path.write_text("left\tright\twinner\na\tb\t\na\tb\ta\na\tb\tzebra\n")
    with (
        pytest.warns(DataWarning, match="1 row has no winner"),
        pytest.raises(FormatError, match=r"arena.tsv:4: the winner must be"),
    ):
        q.read_orders(path)


def test_choices_of_the_best(tmp_path: Path) -> None:
    path = tmp_path / "best.tsv"
    rows = ["topic\tdoc\tassessor\tset\tchosen"]
    rows += [f"t\t{doc}\tann\ts1\t{int(doc == 'b')}" for doc in "abc"]
    path.write_text("\n".join(rows) + "\n")
    orders = q.read_orders(path)
    assert orders.place.tolist() == [1, 2, 2]
    assert orders.pairs.document_names[orders.pair[0]] == "b"
    path.write_text("\n".join(rows).replace("\t1", "\t7") + "\n")
    with pytest.raises(FormatError, match="chosen must be 0 or 1, got 7"):
        q.read_orders(path)


def test_an_arena_keeps_sides_ties_weights_and_times(tmp_path: Path) -> None:
    path, back = tmp_path / "arena.tsv", tmp_path / "back.tsv"
    path.write_text(
        "model_a\tmodel_b\twinner\tjudge\ttimestamp\tweight\n"
        "x\ty\tmodel_b\tann\t10\t2\ny\tx\ttie (bothbad)\tbob\t11\t1\ny\tx\ty\tann\t12\t0.5\n"
    )
    orders = q.read_orders(path)
    rows = {
        (row["assessor"], row["time"], row["doc"]): row for row in orders.to_polars().to_dicts()
    }
    assert rows["ann", 10, "y"]["place"] == 1
    assert rows["ann", 10, "y"]["left"] == 0
    assert rows["ann", 10, "y"]["weight"] == 2
    assert rows["bob", 11, "x"]["place"] == rows["bob", 11, "y"]["place"] == 1
    assert rows["bob", 11, "x"]["left"] == 0  # the first row of the ballot is x, which stood right
    assert rows["ann", 12, "y"]["left"] == 1
    q.save(orders, back)
    assert back.read_text().startswith("topic\tleft\tright\twinner\tassessor\ttime")
    again = q.read_orders(back)
    assert again.to_polars().rows() == orders.to_polars().rows()


def test_choices_of_the_best_come_back(tmp_path: Path) -> None:
    path, back = tmp_path / "best.tsv", tmp_path / "back.tsv"
    lines = ["t\ta\tann\ts1\t1", "t\tb\tann\ts1\t0", "t\tc\tann\ts1\t0"]
    lines += ["t\tb\tann\ts2\t1", "t\td\tann\ts2\t0"]
    path.write_text("\n".join(["topic\tdoc\tassessor\tset\tchosen", *lines]) + "\n")
    orders = q.read_orders(path)
    assert orders.unordered.tolist() == [False, True, True, False, True]
    assert q.PlackettLuce().fit(orders).details == {"most_tied": 1}
    q.save(orders, back)
    assert q.read_orders(back).to_polars().rows() == orders.to_polars().rows()
