"""Reading: files found, recognised, read line by line and gathered into one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .. import registry
from ..errors import BadEvents, BadUsage, Fault
from .adapter import HEAD, NOT_UTF_8, UTF_16, Input, Record, Skipped, choose
from .collect import Batch, Collector, Place
from .errors import BadLine, Unreadable, shown, type_name
from .files import Found, Opened, find, opened
from .limits import Limits
from .readings import CATEGORY, NUMBER, Range, Rules
from .strict_json import BOM

Progress = Callable[[int, int], None]
STEP = 8192
"""Records between two calls of `progress`."""


def read_events(
    paths: Sequence[str | Path],
    *,
    source: str = "input",
    skip_bad: bool = False,
    kinds: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    stdin: BinaryIO | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    progress: Progress | None = None,
) -> Batch:
    """The events of files and folders ('-' is standard input), which together are one source.

    Raises BadEvents with every bad line counted and the first 50 told, unless `skip_bad`. A path where there
    is nothing is an error in any case. A line is bad where a reading is outside `ranges`
    (the lowest and highest number of a signal, or its categories). `progress` is told how many bytes of how
    many were read.
    """
    rules = _rules(limits, kinds, ranges)
    found, missing = find(paths)
    if missing:
        raise BadEvents([Fault(path, 0, 0, "no such file or folder") for path in missing])
    collector = Collector(source, rules)
    meter = _Meter(progress, sum(one.size for one in found))
    files = 0
    for number, one in enumerate(found):
        files += _read_file(number, one, stdin, rules, collector, meter)
    return _checked(collector.batch(files), skip_bad)


def events_of(
    lines: Iterable[Any],
    *,
    source: str = "input",
    skip_bad: bool = False,
    kinds: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
) -> Batch:
    """The events of event lines that are already in memory, as dicts; checked as those of a file are.

    >>> [event.subject for event in events_of([{"subject": "ann"}, {"subject": "bo"}]).events]
    ['ann', 'bo']
    """
    collector = Collector(source, _rules(limits, kinds, ranges))
    records: Iterator[Record] = (
        (number, line if isinstance(line, dict) else f"an event is a dict, not {type_name(line)}", 0)
        for number, line in enumerate(lines, 1)
    )
    _gather(records, Place(0, 0, "events"), collector, lambda: None)
    return _checked(collector.batch(0), skip_bad)


def _rules(limits: Limits, kinds: Mapping[str, str] | None, ranges: Mapping[str, Range] | None) -> Rules:
    for name, kind in (kinds or {}).items():
        if kind not in (NUMBER, CATEGORY):
            raise BadUsage(f"the kind of {name!r} is {NUMBER!r} or {CATEGORY!r}, not {shown(kind)}")
    return Rules(limits, kinds or {}, ranges=ranges or {})


def _checked(batch: Batch, skip_bad: bool) -> Batch:
    if batch.bad_count and not skip_bad:
        raise BadEvents(batch.bad, more=batch.bad_count - len(batch.bad))
    return batch


class _Meter:
    """Tells how far reading has come, in bytes on disk, and never backwards."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._before = 0
        self._told = 0

    def tell(self, within: int) -> None:
        self._told = max(self._told, min(self._before + within, self._total))
        if self._progress is not None:
            self._progress(self._told, self._total)

    def close_file(self, size: int) -> None:
        self._before += size
        self.tell(0)


def _read_file(
    number: int, found: Found, stdin: BinaryIO | None, rules: Rules, collector: Collector, meter: _Meter
) -> int:
    """Read one file into the collector; 1 where it was read, 0 where it holds no events by its format."""
    place = Place(number, 0, found.name)
    try:
        with opened(found, stdin, rules.limits) as file:
            return _read_opened(place, found, file, rules, collector, meter)
    except OSError as error:
        collector.add_fault(place, f"cannot be read: {error.strerror or error}")
    except Unreadable as error:
        collector.add_fault(place, str(error))
    finally:
        meter.close_file(found.size)
    return 0


def _read_opened(
    place: Place, found: Found, file: Opened, rules: Rules, collector: Collector, meter: _Meter
) -> int:
    if len(file.head) < HEAD and not file.head.removeprefix(BOM).strip():
        return 1  # nothing but blank lines
    adapter = choose(file.head, found.name)
    if adapter is not None:
        given = Input(found.name, file.stream, file.head, rules.kinds, rules.limits)
        _gather(adapter.read(given), place, collector, lambda: meter.tell(_position(file.handle)))
        collector.add_strays(given.strays)
        return 1
    if found.named:
        collector.add_fault(place, _unknown(file.head))
    else:
        collector.skip_file(found.name)
    return 0


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
