"""`python -m benchmarks scale`: CPU of each step over buckets, and what a day of events needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

from benchmarks.speed.data import write_lines
from ethogram.cli.options import opt
from ethogram.cli.output import write_line
from ethogram.errors import EthogramError
from ethogram.report.wording import aligned

DAYS = {"1 M": 10**6, "100 M": 10**8, "10 G": 10**10}
"""Events a day."""
SECONDS = 86_400
FLAGGED, PRICE = 0.05, 0.0004
"""The share of events that an evaluator scores, and dollars for each: assumed, not measured."""
LOAD = 0.5
"""The share of a core's time that is planned for: the rest is for peaks and repeats."""


class Cost(NamedTuple):
    """CPU seconds and peak memory of a command, its start included."""

    seconds: float
    bytes: int


def scale(
    events: Annotated[int, opt("Split and analyse this many events.", metavar="N", min=1000)] = 300_000,
    buckets: Annotated[int, opt("Into this many buckets.", metavar="N", min=1)] = 4,
) -> None:
    """Measure bucket, analyze and merge, and what a day of events needs."""
    with TemporaryDirectory(prefix="ethogram-scale-") as folder:
        lines, out = Path(folder) / "events.jsonl", Path(folder) / "out"
        write_lines(lines, events, events // 100)
        files = [str(Path(folder) / f"{share}.jsonl") for share in range(1, buckets + 1)]
        split = command("bucket", str(lines), str(out), "--buckets", str(buckets))
        shares = [
            command("analyze", str(out), "--bucket", f"{share}/{buckets}", "--output", file, "--jobs", "1")
            for share, file in enumerate(files, 1)
        ]
        merge = command("merge", *files, "--json")
        whole = command("analyze", str(lines), "--json", "--jobs", "1")
        text, parquet = lines.stat().st_size, sum(file.stat().st_size for file in out.iterdir())
    looked = Cost(sum(item.seconds for item in shares), max(item.bytes for item in shares))
    rows = [["", "CPU us/event", "peak memory"]]
    for name, cost in (("bucket", split), ("analyze --bucket", looked), ("merge", merge), ("analyze", whole)):
        rows.append([name, f"{1e6 * cost.seconds / events:.1f}", f"{cost.bytes / 2**20:,.0f} MB"])
    sizes = f"bytes/event: {text / events:.0f} as lines, {parquet / events:.0f} in buckets"
    each = (split.seconds + looked.seconds + merge.seconds) / events
    for line in (*aligned(rows), sizes, "", *aligned(day_rows(each, text / events, parquet / events))):
        write_line(line)


def day_rows(seconds: float, text: float, parquet: float) -> list[list[str]]:
    """What a day of events needs, at CPU seconds and bytes for each event.

    >>> day_rows(1e-5, 100, 10)[1]
    ['1 M', '0.00', '0.1 GB', '0.01 GB', '$20']
    """
    rows = [["events a day", "cores", "lines a day", "buckets a day", "evaluator a day"]]
    for name, events in DAYS.items():
        cores = events * seconds / SECONDS / LOAD
        cost = events * FLAGGED * PRICE
        sizes = f"{events * text / 1e9:,.1f} GB", f"{events * parquet / 1e9:,.2f} GB"
        rows.append([name, f"{cores:,.2f}", *sizes, f"${cost:,.0f}"])
    return rows


def command(*arguments: str) -> Cost:
    """The cost of a command of ethogram."""
    process = Popen([sys.executable, "-P", "-m", "ethogram", *arguments], stdout=DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise EthogramError(f"ethogram {arguments[0]}: exit code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
