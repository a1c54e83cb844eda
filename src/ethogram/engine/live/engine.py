"""The live engine: all programs over all histories, one event after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from ...language.ast import Attribute, Indicator, Signal
from ...language.history import CAP, FIELDS, attribute
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.visitor import named
from ...models import Event, Value, is_evaluated, micros
from ..match import NO_TIMES, Insufficient
from ..plain import Outcome, _need
from .buffer import Mark
from .episode import CLOSED, OPENED, Change
from .groups import ByKey, Cells, Key, Kind, Track, Watched
from .prefilter import Carried, Gate, gate_of, whole_gate_of
from .sequence import Link, chain_of

# Deadlines: the silences that wait, those of one source in one queue.


class Deadlines:
    """Every history of a silence that waits for its deadline; each stands in its queue at most once."""

    def __init__(self) -> None:
        self.queues: dict[str, list[tuple[int, int, Track, Watched]]] = {}
        self._pushed = 0
        self._dropped: Counter[str] = Counter()

    def wait(self, track: Track, watched: Watched) -> None:
        """See that a deadline is looked at in time."""
        deadline = watched.state.deadline
        if watched.waits is None or watched.waits > deadline:
            watched.waits = deadline
            self._pushed += 1
            queue = self.queues.setdefault(watched.key[0], [])
            heappush(queue, (deadline, self._pushed, track, watched))

    def drop(self, watched: Watched) -> None:
        """Wait no longer for a history that is let go; its place in the queue goes with many others."""
        if watched.waits is None:
            return
        watched.waits, source = None, watched.key[0]
        self._dropped[source] += 1
        queue = self.queues[source]
        if 2 * self._dropped[source] > len(queue):
            queue[:] = [item for item in queue if item[3].waits == item[0]]
            heapify(queue)
            del self._dropped[source]

    def forget(self, source: str) -> None:
        """Let go of a source that no history is left of."""
        self.queues.pop(source, None)
        self._dropped.pop(source, None)

    def passed(self, source: str, us: int) -> Iterator[tuple[Track, Watched]]:
        """The silences of a source whose deadline lies before a moment; they are open from now on."""
        queue = self.queues.get(source)
        while queue and queue[0][0] < us:
            deadline, _, track, watched = heappop(queue)
            if watched.waits != deadline:
                continue
            watched.waits = None
            state = watched.state
            if state.is_early and state.deadline < us:
                track.machine.settle(state, watched.rows)
            if state.deadline is None or state.is_open:
                continue
            if state.deadline >= us:
                self.wait(track, watched)
                continue
            subject = str(watched.key[1 + track.subject])
            state.read = track.machine.read(state, watched.rows, subject)
            state.is_open = True
            yield track, watched

    def sources(self) -> list[str]:
        """Sources with a deadline waiting."""
        return list(self.queues)


# Keys: which history of a program an event is in.


def belongs(program: Program, carried: frozenset[str] | set[str], evaluated: bool) -> bool:
    """Whether events with these readings are in the program's histories."""
    if not program.signals and not program.evaluated:
        return True
    return not carried.isdisjoint(program.signals) or (program.evaluated and evaluated)


def key_reader(fields: tuple[str, ...]) -> Callable[[Event], Key | None]:
    """A function that gives the source and the values of the fields, or None where one is lacking."""
    if fields == ("subject",):
        return attrgetter("source", "subject")
    if fields[0] == "subject" and len(fields) > 1 and all(name in FIELDS for name in fields):
        return _reader_of_fields(fields)

    def read(event: Event) -> Key | None:
        values: list[Any] = [event.source]
        for name in fields:
            value = event.readings.get(name) if name not in FIELDS else None
            if value is None:
                value = attribute(event, name)
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    return read


def _reader_of_fields(fields: tuple[str, ...]) -> Callable[[Event], Key | None]:
    read_all = attrgetter("source", *fields)

    def read(event: Event) -> Key | None:
        values: Key = read_all(event)
        for value in values:
            if type(value) is not str:
                if value is None:
                    return None
                # A number or truth value where a name is due is read as an attribute is.
                checked = [attribute(event, name) for name in fields]
                return None if None in checked else (event.source, *checked)
        return values

    return read


# Routes: for events with the same readings, the programs they are for, and the gates that lead to them.

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
    return {n: item for n, item in numbered.items() if belongs(item.program, names, evaluated)}


def _names_asked(tracks: Sequence[Track]) -> frozenset[str]:
    """Every name a program may look up among the readings; attributes are looked for there too."""
    return frozenset[str]().union(*(_names_of(track.program) for track in tracks))


