"""Silences over all histories of a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...language.ast import Expr
from ...language.program import SilenceProgram
from .expressions import At, exactly
from .numbers import highest_below
from .table import Floats, Ints, Mask

FAR = 2.0**62
"""Microseconds beyond any time there is."""


@dataclass(frozen=True, slots=True)
class Silences:
    """The positions before silences, their deadlines, and the times of the next events (`FAR`: none).

    `unknown` are the histories in which it could not be said how long is too long.
    """

    before: Ints
    deadline: Ints
    following: Ints
    unknown: Ints


def silences(body: SilenceProgram, at: At, as_of: int) -> Silences:
    """Everything a silence finds in the histories of a block."""
    arranged = at.arranged
    asked = np.arange(at.size) - arranged.start >= body.at_least - 1
    if body.after is not None:
        asked &= _held(at, body.after, asked)
    following = np.full(at.size, int(FAR))
    following[:-1] = arranged.times[1:]
    following[arranged.ends - 1] = int(FAR)
    until = np.where(following == int(FAR), as_of, following)
    seconds = _seconds(at, body, asked, until)
    unknown = _unknown(at, body, asked, seconds == seconds)
    asked = asked & (seconds > highest_below(0.0))
    wait = np.rint(np.where(asked, seconds, 0.0) * 1e6)
    asked &= wait < FAR / 2
    deadline = arranged.times + np.maximum(np.where(asked, wait, 0.0), 0.0).astype(np.int64)
    found = np.flatnonzero(asked & (until > deadline))
    return Silences(found, deadline[found], following[found], unknown)


def _unknown(at: At, body: SilenceProgram, mask: Mask, known: Mask) -> Ints:
    arranged = at.arranged
    short = arranged.ends - arranged.starts < body.at_least
    tried = np.logical_or.reduceat(mask, arranged.starts)
    told = np.logical_or.reduceat(mask & known, arranged.starts)
    return np.flatnonzero(short | (tried & ~told))


def _held(at: At, condition: Expr, mask: Mask) -> Mask:
    """Where a condition holds among the positions asked about."""
    out = np.zeros(at.size, bool)
    out[mask] = at.some(mask).holds(condition)
    return out


def _seconds(at: At, body: SilenceProgram, mask: Mask, until: Ints) -> Floats:
    """How long to wait at each position asked about, to the last bit wherever it could matter."""
    out = np.full(at.size, np.nan)
    some = at.some(mask)
    found = some.number(body.longer_than)
    out[mask] = found.x
    if found.exact:
        return out
    # Only a wait that may have run out needs to be known exactly.
    left = (until[mask] - at.arranged.times[mask]) / 1e6
    unsure = np.broadcast_to(found.x <= left + found.err + 1e-6, left.shape).copy()
    if found.doubt is not None:
        unsure |= found.doubt
    rows = np.flatnonzero(mask)[unsure]
    out[rows] = exactly(some.some(unsure, exact=True), body.longer_than)
    return out
