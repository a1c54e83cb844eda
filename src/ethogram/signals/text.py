"""Text signals: length, question, lexicon flags, copies."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from ..lexicon.lexicon import read_categories
from ..models import TRAITS, Event
from .base import Unmeasured, signal

if TYPE_CHECKING:
    from ..lexicon import Scan


# length: how much was written.


@signal("length", range=(0, math.inf))
def length(event: Event) -> float | None:
    """Characters of the text, or the attribute `length` where the text itself was not kept.

    Absent without either, which is not 0: nothing written is a text of no characters.

    >>> length(Event.sample(text="Hello!")), length(Event.sample(attributes={"length": 240}))
    (6.0, 240.0)
    """
    if event.text is not None:
        return float(len(event.text))
    value = event.attributes.get("length")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e300 else None


# A '?' inside a word is an address (page?id=1), not a question. Scripts that write without spaces
# have question marks of their own.
_MARK = re.compile(r"\?(?![\w=&%/])|[？؟⁇⁈⁉՞፧]")


@signal("question", range=(0, 1))
def question(event: Event) -> float | None:
    """1.0 where the text has a question mark in it, else 0.0; absent without text.

    >>> question(Event.sample(text="Why? Tell me.")), question(Event.sample(text="See x.org/a?b=1"))
    (1.0, 0.0)
    """
    return None if event.text is None else float(_MARK.search(event.text) is not None)


# flags: phrases of the lexicon in a message, in total, by trait and by category.

Measure = Callable[[Event], float | Unmeasured | None]

_ANY_NUMBER = (0, math.inf)
_UNKNOWN = Unmeasured("the text is in no language that the lexicon knows")


@lru_cache(maxsize=64)
def _scan(text: str) -> Scan:
    """Cached, since several of these signals are often measured on one event."""
    # Imported here, so that other signals do not load the lexicon.
    from ..lexicon import scan

    return scan(text)


def _count(event: Event, of: Callable[[Scan], float]) -> float | Unmeasured | None:
    # Repeated texts of a subject count once.
    if event.text is None or event.readings.get("copy") == 1.0:
        return None
    result = _scan(event.text)
    return of(result) if result.measured else _UNKNOWN


@signal("flags", range=_ANY_NUMBER, needs=("copy",))
def flags(event: Event) -> float | Unmeasured | None:
    """How many phrases of the lexicon the text holds, of any trait, quoted and denied ones left out.

    >>> flags(Event.sample(text="Act now, because the shop is open.")), flags(Event.sample())
    (2.0, None)
    """
    return _count(event, lambda result: float(result.count or 0))


@signal("flags_negative", range=_ANY_NUMBER, needs=("copy",))
def flags_negative(event: Event) -> float | Unmeasured | None:
    """How many phrases of negative traits and of hard constraints the text holds.

    >>> flags_negative(Event.sample(text="Act now, because the shop is open."))
    1.0
    """
    return _count(event, lambda result: float(result.negative or 0))


@signal("flags_hard_constraint", range=(0, 1), needs=("copy",))
def flags_hard_constraint(event: Event) -> float | Unmeasured | None:
    """1.0 where a phrase of a hard constraint is there: a reason to look, never a finding."""
    return _count(event, lambda result: float(bool(result.hard_constraint)))


def _of(field: str, name: str, about: str) -> Measure:
    def measure(event: Event) -> float | Unmeasured | None:
        return _count(event, lambda result: float((getattr(result, field) or {}).get(name, 0)))

    measure.__doc__ = about
    measure.__qualname__ = f"flags_{name}"
    return measure


for _trait in TRAITS:
    signal(f"flags_{_trait}", range=_ANY_NUMBER, needs=("copy",))(
        _of("by_trait", _trait, f"How many phrases that hint at {_trait} the text holds.")
    )
for _category in read_categories():
    signal(f"flags_{_category.name}", range=_ANY_NUMBER, needs=("copy",))(
        _of("by_category", _category.name, f"Phrases of the category {_category.name}.")
    )


# copied_by and copy: the same text again, from others and from the subject itself.

MOST_SUBJECTS = 64
"""Subjects remembered for one text: copies by more are counted as so many."""

Known = tuple[str, ...]
"""Short digests of the subjects who wrote the text, the newest last."""


def _digest(subject: str) -> str:
    return hashlib.blake2b(subject.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _with(known: Known, subject: str) -> tuple[bool, Known]:
    """Whether the subject wrote the text before, and all who did."""
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
