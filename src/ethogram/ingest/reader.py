"""Read files: find them, detect the format, gather the events in one batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from .. import registry
from ..errors import BadEvents, BadUsage, Fault
from ..models import Event
from ..models.limits import FREE_RECORDS, Limits, over
from .batch import Batch, Place
from .collector import Collector
from .errors import BadLine, Unreadable, shown, type_name
from .event_parser import CATEGORY, NUMBER, Range, Rules
from .format import HEAD, NOT_UTF_8, UTF_16, Adapter, Input, Record, Skipped, choose
from .spill import BUCKETS, OnDisk, Spilling
from .streams import BOM, GZIP, head_before_damage, head_of, rewound, unpacked

# Which files a call means, in the order of their names, and how each is opened.

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Found:
    """One file to read. `named` is true where the caller named it, not only a folder around it."""

    path: str
    named: bool
    size: int = 0

    @property
    def name(self) -> str:
        """The path as it can be printed: bytes that are no text are shown as escapes."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")


def find(paths: Sequence[str | Path]) -> tuple[list[Found], list[str]]:
    """Every file meant, sorted by path and each once; and the paths where there is nothing."""
    meant: list[Found] = []
    missing: list[str] = []
    for value in paths:
        path = str(value)
        if path != STDIN and not _exists(path):
            missing.append(Found(path, named=True).name)
        else:
            meant.extend(_below(path))
    return _each_once(sorted(meant, key=lambda item: item.path)), missing


def _each_once(meant: list[Found]) -> list[Found]:
    """The files by real path, so that one named beside its own folder is not read twice."""
    record: dict[str, Found] = {}
    for item in meant:
        real = item.path if item.path == STDIN else os.path.realpath(item.path)
        first = record.setdefault(real, item)
        record[real] = replace(first, named=first.named or item.named)
    return list(record.values())


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name too long, or with a null byte in it
        return False


def _below(path: str) -> Iterator[Found]:
    if path == STDIN or not Path(path).is_dir():
        yield Found(path, named=True, size=_size(path))
        return
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            full = os.path.join(folder, name)  # noqa: PTH118 (a Path would change './a' to 'a')
            # Only regular files: a named pipe in a folder would wait for ever.
            if not name.startswith(".") and Path(full).is_file():
                yield Found(full, named=False, size=_size(full))


def _size(path: str) -> int:
    if path == STDIN:
        return 0
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class Opened:
    """A file at its first byte, unpacked; `handle` is the file on disk, to see how far it was read.

    `packed` tells how many bytes of a compressed file were read; None where it is not compressed.
    """

    stream: BinaryIO
    head: bytes
    handle: BinaryIO
    packed: Callable[[], int] | None = None


@contextmanager
def opened(result: Found, stdin: BinaryIO | None, limits: Limits) -> Iterator[Opened]:
    """One file, closed again after use; standard input stays open."""
    given = stdin if stdin is not None else sys.stdin.buffer
    with nullcontext(given) if result.path == STDIN else open(result.path, "rb") as handle:
        head = head_of(handle, HEAD)
        stream, taken = rewound(handle, head), None
        if head.startswith(GZIP):
            packed, taken = unpacked(stream, limits)
            head = head_before_damage(packed, HEAD)
            stream = rewound(packed, head)
        yield Opened(stream, head, handle, taken)


# How far reading has come.

Progress = Callable[[int, int], None]
"""Told how many bytes of how many were read."""


