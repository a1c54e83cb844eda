"""Stream: all programs over all histories, one event after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

from ...records import Event, Value, is_evaluated, micros
from ..history import CAP, FIELDS, attribute
from ..program import LevelProgram, Program, SequenceProgram, SilenceProgram
from .level import LevelMachine
from .plan import Plan, plan_of
from .record import CLOSED, OPENED, Change
from .rows import Mark, Rows, mark_of
from .sequence import SequenceMachine
from .silence import SilenceMachine

Key = tuple[Any, ...]
"""Source, then the values of the history's fields."""

MOST_ROUTES = 1024


class Watched:
    """One program's look at one history."""

    __slots__ = ("key", "rows", "state", "waits")

    def __init__(self, key: Key, rows: Rows, state: Any) -> None:
        self.key = key
        self.rows = rows
        self.state = state
        self.waits: int | None = None
        """The deadline under which a silence stands in the queue."""

    @property
    def subject_key(self) -> tuple[Value, ...]:
        """The key of the history, without its source."""
        return self.key[1:]


class Track:
    """One program and all histories it watches. `insufficient`: histories it can say nothing about."""

    def __init__(self, program: Program, cap: int) -> None:
        self.program = program
        self.plan = plan_of(program, cap)
        self.machine: Any = _machine(self.plan)
        self.step = self.machine.step
        self.enter = self.plan.layout.enter
        self.whole_enter = None if self.plan.whole_layout is None else self.plan.whole_layout.enter
        self.timed_only = program.timed_only
        self.first = self.machine.conditions[0] if isinstance(self.machine, SequenceMachine) else None
        self.is_silence = isinstance(self.machine, SilenceMachine)
        self.is_level = isinstance(self.machine, LevelMachine)
        self.subject = program.history.index("subject")
        self.narrow = program.history != ("subject",)
        self.watched: dict[Key, Watched] = {}
        self.wholes: dict[tuple[str, str], Rows] = {}

    def start(self, key: Key, timed: bool, subject: str) -> Watched:
        """A history seen for the first time."""
        layout = self.plan.layout
        whole = self.wholes.get((key[0], subject)) if self.plan.whole_layout is not None else None
        rows = Rows(timed, layout.columns, len(layout.keeps), whole)
        self.watched[key] = found = Watched(key, rows, self.machine.start())
        return found

    def whole(self, event: Event) -> Rows:
        """The subject's own history, for measures over=subject."""
        layout = self.plan.whole_layout
        assert layout is not None
        name = (event.source, event.subject)
        if name not in self.wholes:
            self.wholes[name] = Rows(event.timed, layout.columns, len(layout.keeps))
        return self.wholes[name]


def _machine(plan: Plan) -> Any:
    match plan.program.body:
        case SequenceProgram() as body:
            return SequenceMachine(plan, body)
        case LevelProgram() as body:
            return LevelMachine(plan, body)
        case SilenceProgram() as body:
            return SilenceMachine(plan, body)
    raise TypeError(f"{plan.program.name} does not run over events")


Route = tuple[bool, list[tuple[Callable[[Event], Key | None], list[Track]]]]
"""Whether an event is evaluated, and the programs it is for, by how their key is read."""


