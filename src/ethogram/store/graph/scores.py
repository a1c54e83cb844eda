"""Readings and scores that are added to messages of a graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ...models import Event, Reading
from ..rows import event_values, reading_values
from ..scores import Scored
from ..sql import in_pieces
from .connection import Graph, Transaction
from .events import FIELDS, decode_measured, number_property, properties_of
from .messages import BATCH, LAST_KEY, SHOW, get_meta, set_meta

Message = dict[str, Any]
"""A row of a message: source, subject, measured and the fields of its event."""
MESSAGE = f"""m.source AS source, m.subject AS subject, m.measured AS measured,
  {", ".join(f"m.{name} AS {name}" for name in FIELDS)}"""


class Scores(Graph):
    """Readings of stored messages."""

    def add_readings(self, event: tuple[str, str], readings: Iterable[Reading]) -> int:
        """Add or replace readings of the event (source, id); return how many."""
        new = [list(reading_values(reading)) for reading in readings]

        def work(tx: Transaction) -> int:
            for row in _by_id(tx, [event]).values():
                known = {(item[0], item[3]): item for item in (*decode_measured(row["measured"]), *new)}
                measure(tx, [(row, list(known.values()))])
                return len(new)
            return 0

        return self.write(work)

    def scored_by(self, scorer: str) -> set[tuple[str, str]]:
        """The events (source, id) that have scores by this scorer."""
        query = "MATCH (m:Message) WHERE m.measured CONTAINS $scorer RETURN m.source, m.id, m.measured"
        rows = self.read(lambda tx: tx.run(query, scorer=json.dumps(scorer)))
        return {
            (source, name)
            for source, name, measured in rows
            if any(item[3] == scorer for item in decode_measured(measured))
        }

    def has_texts(self) -> bool:
        """Whether an event has a text."""
        query = "RETURN EXISTS { MATCH (m:Message) WHERE m.text IS NOT NULL }"
        return bool(self.read(lambda tx: tx.value(query)))

    def measured(self, signal: str) -> bool:
        """Whether a reading of this signal was added to an event that came without one."""
        query = "RETURN EXISTS { MATCH (m:Message) WHERE m.measured CONTAINS $signal }"
        return bool(self.read(lambda tx: tx.value(query, signal=json.dumps(signal))))

    def add_scores(self, scored: Sequence[Scored]) -> int:
        """Add or replace scores in one commit; return how many events got some.

        An event is found by its source and id; where a file has no ids, by its source and content. The
        subjects count as changed, so that the next sweep checks them again.
        """

        def work(tx: Transaction) -> int:
            rows: dict[tuple[str, str], tuple[Message, list[Any]]] = {}
            events = 0
            for item, messages in zip(scored, _messages(tx, [item.event for item in scored]), strict=True):
                scorers = {reading.scorer for reading in item.readings}
                new = [list(reading_values(reading)) for reading in item.readings]
                for message in messages:
                    key = (message["source"], message["id"])
                    _, known = rows.get(key, (message, decode_measured(message["measured"])))
                    rows[key] = (message, [*(old for old in known if old[3] not in scorers), *new])
                    events += 1
            if rows:
                measure(tx, list(rows.values()))
                number = (get_meta(tx, LAST_KEY) or 0) + 1
                set_meta(tx, LAST_KEY, number)
                change = """UNWIND $who AS who MATCH (s:Subject {source: who[0], id: who[1]})
                  SET s.changed = $number"""
                whose = {(message["source"], message["subject"]) for message, _ in rows.values()}
                tx.run(change, who=[list(who) for who in sorted(whose)], number=number)
            return events

        return self.write(work)


def measure(tx: Transaction, changes: Sequence[tuple[Message, Sequence[Sequence[Any]]]]) -> None:
    """Replace the readings that were added to messages."""
    for piece in in_pieces(changes, BATCH):
        rows = []
        for message, measured in piece:
            made: dict[str, Any] = {}
            # A signal may have been a number and be a category now, or be gone.
            for name, *_ in decode_measured(message["measured"]):
                made |= dict.fromkeys((f"category_{name}", number_property(name), f"scorer_{name}"))
            own = {name: value for name, value in message.items() if name != "measured"}
            made |= properties_of(own, measured)
            rows.append({"source": message["source"], "id": message["id"], "made": made})
        find = "UNWIND $rows AS row MATCH (m:Message {source: row.source, id: row.id})"
        tx.run(f"{find} SET m += row.made", rows=rows)
        tx.run(f"{find} MATCH (m)-[r:SHOWS]->() DELETE r", rows=rows)
        tx.run(f"{find} WITH m {SHOW}", rows=rows)


def _by_id(tx: Transaction, ids: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Message]:
    query = f"UNWIND $ids AS id MATCH (m:Message {{source: id[0], id: id[1]}}) RETURN {MESSAGE}"
    rows = tx.maps(query, ids=[list(item) for item in ids])
    return {(row["source"], row["id"]): row for row in rows}


def _messages(tx: Transaction, events: Sequence[Event]) -> list[list[Message]]:
    """The messages of each event; none where it is not in the graph."""
    known = _by_id(tx, {(event.source, event.id) for event in events})
    found = [[known[key]] if (key := (event.source, event.id)) in known else [] for event in events]
    missing = {
        (events[place].source, event_values(events[place], keep_text=False)[1].hex()): place
        for place, messages in enumerate(found)
        if not messages
    }
    if missing:
        query = f"MATCH (m:Message) WHERE m.content IN $contents RETURN {MESSAGE}"
        for row in tx.maps(query, contents=sorted({content for _, content in missing})):
            if (key := (row["source"], row["content"])) in missing:
                found[missing[key]].append(row)
    return found
