"""Limits: how large input may be."""

from __future__ import annotations

from .slotted import dataclass

FREE = 64 * 2**20
"""Bytes that a file may unpack to whatever its own size."""
FREE_RECORDS = 50_000
"""Records that a compressed file may hold whatever its size."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Every limit of reading, which settings can raise.

    >>> Limits(events=10_000_000).events
    10000000
    """

    events: int = 50_000_000
    line: int = 1_000_000
    """Bytes of one line, row or array element."""
    unpacked: int = 4 * 2**30
    """Bytes one compressed file may unpack to."""
    ratio: int = 500
    """Times its own size that a compressed file may unpack to, beyond `FREE` bytes."""
    density: int = 1
    """Records for each byte of a compressed file, beyond `FREE_RECORDS`."""
    whole: int = 256 * 2**20
    """Bytes of a file that has to be held in memory at once, such as a JSON array."""
    text: int = 200_000
    """Characters of `text` and of one attribute."""
    name: int = 512
    """Characters of ids, names and categories."""
    readings: int = 256
    attributes: int = 256
    depth: int = 32
    """Lists and objects inside each other, the line's own object included."""
    blank: int = 1_000_000
    """Lines that say nothing that a file may have, beyond one for each that says something."""
    bad: int = 10_000
    """Bad records after which reading stops where there are more of them than good ones."""
    faults: int = 50
    """Bad lines kept to be shown; all are counted."""

    def most_unpacked(self, packed: int) -> int:
        """Bytes that a compressed file of so many bytes may unpack to.

        >>> Limits().most_unpacked(1_000) == FREE, Limits().most_unpacked(10 * 2**20) == 5000 * 2**20
        (True, False)
        """
        return min(self.unpacked, max(FREE, self.ratio * packed))


def over(limit: str, value: int, what: str) -> str:
    """The message for something over a limit: which one, and how to raise it.

    >>> over("name", 512, "subject is longer than 512 characters")
    'subject is longer than 512 characters (to raise it: limits: {name: ...} in ethogram.yaml)'
    """
    message = what.replace(str(value), f"{value:,}")
    return f"{message} (to raise it: limits: {{{limit}: ...}} in ethogram.yaml)"
