"""Retention: how long and how exactly a summary is kept, and what is kept, for the person to read.

Nothing is kept beyond the retention. Where only aggregates may be kept, a day that is over has half-hours,
durations and counts left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ..models import format_time, moment
from ..models.slotted import dataclass
from .clock import DAY, HALF_HOUR, SLOTS, day_of, day_start, hour_of, slot_of
from .finding import SEVERITIES
from .records import UsageDay, UsageEventRecord, UsageHalfHour, UsagePerson, UsageReported
from .sessions import LONG_PAUSE
from .settings import Settings
from .signals import signal_names
from .summary import (
    BY_SERVICE,
    CLOSING,
    EMOTIONAL,
    EMPTY,
    LENGTH_STEPS,
    MARKED,
    MAX_COUNT,
    Day,
    Stretch,
    Summary,
    add_event,
    oldest_moment,
    put_day,
    put_stretch,
    raw_stretches,
    read_days,
    read_stretches,
    session_mark,
)

if TYPE_CHECKING:
    from .store import Person, UsageStore


class StoredEvent(NamedTuple):
    """One event of a file. `ahead`: seconds that the own clock was ahead of UTC, if known."""

    at: int
    length: int | None
    flags: int
    session: str | None
    ahead: int | None


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be kept: seconds of the past, and whether moments of past days stay exact."""

    retention: int
    exact: bool


def retained(state: Summary, now: float, policy: Policy, newest: float | None = None) -> Summary | None:
    """Return what may still be kept of a summary; None where that is nothing.

    `newest`: the moment that the retention counts back from, where that is not `now` (see `retention_start`).
    """
    left = forget_before(state, retention_start(now if newest is None else newest, policy))
    return left if left is None or policy.exact else coarse(left, now)


def retention_start(newest: float, policy: Policy) -> int:
    """The moment before which nothing is kept, on a half-hour.

    Half-hours go as a whole, so that events and summaries lose the same.
    """
    return _floor(int(newest) - policy.retention)


def due(state: Summary, policy: Policy) -> int:
    """When `retained` has something to do next, if nothing is added until then."""
    at = _floor(oldest_moment(state)) + HALF_HOUR + policy.retention
    if policy.exact:
        return at
    fine = [item for item in (state.first, state.newest) if item % HALF_HOUR]
    for half_hour, session, second, *_ in raw_stretches(state):
        # What was cut to half-hours has a name and begins with one; it is not due again.
        if not session or second:
            fine.append(half_hour * HALF_HOUR + second)
            break
    return min([at, *(day_start(day_of(item, state.ahead) + 1, state.ahead) for item in fine)])


def _floor(at: int) -> int:
    return at // HALF_HOUR * HALF_HOUR


# --- removing -------------------------------------------------------------------------------


def forget_before(state: Summary, at: int) -> Summary | None:
    """Return the summary without what lies before a moment; None where nothing is left.

    Of the day that the moment falls in, what the half-hours tell stays.
    """
    if oldest_moment(state) >= at:
        return state if state.events or state.stretches else None
    rows = [row for row in read_stretches(state) if row.start >= at]
    days = [day for day in read_days(state) if day_start(day.day, state.ahead) >= at]
    broken = day_of(at, state.ahead)
    if not any(day.day == broken for day in days):
        days = [*_day_from(rows, broken, state.ahead), *days]
    events = sum(day.events for day in days)
    if not events and not rows:
        return None
    calendar = b""
    for day in days:
        calendar = put_day(calendar, *day)
    left = state._replace(events=events, stretches=_table(rows), days=calendar)
    if not events:
        return left._replace(first=0, newest=0)
    return left._replace(first=oldest_moment(left._replace(first=state.newest)))


def _day_from(rows: Iterable[Stretch], day: int, ahead: int) -> list[Day]:
    """One day as its half-hours tell it; none where they tell nothing."""
    own = [row for row in rows if row.events and day_of(row.start, ahead) == day]
    mask = 0
    for row in own:
        mask |= 1 << slot_of(row.start, ahead)
    return [Day(day, sum(row.events for row in own), mask)] if own else []


def _table(rows: Iterable[Stretch]) -> bytes:
    table = b""
    for row in rows:
        table = put_stretch(table, row)
    return table


