"""What lift and plant have in common: events to look at, and patterns over other histories than their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..config import Settings
from ..errors import BadUsage, did_you_mean
from ..ingest import Batch, Limits, events_of, read_events
from ..ingest.future import checked_events, latest_time
from ..library.load import Library
from ..library.vocabulary import known_ranges
from ..records import Event
from ..shapes.program import Program
from .measured import measured_events
from .scorers import only_scorers

Source = str | Path | Sequence[str | Path] | Iterable[Event] | Iterable[Mapping[str, Any]]
KEYS = ("subject", "target", "thread", "session")


def batch_of(events: Source, library: Library, settings: Settings, *, skip_bad: bool = False) -> Batch:
    """Events of a path, of several, or made by a program, in order and in memory."""
    how: dict[str, Any] = {
        "source": settings.source,
        "skip_bad": skip_bad,
        "kinds": library.kinds,
        "ranges": known_ranges(),
        "limits": Limits(**settings.limits),
        "latest": (latest := latest_time(datetime.now(UTC), settings.max_future)),
    }
    if isinstance(events, (str, Path)):
        return read_events([events], **how)
    given: list[Any] = list(events)
    if given and all(isinstance(one, (str, Path)) for one in given):
        return read_events(given, **how)
    if given and all(isinstance(one, Event) for one in given):
        return checked_events(given, latest, skip_bad=skip_bad)
    return events_of(given, **how)


def readable(events: Iterable[Event], programs: Sequence[Program], settings: Settings) -> list[Event]:
    """Events as the programs see them: with our own readings, and those of the chosen scorers only."""
    supplied, _ = only_scorers(list(events), settings.scorers)
    measured, _ = measured_events(supplied, programs, settings)
    scored, _ = only_scorers(measured, settings.scorers)
    return scored


def over_history(library: Library, keys: Sequence[str]) -> Library:
    """The same patterns, looking at histories by these keys; none leaves each pattern its own.

    For data that lacks what a pattern's histories are made of, such as targets.
    """
    if not keys:
        return library
    for key in keys:
        if key not in KEYS:
            raise BadUsage(f"unknown key {key!r} of a history{did_you_mean(key, KEYS)}")
    if "subject" not in keys:
        raise BadUsage("a history is always one subject's: add subject to its keys")
    ordered = tuple(key for key in KEYS if key in keys)
    files = {
        name: replace(file, patterns=tuple(replace(one, history=ordered) for one in file.patterns))
        for name, file in library.files.items()
    }
    return replace(library, files=files)
