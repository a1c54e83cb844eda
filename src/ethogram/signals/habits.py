"""Signals of a person's use of a service, against the person's own habit."""

from __future__ import annotations

import math
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from ..models import Event, micros
from ..models.constants import USAGE_KINDS
from ..models.roles import is_by_service
from ..models.timestamps import SECOND
from ..stats import count_at_least, surprise_of
from ..usage.absence import absence_before
from ..usage.activity import usual_day
from ..usage.baseline import Cohort, closed_days, find_cohort
from ..usage.clock import DAY, HOUR, MORNING, day_of
from ..usage.night import nights_of
from ..usage.sessions import is_closed, read_sessions
from ..usage.settings import Settings
from ..usage.summary import IN_TIME, Summary, count_of, record, stretch_count
from ..usage.trends import shift_of, trend_of
from ..usage.withdrawal import (
    NOTHING,
    SPANS,
    Ahead,
    Outlook,
    Past,
    ahead,
    is_fewer,
    is_quiet,
    look,
    outlook,
    with_closes,
)
from .base import Range, Unmeasured, signal
from .options import Options
from .text import length
from .timing import is_zone

# Readings about a person's use of a service, each against the person's own habit: docs/people.md.
#
# They are for events of the kinds that the setting `usage.kinds` names. All of them keep one state between
# them, so that a person is remembered once however many are asked for.

"""Kinds of events that may be a person's activity; the setting `usage.kinds` says which of them are."""
PLAIN = ("usage",)
"""Those that are where nothing is set."""
NUMBER, SURPRISE, CHANGE, SHARE = (0, math.inf), (0, 12), (-12, 12), (0, 1)
Found = Mapping[str, float | Unmeasured]

READINGS: tuple[tuple[str, Range, str], ...] = (
    (
        "quiet_after",
        NUMBER,
        "Seconds until the person counts as gone quiet, if nothing more comes from them.",
    ),
    ("quiet_days", NUMBER, "Days over which the person will then have been quiet."),
    ("quiet_seen", NUMBER, "Messages in these days."),
    ("quiet_usual", NUMBER, "Messages that were to be expected in these days."),
    ("quiet_before", SHARE, "1 where the person counted as gone quiet when the day before closed, else 0."),
    (
        "fewer_after",
        NUMBER,
        "Seconds until the person counts as one with few messages, if nothing more comes.",
    ),
    ("fewer_days", NUMBER, "Days over which messages will then have been few."),
    ("fewer_seen", NUMBER, "Messages in these days."),
    ("fewer_usual", NUMBER, "Messages that were to be expected in these days."),
    ("few_before", SHARE, "1 where messages were few when the day before closed, else 0."),
    ("busy_today", SURPRISE, "How surprising so many messages are on one day, as -log10 of the chance."),
    ("messages_today", NUMBER, "Messages of the person today so far; a day begins at five in the morning."),
    ("usual_today", NUMBER, "Messages to be expected of such a day."),
    (
        "night_shift",
        SURPRISE,
        "How surprising so much activity at night is, as -log10 of the chance in a week.",
    ),
    ("night_share", SHARE, "Share of the newest days' activity that was at night."),
    ("night_share_before", SHARE, "Share of the activity before that was at night."),
    ("zone_confidence", SHARE, "How sure the person's time zone is; 1 where it was given."),
    ("session_trend", CHANGE, "How surprisingly longer (above 0) or shorter the newest sessions are."),
    ("session_minutes", NUMBER, "Minutes of a typical one of the newest sessions."),
    ("session_minutes_before", NUMBER, "Minutes of a typical session before."),
    ("away_surprise", SURPRISE, "How surprising the pause before this session is, of two days or more."),
    ("away_days", NUMBER, "Days of that pause."),
    ("away_ratio", NUMBER, "How many times as long it is as the longest pause of the four weeks before."),
    ("away_missed", NUMBER, "Messages missed in it, by the measure of the quietest week before."),
    ("away_weight", (-12, 12), "log10 of (1 + messages missed) x (pause / longest pause before)."),
    ("away_usual_hours", NUMBER, "Hours of a usual pause of this person."),
    ("length_shift", CHANGE, "How surprisingly longer (above 0) or shorter the newest messages are."),
    ("length_now", NUMBER, "Characters of a typical message of the newest sessions."),
    ("length_before", NUMBER, "Characters of a typical message before."),
)
"""Name, range and meaning of each."""


