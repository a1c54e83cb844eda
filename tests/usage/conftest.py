"""A key and a place for a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from ethogram.usage.pseudonym import new_keys, write_keys


@pytest.fixture
def key(tmp_path) -> Path:
    write_keys(tmp_path / "the.key", new_keys())
    return tmp_path / "the.key"


@pytest.fixture
def path(tmp_path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store" / "usage.db"
