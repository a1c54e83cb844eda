"""Saving what a program remembers of one history: its rows and its state, and back."""

from __future__ import annotations

from typing import Any

from .chain import Fill, SequenceState
from .level import LevelState, Open
from .pack import Packer, Unpacker
from .rows import Kept, Layout, Rows
from .silence import Read, SilenceState
from .track import Track, Watched


def save_rows(rows: Rows, layout: Layout, packer: Packer) -> list[Any]:
    """The rows that windows may still look at."""
    need = layout.need

    def newest(values: list[Any]) -> list[Any]:
        return values[-need:] if need else []

    kept = [
        [[one.position, one.us, one.value, packer.mark(one.mark)] for one in ones[-most:]]
        for ones, most in zip(rows.kept, layout.keeps, strict=True)
    ]
    marks = [packer.mark(mark) for mark in newest(rows.marks)]
    columns = [newest(column) for column in rows.columns]
    return [rows.timed, rows.n, rows.us, rows.first, newest(rows.times), marks, columns, kept]


def load_rows(data: list[Any], layout: Layout, unpacker: Unpacker, whole: Rows | None = None) -> Rows:
    """The rows that were saved."""
    timed, n, us, first, times, marks, columns, kept = data
    rows = Rows(timed, layout.columns, len(layout.keeps), whole)
    rows.n, rows.us, rows.first, rows.times = n, us, first, list(times)
    rows.marks = [unpacker.marks[number] for number in marks]
    rows.columns = [list(column) for column in columns]
    rows.kept = [[Kept(p, t, value, unpacker.marks[m]) for p, t, value, m in ones] for ones in kept]
    return rows


def save_state(track: Track, watched: Watched, packer: Packer) -> list[Any]:
    """What a program remembers of a history, its rows apart."""
    state = watched.state
    match state:
        case SequenceState():
            fills = [[[packer.seen(s) for s in fill] for fill in gap] for gap in state.fills]
            runs = [[packer.seen(s) for s in run] for run in state.runs]
            standing = [packer.link(link) for link in state.standing]
            return [standing, state.blocked, runs, fills, state.fired, state.known]
        case LevelState():
            one = state.open
            if one is None:
                return [None, state.known]
            marks = [packer.mark(one.opened), packer.mark(one.peak), [packer.mark(m) for m in one.evidence]]
            rest = [one.fired_confidence, one.confidence, one.level, one.peak_confidence, one.details]
            return [[*marks, *rest, one.explanation, one.last, one.count, one.last_at], state.known]
        case SilenceState():
            read = None
            track.machine.settle(state, watched.rows)
            if state.deadline is not None:
                # Read now: after loading there is no event to read it from.
                subject = str(watched.key[1 + track.subject])
                told = track.machine.read(state, watched.rows, subject)
                read = [told.level, told.confidence, told.details, told.explanation]
            before = None if state.before is None else packer.mark(state.before)
            return [before, state.deadline, state.is_open, read, state.asked, state.known]
    raise TypeError(f"no state: {state!r}")


def load_state(state: Any, data: list[Any], unpacker: Unpacker) -> None:
    """Make a new state remember what was saved."""
    match state:
        case SequenceState():
            standing, state.blocked, runs, fills, state.fired, state.known = data
            state.standing = [unpacker.link(number) for number in standing]
            state.runs = [unpacker.seens(run) for run in runs]
            state.fills = [[_fill(fill, unpacker) for fill in gap] for gap in fills]
        case LevelState():
            one, state.known = data
            if one is not None:
                opened, peak, evidence, fired, highest, level, at_peak, details, text, last, count, *at = one
                marks = unpacker.marks
                # Saved before the time was kept: the peak is the newest that is known.
                last_at = at[0] if at else marks[peak].us
                counted = tuple(marks[number] for number in evidence)
                state.open = Open(
                    marks[opened],
                    counted,
                    fired,
                    highest,
                    level,
                    marks[peak],
                    at_peak,
                    details,
                    text,
                    last,
                    last_at,
                    count,
                )
        case SilenceState():
            before, state.deadline, state.is_open, read, state.asked, state.known = data
            state.before = None if before is None else unpacker.marks[before]
            state.read = None if read is None else Read(*read)


def _fill(data: list[Any], unpacker: Unpacker) -> Fill:
    return tuple(unpacker.seen(one) for one in data)
