"""Routes: for events with the same readings, the programs they are for, and the gates that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ...records import Event, is_evaluated
from ..tree import Attribute, Indicator, Signal
from ..walk import named
from .cells import ByKey, Cells, Kind
from .gate import Gate, gate_of, whole_gate_of
from .keys import belongs, key_reader
from .reduce import Carried
from .track import Key, Track

MOST_ROUTES = 1024
MOST_GATED = 256
"""Names come with the events, so a stranger could make up any number of combinations of them. Writing code
takes milliseconds: beyond so many the programs go through their steps one by one."""

ReadKey = Callable[[Event], Key | None]
Pick = Callable[[Mapping[str, Any]], tuple[Any, ...]]


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
        self.found: tuple[dict[tuple[str, ...], Route], ...] = ({}, {}, {}, {})
        self._gated: dict[tuple[frozenset[str], bool, bool, bool], Route] = {}
        self._readers = {fields: key_reader(fields) for fields in cells.kinds}

    def of(self, event: Event, names: tuple[str, ...]) -> Route:
        """The route of an event with readings of these names."""
        found = self.found[2 * bool(event.attributes) + event.timed]
        return found.get(names) or self._add(found, names, bool(event.attributes), event.timed)

    def _add(
        self, found: dict[tuple[str, ...], Route], names: tuple[str, ...], attributes: bool, timed: bool
    ) -> Route:
        # What no program asks for does not matter, but for telling that somebody evaluated the event.
        evaluated, asked = is_evaluated(dict.fromkeys(names)), self._asked.intersection(names)
        key = (asked, evaluated, attributes, timed)
        if len(found) >= MOST_ROUTES:
            found.clear()
        route = self._gated.get(key)
        if route is None and len(self._gated) < MOST_GATED:
            route = self._gated[key] = self._with_gates(Carried(asked, attributes, evaluated), timed)
        found[names] = route = route or self._without(asked, evaluated)
        return route

    def _with_gates(self, carried: Carried, timed: bool) -> Route:
        order = sorted(carried.names)
        places = {name: place for place, name in enumerate(order)}
        gates = []
        for fields, kind in self._cells.kinds.items():
            if here := _belonging(kind.tracks, carried.names, carried.evaluated):
                gate = gate_of(kind, here, carried, places, timed=timed)
                gates.append(Gated(self._readers[fields], kind.cells, kind, gate))
        whole = None
        if here := _belonging(self._cells.wholes, carried.names, carried.evaluated):
            whole = whole_gate_of(here, carried, places, self._cells.start_whole)
        return Route(carried.evaluated, _picker(order), whole, gates, [])

    def _without(self, names: frozenset[str], evaluated: bool) -> Route:
        general = [
            (self._readers[fields], kind, tuple(here))
            for fields, kind in self._cells.kinds.items()
            if (here := _belonging(kind.tracks, names, evaluated))
        ]
        return Route(evaluated, _picker([]), None, [], general)


def _belonging(numbered: Mapping[int, Track], names: frozenset[str], evaluated: bool) -> dict[int, Track]:
    return {n: one for n, one in numbered.items() if belongs(one.program, names, evaluated)}


def _names_asked(tracks: Sequence[Track]) -> frozenset[str]:
    """Every name a program may look up among the readings; attributes are looked for there too."""
    names: set[str] = set()
    for track in tracks:
        program = track.program
        names |= {*program.signals, *program.history}
        for kind in (Signal, Indicator, Attribute):
            names.update(named(program, kind))
    return frozenset(names)


def _picker(names: Sequence[str]) -> Pick:
    """A function that gives the readings of these names as a tuple."""
    if not names:
        return lambda readings: ()
    if len(names) == 1:
        (only,) = names
        return lambda readings: (readings[only],)
    return itemgetter(*names)
