"""Summary: what is kept of a person, at most 2 KB however much they write.

Two tables of fixed-size rows, oldest first: the newest 64 half-hours in which the person was active, exact to
the second, and the newest 70 days on the own clock with their number of events and which half-hours were
active; of who was away for long, their newest 32 active days, however old. A row is a sum, a minimum, a
maximum or an or; and "the newest n keys" of a set does not depend on order. So the state is a function of the
*set* of events, whatever the order they came in; only where some of them say their zone and some do not, an
event without one is on the clock that is known when it is recorded.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..errors import BadUsage
from .clock import HALF_HOUR, day_of, offset, slot_of

STRETCHES = 64
DAYS = 70
ACTIVE_DAYS = 32
"""Active days that are kept however old they are: the four weeks before an absence, and the days since."""
EMOTIONAL, CLOSING, MARKED = 1, 2, 4
_STRETCH = struct.Struct("<IHHHHHIB")
_DAY = struct.Struct("<HHIH")
_MOST = 65_535
IN_TIME = (2 * 86_400, 65_000 * 86_400)
"""Seconds since 1970 from and before which events can be recorded: until the year 2147."""
LENGTH_STEPS = 16
"""Steps of an octave in which lengths are summed, as whole numbers so that order cannot matter."""


class Stretch(NamedTuple):
    """The person's activity in one half-hour (UTC) of one session; `session` is 0 where none was given."""

    half_hour: int
    session: int
    first: int
    last: int
    events: int
    measured: int
    octaves: int
    flags: int
    """Of the last event: was it emotional, was it a closing turn, was it marked as broken off."""


class Day(NamedTuple):
    """One day on the own clock: events, and a mask of the 48 half-hours that were active."""

    day: int
    events: int
    active: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of a person. Empty: nothing."""

    first: int = 0
    newest: int = 0
    events: int = 0
    ahead: int = 0
    """Seconds the own clock is ahead of UTC, at the newest event; whether that is known: `zoned`."""
    zoned: bool = False
    stretches: bytes = b""
    days: bytes = b""


def record(
    state: Summary,
    at: float,
    *,
    length: int | None = None,
    is_user: bool = True,
    emotional: bool = False,
    closing: bool = False,
    ended_abruptly: bool = False,
    session: str | None = None,
    zone: str | None = None,
) -> Summary:
    """The state with one more event. What the service itself wrote is no activity of the person.

    `at` is in seconds since 1970 UTC. The mark of a broken-off session counts whoever carries it. Without a
    zone the event is on the clock that the person is known to be on; order of recording matters only for
    that. BadUsage where the time is not one of our days, or the zone has no meaning.
    """
    if not IN_TIME[0] <= at < IN_TIME[1]:
        raise BadUsage(f"at is {at!r:.40}; it must be in seconds since 1970, and before the year 2147")
    if not is_user and not ended_abruptly:
        return state
    now = int(at)
    ahead = state.ahead if zone is None and state.zoned else offset(now, zone)
    flags = EMOTIONAL * emotional | CLOSING * closing | MARKED * ended_abruptly
    octaves = 0 if length is None else round(math.log2(1 + max(0, length)) * LENGTH_STEPS)
    name = session_mark(session)
    second = now % HALF_HOUR
    row = (now // HALF_HOUR, name, second, second, int(is_user), int(length is not None), octaves, flags)
    stretches = put_stretch(state.stretches, row)
    if not is_user:
        return Summary(
            state.first, state.newest, state.events, state.ahead, state.zoned, stretches, state.days
        )
    mask = 1 << slot_of(now, ahead)
    days = put_day(state.days, day_of(now, ahead), 1, mask)
    if not state.events:
        return Summary(now, now, 1, ahead, zone is not None, stretches, days)
    first, newest = state.first, state.newest
    is_newest = now > newest or (now == newest and ahead >= state.ahead)
    return Summary(
        now if now < first else first,
        now if is_newest else newest,
        state.events + 1,
        ahead if is_newest else state.ahead,
        state.zoned or zone is not None,
        stretches,
        days,
    )


def session_mark(session: str | None) -> int:
    """The number by which a named session is kept; 0 without a name."""
    return 0 if session is None else zlib.crc32(session.encode(errors="surrogatepass")) % _MOST + 1


def merge(summary: Summary, other: Summary) -> Summary:
    """The summary of all events of both, as if they had been recorded in one."""
    if not summary.events or not other.events:
        full, rest = (summary, other) if summary.events else (other, summary)
        stretches = full.stretches
        for row in read_stretches(rest):
            stretches = put_stretch(stretches, row)
        return Summary(full.first, full.newest, full.events, full.ahead, full.zoned, stretches, full.days)
    stretches, days = summary.stretches, summary.days
    for row in read_stretches(other):
        stretches = put_stretch(stretches, row)
    for day in read_days(other):
        days = put_day(days, *day)
    newest = max((summary.newest, summary.ahead), (other.newest, other.ahead))
    zoned = summary.zoned or other.zoned
    return Summary(
        min(summary.first, other.first),
        newest[0],
        summary.events + other.events,
        newest[1],
        zoned,
        stretches,
        days,
    )


def read_stretches(state: Summary) -> Iterator[Stretch]:
    """The active half-hours, oldest first."""
    return map(Stretch._make, _STRETCH.iter_unpack(state.stretches))


def raw_stretches(state: Summary) -> Iterator[tuple[int, ...]]:
    """The same as plain rows, for where it must be fast."""
    return _STRETCH.iter_unpack(state.stretches)


def read_days(state: Summary) -> Iterator[Day]:
    """The days with any activity, oldest first; also those from before a long absence."""
    return (Day(day, events, low | high << 32) for day, events, low, high in _DAY.iter_unpack(state.days))


def recent_days(state: Summary) -> list[Day]:
    """Those of the newest 70 days, which is how far back a habit goes."""
    rows = list(read_days(state))
    return [row for row in rows if row.day > rows[-1].day - DAYS]


def known_before(state: Summary, day: int) -> Summary:
    """The state with only the days before one: what was known of them then."""
    end = len(state.days)
    while end and _DAY.unpack_from(state.days, end - _DAY.size)[0] >= day:
        end -= _DAY.size
    return replace(state, days=state.days[:end])


def stretch_count(state: Summary) -> int:
    """How many active half-hours are kept."""
    return len(state.stretches) // _STRETCH.size


def count_of(state: Summary, day: int) -> int:
    """Messages on a day of the own clock, which is one of the newest."""
    for end in range(len(state.days), 0, -_DAY.size):
        found, events, _, _ = _DAY.unpack_from(state.days, end - _DAY.size)
        if found <= day:
            return int(events) if found == day else 0
    return 0


def put_stretch(table: bytes, row: tuple[int, ...]) -> bytes:
    """The table of half-hours with one row more, joined with that of the same half-hour and session."""
    size, key = _STRETCH.size, row[:2]
    at = len(table) - size
    # Most events are in the newest half-hour, or newer than all before.
    found = _STRETCH.unpack_from(table, at) if at >= 0 else None
    if found is None or found[:2] < key:
        return (table + _STRETCH.pack(*row))[-STRETCHES * size :]
    if found[:2] != key:
        at = _place(table, _STRETCH, key)
        found = _STRETCH.unpack_from(table, at)
    if found[:2] == key:
        return table[:at] + _STRETCH.pack(*_joined(found, row)) + table[at + size :]
    return (table[:at] + _STRETCH.pack(*row) + table[at:])[-STRETCHES * size :]


def _place(table: bytes, rows: struct.Struct, key: tuple[int, ...]) -> int:
    """Where in the table the first row stands whose key is not below this one; the last one's is not."""
    size, low, high = rows.size, 0, len(table) // rows.size - 1
    while low < high:
        middle = (low + high) // 2
        if rows.unpack_from(table, middle * size)[: len(key)] < key:
            low = middle + 1
        else:
            high = middle
    return low * size