def measure_all_habits(event: Event, state: Any, options: Options) -> tuple[Found, Any]:
    """Every reading here at an event, by name, and what is now known of the person."""
    # Here and not above: who measures nobody's habits need not wait for it.

    return measure_person(event, state, options)


def usage_kinds(options: Options) -> frozenset[str]:
    """The kinds of events that are a person's activity, by the settings."""
    return frozenset(options.usage.get("kinds", PLAIN))


class _Habit:
    """One reading of a person's habit."""

    scope = "subject"
    start: Any = None
    max_state_bytes = 16_384
    keeps = "person"
    together = staticmethod(measure_all_habits)
    kinds_by = staticmethod(usage_kinds)
    name = ""

    def measure(self, event: Event, state: Any, options: Options) -> tuple[float | Unmeasured | None, Any]:
        """The reading, and what is now known of the person."""
        found, state = measure_all_habits(event, state, options)
        return found.get(self.name), state


for _name, _range, _meaning in READINGS:
    signal(_name, range=_range, kinds=USAGE_KINDS)(
        type(f"Habit_{_name}", (_Habit,), {"__doc__": _meaning, "__module__": __name__, "name": _name})
    )


# The limits that readings about people go by, as the settings say.


@dataclass(frozen=True, slots=True)
class Limits:
    """Which kinds of events count, where people live who do not say, and by what they are measured."""

    kinds: frozenset[str]
    time_zone: str | None
    settings: Settings
    cohort: Cohort


_newest: tuple[Options | None, Limits | None] = (None, None)


def limits_of(options: Options) -> Limits:
    """The limits of these options; worked out once for as long as the options are the same."""
    global _newest
    known, limits = _newest
    if limits is None or known is not options:
        limits = _limits(options)
        _newest = (options, limits)
    return limits


def _limits(options: Options) -> Limits:
    names = {field.name for field in fields(Settings)}
    given = {name: value for name, value in options.usage.items() if name in names}
    settings = replace(Settings(), **given, inactivity=options.session_inactivity // 1_000_000)
    cohort = find_cohort(options.usage.get("cohort", 1))
    return Limits(usage_kinds(options), options.time_zone, settings, cohort)


# What is said of a person at one event: of the day so far, of the nights, of sessions, and of an absence.


def of_the_day(usual: tuple[float, float], count: int) -> dict[str, float]:
    """How far today's messages so far are above those of a usual day; by its close, the day's own value."""
    mean, spread = usual
    # Twice a usual day is never far from ordinary, and less says nothing: the day is not over.
    surprise = surprise_of(count_at_least(count, mean, spread)) if count > 2 * mean else 0.0
    return {"busy_today": surprise, "messages_today": float(count), "usual_today": mean}


def of_the_night(
    summary: Summary, today: int, cohort: Cohort, settings: Settings
) -> Mapping[str, float | Unmeasured]:
    """The share of the newest closed days' activity that was at night, against that before."""
    found = nights_of(summary, today, cohort, settings)
    if isinstance(found, str):
        return {"night_shift": Unmeasured(found)} if found.startswith("the time zone") else {}
    return {
        "night_shift": found.surprise,
        "night_share": found.share,
        "night_share_before": found.share_before,
        "zone_confidence": found.confidence,
    }


def of_sessions(summary: Summary, now: int, settings: Settings) -> Mapping[str, float]:
    """What the closed sessions, and the messages in them, have become."""
    values: dict[str, float] = {}
    if stretch_count(summary) <= settings.known_sessions:
        return values
    closed = [
        session for session in read_sessions(summary, now, settings) if is_closed(session, now, settings)
    ]
    if trend := trend_of(closed, now, settings):
        values["session_trend"] = trend.surprise
        values["session_minutes"] = trend.minutes
        values["session_minutes_before"] = trend.minutes_before
    if shift := shift_of(closed, settings):
        values["length_shift"] = shift.surprise
        values["length_now"] = shift.length
        values["length_before"] = shift.length_before
    return values


def of_an_absence(
    before: Summary, now: int, pause: int, cohort: Cohort, settings: Settings
) -> Mapping[str, float]:
    """The pause before a session, where it was an absence, by what was known `before` it."""
    found = absence_before(before, now, pause, cohort, settings)
    if found is None:
        return {}
    return {
        "away_surprise": found.surprise,
        "away_days": pause / DAY,
        "away_ratio": found.ratio,
        "away_missed": found.missed,
        "away_weight": found.weight,
        "away_usual_hours": found.usual / HOUR,
    }


# A person's use of a service, as events come: one bounded summary for all readings about people.
#
# What depends on closed days alone is worked out once a day, and what depends on closed sessions at the
# start of the next one. The readings all keep one state (`keeps = "person"`), moved on once for each event.

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
    values: dict[str, float | Unmeasured], name: str, result: Ahead | None, today: Today, now: int
) -> int | None:
    if result is None:
        return None
    at = today.close + result.after * DAY
    values[f"{name}_after"] = (at * SECOND - now) / SECOND
    values[f"{name}_days"] = float(result.days)
    values[f"{name}_seen"] = float(result.seen)
    values[f"{name}_usual"] = result.amount
    return at


