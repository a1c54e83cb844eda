"""Stream: all programs over all histories, one event after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...records import Event, Value, micros
from ..history import CAP
from ..program import Program
from .cells import Cells, Kind
from .chain import Link
from .contiguous import chain_of
from .deadlines import Deadlines
from .record import CLOSED, OPENED, Change
from .route import Route, Routes
from .rows import Mark
from .track import Track, Watched

# Makes a named tuple of a tuple: what the class itself does, without matching names to values.
_new: Any = tuple.__new__

Cell = list[Any]
"""A history's key, then for each program of its fields what it watches there, or None."""


class Stream:
    """Programs over events that come in order, source by source."""

    def __init__(self, programs: Iterable[Program], cap: int = CAP) -> None:
        self.tracks = [Track(one, cap) for one in programs if not one.is_combination]
        self.cells = Cells(self.tracks)
        self._routes = Routes(self.tracks, self.cells)
        self._found, self._whole_cells = self._routes.found, self.cells.whole_cells
        self.deadlines = Deadlines()

    def observe(self, event: Event, us: int | None = None) -> list[Change]:
        """What one event changes. Deadlines before it must have been told by `advance`."""
        if us is None:
            us = micros(event.at)
        readings = event.readings
        names = tuple(readings)
        found = self._found[2 * bool(event.attributes) + event.timed]
        route = found.get(names)
        if route is None or route.general:
            route = self._routes.of(event, names)
        values = route.pick(readings)
        mark: Mark = _new(Mark, (event.id, event.at, us, event.seq, readings, event.scorers, event.widths))
        changes: list[Change] = []
        if route.whole is not None:
            key = (event.source, event.subject)
            cell = self._whole_cells.get(key) or self.cells.whole_cell(key)
            route.whole(cell, values, event, us, mark)
        for read_key, cells, kind, gate in route.gates:
            own = read_key(event)
            if own is not None:
                cell = cells.get(own) or kind.cell(own)
                if hits := gate(cell, values, event, us, mark):
                    self.step(hits, kind, cell, route.evaluated, event, mark, changes)
        if route.general:
            self._generally(route, event, mark, changes)
        return changes

    def step(
        self,
        hits: int,
        kind: Kind,
        cell: Cell,
        evaluated: bool,
        event: Event,
        mark: Mark,
        changes: list[Change],
    ) -> None:
        """Let the programs take a step whose number is among these bits."""
        while hits:
            number = (hits & -hits).bit_length() - 1
            hits &= hits - 1
            self._one(kind, cell, number, evaluated, event, mark, changes)

    def _one(
        self,
        kind: Kind,
        cell: Cell,
        number: int,
        evaluated: bool,
        event: Event,
        mark: Mark,
        changes: list[Change],
    ) -> None:
        track = kind.tracks[number]
        watched = cell[number] or kind.start(cell, number, event)
        group = kind.group_of.get(number)
        if group is not None:
            watched.rows.n = cell[group.count] - watched.base
        watched.rows.us = mark.us
        track.stand(watched.rows, event, evaluated)
        if track.is_silence:
            self._silence(track, watched, event, mark, changes)
        elif (
            moved := self._contiguous(kind, cell, number)
            if number in kind.shift
            else track.step(watched, mark, event.subject)
        ) is not None:
            changes.append(_change(track, watched, event.subject, moved))
        _sleep(kind, cell, number, watched.state)

    def _contiguous(self, kind: Kind, cell: Cell, number: int) -> Link | None:
        """The chain of a contiguous sequence whose last place stands, if it fires."""
        track, watched = kind.tracks[number], cell[number]
        machine, state, rows = track.machine, watched.state, watched.rows
        if not state.known:
            state.known = machine.known(rows, track.plan.nothing, track.plan.none)
        places = len(machine.body.places)
        if not kind.bits(cell, number) >> places - 1:
            return None
        link = chain_of(track.plan, machine.steps, rows, cell[kind.group_of[number].marks], places)
        if not machine.within.holds(places, link.seen.mark.us - link.first.mark.us, rows.timed):
            return None
        # Whatever stands now starts too early to fire again.
        kind.clear(cell, number)
        return link

    def _generally(self, route: Route, event: Event, mark: Mark, changes: list[Change]) -> None:
        """The same without gates, for readings that come in too many combinations to write code for."""
        for read_key, kind, numbers in route.general:
            key = read_key(event)
            for number in numbers:
                track = kind.tracks[number]
                if track.whole_enter is not None:
                    whole = track.whole(event)
                    whole.running[0] = -1
                    track.whole_enter(whole, event, mark, route.evaluated)
            if key is None:
                continue
            cell = kind.cell(key)
            kind.count(cell, numbers, mark)
            for number in numbers:
                track = kind.tracks[number]
                watched = cell[number] or kind.start(cell, number, event)
                if track.timed_only and not event.timed:
                    watched.rows.n += number not in kind.group_of
                    continue
                if number not in kind.group_of:
                    watched.rows.running[0] = -1
                    track.enter(watched.rows, event, mark, route.evaluated)
                if number in kind.shift:
                    track.stand(watched.rows, event, route.evaluated)
                    kind.shift_on(cell, number)
                self._one(kind, cell, number, route.evaluated, event, mark, changes)

    def _silence(
        self, track: Track, watched: Watched, event: Event, mark: Mark, changes: list[Change]
    ) -> None:
        state, machine = watched.state, track.machine
        if state.is_open:
            changes.append(machine.change(CLOSED, track.program, *_whose(watched), state, mark.us))
        machine.step(state, watched.rows, mark, event.subject)
        if state.deadline is not None:
            self.deadlines.wait(track, watched)

    def advance(self, source: str, us: int) -> list[Change]:
        """The silences of a source whose deadline lies before a moment."""
        return [
            track.machine.change(OPENED, track.program, *_whose(watched), watched.state, None)
            for track, watched in self.deadlines.passed(source, us)
        ]

    @property
    def held(self) -> int:
        """How many histories are held, of the kind of which there are most."""
        return max((len(kind.cells) for kind in self.cells.kinds.values()), default=0)

    def held_of(self, source: str, subject: str) -> int:
        """The same of one subject."""
        return max((len(kind.keys_of(source, subject)) for kind in self.cells.kinds.values()), default=0)

    def subjects(self) -> Iterator[tuple[str, str]]:
        """Everybody of whom there is a history, with the source, some more than once."""
        for track in self.tracks:
            yield from ((key[0], str(key[1 + track.subject])) for key in track.watched)

    def forget(self, source: str, subject: str, us: int, *, keep: int = 0) -> list[Change]:
        """Let go of a subject's histories; what was open in them closes at a moment.

        `keep`: how many of each kind are kept, the newest.
        """
        changes: list[Change] = []
        for kind in self.cells.kinds.values():
            keys = kind.keys_of(source, subject)
            for key in keys[: max(0, len(keys) - keep)]:
                for track, watched in kind.forget(key):
                    self.deadlines.drop(watched)
                    changes += _closed(track, watched, us)
        if not keep:
            self.cells.whole_cells.pop((source, subject), None)
            for track in self.tracks:
                track.wholes.pop((source, subject), None)
        return changes

    def put(self, track: Track, watched: Watched) -> None:
        """Go on with a history that was saved."""
        self.cells.put(track, watched)
        if track.is_silence and watched.state.deadline is not None and not watched.state.is_open:
            self.deadlines.wait(track, watched)

    def sources(self) -> list[str]:
        """Sources with a deadline waiting."""
        return self.deadlines.sources()

    def open(self) -> Iterator[Change]:
        """Every episode that is open now, as far as it has come."""
        for track in self.tracks:
            for watched in track.watched.values():
                state, program = watched.state, track.program
                if track.is_level and state.open is not None:
                    yield track.machine.change(OPENED, program, *_whose(watched), state.open, None)
                elif track.is_silence and state.is_open:
                    yield track.machine.change(OPENED, program, *_whose(watched), state, None)


