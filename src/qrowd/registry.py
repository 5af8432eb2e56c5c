"""Methods, measures and screening rules: parameters as data, cards, and spec strings.

One declaration feeds the library, the command line, experiment grids, menus, the documentation
and the contract tests:

    @method("ds", paper="Dawid & Skene 1979", uses=("gold",))
    class DawidSkene:
        max_iter: int = param(1000, "maximum number of EM iterations", at_least=1)
        def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged: ...

A *spec string* names a value of such a class, `ds(max_iter=50)` or `nDCG(dcg='jk')@20`: the name by
a regular expression (names have hyphens), the arguments by `ast`. `repr` prints it back.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import operator
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar, dataclass_transform

from qrowd.errors import ParameterError, UnknownNameError, UsageError

T = TypeVar("T")

_MADE_BY = {
    "Judgements": "make them with qrowd.read_judgements(...), which reads files and data frames",
    "Orders": "make them with qrowd.read_orders(...), which reads files and data frames",
    "Scores": "make them with qrowd.evaluate(runs, judgements.by_assessor(), measures)",
}
_FIELDS = {"Qrels": "gold", "Scores": "reference", "AssessorTable": "priors"}

KINDS = ("method", "measure", "rule")
_HOMES = {
    "method": (
        "qrowd.aggregation.judgements",
        "qrowd.aggregation.scores",
        "qrowd.aggregation.orders",
    ),
    "measure": ("qrowd.evaluation.measures",),
    "rule": ("qrowd.quality.rules",),
}
_LIMITS = {  # words and test of each
    "at_least": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "at_most": ("at most", operator.le),
    "below": ("below", operator.lt),
}
_AT = r"(?:@\s*(\d+(?:\.\d+)?))?\s*"
_SPEC = re.compile(rf"\s*([^\W\d][\w.-]*)\s*{_AT}(\(.*\))?\s*{_AT}", re.DOTALL)
_WORDS: dict[str, object] = {"true": True, "false": False, "none": None}


@dataclasses.dataclass(frozen=True)
class Param:
    """What is known of one parameter: enough to check it, to document it and to offer it."""

    name: str
    type: type
    default: Any
    help: str
    choices: tuple[Any, ...] = ()
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    names: Callable[[], tuple[str, ...]] | None = None  # the choices, where they are registered
    optional: bool = False
    item: Any = None  # the type of what a tuple holds

    @property
    def allowed(self) -> str:
        """The values it takes, in words."""
        if self.choices:
            return "one of " + ", ".join(str(choice) or '""' for choice in self.choices)
        kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        if self.item is not None:
            return "a list of " + kinds[self.item].removeprefix("a ") + "s"
        bounds = [f"{words} {limit:g}" for words, _, limit in self._limits]
        text = " ".join([kinds.get(self.type, self.type.__name__), " and ".join(bounds)]).strip()
        return f"{text}, or none" if self.optional else text

    def check(self, value: Any, owner: str) -> Any:
        """`value` as this parameter stores it; a `ParameterError` if it is not allowed."""
        if value is None and self.optional:
            return None
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        fits = isinstance(value, self.type) and isinstance(value, bool) == (self.type is bool)
        if fits and self.item is not None:
            fits = all(type(part) is self.item for part in value)
        if self.names and isinstance(value, str) and value not in self.choices:
            unknown = UnknownNameError.among(self.name, value, self.choices)
            raise ParameterError(f"{owner}: {unknown}")
        inside = fits and (not self.choices or value in self.choices)
        if not (inside and all(holds(value, limit) for _, holds, limit in self._limits)):
            raise ParameterError(f"{owner}: {self.name} must be {self.allowed}, got {value!r}")
        return value

    @property
    def _limits(self) -> list[tuple[str, Callable[[Any, Any], bool], float]]:
        """Words, test and value of each limit that it has."""
        limits = [(*rule, getattr(self, name)) for name, rule in _LIMITS.items()]
        return [limit for limit in limits if limit[-1] is not None]


def param(
    default: T,
    help: str,
    *,
    choices: tuple[Any, ...] = (),
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    names: Callable[[], tuple[str, ...]] | None = None,
) -> T:
    """Declare a parameter of a method, measure or rule, in its class body.

    `names` gives the choices where these are registered, so that they are asked for when needed.
    """
    limits = {"at_least": at_least, "above": above, "at_most": at_most, "below": below}
    about = {"help": help, "choices": choices, "names": names, **limits}
    return dataclasses.field(default=default, metadata={"param": about})


@dataclasses.dataclass(frozen=True)
class Card:
    """What the registry knows of a method, measure or rule; `method` says what its flags mean."""

    id: str
    kind: str
    cls: type
    paper: str
    params: tuple[Param, ...]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    grades: str = "any"
    nominal: bool = True
    sampled: bool = False
    assumes_independence: bool = False
    parameter_table: bool = False
    draws_rank: int = 0
    shares: bool = False
    over_topics: str = "mean"

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.cls) or "").split("\n")[0].rstrip(".")

    @property
    def level(self) -> str:
        """For methods: by what `fit` returns, `judgements` (Merged), `scores` (Scores) or `orders`
        (Consensus).
        """
        returned = str(inspect.signature(self.cls.fit).return_annotation)  # type: ignore[attr-defined]
        levels = {"Scores": "scores", "Consensus": "orders"}
        return next((level for noun, level in levels.items() if noun in returned), "judgements")


_cards: dict[str, dict[str, Card]] = {kind: {} for kind in KINDS}


@dataclass_transform(frozen_default=True, kw_only_default=True)
def method(
    id: str,
    *,
    paper: str,
    needs: tuple[str, ...] = (),
    uses: tuple[str, ...] = (),
    aliases: Mapping[str, str] = types.MappingProxyType({}),
    grades: str = "any",
    nominal: bool = True,
    sampled: bool = False,
    assumes_independence: bool = False,
    parameter_table: bool = False,
    draws_rank: int = 0,
    shares: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Register a merging method. `aliases` maps other names to full spec strings.

    `needs` and `uses` name fields of `Given`. `grades="binary"`: it merges two grades only.
    `nominal=False`: the order of grades matters to it. `sampled=True`: its posterior carries the
    error of a sampler. `assumes_independence=True`: it takes assessors to err independently, and is
    too sure where they err together. `parameter_table=True`: its details hold a table of every
    parameter. `draws_rank`: of the methods of a study, relevance is drawn from the posterior of the
    one with the highest rank; 0: only if it is chosen. `shares=True`: its probabilities are shares
    of votes, at least in part, and not the posterior of a model: rankings should not `inform` them.
    """
    return _registering(
        "method",
        id,
        aliases,
        paper=paper,
        needs=needs,
        uses=uses,
        grades=grades,
        nominal=nominal,
        sampled=sampled,
        assumes_independence=assumes_independence,
        parameter_table=parameter_table,
        draws_rank=draws_rank,
        shares=shares,
    )


