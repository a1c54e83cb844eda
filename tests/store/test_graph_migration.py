"""A graph of version 1 is brought up to date when it is opened."""

from __future__ import annotations

import json
import zlib
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from ethogram.models import Event, Reading, micros
from ethogram.store import open_store
from ethogram.store.graph import migration
from ethogram.store.kinds import EVENT_FIELDS
from ethogram.store.neo4j import Neo4jStore
from ethogram.store.records import Staged
from ethogram.store.rows import event_values
from neo4j_server import driver_of
from stores_support import LATER, NOON


def event(name: str, minute: int, **fields: Any) -> Event:
    return Event.sample(id=name, at=NOON + timedelta(minutes=minute), seq=minute, subject="ann", **fields)


MEASURED = [["DEC_LIE", 0.25, None, "m@1", 4], ["topic", None, "", "m@1", None]]
EVENTS = (event("a", 0, readings={"compassion": 0.75}), event("b", 1, target="bo"))


def properties(key: int, item: Event) -> dict[str, Any]:
    """A message as version 1 wrote it; readings were added to the first."""
    row = dict(zip(EVENT_FIELDS, event_values(item, keep_text=False), strict=True))
    row |= {"source": item.source, "subject": item.subject, "key": key, "content": row["content"].hex()}
    if key == 1:
        row |= {"measured": json.dumps(MEASURED), "evaluated_by": ["given"], "other_scorers": ["m@1"]}
        row |= {"trait_compassion": 0.75, "signal_DEC_LIE": 0.25, "shows": ["DEC_LIE"], "scores": [0.25]}
    return {name: value for name, value in row.items() if value is not None}


def staged(item: Event) -> bytes:
    """A piece of an import as version 1 staged it."""
    values = [item.source, item.subject, 0, 7, event_values(item, keep_text=False), []]
    return zlib.compress(msgspec.msgpack.encode([values]), 1)


@pytest.fixture
def old(new_url) -> str:
    url: str = new_url("neo4j")
    queries: list[tuple[str, dict[str, Any]]] = [
        ("CREATE (:Ethogram {name: 'store', schema: 1, labels: '{\"Subject\": \"Agent\"}', writes: 9})", {}),
        ("CREATE (:Source {key: 1, name: 'input', timed: 1, next_seq: 2, kinds: '{}'})", {}),
        ("""CREATE (s:Agent {key: 1, source: 'input', id: 'ann', events: 2, first_us: $first, last_us: $last,
              changed: 2})-[:SWEPT {versions: 'v', changed: 2, as_of_us: $last}]->(:Sweep {selection: 's',
              versions: 'v', as_of_us: $last, finished_us: $last})
            CREATE (s)-[:SWEPT {versions: 'w', changed: 1, as_of_us: 0, due_us: 5}]->(:Sweep {selection: 't'})
            CREATE (s)-[:SENT]->(a:Message), (s)-[:SENT]->(b:Message), (a)-[:PRECEDES]->(b)
            SET a = $a, b = $b
            CREATE (a)-[:SHOWS {score: 0.25}]->(:Indicator {name: 'DEC_LIE'})""",
         {"first": micros(EVENTS[0].at), "last": micros(EVENTS[1].at),
          "a": properties(1, EVENTS[0]), "b": properties(2, EVENTS[1])}),
        ("CREATE (:Meta {name: 'last_key', value: 2}), (:Counter {name: 'tries', value: 41})", {}),
        ("""CREATE (:Import {number: 3, key: 'k', begun_us: 0, staged: 1, repeated: 0, state: '{}',
              next_n: 2})
            CREATE (:Staged {import: 3, n: 1, events: 1, keys: $keys, data: $data})""",
         {"keys": bytes(8), "data": staged(event("c", 2))}),
    ]  # fmt: skip
    with driver_of(url) as driver, driver.session() as session:
        for query, values in queries:
            session.run(query, values).consume()
    return url


def test_a_graph_of_version_1_answers_as_before_and_goes_on(old, monkeypatch):
    monkeypatch.setattr(migration, "STEP", 1)
    with open_store(old) as store:
        first, second = store.events()
        assert first.readings == {"compassion": 0.75, "DEC_LIE": 0.25, "topic": ""}
        assert (first.scorers, first.widths) == ({"DEC_LIE": "m@1", "topic": "m@1"}, {"DEC_LIE": 4})
        assert (second.id, second.target, second.readings) == ("b", "bo", {})
        assert [row.changed for row in store.subjects()] == [2]
        assert store.last_sweep() == EVENTS[1].at
        assert store.touched("s", "v", LATER) == []
        assert [row.name for row in store.touched("s", "other", LATER)] == ["ann"]
        (of,) = store.imports()
        done = store.finish_import(of, {}, files={}, options="o", at=LATER)
        assert (done.added, [item.id for item in store.events()]) == (1, ["a", "b", "c"])
        assert [row.name for row in store.touched("s", "v", LATER)] == ["ann"]
    with Neo4jStore(old) as again:
        assert again.info().schema == 2
        assert again.labels == {"Subject": "Agent"}
        gone = "MATCH (n) WHERE n:Counter OR n.measured IS NOT NULL OR n.other_scorers IS NOT NULL RETURN n"
        assert again.ask(lambda tx: tx.run(gone)) == []
        assert again.ask(lambda tx: tx.value("MATCH ()-[r:SWEPT]->() RETURN count(r)")) == 0
        shows = "MATCH (:Message {id: 'a'})-[r:SHOWS]->(i:Indicator) RETURN i.name, r.score"
        assert again.ask(lambda tx: tx.run(shows)) == [("DEC_LIE", 0.25)]


def test_an_interrupted_migration_goes_on(old, monkeypatch):
    def stop(*_: Any, **values: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(migration, "finish", stop)
        with pytest.raises(KeyboardInterrupt):
            open_store(old)
    with open_store(old) as store:
        assert [item.readings.get("DEC_LIE") for item in store.events()] == [0.25, None]
        assert store.add_readings(("input", "b"), [Reading("risk", 0.5, "m@1")]) == 1
        of = store.begin_import("k", {}, LATER)
        again, _ = store.stage(of, [Staged(event("d", 3), 0, 8)], {})
        assert store.finish_import(again, {}, files={}, options="o", at=LATER).added == 2
