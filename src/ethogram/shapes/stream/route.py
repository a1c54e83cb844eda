"""Routes: for events with the same readings, the programs they are for, and the gates that lead to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from ...records import Event, is_evaluated
from ..program import Program
from ..tree import Attribute, Indicator, Signal
from ..walk import named
from .cells import ByKey, Cells, Kind
from .gate import Gate, gate_of, whole_gate_of
from .keys import belongs, key_reader
from .reduce import Carried
from .track import Key, Track

MOST_ROUTES = 1024
MOST_GATED = 256
"""Names come with the events, so a stranger could make up any number of combinations of them: beyond so many
the programs go through their steps one by one, as they do for combinations that are rare."""

ReadKey = Callable[[Event], Key | None]
Pick = Callable[[Mapping[str, Any]], tuple[Any, ...]]


Combination = tuple[frozenset[str], bool, bool, bool]
"""The readings that programs ask for, and whether events are evaluated, have attributes, have times."""


class Gated(NamedTuple):
    """The programs of one kind of history: how its key is read, and the gate to them."""

    read_key: ReadKey
    cells: ByKey
    kind: Kind
    gate: Gate


class Route(NamedTuple):
    """Where events of one kind go. `pick` gives the readings that the gates ask for.

    `whole` is the gate of the subjects' whole histories. `general` stands in the place of gates.
    """

    key: Combination
    evaluated: bool
    pick: Pick
    whole: Gate | None
    gates: list[Gated]
    general: list[tuple[ReadKey, Kind, tuple[int, ...]]]


class Routes:
    """The routes found so far, by the readings an event carries, whether it has attributes, and times."""

    def __init__(self, tracks: Sequence[Track], cells: Cells) -> None:
        self._cells = cells
        self._asked = _names_asked(tracks)
        # Writing a gate takes about a millisecond a program, so a combination must have come that often.
        self._often = len(tracks)
        self.found: tuple[dict[tuple[str, ...], Route], ...] = ({}, {}, {}, {})
        self._gated: dict[Combination, Route] = {}
        self._seen: Counter[Combination] = Counter()
        self._readers = {fields: key_reader(fields) for fields in cells.kinds}

    def of(self, event: Event, names: tuple[str, ...]) -> Route:
        """The route of an event with readings of these names."""
        attributes, timed = bool(event.attributes), event.timed
        found = self.found[2 * attributes + timed]
        route = found.get(names)
        if route is None or route.general:
            # What no program asks for does not matter, but for telling that somebody evaluated the event.
            evaluated = is_evaluated(dict.fromkeys(names)) if route is None else route.evaluated
            asked = self._asked.intersection(names) if route is None else route.key[0]
            if route is None and len(found) >= MOST_ROUTES:
                found.clear()
            found[names] = route = self._route((asked, evaluated, attributes, timed), route)
        return route

    def _route(self, key: Combination, general: Route | None) -> Route:
        if key in self._gated:
            return self._gated[key]
        if len(self._gated) < MOST_GATED:
            if len(self._seen) >= MOST_ROUTES:
                self._seen.clear()
            self._seen[key] += 1
            if self._seen[key] >= self._often:
                del self._seen[key]
                route = self._gated[key] = self._with_gates(key)
                return route
        return general or self._without(key)

    def _with_gates(self, key: Combination) -> Route:
        names, evaluated, attributes, timed = key
        carried, order = Carried(names, attributes, evaluated), sorted(names)
        places = {name: place for place, name in enumerate(order)}
        gates = []
        for fields, kind in self._cells.kinds.items():
            if here := _belonging(kind.tracks, names, evaluated):
                gate = gate_of(kind, here, carried, places, timed=timed)
                gates.append(Gated(self._readers[fields], kind.cells, kind, gate))
        whole = None
        if here := _belonging(self._cells.wholes, names, evaluated):
            whole = whole_gate_of(here, carried, places, self._cells.start_whole)
        return Route(key, evaluated, _picker(order), whole, gates, [])

    def _without(self, key: Combination) -> Route:
        names, evaluated = key[:2]
        general = [
            (self._readers[fields], kind, tuple(here))
            for fields, kind in self._cells.kinds.items()
            if (here := _belonging(kind.tracks, names, evaluated))
        ]
        return Route(key, evaluated, _picker([]), None, [], general)


def _belonging(numbered: Mapping[int, Track], names: frozenset[str], evaluated: bool) -> dict[int, Track]:
    return {n: one for n, one in numbered.items() if belongs(one.program, names, evaluated)}


def _names_asked(tracks: Sequence[Track]) -> frozenset[str]:
    """Every name a program may look up among the readings; attributes are looked for there too."""
    return frozenset[str]().union(*(_names_of(track.program) for track in tracks))


# Remembered, since every new conversation has a stream of the same programs.
@lru_cache(maxsize=512)
def _names_of(program: Program) -> frozenset[str]:
    parts = (name for kind in (Signal, Indicator, Attribute) for name in named(program, kind))
    return frozenset((*program.signals, *program.history, *parts))


def _picker(names: Sequence[str]) -> Pick:
    """A function that gives the readings of these names as a tuple."""
    if not names:
        return lambda readings: ()
    if len(names) == 1:
        (only,) = names
        return lambda readings: (readings[only],)
    return itemgetter(*names)
