"""Reading without the garbage collector: it runs again afterwards, and what others froze stays frozen."""

from __future__ import annotations

import gc

from ethogram.ingest.reader import without_collection


def test_the_collector_runs_again_and_finds_nothing_new_to_look_at():
    assert gc.isenabled()
    with without_collection():
        assert not gc.isenabled()
        rows = [[k] for k in range(5_000)]
    assert gc.isenabled()
    assert len(rows) == 5_000
    assert gc.get_count()[0] < 5_000
    assert gc.get_freeze_count() == 0


def test_what_somebody_froze_stays_frozen():
    gc.freeze()
    try:
        with without_collection():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
