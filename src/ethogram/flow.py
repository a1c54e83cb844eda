"""Everything the product does, in the order it does it, on one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .config import Settings
from .modes.live import Watch
from .records import Detection, Event

Respond = Callable[[Detection], object]


def flow(
    events: Iterable[Event] | Iterable[Mapping[str, Any]],
    respond: Respond,
    *,
    patterns: Sequence[str | Path] | None = None,
    settings: Settings | None = None,
) -> Watch:
    """Events become readings, readings form shapes, shapes become detections, detections get a response.

    Events come in order of time; settings.lateness says how far they may not. `respond` is called with each
    detection when it opens, rises in level or closes. What comes back is the watch, which can go on.

    >>> told = []
    >>> signs = {"MAN_INJECTION": 0.8}
    >>> event = {"at": "2026-01-01T12:00:00Z", "subject": "ann", "readings": signs}
    >>> _ = flow([event], told.append, patterns=["echoed_instruction"])
    >>> [(one.pattern, one.subject) for one in told]
    [('echoed_instruction', 'ann')]
    """
    watch = Watch(patterns, settings=settings)  # the signals and programs that the patterns need
    for event in events:
        for detection in watch.observe(event):  # measured, matched, judged; state stays bounded
            respond(detection)
    for detection in watch.flush():  # what only the end makes known
        respond(detection)
    return watch
