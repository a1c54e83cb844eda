"""Retention: what may be kept of a summary as the days go by, and what is kept, for the person to read.

Where only aggregates may be kept, half-hours, durations and counts are left of a day that is over. Nothing
is kept beyond the retention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..models import format_time, moment
from .clock import DAY, HALF_HOUR, MORNING, day_of, hour_of, slot_of
from .event import BY_SERVICE
from .finding import SEVERITIES
from .records import UsageDay, UsageEvent, UsageHalfHour, UsagePerson, UsageTold
from .sessions import LONG_PAUSE
from .settings import Settings
from .signals import Episode, signal_names
from .summary import (
    CLOSING,
    EMOTIONAL,
    LENGTH_STEPS,
    MARKED,
    Day,
    Stretch,
    Summary,
    put_day,
    put_stretch,
    raw_stretches,
    read_days,
    read_stretches,
    record,
    session_mark,
)

if TYPE_CHECKING:
    from .store import Person, StoredEvent, UsageStore


NAMES = 65_535


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be kept: seconds of the past, and whether moments of past days stay exact."""

    retention: int
    exact: bool


def retained(state: Summary, now: float, policy: Policy, newest: float | None = None) -> Summary | None:
    """Return what may still be kept of a summary; None where that is nothing.

    `newest`: the moment that the retention counts back from, where that is not `now` (see `oldest_kept`).
    """
    left = forget_before(state, oldest_kept(now if newest is None else newest, policy))
    return left if left is None or policy.exact else coarse(left, now)


def oldest_kept(newest: float, policy: Policy) -> int:
    """The moment before which nothing is kept: the retention before the newest, on a half-hour.

    Half-hours go as a whole, so that what is kept of events and what is kept by half-hours stay the same.
    """
    return _cut(int(newest) - policy.retention)


def due(state: Summary, policy: Policy) -> int:
    """When `retained` has something to do next, if nothing is added until then."""
    oldest = min(_moments(state), default=0)
    at = _cut(oldest) + HALF_HOUR + policy.retention
    if policy.exact:
        return at
    fine = [item for item in (state.first, state.newest) if item % HALF_HOUR]
    for half_hour, session, second, *_ in raw_stretches(state):
        # What was cut to half-hours has a name and begins with one; it is not due again.
        if not session or second:
            fine.append(half_hour * HALF_HOUR + second)
            break
    return min([at, *(_day_start(item, state.ahead) + DAY for item in fine)])


def _moments(state: Summary) -> Iterator[int]:
    """The first moments of everything in a summary."""
    if state.events:
        yield state.first
    for row in read_stretches(state):
        yield row.half_hour * HALF_HOUR + row.first
        break
    for day in read_days(state):
        yield _first_slot(day, state.ahead)
        break


def _first_slot(day: Day, ahead: int) -> int:
    slot = (day.active & -day.active).bit_length() - 1 if day.active else 0
    return day.day * DAY + MORNING + slot * HALF_HOUR - ahead


def _day_start(at: float, ahead: int) -> int:
    return day_of(int(at), ahead) * DAY + MORNING - ahead


# --- less ---------------------------------------------------------------------------------------


def forget_before(state: Summary, at: int) -> Summary | None:
    """The summary without what lies before a moment; None where nothing is left.

    Of the day that the moment falls in, what is kept by half-hours stays; the rest of that day goes too.
    """
    if min(_moments(state), default=0) >= at:
        return state if state.events or state.stretches else None
    rows = [
        stretch for stretch in read_stretches(state) if stretch.half_hour * HALF_HOUR + stretch.first >= at
    ]
    days = [day for day in read_days(state) if day.day * DAY + MORNING - state.ahead >= at]
    broken = day_of(at, state.ahead)
    if not any(day.day == broken for day in days):
        days = [*_days_of(rows, broken, state.ahead), *days]
    events = sum(day.events for day in days)
    if not events and not rows:
        return None
    table, calendar = b"", b""
    for row in rows:
        table = put_stretch(table, row)
    for day in days:
        calendar = put_day(calendar, *day)
    left = replace(state, events=events, stretches=table, days=calendar)
    if not events:
        return replace(left, first=0, newest=0)
    return replace(left, first=min(_moments(replace(left, first=state.newest))))


