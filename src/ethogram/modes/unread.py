"""Readings that nobody reads and whose names look misspelt: told, since their values are lost otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..errors import did_you_mean
from ..records import Event
from ..shapes.program import Program
from ..shapes.tree import Attribute, Indicator, Signal
from ..shapes.vocabulary import Vocabulary
from ..shapes.walk import named

Order = tuple[datetime, int, str]
MOST = 200
"""Strange names that are counted; looking for near ones costs about a millisecond each."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A name of readings that no pattern and no vocabulary knows, and the known names it is near to."""

    signal: str
    count: int
    near: tuple[str, ...]


def unread(
    counts: Mapping[str, int], strays: Mapping[str, int], programs: Sequence[Program], vocabulary: Vocabulary
) -> tuple[Unread, ...]:
    """What looks misspelt among strange readings, and among table columns that were kept as attributes."""
    signals = known_signals(programs, vocabulary)
    attributes = {*vocabulary.attributes, *_names(programs, Attribute)}
    every = Counter(counts)
    every.update({name: n for name, n in strays.items() if name not in attributes})
    found = (Unread(name, n, _near(name, signals)) for name, n in sorted(every.items()))
    return tuple(one for one in found if one.near)


def strange(events: Iterable[Event], known: set[str]) -> Counter[str]:
    """How often each name that is not known has a reading; only the first MOST such names count."""
    return Counter({name: n for name, (n, _) in first_strange(events, known, MOST).items()})


Strange = dict[str, tuple[int, Order]]
"""How often a name came, and the order of the first event that has it."""


def first_strange(events: Iterable[Event], known: set[str], most: int) -> Strange:
    """The first names that are not known among events that are in order."""
    found: Strange = {}
    for event in events:
        if event.readings.keys() <= known:
            continue
        for name in sorted(event.readings.keys() - known):
            if name in found:
                found[name] = (found[name][0] + 1, found[name][1])
            elif len(found) < most:
                found[name] = (1, event.order)
    return found


def joined(some: Iterable[Strange]) -> Counter[str]:
    """How often each of the first MOST names came in several lots of events that share none."""
    counts: Counter[str] = Counter()
    first: dict[str, Order] = {}
    for found in some:
        for name, (n, order) in found.items():
            counts[name] += n
            first[name] = min(first.get(name, order), order)
    earliest = sorted(first, key=lambda name: (first[name], name))[:MOST]
    return Counter({name: counts[name] for name in earliest})


def known_signals(programs: Sequence[Program], vocabulary: Vocabulary) -> set[str]:
    """Names that somebody reads."""
    return {*vocabulary.signals, *vocabulary.indicators, *_names(programs, Signal, Indicator)}


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
