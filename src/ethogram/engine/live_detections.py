"""Live: events in order in, detections out as they open, rise and close; then those made of detections."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from ..language.ast import Spread
from ..language.history import CAP
from ..language.program import Program, SequenceProgram
from ..models import Detection, Event, micros
from .combination import Combining, parts_meant
from .contagion import Meeting, Spreading, Told
from .detect import by_depth
from .detections import detection_of
from .live.engine import Stream
from .live.episode import CLOSED, OPENED, Change

Queue = list[tuple[int, Any, int, Detection]]
"""Detections of parts that wait until no other of their time can come, in output order."""


class Source:
    """What is known of one source.

    `concluded` is the latest moment about which something was told that only holds if no further event
    comes at or before it. `recent` are the meetings at the newest time.
    """

    __slots__ = ("concluded", "queue", "recent", "timed")

    def __init__(self) -> None:
        self.queue: Queue = []
        self.recent: list[Meeting] = []
        self.concluded: int | None = None
        self.timed = True


class Live:
    """All programs over events that come in order, source by source. State is bounded by their windows."""

    def __init__(self, programs: Sequence[Program], cap: int = CAP) -> None:
        self.programs = tuple(programs)
        self.stream = Stream(programs, cap)
        self.joins: list[Combining | Spreading] = [
            Spreading(one) if isinstance(one.body, Spread) else Combining(one) for one in by_depth(programs)
        ]
        self.spreads = [one for one in self.joins if isinstance(one, Spreading)]
        self.overlapping = [one for one in self.joins if isinstance(one, Combining) and one.body.overlapping]
        self.sources: dict[str, Source] = {}
        self._is_part: dict[str, bool] = {}
        self._pushed = 0

    def source(self, name: str) -> Source:
        """What is known of a source."""
        found = self.sources.get(name)
        if found is None:
            found = self.sources[name] = Source()
        return found

    def observe(self, event: Event, us: int, answered: str | None = None) -> list[Told]:
        """What one event at so many microseconds changes, after what its time makes known.

        `answered`: whose event it replies to.
        """
        name = event.source
        source = self.sources.get(name) or self.source(name)
        source.timed = event.timed
        told = self.advance(name, us, concludes=False) if self._is_due(name, source, us) else []
        if self.spreads and (answered is not None or event.target is not None):
            self._meet(source, event, us, answered)
        changes = self.stream.observe(event, us)
        return told + self._told(source, changes) if changes else told

    def _is_due(self, name: str, source: Source, us: int) -> bool:
        """Whether time alone makes something known: most events come before anything is due."""
        queue = self.stream.deadlines.queues.get(name)
        if (source.queue and source.queue[0][0] < us) or (queue and queue[0][0] < us):
            return True
        for one in self.spreads:  # a loop, since `any` over so few takes longer
            starts = one.starts.get(name)
            if starts and starts[0].us + one.body.within < us:
                return True
        return False

    def advance(self, name: str, us: int, *, concludes: bool = True) -> list[Told]:
        """What becomes known of a source when no event before a moment can come any more.

        `concludes`: the moment is not that of an event, so what is told must be remembered as final.
        """
        source = self.source(name)
        changes = self.stream.advance(name, us)
        told: list[Told] = []
        latest: int | None = None
        if changes:
            told = self._told(source, changes)
            latest = max(change.episode.detected_at for change in changes)
        if source.queue and source.queue[0][0] < us:
            joined, latest = self._join(name, source, us, latest)
            told += joined
        for one in self.spreads:
            for closed in one.advance(name, us):
                told.append(closed)
                over = micros(closed[1].closed_at or closed[1].detected_at)
                latest = over if latest is None else max(over, latest)
        if concludes and latest is not None:
            source.concluded = max(latest, source.concluded or latest)
        return told

    def drain(self, name: str, us: int) -> list[Told]:
        """Everything that follows if nothing at or before a moment comes any more."""
        told = self.advance(name, us)
        source = self.source(name)
        joined, _ = self._join(name, source, us + 1, None)
        source.concluded = max(us, source.concluded or us)
        return told + joined

    def forget(self, name: str, subject: str, us: int, *, keep: int = 0) -> list[Told]:
        """Let go of a subject's histories, or of all but the newest of each kind; what was open closes.

        What combinations and spreads remember of it goes with `forget_joined`.
        """
        return self._told(self.source(name), self.stream.forget(name, subject, us, keep=keep))

    def forget_joined(self, whose: Collection[tuple[str, str]]) -> list[Told]:
        """Let go of what combinations and spreads remember of subjects, each with its source."""
        told: list[Told] = []
        for one in self.joins:
            if isinstance(one, Spreading):
                told += one.forget(whose)
            else:
                one.forget(whose)
        return told

    def forget_source(self, name: str) -> None:
        """Let go of a source of which no history is left."""
        self.sources.pop(name, None)
        self.stream.deadlines.forget(name)
        for one in self.spreads:
            one.starts.pop(name, None)

    def open(self) -> Iterator[Detection]:
        """Every detection that is open now, as far as it has come."""
        yield from (detection_of(change.episode) for change in self.stream.open())
        for one in self.spreads:
            yield from one.open()

    # Detections of detections.

    def _told(self, source: Source, changes: Sequence[Change]) -> list[Told]:
        told: list[Told] = []
        for what, episode in changes:
            made = detection_of(episode)
            told.append((what, made))
            if self._parts(made.pattern):
                if _is_new(what, episode.program):
                    self._push(source, made)
                elif what == CLOSED:
                    self._close(source, made)
        return told

    def _parts(self, pattern: str) -> bool:
        """Whether some combination or spread sees a pattern's detections."""
        if pattern not in self._is_part:
            self._is_part[pattern] = any(parts_meant(one.program.parts, pattern) for one in self.joins)
        return self._is_part[pattern]

    def _push(self, source: Source, one: Detection) -> None:
        self._pushed += 1
        heappush(source.queue, (micros(one.detected_at), one.order, self._pushed, one))

    def _close(self, source: Source, closed: Detection) -> None:
        for one in self.overlapping:
            one.close(closed)
        if self.overlapping:
            source.queue[:] = [
                (us, order, n, replace(d, closed_at=closed.closed_at) if d.id == closed.id else d)
                for us, order, n, d in source.queue
            ]

    def _join(self, name: str, source: Source, us: int, latest: int | None) -> tuple[list[Told], int | None]:
        """What follows from the detections of parts before a moment, one time after the other."""
        told: list[Told] = []
        while source.queue and source.queue[0][0] < us:
            at = source.queue[0][0]
            batch: list[Detection] = []
            while source.queue and source.queue[0][0] == at:
                batch.append(heappop(source.queue)[3])
            told += self._batch(name, source, batch)
            latest = at if latest is None else max(at, latest)
        return told, latest

    def _batch(self, name: str, source: Source, batch: list[Detection]) -> list[Told]:
        told: list[Told] = []
        for one in self.joins:
            if one.program.timed_only and not source.timed:
                continue
            batch.sort(key=lambda d: d.order)
            if isinstance(one, Spreading):
                recent = [m for m in source.recent if m[0] >= micros(batch[0].detected_at)]
                found = list(one.see(name, batch, recent))
            else:
                found = [(CLOSED, d) for d in one.see(batch)]
            told += found
            batch += [d for what, d in found if what != "rose" and self._parts(d.pattern)]
        return told

    def _meet(self, source: Source, event: Event, us: int, answered: str | None) -> None:
        if source.recent and source.recent[-1][0] < us:
            source.recent.clear()
        subject, target = event.subject, event.target
        others: Iterable[str | None] = (target,)
        if answered is not None and answered != target:
            others = sorted((answered, target), key=str)
        for other in others:
            if other is None or other == subject:
                continue
            meeting = (us, subject, other)
            source.recent.append(meeting)
            for one in self.spreads:
                if one.has_starts:
                    one.meet(event.source, meeting)


def _is_new(what: str, program: Program) -> bool:
    """Whether a change is the first that is told of a detection: a sequence closes as it opens."""
    return what == OPENED or isinstance(program.body, SequenceProgram)
