"""Options: what the settings say that a signal may want to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..records import parse_duration

if TYPE_CHECKING:
    from ..config import Settings


@dataclass(frozen=True, slots=True)
class Options:
    """`time_zone` is where a subject lives who does not say; None: not known.

    `session_inactivity`, in microseconds, is the longest pause inside one session.
    `normalization` (low, medium, high) is how much that varies by chance is taken out of errors and steps.
    `allow`, `deny` and `critical_paths` are globs of paths, `cwd` the working directory and `goal` the task
    of every run, where the events do not say.
    """

    time_zone: str | None = None
    session_inactivity: int = parse_duration("30m")
    normalization: str = "medium"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    critical_paths: tuple[str, ...] = ()
    cwd: str | None = None
    goal: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> Options:
        """What these settings say."""
        return cls(
            time_zone=settings.time_zone,
            session_inactivity=settings.session_inactivity,
            normalization=settings.normalization,
            allow=settings.allow,
            deny=settings.deny,
            critical_paths=settings.critical_paths,
            cwd=settings.cwd,
            goal=settings.goal,
        )
