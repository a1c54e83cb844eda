"""A file that many processes write at once loses nothing, not even by kill -9, and lets go of what is old."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

import pytest

from ethogram.errors import BadUsage, EthogramError
from ethogram.models import Event
from ethogram.store import open_store, sqlite
from ethogram.store.schema import SCHEMA
from ethogram.usage import tracker as tracker_module
from ethogram.usage.behavioral import BehavioralTracker
from ethogram.usage.pseudonym import new_keys, write_keys
from ethogram.usage.tracker import UsageTracker
from waiting import PATIENCE_SECONDS

DAY = 86_400
BEGIN = 1_772_445_600
NOW = BEGIN + 100 * DAY
KEYS = new_keys()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "usage.db"


def opened(path, **how):
    return UsageTracker(path, **{"key": KEYS, "clock": lambda: NOW, **how})


def started(code: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *args], stdout=subprocess.PIPE, text=True
    )


def events_of(tracker: UsageTracker, subject: str) -> int:
    person = next(tracker.export(subject), None)
    return person["events"] if person and person["record"] == "usage_person" else 0


WRITER = """
    import sys
    from ethogram.usage.tracker import UsageTracker
    path, key, number, count, hold = sys.argv[1:]
    with UsageTracker(path, key=key, hold=float(hold)) as tracker:
        for k in range(int(count)):
            tracker.record(f"p{k % 5}", 1_772_445_600 + int(number) * 10_000 + k, 10, id=f"{number}-{k}")
"""


def test_what_lies_far_ahead_is_refused_since_a_file_outlives_a_mistake(path):
    with opened(path) as tracker:
        tracker.record("ann", NOW + DAY - 1)
        with pytest.raises(BadUsage, match="is in the future"):
            tracker.record("ann", NOW + 2 * DAY)
        assert events_of(tracker, "ann") == 1


@pytest.mark.parametrize("hold", ["0", "0.2"])
def test_processes_that_write_at_once_lose_nothing(path, tmp_path, hold):
    key = tmp_path / "key"
    write_keys(key, KEYS)
    ran = [started(WRITER, str(path), str(key), str(number), "150", hold) for number in range(3)]
    assert [item.wait(timeout=PATIENCE_SECONDS) for item in ran] == [0, 0, 0]
    with opened(path) as tracker:
        assert [events_of(tracker, f"p{i}") for i in range(5)] == [3 * 30] * 5
        assert tracker.info()["events"] == 450


KILLED = """
    import sys
    from ethogram.usage.tracker import UsageTracker
    tracker = UsageTracker(sys.argv[1], key=sys.argv[2])
    k = 0
    while True:
        tracker.record("ann", 1_772_445_600 + k, 10)
        k += 1
        print(k, flush=True)
