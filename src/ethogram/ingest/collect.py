"""Lines become events: numbered, named, timed or not as a whole source, and each once."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..errors import BadEvents, Fault
from ..records import EPOCH, Event, Value, default_id, format_time
from .errors import BadLine, shown
from .event_line import Fields, fields_of
from .limits import over
from .order import by_order, same_content
from .readings import Rules

LAST_SECOND = 253_402_300_799
"""The last whole second of the year 9999, which is as far as an untimed source can count."""
NOT_EVENTS = "files that are not events"
NAMED = 5
"""Files left out that are named."""
MOST_STRAYS = 200
NO_TIME = "at is missing; it may be missing only for a whole source, and others of this source have it"


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that was read.

    `timed` is true where every event has a time of its own. `repeated` counts events that came again with the
    same content. `skipped` counts what was left out on purpose, by what it was, and `not_events` names the
    first files of it. `strays` counts the cells of table columns that look like misspelt signals.
    """

    events: tuple[Event, ...]
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    repeated: int = 0
    timed: bool = True
    files: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    not_events: tuple[str, ...] = ()
    strays: Mapping[str, int] = field(default_factory=dict)


class Place(NamedTuple):
    """A line of a file; `file` is the file's position among those read, so that places sort as read."""

    file: int
    line: int
    path: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(slots=True)
class _Source:
    """What is known so far of one source."""

    next_seq: int = 0
    is_timed: bool = False
    is_untimed: bool = False
    kinds: dict[str, tuple[type, Place]] = field(default_factory=dict)
    by_id: dict[str, int] = field(default_factory=dict)


class Collector:
    """Gathers events and faults; `batch` closes it."""

    def __init__(self, source: str, rules: Rules) -> None:
        self.repeated = 0
        self.skipped: Counter[str] = Counter()
        self.not_events: list[str] = []
        self.strays: Counter[str] = Counter()
        self._source = source
        self._rules = rules
        self._limits = rules.limits
        self._sources: dict[str, _Source] = {}
        self._events: list[Event] = []
        self._places: list[Place] = []
        self._faults: list[tuple[Place, int, str]] = []
        self._bad = 0

    def add_fault(self, place: Place, message: str, column: int = 0) -> None:
        """Count a fault, and keep it if it is among the first by place."""
        self._bad += 1
        insort(self._faults, (place, column, message))
        del self._faults[self._limits.faults :]

    def add_bad(self, place: Place, message: str, column: int = 0) -> None:
        """Count a line that says nothing. It keeps its number, so that mending it renumbers no other line."""
        self.add_fault(place, message, column)
        self._state(self._source).next_seq += 1

    def add(self, place: Place, line: Mapping[str, Any]) -> None:
        """Make an event of a line; BadLine where it is none or does not fit those before it."""
        told = line.get("source")
        source = told if isinstance(told, str) and told else self._source
        state = self._state(source)
        number = state.next_seq
        state.next_seq += 1  # before anything is found bad, as in add_bad
        event = _event(fields_of(line, self._rules), source, number)
        if (known := state.by_id.get(event.id)) is not None:
            self._repeat(known, event)
        else:
            self._check_kinds(state, event.readings, place)
            self._keep(state, event, place)

    def add_strays(self, found: Mapping[str, int]) -> None:
        """Count cells of columns that look like misspelt signals; of no more than MOST_STRAYS columns."""
        for name, count in found.items():
            if name in self.strays or len(self.strays) < MOST_STRAYS:
                self.strays[name] += count

    def skip_file(self, name: str) -> None:
        """Count a file of a folder that is not of events, and keep the names of the first few."""
        self.skipped[NOT_EVENTS] += 1
        if len(self.not_events) < NAMED:
            self.not_events.append(name)

    def _keep(self, state: _Source, event: Event, place: Place) -> None:
        if len(self._events) >= self._limits.events:
            message = over("events", self._limits.events, f"more than {self._limits.events} events")
            raise BadEvents([Fault(place.path, place.line, 0, message)])
        state.by_id[event.id] = len(self._events)
        if event.timed:
            state.is_timed = True
        else:
            state.is_untimed = True
        self._events.append(event)
        self._places.append(place)

    def batch(self, files: int) -> Batch:
        """What was gathered, in order, without the events that have no time in a source that has times."""
        mixed = {name for name, state in self._sources.items() if state.is_timed and state.is_untimed}
        for event, place in zip(self._events, self._places, strict=True) if mixed else ():
            if not event.timed and event.source in mixed:
                self.add_fault(place, NO_TIME)
        events = [event for event in self._events if event.timed or event.source not in mixed]
        events.sort(key=by_order)
        bad = tuple(Fault(place.path, place.line, column, text) for place, column, text in self._faults)
        timed = all(event.timed for event in events)
        return Batch(
            tuple(events),
            bad,
            self._bad,
            self.repeated,
            timed,
            files,
            dict(self.skipped),
            tuple(self.not_events),
            dict(self.strays),
        )

    def _state(self, name: str) -> _Source:
        if (state := self._sources.get(name)) is None:
            state = self._sources[name] = _Source()
        return state

    def _repeat(self, known: int, event: Event) -> None:
        if not same_content(self._events[known], event):
            raise BadLine(f"the id {shown(event.id)} has other content at {self._places[known]}")
        self.repeated += 1

    def _check_kinds(self, state: _Source, readings: Mapping[str, Value], place: Place) -> None:
        """Note the kind of every new name, after making sure that each known one has kept its own."""
        new: list[str] = []
        for name, value in readings.items():
            if (known := state.kinds.get(name)) is None:
                new.append(name)
            elif known[0] is not type(value):
                is_now, was = ("text", "a number") if known[0] is float else ("a number", "text")
                raise BadLine(f"reading {shown(name)} is {is_now} here and {was} at {known[1]}")
        for name in new:
            state.kinds[name] = (type(readings[name]), place)


def _event(fields: Fields, source: str, number: int) -> Event:
    """The event of checked fields, with what the line did not give."""
    fields["source"] = source
    seq = fields.setdefault("seq", number)
    if "id" not in fields:
        fields["id"] = default_id(source, seq, content_of(fields))
    if "at" not in fields:
        fields["at"], fields["timed"] = _counted(seq), False
    return Event(**fields)


def _counted(seq: int) -> datetime:
    if seq > LAST_SECOND:
        raise BadLine(f"seq {seq} is too large for a source without times; the largest is {LAST_SECOND}")
    return EPOCH + timedelta(seconds=seq)


def content_of(fields: Fields) -> dict[str, Any]:
    """What `Event.to_dict` would say of these fields, apart from id and seq, before there is an event."""
    told = ("subject", "target", "reply_to", "thread", "session", "text", "attributes")
    content = {name: fields[name] for name in told if name in fields}
    content["kind"] = fields.get("kind", "event")
    if "at" in fields:
        content["at"] = format_time(fields["at"])
    if readings := fields.get("readings"):
        scorers, widths = fields.get("scorers", {}), fields.get("widths", {})
        content["readings"] = {
            name: _told(value, scorers.get(name), widths.get(name)) for name, value in readings.items()
        }
    return content


def _told(value: Value, scorer: str | None, width: int | None) -> Any:
    if scorer is None and width is None:
        return value
    parts = {"value": value, "scorer": scorer, "width": width}
    return {name: part for name, part in parts.items() if part is not None}
