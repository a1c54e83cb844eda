"""Hits: what was found in a block, in columns; findings are made of them when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...records import format_time, moment, rank
from ..finding import Finding
from ..program import LevelProgram, Program, SequenceProgram
from .arranged import Arranged
from .columns import Floats, Ints
from .evaluate import At
from .evidence import Gather
from .judge import Judges
from .level import episodes
from .sequence import match
from .silence import FAR, Silences

STILL = int(FAR)
"""The time of an end that has not come."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The findings of a program in a block, one row each; positions count through the arrangement.

    `chain` gives the positions that the steps of one matched, counted in its history.
    """

    program: Program
    arranged: Arranged
    fired: Ints
    first: Ints
    last: Ints
    peak: Ints
    count: Ints
    level: Ints
    confidence: Floats
    fired_confidence: Floats
    opened_at: Ints
    closed_at: Ints
    chain: Callable[[int], Any] | None = None

    def __len__(self) -> int:
        return len(self.fired)

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """The findings, each with the row of its history's first event."""
        names = [name for name, _ in self.program.levels]
        arranged = self.arranged
        numbers = arranged.number_of(self.fired)
        columns = (
            numbers, arranged.starts[numbers], self.fired, self.first, self.last, self.peak, self.count,
            self.level, self.confidence, self.fired_confidence, self.opened_at, self.closed_at,
        )  # fmt: skip
        is_sequence = isinstance(self.program.body, SequenceProgram)
        for k, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            number, start, fired, first, last, peak, count, level, sure, at_first, opened, closed = row
            history = arranged.history(number)
            finding = Finding(
                self.program,
                history,
                fired=fired - start,
                first=first - start,
                last=last - start,
                peak=peak - start,
                count=count,
                level=names[level],
                confidence=sure,
                fired_confidence=at_first,
                opened_at=opened,
                detected_at=closed if is_sequence else opened,
                closed_at=None if closed == STILL else closed,
                chain={} if self.chain is None else self.chain(k),
            )
            yield arranged.row(start), finding


def of_sequence(program: Program, body: SequenceProgram, at: At) -> Hits | None:
    """The firings of a sequence."""
    matched = match(body, at)
    fired, first = matched.fired[-1], matched.fired[0]
    if not len(fired):
        return None
    gather, arranged = Gather(body, at, matched), at.arranged
    judges = Judges(program, At(arranged, at.cap, fired, gather.steps), gather.chain)
    confidence, times = judges.confidence(), arranged.times
    return Hits(
        program,
        arranged,
        fired=fired,
        first=first,
        last=fired,
        peak=fired,
        count=gather.count,
        level=judges.level(),
        confidence=confidence,
        fired_confidence=confidence,
        opened_at=times[first],
        closed_at=times[fired],
        chain=gather.chain,
    )


def of_level(program: Program, body: LevelProgram, at: At) -> Hits | None:
    """The episodes of a level."""
    opened, closed = episodes(body, at)
    if not len(opened):
        return None
    arranged = at.arranged
    ends = arranged.ends[arranged.number_of(opened)]
    length = np.where(closed < 0, ends, closed) - opened
    begins = np.cumsum(length) - length
    rows = np.arange(int(length.sum())) + np.repeat(opened - begins, length)
    judges = Judges(program, At(arranged, at.cap, rows))
    sure, level = judges.confidence(), judges.level()
    ranks = np.array([rank(name) for name, _ in program.levels])[level]
    score = ranks * 10_000_000 + np.rint(sure * 1e6).astype(np.int64)
    best = np.repeat(np.maximum.reduceat(score, begins), length)
    peak = np.maximum.reduceat(np.where(score == best, rows, -1), begins)
    return Hits(
        program,
        arranged,
        fired=opened,
        first=opened,
        last=opened + length - 1,
        peak=peak,
        count=length,
        level=level[peak - opened + begins],
        confidence=np.maximum.reduceat(sure, begins),
        fired_confidence=sure[begins],
        opened_at=arranged.times[opened],
        closed_at=np.where(closed < 0, STILL, arranged.times[closed]),
    )


def of_silence(program: Program, found: Silences, at: At) -> Hits | None:
    """The silences."""
    before, deadline, following = found.before, found.deadline, found.following
    if not len(before):
        return None

    def chain(k: int) -> dict[str, Any]:
        return {".deadline": format_time(moment(int(deadline[k])))}

    judges = Judges(program, At(at.arranged, at.cap, before), chain)
    confidence = judges.confidence()
    return Hits(
        program,
        at.arranged,
        fired=before,
        first=before,
        last=before,
        peak=before,
        count=np.ones(len(before), np.int64),
        level=judges.level(),
        confidence=confidence,
        fired_confidence=confidence,
        opened_at=deadline,
        closed_at=following,
        chain=chain,
    )