class Meter:
    """Tells how far reading has come, in bytes on disk, and never backwards."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._before = 0
        self._told = 0

    def tell(self, within: int) -> None:
        """So many bytes of the file under way were read."""
        self._told = max(self._told, min(self._before + within, self._total))
        if self._progress is not None:
            self._progress(self._told, self._total)

    def close_file(self, size: int) -> None:
        """A file of that size is done with."""
        self._before += size
        self.tell(0)


# Reading: files found, recognised, read line by line and gathered into one batch.

STEP = 8192
"""Records between two calls of `progress`."""
BUCKET_BYTES = 4 * 2**20
MOST_BUCKETS = 200
"""Not more, since each is an open file while it is written."""
PACKED = 8
"""About how many times as large a compressed file is when it is unpacked."""
B = TypeVar("B", Batch, OnDisk, Batch | OnDisk)


def read_events(
    paths: str | Path | Sequence[str | Path],
    *,
    source: str = "input",
    skip_bad: bool = False,
    kinds: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    stdin: BinaryIO | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    progress: Progress | None = None,
    check: Callable[[Event], None] | None = None,
    latest: datetime | None = None,
) -> Batch:
    """The events of a file or folder, or of several ('-' is standard input), which together are one source.

    Raises BadEvents with every bad line counted and the first 50 told, unless `skip_bad`. A path where there
    is nothing is an error in any case. A line is bad where a reading is outside `ranges`
    (the lowest and highest number of a signal, or its categories), where its time is after `latest`, or where
    `check` raises BadLine at its event. `progress` is told how many bytes of how many were read.
    """
    rules = _rules(limits, kinds, ranges, latest)
    collector = Collector(source, rules, check)
    files = _read_all(_found(paths), stdin, rules, collector, progress)
    return _checked(collector.batch(files), skip_bad)


def gather_events(
    paths: str | Path | Sequence[str | Path],
    *,
    memory: int,
    source: str = "input",
    skip_bad: bool = False,
    kinds: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    stdin: BinaryIO | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    progress: Progress | None = None,
    folder: Path | None = None,
    latest: datetime | None = None,
) -> Batch | OnDisk:
    """The same as `read_events`; on disk where the events would take more than about `memory` bytes.

    What is on disk, in a new folder inside `folder` (default: the system's for temporary files), is there
    until the caller closes it; nothing is where this raises.
    """
    rules = _rules(limits, kinds, ranges, latest)
    founds = _found(paths)
    collector = Spilling(source, rules, memory, count=_buckets(founds), folder=folder)
    try:
        files = _read_all(founds, stdin, rules, collector, progress)
        return _checked(collector.gathered(files), skip_bad)
    except BaseException:
        collector.close()
        raise


def events_of(
    lines: Iterable[Any],
    *,
    source: str = "input",
    skip_bad: bool = False,
    kinds: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    latest: datetime | None = None,
) -> Batch:
    """The events of event lines that are already in memory, as dicts; checked as those of a file are.

    >>> [event.subject for event in events_of([{"subject": "ann"}, {"subject": "bo"}]).events]
    ['ann', 'bo']
    """
    collector = Collector(source, _rules(limits, kinds, ranges, latest))
    records: Iterator[Record] = (
        (number, line if isinstance(line, dict) else f"an event is a dict, not {type_name(line)}", 0)
        for number, line in enumerate(lines, 1)
    )
    _gather(records, Place(0, 0, "events"), collector, lambda: None)
    return _checked(collector.batch(0), skip_bad)


def _rules(
    limits: Limits,
    kinds: Mapping[str, str] | None,
    ranges: Mapping[str, Range] | None,
    latest: datetime | None,
) -> Rules:
    for name, kind in (kinds or {}).items():
        if kind not in (NUMBER, CATEGORY):
            raise BadUsage(f"the kind of {name!r} is {NUMBER!r} or {CATEGORY!r}, not {shown(kind)}")
    return Rules(limits, kinds or {}, ranges=ranges or {}, latest=latest)


def _found(paths: str | Path | Sequence[str | Path]) -> list[Found]:
    # A text is a path, not a sequence of letters: the first letter of '/data' would be all there is.
    found, missing = find([paths] if isinstance(paths, (str, Path)) else paths)
    if missing:
        raise BadEvents([Fault(path, 0, 0, "no such file or folder") for path in missing])
    return found


def _buckets(founds: Iterable[Found]) -> int:
    """How many buckets, if it comes to that: so many that the events of each are few, whatever the size."""
    size = sum(item.size * (PACKED if item.path.endswith(".gz") else 1) for item in founds)
    return min(MOST_BUCKETS, max(BUCKETS, size // BUCKET_BYTES))


def _read_all(
    founds: Sequence[Found],
    stdin: BinaryIO | None,
    rules: Rules,
    collector: Collector,
    progress: Progress | None,
) -> int:
    """How many files were read into the collector."""
    meter = Meter(progress, sum(item.size for item in founds))
    each = enumerate(founds)
    return sum(_read_file(number, item, stdin, rules, collector, meter) for number, item in each)


def _checked(batch: B, skip_bad: bool) -> B:
    if batch.bad_count and not skip_bad:
        raise BadEvents(batch.bad, more=batch.bad_count - len(batch.bad))
    return batch


def _read_file(
    number: int, result: Found, stdin: BinaryIO | None, rules: Rules, collector: Collector, meter: Meter
) -> int:
    """Read one file into the collector; 1 where it was read, 0 where it holds no events by its format."""
    place = Place(number, 0, result.name)
    try:
        with opened(result, stdin, rules.limits) as file:
            return _read_opened(place, result, file, rules, collector, meter)
    except OSError as error:
        collector.add_fault(place, f"cannot be read: {error.strerror or error}")
    except Unreadable as error:
        collector.add_fault(place, str(error))
    finally:
        meter.close_file(result.size)
    return 0


def _read_opened(
    place: Place, result: Found, file: Opened, rules: Rules, collector: Collector, meter: Meter
) -> int:
    records = records_of(place, result, file, rules, collector)
    if records is None:
        return 0
    _gather(records, place, collector, lambda: meter.tell(_position(file.handle)))
    return 1


def records_of(
    place: Place, result: Found, file: Opened, rules: Rules, collector: Collector
) -> Iterator[Record] | None:
    """The records of an opened file; None where it is not of events, which the collector is told."""
    if len(file.head) < HEAD and not file.head.removeprefix(BOM).strip():
        return iter(())  # nothing but blank lines
    adapter = choose(file.head, result.name)
    if adapter is not None:
        value = Input(result.name, file.stream, file.head, rules.kinds, rules.limits)
        records = _with_strays(adapter, value, collector)
        return records if file.packed is None else _not_too_many(records, file.packed, rules.limits)
    if result.named:
        collector.add_fault(place, _unknown(file.head))
    else:
        collector.skip_file(result.name)
    return None


def _with_strays(adapter: Adapter, value: Input, collector: Collector) -> Iterator[Record]:
    yield from adapter.read(value)
    collector.add_strays(value.strays)


def _not_too_many(records: Iterator[Record], packed: Callable[[], int], limits: Limits) -> Iterator[Record]:
    """The records of a compressed file; Unreadable where there are more than its bytes can tell apart."""
    for count, record in enumerate(records):
        if count >= FREE_RECORDS and count > (most := FREE_RECORDS + limits.density * packed()):
            what = f"more than {most:,} records in {packed():,} compressed bytes"
            raise Unreadable(over("density", limits.density, what))
        yield record


def _unknown(head: bytes) -> str:
    if head.startswith(UTF_16):
        return NOT_UTF_8
    return f"none of the known formats: {', '.join(registry.adapters.names())}"


def _position(handle: BinaryIO) -> int:
    return handle.tell() if handle.seekable() else 0


def _gather(records: Iterable[Record], place: Place, collector: Collector, step: Callable[[], None]) -> None:
    """Put every record into the collector, as an event or as a fault."""
    number, path = place.file, place.path
    for count, (line, value, column) in enumerate(records, 1):
        at = Place(number, line, path)
        if isinstance(value, dict):
            try:
                collector.add(at, value)
            except BadLine as bad:
                collector.add_fault(at, bad.message)
        elif isinstance(value, Skipped):
            collector.skipped[str(value)] += 1
        else:
            collector.add_bad(at, value, column)
        if count % STEP == 0:
            step()