class Stream:
    """Programs over events that come in order, source by source."""

    def __init__(self, programs: Iterable[Program], cap: int = CAP) -> None:
        self.tracks = [Track(one, cap) for one in programs if not one.is_combination]
        self._keys = {one.program.history: _key_reader(one.program.history) for one in self.tracks}
        self._routes: dict[tuple[str, ...], Route] = {}
        self._queues: dict[str, list[tuple[int, int, Track, Watched]]] = {}
        self._pushed = 0

    def observe(self, event: Event) -> list[Change]:
        """What one event changes. Deadlines before it must have been told by `advance`."""
        names = tuple(event.readings)
        evaluated, routes = self._routes.get(names) or self._route(names)
        mark = mark_of(event, micros(event.at))
        changes: list[Change] = []
        for read_key, tracks in routes:
            key = read_key(event)
            for track in tracks:
                if track.whole_enter is not None:
                    track.whole_enter(track.whole(event), event, mark, evaluated)
                if key is None:
                    continue
                watched = track.watched.get(key) or track.start(key, event.timed, event.subject)
                if track.timed_only and not event.timed:
                    watched.rows.n += 1
                elif track.is_silence:
                    self._silence(track, watched, event, mark, evaluated, changes)
                else:
                    rows = watched.rows
                    track.enter(rows, event, mark, evaluated)
                    if (first := track.first) is not None and watched.state.idle and watched.state.known:
                        # Nothing stands: only the first place can change that.
                        idle = not first(rows, track.plan.nothing, track.plan.none)
                        if idle:
                            continue
                    if track.is_level:
                        moved = track.step(watched.state, rows, mark, event.subject)
                    else:
                        moved = track.step(watched.state, rows, mark)
                    if moved is not None:
                        changes.append(self._change(track, watched, event.subject, moved))
        return changes

    def _change(self, track: Track, watched: Watched, subject: str, moved: Any) -> Change:
        machine, program = track.machine, track.program
        if track.is_level:
            what, one, closed = moved
            level: Change = machine.change(what, program, *_whose(watched), one, closed)
            return level
        fired: Change = machine.change(program, *_whose(watched), subject, watched.rows, moved)
        return fired

    def _silence(
        self, track: Track, watched: Watched, event: Event, mark: Mark, evaluated: bool, changes: list[Change]
    ) -> None:
        rows, state, machine = watched.rows, watched.state, track.machine
        if state.is_open:
            changes.append(machine.change(CLOSED, track.program, *_whose(watched), state, mark.us))
        track.enter(rows, event, mark, evaluated)
        machine.step(state, rows, mark, event.subject)
        if state.deadline is not None:
            self._wait(track, watched)

    # Silences.

    def _wait(self, track: Track, watched: Watched) -> None:
        """See that a deadline is looked at in time: each history stands in the queue at most once."""
        deadline = watched.state.deadline
        if watched.waits is None or watched.waits > deadline:
            watched.waits = deadline
            self._pushed += 1
            heappush(self._queues.setdefault(watched.key[0], []), (deadline, self._pushed, track, watched))

    def advance(self, source: str, us: int) -> list[Change]:
        """The silences of a source whose deadline lies before a moment."""
        queue = self._queues.get(source)
        changes: list[Change] = []
        while queue and queue[0][0] < us:
            deadline, _, track, watched = heappop(queue)
            if watched.waits != deadline:
                continue
            watched.waits = None
            state = watched.state
            if state.deadline is None or state.is_open:
                continue
            if state.deadline >= us:
                self._wait(track, watched)
                continue
            subject = str(watched.key[1 + track.subject])
            state.read = track.machine.read(state, watched.rows, subject)
            state.is_open = True
            changes.append(track.machine.change(OPENED, track.program, *_whose(watched), state, None))
        return changes

    def put(self, track: Track, watched: Watched) -> None:
        """Go on with a history that was saved."""
        track.watched[watched.key] = watched
        if track.is_silence and watched.state.deadline is not None and not watched.state.is_open:
            self._wait(track, watched)

    def sources(self) -> list[str]:
        """Sources with a deadline waiting."""
        return list(self._queues)

    def open(self) -> Iterator[Change]:
        """Every episode that is open now, as far as it has come."""
        for track in self.tracks:
            for watched in track.watched.values():
                state, program = watched.state, track.program
                if track.is_level and state.open is not None:
                    yield track.machine.change(OPENED, program, *_whose(watched), state.open, None)
                elif track.is_silence and state.is_open:
                    yield track.machine.change(OPENED, program, *_whose(watched), state, None)

    # Which programs an event is for.

    def _route(self, names: tuple[str, ...]) -> Route:
        """The programs for events with these readings, those of one kind of history together."""
        evaluated, carried = is_evaluated(dict.fromkeys(names)), set(names)
        by_fields: dict[tuple[str, ...], list[Track]] = {}
        for track in self.tracks:
            if _belongs(track.program, carried, evaluated):
                by_fields.setdefault(track.program.history, []).append(track)
        # Names come with the events, so a stranger could make up any number of them.
        if len(self._routes) >= MOST_ROUTES:
            self._routes.clear()
        found = evaluated, [(self._keys[fields], tracks) for fields, tracks in by_fields.items()]
        self._routes[names] = found
        return found


def _whose(watched: Watched) -> tuple[str, tuple[Value, ...]]:
    return watched.key[0], watched.key[1:]


def _belongs(program: Program, carried: set[str], evaluated: bool) -> bool:
    if not program.signals and not program.evaluated:
        return True
    return not carried.isdisjoint(program.signals) or (program.evaluated and evaluated)


def _key_reader(fields: tuple[str, ...]) -> Callable[[Event], Key | None]:
    """A function that gives the source and the values of the fields, or None where one is lacking."""
    if fields == ("subject",):
        return lambda event: (event.source, event.subject)
    if len(fields) == 2 and fields[0] == "subject" and fields[1] in FIELDS:
        other = attrgetter(fields[1])

        def read_two(event: Event) -> Key | None:
            value = other(event)
            if type(value) is not str:
                value = attribute(event, fields[1])
            return None if value is None else (event.source, event.subject, value)

        return read_two

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
