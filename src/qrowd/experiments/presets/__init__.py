"""Plans of published experiments, ready to run: one TOML file each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from qrowd.errors import require_name
from qrowd.experiments.plan import Plan, parse_plan, read_plan

_HERE = Path(__file__).parent


def names() -> list[str]:
    """The names of the presets."""
    return sorted(file.stem for file in _HERE.glob("*.toml"))


def preset(name: str) -> Plan:
    """The plan of a preset; its relative paths, if any, are those of the working folder."""
    require_name("preset", name, names())
    text = (_HERE / f"{name}.toml").read_text(encoding="utf-8")
    return replace(parse_plan(text, name), folder=str(Path.cwd()))


def plan_of(name: str) -> Plan:
    """The plan of a preset, or of a file."""
    looks_like_a_file = name.endswith(".toml") or "/" in name or Path(name).is_file()
    return read_plan(name) if looks_like_a_file else preset(name)