def _until_quiet(person: Person, now: int) -> Values:
    """At an event that is not the person's own: the same closes, from here."""
    told = (("quiet_after", person.quiet_at), ("fewer_after", person.few_at))
    return {name: (at * SECOND - now) / SECOND for name, at in told if at is not None and at * SECOND > now}


# broken_off_after, feeling_left and marked_off: how a person's talk stands, until they write again.
#
# Nobody writes that they broke off, so it is a silence; and since a service answers what it is told, and may
# go on for long, its own events carry on what the person's last message left behind.

HALF = 0.5
"""From how sure on a message counts as a closing one, and a session as marked."""
Left = tuple[int, float, bool] | None
"""When the talk is over, in microseconds since 1970, how strong the feeling is, and whether it is marked."""

BROKEN_OFF_READINGS: tuple[tuple[str, Range, str], ...] = (
    ("broken_off_after", (0, math.inf), "Seconds until a talk left with feeling is over; 0 where marked."),
    ("feeling_left", (0, 1), "How strongly the person's last message speaks of feelings; 0 in a goodbye."),
    ("marked_off", (0, 1), "1 where the source has marked the talk as broken off, else 0."),
)  # fmt: skip
"""Name, range and meaning of each."""


def measure_what_is_left(event: Event, state: Any, options: Options) -> tuple[Mapping[str, float], Any]:
    """The three readings by name, none where nothing is left open; and what is carried on."""
    readings = event.readings
    if state is None and "emotional" not in readings and "ended_abruptly" not in readings:
        return {}, None
    if not event.timed:
        return {}, state
    now = micros(event.at)
    left = _left(event, now, None if state is None else (state[0], state[1], state[2]), options)
    if left is None or left[0] < now:
        return {}, None
    over, feeling, is_marked = left
    values = {
        "broken_off_after": (over - now) / SECOND,
        "feeling_left": feeling,
        "marked_off": float(is_marked),
    }
    return values, left


def _left(event: Event, now: int, before: Left, options: Options) -> Left:
    """What is left open after an event: by the person's own message, or by a mark, whoever carries it."""
    is_marked = _number(event, "ended_abruptly") >= HALF
    if is_by_service(event):
        return (now, 0.0 if before is None else before[1], True) if is_marked else before
    feeling = 0.0 if _number(event, "closing") >= HALF else min(1.0, _number(event, "emotional"))
    if is_marked:
        return (now, feeling, True)
    return (now + options.session_inactivity, feeling, False) if feeling > 0 else None


def _number(event: Event, name: str) -> float:
    value = event.readings.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0


class _LeftBehind:
    """One reading of what a person's last message left behind."""

    scope = "subject"
    start: Any = None
    max_state_bytes = 100
    keeps = "left_behind"
    together = staticmethod(measure_what_is_left)
    name = ""

    def measure(self, event: Event, state: Any, options: Options) -> tuple[float | None, Any]:
        """The reading, and what is carried on."""
        found, state = measure_what_is_left(event, state, options)
        return found.get(self.name), state


for _broken_off_name, _broken_off_range, _broken_off_meaning in BROKEN_OFF_READINGS:
    signal(
        _broken_off_name,
        range=_broken_off_range,
        kinds=USAGE_KINDS,
        needs=("emotional", "closing", "ended_abruptly"),
    )(
        type(
            f"Left_{_broken_off_name}",
            (_LeftBehind,),
            {"__doc__": _broken_off_meaning, "__module__": __name__, "name": _broken_off_name},
        )
    )
