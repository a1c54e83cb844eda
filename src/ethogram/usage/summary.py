"""Summary of a person's use: at most 2 KB, however much they write.

Two tables of fixed-size rows, oldest first: the newest 64 half-hours in which the person was active, exact to
the second, and the newest 70 days on the own clock with their number of events and their active half-hours;
after a long absence, the newest 32 active days, however old. Rows are joined by sum, minimum, maximum or bit
or, so the summary depends on the set of events and not on their order. The one exception: an event without a
zone is placed on the clock that is known when it is recorded.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import BadUsage
from .clock import DAY, HALF_HOUR, day_of, day_start, offset, slot_of

STRETCHES = 64
DAYS = 70
ACTIVE_DAYS = 32
"""Active days that stay however old they are: the four weeks before an absence, and the days since."""
EMOTIONAL, CLOSING, MARKED, BY_SERVICE = 1, 2, 4, 8
"""Flags of an event. Rows of a summary have the first three."""
MIN_TIME, MAX_TIME = 2 * DAY, 65_000 * DAY
"""Seconds since 1970 from and before which events can be recorded: until the year 2147."""
LENGTH_STEPS = 16
"""Steps of an octave in which lengths are summed: whole numbers, so that order cannot matter."""
MAX_COUNT = 65_535
_STRETCH = struct.Struct("<IHHHHHIB")
_DAY = struct.Struct("<HHIH")


class Stretch(NamedTuple):
    """Activity in one half-hour (UTC) of one session; `session` is 0 where the event named none.

    `flags` are those of the last event.
    """

    half_hour: int
    session: int
    first: int
    last: int
    events: int
    measured: int
    octaves: int
    flags: int

    @property
    def start(self) -> int:
        """Seconds since 1970 of the first event."""
        return self.half_hour * HALF_HOUR + self.first

    @property
    def end(self) -> int:
        """Seconds since 1970 of the last event."""
        return self.half_hour * HALF_HOUR + self.last


class Day(NamedTuple):
    """One day on the own clock: events, and a mask of the 48 half-hours that were active."""

    day: int
    events: int
    active: int


class Summary(NamedTuple):
    """Use of one person. `ahead`: seconds that the own clock is ahead of UTC at the newest event, which is
    known where `zoned`."""

    first: int = 0
    newest: int = 0
    events: int = 0
    ahead: int = 0
    zoned: bool = False
    stretches: bytes = b""
    days: bytes = b""


EMPTY = Summary()


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
    """Return the summary with one more event; `at` is in seconds since 1970 UTC.

    Events of the service are not activity of the person, but their mark of a broken-off session counts.
    BadUsage where the time is out of range or the zone is unknown.
    """
    flags = EMOTIONAL * emotional | CLOSING * closing | MARKED * ended_abruptly | BY_SERVICE * (not is_user)
    return add_event(state, at, length, flags, session_mark(session), zone)


def add_event(
    state: Summary, at: float, length: int | None, flags: int, session: int, zone: str | None
) -> Summary:
    """`record` with the flags as a number and the session by its mark."""
    if not MIN_TIME <= at < MAX_TIME:
        raise BadUsage(f"at is {at!r:.40}: expected seconds since 1970, before the year 2147")
    is_user = not flags & BY_SERVICE
    if not is_user and not flags & MARKED:
        return state
    first, newest, events, known_ahead, zoned, stretches, days = state
    now = int(at)
    half_hour, second = divmod(now, HALF_HOUR)
    octaves = 0 if length is None else round(math.log2(1 + max(0, length)) * LENGTH_STEPS)
    row = (half_hour, session, second, second, is_user, length is not None, octaves, flags & ~BY_SERVICE)
    stretches = put_stretch(stretches, row)
    if not is_user:
        return Summary(first, newest, events, known_ahead, zoned, stretches, days)
    ahead = known_ahead if zone is None and zoned else offset(now, zone)
    days = put_day(days, day_of(now, ahead), 1, 1 << slot_of(now, ahead))
    zoned = zoned or zone is not None
    if not events:
        return Summary(now, now, 1, ahead, zone is not None, stretches, days)
    if now < newest or (now == newest and ahead < known_ahead):
        return Summary(min(now, first), newest, events + 1, known_ahead, zoned, stretches, days)
    return Summary(first, now, events + 1, ahead, zoned, stretches, days)


def session_mark(session: str | None) -> int:
    """The number that stands for a named session; 0 without a name."""
    return 0 if session is None else zlib.crc32(session.encode(errors="surrogatepass")) % MAX_COUNT + 1


# --- reading --------------------------------------------------------------------------------


def read_stretches(state: Summary) -> Iterator[Stretch]:
    """Yield the active half-hours, oldest first."""
    return map(Stretch._make, _STRETCH.iter_unpack(state.stretches))


def raw_stretches(state: Summary) -> Iterator[tuple[int, ...]]:
    """Yield the same as plain tuples, which is faster."""
    return _STRETCH.iter_unpack(state.stretches)


def read_days(state: Summary) -> Iterator[Day]:
    """Yield the days with any activity, oldest first, those before a long absence included."""
    return (Day(day, events, low | high << 32) for day, events, low, high in _DAY.iter_unpack(state.days))


def recent_days(state: Summary) -> list[Day]:
    """The active days among the newest 70, which is how far back a habit goes."""
    rows = list(read_days(state))
    return [row for row in rows if row.day > rows[-1].day - DAYS]


def oldest_moment(state: Summary) -> int:
    """Seconds since 1970 of the oldest thing in a summary, days to the half-hour; 0 where it is empty."""
    oldest = state.first if state.events else MAX_TIME
    if state.stretches:
        half_hour, _, second, *_ = _STRETCH.unpack_from(state.stretches)
        oldest = min(oldest, half_hour * HALF_HOUR + second)
    if state.days:
        day, _, low, high = _DAY.unpack_from(state.days)
        active = low | high << 32
        slot = (active & -active).bit_length() - 1 if active else 0
        oldest = min(oldest, day_start(day, state.ahead) + slot * HALF_HOUR)
    return oldest if oldest < MAX_TIME else 0


def known_before(state: Summary, day: int) -> Summary:
    """Return the summary with only the days before one."""
    end = len(state.days)
    while end and _DAY.unpack_from(state.days, end - _DAY.size)[0] >= day:
        end -= _DAY.size
    return state._replace(days=state.days[:end])


def stretch_count(state: Summary) -> int:
    """Number of active half-hours in the summary."""
    return len(state.stretches) // _STRETCH.size


def count_of(state: Summary, day: int) -> int:
    """Messages on a day of the own clock, which is one of the newest."""
    for end in range(len(state.days), 0, -_DAY.size):
        number, events, _, _ = _DAY.unpack_from(state.days, end - _DAY.size)
        if number <= day:
            return int(events) if number == day else 0
    return 0


# --- tables ---------------------------------------------------------------------------------


def put_stretch(table: bytes, row: tuple[int, ...]) -> bytes:
    """Return the table of half-hours with one more row, joined with that of its half-hour and session."""
    size, key = _STRETCH.size, row[:2]
    at = len(table) - size
    # Most events are in the newest half-hour, or newer than all before.
    present = _STRETCH.unpack_from(table, at) if at >= 0 else None
    if present is None or present[:2] < key:
        return (table + _STRETCH.pack(*row))[-STRETCHES * size :]
    if present[:2] != key:
        at = _place(table, _STRETCH, key)
        present = _STRETCH.unpack_from(table, at)
    if present[:2] == key:
        return table[:at] + _STRETCH.pack(*_join(present, row)) + table[at + size :]
    return (table[:at] + _STRETCH.pack(*row) + table[at:])[-STRETCHES * size :]


def _place(table: bytes, rows: struct.Struct, key: tuple[int, ...]) -> int:
    """Position of the first row whose key is not below this one; the last one's is not."""
    size, low, high = rows.size, 0, len(table) // rows.size - 1
    while low < high:
        middle = (low + high) // 2
        if rows.unpack_from(table, middle * size)[: len(key)] < key:
            low = middle + 1
        else:
            high = middle
    return low * size


