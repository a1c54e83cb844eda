"""Thresholds over all histories of a block: where episodes open and close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...language.program import ThresholdProgram
from .expressions import Reader
from .numbers import pieces
from .table import Ints, Mask


@dataclass(frozen=True, slots=True)
class Episodes:
    """Where episodes open and close, -1 where they stay open. `carried`: opened in an earlier chunk, and seen
    here from the first new event on."""

    opened: Ints
    closed: Ints
    carried: Mask


def episodes(body: ThresholdProgram, reader: Reader, carried: Ints | None = None) -> Episodes:
    """The episodes of a threshold; `carried`: the first new positions of histories in which one is open."""
    here, new = reader.histories, reader.histories.new
    if new is None:
        opens = np.flatnonzero(reader.holds(body.when))
    else:
        opens = new[Reader(here, reader.cap, new).holds(body.when)]
    carried = opens[:0] if carried is None else carried
    if not len(opens) and not len(carried):
        return Episodes(opens, opens, np.zeros(0, bool))
    clears = _clears(body, reader, np.concatenate((opens, carried)))
    opens = opens[~np.isin(opens, clears, assume_unique=True)]
    # Moves in order, at twice their positions: what is carried opens just before the first new event.
    moves = np.concatenate((2 * opens, 2 * carried - 1, 2 * clears))
    order = np.argsort(moves, kind="stable")
    moves, up = moves[order], order < len(opens) + len(carried)
    at = (moves + 1) // 2
    was_up = np.zeros(len(moves), bool)
    # The first move of a history finds nothing open.
    was_up[1:] = up[:-1] & (here.start_of(at[1:]) <= at[:-1])
    opening, closing = up & ~was_up, at[~up & was_up]
    opened = at[opening]
    k = np.searchsorted(closing, opened, "left")
    following = np.append(closing, here.size)[k]
    mine = (k < len(closing)) & (here.start_of(np.minimum(following, here.size - 1)) <= opened)
    return Episodes(opened, np.where(mine, following, -1), moves[opening] % 2 == 1)


def _clears(body: ThresholdProgram, reader: Reader, opens: Ints) -> Ints:
    """Where an episode closes if it is open, in the histories in which one can be."""
    if body.stays and body.clears is None:
        return opens[:0]
    here = reader.histories
    numbers = np.unique(here.number_of(opens))
    rows = pieces(here.starts[numbers], here.lengths[numbers])
    if here.old is not None:
        rows = rows[~here.old[rows]]
    some = Reader(here, reader.cap, rows)
    clears: Ints = rows[some.fails(body.when) if body.clears is None else some.holds(body.clears)]
    return clears
