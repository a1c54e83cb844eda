"""No file of a store says who somebody is; what is removed is in no byte of it; every look leaves a line."""

from __future__ import annotations

import re
import sqlite3
import stat
import struct
from contextlib import closing

import pytest

from ethogram.errors import BadUsage
from ethogram.usage.pseudonym import new_keys, write_keys
from ethogram.usage.rotation import rotate
from usage_stores import BEGIN, DAY, EVENT, HALF_HOUR, NOW, SESSION, WHO, fill, is_in, opened


@pytest.mark.parametrize("keep", ["events", "aggregates"])
def test_no_file_of_the_store_has_an_id_or_the_name_of_a_session(path, key, keep):
    tracker = opened(path, key, keep=keep)
    fill(tracker)
    tracker.signals(WHO, NOW, why="a review")
    list(tracker.sweep(NOW))
    list(tracker.export(WHO))
    assert len(list(path.parent.iterdir())) > 1  # the write-ahead log is there, and searched
    assert not any(is_in(item, path) for item in (WHO, "ann.example", SESSION, EVENT))
    assert is_in(tracker.name(WHO), path)
    tracker.close()
    assert not any(is_in(item, path) for item in (WHO, "ann.example", SESSION, EVENT))


@pytest.mark.parametrize("keep", ["events", "aggregates"])
def test_the_only_words_in_the_store_are_those_of_who_looked(path, key, keep):
    with opened(path, key, keep=keep) as tracker:
        fill(tracker)
        tracker.record_all([{"subject": WHO, "at": BEGIN, "session": SESSION}], "a file of hers")
        tracker.signals(WHO, NOW, why="a review")
        list(tracker.sweep(NOW))
    with closing(sqlite3.connect(path)) as raw:
        tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        values = {value for table in tables for row in raw.execute(f"SELECT * FROM {table}") for value in row}
    words = {item for item in values if isinstance(item, str) and not re.fullmatch("[0-9a-f]{32}", item)}
    own = {"private", "private_salt", "usage_exact", "usage_retention", "usage_newest", "usage", "last_looks"}
    assert words == {"dr. b", "a review", "", "signals", "sweep", "listed"} | own


def test_only_the_owner_may_read_the_files(path, key):
    tracker = opened(path, key)
    fill(tracker, 1)
    modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in (*path.parent.iterdir(), key)}
    assert set(modes.values()) == {0o600}, modes
    tracker.close()


