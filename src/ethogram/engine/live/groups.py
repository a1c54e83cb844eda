"""State of programs and histories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...language.ast import Duration
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...models import Event
from .buffer import Mark, Rows
from .plan import Plan, plan_of
from .sequence import SequenceMachine, bits_of, is_contiguous, marks_of, stand_by
from .silence import SilenceMachine
from .threshold import ThresholdMachine

# Track: one program, and all histories it watches.

Key = tuple[Any, ...]
"""Source, then the values of the history's fields."""


class Watched:
    """One program's look at one history."""

    __slots__ = ("base", "key", "rows", "state", "waits")

    def __init__(self, key: Key, rows: Rows, state: Any) -> None:
        self.key = key
        self.rows = rows
        self.state = state
        self.waits: int | None = None
        """The deadline under which a silence stands in the queue."""
        self.base = 0
        """How many events had been counted for all before it started (see cells.py)."""


class Track:
    """One program and all histories it watches."""

    def __init__(self, program: Program, cap: int) -> None:
        self.program = program
        self.plan = plan_of(program, cap)
        self.machine: Any = _machine(self.plan)
        self.enter = self.plan.layout.enter
        self.whole_enter = None if self.plan.whole_layout is None else self.plan.whole_layout.enter
        self.timed_only = program.timed_only
        self.is_silence = isinstance(self.machine, SilenceMachine)
        self.is_threshold = isinstance(self.machine, ThresholdMachine)
        layout = self.plan.layout
        self.is_pure = not (
            layout.need or layout.wanted or layout.keeps or layout.elapsed or self.is_threshold
        )
        """Whether it remembers no rows, so that events that do not concern it are only counted."""
        self.subject = program.group_by.index("subject")
        self.narrow = program.group_by != ("subject",)
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

    def stand(self, rows: Rows, event: Event, evaluated: bool) -> None:
        """Let expressions be read at an event that the rows have been moved on to."""
        rows.event, rows.get, rows.evaluated = event, event.readings.get, evaluated
        rows.memo = self.plan.blank[:]

    def step(self, watched: Watched, mark: Mark, subject: str) -> Any:
        """What an event changes that the rows stand at; None for nothing, and for silences."""
        if self.is_threshold or self.is_silence:
            return self.machine.step(watched.state, watched.rows, mark, subject)
        return self.machine.step(watched.state, watched.rows, mark)


def _machine(plan: Plan) -> Any:
    match plan.program.body:
        case SequenceProgram() as body:
            return SequenceMachine(plan, body)
        case ThresholdProgram() as body:
            return ThresholdMachine(plan, body)
        case SilenceProgram() as body:
            return SilenceMachine(plan, body)
    raise TypeError(f"{plan.program.name} does not run over events")


# Cells: what all programs of one kind of history watch in one of them, together in one list.
#
# Most programs sleep in most histories: nothing stands, and nothing is open. One list per history, with
# one bit
# per sleeping program and one number per place of contiguous sequences, lets an event pass all of them
# without
# a look at each. What is counted once for all is written into a program's own rows when somebody asks.

ByKey = dict[Any, list[Any]]


@dataclass(frozen=True, slots=True)
class Group:
    """Programs that see the same events and remember no rows. In a cell: how many events there were, the
    time of the newest, and the newest marks (as many as the longest contiguous sequence needs)."""

    count: int
    us: int
    marks: int
    longest: int
    numbers: tuple[int, ...]
    timed: bool
    """Whether the time of the newest event matters to one of them."""


