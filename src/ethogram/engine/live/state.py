"""Save and load the state of the live engine as plain JSON data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...language.program import Program
from ...models.event import Event, stable_hash
from ...models.timestamps import micros, moment
from ..history import History, Seen
from .engine import Engine, Group, Key, Machine
from .rolling import Column, Series
from .sequence import Link, Sequence, SequenceState
from .silence import Silence, Waiting
from .threshold import Open, Threshold

_FIELDS = (
    "id", "seq", "source", "subject", "timed", "kind", "target", "reply_to", "thread", "session",
    "attributes", "readings", "scorers", "widths",
)  # fmt: skip


def version_of(program: Program) -> str:
    """The version of saved state: a hash of the whole program, wording included."""
    return stable_hash("state", program.version, program.to_json())[:20]


class Packer:
    """Numbers events and links, so that each is written once."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.links: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._held: list[Any] = []

    def event(self, event: Event) -> int:
        """The number of an event."""
        number = self._numbers.get(id(event))
        if number is None:
            number = self._numbers[id(event)] = len(self.events)
            self._held.append(event)
            self.events.append([micros(event.at), *(_plain(getattr(event, name)) for name in _FIELDS)])
        return number

    def seen(self, seen: Seen | None) -> Any:
        """A matched event as plain data."""
        if seen is None:
            return None
        return [seen.position, self.event(seen.event), list(seen.values.values())]

    def link(self, link: Link | None) -> int | None:
        """The number of a link; those behind it come first."""
        if link is None:
            return None
        number = self._numbers.get(id(link))
        if number is None:
            before = self.link(link.before)
            also, fill = [self.seen(item) for item in link.also], [self.seen(item) for item in link.fill]
            self.links.append([self.seen(link.seen), before, also, fill])
            self._held.append(link)
            number = self._numbers[id(link)] = len(self.links) - 1
        return number


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


class Unpacker:
    """The reverse of a packer. Links name no steps, so they are made by their sequence."""

    def __init__(self, events: list[Any], links: list[Any]) -> None:
        self.us = [row[0] for row in events]
        self.events = [Event(at=moment(us), **dict(zip(_FIELDS, rest, strict=True))) for us, *rest in events]
        self.links = links
        self._made: dict[int, Link] = {}

    def seen(self, data: Any, machine: Sequence, step: str) -> Seen | None:
        """The matched event that was packed."""
        if data is None:
            return None
        position, number, values = data
        names = [of for of, _ in machine.captured.get(step, ())]
        return Seen(position, self.events[number], self.us[number], dict(zip(names, values, strict=True)))

    def seens(self, data: list[Any], machine: Sequence, step: str) -> tuple[Seen, ...]:
        """Several of them."""
        return tuple(seen for datum in data if (seen := self.seen(datum, machine, step)) is not None)

    def link(self, number: int | None, machine: Sequence, i: int) -> Link | None:
        """The link of place i under a number."""
        if number is None:
            return None
        if number not in self._made:
            seen, before, also, fill = self.links[number]
            step, behind = machine.steps[i], self.link(before, machine, i - 1)
            here = self.seen(seen, machine, step)
            assert here is not None
            last = {**({} if behind is None else behind.last), step: (here,)}
            self._made[number] = Link(
                here,
                behind,
                here if behind is None else behind.first,
                last,
                self.seens(also, machine, step),
                self.fill(fill, machine, i - 1),
            )
        return self._made[number]

    def fill(self, data: list[Any], machine: Sequence, gap: int) -> tuple[Seen | None, ...]:
        """The optional steps behind a place."""
        steps = machine.optionals[gap][: len(data)]
        return tuple(self.seen(datum, machine, step.step) for datum, step in zip(data, steps, strict=True))


# One history: its events, retained readings, and the state of each program.


def _save_history(history: History, need: int, record: Mapping[Series, Any], packer: Packer) -> list[Any]:
    newest = history.events[-need:] if need else []
    columns = []
    for series in record:
        column = series.column(history, history.n)
        rows = list(zip(column.positions, column.values, column.events, strict=True))[-series.keep :]
        columns.append([[position, value, packer.event(event)] for position, value, event in rows])
    whole_at = history.whole_at[-need:] if need else []
    return [
        history.timed,
        history.n,
        history.us,
        history.first_us,
        [packer.event(item) for item in newest],
        whole_at,
        columns,
    ]


def _load_history(
    history: History, data: list[Any], record: Mapping[Series, int | None], unpacker: Unpacker
) -> None:
    """`retained` says which of the saved columns is that of a series, None where there is none."""
    _, history.n, history.us, history.first_us, events, history.whole_at, columns = data
    history.events = [unpacker.events[number] for number in events]
    history.times = [unpacker.us[number] for number in events]
    history.base = history.n - len(events)
    for series, place in record.items():
        column: Column = series.column(history, 0)
        for position, value, number in () if place is None else columns[place]:
            column.add(position, value, unpacker.events[number])
        column.next = history.n


