"""Record: a typed class with a JSON form. Its fields are the only definition of that form.

`ethogram.schemas` derives the JSON Schema from the annotations. Modules that a hook's process loads take
the names of `ethogram.fields` for type checkers only, so that msgspec is not loaded with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Any

from .timestamps import format_time


class Record:
    """Base of every class with a JSON form.

    - `RECORD` is the value of the key `record`; a class without it is a part of another record.
    - `JSON` names attributes in output order, properties among them; without it all fields in their order.
    - `HIDDEN` names fields that are not part of the JSON form.
    - `OMITTED` names those that are left out where they are None.
    - `OPTIONAL` names those that some instances have and some have not.
    - `FLAT` names parts whose own fields take their place.
    - `DECIMALS` rounds the numbers in a field.
    """

    __slots__ = ()

    RECORD: str = ""
    JSON: str = ""
    HIDDEN: tuple[str, ...] = ()
    OMITTED: tuple[str, ...] = ()
    OPTIONAL: tuple[str, ...] = ()
    FLAT: tuple[str, ...] = ()
    DECIMALS: Mapping[str, int] = MappingProxyType({})

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; field names and their order are stable (docs/records.md)."""
        return fields_to_json(self)


def decimals(places: int, *names: str) -> dict[str, int]:
    """The same number of decimals for several fields."""
    return dict.fromkeys(names, places)


def fields_to_json(record: Any) -> dict[str, Any]:
    """The JSON form of a record, or of a named tuple."""
    cls = type(record)
    if not issubclass(cls, Record):
        return {key: to_json(getattr(record, name)) for name, key in json_fields(cls)}
    out: dict[str, Any] = {"record": cls.RECORD} if cls.RECORD else {}
    for name, key in json_fields(cls):
        value = getattr(record, name)
        if name in cls.FLAT:
            out |= {key: item for key, item in value.to_dict().items() if key != "record"}
        elif value is not None or name not in cls.OMITTED:
            out[key] = to_json(value, cls.DECIMALS.get(name))
    return out


def json_fields(cls: type) -> tuple[tuple[str, str], ...]:
    """The attributes that make up the JSON form of a class, each with its key there."""
    field = _FIELDS.get(cls)
    if field is None:
        known = next(getattr(cls, name) for name in _DECLARED if hasattr(cls, name))
        # A Struct can give a field another key, where the key is a word of Python.
        keys = dict(zip(known, getattr(cls, "__struct_encode_fields__", known), strict=True))
        hidden = getattr(cls, "HIDDEN", ())
        names = getattr(cls, "JSON", "").split() or [name for name in known if name not in hidden]
        field = _FIELDS[cls] = tuple((name, keys.get(name, name)) for name in names)
    return field


_FIELDS: dict[type, tuple[tuple[str, str], ...]] = {}
_DECLARED = ("__struct_fields__", "_fields", "__match_args__")


def to_json(value: Any, decimals: int | None = None) -> Any:
    """A value as JSON's own types: times as text, enumeration members by name, sequences as lists.

    >>> to_json({"share": 2 / 3, "tags": ("a", "b")}, decimals=2)
    {'share': 0.67, 'tags': ['a', 'b']}
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return value if decimals is None else round(value, decimals)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, int):
        return value
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, Mapping):
        return {key: to_json(item, decimals) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if hasattr(value, "_fields"):
            return fields_to_json(value)
        return [to_json(item, decimals) for item in value]
    return value.to_dict() if isinstance(value, Record) else value
