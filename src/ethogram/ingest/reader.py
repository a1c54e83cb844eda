"""Read files: find them, detect the format, gather the events in one batch."""

from __future__ import annotations

import gc
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict, TypeVar, Unpack

from .. import registry
from ..errors import BadEvents, BadUsage, Fault
from ..models import Event
from ..models.limits import FREE_RECORDS, Limits, over
from ..models.slotted import dataclass, replace
from .batch import Batch, Place
from .collector import Collector
from .errors import BadLine, Unreadable, shown, type_name
from .event_parser import CATEGORY, NAMES, NUMBER, Range, Rules
from .format import HEAD, NOT_UTF_8, UTF_16, Adapter, Input, Record, choose, parse_head, read_records
from .formats.csv import Csv
from .formats.json_array import JsonArray
from .formats.jsonl import JsonLines
from .formats.parquet import Parquet, open_parquet
from .messages import event_line
from .processes import usable_cores
from .spill import BUCKETS, EventsOnDisk, OnDisk, SpillingCollector
from .streams import BOM, GZIP, decompress, read_head, rewind, until
from .transcript import TranscriptAdapter

STDIN = "-"
EVENT_KEYS = NAMES | {"at", "text", "readings", "attributes"}
_DELIMITER = re.compile(rb"[,;\t]")
_SPOKEN = re.compile(rb"""\s*[^\s:#\[{}"'<>=|][^:#\[{}"'<>=|\n]{0,40}:\s+\S""")
"""A line of a conversation: a name, a colon and what was said."""
DIALOGUE_LINES = 50
"""Lines looked at for a conversation."""
MANY_KEYS = 3
"""So many keys of an event, and a record without a subject is an event with a fault."""
SOURCE = "input"
MANY_OBJECTS = 10_000
"""New objects from which it pays to tell the garbage collector that they stay."""
PROGRESS_STEP = 8192
"""Records between two calls of `progress`."""
BUCKET_BYTES, COLUMN_BUCKET_BYTES = 4 * 2**20, 48 * 2**20
MOST_BUCKETS = 200
"""Not more, since each is an open file while it is written."""
MANY_BYTES = 64 * 2**20
"""Bytes of event lines from which on starting processes, half a second each, is made up for."""
GZIP_RATIO = 8
"""About how many times as large a compressed file is when it is unpacked."""
COLUMNS_FROM = 2**20
"""Bytes of input from which on it is read as columns: for less, loading NumPy takes longer."""
COLUMNS_RATIO = 3
"""About how many times as large as a file of event lines its columns are in memory while it is read."""
Progress = Callable[[int, int], None]
"""Called with the bytes read so far, and the bytes of all files."""
if TYPE_CHECKING:
    from .column_reader import ColumnReader, Sink

B = TypeVar("B", Batch, OnDisk, Batch | OnDisk)


class Reading(TypedDict, total=False):
    """How events are read, see `read_events`."""

    source: str
    skip_bad: bool
    kinds: Mapping[str, str] | None
    ranges: Mapping[str, Range] | None
    limits: Limits
    latest: datetime | None


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read. `named` is true where the caller named it, not only a folder around it.

    `end` is the byte before which reading stops; None: the end of the file.
    """

    path: str
    named: bool
    size: int = 0
    end: int | None = None

    @property
    def name(self) -> str:
        """The path as it can be printed: bytes that are not UTF-8 are escaped."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")


def find_files(paths: str | Path | Sequence[str | Path]) -> list[InputFile]:
    """Return every file of these paths, sorted and each once; BadEvents where one is missing or forbidden.

    Files count once by their real path, so that one named beside its own folder is not read twice.
    """
    files: list[InputFile] = []
    faults: list[Fault] = []
    # A text is a path, not a sequence of letters: the first letter of '/data' would be all there is.
    for path in map(str, [paths] if isinstance(paths, (str, Path)) else paths):
        try:
            files.extend(_files_in(path))
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte in the name
            faults.append(Fault(InputFile(path, named=True).name, 0, 0, "no such file or folder"))
        except OSError as error:
            place = InputFile(os.fsdecode(error.filename or path), named=True).name
            faults.append(Fault(place, 0, 0, f"cannot be read: {error.strerror or error}"))
    if faults:
        raise BadEvents(faults)
    unique: dict[str, InputFile] = {}
    for file in sorted(files, key=lambda file: file.path):
        real = file.path if file.path == STDIN else os.path.realpath(file.path)
        first = unique.setdefault(real, file)
        unique[real] = replace(first, named=first.named or file.named)
    return list(unique.values())