def _closed(track: Track, watched: Watched, us: int) -> Iterator[Change]:
    """What is open in a history, closed at a moment."""
    state, program = watched.state, track.program
    if track.is_level and state.open is not None:
        yield track.machine.change(CLOSED, program, *_whose(watched), state.open, us)
    elif track.is_silence and state.is_open:
        yield track.machine.change(CLOSED, program, *_whose(watched), state, us)


def _change(track: Track, watched: Watched, subject: str, moved: Any) -> Change:
    machine, program = track.machine, track.program
    if track.is_level:
        what, one, closed = moved
        level: Change = machine.change(what, program, *_whose(watched), one, closed)
        return level
    fired: Change = machine.change(program, *_whose(watched), subject, watched.rows, moved)
    return fired


def _sleep(kind: Kind, cell: Cell, number: int, state: Any) -> None:
    """Note whether nothing is under way for a program, so that only what begins need be looked at."""
    track = kind.tracks[number]
    if track.is_silence:
        sleeps = state.deadline is None
    elif track.is_level:
        sleeps = state.known and state.open is None
    else:
        sleeps = state.known and (number in kind.shift or not any(state.standing))
    if sleeps:
        cell[kind.asleep] |= 1 << number
    else:
        cell[kind.asleep] &= ~(1 << number)


def _whose(watched: Watched) -> tuple[str, tuple[Value, ...]]:
    return watched.key[0], watched.key[1:]
