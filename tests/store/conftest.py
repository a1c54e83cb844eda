"""A store in a folder of its own, and events to put into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ethogram.models import Event
from ethogram.store import Store, open_store
from stores_support import NOON


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(str(path), create=True) as opened:
        yield opened


@pytest.fixture
def made() -> Callable[..., list[Event]]:
    """Events of some subjects, one a minute."""

    def make(count: int, subjects: int = 3, **fields: Any) -> list[Event]:
        return [
            Event.sample(
                id=f"e{i}",
                at=NOON + timedelta(minutes=i),
                subject=f"s{i % subjects}",
                seq=i,
                readings={"risk": i / 100, "topic": f"t{i % 2}"},
                **fields,
            )
            for i in range(count)
        ]

    return make
