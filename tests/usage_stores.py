"""A usage store with somebody in it, and everything that stands in its files."""

from __future__ import annotations

from pathlib import Path

from ethogram.usage.tracker import UsageTracker

DAY = 86_400
HALF_HOUR = 1_800
BEGIN = 1_772_445_600
NOW = BEGIN + 100 * DAY
WHO = "ann.example@mail.invalid"
SESSION = "session-of-ann-77"
EVENT = "event-of-ann-88"


def opened(path: Path, key: Path, **how: object) -> UsageTracker:
    return UsageTracker(path, **{"key": key, "clock": lambda: NOW, "who": "dr. b", **how})


def fill(tracker: UsageTracker, days: int = 40) -> None:
    for day in range(days):
        for k in range(5):
            at = BEGIN + day * DAY + k * 601 + 7
            tracker.record(WHO, at, 123, session=SESSION if day % 2 else None, id=f"{EVENT} {day} {k}")


def bytes_of(path: Path) -> bytes:
    """Everything in every file of the store."""
    return b"".join(item.read_bytes() for item in sorted(path.parent.iterdir()))


def is_in(words: str | bytes, path: Path) -> bool:
    needle = words.encode() if isinstance(words, str) else words
    wide = words.encode("utf-16-le") if isinstance(words, str) else words
    found = bytes_of(path)
    return needle in found or wide in found
