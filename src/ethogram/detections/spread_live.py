"""Spread live: the starts that are not over yet, whom each has met since, and whom it has reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..records import Detection, micros, moment, rank
from ..shapes.program import Program
from ..shapes.tree import Spread
from .combine import parts_meant
from .spread import reached_detection

OPENED, ROSE, CLOSED = "opened", "rose", "closed"
Told = tuple[str, Detection]
"""What happened to a detection (opened, rose or closed), and the detection."""
Meeting = tuple[int, str, str]
"""When an event between two subjects was, and who they are."""


class Start:
    """One detection of the first pattern. `met` is when each other subject was first met since."""

    __slots__ = ("level", "met", "one", "reached", "us")

    def __init__(self, one: Detection) -> None:
        self.one = one
        self.us = micros(one.detected_at)
        self.met: dict[str, int] = {}
        self.reached: dict[str, Detection] = {}
        self.level: str | None = None

    def meet(self, us: int, a: str, b: str) -> None:
        """Note a meeting, where it is one of this start's subject and not before it."""
        other = b if a == self.one.subject else a if b == self.one.subject else None
        if other is not None and us >= self.us:
            self.met.setdefault(other, us)


class Spreading:
    """One spread pattern over the detections of its two parts, source by source."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.body, Spread)
        self.program, self.body = program, program.body
        self.starts: dict[str, list[Start]] = {}

    def meet(self, source: str, meeting: Meeting) -> None:
        """Note an event between two subjects."""
        for start in self.starts.get(source, ()):
            start.meet(*meeting)

    def see(self, source: str, batch: Sequence[Detection], recent: Sequence[Meeting]) -> Iterator[Told]:
        """What follows from detections of one time; `recent` are the meetings of that time and after."""
        starts = self.starts.setdefault(source, [])
        for end in batch:
            if parts_meant((self.body.then,), end.pattern):
                for start in starts:
                    yield from self._reach(start, end)
        for one in batch:
            if parts_meant((self.body.first,), one.pattern):
                starts.append(begun := Start(one))
                for meeting in recent:
                    begun.meet(*meeting)

    def _reach(self, start: Start, end: Detection) -> Iterator[Told]:
        us, subject = micros(end.detected_at), end.subject
        if subject == start.one.subject or subject in start.reached:
            return
        if not start.us < us <= start.us + self.body.within or start.met.get(subject, us + 1) > us:
            return
        start.reached[subject] = end
        if len(start.reached) >= self.body.at_least:
            made = self._made(start, closed=False)
            if start.level is None:
                yield OPENED, made
            elif rank(made.level) > rank(start.level):
                yield ROSE, made
            start.level = made.level

    def _made(self, start: Start, *, closed: bool) -> Detection:
        until = moment(start.us + self.body.within) if closed else None
        return reached_detection(self.program, self.body, start.one, start.reached.values(), until)

    def advance(self, source: str, us: int) -> Iterator[Told]:
        """Close and forget the starts that were over before a moment."""
        starts = self.starts.get(source, [])
        over = [start for start in starts if start.us + self.body.within < us]
        if over:
            self.starts[source] = [start for start in starts if start.us + self.body.within >= us]
        for start in over:
            if start.level is not None:
                yield CLOSED, self._made(start, closed=True)

    def open(self) -> Iterator[Detection]:
        """The detections that are open now."""
        for starts in self.starts.values():
            yield from (self._made(start, closed=False) for start in starts if start.level is not None)

    # Saving.

    def save(self, pack: Any) -> list[Any]:
        """All starts as plain data; `pack` stores a detection and gives its number."""
        return [
            [source, pack(one.one), one.met, {who: pack(d) for who, d in one.reached.items()}, one.level]
            for source, starts in self.starts.items()
            for one in starts
        ]

    def load(self, saved: list[Any], unpack: Any) -> None:
        """Remember what was saved."""
        for source, one, met, reached, level in saved:
            start = Start(unpack(one))
            start.met, start.level = dict(met), level
            start.reached = {who: unpack(d) for who, d in reached.items()}
            self.starts.setdefault(source, []).append(start)
