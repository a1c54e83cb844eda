"""Thresholds over all histories of a block: where episodes open and close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...language.program import ThresholdProgram
from .expressions import MANY, Reader, least
from .numbers import pieces
from .table import Ints


@dataclass(frozen=True, slots=True)
class Episodes:
    """Where episodes open and close, -1 where they stay open."""

    opened: Ints
    closed: Ints


def episodes(body: ThresholdProgram, reader: Reader) -> Episodes:
    """The episodes of a threshold."""
    here = reader.histories
    long = here.lengths >= least(body.when)
    if int(here.lengths[long].sum()) > MANY * here.size:
        opens = np.flatnonzero(reader.holds(body.when))
    else:
        opens = pieces(here.starts[long], here.lengths[long])
        opens = opens[Reader(here, reader.cap, opens).holds(body.when)]
    if not len(opens):
        return Episodes(opens, opens)
    clears = _clears(body, reader, opens)
    opens = opens[~np.isin(opens, clears, assume_unique=True)]
    at = np.concatenate((opens, clears))
    order = np.argsort(at, kind="stable")
    at, up = at[order], order < len(opens)
    was_up = np.zeros(len(at), bool)
    # The first move of a history finds nothing open.
    was_up[1:] = up[:-1] & (here.start_of(at[1:]) <= at[:-1])
    opened, closing = at[up & ~was_up], at[~up & was_up]
    k = np.searchsorted(closing, opened, "left")
    following = np.append(closing, here.size)[k]
    mine = (k < len(closing)) & (here.start_of(np.minimum(following, here.size - 1)) <= opened)
    return Episodes(opened, np.where(mine, following, -1))


def _clears(body: ThresholdProgram, reader: Reader, opens: Ints) -> Ints:
    """Where an episode closes if it is open, in the histories in which one can be."""
    if body.stays and body.clears is None:
        return opens[:0]
    here = reader.histories
    numbers = np.unique(here.number_of(opens))
    rows = pieces(here.starts[numbers], here.lengths[numbers])
    some = Reader(here, reader.cap, rows)
    clears: Ints = rows[some.fails(body.when) if body.clears is None else some.holds(body.clears)]
    return clears
