"""Levels over all histories of a block: where episodes open and close."""

from __future__ import annotations

import numpy as np

from ..program import LevelProgram
from .columns import Ints
from .evaluate import At
from .tables import Pieces


def episodes(body: LevelProgram, at: At) -> tuple[Ints, Ints]:
    """The positions at which episodes open, and those at which they close (-1: still open)."""
    arranged, opens = at.arranged, np.flatnonzero(at.holds(body.when))
    if not len(opens):
        return opens, opens
    clears = _clears(body, at, opens)
    opens = opens[~np.isin(opens, clears, assume_unique=True)]
    moves = np.concatenate((opens, clears))
    order = np.argsort(moves, kind="stable")
    moves, up = moves[order], order < len(opens)
    was_up = np.zeros(len(moves), bool)
    # The first move of a history finds nothing open.
    was_up[1:] = up[:-1] & (arranged.start_of(moves[1:]) <= moves[:-1])
    opened, closed = moves[up & ~was_up], moves[~up & was_up]
    return opened, _closings(at, opened, closed)


def _clears(body: LevelProgram, at: At, opens: Ints) -> Ints:
    """Where it closes if it is open, in the histories in which it opens somewhere: only there it can be."""
    if body.stays and body.clears is None:
        return opens[:0]
    numbers = np.unique(at.arranged.number_of(opens))
    rows = Pieces(at.arranged.starts[numbers], at.arranged.ends[numbers]).at
    some = At(at.arranged, at.cap, rows)
    found: Ints = rows[some.fails(body.when) if body.clears is None else some.holds(body.clears)]
    return found


def _closings(at: At, opened: Ints, closed: Ints) -> Ints:
    """For each opening the closing that follows it in its history, or -1."""
    if not len(closed):
        return np.full(len(opened), -1)
    k = np.searchsorted(closed, opened)
    found = closed[np.minimum(k, len(closed) - 1)]
    mine = (k < len(closed)) & (at.arranged.start_of(found) <= opened)
    return np.where(mine, found, -1)
