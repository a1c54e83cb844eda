"""Buckets of events as Parquet files: a subject's events are in one file, next to each other and in order.

The file of an event follows from a hash of its source and subject, which every history has in its key. Files
hold everything about an event, so that what is read from them is what was written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import BadUsage, MissingExtra
from ..files.whole import write_whole
from ..models import INPUT_SCORER, Event, micros, stable_hash
from ..models.slotted import replace
from .batch import EventList, EventSequence, Gathered
from .column_reader import NAMES
from .event_columns import (
    MANY_SIGNALS,
    Coded,
    Column,
    EventColumns,
    Readings,
    Sparse,
    coded,
    in_order,
    rows_with,
    thinned,
)
from .ordering import by_order
from .spill import MANIFEST, BucketFolder, EventsOnDisk, OnDisk

FORMAT = 1
SUFFIX = ".parquet"
GROUP_ROWS = 131_072
"""Rows of a row group, so that a reader of a part of a file holds little."""
PREFIX = "readings."
MOST_SIGNALS = 1_000
"""Signals of a file that have a column of their own; the others share one."""
ALWAYS = ("id", "at", "subject", "seq", "source", "timed")
PLAIN = ("target", "reply_to", "thread", "session", "kind", "text")
OBJECTS = ("attributes", "scorers", "widths", "readings")
"""Columns of JSON objects."""
Scorers = dict[str, dict[str, int]]
"""By signal and scorer the time of the first such reading, in microseconds."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of all events of a folder of buckets. `files` is what their hash is taken modulo."""

    record: Literal["buckets"] = "buckets"
    format: int = FORMAT
    files: int
    events: int
    newest: int | None
    sources: dict[str, bool]
    """Sources, and whether their events have times."""
    fields: list[str]
    kinds: list[str]
    readings: list[str]
    scorers: Scorers
    measured: dict[str, str]
    """Signals that were measured before the events were split, and by whom."""
    how: str
    """A hash of the settings that they were measured with."""
    summary: dict[str, Any]
    """What was left out when the events were read: see Gathered."""

    @property
    def digest(self) -> str:
        """The same for the same events in the same number of files."""
        return stable_hash(msgspec.to_builtins(self))[:16]


