"""History: the events of one key in order, as a runner reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..models import Event, Value, is_evaluated, micros
from ..models.slotted import dataclass, field
from .program import Program

CAP = 512
"""Windows are cut from so many of the newest events, so that state is bounded."""

FIELDS = ("kind", "source", "subject", "target", "thread", "session", "reply_to")


@dataclass(slots=True)
class History:
    """Events of one key. `whole` is the subject's own history, of which this is a part.

    `memo` holds the last value of each measure: one is often asked for more than once at an event.
    """

    key: tuple[Value, ...]
    source: str
    timed: bool
    events: list[Event] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    evaluated: list[bool] = field(default_factory=list)
    whole: History | None = None
    index_in_whole: list[int] = field(default_factory=list)
    memo: dict[object, tuple[int, Any]] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Append the next event in order."""
        self.events.append(event)
        self.times.append(micros(event.at))
        self.evaluated.append(is_evaluated(event.readings))
        if self.whole is not None:
            self.index_in_whole.append(len(self.whole.events) - 1)


def attribute(event: Event, name: str) -> Value | None:
    """A field or attribute as a value that can be compared; None where it is absent."""
    if name in FIELDS:
        found: Any = getattr(event, name)
    else:
        found = event.attributes.get(name)
        if found is None:
            found = event.readings.get(name)
    if isinstance(found, bool):
        return float(found)
    if isinstance(found, (int, float)):
        return float(found)
    return found if isinstance(found, str) else None


def key_of(program: Program, event: Event) -> tuple[Value, ...] | None:
    """The values of the program's history fields on an event, or None where one is lacking."""
    values: list[Value] = []
    for name in program.group_by:
        value = None if name in FIELDS else event.readings.get(name)
        if value is None:
            value = attribute(event, name)
        if value is None:
            return None
        values.append(value)
    return tuple(values)


def belongs(program: Program, event: Event) -> bool:
    """Whether an event carries a reading that the program's shape names."""
    if not program.signals and not program.evaluated:
        return True
    if any(name in event.readings for name in program.signals):
        return True
    return program.evaluated and is_evaluated(event.readings)


def histories(program: Program, events: Iterable[Event]) -> list[History]:
    """The program's histories, in order of their first event. Events must be in order."""
    record: dict[tuple[Any, ...], History] = {}
    subjects: dict[tuple[str, str], History] = {}
    narrow = program.group_by != ("subject",)
    for event in events:
        if not belongs(program, event):
            continue
        whole = None
        if narrow:
            subject = (event.source, event.subject)
            if subject not in subjects:
                subjects[subject] = History((event.subject,), event.source, event.timed)
            whole = subjects[subject]
            whole.add(event)
        key = key_of(program, event)
        if key is None:
            continue
        full = (event.source, *key)
        if full not in record:
            record[full] = History(key, event.source, event.timed, whole=whole)
        record[full].add(event)
    return list(record.values())
