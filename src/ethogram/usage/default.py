"""Two functions over one tracker in memory, for a service that needs no more than that."""

from __future__ import annotations

import time
from threading import Lock

from .seen import Moment
from .signals import UsageSignals
from .tracker import UsageTracker

_LOCK = Lock()
_TRACKER: list[UsageTracker] = []


def default_tracker() -> UsageTracker:
    """The tracker of this process, made when first asked for."""
    with _LOCK:
        if not _TRACKER:
            _TRACKER.append(UsageTracker())
        return _TRACKER[0]


def record_event(
    subject: str,
    timestamp: Moment | None = None,
    message_length: int | None = None,
    is_user: bool = True,
    emotional_content: float = False,
    terminated_abruptly: float = False,
    *,
    session: str | None = None,
    time_zone: str | None = None,
) -> None:
    """Note one event of a person in this process's memory, without a time now; see UsageTracker.record."""
    default_tracker().record(
        subject,
        time.time() if timestamp is None else timestamp,
        message_length,
        is_user,
        emotional_content,
        terminated_abruptly,
        session,
        time_zone=time_zone,
    )


def get_risk_signals(subject: str, as_of: Moment | None = None) -> UsageSignals:
    """What is unusual about a person, from what `record_event` noted; see UsageTracker.signals."""
    return default_tracker().signals(subject, as_of)