def _joined(numbers: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Two rows of one half-hour and session as one; plain tuples, since most of the time goes here."""
    half_hour, session, first, last, events, measured, octaves, flags = numbers
    _, _, first2, last2, events2, measured2, octaves2, flags2 = other
    # The last one's own flags; of two in the same second, both's. Who writes after a mark did not break off.
    both = (flags if last >= last2 else 0) | (flags2 if last2 >= last else 0)
    return (
        half_hour,
        session,
        first if first < first2 else first2,
        last if last > last2 else last2,
        min(_MOST, events + events2),
        min(_MOST, measured + measured2),
        min(2**32 - 1, octaves + octaves2),
        both,
    )


def put_day(table: bytes, day: int, events: int, active: int) -> bytes:
    """The table of days with more of one day; those too long before the newest are left out, but for the
    newest active ones."""
    size, low, high = _DAY.size, active & 0xFFFFFFFF, active >> 32
    at = len(table) - size
    found = _DAY.unpack_from(table, at) if at >= 0 else None
    if found is not None and found[0] > day:
        at = _place(table, _DAY, (day,))
        found = _DAY.unpack_from(table, at)
    if found is not None and found[0] == day:
        row = _DAY.pack(day, min(_MOST, found[1] + events), found[2] | low, found[3] | high)
        return table[:at] + row + table[at + size :]
    at = len(table) if found is None or found[0] < day else at
    table = table[:at] + _DAY.pack(day, events, low, high) + table[at:]
    newest = _DAY.unpack_from(table, len(table) - size)[0]
    while len(table) > ACTIVE_DAYS * size and _DAY.unpack_from(table)[0] <= newest - DAYS:
        table = table[size:]
    return table
