"""Signals of a person's use of a service against their own habit, and of sessions that break off.

The readings about habits share one state (`keeps = "person"`), moved once for each event: a bounded summary,
what the closed days say, worked out once a day, and what the closed sessions say.
"""

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
from ..usage.baseline import BUSY, closed_days, expect_day
from ..usage.clock import DAY, HOUR, day_of, day_start
from ..usage.cohort import Cohort, find_cohort
from ..usage.hours import new_hours
from ..usage.night import nights_of
from ..usage.sessions import is_closed, read_sessions
from ..usage.settings import Settings
from ..usage.summary import EMPTY, MAX_TIME, MIN_TIME, Summary, count_of, record, stretch_count
from ..usage.trends import shift_of, trend_of
from ..usage.withdrawal import (
    SPANS,
    Due,
    Outlook,
    Past,
    add_closes,
    is_fewer,
    is_quiet,
    make_outlook,
    measure_spans,
    predict,
)
from .base import Part, Range, Unmeasured, register_parts, remember_last
from .options import Options
from .text import length
from .timing import is_zone

DEFAULT_KINDS = ("usage",)
"""Kinds of events that are a person's activity where the setting `usage.kinds` does not say."""
NUMBER, SURPRISE, CHANGE, SHARE = (0, math.inf), (0, 12), (-12, 12), (0, 1)
Values = Mapping[str, float | Unmeasured]

