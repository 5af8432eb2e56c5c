"""What must be true of the project as a whole."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qrowd
from qrowd import registry

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "polars", "numba", "scipy", "rich", "matplotlib", "jinja2", "pandas")


def test_every_public_name_is_where_it_is_said_to_be() -> None:
    assert list(qrowd._HOMES) == sorted(qrowd._HOMES)
    assert qrowd.__all__ == list(qrowd._HOMES)
    for name, home in qrowd._HOMES.items():
        found = getattr(qrowd, name)
        assert found is vars(importlib.import_module(f"qrowd.{home}"))[name]
        defined = getattr(found, "__module__", f"qrowd.{home}")
        assert defined == f"qrowd.{home}", f"{name} is defined in {defined}"


def test_no_public_function_is_named_like_a_package() -> None:
    packages = {module.name for module in pkgutil.iter_modules(qrowd.__path__)}
    registered = {
        card.cls.__name__ for kind in registry.KINDS for card in registry.cards(kind).values()
    }
    assert not packages & {*qrowd.__all__, *registered}


def test_registered_classes_do_not_hide_public_names() -> None:
    names = [card.cls.__name__ for kind in registry.KINDS for card in registry.cards(kind).values()]
    assert len(names) == len(set(names))
    assert not set(names) & {
        name for name in qrowd.__all__ if not inspect.isclass(getattr(qrowd, name))
    }


def test_every_module_has_a_docstring() -> None:
    for module in pkgutil.walk_packages(qrowd.__path__, "qrowd."):
        found = importlib.util.find_spec(module.name)
        if found and found.origin and not module.name.endswith("__main__"):
            assert ast.get_docstring(ast.parse(Path(found.origin).read_text())), module.name


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import json, sys\n"
        "from qrowd.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as stop:\n    assert not stop.code\n"
        f"print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def committed() -> list[Path]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    if not listed:  # an sdist, perhaps in a folder that a checkout ignores
        pytest.skip("not a git checkout: cannot tell what is committed")
    return [ROOT / name for name in listed.split("\0") if name]


def test_nothing_committed_names_a_machine() -> None:
    folders = "|".join(["work", "root", "home", "opt", "Users"])
    mark = re.compile(rf"(?<![\w}}])/({folders})/|file:/{{3}}".encode())
    assert mark.search(b"cat /" + b"work/x")
    found = [
        f"{path.relative_to(ROOT)}: {bad.group().decode()}"
        for path in committed()
        if path.is_file() and (bad := mark.search(path.read_bytes()))
    ]
    assert found == []


def test_lines_of_scripts_and_styles_fit_a_screen() -> None:
    """The formatter leaves comments and strings as long as they are."""
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in committed()
        if path.suffix in {".js", ".css"} and path.is_file()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > 100
    ]
    assert long == []


def test_benchmarks_are_found_and_an_unknown_one_is_named() -> None:
    command = [sys.executable, "-m", "benchmarks", "nonsense"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    there = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")}
    assert "no benchmark nonsense" in done.stderr
    assert there <= set(done.stderr.split())


def test_no_drawer_modules() -> None:
    drawers = {"utils", "helpers", "common", "misc", "util"}
    assert not [path for path in (ROOT / "src").rglob("*.py") if path.stem in drawers]
