"""Run programs over blocks of histories: columns in, matches out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...language.history import CAP, FIELDS
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.visitor import expressions
from ...models import Event, format_time, moment, rank
from .. import plain
from ..match import NO_TIMES, Finding, Insufficient
from ..plain import Outcome
from .blocks import Arranged, Block, blocks, by_subject, membership
from .expressions import At, sayable
from .known import unjudged
from .sequence import Gather, match
from .silence import FAR, Silences, silences
from .table import Columns, EventColumns, Floats, Ints
from .threshold import Judges, episodes

# Hits: what was found in a block, in columns; findings are made of them when they are read.

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
    severity: Ints
    confidence: Floats
    fired_confidence: Floats
    opened_at: Ints
    closed_at: Ints
    chain: Callable[[int], Any] | None = None

    def __len__(self) -> int:
        return len(self.fired)

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """The findings, each with the row of its history's first event."""
        names = [name for name, _ in self.program.severities]
        arranged = self.arranged
        numbers = arranged.number_of(self.fired)
        columns = (
            numbers, arranged.starts[numbers], self.fired, self.first, self.last, self.peak, self.count,
            self.severity, self.confidence, self.fired_confidence, self.opened_at, self.closed_at,
        )  # fmt: skip
        is_sequence = isinstance(self.program.body, SequenceProgram)
        for k, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            number, start, fired, first, last, peak, count, severity, sure, at_first, opened, closed = row
            history = arranged.history(number)
            finding = Finding(
                self.program,
                history,
                fired=fired - start,
                first=first - start,
                last=last - start,
                peak=peak - start,
                count=count,
                severity=names[severity],
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
        severity=judges.severity(),
        confidence=confidence,
        fired_confidence=confidence,
        opened_at=times[first],
        closed_at=times[fired],
        chain=gather.chain,
    )


def of_threshold(program: Program, body: ThresholdProgram, at: At) -> Hits | None:
    """The episodes of a threshold."""
    opened, closed = episodes(body, at)
    if not len(opened):
        return None
    arranged = at.arranged
    ends = arranged.ends[arranged.number_of(opened)]
    length = np.where(closed < 0, ends, closed) - opened
    begins = np.cumsum(length) - length
    rows = np.arange(int(length.sum())) + np.repeat(opened - begins, length)
    judges = Judges(program, At(arranged, at.cap, rows))
    sure, severity = judges.confidence(), judges.severity()
    ranks = np.array([rank(name) for name, _ in program.severities])[severity]
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
        severity=severity[peak - opened + begins],
        confidence=np.maximum.reduceat(sure, begins),
        fired_confidence=sure[begins],
        opened_at=arranged.times[opened],
        closed_at=np.where(closed < 0, STILL, arranged.times[closed]),
    )


def of_silence(program: Program, result: Silences, at: At) -> Hits | None:
    """The silences."""
    before, deadline, following = result.before, result.deadline, result.following
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
        severity=judges.severity(),
        confidence=confidence,
        fired_confidence=confidence,
        opened_at=deadline,
        closed_at=following,
        chain=chain,
    )


# The batch runner: every program over every block of histories.

MANY_ROWS = 4_000_000
"""From so many rows on, two workers are no slower than one even where both share a core."""

MOST_WORKERS = 2


def run(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int = CAP) -> Outcome:
    """Findings of all programs over events that are in order and not after `as_of` (microseconds)."""
    return run_columns(programs, EventColumns(events), as_of=as_of, cap=cap)


def run_columns(
    programs: Iterable[Program], columns: Columns, *, as_of: int, cap: int = CAP, workers: int | None = None
) -> Outcome:
    """The same over columns."""
    outcome = Outcome()
    for item in search(programs, columns, as_of=as_of, cap=cap, workers=workers):
        item.report(outcome)
    return outcome


def search(
    programs: Iterable[Program], columns: Columns, *, as_of: int, cap: int = CAP, workers: int | None = None
) -> list[Run]:
    """What was found, still in columns: a `Run` for each program.

    Blocks are shared out among `workers` (threads, since NumPy lets go of the lock); by default both cores
    where there is enough to do.
    """
    plans = [Plan(program, columns, as_of, cap) for program in programs if not program.is_combination]
    strange = {k: plan.everything() for k, plan in enumerate(plans) if plan.strange}
    workers = workers or (min(MOST_WORKERS, os.cpu_count() or 1) if columns.rows > MANY_ROWS else 1)

    def look(block: Block) -> list[Part]:
        parts = [Part() if plan.strange else plan.part(block) for plan in plans]
        block.forget()
        return parts

    each = blocks(columns, by_subject(columns))
    if workers > 1:
        with ThreadPoolExecutor(workers) as pool:
            parts = list(pool.map(look, each))
    else:
        parts = [look(block) for block in each]
    each_plan = enumerate(plans)
    return [
        Run(p.program, [strange[k]] if k in strange else [part[k] for part in parts]) for k, p in each_plan
    ]


