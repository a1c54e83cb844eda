"""What goes wrong inside ingest. Neither leaves it: both become faults with a place."""

from __future__ import annotations

SHOWN = 60
"""How many characters of something hostile are repeated in a message."""


class BadLine(ValueError):
    """One line (row, element) cannot be an event. `column` counts from 1; 0 means not known."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


class Unreadable(Exception):
    """A file cannot be read any further: torn, too large, or not what it seemed."""


def shown(value: object) -> str:
    """A short, printable form of anything for a message: escapes what no terminal or encoder takes.

    >>> shown(chr(0xD800) + "a" * 100) == "'" + chr(92) + "ud800" + "a" * 59 + "...'"
    True
    >>> shown(12)
    '12'
    """
    if isinstance(value, str):
        cut = value if len(value) <= SHOWN else value[:SHOWN] + "..."
        return repr(cut)
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "null"}[value]
    text = repr(value) if isinstance(value, int | float) else type(value).__name__
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def type_name(value: object) -> str:
    """What a JSON writer would call this value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
