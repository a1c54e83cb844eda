"""Which rows of a block are in which history, one history after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..history import FIELDS
from ..program import Program
from .columns import Ints, Mask, Values

if TYPE_CHECKING:
    from .blocks import Block

Membership = tuple[tuple[str, ...], tuple[str, ...], bool]
"""History fields, signals, and whether evaluated events belong: programs that share it share histories."""

WHOLE = ("subject",)


def membership(program: Program) -> Membership:
    """What decides which events are in which history of a program."""
    return program.history, program.signals, program.evaluated


def arrange(block: Block, member: Membership) -> tuple[Ints | None, Ints | None]:
    """Which rows are in a history, in order of histories, and the number of the history of each.

    Both None: all are, each subject's in one.
    """
    fields = member[0]
    inside = belong(block, member)
    if fields == WHOLE:
        if inside is None:
            return None, None
        index = np.flatnonzero(inside)
        return index, block.subject[index]
    inside = np.ones(block.size, bool) if inside is None else inside
    group = np.unique(block.subject, return_inverse=True)[1].astype(np.int64)
    for name in fields:
        codes = key_codes(block, name)
        inside &= codes >= 0
        group = np.unique(group * (int(codes.max(initial=0)) + 2) + codes, return_inverse=True)[1]
    index = np.flatnonzero(inside)
    index = index[np.argsort(group[index], kind="stable")]
    return index, group[index]


def belong(block: Block, member: Membership) -> Mask | None:
    """Where an event belongs; None where all do."""
    _, signals, evaluated = member
    if (not signals and not evaluated) or block.some_full(signals):
        return None
    inside = block.evaluated.copy() if evaluated else np.zeros(block.size, bool)
    for name in signals:
        inside |= block.reading(name).present(block.size)
        if inside.all():
            return None
    return inside


def key_codes(block: Block, name: str) -> Ints:
    """A number for each different value of a history field, -1 where it is lacking."""
    found = group_codes(block.attribute(name), block.size)
    if name in FIELDS:
        return found
    read = block.reading(name)
    size = block.size
    both = Values(
        _first(read.num, block.attribute(name).num, read.present(size)),
        _first(read.code, block.attribute(name).code, read.present(size)),
    )
    return group_codes(both, size)


def _first(one: Any, other: Any, present: Mask) -> Any:
    """The values of one where a row has any, else those of the other."""
    if one is None and other is None:
        return None
    like = one if one is not None else other
    empty = np.full(len(present), np.nan if like.dtype == np.float64 else -1, like.dtype)
    return np.where(present, empty if one is None else one, empty if other is None else other)


def group_codes(values: Values, size: int) -> Ints:
    """A number for each different value, -1 where absent. Numbers are told apart exactly."""
    out = np.full(size, -1, np.int64)
    if values.code is not None:
        out = values.code.astype(np.int64)
    if values.num is not None:
        known = values.num == values.num
        if known.any():
            base = int(out.max(initial=-1)) + 1
            out[known] = base + np.unique(values.num[known], return_inverse=True)[1]
    return out
