"""Replays: what a pattern would have found in a store with other parameters.

Cheap in three ways: only subjects with something judged are replayed; signals are measured once, since
parameters do not change them; and the variants of a pattern are run together, which shares the histories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from ..config import Settings
from ..detections.find import find
from ..errors import BadPattern, Fault, did_you_mean
from ..library.load import Library, load_patterns, places_of
from ..library.vocabulary import load_vocabulary
from ..records import Detection, Event
from ..shapes.program import Program
from ..signals import plan
from ..stores.protocol import Store, SubjectRow, Who
from .measured import needed, said_again
from .neighbours import reaches_others
from .stored import IN_MEMORY
from .sweep import chunk_events, chunks, look

Overlay = Mapping[str, float]
Chunks = Callable[[], Iterable[Sequence[Event]]]
"""Measured events in pieces that have nothing to do with each other; can be gone through again and again."""
AT_ONCE = 16
"""How many variants are run together; more would hold too many detections at a time."""
RUNNER = "batch"


def variant(pattern: str, settings: Settings, overlay: Overlay | None = None) -> Library | None:
    """One pattern with numbers laid over those in force; None where they make no pattern.

    `pattern` is a name and never a path: it may come from a file of verdicts.
    """
    if pattern not in (places := places_of(settings.patterns, ())):
        near = did_you_mean(pattern, places)
        raise BadPattern([Fault("", 0, 0, f"no pattern is named {pattern!r:.80}{near}")])
    own = {**settings.parameters.get(pattern, {}), **(overlay or {})}
    rest = {name: numbers for name, numbers in settings.parameters.items() if name != pattern}
    try:
        return load_patterns(
            [pattern],
            more=settings.patterns,
            vocabulary=load_vocabulary(settings.signals),
            parameters={**rest, pattern: own} if own else rest,
            status=settings.status,
            any_status=True,
        )
    except BadPattern:
        if overlay:
            return None
        raise


def stored_chunks(
    store: Store, library: Library, settings: Settings, as_of: datetime, whose: Iterable[Who] | None = None
) -> Chunks:
    """The events of these subjects (of all, without any) with every reading that the library looks at.

    Held in memory where they are few enough for the settings, and measured anew each time where not.
    """
    programs = library.programs
    rows = store.subjects()
    if whose is not None and not any(reaches_others(one, programs) for one in programs):
        wanted = set(whose)
        rows = [one for one in rows if one.who in wanted]

    def measured() -> Iterator[Sequence[Event]]:
        looking = look(store, library, settings, as_of)
        threads = any(one.scope == "thread" for one in plan(needed(programs)))
        own = {one.who for one in rows}
        again = said_again(store.events(until=as_of), programs, settings, own)
        for piece in _pieces(rows, programs):
            yield chunk_events(looking, piece, again, threads=threads)

    if sum(one.events for one in rows) * IN_MEMORY > settings.memory:
        return measured
    held = list(measured())
    return lambda: held


def _pieces(rows: Sequence[SubjectRow], programs: Sequence[Program]) -> Iterable[Sequence[SubjectRow]]:
    # What spreads from one subject to another is seen only where both are there.
    return [rows] if any(reaches_others(one, programs) for one in programs) else chunks(rows)


def replayer(
    pattern: str, settings: Settings, events: Chunks, as_of: datetime
) -> Callable[[Sequence[Overlay]], Iterator[list[Detection] | None]]:
    """What finds the detections with each of some overlays, in the same order; None for no pattern."""

    def replay(overlays: Sequence[Overlay]) -> Iterator[list[Detection] | None]:
        libraries = [variant(pattern, settings, one) for one in overlays]
        for some in _together(libraries):
            found = _found(some, events, as_of)
            for library in some:
                yield None if library is None else _own(library, found)

    return replay


def _found(libraries: Sequence[Library | None], events: Chunks, as_of: datetime) -> list[Detection]:
    programs = {(one.name, one.version): one for library in libraries if library for one in library.programs}
    return [
        detection
        for chunk in (events() if programs else ())
        for detection in find(list(programs.values()), list(chunk), as_of=as_of, runner=RUNNER).detections
    ]


def _together(libraries: Sequence[Library | None]) -> Iterator[Sequence[Library | None]]:
    """Variants that can be run at once: combinations go by names of parts, so each of theirs runs alone."""
    alone = any(one.is_combination for library in libraries if library for one in library.programs)
    most = 1 if alone else AT_ONCE
    for start in range(0, len(libraries), most):
        yield libraries[start : start + most]


def _own(library: Library, found: Iterable[Detection]) -> list[Detection]:
    """The detections of one variant, known by the version of its programs.

    What is told early is not the pattern, and parts are there for combinations only.
    """
    own = {(one.name, one.version) for one in library.programs if library.is_chosen(one)}
    return [one for one in found if (one.pattern, one.version) in own and "@" not in one.pattern]
