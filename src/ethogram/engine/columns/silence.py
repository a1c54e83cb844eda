"""Silences over all histories of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...language.program import Program, SilenceProgram
from ...models import Event
from .expressions import Reader
from .histories import blocks, membership
from .numbers import highest_below
from .table import Ints, Mask, table_of

NEVER = 2**62
"""The time of what has not come."""


@dataclass(frozen=True, slots=True)
class Silences:
    """The positions before silences, their deadlines, and the times of the next events (`NEVER`: none).

    `judged` marks the histories with enough events in which the limit has a value wherever it is due.
    """

    before: Ints
    deadline: Ints
    following: Ints
    judged: Mask


def silences(body: SilenceProgram, reader: Reader, as_of: int) -> Silences:
    """Everything a silence finds."""
    here = reader.histories
    tested = here.positions - here.start >= body.at_least - 1
    rows, deadline, known = _deadlines(body, reader, tested)
    following = np.append(here.times[1:], NEVER)
    following[here.ends - 1] = NEVER
    until = np.where(following == NEVER, as_of, following)
    stays = until[rows] > deadline
    rows, deadline = rows[stays], deadline[stays]
    tested, known = (np.logical_or.reduceat(mask, here.starts) for mask in (tested, known))
    return Silences(rows, deadline, following[rows], (here.lengths >= body.at_least) & (known | ~tested))


def _deadlines(body: SilenceProgram, reader: Reader, tested: Mask) -> tuple[Ints, Ints, Mask]:
    """The tested positions that have a deadline, the deadlines, and where the limit has a value.

    `tested` is narrowed to the positions after which a silence counts.
    """
    here = reader.histories
    if body.after is not None:
        tested[tested] = reader.some(tested).holds(body.after)
    rows = np.flatnonzero(tested)
    seconds = np.broadcast_to(Reader(here, reader.cap, rows).number(body.longer_than), rows.shape)
    known = np.zeros(here.size, bool)
    known[rows] = seconds == seconds
    wait = np.where(seconds > highest_below(0.0), np.maximum(np.rint(seconds * 1e6), 0.0), np.inf)
    stays = wait < NEVER / 2
    return rows[stays], here.times[rows[stays]] + wait[stays].astype(np.int64), known


def last_deadlines(
    programs: Sequence[Program], events: Sequence[Event], cap: int
) -> Iterator[tuple[tuple[str, str], int]]:
    """The deadlines after the last event of each history, with the source and subject of that event.

    Events must be in order; programs without a silence are left out.
    """
    bodies = [(program, program.body) for program in programs if isinstance(program.body, SilenceProgram)]
    table = table_of(events)
    for block in blocks(table) if bodies else ():
        for program, body in bodies:
            here = block.histories(membership(program))
            if not here.size or (program.timed_only and not here.timed):
                continue
            last = np.zeros(here.size, bool)
            last[here.ends[here.lengths >= body.at_least] - 1] = True
            with np.errstate(all="ignore"):
                rows, deadlines, _ = _deadlines(body, Reader(here, cap), last)
            for who, deadline in zip(table.who[here.rows(rows)].tolist(), deadlines.tolist(), strict=True):
                yield table.names[who], deadline
        block.forget()
