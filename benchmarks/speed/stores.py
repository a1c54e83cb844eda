"""`python -m benchmarks stores`: the same work on every store, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from benchmarks.speed.data import write_lines
from ethogram.app.importing import import_events
from ethogram.app.sweep import sweep
from ethogram.cli.options import opt
from ethogram.cli.output import write_line
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from ethogram.report.wording import aligned
from ethogram.store import Store, kind_of, open_store

AS_OF = datetime(2030, 1, 1, tzinfo=UTC)
SINGLE = 200
"""Events written one at a time."""


def stores(
    url: Annotated[list[str], opt("Measure this empty store too.", "--store", metavar="URL")] = [],  # noqa: B006 (it is never changed)
    events: Annotated[int, opt("Import this many events, 100 a subject.", metavar="N", min=1000)] = 100_000,
) -> None:
    """Import, read, sweep and write single events on SQLite and other stores."""
    with TemporaryDirectory(prefix="ethogram-stores-") as folder:
        path = Path(folder) / "events.jsonl"
        write_lines(path, events, events // 100)
        columns = []
        for address in (f"{folder}/store.db", *url):
            with open_store(address, create=True) as opened:
                columns.append([kind_of(address), *_measure(opened, path, events)])
    names = ["", "import", "read rows", "first sweep", "sweep again", "single write", "size"]
    for line in aligned([list(row) for row in zip(names, *columns, strict=True)]):
        write_line(line)


def _measure(store: Store, path: Path, events: int) -> list[str]:
    library = load_patterns()

    def swept() -> None:
        store.reset_sweeps(datetime(1970, 1, 1, tzinfo=UTC))
        sweep(store, library, as_of=AS_OF, clock=lambda: AS_OF)

    def one_by_one() -> None:
        for number in range(SINGLE):
            at = AS_OF - timedelta(days=1, seconds=number)
            store.add([Event(id=f"single-{number}", at=at, subject="single", seq=number)])

    def read() -> None:
        for _ in store.events(ordered=False):
            pass

    by_event = [
        _seconds(lambda: import_events(store, [path], at=AS_OF)),
        *(_seconds(work) for work in (read, swept, swept)),
    ]
    rates = [f"{events / seconds:,.0f} events/s" for seconds in by_event]
    each = _seconds(one_by_one) / SINGLE
    size = store.info().bytes
    return [*rates, f"{1000 * each:.2f} ms", f"{size / events:,.0f} bytes/event" if size else "not known"]


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