# Remembered, since every new conversation has a stream of the same programs.
@lru_cache(maxsize=512)
def _names_of(program: Program) -> frozenset[str]:
    parts = (name for kind in (Signal, Indicator, Attribute) for name in named(program, kind))
    return frozenset((*program.signals, *program.group_by, *parts))


def _picker(names: Sequence[str]) -> Pick:
    """A function that gives the readings of these names as a tuple."""
    if not names:
        return lambda readings: ()
    if len(names) == 1:
        (only,) = names
        return lambda readings: (readings[only],)
    return itemgetter(*names)


# Stream: all programs over all histories, one event after the other.

# Makes a named tuple of a tuple: what the class itself does, without matching names to values.
_new: Any = tuple.__new__

Cell = list[Any]
"""A history's key, then for each program of its fields what it watches there, or None."""


class Stream:
    """Programs over events that come in order, source by source."""

    def __init__(self, programs: Iterable[Program], cap: int = CAP) -> None:
        self.tracks = [Track(program, cap) for program in programs if not program.is_combination]
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
                if track.is_threshold and state.open is not None:
                    yield track.machine.change(OPENED, program, *_whose(watched), state.open, None)
                elif track.is_silence and state.is_open:
                    yield track.machine.change(OPENED, program, *_whose(watched), state, None)


def _closed(track: Track, watched: Watched, us: int) -> Iterator[Change]:
    """What is open in a history, closed at a moment."""
    state, program = watched.state, track.program
    if track.is_threshold and state.open is not None:
        yield track.machine.change(CLOSED, program, *_whose(watched), state.open, us)
    elif track.is_silence and state.is_open:
        yield track.machine.change(CLOSED, program, *_whose(watched), state, us)


def _change(track: Track, watched: Watched, subject: str, moved: Any) -> Change:
    machine, program = track.machine, track.program
    if track.is_threshold:
        what, item, closed = moved
        change: Change = machine.change(what, program, *_whose(watched), item, closed)
        return change
    fired: Change = machine.change(program, *_whose(watched), subject, watched.rows, moved)
    return fired


def _sleep(kind: Kind, cell: Cell, number: int, state: Any) -> None:
    """Note whether nothing is under way for a program, so that only what begins need be looked at."""
    track = kind.tracks[number]
    if track.is_silence:
        sleeps = state.deadline is None
    elif track.is_threshold:
        sleeps = state.known and state.open is None
    else:
        sleeps = state.known and (number in kind.shift or not any(state.standing))
    if sleeps:
        cell[kind.asleep] |= 1 << number
    else:
        cell[kind.asleep] &= ~(1 << number)


def _whose(watched: Watched) -> tuple[str, tuple[Value, ...]]:
    return watched.key[0], watched.key[1:]


# The live runner over events that are all there: the same outcome as the plain one.


def run(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int = CAP) -> Outcome:
    """Episodes of all programs over events that are in order and not after `as_of` (microseconds)."""
    stream = Stream(programs, cap)
    outcome = Outcome()
    values: list[Any] = outcome.findings
    for event in events:
        changes = [*stream.advance(event.source, micros(event.at)), *stream.observe(event)]
        values += [change.episode for change in changes if change.what == CLOSED]
    for source in stream.sources():
        stream.advance(source, as_of)
    values += [change.episode for change in stream.open()]
    outcome.checked = {track.program.name: len(track.watched) for track in stream.tracks}
    outcome.insufficient = insufficient(stream)
    return outcome


def insufficient(stream: Stream) -> list[Insufficient]:
    """The histories about which a program cannot say yes or no."""
    stream.cells.write_all()
    return [
        Insufficient(track.program, watched.key[0], watched.key[1:], watched.rows.n, *lacking)
        for track in stream.tracks
        for watched in track.watched.values()
        if (lacking := _lacking(track, watched)) is not None
    ]


def _lacking(track: Track, watched: Watched) -> tuple[int, str] | None:
    """How many readings are needed, and why it cannot be judged; None where it can."""
    rows, state = watched.rows, watched.state
    if track.program.timed_only and not rows.timed:
        return 0, NO_TIMES
    match track.program.body:
        case SequenceProgram(places=places) if not state.known:
            return _need(places[0].condition), f"step '{places[0].step}' could not be judged anywhere"
        case ThresholdProgram(when=when) if not state.known:
            return _need(when), "its condition could not be judged anywhere"
        case SilenceProgram() as body if rows.n < body.at_least or (state.asked and not state.known):
            need = max(body.at_least, _need(body.longer_than))
            return need, "too few events to know what is usual"
    return None
