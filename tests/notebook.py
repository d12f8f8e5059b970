"""Runs a notebook without Jupyter, so that a test can. `python tests/notebook.py --write x.ipynb` stores its outputs.

All code cells share one namespace. The output of a cell is what it prints, and the value of its last line: a figure as
PNG, a table as HTML, anything else as text.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def run(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of all its code cells."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "notebook"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        cell["execution_count"], cell["outputs"] = number, _outputs("".join(cell["source"]), names, number)
    return dict(notebook)


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree, printed, value = ast.parse(source), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "savefig"):
            image = io.BytesIO()
            value.savefig(image, format="png", dpi=80)
            data = {"text/plain": ["a figure"], "image/png": base64.b64encode(image.getvalue()).decode()}
        elif hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        found.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return found


if __name__ == "__main__":
    for name in sys.argv[2:]:
        Path(name).write_text(json.dumps(run(Path(name)), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
