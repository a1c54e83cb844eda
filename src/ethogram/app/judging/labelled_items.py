"""Labels joined with the events they are about, and the detections that mark them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import BadLabels, Fault
from ...ingest.batch import EventSequence, sequence_of
from ...models import Detection, Event
from ...models.detection import base_pattern
from ...risk.backtest import events_of
from ...risk.discrimination import TargetTimeline
from .labels import THREADS, Label

Key = tuple[str, str]
SHOWN = 5
"""Labels without events that are listed."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderedEvents:
    """The events of a thread, or of a subject outside threads, in order; `positions` count from 1."""

    events: tuple[Event, ...]
    positions: Mapping[Key, int]

    @classmethod
    def of(cls, events: Iterable[Event]) -> OrderedEvents:
        ordered = tuple(sorted(events, key=lambda event: event.order))
        return cls(ordered, {(event.source, event.id): n for n, event in enumerate(ordered, start=1)})

    def position(self, event: Event, name: str) -> int:
        """The position of the event that a label names."""
        position = self.positions.get((event.source, event.id))
        if position is None:
            raise _LabelFault(f"event {name[:80]!r} is in another history")
        return position


@dataclass(frozen=True, slots=True)
class LabelledItem:
    """A label with its events: the positions it covers (`start` to `end`) and those it names."""

    label: Label
    history: OrderedEvents
    start: int
    end: int
    at: int
    begins: int | None
    over: int | None

    @property
    def group(self) -> str:
        """Items of one group are not independent: by default those of one thread, or one subject."""
        first = self.history.events[0]
        owner = (first.source, first.thread or "", "" if first.thread else first.subject)
        return self.label.group or "\0".join(owner)

    @property
    def baselines(self) -> dict[str, float]:
        """Trivial measures: the number of events, the length of the text, and the position."""
        own = self.history.events[self.start - 1 : self.end]
        sizes = {"events": float(len(own)), "text": float(sum(len(event.text or "") for event in own))}
        return sizes if self.label.of in THREADS else {**sizes, "place": float(self.start)}

    def is_about(self, pattern: str) -> bool:
        """Whether the label counts for a pattern: it names this one or none."""
        return self.label.pattern in ("", pattern, base_pattern(pattern))

    def is_marked(self, positions: Sequence[int]) -> bool:
        """Whether a detection with events at these positions marks it.

        A span is marked by any overlap, a thread or an event only by an event of the detection in it.
        """
        if self.label.of == "span":
            return min(positions) <= self.end and max(positions) >= self.start
        return any(self.start <= position <= self.end for position in positions)


@dataclass(frozen=True, slots=True)
class LabelledItems:
    """Items, and the ids of labels without events."""

    items: tuple[LabelledItem, ...]
    not_found: tuple[str, ...] = ()


class _LabelFault(Exception):
    """A label contradicts the events."""


