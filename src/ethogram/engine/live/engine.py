"""The live engine: all programs over all histories, one event after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from ...language.ast import Attribute, Indicator, Signal
from ...language.history import CAP, EXCHANGE, FIELDS, attribute
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.visitor import MEASURES, expressions, named, walk
from ...models.event import Event, is_evaluated
from ...models.timestamps import micros
from ..history import History
from ..match import CLOSED, NO_TIMES, OPENED, Change, Match, Outcome, Unjudged, lacking
from .aggregates import retained_series
from .rolling import Series, lookback
from .routing import ANYTHING, Here, Names, prospects
from .sequence import Sequence as SequenceMachine
from .silence import Deadlines, Silence, Waiting
from .threshold import Threshold

Key = tuple[Any, ...]
"""A history's source and the values of its fields."""
Machine = SequenceMachine | Threshold | Silence
Steps = list[tuple[int, Machine, bool, bool]]
"""A program's number, what moves it on, whether something can begin, and whether its condition is unknown."""
WHOLE = ("subject",)
MOST_ROUTES = 1024
"""Names of readings come with the events, so a stranger could make up any number of combinations of them."""
BACKLOG = 64
"""Events of a subject that wait to be appended to its histories together."""


def machine_of(program: Program) -> Machine:
    """What moves the states of a program on."""
    match program.body:
        case SequenceProgram() as body:
            return SequenceMachine(program, body)
        case ThresholdProgram() as body:
            return Threshold(program, body)
        case SilenceProgram() as body:
            return Silence(program, body)
    raise TypeError(f"{program.name} runs over detections, not events")


class Prepared(NamedTuple):
    """What moves a program on, and what it reads: see `Group`."""

    machine: Machine
    need: int
    need_whole: int
    retained: tuple[Series, ...]
    retained_whole: tuple[Series, ...]
    attributes: frozenset[str]
    names: frozenset[str]


@lru_cache(maxsize=1024)
def prepared(program: Program, cap: int) -> Prepared:
    """Worked out once for all engines: a conversation has one of its own."""
    narrow = program.group_by != WHOLE
    parts = list(expressions(program))
    whole = [
        item
        for expr in parts
        for item in walk(expr)
        if isinstance(item, MEASURES) and item.window.over_subject and narrow
    ]
    retained, retained_whole = (
        tuple(series for expr in parts for series in retained_series(expr, over_subject=over))
        for over in (False, True)
    )
    return Prepared(
        machine_of(program),
        max((lookback(expr, cap) for expr in parts), default=0),
        max((lookback(item, cap) for item in whole), default=0),
        retained if narrow else (*retained, *retained_whole),
        retained_whole if narrow else (),
        frozenset((*named(program, Attribute), *program.group_by)),
        frozenset(name for kind in (Attribute, Indicator, Signal) for name in named(program, kind)),
    )


class Route:
    """The groups of one lane that take events with some names. A lane is the groups with the same key fields.

    `keys` reads those fields, except the subject. `repeats`: all are fields of events, so that two events of
    a subject with the same `keys` are in the same histories.
    """

    __slots__ = ("groups", "keys", "names", "repeats")

    def __init__(self, event: Event, groups: list[Group]) -> None:
        fields = [name for name in groups[0].fields if name != "subject"]
        self.groups = groups
        self.names = {group: Names.of(event, group.names) for group in groups}
        self.repeats = set(fields).issubset((*FIELDS, EXCHANGE))
        read = [name for name in fields if name != EXCHANGE]
        # The thread stands in for a target; an exchange is either.
        if "target" in fields or EXCHANGE in fields:
            read = list(dict.fromkeys((*read, "target", "thread")))
        self.keys = attrgetter(*read) if fields and self.repeats else None


class Plans:
    """The programs that matter by route, for histories that have had events with the same names."""

    __slots__ = ("by_names", "ever", "steps")

    def __init__(self, ever: Names) -> None:
        self.ever = ever
        self.steps: dict[Route, Steps] = {}
        self.by_names: dict[Names, Steps] = {}


UNPLANNED = Plans(ANYTHING)


