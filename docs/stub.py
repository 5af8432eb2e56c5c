"""Write the public face, from `qrowd.__init__` and the registry, for editors and type checkers.

python docs/stub.py        writes src/qrowd/__init__.pyi
"""

from __future__ import annotations

from pathlib import Path

import qrowd
from qrowd import registry

PATH = Path(__file__).parents[1] / "src" / "qrowd" / "__init__.pyi"
_HEAD = '''"""What `import qrowd` offers, for editors and type checkers.

Written by `python docs/stub.py`; do not edit.
"""
# ruff: noqa: I001, N816
'''
_TAIL = """
__version__: str
__all__: list[str]
_HOMES: dict[str, str]
"""


def stub() -> str:
    """The text of the stub file."""
    ours = {
        kind: [card for card in registry.cards(kind).values() if _is_ours(card)]
        for kind in registry.KINDS
    }
    public = [f"from qrowd.{home} import {n} as {n}" for n, home in sorted(qrowd._HOMES.items())]
    classes = [_import(card) for kind in ("method", "rule") for card in ours[kind]]
    measures = [_import(card, private=True) for card in ours["measure"]]
    values = [f"{card.id}: _{card.cls.__name__}" for card in ours["measure"]]
    lines = ["from qrowd import errors as errors", *public, *classes, *measures, "", *values]
    return _HEAD + "\n" + "\n".join(lines) + "\n" + _TAIL


def _is_ours(card: registry.Card) -> bool:
    return card.cls.__module__.startswith("qrowd.")


def _import(card: registry.Card, private: bool = False) -> str:
    name = card.cls.__name__
    return f"from {card.cls.__module__} import {name} as {'_' if private else ''}{name}"


if __name__ == "__main__":
    PATH.write_text(stub(), encoding="utf-8")
