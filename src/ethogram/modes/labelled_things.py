"""Things: labels brought together with the events they are about."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import BadLabels, Fault
from ..records import Detection, Event
from ..risk.backtest import events_of
from ..risk.horizon import Course
from .labels import THREADS, Label

Key = tuple[str, str]
"""Source and id of an event."""
FIRST = 5
"""So many of the labels that name nothing are told."""


@dataclass(frozen=True, slots=True)
class Line:
    """The events of a thread, or of a subject where there is none, in order; `places` count from 1."""

    name: str
    events: tuple[Event, ...]
    places: Mapping[Key, int]

    @classmethod
    def of(cls, name: str, events: Iterable[Event]) -> Line:
        """The line of these events."""
        every = tuple(sorted(events, key=lambda one: one.order))
        return cls(name, every, {(one.source, one.id): n for n, one in enumerate(every, start=1)})


@dataclass(frozen=True, slots=True)
class Thing:
    """A label with its line: the stretch of it that it is about, and the places that it names."""

    label: Label
    line: Line
    start: int
    end: int
    at: int
    begins: int | None
    over: int | None

    @property
    def group(self) -> str:
        """What it is drawn together with: what one thread holds, or one subject outside threads, is alike."""
        first = self.line.events[0]
        whose = (first.source, first.thread or "", "" if first.thread else first.subject)
        return self.label.group or "\0".join(whose)

    @property
    def trivial(self) -> dict[str, float]:
        """What anybody could have had: how many events, how much text, and how far into the line it is."""
        own = self.line.events[self.start - 1 : self.end]
        told = {"events": float(len(own)), "text": float(sum(len(one.text or "") for one in own))}
        return told if self.label.of in THREADS else {**told, "place": float(self.start)}

    def is_about(self, pattern: str) -> bool:
        """Whether its label counts for a pattern: one that names another does not."""
        whole = pattern.partition("@")[0].partition(".")[0]
        return self.label.pattern in ("", pattern, whole)

    def is_marked(self, places: Sequence[int], first: int, last: int) -> bool:
        """Whether a detection marks it that has events at these places, and lies from `first` to `last`.

        A stretch is marked by whatever overlaps it, an event only by what names it.
        """
        if self.label.of == "span":
            return first <= self.end and last >= self.start
        return any(self.start <= place <= self.end for place in places)


@dataclass(frozen=True, slots=True)
class Things:
    """What labels are about, and the ids of those that no event was found for."""

    things: tuple[Thing, ...]
    not_found: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    """Events by what labels may name."""

    threads: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    ids: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    of_thread: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))
    of_subject: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[tuple[str, ...], Line] = field(default_factory=dict)

    def line(self, event: Event, subject: str) -> Line:
        """The line an event lies in; of one subject alone where a label names it."""
        key = (event.source, event.thread or "", subject or ("" if event.thread else event.subject))
        if key not in self.lines:
            own = self.of_thread[event.source, event.thread] if event.thread else ()
            every = own or self.of_subject[event.source, event.subject]
            self.lines[key] = Line.of(
                "\0".join(key), (one for one in every if not subject or one.subject == subject)
            )
        return self.lines[key]


class _Wrong(Exception):
    """A label that names something that is not there, although its thread is."""


def things_of(labels: Sequence[Label], events: Iterable[Event], path: Path) -> Things:
    """The labels with their events; BadLabels for all that contradict the events, or where none is found."""
    found = _Found()
    for event in events:
        found.ids[event.id].append(event)
        found.of_subject[event.source, event.subject].append(event)
        if event.thread is not None:
            found.threads[event.thread].add(event.source)
            found.of_thread[event.source, event.thread].append(event)
    things: list[Thing] = []
    missing: list[str] = []
    faults: list[Fault] = []
    for label in labels:
        try:
            thing = _thing(label, found)
        except _Wrong as error:
            faults.append(Fault(str(path), label.line, 0, str(error)))
            continue
        if thing is None:
            missing.append(label.id)
        else:
            things.append(thing)
    if not things and not faults:
        some = ", ".join(repr(one[:60]) for one in missing[:FIRST])
        faults.append(Fault(str(path), 0, 0, f"no label is about anything in these events; first: {some}"))
    if faults:
        raise BadLabels(faults)
    return Things(tuple(things), tuple(missing))


def _thing(label: Label, found: _Found) -> Thing | None:
    if label.of in THREADS:
        any_one = _in_thread(label, found)
        if any_one is None:
            return None
        line = found.line(any_one, label.subject)
        if not line.events:
            raise _Wrong(f"thread {label.thread[:80]!r} has no events of subject {label.subject[:80]!r}")
        start, end = 1, len(line.events)
    else:
        names = (label.start, label.end) if label.of == "span" else (label.event, label.event)
        first, last = (_event(label, name, found) for name in names)
        if first is None or last is None:
            return None
        line = found.line(first, label.subject)
        start, end = _place(line, first, names[0]), _place(line, last, names[1])
        if end < start:
            raise _Wrong("to is before from")
    at = _named(label, label.at, line, found)
    over = _named(label, label.over, line, found) or (end if label.of == "span" else None)
    begins = _named(label, label.begins, line, found)
    where = at or (end if label.of in THREADS else start)
    return Thing(label, line, start, end, where, begins, over)


def _in_thread(label: Label, found: _Found) -> Event | None:
    sources = {label.source} if label.source else found.threads.get(label.thread, set())
    if len(sources) > 1:
        raise _Wrong(f"thread {label.thread[:80]!r} is in several sources; name its source")
    every = [event for source in sources for event in found.of_thread.get((source, label.thread), ())]
    return every[0] if every else None


def _event(label: Label, name: str, found: _Found) -> Event | None:
    """The event of an id or, in the label's thread, of a position."""
    every = [
        one
        for one in found.ids.get(name, ())
        if label.source in ("", one.source) and label.thread in ("", one.thread)
    ]
    if len(every) > 1:
        raise _Wrong(f"event {name[:80]!r} is in several sources; name its source")
    if every:
        return every[0]
    if label.thread and name.isdecimal() and (first := _in_thread(label, found)) is not None:
        line = found.line(first, label.subject)
        if not 1 <= int(name) <= len(line.events):
            many = f"which has {len(line.events)} events"
            raise _Wrong(f"position {name[:20]} of thread {label.thread[:80]!r}, {many}")
        return line.events[int(name) - 1]
    return None


