"""The notebooks run from top to bottom, and show figures."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ["campaign_release", "crowd", "machine_judge"]


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


notebooks = _module()


def _pictures(notebook: dict[str, Any]) -> list[int]:
    """How many pictures each code cell shows."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [sum("image/png" in each.get("data", ()) for each in cell["outputs"]) for cell in code]


def test_all_are_run() -> None:
    assert [path.stem for path in notebooks.NOTEBOOKS] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_what_is_stored(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="notebooks draw figures")
    if name == "campaign_release":
        pytest.importorskip("fastapi", reason="campaigns need the extra serve")
        pytest.importorskip("sqlalchemy", reason="campaigns need the extra serve")
    monkeypatch.chdir(tmp_path)
    path = ROOT / "examples" / f"{name}.ipynb"
    stored = json.loads(path.read_text(encoding="utf-8"))
    shown = _pictures(notebooks.executed(path))
    assert sum(shown) >= 1
    assert shown == _pictures(stored)  # or: python docs/notebooks.py
