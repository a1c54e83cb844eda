"""A person's use of a service, as events come: one bounded summary for all readings about people.

What depends on closed days alone is worked out once a day, and what depends on closed sessions at the
start of the next one. The readings all keep one state (`keeps = "person"`), moved on once for each event.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...records import Event, micros
from ...records.roles import is_by_service
from ...usage.clock import MORNING, day_of
from ...usage.cohort import Cohort
from ...usage.frequency import usual_day
from ...usage.habit import closed_days
from ...usage.outlook import NOTHING, Ahead, Outlook, ahead, outlook, with_closes
from ...usage.quiet import SPANS, Past, is_fewer, is_quiet, look
from ...usage.settings import DAY, Settings
from ...usage.summary import IN_TIME, Summary, count_of, record
from ..define import Unmeasured
from ..length import length
from ..options import Options
from ..zones import is_zone
from .limits import Limits, limits_of
from .values import of_an_absence, of_sessions, of_the_day, of_the_night

SECOND = 1_000_000
Values = Mapping[str, float | Unmeasured]


class Today(NamedTuple):
    """What the days before today say, worked out at the first event of a day on the own clock.

    `close` is when the day closes, in seconds since 1970; `usual` the mean and spread of messages on such a
    day. `quiet_before` and `few_before` are as of the close before.
    """

    day: int = -1
    close: int = 0
    quiet_before: bool = False
    few_before: bool = False
    usual: tuple[float, float] | None = None
    ahead: Outlook = NOTHING


class Person(NamedTuple):
    """What is kept of a person beside the summary: the newest known zone, what today is
    compared with, and the closes, in seconds since 1970, at which the person will count as gone
    quiet and as one with few messages."""

    zone: str | None = None
    today: Today = Today()
    quiet_at: int | None = None
    few_at: int | None = None


def packed(summary: Summary, person: Person) -> Any:
    """Both as plain data."""
    first, newest, events, ahead_, zoned = (
        summary.first, summary.newest, summary.events, summary.ahead, summary.zoned,
    )  # fmt: skip
    tables = (_text(summary.stretches), _text(summary.days))
    return ((first, newest, events, ahead_, zoned, *tables), person)


def unpacked(state: Any) -> tuple[Summary, Person]:
    """Both from plain data; None: nothing is known yet."""
    if state is None:
        return Summary(), Person()
    (first, newest, events, ahead_, zoned, stretches, days), (zone, today, quiet_at, few_at) = state
    summary = Summary(first, newest, events, ahead_, zoned, a2b_base64(stretches), a2b_base64(days))
    day, close, quiet_before, few_before, usual, coming = today
    known = Today(day, close, quiet_before, few_before, usual, Outlook(*coming))
    return summary, Person(zone, known, quiet_at, few_at)


def _text(table: bytes) -> str:
    return b2a_base64(table, newline=False).decode()


def measure_person(event: Event, state: Any, options: Options) -> tuple[Values, Any]:
    """Every reading about the person at this event, by name, and the state as plain data."""
    limits = limits_of(options)
    if event.kind not in limits.kinds or not event.timed:
        return {}, state
    now = micros(event.at)
    if not IN_TIME[0] <= now // SECOND < IN_TIME[1]:
        return {}, state
    summary, person = unpacked(state)
    if is_by_service(event):
        return _until_quiet(person, now), state
    return _moved(event, now, summary, person, limits)


def _moved(event: Event, now: int, before: Summary, person: Person, limits: Limits) -> tuple[Values, Any]:
    settings, cohort, seconds = limits.settings, limits.cohort, now // SECOND
    zone, bad_zone = _zone(event, person.zone, limits.time_zone)
    summary = record(before, seconds, length=_length(event), session=event.session, zone=zone)
    day, today = day_of(seconds, summary.ahead), person.today
    is_new_day = (day, summary.ahead) != (today.day, before.ahead)
    if is_new_day:
        # Before the close that was told at the event before, nobody counts as quiet or as one with few.
        is_due = person.few_at is not None and person.few_at <= seconds
        today = _today(before if is_due else None, summary, day, seconds, cohort, settings)
        # What a close told lasts until something comes, whatever later closes would have made of it.
        was_quiet = person.quiet_at is not None and person.quiet_at <= seconds
        today = today._replace(
            quiet_before=today.quiet_before or was_quiet, few_before=today.few_before or is_due
        )
    count = count_of(summary, day)
    quiet, few, today = _ahead(today, summary, count, cohort, settings)
    values: dict[str, float | Unmeasured] = {}
    quiet_at, few_at = _told(values, "quiet", quiet, today, now), _told(values, "fewer", few, today, now)
    if today.ahead.stretches:
        values |= {"quiet_before": float(today.quiet_before), "few_before": float(today.few_before)}
    if today.usual is not None:
        values |= of_the_day(today.usual, count)
    if is_new_day:
        values |= bad_zone or of_the_night(summary, day, cohort, settings)
        values |= of_sessions(summary, seconds, settings)
    if before.events and seconds - before.newest >= settings.absence:
        values |= of_an_absence(before, seconds, seconds - before.newest, cohort, settings)
    return values, packed(summary, Person(zone, today, quiet_at, few_at))


def _length(event: Event) -> int | None:
    told = event.readings.get("length")
    found = told if isinstance(told, (int, float)) else length(event)
    return None if found is None else int(min(found, 1e9))


def _zone(event: Event, known: str | None, default: str | None) -> tuple[str | None, Values]:
    """The person's zone, and what is wrong with the one that the event names."""
    name = event.attributes.get("time_zone") or default or known
    if name is None or (isinstance(name, str) and (name == known or is_zone(name))):
        return name, {}
    return known, {"night_shift": Unmeasured(f"unknown time zone {name!r:.60}")}