def _join(row: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Join two rows of one half-hour and session; plain tuples, since most of the time goes here."""
    half_hour, session, first, last, events, measured, octaves, flags = row
    _, _, first2, last2, events2, measured2, octaves2, flags2 = other
    return (
        half_hour,
        session,
        first if first < first2 else first2,
        last if last > last2 else last2,
        min(MAX_COUNT, events + events2),
        min(MAX_COUNT, measured + measured2),
        min(2**32 - 1, octaves + octaves2),
        # Flags of the last event; of two in the same second, of both. A message after a mark undoes it.
        (flags if last >= last2 else 0) | (flags2 if last2 >= last else 0),
    )


def put_day(table: bytes, day: int, events: int, active: int) -> bytes:
    """Return the table of days with more of one day, without days too long before the newest."""
    size, low, high = _DAY.size, active & 0xFFFFFFFF, active >> 32
    at = len(table) - size
    present = _DAY.unpack_from(table, at) if at >= 0 else None
    if present is not None and present[0] > day:
        at = _place(table, _DAY, (day,))
        present = _DAY.unpack_from(table, at)
    if present is not None and present[0] == day:
        row = _DAY.pack(day, min(MAX_COUNT, present[1] + events), present[2] | low, present[3] | high)
        return table[:at] + row + table[at + size :]
    at = len(table) if present is None or present[0] < day else at
    table = table[:at] + _DAY.pack(day, events, low, high) + table[at:]
    newest = _DAY.unpack_from(table, len(table) - size)[0]
    while len(table) > ACTIVE_DAYS * size and _DAY.unpack_from(table)[0] <= newest - DAYS:
        table = table[size:]
    return table
