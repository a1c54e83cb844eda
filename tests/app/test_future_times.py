"""An event dated far ahead of the clock is refused wherever events come in, and harms no other."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from ethogram import Conversation, Event, UsageTracker, Watch, analyze
from ethogram.app.importing import Options, import_events
from ethogram.config import Settings
from ethogram.errors import BadEvents, BadUsage
from ethogram.ingest import read_events
from ethogram.store import open_store
from small import HOT, turns, write_events, write_patterns

NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)
LATEST = "2026-01-11T12:00:00Z"
"""A day after NOW: the last time that is taken."""
FAR = "9999-12-31T00:00:00Z"
WORDS = f"at: {FAR} is in the future: expected a time up to {LATEST}"
ARCHIVE = Settings(max_future=None)


def dated(at: str, **more: Any) -> dict[str, Any]:
    return {"subject": "ann", "at": at, "readings": {"risk": 0.1}, **more}


def messages(error: pytest.ExceptionInfo[BadEvents]) -> list[tuple[int, str]]:
    return [(fault.line, fault.message) for fault in error.value.faults]


@pytest.fixture
def patterns(tmp_path: Path) -> list[Path]:
    return [write_patterns(tmp_path / "p", HOT)]


# --- analyze --------------------------------------------------------------------------------


@pytest.fixture(params=["file", "dicts", "events"])
def given(request, tmp_path):
    """Three events, of which the second and third are dated 9999, in each form analyze takes."""
    rows = [dated("2026-01-02T00:00:00Z", id="a"), dated(FAR, id="b"), dated(FAR, id="c")]
    if request.param == "file":
        write_events(tmp_path / "in.jsonl", rows)
        return tmp_path / "in.jsonl"
    if request.param == "events":
        return [Event(**{**row, "at": datetime.fromisoformat(row["at"])}, seq=k, source="input")
                for k, row in enumerate(rows)]  # fmt: skip
    return rows


def test_analyze_tells_every_event_dated_ahead_with_its_place(given, patterns):
    with pytest.raises(BadEvents) as error:
        analyze(given, patterns, now=NOW)
    assert [line for line, _ in messages(error)] == [2, 3]
    assert all(WORDS in message for _, message in messages(error))


def test_analyze_skips_events_dated_ahead_and_as_of_stays_where_the_others_are(given, patterns):
    found = analyze(given, patterns, now=NOW, skip_bad=True)
    assert (found.events, found.bad_count) == (1, 2)
    assert found.as_of == datetime(2026, 1, 2, tzinfo=UTC)


def test_archives_from_elsewhere_are_read_without_a_limit(given, patterns):
    assert analyze(given, patterns, now=NOW, settings=ARCHIVE).as_of.year == 9999


def test_a_day_ahead_is_taken_and_a_microsecond_more_is_not():
    latest = NOW + timedelta(days=1)
    from ethogram.ingest import events_of

    assert len(events_of([dated(LATEST)], latest=latest).events) == 1
    with pytest.raises(BadEvents):
        events_of([dated("2026-01-11T12:00:00.000001Z")], latest=latest)


def test_events_without_times_are_no_times_ahead_and_a_huge_seq_is(patterns):
    found = analyze([{"subject": "ann"}, {"subject": "bo"}], patterns, now=NOW)
    assert found.events == 2
    with pytest.raises(BadEvents, match="seq 253402300000 is too large for a source without times"):
        analyze([{"subject": "ann", "seq": 253_402_300_000}], patterns, now=NOW)


@pytest.mark.parametrize(
    "line",
    [
        {"conversation_id": "c", "turns": [{"speaker": "ann", "text": "hi", "at": FAR}]},
        {"run_id": "r", "task": "t", "steps": [{"i": 0, "actor": "agent", "kind": "tool_call", "tool": "bash",
                                               "args": {"command": "ls"}, "call_id": "1", "at": FAR}]},
    ],
)  # fmt: skip
def test_turns_and_steps_of_runs_are_checked_too(tmp_path, line):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(BadEvents) as error:
        read_events(path, latest=NOW + timedelta(days=1))
    (place, message), *_ = messages(error)
    assert place == 1
    assert WORDS in message


# --- stores ---------------------------------------------------------------------------------


def test_an_import_refuses_times_ahead_or_leaves_them_out(tmp_path):
    write_events(tmp_path / "in.jsonl", [dated("2026-01-02T00:00:00Z"), dated(FAR)])
    with open_store(str(tmp_path / "s.db"), create=True) as store:
        with pytest.raises(BadEvents) as error:
            import_events(store, [tmp_path / "in.jsonl"], at=NOW)
        assert [line for line, _ in messages(error)] == [2]
        assert list(store.events()) == []
        done = import_events(store, [tmp_path / "in.jsonl"], at=NOW, options=Options(skip_bad=True))
        assert (done.added, done.bad) == (1, 1)
        # With another limit it is another import: what was left out comes in.
        import_events(
            store, [tmp_path / "in.jsonl"], at=NOW, options=Options(skip_bad=True), settings=ARCHIVE
        )
        assert [event.at.year for event in store.events()] == [2026, 9999]


# --- live -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lateness", [0, 3_600_000_000])
def test_a_watch_refuses_an_event_dated_ahead_by_its_own_clock_and_goes_on(patterns, lateness):
    watch = Watch(patterns, settings=Settings(lateness=lateness), clock=lambda: NOW)
    ahead = dated(FAR, id="far")
    events = turns("ann", [0.9] * 3, days=[1, 1, 1])
    watch.observe(events[0])
    for bad in (ahead, Event(**{**ahead, "at": datetime.fromisoformat(FAR)}, seq=9, source="input")):
        with pytest.raises(BadEvents, match="is in the future"):
            watch.observe(bad)
    found = [*watch.observe(events[1]), *watch.observe(events[2]), *watch.flush()]
    assert [item.pattern for item in found] == ["hot_for_long"]
    assert (watch.refused, watch.late) == (2, 0)
    assert found[0].last_at < NOW
    # The id is free still, and the clock is asked anew for every event.
    now = [NOW]
    later = Watch(patterns, clock=lambda: now[0])
    now[0] = NOW + timedelta(days=30)
    assert later.observe(dated("2026-02-09T00:00:00Z")) == []
    assert later.refused == 0


def test_the_last_moment_of_the_farthest_zone_is_refused_like_any_other(patterns):
    at = datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12)))
    with pytest.raises(BadEvents, match="9999-12-31T23:59:00-12:00 is in the future"):
        Watch(patterns, clock=lambda: NOW).observe(Event("a", at, "ann"))
    with pytest.raises(BadEvents, match="is in the future"):
        analyze([Event("a", at, "ann")], patterns, now=NOW)


def test_observe_many_stops_at_an_event_dated_ahead_with_those_before_it_observed(patterns):
    watch = Watch(patterns, clock=lambda: NOW)
    events = turns("ann", [0.9] * 3, days=[1, 1, 1])
    with pytest.raises(BadEvents) as error:
        watch.observe_many([*events, dated(FAR)])
    assert [item.pattern for item in error.value.detections] == ["hot_for_long"]
    assert watch.observe_many(turns("bo", [0.9] * 3, days=[2, 2, 2])) != []


def test_what_a_watch_refused_is_counted_and_saved(patterns):
    watch = Watch(patterns, clock=lambda: NOW)
    watch.observe(dated("2026-01-02T00:00:00Z", id="a"))
    for bad in ({"at": "2026-01-02T00:00:00Z"}, dated("2026-01-03T00:00:00Z", id="a"), dated(FAR)):
        with pytest.raises(Exception):  # noqa: B017 (three kinds of refusal)
            watch.observe(bad)
    assert watch.refused == 3
    assert Watch.load(watch.save(), patterns, clock=lambda: NOW).refused == 3


def test_a_conversation_refuses_a_turn_dated_ahead_and_goes_on():
    talk = Conversation("c", embedder=None, clock=lambda: NOW)
    talk.turn("hello", at=NOW)
    with pytest.raises(BadUsage, match="is in the future"):
        talk.turn("hello", at=datetime(9999, 1, 1, tzinfo=UTC))
    talk.turn("hello again", at=NOW)
    assert talk.turns == 2


# --- the tracker ----------------------------------------------------------------------------


def test_a_tracker_in_memory_refuses_times_ahead_since_they_would_drive_out_everybody():
    clock = NOW.timestamp
    tracker = UsageTracker(clock=clock)
    tracker.record("ann", NOW - timedelta(days=1))
    with pytest.raises(BadUsage, match="is in the future: expected a time up to 2026-01-11T12:00:00Z"):
        tracker.record("bo", datetime(9000, 1, 1, tzinfo=UTC))
    assert [item["events"] for item in tracker.export("ann") if item["record"] == "usage_person"] == [1]
    UsageTracker(clock=clock, max_future=None).record("bo", datetime(2030, 1, 1, tzinfo=UTC))
    with pytest.raises(BadUsage, match="max_future"):
        UsageTracker(max_future=-1)
