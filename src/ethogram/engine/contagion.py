"""Contagion: a pattern in one subject, contact, then a pattern in others; in batch and live."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..language.ast import Spread
from ..language.program import Program
from ..models import Detection, Event, micros, moment, rank
from ..models.detection import STANDING
from .combination import assemble, parts_meant

# Spread: a pattern in one subject, contact, then a pattern in others.

Contacts = dict[tuple[str, str, str], list[datetime]]
"""Times of events between two subjects of a source, both ways, in order."""


def contacts(events: Sequence[Event]) -> Contacts:
    """When any two subjects met: one targeted the other, or replied to it. Events must be in order."""
    result: Contacts = {}
    authors = {(event.source, event.id): event.subject for event in events}
    for event in events:
        answered = authors.get((event.source, event.reply_to)) if event.reply_to else None
        for other in {event.target, answered} - {None, event.subject}:
            for pair in ((event.subject, other), (other, event.subject)):
                result.setdefault((event.source, str(pair[0]), str(pair[1])), []).append(event.at)
    return result


def spread(
    program: Program, detections: Sequence[Detection], met: Contacts, as_of: datetime
) -> list[Detection]:
    """One detection for each start from which enough other subjects were reached."""
    body = program.body
    assert isinstance(body, Spread)
    seen = [d for d in sorted(detections, key=lambda d: d.order) if d.state in STANDING]
    starts = [d for d in seen if parts_meant((body.first,), d.pattern)]
    ends = [d for d in seen if parts_meant((body.then,), d.pattern)]
    found = [_from(program, body, start, ends, met, as_of) for start in starts]
    return [item for item in found if item is not None]


def _from(
    program: Program, body: Spread, start: Detection, ends: list[Detection], met: Contacts, as_of: datetime
) -> Detection | None:
    reached: dict[str, Detection] = {}
    for end in ends:
        is_new = end.source == start.source and end.subject not in (start.subject, *reached)
        if is_new and _connected(body, start, end, met):
            reached[end.subject] = end
    if len(reached) < body.at_least:
        return None
    until = moment(micros(start.detected_at) + body.within)
    return reached_detection(program, body, start, reached.values(), until if as_of > until else None)


def reached_detection(
    program: Program, body: Spread, start: Detection, reached: Iterable[Detection], closed: datetime | None
) -> Detection:
    """The detection of a start from which these were reached; open while `closed` is None."""
    others = sorted(reached, key=lambda d: d.order)
    parts = [(body.first, start), *((body.then, other) for other in others)]
    made = assemble(program, body.multiplier, parts, last=start)
    then = assemble(program, body.multiplier, parts[: 1 + body.at_least], last=start)
    return replace(
        made,
        state="opened" if closed is None else "closed",
        detected_at=others[body.at_least - 1].detected_at,
        closed_at=closed,
        count=len(others),
        fired_event=then.last_event,
        fired_confidence=then.confidence,
    )


def _connected(body: Spread, start: Detection, end: Detection, met: Contacts) -> bool:
    if not start.detected_at < end.detected_at:
        return False
    if micros(end.detected_at) - micros(start.detected_at) > body.within:
        return False
    times = met.get((start.source, start.subject, end.subject), [])
    at = bisect_left(times, start.detected_at)
    return at < len(times) and times[at] <= end.detected_at


# Spread live: the starts that are not over yet, whom each has met since, and whom it has reached.

OPENED, ROSE, CLOSED = "opened", "rose", "closed"
Told = tuple[str, Detection]
"""What happened to a detection (opened, rose or closed), and the detection."""
Meeting = tuple[int, str, str]
"""When an event between two subjects was, and who they are."""


class Start:
    """One detection of the first pattern. `met` is when each other subject was first met since."""

    __slots__ = ("met", "one", "reached", "severity", "us")

    def __init__(self, one: Detection) -> None:
        self.one = one
        self.us = micros(one.detected_at)
        self.met: dict[str, int] = {}
        self.reached: dict[str, Detection] = {}
        self.severity: str | None = None

    def meet(self, us: int, a: str, b: str) -> str | None:
        """Whom this start's subject met, if it is one of the two and has not met the other since."""
        other = b if a == self.one.subject else a if b == self.one.subject else None
        if other is None or us < self.us or other in self.met:
            return None
        self.met[other] = us
        return other


