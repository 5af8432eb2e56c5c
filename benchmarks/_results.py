"""Stored results: what a benchmark printed, kept with how it was made, for the documentation.

`python -m benchmarks.NAME --store` writes `benchmarks/results/NAME.json`, `--store OTHER` another
name (one run is one file). A file has

    command, data, date, machine (cores, memory, Python)
    sources  the files of qrowd and of the benchmarks that the run had loaded, in all its processes,
             with hashes of what they do: comments, docstrings and layout do not count, and neither
             do the two modules that print and keep tables
    tables   by name: columns, rows

A table is called `NAME`, or `NAME.TABLE` where a file has several; its page is the one of
docs/evidence that shows it. A result is stale when one of its sources has changed since: `python -m
benchmarks --stale` lists these.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "results"
PAGES = ROOT / "docs" / "evidence"
OURS = ("src/qrowd", "benchmarks")
#: they print and keep tables, and no figure changes with them
KEEPERS = ("benchmarks/_results.py", "benchmarks/_benchmark.py")
_elsewhere: set[str] = set()  # what other processes of this run have loaded


def store(name: str, command: str, data: str, tables: dict[str, tuple[Any, Any]]) -> Path:
    """Write what a run printed; the tables are columns and rows, by name."""
    path = FOLDER / f"{name}.json"
    result = {
        "command": command,
        "data": data,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": _machine(),
        "sources": {file: _hash(ROOT / file) for file in sorted({*loaded(), *_elsewhere})},
        "tables": {key: {"columns": c, "rows": r} for key, (c, r) in tables.items()},
    }
    FOLDER.mkdir(exist_ok=True)
    path.write_text(dumps(result), encoding="utf-8")
    return path


def dumps(result: dict[str, Any]) -> str:
    """A result as text, a row of a table on each line."""
    head = {key: value for key, value in result.items() if key != "tables"}
    parts = []
    for name, table in result["tables"].items():
        rows = [json.dumps(row, ensure_ascii=False) for row in table["rows"]]
        columns = json.dumps(table["columns"], ensure_ascii=False)
        parts.append(
            f'  {json.dumps(name)}: {{"columns": {columns}, "rows": [\n   '
            + ",\n   ".join(rows)
            + "\n  ]}"
        )
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    return text + ',\n "tables": {\n' + ",\n".join(parts) + "\n }\n}\n"


def stale() -> Iterator[str]:
    """A line for each stored result that should be made again, and why."""
    for path in sorted(FOLDER.glob("*.json")):
        result = _read(path.stem)
        changed = [f for f, known in result["sources"].items() if _hash(ROOT / f) != known]
        if changed:
            names = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" * (len(changed) > 3))
            yield f"{path.stem}: changed since {result['date']}: {names}; {result['command']}"


def names() -> list[str]:
    """Of all stored tables."""
    return [
        path.stem if len(tables) == 1 else f"{path.stem}.{key}"
        for path in sorted(FOLDER.glob("*.json"))
        for tables in [_read(path.stem)["tables"]]
        for key in tables
    ]


def shown() -> list[tuple[str, str]]:
    """Each stored table that a page of the evidence shows, with the name of the page."""
    return [
        (name, path.stem)
        for path in sorted(PAGES.glob("*.md"))
        for name in re.findall(r"\{\{ table (\S+) \}\}", path.read_text(encoding="utf-8"))
    ]


def page_of(name: str) -> str:
    """The page on which a table stands."""
    for table, page in shown():
        if table == name:
            return page
    raise LookupError(f"no page of docs/evidence shows the table {name}")


def anchor(name: str) -> str:
    """What a link to a table ends with."""
    return name.replace(".", "-")


def cell(name: str, row: str, column: str) -> str:
    """One figure. A row is named by cells that it alone has, with `&` between them; an empty cell
    at its beginning counts as the one above it.
    """
    table = _find(name)[1]
    columns = [_plain(each) for each in table["columns"]]
    wanted = [part.strip() for part in row.split("&")]
    above: list[str] = []
    found = []
    for cells in table["rows"]:
        cells = [_plain(each) for each in cells]
        for at, text in enumerate(above):
            if cells[at] or at >= len(cells) - 1:
                break
            cells[at] = text
        above = cells
        if all(part in cells for part in wanted):
            found.append(cells)
    if len(found) != 1 or columns.count(column) != 1:
        raise LookupError(
            f"{name}: {len(found)} rows have {row!r}, {columns.count(column)} columns are called "
            f"{column!r}; there are {', '.join(columns)}"
        )
    return str(found[0][columns.index(column)])


def markdown(name: str) -> str:
    """A table, with how it was made."""
    result, table = _find(name)
    lines = ["| " + " | ".join(cells) + " |" for cells in [table["columns"], *table["rows"]]]
    lines.insert(1, "|" + "---|" * len(table["columns"]))
    made = f"`{result['command']}` · {result['data']} · {result['date']} · {result['machine']}"
    return f'<a id="{anchor(name)}"></a>\n\n' + "\n".join(lines) + f"\n\n*{made}*\n{{ .made }}"


def _find(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    stem, _, key = name.partition(".")
    result = _read(stem)
    tables = result["tables"]
    if key not in tables and (key or len(tables) != 1):
        raise LookupError(f"no stored table {name}; there are {', '.join(tables)}")
    return result, tables[key] if key else next(iter(tables.values()))


@cache
def _read(name: str) -> dict[str, Any]:
    path = FOLDER / f"{name}.json"
    if not path.exists():
        raise LookupError(f"no stored result {name}: benchmarks/results/{name}.json")
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def _plain(text: str) -> str:
    return text.replace("**", "").strip()


def loaded() -> list[str]:
    """Our files that this process has loaded, but for the keepers of tables."""
    files = {
        Path(file).resolve()
        for module in list(sys.modules.values())
        if (file := getattr(module, "__file__", None))
    }
    inside = {f.relative_to(ROOT).as_posix() for f in files if f.is_relative_to(ROOT)}
    return sorted(f for f in inside if f.startswith(OURS) and f not in KEEPERS)


def also(files: Iterable[str]) -> None:
    """Note what another process of this run has loaded."""
    _elsewhere.update(file for file in files if file not in KEEPERS)


def also_all(*rooms: str) -> None:
    """Note that this run starts commands or servers, which load what they need of these rooms."""
    for room in rooms:
        files = (ROOT / "src" / "qrowd" / room).rglob("*")
        also(f.relative_to(ROOT).as_posix() for f in files if f.suffix in (".py", ".js", ".j2"))


def _hash(path: Path) -> str:
    """Of what a file does: of Python without comments, docstrings and layout, else of its bytes."""
    if not path.exists():
        return ""
    content = path.read_bytes()
    if path.suffix == ".py":
        tree = ast.parse(content)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and ast.get_docstring(node, clean=False) is not None
            ):
                del node.body[0]
        content = ast.unparse(tree).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    threads = os.environ.get("OMP_NUM_THREADS", "")
    limited = f", OMP_NUM_THREADS={threads}" if threads else ""
    return f"{os.cpu_count()} cores, {memory:.0f} GB, Python {platform.python_version()}{limited}"


def slugs(titles: Sequence[str]) -> list[str]:
    """A short name for each table of a run: its title, or its number."""
    made: list[str] = []
    for number, title in enumerate(titles, start=1):
        slug = "-".join(re.findall(r"[a-z0-9]+", title.lower())[:8])
        made.append(slug if slug and slug not in made else str(number))
    return made