class Group:
    """Programs that share their histories: the same key fields, and the same events belong.

    `need` is how many of the newest events of a history the programs may read, `need_whole` the same of the
    subject's whole history (for `over=subject`). `retained` are the series of `keep` windows.
    """

    def __init__(self, programs: Sequence[Program], cap: int) -> None:
        first = programs[0]
        self.fields, self.signals, self.evaluated = first.group_by, first.signals, first.evaluated
        self.programs, self.cap = programs, cap
        ready = [prepared(program, cap) for program in programs]
        self.machines = [item.machine for item in ready]
        self.read_key = key_reader(self.fields)
        self.subject = 1 + self.fields.index("subject")
        self.need, self.need_whole = max(item.need for item in ready), max(item.need_whole for item in ready)
        self.names = frozenset(name for item in ready for name in item.names)
        self.retained = dict.fromkeys(series for item in ready for series in item.retained)
        self.retained_whole = dict.fromkeys(series for item in ready for series in item.retained_whole)
        # Trimmed now and then, since trimming looks at every column.
        self.most = self.need + min(64, self.need + 8)
        self.steps = list(enumerate(self.machines))
        self.silences = [(k, item) for k, item in self.steps if isinstance(item, Silence)]
        self.histories: dict[Key, History] = {}
        self.wholes: dict[tuple[str, str], History] = {}
        self.plans: dict[tuple[Names, bool], Plans] = {}
        self._of_subject: dict[tuple[str, str], dict[Key, None]] = {}

    def takes(self, names: AbstractSet[str], evaluated: bool) -> bool:
        """Whether events with these readings are in its histories."""
        if not self.signals and not self.evaluated:
            return True
        return not names.isdisjoint(self.signals) or (self.evaluated and evaluated)

    def plan(self, history: History, route: Route) -> Steps:
        """The programs for which an event may matter to a history; the history has seen its names then."""
        own = route.names[self]
        if history.plans is None:  # at its first event here all may; a hook's process sees no other
            history.plans = UNPLANNED
            return [
                (k, machine, True, False)
                for k, machine in self.steps
                if history.timed or not machine.program.timed_only
            ]
        if history.plans is not UNPLANNED:
            ever = history.plans.ever.joined(own)
        elif self.retained and history.base:  # there may be readings of events that were forgotten
            ever = ANYTHING
        else:
            ever = own
            for event in history.events:
                ever = ever.joined(Names.of(event, self.names))
        key = (ever, history.timed)
        if key not in self.plans:
            if len(self.plans) >= MOST_ROUTES:
                self.plans.clear()
            self.plans[key] = Plans(ever)
        plans = history.plans = self.plans[key]
        if own not in plans.by_names:
            here = Here(own, ever, history.timed)
            plans.by_names[own] = [
                (k, machine, *prospects(machine.program, here))
                for k, machine in self.steps
                if history.timed or not machine.program.timed_only
            ]
        steps = plans.steps[route] = plans.by_names[own]
        return steps

    def observe(
        self, event: Event, us: int, route: Route, changes: list[Change], deadlines: Deadlines
    ) -> bool:
        """Let the programs take in an event that belongs; return whether it mattered to any."""
        if self.need_whole:
            whole = self.wholes.get((event.source, event.subject)) or self.start_whole(
                event.source, event.subject, event.timed
            )
            whole.add(event, us)
            if len(whole.events) > 2 * self.need_whole + 8:
                whole.trim(self.need_whole)
        key = self.read_key(event)
        if key is None:
            return False
        history = self.histories.get(key) or self.start(key, event.timed)
        if self.need:
            history.add(event, us)
            if len(history.events) > self.most:
                history.trim(self.need)
        else:
            history.n += 1
            history.us = us
        steps = history.plans and history.plans.steps.get(route)
        if steps is None:
            steps = self.plan(history, route)
        states, judged, mattered = history.states, history.known | history.tested, False
        for k, machine, begins, unknown in steps:
            if not begins and states[k] is None and (unknown or judged >> k & 1):
                continue
            mattered = True
            change = machine.step(k, event, us, history)
            if change is not None:
                changes.append(change)
            if states[k].__class__ is Waiting:
                deadlines.wait(self, k, history)
        return mattered

    def extend(self, events: Sequence[Event], times: Sequence[int]) -> None:
        """Append events of one history that matter to no program."""
        first = events[0]
        if self.need_whole:
            whole = self.wholes[first.source, first.subject]
            whole.extend(events, times)
            if len(whole.events) > 2 * self.need_whole + 8:
                whole.trim(self.need_whole)
        key = self.read_key(first)
        if key is None:
            return
        history = self.histories[key]
        if self.need:
            history.extend(events, times)
            if len(history.events) > self.most:
                history.trim(self.need)
        else:
            history.n += len(events)
            history.us = times[-1]

    def start(self, key: Key, timed: bool) -> History:
        """A new history."""
        whole = self.wholes[key[0], key[self.subject]] if self.need_whole else None
        history = self.histories[key] = History(key[1:], key[0], timed, self.cap, whole)
        history.states = [None] * len(self.machines)
        history.waits = [None] * len(self.machines)
        for series in self.retained:
            series.column(history, 0)
        if self.fields != WHOLE:
            self._of_subject.setdefault((key[0], key[self.subject]), {})[key] = None
        return history

    def start_whole(self, source: str, subject: str, timed: bool) -> History:
        """A new whole history of a subject."""
        history = self.wholes[source, subject] = History((subject,), source, timed, self.cap)
        for series in self.retained_whole:
            series.column(history, 0)
        return history

    def keys_of(self, source: str, subject: str) -> list[Key]:
        """The histories of a subject, oldest first."""
        if self.fields == WHOLE:
            return [(source, subject)] if (source, subject) in self.histories else []
        return list(self._of_subject.get((source, subject), ()))

    def forget(self, key: Key) -> History:
        """Let go of a history."""
        if self.fields != WHOLE:
            subject = (key[0], key[self.subject])
            del self._of_subject[subject][key]
            if not self._of_subject[subject]:
                del self._of_subject[subject]
        return self.histories.pop(key)

    def open(self, history: History, closed: int | None) -> Iterator[Change]:
        """What is open in a history, as it is now or closed at a moment."""
        what = OPENED if closed is None else CLOSED
        for k, machine in self.steps:
            state = history.states[k]
            if state is None or isinstance(machine, SequenceMachine):
                continue
            if isinstance(machine, Threshold) or state.is_open:
                yield Change(what, machine.match(state, history, closed))


