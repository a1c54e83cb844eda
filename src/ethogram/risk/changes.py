"""Learned parameter changes: who changed what, when. Pattern files are never rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..models.record import Record
from ..models.slotted import dataclass

if TYPE_CHECKING:
    from ..fields import Name, Ordinal
    from .proposal import Proposal

AUTOMATIC = "automatic"
"""Author of changes made without asking."""


@dataclass(frozen=True, slots=True)
class Change(Record):
    """A change of a parameter that was accepted or undone."""

    RECORD = "learned"
    OMITTED = ("number",)

    at: datetime
    by: str
    pattern: Name
    parameter: Name
    old: float
    new: float
    undoes: Ordinal | None = None
    """The number of the change it reverts."""
    why: str = ""
    number: Ordinal | None = None
    """Its place in the list; only where it is listed."""


Changes = tuple[Change, ...]


def _standing(changes: Iterable[Change]) -> list[tuple[int, Change]]:
    """Changes that were not reverted, with their numbers."""
    numbered = list(enumerate(changes, start=1))
    undone = {change.undoes for _, change in numbered}
    return [(number, item) for number, item in numbered if item.undoes is None and number not in undone]


def in_force(changes: Iterable[Change]) -> dict[str, dict[str, float]]:
    """The overlay that changes amount to: pattern -> parameter -> value.

    A parameter whose changes were all reverted is left out: the value of its file or the settings applies.
    """
    overlay: dict[str, dict[str, float]] = {}
    for _, change in _standing(changes):
        overlay.setdefault(change.pattern, {})[change.parameter] = change.new
    return overlay


def apply_proposal(changes: Changes, proposal: Proposal, *, by: str, at: datetime, why: str = "") -> Changes:
    """The changes with a proposal applied; ValueError where its old value is no longer in force."""
    pattern, parameter, old = proposal.pattern, proposal.parameter, proposal.old
    current = in_force(changes).get(pattern, {}).get(parameter, old)
    if current != old:
        raise ValueError(f"{pattern}.{parameter} is {current:g} now, not {old:g} as proposed; learn again")
    return (*changes, Change(at, by, pattern, parameter, old, proposal.new, why=why))


def undo_last(changes: Sequence[Change], pattern: str, *, by: str, at: datetime) -> Changes:
    """The changes with the newest standing one of a pattern reverted, which is one more change."""
    for number, change in reversed(_standing(changes)):
        if change.pattern == pattern:
            return (*changes, Change(at, by, pattern, change.parameter, change.new, change.old, number))
    raise ValueError(f"no change of {pattern} is left to undo")
