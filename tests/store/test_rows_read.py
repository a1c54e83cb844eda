"""The database filters, sorts and limits: a page and a sweep read what they need, not the whole store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ethogram.app.sweep import sweep
from ethogram.models import Event, Verdict
from ethogram.patterns.library import load_patterns
from ethogram.service.inbox import TRIAGE, inbox
from ethogram.store import Store, open_store
from ethogram.store.sql import SqlReader
from risk_makers import detection
from sampling import IS_LONG
from small import HOT, write_patterns
from stores_support import NOON

EVENTS = 160_000 if IS_LONG else 8_000
SUBJECTS = EVENTS // 20
"""So that each has 20 events."""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many rows were handed over, by kind; of queries of the tables themselves under an empty one."""
    counts: Counter[str] = Counter()

    def counted(rows: Any, kind: str) -> Iterator[Any]:
        for row in rows:
            counts[kind] += 1
            yield row

    rows, groups, run = SqlReader.rows, SqlReader.groups, SqlReader.run
    monkeypatch.setattr(
        SqlReader, "rows", lambda self, kind, *a, **k: counted(rows(self, kind, *a, **k), kind)
    )
    monkeypatch.setattr(
        SqlReader, "groups", lambda self, kind, *a, **k: counted(groups(self, kind, *a, **k), kind)
    )
    monkeypatch.setattr(SqlReader, "run", lambda self, *a: list(counted(run(self, *a), "")))
    return counts


def fill(store: Store) -> None:
    for start in range(0, EVENTS, 20_000):
        store.add([event(number) for number in range(start, min(EVENTS, start + 20_000))])


def event(number: int) -> Event:
    at = NOON + timedelta(seconds=number)
    return Event.sample(
        id=f"e{number}", at=at, seq=number, subject=f"s{number % SUBJECTS}", readings={"risk": 0.1}
    )


def test_a_sweep_of_ten_new_events_reads_their_subjects(tmp_path, read, no_shipped_patterns):
    write_patterns(tmp_path / "patterns", HOT)
    library = load_patterns([tmp_path / "patterns"])
    with open_store(str(tmp_path / "store.db"), create=True) as store:
        fill(store)
        now = NOON + timedelta(seconds=2 * EVENTS)
        assert sweep(store, library, as_of=now, clock=lambda: now, jobs=1).subjects == SUBJECTS
        store.add([event(EVENTS + number) for number in range(10)])
        read.clear()
        later = now + timedelta(minutes=1)
        assert sweep(store, library, as_of=later, clock=lambda: later, jobs=1).subjects == 10
        # 21 events of each subject; the subjects, their numbers and marks; a few rows of the sweep itself.
        assert read[""] <= 10 * 21 + 50
        assert read.total() <= 10 * 21 + 200, read
        read.clear()
        assert sweep(store, library, as_of=later, clock=lambda: later, jobs=1).subjects == 0
        assert read.total() <= 50, read


def test_a_page_of_the_inbox_reads_what_it_shows(tmp_path, read):
    with open_store(str(tmp_path / "store.db"), create=True) as store:
        many = [replace(detection(f"d{n}"), detected_at=NOON + timedelta(minutes=n)) for n in range(1_000)]
        store.save_found([("new", item) for item in many], NOON)
        store.add_verdicts([Verdict("confirmed", "kim", NOON, "loop", "v1", item.id) for item in many])
        for item in many[:100]:
            store.put_note(TRIAGE, item.id, {"note": "known", "at": "2026-01-01T00:00:00Z"}, NOON)
        read.clear()
        items = inbox(store, "kim", limit=20)
        assert {item.detection.id for item in items} == {f"d{n}" for n in range(980, 1_000)}
        # A detection, a change and a verdict for each.
        assert read.total() <= 3 * 20 + 5, read
