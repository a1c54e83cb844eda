"""The notebook in examples/ has the outputs that its cells have when they are run."""

from __future__ import annotations

import json
from pathlib import Path

from notebook import executed

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "notebook.ipynb"


def test_the_cells_give_the_outputs_that_are_shown():
    shown = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert executed(shown) == shown, "run python tools/notebook.py examples/notebook.ipynb"


def test_the_notebook_shows_a_report_and_a_row():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if "outputs" in cell]
    assert all(cell["outputs"] for cell in cells)
    report = "".join(cells[1]["outputs"][0]["data"]["text/html"])
    assert "&lt;svg" in report
    assert "love_bombing" in "".join(cells[2]["outputs"][0]["text"])
