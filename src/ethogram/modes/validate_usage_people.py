"""People of a set: when each of them was there, who is known well enough, and groups of them.

Only times are taken from a set; nothing of it is written anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import BadUsage
from ..ingest import read_events
from ..records import Event
from ..records.roles import is_by_service
from ..usage.clock import DAY, day_of, offset

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


def read_people(file: Path) -> People:
    """Everybody in a file of events, conversations or rows with times; BadUsage where it has no times."""
    events = read_events([file]).events
    if not any(event.timed for event in events):
        raise BadUsage(f"{file.name} has no times, so nothing can be told of habits")
    return people_of(events)


def people_of(events: Iterable[Event]) -> People:
    """When each person was there; what assistants, systems and tools wrote is nobody's activity."""
    found: dict[str, list[int]] = {}
    for event in events:
        if not is_by_service(event):
            found.setdefault(event.subject, []).append(int(event.at.timestamp()))
    return {who: sorted(times) for who, times in sorted(found.items())}


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
