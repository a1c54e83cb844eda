"""Analyses and pages of small histories, for tests of the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ethogram.app.analyze import analyze_batch, load_library, with_excerpts
from ethogram.app.mute import mute
from ethogram.app.result import Analysis
from ethogram.config import Settings
from ethogram.ingest import events_of
from ethogram.models import parse_time
from ethogram.models.mute import Mute
from small import GONE, HOT, WARM, write_patterns

NOW = parse_time("2026-06-01T00:00:00Z")


def analyzed(
    folder: Path,
    events: Iterable[dict[str, Any]],
    *,
    mutes: Sequence[Mute] = (),
    excerpts: bool = False,
    as_of: str = "",
) -> Analysis:
    """The analysis of these lines by three small patterns, with all that a page needs."""
    settings = Settings()
    library = load_library([write_patterns(folder / "patterns", WARM, HOT, GONE)], settings)
    batch = events_of(list(events), kinds=library.kinds)
    moment = parse_time(as_of) if as_of else None
    found = analyze_batch(batch, library, as_of=moment, settings=settings, traced=True)
    found = mute(found, mutes, batch.events, NOW)
    return with_excerpts(found, batch.events) if excerpts else found
