"""flags and its kin: how many phrases of the lexicon a message holds, all told, by trait and by category."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from ..records import TRAITS, Event
from ..scanner.content import read_categories
from .define import Unmeasured, signal

if TYPE_CHECKING:
    from ..scanner import Scan

Measure = Callable[[Event], float | Unmeasured | None]

_ANY_NUMBER = (0, math.inf)
_UNKNOWN = Unmeasured("the text is in no language that the lexicon knows")


@lru_cache(maxsize=64)
def _scan(text: str) -> Scan:
    """Several of these signals are often measured on one event: it is scanned once."""
    # Here and not above: whoever measures none of these need not wait for the lexicon.
    from ..scanner import scan

    return scan(text)


def _count(event: Event, of: Callable[[Scan], float]) -> float | Unmeasured | None:
    # What a subject says again and again counts once.
    if event.text is None or event.readings.get("copy") == 1.0:
        return None
    found = _scan(event.text)
    return of(found) if found.measured else _UNKNOWN


@signal("flags", range=_ANY_NUMBER, needs=("copy",))
def flags(event: Event) -> float | Unmeasured | None:
    """How many phrases of the lexicon the text holds, of any trait, quoted and denied ones left out.

    >>> flags(Event.sample(text="Act now, because the shop is open.")), flags(Event.sample())
    (2.0, None)
    """
    return _count(event, lambda found: float(found.count or 0))


@signal("flags_negative", range=_ANY_NUMBER, needs=("copy",))
def flags_negative(event: Event) -> float | Unmeasured | None:
    """How many phrases of negative traits and of hard constraints the text holds.

    >>> flags_negative(Event.sample(text="Act now, because the shop is open."))
    1.0
    """
    return _count(event, lambda found: float(found.negative or 0))


@signal("flags_hard_constraint", range=(0, 1), needs=("copy",))
def flags_hard_constraint(event: Event) -> float | Unmeasured | None:
    """1.0 where a phrase of a hard constraint is there: a reason to look, never a finding."""
    return _count(event, lambda found: float(bool(found.hard_constraint)))


def _of(field: str, name: str, about: str) -> Measure:
    def measure(event: Event) -> float | Unmeasured | None:
        return _count(event, lambda found: float((getattr(found, field) or {}).get(name, 0)))

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
