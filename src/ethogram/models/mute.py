"""Mute: a rule that hides known detections, with its reason and its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from .detection import Detection
from .event import stable_hash
from .record import Record
from .slotted import dataclass

if TYPE_CHECKING:
    from ..fields import Count


CRITERIA = ("subject", "pattern", "path", "command")
"""The criteria of an entry; each is a glob, and all that are set must match."""


@dataclass(frozen=True, slots=True)
class Mute(Record):
    """A rule that hides known detections.

    `until` None: for ever.
    """

    RECORD = "mute"
    JSON = "id subject pattern path command reason until added trusted"

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
    def criteria(self) -> Mapping[str, str]:
        """The criteria that are set."""
        return {name: glob for name in CRITERIA if (glob := getattr(self, name)) is not None}

    @property
    def trusted(self) -> bool:
        """Whether its file was reviewed."""
        return not self.untrusted

    def is_expired(self, now: datetime) -> bool:
        """Whether it has ended; the moment `until` itself is no longer muted."""
        return self.until is not None and now >= self.until


@dataclass(frozen=True, slots=True)
class ListedMute(Record):
    """A rule that hides known detections."""

    RECORD = "mute"
    FLAT = ("mute",)
    OPTIONAL = ("expired",)

    mute: Mute
    expired: bool
    """Whether it has ended; only where entries are listed."""


@dataclass(frozen=True, slots=True)
class MuteCount(Record):
    """How many detections one entry muted."""

    id: str
    detections: Count
    expired: bool
    trusted: bool


@dataclass(frozen=True, slots=True)
class MutingSummary(Record):
    """How many detections were muted, in all and by entry."""

    detections: Count
    entries: tuple[MuteCount, ...]


@dataclass(frozen=True, slots=True)
class Muting:
    """The result of muting: all entries, ids of expired ones, and (detection, id of the entry)."""

    entries: tuple[Mute, ...] = ()
    expired: frozenset[str] = frozenset()
    muted: tuple[tuple[Detection, str], ...] = ()

    @property
    def shown(self) -> tuple[tuple[Detection, Mute], ...]:
        """Detections muted by entries of an untrusted file: still shown, and counted by --fail-on."""
        entries = {entry.id: entry for entry in self.entries if entry.untrusted}
        return tuple((item, entries[by]) for item, by in self.muted if by in entries)

    def count(self, entry: Mute) -> int:
        """How many detections an entry muted."""
        return sum(1 for _, by in self.muted if by == entry.id)

    def summary(self) -> MutingSummary:
        """How many were muted, in all and by entry."""
        entries = (
            MuteCount(entry.id, self.count(entry), entry.id in self.expired, entry.trusted)
            for entry in self.entries
        )
        return MutingSummary(len(self.muted), tuple(entries))


def mute_id(criteria: Mapping[str, str]) -> str:
    """The id of an entry: the same criteria are the same entry.

    >>> mute_id({"pattern": "loop"}) == mute_id({"pattern": "loop"})
    True
    """
    return "m-" + stable_hash("mute", sorted(criteria.items()))[:8]
