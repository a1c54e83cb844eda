"""Text of the input made safe to show."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, without the control characters a terminal would obey.

    >>> printable("a\\x1b[2Jb\\nc")
    'a\\\\x1b[2Jb\\\\nc'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _spelled(char) for char in text)


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
