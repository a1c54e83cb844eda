"""Detection on Spark: the same programs over partitions by subject, in order of time (extra: spark).

A row is an event, as in a Parquet file: fields by name, signals as readings, everything else as attributes.
Blocks of whole subjects go through the columnar engine; a subject with more rows than a block goes through
the live engine, which carries its state from piece to piece. Signals about others in a thread are measured by
thread, those about copies of a text in one task. Contagion is found by the driver.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .app.analyze import load_library, moment_of
from .app.live.stream_consumer import MOST, NO_ID, Line, line_of
from .app.out_of_core import Job, Looked, Tally, look_at_events
from .app.readings import (
    OF_ALL,
    beyond_subjects,
    depends_on_others,
    measurer_of,
    only_scorers,
    without_steps,
)
from .app.result import Analysis, known_signals
from .config import Settings
from .engine.detect import LongPart
from .errors import BadEvents, BadUsage, EthogramError, MissingExtra
from .ingest import Batch, Gathered, Limits, read_frame
from .ingest.batch import EventCollection, EventList, EventSequence
from .ingest.collector import latest_time
from .ingest.errors import BadLine
from .ingest.tables import ATTRIBUTES, READINGS, Table
from .models import EPOCH, Event, micros, moment
from .patterns.catalogue import known_ranges, load_vocabulary
from .patterns.library import Library
from .signals import Measurer, Options, plan
from .streams import Message

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCK_ROWS = 200_000
"""Rows of whole subjects that are looked at together, and of which a longer subject is read at a time."""
MEASURED = "ethogram_measured"
"""The column of readings of signals that look beyond a subject."""
MOST_NAMES = 10_000
"""Subjects that are named in a query; of more, all rows are read."""
PATH = "ethogram_path"
"""The column with the path of the file that a line is from."""
KEY = ("source", "subject")
ORDER = ("at", "seq", "id")
Rows = list[Any]
"""Record batches of Arrow."""


def detect(
    frame: DataFrame,
    patterns: Sequence[str | Path] | Library | None = None,
    *,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    now: datetime | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Analysis:
    """Look for patterns in the events of a DataFrame; the same detections as `ethogram.analyze`.

    `at` must be a timestamp and there in every row. Rows need an `id`, or a `seq` that no other row of their
    source has; events of the same time are ordered by `seq`, then by `id`. A task holds about `block_rows`.
    """
    settings = settings or Settings()
    library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
    latest = latest_time(now or datetime.now(UTC), settings.max_future)
    rules = {
        "kinds": library.kinds,
        "ranges": known_ranges(),
        "limits": Limits(**settings.limits),
        "latest": latest,
    }
    frame = _prepared(frame, settings.source)
    facts = _Facts(frame, library.kinds)
    asked = moment_of(as_of) or facts.newest or EPOCH
    job = Job(library.programs, settings, asked, names=frozenset(facts.readings))
    seen = frame.where(f"at <= timestamp_micros({micros(asked)})")
    # One look at it decides nothing that depends on the number of partitions.
    beyond = beyond_subjects(job.measuring)
    if depends_on_others(job.measuring, settings, facts.kinds, facts.fields, facts.readings):
        job = replace(job, known=frozenset(beyond))
        seen = _measured(seen, beyond, _Reader(rules), settings)
    looked = (
        seen.repartition(*KEY)
        .sortWithinPartitions(*KEY, *ORDER)
        .mapInArrow(_Look(job, _Reader(rules), block_rows), "looked binary")
    )
    tally, strays = Tally(library, asked, Counter(), Counter()), Counter[str]()
    for row in looked.collect():
        item = pickle.loads(row.looked)
        if isinstance(item, BaseException):
            raise item
        tally.add(item[0])
        strays += item[1]
    gathered = Gathered(_FrameEvents(frame, facts), strays=dict(strays))
    return tally.analysis(gathered, settings, moment_of(as_of))


def session(master: str = "", *, name: str = "ethogram") -> SparkSession:
    """A session for `detect`, with workers that run this process's Python unless set otherwise."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("pyspark", "spark", "detection on Spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    options = {
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def read_parquet(spark: SparkSession, path: str) -> DataFrame:
    """The rows of Parquet files with their place among all rows as `seq`, unless they have their own."""
    frame = spark.read.parquet(path)
    if "seq" in frame.columns:
        return frame
    places = frame.selectExpr("*", "_metadata.file_path AS _file", "_metadata.row_index AS _row")
    sizes = places.groupBy("_file").agg({"_row": "max"}).collect()
    start, starts = 0, []
    for file, last in sorted((row[0], row[1]) for row in sizes):
        starts.append((file, start))
        start += last + 1
    known = spark.createDataFrame(starts or [("", 0)], "_file string, _start bigint")
    joined = places.join(known.hint("broadcast"), "_file")
    return joined.selectExpr(*(f"`{name}`" for name in frame.columns), "_start + _row AS seq")


