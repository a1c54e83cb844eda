"""What is found of people: by the usage patterns as `analyze` runs them, and by asking once a day.

Both are told as openings (`Opening`), so that they, and the fixed limits, are counted alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ..config import Settings
from ..library.load import Library, load_patterns
from ..library.select import select
from ..records import Detection, Event
from ..usage import COHORTS, Cohort, Summary, record, signals
from ..usage.clock import DAY, MORNING, day_of, offset
from .analyze import analyze
from .validate_usage_people import People, sessions_of

Progress = Callable[[int, int, str], None]
"""Is told how many of how many are done, and what is being done."""
KIND = "usage"
AT_ONCE = 20
"""People in one analysis, so that progress can be told and Ctrl-C waits for little."""
A_WEEK = 7 * DAY
SPARE_DAYS = frozenset((0, 1, 2, 3, 5, 7, 10, 14, 21, 28, 42))
"""Days of a silence at which somebody is asked about where sets have silences of years."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A pattern that opened for a person at a moment; `level` is the highest it reached, `until` its end."""

    who: str
    pattern: str
    cause: str
    level: str
    at: float
    until: float | None = None
    is_on: bool = True
    """Whether the pattern is on by default; those that are not are counted by themselves only."""
    medium_at: float | None = None
    """When it reached level medium, which may be later than it opened; None: never, or it was not watched."""


def usage_patterns(settings: Settings) -> Library:
    """The library's patterns of usage but retired ones, with the overlays of the settings."""
    names = sorted(
        one.name
        for one in select(status=settings.status)
        if Path(one.path).parent.name == KIND and one.status != "retired"
    )
    return load_patterns(names, parameters=settings.parameters, status=settings.status)


def openings(
    histories: People,
    zone: str | None,
    library: Library,
    settings: Settings,
    progress: Progress | None = None,
    what: str = "detecting",
    later: float = 28 * DAY,
) -> dict[str, list[Opening]]:
    """What `analyze` finds in each history of times, asked `later` seconds after the last event of all."""
    names = list(histories)
    found: dict[str, list[Opening]] = {who: [] for who in names}
    ours = replace(settings, time_zone=zone)
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        newest = max(histories[who][-1] for who in some)
        events = [usage_event(seq, at, who) for who in some for seq, at in enumerate(histories[who])]
        as_of = datetime.fromtimestamp(newest + later, UTC)
        for one in analyze(events, library, as_of=as_of, settings=ours):
            found[one.subject].append(opening_of(one))
        if progress is not None:
            progress(start + len(some), len(names), what)
    return found


def usage_event(seq: int, at: int, who: str = "somebody") -> Event:
    """An event of kind usage, without any text, as a row of a table of times becomes."""
    moment = datetime.fromtimestamp(at, UTC)
    return Event(id=f"{who}/{seq}", at=moment, subject=who, seq=seq, kind=KIND)


def opening_of(one: Detection) -> Opening:
    """What a detection comes to."""
    until = None if one.closed_at is None else one.closed_at.timestamp()
    at, is_on = one.detected_at.timestamp(), one.status == "stable"
    return Opening(one.subject, one.pattern, one.cause or one.pattern, one.level, at, until, is_on)


def moments(times: Sequence[int], zone: str | None, *, spare: bool = False) -> list[int]:
    """Every close of a day (five in the morning on the own clock) and every beginning of a session.

    From the first event to the last. `spare`: of a long silence only some days.
    """
    first = day_of(times[0], offset(times[0], zone)) + 1
    last = day_of(times[-1], offset(times[-1], zone)) + 1
    closes = [at for day in range(first, last + 1) if (at := morning_of(day, zone) + 1) <= times[-1]]
    if spare:
        closes = [at for at in closes if (at - times[bisect_right(times, at) - 1]) // DAY in SPARE_DAYS]
    return sorted({*closes, *(one[0] for one in sessions_of(times)), times[-1]})


def morning_of(day: int, zone: str | None) -> int:
    """When a day of the own clock begins, in UTC: at five in the morning."""
    utc = day * DAY + MORNING
    return utc - offset(utc - offset(utc, zone), zone)


def asked_daily(
    times: Sequence[int], zone: str | None, asked: Sequence[int], cohort: Cohort = COHORTS[1]
) -> list[Opening]:
    """What the statistics say at these moments, as episodes: over when a week has passed without any level.

    The level is the highest one of the episode.
    """
    done: list[Opening] = []
    open_: dict[str, Opening] = {}
    for as_of, state in _states(times, zone, asked):
        for name, one in signals(state, as_of, cohort=cohort).findings.items():
            if one.level == "none":
                continue
            before = open_.get(name)
            if before is not None and as_of - (before.until or 0) <= A_WEEK:
                level = "medium" if "medium" in (before.level, one.level) else "low"
                open_[name] = replace(before, level=level, until=as_of)
                continue
            if before is not None:
                done.append(before)
            open_[name] = Opening("", name, CAUSES.get(name, name), one.level, as_of, as_of)
    return sorted([*done, *open_.values()], key=lambda one: (one.at, one.pattern))


CAUSES: Mapping[str, str] = {"withdrawal": "absence", "return_after_absence": "absence", "drop": "absence"}
"""Signals that are two sides of one thing."""


def _states(times: Sequence[int], zone: str | None, asked: Sequence[int]) -> Iterator[tuple[int, Summary]]:
    state, known = Summary(), 0
    for as_of in asked:
        while known < len(times) and times[known] <= as_of:
            state = record(state, times[known], zone=zone)
            known += 1
        if state.events:
            yield as_of, state
