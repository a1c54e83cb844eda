"""No file of a store says who somebody is; what is removed is in no byte of it; every look leaves a line."""

from __future__ import annotations

import stat
import struct
from pathlib import Path

import pytest

from ethogram.errors import BadUsage
from ethogram.usage.coarse import coarse, forget_before
from ethogram.usage.kept_schema import connect
from ethogram.usage.pseudonym import Keys, find_keys, new_keys, read_keys, write_keys
from ethogram.usage.rotation import rotate
from ethogram.usage.sessions import read_sessions
from ethogram.usage.settings import Settings
from ethogram.usage.summary import Summary, read_days, read_stretches, record
from ethogram.usage.tracker import UsageTracker

DAY = 86_400
HALF_HOUR = 1_800
BEGIN = 1_772_445_600
NOW = BEGIN + 100 * DAY
WHO = "ann.example@mail.invalid"
SESSION = "session-of-ann-77"
EVENT = "event-of-ann-88"


@pytest.fixture
def key(tmp_path) -> Path:
    write_keys(tmp_path / "the.key", new_keys())
    return tmp_path / "the.key"


@pytest.fixture
def path(tmp_path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store" / "usage.db"


def opened(path: Path, key: Path, **how: object) -> UsageTracker:
    return UsageTracker(path, **{"key": key, "clock": lambda: NOW, "who": "dr. b", **how})


def fill(tracker: UsageTracker, days: int = 40) -> None:
    for day in range(days):
        for k in range(5):
            at = BEGIN + day * DAY + k * 601 + 7
            tracker.record(WHO, at, 123, session=SESSION if day % 2 else None, id=f"{EVENT} {day} {k}")


def bytes_of(path: Path) -> bytes:
    """Everything in every file of the store."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.iterdir()))


def is_in(words: str | bytes, path: Path) -> bool:
    needle = words.encode() if isinstance(words, str) else words
    wide = words.encode("utf-16-le") if isinstance(words, str) else words
    found = bytes_of(path)
    return needle in found or wide in found


@pytest.mark.parametrize("keep", ["events", "aggregates"])
def test_no_file_of_the_store_has_an_id_or_the_name_of_a_session(path, key, keep):
    tracker = opened(path, key, keep=keep)
    fill(tracker)
    tracker.signals(WHO, NOW, why="a review")
    list(tracker.sweep(NOW))
    list(tracker.export(WHO))
    assert len(list(path.parent.iterdir())) > 1  # the write-ahead log is there, and searched
    assert not any(is_in(one, path) for one in (WHO, "ann.example", SESSION, EVENT))
    assert is_in(bytes.fromhex(tracker.name(WHO)), path)
    tracker.close()
    assert not any(is_in(one, path) for one in (WHO, "ann.example", SESSION, EVENT))


def test_the_only_words_in_the_tables_are_those_of_who_looked(path, key):
    opened(path, key).close()
    raw = connect(path)
    tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    texts = {
        (table, row[1])
        for table in tables
        for row in raw.execute(f"PRAGMA table_info({table})")
        if row[2] not in ("INTEGER", "BLOB")
    }
    raw.close()
    assert texts == {("audit", "who"), ("audit", "why")}


def test_only_the_owner_may_read_the_files(path, key):
    tracker = opened(path, key)
    fill(tracker, 1)
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in (*path.parent.iterdir(), key)}
    assert set(modes.values()) == {0o600}, modes
    tracker.close()


@pytest.mark.parametrize("keep", ["events", "aggregates"])
def test_after_a_purge_nothing_of_the_person_is_in_any_file(path, key, keep):
    with opened(path, key, keep=keep) as tracker:
        fill(tracker)
        tracker.record("bo", BEGIN + 40 * DAY, 10)
        name = bytes.fromhex(tracker.name(WHO))
        tracker.signals(WHO, NOW, why="she asked for it")
        list(tracker.sweep(NOW))
        # A time of theirs as the tables have it: half-hour and seconds.
        times = struct.pack("<I", (BEGIN + 38 * DAY) // HALF_HOUR)
        assert is_in(name, path)
        assert is_in(times, path)
        done = tracker.purge(WHO)
        assert (done.people, done.clean) == (1, True)
        assert not is_in(name, path)
        assert not is_in(times, path)
        assert not is_in("she asked for it", path)
        assert tracker.info()["people"] == 1
        lines = [(one.what, one.person) for one in tracker.audit()]
        assert {("purge", None), ("signals", None)} <= {*lines}
        assert name not in {person for _, person in lines}


def test_a_purge_by_time_leaves_what_came_after(path, key):
    with opened(path, key) as tracker:
        fill(tracker, 10)
        tracker.record("bo", BEGIN, 10)
        done = tracker.purge(before=BEGIN + 5 * DAY)
        assert (done.people, done.events) == (1, 26)  # five days of five, and all of the other one
        left = list(tracker.export(WHO))
        assert [one["events"] for one in left if one["record"] == "usage_person"] == [25]
        assert len([one for one in left if one["record"] == "usage_event"]) == 25


def test_every_look_leaves_a_line_also_one_that_found_nobody(path, key):
    with opened(path, key) as tracker:
        fill(tracker)
        tracker.signals(WHO, NOW, why="weekly review")
        tracker.signals("nobody", NOW)
        list(tracker.export(WHO))
        list(tracker.sweep(NOW - 50 * DAY))
        name = bytes.fromhex(tracker.name(WHO))
        told = [(one.what, one.who, one.why) for one in tracker.audit(WHO)]
        assert told == [
            ("signals", "dr. b", "weekly review"), ("export", "dr. b", ""), ("listed", "dr. b", ""),
        ]  # fmt: skip
        assert [one.what for one in tracker.audit() if one.person != name] == ["unknown", "sweep"]


def test_a_wrong_key_is_refused_and_the_attempt_is_in_the_audit(path, key, tmp_path):
    with opened(path, key) as tracker:
        fill(tracker, 1)
    write_keys(tmp_path / "other.key", new_keys())
    with pytest.raises(BadUsage, match="not that of this store"):
        opened(path, tmp_path / "other.key", who="mallory")
    with opened(path, key) as tracker:
        assert [(one.what, one.who) for one in tracker.audit()] == [("refused", "mallory")]


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
        told = [(one.what, one.person is None, one.why) for one in tracker.audit()]
    assert told == [("unknown", True, ""), ("unknown", False, "another call"), ("sweep", True, "")]


def test_after_a_purge_the_store_does_not_say_when_the_person_was_last_here(path, key):
    last = BEGIN + 30 * DAY + 4567
    with opened(path, key) as tracker:
        tracker.record("bo", BEGIN, 10)
        tracker.record_all([{"subject": WHO, "at": last}], "a file")
        assert is_in(struct.pack(">I", last), path)
        tracker.purge(WHO)
        assert not is_in(struct.pack(">I", last), path)
    raw = connect(path)
    assert raw.execute("SELECT newest FROM about").fetchone() == (BEGIN,)
    raw.close()


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
    assert [one["events"] for one in left if one["record"] == "usage_day"] == [4, 6]
    rows = [one["events"] for one in left if one["record"] == "usage_half_hour"]
    assert (sum(rows), rows[0]) == (10, 1)
    assert len([one for one in left if one["record"] == "usage_event"]) == 10


def test_a_person_gets_everything_that_is_kept_of_them(path, key):
    with opened(path, key) as tracker:
        tracker.record(WHO, BEGIN + 7, 123, emotional=True, session=SESSION, time_zone="Europe/Berlin")
        records = list(tracker.export(WHO))
    kinds = [one["record"] for one in records]
    assert kinds == ["usage_person", "usage_event", "usage_day", "usage_half_hour", "usage_look"]
    assert records[1] | {"session": None} == {
        "record": "usage_event", "at": "2026-03-02T10:00:07Z", "length": 123, "is_user": True,
        "emotional": True, "closing": False, "ended_abruptly": False, "session": None, "clock_ahead": 3600,
    }  # fmt: skip
    assert records[2] == {"record": "usage_day", "day": "2026-03-02", "events": 1, "active_hours": [11.0]}
    # 2 ** (log2(124) to the sixteenth) - 1
    assert records[3]["typical_length"] == pytest.approx(123, rel=0.05)


# --- keys -----------------------------------------------------------------------------------------


def test_a_key_is_added_without_knowing_anybody(path, key):
    with opened(path, key) as tracker:
        fill(tracker)
        old = bytes.fromhex(tracker.name(WHO))
        tracker.signals(WHO, NOW)
        as_of = BEGIN + 45 * DAY
        before = tracker.signals(WHO, as_of).to_dict()
    copy = Keys(read_keys(key).chain)
    rotate(key, [path], at=NOW, who="admin")
    assert not is_in(old, path)
    with opened(path, key) as tracker:
        assert tracker.info()["keys"] == 2
        assert tracker.signals(WHO, as_of).to_dict() == before
        assert [one.what for one in tracker.audit(WHO)] == ["signals"] * 3
        # What came before is known by its id still.
        tracker.record(WHO, BEGIN + 7, 123, id=f"{EVENT} 0 0")
        assert next(tracker.export(WHO))["events"] == 200
    with pytest.raises(BadUsage, match="not that of this store"):
        UsageTracker(path, key=copy)


def test_a_tracker_that_runs_takes_the_new_key_by_itself(path, key):
    with opened(path, key, hold=3600) as tracker:
        tracker.record(WHO, BEGIN)
        tracker.flush()
        tracker.record(WHO, BEGIN + 1)
        rotate(key, [path], at=NOW)
        tracker.record(WHO, BEGIN + 2)
        tracker.flush()
        assert next(tracker.export(WHO))["events"] == 3
        assert tracker.info()["people"] == 1


def test_a_rotation_that_was_killed_goes_on(path, key, tmp_path, monkeypatch):
    two = path.parent / "two.db"
    for one in (path, two):
        with opened(one, key) as tracker:
            fill(tracker, 1)
    monkeypatch.setattr(Path, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rotate(key, [path, two], at=NOW)
    monkeypatch.undo()
    # The new key is on the disk: whoever records meanwhile goes on.
    with opened(path, key) as tracker:
        tracker.record(WHO, BEGIN + 50_000)
        assert next(tracker.export(WHO))["events"] == 6
    rotate(key, [path, two], at=NOW)
    assert not Path(f"{key}.new").exists()
    for one in (path, two):
        with opened(one, key) as tracker:
            assert tracker.info()["keys"] == 2
            assert next(tracker.export(WHO))["events"] == (6 if one is path else 5)


def test_a_tracker_that_runs_records_while_a_key_is_turned(path, key, monkeypatch):
    """Between the new names in the store and the new keys in their file."""
    tracker = opened(path, key)
    tracker.record(WHO, BEGIN)
    turned = Path.replace

    def record_first(one, other):
        tracker.record(WHO, BEGIN + 1)
        return turned(one, other)

    monkeypatch.setattr(Path, "replace", record_first)
    rotate(key, [path], at=NOW)
    tracker.record(WHO, BEGIN + 2)
    assert next(tracker.export(WHO))["events"] == 3
    tracker.close()


def test_a_store_that_was_forgotten_in_a_rotation_catches_up(path, key):
    two = path.parent / "two.db"
    for one in (path, two):
        with opened(one, key) as tracker:
            fill(tracker, 1)
    rotate(key, [path], at=NOW)
    keys = rotate(key, [path], at=NOW)
    assert len(keys.chain) == 3
    with pytest.raises(BadUsage, match="has an older key of this file"):
        opened(two, key)
    assert rotate(key, [path, two], at=NOW) == keys
    for one in (path, two):
        with opened(one, key) as tracker:
            assert next(tracker.export(WHO))["events"] == 5
            tracker.record(WHO, BEGIN + 7, id=f"{EVENT} 0 0")
            assert next(tracker.export(WHO))["events"] == 5
    assert len(rotate(key, [path, two], at=NOW).chain) == 4


def test_a_link_to_a_key_file_stays_one(path, key, tmp_path):
    link = tmp_path / "link.key"
    link.symlink_to(key)
    with opened(path, link) as tracker:
        tracker.record(WHO, BEGIN)
        rotate(link, [path], at=NOW)
        tracker.record(WHO, BEGIN + 1)
    assert link.is_symlink()
    assert len(read_keys(key).chain) == 2


@pytest.mark.parametrize("content", ["", "ethogram usage key 1\nab"])
def test_a_key_that_was_never_written_to_its_end_is_in_nobodys_way(path, key, content):
    with opened(path, key) as tracker:
        fill(tracker, 1)
    waiting = Path(f"{key}.new")
    waiting.write_text(content)
    waiting.chmod(0o600)
    rotate(key, [path], at=NOW)
    assert not waiting.exists()
    with opened(path, key) as tracker:
        assert (tracker.info()["keys"], next(tracker.export(WHO))["events"]) == (2, 5)


def test_a_rotation_with_a_store_of_another_key_changes_nothing(path, key, tmp_path):
    write_keys(tmp_path / "other.key", new_keys())
    with opened(path, key) as tracker:
        fill(tracker, 1)
    with pytest.raises(BadUsage, match="not that of this store"):
        rotate(tmp_path / "other.key", [path], at=NOW)
    assert not Path(f"{tmp_path / 'other.key'}.new").exists()
    with opened(path, key) as tracker:
        assert next(tracker.export(WHO))["events"] == 5


def test_a_key_file_that_cannot_be_used_says_why(tmp_path, key, monkeypatch):
    with pytest.raises(BadUsage, match="never written over"):
        write_keys(key, new_keys())
    key.chmod(0o644)
    with pytest.raises(BadUsage, match="chmod 600"):
        read_keys(key)
    (tmp_path / "no.key").write_text("secret")
    (tmp_path / "no.key").chmod(0o600)
    with pytest.raises(BadUsage, match="not a key file"):
        read_keys(tmp_path / "no.key")
    monkeypatch.delenv("ETHOGRAM_USAGE_KEY_FILE", raising=False)
    with pytest.raises(BadUsage, match="usage key new"):
        find_keys(None)
    key.chmod(0o600)
    monkeypatch.setenv("ETHOGRAM_USAGE_KEY_FILE", str(key))
    assert find_keys(None) == (read_keys(key), key)


def test_keys_are_never_shown():
    keys = new_keys()
    assert keys.chain[0].hex() not in repr(keys)
    assert repr(keys.chain[0]) not in repr(keys)


# --- aggregates -----------------------------------------------------------------------------------


def rows_of(path: Path) -> list[Summary]:
    raw = connect(path)
    rows = raw.execute("SELECT first, newest, events, ahead, zoned, stretches, days FROM people").fetchall()
    assert raw.execute("SELECT count(*) FROM events").fetchone() == (0,)
    raw.close()
    return [Summary(*row) for row in rows]


def test_aggregates_have_no_moment_of_a_day_that_is_over(path, key):
    with opened(path, key, keep="aggregates") as tracker:
        fill(tracker, 10)
        today = BEGIN + 9 * DAY - 5 * 3600  # five in the morning
        (state,) = rows_of(path)
        fine = [one for one in read_stretches(state) if one.first]
        assert fine
        assert all(one.half_hour * HALF_HOUR >= today for one in fine)
        assert state.first % HALF_HOUR == 0
        list(tracker.sweep(BEGIN + 11 * DAY))
    (state,) = rows_of(path)
    assert not any(one.first for one in read_stretches(state))
    assert (state.first % HALF_HOUR, state.newest % HALF_HOUR) == (0, 0)
    assert state.events == sum(one.events for one in read_stretches(state)) == 50


def test_somebody_who_does_not_come_back_is_coarse_when_others_write(path, key):
    # As the file has it: the moment itself, and the half-hour with the seconds in it.
    moment = struct.pack(">I", BEGIN + 77)
    seconds = struct.pack("<IHHH", (BEGIN + 77) // HALF_HOUR, 0, 77, 77)
    with opened(path, key, keep="aggregates") as tracker:
        tracker.record(WHO, BEGIN + 77, 5)
        assert is_in(moment, path)
        assert is_in(seconds, path)
        tracker.record("bo", BEGIN + DAY + 88, 5)
    firsts = sorted(state.first % HALF_HOUR for state in rows_of(path))
    assert firsts == [0, 88]
    assert not is_in(moment, path)
    assert not is_in(seconds, path)


def test_a_name_that_lasts_for_weeks_keeps_no_moment_longer_than_its_day(path, key):
    with opened(path, key, keep="aggregates") as tracker:
        for day in range(10):
            for k in range(4):
                tracker.record(WHO, BEGIN + day * DAY + k * 3000 + 77, 5, session="the whole app")
    (state,) = rows_of(path)
    today = BEGIN + 9 * DAY - 5 * 3600  # five in the morning
    fine = [one for one in read_stretches(state) if one.first]
    assert len(fine) == 4
    assert all(one.half_hour * HALF_HOUR >= today for one in fine)
    assert state.events == sum(one.events for one in read_stretches(state)) == 40


def test_what_goes_on_over_the_close_of_a_day_is_cut_there():
    """From half past four to half past five in the morning, every two minutes."""
    five = BEGIN // DAY * DAY + 5 * 3600
    state = Summary()
    for k in range(-900, 901, 120):
        state = record(state, five + k + 7)
    later = coarse(state, five + 3600)
    moments = [(one.half_hour * HALF_HOUR, one.first) for one in read_stretches(later)]
    assert moments == [(five - HALF_HOUR, 0), (five, 67)]
    assert later.events == state.events


def test_coarse_sessions_are_as_many_and_as_long_as_they_were():
    """Three sessions: 1 minute, then 44 minutes of pause, 5 minutes, then 70 minutes over midnight."""
    starts = [(9 * 3600 + 10, 60), (9 * 3600 + 45 * 60, 300), (23 * 3600 + 17 * 60 + 3, 4200)]
    state = Summary()
    noon = BEGIN // DAY * DAY
    for start, length in starts:
        for k in range(0, length + 1, 60 if length < 4200 else 700):
            state = record(state, noon + start + k, length=50)
    later = coarse(state, noon + 3 * DAY)
    fine, rough = (read_sessions(one, noon + 3 * DAY, Settings()) for one in (state, later))
    assert [one.minutes for one in rough] == [one.minutes for one in fine] == [1, 5, 70]
    assert [one.events for one in rough] == [one.events for one in fine]
    assert [one.octaves for one in rough] == [one.octaves for one in fine]
    assert [one.start % HALF_HOUR for one in rough] == [0, 0, 0]
    assert [one.start // HALF_HOUR for one in rough] == [one.start // HALF_HOUR for one in fine]
    assert coarse(later, noon + 4 * DAY) == later
    assert later.days == state.days


def test_forgetting_leaves_what_came_after_a_moment():
    state = Summary()
    for day in range(10):
        for k in range(3):
            state = record(state, BEGIN + day * DAY + k * 3600, length=9)
    left = forget_before(state, BEGIN + 4 * DAY + 1800)
    assert left is not None
    # The first message of that day was at ten, the moment is half past ten.
    assert left.events == 5 * 3 + 2
    assert left.first == BEGIN + 4 * DAY + 3600
    assert [one.events for one in read_days(left)] == [2, 3, 3, 3, 3, 3]
    assert forget_before(left, BEGIN) is left
    assert forget_before(state, BEGIN + 20 * DAY) is None
    assert forget_before(Summary(), BEGIN) is None
