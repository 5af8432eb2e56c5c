"""The documentation has a place for everything, and its examples are true."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import qrowd
from qrowd import registry
from qrowd.io.roles import SYNONYMS

WITH_EXTRAS = {"report": "matplotlib", "tfidf": "sklearn", "contradictions": "sklearn"}
ROOT = Path(__file__).parents[1]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _load(ROOT / "docs" / "generate.py")


def _registered() -> list[registry.Card]:
    return [card for kind in registry.KINDS for card in registry.cards(kind).values()]


def _documented() -> dict[str, Any]:
    public = {name: getattr(qrowd, name) for name in qrowd.__all__}
    return public | {card.cls.__name__: card.cls for card in _registered()}


@pytest.mark.parametrize("kind", registry.KINDS)
def test_each_card_has_its_page_and_parameters(kind: str) -> None:
    index = generate.registry_page(kind)
    pages = generate.pages()
    for card in registry.cards(kind).values():
        target = f"{card.id}.md" if kind == "method" else f"#{card.id}"
        assert index.count(f"| [`{card.id}`]({target}) |") == 1
        page = pages[f"{kind}s/{card.id}.md"] if kind == "method" else index
        assert len(re.findall(rf"^##? `{re.escape(card.id)}`", page, re.MULTILINE)) == 1
        assert all(f"| `{parameter.name}` |" in page for parameter in card.params)


def test_each_public_name_has_its_heading() -> None:
    headings = re.findall(r"^### `(\w+)`$", generate.library_page(), re.MULTILINE)
    assert sorted(headings) == sorted(qrowd.__all__)


def test_each_command_has_its_heading() -> None:
    for path, _, _ in generate.verbs():
        page = generate.command_page(path.split()[0])
        assert len(re.findall(rf"^## `{path}` ", page, re.MULTILINE)) == 1


def test_options_are_said_once() -> None:
    merging, common = generate.command_page("merge"), generate.commands_page()
    assert merging.count("| `--probabilities FILE` |") == 1
    assert "| `--columns NAMES` |" not in merging
    assert common.count("| `--columns NAMES` |") == 1
    assert "`--columns`" in merging
    own = merging[merging.index("## `merge ds`") : merging.index("## `merge ebcc`")]
    assert "| `--smoothing" in own


def test_each_option_of_a_command_is_on_its_page() -> None:
    missing = []
    pages = {group: generate.command_page(group) for group in ("evaluate", "campaign", "rank")}
    for path, verb, context in generate.verbs():
        names = [record[0].split()[0].rstrip(",") for record in generate._records(verb, context)]
        page = pages.get(path.split()[0])
        missing += [
            (path, name) for name in names if page and f"`{generate._cell(name)}" not in page
        ]
    assert missing == []


def test_each_operation_of_the_interface_has_its_row() -> None:
    pytest.importorskip("fastapi", reason="the interface needs the extra `serve`")
    page = generate.pages()["http/index.md"]
    assert "| `POST /api/campaigns/{name}/acts` |" in page
    assert page.count("| `") > 80


def test_the_page_of_columns_lists_every_synonym() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`.*`) \|$", generate.columns_page(), flags=re.MULTILINE)
    listed = {name: {name, *re.findall(r"`(\w+)`", others)} for name, others in rows}
    known = {name: {name, *words.split()} for name, words in SYNONYMS.items()}
    assert listed == {name: words for name, words in known.items() if len(words) > 1}


def test_a_new_method_appears_by_itself() -> None:
    @registry.method("dummy-doc", paper="Nobody 1900")
    class DummyDoc:
        """A dummy that merges nothing."""

        size: int = registry.param(1, "how large", at_least=1)

        def fit(self) -> None: ...

    try:
        page = generate.pages()["methods/dummy-doc.md"]
    finally:
        registry.forget("dummy-doc")
    assert "| `size` | `1` | a whole number at least 1 | how large |" in page
    assert DummyDoc.__doc__ is not None
    assert DummyDoc.__doc__ in page


def test_a_new_measure_appears_by_itself() -> None:
    @registry.measure("DummyDoc", paper="Nobody 1900")
    class DummyMeasure:
        """A dummy that measures nothing."""

    try:
        page = generate.pages()["measures/index.md"]
    finally:
        registry.forget("DummyDoc", "measure")
    assert DummyMeasure.__doc__ is not None
    assert DummyMeasure.__doc__ in page


def test_everything_public_has_a_docstring() -> None:
    bare = [name for name, thing in _documented().items() if not (inspect.getdoc(thing) or "")]
    assert bare == []


def _with_examples() -> list[str]:
    """The names whose docstrings have examples; values such as NOTHING have no docstring."""
    return sorted(name for name, thing in _documented().items() if ">>>" in (thing.__doc__ or ""))


def test_most_verbs_and_methods_have_examples() -> None:
    assert {"DawidSkene", "screen", "study", "report"} <= set(_with_examples())


@pytest.mark.parametrize("name", _with_examples())
def test_examples_are_true(name: str) -> None:
    thing = _documented()[name]
    if name in WITH_EXTRAS:
        pytest.importorskip(WITH_EXTRAS[name], reason=f"the example of {name} needs an extra")
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said: list[str] = []
    names = vars(sys.modules[thing.__module__]) | {"q": qrowd, "qrowd": qrowd}
    for example in doctest.DocTestFinder(recurse=False).find(thing, name, globs=names):
        runner.run(example, out=said.append)
    assert runner.tries, f"no example of {name} was found"
    assert not said, "".join(said)


def test_doctest_blocks_become_code() -> None:
    def documented() -> None:
        """Text.

        >>> 1 + 1
        2

        More.
        """

    assert generate.markdown_of(documented) == "Text.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."


def test_equations_become_mathml() -> None:
    pytest.importorskip("latex2mathml", reason="builds the documentation; not part of the core")
    hooks = _load(ROOT / "docs" / "hooks.py")
    page = hooks.on_page_content(r'<p>a <span class="arithmatex">\(p_i &lt; 1\)</span></p>')
    assert "<msub><mi>p</mi><mi>i</mi></msub>" in page
    assert "arithmatex" not in page


def test_every_key_of_a_plan_has_its_row() -> None:
    from qrowd.collection.plan.sections import sections
    from qrowd.registry import params_of

    page = generate.plan_page()
    for name, kind in sections().items():
        assert f"## `[{name}]`" in page
        for key in params_of(kind):
            assert f"| `{key.name}` |" in page, f"{name}.{key.name}"
