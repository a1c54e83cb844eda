"""People of a set: when each of them was there, who is known well enough, and groups of them.

Only times are taken from a set; nothing of it is written anywhere.

What is found of people: by the usage patterns as `analyze` runs them, and by asking once a day.

Both are told as openings (`Opening`), so that they, and the fixed limits, are counted alike.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ethogram.app.analyze import analyze
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.ingest import read_events
from ethogram.models import Detection, Event
from ethogram.models.roles import is_by_service
from ethogram.patterns.library import Library, load_patterns, select
from ethogram.usage import COHORTS, Cohort, Summary, record, signals
from ethogram.usage.clock import DAY, MORNING, day_of, offset

People = Mapping[str, Sequence[int]]
"""Seconds since 1970 at which each person was there, in order."""
WEEK = 7 * DAY
PAUSE = 1_800
LEAST_EVENTS = 30
LEAST_DAYS = 21
HALVES = ("tune", "report", "all")
ZONES: Mapping[str, str | None] = {"collegemsg": "America/Los_Angeles", "irc_ubuntu": None}
"""Sets that are looked at by themselves, and where their people live; None: it is not known."""
NIGHT, NIGHT_SHARE = (2, 5), 0.25
SPARSE, BUSY = 5.0, 15.0
Progress = Callable[[int, int, str], None]
"""Is told how many of how many are done, and what is being done."""
KIND = "usage"
AT_ONCE = 20
"""People in one analysis, so that progress can be told and Ctrl-C waits for little."""
A_WEEK = 7 * DAY
SPARE_DAYS = frozenset((0, 1, 2, 3, 5, 7, 10, 14, 21, 28, 42))
"""Days of a silence at which somebody is asked about where sets have silences of years."""
CAUSES: Mapping[str, str] = {"withdrawal": "absence", "return_after_absence": "absence", "drop": "absence"}
"""Signals that are two sides of one thing."""


def read_people(file: Path) -> People:
    """Everybody in a file of events, conversations or rows with times; BadUsage where it has no times."""
    events = read_events([file]).events
    if not any(event.timed for event in events):
        raise BadUsage(f"{file.name} has no times, so nothing can be told of habits")
    return people_of(events)


def people_of(events: Iterable[Event]) -> People:
    """When each person was there; what assistants, systems and tools wrote is nobody's activity."""
    result: dict[str, list[int]] = {}
    for event in events:
        if not is_by_service(event):
            result.setdefault(event.subject, []).append(int(event.at.timestamp()))
    return {who: sorted(times) for who, times in sorted(result.items())}


def well_known(people: People, half: str = "all") -> People:
    """Those with three weeks and thirty events or more; of them the half that is asked for."""
    return {
        who: times
        for who, times in people.items()
        if len(times) >= LEAST_EVENTS and times[-1] - times[0] >= LEAST_DAYS * DAY
        if half == "all" or is_tuning(who) == (half == "tune")
    }


def is_tuning(who: str) -> bool:
    """Whether limits may be tuned on this person: by a hash of the id, so it is the same everywhere."""
    return hashlib.sha256(who.encode()).digest()[0] % 2 == 0


def person_weeks(people: People) -> dict[str, float]:
    """Weeks from each person's first event to the last."""
    return {who: (times[-1] - times[0]) / WEEK for who, times in people.items()}


