"""Options: what the settings say that a signal may want to know."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import parse_duration


@dataclass(frozen=True, slots=True)
class Options:
    """`time_zone` is where a subject lives who does not say; None: not known.

    `session_inactivity`, in microseconds, is the longest pause inside one session.
    """

    time_zone: str | None = None
    session_inactivity: int = parse_duration("30m")
