"""Broken: a summary cut inside a half-hour or a day, put right from the events that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .clock import HALF_HOUR, day_of, slot_of
from .seen import BY_SERVICE
from .shelf import KeptEvent
from .summary import (
    CLOSING,
    EMOTIONAL,
    MARKED,
    Stretch,
    Summary,
    put_day,
    put_stretch,
    read_stretches,
    record,
    session_mark,
)


def without(state: Summary, before: int, kept: Sequence[KeptEvent]) -> Summary | None:
    """The summary of the events that are kept, oldest first; `state` has those before a moment, too.

    Days are counted anew, and the half-hour that the moment lies in; later half-hours are as they were. None
    where no event is kept.
    """
    if not kept:
        return None
    half_hour = before // HALF_HOUR
    rows = list(read_stretches(state))
    table = days = b""
    for event in kept:
        if event.at // HALF_HOUR == half_hour:
            table = put_stretch(table, _row(event, [one for one in rows if one.half_hour == half_hour]))
    for row in rows:
        if row.half_hour > half_hour:
            table = put_stretch(table, row)
    own = [one for one in kept if not one.flags & BY_SERVICE]
    for event in own:
        ahead = _ahead(event, state)
        days = put_day(days, day_of(event.at, ahead), 1, 1 << slot_of(event.at, ahead))
    first, newest = (own[0].at, own[-1].at) if own else (0, 0)
    return replace(state, first=first, newest=newest, events=len(own), stretches=table, days=days)


def _ahead(event: KeptEvent, state: Summary) -> int:
    return event.ahead if event.ahead is not None else state.ahead if state.zoned else 0


def _row(event: KeptEvent, known: Sequence[Stretch]) -> Stretch:
    """An event as a row, in the session of the half-hour that it was counted in."""
    flags = event.flags
    one = record(
        Summary(),
        event.at,
        length=event.length,
        is_user=not flags & BY_SERVICE,
        emotional=bool(flags & EMOTIONAL),
        closing=bool(flags & CLOSING),
        ended_abruptly=bool(flags & MARKED),
    )
    (row,) = read_stretches(one)
    return row._replace(session=0 if event.session is None else _mark(event, row.first, known))


def _mark(event: KeptEvent, second: int, known: Sequence[Stretch]) -> int:
    # After a rotation the name in the table is another than that which the mark was told from.
    told = session_mark((event.session or b"").hex())
    marks = [one.session for one in known if one.session and one.first <= second <= one.last]
    return told if told in marks or not marks else marks[0]