@dataclass_transform(frozen_default=True, kw_only_default=True)
def measure(
    id: str,
    *,
    paper: str,
    aliases: Mapping[str, str] = types.MappingProxyType({}),
    over_topics: str = "mean",
) -> Callable[[type[T]], type[T]]:
    """Register a measure of a ranking.

    `over_topics`: what a run's values on all topics become, `mean`, `sum` or `geometric` mean.
    """
    return _registering("measure", id, aliases, paper=paper, over_topics=over_topics)


def over_topics(name: str) -> str:
    """What the values of a measure that is called so become: the mean, where nobody knows it."""
    card = cards("measure").get(name.partition("@")[0].partition("(")[0])
    return card.over_topics if card else "mean"


@dataclass_transform(frozen_default=True, kw_only_default=False)
def rule(
    id: str, *, paper: str, needs: tuple[str, ...] = (), uses: tuple[str, ...] = ()
) -> Callable[[type[T]], type[T]]:
    """Register a screening rule; its parameters may be given by position."""
    return _registering("rule", id, {}, paper=paper, needs=needs, uses=uses)


def _registering(
    kind: str, id: str, aliases: Mapping[str, str], **about: Any
) -> Callable[[type[T]], type[T]]:
    """`about` is what else the card says."""
    others = tuple(sorted(aliases.items()))

    def register(cls: type[T]) -> type[T]:
        registered = _dataclass_of(cls, id, kw_only=kind != "rule")
        params = params_of(registered)
        card = Card(id=id, kind=kind, cls=registered, params=params, aliases=others, **about)
        other = _cards[kind].get(id)
        if other and other.cls.__qualname__ != registered.__qualname__:
            raise UsageError(f"two {kind}s are named {id!r}: {other.cls.__name__}, {cls.__name__}")
        _cards[kind][id] = card
        registered.card = card  # type: ignore[attr-defined]
        return registered

    return register