@dataclass(slots=True)
class Part:
    """What one program found in one block; `lacking` are histories it cannot judge, need and reason."""

    checked: int = 0
    hits: Hits | None = None
    found: list[tuple[int, Finding]] = field(default_factory=list)
    noted: list[tuple[int, Insufficient]] = field(default_factory=list)
    lacking: tuple[Arranged, Ints, int, str] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What one program found in all blocks."""

    program: Program
    parts: list[Part]

    @property
    def hits(self) -> list[Hits]:
        return [part.hits for part in self.parts if part.hits is not None]

    def report(self, outcome: Outcome) -> list[int]:
        """Add everything found as records, histories in the order of their first events.

        Gives the rows of these first events for what could not be judged.
        """
        outcome.checked[self.program.name] = sum(part.checked for part in self.parts)
        pairs = [pair for part in self.parts for pair in part.found]
        pairs += [pair for hits in self.hits for pair in hits.findings()]
        noted = [pair for part in self.parts for pair in (*part.noted, *self._notes(part))]
        outcome.findings += [item for _, item in sorted(pairs, key=lambda pair: pair[0])]
        noted.sort(key=lambda pair: pair[0])
        outcome.insufficient += [item for _, item in noted]
        return [row for row, _ in noted]

    def _notes(self, part: Part) -> Iterator[tuple[int, Insufficient]]:
        if part.lacking is None:
            return
        arranged, numbers, need, reason = part.lacking
        for number in numbers.tolist():
            source, key, row = arranged.key(number)
            have = int(arranged.ends[number] - arranged.starts[number])
            yield row, Insufficient(self.program, source, key, have, need, reason)


class Plan:
    """How one program goes through a block."""

    def __init__(self, program: Program, columns: Columns, as_of: int, cap: int) -> None:
        self.program, self.as_of, self.cap = program, as_of, cap
        exprs = list(expressions(program.body))
        self.columnar = all(map(sayable, exprs)) and not any(map(columns.is_odd, exprs))
        self.columns = columns
        # Histories cannot even be told apart by what columns do not hold.
        self.strange = any(
            name not in FIELDS and (columns.attribute(name).odd or columns.reading(name).odd)
            for name in program.group_by
        )

    def everything(self) -> Part:
        """What the plain runner finds in all rows."""
        events = [self.columns.event(row) for row in range(self.columns.rows)]
        outcome = plain.run([self.program], events, as_of=self.as_of, cap=self.cap)
        findings, notes = enumerate(outcome.findings), enumerate(outcome.insufficient)
        return Part(outcome.checked[self.program.name], found=list(findings), noted=list(notes))

    def part(self, block: Block) -> Part:
        """What is found in a block."""
        arranged = block.arranged(membership(self.program))
        part = Part(len(arranged.starts))
        if not arranged.size:
            return part
        if self.program.timed_only and not arranged.timed:
            part.lacking = (arranged, np.arange(len(arranged.starts)), 0, NO_TIMES)
        elif self.columnar:
            with np.errstate(all="ignore"):
                self._columnar(At(arranged, self.cap), part)
        else:
            self._plain(arranged, part)
        return part

    def _columnar(self, at: At, part: Part) -> None:
        program, body = self.program, self.program.body
        match body:
            case SequenceProgram():
                first = body.places[0]
                part.hits, unknown = of_sequence(program, body, at), unjudged(at, first.condition)
                reason, need = f"step '{first.step}' could not be judged anywhere", first.condition
            case ThresholdProgram():
                part.hits, unknown = of_threshold(program, body, at), unjudged(at, body.when)
                reason, need = "its condition could not be judged anywhere", body.when
            case SilenceProgram():
                found = silences(body, at, self.as_of)
                part.hits, unknown = of_silence(program, found, at), found.unknown
                reason, need = "too few events to know what is usual", body.longer_than
            case _:
                return
        if len(unknown):
            least = body.at_least if isinstance(body, SilenceProgram) else 0
            part.lacking = (at.arranged, unknown, max(least, plain._need(need)), reason)

    def _plain(self, arranged: Arranged, part: Part) -> None:
        """What columns cannot say goes the plain way."""
        for number, start in enumerate(arranged.starts.tolist()):
            outcome, row = Outcome(), arranged.row(start)
            plain.run_history(self.program, arranged.history(number), self.as_of, self.cap, outcome)
            part.found += [(row, finding) for finding in outcome.findings]
            part.noted += [(row, item) for item in outcome.insufficient]