class Kind:
    """One kind of history: its programs by number (from 1), its cells, and where in a cell things are."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self.tracks = dict(enumerate(tracks, start=1))
        self.cells: ByKey = {}
        history = tracks[0].program.group_by
        self._subject = 1 + history.index("subject") if len(history) > 1 else 0
        """Where a key has its subject, if it has anything beside it."""
        self._of_subject: dict[Key, dict[Key, None]] = {}
        self.asleep = len(tracks) + 1
        self.register = len(tracks) + 2
        self.group_of: dict[int, Group] = {}
        self.shift: dict[int, int] = {}
        """For contiguous programs, where in the register their bits begin."""
        self.groups = self._grouped()
        self._blank = (None,) * len(tracks) + (0, 0)

    def _grouped(self) -> list[Group]:
        alike: dict[Any, list[int]] = {}
        for number, track in self.tracks.items():
            if track.is_pure:
                program = track.program
                seen = (program.signals, program.evaluated, program.timed_only)
                alike.setdefault(seen, []).append(number)
        groups, at = [], self.register + 1
        for numbers in alike.values():
            places = [self._begin(number) for number in numbers]
            timed = any(_has_durations(self.tracks[number]) for number in numbers)
            group = Group(at, at + 1, at + 2, max(places), tuple(numbers), timed)
            groups.append(group)
            self.group_of |= dict.fromkeys(numbers, group)
            at += 3
        return groups

    def _begin(self, number: int) -> int:
        """Give a contiguous program its bits; how many places it has, or 0."""
        track = self.tracks[number]
        if not is_contiguous(track.plan):
            return 0
        self.shift[number] = max((self.shift[n] + self.length(n) for n in self.shift), default=0)
        return self.length(number)

    def length(self, number: int) -> int:
        """How many places a contiguous program has."""
        return len(self.tracks[number].machine.body.places)

    def mask(self, number: int) -> int:
        """The bits of a contiguous program in the register."""
        return ((1 << self.length(number)) - 1) << self.shift[number]

    def cell(self, key: Key) -> list[Any]:
        """What is watched in one history."""
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = [key, *self._blank]
            for _ in self.groups:
                cell += (0, 0, [])
            if self._subject:
                self._of_subject.setdefault((key[0], key[self._subject]), {})[key] = None
        return cell

    def keys_of(self, source: str, subject: str) -> list[Key]:
        """The keys of a subject's histories, the oldest first."""
        whose = (source, subject)
        return list(self._of_subject.get(whose, ())) if self._subject else [whose] * (whose in self.cells)

    def forget(self, key: Key) -> Iterator[tuple[Track, Watched]]:
        """Let go of one history; what each program watched there."""
        del self.cells[key]
        if self._subject:
            whose = (key[0], key[self._subject])
            del self._of_subject[whose][key]
            if not self._of_subject[whose]:
                del self._of_subject[whose]
        for track in self.tracks.values():
            if (watched := track.watched.pop(key, None)) is not None:
                yield track, watched

    def start(self, cell: list[Any], number: int, event: Event) -> Watched:
        """Let a program start in a history, at the event that was just counted."""
        cell[number] = found = self.tracks[number].start(cell[0], event.timed, event.subject)
        if number in self.group_of:
            found.base = cell[self.group_of[number].count] - 1
        return found

    # The same as a gate does, without one.

    def count(self, cell: list[Any], numbers: Sequence[int], mark: Mark) -> None:
        """Count an event for the groups that see it."""
        for group in self.groups:
            if group.numbers[0] in numbers:
                cell[group.count] += 1
                cell[group.us] = mark.us
                cell[group.marks] = [*cell[group.marks], mark][-group.longest :] if group.longest else []

    def shift_on(self, cell: list[Any], number: int) -> None:
        """Move the bits of a contiguous program on by the event its rows stand at."""
        track, watched, shift = self.tracks[number], cell[number], self.shift[number]
        plan, bits = track.plan, self.bits(cell, number)
        met = 0
        for i, condition in enumerate(track.machine.conditions):
            met |= bool(condition(watched.rows, plan.nothing, plan.none)) << i
        self.clear(cell, number)
        cell[self.register] |= ((bits << 1 | 1) & met) << shift

    # Between what is counted for all and a program's own rows.

    def bits(self, cell: list[Any], number: int) -> int:
        """What stands of a contiguous program, from the first place on."""
        result: int = (cell[self.register] & self.mask(number)) >> self.shift[number]
        return result

    def clear(self, cell: list[Any], number: int) -> None:
        """Forget what stands of a contiguous program."""
        cell[self.register] ^= self.bits(cell, number) << self.shift[number]

    def write(self, cell: list[Any], number: int) -> None:
        """Write what is counted for all into one program's rows and state."""
        group, watched, track = self.group_of[number], cell[number], self.tracks[number]
        rows: Rows = watched.rows
        rows.n, rows.us = cell[group.count] - watched.base, cell[group.us]
        if number in self.shift:
            machine = track.machine
            bits = self.bits(cell, number)
            stand_by(watched.state, bits, track.plan, machine.steps, rows, cell[group.marks])

    def read(self, cell: list[Any], number: int) -> None:
        """The reverse, for a program whose rows were loaded."""
        group, watched = self.group_of[number], cell[number]
        rows = watched.rows
        cell[group.count] = cell[group.count] or rows.n
        cell[group.us] = max(cell[group.us], rows.us)
        watched.base = cell[group.count] - rows.n
        if number in self.shift:
            cell[self.register] |= bits_of(watched.state, rows) << self.shift[number]
            cell[group.marks] = max(cell[group.marks], marks_of(watched.state, rows), key=len)


def _has_durations(track: Track) -> bool:
    body = track.program.body
    if not isinstance(body, SequenceProgram):
        return True
    limits = (*body.within, *(limit for place in body.places for limit in place.within))
    return any(isinstance(limit, Duration) for limit in limits)


class Cells:
    """All kinds of histories, and the subjects' whole histories for measures over=subject."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        by_fields: dict[tuple[str, ...], list[Track]] = {}
        for track in tracks:
            by_fields.setdefault(track.program.group_by, []).append(track)
        self.kinds = {fields: Kind(ones) for fields, ones in by_fields.items()}
        self.wholes = dict(
            enumerate((track for track in tracks if track.plan.whole_layout is not None), start=1)
        )
        self.whole_cells: ByKey = {}
        self._places = {
            id(track): (kind, number) for kind in self.kinds.values() for number, track in kind.tracks.items()
        }

    def put(self, track: Track, watched: Watched) -> None:
        """Go on with a history that was saved."""
        kind, number = self._places[id(track)]
        cell = kind.cell(watched.key)
        track.watched[watched.key] = cell[number] = watched
        if number in kind.group_of:
            kind.read(cell, number)

    def write_all(self) -> None:
        """Write what is counted for all into the rows of every program."""
        for kind in self.kinds.values():
            for cell in kind.cells.values():
                for number in kind.group_of:
                    if cell[number] is not None:
                        kind.write(cell, number)

    def whole_cell(self, key: Key) -> list[Any]:
        """The whole histories of one subject."""
        return self.whole_cells.setdefault(key, [key, *(None,) * len(self.wholes)])

    def start_whole(self, cell: list[Any], number: int, event: Event) -> Rows:
        """Let a program start in a subject's whole history."""
        cell[number] = rows = self.wholes[number].whole(event)
        return rows


Start = Callable[[list[Any], int, Event], Any]
