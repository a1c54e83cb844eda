"""Live detection: report detections as they open, rise and close, then combinations of them."""

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
from .contagion import Meeting, Notification, Spreading
from .detect import by_depth
from .detections import detection_of
from .live.engine import Engine
from .match import CLOSED, OPENED, Change

Queue = list[tuple[int, Any, int, Detection]]
"""Detections of parts that wait until no other of their time can come, in output order."""


class Source:
    """The state of one source.

    `concluded` is the latest moment of a notification that holds only if no further event comes at or
    before it. `recent` are the meetings at the newest time.
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
        self.engine = Engine(programs, cap)
        self.joins: list[Combining | Spreading] = [
            Spreading(item) if isinstance(item.body, Spread) else Combining(item)
            for item in by_depth(programs)
        ]
        self.spreads = [join for join in self.joins if isinstance(join, Spreading)]
        self.overlapping = [
            join for join in self.joins if isinstance(join, Combining) and join.body.overlapping
        ]
        self.sources: dict[str, Source] = {}
        self._is_part: dict[str, bool] = {}
        self._pushed = 0

    def source(self, name: str) -> Source:
        """The state of a source, created if new."""
        source = self.sources.get(name)
        if source is None:
            source = self.sources[name] = Source()
        return source

    def observe(self, event: Event, us: int, answered: str | None = None) -> list[Notification]:
        """Process one event at `us` microseconds, after the deadlines before it.

        `answered`: whose event it replies to.
        """
        name = event.source
        source = self.sources.get(name) or self.source(name)
        source.timed = event.timed
        due = self.advance(name, us, concludes=False) if self._is_due(name, source, us) else []
        if self.spreads and (answered is not None or event.target is not None):
            self._meet(source, event, us, answered)
        changes = self.engine.observe(event, us)
        return due + self._notifications(source, changes) if changes else due

    def _is_due(self, name: str, source: Source, us: int) -> bool:
        """Whether a deadline has passed; for most events none has."""
        queue = self.engine.deadlines.queues.get(name)
        if (source.queue and source.queue[0][0] < us) or (queue and queue[0][0] < us):
            return True
        for spread in self.spreads:  # a loop, since `any` over so few takes longer
            starts = spread.starts.get(name)
            if starts and starts[0].us + spread.body.within < us:
                return True
        return False

    def advance(self, name: str, us: int, *, concludes: bool = True) -> list[Notification]:
        """Process deadlines of a source, given that no event before a moment can come any more.

        `concludes`: the moment is not that of an event, so its notifications must be remembered as final.
        """
        source = self.source(name)
        changes = self.engine.advance(name, us)
        notifications: list[Notification] = []
        latest: int | None = None
        if changes:
            notifications = self._notifications(source, changes)
            latest = max(change.match.detected_at for change in changes)
        if source.queue and source.queue[0][0] < us:
            joined, latest = self._join(name, source, us, latest)
            notifications += joined
        for spread in self.spreads:
            for closed in spread.advance(name, us):
                notifications.append(closed)
                over = micros(closed[1].closed_at or closed[1].detected_at)
                latest = over if latest is None else max(over, latest)
        if concludes and latest is not None:
            source.concluded = max(latest, source.concluded or latest)
        return notifications

    def drain(self, name: str, us: int) -> list[Notification]:
        """Process everything pending, given that nothing at or before a moment can come any more."""
        notifications = self.advance(name, us)
        source = self.source(name)
        joined, _ = self._join(name, source, us + 1, None)
        source.concluded = max(us, source.concluded or us)
        return notifications + joined

    def forget(self, name: str, subject: str, us: int, *, keep: int = 0) -> list[Notification]:
        """Drop a subject's histories, or all but the newest of each kind; open detections close.

        `forget_joined` drops the state of combinations and spreads.
        """
        return self._notifications(self.source(name), self.engine.forget(name, subject, us, keep=keep))

    def forget_joined(self, whose: Collection[tuple[str, str]]) -> list[Notification]:
        """Drop the state of combinations and spreads for subjects, given with their sources."""
        notifications: list[Notification] = []
        for join in self.joins:
            if isinstance(join, Spreading):
                notifications += join.forget(whose)
            else:
                join.forget(whose)
        return notifications

    def forget_source(self, name: str) -> None:
        """Drop a source without histories."""
        self.sources.pop(name, None)
        self.engine.deadlines.forget(name)
        for spread in self.spreads:
            spread.starts.pop(name, None)

    def open(self) -> Iterator[Detection]:
        """The open detections, in their current state."""
        yield from (detection_of(change.match) for change in self.engine.open())
        for spread in self.spreads:
            yield from spread.open()

    # Combinations and spreads.

    def _notifications(self, source: Source, changes: Sequence[Change]) -> list[Notification]:
        notifications: list[Notification] = []
        for what, match in changes:
            made = detection_of(match)
            notifications.append((what, made))
            if self._parts(made.pattern):
                if _is_new(what, match.program):
                    self._push(source, made)
                elif what == CLOSED:
                    self._close(source, made)
        return notifications

    def _parts(self, pattern: str) -> bool:
        """Whether some combination or spread sees a pattern's detections."""
        if pattern not in self._is_part:
            self._is_part[pattern] = any(parts_meant(join.program.parts, pattern) for join in self.joins)
        return self._is_part[pattern]

    def _push(self, source: Source, detection: Detection) -> None:
        self._pushed += 1
        heappush(source.queue, (micros(detection.detected_at), detection.order, self._pushed, detection))

    def _close(self, source: Source, closed: Detection) -> None:
        for item in self.overlapping:
            item.close(closed)
        if self.overlapping:
            source.queue[:] = [
                (us, order, n, replace(d, closed_at=closed.closed_at) if d.id == closed.id else d)
                for us, order, n, d in source.queue
            ]

    def _join(
        self, name: str, source: Source, us: int, latest: int | None
    ) -> tuple[list[Notification], int | None]:
        """Combine the queued detections of parts before a moment, in order of time."""
        notifications: list[Notification] = []
        while source.queue and source.queue[0][0] < us:
            at = source.queue[0][0]
            batch: list[Detection] = []
            while source.queue and source.queue[0][0] == at:
                batch.append(heappop(source.queue)[3])
            notifications += self._batch(name, source, batch)
            latest = at if latest is None else max(at, latest)
        return notifications, latest

    def _batch(self, name: str, source: Source, batch: list[Detection]) -> list[Notification]:
        notifications: list[Notification] = []
        for join in self.joins:
            if join.program.timed_only and not source.timed:
                continue
            batch.sort(key=lambda d: d.order)
            if isinstance(join, Spreading):
                recent = [m for m in source.recent if m[0] >= micros(batch[0].detected_at)]
                joined = list(join.see(name, batch, recent))
            else:
                joined = [(CLOSED, d) for d in join.see(batch)]
            notifications += joined
            batch += [d for what, d in joined if what != "rose" and self._parts(d.pattern)]
        return notifications

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
            for spread in self.spreads:
                if spread.has_starts:
                    spread.meet(event.source, meeting)


def _is_new(what: str, program: Program) -> bool:
    """Whether a change is the first of its detection: a sequence closes as it opens."""
    return what == OPENED or isinstance(program.body, SequenceProgram)
