"""BehavioralTracker: plain facts about a session's use by fixed limits, beside changes against the own habit.

Facts need no history and are often wrong: see "Facts and changes" in docs/people.md. Changes are those of
UsageTracker.
"""

from __future__ import annotations

import time
from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from threading import Lock
from typing import Any
from zoneinfo import ZoneInfo

from ..models.slotted import dataclass
from .clock import DAY, HOUR, find_zone
from .event import STRONG, Moment, seconds
from .signals import UsageSignals
from .tracker import UsageTracker

MAX_EVENTS = 500
"""Events of a session that facts are computed from, the newest."""
MAX_SESSIONS = 10_000
"""Sessions with facts; of the one longest without an event only the habit stays."""
REBASE = 20
"""The usual rate is taken anew at every so many events; before, it is DEFAULT_RATE."""
DEFAULT_RATE = 5.0
"""Messages an hour of somebody with fewer than REBASE events."""
SHORT = 50
"""Characters below which a last message is short."""
WEIGHTS = {
    "frequency_spike": 0.15,
    "frequency_drop": 0.20,
    "late_night": 0.10,
    "session_increasing": 0.10,
    "withdrawal": 0.20,
    "return_after_absence": 0.05,
    "abrupt_termination": 0.20,
}
"""What each fact adds to the score."""


@dataclass(slots=True)
class SessionEvent:
    """One interaction of a session; `timestamp` in seconds since 1970."""

    session_id: str
    timestamp: float
    message_length: int
    is_user: bool = True
    emotional_content: bool = False
    terminated_abruptly: bool = False


@dataclass(slots=True)
class BehavioralSignals:
    """Facts about a session by fixed limits; `changes` against the own habit where a tracker computed them.

    `frequency_change`: messages of the last hour against the usual hour, -1 to 1. `is_late_night`: the last
    event lies between two and five. `behavioral_score`: the sum of the facts' weights, 0 to 1.
    """

    frequency_change: float = 0.0
    is_late_night: bool = False
    session_length_trend: str = "stable"
    withdrawal_detected: bool = False
    return_after_absence: bool = False
    abrupt_termination: bool = False
    behavioral_score: float = 0.0
    changes: UsageSignals | None = None

    def to_dict(self) -> dict[str, Any]:
        """The seven facts; from a tracker also `status`, `parts`, `cohort` and `signals` of the changes."""
        changes = {} if self.changes is None else self.changes.to_dict()
        return {**changes, **{name: getattr(self, name) for name in FACTS}}


FACTS = BehavioralSignals.__match_args__[:-1]
"""All but `changes`."""


