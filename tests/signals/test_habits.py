"""Readings about people and the patterns over them: both engines find what asking every day would."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import pytest

from ethogram.app.analyze import analyze, load_library
from ethogram.app.live.watch import Watch
from ethogram.app.sweep import sweep
from ethogram.config import Settings
from ethogram.models import Event
from ethogram.signals import Measurer, Options, measure_all
from ethogram.signals.habits import READINGS
from ethogram.store import open_store
from ethogram.usage import COHORTS, Summary, record
from ethogram.usage import Settings as Limits
from ethogram.usage.baseline import closed_days
from ethogram.usage.clock import MORNING, day_of
from ethogram.usage.withdrawal import withdrawal
from sampling import seeds
from usage_people import DAY, HOUR, Person

NAMES = [name for name, _, _ in READINGS]
PATTERNS = {"withdrawal": "withdrawal", "frequency_drop": "drop"}


def event(at: float, subject: str = "ann", zone: str | None = None, **fields) -> Event:
    attributes = {**fields.pop("attributes", {}), **({"time_zone": zone} if zone else {})}
    moment = datetime.fromtimestamp(round(at), UTC)
    name = fields.pop("id", f"{subject}{round(at)}")
    return Event(id=name, at=moment, subject=subject, **{"kind": "usage", "attributes": attributes, **fields})


def history(seed: int) -> tuple[list[int], str | None]:
    """Times of a person who is regular, or bursty, or comes less and less, or stops and comes back."""
    rng = random.Random(seed)
    zone = rng.choice([None, "Asia/Kolkata", "America/Los_Angeles"])
    rate, lull = rng.choice([1, 3, 8]), rng.randint(18, 50)
    times = []
    for day in range(rng.randint(30, 75)):
        factor = rng.choice([0, 0.2]) if lull <= day < lull + 12 else rng.choice([1, 1, 1, 0.3])
        count = round(rng.expovariate(1 / rate) * factor + 0.4 * (rng.random() < factor))
        morning = 1_770_000_000 + day * DAY
        times += [morning + round(rng.uniform(7, 22) * HOUR) for _ in range(count)]
    return sorted(set(times)), zone


def closes_asked(times: list[int], zone: str | None, as_of: int, signal: str) -> list[int]:
    """When it would be told: ask at every close of a day, and tell it once in a week."""
    state, told, quiet_at = Summary(), [], []
    for place, at in enumerate(times):
        if state.events and _is_on(state, at, signal):
            quiet_at.append(at)
        state = record(state, at, zone=zone)
        until = times[place + 1] if place + 1 < len(times) else as_of
        is_old = any(at - item < 7 * DAY for item in quiet_at)
        close = (day_of(at, state.ahead) + 1) * DAY + MORNING - state.ahead
        while not is_old and close < until:
            if _is_on(state, close, signal):
                told.append(close)
                break
            close += DAY
    return told


def _is_on(state: Summary, at: int, signal: str) -> bool:
    days = closed_days(state, day_of(at, state.ahead))
    quiet, drop = withdrawal(days, COHORTS[1], Limits())
    return {"withdrawal": quiet, "drop": drop}[signal].severity != "none"


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_silence_tells_what_asking_at_every_close_of_a_day_would(seed: int):
    times, zone = history(seed)
    as_of = times[-1] + 40 * DAY
    events = [event(at, zone=zone) for at in times]
    detections = analyze(events, list(PATTERNS), as_of=datetime.fromtimestamp(as_of, UTC)).detections
    assert detections
    for pattern, signal in PATTERNS.items():
        told = [round(item.detected_at.timestamp()) for item in detections if item.pattern == pattern]
        assert told == closes_asked(times, zone, as_of, signal)


@pytest.mark.parametrize("seed", range(2))
def test_every_way_of_running_finds_the_same(seed: int, tmp_path):
    """All at once, live with ticks and a restart in the middle, and by sweeps every few days."""
    events = []
    for who in range(2):
        times, zone = history(10 * seed + who)
        events += [event(at, f"p{who}", zone, attributes={"length": at % 97}) for at in times]
    events.sort(key=lambda event: event.order)
    as_of = events[-1].at + timedelta(days=30)
    library = load_library(["usage/*"], Settings())
    whole = _told(analyze(events, library, as_of=as_of).detections)
    assert whole
    watch, live = Watch(library, clock=lambda: as_of), []
    for place, item in enumerate(events):
        if place == len(events) // 2:
            saved = json.loads(json.dumps(watch.save()))
            watch = Watch.load(saved, library, clock=lambda: as_of)
            assert not watch.notes
        live += [*watch.tick(item.at), *watch.observe(item)]
    live += watch.flush(as_of)
    assert _told([*live, *watch.open()]) == whole
    with open_store(str(tmp_path / "store.db"), create=True) as store:
        moment = events[0].at
        while moment < as_of:
            before, moment = moment, min(as_of, moment + timedelta(days=25))
            store.add([event for event in events if before < event.at <= moment or event is events[0]])
            done = sweep(store, library, as_of=moment, clock=lambda: as_of)
            store.mark_reported(change.key for change in done.changes)
        assert _told(store.detections()) == whole


def _told(detections) -> list[tuple[str, str, str, datetime]]:
    newest = {detection.id: detection for detection in detections}
    return sorted((item.pattern, item.subject, item.severity, item.detected_at) for item in newest.values())


def readings(events: list[Event], options: Options | None = None) -> list[dict[str, float]]:
    return [dict(item.readings) for item in measure_all(events, NAMES, options)]


def daily(days: int, hour: float = 15, zone: str | None = "UTC", each: int = 1, **fields) -> list[Event]:
    first = 1_770_000_000 - 1_770_000_000 % DAY
    return [
        event(first + day * DAY + hour * HOUR + 60 * k, zone=zone, **fields)
        for day in range(days)
        for k in range(each)
    ]


def test_nothing_is_said_of_a_new_person():
    assert not any(readings(daily(5)))


def test_only_the_kinds_that_are_named_are_a_persons_activity():
    forum = daily(20, each=3, kind="message")
    assert not any(readings(forum))
    named = readings(forum, Options(usage={"kinds": ("message",)}))
    assert named[-1] == readings(daily(20, each=3))[-1]
    assert "quiet_after" in named[-1]


def test_the_close_at_which_somebody_will_be_quiet_is_told_in_seconds():
    # Three a day: the quietest four days of the month had twelve, and the bar is eleven (docs/people.md).
    events = daily(21, each=3)
    last = readings(events)[-1]
    minutes_of_today = (29 - 15) * 60 - 2
    assert last["quiet_after"] == 4 * DAY + minutes_of_today * 60
    assert (last["quiet_days"], last["quiet_seen"], last["quiet_usual"]) == (4, 0, 12)
    # Few is told from five on: the quietest two days had six.
    assert last["fewer_after"] == 2 * DAY + minutes_of_today * 60
    assert (last["quiet_before"], last["few_before"]) == (0, 0)


def test_what_the_service_writes_is_no_activity_and_moves_no_close():
    events = daily(21, each=3)
    answer = event(events[-1].at.timestamp() + 5000, attributes={"role": "assistant"}, zone="UTC")
    before, after = readings([*events, answer])[-2:]
    assert after == {
        "quiet_after": before["quiet_after"] - 5000,
        "fewer_after": before["fewer_after"] - 5000,
    }
    again = daily(22, each=3)[-1]
    assert readings([*events, answer, again])[-1] == readings([*events, again])[-1]


def test_a_busy_day_is_told_as_it_grows():
    events = daily(20, each=2)
    last = events[-1].at.timestamp()
    storm = [event(last + DAY + 60 * k, zone="UTC") for k in range(60)]
    told = [reading["busy_today"] for reading in readings([*events, *storm])[-60:]]
    assert told == sorted(told)
    assert told[1] == 0
    assert told[-1] > 5
    assert [reading["messages_today"] for reading in readings([*events, *storm])[-3:]] == [58, 59, 60]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Kolkata", "America/Los_Angeles"])
def test_nights_are_told_on_the_persons_own_clock(zone: str):
    person = Person(3)
    person.zone = zone
    days = [e for day in range(30) for e in person.session(day, 13 + day % 9, 5, 40)]
    nights = [e for day in range(30, 40) for e in person.session(day, 27.1, 5, 40)]
    shift = [event(at, zone=zone) for at, _ in [*days, *nights, *person.session(40, 27.1, 2, 5)]]
    told = [reading["night_shift"] for reading in readings(shift) if "night_shift" in reading]
    assert told[-1] > 2
    assert max(told[:8]) == 0
    # The same hours without a zone: the guess from a month of days is as good, and says how sure it is.
    unzoned = readings([event(at) for at, _ in [*days, *nights, *person.session(40, 27.1, 2, 5)]])
    guessed = [item for item in unzoned if "night_shift" in item][-1]
    assert guessed["night_shift"] > 1.5
    assert guessed["zone_confidence"] < 1


def test_who_travels_and_says_so_is_not_up_at_night():
    home, away = Person(5), Person(5)
    home.zone, away.zone = "America/Los_Angeles", "Asia/Tokyo"
    events = [event(at, zone=home.zone) for day in range(30) for at, _ in home.session(day, 13, 4, 30)]
    events += [event(at, zone=away.zone) for day in range(31, 42) for at, _ in away.session(day, 13, 4, 30)]
    assert all(reading.get("night_shift", 0) == 0 for reading in readings(events))


def test_a_zone_without_meaning_is_told_and_does_not_move_the_clock():
    events = daily(30, each=2)
    broken = event(events[-1].at.timestamp() + DAY, zone="Mars/Olympus")
    measurer = Measurer(NAMES)
    found = [measurer.measure(event) for event in [*events, broken]]
    assert measurer.unmeasured == {("night_shift", "unknown time zone 'Mars/Olympus'"): 1}
    assert found[-1].readings["messages_today"] == 1
    assert "quiet_after" in found[-1].readings


def test_a_pause_of_less_than_two_days_is_no_absence():
    regular = daily(30, each=2)
    last = regular[-1].at.timestamp()
    assert "away_days" not in readings([*regular, event(last + 47 * HOUR, zone="UTC")])[-1]
    back = readings([*regular, event(last + 10 * DAY, zone="UTC")])[-1]
    assert back["away_days"] == 10
    # The quietest week had fourteen: twenty were missed.
    assert back["away_missed"] == pytest.approx(20)
    assert back["quiet_before"] == 1


def test_longer_sessions_and_shorter_messages_are_told_by_the_next_day():
    person = Person(7)
    events = []
    for day in range(30):
        long, length = (10, 150) if day < 22 else (30, 20)
        told = person.session(day, 18, 4 if day < 22 else 9, long)
        events += [event(at, zone=person.zone, attributes={"length": length}) for at, _ in told]
    last = readings(events)[-9]
    assert last["session_trend"] > 1.95
    assert (round(last["session_minutes"]), round(last["session_minutes_before"])) == (30, 10)
    assert last["length_shift"] < -2
    # Lengths are summed in sixteenths of an octave.
    assert (last["length_now"], last["length_before"]) == (pytest.approx(20, 0.05), pytest.approx(150, 0.05))


@pytest.mark.parametrize(
    "at", ["0001-01-01T00:00:00+00:00", "1969-12-31T23:59:59+00:00", "9999-12-31T00:00:00+00:00"]
)
def test_times_outside_our_days_are_no_days_of_a_person(at: str):
    odd = Event(id="x", at=datetime.fromisoformat(at), subject="ann", kind="usage")
    assert readings([odd]) == [{}]


def test_the_state_of_all_of_them_is_kept_once():
    measurer = Measurer(NAMES)
    for item in daily(21, each=3):
        measurer.measure(item)
    saved = measurer.save()
    assert len(saved["states"]) == 1
    assert len(json.dumps(saved["states"])) < 8_000
