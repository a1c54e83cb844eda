"""Readings that nobody reads and whose names look misspelt: told, since their values are lost otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import did_you_mean
from ..records import Event
from ..shapes.program import Program
from ..shapes.tree import Attribute, Indicator, Signal
from ..shapes.vocabulary import Vocabulary
from ..shapes.walk import named

MOST = 200
"""Strange names that are counted; looking for near ones costs about a millisecond each."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A name of readings that no pattern and no vocabulary knows, and the known names it is near to."""

    signal: str
    count: int
    near: tuple[str, ...]


def unread(
    events: Iterable[Event], strays: Mapping[str, int], programs: Sequence[Program], vocabulary: Vocabulary
) -> tuple[Unread, ...]:
    """What looks misspelt among the readings, and among table columns that were kept as attributes."""
    signals = {*vocabulary.signals, *vocabulary.indicators, *_names(programs, Signal, Indicator)}
    attributes = {*vocabulary.attributes, *_names(programs, Attribute)}
    counts = strange(events, signals)
    counts.update({name: n for name, n in strays.items() if name not in attributes})
    found = (Unread(name, n, _near(name, signals)) for name, n in sorted(counts.items()))
    return tuple(one for one in found if one.near)


def strange(events: Iterable[Event], known: set[str]) -> Counter[str]:
    """How often each name that is not known has a reading; only the first MOST such names count."""
    counts: Counter[str] = Counter()
    for event in events:
        if event.readings.keys() <= known:
            continue
        for name in event.readings.keys() - known:
            if name in counts or len(counts) < MOST:
                counts[name] += 1
    return counts


def _names(
    programs: Iterable[Program], *kinds: type[Signal] | type[Indicator] | type[Attribute]
) -> Iterable[str]:
    for one in programs:
        told = (one.body, one.confidence, one.levels, one.details)
        for kind in kinds:
            yield from named(told, kind)
            yield from named(one.explanation, kind)
        yield from one.history


def _near(name: str, known: Iterable[str]) -> tuple[str, ...]:
    hint = did_you_mean(name, known)
    return tuple(sorted(one for one in known if repr(one) in hint)) if hint else ()
