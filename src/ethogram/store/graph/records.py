"""Detections, sweeps, verdicts, states and the audit of a graph."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import asdict

from ...errors import BadUsage
from ...models import Detection, Verdict, format_time, micros, moment
from ...risk.verdicts import Counts, Item, Slot, consensus_by_item, count_verdicts, item_of
from ...usage.records import UsageLook
from ..records import Change, Held, Locked, SavedState, SubjectRow, Swept, SweptDetection, Try, Who
from ..rows import detection_values, encode, stored_detection
from ..states import PRIVATE, SALT
from ..locks import holder_of, is_left, started
from ..verdicts import ITEM, item_values, verdict_of, verdict_values
from .connection import Graph, Transaction
from .events import SUBJECT, subject_rows
from .messages import get_meta, next_number, set_meta

CHANGE = ("state", "severity", "version", "confidence")
VERDICT = ("verdict", "version", "why", *ITEM, "judge", "at_us", "blind")
VERDICT_ROW = ", ".join(f"v.{name} AS {name}" for name in (*VERDICT, "key"))


class Detections(Graph):
    """Detections: relationships from a subject to a pattern, with every change."""

    def detections(
        self,
        *,
        subjects: Iterable[Who] | None = None,
        sources: Iterable[str] | None = None,
        patterns: Iterable[str] | None = None,
        states: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        parts: bool = True,
    ) -> list[Detection]:
        """The current detections in output order. `parts`: also those that only combinations need."""
        values: dict[str, Any] = {}
        match = "MATCH (s:Subject)-[r:EXHIBITS_PATTERN]->(p:Pattern)"
        if subjects is not None:
            values["who"] = [list(who) for who in subjects]
            match = """UNWIND $who AS who
              MATCH (s:Subject {source: who[0], id: who[1]})-[r:EXHIBITS_PATTERN]->(p:Pattern)"""
        elif ids is not None:
            match = "UNWIND $ids AS id MATCH (s:Subject)-[r:EXHIBITS_PATTERN {id: id}]->(p:Pattern)"
        conditions = [] if parts else ["r.part = 0"]
        for column, chosen in (
            ("r.source", sources),
            ("p.name", patterns),
            ("r.episode", states),
            ("r.id", ids),
        ):
            if chosen is not None:
                name = column.replace(".", "_") if column != "r.id" else "ids"
                values[name] = sorted(set(chosen))
                conditions.append(f"{column} IN ${name}")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = self.read(lambda tx: tx.run(f"{match} {where} RETURN r.record, r.episode", **values))
        return sorted(
            (stored_detection(record, state=state) for record, state in rows), key=lambda item: item.order
        )

    def unreported(self) -> list[Change]:
        """Changes that were not reported yet, oldest first."""
        return self.read(lambda tx: change_rows(tx, "MATCH (c:Change {told: 0})"))

    def mark_reported(self, changes: Iterable[int]) -> None:
        """Record that the changes with these keys were reported."""
        keys = sorted(changes)
        self.write(
            lambda tx: tx.run("UNWIND $keys AS key MATCH (c:Change {key: key}) SET c.told = 1", keys=keys)
        )

    def history(self, detection: str) -> list[dict[str, Any]]:
        """Every change of a detection as JSON, oldest first."""
        query = """MATCH (c:Change {detection: $id}) WITH c ORDER BY c.key
          RETURN c.change AS change, c.as_of_us AS as_of_us, c.state AS state, c.severity AS severity,
            c.version AS version, c.confidence AS confidence"""
        rows = self.read(lambda tx: tx.maps(query, id=detection))
        return [{**row, "as_of": format_time(moment(row["as_of_us"]))} for row in rows]


def exhibited(detection: Detection, *, part: bool) -> dict[str, Any]:
    """The properties of the relationship of a detection."""
    values = detection_values(detection, part=part)
    return {
        **{name: value for name, value in values.items() if name not in ("pattern", "state")},
        "episode": values["state"],
        "detected_at": detection.detected_at,
        "start_eval_id": detection.first_event,
        "end_eval_id": detection.last_event,
        "eval_count": detection.count,
    }


def save_detections(tx: Transaction, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Add or replace detections: the pattern of each, and its properties."""
    save = """UNWIND $rows AS row
      MERGE (s:Subject {source: row[1].source, id: row[1].subject}) ON CREATE SET s.events = 0
      MERGE (p:Pattern {name: row[0]})
      MERGE (s)-[r:EXHIBITS_PATTERN {id: row[1].id}]->(p) SET r = row[1]"""
    tx.run(save, rows=[list(row) for row in rows])


