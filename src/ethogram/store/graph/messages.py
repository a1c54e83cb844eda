"""Write events as messages of a graph, each once, and link them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import BadEvents, Fault
from ..imports import MAX_CLASHES, mixed_times, where_in_store
from ..records import Added, Clash, Clashes, Who
from ..rows import Row, event_of, event_values
from ..sql import in_pieces
from .connection import Transaction
from .events import FIELDS, properties_of, readings_of

BATCH = 1000
"""Events in one query."""
LAST_KEY = "last_key"
LATEST_SEQ = 2**63 - 1


class NewEvent(NamedTuple):
    """An event to write: where it was read, its values of FIELDS, and readings that were measured."""

    source: str
    subject: str
    file: int
    line: int
    values: Row
    measured: Sequence[Sequence[Any]]

    @property
    def id(self) -> str:
        return str(self.values[0])

    @property
    def content(self) -> bytes:
        return bytes(self.values[1])

    @property
    def is_timed(self) -> int:
        return int(self.values[4])

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place in a history: time, seq, id."""
        return (self.values[2], self.values[3], self.id)

    @property
    def properties(self) -> dict[str, Any]:
        """The properties of its message."""
        row = {"source": self.source, "subject": self.subject, **dict(zip(FIELDS, self.values, strict=True))}
        made = properties_of(row, self.measured)
        return {name: value for name, value in made.items() if value is not None}


def next_number(tx: Transaction, name: str, count: int = 1) -> int:
    """The first of so many numbers that were never given before."""
    query = """MERGE (c:Counter {name: $name}) SET c.value = coalesce(c.value, 0) + $count
      RETURN c.value - $count + 1"""
    first: int = tx.value(query, name=name, count=count)
    return first


def get_meta(tx: Transaction, name: str) -> int | None:
    """A number under a name, or None."""
    number: int | None = tx.value("MATCH (m:Meta {name: $name}) RETURN m.value", name=name)
    return number


def set_meta(tx: Transaction, name: str, value: int) -> None:
    """Set a number under a name."""
    tx.run("MERGE (m:Meta {name: $name}) SET m.value = $value", name=name, value=value)


def write_events(tx: Transaction, events: Sequence[NewEvent], skip_clashes: bool = False) -> Added:
    """Write events that the graph does not have; Clashes, unless skipped, where an id has other content."""
    times: dict[str, set[int]] = {}
    for item in events:
        times.setdefault(item.source, set()).add(item.is_timed)
    check_sources(tx, times, make=True)
    new, again, clashes = sift(tx, events)
    if clashes and not skip_clashes:
        raise Clashes(clashes[:MAX_CLASHES])
    if new:
        _write(tx, new)
    return Added(len(new), len(again), tuple(clashes), tuple(item.line for item in again))


def check_sources(tx: Transaction, times: Mapping[str, set[int]], *, make: bool = False) -> None:
    """BadEvents where a source has times and none; `make` makes those that are new."""
    query = "UNWIND $names AS name MATCH (o:Source {name: name}) RETURN name, o.timed"
    known = dict(tx.run(query, names=list(times)))
    faults = [
        Fault("", 0, 0, mixed_times(name, known.get(name)))
        for name, own in times.items()
        if len(own) > 1 or known.get(name) not in (None, *own)
    ]
    if faults:
        raise BadEvents(faults)
    for name, (timed,) in times.items():
        if make and name not in known:
            new = "CREATE (:Source {key: $key, name: $name, timed: $timed, next_seq: 0, kinds: '{}'})"
            tx.run(new, key=next_number(tx, "sources"), name=name, timed=timed)


def sift(tx: Transaction, events: Sequence[NewEvent]) -> tuple[list[NewEvent], list[NewEvent], list[Clash]]:
    """The events that the graph has not, those that it has, and clashes with those of other content."""
    keys = [[item.source, item.id] for item in events]
    find = (
        "UNWIND $keys AS key MATCH (m:Message {source: key[0], id: key[1]}) RETURN m.source, m.id, m.content"
    )
    known = {(source, name): content for source, name, content in tx.run(find, keys=keys)}
    if not known:
        return list(events), [], []
    row = f"""MATCH (m:Message {{source: $source, id: $id}})
      RETURN m.subject, m.measured, {", ".join(f"m.{name}" for name in FIELDS)}"""
    new: list[NewEvent] = []
    again: list[NewEvent] = []
    clashes: list[Clash] = []
    for item in events:
        content = known.get((item.source, item.id))
        if content is None:
            new.append(item)
            continue
        clash = None
        if content != item.content.hex():
            ((subject, measured, *values),) = tx.run(row, source=item.source, id=item.id)
            clash = _clash(item, subject, measured, values)
        if clash is None:
            again.append(item)
        else:
            clashes.append(clash)
    return new, again, clashes


def _clash(item: NewEvent, subject: str, measured: str | None, values: Sequence[Any]) -> Clash | None:
    """The clash with a message; None where the new event is the same without its text."""
    bare = tuple(None if name == "text" else value for name, value in zip(FIELDS, values, strict=True))
    for readings in ((), readings_of(measured)):
        event = event_of(item.source, subject, bare, readings)
        if event_values(event, keep_text=False)[1] == item.content:
            return None
    return Clash(item.id, item.file, item.line, where_in_store(event))


