"""What the program answers is what it answered: `python tools/renew_goldens.py` takes up what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden_text import difference
from goldens.makers import FOLDER, GOLDENS

MAX_BYTES = 520_000


@pytest.mark.parametrize("name", GOLDENS)
def test_answers_are_those_of_the_golden(name: str, tmp_path: Path):
    changed = difference(FOLDER / name, GOLDENS[name](tmp_path))
    assert not changed, f"if this is meant: python tools/renew_goldens.py {name}\n{changed}"


def test_every_golden_is_compared_and_all_are_small():
    files = [path for path in FOLDER.parent.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.name for path in FOLDER.iterdir()} == set(GOLDENS)
    assert sum(path.stat().st_size for path in files) < MAX_BYTES