def change_rows(tx: Transaction, which: str, where: str = "", **values: Any) -> list[Change]:
    """The changes `c` that a query gives, of detections `r`, oldest first; `most` of them, if that is set."""
    query = f"""{which} MATCH ()-[r:EXHIBITS_PATTERN {{id: c.detection}}]->() {where}
      RETURN c.key AS key, c.change, c.as_of_us, r.record, r.episode ORDER BY key
      {"LIMIT $most" if "most" in values else ""}"""
    return [
        Change(key, change, moment(at), stored_detection(record, state=state))
        for key, change, at, record, state in tx.run(query, **values)
    ]


def save_changes(tx: Transaction, detections: Sequence[tuple[str, SweptDetection]], as_of_us: int) -> None:
    """Add or replace detections, and record the change of each if one is named.

    Changes of parts and of shadow patterns are never reported.
    """
    save_detections(
        tx, [(item.detection.pattern, exhibited(item.detection, part=item.part)) for _, item in detections]
    )
    changes = []
    for change, item in detections:
        if change:
            values = detection_values(item.detection, part=item.part)
            is_reported = int(item.part or item.detection.status == "shadow")
            row = {name: values[name] for name in CHANGE}
            row |= {"detection": item.detection.id, "change": change, "as_of_us": as_of_us}
            changes.append(row | {"told": is_reported})
    first = next_number(tx, "changes", len(changes))
    numbered = [row | {"key": first + i} for i, row in enumerate(changes)]
    tx.run("UNWIND $rows AS row CREATE (c:Change) SET c = row", rows=numbered)


class Sweeps(Graph):
    """How far each selection of patterns has come with each subject."""

    def touched(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        since: datetime | None = None,
        min_events: int = 1,
        threads: bool = False,
    ) -> list[SubjectRow]:
        """Subjects to sweep again, by source and name."""
        values = {
            "selection": selection,
            "versions": versions,
            "now": micros(as_of),
            "since": None if since is None else micros(since),
            "least": min_events,
        }

        def work(tx: Transaction) -> list[SubjectRow]:
            rows = subject_rows(tx.run(f"{_TOUCHED} {SUBJECT}", **values))
            if threads and rows:
                rows += subject_rows(tx.run(f"{_TOUCHED} {_MATES} {SUBJECT}", **values))
            return rows

        subjects = {row.who: row for row in self.read(work) if row.first_at <= as_of}
        return [subjects[who] for who in sorted(subjects)]

    def last_sweep(self) -> datetime | None:
        """The latest moment that was swept as of, also by a sweep that was killed; None before the first."""
        query = """OPTIONAL MATCH (w:Sweep) WITH max(w.as_of_us) AS finished
          OPTIONAL MATCH (:Subject)-[r:SWEPT]->(:Sweep) WITH finished, max(r.as_of_us) AS swept
          RETURN CASE WHEN finished IS NULL OR swept > finished THEN swept ELSE finished END"""
        latest = self.read(lambda tx: tx.value(query))
        return None if latest is None else moment(latest)

    def reset_sweeps(self, after: datetime) -> int:
        """Forget sweeps as of later than a moment; how many subjects will be looked at anew."""

        def work(tx: Transaction) -> int:
            gone = "MATCH ()-[r:SWEPT]->(:Sweep) WHERE r.as_of_us > $after DELETE r RETURN count(r)"
            count: int = tx.value(gone, after=micros(after))
            forget = """MATCH (w:Sweep) WHERE w.as_of_us > $after
              REMOVE w.as_of_us, w.finished_us, w.versions"""
            tx.run(forget, after=micros(after))
            return count

        return self.write(work)

    def save_sweep(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        detections: Sequence[tuple[str, SweptDetection]] = (),
        swept: Sequence[Swept] = (),
        lock: Held | None = None,
        at: datetime | None = None,
    ) -> None:
        """Write the detections of a sweep, each with its change, and the swept subjects, in one commit."""
        rows = [[*item.who, item.changed, item.due_us] for item in swept]
        mark = """MERGE (w:Sweep {selection: $selection}) WITH w UNWIND $rows AS row
          MATCH (s:Subject {source: row[0], id: row[1]})
          MERGE (s)-[r:SWEPT]->(w)
          SET r.versions = $versions, r.changed = row[2], r.as_of_us = $as_of, r.due_us = row[3]"""

        def work(tx: Transaction) -> None:
            if lock is not None:
                beat = """MATCH (l:Lock {name: $name, token: $token})
                  SET l.beat_us = coalesce($at, l.beat_us) RETURN count(l)"""
                now = None if at is None else micros(at)
                if tx.value(beat, name=lock.name, token=lock.token, at=now) != 1:
                    raise BadUsage(f"another process took over the {lock.name}; this one stops")
            save_changes(tx, detections, micros(as_of))
            tx.run(mark, rows=rows, selection=selection, versions=versions, as_of=micros(as_of))

        self.write(work)

    def close_sweep(self, selection: str, versions: str, as_of: datetime, at: datetime) -> None:
        """Record that a sweep was finished."""
        done = """MERGE (w:Sweep {selection: $selection})
          SET w.versions = $versions, w.as_of_us = $as_of, w.finished_us = $at"""
        values = {"selection": selection, "versions": versions, "as_of": micros(as_of), "at": micros(at)}
        self.write(lambda tx: tx.run(done, **values))

    def lock(self, name: str, at: datetime) -> Held:
        """Take a lock. BadUsage says who holds it."""
        held, pid = Held(name, uuid.uuid4().hex), os.getpid()
        values = {"token": held.token, "pid": pid, "started": started(pid), "host": socket.gethostname()}
        values |= {"begun_us": micros(at), "beat_us": micros(at)}

        def work(tx: Transaction) -> None:
            rows = tx.maps("MATCH (l:Lock {name: $name}) RETURN l {.*} AS row", name=name)
            row = rows[0]["row"] if rows else None
            if row is not None and row["token"] != held.token and not is_left(row, micros(at)):
                raise Locked(f"{self.url}: another {name.partition(' ')[0]} {holder_of(row)}")
            tx.run("MERGE (l:Lock {name: $name}) SET l += $row", name=name, row=values)

        self.write(work)
        return held

    def unlock(self, held: Held) -> None:
        """Release a lock, if it is still ours."""
        gone = "MATCH (l:Lock {name: $name, token: $token}) DELETE l"
        self.write(lambda tx: tx.run(gone, name=held.name, token=held.token))


