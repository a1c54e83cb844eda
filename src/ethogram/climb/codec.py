"""Frozen dataclasses to JSON's own types and back, by their annotations."""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


_SIMPLE = frozenset((str, float, int, bool, type(None)))


def to_plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, enums as numbers; all else as it is."""
    # By the type itself, since this is done for every turn and asking what a value is takes most of the time.
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if kind is tuple:
        return [one if type(one) in _SIMPLE else to_plain(one) for one in value]
    if is_dataclass(kind):
        return {
            name: one if type(one := getattr(value, name)) in _SIMPLE else to_plain(one)
            for name in _names(kind)
        }
    return int(value) if isinstance(value, IntEnum) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def from_plain(kind: type[T], data: Any) -> T:
    """What `to_plain` was given, when it was of this kind.

    >>> from .accumulation import Load
    >>> from_plain(Load, to_plain(Load(heap=0.1))) == Load(heap=0.1)
    True
    """
    made: T = _read(kind, data)
    return made


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(kind: Any, data: Any) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(**{name: _read(hints[name], value) for name, value in data.items()})
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_read(inner[0], item) for item in data)
        return tuple(_read(each, item) for each, item in zip(inner, data, strict=True))
    if origin in (types.UnionType, typing.Union):
        return None if data is None else _read(next(each for each in inner if each is not type(None)), data)
    if kind is float:
        return float(data)
    return kind(data) if isinstance(kind, type) and issubclass(kind, IntEnum) else data