def _save_state(machine: Machine, state: Any, history: History, packer: Packer) -> Any:
    match state:
        case SequenceState():
            fills = [[[packer.seen(s) for s in fill] for fill in gap] for gap in state.fills]
            runs = [[packer.seen(s) for s in run] for run in state.runs]
            standing = [packer.link(link) for link in state.standing]
            return [standing, state.blocked, runs, fills, state.fired]
        case Open():
            events = [
                packer.event(state.opened),
                packer.event(state.peak),
                [packer.event(e) for e in state.evidence],
            ]
            read = [state.fired_confidence, state.confidence, state.severity, state.peak_confidence]
            return [*events, *read, state.details, state.explanation, state.last, state.last_us, state.count]
        case Waiting():
            assert isinstance(machine, Silence)
            # Read now: after loading, the history may have moved on.
            machine.read(state, history.n - 1, history)
            return [packer.event(state.before), state.deadline, state.is_open, state.read]
    return None


def _load_state(machine: Machine, data: Any, unpacker: Unpacker) -> Any:
    if data is None:
        return None
    match machine:
        case Sequence():
            state = machine.start()
            standing, state.blocked, runs, fills, state.fired = data
            state.standing = [unpacker.link(number, machine, i) for i, number in enumerate(standing)]
            state.runs = [unpacker.seens(run, machine, machine.steps[i]) for i, run in enumerate(runs)]
            state.fills = [[unpacker.fill(fill, machine, i) for fill in gap] for i, gap in enumerate(fills)]
            return state
        case Threshold():
            opened, peak, evidence, *data = data
            fired, confidence, severity, at_peak, details, text, last, last_us, count = data
            events = unpacker.events
            counted = tuple(events[number] for number in evidence)
            return Open(
                events[opened], unpacker.us[opened], counted, fired, confidence, severity, events[peak],
                at_peak, details, text, last, last_us, count,
            )  # fmt: skip
        case Silence():
            before, deadline, is_open, read = data
            event, us = unpacker.events[before], unpacker.us[before]
            return Waiting(event, us, deadline, is_open, tuple(read))


# The engine.


def save_engine(engine: Engine) -> dict[str, Any]:
    """The state of an engine as plain data."""
    engine.catch_up()
    packer = Packer()
    groups = [_save_group(group, packer) for group in engine.groups]
    return {"groups": groups, "events": packer.events, "links": packer.links}


def _save_group(group: Group, packer: Packer) -> dict[str, Any]:
    return {
        "of": [list(group.fields), list(group.signals), group.evaluated],
        "need": [group.need, group.need_whole],
        "kept": [
            [_name(series) for series in retained] for retained in (group.retained, group.retained_whole)
        ],
        "programs": [[program.name, version_of(program)] for program in group.programs],
        "wholes": [
            [list(who), _save_history(history, group.need_whole, group.retained_whole, packer)]
            for who, history in group.wholes.items()
        ],
        "histories": [
            [
                list(key),
                _save_history(history, group.need, group.retained, packer),
                history.known,
                history.tested,
                [
                    _save_state(machine, state, history, packer)
                    for machine, state in zip(group.machines, history.states, strict=True)
                ],
            ]
            for key, history in group.histories.items()
        ],
    }


def _name(series: Series) -> str:
    return stable_hash("series", repr(series.key))[:20]


def load_engine(engine: Engine, saved: Mapping[str, Any]) -> list[str]:
    """Restore saved state; returns the names of programs whose saved state is of another version."""
    unpacker = Unpacker(saved["events"], saved["links"])
    versions = {name: version for group in saved["groups"] for name, version in group["programs"]}
    by_key = {str(data["of"]): data for data in saved["groups"]}
    lost: list[str] = []
    for group in engine.groups:
        data = by_key.get(str([list(group.fields), list(group.signals), group.evaluated]))
        known = {
            program.name for program in group.programs if versions.get(program.name) == version_of(program)
        }
        if data is None or group.need > data["need"][0] or group.need_whole > data["need"][1]:
            known = set()  # too few events were saved for these programs
        lost += [
            program.name
            for program in group.programs
            if program.name in versions and program.name not in known
        ]
        if known and data is not None:
            _load_group(engine, group, data, known, unpacker)
    return lost


def _load_group(
    engine: Engine, group: Group, data: Mapping[str, Any], known: set[str], unpacker: Unpacker
) -> None:
    retained, retained_whole = (
        {series: names.index(_name(series)) if _name(series) in names else None for series in own}
        for own, names in zip((group.retained, group.retained_whole), data["kept"], strict=True)
    )
    places = [name for name, _ in data["programs"]]
    was = {k: places.index(program.name) for k, program in enumerate(group.programs) if program.name in known}
    for (source, subject), rows in data["wholes"]:
        _load_history(group.start_whole(source, subject, rows[0]), rows, retained_whole, unpacker)
    for values, rows, known_bits, tested_bits, states in data["histories"]:
        key: Key = tuple(values)
        history = group.start(key, rows[0])
        _load_history(history, rows, retained, unpacker)
        for k, place in was.items():
            history.known |= (known_bits >> place & 1) << k
            history.tested |= (tested_bits >> place & 1) << k
            history.states[k] = _load_state(group.machines[k], states[place], unpacker)
        for k, _ in group.silences:
            if history.states[k] is not None and not history.states[k].is_open:
                engine.deadlines.wait(group, k, history)