def read_stream(
    spark: SparkSession,
    form: str,
    path: str = "",
    options: Mapping[str, str] | None = None,
    select: Sequence[str] = (),
) -> DataFrame:
    """A stream of events: files that appear in a folder (`json` lines or `parquet`), or any format of Spark.

    `select` are SQL expressions that make columns of events of others. The columns of Parquet files are those
    of the files that are there.
    """
    reader = spark.readStream.format("text" if form == "json" else form).options(**(options or {}))
    if form == "parquet":
        reader = reader.schema(spark.read.parquet(path).schema)
    frame = reader.load(path) if path else reader.load()
    if form in ("json", "text"):
        frame = frame.where("trim(value) != ''").selectExpr("value", f"_metadata.file_path AS {PATH}")
    return frame.selectExpr(*select) if select else frame


def write_stream(
    frame: DataFrame,
    write: Callable[[list[Line]], None],
    done: Callable[[], None],
    *,
    checkpoint: str,
    kinds: Mapping[str, str],
    limits: Limits,
    every: float | None,
) -> Any:
    """Start a query: the driver gives the rows of each micro-batch to `write`, in chunks, then calls `done`.

    After a crash Spark repeats the last batch, of which `write` may have had a part.
    Every so many seconds, or (None) once with all there is.
    """
    make = _line_maker(frame, kinds, limits)

    def take(batch: DataFrame, number: int) -> None:
        rows = batch.toLocalIterator(prefetchPartitions=True)
        while chunk := [make(row) for row in islice(rows, MOST)]:
            write(chunk)
        done()

    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)
    when = {"availableNow": True} if every is None else {"processingTime": f"{every * 1000:.0f} milliseconds"}
    return writer.trigger(**when).start()


def _line_maker(frame: DataFrame, kinds: Mapping[str, str], limits: Limits) -> Callable[[Any], Line]:
    """Makes an event line of a row: of its columns, or of the JSON in its column `value`."""
    columns = dict(frame.dtypes)
    if "subject" not in columns and columns.get("value") in ("string", "binary"):
        return lambda row: line_of(_message(row), limits)
    try:
        table = Table.of(frame.columns, kinds)
    except BadLine as bad:
        raise BadUsage(bad.message) from None

    def line(row: Any) -> Line:
        cells = row.asDict(recursive=True)
        body = json.dumps(cells, default=str).encode()
        position = f"row {cells.get('id')!r:.60}"
        if cells.get("id") in (None, ""):
            return Line(position, NO_ID, body)
        # Spark gives times in the zone of this machine.
        values = (cell.astimezone(UTC) if isinstance(cell, datetime) else cell for cell in cells.values())
        try:
            return Line(position, table.event_line(values), body)
        except BadLine as bad:
            return Line(position, bad.message, body)

    return line


def _message(row: Any) -> Message:
    cells = row.asDict()
    value, at, seq = cells["value"], cells.get("timestamp"), cells.get("offset")
    place = [
        str(cells[name]) for name in ("topic", "partition", "offset", PATH) if cells.get(name) is not None
    ]
    body = value.encode() if isinstance(value, str) else None if value is None else bytes(value)
    at = at.astimezone(UTC) if isinstance(at, datetime) else None
    return Message("/".join(place), body, at, seq)


