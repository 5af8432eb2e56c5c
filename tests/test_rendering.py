"""Numbers as people read them."""

from __future__ import annotations

from qrowd.rendering import counted, grouped, percent, some_of, spaced_percent, thousands


def test_numbers_for_people() -> None:
    assert [thousands(19_033), thousands(1234.56, 1), grouped(1_000)] == [
        "19,033",
        "1,234.6",
        "1\u202f000",
    ]
    assert [percent(0.9), percent(0.0512, 1)] == ["90%", "5.1%"]
    assert spaced_percent(0.9) == "90\u00a0%"


def test_plurals_and_the_first_of_many_names() -> None:
    assert [counted(0, "topic"), counted(1, "topic"), counted(2, "topic")] == [
        "0 topics",
        "1 topic",
        "2 topics",
    ]
    assert some_of(["a"], "run") == "1 run (a)"
    assert some_of(["a", "b", "c", "d"], "topic") == "4 topics (a, b, c, ...)"
