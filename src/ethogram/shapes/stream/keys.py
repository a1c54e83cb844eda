"""Keys: which history of a program an event is in."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ...records import Event
from ..history import FIELDS, attribute
from ..program import Program
from .track import Key


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