def _prepared(frame: DataFrame, source: str) -> DataFrame:
    """The frame with the columns that order needs; BadUsage where it cannot be ordered."""
    from pyspark.sql import functions as f

    kinds = dict(frame.dtypes)
    if "subject" not in kinds:
        raise BadUsage(
            f"a DataFrame of events needs a column 'subject'; the columns are {', '.join(kinds)[:200]}"
        )
    if kinds.get("at") != "timestamp":
        raise BadUsage(
            f"invalid column 'at': {kinds.get('at', 'missing')}: expected timestamp (with a time zone)"
        )
    if "id" not in kinds and "seq" not in kinds:
        raise BadUsage(
            "missing column 'id' or 'seq': rows of a DataFrame have no order by which to tell them apart"
        )
    if READINGS in kinds:
        raise BadUsage(
            "column 'readings' holds objects: expected one column for each signal, like readings.risk"
        )
    if "source" not in kinds:
        frame = frame.withColumn("source", f.lit(source))
    else:
        frame = frame.withColumn("source", f.coalesce(f.col("source"), f.lit(source)))
    if "seq" not in kinds:
        frame = frame.withColumn("seq", f.lit(0).cast("bigint"))
    return frame if "id" in kinds else frame.withColumn("id", f.lit(None).cast("string"))


class _Facts:
    """What is known of all rows: how many there are, the newest, their kinds, and the columns with values."""

    def __init__(self, frame: DataFrame, kinds: Mapping[str, str]) -> None:
        from pyspark.sql import functions as f

        table = Table.of(frame.columns, kinds)
        counts = [
            f.count(f.col(f"`{name}`")).alias(f"c{number}") for number, name in enumerate(frame.columns)
        ]
        (row,) = frame.agg(
            f.count(f.lit(1)).alias("rows"), f.unix_micros(f.max("at")).alias("newest"), *counts
        ).collect()
        self.rows: int = row["rows"]
        self.newest = None if row["newest"] is None else moment(row["newest"])
        present = [column for number, column in enumerate(table.columns) if row[f"c{number}"]]
        self.readings = {column.name for column in present if column.place == READINGS}
        self.fields = {column.name for column in present if not column.place}
        if any(column.place == ATTRIBUTES for column in present):
            self.fields.add(ATTRIBUTES)
        lacking = self.rows - row[f"c{frame.columns.index('at')}"]
        if lacking:
            raise BadUsage(f"column 'at' is empty in {lacking:,} of {self.rows:,} rows: expected a time")
        self.kinds: set[str | None] = {table.kind}
        if "kind" in self.fields:
            self.kinds = {row[0] for row in frame.select("kind").distinct().collect()}


class _Reader:
    """Reads rows of whole subjects as events, by the rules of files; runs in the workers."""

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self.rules = rules

    def __call__(self, rows: Rows) -> tuple[EventSequence, Counter[str]]:
        """The events in order, and the cells of columns whose names look misspelt."""
        import pyarrow

        table = pyarrow.Table.from_batches(rows)
        measured = table[MEASURED].to_pylist() if MEASURED in table.column_names else None
        added: dict[tuple[str, int, str | None], str] = {}
        if measured is not None:
            keys = zip(*(table[name].to_pylist() for name in ("source", "seq", "id")), strict=True)
            added = {key: text for key, text in zip(keys, measured, strict=True) if text is not None}
            table = table.drop_columns([MEASURED])
        batches = [self._read(table, name) for name in table["source"].unique().to_pylist()]
        strays = sum((Counter(batch.strays) for batch in batches), Counter[str]())
        events = batches[0].events
        if len(batches) > 1:
            events = EventList(sorted((e for batch in batches for e in batch.events), key=lambda e: e.order))
        return (_with_measured(events, added) if added else events), strays

    def _read(self, table: Any, source: str) -> Batch:
        import pyarrow.compute

        own = table.filter(pyarrow.compute.equal(table["source"], source)).drop_columns(["source"])
        return read_frame(own, source=source, **self.rules)


def _with_measured(events: EventSequence, added: Mapping[tuple[str, int, str | None], str]) -> EventSequence:
    def add(event: Event) -> Event:
        own = (event.source, event.seq)
        text = added.get((*own, event.id)) or added.get((*own, None))
        if text is None:
            return event
        readings, scorers = json.loads(text)
        return event.read_as({**event.readings, **readings}, {**event.scorers, **scorers})

    return EventList(map(add, events))


