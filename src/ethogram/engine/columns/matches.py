"""Matches of a program in a block: positions first; events and texts are read only for matches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...language.aggregates import options_of
from ...language.ast import Compare, Cover, Difference, Expr, Indicator, Measure, Number, Signal, Slot
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.templates import rounded, write_within
from ...language.visitor import expressions, walk
from ...models import format_time, moment, rank
from ..match import MOST_COUNTED, MOST_TEXT, Match
from .aggregates import sides_of
from .expressions import Reader
from .histories import Key
from .numbers import pieces
from .sequence import Firings
from .silence import NEVER, Silences
from .table import Column, EventTable, Floats, Ints, Mask
from .threshold import Episodes
from .windows import Selection, after

NAMED = (Signal, Indicator)
_PLACES = 1e6


@dataclass(slots=True)
class MatchColumns:
    """The matches of a program in a block, as columns; positions count through its histories.

    `peak` is where details and explanation are read, by `reader`.
    """

    program: Program
    reader: Reader
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
    firings: Firings | None = None


def of_sequence(program: Program, firings: Firings, cap: int) -> MatchColumns:
    """The firings of a sequence."""
    here, fired, first, steps = firings.histories, firings.fired, firings.chains[0], firings.steps
    count = np.sum([positions >= 0 for matched in steps.values() for positions in matched], axis=0)
    found = _at_once(program, Reader(here, cap, fired, steps), here.times[first], here.times[fired])
    return replace(found, first=first, count=count, firings=firings)


def of_threshold(program: Program, episodes: Episodes, whole: Reader) -> MatchColumns:
    """The episodes of a threshold, each with the event of its highest severity and confidence."""
    here, opened, closed = whole.histories, episodes.opened, episodes.closed
    ends = np.where(closed < 0, here.ends[here.number_of(opened)], closed)
    length = ends - opened
    rows = pieces(opened, length)
    begins = np.cumsum(length) - length
    reader = Reader(here, whole.cap, rows)
    sure, severity = confidence_at(program, reader), severity_at(program, reader)
    ranks = np.array([rank(name) for name, _ in program.severities])[severity]
    score = ranks * 10_000_000 + np.rint(sure * _PLACES).astype(np.int64)
    best = np.repeat(np.maximum.reduceat(score, begins), length)
    peak = np.maximum.reduceat(np.where(score == best, rows, -1), begins)
    return MatchColumns(
        program,
        Reader(here, whole.cap, peak),
        fired=opened,
        first=opened,
        last=ends - 1,
        peak=peak,
        count=length,
        severity=severity[peak - opened + begins],
        confidence=np.maximum.reduceat(sure, begins),
        fired_confidence=sure[begins],
        opened_at=here.times[opened],
        closed_at=np.where(closed < 0, NEVER, here.times[closed]),
    )


def of_silence(program: Program, silences: Silences, whole: Reader) -> MatchColumns:
    """The silences; `deadline` is their result."""
    here, before, deadline = whole.histories, silences.before, silences.deadline
    texts = here.block.table.texts.encode(format_time(moment(us)) for us in deadline.tolist())
    reader = Reader(here, whole.cap, before, results={"deadline": Column(code=texts)})
    return _at_once(program, reader, deadline, silences.following)


def _at_once(program: Program, reader: Reader, opened_at: Ints, closed_at: Ints) -> MatchColumns:
    """Matches of one event each: those at which `reader` is."""
    at, confidence = reader.positions, confidence_at(program, reader)
    return MatchColumns(
        program,
        reader,
        fired=at,
        first=at,
        last=at,
        peak=at,
        count=np.ones(len(at), np.int64),
        severity=severity_at(program, reader),
        confidence=confidence,
        fired_confidence=confidence,
        opened_at=opened_at,
        closed_at=closed_at,
    )


def confidence_at(program: Program, reader: Reader) -> Floats:
    """The confidence at each row: 0..1 to six places; absent is 0."""
    if program.confidence is None:
        return np.zeros(reader.size)
    x = reader.number(program.confidence)
    if isinstance(x, float):
        return np.full(reader.size, round(min(1.0, max(0.0, x)), 6) if x == x else 0.0)
    x = np.minimum(np.maximum(np.where(x == x, x, 0.0), 0.0), 1.0)
    scaled = x * _PLACES
    out: Floats = np.rint(scaled)
    halves = np.flatnonzero(np.abs(np.abs(scaled - out) - 0.5) < 1e-6)
    out /= _PLACES
    # Halfway between two, Python looks at all digits.
    out[halves] = [round(value, 6) for value in x[halves].tolist()]
    return out


def severity_at(program: Program, reader: Reader) -> Ints:
    """The number of the highest severity whose condition holds at each row, in the order they are listed."""
    out = np.zeros(reader.size, np.int64)
    for k, (_, condition) in enumerate(program.severities):
        if condition is None:
            out[:] = k
        else:
            out[reader.holds(condition)] = k
    return out


class Findings(NamedTuple):
    """The matches of a program in a block, each with rows of the table instead of events.

    `of` are the columns of numbers of a `MatchColumns`, from `count` to `closed_at`.
    """

    starts: list[int]
    """The row of the first event of each history."""
    keys: Sequence[Key]
    fired: list[int]
    first: Ints
    last: Ints
    last_at: list[int]
    evidence: list[list[tuple[str, int]]]
    details: list[tuple[str, list[Any]]]
    texts: list[str]
    of: list[list[Any]]


def findings(result: MatchColumns) -> Findings:
    """What has to be read while the columns of a block are there."""
    program, reader, here = result.program, result.reader, result.reader.histories
    begins = here.rows(here.start_of(result.fired))
    pieces = [
        [write_within(value, piece.form, MOST_TEXT) for value in reader.values(piece.of)]
        if isinstance(piece, Slot)
        else [piece] * len(begins)
        for piece in program.explanation
    ]
    numbers = (
        result.count, result.severity, result.confidence, result.fired_confidence, result.opened_at,
        result.closed_at,
    )  # fmt: skip
    return Findings(
        begins.tolist(),
        here.keys_at(begins),
        here.rows(result.fired).tolist(),
        here.rows(result.first),
        here.rows(result.last),
        here.times[result.last].tolist(),
        list(_evidence(result)),
        [(name, reader.values(expr)) for name, expr in program.details],
        ["".join(own) for own in zip(*pieces, strict=True)] if pieces else [""] * len(begins),
        [column.tolist() for column in numbers],
    )


def matches(
    program: Program, table: EventTable, parts: Sequence[Findings], shown: Collection[str]
) -> Iterator[tuple[int, Match]]:
    """The matches of all blocks, each with the row of its history's first event.

    `shown`: the readings that detections show.
    """
    if not parts:
        return
    names = [name for name, _ in program.severities]
    is_sequence = isinstance(program.body, SequenceProgram)
    ends = table.ids(np.concatenate([rows for part in parts for rows in (part.first, part.last)]))
    listed = {row for part in parts for own in part.evidence for _, row in own}
    rows = sorted(listed.union(*(part.fired for part in parts)))
    events = dict(zip(rows, table.events(np.array(rows), shown), strict=True))
    begin = 0
    for part in parts:
        size = len(part.starts)
        first, last = ends[begin : begin + size], ends[begin + size : begin + 2 * size]
        begin += 2 * size
        numbers = zip(*part.of, strict=True)
        for k, (count, severity, confidence, fired_confidence, opened_at, closed_at) in enumerate(numbers):
            source, key = part.keys[k]
            fired = events[part.fired[k]]
            yield (
                part.starts[k],
                Match(
                    program,
                    source,
                    key,
                    fired=fired,
                    first=first[k],
                    last=last[k],
                    last_at=part.last_at[k],
                    count=count,
                    severity=names[severity],
                    confidence=confidence,
                    fired_confidence=fired_confidence,
                    opened_at=opened_at,
                    detected_at=closed_at if is_sequence else opened_at,
                    closed_at=None if closed_at == NEVER else closed_at,
                    evidence=tuple([(step, events[row]) for step, row in part.evidence[k]]),
                    details={name: rounded(values[k]) for name, values in part.details},
                    explanation=part.texts[k] or f"{fired.subject}: {program.title}.",
                ),
            )


def named(program: Program) -> tuple[str, ...]:
    """The readings that a detection of a program may name."""
    shown = {
        node.name for expr in expressions(program.body) for node in walk(expr) if isinstance(node, NAMED)
    }
    return tuple(sorted(shown.union(program.signals)))


def _evidence(result: MatchColumns) -> Iterator[list[tuple[str, int]]]:
    """For each match (step, row of the table) in the order evidence is listed."""
    here, body = result.reader.histories, result.program.body
    fired = here.rows(result.fired).tolist()
    if isinstance(body, SilenceProgram):
        yield from ([("before", row)] for row in fired)
    elif isinstance(body, ThresholdProgram):
        peaks = here.rows(result.peak).tolist()
        counted = _counted(body, Reader(here, result.reader.cap, result.fired))
        for opened, peak, rows in zip(fired, peaks, counted, strict=True):
            last = [("peak", peak)] if peak != opened else []
            yield [*(("counted", row) for row in rows), ("opened", opened), *last]
    elif result.firings is not None:
        columns = [
            (number, step, at.tolist(), here.rows(at).tolist())
            for number, (step, rounds) in enumerate(result.firings.steps.items())
            for at in rounds
        ]
        for k in range(len(fired)):
            listed = sorted(
                (at[k], number, step, rows[k]) for number, step, at, rows in columns if at[k] >= 0
            )
            yield [(step, row) for _, _, step, row in listed]


def _counted(body: ThresholdProgram, reader: Reader) -> list[list[int]]:
    """For each row the newest 20 events before it that an aggregate of the threshold counted."""
    here = reader.histories
    at = here.block_rows(reader.positions)
    counted: list[list[Ints]] = [[] for _ in range(reader.size)]
    for expr in body.counted:
        histories, positions = _counted_by(expr, reader)
        for k, own in enumerate(positions):
            rows = histories.block_rows(own)
            counted[k].append(rows[rows < at[k]])
    newest = [np.unique(np.concatenate(rows or [at[:0]]))[-MOST_COUNTED:] for rows in counted]
    return [here.block.numbers(rows).tolist() for rows in newest]


def _counted_by(expr: Expr, reader: Reader) -> tuple[Any, list[Ints]]:
    """The histories an aggregate looks at, and for each row the positions there that it counted."""
    here = reader.histories
    assert isinstance(expr, (Measure, Cover, Difference))
    if isinstance(expr, Measure) and expr.name == "surprise_count":
        at, span = reader.positions, int(options_of(expr)["span"][0])
        low = np.maximum(np.maximum(after(here, at, span), here.start_of(at)), at + 1 - reader.cap)
        return here, _inside(reader.over(here).holds(expr.of), low, at + 1)
    selection = Selection(reader, expr)
    low, high = selection.ranges.low, selection.ranges.high
    every = selection.reader
    match expr:
        case Cover():
            held = [every.holds(Compare(">", item, Number(0.0))) for item in expr.items]
            mask = np.logical_or.reduce(held) & selection.valid
            return selection.histories, _inside(mask, low, high)
        case Difference():
            first, second = sides_of(selection, expr)
            return selection.histories, _inside(first | second, low, high)
    if expr.condition:
        mask = selection.true if selection.valid is None else selection.true & selection.valid
        return selection.histories, _inside(mask, low, high)
    windows = zip(selection.first.tolist(), selection.last.tolist(), strict=True)
    out = []
    for first, last in windows:
        at = selection.at[first:last]
        if expr.name in ("run", "top", "top_count") and len(at):
            tokens = selection.tokens[first:last]
            if expr.name == "run":
                other = np.flatnonzero(tokens != tokens[-1])
                at = at[other[-1] + 1 :] if len(other) else at
            else:
                _, place, count = np.unique(tokens, return_inverse=True, return_counts=True)
                newest = np.flatnonzero(count[place] == count.max())[-1]
                at = at[tokens == tokens[newest]]
        out.append(at)
    return selection.histories, out


def _inside(mask: Mask, low: Ints, high: Ints) -> list[Ints]:
    """The positions that a mask marks in each range."""
    at = np.flatnonzero(mask)
    first, last = np.searchsorted(at, low), np.searchsorted(at, high)
    return [at[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
