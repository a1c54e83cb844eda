"""Run the cells of a notebook as plain Python, and write their outputs into it.

python tools/notebook.py examples/notebook.ipynb
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells: what they print, and the value of a last expression."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] == "code":
            cell = {
                **cell,
                "execution_count": number,
                "outputs": _run("".join(cell["source"]), names, number),
            }
        cells.append(cell)
    return {**notebook, "cells": cells}


def _run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value, printed = None, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        outputs.append(result)
    return outputs


def write(path: Path) -> None:
    """Run a notebook and write its outputs into its file."""
    notebook = executed(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
