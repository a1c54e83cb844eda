"""`python -m benchmarks speed scale`: CPU of each step, and what a day of events needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from ctypes import CDLL
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Annotated, NamedTuple

from benchmarks.speed.data import write_lines, write_parquet
from ethogram.app.live.stream_consumer import Consumer, EventWriter
from ethogram.cli.options import opt
from ethogram.cli.output import write_line
from ethogram.config import Settings
from ethogram.errors import EthogramError
from ethogram.models import EPOCH
from ethogram.report.wording import aligned
from ethogram.store import open_store
from ethogram.streams import Message

DAYS = {"1 M": 10**6, "100 M": 10**8, "10 G": 10**10}
"""Events a day."""
SECONDS = 86_400
FLAGGED, PRICE = 0.05, 0.0004
"""The share of events that an evaluator scores, and dollars for each: assumed, not measured."""
DAILY, HISTORY, SWEEPS = 100, 1_000, 24
"""Events of an active subject a day and in the store, and sweeps a day that find it active: assumed."""
TAKE = """import sys
from pathlib import Path
from benchmarks.speed.scale import take_messages
take_messages(Path(sys.argv[1]), Path(sys.argv[2]))"""
PR_SET_CHILD_SUBREAPER = 36
LOOK = 0.1
"""Seconds between looks at the CPU that processes have used."""
LOAD = 0.5
"""The share of a core's time that is planned for: the rest is for peaks and repeats."""


class Cost(NamedTuple):
    """CPU seconds and peak memory of a command, its start included."""

    seconds: float
    bytes: int
    elapsed: float = 0.0


class Rates(NamedTuple):
    """What an event costs: CPU in files, into a store, in a sweep; bytes as a line and in a store."""

    analyzed: float
    taken: float
    swept: float
    line: float
    stored: float


