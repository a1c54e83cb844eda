"""Run programs over an input in chunks, with state carried from one chunk to the next.

A state holds the rows that windows and sequences can still see (at most about `cap` events of each history,
and those within a sequence's `within`) and, per history, what does not follow from them: how many events
there were, when the first was, the last firing, and the episode that is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...language.ast import Cover, Difference, Duration, Events, Expr, Measure, Window
from ...language.history import CAP
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.visitor import expressions, walk
from ..match import Match, Outcome
from .expressions import Reader
from .histories import NO_TIME, Block, Histories, Key, Membership, blocks, membership
from .matches import continued, matches, named
from .run import Part, outcome, search, unjudged
from .sequence import Firings
from .table import EventTable, Ints, Mask
from .windows import Selection, after


@dataclass(slots=True)
class Memory:
    """What is remembered of the histories of one membership, or of one program."""

    seen: dict[Key, tuple[int, int]] = field(default_factory=dict)
    """How many events there were, and when the first was."""
    previous: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """For each stored row, the time of the event before it in its history."""
    fired: dict[Key, int] = field(default_factory=dict)
    """The number of the event at the last firing, counted from 0."""
    opened: dict[Key, tuple[Match, float]] = field(default_factory=dict)
    """The episode that is open, and the confidence at its peak."""
    tested: set[Key] = field(default_factory=set)
    known: set[Key] = field(default_factory=set)


@dataclass(slots=True)
class State:
    """What programs remember after some chunks. It belongs to those programs and their cap."""

    rows: EventTable | None = None
    memories: dict[Membership | str, Memory] = field(default_factory=dict)

    def of(self, name: Membership | str) -> Memory:
        """What is remembered under a membership or the name of a program."""
        return self.memories.setdefault(name, Memory())


def run_chunk(
    programs: Iterable[Program],
    table: EventTable,
    state: State | None = None,
    *,
    as_of: int | None = None,
    cap: int = CAP,
) -> tuple[Outcome, State]:
    """Match the next events of histories; return the outcome and the new state.

    Events of each subject must come after those of earlier chunks. An episode that continues is reported
    again under the same id. With `as_of`, there are no more events up to then: ongoing silences and histories
    that could not be judged are reported. The state passed in must not be used again.
    """
    chosen = [program for program in programs if not program.is_combination]
    state = state or State()
    earlier = 0 if state.rows is None else state.rows.rows
    whole = table if state.rows is None else state.rows.followed_by(table)
    needed = np.zeros(whole.rows, bool)
    previous: dict[Membership, Ints] = {}
    parts = []
    for block in blocks(whole, earlier):
        block.chunked = True
        parts.append([_run_block(program, block, state, previous, needed, as_of, cap) for program in chosen])
        block.forget()
    out = outcome(chosen, parts)
    for program in chosen:
        out.checked[program.name] = len(state.of(membership(program)).seen)
    rows = np.flatnonzero(needed)
    for member, times in previous.items():
        state.of(member).previous = times[rows]
    state.rows = whole.take(rows)
    return out, state


def _run_block(
    program: Program,
    block: Block,
    state: State,
    previous: dict[Membership, Ints],
    mask: Mask,
    as_of: int | None,
    cap: int,
) -> Part:
    here = block.histories(membership(program))
    part = Part(len(here.starts))
    for histories in (here, here.whole):
        if histories.size:
            _recall(histories, state, previous)
    keys, reader = here.keys, Reader(here, cap)
    mask[block.numbers(np.flatnonzero(_rows_needed(program, reader)))] = True
    if not here.size:
        return part
    if program.timed_only and not here.timed:
        part.unjudged = [unjudged(program, here, np.arange(len(keys)))] if as_of is not None else []
        return part
    memory = state.of(program.name)
    with np.errstate(all="ignore"):
        result, tested, known = search(program, reader, as_of, *_carried(here, memory))
        if result is not None:
            for number, row, peak, match in matches(result, named(program)):
                is_carried = result.carried is not None and bool(result.carried[len(part.matches)])
                part.matches.append((row, _remember(memory, keys[number], is_carried, peak, match)))
            if isinstance(result.firings, Firings):
                _remember_firings(memory, here, result.firings)
    memory.tested.update(keys[number] for number in np.flatnonzero(tested).tolist())
    memory.known.update(keys[number] for number in np.flatnonzero(known).tolist())
    if as_of is not None:
        lacking = [key in memory.tested and key not in memory.known for key in keys]
        least = program.body.at_least if isinstance(program.body, SilenceProgram) else 0
        short = here.lengths + here.before < least
        part.unjudged = [unjudged(program, here, np.flatnonzero(np.array(lacking) | short))]
    return part


def _recall(here: Histories, state: State, previous: dict[Membership, Ints]) -> None:
    """Load what came before the first rows of histories, and store what the next chunk needs."""
    if here.recalled:
        return
    memory, old = state.of(here.member), here.old
    counts = np.zeros(len(here.starts), np.int64)
    if old is not None:
        counts = np.add.reduceat(old, here.starts, dtype=np.int64)
        rows = here.rows(np.flatnonzero(old))
        here.previous[old] = memory.previous[rows] if len(memory.previous) else here.previous[old]
    here.fresh = here.starts + counts
    seen = [memory.seen.get(key) for key in here.keys]
    here.before = np.array([0 if item is None else item[0] for item in seen], np.int64) - counts
    here.first_times = np.array(
        [
            first if item is None else item[1]
            for item, first in zip(seen, here.first_times.tolist(), strict=True)
        ],
        np.int64,
    )
    ends = (here.before + here.lengths).tolist()
    memory.seen.update(zip(here.keys, zip(ends, here.first_times.tolist(), strict=True), strict=True))
    table_rows = here.block.table.rows
    previous.setdefault(here.member, np.full(table_rows, NO_TIME))[here.rows(here.positions)] = here.previous
    here.recalled = True


def _carried(here: Histories, memory: Memory) -> tuple[Ints | None, Ints | None]:
    """The position of each history's last firing, and the first new positions where an episode is open."""
    if here.old is None:
        return None, None
    fired = [memory.fired.get(key, -1) for key in here.keys]
    last = np.where(np.array(fired) < 0, -1, here.starts - here.before + np.array(fired))
    opened = np.array([key in memory.opened for key in here.keys])
    return last, here.fresh[opened & (here.fresh < here.ends)]