def _today(
    before: Summary | None, summary: Summary, day: int, now: int, cohort: Cohort, settings: Settings
) -> Today:
    """What the days before today say. Whether the person had gone quiet is told by what was then known."""
    days = closed_days(summary, day_of(summary.first, summary.ahead), day)
    close = (day + 1) * DAY + MORNING - summary.ahead
    if len(days) < settings.known_days:
        return Today(day, close)
    past, spans = Past(days.events), []
    if before is not None:
        # Of a long history the oldest days have been forgotten since, and on another clock days are others.
        known = closed_days(before, day_of(before.first, before.ahead), day_of(now, before.ahead))
        spans = look(past if known == days else Past(known.events), cohort, settings)
    usual = usual_day(days, cohort, settings)
    return Today(
        day,
        close,
        is_quiet(spans),
        is_fewer(spans),
        None if usual is None else (usual.mean, usual.spread),
        outlook(past, settings),
    )


def _ahead(
    today: Today, summary: Summary, count: int, cohort: Cohort, settings: Settings
) -> tuple[Ahead | None, Ahead | None, Today]:
    """When the person will count as quiet and as one with few messages; and today, with as many closes worked
    out as it took."""
    if not today.ahead.stretches:
        return None, None, today
    quiet, few = ahead(today.ahead, count, cohort, settings)
    furthest = SPANS[-1] if quiet is None else min(SPANS[-1], quiet.after)
    if furthest > len(today.ahead.quiet):
        past = closed_days(summary, day_of(summary.first, summary.ahead), today.day)
        more = with_closes(today.ahead, Past(past.events), furthest, cohort, settings)
        today = today._replace(ahead=more)
        quiet, few = ahead(today.ahead, count, cohort, settings)
    return quiet, few, today


def _told(
    values: dict[str, float | Unmeasured], name: str, found: Ahead | None, today: Today, now: int
) -> int | None:
    if found is None:
        return None
    at = today.close + found.after * DAY
    values[f"{name}_after"] = (at * SECOND - now) / SECOND
    values[f"{name}_days"] = float(found.days)
    values[f"{name}_seen"] = float(found.seen)
    values[f"{name}_usual"] = found.amount
    return at


def _until_quiet(person: Person, now: int) -> Values:
    """At an event that is not the person's own: the same closes, from here."""
    told = (("quiet_after", person.quiet_at), ("fewer_after", person.few_at))
    return {name: (at * SECOND - now) / SECOND for name, at in told if at is not None and at * SECOND > now}
