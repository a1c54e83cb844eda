"""Reading without the garbage collector: it runs again afterwards, and what others froze stays frozen."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ethogram.ingest.reader import MANY_OBJECTS, without_collection


@pytest.fixture(autouse=True)
def nothing_is_frozen() -> Iterator[None]:
    """What the test run itself froze is frozen again afterwards."""
    gc.unfreeze()
    yield
    gc.freeze()


def test_the_collector_runs_again_and_finds_nothing_new_to_look_at():
    assert gc.isenabled()
    with without_collection():
        assert not gc.isenabled()
        rows = [[k] for k in range(2 * MANY_OBJECTS)]
    assert gc.isenabled()
    assert len(rows) == 2 * MANY_OBJECTS
    assert gc.get_count()[0] < MANY_OBJECTS
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("count", [0, 2 * MANY_OBJECTS])
def test_what_somebody_froze_stays_frozen(count):
    gc.freeze()
    with without_collection():
        rows = [[k] for k in range(count)]
    assert len(rows) == count
    assert gc.get_freeze_count() > 0


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
