"""Horizon and recovery: how long before the target a pattern was there, and how long after it stayed.

Units are the caller's: steps, turns or seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True)
class Course:
    """One history with a target: where things began to build up, the target itself, and where it was over.

    `found` are the detections as (opened, closed), closed None for one that is still open at the end.
    """

    target: float
    found: tuple[tuple[float, float | None], ...] = ()
    begins: float = 0.0
    over: float | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """Of how many histories, in how many it happened, and quartiles of when; None below four."""

    of: int
    count: int
    middle: float | None
    quartiles: tuple[float, float] | None
    left_out: int = 0


def horizon(courses: Sequence[Course]) -> Times:
    """How long before the target the first detection came, where all was quiet before things began.

    An alarm that was on already tells nothing of what is to come, however early it was: such histories are
    left out and counted. A detection at the target itself has a horizon of 0; a later one is none.
    """
    quiet = [one for one in courses if not any(opened < one.begins for opened, _ in one.found)]
    times = []
    for one in quiet:
        early = [one.target - opened for opened, _ in one.found if opened <= one.target]
        if early:
            times.append(max(early))
    return _times(len(quiet), times, len(courses) - len(quiet))


def recovery(courses: Sequence[Course]) -> Times:
    """How long after the end a detection stayed that was open then; those still open at the end never closed.

    Only histories whose target is over and in which something was open then; `count` are those that closed.
    """
    asked, times = 0, []
    for one in courses:
        if one.over is None:
            continue
        still = [
            closed for opened, closed in one.found if opened <= one.over and not _is_before(closed, one.over)
        ]
        if still:
            asked += 1
            if all(closed is not None for closed in still):
                times.append(max(closed for closed in still if closed is not None) - one.over)
    return _times(asked, times, sum(one.over is None for one in courses))


def _is_before(closed: float | None, over: float) -> bool:
    return closed is not None and closed < over


def _times(of: int, times: Sequence[float], left_out: int) -> Times:
    parts = quantiles(times, n=4, method="inclusive") if len(times) >= 4 else None
    return Times(
        of, len(times), median(times) if times else None, (parts[0], parts[2]) if parts else None, left_out
    )