class _Look:
    """Looks at the partitions of subjects; runs in the workers."""

    def __init__(self, job: Job, read: _Reader, block_rows: int) -> None:
        self.job, self.read, self.block_rows = job, read, block_rows

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        def answer(item: object) -> Any:
            content = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
            return pyarrow.RecordBatch.from_pydict({"looked": pyarrow.array([content], pyarrow.binary())})

        long: _LongSubject | None = None
        try:
            for rows, is_whole in blocks(batches, self.block_rows):
                if not rows:
                    assert long is not None
                    yield answer(long.looked())
                    long = None
                    continue
                events, strays = self.read(rows)
                if is_whole:
                    yield answer((look_at_events(self.job, events), strays))
                else:
                    long = long or _LongSubject(self.job)
                    long.add(events, strays)
        except BadEvents as error:
            # With the faults, which Spark would show as a trace of a worker.
            yield answer(BadUsage("\n".join(map(str, error.faults))))
        except EthogramError as error:
            yield answer(error)


def blocks(batches: Iterable[Any], most: int) -> Iterator[tuple[Rows, bool]]:
    """Rows of whole subjects, and true; of a subject with too many, pieces with false, and then no rows."""
    rows: Rows = []
    total = tail = 0  # rows, and those of the last subject
    last: tuple[str, str] | None = None
    is_long = False
    for batch in batches:
        if not batch.num_rows:
            continue
        starts = _starts(batch)
        first, newest = _key(batch, 0), _key(batch, batch.num_rows - 1)
        if is_long:
            end = 0 if first != last else starts[0] if len(starts) else batch.num_rows
            if end:
                yield [batch.slice(0, end)], False
            if end < batch.num_rows:
                yield [], False
                is_long = False
                batch = batch.slice(end)
                starts = _starts(batch)
                first = _key(batch, 0)
            last = newest
            if is_long:
                continue
        if len(starts):
            tail = batch.num_rows - starts[-1]
        else:
            tail = batch.num_rows + (tail if rows and first == last else 0)
        rows.append(batch)
        total += batch.num_rows
        last = newest
        if total < most:
            continue
        if total > tail:
            whole, rows = _split(rows, total - tail)
            yield whole, True
            total = tail
        if total >= most:
            yield rows, False
            rows, total, tail, is_long = [], 0, 0, True
    if is_long:
        yield [], False
    if rows:
        yield rows, True


def _key(batch: Any, row: int) -> tuple[str, str]:
    return batch.column("source")[row].as_py(), batch.column("subject")[row].as_py()


def _starts(batch: Any) -> list[int]:
    """The rows at which another subject begins, the first row apart."""
    import pyarrow.compute as pc

    other = None
    for name in KEY:
        column = batch.column(name)
        differs = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        other = differs if other is None else pc.or_(other, differs)
    return [row + 1 for row in pc.indices_nonzero(other).to_pylist()]


def _split(rows: Rows, count: int) -> tuple[Rows, Rows]:
    head: Rows = []
    for number, batch in enumerate(rows):
        if batch.num_rows >= count:
            rest = [batch.slice(count)] if batch.num_rows > count else []
            return [*head, batch.slice(0, count)], [*rest, *rows[number + 1 :]]
        head.append(batch)
        count -= batch.num_rows
    return head, []


class _LongSubject:
    """A subject whose events are looked at piece by piece and not kept."""

    def __init__(self, job: Job) -> None:
        self.job, self.part = job, LongPart(job.programs, job.as_of)
        self.measurer = measurer_of(job.measuring, job.settings, job.known)
        self.known = known_signals(job.programs, load_vocabulary(job.settings.signals))
        self.events, self.names, self.strays = 0, set[str](), Counter[str]()
        self.unused: Counter[tuple[str, str]] = Counter()
        self.strange: dict[str, Any] = {}

    def add(self, events: EventSequence, strays: Counter[str]) -> None:
        """Take in the next piece."""
        scorers = self.job.settings.scorers
        supplied, before = only_scorers(events, scorers)
        measured = EventList(self.measurer.measure(without_steps(event)) for event in supplied)
        scored, after = only_scorers(measured, scorers)
        self.part.add(scored)
        self.unused += before + after
        self.events += len(events)
        self.names |= scored.reading_names()
        self.strays += strays
        for name, (count, order) in events.unknown_readings(self.known, MOST_NAMES).items():
            earlier, first = self.strange.get(name, (0, order))
            self.strange[name] = (earlier + count, first)

    def looked(self) -> tuple[Looked, Counter[str]]:
        """What was found."""
        unmeasured = Counter(self.measurer.unmeasured)
        part = self.part.result()
        return Looked(part, self.events, 1, self.unused, unmeasured, self.strange, self.names), self.strays


