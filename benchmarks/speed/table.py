"""The table of what a user waits for, and the page that is written from it.

A row is a line of docs/performance.md: what is measured, its bar (must hold), its goal (what we are
after), and why the bar is missed where it is. Figures are never typed by hand.
"""

from __future__ import annotations

import math
import os
import platform
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median

from benchmarks.speed import measure
from benchmarks.speed.measure import LIMIT, Inputs, Sample, Samples
from ethogram.report.wording import listed

Results = Mapping[str, Samples]
"""By the name of the measurement."""


@dataclass(frozen=True, slots=True)
class Unit:
    """How a value is written, and whether more is better."""

    write: Callable[[float], str]
    more: bool = False

    def limit(self, value: float) -> str:
        return f"{'at least' if self.more else 'at most'} {self.write(value)}"


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> duration(2.345), duration(0.0871), duration(0.0000415), duration(math.inf)
    ('2.3 s', '87 ms', '42 µs', 'stopped')
    """
    if math.isinf(seconds):
        return "stopped"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")):
        if seconds * factor >= 1 or unit == "ns":
            return f"{_digits(seconds * factor)} {unit}"
    raise AssertionError(seconds)


def _digits(value: float) -> str:
    """Two digits at least.

    >>> _digits(0.123), _digits(3.14), _digits(31.4), _digits(31400.2), _digits(4)
    ('0.12', '3.1', '31', '31,400', '4')
    """
    text = f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:,.0f}"
    return text.removesuffix(".0")


CPU = Unit(lambda value: f"{duration(value)} CPU")
WALL = Unit(duration)
FASTER = Unit(lambda value: f"{_digits(value)}x as fast", more=True)
SLOWER = Unit(lambda value: f"{_digits(value)}x as long")
SPREAD = Unit(lambda value: f"{value:.2f}x")
EVENTS = Unit(lambda value: f"{value:,.0f} events/s", more=True)
MESSAGES = Unit(lambda value: f"{value:,.0f} messages/s", more=True)
MEGABYTES = Unit(lambda value: f"{_digits(value)} MB/s", more=True)
MEMORY = Unit(lambda value: f"{_digits(value)} GB")


@dataclass(frozen=True, slots=True)
class Figure:
    """What is computed from the samples, and the candidates whose times stand beside it: ours, then peers."""

    value: Callable[[Samples], float]
    unit: Unit
    shows: Sequence[str] = ()


def cpu(samples: Samples, name: str) -> float:
    """The median of the CPU seconds of a candidate."""
    return median(sample.cpu for sample in samples[name])


def wall(samples: Samples, name: str) -> float:
    """The median of the wall-clock seconds of a candidate."""
    return median(sample.wall for sample in samples[name])


def seconds(*shows: str) -> Figure:
    """CPU seconds of the first candidate."""
    return Figure(lambda samples: cpu(samples, shows[0]), CPU, shows)


def faster(ours: str, peer: str, time: Callable[[Samples, str], float] = cpu) -> Figure:
    """How many times as fast as a peer."""
    return Figure(lambda samples: time(samples, peer) / time(samples, ours), FASTER, (ours, peer))


def slower(ours: str, peer: str, time: Callable[[Samples, str], float] = cpu) -> Figure:
    """How many times as long as a peer takes."""
    return Figure(lambda samples: time(samples, ours) / time(samples, peer), SLOWER, (ours, peer))


def rate(unit: Unit, name: str = "ours") -> Figure:
    """Items for each CPU second."""
    return Figure(lambda samples: 1 / cpu(samples, name), unit, (name,))


def peak(samples: Samples) -> float:
    """The most memory that 10 M events took."""
    return max(sample.peak if math.isfinite(sample.cpu) else math.inf for sample in samples["10000000"])


def spread(samples: Samples) -> float:
    """The largest cost of an event over the smallest, over all sizes."""
    costs = [cpu(samples, name) for name in samples]
    return max(costs) / min(costs)


def copy_growth(samples: Samples) -> float:
    """The cost of a copy at the larger number over that at the smaller one, without the start."""
    many, few = (cpu(samples, name) - cpu(samples, "1") for name in ("20000", "5000"))
    return (many / 20_000) / (few / 5_000)


def late(samples: Samples) -> float:
    """The 95th percentile from start to answer, in the worse of a new and a long run."""
    return max(
        sorted(sample.wall for sample in samples[name])[int(0.95 * len(samples[name]))]
        for name in ("new run", "long run")
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    measure: Callable[[Inputs], Samples]
    figure: Figure
    limits: tuple[float, float]
    """Bar and goal."""
    why: str = ""
    """Why the bar is missed; written only where it is."""

    @property
    def name(self) -> str:
        """The name of the measurement."""
        return self.measure.__name__

    def covers(self, samples: Samples) -> bool:
        """Whether the samples have what the row shows; small inputs leave something out."""
        return samples.keys() >= set(self.figure.shows)

    def cells(self, samples: Samples) -> list[str]:
        """What, bar, goal, measured, peers, verdict."""
        value, unit = self.figure.value(samples), self.figure.unit
        ours, *others = [(name, times(samples[name])) for name in self.figure.shows] or [("", "")]
        text = unit.write(value) if math.isfinite(value) else "stopped"
        measured = [ours[1]] if unit is CPU else [text] if unit in (MEMORY, SPREAD) else [text, ours[1]]
        beside = [f"{name}: {text}" for name, text in others]
        limits = map(unit.limit, self.limits)
        return [self.what, *limits, "; ".join(measured), "<br>".join(beside), self.verdict(value)]

    def verdict(self, value: float) -> str:
        """Whether bar and goal hold; where not, by how much and why.

        >>> row = Row("", measure.start, seconds("ours"), (2, 1), "it sleeps")
        >>> row.verdict(1), row.verdict(1.5), row.verdict(3)
        ('holds, goal reached', 'holds', 'missed by 1.5x: it sleeps')
        """
        if math.isinf(value):
            return f"missed: stopped after {LIMIT} s of CPU{': ' * bool(self.why)}{self.why}"
        behind, wanted = (
            (limit / value if self.figure.unit.more else value / limit) for limit in self.limits
        )
        if behind > 1:
            return f"missed by {max(behind, 1.01):.3g}x{': ' * bool(self.why)}{self.why}"
        return "holds, goal reached" if wanted <= 1 else "holds"


def times(samples: Sequence[Sample]) -> str:
    """Medians of CPU and wall-clock time, with the range of the former."""
    taken = [sample.cpu for sample in samples]
    if math.isinf(median(taken)):
        return "stopped"
    between = f" ({duration(min(taken))} to {duration(max(taken))})" if len(taken) > 1 else ""
    return f"{duration(median(taken))} CPU{between}, {duration(median(s.wall for s in samples))} wall"


ROWS = (
    Row(
        "`analyze` 100,000 scored event lines, one pattern",
        measure.lines,
        faster("ours", "hand loop"),
        (1, 3),
        "the loop checks no line; here each field and reading of every line is checked and becomes a column",
    ),
    Row(
        "the same, all patterns that are on",
        measure.lines,
        seconds("all"),
        (1.5, 0.8),
        "most of it is reading, as above",
    ),
    Row(
        "`analyze` a forum of 106,220 messages, `copied_text` and `repeated_pressure`",
        measure.forum,
        seconds("ours"),
        (6, 3),
        "every text is folded and scanned, which takes about as long as reading the file",
    ),
    Row(
        "`analyze` 17,787 events of 234 agent runs",
        measure.runs,
        seconds("ours"),
        (3, 1.5),
        "shell commands, paths and error lines are parsed event by event",
    ),
    Row(
        "`analyze` a Parquet file of 1 M scored events without ids, all patterns that are on",
        measure.events,
        seconds("1000000"),
        (4, 1.5),
    ),
    Row(
        "the same, 10 M events",
        measure.events,
        seconds("10000000"),
        (30, 10),
        "columns that exceed the memory setting are written to disk and read again",
    ),
    Row(
        "10 M events, peak memory",
        measure.events,
        Figure(peak, MEMORY, ("10000000",)),
        (3, 1.5),
    ),
    Row(
        "`analyze` 20,000 copies of a text, each by a subject of its own",
        measure.copies,
        seconds("20000", "5000"),
        (5, 2),
        "every copy is compared with those before it, and is a detection with its evidence",
    ),
    Row(
        "cost of a copy in `analyze`, 5,000 to 20,000 copies",
        measure.copies,
        Figure(copy_growth, SPREAD, ("20000", "5000", "1")),
        (1.5, 1.1),
    ),
    Row(
        "`analyze` 50,000 usage events of 500 people",
        measure.people,
        rate(EVENTS),
        (5_000, 20_000),
        "each event is compared with the habit of its person, over ten weeks",
    ),
    Row(
        "`import ethogram` and a first `analyze([])`",
        measure.start,
        seconds("ours", "empty process"),
        (0.35, 0.15),
        "most of it is imports: NumPy, settings, and every module that has a signal",
    ),
    Row("`ethogram --help`", measure.start, seconds("help", "empty process"), (0.35, 0.15)),
    Row(
        "six shapes over 1 M evaluations, with evidence, against a Python loop",
        measure.kernel,
        faster("ours", "Python loop", wall),
        (10, 25),
        "a third of the time is spent on the two shapes with windows, a third on the evidence",
    ),
    Row("the same, against DuckDB", measure.kernel, faster("ours", "DuckDB", wall), (12, 15)),
    Row("the same, against Polars", measure.kernel, faster("ours", "Polars", wall), (6, 12)),
    Row(
        "the same, against one read of the columns", measure.kernel, slower("ours", "one read", wall), (15, 8)
    ),
    Row("`Watch.observe`, patterns that are on", measure.live, rate(EVENTS, "observe"), (10_000, 30_000)),
    Row(
        "`Watch.observe_many` in batches of 256, against single events",
        measure.live,
        faster("observe_many", "observe"),
        (5, 20),
        "columns take as long for 256 events as these one by one, even without the windows of their subjects",
    ),
    Row(
        "scanner, text to flags",
        measure.scanner,
        rate(MEGABYTES),
        (10, 40),
        "languages, folding and flags are Python code for each text",
    ),
    Row("evaluator `local`", measure.evaluator, rate(MESSAGES), (1_000, 2_000)),
    Row(
        "hook, start to answer, 95th percentile",
        measure.hook,
        Figure(late, WALL, ("long run", "new run", "empty process")),
        (0.134, 0.06),
    ),
    Row("a user's turn of a chat", measure.chat, seconds("last turns", "first turns"), (0.002, 0.001)),
    Row(
        "the same, messages of 476 characters",
        measure.long_chat,
        seconds("last turns", "first turns"),
        (0.003, 0.001),
        "such a message is read in three or four windows, each alone and after the turns before",
    ),
    Row("usage tracker in memory", measure.tracker, rate(EVENTS), (20_000, 50_000)),
    Row(
        "`store import` 100,000 event lines, against sqlite3",
        measure.store,
        slower("ours", "sqlite3"),
        (8, 4),
    ),
    Row(
        "cost of an event in `analyze`, 10 to 1 M subjects",
        measure.subjects,
        Figure(spread, SPREAD),
        (1.5, 1.1),
        "a million different subjects are texts that have to be read and numbered",
    ),
    Row(
        "cost of an event in `Watch.observe`, histories of 100 to 100,000 events",
        measure.histories,
        Figure(spread, SPREAD),
        (1.5, 1.1),
    ),
)
CURVES = {
    "events, all patterns that are on (less the start)": measure.events,
    "subjects of 1 M events, so histories of 100,000 events down to 1": measure.subjects,
    "patterns, over 1 M events": measure.patterns,
    "events in a history, `Watch.observe`": measure.histories,
    "turns of a chat": measure.chat,
}
"""What grows, and the measurement of what an event costs at each size."""
MEASURES = {**{row.name: row.measure for row in ROWS}, **{run.__name__: run for run in CURVES.values()}}
NEED_DATA = {"forum": measure.FORUM, "runs": measure.RUNS}

LEAST = 0.1
"""Seconds above the start from which on the cost of events can be told from noise."""

HEAD = """\
# Performance: what a user waits for

