"""`python -m benchmarks speed store`: the same work on every store, side by side."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
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

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "store.md"
TITLES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "bolt": "Neo4j", "neo4j": "Neo4j"}
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
    url: Annotated[
        list[str],
        opt(
            "Measure SQLite and this empty store (default: servers as the tests start them).",
            "--store",
            metavar="URL",
        ),
    ] = [],  # noqa: B006 (it is never changed)
    events: Annotated[int, opt("Import this many events, 100 a subject.", metavar="N", min=1000)] = 100_000,
    folder: Annotated[Path | None, opt("Put generated files here.", metavar="FOLDER")] = None,
    quick: Annotated[bool, opt("Import 5,000 events.", "--quick")] = False,
    write: Annotated[bool, opt("Write the table into docs/store.md.", "--write")] = False,
) -> None:
    """Import, read, sweep and write single events on SQLite, PostgreSQL and Neo4j."""
    events = 5_000 if quick else events
    with TemporaryDirectory(prefix="ethogram-stores-", dir=folder) as made, ExitStack() as stack:
        path = Path(made) / "events.jsonl"
        write_lines(path, events, events // 100)
        columns = []
        for address in (f"{made}/store.db", *(url or stack.enter_context(started_servers(Path(made))))):
            with open_store(address, create=True) as opened:
                columns.append(
                    [TITLES.get(kind_of(address), kind_of(address)), *_measure(opened, path, events)]
                )
    rows = [list(row) for row in zip(("", *NAMES), *columns, strict=True)]
    for line in aligned(rows):
        write_line(line)
    if write:
        from benchmarks.quality.page import write as write_section

        table = ["| " + " | ".join(row) + " |" for row in rows]
        note = f"{events:,} events of {events // 100:,} subjects, 12 traits each; CPU is the client's."
        table.insert(1, "| --- " * len(rows[0]) + "|")
        write_section(PAGE, "stores", [note, "", *table], by="benchmarks/speed/stores.py")


@contextmanager
def started_servers(folder: Path) -> Iterator[list[str]]:
    """The addresses of PostgreSQL and Neo4j, started for the while on this machine if it has them."""
    sys.path.insert(0, str(ROOT / "tests"))
    servers, neo4j = import_module("servers"), import_module("neo4j_server")
    # The tests do without what a server does for the day its power fails.
    durable = {"fsync": "on", "full_page_writes": "on", "autovacuum": "on", "shared_buffers": "256MB"}
    servers.SETTINGS.update(durable)
    vars(neo4j)["JVM"] = ("-Xmx1500m",)
    folder.chmod(0o711)
    addresses = []
    with ExitStack() as stack:
        if servers.binaries() is None:
            write_line(f"PostgreSQL: left out, {servers.NO_POSTGRES}")
        else:
            postgres = servers.Postgres(folder / "servers" / "postgres")
            postgres.create()
            stack.callback(postgres.stop)
            addresses.append(postgres.url)
        if neo4j.java() is None or not neo4j.CLASSPATH.exists():
            write_line(f"Neo4j: left out, {neo4j.NO_NEO4J}")
        else:
            server = neo4j.Neo4jServer(folder / "servers" / "neo4j")
            server.start()
            stack.callback(server.stop)
            addresses.append(server.url)
        yield addresses


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
        return f"{events / wall:,.0f} events/s, CPU {1e6 * cpu / events:,.0f} µs"

    def seconds(wall: float, cpu: float) -> str:
        return f"{wall:,.2f} s, CPU {cpu:,.2f} s"

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