def _dataclass_of(cls: type[T], id: str, *, kw_only: bool) -> type[T]:
    own_check = getattr(cls, "__post_init__", None)

    def check_parameters(self: Any) -> None:
        for declared in self.card.params:
            value = declared.check(getattr(self, declared.name), id)
            object.__setattr__(self, declared.name, value)
        if own_check:
            own_check(self)

    cls.__post_init__ = check_parameters  # type: ignore[attr-defined]
    if "fit" in cls.__dict__:
        cls.fit = _checked(cls.__dict__["fit"], id)  # type: ignore[attr-defined]
    if "__repr__" not in cls.__dict__:
        cls.__repr__ = spec_of  # type: ignore[method-assign]
    return dataclasses.dataclass(frozen=True, kw_only=kw_only, repr=False)(cls)


def _checked(fit: Callable[..., Any], id: str) -> Callable[..., Any]:
    """`fit`, with an error that says what to do where an argument is of another kind."""
    takes = [data.annotation for data in list(inspect.signature(fit).parameters.values())[1:2]]
    kinds = {part.strip().rsplit(".")[-1] for part in str(*takes).split("|")}

    @functools.wraps(fit)
    def checked(self: Any, *data: Any, **named: Any) -> Any:
        if data and kinds <= set(_MADE_BY) and not kinds & _names(data[0]):
            wanted = " or ".join(sorted(kinds))
            how = _MADE_BY[min(kinds)]
            raise UsageError(f"{id}: fit takes {wanted}, got {type(data[0]).__name__}; {how}")
        for given in (*data[1:2], *(named[name] for name in named if name == "given")):
            if "Given" not in _names(given):
                got = type(given).__name__
                how = f"write Given({_FIELDS.get(got, 'gold')}=...)"
                raise UsageError(f"{id}: fit takes Given after the data, got {got}; {how}")
        return fit(self, *data, **named)

    return checked


def _names(value: Any) -> set[str]:
    """The names of a value's classes; the registry cannot import the nouns."""
    return {base.__name__ for base in type(value).__mro__}


def params_of(cls: type) -> tuple[Param, ...]:
    """The parameters that a dataclass declares by `param`."""
    hints = typing.get_type_hints(cls)
    return tuple(
        _param_of(field, hints[field.name])
        for field in dataclasses.fields(cls)
        if "param" in field.metadata
    )


def _param_of(field: dataclasses.Field[Any], hint: Any) -> Param:
    # the type of `int | None` is int, that of `tuple[str, ...]` is tuple, of items str
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
    kinds = kinds if union else [hint]
    kind = typing.get_origin(kinds[0]) or kinds[0]
    item = typing.get_args(kinds[0])[0] if kind is tuple else None
    about = dict(field.metadata["param"])
    if about["names"]:
        about["choices"] = about["names"]()
    optional = union and types.NoneType in typing.get_args(hint)
    return Param(field.name, kind, field.default, optional=optional, item=item, **about)


# --- spec strings ---------------------------------------------------------------------------------