def _remember(memory: Memory, key: Key, is_carried: bool, peak: float, match: Match) -> Match:
    """The match with what came before it; an open episode is remembered."""
    if is_carried:
        match, peak = continued(*memory.opened.pop(key), match, peak)
    if match.closed_at is None and isinstance(match.program.body, ThresholdProgram):
        memory.opened[key] = (match, peak)
    return match


def _remember_firings(memory: Memory, here: Histories, firings: Firings) -> None:
    numbers = here.number_of(firings.fired)
    ordinals = firings.fired - here.starts[numbers] + here.before[numbers]
    for number, ordinal in zip(numbers.tolist(), ordinals.tolist(), strict=True):
        memory.fired[here.keys[number]] = ordinal


def _rows_needed(program: Program, reader: Reader) -> Mask:
    """The rows of a block that a program may read in later chunks."""
    here = reader.histories
    again = _read_again(program.body, here)
    needed = np.zeros(here.block.size, bool)
    windows = list(_windows(program))

    def keep(histories: Histories, low: Ints) -> None:
        low = np.maximum(low, histories.starts)
        marks = np.repeat(low, histories.lengths) <= histories.positions
        needed[histories.block_rows(histories.positions[marks])] = True

    back = max([1, *(_length(window, reader.cap) for window in windows if not window.over_subject)])
    keep(here, np.minimum(again - back, here.ends - 1))
    whole = here.whole
    again_whole = whole.ends.copy()
    old = np.flatnonzero(again < here.ends)
    if len(old):
        at = here.in_whole(again[old])
        np.minimum.at(again_whole, whole.number_of(at), at)
    over = [_length(window, reader.cap) for window in windows if window.over_subject]
    if over:
        keep(whole, again_whole - max(over))
    for expr in _aggregates(program):
        histories, bound = (whole, again_whole) if expr.window.over_subject else (here, again)
        if expr.window.keep is not None and histories.size:
            selection = Selection(Reader(histories, reader.cap), expr)
            skip = expr.window.skip.n if isinstance(expr.window.skip, Events) else 0
            oldest = selection.before[bound] - (expr.window.keep + skip)
            at = selection.at
            number = histories.number_of(at)
            newest = np.arange(len(at)) >= oldest[number]
            needed[histories.block_rows(at[newest])] = True
    return needed


def _read_again(body: Any, here: Histories) -> Ints:
    """For each history the first position that will be read again as an event, not only in windows."""
    if isinstance(body, SilenceProgram):
        return here.ends - 1
    if not isinstance(body, SequenceProgram):
        return here.ends
    # A chain that began before this can never fire.
    low = here.starts
    for limit in body.within:
        if isinstance(limit, Events):
            low = np.maximum(low, here.ends - limit.n + 1)
        elif isinstance(limit, Duration) and here.timed:
            low = np.maximum(low, after(here, here.ends - 1, limit.us + 1))
    return np.minimum(low, here.ends)


def _length(window: Window, cap: int) -> int:
    """How many events before the one at which it is read a window may reach back to."""
    if window.keep is not None:
        return window.skip.n if isinstance(window.skip, Events) else 0
    sizes = [limit.n for limit in window.last if isinstance(limit, Events)]
    if not sizes or isinstance(window.skip, Duration):
        return cap
    return min(cap, min(sizes) + (window.skip.n if isinstance(window.skip, Events) else 0))


def _windows(program: Program) -> Iterator[Window]:
    return (expr.window for expr in _aggregates(program))


def _aggregates(program: Program) -> Iterator[Measure | Cover | Difference]:
    parts: tuple[Any, ...] = (
        program.body,
        program.confidence,
        program.severities,
        program.details,
        program.explanation,
    )
    exprs: Iterable[Expr] = expressions(parts)
    return (node for expr in exprs for node in walk(expr) if isinstance(node, (Measure, Cover, Difference)))
