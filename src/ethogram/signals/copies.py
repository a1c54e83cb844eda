"""copied_by and copy: the same text again, from others and from the subject itself."""

from __future__ import annotations

import hashlib

from ..records import Event
from .define import signal

MOST_SUBJECTS = 64
"""Subjects remembered for one text: copies by more are counted as so many."""

Known = tuple[str, ...]
"""Short digests of those who have said it, the newest last."""


def _digest(subject: str) -> str:
    return hashlib.blake2b(subject.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _with(known: Known, subject: str) -> tuple[bool, Known]:
    """Whether the subject is among those who said it, and all who did."""
    mark = _digest(subject)
    if mark in known:
        return True, known
    return False, (*known, mark)[-MOST_SUBJECTS:]


@signal("copied_by", range=(1, MOST_SUBJECTS))
class CopiedBy:
    """How many different subjects have posted the same text so far, this one included.

    Absent where there is no text, or too little to be told apart. Case, punctuation, numbers, addresses and
    names after @ do not make another text.
    """

    scope = "text"
    start: Known = ()
    max_state_bytes = 2000

    def measure(self, event: Event, state: Known) -> tuple[float, Known]:
        _, known = _with(state, event.subject)
        return float(len(known)), known


@signal("copy", range=(0, 1))
class Copy:
    """1.0 where the subject has posted the same text before."""

    scope = "text"
    start: Known = ()
    max_state_bytes = 2000

    def measure(self, event: Event, state: Known) -> tuple[float, Known]:
        again, known = _with(state, event.subject)
        return float(again), known
