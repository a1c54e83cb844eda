"""Collect lines into events: ids, order, duplicates, times ahead of the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..errors import BadEvents, Fault
from ..models import Event, Value, format_time
from ..models.limits import Limits, over
from ..models.slotted import dataclass, field
from .batch import Batch, EventList, Faults, Place
from .errors import BadLine, shown
from .event_parser import Fields, Rules, complete, event_of, fields_of
from .format import Skipped
from .ledger import Ledger
from .ordering import by_order, in_order, same_content

NOT_EVENTS = "files that are not events"
MOST_NAMES = 5
"""Files left out that are named."""
MOST_STRAYS = 200
NO_TIME = "at is missing; it may be missing only for a whole source, and others of this source have it"


def latest_time(now: datetime, ahead: int | None) -> datetime | None:
    """Return the moment `ahead` microseconds after `now`; None where there is no limit.

    One event dated 9999 would make every event after it late.

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
    """Return the message for a time after the latest one allowed, with the setting that raises the limit."""
    try:
        when = format_time(at)
    except OverflowError:  # in a zone in which the year 9999 is not over when it is in UTC
        when = at.isoformat()
    return (
        f"at: {when} is in the future: expected a time up to {format_time(latest)} "
        "(to raise it: max_future: ... in ethogram.yaml)"
    )


def checked_events(events: Iterable[Event], latest: datetime | None, *, skip_bad: bool = False) -> Batch:
    """Return Event objects in order, each once; faults as in a file, by position from 1.

    Raises BadEvents where one lies in the future, unless `skip_bad`.
    """
    faults, good = Faults(Limits().faults), []
    for count, event in enumerate(events, 1):
        try:
            check_time(event.at, latest)
        except BadLine as bad:
            faults.add(Place(0, count, "events"), bad.message)
        else:
            good.append(event)
    bad_events = faults.as_tuple()
    if bad_events and not skip_bad:
        raise BadEvents(bad_events, more=faults.count - len(bad_events))
    ordered = in_order(good)
    timed = any(event.timed for event in ordered)
    return Batch(EventList(ordered), bad_events, faults.count, len(good) - len(ordered), timed)


@dataclass(slots=True)
class SourceState:
    """What is known so far of one source. `numbers` are those of `kinds` that are numbers."""

    next_seq: int = 0
    is_timed: bool = False
    is_untimed: bool = False
    kinds: dict[str, tuple[type, Place]] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    by_id: dict[str, int] = field(default_factory=dict)

    def add(self, timed: bool) -> None:
        """Note an event with or without a time."""
        if timed:
            self.is_timed = True
        else:
            self.is_untimed = True

    @property
    def is_mixed(self) -> bool:
        """Whether some events have a time while others have none."""
        return self.is_timed and self.is_untimed


