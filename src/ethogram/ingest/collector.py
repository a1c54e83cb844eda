"""Collect lines into events: ids, order, duplicates, times ahead of the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..errors import BadEvents, Fault
from ..models import Event, Value, format_time
from ..models.limits import Limits, over
from .batch import Batch, Faults, Place
from .errors import BadLine, shown
from .event_parser import Fields, Rules, completed, event_of, fields_of
from .ordering import by_order, in_order, same_content

# The latest time an event may have: one dated 9999 would make every event after it late.


def latest_time(now: datetime, ahead: int | None) -> datetime | None:
    """The moment `ahead` microseconds after `now`; None where there is no limit.

    >>> from datetime import UTC
    >>> latest_time(datetime(2026, 1, 1, tzinfo=UTC), 86_400_000_000).isoformat()
    '2026-01-02T00:00:00+00:00'
    """
    if ahead is None:
        return None
    try:
        return now + timedelta(microseconds=ahead)
    except OverflowError:  # past the year 9999: no time can be later
        return None


def check_time(at: datetime | None, latest: datetime | None) -> None:
    """Raise BadLine where a time lies after the latest one allowed."""
    if latest is not None and at is not None and at > latest:
        raise BadLine(future_message(at, latest))


def future_message(at: datetime, latest: datetime) -> str:
    """What is wrong with a time after the latest one allowed, and which setting raises the limit."""
    try:
        when = format_time(at)
    except OverflowError:  # in a zone in which the year 9999 is not over when it is in UTC
        when = at.isoformat()
    return (
        f"at: {when} is in the future: expected a time up to {format_time(latest)} "
        "(to raise it: max_future: ... in ethogram.yaml)"
    )


def checked_events(events: Iterable[Event], latest: datetime | None, *, skip_bad: bool = False) -> Batch:
    """Event objects in order, each once; faults as in a file, by position from 1.

    Raises BadEvents where one lies in the future, unless `skip_bad`.
    """
    faults, good, count = Faults(Limits().faults), [], 0
    for count, event in enumerate(events, 1):
        try:
            check_time(event.at, latest)
        except BadLine as bad:
            faults.add(Place(0, count, "events"), bad.message)
        else:
            good.append(event)
    bad_events: tuple[Fault, ...] = faults.told()
    if bad_events and not skip_bad:
        raise BadEvents(bad_events, more=faults.count - len(bad_events))
    ordered = in_order(good)
    timed = any(item.timed for item in ordered)
    return Batch(ordered, bad_events, faults.count, len(good) - len(ordered), timed)


# Lines become events: numbered, named, timed or not as a whole source, and each once.

NOT_EVENTS = "files that are not events"
NAMED = 5
"""Files left out that are named."""
MOST_STRAYS = 200
NO_TIME = "at is missing; it may be missing only for a whole source, and others of this source have it"


@dataclass(slots=True)
class Seen:
    """What is known so far of one source."""

    next_seq: int = 0
    is_timed: bool = False
    is_untimed: bool = False
    kinds: dict[str, tuple[type, Place]] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    """Those of `kinds` that are numbers."""
    by_id: dict[str, int] = field(default_factory=dict)

    def saw(self, timed: bool) -> None:
        """Note an event that is kept."""
        if timed:
            self.is_timed = True
        else:
            self.is_untimed = True


class Collector:
    """Gathers events and faults; `batch` closes it. `check` raises BadLine at an event that is not wanted."""

    def __init__(self, source: str, rules: Rules, check: Callable[[Event], None] | None = None) -> None:
        self.repeated = 0
        self._check = check
        self.skipped: Counter[str] = Counter()
        self.not_events: list[str] = []
        self.strays: Counter[str] = Counter()
        self._source = source
        self._rules = rules
        self._limits = rules.limits
        self._sources: dict[str, Seen] = {}
        self._events: list[Event] = []
        self._places: list[Place] = []
        self.faults = Faults(rules.limits.faults)
        self._good = 0

    def add_fault(self, place: Place, message: str, column: int = 0) -> None:
        """Count a fault, and keep it if it is among the first by place; BadEvents where most are bad."""
        self.faults.add(place, message, column)
        if self.faults.count > self._limits.bad and self.faults.count > self._good:
            raise mostly_bad(self.faults, place, self._limits.bad)

    def add_bad(self, place: Place, message: str, column: int = 0) -> None:
        """Count a line that says nothing. It keeps its number, so that mending it renumbers no other line."""
        self.add_fault(place, message, column)
        self._state(self._source).next_seq += 1

    def add(self, place: Place, line: Mapping[str, Any]) -> None:
        """Make an event of a line; BadLine where it is none or does not fit those before it."""
        record = line.get("source")
        source = record if isinstance(record, str) and record else self._source
        state = self._state(source)
        number = state.next_seq
        state.next_seq += 1  # before anything is found bad, as in add_bad
        fields = fields_of(line, self._rules)
        check_time(fields.get("at"), self._rules.latest)
        self._take(state, completed(fields, source, number, self._rules.latest), place)
        self._good += 1

    def _take(self, state: Seen, fields: Fields, place: Place) -> None:
        if (known := state.by_id.get(fields["id"])) is not None:
            self._repeat(known, event_of(fields))
            return
        check_kinds(state, fields.get("readings", {}), place)
        self._keep(state, event_of(fields), place)

    def add_strays(self, record: Mapping[str, int]) -> None:
        """Count cells of columns that look like misspelt signals; of no more than MOST_STRAYS columns."""
        for name, count in record.items():
            if name in self.strays or len(self.strays) < MOST_STRAYS:
                self.strays[name] += count

    def skip_file(self, name: str) -> None:
        """Count a file of a folder that is not of events, and keep the names of the first few."""
        self.skipped[NOT_EVENTS] += 1
        if len(self.not_events) < NAMED:
            self.not_events.append(name)

    def _keep(self, state: Seen, event: Event, place: Place) -> None:
        if len(self._events) >= self._limits.events:
            raise too_many(place, self._limits.events)
        if self._check is not None:
            self._check(event)
        state.by_id[event.id] = len(self._events)
        state.saw(event.timed)
        self._events.append(event)
        self._places.append(place)

    def batch(self, files: int) -> Batch:
        """What was gathered, in order, without the events that have no time in a source that has times."""
        mixed = set(self.mixed_sources())
        for event, place in zip(self._events, self._places, strict=True) if mixed else ():
            if not event.timed and event.source in mixed:
                self.add_fault(place, NO_TIME)
        events = [event for event in self._events if event.timed or event.source not in mixed]
        events.sort(key=by_order)
        timed = all(event.timed for event in events)
        return Batch(
            tuple(events),
            self.faults.told(),
            self.faults.count,
            self.repeated,
            timed,
            files,
            dict(self.skipped),
            tuple(self.not_events),
            dict(self.strays),
        )

    def mixed_sources(self) -> list[str]:
        """Sources some of whose events have a time while others have none."""
        return [name for name, source in self._sources.items() if source.is_timed and source.is_untimed]

    def _state(self, name: str) -> Seen:
        if (state := self._sources.get(name)) is None:
            state = self._sources[name] = Seen()
        return state

    def _repeat(self, known: int, event: Event) -> None:
        if not same_content(self._events[known], event):
            raise BadLine(clash(event.id, self._places[known]))
        self.repeated += 1


def check_kinds(state: Seen, readings: Mapping[str, Value], place: Place) -> None:
    """Note the kind of every new name; BadLine where a known one has not kept its own."""
    if readings.keys() <= state.numbers and set(map(type, readings.values())) <= _NUMBERS:
        return
    new: list[str] = []
    for name, value in readings.items():
        if (known := state.kinds.get(name)) is None:
            new.append(name)
        elif known[0] is not type(value):
            is_now, was = ("text", "a number") if known[0] is float else ("a number", "text")
            raise BadLine(f"reading {shown(name)} is {is_now} here and {was} at {known[1]}")
    for name in new:
        state.kinds[name] = (type(readings[name]), place)
        if type(readings[name]) is float:
            state.numbers.add(name)


_NUMBERS = {float}


def too_many(place: Place, most: int) -> BadEvents:
    """What is wrong with the event that is one too many."""
    return BadEvents([Fault(place.path, place.line, 0, over("events", most, f"more than {most} events"))])


def mostly_bad(faults: Faults, place: Place, most: int) -> BadEvents:
    """The first faults of an input that is not read any further, and why it is not."""
    what = over("bad", most, f"more than {most} bad records, and fewer good ones")
    stopped = Fault(place.path, place.line, 0, f"stopped reading here: {what}")
    told = faults.told()[: BadEvents.SHOWN - 1]
    return BadEvents([*told, stopped], more=faults.count - len(told))


def clash(name: str, other: Place) -> str:
    """What is wrong with an event whose id another has."""
    return f"the id {shown(name)} has other content at {other}"
