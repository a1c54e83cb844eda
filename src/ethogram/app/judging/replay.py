"""Replay: what a pattern would have found in a store with other parameters.

Signals are measured once, since parameters do not change them, and the variants of a pattern run together,
which shares the histories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from ...config import Settings
from ...engine.detect import find
from ...errors import BadPattern, Fault, did_you_mean
from ...models import Detection, Event
from ...patterns.library import Library, places_of
from ...store.records import Store, Who
from ..analyze import overlaid_patterns
from ..stored_events import IN_MEMORY, chunks
from ..sweep import SweepJob
from ..sweep_contagion import reaches_others

Overlay = Mapping[str, float]
Chunks = Callable[[], Iterable[Sequence[Event]]]
"""Returns measured events in independent chunks; can be called again."""
VARIANTS = 16
"""Variants run together; more would hold too many detections at a time."""


def variant(pattern: str, settings: Settings, overlay: Overlay | None = None) -> Library | None:
    """One pattern with parameters laid over those in force; None where they make no valid pattern.

    `pattern` is a name and never a path: it may come from a file of verdicts.
    """
    if pattern not in (places := places_of(settings.patterns, ())):
        near = did_you_mean(pattern, places)
        raise BadPattern([Fault("", 0, 0, f"no pattern is named {pattern!r:.80}{near}")])
    own = {**settings.parameters.get(pattern, {}), **(overlay or {})}
    rest = {name: values for name, values in settings.parameters.items() if name != pattern}
    try:
        parameters = {**rest, pattern: own} if own else rest
        return overlaid_patterns(settings, [pattern], parameters=parameters, any_status=True)
    except BadPattern:
        if overlay:
            return None
        raise


def stored_chunks(
    store: Store, library: Library, settings: Settings, as_of: datetime, subjects: Iterable[Who] | None = None
) -> Chunks:
    """The events of these subjects (default: all) with every reading that the library needs.

    Held in memory where `settings.memory` allows, else measured again at each call. A pattern that reaches
    from one subject to others gets all subjects in one chunk.
    """
    programs, rows = library.programs, store.subjects()
    is_joint = any(reaches_others(program, programs) for program in programs)
    if subjects is not None and not is_joint:
        wanted = set(subjects)
        rows = [row for row in rows if row.who in wanted]

    def measure() -> Iterator[Sequence[Event]]:
        job = SweepJob.of(store, library, settings, as_of)
        copies, _ = job.copies(rows)
        for piece in [rows] if is_joint else chunks(rows):
            yield job.events_of(piece, copies)

    if sum(row.events for row in rows) * IN_MEMORY > settings.memory:
        return measure
    held = list(measure())
    return lambda: held


def replayer(
    pattern: str, settings: Settings, events: Chunks, as_of: datetime
) -> Callable[[Sequence[Overlay]], Iterator[list[Detection] | None]]:
    """A function that returns the detections for each overlay, in order; None for no valid pattern."""

    def replay(overlays: Sequence[Overlay]) -> Iterator[list[Detection] | None]:
        libraries = [variant(pattern, settings, overlay) for overlay in overlays]
        programs = [program for library in libraries if library for program in library.programs]
        # Combinations name their parts, so that two variants of a part cannot run together.
        size = 1 if any(program.is_combination for program in programs) else VARIANTS
        for start in range(0, len(libraries), size):
            yield from _run(libraries[start : start + size], events, as_of)

    return replay


def _run(
    libraries: Sequence[Library | None], events: Chunks, as_of: datetime
) -> Iterator[list[Detection] | None]:
    """The detections of each variant, run together and told apart by the versions of their programs."""
    programs = {
        (program.name, program.version): program
        for library in libraries
        if library
        for program in library.programs
    }
    detections = [
        detection
        for chunk in (events() if programs else ())
        for detection in find(list(programs.values()), chunk, as_of=as_of, engine="columns").detections
    ]
    for library in libraries:
        if library is None:
            yield None
            continue
        # Neither the early part of a sequence (name@step) nor the parts of a combination are the pattern.
        own = {
            (program.name, program.version)
            for program in library.programs
            if library.is_chosen(program) and "@" not in program.name
        }
        yield [item for item in detections if (item.pattern, item.version) in own]