<!-- Written by `python -m benchmarks speed`; the rows and reasons are in benchmarks/speed/table.py. -->

```text
python -m benchmarks speed --quick --only tracker
```

Run it from a clone of the repository after `make env`, which also installs the peers. Without options it
measures everything below in about 12 minutes and writes this page (`make bench`). `--quick` takes 3 minutes
and writes nothing, `--only NAME` measures one part again, `--render` writes the page from saved figures, and
`--data FOLDER` adds the rows that need real data.

{machine} Times are medians, with the range of
CPU time over all rounds; ours and the peers take turns. A *bar* must hold, a *goal* is what we are after.
Where a bar that holds by this page is missed when it is measured again, also by `--quick` or `--only`, the
command names it and exits with 1. `make test` compares the instructions of common work with a baseline, which
`python -m benchmarks speed instructions --renew` saves.

| what | bar | goal | measured | peer | verdict |
| --- | --- | --- | --- | --- | --- |
"""
TAIL = """
- Commands are measured from the start of a fresh process to its end, start of Python included. Where
  wall-clock time is far above CPU time, the machine was busy with something else.
- The hand-written loop is `json.loads` and fixed limits: it checks no line and keeps no evidence. sqlite3
  checks nothing either. All peers are in `benchmarks/speed/peers.py`.