class BehavioralTracker:
    """Records sessions, and returns facts about one beside changes against its habit.

    `tracker` holds the habits (default: one in memory). `time_zone`: whose clock night is read from where an
    event names none (default: this machine's). Facts are computed from the newest 500 events of a session in
    this process; they are gone when it ends.
    """

    LATE_NIGHT_START = 2
    LATE_NIGHT_END = 5
    BASELINE_WINDOW_DAYS = 7
    ABSENCE_THRESHOLD_HOURS = 48
    SPIKE_THRESHOLD = 2.0

    def __init__(self, tracker: UsageTracker | None = None, *, time_zone: str | None = None) -> None:
        self.usage = UsageTracker(time_zone=time_zone) if tracker is None else tracker
        self._zone = None if time_zone is None else find_zone(time_zone)
        self._sessions: OrderedDict[str, tuple[list[SessionEvent], ZoneInfo | None]] = OrderedDict()
        self._lock = Lock()

    def record(
        self,
        session_id: str,
        timestamp: Moment | None = None,
        message_length: int | None = 0,
        is_user: bool = True,
        emotional_content: float = False,
        terminated_abruptly: float = False,
        *,
        session: str | None = None,
        time_zone: str | None = None,
    ) -> None:
        """Record one event of a session or a person (default: now); BadUsage where it is invalid.

        A length of 0 is one that is not known. `session` names a part of the history as in
        UsageTracker.record.
        """
        at = time.time() if timestamp is None else seconds(timestamp, "timestamp")
        length = message_length or None
        self.usage.record(
            session_id, at, length, is_user, emotional_content, terminated_abruptly, session, False, time_zone
        )
        is_emotional, is_marked = emotional_content > STRONG, terminated_abruptly >= 0.5
        event = SessionEvent(session_id, at, length or 0, bool(is_user), is_emotional, is_marked)
        with self._lock:
            events, zone = self._sessions.pop(session_id, ([], self._zone))
            insort(events, event, key=_at)
            if len(events) > MAX_EVENTS:
                del events[:REBASE]
            self._sessions[session_id] = (events, zone if time_zone is None else find_zone(time_zone))
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)

    def get_risk_signals(self, session_id: str, as_of: Moment | None = None) -> BehavioralSignals:
        """Return the facts about a session and its changes; `as_of`: now, with every event that is known."""
        now = time.time() if as_of is None else seconds(as_of, "as_of")
        changes = self.usage.signals(session_id, now)
        with self._lock:
            known, zone = self._sessions.get(session_id, ((), None))
            events = known[: len(known) if as_of is None else bisect_right(known, now, key=_at)]
        if not events:
            return BehavioralSignals(changes=changes)
        signals = BehavioralSignals(
            frequency_change=self._frequency(events, now),
            is_late_night=self._is_late_night(events[-1].timestamp, zone),
            session_length_trend=_session_trend(events),
            return_after_absence=self._is_back(events, now),
            abrupt_termination=_is_broken_off(events)
            or changes.findings["abrupt_termination"].severity != "none",
            changes=changes,
        )
        signals.withdrawal_detected = signals.frequency_change < -0.5
        signals.behavioral_score = self._score(signals)
        return signals

    def _frequency(self, events: Sequence[SessionEvent], now: float) -> float:
        """The last hour against the usual one, -1 to 1: half is -0.5, twice 0.5, three times 1."""
        if len(events) < 3:
            return 0.0
        recent = sum(event.is_user for event in events[bisect_right(events, now - HOUR, key=_at) :])
        ratio = recent / self._usual(events)
        return max(-1.0, ratio - 1) if ratio < 1 else min(1.0, (ratio - 1) / 2)

    def _usual(self, events: Sequence[SessionEvent]) -> float:
        """Messages an hour in the week before the last twentieth event."""
        known = events[: len(events) - len(events) % REBASE]
        if not known:
            return DEFAULT_RATE
        begin = known[-1].timestamp - self.BASELINE_WINDOW_DAYS * DAY
        own = [event.timestamp for event in known if event.timestamp > begin and event.is_user]
        if not own:
            return DEFAULT_RATE
        hours = (own[-1] - own[0]) / HOUR
        return len(own) / hours if hours > 0 else float(len(own))

    def _is_late_night(self, at: float, zone: ZoneInfo | None) -> bool:
        utc = datetime.fromtimestamp(at, UTC)
        return self.LATE_NIGHT_START <= utc.astimezone(zone).hour < self.LATE_NIGHT_END

    def _is_back(self, events: Sequence[SessionEvent], now: float) -> bool:
        """Whether the newest event that is an hour old, the last ten left out, is an absence ago."""
        before = [event.timestamp for event in events[:-10] if event.timestamp < now - HOUR]
        return bool(before) and now - before[-1] >= self.ABSENCE_THRESHOLD_HOURS * HOUR

    def _score(self, signals: BehavioralSignals) -> float:
        change = signals.frequency_change
        shares = {
            "frequency_spike": change if change > (self.SPIKE_THRESHOLD - 1) / 2 else 0.0,
            "frequency_drop": -change if change < -0.3 else 0.0,
            "late_night": signals.is_late_night,
            "session_increasing": signals.session_length_trend == "increasing",
            "withdrawal": signals.withdrawal_detected,
            "return_after_absence": signals.return_after_absence,
            "abrupt_termination": signals.abrupt_termination,
        }
        return round(min(1.0, sum(WEIGHTS[name] * share for name, share in shares.items())), 6)


def _at(event: SessionEvent) -> float:
    return event.timestamp


def _session_trend(events: Sequence[SessionEvent]) -> str:
    """Whether the newer half of the events took longer than the older one."""
    if len(events) < 10:
        return "stable"
    middle = len(events) // 2
    first = events[middle - 1].timestamp - events[0].timestamp
    second = events[-1].timestamp - events[middle].timestamp
    return "increasing" if second > 1.3 * first else "decreasing" if second < 0.7 * first else "stable"


def _is_broken_off(events: Sequence[SessionEvent]) -> bool:
    """Whether one of the last five events was emotional, and the last is a short one of the person."""
    last = events[-1]
    return (
        len(events) >= 3
        and any(event.emotional_content for event in events[-5:])
        and last.is_user
        and last.message_length < SHORT
    )


# --- two functions over one tracker in memory, for a service that needs no more ---------------------


_LOCK = Lock()
_make_default = cache(BehavioralTracker)


def _default() -> BehavioralTracker:
    """The tracker of this process, made at the first call."""
    with _LOCK:
        return _make_default()


def record_event(
    session_id: str,
    timestamp: Moment | None = None,
    message_length: int | None = 0,
    is_user: bool = True,
    emotional_content: float = False,
    terminated_abruptly: float = False,
    *,
    session: str | None = None,
    time_zone: str | None = None,
) -> None:
    """Record one event in this process's memory; see BehavioralTracker.record."""
    _default().record(
        session_id,
        timestamp,
        message_length,
        is_user,
        emotional_content,
        terminated_abruptly,
        session=session,
        time_zone=time_zone,
    )


def get_risk_signals(session_id: str, as_of: Moment | None = None) -> BehavioralSignals:
    """Return facts and changes of what `record_event` recorded; see BehavioralTracker.get_risk_signals."""
    return _default().get_risk_signals(session_id, as_of)