"""


def test_what_was_recorded_is_there_after_a_kill(path, tmp_path):
    key = tmp_path / "key"
    write_keys(key, KEYS)
    ran = started(KILLED, str(path), str(key))
    assert ran.stdout is not None
    for _ in range(100):
        ran.stdout.readline()
    os.kill(ran.pid, signal.SIGKILL)
    rest = ran.stdout.read().splitlines()
    ran.wait()
    acknowledged = 100 + len([line for line in rest if line.endswith(line.strip())])
    with opened(path) as tracker:
        # One more may be in that was not acknowledged any more; the last line may be torn.
        assert acknowledged - 1 <= events_of(tracker, "ann") <= acknowledged + 1


def test_a_child_does_not_write_what_the_parent_holds_back(path):
    tracker = opened(path, hold=3600)
    tracker.record("ann", BEGIN)
    child = os.fork()
    if not child:
        tracker.record("bo", BEGIN)
        tracker.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    tracker.close()
    with opened(path) as again:
        assert [events_of(again, "ann"), events_of(again, "bo")] == [1, 1]


def test_what_cannot_be_written_is_held_still(path):
    tracker = opened(path, hold=3600)
    tracker.record("ann", BEGIN)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("ALTER TABLE people RENAME TO gone")
        with pytest.raises(EthogramError, match="people"):
            tracker.flush()
        other.execute("ALTER TABLE gone RENAME TO people")
    other.close()
    tracker.close()
    with opened(path) as again:
        assert events_of(again, "ann") == 1


def test_what_is_old_goes_by_itself_as_new_events_come(path):
    with opened(path, retention=30 * DAY) as tracker:
        tracker.record("ann", BEGIN, 10)
        tracker.record("bo", BEGIN, 10)
        tracker.record("bo", BEGIN + 29 * DAY, 10)
        assert tracker.info()["people"] == 2
        tracker.record("cy", BEGIN + 31 * DAY, 10)
        found = tracker.info()
        assert (found["people"], found["events"]) == (2, 2)
        assert events_of(tracker, "ann") == 0
        assert events_of(tracker, "bo") == 1


def test_a_sweep_lets_go_of_what_is_older_than_the_newest_event_by_the_retention(path):
    with opened(path) as tracker:
        tracker.record("ann", BEGIN, 10)
        tracker.record("bo", BEGIN + 31 * DAY, 10)
    with opened(path, retention=30 * DAY) as tracker:
        assert list(tracker.sweep(BEGIN + 29 * DAY)) == []
        assert tracker.info()["people"] == 2
        list(tracker.sweep(BEGIN + 90 * DAY))
        assert (tracker.info()["people"], tracker.info()["events"]) == (1, 1)


def test_a_question_about_the_far_future_removes_nothing(path):
    with opened(path, retention=30 * DAY, clock=lambda: BEGIN + DAY) as tracker:
        tracker.record("ann", BEGIN, 10)
        list(tracker.sweep(BEGIN + 1000 * DAY))
        assert tracker.info()["people"] == 1


def test_a_store_keeps_its_own_terms_and_they_are_not_mixed(path):
    opened(path, keep="aggregates", retention=60 * DAY).close()
    with opened(path) as tracker:
        found = tracker.info()
        assert (found["keep"], found["retention_days"]) == ("aggregates", 60)
    with pytest.raises(BadUsage, match="keeps aggregates, not events"):
        opened(path, keep="events")


def test_a_shorter_retention_takes_hold_of_what_is_there(path):
    with opened(path) as tracker:
        tracker.record("ann", BEGIN)
        tracker.record("bo", BEGIN + 20 * DAY)
    with opened(path, retention=10 * DAY) as tracker:
        tracker.record("bo", BEGIN + 20 * DAY + 1)
        assert tracker.info()["people"] == 1


def test_a_new_file_without_a_key_gets_one_of_the_user_which_stays(path, tmp_path, monkeypatch):
    monkeypatch.delenv("ETHOGRAM_USAGE_KEY_FILE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with BehavioralTracker(UsageTracker(path)).usage as tracker:
        tracker.record("ann", BEGIN)
        name = tracker.name("ann")
    own = tmp_path / "config" / "ethogram" / "usage.key"
    assert (own.stat().st_mode & 0o777, own.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with UsageTracker(path) as tracker:
        assert tracker.name("ann") == name
    own.unlink()
    with pytest.raises(BadUsage, match="that the store was made with"):
        UsageTracker(path)
    assert not own.exists()


def test_files_of_others_are_left_alone(path, tmp_path):
    path.write_text("subject,at\n")
    with pytest.raises(BadUsage, match="not a usage store"):
        opened(path)
    assert path.read_text() == "subject,at\n"
    with pytest.raises(BadUsage, match="there is no usage store"):
        opened(tmp_path / "other.db", create=False)
    with pytest.raises(BadUsage, match="no folder"):
        opened(tmp_path / "no" / "other.db")


def test_many_events_of_a_file_are_taken_once_and_go_on_where_they_were(path, monkeypatch):
    monkeypatch.setattr(tracker_module, "AT_ONCE", 4)
    events = [{"subject": "ann", "at": BEGIN + k, "length": 5} for k in range(10)]
    with opened(path, keep="aggregates") as tracker:

        def stop(done: int, of: int) -> None:
            if done == 8:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            tracker.record_all(events, "a file", stop)
        assert events_of(tracker, "ann") == 8
        assert tracker.record_all(events, "a file") == (2, 8)
        assert tracker.record_all(events, "a file") == (0, 10)
        assert events_of(tracker, "ann") == 10


def test_a_store_of_old_data_does_not_empty_itself(path):
    """Sixty days of use, looked at for the first time years later: all of it is there still."""
    events = [{"subject": "ann", "at": BEGIN + k * DAY, "length": 5} for k in range(60)]
    with opened(path, clock=lambda: BEGIN + 2000 * DAY) as tracker:
        tracker.record_all(events, "a file")
        gone = tracker.tidy()
        list(tracker.sweep())
        assert (gone.people, gone.events) == (0, 0)
        assert (tracker.info()["people"], tracker.info()["events"]) == (1, 60)


@pytest.mark.parametrize("keep", ["events", "aggregates"])
def test_what_is_let_go_of_is_counted_and_its_file_can_be_recorded_again(path, keep):
    events = [{"subject": "ann", "at": BEGIN + k * DAY, "length": 5, "id": str(k)} for k in range(3)]
    with opened(path, keep=keep, retention=30 * DAY) as tracker:
        tracker.record_all(events, "a file")
        tracker.record_all([{"subject": "bo", "at": BEGIN + 20 * DAY}], "another")
        assert tracker.record_all(events, "a file") == (0, 3)
        # As if time had passed meanwhile, and somebody else had come.
        raw = sqlite3.connect(path)
        raw.execute("UPDATE meta SET value = ? WHERE name = 'usage_newest'", (BEGIN + 40 * DAY,))
        raw.commit()
        raw.close()
        gone = tracker.tidy(BEGIN + 40 * DAY)
        assert (gone.people, gone.events) == (1, 3)
        assert tracker.record_all([{"subject": "bo", "at": BEGIN + 20 * DAY}], "another") == (0, 1)
        assert tracker.record_all(events, "a file")[1] == 0


def test_an_older_store_is_upgraded_with_its_people(path, monkeypatch):
    with opened(path) as tracker:
        tracker.record("ann", BEGIN)
    # The program of tomorrow: one more step leads to its schema.
    newer = SCHEMA._replace(steps=(*SCHEMA.steps, "CREATE TABLE moods (name TEXT) STRICT;\n"))
    monkeypatch.setattr(sqlite, "SCHEMA", newer)
    for _ in range(2):
        with opened(path) as tracker:
            assert events_of(tracker, "ann") == 1
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone()[0] == SCHEMA.version + 1
        assert raw.execute("SELECT count(*) FROM moods").fetchone()[0] == 0


def test_a_newer_store_is_refused(path):
    opened(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
    with pytest.raises(BadUsage, match="a newer one wrote it"):
        opened(path)


def test_a_tracker_that_was_closed_stays_closed(path):
    tracker = opened(path)
    tracker.record("ann", BEGIN)
    tracker.close()
    calls = (
        tracker.info, tracker.audit, lambda: tracker.signals("ann"), lambda: list(tracker.sweep()),
        lambda: tracker.purge("ann"), lambda: tracker.name("ann"), lambda: list(tracker.export("ann")),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(BadUsage, match="closed"):
            call()


def test_words_are_no_truth(path):
    with opened(path) as tracker:
        with pytest.raises(BadUsage, match="is_user"):
            tracker.record("ann", BEGIN, is_user="no")
        with pytest.raises(BadUsage, match="is_user"):
            tracker.record_all([{"subject": "ann", "at": BEGIN, "is_user": "no"}], "a file")
        assert tracker.info()["events"] == 0


def test_a_store_of_events_is_no_usage_store(path):
    with open_store(str(path), create=True) as store:
        store.add([Event.sample()])
    with pytest.raises(BadUsage, match="is a store of events, not a usage store"):
        opened(path, create=False)
    with pytest.raises(BadUsage, match="has subjects by their own names"):
        opened(path)


LEFT_OPEN = """
    import sys
    from ethogram.usage.tracker import UsageTracker
    tracker = UsageTracker(sys.argv[1], key=sys.argv[2], hold=3600)
    tracker.record("ann", 1_772_445_600, 10)
"""


def test_what_a_process_holds_back_is_written_when_it_ends_without_closing(path, tmp_path):
    write_keys(tmp_path / "key", KEYS)
    assert started(LEFT_OPEN, str(path), str(tmp_path / "key")).wait(timeout=60) == 0
    with opened(path) as tracker:
        assert events_of(tracker, "ann") == 1
