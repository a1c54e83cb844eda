"""What commands that use a store have in common: its option, an import with a progress bar, the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import Asked
from .output import write_line

if TYPE_CHECKING:
    from datetime import datetime

    from ..app.analyze import Analysis
    from ..app.importing import Imported
    from ..config import Settings
    from ..ingest import Batch, OnDisk
    from ..patterns.library import Library
    from ..store import Store


StoreUrl = Annotated[
    str, typer.Option("--store", metavar="URL", help="Where events are kept: a path, or sqlite:///path.")
]


def run_import(
    store: Store, asked: Asked, settings: Settings, *, keep_text: bool, pseudonyms: str = ""
) -> Imported:
    """What an import of the paths did; bad lines that were left out are listed on standard error."""
    import sys

    from ..app.importing import Options, import_events
    from ..usage.pseudonym import read_keys
    from .progress import Progress

    progress = Progress()
    keys = read_keys(pseudonyms) if pseudonyms else None
    options = Options(settings.source, asked.skip_bad, keep_text, pseudonyms=keys)
    try:
        done = import_events(
            store, asked.paths, at=now(), options=options, settings=settings, progress=progress.read
        )
    except KeyboardInterrupt:
        progress.stop()
        kept = sum(one.staged for one in store.imports())
        if kept:
            left = "kept aside, and in no history; the same command goes on from there"
            write_line(f"ethogram: {kept:,} events are {left}", to=sys.stderr)
        raise
    finally:
        progress.stop()
    asked.tell_bad(as_batch(done))
    return done


def gather_stored(
    url: str, asked: Asked, library: Library, settings: Settings, *, keep_text: bool = False
) -> Batch | OnDisk:
    """Everything in a store, with the paths brought in first, as what `analyze` looks at."""
    from ..app.stored_events import gather
    from ..store import open_store

    with open_store(url, create=bool(asked.paths)) as opened:
        note_all(opened, "analyze")
        done = run_import(opened, asked, settings, keep_text=keep_text) if asked.paths else None
        return gather(opened, library.programs, memory=settings.memory, imported=done)


def judged(analysis: Analysis, url: str, settings: Settings) -> Analysis:
    """The analysis with what confidences have meant by the verdicts of a store, where the settings say so."""
    from dataclasses import replace

    from ..store import open_store

    if not settings.calibration or not analysis.detections:
        return analysis
    with open_store(url) as opened:
        if not opened.has_verdicts():
            return analysis
        from ..app.accuracy import with_probabilities

        found: Analysis = replace(
            analysis, detections=tuple(with_probabilities(analysis.detections, opened, settings))
        )
    return found


def note_all(store: Store, what: str) -> None:
    """Write down that somebody looked at everybody, where the store is private."""
    from ..app.stored_events import note_looks
    from .usage_common import user_name

    note_looks(store, what, [None], at=now(), who=user_name())


def as_batch(done: Imported) -> Batch:
    """What an import says of bad lines, as reading says it."""
    from ..ingest import Batch

    return Batch((), done.bad, done.bad_count)


def now() -> datetime:
    """The moment; the only place where these commands look at the clock."""
    from datetime import UTC, datetime

    return datetime.now(UTC)


def moment(given: str, option: str) -> datetime | None:
    """The moment an option names, if it was given."""
    from ..errors import BadUsage
    from ..models import parse_time

    try:
        return parse_time(given) if given else None
    except ValueError as error:
        raise BadUsage(f"{option}: {error}") from None
