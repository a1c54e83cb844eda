"""Contagion: a pattern in one subject, contact, then a pattern in others."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from ..ingest.batch import EventCollection
from ..language.ast import Spread
from ..language.program import Program
from ..models import Detection, micros, moment, rank
from ..models.detection import STANDING
from .combination import assemble, parts_meant
from .live.expressions import Judge
from .match import CLOSED, OPENED, ROSE

Contacts = dict[tuple[str, str, str], list[datetime]]
"""Times of events between two subjects of a source, both ways, in order."""


def contacts(events: EventCollection, detections: Iterable[Detection], as_of: datetime) -> Contacts:
    """When subjects that have detections met, up to a time: one targeted the other, or replied to it."""
    subjects = {(detection.source, detection.subject) for detection in detections}
    if len(subjects) < 2 or not (events.has("target") or events.has("reply_to")):
        return {}

    def meetings() -> Iterator[tuple[str, str, str | None, datetime]]:
        replies: dict[tuple[str, str], list[tuple[str, str | None, datetime]]] = {}
        rows = events.values_of(subjects, "source", "subject", "target", "reply_to", "at")
        for source, subject, target, reply_to, at in rows:
            if at <= as_of:
                yield source, subject, target, at
                if reply_to:
                    replies.setdefault((source, reply_to), []).append((subject, target, at))
        for source, name, author, written in (
            events.values("source", "id", "subject", "at") if replies else ()
        ):
            for subject, target, at in replies.get((source, name), ()) if written <= as_of else ():
                if author != target:
                    yield source, subject, author, at

    return contacts_of(meetings(), subjects)


def contacts_of(
    meetings: Iterable[tuple[str, str, str | None, datetime]], subjects: Collection[tuple[str, str]]
) -> Contacts:
    """The contacts between subjects of events with source, subject, the other and time."""
    result: Contacts = {}
    for source, subject, other, at in meetings:
        if other is not None and other != subject and (source, other) in subjects:
            for pair in ((subject, other), (other, subject)):
                result.setdefault((source, *pair), []).append(at)
    return {pair: sorted(times) for pair, times in result.items()}


def spread(
    program: Program, detections: Sequence[Detection], met: Contacts, as_of: datetime
) -> list[Detection]:
    """One detection for each start from which enough other subjects were reached."""
    spreading = Spreading(program)
    seen = sorted((d for d in detections if d.state in STANDING), key=lambda d: d.order)
    sources = {d.source for d in seen}
    result: list[Detection] = []
    for source in sorted(sources):
        # Contacts are stored in both directions.
        meetings = sorted(
            (micros(at), a, b) for (of, a, b), times in met.items() if of == source and a < b for at in times
        )
        fed = 0
        for at, batch in groupby(
            (d for d in seen if d.source == source), key=lambda d: micros(d.detected_at)
        ):
            recent: list[Meeting] = []
            while fed < len(meetings) and meetings[fed][0] <= at:
                spreading.meet(source, meetings[fed])
                recent.append(meetings[fed])
                fed += 1
            list(spreading.see(source, list(batch), [meeting for meeting in recent if meeting[0] == at]))
        while fed < len(meetings):
            spreading.meet(source, meetings[fed])
            fed += 1
        result += [closed for _, closed in spreading.advance(source, micros(as_of))]
    return [*result, *spreading.open()]


Notification = tuple[str, Detection]
"""What happened to a detection (opened, rose or closed), and the detection."""
Meeting = tuple[int, str, str]
"""When an event between two subjects was, and who they are."""


class Start:
    """One detection of the first pattern. `met` is when each other subject was first met since."""

    __slots__ = ("detection", "met", "reached", "severity", "us")

    def __init__(self, detection: Detection) -> None:
        self.detection = detection
        self.us = micros(detection.detected_at)
        self.met: dict[str, int] = {}
        self.reached: dict[str, Detection] = {}
        self.severity: str | None = None

    def meet(self, us: int, a: str, b: str) -> str | None:
        """The other subject, if this start's subject met it for the first time; else None."""
        other = b if a == self.detection.subject else a if b == self.detection.subject else None
        if other is None or us < self.us or other in self.met:
            return None
        self.met[other] = us
        return other


class Spreading:
    """One spread pattern over the detections of its two parts, source by source."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.body, Spread)
        self.program, self.body, self.judge = program, program.body, Judge(program)
        self.starts: dict[str, deque[Start]] = {}
        """By source, the earliest first."""
        self._of: dict[tuple[str, str], list[Start]] = {}
        self._met: dict[tuple[str, str], list[Start]] = {}
        """Starts by (source, subject): those of the subject itself, and those that have met it."""

    @property
    def has_starts(self) -> bool:
        """Whether any start is open."""
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

    def see(
        self, source: str, batch: Sequence[Detection], recent: Sequence[Meeting]
    ) -> Iterator[Notification]:
        """Process detections of one time; `recent` are the meetings at that time and after."""
        for end in batch:
            if parts_meant((self.body.then,), end.pattern):
                starts = self._met.get((source, end.subject), ())
                for start in sorted(starts, key=lambda start: start.detection.order):
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
        for index, who in [(self._of, start.detection.subject), *((self._met, other) for other in start.met)]:
            index[source, who].remove(start)
            if not index[source, who]:
                del index[source, who]

    def _reach(self, start: Start, end: Detection) -> Iterator[Notification]:
        us, subject = micros(end.detected_at), end.subject
        if subject == start.detection.subject or subject in start.reached:
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
        """The detection of a start from which enough were reached."""
        body = self.body
        others = sorted(start.reached.values(), key=lambda item: item.order)
        parts = [(body.first, start.detection), *((body.then, other) for other in others)]
        made = assemble(self.judge, body.multiplier, parts, last=start.detection)
        then = assemble(self.judge, body.multiplier, parts[: 1 + body.at_least], last=start.detection)
        return replace(
            made,
            state="closed" if closed else "opened",
            detected_at=others[body.at_least - 1].detected_at,
            closed_at=moment(start.us + body.within) if closed else None,
            count=len(others),
            fired_event=then.last_event,
            fired_confidence=then.confidence,
        )

    def advance(self, source: str, us: int) -> Iterator[Notification]:
        """Close and drop the starts whose time ended before a moment."""
        starts = self.starts.get(source)
        while starts and starts[0].us + self.body.within < us:
            start = starts.popleft()
            self._forget(source, start)
            if start.severity is not None:
                yield CLOSED, self._made(start, closed=True)

    def forget(self, whose: Collection[tuple[str, str]]) -> Iterator[Notification]:
        """Drop the starts of subjects, given with their sources; open detections close."""
        for source, starts in self.starts.items():
            gone = [start for start in starts if (source, start.detection.subject) in whose]
            if gone:
                self.starts[source] = deque(
                    start for start in starts if (source, start.detection.subject) not in whose
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
                pack(start.detection),
                start.met,
                {who: pack(d) for who, d in start.reached.items()},
                start.severity,
            ]
            for source, starts in self.starts.items()
            for start in starts
        ]

    def load(self, saved: list[Any], unpack: Any) -> None:
        """Restore saved starts."""
        for source, item, met, reached, severity in saved:
            start = self._begin(source, unpack(item))
            start.met, start.severity = dict(met), severity
            start.reached = {who: unpack(d) for who, d in reached.items()}
            for other in start.met:
                self._met.setdefault((source, other), []).append(start)
