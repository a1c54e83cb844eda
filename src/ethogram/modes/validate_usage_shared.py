"""Histories that begin alike, measured once as far as they do: a person's own, and each planted change of it.

It gives what `analyze` gives, by the same two steps: readings, then detections, and says when each of them
reached level medium. A reading depends on the events before it alone, so that of a changed history only the
changed end is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ..config import Settings
from ..detections.episode import detection_of
from ..library.load import Library
from ..records import Event, micros, rank
from ..shapes.program import Program
from ..shapes.stream.record import CLOSED, ROSE, Episode
from ..shapes.stream.stream import Stream
from ..signals import Options, plan
from ..signals.measure import measure_event
from ..usage.clock import DAY
from .measured import needed
from .validate_usage_found import KIND, Opening, opening_of, usage_event

LATER = 28 * DAY
MEDIUM = "medium"


@dataclass(frozen=True, slots=True)
class Base:
    """A history, its measured events, and what the signals remembered after each of them."""

    times: tuple[int, ...]
    events: tuple[Event, ...]
    states: tuple[Mapping[Any, Any], ...]


class Shared:
    """Detects in histories of one zone; of those of one base the common beginning is measured once."""

    def __init__(self, zone: str | None, library: Library, settings: Settings) -> None:
        self.library = library
        self.options = Options.of(replace(settings, time_zone=zone))
        every = plan(needed(library.programs))
        self.signals = tuple(one for one in every if one.kinds is None or KIND in one.kinds)
        self._base: Base | None = None

    def openings(self, base: Sequence[int], times: Sequence[int]) -> list[Opening]:
        """What is found in a history that begins as the base does, for as long as it does."""
        if self._base is None or self._base.times != tuple(base):
            self._base = self._measured(Base((), (), ()), base)
        measured = self._measured(self._base, times)
        as_of = datetime.fromtimestamp(times[-1] + LATER, UTC)
        return watched(self.library.programs, measured.events, as_of)

    def _measured(self, base: Base, times: Sequence[int]) -> Base:
        known = common(base.times, times)
        events, states = list(base.events[:known]), list(base.states[:known])
        state = dict(states[-1]) if states else {}
        for seq in range(known, len(times)):
            event, moved, _ = measure_event(self.signals, usage_event(seq, times[seq]), state, self.options)
            state = {**state, **moved}
            events.append(event)
            states.append(state)
        return Base(tuple(times), tuple(events), tuple(states))


def watched(programs: Iterable[Program], events: Sequence[Event], as_of: datetime) -> list[Opening]:
    """What programs (no combinations) find in events of one source, in order, with when it rose to medium."""
    stream = Stream(programs)
    ended: list[Episode] = []
    rose: dict[tuple[str, str], float] = {}
    for event in events:
        changes = [*stream.advance(event.source, micros(event.at)), *stream.observe(event)]
        for what, one in changes:
            at = event.at.timestamp() if what == ROSE else one.detected_at / 1e6
            if rank(one.level) >= rank(MEDIUM):
                rose.setdefault((one.program.name, one.fired.id), at)
        ended += [one for what, one in changes if what == CLOSED]
    for source in stream.sources():
        stream.advance(source, micros(as_of))
    found = []
    for one in [*ended, *(change.episode for change in stream.open())]:
        # What opened after the last event was never told with an event: it opened as it is.
        at = rose.get((one.program.name, one.fired.id), one.detected_at / 1e6)
        found.append((detection_of(one), at if rank(one.level) >= rank(MEDIUM) else None))
    found.sort(key=lambda pair: pair[0].order)
    return [replace(opening_of(made), medium_at=at) for made, at in found]


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many times both begin with.

    >>> common([1, 2, 5], [1, 2, 4, 5])
    2
    """
    shorter = min(len(one), len(other))
    return next((k for k in range(shorter) if one[k] != other[k]), shorter)