def active_weeks(people: People, zone: str | None) -> dict[str, int]:
    """Calendar weeks, Monday to Sunday on the own clock, in which each person was there."""
    # The first day of 1970 was a Thursday.
    return {
        who: len({(day_of(at, offset(at, zone)) + 3) // 7 for at in times}) for who, times in people.items()
    }


def sessions_of(times: Sequence[int]) -> list[list[int]]:
    """The times cut where nothing came for more than half an hour."""
    out: list[list[int]] = []
    for at in times:
        if not out or at - out[-1][-1] > PAUSE:
            out.append([])
        out[-1].append(at)
    return out


def hour_of_day(at: int, zone: str | None) -> float:
    """The hour on the own clock, with its fraction; UTC without a zone.

    >>> hour_of_day(1_750_000_000, "America/Los_Angeles")
    8.11111111111111
    """
    return (at + offset(at, zone)) % DAY / 3_600


def at_night(times: Sequence[int], zone: str | None) -> float:
    """The share of times that lie in the night, from two to five."""
    return sum(NIGHT[0] <= hour_of_day(at, zone) < NIGHT[1] for at in times) / max(1, len(times))


def groups_of(people: People, zone: str | None, half: str) -> dict[str, list[str]]:
    """Who belongs to each group: how they are, and (of all people) the halves; empty groups are left out.

    Who is up at night can be told only where the zone is known.
    """
    rate = {who: len(people[who]) / weeks for who, weeks in person_weeks(people).items()}
    night = {who for who, times in people.items() if zone and at_night(times, zone) >= NIGHT_SHARE}
    found = {
        "all": list(people),
        "night people": [who for who in people if who in night],
        "day people": [who for who in people if zone and who not in night],
        "sparse": [who for who in people if rate[who] < SPARSE],
        "middle": [who for who in people if SPARSE <= rate[who] < BUSY],
        "busy": [who for who in people if rate[who] >= BUSY],
    }
    if half == "all":
        found["tuned half"] = [who for who in people if is_tuning(who)]
        found["other half"] = [who for who in people if not is_tuning(who)]
    return {name: group for name, group in found.items() if group}


@dataclass(frozen=True, slots=True)
class Opening:
    """A pattern that opened for a person at a moment; `severity` is its highest, `until` its end."""

    who: str
    pattern: str
    cause: str
    severity: str
    at: float
    until: float | None = None
    is_on: bool = True
    """Whether the pattern is on by default; those that are not are counted by themselves only."""
    medium_at: float | None = None
    """When it reached severity medium, perhaps after it opened; None: never, or it was not watched."""


def usage_patterns(settings: Settings) -> Library:
    """The library's patterns of usage but retired ones, with the overlays of the settings."""
    names = sorted(
        item.name
        for item in select(status=settings.status)
        if Path(item.path).parent.name == KIND and item.status != "retired"
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
    result: dict[str, list[Opening]] = {who: [] for who in names}
    ours = replace(settings, time_zone=zone)
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        newest = max(histories[who][-1] for who in some)
        events = [usage_event(seq, at, who) for who in some for seq, at in enumerate(histories[who])]
        as_of = datetime.fromtimestamp(newest + later, UTC)
        for item in analyze(events, library, as_of=as_of, settings=ours):
            result[item.subject].append(opening_of(item))
        if progress is not None:
            progress(start + len(some), len(names), what)
    return result


def usage_event(seq: int, at: int, who: str = "somebody") -> Event:
    """An event of kind usage, without any text, as a row of a table of times becomes."""
    moment = datetime.fromtimestamp(at, UTC)
    return Event(id=f"{who}/{seq}", at=moment, subject=who, seq=seq, kind=KIND)


def opening_of(detection: Detection) -> Opening:
    """What a detection comes to."""
    until = None if detection.closed_at is None else detection.closed_at.timestamp()
    at, is_on = detection.detected_at.timestamp(), detection.status == "stable"
    return Opening(
        detection.subject,
        detection.pattern,
        detection.cause or detection.pattern,
        detection.severity,
        at,
        until,
        is_on,
    )


def moments(times: Sequence[int], zone: str | None, *, spare: bool = False) -> list[int]:
    """Every close of a day (five in the morning on the own clock) and every beginning of a session.

    From the first event to the last. `spare`: of a long silence only some days.
    """
    first = day_of(times[0], offset(times[0], zone)) + 1
    last = day_of(times[-1], offset(times[-1], zone)) + 1
    closes = [at for day in range(first, last + 1) if (at := morning_of(day, zone) + 1) <= times[-1]]
    if spare:
        closes = [at for at in closes if (at - times[bisect_right(times, at) - 1]) // DAY in SPARE_DAYS]
    return sorted({*closes, *(item[0] for item in sessions_of(times)), times[-1]})


def morning_of(day: int, zone: str | None) -> int:
    """When a day of the own clock begins, in UTC: at five in the morning."""
    utc = day * DAY + MORNING
    return utc - offset(utc - offset(utc, zone), zone)


def asked_daily(
    times: Sequence[int], zone: str | None, numbers: Sequence[int], cohort: Cohort = COHORTS[1]
) -> list[Opening]:
    """What the statistics say at these moments, as episodes: over after a week without any severity.

    The severity is the highest one of the episode.
    """
    done: list[Opening] = []
    open_: dict[str, Opening] = {}
    for as_of, state in _states(times, zone, numbers):
        for name, finding in signals(state, as_of, cohort=cohort).findings.items():
            if finding.severity == "none":
                continue
            before = open_.get(name)
            if before is not None and as_of - (before.until or 0) <= A_WEEK:
                severity = "medium" if "medium" in (before.severity, finding.severity) else "low"
                open_[name] = replace(before, severity=severity, until=as_of)
                continue
            if before is not None:
                done.append(before)
            open_[name] = Opening("", name, CAUSES.get(name, name), finding.severity, as_of, as_of)
    return sorted([*done, *open_.values()], key=lambda item: (item.at, item.pattern))


def _states(times: Sequence[int], zone: str | None, numbers: Sequence[int]) -> Iterator[tuple[int, Summary]]:
    state, known = Summary(), 0
    for as_of in numbers:
        while known < len(times) and times[known] <= as_of:
            state = record(state, times[known], zone=zone)
            known += 1
        if state.events:
            yield as_of, state
