"""Changes: which parameters were changed by whom, and when. Pattern files are never rewritten."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ..models.record import Record

if TYPE_CHECKING:
    from ..fields import Name, Ordinal
    from .proposal import Proposal


AUTOMATIC = "automatic"
"""Who made a change that nobody was asked about."""


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
    """The number of the change it takes back."""
    why: str = ""
    number: Ordinal | None = None
    """Its place in the list; only where it is listed."""


Changes = tuple[Change, ...]


def in_force(changes: Iterable[Change]) -> dict[str, dict[str, float]]:
    """The overlay that a list of changes amounts to: pattern -> parameter -> number.

    A parameter whose changes have all been taken back is in it no more, so that the number of its file, or of
    the settings, holds again whatever that is by then.
    """
    every = list(changes)
    gone = {item.undoes for item in every}
    out: dict[str, dict[str, float]] = {}
    for number, item in enumerate(every, start=1):
        if item.undoes is None and number not in gone:
            out.setdefault(item.pattern, {})[item.parameter] = item.new
    return out


def accepted(changes: Changes, proposal: Proposal, *, by: str, at: datetime, why: str = "") -> Changes:
    """The changes with a proposal taken up; ValueError where its old number is no longer in force."""
    now = in_force(changes).get(proposal.pattern, {}).get(proposal.parameter, proposal.old)
    if now != proposal.old:
        raise ValueError(
            f"{proposal.pattern}.{proposal.parameter} is {now:g} by now, "
            f"and the proposal is for {proposal.old:g}; learn again"
        )
    made = Change(at, by, proposal.pattern, proposal.parameter, proposal.old, proposal.new, why=why)
    return (*changes, made)


def undone(changes: Changes, pattern: str, *, by: str, at: datetime) -> Changes:
    """The changes with the newest one of a pattern taken back that still stands.

    That is one more change: nothing is taken out of the list, so undoing can be undone by learning again.
    """
    gone = {change.undoes for change in changes}
    for number in range(len(changes), 0, -1):
        change = changes[number - 1]
        if change.pattern == pattern and change.undoes is None and number not in gone:
            back = Change(at, by, pattern, change.parameter, change.new, change.old, undoes=number)
            return (*changes, back)
    raise ValueError(f"nothing of {pattern} is left to undo")
