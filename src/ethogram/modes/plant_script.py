"""Scripts: the firing examples of a pattern, with which of their events make it fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..config import Settings
from ..detections.find import find
from ..errors import BadUsage
from ..ingest import in_order
from ..library.examples import START
from ..library.load import Library
from ..library.parts import base
from ..library.pattern_file import PatternFile
from ..records import Detection, Event
from ..shapes.program import Program
from .measured import measured_events

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Script:
    """A firing example. `acts`: positions of the events that make it fire; `after`: the quiet after them."""

    story: str
    events: tuple[Event, ...]
    acts: frozenset[int]
    after: timedelta

    @property
    def fillers(self) -> list[int]:
        """Positions of the events that could as well stand in another order."""
        return [place for place in range(len(self.events)) if place not in self.acts]


def programs_of(library: Library, file: PatternFile) -> tuple[Program, ...]:
    """The programs of one pattern and of its parts."""
    return replace(library, chosen=(file.name,)).programs


def scripts_of(file: PatternFile, programs: Sequence[Program]) -> list[Script]:
    """One script for each firing example that fires with the parameters in force."""
    found = [
        _script(example.story, example.events, example.as_of, file, programs)
        for example in file.examples
        if example.fires
    ]
    scripts = [one for one in found if one is not None]
    if not scripts:
        raise BadUsage(
            f"{file.name}: none of its examples fires with these parameters, so there is nothing to plant"
        )
    return scripts


def detected(one: str, name: str) -> bool:
    """Whether a detection of this name is one of the pattern, and no early word of it.

    >>> [detected(one, "con") for one in ("con", "con.tokens", "con@5", "loop")]
    [True, True, False, False]
    """
    return base(one) == name and "@" not in one


def _script(
    story: str,
    events: Sequence[Event],
    as_of: datetime | None,
    file: PatternFile,
    programs: Sequence[Program],
) -> Script | None:
    ordered = _timed(in_order(events))
    last = ordered[-1].at
    asked = as_of if as_of is not None and as_of > last else last
    measured, _ = measured_events([one for one in ordered if one.at <= asked], programs, Settings())
    found = find(programs, measured, as_of=asked)
    first = next((one for one in found.detections if detected(one.pattern, file.name)), None)
    if first is None:
        return None
    made = _evidence(first, {one.id: one for one in found.detections})
    acts = frozenset(place for place, event in enumerate(ordered) if event.id in made)
    return Script(story, tuple(ordered), acts, asked - last)


def _evidence(one: Detection, every: Mapping[str, Detection]) -> set[str]:
    """The events of a detection and, of a combination, of everything it is made of."""
    own = {evidence.event for evidence in one.evidence} | {one.first_event, one.fired_event}
    return own.union(*(_evidence(every[part], every) for part in one.parts if part in every))


def _timed(events: Sequence[Event]) -> list[Event]:
    """The events with times: an example without any has one every minute."""
    return [
        event if event.timed else replace(event, timed=True, at=START + place * MINUTE)
        for place, event in enumerate(events)
    ]