def pyarrow_parquet() -> Any:
    """Return the module that reads and writes Parquet."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "reading and writing buckets") from None
    return pyarrow.parquet


class ParquetBuckets(BucketFolder):
    """A folder of buckets that stays."""

    suffix = SUFFIX
    scratch = None

    def __init__(self, folder: str | Path) -> None:
        place = Path(folder, MANIFEST)
        try:
            self.manifest = msgspec.json.decode(place.read_bytes(), type=Manifest)
        except FileNotFoundError:
            raise BadUsage(
                f"{folder}: no {MANIFEST}: expected a folder that `ethogram bucket` wrote"
            ) from None
        except (OSError, msgspec.DecodeError) as error:
            raise BadUsage(f"{place}: {error}") from None
        if self.manifest.format != FORMAT:
            raise BadUsage(
                f"{place}: format {self.manifest.format}: expected {FORMAT}; bucket the events again"
            )
        self.total = self.manifest.events
        self.newest = -(2**63) if self.manifest.newest is None else self.manifest.newest
        self.fields = set(self.manifest.fields)
        self.kinds, self.readings = set(self.manifest.kinds), set(self.manifest.readings)
        self.folder = Path(folder)
        self.measured = self.manifest.measured
        self.paths = file_paths(self.folder, self.manifest.files)
        self._files = []

    def close(self) -> None:
        """Do nothing: the folder stays."""

    def gathered(self) -> OnDisk:
        """Return the events with what was known of them when they were read."""
        summary = dict(self.manifest.summary)
        summary["not_events"] = tuple(summary["not_events"])
        return OnDisk(EventsOnDisk(self), **summary)


def file_paths(folder: Path, files: int) -> list[Path]:
    """Return the files of a folder of buckets, by number; those without events do not exist."""
    return [folder / f"{number:04d}{SUFFIX}" for number in range(files)]


class BucketWriter:
    """Writes the files of a folder of buckets one by one, and the manifest last."""

    def __init__(self, folder: Path, files: int) -> None:
        self.folder, self.paths = folder, file_paths(folder, files)
        self._events, self._newest = 0, -(2**63)
        self._sources: dict[str, bool] = {}
        self._fields: set[str] = set()
        self._kinds: set[str] = set()
        self._readings: set[str] = set()
        self._scorers: Scorers = {}

    def write(self, number: int, events: EventSequence) -> None:
        """Write the events of one file; they are in order."""
        if not events:
            return
        table = table_of(by_subject(events))
        try:
            pyarrow_parquet().write_table(
                table, self.paths[number], row_group_size=GROUP_ROWS, compression="zstd"
            )
        except OSError as error:
            raise BadUsage(f"{self.paths[number]}: {error}") from None
        self._events += len(events)
        self._newest = max(self._newest, micros(events[-1].at))
        for source, timed in events.counts("source", "timed"):
            self._sources[source] = timed and self._sources.get(source, True)
        self._kinds |= set(events.counts("kind"))
        self._readings |= events.reading_names()
        names = ("target", "reply_to", "thread", "session", "text", "attributes")
        self._fields |= {"subject", "kind", *(name for name in names if table[name].null_count < len(events))}
        self._scorers = joined_scorers([self._scorers, scorer_times(events)])

    def close(self, gathered: Gathered, measured: Mapping[str, str], how: str) -> Manifest:
        """Write the manifest."""
        summary = {
            name: getattr(gathered, name)
            for name in ("bad_count", "repeated", "timed", "files", "skipped", "not_events", "strays")
        }
        manifest = Manifest(
            files=len(self.paths),
            events=self._events,
            newest=self._newest if self._events else None,
            sources=self._sources,
            fields=sorted(self._fields),
            kinds=sorted(self._kinds),
            readings=sorted(self._readings - measured.keys()),
            scorers=self._scorers,
            measured=dict(measured),
            how=how,
            summary={**summary, "skipped": dict(gathered.skipped), "strays": dict(gathered.strays)},
        )
        content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        write_whole(self.folder / MANIFEST, [content, "\n"], mode=0o644)
        return manifest


def by_subject(events: EventSequence) -> EventSequence:
    """Return the events with those of a subject next to each other, still in order."""
    if not isinstance(events, EventColumns):
        return EventList(sorted(events, key=lambda event: (event.source, event.subject)))
    keys = [ranks(coded(events.fields[name])) for name in ("subject", "source") if name in events.fields]
    return events.take(np.lexsort(keys))


def ranks(column: Coded) -> NDArray[np.int64]:
    """Return the place of each row's text among the texts in order."""
    order = sorted(range(len(column.words)), key=column.words.__getitem__)
    places: NDArray[np.int64] = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    rows: NDArray[np.int64] = places[column.codes]
    return rows


def scorer_times(events: EventSequence) -> Scorers:
    """Return when each scorer first has a reading of each signal."""
    first: Scorers = {}
    if isinstance(events, EventColumns):
        for name, column in events.readings.items():
            if len(rows := rows_with(column)):
                scorer = events.scorers.get(name, INPUT_SCORER)
                first.setdefault(name, {})[scorer] = int(events.times[rows].min())
        some: Iterable[Event] = events.measured.values()
    else:
        some = events
    for event in some:
        at = micros(event.at)
        for name in event.readings:
            own = first.setdefault(name, {})
            scorer = event.scorers.get(name, INPUT_SCORER)
            own[scorer] = min(at, own.get(scorer, at))
    return first


def joined_scorers(parts: Iterable[Scorers]) -> Scorers:
    """Return the first times of all parts."""
    first: Scorers = {}
    for part in parts:
        for name, times in part.items():
            own = first.setdefault(name, {})
            for scorer, at in times.items():
                own[scorer] = min(at, own.get(scorer, at))
    return first


# --- writing --------------------------------------------------------------------------------