def rebuild(state: Summary, before: int, events: Sequence[StoredEvent]) -> Summary | None:
    """Return the summary of the stored events, oldest first, after others before a moment were removed.

    Days are counted again, and the half-hour that the moment lies in; later half-hours stay as they were.
    None where there is no event.
    """
    if not events:
        return None
    half_hour = before // HALF_HOUR
    rows = list(read_stretches(state))
    cut = [row for row in rows if row.half_hour == half_hour]
    again = [_stretch(event, cut) for event in events if event.at // HALF_HOUR == half_hour]
    own = [event for event in events if not event.flags & BY_SERVICE]
    days = b""
    for event in own:
        ahead = event.ahead if event.ahead is not None else state.ahead if state.zoned else 0
        days = put_day(days, day_of(event.at, ahead), 1, 1 << slot_of(event.at, ahead))
    first, newest = (own[0].at, own[-1].at) if own else (0, 0)
    table = _table([*again, *(row for row in rows if row.half_hour > half_hour)])
    return state._replace(first=first, newest=newest, events=len(own), stretches=table, days=days)


def _stretch(event: StoredEvent, rows: Sequence[Stretch]) -> Stretch:
    """An event as a row, in the session of the half-hour that it was counted in."""
    (row,) = read_stretches(add_event(EMPTY, event.at, event.length, event.flags, 0, None))
    if event.session is None:
        return row
    # After a rotation the hash of the session differs from the one that the mark was made from.
    mark = session_mark(event.session)
    marks = [item.session for item in rows if item.session and item.first <= row.first <= item.last]
    return row._replace(session=mark if mark in marks or not marks else marks[0])


# --- coarsening -----------------------------------------------------------------------------


def coarse(state: Summary, now: float) -> Summary:
    """Return the summary with every moment before the own day of `now` cut to its half-hour.

    A session then begins on the half-hour and is as long as it was. Sessions that were apart stay apart:
    each gets a name from the half-hour it began in. A session over the close of a day is cut there.
    """
    begin = day_start(day_of(now, state.ahead), state.ahead)
    rows: list[Stretch] = []
    for session in _sessions(state):
        rows += _on_the_half_hour(session) if session[0].start < begin else session
    first, newest = (_floor(at) if at < begin else at for at in (state.first, state.newest))
    return state._replace(first=first, newest=newest, stretches=_table(rows))


def _sessions(state: Summary) -> list[list[Stretch]]:
    """Half-hours of one day that belong together: by name, and with no long pause between."""
    pause = Settings().inactivity
    latest: dict[int, list[Stretch]] = {}
    sessions: list[list[Stretch]] = []
    for row in read_stretches(state):
        session = latest.get(row.session)
        longest = pause * (LONG_PAUSE if row.session else 1)
        # A name may last for weeks: its days are cut as they close.
        if (
            session is not None
            and day_of(row.start, state.ahead) == day_of(session[0].start, state.ahead)
            and row.start - session[-1].end <= longest
        ):
            session.append(row)
            continue
        latest[row.session] = [row]
        sessions.append(latest[row.session])
    return sessions


def _on_the_half_hour(rows: list[Stretch]) -> list[Stretch]:
    """The half-hours of a session moved back so that it begins with one."""
    moved = max(row.end for row in rows) - rows[0].first
    name = rows[0].session or rows[0].half_hour % MAX_COUNT + 1
    final = moved // HALF_HOUR
    stretches: list[Stretch] = []
    for row in rows:
        place = min(row.half_hour, final)
        last = moved % HALF_HOUR if place == final else HALF_HOUR - 1
        new = row._replace(half_hour=place, session=name, first=0, last=last)
        if stretches and stretches[-1].half_hour == place:
            before = stretches.pop()
            new = new._replace(
                events=min(MAX_COUNT, before.events + new.events),
                measured=min(MAX_COUNT, before.measured + new.measured),
                octaves=min(2**32 - 1, before.octaves + new.octaves),
            )
        stretches.append(new)
    return stretches


# --- export ---------------------------------------------------------------------------------


def own_data(store: UsageStore, name: str, person: Person | None) -> Iterator[dict[str, Any]]:
    """Yield everything stored about a person: events, days, half-hours, reports, and who looked."""
    looks = store.rows.looks(name)
    if person is not None:
        state = person.state
        yield UsagePerson(
            person=person.name,
            events=state.events,
            first_at=_time(state.first) if state.events else None,
            last_at=_time(state.newest) if state.events else None,
            clock_ahead=state.ahead if state.zoned else None,
        ).to_dict()
        yield from (_event_record(event).to_dict() for event in store.events(name))
        yield from (_day_record(day).to_dict() for day in read_days(state))
        yield from (_stretch_record(stretch).to_dict() for stretch in read_stretches(state))
        for episode in sorted(person.episodes, key=lambda item: item.opened):
            yield UsageReported(
                signal=signal_names().get(episode.signal, str(episode.signal)),
                severity=SEVERITIES[episode.severity],
                since=_time(episode.opened),
                last=_time(episode.last),
            ).to_dict()
    yield from (look.to_dict() for look in looks)


def _time(at: float) -> datetime:
    return moment(int(at) * 1_000_000)


def _flag_fields(flags: int) -> dict[str, bool]:
    return {
        "emotional": bool(flags & EMOTIONAL),
        "closing": bool(flags & CLOSING),
        "ended_abruptly": bool(flags & MARKED),
    }


def _event_record(event: StoredEvent) -> UsageEventRecord:
    return UsageEventRecord(
        at=_time(event.at),
        length=event.length,
        is_user=not event.flags & BY_SERVICE,
        **_flag_fields(event.flags),
        session=event.session,
        clock_ahead=event.ahead,
    )


def _day_record(day: Day) -> UsageDay:
    hours = [hour_of(slot) for slot in range(SLOTS) if day.active >> slot & 1]
    return UsageDay(day=format_time(_time(day.day * DAY))[:10], events=day.events, active_hours=hours)


def _stretch_record(row: Stretch) -> UsageHalfHour:
    return UsageHalfHour(
        first_at=_time(row.start),
        last_at=_time(row.end),
        events=row.events,
        typical_length=2 ** (row.octaves / LENGTH_STEPS / row.measured) - 1 if row.measured else None,
        **_flag_fields(row.flags),
    )
