"""`python -m benchmarks speed store`: the same work on every store, side by side."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from benchmarks.speed.data import START, write_lines
from ethogram.app.importing import import_events
from ethogram.app.sweep import sweep
from ethogram.cli.options import opt
from ethogram.cli.output import flush, write_line
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from ethogram.report.wording import aligned
from ethogram.store import Store, kind_of, open_store

AS_OF = datetime(2030, 1, 1, tzinfo=UTC)
SINGLE = 200
"""Events written one at a time."""
FEW = 10
"""Subjects with something new before a sweep."""
NAMES = (
    "import", "read rows", "first sweep", "sweep, nothing new", f"sweep, {FEW} new events",
    "sweep of all again", "single write", "size",
)  # fmt: skip


def stores(
    url: Annotated[list[str], opt("Measure this empty store too.", "--store", metavar="URL")] = [],  # noqa: B006 (it is never changed)
    events: Annotated[int, opt("Import this many events, 100 a subject.", metavar="N", min=1000)] = 100_000,
    folder: Annotated[Path | None, opt("Put generated files here.", metavar="FOLDER")] = None,
    servers: Annotated[bool, opt("Leave SQLite out; measure --store only.", "--servers")] = False,
) -> None:
    """Import, read, sweep and write single events on SQLite and other stores."""
    with TemporaryDirectory(prefix="ethogram-stores-", dir=folder) as made:
        path = Path(made) / "events.jsonl"
        write_lines(path, events, events // 100)
        columns = []
        for address in (*(() if servers else (f"{made}/store.db",)), *url):
            with open_store(address, create=True) as opened:
                columns.append([kind_of(address), *_measure(opened, path, events)])
    for line in aligned([list(row) for row in zip(("", *NAMES), *columns, strict=True)]):
        write_line(line)


def _measure(store: Store, path: Path, events: int) -> list[str]:
    library = load_patterns()
    cells: list[str] = []

    def note(work: Callable[[], object], form: Callable[[float, float], str]) -> None:
        wall, cpu = time.perf_counter(), _cpu()
        work()
        cells.append(form(time.perf_counter() - wall, _cpu() - cpu))
        write_line(f"{kind_of(store.url)}: {NAMES[len(cells) - 1]}: {cells[-1]}")
        flush()

    def swept() -> None:
        sweep(store, library, as_of=AS_OF, clock=lambda: AS_OF)

    def all_again() -> None:
        store.reset_sweeps(datetime(1970, 1, 1, tzinfo=UTC))
        swept()

    def write(name: str, number: int) -> None:
        at = START + timedelta(days=3000, seconds=number)
        store.add([Event(id=f"{name}-{number}", at=at, subject=f"s{number % FEW}", seq=number)])

    def one_by_one() -> None:
        for number in range(SINGLE):
            write("single", number)

    def read() -> None:
        for _ in store.events(ordered=False):
            pass

    def rate(wall: float, cpu: float) -> str:
        return f"{events / wall:,.0f} events/s ({wall:,.1f} s, CPU {cpu:,.1f} s)"

    def seconds(wall: float, cpu: float) -> str:
        return f"{wall:,.2f} s (CPU {cpu:,.2f} s)"

    note(lambda: import_events(store, [path], at=AS_OF), rate)
    note(read, rate)
    note(swept, rate)
    note(swept, seconds)
    for number in range(FEW):
        write("new", number)
    note(swept, seconds)
    note(all_again, rate)
    note(one_by_one, lambda wall, _: f"{1000 * wall / SINGLE:.2f} ms")
    size = store.info().bytes
    return [*cells, f"{size / events:,.0f} bytes/event" if size else "not known"]


def _cpu() -> float:
    """Seconds of this process and of those it waited for, not of a server."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)
