"""Numbers of a store under a name, and numbers that are never given twice."""

from __future__ import annotations

from .events import highest
from .kinds import KINDS
from .row_store import Reader, RowStore

LAST_KEY = "last_key"
"""The number of the newest event."""


def get_meta(view: Reader, name: str) -> int | None:
    """A number under a name, or None."""
    return next(
        (value for (value,) in view.rows("meta", [("name", "=", name)], columns=("value",), limit=1)), None
    )


def set_meta(store: RowStore, name: str, value: int) -> None:
    """Set a number under a name."""
    store.write("meta", [(name, value)])


def last_key(view: Reader) -> int:
    """The highest number of an event so far; none is given again, even after a purge."""
    return max(highest(view, "events", "key") or 0, get_meta(view, LAST_KEY) or 0)


def next_numbers(store: RowStore, kind: str, count: int = 1) -> range:
    """So many numbers for rows of a kind, which were never given before."""
    name = f"last_{kind}"
    first = max(highest(store, kind, KINDS[kind].key[0]) or 0, get_meta(store, name) or 0) + 1
    if count:
        set_meta(store, name, first + count - 1)
    return range(first, first + count)