class Backlog:
    """Events of one subject that matter to no program, since one with the same route and keys did not.

    They are appended to its histories before any other event of the subject in the same lane.
    """

    __slots__ = ("events", "keys", "route", "times")

    def __init__(self, route: Route, keys: Any) -> None:
        self.route, self.keys = route, keys
        self.events: list[Event] = []
        self.times: list[int] = []

    def clear(self) -> None:
        """Append the events to their histories."""
        if self.events:
            for group in self.route.groups:
                group.extend(self.events, self.times)
            self.events, self.times = [], []


Backlogs = dict[tuple[str, str], Backlog]
"""By source and subject."""


class Engine:
    """Programs over events that come in order, source by source."""

    def __init__(self, programs: Iterable[Program], cap: int = CAP) -> None:
        own = [program for program in programs if not program.is_combination]
        shared: dict[Any, list[Program]] = {}
        for item in own:
            shared.setdefault((item.group_by, item.signals, item.evaluated), []).append(item)
        self.groups = [Group(ones, cap) for ones in shared.values()]
        places = {
            program.name: (group, k) for group in self.groups for k, program in enumerate(group.programs)
        }
        self.programs = [(item, *places[item.name]) for item in own]
        kinds = list(dict.fromkeys(item.group_by for item in own))
        self._order = {item.name: (kinds.index(item.group_by), k) for k, item in enumerate(own)}
        self.deadlines = Deadlines()
        self._attributes = {name for item in own for name in prepared(item, cap).attributes}
        self._routes: dict[Any, list[tuple[Route, Backlogs]]] = {}
        self._lanes: dict[tuple[str, ...], Backlogs] = {group.fields: {} for group in self.groups}

    def observe(self, event: Event, us: int | None = None) -> list[Change]:
        """The changes caused by one event. `advance` must have run up to it."""
        if us is None:
            us = micros(event.at)
        names: Any = tuple(event.readings)
        if event.text is not None or event.attributes:
            event = self._slim(event)
            if event.attributes:
                names = (names, *event.attributes)
        routes = self._routes.get(names)
        if routes is None:
            routes = self._find_routes(names, event)
        who = (event.source, event.subject)
        changes: list[Change] = []
        for route, backlogs in routes:
            keys = route.keys and route.keys(event)
            backlog = backlogs.get(who)
            if backlog is not None:
                if backlog.route is route and backlog.keys == keys:
                    backlog.events.append(event)
                    backlog.times.append(us)
                    if len(backlog.events) >= BACKLOG:
                        backlog.clear()
                    continue
                del backlogs[who]
                backlog.clear()
            matters = not route.repeats
            for group in route.groups:
                if group.observe(event, us, route, changes, self.deadlines):
                    matters = True
            if not matters:
                backlogs[who] = Backlog(route, keys)
        if len(changes) > 1:  # in the order of programs, whichever share their histories
            changes.sort(key=lambda change: self._order[change.match.program.name])
        return changes

    def catch_up(self) -> None:
        """Append all events that wait to their histories."""
        for backlogs in self._lanes.values():
            for backlog in backlogs.values():
                backlog.clear()

    def _find_routes(self, key: Any, event: Event) -> list[tuple[Route, Backlogs]]:
        if len(self._routes) >= MOST_ROUTES:
            self._routes.clear()
            for group in self.groups:
                group.plans.clear()  # they hold routes
        names, evaluated = frozenset(event.readings), is_evaluated(event.readings)
        taking = [group for group in self.groups if group.takes(names, evaluated)]
        lanes = {fields: [group for group in taking if group.fields == fields] for fields in self._lanes}
        routes = self._routes[key] = [
            (Route(event, groups), self._lanes[fields]) for fields, groups in lanes.items() if groups
        ]
        return routes

    def _slim(self, event: Event) -> Event:
        """The event without its text and unused attributes, since histories store it."""
        request = self._attributes
        attributes = {name: value for name, value in event.attributes.items() if name in request}
        return Event(
            event.id, event.at, event.subject, event.seq, event.source, event.timed, None, event.target,
            event.reply_to, event.thread, event.session, event.kind, None, attributes,
            event.readings, event.scorers, event.widths,
        )  # fmt: skip

    def advance(self, source: str, us: int) -> list[Change]:
        """The silences of a source whose deadline lies before a moment."""
        return list(self.deadlines.passed(source, us))

    def open(self) -> Iterator[Change]:
        """Every match that is open now, as far as it has come."""
        for group in self.groups:
            for history in group.histories.values():
                yield from group.open(history, None)

    # Memory bounds.

    @property
    def held(self) -> int:
        """How many histories are held, of the kind of which there are most."""
        return max((len(group.histories) for group in self.groups), default=0)

    def held_of(self, source: str, subject: str) -> int:
        """The same of one subject."""
        return max((len(group.keys_of(source, subject)) for group in self.groups), default=0)

    def forget(self, source: str, subject: str, us: int, *, keep: int = 0) -> list[Change]:
        """Let go of a subject's histories; what was open in them closes at a moment.

        `keep`: how many of the newest histories of each kind stay.
        """
        changes: list[Change] = []
        for backlogs in self._lanes.values():
            if (backlog := backlogs.pop((source, subject), None)) is not None:
                backlog.clear()
        for group in self.groups:
            keys = group.keys_of(source, subject)
            for key in keys[: max(0, len(keys) - keep)]:
                history = group.forget(key)
                self.deadlines.drop(history)
                changes += group.open(history, us)
            if not keep:
                group.wholes.pop((source, subject), None)
        return changes

    def unjudged(self) -> list[Unjudged]:
        """The histories about which a program cannot say yes or no."""
        self.catch_up()
        return [
            Unjudged(program, *missing, [(history.source, history.key)], [history.n])
            for program, group, k in self.programs
            for history in group.histories.values()
            if (missing := _missing(program, k, history)) is not None
        ]