def _days_of(rows: Iterable[Stretch], day: int, ahead: int) -> list[Day]:
    """One day as its half-hours tell it; none where they tell nothing."""
    mine = [row for row in rows if row.events and day_of(row.half_hour * HALF_HOUR + row.first, ahead) == day]
    mask = 0
    for item in mine:
        mask |= 1 << slot_of(item.half_hour * HALF_HOUR + item.first, ahead)
    return [Day(day, sum(item.events for item in mine), mask)] if mine else []


# --- less exact ---------------------------------------------------------------------------------


def coarse(state: Summary, now: float) -> Summary:
    """The summary with every moment before the own day of `now` cut to its half-hour.

    A session begins on the half-hour then and is as long as it was; sessions that were apart stay apart,
    since each gets a name, told from the half-hour it began in. What goes on over the close of a day is cut
    there: however long a name or a session lasts, no moment of it stays longer than its day.
    """
    begin = _day_start(now, state.ahead)
    table = b""
    for session in _sessions(state):
        end = max(map(_end, session))
        for row in _on_the_half_hour(session, end) if _start(session[0]) < begin else session:
            table = put_stretch(table, row)
    first = _cut(state.first) if state.first < begin else state.first
    newest = _cut(state.newest) if state.newest < begin else state.newest
    return replace(state, first=first, newest=newest, stretches=table)


def _cut(at: int) -> int:
    return at // HALF_HOUR * HALF_HOUR


def _sessions(state: Summary) -> list[list[Stretch]]:
    """Half-hours of one day that belong together: by name, and with no long pause between."""
    pause = Settings().inactivity
    last: dict[int, list[Stretch]] = {}
    stretcheses: list[list[Stretch]] = []
    for row in read_stretches(state):
        before, start = last.get(row.session), _start(row)
        longest = pause * (LONG_PAUSE if row.session else 1)
        # A name may last for weeks: its days are cut as they close.
        is_one = before is not None and day_of(start, state.ahead) == day_of(_start(before[0]), state.ahead)
        if before is not None and is_one and start - _end(before[-1]) <= longest:
            before.append(row)
            continue
        last[row.session] = [row]
        stretcheses.append(last[row.session])
    return stretcheses


def _start(row: Stretch) -> int:
    return row.half_hour * HALF_HOUR + row.first


def _end(row: Stretch) -> int:
    return row.half_hour * HALF_HOUR + row.last


def _on_the_half_hour(rows: list[Stretch], end: int) -> list[Stretch]:
    """The half-hours of a session moved back so that it begins with one."""
    moved = end - rows[0].first
    name = rows[0].session or rows[0].half_hour % NAMES + 1
    final = moved // HALF_HOUR
    stretches: list[Stretch] = []
    for row in rows:
        place = min(row.half_hour, final)
        last = moved % HALF_HOUR if place == final else HALF_HOUR - 1
        new = row._replace(half_hour=place, session=name, first=0, last=last)
        if stretches and stretches[-1].half_hour == place:
            stretches[-1] = _both(stretches[-1], new)
        else:
            stretches.append(new)
    return stretches


def _both(stretch: Stretch, later: Stretch) -> Stretch:
    return later._replace(
        events=min(NAMES, stretch.events + later.events),
        measured=min(NAMES, stretch.measured + later.measured),
        octaves=min(2**32 - 1, stretch.octaves + later.octaves),
        flags=later.flags,
    )


# --- cut inside a half-hour or a day ----------------------------------------------------------------


def rebuild(state: Summary, before: int, events: Sequence[StoredEvent]) -> Summary | None:
    """Return the summary of the events that are stored, oldest first, after others before a moment went.

    Days are counted again, and the half-hour that the moment lies in; later half-hours stay as they were.
    None where there is no event.
    """
    if not events:
        return None
    half_hour = before // HALF_HOUR
    rows = list(read_stretches(state))
    table = days = b""
    for event in events:
        if event.at // HALF_HOUR == half_hour:
            table = put_stretch(table, _stretch(event, [row for row in rows if row.half_hour == half_hour]))
    for row in rows:
        if row.half_hour > half_hour:
            table = put_stretch(table, row)
    own = [event for event in events if not event.flags & BY_SERVICE]
    for event in own:
        ahead = _clock_ahead(event, state)
        days = put_day(days, day_of(event.at, ahead), 1, 1 << slot_of(event.at, ahead))
    first, newest = (own[0].at, own[-1].at) if own else (0, 0)
    return replace(state, first=first, newest=newest, events=len(own), stretches=table, days=days)