class _EventIndex:
    """The rows of events by what labels may name; events are made of those that a label is about."""

    def __init__(self, events: EventSequence) -> None:
        self.events = events
        self.sources: dict[str, set[str]] = defaultdict(set)
        self.by_thread: dict[Key, list[int]] = defaultdict(list)
        self.by_subject: dict[Key, list[int]] = defaultdict(list)
        self.histories: dict[tuple[str, ...], OrderedEvents] = {}
        for row, (source, subject, thread) in enumerate(events.values("source", "subject", "thread")):
            self.by_subject[source, subject].append(row)
            if thread is not None:
                self.sources[thread].add(source)
                self.by_thread[source, thread].append(row)

    @cached_property
    def by_id(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(self.events.values("id")):
            rows[name].append(row)
        return rows

    def history(self, event: Event, subject: str) -> OrderedEvents:
        """The history an event is in; of one subject alone where a label names it."""
        key = (event.source, event.thread or "", subject or ("" if event.thread else event.subject))
        if key not in self.histories:
            own = self.by_thread[event.source, event.thread] if event.thread else ()
            events = self.events.take(own or self.by_subject[event.source, event.subject])
            self.histories[key] = OrderedEvents.of(
                item for item in events if not subject or item.subject == subject
            )
        return self.histories[key]

    def item(self, label: Label) -> LabelledItem | None:
        """The labelled item; None where its events are not there."""
        if label.of in THREADS:
            event = self._in_thread(label)
            if event is None:
                return None
            history = self.history(event, label.subject)
            if not history.events:
                thread, subject = label.thread[:80], label.subject[:80]
                raise _LabelFault(f"thread {thread!r} has no events of subject {subject!r}")
            start, end = 1, len(history.events)
        else:
            names = (label.start, label.end) if label.of == "span" else (label.event, label.event)
            first, last = (self._event(label, name) for name in names)
            if first is None or last is None:
                return None
            history = self.history(first, label.subject)
            start, end = history.position(first, names[0]), history.position(last, names[1])
            if end < start:
                raise _LabelFault("to is before from")
        at, over, begins = (self._position(label, n, history) for n in (label.at, label.over, label.begins))
        at = at or (end if label.of in THREADS else start)
        over = over or (end if label.of == "span" else None)
        return LabelledItem(label, history, start, end, at, begins, over)

    def _in_thread(self, label: Label) -> Event | None:
        sources = {label.source} if label.source else self.sources.get(label.thread, set())
        if len(sources) > 1:
            raise _LabelFault(f"thread {label.thread[:80]!r} is in several sources: name its source")
        rows = (row for source in sources for row in self.by_thread.get((source, label.thread), ()))
        return next((self.events[row] for row in rows), None)

    def _event(self, label: Label, name: str) -> Event | None:
        """The event with an id or, in the label's thread, at a position."""
        events = [
            event
            for event in self.events.take(self.by_id.get(name, ()))
            if label.source in ("", event.source) and label.thread in ("", event.thread)
        ]
        if len(events) > 1:
            raise _LabelFault(f"event {name[:80]!r} is in several sources: name its source")
        if events:
            return events[0]
        if label.thread and name.isdecimal() and (first := self._in_thread(label)) is not None:
            own = self.history(first, label.subject).events
            if not 1 <= int(name) <= len(own):
                thread = f"thread {label.thread[:80]!r}, which has {len(own)} events"
                raise _LabelFault(f"there is no position {name[:20]} in {thread}")
            return own[int(name) - 1]
        return None

    def _position(self, label: Label, name: str, history: OrderedEvents) -> int | None:
        if not name:
            return None
        event = self._event(label, name)
        if event is not None:
            return history.position(event, name)
        if name.isdecimal() and 1 <= int(name) <= len(history.events):
            return int(name)
        where = f" in thread {label.thread[:80]!r}" if label.thread else ""
        raise _LabelFault(f"there is no event {name[:80]!r}{where}")


def join_labels(labels: Sequence[Label], events: Sequence[Event], path: Path) -> LabelledItems:
    """The labels with their events; BadLabels for contradictions, or where no label has events."""
    index = _EventIndex(sequence_of(events))
    items: list[LabelledItem] = []
    missing: list[str] = []
    faults: list[Fault] = []
    for label in labels:
        try:
            item = index.item(label)
        except _LabelFault as error:
            faults.append(Fault(str(path), label.line, 0, str(error)))
        else:
            missing += [label.id] if item is None else []
            items += [] if item is None else [item]
    if not items and not faults:
        some = ", ".join(repr(name[:60]) for name in missing[:SHOWN])
        faults.append(Fault(str(path), 0, 0, f"no label is about anything in these events; first: {some}"))
    if faults:
        raise BadLabels(faults)
    return LabelledItems(tuple(items), tuple(missing))


def detections_by_label(
    items: Sequence[LabelledItem], detections: Iterable[Detection], *, anywhere: bool = False
) -> dict[str, list[Detection]]:
    """The detections that mark each item, or are `anywhere` in its history, by label id."""
    by_history: dict[OrderedEvents, list[LabelledItem]] = defaultdict(list)
    for item in items:
        by_history[item.history].append(item)
    histories: dict[Key, list[OrderedEvents]] = defaultdict(list)
    for history in by_history:
        for key in history.positions:
            histories[key].append(history)
    result: dict[str, list[Detection]] = defaultdict(list)
    for detection in detections:
        keys = events_of([detection])
        for history in {history for key in keys for history in histories.get(key, ())}:
            positions = [history.positions[key] for key in keys if key in history.positions]
            for item in by_history[history]:
                if anywhere or item.is_marked(positions):
                    result[item.label.id].append(detection)
    return result


def timeline_of(item: LabelledItem, detections: Iterable[Detection]) -> TargetTimeline | None:
    """The timeline of a target in events; None where nothing says when it began to build up.

    A whole thread begins at its first event; for an event or span only the label can say it.
    """
    begins = item.begins if item.begins is not None else 1 if item.label.of in THREADS else None
    if begins is None:
        return None
    times = [event.at for event in item.history.events]
    episodes: list[tuple[float, float | None]] = []
    for detection in detections:
        opened = item.history.positions.get((detection.source, detection.fired_event))
        if opened is not None:
            closed = None
            if detection.closed_at is not None:
                closed = float(max(opened, min(len(times), bisect_left(times, detection.closed_at) + 1)))
            episodes.append((float(opened), closed))
    over = None if item.over is None else float(item.over)
    return TargetTimeline(float(item.at), tuple(episodes), float(begins), over)
