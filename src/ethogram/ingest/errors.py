"""What goes wrong inside ingest. Neither exception leaves it: both become faults with a place."""

from __future__ import annotations

LONGEST = 60
"""How many characters of a value are repeated in a message."""


class BadLine(ValueError):
    """One line (row, element) cannot be an event. `column` counts from 1; 0 means not known."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


class Unreadable(Exception):
    """A file cannot be read any further: damaged, too large, or of another format than it seemed."""


def shown(value: object) -> str:
    """Return a short, printable form of any value for a message.

    >>> shown(chr(0xD800) + "a" * 100) == "'" + chr(92) + "ud800" + "a" * 59 + "...'"
    True
    >>> shown(12)
    '12'
    """
    if isinstance(value, str):
        return repr(value if len(value) <= LONGEST else value[:LONGEST] + "...")
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "null"}[value]
    text = repr(value) if isinstance(value, int | float) else type(value).__name__
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def type_name(value: object) -> str:
    """Return what JSON calls this value's type."""
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