def _files_in(path: str) -> Iterator[InputFile]:
    """The files of a path; OSError where there is none, or a folder may not be read."""
    status = None if path == STDIN else os.stat(path)  # noqa: PTH116 (a Path would change './a' to 'a')
    if status is None or not S_ISDIR(status.st_mode):
        yield InputFile(path, named=True, size=0 if status is None else status.st_size)
        return
    for folder, folders, names in os.walk(path, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            full = os.path.join(folder, name)  # noqa: PTH118 (a Path would change './a' to 'a')
            try:
                status = os.stat(full)  # noqa: PTH116
            except OSError as error:
                _refuse(error)
                continue
            # Only regular files: a named pipe in a folder would wait for ever.
            if not name.startswith(".") and S_ISREG(status.st_mode):
                yield InputFile(full, named=False, size=status.st_size)


def _refuse(error: OSError) -> None:
    """Raise what is forbidden; other errors are links to nothing, and what was just removed."""
    if isinstance(error, PermissionError):
        raise error


def _unpacked_size(file: InputFile) -> int:
    """Return about how many bytes a file has when it is unpacked."""
    about = file.size * GZIP_RATIO
    if not file.path.endswith(".gz"):
        return file.size
    if not COLUMNS_FROM <= file.size < 2**32 // GZIP_RATIO:
        return about
    # The last four bytes are the size, unless the file has several members: then it is that of the last.
    try:
        with open(file.path, "rb") as content:
            content.seek(-4, os.SEEK_END)
            size = int.from_bytes(content.read(), "little")
    except OSError:
        return about
    return size if size > 2 * file.size else about


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file at its first byte, unpacked; `handle` is the file on disk, to see how far it was read.

    `compressed` counts the bytes of a compressed file read so far; None where it is not compressed.
    """

    stream: BinaryIO
    head: bytes
    handle: BinaryIO
    compressed: Callable[[], int] | None = None


def _open(file: InputFile) -> BinaryIO:
    handle = open(file.path, "rb")  # noqa: SIM115 (the caller closes it)
    return handle if file.end is None else until(handle, file.end)


@contextmanager
def open_file(file: InputFile, stdin: BinaryIO | None, limits: Limits) -> Iterator[OpenFile]:
    """Open a file and close it after use; standard input stays open."""
    standard = stdin if stdin is not None else sys.stdin.buffer
    with nullcontext(standard) if file.path == STDIN else _open(file) as handle:
        head = read_head(handle, HEAD)
        stream, compressed = rewind(handle, head), None
        if head.startswith(GZIP):
            content, compressed = decompress(stream, limits)
            head = read_head(content, HEAD, damaged=True)
            stream = rewind(content, head)
        yield OpenFile(stream, head, handle, compressed)


def read_events(
    paths: str | Path | Sequence[str | Path],
    *,
    source: str = SOURCE,
    skip_bad: bool = False,
    kinds: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    stdin: BinaryIO | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    progress: Progress | None = None,
    check: Callable[[Event], None] | None = None,
    latest: datetime | None = None,
) -> Batch:
    """Return the events of files and folders ('-' is standard input), which together are one source.

    Raises BadEvents with every bad line counted and the first 50 listed, unless `skip_bad`; a path where
    there is nothing is an error in any case. A line is bad where a reading is outside `ranges` (the lowest
    and highest number of a signal, or its categories), where its time is after `latest`, or where `check`
    raises BadLine at its event.
    """
    rules = _rules(Reading(kinds=kinds, ranges=ranges, limits=limits, latest=latest))
    inputs = find_files(paths)
    batch = None if check is not None else _read_columns(inputs, source, rules, progress)
    if isinstance(batch, Batch):
        return batch
    collector = Collector(source, rules, check)
    files = _read_files(inputs, stdin, rules, collector, progress)
    return _checked(collector.batch(files), skip_bad)


def gather_events(
    paths: str | Path | Sequence[str | Path],
    memory: int,
    *,
    stdin: BinaryIO | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
    files: Sequence[InputFile] | None = None,
    jobs: int | None = None,
    **reading: Unpack[Reading],
) -> Batch | OnDisk:
    """Return the same as `read_events`; on disk where the events would take more than about `memory` bytes.

    Events on disk, in a new folder inside `folder` (default: the system's for temporary files), are there
    until the caller closes them; nothing is left where this raises. `files`, where given, are read as they
    are, instead of those found at the paths.
    `jobs` processes decode event lines (default: all cores where that pays); several share events on disk.
    """
    rules, source = _rules(reading), reading.get("source", SOURCE)
    files = find_files(paths) if files is None else files
    size = sum(map(_unpacked_size, files))
    memory = 0 if jobs is not None and jobs > 1 else memory
    workers = jobs or (usable_cores() if size >= MANY_BYTES else 1)
    is_packed = any(file.path.endswith(".parquet") for file in files)
    plain = size * GZIP_RATIO if is_packed else size
    large = min(MOST_BUCKETS, 2 + plain // COLUMN_BUCKET_BYTES)
    where = None if COLUMNS_RATIO * size <= memory else (large, folder)
    if (gathered := _read_columns(files, source, rules, progress, where, workers)) is not None:
        return gathered
    buckets = min(MOST_BUCKETS, max(BUCKETS, size // BUCKET_BYTES))
    collector = SpillingCollector(source, rules, memory, count=buckets, folder=folder)
    try:
        gathered = collector.gathered(_read_files(files, stdin, rules, collector, progress))
        return _checked(gathered, reading.get("skip_bad"))
    except BaseException:
        collector.close()
        raise


def events_of(lines: Iterable[Any], **reading: Unpack[Reading]) -> Batch:
    """Return the events of event lines or messages in memory, as dicts; checked as those of a file are.

    >>> [event.subject for event in events_of([{"subject": "ann"}, {"subject": "bo"}]).events]
    ['ann', 'bo']
    """
    collector = Collector(reading.get("source", SOURCE), _rules(reading))
    for number, line in enumerate(lines, 1):
        place = Place(0, number, "events")
        if not isinstance(line, dict):
            collector.add_record(place, f"an event is a dict, not {type_name(line)}", 0)
            continue
        try:
            collector.add_record(place, dict(event_line(line)), 0)
        except BadLine as bad:
            collector.add_fault(place, bad.message)
    return _checked(collector.batch(0), reading.get("skip_bad"))


def _rules(reading: Reading) -> Rules:
    kinds = reading.get("kinds") or {}
    for name, kind in kinds.items():
        if kind not in (NUMBER, CATEGORY):
            raise BadUsage(f"invalid kind {shown(kind)} of {name!r}: expected {NUMBER!r} or {CATEGORY!r}")
    limits, ranges = reading.get("limits", Limits()), reading.get("ranges") or {}
    return Rules(limits, kinds, ranges=ranges, latest=reading.get("latest"))


def _checked(batch: B, skip_bad: bool | None) -> B:
    if batch.bad_count and not skip_bad:
        raise BadEvents(batch.bad, more=batch.bad_count - len(batch.bad))
    return batch


def _read_columns(
    files: Sequence[InputFile],
    source: str,
    rules: Rules,
    progress: Progress | None,
    spill: tuple[int, Path | None] | None = None,
    workers: int = 1,
) -> Batch | OnDisk | None:
    """Return the events of files of nothing but regular event lines; None where they need a closer look.

    With `spill` they are on disk, in so many buckets in a new folder inside that folder.
    """
    # To read Parquet NumPy is loaded in any case.
    is_parquet = len(files) == 1 and files[0].path.endswith(".parquet")
    is_small = not is_parquet and sum(file.size for file in files) < COLUMNS_FROM
    if is_small or any(file.path == STDIN for file in files):
        return None
    from .column_reader import Irregular
    from .column_spill import ColumnBuckets

    buckets = None if spill is None else ColumnBuckets(source, count=spill[0], folder=spill[1])
    try:
        with without_collection():
            sink = None if buckets is None else buckets.put
            reader = _columns_of(files, source, rules, progress, sink, workers)
            if reader is None:
                return None
            whole: dict[str, Any] = {
                "files": len(files),
                "strays": reader.strays,
                "skipped": {**reader.skipped, **reader.ledger.left_out()},
            }
            if buckets is None:
                return Batch(reader.columns(), timed=bool(reader.timed), **whole)
            reader.check_whole()
            buckets.flush()
            done, buckets = OnDisk(EventsOnDisk(buckets), timed=bool(reader.timed), **whole), None
            return done
    except (OSError, Unreadable, Irregular):
        return None
    finally:
        if buckets is not None:
            buckets.close()


def _columns_of(
    files: Sequence[InputFile],
    source: str,
    rules: Rules,
    progress: Progress | None,
    sink: Sink | None,
    workers: int,
) -> ColumnReader | None:
    """Return what has read the files; None where one is of a format that has no columns."""
    from .arrow import BATCH_ROWS, ArrowReader
    from .line_reader import LineReader
    from .table_reader import read_csv

    reader: ColumnReader | None = None
    lines: LineReader | None = None
    total, before = sum(file.size for file in files), 0
    for file in files:
        with open_file(file, None, rules.limits) as opened:
            adapter = choose(opened.head, file.name)
            if adapter is not None and _is_foreign(file, adapter, opened.head):
                return None
            if isinstance(adapter, JsonLines):
                reader = lines = lines or LineReader(source, rules, sink)
                if workers > 1 and opened.compressed is None and file.end is None:
                    steps = lines.read_in_processes(opened.stream, file.path, file.size, workers)
                else:
                    steps = lines.read(opened.stream)
            elif isinstance(adapter, Parquet) and len(files) == 1 and opened.compressed is None:
                parquet, _ = open_parquet(_input(file, opened, rules))
                reader = arrow = ArrowReader(source, rules, parquet.schema_arrow.names, sink)
                steps = arrow.take(parquet.iter_batches(BATCH_ROWS))
            elif isinstance(adapter, Csv) and len(files) == 1:
                reader, steps = read_csv(opened.stream, source, rules, sink)
            elif adapter is None or isinstance(adapter, Csv | Parquet | TranscriptAdapter):
                return None  # events of runs are needed as objects in any case
            else:
                reader = lines = lines or LineReader(source, rules, sink)
                content = _input(file, opened, rules)
                records = _bounded(read_records(adapter, content), opened, rules)
                steps = lines.read_records(records, content)
            rows = reader.rows
            with closing(steps):
                for _ in steps:
                    if opened.compressed is not None and reader.rows - rows > _most_records(opened, rules):
                        return None
                    if progress is not None:
                        within = opened.handle.tell() if opened.handle.seekable() else 0
                        progress(min(before + min(within, file.size), total), total)
        before += file.size
    return reader


def read_frame(data: Any, **reading: Unpack[Reading]) -> Batch:
    """Return the events of a DataFrame or Arrow table: anything with `__arrow_c_stream__`.

    Columns are as in a Parquet file; faults name the row, counted from 1.
    """
    from .arrow import ArrowReader, as_table, parquet_bytes
    from .column_reader import Irregular

    source, rules, table = reading.get("source", SOURCE), _rules(reading), as_table(data)
    try:
        with without_collection():
            reader = ArrowReader(source, rules, table.schema.names)
            for _ in reader.take(table.to_batches()):
                pass
            return Batch(reader.columns(), timed=bool(reader.timed), strays=reader.strays)
    except Irregular:
        pass
    collector = Collector(source, rules)
    content = parquet_bytes(table)
    file = InputFile("DataFrame", named=True)
    opened = OpenFile(content, content.read(HEAD), content)
    content.seek(0)
    try:
        for line, value, column in Parquet().read(_input(file, opened, rules)):
            collector.add_record(Place(0, line, file.name), value, column)
    except Unreadable as error:
        collector.add_fault(Place(0, 0, file.name), str(error))
    return _checked(collector.batch(0), reading.get("skip_bad"))


@contextmanager
def without_collection() -> Iterator[None]:
    """Read without looking for cycles: rows hold none, and a look among millions takes as long as reading."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            # What was read counts as old at once: else the next look goes through all of it. Little is looked
            # through sooner than all that somebody froze is counted.
            if gc.get_count()[0] > MANY_OBJECTS and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _input(file: InputFile, opened: OpenFile, rules: Rules) -> Input:
    return Input(file.name, opened.stream, opened.head, rules.kinds, rules.limits)


def _read_files(
    files: Sequence[InputFile],
    stdin: BinaryIO | None,
    rules: Rules,
    collector: Collector,
    progress: Progress | None,
) -> int:
    """Read the files into the collector, and return how many hold events by their format."""
    total, before, count = sum(file.size for file in files), 0, 0
    for number, file in enumerate(files):
        place, done = Place(number, 0, file.name), 0
        try:
            with without_collection(), open_file(file, stdin, rules.limits) as opened:
                records = records_of(place, file, opened, rules, collector)
                for done, (line, value, column) in enumerate(records or (), 1):
                    collector.add_record(Place(number, line, place.path), value, column)
                    if progress is not None and done % PROGRESS_STEP == 0:
                        within = opened.handle.tell() if opened.handle.seekable() else 0
                        progress(min(before + min(within, file.size), total), total)
                count += records is not None
        except (OSError, Unreadable) as error:
            # One file that somebody left in a folder does not hide the others.
            collector.add_unread(place, unread_reason(error), is_skippable=not (file.named or done))
        before += file.size
        if progress is not None:
            progress(before, total)
    return count


def unknown_format(file: InputFile, head: bytes) -> str:
    """Return what to say of a file of no known format; of a conversation, the command that reads it."""
    if looks_like_dialogue(head):
        path = "-" if file.path == STDIN else shlex.quote(file.name)
        return f"a conversation in lines of text, not events: use `ethogram chat {path}`"
    return f"none of the known formats: {', '.join(registry.adapters.names())}"


def looks_like_dialogue(head: bytes) -> bool:
    """Return whether most of the first lines are a name, a colon and what was said.

    >>> looks_like_dialogue(b"Ann: hi there\\nBob: hello\\n"), looks_like_dialogue(b"# Notes\\nsee: here\\n")
    (True, False)
    """
    lines = [line for line in head.splitlines()[:DIALOGUE_LINES] if line.strip()]
    spoken = sum(_SPOKEN.match(line) is not None for line in lines)
    return spoken >= 2 and spoken > len(lines) / 2


def unread_reason(error: OSError | Unreadable) -> str:
    """Return why a file could not be read."""
    return f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)


def records_of(
    place: Place,
    file: InputFile,
    opened: OpenFile,
    rules: Rules,
    collector: Collector,
    adapter: Adapter | None = None,
) -> Iterator[Record] | None:
    """Return the records of an opened file; None where it is not of events, which the collector counts.

    `adapter`: the one for it, where it is known.
    """
    head = opened.head
    if len(head) < HEAD and not head.removeprefix(BOM).strip():
        return iter(())  # nothing but blank lines
    adapter = adapter or choose(head, file.name)
    if adapter is None or _is_foreign(file, adapter, head):
        if not file.named:
            collector.skip_file(file.name)
        elif head.startswith(UTF_16):
            collector.add_fault(place, NOT_UTF_8)
        else:
            collector.add_fault(place, unknown_format(file, head))
        return None

    def records() -> Iterator[Record]:
        input_ = _input(file, opened, rules)
        yield from read_records(adapter, input_)
        collector.add_strays(input_.strays)
        collector.ledger.add(input_.ledger)

    return _bounded(records(), opened, rules)


def _is_foreign(file: InputFile, adapter: Adapter, head: bytes) -> bool:
    """Whether a JSON file or table that was only found in a folder holds something else than events."""
    if file.named or not isinstance(adapter, JsonLines | JsonArray | Csv):
        return False
    if isinstance(adapter, Csv):
        header = head.partition(b"\n")[0]
        names = {name.strip().strip(b'"').decode("utf-8", "replace") for name in _DELIMITER.split(header)}
        is_split = len(names) > 1 or b"subject" not in header
        return is_split and "subject" not in names and len(EVENT_KEYS & names) < MANY_KEYS
    parsed = parse_head(head)
    if not parsed.objects:
        return bool(parsed.records) or not (parsed.is_array or b"subject" in head)
    return not any(
        "subject" in record or len(EVENT_KEYS & record.keys()) >= MANY_KEYS for record in parsed.objects
    )


def _bounded(records: Iterator[Record], opened: OpenFile, rules: Rules) -> Iterator[Record]:
    """Yield the records; Unreadable where there are more than the bytes of a compressed file can hold."""
    if opened.compressed is None:
        yield from records
        return
    for count, record in enumerate(records):
        if count >= FREE_RECORDS and count > (most := _most_records(opened, rules)):
            what = f"more than {most:,} records in {opened.compressed():,} compressed bytes"
            raise Unreadable(over("density", rules.limits.density, what))
        yield record


def _most_records(opened: OpenFile, rules: Rules) -> int:
    """Return how many records the bytes read so far of a compressed file can hold."""
    return FREE_RECORDS + rules.limits.density * (opened.compressed() if opened.compressed else 0)
