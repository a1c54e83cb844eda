"""Plain values: names, text and attributes that print, encode and compare without surprise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from .errors import BadLine, shown, type_name
from .limits import Limits, over

_BROKEN = re.compile("[\x00\ud800-\udfff]")
"""Null characters, which PostgreSQL refuses, and half surrogate pairs, which no encoder takes."""


def is_plain(text: str) -> bool:
    """Whether a text certainly needs no mending; nearly every one, and this is quick to say."""
    return text.isascii() and "\0" not in text


def mended(text: str) -> str:
    """The text with each character that cannot be stored or printed replaced by U+FFFD.

    >>> mended("a" + chr(0xD800)) == "a" + chr(0xFFFD)
    True
    """
    return text if is_plain(text) else _BROKEN.sub("\ufffd", text)


def check_name(field: str, value: Any, limits: Limits) -> str:
    """The value, if it can name something: text, not too long, whole.

    Names are not mended as text is: two that differ only in a broken character would become one.
    """
    if not isinstance(value, str):
        raise BadLine(f"{field} must be text, not {type_name(value)}")
    if len(value) > limits.name:
        raise BadLine(over("name", limits.name, f"{field} is longer than {limits.name} characters"))
    if not is_plain(value) and _BROKEN.search(value):
        raise BadLine(f"{field} {shown(value)} holds a null or half a surrogate pair")
    return value


def finite(what: str, value: float) -> float:
    """The number as a float; BadLine where it is infinite, not a number, or too large for a float."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadLine(f"{what} is not a finite number")
    return number


def attribute(name: str, value: Any, limits: Limits) -> Any:
    """The value of an attribute, mended all through; kept as it is otherwise, ints and nulls included."""
    check_name("attribute name", name, limits)
    # The line's own object and `attributes` are the first two of the nested ones.
    return _plain(name, value, limits, limits.depth - 2)


def _plain(name: str, value: Any, limits: Limits, deeper: int) -> Any:
    if isinstance(value, str):
        if len(value) > limits.text:
            what = f"attribute {shown(name)} is longer than {limits.text} characters"
            raise BadLine(over("text", limits.text, what))
        return mended(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        finite(f"attribute {shown(name)}", value)
        return value
    if deeper < 1:
        what = f"attribute {shown(name)} is nested more than {limits.depth} deep"
        raise BadLine(over("depth", limits.depth, what))
    if isinstance(value, Mapping):
        return {_key(name, key): _plain(name, one, limits, deeper - 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(name, one, limits, deeper - 1) for one in value]
    raise BadLine(f"attribute {shown(name)} holds {type_name(value)}, which JSON cannot say")


def _key(name: str, key: Any) -> str:
    if not isinstance(key, str):
        raise BadLine(f"attribute {shown(name)} has a key that is {type_name(key)}, not text")
    return mended(key)