class Collector:
    """Gathers events and faults; `batch` closes it. `check` raises BadLine at an event that is not wanted."""

    def __init__(self, source: str, rules: Rules, check: Callable[[Event], None] | None = None) -> None:
        self.repeated = 0
        self.skipped: Counter[str] = Counter()
        self.not_events: list[str] = []
        self.strays: Counter[str] = Counter()
        self.ledger = Ledger()
        self.faults = Faults(rules.limits.faults)
        self._check = check
        self._source = source
        self._rules = rules
        self._limits = rules.limits
        self._sources: dict[str, SourceState] = {}
        self._events: list[Event] = []
        self._places: list[Place] = []
        self._good = 0

    def add_fault(self, place: Place, message: str, column: int = 0) -> None:
        """Count a fault, and keep it if it is among the first by place; BadEvents where most are bad."""
        self.faults.add(place, message, column)
        most, count = self._limits.bad, self.faults.count
        if count > most and count > self._good:
            what = over("bad", most, f"more than {most} bad records, and fewer good ones")
            stopped = Fault(place.path, place.line, 0, f"stopped reading here: {what}")
            first = self.faults.as_tuple()[: BadEvents.SHOWN - 1]
            raise BadEvents([*first, stopped], more=count - len(first))

    def add_bad(self, place: Place, message: str, column: int = 0) -> None:
        """Count a line that is no event. It keeps its number, so that fixing it renumbers no other line."""
        self.add_fault(place, message, column)
        self._state(self._source).next_seq += 1

    def add_record(self, place: Place, value: dict[str, Any] | str, column: int) -> None:
        """Add what an adapter yields: an event line, a fault, or a record that is skipped."""
        if isinstance(value, dict):
            try:
                self.add(place, value)
            except BadLine as bad:
                self.add_fault(place, bad.message)
        elif isinstance(value, Skipped):
            self.skipped[str(value)] += 1
        else:
            self.add_bad(place, value, column)

    def add(self, place: Place, line: Mapping[str, Any]) -> None:
        """Make an event of a line; BadLine where it is none or does not fit those before it."""
        source = line.get("source")
        source = source if isinstance(source, str) and source else self._source
        state = self._state(source)
        number = state.next_seq
        state.next_seq += 1  # before any check fails, as in add_bad
        fields = fields_of(line, self._rules)
        check_time(fields.get("at"), self._rules.latest)
        self._take(state, complete(fields, source, number, self._rules.latest), place)
        self._good += 1

    def _take(self, state: SourceState, fields: Fields, place: Place) -> None:
        if (known := state.by_id.get(fields["id"])) is not None:
            event = event_of(fields)
            if not same_content(self._events[known], event):
                raise BadLine(id_conflict(event.id, self._places[known]))
            self.repeated += 1
            return
        check_kinds(state, fields.get("readings", {}), place)
        self._append(state, event_of(fields), place)

    def _append(self, state: SourceState, event: Event, place: Place) -> None:
        if len(self._events) >= self._limits.events:
            raise too_many(place, self._limits.events)
        if self._check is not None:
            self._check(event)
        state.by_id[event.id] = len(self._events)
        state.add(event.timed)
        self._events.append(event)
        self._places.append(place)

    def add_strays(self, strays: Mapping[str, int]) -> None:
        """Count cells of columns that look like misspelt signals; of no more than MOST_STRAYS columns."""
        for name, count in strays.items():
            if name in self.strays or len(self.strays) < MOST_STRAYS:
                self.strays[name] += count

    def skip_file(self, name: str, reason: str = "") -> None:
        """Count a file of a folder that is not of events; the names of the first few are kept."""
        self.skipped[NOT_EVENTS] += 1
        if len(self.not_events) < MOST_NAMES:
            self.not_events.append(f"{name} ({reason})" if reason else name)

    def left_out(self) -> dict[str, int]:
        """Return how much was left out, by what it was: on purpose, or since no format knows it."""
        return {**self.skipped, **self.ledger.left_out()}

    def add_unread(self, place: Place, reason: str, *, is_skippable: bool) -> None:
        """Count a file that cannot be read: as skipped, or as a fault where something of it would be lost."""
        if is_skippable:
            self.skip_file(place.path, reason)
        else:
            self.add_fault(place, reason)

    def batch(self, files: int) -> Batch:
        """Return what was gathered, in order, without untimed events of sources that have times."""
        mixed = set(self.mixed_sources())
        for event, place in zip(self._events, self._places, strict=True) if mixed else ():
            if not event.timed and event.source in mixed:
                self.add_fault(place, NO_TIME)
        events = [event for event in self._events if event.timed or event.source not in mixed]
        events.sort(key=by_order)
        return Batch(EventList(events), **self._summary(all(event.timed for event in events), files))

    def _summary(self, timed: bool, files: int) -> dict[str, Any]:
        return {
            "bad": self.faults.as_tuple(),
            "bad_count": self.faults.count,
            "repeated": self.repeated,
            "timed": timed,
            "files": files,
            "skipped": self.left_out(),
            "not_events": tuple(self.not_events),
            "strays": dict(self.strays),
        }

    def mixed_sources(self) -> list[str]:
        """Return the sources of which some events have a time while others have none."""
        return [name for name, state in self._sources.items() if state.is_mixed]

    def _state(self, name: str) -> SourceState:
        if (state := self._sources.get(name)) is None:
            state = self._sources[name] = SourceState()
        return state


def check_kinds(state: SourceState, readings: Mapping[str, Value], place: Place) -> None:
    """Note the kind of every new name; BadLine where a known one comes with another kind."""
    if readings.keys() <= state.numbers and set(map(type, readings.values())) <= _NUMBERS:
        return
    for name, value in readings.items():
        known, known_place = state.kinds.get(name, (type(value), place))
        if known is not type(value):
            is_now, was = ("text", "a number") if known is float else ("a number", "text")
            raise BadLine(f"reading {shown(name)} is {is_now} here and {was} at {known_place}")
    for name, value in readings.items():
        if state.kinds.setdefault(name, (type(value), place))[0] is float:
            state.numbers.add(name)


_NUMBERS = {float}


def too_many(place: Place, most: int) -> BadEvents:
    """Return the error for the first event over the limit."""
    return BadEvents([Fault(place.path, place.line, 0, over("events", most, f"more than {most} events"))])


def id_conflict(name: str, other: Place) -> str:
    """Return the message for an event whose id another has."""
    return f"the id {shown(name)} has other content at {other}"