def _clock_ahead(event: StoredEvent, state: Summary) -> int:
    return event.ahead if event.ahead is not None else state.ahead if state.zoned else 0


def _stretch(event: StoredEvent, known: Sequence[Stretch]) -> Stretch:
    """An event as a row, in the session of the half-hour that it was counted in."""
    flags = event.flags
    item = record(
        Summary(),
        event.at,
        length=event.length,
        is_user=not flags & BY_SERVICE,
        emotional=bool(flags & EMOTIONAL),
        closing=bool(flags & CLOSING),
        ended_abruptly=bool(flags & MARKED),
    )
    (row,) = read_stretches(item)
    return row._replace(session=0 if event.session is None else _session(event, row.first, known))


def _session(event: StoredEvent, second: int, known: Sequence[Stretch]) -> int:
    # After a rotation the name in the table is another than that which the mark was told from.
    told = session_mark((event.session or b"").hex())
    marks = [item.session for item in known if item.session and item.first <= second <= item.last]
    return told if told in marks or not marks else marks[0]


# --- for the person themselves ------------------------------------------------------------------------


def own_data(store: UsageStore, name: bytes, person: Person | None) -> Iterator[dict[str, Any]]:
    """Yield everything stored about a person: events, days, half-hours, reports, and who looked."""
    looks = list(store.looks(name))
    if person is not None:
        yield _person(person).to_dict()
        yield from (_event(event).to_dict() for event in store.events(name))
        yield from (_day(day).to_dict() for day in read_days(person.state))
        yield from (_half_hour(stretch).to_dict() for stretch in read_stretches(person.state))
        told = sorted(person.told, key=lambda item: item.opened)
        yield from (_told(item).to_dict() for item in told)
    yield from (look.to_dict() for look in looks)


def _time(at: float) -> datetime:
    return moment(int(at) * 1_000_000)


def _person(person: Person) -> UsagePerson:
    state = person.state
    return UsagePerson(
        person=person.name.hex(),
        events=state.events,
        first_at=_time(state.first) if state.events else None,
        last_at=_time(state.newest) if state.events else None,
        clock_ahead=state.ahead if state.zoned else None,
    )


def _event(stored_event: StoredEvent) -> UsageEvent:
    return UsageEvent(
        at=_time(stored_event.at),
        length=stored_event.length,
        is_user=not stored_event.flags & BY_SERVICE,
        **_flags(stored_event.flags),
        session=None if stored_event.session is None else stored_event.session.hex(),
        clock_ahead=stored_event.ahead,
    )


def _day(day: Day) -> UsageDay:
    hours = [hour_of(slot) for slot in range(48) if day.active >> slot & 1]
    date = format_time(moment(day.day * 86_400_000_000))[:10]
    return UsageDay(day=date, events=day.events, active_hours=hours)


def _half_hour(stretch: Stretch) -> UsageHalfHour:
    begin = stretch.half_hour * HALF_HOUR
    return UsageHalfHour(
        first_at=_time(begin + stretch.first),
        last_at=_time(begin + stretch.last),
        events=stretch.events,
        typical_length=2 ** (stretch.octaves / LENGTH_STEPS / stretch.measured) - 1
        if stretch.measured
        else None,
        **_flags(stretch.flags),
    )


def _flags(flags: int) -> dict[str, bool]:
    return {
        "emotional": bool(flags & EMOTIONAL),
        "closing": bool(flags & CLOSING),
        "ended_abruptly": bool(flags & MARKED),
    }


def _told(episode: Episode) -> UsageTold:
    return UsageTold(
        signal=signal_names().get(episode.signal, str(episode.signal)),
        severity=SEVERITIES[episode.severity],
        since=_time(episode.opened),
        last=_time(episode.last),
    )