def _named(label: Label, name: str, line: Line, found: _Found) -> int | None:
    if not name:
        return None
    event = _event(label, name, found)
    if event is None and name.isdecimal() and 1 <= int(name) <= len(line.events):
        return int(name)
    if event is None:
        where = f" in thread {label.thread[:80]!r}" if label.thread else ""
        raise _Wrong(f"there is no event {name[:80]!r}{where}")
    return _place(line, event, name)


def _place(line: Line, event: Event, name: str) -> int:
    place = line.places.get((event.source, event.id))
    if place is None:
        raise _Wrong(f"event {name[:80]!r} is in another history")
    return place


def marks(things: Sequence[Thing], detections: Iterable[Detection]) -> dict[str, list[Detection]]:
    """The detections that mark each thing, by its id; things without any are left out."""
    out: dict[str, list[Detection]] = defaultdict(list)
    for thing, one, places in _meeting(things, detections):
        if thing.is_marked(places, min(places), max(places)):
            out[thing.label.id].append(one)
    return out


def beside(things: Sequence[Thing], detections: Iterable[Detection]) -> dict[str, list[Detection]]:
    """The detections anywhere in the line of each thing, by its id: what an alarm before or after it is."""
    out: dict[str, list[Detection]] = defaultdict(list)
    for thing, one, _ in _meeting(things, detections):
        out[thing.label.id].append(one)
    return out


def _meeting(
    things: Sequence[Thing], detections: Iterable[Detection]
) -> Iterator[tuple[Thing, Detection, list[int]]]:
    """Each thing with each detection that has events in its line, and their places."""
    by_line: dict[int, list[Thing]] = defaultdict(list)
    lines_of: dict[Key, set[int]] = defaultdict(set)
    for thing in things:
        by_line[id(thing.line)].append(thing)
    for own in by_line.values():
        for key in own[0].line.places:
            lines_of[key].add(id(own[0].line))
    for one in detections:
        keys = events_of([one])
        for number in {line for key in keys for line in lines_of.get(key, ())}:
            places = [place for key in keys if (place := by_line[number][0].line.places.get(key))]
            for thing in by_line[number]:
                yield thing, one, places


def course(thing: Thing, detections: Iterable[Detection]) -> Course | None:
    """How a thing that is a target went, in events; None where nothing tells when it began to build up.

    Of a whole thread the beginning is its first event; of an event or stretch only the label can say it.
    """
    begins = thing.begins if thing.begins is not None else 1 if thing.label.of in THREADS else None
    if begins is None:
        return None
    found = []
    for one in detections:
        opened = thing.line.places.get((one.source, one.fired_event))
        if opened is not None:
            found.append((float(opened), _closed(thing.line, one, opened)))
    over = None if thing.over is None else float(thing.over)
    return Course(float(thing.at), tuple(found), float(begins), over)


def _closed(line: Line, one: Detection, opened: int) -> float | None:
    if one.closed_at is None:
        return None
    times = [event.at for event in line.events]
    return float(max(opened, min(len(times), bisect_left(times, one.closed_at) + 1)))
