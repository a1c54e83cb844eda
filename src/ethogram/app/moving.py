"""Copy a store into another, and export it as Parquet or as CSV for neo4j-admin."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import BadUsage, MissingExtra
from ..fields import Count, RecordStruct
from ..files.private import make_private_file
from ..models import TRAITS, Event, format_time
from ..models.detection import STANDING
from ..store.moving import Rows
from ..store.records import Store, SubjectRow, Who
from .stored_events import chunks

ROWS = 50_000
"""Events in a row group of a Parquet file."""
TEXTS = ("source", "id", "subject", "target", "thread", "session", "reply_to", "kind", "text")
NODES = {
    "subjects": ("key:ID(Subject)", "id", "source", ":LABEL"),
    "messages": (
        "key:ID(Message)", "id", "source", "at:datetime", *(f"trait_{name}:double" for name in TRAITS),
        ":LABEL",
    ),
    "patterns": ("name:ID(Pattern)", "title", ":LABEL"),
}  # fmt: skip
RELATIONSHIPS = {
    "sent": (":START_ID(Subject)", ":END_ID(Message)", ":TYPE"),
    "precedes": (":START_ID(Message)", ":END_ID(Message)", ":TYPE"),
    "exhibits": (
        ":START_ID(Subject)", ":END_ID(Pattern)", "id", "episode:int", "severity", "confidence:double",
        "detected_at:datetime", "start_eval_id", "end_eval_id", "eval_count:int", ":TYPE",
    ),
}  # fmt: skip
"""The files of an export for neo4j-admin, and their headers."""


class Copied(RecordStruct):
    """What was copied from one store into another."""

    RECORD = "copy"

    store: str
    """The new store."""
    rows: dict[str, Count]
    """By table."""


def copy_store(source: Store, target: Store) -> Copied:
    """Copy everything but unfinished imports into an empty store, in one commit."""
    rows: Counter[str] = Counter()

    def counted() -> Iterator[Rows]:
        for name, batch in source.dump():
            rows[name] += len(batch)
            yield name, batch

    target.load(counted())
    return Copied(target.url, dict(rows))


# --- Parquet --------------------------------------------------------------------------------


def export_parquet(store: Store, path: str | Path, subjects: Sequence[SubjectRow]) -> int:
    """Write events as a Parquet file with a column for each signal; return how many.

    `ethogram analyze` and `store import` read it. Attributes are JSON text; who scored is left out.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "writing Parquet files") from None
    kinds: dict[str, set[type]] = {}
    for event in _events(store, subjects):
        for name, value in event.readings.items():
            kinds.setdefault(name, set()).add(type(value))
    mixed = sorted(name for name, types in kinds.items() if str in types and len(types) > 1)
    if mixed:
        raise BadUsage(f"the signal {mixed[0]!r:.60} has numbers and texts, which no column of Parquet holds")
    schema = pa.schema(
        [
            *((name, pa.string()) for name in TEXTS),
            ("at", pa.timestamp("us", "UTC")),
            ("seq", pa.int64()),
            ("attributes", pa.string()),
            *((name, pa.string() if str in kinds[name] else pa.float64()) for name in sorted(kinds)),
        ]
    )
    make_private_file(path)
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for batch in _batches(_events(store, subjects)):
            columns: dict[str, list[Any]] = {name: [getattr(item, name) for item in batch] for name in TEXTS}
            columns["seq"] = [item.seq for item in batch]
            columns["at"] = [item.at if item.timed else None for item in batch]
            columns["attributes"] = [
                json.dumps(dict(item.attributes)) if item.attributes else None for item in batch
            ]
            columns |= {name: [item.readings.get(name) for item in batch] for name in kinds}
            writer.write_table(pa.table({name: columns[name] for name in schema.names}, schema=schema))
            count += len(batch)
    return count


def _events(store: Store, subjects: Sequence[SubjectRow]) -> Iterator[Event]:
    for piece in chunks(subjects):
        yield from store.events([row.who for row in piece])


def _batches(events: Iterable[Event]) -> Iterator[list[Event]]:
    batch: list[Event] = []
    for event in events:
        batch.append(event)
        if len(batch) == ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


# --- neo4j-admin ----------------------------------------------------------------------------


def export_neo4j(store: Store, folder: str | Path, subjects: Sequence[SubjectRow]) -> list[str]:
    """Write nodes and relationships for `neo4j-admin database import`; return its options.

    Subject SENT Message PRECEDES Message, in the order of a subject's history; Subject EXHIBITS_PATTERN
    Pattern. Ids of nodes are the source and the id, in JSON, so that no two are the same.
    """
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = {}
        for name, header in {**NODES, **RELATIONSHIPS}.items():
            make_private_file(into / f"{name}.csv")
            file = stack.enter_context(open(into / f"{name}.csv", "w", encoding="utf-8", newline=""))
            files[name] = csv.writer(file, lineterminator="\n")
            files[name].writerow(header)
        for piece in chunks(subjects):
            _write_histories(files, store, [row.who for row in piece])
        _write_patterns(files, store, {row.who for row in subjects})
    return [
        "--multiline-fields=true",  # a name may have a line break
        *(f"--nodes={into / name}.csv" for name in NODES),
        *(f"--relationships={into / name}.csv" for name in RELATIONSHIPS),
    ]


def _write_histories(files: Mapping[str, Any], store: Store, subjects: Sequence[Who]) -> None:
    last: dict[Who, str] = {}
    for who in subjects:
        files["subjects"].writerow((_key(*who), who[1], who[0], "Subject"))
    for event in sorted(store.events(subjects), key=lambda item: item.order):
        key, who = _key(event.source, event.id), (event.source, event.subject)
        traits = (event.readings.get(name, "") for name in TRAITS)
        at = format_time(event.at) if event.timed else ""
        files["messages"].writerow((key, event.id, event.source, at, *traits, "Message"))
        files["sent"].writerow((_key(*who), key, "SENT"))
        if who in last:
            files["precedes"].writerow((last[who], key, "PRECEDES"))
        last[who] = key


def _write_patterns(files: Mapping[str, Any], store: Store, subjects: set[Who]) -> None:
    titles: dict[str, str] = {}
    episodes: Counter[tuple[str, str, str]] = Counter()
    for item in store.detections(states=STANDING, parts=False):
        who = (item.source, item.subject)
        if who not in subjects:
            continue
        titles.setdefault(item.pattern, item.title)
        episodes[(*who, item.pattern)] += 1
        files["exhibits"].writerow(
            (
                _key(*who), item.pattern, item.id, episodes[(*who, item.pattern)], item.severity,
                item.confidence, format_time(item.detected_at), item.first_event, item.last_event, item.count,
                "EXHIBITS_PATTERN",
            )
        )  # fmt: skip
    for name, title in sorted(titles.items()):
        files["patterns"].writerow((name, title, "Pattern"))


def _key(source: str, name: str) -> str:
    return json.dumps([source, name], ensure_ascii=False)