def _measured(frame: DataFrame, names: Sequence[str], read: _Reader, settings: Settings) -> DataFrame:
    """The frame with the readings of signals that look beyond a subject, measured in order of time."""
    from pyspark.sql.types import StringType, StructField, StructType

    by_thread = all(item.scope not in OF_ALL for item in plan(names)) and "thread" in frame.columns
    ordered = frame.repartition("source", "thread") if by_thread else frame.repartition(1)
    # Events without a thread stay together, which is one partition with little to measure.
    ordered = ordered.sortWithinPartitions(*ORDER)
    schema = StructType([*frame.schema.fields, StructField(MEASURED, StringType())])
    return ordered.mapInArrow(_Measure(tuple(names), read, settings), schema)


class _Measure:
    """Measures signals over a partition in order of time; runs in the workers."""

    def __init__(self, names: tuple[str, ...], read: _Reader, settings: Settings) -> None:
        self.names, self.read, self.settings = names, read, settings

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        measurer = Measurer(self.names, Options.of(self.settings))
        scorers = {item.name: item.scorer for item in plan(self.names)}
        for batch in batches:
            if not batch.num_rows:
                continue
            columns = (batch.column(name).to_pylist() for name in ("source", "seq", "id"))
            keys = list(zip(*columns, strict=True))
            given, added = set(keys), dict[Any, str]()
            events, _ = self.read([batch])
            for event in only_scorers(events, self.settings.scorers)[0]:
                measured = measurer.measure(without_steps(event))
                own = {
                    name: measured.readings[name]
                    for name in self.names
                    if name in measured.readings and measured.scorers.get(name) == scorers[name]
                }
                if own:
                    by = {name: scorers[name] for name in own}
                    key = (event.source, event.seq, event.id)
                    added[key if key in given else (*key[:2], None)] = json.dumps([own, by])
            texts = pyarrow.array([added.get(key) for key in keys], pyarrow.large_string())
            yield pyarrow.RecordBatch.from_arrays(
                [*batch.columns, texts], names=[*batch.schema.names, MEASURED]
            )


class _FrameEvents(EventCollection):
    """The events of a frame, as far as the final pass reads them."""

    def __init__(self, frame: DataFrame, facts: _Facts) -> None:
        self._frame, self._facts = frame, facts

    def values(self, *names: str) -> Iterator[Any]:
        return self._values(self._frame, names)

    def values_of(self, whose: Collection[tuple[str, str]], *names: str) -> Iterator[Any]:
        from pyspark.sql import functions as f

        frame, subjects = self._frame, sorted({subject for _, subject in whose})
        if len(subjects) <= MOST_NAMES:
            frame = frame.where(f.col("subject").isin(subjects))
        rows = self._values(frame, (*KEY, *names))
        return (own for source, subject, *own in rows if (source, subject) in whose)

    def counts(self, *names: str) -> Counter[Any]:
        if names == ("source", "timed"):
            rows = self._frame.groupBy("source").count().collect()
            return Counter({(row[0], True): row[1] for row in rows})
        return super().counts(*names)

    def has(self, name: str) -> bool:
        return name in self._facts.fields

    def reading_names(self) -> set[str]:
        return set(self._facts.readings)

    def untimed_sources(self) -> set[str]:
        return set()

    def __len__(self) -> int:
        return self._facts.rows

    def __iter__(self) -> Iterator[Event]:
        raise NotImplementedError("events of a DataFrame are read by column")

    def __contains__(self, item: object) -> bool:
        return False

    def _values(self, frame: DataFrame, names: Sequence[str]) -> Iterator[Any]:
        from pyspark.sql import functions as f

        def column(name: str) -> Any:
            if name == "at":
                return f.unix_micros("at").alias("at")
            return f.col(name) if name in frame.columns else f.lit(None).alias(name)

        for row in frame.select(*map(column, dict.fromkeys(names))).toLocalIterator(prefetchPartitions=True):
            own = [moment(row[name]) if name == "at" else row[name] for name in names]
            yield own[0] if len(own) == 1 else tuple(own)