- The peers of the six shapes return rows, ours are detections with evidence; all must find the same.
  Wall-clock times are compared, since DuckDB and Polars use all cores.
- Scored events have twelve traits and a target; one line in ten has an indicator. A command is
  stopped after {limit} s of CPU.

## How cost grows

What an event costs in CPU time. Flat is the aim: a larger input should cost more only because it is larger.

| what grows | cost of an event | largest to smallest |
| --- | --- | --- |
"""


def page(results: Results, commits: Mapping[str, str]) -> str:
    """The whole page; `commits` says at which commit each measurement was taken."""
    rows = [_line(row.cells(results[row.name])) for row in ROWS if row.name in results]
    missing = [row.what for row in ROWS if row.name not in results]
    left_out = (
        f"\nLeft out, since real data is needed (`--data FOLDER`): {'; '.join(missing)}.\n" if missing else ""
    )
    curves = [_line(cells) for cells in growth(results)]
    return (
        HEAD.format(machine=machine(commits))
        + "".join(rows)
        + left_out
        + TAIL.format(limit=LIMIT)
        + "".join(curves)
    )


def growth(results: Results) -> Iterator[list[str]]:
    """What grows, the cost of an event at each size, and how far these lie apart."""
    for what, run in CURVES.items():
        if samples := results.get(run.__name__):
            costs = dict(_costs(samples))
            each = ", ".join(f"{name}: {duration(cost)}" for name, cost in costs.items())
            apart = max(costs.values()) / min(costs.values())
            yield [what, each, f"{apart:.2f}x" if math.isfinite(apart) else "stopped"]


def _costs(samples: Samples) -> Iterator[tuple[str, float]]:
    """Seconds of an event by size; where the first size is one event, it is the start, and taken off.

    What is then too small to be measured is left out.
    """
    begin = cpu(samples, "1") if next(iter(samples)) == "1" and "10000" in samples else None
    for name in samples:
        label = f"{int(name):,}" if name.isdecimal() else name
        if begin is None:
            yield label, cpu(samples, name)
        elif cpu(samples, name) - begin > LEAST:
            yield label, (cpu(samples, name) - begin) / int(name)


def verdicts(text: str) -> dict[str, str]:
    """The verdict of each row of a page.

    >>> verdicts("| a | at most 1 | at most 1 | 1 s |  | holds |\\n")
    {'a': 'holds'}
    """
    rows = [line.strip("| \n").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[-1] for row in rows if len(row) == 6}


def machine(commits: Mapping[str, str]) -> str:
    """Commits, cores and versions, in one sentence."""
    libraries = ", ".join(f"{title} {version(title.lower())}" for title in ("NumPy", "DuckDB", "Polars"))
    cores = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    names = defaultdict[str, list[str]](list)
    for name, commit in commits.items():
        names[commit].append(name)
    of = [f"`{commit}`{f' ({listed(own, 5)})' * (len(names) > 1)}" for commit, own in names.items()]
    return (
        f"Measured at commit {' and '.join(of)}, on {cores}; Python {platform.python_version()}, {libraries}."
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
