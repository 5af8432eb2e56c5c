"""Run the notebooks of `examples/`, and store what their cells show: `python docs/notebooks.py`.

They are run by plain Python, cell by cell in one namespace, as Jupyter would; nothing of Jupyter is
needed. The tests run them in the same way.
"""

from __future__ import annotations

import ast
import base64
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
DOTS = 70  # per inch, of pictures


def main() -> None:
    """Run all of them."""
    for path in NOTEBOOKS:
        text = json.dumps(executed(path), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


def executed(path: Path) -> dict[str, Any]:
    """A notebook with what its cells show now."""
    import matplotlib as mpl

    mpl.use("agg")
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        source = "".join(cell["source"])
        cell |= {"execution_count": number, "outputs": _outputs(source, names, f"cell {number}")}
    return notebook


def _outputs(source: str, names: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """Run one cell: what it prints, its pictures, and the value of its last line."""
    import matplotlib.pyplot as plt

    pictures: list[str] = []

    def show() -> None:
        for number in plt.get_fignums():
            file = io.BytesIO()
            plt.figure(number).savefig(file, format="png", dpi=DOTS, bbox_inches="tight")
            pictures.append(base64.b64encode(file.getvalue()).decode())
        plt.close("all")

    tree, value = ast.parse(source, where), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as said, mock.patch.object(plt, "show", show):
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if said.getvalue():
        lines = said.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    for picture in pictures:
        data = {"image/png": picture}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    if value is not None:
        lines = str(value).splitlines(keepends=True)
        kind: dict[str, Any] = {
            "output_type": "execute_result",
            "execution_count": None,
            "metadata": {},
        }
        outputs.append({**kind, "data": {"text/plain": lines}})
    return outputs


if __name__ == "__main__":
    main()
