"""Names as they are kept in a state: as written, unless they are so long that a state would not be small."""

from __future__ import annotations

from ..records import stable_hash

LONGEST = 64


def short(name: str) -> str:
    """The name itself, or a digest of it where it has more than 64 characters.

    >>> short("ann"), len(short("a" * 1_000_000))
    ('ann', 64)
    """
    return name if len(name) <= LONGEST else stable_hash(name)
