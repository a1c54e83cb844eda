"""Levels over all histories of a block: where episodes open and close."""

from __future__ import annotations

import numpy as np

from ..program import LevelProgram
from .columns import Ints, Mask
from .evaluate import At


def episodes(body: LevelProgram, at: At) -> tuple[Ints, Ints]:
    """The positions at which episodes open, and those at which they close (-1: still open)."""
    arranged = at.arranged
    opens = at.holds(body.when)
    if body.clears is not None:
        clear = at.holds(body.clears)
    elif body.stays:
        clear = np.zeros(at.size, bool)
    else:
        clear = _fails_where_open(body, at, opens)
    opens = opens & ~clear
    moves = np.flatnonzero(opens if body.stays else opens | clear)
    up = opens[moves]
    fresh = np.ones(len(moves), bool)
    fresh[1:] = arranged.start[moves[1:]] > moves[:-1]
    was_up = np.zeros(len(moves), bool)
    was_up[1:] = up[:-1]
    was_up &= ~fresh
    opened, closed = moves[up & ~was_up], moves[~up & was_up]
    return opened, _closings(at, opened, closed)


def _fails_where_open(body: LevelProgram, at: At, opens: Mask) -> Mask:
    """Where the condition is false, in the histories in which it is true somewhere: only these can close."""
    out = np.zeros(at.size, bool)
    if opens.any():
        some = np.logical_or.reduceat(opens, at.arranged.starts)
        asked = np.repeat(some, at.arranged.lengths)
        out[asked] = at.some(asked).fails(body.when)
    return out


def _closings(at: At, opened: Ints, closed: Ints) -> Ints:
    """For each opening the closing that follows it in its history, or -1."""
    if not len(closed):
        return np.full(len(opened), -1)
    k = np.searchsorted(closed, opened)
    found = closed[np.minimum(k, len(closed) - 1)]
    mine = (k < len(closed)) & (at.arranged.start[found] <= opened)
    return np.where(mine, found, -1)