class Spreading:
    """One spread pattern over the detections of its two parts, source by source."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.body, Spread)
        self.program, self.body = program, program.body
        self.starts: dict[str, deque[Start]] = {}
        """By source, the earliest first."""
        self._of: dict[tuple[str, str], list[Start]] = {}
        self._met: dict[tuple[str, str], list[Start]] = {}
        """Starts by (source, subject): those of the subject itself, and those that have met it."""

    @property
    def has_starts(self) -> bool:
        """Whether there is anybody whose meetings matter."""
        return bool(self._of)

    def meet(self, source: str, meeting: Meeting) -> None:
        """Note an event between two subjects."""
        for who in meeting[1:]:
            for start in self._of.get((source, who), ()):
                self._meet(source, start, meeting)

    def _meet(self, source: str, start: Start, meeting: Meeting) -> None:
        other = start.meet(*meeting)
        if other is not None:
            self._met.setdefault((source, other), []).append(start)

    def see(self, source: str, batch: Sequence[Detection], recent: Sequence[Meeting]) -> Iterator[Told]:
        """What follows from detections of one time; `recent` are the meetings of that time and after."""
        for end in batch:
            if parts_meant((self.body.then,), end.pattern):
                for start in self._met.get((source, end.subject), ()):
                    yield from self._reach(start, end)
        for item in batch:
            if parts_meant((self.body.first,), item.pattern):
                begun = self._begin(source, item)
                for meeting in recent:
                    self._meet(source, begun, meeting)

    def _begin(self, source: str, detection: Detection) -> Start:
        start = Start(detection)
        self.starts.setdefault(source, deque()).append(start)
        self._of.setdefault((source, detection.subject), []).append(start)
        return start

    def _forget(self, source: str, start: Start) -> None:
        for index, who in [(self._of, start.one.subject), *((self._met, other) for other in start.met)]:
            index[source, who].remove(start)
            if not index[source, who]:
                del index[source, who]

    def _reach(self, start: Start, end: Detection) -> Iterator[Told]:
        us, subject = micros(end.detected_at), end.subject
        if subject == start.one.subject or subject in start.reached:
            return
        if not start.us < us <= start.us + self.body.within or start.met.get(subject, us + 1) > us:
            return
        start.reached[subject] = end
        if len(start.reached) >= self.body.at_least:
            made = self._made(start, closed=False)
            if start.severity is None:
                yield OPENED, made
            elif rank(made.severity) > rank(start.severity):
                yield ROSE, made
            start.severity = made.severity

    def _made(self, start: Start, *, closed: bool) -> Detection:
        until = moment(start.us + self.body.within) if closed else None
        return reached_detection(self.program, self.body, start.one, start.reached.values(), until)

    def advance(self, source: str, us: int) -> Iterator[Told]:
        """Close and forget the starts that were over before a moment."""
        starts = self.starts.get(source)
        while starts and starts[0].us + self.body.within < us:
            start = starts.popleft()
            self._forget(source, start)
            if start.severity is not None:
                yield CLOSED, self._made(start, closed=True)

    def forget(self, whose: Collection[tuple[str, str]]) -> Iterator[Told]:
        """Let go of what began with subjects, each with its source; what is open of it closes."""
        for source, starts in self.starts.items():
            gone = [start for start in starts if (source, start.one.subject) in whose]
            if gone:
                self.starts[source] = deque(
                    start for start in starts if (source, start.one.subject) not in whose
                )
            for start in gone:
                self._forget(source, start)
                if start.severity is not None:
                    yield CLOSED, self._made(start, closed=True)

    def open(self) -> Iterator[Detection]:
        """The detections that are open now."""
        for starts in self.starts.values():
            yield from (self._made(start, closed=False) for start in starts if start.severity is not None)

    # Saving.

    def save(self, pack: Any) -> list[Any]:
        """All starts as plain data; `pack` stores a detection and gives its number."""
        return [
            [
                source,
                pack(start.one),
                start.met,
                {who: pack(d) for who, d in start.reached.items()},
                start.severity,
            ]
            for source, starts in self.starts.items()
            for start in starts
        ]

    def load(self, saved: list[Any], unpack: Any) -> None:
        """Remember what was saved."""
        for source, item, met, reached, severity in saved:
            start = self._begin(source, unpack(item))
            start.met, start.severity = dict(met), severity
            start.reached = {who: unpack(d) for who, d in reached.items()}
            for other in start.met:
                self._met.setdefault((source, other), []).append(start)
