"""Purge of a graph: remove messages and what is derived from them; count or redact mentions of a subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ...models import micros
from ..purge import JSON, PLACES, PURGED_BEFORE, REDACTIONS, replaced, replacer
from ..records import TALKS, Purged, Who
from ..schema import EVENT_FIELDS
from .connection import Graph, Transaction
from .events import decode_measured, properties_of
from .messages import AT, get_meta, set_meta
from .records import VERDICT_ROW, settle


class Part(NamedTuple):
    """Where the rows of a table are in a graph; `source`: their property names the source, or may be ''."""

    match: str
    source: str | None = None


PARTS = {
    "events": Part("MATCH (n:Message)", "n.source = $source"),
    "sources": Part("MATCH (n:Source)"),
    "detections": Part("MATCH ()-[n:EXHIBITS_PATTERN]->()", "n.source = $source"),
    "verdicts": Part("MATCH (n:Verdict)", "n.source IN ['', $source]"),
    "settled": Part("MATCH (n:Settled)", "n.source IN ['', $source]"),
    "counts": Part("MATCH (n:VerdictCount)"),
    "tries": Part("MATCH (n:Try)"),
    "states": Part("MATCH (n:State)"),
    "looks": Part("MATCH (n:Look)"),
    "notes": Part("MATCH (n:Note)"),
}
_JUDGED = """MATCH (n:Note {kind: 'triage'})
  WHERE NOT EXISTS { MATCH ()-[r:EXHIBITS_PATTERN {id: n.key}]->() } DELETE n"""
"""Notes on detections go with them."""
READINGS = "readings"
"""The kind of mentions in readings that were added to events: they are with the message."""


class Purges(Graph):
    """Removal of stored data."""

    def purge(
        self, *, subject: Who | str | None = None, before: datetime | None = None, redact: bool = False
    ) -> Purged:
        """Remove a subject (in all sources, or in one), or what lies before a moment, or both.

        The server frees the space of what was removed when it needs it; its logs and backups are its own.
        """

        def work(tx: Transaction) -> Purged:
            counts: dict[str, int] = {}
            placeholder = None
            events, gone = _events(tx, subject, before)
            detections = _detections(tx, subject, before)
            if before is not None:
                for source, name in gone:
                    own = "n.source = $source AND n.subject = $name"
                    detections += _remove(tx, own, [], source=source, name=name)
                _silences(tx)
            for label in ("Staged", "Import", "ImportedFile"):
                tx.run(f"MATCH (n:{label}) DELETE n")
            tx.run(_JUDGED)
            states = _states(tx, subject, before)
            tx.run("MATCH (s:Subject {events: 0}) WHERE NOT (s)-[:EXHIBITS_PATTERN]->() DETACH DELETE s")
            if subject is not None and before is None:
                if redact:
                    counts, placeholder = _redact(tx, subject)
                _remove_name(tx, subject)
                if not redact:
                    counts = _mentions(tx, subject, None)
            if before is not None:
                earlier = get_meta(tx, PURGED_BEFORE)
                set_meta(tx, PURGED_BEFORE, max(micros(before), earlier or micros(before)))
            return Purged(events, detections, True, states, counts, placeholder)

        return self.write(work)

    def purged_before(self) -> int | None:
        """Microseconds since 1970 before which something was purged, if anything was."""
        return self.read(lambda tx: get_meta(tx, PURGED_BEFORE))


def _values(subject: Who | str | None, before: datetime | None = None) -> dict[str, Any]:
    """The values of $source, $name and $before; None where not given."""
    source, name = (None, subject) if subject is None or isinstance(subject, str) else subject
    return {"source": source, "name": name, "before": None if before is None else micros(before)}


def _events(tx: Transaction, subject: Who | str | None, before: datetime | None) -> tuple[int, list[Who]]:
    """Remove messages; return how many, and the subjects that have none left."""
    values = _values(subject, before)
    which = """MATCH (s:Subject)-[:SENT]->(m:Message) WHERE ($name IS NULL OR s.id = $name)
      AND ($source IS NULL OR s.source = $source) AND ($before IS NULL OR m.at_us < $before)"""
    touched = tx.run(f"{which} RETURN DISTINCT s.source, s.id", **values)
    removed = tx.value(f"{which} DETACH DELETE m RETURN count(m)", **values)
    recount = """UNWIND $who AS who MATCH (s:Subject {source: who[0], id: who[1]})
      OPTIONAL MATCH (s)-[:SENT]->(m:Message)
      WITH s, count(m) AS n, min(m.at_us) AS first, max(m.at_us) AS last
      SET s.events = n, s.first_us = first, s.last_us = last
      WITH s, n WHERE n = 0 OPTIONAL MATCH (s)-[w:SWEPT]->() DELETE w
      RETURN DISTINCT s.source, s.id"""
    return removed, tx.run(recount, who=[list(who) for who in touched])


def _remove_name(tx: Transaction, subject: Who | str) -> None:
    """Remove the name from the messages of others and from the audit."""
    values = _values(subject)
    forget = """MATCH (m:Message {target: $name}) WHERE $source IS NULL OR m.source = $source
      REMOVE m.target"""
    tx.run(forget, **values)
    tx.run("MATCH (l:Look {person: $name}) REMOVE l.person SET l.why = ''", **values)


def _detections(tx: Transaction, subject: Who | str | None, before: datetime | None) -> int:
    values = _values(subject, before)
    where = """($name IS NULL OR n.subject = $name OR n.target = $name)
      AND ($source IS NULL OR n.source = $source)
      AND ($before IS NULL OR (coalesce(n.closed_us, n.detected_us) < $before AND n.episode <> 'opened'))"""
    also = [] if subject is None else ["n.subject = $name AND ($source IS NULL OR n.source IN ['', $source])"]
    return _remove(tx, where, also, **values)


def _remove(tx: Transaction, where: str, judged: list[str], **values: Any) -> int:
    """Remove detections, and count and remove the verdicts on them and those that `judged` names."""
    ids = [
        name for (name,) in tx.run(f"MATCH ()-[n:EXHIBITS_PATTERN]->() WHERE {where} RETURN n.id", **values)
    ]
    conditions = " OR ".join(["n.detection IN $ids", *(f"({item})" for item in judged)])
    rows = tx.maps(
        f"MATCH (n:Verdict) WHERE {conditions} WITH n AS v RETURN {VERDICT_ROW} ORDER BY at_us, key",
        ids=ids, **values,
    )  # fmt: skip
    settle(tx, rows, remember=False)
    tx.run(f"MATCH (n:Settled) WHERE {conditions} DELETE n", ids=ids, **values)
    tx.run("UNWIND $ids AS id MATCH (c:Change {detection: id}) DELETE c", ids=ids)
    tx.run("UNWIND $ids AS id MATCH ()-[r:EXHIBITS_PATTERN {id: id}]->() DELETE r", ids=ids)
    return len(ids)


def _silences(tx: Transaction) -> None:
    """Count and remove verdicts on silences that begin or end at a removed message."""
    lost = """any(x IN [n.first_event, n.last_event] WHERE x IS NULL OR NOT EXISTS {
      MATCH (s:Subject {id: n.subject})-[:SENT]->(m:Message {id: x}) WHERE n.source IN ['', s.source] })"""
    query = f"MATCH (n:Verdict) WHERE n.detection IS NULL AND {lost} WITH n AS v RETURN {VERDICT_ROW}"
    settle(tx, tx.maps(f"{query} ORDER BY at_us, key"), remember=False)
    tx.run(f"MATCH (n:Settled) WHERE n.detection = '' AND {lost} DELETE n")


def _states(tx: Transaction, subject: Who | str | None, before: datetime | None) -> int:
    """Remove states, and return how many of subjects; all without a subject go, since they can be rebuilt."""
    tx.run("MATCH (s:State) WHERE s.subject IS NULL DELETE s")
    if isinstance(subject, tuple) and subject[0] != TALKS:
        return 0
    gone = """MATCH (s:State) WHERE s.subject IS NOT NULL AND ($name IS NULL OR s.subject = $name)
      AND ($before IS NULL OR s.saved_us < $before) DELETE s RETURN count(s)"""
    removed: int = tx.value(gone, **_values(subject, before))
    return removed


def _redact(tx: Transaction, subject: Who | str) -> tuple[dict[str, int], str]:
    """Replace the id everywhere; return how many rows of each kind had it, and the placeholder."""
    number = get_meta(tx, REDACTIONS) or 0
    taken = True
    while taken:
        number += 1
        placeholder = "[purged]" if number == 1 else f"[purged-{number}]"
        taken = tx.value("RETURN EXISTS { MATCH (m:Message) WHERE m.id CONTAINS $text }", text=placeholder)
    record = _mentions(tx, subject, placeholder)
    if record:
        set_meta(tx, REDACTIONS, number)
    return record, placeholder


def _mentions(tx: Transaction, subject: Who | str, placeholder: str | None) -> dict[str, int]:
    """How many rows of each kind mention a subject, for kinds with any; a placeholder is put there."""
    source, name = (None, subject) if isinstance(subject, str) else subject
    replace = replacer(name, _others(tx, name), placeholder or "\0")
    record: dict[str, int] = {}
    for place in PLACES:
        if place.name not in PARTS or (source is not None and PARTS[place.name].source is None):
            continue  # the same name in another source is another subject
        counts = _in_part(tx, place.name, place.columns, source, name, replace, write=placeholder is not None)
        record |= {kind: count for kind, count in counts.items() if count}
    return record


def _in_part(
    tx: Transaction,
    kind: str,
    columns: Mapping[str, str],
    source: str | None,
    name: str,
    replace: Callable[[str], str],
    *,
    write: bool,
) -> dict[str, int]:
    """Count the nodes or relationships that mention the name; with `write`, replace it."""
    part = PARTS[kind]
    where = f"WHERE {part.source}" if source is not None else ""
    query = f"{part.match} {where} RETURN elementId(n), n {{.*}}"
    of = "MATCH ()-[n]->()" if kind == "detections" else "MATCH (n)"
    counts = {kind: 0, READINGS: 0} if kind == "events" else {kind: 0}
    for element, row in tx.run(query, source=source):
        changed = _changed(row, columns, name, replace)
        counts[kind] += bool(changed)
        measured = decode_measured(row.get("measured")) if kind == "events" else []
        texts = [item if item[2] is None else [*item[:2], replace(item[2]), *item[3:]] for item in measured]
        if kind == "events":
            counts[READINGS] += sum(old != new for old, new in zip(measured, texts, strict=True))
        if not write or (not changed and texts == measured):
            continue
        if kind == "events":
            new = {key: row.get(key) for key in ("source", "subject", *EVENT_FIELDS)} | changed
            made = properties_of(new, texts) | {"key": row["key"]}
            write_again = f"{of} WHERE elementId(n) = $id SET n = $made, n.at = {AT.format('$made')}"
            tx.run(write_again, id=element, made=made)
        else:
            tx.run(f"{of} WHERE elementId(n) = $id SET n += $made", id=element, made=changed)
    return counts


def _changed(
    row: Mapping[str, Any], columns: Mapping[str, str], name: str, replace: Callable[[str], str]
) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for column, how in columns.items():
        old = row.get(column)
        old = bytes(old) if isinstance(old, bytearray) else old
        # JSON that cannot contain the name, which it may escape, is not parsed.
        if old is None or (how != JSON and isinstance(old, str) and name not in old):
            continue
        if (text := replaced(old, how, name, replace)) != old:
            changed[column] = text
    return changed


def _others(tx: Transaction, name: str) -> list[str]:
    """Names of others that contain the name, longest first."""
    query = """MATCH (s:Subject) WHERE s.id CONTAINS $name RETURN s.id AS name
      UNION MATCH (m:Message) WHERE m.target CONTAINS $name RETURN m.target AS name"""
    names = [item for (item,) in tx.run(query, name=name)]
    return sorted((item for item in names if item != name), key=lambda item: (-len(item), item))