def table_of(events: EventSequence) -> Any:
    """Return the events as an Arrow table, row by row."""
    import pyarrow

    text = pyarrow.large_string()
    columns: dict[str, Any] = {}
    if isinstance(events, EventColumns) and not events.measured:
        changed = bool(events.scorers)
        ids = list(events.values("id")) if changed else events.ids
        columns["id"] = pyarrow.array([None] * len(events) if ids is None else ids, text)
        times, seq = events.times, events.seq
        timed = [events.timed] * len(events) if isinstance(events.timed, bool) else events.timed
        readings: Mapping[str, Readings] = events.readings
        scorers = _row_scorers(events)
        widths: Sequence[Any] = [None] * len(events)
        fields: Mapping[str, Column] = events.fields
        source: Column = fields.get("source", Coded(np.zeros(len(events), np.int64), [events.source]))
    else:
        columns["id"] = pyarrow.array([event.id for event in events], text)
        times = np.array([micros(event.at) for event in events], np.int64)
        seq = np.array([event.seq for event in events], np.int64)
        timed = [event.timed for event in events]
        fields = {name: [getattr(event, name) for event in events] for name in PLAIN}
        fields["subject"] = [event.subject for event in events]
        fields["attributes"] = [dict(event.attributes) or None for event in events]
        source = [event.source for event in events]
        readings = _reading_columns(events)
        scorers = [dict(event.scorers) or None for event in events]
        widths = [dict(event.widths) or None for event in events]
    columns["at"] = pyarrow.array(times, pyarrow.int64()).cast(pyarrow.timestamp("us", "UTC"))
    columns["subject"] = _texts(fields["subject"])
    columns["seq"] = pyarrow.array(seq, pyarrow.int64())
    columns["source"] = _texts(source)
    columns["timed"] = pyarrow.array(timed, pyarrow.bool_())
    nothing: Sequence[Any] = [None] * len(events)
    for name in PLAIN:
        columns[name] = _texts(fields.get(name, nothing))
    columns["attributes"] = _objects(fields.get("attributes", nothing))
    columns["scorers"], columns["widths"] = _objects(scorers), _objects(widths)
    others: dict[str, Readings | list[Any]] = {}
    for name, column in readings.items():
        if isinstance(column, list):
            kinds = set(map(type, column)) - {type(None)}
            if kinds - {str} or len(columns) > MOST_SIGNALS:
                others[name] = column
                continue
            columns[PREFIX + name] = pyarrow.array(column, text)
        elif len(columns) > MOST_SIGNALS:
            others[name] = column
        else:
            numbers = column.dense() if isinstance(column, Sparse) else column
            columns[PREFIX + name] = pyarrow.array(numbers, pyarrow.float64(), mask=numbers != numbers)
    columns["readings"] = _objects(_rows_of(others, len(events)))
    return pyarrow.table(columns)


def _texts(column: Column) -> Any:
    """Return texts, each there once: names come again and again."""
    import pyarrow

    own = coded(column)
    codes = pyarrow.array(own.codes, pyarrow.int32(), mask=own.codes < 0)
    return pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(own.words, pyarrow.large_string()))


def _objects(column: Sequence[Any]) -> Any:
    return _texts([None if value is None else json.dumps(value, sort_keys=True) for value in column])


def _row_scorers(events: EventColumns) -> Sequence[dict[str, str] | None]:
    """Return who measured the readings of each row."""
    rows: list[dict[str, str] | None] = [None] * len(events)
    for name, scorer in events.scorers.items():
        for row in rows_with(events.readings[name]).tolist() if name in events.readings else ():
            rows[row] = {**(rows[row] or {}), name: scorer}
    return rows


def _reading_columns(events: EventSequence) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for row, event in enumerate(events):
        for name, value in event.readings.items():
            if name not in columns:
                columns[name] = [None] * len(events)
            columns[name][row] = value
    for name, column in columns.items():
        if not any(isinstance(value, str) for value in column):
            columns[name] = np.array([np.nan if value is None else value for value in column], np.float64)
    return columns


def _rows_of(columns: Mapping[str, Any], count: int) -> list[dict[str, Any] | None]:
    rows: list[dict[str, Any] | None] = [None] * count
    for name, column in columns.items():
        for row in rows_with(column).tolist():
            rows[row] = {**(rows[row] or {}), name: column[row]}
    return rows


# --- reading --------------------------------------------------------------------------------


def read_parquet_bucket(path: Path, names: Collection[str] | None = None) -> EventSequence:
    """Return the events of a file, in order; with `names` they need not have other fields, nor readings."""
    if not path.exists():
        return EventList()
    parquet = pyarrow_parquet()
    some = None if names is None else [*ALWAYS, *set(names).difference(ALWAYS)]
    try:
        # Without threads: several processes do this at once.
        table = parquet.read_table(path, columns=some, use_threads=False)
        if some is not None and "id" in set(names or ()) and table["id"].null_count:
            table = parquet.read_table(path, use_threads=False)  # ids are made of content
    except (OSError, ValueError) as error:
        raise BadUsage(f"{path}: {error}") from None
    return events_of_table(table)