def _missing(program: Program, k: int, history: History) -> tuple[int, str] | None:
    """How many readings are needed, and why it cannot be judged; None where it can."""
    if program.timed_only and not history.timed:
        return 0, NO_TIMES
    known = bool(history.known >> k & 1)
    if isinstance(program.body, SilenceProgram):
        known = history.n >= program.body.at_least and (known or not history.tested >> k & 1)
    return None if known else lacking(program)


def key_reader(fields: tuple[str, ...]) -> Callable[[Event], Key | None]:
    """A function that gives the source and the values of the fields, or None where one is lacking."""
    if fields == WHOLE:
        return attrgetter("source", "subject")

    def read(event: Event) -> Key | None:
        values: list[Any] = [event.source]
        for name in fields:
            value = attribute(event, name)
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    # An exchange is the thread where there is one.
    quick_fields = ["thread" if name == EXCHANGE else name for name in fields]
    if not all(name in FIELDS for name in quick_fields):
        return read
    read_all = attrgetter("source", *quick_fields)

    def quick(event: Event) -> Key | None:
        values: Key = read_all(event)
        for value in values:
            if value.__class__ is not str:
                # None, or a number where a name is due: read as an attribute is.
                return read(event)
        return values

    return quick


def run(programs: Iterable[Program], events: Iterable[Event], *, as_of: int, cap: int = CAP) -> Outcome:
    """Matches of all programs over events that are in order and not after `as_of` (microseconds)."""
    feed = Feed(programs, cap)
    feed.add(events)
    return feed.outcome(as_of)


class Feed:
    """Matches over events that come in pieces and are not kept."""

    def __init__(self, programs: Iterable[Program], cap: int = CAP) -> None:
        self._engine, self._matches = Engine(programs, cap), list[Match]()

    def add(self, events: Iterable[Event]) -> None:
        """Add the next events, in order."""
        engine = self._engine
        for event in events:
            us = micros(event.at)
            changes = [*engine.advance(event.source, us), *engine.observe(event, us)]
            self._matches += [change.match for change in changes if change.what == CLOSED]

    def outcome(self, as_of: int) -> Outcome:
        """What was found up to a time that is not before the last event."""
        engine = self._engine
        for source in list(engine.deadlines.queues):
            engine.advance(source, as_of)
        matches = self._matches + [change.match for change in engine.open()]
        checked = {program.name: len(group.histories) for program, group, _ in engine.programs}
        return Outcome(matches, engine.unjudged(), checked)