def scale(
    events: Annotated[int, opt("Analyse this many events.", metavar="N", min=1000)] = 300_000,
    spark_rows: Annotated[
        int, opt("Instead: this many rows of Parquet by one, two and Spark.", "--spark", metavar="N")
    ] = 0,
) -> None:
    """Measure files, a queue and a store, and what a day of events needs."""
    if spark_rows:
        spread(spark_rows)
        return
    with TemporaryDirectory(prefix="ethogram-scale-") as folder:
        lines, store = Path(folder) / "events.jsonl", Path(folder) / "events.db"
        write_lines(lines, events, events // 100)
        whole = command("analyze", str(lines), "--json", "--jobs", "1")
        taken = measured(sys.executable, "-c", TAKE, str(lines), str(store))
        swept = command("sweep", "--store", str(store), "--json", "--jobs", "1")
        line, stored = (file.stat().st_size / events for file in (lines, store))
    rows = [["", "CPU us/event", "peak memory"]]
    for name, cost in (("analyze", whole), ("watch, into a store", taken), ("sweep", swept)):
        rows.append([name, f"{1e6 * cost.seconds / events:.1f}", f"{cost.bytes / 2**20:,.0f} MB"])
    rates = Rates(
        whole.seconds / events, taken.seconds / events, swept.seconds / events, line=line, stored=stored
    )
    words = f"bytes/event: {line:.0f} as lines, {stored:.0f} in a store"
    for text in (*aligned(rows), words, "", *aligned(day_rows(rates))):
        write_line(text)


def spread(rows: int) -> None:
    """The same Parquet file, in order of time, by one process, by two, and by Spark with two threads."""
    with TemporaryDirectory(prefix="ethogram-scale-") as folder:
        path, few = Path(folder) / "events.parquet", Path(folder) / "few.parquet"
        write_parquet(path, rows, rows // 100)
        write_parquet(few, 1_000, 10)
        spark = ("spark", "analyze", "--master", "local[2]", "--output")
        # One after the other for each: what else the machine does falls on all of them.
        start = command(*spark, f"{folder}/few", "--input", str(few))
        one = command("analyze", str(path), "--json", "--jobs", "1")
        two = command("analyze", str(path), "--json", "--jobs", "2")
        cluster = command(*spark, f"{folder}/all", "--input", str(path))
    table = [["", "CPU s", "elapsed s", "peak memory of a process", "CPU, times one process"]]
    for name, cost, start_seconds in (
        ("analyze --jobs 1", one, 0.0),
        ("analyze --jobs 2", two, 0.0),
        ("spark analyze", cluster, start.seconds),
        ("Spark's start (1,000 rows)", start, 0.0),
    ):
        ratio = f"{(cost.seconds - start_seconds) / one.seconds:.2f}"
        table.append(
            [name, f"{cost.seconds:.1f}", f"{cost.elapsed:.1f}", f"{cost.bytes / 2**20:,.0f} MB", ratio]
        )
    for text in (*aligned(table), "The ratio of spark analyze is without Spark's start."):
        write_line(text)


def day_rows(rates: Rates) -> list[list[str]]:
    """What a day of events needs.

    >>> day_rows(Rates(1e-5, 1e-4, 1e-5, 100, 500))[1]
    ['1 M', '0.000', '0.002', '0.056', '0.1 GB', '0.5 GB', '$20']
    """
    rows = [["events a day", "cores: files", "into a store", "hourly sweeps", "lines", "stored", "evaluator"]]
    for name, events in DAYS.items():
        # A sweep reads the whole history of everybody with something new.
        read = events / DAILY * SWEEPS * HISTORY
        seconds = (events * rates.analyzed, events * rates.taken, read * rates.swept)
        cores = [f"{each / SECONDS / LOAD:,.3f}" for each in seconds]
        sizes = [f"{events * each / 1e9:,.1f} GB" for each in (rates.line, rates.stored)]
        rows.append([name, *cores, *sizes, f"${events * FLAGGED * PRICE:,.0f}"])
    return rows


class _LineStream:
    """The lines of a file as the messages of a stream."""

    def __init__(self, path: Path) -> None:
        self._lines = enumerate(path.read_bytes().splitlines())

    def read(self, most: int, wait: float) -> list[Message]:
        return [Message(str(number), body, EPOCH, number) for number, body in islice(self._lines, most)]

    def acknowledge(self, messages: Sequence[Message]) -> None:
        pass

    def close(self) -> None:
        pass


def take_messages(lines: Path, store: Path) -> None:
    """Take every line as a message into a new store, without a broker's client."""
    settings = Settings()
    with open_store(str(store), create=True) as opened:
        writer = EventWriter(opened, settings, keep_text=False, rejected=str(store.with_suffix(".rejected")))
        consumer = Consumer(_LineStream(lines), writer)
        while messages := consumer.gather(0.01):
            consumer.take(messages, datetime.now(UTC))


def command(*arguments: str) -> Cost:
    """The cost of a command of ethogram."""
    return measured(sys.executable, "-P", "-m", "ethogram", *arguments)


def measured(*program: str) -> Cost:
    """The cost of a program and of all processes that it starts; nothing else may be a child of this one.

    CPU is looked up while they run: Spark kills its workers, and nobody waits for what they used.
    """
    # Processes that others leave behind become ours.
    CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    began, ticks = monotonic(), os.sysconf("SC_CLK_TCK")
    process = Popen(program, stdout=DEVNULL)
    used: dict[int, int] = {}
    largest, elapsed = 0, 0.0
    with suppress(ChildProcessError):
        while True:
            used |= _ticks_of_descendants()
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if not pid:
                sleep(LOOK)
                continue
            largest = max(largest, usage.ru_maxrss * 1024)
            if pid == process.pid:
                process.returncode, elapsed = os.waitstatus_to_exitcode(status), monotonic() - began
    if process.returncode:
        raise EthogramError(f"{' '.join(program[1:5])}: exit code {process.returncode}")
    return Cost(sum(used.values()) / ticks, largest, elapsed)


def _ticks_of_descendants() -> dict[int, int]:
    """The CPU that each process below this one has used itself, by its number."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name, in brackets, may hold anything.
            fields = file.read_text().rpartition(")")[2].split()
            pid = int(file.parent.name)
            parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return {pid: ticks[pid] for pid in own - {os.getpid()}}
