"""The tables as SQLAlchemy sees them. The migrations make them; a test compares the two."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()
# JSON is kept as text: SQLAlchemy's own JSON type is refused by STRICT tables.
_TYPES = {"text": Text, "int": Integer, "real": Float, "blob": LargeBinary}


def _table(name: str, /, **columns: str) -> Table:
    made: list[Column[Any]] = [Column(column, _TYPES[kind]) for column, kind in columns.items()]
    return Table(name, METADATA, *made)


EVENT_FIELDS = {
    "id": "text",
    "content": "blob",
    "at_us": "int",
    "seq": "int",
    "timed": "int",
    "received_us": "int",
    "target": "text",
    "thread": "text",
    "session": "text",
    "reply_to": "text",
    "kind": "text",
    "text": "text",
    "attributes": "text",
    "readings": "text",
}
READING_FIELDS = {"signal": "text", "number": "real", "text": "text", "scorer": "text", "width": "int"}

schema_version = _table("schema_version", version="int")
meta = _table("meta", name="text", value="int")
sources = _table("sources", key="int", name="text", timed="int", next_seq="int", kinds="text")
subjects = _table(
    "subjects",
    key="int",
    source="int",
    name="text",
    events="int",
    first_us="int",
    last_us="int",
    changed="int",
)
events = _table("events", key="int", source="int", subject="int", **EVENT_FIELDS)
readings = _table("readings", event="int", **READING_FIELDS)
imports = _table(
    "imports", number="int", key="text", begun_us="int", staged="int", repeated="int", state="text"
)
staged = _table(
    "staged",
    **{"n": "int", "import": "int", "source": "text", "subject": "text", "file": "int", "line": "int"},
    **EVENT_FIELDS,
)
staged_readings = _table("staged_readings", n="int", **READING_FIELDS)
files = _table("files", options="text", hash="text", events="int", imported_us="int")
detections = _table(
    "detections",
    id="text",
    pattern="text",
    version="text",
    state="text",
    status="text",
    part="int",
    source="text",
    subject="text",
    target="text",
    thread="text",
    severity="text",
    confidence="real",
    opened_us="int",
    detected_us="int",
    closed_us="int",
    record="text",
)
changes = _table(
    "changes",
    key="int",
    detection="text",
    change="text",
    as_of_us="int",
    state="text",
    severity="text",
    version="text",
    confidence="real",
    told="int",
)
verdicts = _table(
    "verdicts",
    key="int",
    verdict="text",
    judge="text",
    at_us="int",
    pattern="text",
    version="text",
    detection="text",
    subject="text",
    first_event="text",
    last_event="text",
    why="text",
    source="text",
    blind="int",
)
verdict_counts = _table(
    "verdict_counts",
    pattern="text",
    version="text",
    source="text",
    month="text",
    percent="int",
    verdict="text",
    count="int",
)
settled = _table(
    "settled",
    detection="text",
    pattern="text",
    source="text",
    subject="text",
    first_event="text",
    last_event="text",
    verdict="text",
)
tries = _table("tries", key="int", at_us="int", pattern="text", version="text", data="text", record="text")
sweeps = _table("sweeps", selection="text", versions="text", as_of_us="int", finished_us="int")
swept = _table(
    "swept", selection="text", subject="int", versions="text", changed="int", as_of_us="int", due_us="int"
)
runner_states = _table("runner_states", name="text", key="text", saved_us="int", state="blob", subject="text")
locks = _table(
    "locks", name="text", token="text", pid="int", started="text", host="text", begun_us="int", beat_us="int"
)
looks = _table("looks", key="int", at_us="int", what="text", person="text", who="text", why="text")