def events_of_table(table: Any) -> EventSequence:
    """Return the events of an Arrow table as `table_of` makes it, in order."""
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    fields: dict[str, Column] = {}
    for name in ("source", "subject", *filter(columns.__contains__, PLAIN)):
        column = _coded(columns[name])
        if len(column.words):
            fields[name] = column if name in NAMES else list(column)
    source = fields.pop("source")
    assert isinstance(source, Coded)
    if len(source.words) > 1:
        fields["source"] = source
    objects = {name: _parsed(columns[name]) for name in OBJECTS if name in columns}
    objects = {name: column for name, column in objects.items() if any(column)}
    if attributes := objects.pop("attributes", None):
        fields["attributes"] = attributes
    signals = [name for name in columns if name.startswith(PREFIX)]
    readings: dict[str, Readings] = {}
    for name in signals:
        own = _readings(columns.pop(name))
        readings[name.removeprefix(PREFIX)] = thinned(own) if len(signals) > MANY_SIGNALS else own
    ids: list[str | None] | None = columns["id"].to_pylist()
    assert ids is not None
    timed = np.asarray(columns["timed"].to_pylist(), bool)
    events = EventColumns(
        source.words[0] if len(source.words) == 1 else "",
        np.array(_integers(columns["at"])),
        np.array(_integers(columns["seq"])),
        ids if any(name is not None for name in ids) else None,
        fields,
        readings,
        timed=bool(timed[0]) if len(set(timed.tolist())) == 1 else timed,
    )
    if not objects:
        return in_order(events)
    nothing: list[Any] = [None] * len(ids)
    more, scorers, widths = (objects.get(name, nothing) for name in ("readings", "scorers", "widths"))
    if more is widths is nothing:
        known = _column_scorers(readings, scorers)
        if known is not None:
            events.scorers = known
            return in_order(events)
    rows = [row for row in range(len(ids)) if more[row] or scorers[row] or widths[row]]
    measured = {
        row: replace(
            event.read_as({**event.readings, **(more[row] or {})}, scorers[row] or {}),
            widths=widths[row] or {},
        )
        for row, event in zip(rows, events.events(rows), strict=True)
    }
    if 2 * len(rows) > len(ids):
        every = (measured.get(row, event) for row, event in enumerate(events))
        return EventList(sorted(every, key=by_order))
    events.measured = measured
    return in_order(events)


def _coded(column: Any) -> Coded:
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        column = column.cast(pyarrow.large_string()).dictionary_encode()
    codes = column.indices.cast(pyarrow.int64())
    if codes.null_count:
        codes = codes.fill_null(-1)
    words: list[str] = column.dictionary.to_pylist()
    numbers = np.array(np.from_dlpack(codes))
    if len(np.unique(numbers[numbers >= 0])) < len(words):  # a slice of a larger table
        return coded([None if code < 0 else words[code] for code in numbers.tolist()])
    return Coded(numbers, words)


def _parsed(column: Any) -> list[Any]:
    own = _coded(column)
    values = [*map(json.loads, own.words), None]
    return [values[code] for code in own.codes.tolist()]


def _integers(column: Any) -> Any:
    import pyarrow

    return np.from_dlpack(column.cast(pyarrow.int64()))


def _readings(column: Any) -> Readings:
    import pyarrow

    if not pyarrow.types.is_floating(column.type):
        texts: list[str | None] = list(_coded(column))
        return texts
    return np.array(np.from_dlpack(column.fill_null(np.nan)))


def _column_scorers(readings: Mapping[str, Readings], rows: Sequence[Any]) -> dict[str, str] | None:
    """Return the scorer of each signal that has one at all of its readings; None where any differs."""
    known: dict[str, str] = {}
    for name in {name for own in rows if own for name in own}:
        scorers: set[Any] = {(rows[row] or {}).get(name) for row in rows_with(readings[name]).tolist()}
        if len(scorers) != 1:
            return None
        known[name] = scorers.pop()
    return known
