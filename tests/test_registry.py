from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from qrowd import registry
from qrowd.errors import ParameterError, UnknownNameError, UsageError


@pytest.fixture
def dummy() -> Iterator[type]:
    @registry.method("dummy", paper="Nobody 1900", aliases={"dum-two": "dummy(size=2)"})
    class Dummy:
        """A dummy."""

        size: int = registry.param(1, "how large", at_least=1)
        kind: str = registry.param("a", "which", choices=("a", "b"))
        share: float | None = registry.param(None, "how much", above=0, at_most=1)

        def fit(self) -> None: ...

    yield Dummy
    registry.forget("dummy")


def test_spec_round_trip(dummy: type) -> None:
    made = registry.get("dummy(size=3, kind=b, share=1)")
    assert repr(made) == "dummy(size=3, kind='b', share=1.0)"
    assert registry.get(repr(made)) == made
    assert repr(dummy()) == "dummy"


def test_alias(dummy: type) -> None:
    assert registry.get("dum-two") == dummy(size=2)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("dummy(size=0)", ParameterError, "size must be a whole number at least 1, got 0"),
        ("dummy(kind=c)", ParameterError, "kind must be one of a, b, got 'c'"),
        ("dummy(size=true)", ParameterError, "got True"),
        ("dummy(sise=2)", UnknownNameError, "did you mean size"),
        ("dumy", UnknownNameError, "did you mean dummy"),
        ("majority", UnknownNameError, "known: "),
        ("dummy(size=)", UsageError, "cannot read the arguments"),
        ("dummy(size=2, size=3)", UsageError, "sets size twice; keep one of them"),
        ("(size)", UsageError, "cannot read"),
    ],
)
def test_bad_specs(dummy: type, spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(")):
        registry.get(spec)


def test_a_parameter_may_be_a_list() -> None:
    @dataclasses.dataclass(frozen=True)
    class Listed:
        grades: tuple[int, ...] = registry.param((0, 1), "grades")
        words: tuple[str, ...] = registry.param((), "words")

    grades, words = registry.params_of(Listed)
    assert grades.check((0, 2), "here") == (0, 2)
    for wrong in ((0, "a"), 3, (0.5,), (True,)):
        with pytest.raises(ParameterError, match="a list of whole numbers"):
            grades.check(wrong, "here")
    with pytest.raises(ParameterError, match="a list of texts"):
        words.check((1,), "here")