@pytest.mark.parametrize("keep", ["events", "aggregates"])
def test_after_a_purge_nothing_of_the_person_is_in_any_file(path, key, keep):
    with opened(path, key, keep=keep) as tracker:
        fill(tracker)
        tracker.record("bo", BEGIN + 40 * DAY, 10)
        name = tracker.name(WHO)
        tracker.signals(WHO, NOW, why="she asked for it")
        list(tracker.sweep(NOW))
        # A time of theirs as the tables have it: half-hour and seconds.
        times = struct.pack("<I", (BEGIN + 38 * DAY) // HALF_HOUR)
        assert is_in(name, path)
        assert is_in(times, path)
        done = tracker.purge(WHO)
        assert (done.people, done.clean) == (1, True)
        assert not is_in(name, path)
        assert not is_in(bytes.fromhex(name), path)
        assert not is_in(times, path)
        assert not is_in("she asked for it", path)
        assert tracker.info()["people"] == 1
        lines = [(item.what, item.person) for item in tracker.audit()]
        assert {("purge", None), ("signals", None)} <= {*lines}
        assert name not in {person for _, person in lines}


def test_a_purge_by_time_leaves_what_came_after(path, key):
    with opened(path, key) as tracker:
        fill(tracker, 10)
        tracker.record("bo", BEGIN, 10)
        done = tracker.purge(before=BEGIN + 5 * DAY)
        assert (done.people, done.events) == (1, 26)  # five days of five, and all of the other one
        left = list(tracker.export(WHO))
        assert [item["events"] for item in left if item["record"] == "usage_person"] == [25]
        assert len([item for item in left if item["record"] == "usage_event"]) == 25


def test_every_look_leaves_a_line_also_one_that_found_nobody(path, key):
    with opened(path, key) as tracker:
        fill(tracker)
        tracker.signals(WHO, NOW, why="weekly review")
        tracker.signals("nobody", NOW)
        list(tracker.export(WHO))
        list(tracker.sweep(NOW - 50 * DAY))
        name = tracker.name(WHO)
        told = [(item.what, item.who, item.why) for item in tracker.audit(WHO)]
        assert told == [
            ("signals", "dr. b", "weekly review"), ("export", "dr. b", ""), ("listed", "dr. b", ""),
        ]  # fmt: skip
        assert [item.what for item in tracker.audit() if item.person != name] == ["unknown", "sweep"]


def test_a_wrong_key_is_refused_and_the_attempt_is_in_the_audit(path, key, tmp_path):
    with opened(path, key) as tracker:
        fill(tracker, 1)
    write_keys(tmp_path / "other.key", new_keys())
    with pytest.raises(BadUsage, match="not that of this store"):
        opened(path, tmp_path / "other.key", who="mallory")
    with opened(path, key) as tracker:
        assert [(item.what, item.who) for item in tracker.audit()] == [("refused", "mallory")]


def test_words_of_the_audit_may_not_give_the_id_away(path, key):
    with opened(path, key) as tracker:
        with pytest.raises(BadUsage, match="contains the person's id"):
            tracker.signals(WHO, NOW, why=f"a call of {WHO}")
        with pytest.raises(BadUsage, match="at most 500"):
            tracker.signals(WHO, NOW, why="x" * 501)
        with pytest.raises(BadUsage, match="why contains the person's id"):
            tracker.signals(WHO, NOW, why=WHO.upper())
        with pytest.raises(BadUsage, match="why contains the person's id"):
            list(tracker.sweep(NOW, subjects=["bo", WHO], why=f"about {WHO}"))
        tracker.signals("ann", NOW, why="the annual review")
    with opened(path, key, who=f"friend of {WHO}") as tracker:
        for look in (lambda: tracker.signals(WHO, NOW), lambda: tracker.purge(WHO)):
            with pytest.raises(BadUsage, match="who contains the person's id"):
                look()
    assert not is_in(WHO, path)


def test_lines_of_the_audit_that_are_older_than_the_retention_name_nobody(path, key):
    with opened(path, key, retention=30 * DAY, clock=lambda: NOW - 31 * DAY) as tracker:
        tracker.signals("bo", NOW, why="a call")
    with opened(path, key) as tracker:
        tracker.signals("bo", NOW, why="another call")
        list(tracker.sweep(NOW))
        told = [(item.what, item.person is None, item.why) for item in tracker.audit()]
    assert told == [("unknown", True, ""), ("unknown", False, "another call"), ("sweep", True, "")]


def test_after_a_purge_the_store_does_not_say_when_the_person_was_last_here(path, key):
    last = BEGIN + 30 * DAY + 4567
    with opened(path, key) as tracker:
        tracker.record("bo", BEGIN, 10)
        tracker.record_all([{"subject": WHO, "at": last}], "a file")
        assert is_in(struct.pack(">I", last), path)
        tracker.purge(WHO)
        assert not is_in(struct.pack(">I", last), path)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT value FROM meta WHERE name = 'usage_newest'").fetchone() == (BEGIN,)


@pytest.mark.parametrize("chain", [1, 2])
def test_a_purge_inside_a_half_hour_leaves_what_is_counted_and_what_is_kept_the_same(path, key, chain):
    """Ten minutes apart from ten o'clock, in two sessions: what lies before 10:15 on the second day goes."""
    with opened(path, key) as tracker:
        for day in range(3):
            for k in range(6):
                at = BEGIN + day * DAY + k * 600
                tracker.record(WHO, at, 50, session=f"s{k % 2}", time_zone="Europe/Berlin")
    if chain == 2:
        rotate(key, [path], at=NOW)
    with opened(path, key) as tracker:
        done = tracker.purge(before=BEGIN + DAY + 900)
        assert (done.people, done.events) == (0, 6 + 2)
        left = list(tracker.export(WHO))
    assert left[0]["events"] == 10
    assert left[0]["first_at"] == "2026-03-03T10:20:00Z"
    assert [item["events"] for item in left if item["record"] == "usage_day"] == [4, 6]
    rows = [item["events"] for item in left if item["record"] == "usage_half_hour"]
    assert (sum(rows), rows[0]) == (10, 1)
    assert len([item for item in left if item["record"] == "usage_event"]) == 10


def test_a_person_gets_everything_that_is_kept_of_them(path, key):
    with opened(path, key) as tracker:
        tracker.record(WHO, BEGIN + 7, 123, emotional=True, session=SESSION, time_zone="Europe/Berlin")
        records = list(tracker.export(WHO))
    kinds = [record["record"] for record in records]
    assert kinds == ["usage_person", "usage_event", "usage_day", "usage_half_hour", "usage_look"]
    assert records[1] | {"session": None} == {
        "record": "usage_event", "at": "2026-03-02T10:00:07Z", "length": 123, "is_user": True,
        "emotional": True, "closing": False, "ended_abruptly": False, "session": None, "clock_ahead": 3600,
    }  # fmt: skip
    assert records[2] == {"record": "usage_day", "day": "2026-03-02", "events": 1, "active_hours": [11.0]}
    # 2 ** (log2(124) to the sixteenth) - 1
    assert records[3]["typical_length"] == pytest.approx(123, rel=0.05)


def test_a_session_that_begins_late_in_a_half_hour_keeps_its_events_when_moments_are_cut(path, key):
    """From 10:20 to 10:40: twenty minutes, which begin at 10:00 once the day is over, in one half-hour."""
    with opened(path, key, keep="aggregates") as tracker:
        for minute in (20, 25, 35, 40, 40):
            tracker.record(WHO, BEGIN + 60 * minute, 100, session=SESSION)
        tracker.tidy(BEGIN + 2 * DAY)
        rows = [item for item in tracker.export(WHO) if item["record"] == "usage_half_hour"]
    assert [item["events"] for item in rows] == [5]
