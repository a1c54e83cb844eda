"""Silences over all histories of a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...language.program import SilenceProgram
from .expressions import Reader
from .numbers import highest_below
from .table import Ints, Mask

NEVER = 2**62
"""The time of what has not come."""


@dataclass(frozen=True, slots=True)
class Silences:
    """The positions before silences, their deadlines, and the times of the next events (`NEVER`: none).

    `tested` marks the histories with enough events, `known` those in which the limit has a value.
    """

    before: Ints
    deadline: Ints
    following: Ints
    tested: Mask
    known: Mask


def silences(body: SilenceProgram, reader: Reader, as_of: int | None) -> Silences:
    """Everything a silence finds; without `as_of` the last event of a history is left to the next chunk."""
    here = reader.histories
    times = here.times
    tested = np.arange(here.size) - here.start + here.before[here.which] >= body.at_least - 1
    last = here.ends - 1
    if here.old is not None:
        # Of events from earlier chunks only the last has not been followed yet.
        newest = here.old.copy()
        newest[:-1] &= ~here.old[1:]
        newest[last] = here.old[last]
        tested &= ~here.old | newest
    if body.after is not None:
        tested[tested] = reader.some(tested).holds(body.after)
    rows = np.flatnonzero(tested)
    seconds = np.broadcast_to(Reader(here, reader.cap, rows).number(body.longer_than), rows.shape)
    following = np.append(times[1:], NEVER)
    following[last] = NEVER
    until = np.where(following == NEVER, -NEVER if as_of is None else as_of, following)
    known = np.zeros(here.size, bool)
    known[rows] = seconds == seconds
    wait = np.where(seconds > highest_below(0.0), np.maximum(np.rint(seconds * 1e6), 0.0), np.inf)
    stays = wait < NEVER / 2
    rows, deadline = rows[stays], times[rows[stays]] + wait[stays].astype(np.int64)
    stays = until[rows] > deadline
    rows, deadline = rows[stays], deadline[stays]
    reduce = np.logical_or.reduceat
    return Silences(rows, deadline, following[rows], reduce(tested, here.starts), reduce(known, here.starts))
