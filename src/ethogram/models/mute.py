"""Mute: an entry that says which detections are known and need not be told, why, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .detection import Detection
from .event import stable_hash
from .timestamps import format_time

CRITERIA = ("subject", "pattern", "path", "command")
"""What an entry can ask for; each is a glob, and all that are given must match."""


@dataclass(frozen=True, slots=True)
class Mute:
    """One entry. `until` is None where it is meant for ever, and that was said."""

    id: str
    reason: str
    subject: str | None = None
    pattern: str | None = None
    path: str | None = None
    command: str | None = None
    until: datetime | None = None
    added: datetime | None = None
    untrusted: str = ""
    """The file it comes from, where nobody has reviewed that: what it mutes is shown, and still counts."""

    @property
    def asks(self) -> Mapping[str, str]:
        """The criteria that are given."""
        found = {name: getattr(self, name) for name in CRITERIA}
        return {name: glob for name, glob in found.items() if glob is not None}

    def is_expired(self, now: datetime) -> bool:
        """Whether it has ended; the moment `until` itself is no longer muted."""
        return self.until is not None and now >= self.until

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "mute",
            "id": self.id,
            **{name: getattr(self, name) for name in CRITERIA},
            "reason": self.reason,
            "until": None if self.until is None else format_time(self.until),
            "added": None if self.added is None else format_time(self.added),
            "trusted": not self.untrusted,
        }


@dataclass(frozen=True, slots=True)
class Muting:
    """What the entries did to an analysis: all of them, which have expired, and (detection, entry's id)."""

    entries: tuple[Mute, ...] = ()
    expired: frozenset[str] = frozenset()
    muted: tuple[tuple[Detection, str], ...] = ()

    @property
    def shown(self) -> tuple[tuple[Detection, Mute], ...]:
        """What entries of an untrusted file muted: shown all the same, and counted by --fail-on."""
        entries = {entry.id: entry for entry in self.entries if entry.untrusted}
        return tuple((item, entries[by]) for item, by in self.muted if by in entries)

    def count(self, entry: Mute) -> int:
        """How many detections an entry muted."""
        return sum(1 for _, by in self.muted if by == entry.id)

    def summary(self) -> dict[str, Any]:
        """How many were muted, in all and by entry."""
        entries = [
            {
                "id": entry.id,
                "detections": self.count(entry),
                "expired": entry.id in self.expired,
                "trusted": not entry.untrusted,
            }
            for entry in self.entries
        ]
        return {"detections": len(self.muted), "entries": entries}


def mute_id(asks: Mapping[str, str]) -> str:
    """The id of an entry: the same criteria are the same entry.

    >>> mute_id({"pattern": "loop"}) == mute_id({"pattern": "loop"})
    True
    """
    return "m-" + stable_hash("mute", sorted(asks.items()))[:8]
