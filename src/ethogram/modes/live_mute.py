"""Mutes live: what an entry mutes is not told, but counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from ..records import Detection, Event
from ..records.mute import Mute
from .arrival import Arrivals
from .mute import FACTS, mutes


class Muter:
    """Entries, and how many detections each has muted, as often as one would have been told."""

    def __init__(self, entries: Sequence[Mute], clock: Callable[[], datetime]) -> None:
        self.entries = tuple(entries)
        self.muted: Counter[str] = Counter()
        self._clock = clock

    def entry(self, one: Detection, arrivals: Mapping[str, Arrivals]) -> Mute | None:
        """The first entry that mutes a detection now, or None."""
        if not self.entries:
            return None
        now, known = self._clock(), _evidence(one, arrivals.get(one.source))
        for entry in self.entries:
            # A path or command of an event that is no longer known could be one that nobody agreed to.
            if entry.is_expired(now) or (known is None and not FACTS.keys().isdisjoint(entry.asks)):
                continue
            if mutes(entry, one, known or {}):
                return entry
        return None

    def is_muted(self, one: Detection, arrivals: Mapping[str, Arrivals]) -> bool:
        """Whether a detection is not to be told; it is counted then."""
        entry = self.entry(one, arrivals)
        if entry is not None:
            self.muted[entry.id] += 1
        return entry is not None


def _evidence(one: Detection, arrivals: Arrivals | None) -> dict[tuple[str, str], Event] | None:
    """The events that are evidence, by source and id; None where one of them is not known any more."""
    found: dict[tuple[str, str], Event] = {}
    for evidence in one.evidence:
        known = None if arrivals is None else arrivals.recall(evidence.event)
        if not isinstance(known, Event):
            return None
        found[one.source, evidence.event] = known
    return found
