"""Text from templates: every template parses and is used, and no value breaks its line or its column."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import UndefinedError

import ethogram
from ethogram.report.rendering import environment, rendered

ROOT = Path(ethogram.__file__).parent
TEMPLATES = sorted((ROOT / "report" / "templates" / "text").glob("*.txt"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_parses_and_is_used(path):
    environment().get_template(path.name)
    sources = [item.read_text(encoding="utf-8") for item in (*ROOT.rglob("*.py"), *TEMPLATES)]
    assert any(re.search(rf'rendered\(\s*"{path.stem}"|include "{path.name}"', text) for text in sources)


def test_a_value_stays_in_its_line_and_its_column():
    name = "eve\tx\ny\x1b[2J"
    other = SimpleNamespace(similarity=0.5, subject=name, source="input", shared=["A"])
    head, row = rendered("alike", others=[other], subject="ann")
    assert row == r"  50%  eve\tx\ny\x1b[2J  input   A"
    assert head.index("source") == row.index("input")


def test_a_name_that_is_not_given_is_an_error():
    with pytest.raises(UndefinedError, match="'others' is undefined"):
        list(rendered("alike", subject="ann"))