def _write(tx: Transaction, events: Sequence[NewEvent]) -> None:
    """Make messages of events, in the order of their keys, and link them."""
    first = (get_meta(tx, LAST_KEY) or 0) + 1
    histories: dict[Who, list[tuple[NewEvent, int]]] = {}
    seqs: dict[str, int] = {}
    for key, item in enumerate(events, first):
        histories.setdefault((item.source, item.subject), []).append((item, key))
        if item.values[3] < LATEST_SEQ:
            seqs[item.source] = max(item.values[3] + 1, seqs.get(item.source, 0))
    rows = []
    for (source, subject), own in histories.items():
        changed = own[-1][1]
        own.sort(key=lambda pair: pair[0].order)
        low, high = own[0][0].values[2], own[-1][0].values[2]
        rows.append([source, subject, len(own), low, high, changed])
    touched, unknown = [], []
    for source, subject, low, high, before in tx.run(_SUBJECTS, rows=rows):
        if before is None:
            unknown.append([source, subject])
        else:
            # Where all are later than what was there, only the first is linked to what is before it.
            ends = {"low": low, "high": low if before < low else high}
            touched.append({"source": source, "subject": subject, **ends})
    if unknown:
        start = next_number(tx, "subjects", len(unknown))
        tx.run(_SUBJECT_KEYS, rows=[[*who, start + n] for n, who in enumerate(unknown)])
    tx.run(_SOURCES, rows=[list(item) for item in seqs.items()])
    group: list[list[Any]] = []
    count = 0
    for who, own in histories.items():
        group.append([*who, [item.properties | {"key": key} for item, key in own]])
        count += len(own)
        if count >= BATCH:
            tx.stream(LINKED, histories=group)  # the next are made while the server writes these
            group, count = [], 0
    if group:
        tx.stream(LINKED, histories=group)
    for part in in_pieces(touched, BATCH):
        tx.run(PRECEDES, touched=part)
    set_meta(tx, LAST_KEY, first + len(events) - 1)


_SUBJECTS = """UNWIND $rows AS row
  MERGE (s:Subject {source: row[0], id: row[1]})
  WITH s, row, CASE WHEN s.key IS NULL THEN NULL ELSE coalesce(s.last_us, row[3]) END AS before
  SET s.events = coalesce(s.events, 0) + row[2], s.changed = row[5],
    s.first_us = CASE WHEN s.first_us < row[3] THEN s.first_us ELSE row[3] END,
    s.last_us = CASE WHEN s.last_us > row[4] THEN s.last_us ELSE row[4] END
  RETURN row[0], row[1], row[3], row[4], before"""
_SUBJECT_KEYS = """UNWIND $rows AS row MATCH (s:Subject {source: row[0], id: row[1]}) SET s.key = row[2]"""
_SOURCES = """UNWIND $rows AS row MATCH (o:Source {name: row[0]}) WHERE o.next_seq < row[1]
  SET o.next_seq = row[1]"""
AT = "datetime({{epochMillis: 0}}) + duration({{microseconds: {}.at_us}})"
"""The time of a message; the driver takes long to send one."""
SHOW = """WHERE m.shows IS NOT NULL
  UNWIND range(0, size(m.shows) - 1) AS i
  MERGE (of:Indicator {name: m.shows[i]})
  CREATE (m)-[:SHOWS {score: m.scores[i]}]->(of)"""
SENT = f"""UNWIND $histories AS history
  MATCH (s:Subject {{source: history[0], id: history[1]}})
  CALL (s, history) {{
    UNWIND history[2] AS row
    CREATE (s)-[:SENT]->(m:Message)
    SET m = row, m.at = {AT.format("row")}
    RETURN collect(m) AS line
  }}
  CALL (line) {{ UNWIND line AS m WITH m {SHOW} }}"""
"""Makes messages of histories: source, subject and rows each."""
_LINK = """UNWIND range(0, size(line) - 2) AS i
  WITH line[i] AS earlier, line[i + 1] AS later
  CREATE (earlier)-[:PRECEDES]->(later)"""
LINKED = f"{SENT} {_LINK}"
PRECEDES = f"""UNWIND $touched AS t
  CALL (t) {{
    OPTIONAL MATCH (b:Message {{source: t.source, subject: t.subject}}) WHERE b.at_us < t.low
    RETURN b ORDER BY b.source DESC, b.subject DESC, b.at_us DESC, b.seq DESC, b.id DESC LIMIT 1
  }}
  CALL (t) {{
    OPTIONAL MATCH (a:Message {{source: t.source, subject: t.subject}}) WHERE a.at_us > t.high
    RETURN a ORDER BY a.source, a.subject, a.at_us, a.seq, a.id LIMIT 1
  }}
  CALL (t) {{
    MATCH (m:Message {{source: t.source, subject: t.subject}}) WHERE t.low <= m.at_us <= t.high
    WITH m ORDER BY m.at_us, m.seq, m.id
    RETURN collect(m) AS between
  }}
  WITH [x IN [b] + between + [a] WHERE x IS NOT NULL] AS line
  CALL (line) {{
    UNWIND line[..-1] AS m
    MATCH (m)-[r:PRECEDES]->()
    DELETE r
  }}
  {_LINK}"""
"""Links the messages of subjects anew from `low` to `high`, and to those before and after."""
