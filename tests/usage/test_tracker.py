"""A tracker takes events in any order, from anybody who may send them, and answers about one person."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

import ethogram
from ethogram.errors import BadUsage
from ethogram.usage import behavioral, write_buffer
from ethogram.usage.event import arguments_of
from ethogram.usage.pseudonym import Pseudonym, new_keys
from ethogram.usage.tracker import UsageTracker

DAY = 86_400
START = datetime(2026, 3, 2, 10, tzinfo=UTC)
BEGIN = int(START.timestamp())
NOW = BEGIN + 100 * DAY
KEYS = new_keys()


@pytest.fixture(params=["memory", "file", "aggregates", "held"])
def tracker(request, tmp_path):
    how = {"key": KEYS, "clock": lambda: NOW, "who": "test"}
    if request.param != "memory":
        how |= {"path": tmp_path / "usage.db", "hold": 3600 if request.param == "held" else 0}
        how |= {"keep": "aggregates"} if request.param == "aggregates" else {}
    with UsageTracker(**how) as made:
        yield made


def month(tracker: UsageTracker, subject: str = "ann", days: int = 40, **event: object) -> None:
    """Ten messages a day at ten, a minute apart."""
    for day in range(days):
        for k in range(10):
            tracker.record(subject, BEGIN + day * DAY + k * 60, 100, time_zone="UTC", **event)


def test_a_person_who_stops_has_gone_quiet_and_is_told_of_once(tracker):
    month(tracker)
    later = BEGIN + 50 * DAY
    found = tracker.signals("ann", later)
    assert found.to_dict()["withdrawal_detected"]
    first, again = list(tracker.sweep(later)), list(tracker.sweep(later + DAY))
    assert [item.person for item in first] == [tracker.name("ann")]
    assert "withdrawal" in {finding.name for finding in first[0].findings}
    assert again == []


def test_who_stays_quiet_is_not_told_of_again_however_long_nobody_looked(tracker):
    month(tracker)
    assert [item.severity for item in tracker.sweep(BEGIN + 50 * DAY)] == ["medium"]
    assert list(tracker.sweep(BEGIN + 58 * DAY)) == []
    month(tracker, days=70)
    # Back, and quiet once more: that is another change.
    assert [item.severity for item in tracker.sweep(BEGIN + 80 * DAY)] == ["medium"]


def test_a_sweep_names_people_where_the_ids_are_given(tracker):
    month(tracker)
    later = BEGIN + 50 * DAY
    assert list(tracker.sweep(later, subjects=["bo"])) == []
    assert [item.subject for item in tracker.sweep(later, subjects=["bo", "ann"])] == ["ann"]


def test_what_was_given_but_not_taken_on_is_told_again(tracker):
    month(tracker)
    later = BEGIN + 50 * DAY
    heard = next(tracker.sweep(later))
    assert [item.person for item in tracker.sweep(later)] == [heard.person]
    # Both times somebody looked.
    assert [item.what for item in tracker.audit("ann")] == ["listed", "listed"]


def test_who_stops_listening_does_not_hear_all_of_it_again(tracker):
    for subject in ("ann", "bo", "cy"):
        month(tracker, subject, days=30)
    later = BEGIN + 40 * DAY
    sweep = tracker.sweep(later)
    heard = [next(sweep).person, next(sweep).person]
    sweep.close()
    assert sorted([heard[0], *(item.person for item in tracker.sweep(later))]) == sorted(
        tracker.name(name) for name in ("ann", "bo", "cy")
    )


def test_of_somebody_unknown_all_is_quiet_and_nothing_is_known(tracker):
    told = tracker.signals("nobody", NOW).to_dict()
    assert told["status"] == "insufficient"
    assert {item["status"] for item in told["signals"].values()} == {"insufficient"}
    assert told["behavioral_score"] == 0
    quiet = ("is_late_night", "withdrawal_detected", "return_after_absence", "abrupt_termination")
    assert not any(told[name] for name in quiet)


def test_order_and_the_form_of_a_moment_do_not_matter(tracker):
    month(tracker, "ann")
    for day in reversed(range(40)):
        for k in reversed(range(10)):
            at = START + timedelta(days=day, minutes=k)
            tracker.record("bo", at, 100, time_zone="UTC")
    # As of the same day for both, so that what is kept only by half-hours is the same, too.
    as_of = BEGIN + 45 * DAY
    ann, bo = tracker.signals("ann", as_of), tracker.signals("bo", as_of)
    names = ("frequency_change", "withdrawal", "drop")
    assert [ann.findings[name] for name in names] == [bo.findings[name] for name in names]


def test_what_the_service_writes_is_no_activity_but_its_mark_counts(tracker):
    for k in range(50):
        tracker.record("ann", BEGIN + k * 60, 100, is_user=False)
    assert tracker.info()["people"] == 0
    tracker.record("bo", BEGIN, 100)
    tracker.record("bo", BEGIN + 60, None, is_user=False, ended_abruptly=True)
    assert tracker.signals("bo", BEGIN + DAY // 2).to_dict()["abrupt_termination"]


def test_an_event_that_comes_twice_counts_once(tracker):
    for _ in range(2):
        for k in range(20):
            tracker.record("ann", BEGIN + k, 10, id=f"event {k}")
    # The same id of another person is another event.
    tracker.record("bo", BEGIN, 10, id="event 0")
    events = [item for item in tracker.export("ann") if item["record"] == "usage_person"]
    assert [event["events"] for event in events] == [20]


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"at": -1}, "from 1970 to 9999"),
        ({"at": 100}, "expected a time from 1970-01-03"),
        ({"at": float("nan")}, "from 1970"),
        ({"at": float("inf")}, "from 1970"),
        ({"at": "2026-01-01"}, "has no zone"),
        ({"at": "yesterday"}, "is not a time"),
        ({"at": None}, "datetime, a text such as"),
        ({"at": True}, "or seconds since 1970"),
        ({"at": datetime(2026, 1, 1)}, "no time zone"),  # noqa: DTZ001
        ({"length": -1}, "0 or more"),
        ({"length": float("nan")}, "whole number"),
        ({"length": "ten"}, "number of characters"),
        ({"subject": ""}, "subject is empty"),
        ({"subject": "x" * 513}, "longer than 512"),
        ({"subject": 7}, "invalid subject of type int"),
        ({"emotional": "much"}, "invalid emotional"),
        ({"closing": float("nan")}, "invalid closing"),
        ({"session": " "}, "session is empty"),
        ({"id": "x" * 1000}, "longer than 512"),
        ({"time_zone": "../../etc/passwd"}, "unknown time zone"),
        ({"time_zone": "/etc/localtime"}, "unknown time zone"),
        ({"time_zone": "America"}, "unknown time zone"),
        ({"time_zone": "Europe/Nowhere"}, "unknown time zone"),
        ({"time_zone": ["UTC"]}, "unknown time zone"),
        ({"time_zone": ""}, "unknown time zone"),
    ],
    ids=str,
)
def test_an_event_that_cannot_be_is_refused_and_nothing_is_noted(event, says):
    tracker = UsageTracker(key=KEYS, clock=lambda: NOW)
    with pytest.raises(BadUsage, match=says):
        tracker.record(**{"subject": "ann", "at": BEGIN, **event})
    assert tracker.info()["people"] == 0


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"keep": "all"}, "events or aggregates"),
        ({"retention": timedelta(hours=1)}, "one day or more"),
        ({"retention": float("nan")}, "one day or more"),
        ({"time_zone": "Mars"}, "unknown time zone"),
        ({"who": "x" * 501}, "at most 500"),
    ],
    ids=str,
)
def test_a_tracker_that_cannot_be_says_why(how, says):
    with pytest.raises(BadUsage, match=says):
        UsageTracker(**how)


def test_without_a_limit_time_is_what_the_caller_says():
    tracker = UsageTracker(key=KEYS, clock=lambda: NOW, max_future=None)
    tracker.record("ann", NOW + 1000 * DAY)
    assert tracker.info()["people"] == 1


def test_a_moment_may_be_a_text():
    tracker = UsageTracker(key=KEYS)
    tracker.record("ann", "2026-03-02T10:00:00+01:00")
    (person, *_) = tracker.export("ann")
    assert person["first_at"] == "2026-03-02T09:00:00Z"


def test_a_day_ahead_is_let_in_and_ids_may_be_any_text(tracker):
    tracker.record("\ud800", NOW + DAY - 1)
    tracker.record("ан на", NOW - DAY, 0)
    assert tracker.info()["people"] == 2


def test_nothing_is_taken_after_the_end(tmp_path):
    tracker = UsageTracker(tmp_path / "usage.db", key=KEYS, clock=lambda: NOW)
    tracker.close()
    tracker.close()
    with pytest.raises(BadUsage, match="closed"):
        tracker.record("ann", BEGIN)


@pytest.mark.parametrize(
    ("subject", "says"), [(" ", "subject is empty"), ("x" * 513, "subject is longer than 512 characters")]
)
def test_an_id_that_nobody_can_have_is_refused_and_not_written_into_the_audit(tracker, subject, says):
    for look in (tracker.signals, lambda given: list(tracker.export(given)), tracker.purge):
        with pytest.raises(BadUsage, match=says):
            look(subject)
    assert tracker.audit() == []


def test_a_pseudonym_asks_about_the_same_person(tracker):
    month(tracker, days=20)
    as_of = BEGIN + 30 * DAY
    by_name = tracker.signals(Pseudonym(tracker.name("ann")), as_of)
    assert by_name.to_dict() == tracker.signals("ann", as_of).to_dict()
    with pytest.raises(BadUsage, match="32 hexadecimal digits"):
        tracker.signals(Pseudonym("ann"))


def test_the_two_plain_functions_answer_from_memory(monkeypatch):
    # Of its own: what others recorded later would make these events older than the retention.
    monkeypatch.setattr(behavioral, "_make_default", cache(behavioral.BehavioralTracker))
    at = datetime(2026, 1, 1, tzinfo=UTC)
    ethogram.record_event("plain ann", at, 120, True, emotional_content=True, terminated_abruptly=False)
    found = ethogram.get_risk_signals("plain ann", at + timedelta(hours=2))
    assert found.to_dict()["abrupt_termination"]
    assert ethogram.get_risk_signals("plain bo").to_dict()["status"] == "insufficient"


def test_threads_of_one_tracker_lose_nothing(tracker):
    """Four threads, three people, every message counted."""

    def work(number: int) -> None:
        for k in range(100):
            tracker.record(f"p{k % 3}", BEGIN + (number * 100 + k) * 7, k, id=f"{number}-{k}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [next(tracker.export(f"p{i}"))["events"] for i in range(3)]
    # 100 = 34 + 33 + 33 in each thread.
    assert counts == [4 * 34, 4 * 33, 4 * 33]


def test_an_event_line_says_what_a_call_would():
    event = ethogram.Event.sample(
        at=START, subject="ann", session="s", id="e1", text="hello",
        attributes={"time_zone": "Europe/Berlin", "emotional": True, "role": "assistant"},
    )  # fmt: skip
    assert arguments_of(event) == {
        "subject": "ann", "at": START, "length": 5, "is_user": False, "emotional": True,
        "ended_abruptly": False, "closing": False, "session": "s", "time_zone": "Europe/Berlin", "id": "e1",
    }  # fmt: skip
    with pytest.raises(BadUsage, match="invalid is_user 'perhaps'"):
        arguments_of(ethogram.Event.sample(attributes={"is_user": "perhaps"}))
    with pytest.raises(BadUsage, match="at is missing"):
        arguments_of(ethogram.Event.sample(timed=False))
    with pytest.raises(BadUsage, match=r"kind 'action' is not .*: expected usage, message or event"):
        arguments_of(ethogram.Event.sample(kind="action"))


@pytest.mark.parametrize(
    ("emotional", "is_broken_off"), [(True, True), (0.9, True), (0.3, False), (0, False)]
)
def test_feeling_may_be_a_reading(emotional, is_broken_off):
    tracker = UsageTracker(clock=lambda: NOW)
    tracker.record("ann", BEGIN, 100, emotional=emotional)
    assert tracker.signals("ann", BEGIN + 7200).to_dict()["abrupt_termination"] == is_broken_off


def test_memory_holds_so_many_people_the_newest_and_counts_the_others():
    tracker = UsageTracker(key=KEYS, clock=lambda: NOW)
    tracker._store.max_people = 10
    for k in range(30):
        tracker.record("ann", NOW + k)
        tracker.record(f"p{k}", NOW + k)
    assert (tracker.info()["people"], tracker.info()["evicted"]) == (10, 21)
    assert next(tracker.export("ann"))["events"] == 30
    assert next(tracker.export("p29"))["events"] == 1


def test_memory_holds_the_same_however_often_somebody_reads(monkeypatch):
    """Events wait until a read, or until there are too many of them; neither may change what is held."""
    trackers = []
    for limit in (8_000, 8_000, 2):
        monkeypatch.setattr(write_buffer, "MAX_IN_MEMORY", limit)
        trackers.append(UsageTracker(key=KEYS, clock=lambda: NOW))
    for tracker in trackers:
        for k in range(60):
            tracker.record(f"p{k % 7}", BEGIN + k * DAY, 10, session="s", id=f"{k % 7}-{k - k % 10}")
            if tracker is trackers[1]:
                tracker.flush()
                tracker.info()
    plain, read, full = ([list(item.export(f"p{k}")) for k in range(7)] for item in trackers)
    assert plain == read == full
    # An id stands for a person and a ten of events, and each of the 7 people is in each of the 6 tens.
    assert sum(records[0]["events"] for records in plain) == 6 * 7


def test_events_that_may_wait_for_an_hour_are_written_once_they_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr(write_buffer, "MAX_WAITING", 3)
    with (
        UsageTracker(tmp_path / "usage.db", key=KEYS, clock=lambda: NOW, hold=3600) as tracker,
        UsageTracker(tmp_path / "usage.db", key=KEYS, clock=lambda: NOW) as other,
    ):
        people = []
        for name in "abcd":
            tracker.record(name, BEGIN, 10)
            people.append(other.info()["people"])
    assert people == [0, 0, 3, 3]


def test_a_forked_child_has_a_copy_of_memory_of_its_own():
    """Forked while threads record, the child goes on from what was there; the parent sees nothing of it."""
    tracker = UsageTracker(key=KEYS, clock=lambda: NOW)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            tracker.record("bo", BEGIN)
            tracker.flush()

    tracker.record("ann", BEGIN)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if not child:
                tracker.record("ann", BEGIN + 60)
                os._exit(next(tracker.export("ann"))["events"])
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    finally:
        stop.set()
        thread.join()
    assert next(tracker.export("ann"))["events"] == 1