def spec_of(value: Any) -> str:
    """The spec string of a method, measure or rule: its name and what differs from the defaults."""
    changed = [
        f"{declared.name}={getattr(value, declared.name)!r}"
        for declared in value.card.params
        if getattr(value, declared.name) != declared.default and declared.name != "cutoff"
    ]
    cutoff = getattr(value, "cutoff", None)
    arguments = f"({', '.join(changed)})" if changed else ""
    return f"{value.card.id}{arguments}" + (f"@{cutoff}" if cutoff is not None else "")


def parse_spec(spec: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Name, positional and named arguments of a spec string; `name@k` gives cutoff=k.

    The cutoff may stand before the arguments or after them: `RR@10(rel=2)` is `RR(rel=2)@10`.
    """
    match = _SPEC.fullmatch(spec)
    if not match:
        raise UsageError(f"cannot read {spec!r}; expected a name with arguments, as in ds(tol=0.1)")
    name, early, arguments, late = match.groups()
    if early and late:
        raise UsageError(f"{spec!r} has two cutoffs, @{early} and @{late}; keep one of them")
    cutoff = early or late
    positional, named = _arguments(arguments or "()", spec)
    if cutoff:
        named["cutoff"] = float(cutoff) if "." in cutoff else int(cutoff)
    return name, positional, named


def _arguments(text: str, spec: str) -> tuple[list[Any], dict[str, Any]]:
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        assert isinstance(call, ast.Call)
        words = [str(word.arg) for word in call.keywords]
        values = [_literal(word.value) for word in call.keywords]
        positional = [_literal(value) for value in call.args]
    except (SyntaxError, ValueError, AssertionError):
        message = f"cannot read the arguments of {spec!r}; expected name=value, separated by commas"
        raise UsageError(message) from None
    if twice := [word for word in dict.fromkeys(words) if words.count(word) > 1]:
        raise UsageError(f"{spec!r} sets {', '.join(twice)} twice; keep one of them")
    return positional, dict(zip(words, values, strict=True))


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return _WORDS.get(node.id.lower(), node.id)
    return ast.literal_eval(node)


def build(card: Card, positional: list[Any], named: Mapping[str, Any]) -> Any:
    """An instance from a card and arguments; unknown names get a suggestion."""
    names = [declared.name for declared in card.params]
    if len(positional) > len(names):
        raise ParameterError(f"{card.id} takes {len(names)} parameters, got {len(positional)}")
    arguments = dict(zip(names, positional, strict=False)) | dict(named)
    for name in arguments:
        if name not in names:
            raise UnknownNameError.among(f"parameter of {card.id}", name, names or ["(none)"])
    return card.cls(**arguments)


def get(spec: str, kind: str = "method") -> Any:
    """The method (measure, rule) that a spec string names: `get("ds(max_iter=50)")`."""
    name, positional, named = parse_spec(spec)
    registered = cards(kind)
    if name in registered:
        return build(registered[name], positional, named)
    aliases = {alias: full for card in registered.values() for alias, full in card.aliases}
    if name[:1].isupper():  # as a class is called
        aliases = {card.cls.__name__: id for id, card in registered.items()} | aliases
    if name not in aliases:
        raise UnknownNameError.among(kind, name, registered, aliases)
    base, _, preset = parse_spec(aliases[name])
    return build(registered[base], positional, {**preset, **named})


def cards(kind: str = "method") -> dict[str, Card]:
    """All registered cards of a kind, by id, sorted; imports the modules that register them."""
    for home in _HOMES[kind]:
        import_modules(home)
    _load_outsiders(kind)
    return dict(sorted(_cards[kind].items()))


@cache
def import_modules(home: str) -> None:
    """Import a package with all its modules, or a module, so that what is in them registers."""
    package = importlib.import_module(home)
    for module in pkgutil.iter_modules(getattr(package, "__path__", [])):
        importlib.import_module(f"{home}.{module.name}")


@cache
def _load_outsiders(kind: str) -> None:
    """Other packages' modules that register something: once, for looking takes its time."""
    for point in entry_points(group=f"qrowd.{kind}s"):
        point.load()


def forget(id: str, kind: str = "method") -> None:
    """Take a card out again (for tests that register something)."""
    _cards[kind].pop(id, None)