_TOUCHED = """MATCH (s:Subject) WHERE s.events >= $least AND s.events > 0
  OPTIONAL MATCH (s)-[w:SWEPT {versions: $versions}]->(:Sweep {selection: $selection})
  WITH s, w WHERE w IS NULL OR s.changed > w.changed OR w.due_us < $now OR s.last_us >= $since
    OR (s.last_us > w.as_of_us AND EXISTS {
      MATCH (s)-[:SENT]->(x:Message) WHERE x.at_us > w.as_of_us AND x.at_us <= $now })"""
_MATES = """MATCH (s)-[:SENT]->(e:Message) WHERE e.thread IS NOT NULL
    AND (w IS NULL OR e.key > w.changed OR (e.at_us > w.as_of_us AND e.at_us <= $now))
  WITH DISTINCT e.source AS place, e.thread AS thread
  MATCH (o:Message {source: place, thread: thread})<-[:SENT]-(s:Subject) WHERE s.events >= $least
  WITH DISTINCT s"""


class Verdicts(Graph):
    """Verdicts on detections and silences."""

    def add_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Add all verdicts, or none."""
        rows = [verdict_values(verdict) for verdict in verdicts]

        def work(tx: Transaction) -> None:
            first = next_number(tx, "verdicts", len(rows))
            numbered = [row | {"key": first + i} for i, row in enumerate(rows)]
            tx.run("UNWIND $rows AS row CREATE (v:Verdict) SET v = row", rows=numbered)

        self.write(work)

    def verdicts(self, detection: str | None = None) -> list[Verdict]:
        """Verdicts, oldest first: all, or those of one detection."""
        which = "" if detection is None else " {detection: $id}"
        return [verdict_of(row) for row in self.read(lambda tx: _verdicts(tx, which, id=detection))]

    def settle_verdicts(self, before: datetime) -> int:
        """Count and remove the verdicts on items last judged before a moment; return how many items."""

        def work(tx: Transaction) -> int:
            record: dict[Item, list[dict[str, Any]]] = {}
            for row in _verdicts(tx):
                record.setdefault(item_of(verdict_of(row)), []).append(row)
            # An item goes as a whole: half of its judges would make another standing.
            old = [own for own in record.values() if max(row["at_us"] for row in own) < micros(before)]
            settle(tx, [row for own in old for row in own], remember=True)
            return len(old)

        return self.write(work)

    def settled(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """The verdicts on items whose earlier verdicts were counted and removed."""
        given = list(verdicts)
        which = ", ".join(f"{name}: row.{name}" for name in ITEM)
        query = f"UNWIND $rows AS row MATCH (:Settled {{{which}}}) RETURN row.n"
        rows = [item_values(verdict) | {"n": n} for n, verdict in enumerate(given)]
        numbers = {n for (n,) in self.read(lambda tx: tx.run(query, rows=rows))}
        return [verdict for n, verdict in enumerate(given) if n in numbers]

    def settled_verdicts(self) -> dict[str, str]:
        """The joint verdict on detections whose verdicts were counted and removed, by their ids."""
        query = "MATCH (s:Settled) WHERE s.detection <> '' RETURN s.detection, s.verdict"
        return dict(self.read(lambda tx: tx.run(query)))

    def has_verdicts(self) -> bool:
        """Whether there are verdicts or counts of removed ones."""
        query = "RETURN EXISTS { MATCH (:Verdict) } OR EXISTS { MATCH (:VerdictCount) }"
        return bool(self.read(lambda tx: tx.value(query)))

    def verdict_counts(self) -> dict[Slot, Counts]:
        """The counts of removed verdicts."""
        query = """MATCH (c:VerdictCount)
          RETURN c.pattern, c.version, c.source, c.month, c.percent, c.verdict, c.count"""
        out: dict[Slot, Counts] = {}
        for *slot, verdict, count in self.read(lambda tx: tx.run(query)):
            where = Slot(*slot)
            out[where] = out.get(where, Counts()) + Counts(**{verdict: count})
        return out

    def silence_ends(self) -> dict[Item, datetime]:
        """When each judged silence ends, where its last event is still stored."""
        return self.read(lambda tx: _ends(tx, [verdict_of(row) for row in _verdicts(tx)]))

    def add_try(self, item: Try) -> int:
        """Add an attempt to learn, and return its key."""
        row = {"at_us": micros(item.at), "pattern": item.pattern, "version": item.version, "data": item.data}
        row["record"] = encode(item.record)

        def work(tx: Transaction) -> int:
            key = next_number(tx, "tries")
            tx.run("CREATE (t:Try {key: $key}) SET t += $row", key=key, row=row)
            return key

        return self.write(work)

    def tries(self, pattern: str | None = None) -> list[Try]:
        """Attempts to learn, oldest first: all, or those about one pattern."""
        query = """MATCH (t:Try) WHERE $pattern IS NULL OR t.pattern = $pattern
          RETURN t.at_us, t.pattern, t.version, t.data, t.record, t.key ORDER BY t.key"""
        return [
            Try(moment(at), name, version, data, json.loads(record), key)
            for at, name, version, data, record, key in self.read(lambda tx: tx.run(query, pattern=pattern))
        ]


def _verdicts(tx: Transaction, which: str = "", **values: Any) -> list[dict[str, Any]]:
    """Rows of verdicts, oldest first."""
    return tx.maps(f"MATCH (v:Verdict{which}) RETURN {VERDICT_ROW} ORDER BY at_us, key", **values)


def settle(tx: Transaction, rows: Sequence[dict[str, Any]], *, remember: bool) -> None:
    """Count the items of these rows of verdicts, and remove the rows.

    `remember` records the items, so that none is counted twice when it is judged again.
    """
    going = [verdict_of(row) for row in rows]
    ids = sorted({item.detection for item in going if item.detection is not None})
    found = tx.run("UNWIND $ids AS id MATCH ()-[r:EXHIBITS_PATTERN {id: id}]->() RETURN r.record", ids=ids)
    untimed = [name for (name,) in tx.run("MATCH (o:Source {timed: 0}) RETURN o.name")]
    detections = [stored_detection(record) for (record,) in found]
    counts = count_verdicts(going, detections, ends=_ends(tx, going), untimed=untimed)
    new = [
        {**{name: getattr(slot, name) for name in Slot.__slots__}, "verdict": verdict, "count": count}
        for slot, own in sorted(counts.items())
        for verdict in Counts.__slots__
        if (count := getattr(own, verdict))
    ]
    add = """UNWIND $rows AS row MERGE (c:VerdictCount {pattern: row.pattern, version: row.version,
        source: row.source, month: row.month, percent: row.percent, verdict: row.verdict})
      SET c.count = coalesce(c.count, 0) + row.count"""
    tx.run(add, rows=new)
    if remember:
        consensus = consensus_by_item(going)
        gone = {
            item_of(item): {**item_values(item), "verdict": consensus[item_of(item)].verdict}
            for item in going
        }
        which = ", ".join(f"{name}: row.{name}" for name in ITEM)
        keep = f"UNWIND $rows AS row MERGE (s:Settled {{{which}}}) ON CREATE SET s.verdict = row.verdict"
        tx.run(keep, rows=list(gone.values()))
    keys = [row["key"] for row in rows]
    tx.run("UNWIND $keys AS key MATCH (v:Verdict {key: key}) DELETE v", keys=keys)


def _ends(tx: Transaction, verdicts: Iterable[Verdict]) -> dict[Item, datetime]:
    query = """MATCH (s:Subject {id: $subject})-[:SENT]->(m:Message {id: $last})
      WHERE $source IN ['', s.source] RETURN max(m.at_us)"""
    record: dict[Item, datetime] = {}
    for verdict in verdicts:
        item = item_of(verdict)
        if verdict.detection is None and item not in record:
            values = {"subject": verdict.subject, "last": verdict.last_event, "source": verdict.source}
            at = tx.value(query, **values)
            record |= {} if at is None else {item: moment(at)}
    return record


class States(Graph):
    """States of runners and conversations; the key check, salt and audit of a store of pseudonyms."""

    def save_state(
        self, name: str, key: str, state: bytes | None, at: datetime, *, subject: str | None = None
    ) -> None:
        """Replace a state; None removes it."""
        save = """MERGE (s:State {name: $name, key: $key})
          SET s.saved_us = $at, s.state = $state, s.subject = $subject"""
        drop = "MATCH (s:State {name: $name, key: $key}) DELETE s"
        values = {"name": name, "key": key, "at": micros(at), "state": state, "subject": subject}
        self.write(lambda tx: tx.run(drop if state is None else save, **values))

    def load_state(self, name: str, key: str) -> bytes | None:
        """The state that was saved last, or None."""
        query = "MATCH (s:State {name: $name, key: $key}) RETURN s.state"
        state: bytes | None = self.read(lambda tx: tx.value(query, name=name, key=key))
        return None if state is None else bytes(state)

    def states_of(self, subject: str) -> list[SavedState]:
        """A subject's own states, by name and key."""
        query = """MATCH (s:State {subject: $subject}) RETURN s.name, s.key, s.saved_us, s.state
          ORDER BY s.name, s.key"""
        return [
            SavedState(subject, kind, key, moment(saved), json.loads(bytes(state)))
            for kind, key, saved, state in self.read(lambda tx: tx.run(query, subject=subject))
        ]

    def private(self) -> int | None:
        """The check of the key; None where names are stored as they are."""
        return self.read(lambda tx: get_meta(tx, PRIVATE))

    def private_salt(self) -> int | None:
        """The store's own random number, part of every pseudonym; None in those of the first scheme."""
        return self.read(lambda tx: get_meta(tx, SALT))

    def make_private(self, check: int, salt: int | None = None) -> None:
        """Mark the store as one of pseudonyms; one that is marked stays as it is."""

        def work(tx: Transaction) -> None:
            if get_meta(tx, PRIVATE) is not None:
                return
            set_meta(tx, PRIVATE, check)
            if salt is not None:
                set_meta(tx, SALT, salt)

        self.write(work)

    def add_looks(self, looks: Iterable[UsageLook]) -> None:
        """Write lines of the audit."""
        rows = [{**asdict(look), "at": micros(look.at)} for look in looks]

        def work(tx: Transaction) -> None:
            first = next_number(tx, "looks", len(rows))
            write = """UNWIND $rows AS row CREATE (:Look {key: row.key, at_us: row.at, what: row.what,
              person: row.person, who: row.who, why: row.why})"""
            tx.run(write, rows=[row | {"key": first + i} for i, row in enumerate(rows)])

        self.write(work)

    def looks(self, person: str | None = None) -> list[UsageLook]:
        """The audit, oldest first: all, or the lines about one person."""
        query = """MATCH (l:Look) WHERE $person IS NULL OR l.person = $person
          RETURN l.at_us, l.what, l.person, l.who, l.why ORDER BY l.key"""
        return [
            UsageLook(moment(at), *row) for at, *row in self.read(lambda tx: tx.run(query, person=person))
        ]
