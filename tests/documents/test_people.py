"""People: the first tests one would write of a tracker of sessions, by its usual names."""

from __future__ import annotations

import random
import time
from datetime import datetime
from functools import cache

import pytest

import ethogram
from benchmarks.quality.usage_baseline import fixed_limits
from ethogram import BehavioralSignals, BehavioralTracker, SessionEvent
from ethogram.errors import BadUsage
from ethogram.usage import behavioral
from sampling import seeds


@pytest.fixture
def tracker() -> BehavioralTracker:
    return BehavioralTracker()


def local(hour: int, minute: int = 0) -> float:
    """A moment on this machine's clock."""
    return datetime(2026, 4, 14, hour, minute).timestamp()  # noqa: DTZ001 (the clock that is tested)


def test_an_empty_tracker_returns_default_signals(tracker):
    signals = tracker.get_risk_signals("session-1")
    assert signals.behavioral_score == 0.0
    assert not signals.is_late_night


def test_a_frequency_spike_is_detected(tracker):
    now = time.time()
    for i in range(10):
        tracker.record("s1", timestamp=now - (10 - i) * 1800, message_length=100)
    for i in range(10):
        tracker.record("s1", timestamp=now - (10 - i) * 60, message_length=50)
    assert tracker.get_risk_signals("s1").frequency_change > 0.3


def test_a_frequency_drop_is_detected(tracker):
    now = time.time()
    for i in range(50):
        tracker.record("s1", timestamp=now - (50 - i) * 300, message_length=100)
    tracker.record("s1", timestamp=now - 60, message_length=50)
    assert tracker.get_risk_signals("s1").frequency_change < 0


@pytest.mark.parametrize(("hour", "is_late"), [(3, True), (14, False)])
def test_late_night_is_two_to_five(tracker, hour, is_late):
    tracker.record("s1", timestamp=local(hour), message_length=100)
    assert tracker.get_risk_signals("s1").is_late_night is is_late


def test_longer_sessions_are_increasing(tracker):
    now = time.time()
    for i in range(10):
        tracker.record("s1", timestamp=now - 600 + i * 30, message_length=100)
    for i in range(10):
        tracker.record("s1", timestamp=now - 300 + i * 180, message_length=100)
    assert tracker.get_risk_signals("s1").session_length_trend == "increasing"


def test_a_message_a_minute_until_now_is_no_withdrawal_and_a_silent_hour_is(tracker):
    # Forty of these fifty-one messages set the rate, 61 an hour: the last hour, with 51, is at -0.17.
    now = time.time()
    for i in range(50):
        tracker.record("s1", timestamp=now - (50 - i) * 60, message_length=100)
    tracker.record("s1", timestamp=now - 60, message_length=20)
    signals = tracker.get_risk_signals("s1", now)
    assert signals.frequency_change == pytest.approx(-0.17, abs=0.01)
    assert not signals.withdrawal_detected
    assert tracker.get_risk_signals("s1", now + 7200).withdrawal_detected


def test_an_abrupt_end_after_emotional_content_is_detected(tracker):
    now = time.time()
    for i in range(5):
        tracker.record("s1", timestamp=now - (5 - i) * 60, message_length=100)
    tracker.record("s1", timestamp=now - 30, message_length=200, emotional_content=True)
    tracker.record("s1", timestamp=now - 10, message_length=10, is_user=True)
    assert tracker.get_risk_signals("s1").abrupt_termination is True


def test_the_score_increases_with_risk(tracker):
    for i in range(10):
        tracker.record("s1", timestamp=local(14, i), message_length=100)
        tracker.record("s2", timestamp=local(3, i), message_length=100, emotional_content=True)
    tracker.record("s2", timestamp=local(3, 10), message_length=10, is_user=True)
    calm, risky = (tracker.get_risk_signals(name) for name in ("s1", "s2"))
    assert risky.behavioral_score > calm.behavioral_score


def test_signals_are_plain_values():
    signals = BehavioralSignals(
        frequency_change=0.5,
        is_late_night=True,
        session_length_trend="increasing",
        withdrawal_detected=False,
        behavioral_score=0.4,
    )
    assert signals.to_dict() == {
        "frequency_change": 0.5,
        "is_late_night": True,
        "session_length_trend": "increasing",
        "withdrawal_detected": False,
        "return_after_absence": False,
        "abrupt_termination": False,
        "behavioral_score": 0.4,
    }


# --- names and defaults ---------------------------------------------------------------------


def test_events_and_functions_have_their_usual_arguments(monkeypatch):
    monkeypatch.setattr(behavioral, "_make_default", cache(BehavioralTracker))  # others use the same one
    event = SessionEvent(session_id="s1", timestamp=1.0, message_length=3)
    assert (event.is_user, event.emotional_content, event.terminated_abruptly) == (True, False, False)
    for _ in range(3):
        ethogram.record_event(session_id="facade ann", message_length=5, emotional_content=True)
    signals = ethogram.get_risk_signals(session_id="facade ann")
    assert signals.abrupt_termination
    assert signals.changes is not None
    assert signals.changes.status == "insufficient"
    assert signals.to_dict()["status"] == "insufficient"


def test_facts_stand_beside_changes_and_a_stable_night_person_is_no_change():
    tracker = BehavioralTracker(time_zone="Europe/Berlin")
    for day in range(28):
        for minute in range(5):
            at = datetime.fromisoformat("2026-03-02T03:00:00+01:00").timestamp() + day * 86_400 + minute * 60
            tracker.record("s1", at, 80)
    signals = tracker.get_risk_signals("s1", at + 60)
    assert signals.is_late_night
    assert not signals.changes.to_dict()["is_late_night"]
    assert signals.changes.findings["late_night"].is_ok


def test_an_invalid_event_is_refused_and_leaves_no_fact(tracker):
    with pytest.raises(BadUsage):
        tracker.record("s1", message_length=-1)
    assert tracker.get_risk_signals("s1").to_dict()["frequency_change"] == 0.0
    assert not tracker._sessions


def test_facts_have_a_bound_in_events_and_sessions(tracker, monkeypatch):
    monkeypatch.setattr(behavioral, "MAX_SESSIONS", 3)
    for i in range(520):
        tracker.record("s1", 1_775_000_000 + i)
    assert len(tracker._sessions["s1"][0]) <= 500
    for name in ("s2", "s3", "s4"):
        tracker.record(name, 1_775_001_000)
    assert list(tracker._sessions) == ["s2", "s3", "s4"]


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_facts_are_the_fixed_limits_whose_false_alarms_are_measured(seed):
    rng, at, times = random.Random(seed), 1_775_000_000, []
    for _ in range(rng.randrange(5, 200)):
        at += int(rng.choice([20, 300, 4_000, 30_000, 200_000]) * rng.uniform(0.5, 1.5))
        times.append(at)
    tracker = BehavioralTracker(time_zone="Asia/Kolkata")
    for moment in times:
        tracker.record("s1", moment)
    for as_of in (*times[::7], times[-1] + 900, times[-1] + 400_000):
        facts = tracker.get_risk_signals("s1", as_of)
        on = {
            "spike": facts.frequency_change > 0.5,
            "withdrawal": facts.withdrawal_detected,
            "late_night": facts.is_late_night,
            "session_length_trend": facts.session_length_trend == "increasing",
            "return_after_absence": facts.return_after_absence,
        }
        assert {name for name, is_on in on.items() if is_on} == fixed_limits(times, "Asia/Kolkata", as_of)