# fmt: off
READINGS: tuple[tuple[str, Range, str], ...] = (
    ("quiet_after", NUMBER,
     "Seconds until the person counts as gone quiet, if nothing more comes from them."),
    ("quiet_days", NUMBER, "Days over which the person will then have been quiet."),
    ("quiet_seen", NUMBER, "Messages in these days."),
    ("quiet_usual", NUMBER, "Messages that were to be expected in these days."),
    ("quiet_before", SHARE, "1 where the person counted as gone quiet when the day before closed, else 0."),
    ("fewer_after", NUMBER,
     "Seconds until the person counts as one with few messages, if nothing more comes."),
    ("fewer_days", NUMBER, "Days over which messages will then have been few."),
    ("fewer_seen", NUMBER, "Messages in these days."),
    ("fewer_usual", NUMBER, "Messages that were to be expected in these days."),
    ("few_before", SHARE, "1 where messages were few when the day before closed, else 0."),
    ("busy_today", SURPRISE, "How surprising so many messages are on one day, as -log10 of the chance."),
    ("messages_today", NUMBER, "Messages of the person today so far; a day begins at five in the morning."),
    ("usual_today", NUMBER, "Messages to be expected of such a day."),
    ("night_shift", SURPRISE,
     "How surprising so much activity at night is, as -log10 of the chance in a week."),
    ("night_share", SHARE, "Share of the newest days' activity that was at night."),
    ("night_share_before", SHARE, "Share of the activity before that was at night."),
    ("zone_confidence", SHARE, "How sure the person's time zone is; 1 where it was given."),
    ("hours_shift", SURPRISE,
     "How surprising so much activity at hours never used before is, as -log10 of the chance in a week."),
    ("new_hours_share", SHARE, "Share of the newest days' activity at hours that were not used before."),
    ("zone_known", SHARE, "1 where the person's time zone was given, else 0."),
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
"""Name, range and meaning of each reading about habits."""
BROKEN_OFF_READINGS: tuple[tuple[str, Range, str], ...] = (
    ("broken_off_after", NUMBER, "Seconds until a talk left with feeling is over; 0 where marked."),
    ("feeling_left", SHARE, "How strongly the person's last message speaks of feelings; 0 in a goodbye."),
    ("marked_off", SHARE, "1 where the source has marked the talk as broken off, else 0."),
)
"""Name, range and meaning of each reading of what a person's last message left open."""
# fmt: on


def usage_kinds(options: Options) -> frozenset[str]:
    """The kinds of events that are a person's activity, by the settings."""
    return frozenset(options.usage.get("kinds", DEFAULT_KINDS))


@dataclass(frozen=True, slots=True)
class HabitOptions:
    """What the readings use of the options: kinds of events, default zone, limits and cohort."""

    kinds: frozenset[str]
    time_zone: str | None
    settings: Settings
    cohort: Cohort


@remember_last
def habit_options(options: Options) -> HabitOptions:
    """The part of the options for habits."""
    names = {field.name for field in fields(Settings)}
    limits = {name: value for name, value in options.usage.items() if name in names}
    settings = replace(Settings(), **limits, inactivity=options.session_inactivity // SECOND)
    cohort = find_cohort(options.usage.get("cohort", 1))
    return HabitOptions(usage_kinds(options), options.time_zone, settings, cohort)


# --- state ----------------------------------------------------------------------------------


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
    outlook: Outlook = Outlook()


class PersonState(NamedTuple):
    """The state beside the summary: the newest known zone, what today is compared with, and the closes, in
    seconds since 1970, at which the person will count as gone quiet and as one with few messages."""

    zone: str | None = None
    today: Today = Today()
    quiet_at: int | None = None
    few_at: int | None = None


def pack(summary: Summary, person: PersonState) -> Any:
    """Both as plain data."""
    tables = (b2a_base64(table, newline=False).decode() for table in (summary.stretches, summary.days))
    return ((*summary[:5], *tables), person)


def unpack(state: Any) -> tuple[Summary, PersonState]:
    """Both from plain data; None: nothing is known yet."""
    if state is None:
        return EMPTY, PersonState()
    (*numbers, stretches, days), (zone, today, quiet_at, few_at) = state
    *known, outlook = today
    person = PersonState(zone, Today._make([*known, Outlook(*outlook)]), quiet_at, few_at)
    return Summary._make([*numbers, a2b_base64(stretches), a2b_base64(days)]), person


# --- habits ---------------------------------------------------------------------------------


def measure_habits(event: Event, state: Any, options: Options) -> tuple[Values, Any]:
    """Every reading about the person at an event, by name, and the new state."""
    habit = habit_options(options)
    if event.kind not in habit.kinds or not event.timed:
        return {}, state
    now = micros(event.at)
    if not MIN_TIME <= now // SECOND < MAX_TIME:
        return {}, state
    summary, person = unpack(state)
    if is_by_service(event):
        return _until_quiet(person, now), state
    return _measure_own(event, now, summary, person, habit)


def _measure_own(
    event: Event, now: int, before: Summary, person: PersonState, habit: HabitOptions
) -> tuple[Values, Any]:
    settings, cohort, seconds = habit.settings, habit.cohort, now // SECOND
    zone, bad_zone = _zone(event, person.zone, habit.time_zone)
    summary = record(before, seconds, length=_length(event), session=event.session, zone=zone)
    day, today = day_of(seconds, summary.ahead), person.today
    is_new_day = (day, summary.ahead) != (today.day, before.ahead)
    if is_new_day:
        # Before the close that was predicted at the event before, nobody counts as quiet or with few. From
        # it on they do until something comes, whatever later closes would say.
        was_few = person.few_at is not None and person.few_at <= seconds
        was_quiet = person.quiet_at is not None and person.quiet_at <= seconds
        today = _today(before if was_few else None, summary, day, seconds, habit)
        today = today._replace(
            quiet_before=today.quiet_before or was_quiet, few_before=today.few_before or was_few
        )
    count = count_of(summary, day)
    quiet, few, today = _predict(today, summary, count, habit)
    values: dict[str, float | Unmeasured] = {
        **_due_values("quiet", quiet, today, now),
        **_due_values("fewer", few, today, now),
    }
    if today.outlook.stretches:
        values |= {"quiet_before": float(today.quiet_before), "few_before": float(today.few_before)}
    if today.usual is not None:
        values |= _day_values(today.usual, count)
    if is_new_day:
        values |= bad_zone or _night_values(summary, day, habit)
        values |= _hours_values(summary, day, settings)
        values |= _session_values(summary, seconds, settings)
    pause = seconds - before.newest
    if before.events and pause >= settings.absence:
        values |= _absence_values(before, seconds, pause, cohort, settings)
    quiet_at, few_at = (None if due is None else today.close + due.after * DAY for due in (quiet, few))
    return values, pack(summary, PersonState(zone, today, quiet_at, few_at))


def _length(event: Event) -> int | None:
    reading = event.readings.get("length")
    value = reading if isinstance(reading, (int, float)) else length(event)
    return None if value is None else int(min(value, 1e9))


def _zone(event: Event, known: str | None, default: str | None) -> tuple[str | None, Values]:
    """The person's zone, and what is wrong with the one that the event names."""
    name = event.attributes.get("time_zone") or default or known
    if name is None or (isinstance(name, str) and (name == known or is_zone(name))):
        return name, {}
    return known, {"night_shift": Unmeasured(f"unknown time zone {name!r:.60}")}


def _today(before: Summary | None, summary: Summary, day: int, now: int, habit: HabitOptions) -> Today:
    """What the days before today say; `before`: the summary by which the person may have been quiet."""
    cohort, settings = habit.cohort, habit.settings
    days, close = closed_days(summary, day), day_start(day + 1, summary.ahead)
    if len(days) < settings.known_days:
        return Today(day, close)
    past, spans = Past(days.events), []
    if before is not None:
        # Of a long history the oldest days have been dropped since, and on another clock days are others.
        known = closed_days(before, day_of(now, before.ahead))
        spans = measure_spans(past if known == days else Past(known.events), cohort, settings)
    expected = expect_day(days, cohort, settings)
    usual = None if expected is None else (expected.mean, expected.spread)
    return Today(day, close, is_quiet(spans), is_fewer(spans), usual, make_outlook(past, settings))


def _predict(
    today: Today, summary: Summary, count: int, habit: HabitOptions
) -> tuple[Due | None, Due | None, Today]:
    """When the person will count as quiet and as one with few messages; and today, with as many closes worked
    out as it took."""
    cohort, settings = habit.cohort, habit.settings
    if not today.outlook.stretches:
        return None, None, today
    quiet, few = predict(today.outlook, count, cohort, settings)
    furthest = SPANS[-1] if quiet is None else min(SPANS[-1], quiet.after)
    if furthest > len(today.outlook.quiet):
        past = Past(closed_days(summary, today.day).events)
        today = today._replace(outlook=add_closes(today.outlook, past, furthest, cohort, settings))
        quiet, few = predict(today.outlook, count, cohort, settings)
    return quiet, few, today


def _due_values(name: str, due: Due | None, today: Today, now: int) -> dict[str, float]:
    if due is None:
        return {}
    at = today.close + due.after * DAY
    return {
        f"{name}_after": (at * SECOND - now) / SECOND,
        f"{name}_days": float(due.days),
        f"{name}_seen": float(due.seen),
        f"{name}_usual": due.amount,
    }


def _until_quiet(person: PersonState, now: int) -> Values:
    """At an event that is not the person's own: the same closes, from here."""
    closes = (("quiet_after", person.quiet_at), ("fewer_after", person.few_at))
    return {name: (at * SECOND - now) / SECOND for name, at in closes if at is not None and at * SECOND > now}


def _day_values(usual: tuple[float, float], count: int) -> dict[str, float]:
    """How far today's messages so far are above those of a usual day; at its close, the day's own value."""
    mean, spread = usual
    surprise = surprise_of(count_at_least(count, mean, spread)) if count > BUSY * mean else 0.0
    return {"busy_today": surprise, "messages_today": float(count), "usual_today": mean}


def _night_values(summary: Summary, today: int, habit: HabitOptions) -> Values:
    nights = nights_of(summary, today, habit.cohort, habit.settings)
    if isinstance(nights, str):
        # Without the shares, which differ from event to event.
        reason = nights.partition(", so ")[0]
        return {"night_shift": Unmeasured(reason)} if reason.startswith("the time zone") else {}
    names = ("night_shift", "night_share", "night_share_before", "zone_confidence")
    return dict(zip(names, nights, strict=True))


def _hours_values(summary: Summary, today: int, settings: Settings) -> Values:
    new = new_hours(summary, today, settings)
    if new is None:
        return {}
    return {"hours_shift": new[0], "new_hours_share": new[1], "zone_known": float(summary.zoned)}


def _session_values(summary: Summary, now: int, settings: Settings) -> Values:
    values: dict[str, float] = {}
    if stretch_count(summary) <= settings.known_sessions:
        return values
    sessions = read_sessions(summary, now, settings)
    closed = [session for session in sessions if is_closed(session, now, settings)]
    if trend := trend_of(closed, now, settings):
        values["session_trend"] = trend.surprise
        values["session_minutes"] = trend.minutes
        values["session_minutes_before"] = trend.minutes_before
    if shift := shift_of(closed, settings):
        values["length_shift"] = shift.surprise
        values["length_now"] = shift.length
        values["length_before"] = shift.length_before
    return values


def _absence_values(before: Summary, now: int, pause: int, cohort: Cohort, settings: Settings) -> Values:
    """The pause before a session, where it was an absence, by what was known `before` it."""
    absence = absence_before(before, now, pause, cohort, settings)
    if absence is None:
        return {}
    return {
        "away_surprise": absence.surprise,
        "away_days": pause / DAY,
        "away_ratio": absence.ratio,
        "away_missed": absence.missed,
        "away_weight": absence.weight,
        "away_usual_hours": absence.usual / HOUR,
    }


# --- sessions that break off ----------------------------------------------------------------
#
# A broken-off session is a silence. Since the service may keep answering, its events carry the state that the
# person's last message left.

Left = tuple[int, float, bool] | None
"""When the session is over (microseconds since 1970), how strong the feeling is, and whether it is marked."""


def measure_broken_off(event: Event, state: Any, options: Options) -> tuple[Values, Any]:
    """The three readings by name, none where nothing is left open; and what is carried on."""
    if state is None and "emotional" not in event.readings and "ended_abruptly" not in event.readings:
        return {}, None
    if not event.timed:
        return {}, state
    now = micros(event.at)
    left = _left(event, now, None if state is None else (state[0], state[1], state[2]), options)
    if left is None or left[0] < now:
        return {}, None
    over, feeling, is_marked = left
    after = (over - now) / SECOND
    return {"broken_off_after": after, "feeling_left": feeling, "marked_off": float(is_marked)}, left


def _left(event: Event, now: int, before: Left, options: Options) -> Left:
    """What is left open after an event: by the person's own message, or by a mark, whoever carries it."""
    is_marked = _number(event, "ended_abruptly") >= 0.5
    if is_by_service(event):
        return (now, 0.0 if before is None else before[1], True) if is_marked else before
    feeling = 0.0 if _number(event, "closing") >= 0.5 else min(1.0, _number(event, "emotional"))
    if is_marked:
        return (now, feeling, True)
    return (now + options.session_inactivity, feeling, False) if feeling > 0 else None


def _number(event: Event, name: str) -> float:
    value = event.readings.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0


# --- registration ---------------------------------------------------------------------------


class _Habit(Part):
    scope = "subject"
    max_state_bytes = 16_384
    keeps = "person"
    together = staticmethod(measure_habits)
    kinds_by = staticmethod(usage_kinds)


class _BrokenOff(Part):
    scope = "subject"
    max_state_bytes = 100
    keeps = "left_behind"
    starts = ("emotional", "ended_abruptly")
    together = staticmethod(measure_broken_off)


register_parts(_Habit, READINGS, kinds=USAGE_KINDS)
register_parts(
    _BrokenOff, BROKEN_OFF_READINGS, kinds=USAGE_KINDS, needs=("emotional", "closing", "ended_abruptly")
)
