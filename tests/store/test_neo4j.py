"""A graph in Neo4j: shape and vocabulary, labels of other designs, hostile names, faults of the server."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from neo4j.exceptions import Neo4jError

from ethogram.app.graph import init_graph
from ethogram.app.sweep import sweep
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.errors import BadUsage, EthogramError
from ethogram.models import Event, Reading
from ethogram.patterns.library import load_patterns
from ethogram.store import imports, moving, open_store
from ethogram.store.graph import connection
from ethogram.store.graph.connection import parse
from ethogram.store.graph.schema import check_labels
from ethogram.store.neo4j import Neo4jStore, open_graph
from ethogram.store.records import Staged
from markdown_blocks import ROOT, blocks_of
from neo4j_server import own_neo4j
from risk_makers import detection
from servers import free_port, small_disk
from settings_files import trusted_settings
from small import WARM, warm_messages, write_events, write_patterns
from stores_support import LATER, NOON

HOSTILE = "x'}) DETACH DELETE n // ` \\u0060 \" $who \n"


@pytest.fixture
def url(new_url) -> str:
    made: str = new_url("neo4j")
    return made


@pytest.fixture
def store(url) -> Iterator[Neo4jStore]:
    with open_graph(url) as opened:
        yield opened


def rows(store: Neo4jStore, query: str, **values: Any) -> list[Any]:
    return store.ask(lambda tx: tx.run(query, **values))


def event(name: str, minute: int = 0, **fields: Any) -> Event:
    fields.setdefault("subject", "ann")
    return Event.sample(id=name, at=NOON + timedelta(minutes=minute), seq=minute, **fields)


def order(store: Neo4jStore) -> list[str]:
    """The ids along PRECEDES, and no other links between messages."""
    links = dict(rows(store, "MATCH (a:Message)-[:PRECEDES]->(b:Message) RETURN a.id, b.id"))
    ids = [name for name in links if name not in links.values()]
    assert len(ids) <= 1
    while ids and ids[-1] in links:
        ids.append(links[ids[-1]])
    assert len(ids) == len(links) + bool(links)
    return ids


def test_messages_precede_each_other_by_time_also_when_one_comes_late(store):
    store.add([event("b", 2), event("d", 4)])
    assert order(store) == ["b", "d"]
    store.add([event("e", 5)])
    assert order(store) == ["b", "d", "e"]
    store.add([event("c", 3), event("a", 1)])
    assert order(store) == ["a", "b", "c", "d", "e"]
    store.purge(before=NOON + timedelta(minutes=3))
    assert order(store) == ["c", "d", "e"]


def test_whatever_the_batches_messages_are_linked_once_and_in_order(store):
    minutes = list(range(40))
    random.Random(5).shuffle(minutes)
    for start in range(0, 40, 7):
        store.add([event(f"e{minute:02}", minute // 2) for minute in minutes[start : start + 7]])
    # Two at each time, with the same seq: their ids decide.
    assert order(store) == [f"e{minute:02}" for minute in range(40)]
    store.add([event("last", 99)])
    assert order(store)[-2:] == ["e39", "last"]


def test_messages_around_those_that_are_removed_are_linked(store):
    store.add([event(f"e{n}", n) for n in range(8)])
    assert store.delete("events", [("id", "in", ["e0", "e3", "e4", "e7"])]) == 4
    assert order(store) == ["e1", "e2", "e5", "e6"]
    store.add([event("late", 4)])
    assert order(store) == ["e1", "e2", "late", "e5", "e6"]


def test_a_source_that_is_renamed_takes_its_subjects_messages_and_detections_along(store):
    store.add([event("x")])
    store.add([event(f"b{n}", n, subject="bo", source="chat of ann") for n in range(3)])
    store.save_found([("new", detection(subject="cy", source="chat of ann"))], NOON)
    store.purge(subject="ann", redact=True)
    sent = "MATCH (s:Subject)-[:SENT]->(m:Message) RETURN s.source, s.id, m.source, m.id ORDER BY m.at_us"
    assert rows(store, sent) == [("chat of [purged]", "bo", "chat of [purged]", f"b{n}") for n in range(3)]
    exhibits = "MATCH (s:Subject)-[r:EXHIBITS_PATTERN]->(p) RETURN s.source, s.id, r.source, p.name"
    assert rows(store, exhibits) == [("chat of [purged]", "cy", "chat of [purged]", "loop")]
    assert rows(store, "MATCH (s:Subject) RETURN s.id ORDER BY s.id") == [("bo",), ("cy",)]
    assert order(store) == ["b0", "b1", "b2"]


def test_an_import_that_another_program_continues_knows_what_is_staged(url):
    with open_graph(url) as first:
        first.stage(first.begin_import("k", {}, NOON), [Staged(event("a"), 0, 1)], {})
    with open_store(url) as second:
        of = second.begin_import("k", {}, NOON)
        again = [Staged(event("a"), 0, 7), Staged(event("a", text="x"), 0, 8), Staged(event("b", 1), 0, 9)]
        of, clashes = second.stage(of, again, {}, skip_clashes=True)
        assert (of.staged, of.repeated) == (2, 1)
        assert [(clash.line, clash.other) for clash in clashes] == [(8, "at 0:1")]
        assert second.finish_import(of, {}, files={}, options="o", at=NOON)[:2] == (2, 1)


def test_traits_are_properties_and_indicators_are_shown(store):
    store.add([event("a", readings={"compassion": 0.75, "MAN_LOVEBOMB": 0.5, "topic": "x"}, target="bo")])
    store.add_readings(("input", "a"), [Reading("DEC_LIE", 0.25, "m@1")])
    ((trait, at),) = rows(
        store, "MATCH (:Subject {id: 'ann'})-[:SENT]->(m:Message) RETURN m.trait_compassion, m.at"
    )
    assert (trait, at.to_native()) == (0.75, NOON)
    shown = "MATCH (:Message {id: 'a'})-[r:SHOWS]->(i:Indicator) RETURN i.name, r.score ORDER BY i.name"
    assert rows(store, shown) == [("DEC_LIE", 0.25), ("MAN_LOVEBOMB", 0.5)]


def test_the_vocabulary_is_added_once(url):
    library = load_patterns()
    first = init_graph(url, library, {})
    assert (first.dimensions, first.traits, first.indicators) == (3, 12, 214)
    assert first.patterns == len(library.programs)
    assert init_graph(url, library, {}) == first
    with open_graph(url) as store:
        path = """MATCH (p:Pattern {name: 'love_bombing'})-[:CONFIRMS]->(i:Indicator)
          MATCH (i)-[:OF]->(t:Trait)-[:OF]->(d:Dimension) RETURN i.name, t.name, d.name"""
        assert ("MAN_LOVEBOMB", "manipulation", "ethos") in rows(store, path)


def test_labels_of_another_design_are_chosen_once(url):
    labels = {"Subject": "Agent", "Message": "Evaluation", "SENT": "EVALUATED"}
    with open_graph(url, labels=labels) as store:
        store.add([event("a"), event("b", 1)])
    with open_store(url) as again:
        assert [item.id for item in again.events()] == ["a", "b"]
        assert rows(
            again, "MATCH (:`Agent` {id: 'ann'})-[:`EVALUATED`]->(e:`Evaluation`) RETURN count(e)"
        ) == [(2,)]
    with pytest.raises(BadUsage, match="labels are chosen once"):
        open_graph(url, labels={"Subject": "Person"})


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"Subject": "A`) DETACH DELETE (n"}, "expected letters, digits and underscores"),
        ({"Subjct": "Agent"}, "did you mean 'Subject'"),
        ({"Subject": "Message"}, "Message would be the name of Subject and of Message"),
        ({"Subject": "agent", "Message": "AGENT"}, "AGENT would be the name of Subject and of Message"),
        ({"Subject": "Source"}, "Source would be the name of Subject and of Source"),
        ({"SENT": "SWEPT"}, "Swept would be the name of SENT and of Swept"),
    ],
)
def test_a_label_that_is_no_name_is_refused(labels, message):
    with pytest.raises(BadUsage, match=message):
        check_labels(labels)


def test_names_with_quotes_and_cypher_in_them_are_names(store):
    store.add([event("bystander", subject="bo")])
    given = event(
        HOSTILE, 1, subject=HOSTILE, target=HOSTILE, source=HOSTILE, thread=HOSTILE, kind=HOSTILE,
        text=HOSTILE, readings={"topic": HOSTILE}, attributes={HOSTILE: HOSTILE},
    )  # fmt: skip
    store.add([given], keep_text=True)
    assert list(store.events([(HOSTILE, HOSTILE)])) == [given]
    assert store.links(HOSTILE)[0].target == HOSTILE
    assert store.purge(subject=HOSTILE, redact=True).events == 1
    assert [item.id for item in store.events()] == ["bystander"]


def test_an_address_is_shown_without_its_password():
    address = parse("neo4j+s://ann:s%3Acret@db.example:7687/graph")
    assert (address.user, address.password, address.database) == ("ann", "s:cret", "graph")
    assert address.shown == "neo4j+s://ann@db.example:7687/graph"
    for wrong in ("neo4j:///graph", "neo4j://host:port", "neo4j://host?x=1"):
        with pytest.raises(BadUsage, match="expected neo4j://USER:PASSWORD@HOST:PORT/DATABASE"):
            parse(wrong)


def test_a_large_import_is_checked_as_a_whole_and_then_moved_in_steps(store, monkeypatch):
    monkeypatch.setattr(Neo4jStore, "max_events", 3)
    monkeypatch.setattr(imports, "PIECE", 3)
    store.add([event("e5", 5)])
    given = [Staged(event(f"e{n}", n, subject=f"s{n % 2}" if n != 5 else "ann"), 0, n) for n in range(9)]
    of, _ = store.stage(store.begin_import("k", {}, NOON), given, {})
    clash, _ = store.stage(of, [Staged(event("e5", 5, source="x"), 0, 10)], {})
    interrupted = Neo4jStore._move_piece
    moved: list[tuple[int, int]] = []

    def move(self, number):
        if len(moved) == 2:
            raise KeyboardInterrupt
        step = interrupted(self, number)
        moved.append(step[:2])
        return step

    monkeypatch.setattr(Neo4jStore, "_move_piece", move)
    with pytest.raises(KeyboardInterrupt):
        store.finish_import(clash, {}, files={}, options="o", at=NOON)
    monkeypatch.setattr(Neo4jStore, "_move_piece", interrupted)
    again = store.begin_import("k", {}, NOON)
    done = store.finish_import(again, {}, files={"h": 10}, options="o", at=NOON)
    assert (moved, done.added) == ([(3, 0), (2, 1)], 4)
    assert [item.id for item in store.events() if item.source == "input"] == [f"e{n}" for n in range(9)]
    assert {row.who: row.events for row in store.subjects()} == {
        ("input", "ann"): 1,
        ("input", "s0"): 5,
        ("input", "s1"): 3,
        ("x", "ann"): 1,
    }
    assert rows(store, "MATCH (:Message)-[r:PRECEDES]->(:Message) RETURN count(r)") == [(6,)]
    assert (store.imports(), store.known_files("o")) == ([], {"h": 10})


def test_where_there_is_no_store_it_says_how_to_make_one(url):
    with pytest.raises(BadUsage, match="ethogram graph init"):
        open_store(url)
    with pytest.raises(BadUsage, match="is no graph"):
        open_graph("events.db")


def test_a_newer_schema_is_refused_and_left_as_it_is(url, store, capsys):
    store.change(lambda tx: tx.run("MATCH (w:Ethogram {name: 'store'}) SET w.schema = 99"))
    for create in (False, True):
        with pytest.raises(EthogramError, match=r"has schema 99, and .* knows 2: .*upgrade ethogram"):
            open_store(url, create=create)
    assert main(["sweep", "--store", url]) == 2
    assert "nothing was changed" in capsys.readouterr().err
    assert rows(store, "MATCH (w:Ethogram) RETURN w.schema") == [(99,)]


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "neo4j+s"])
def test_where_no_server_answers_it_says_why_once(scheme, capfd):
    url = f"{scheme}://ann:s3cret@127.0.0.1:{free_port()}"
    assert main(["store", "info", "--store", url]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "no Neo4j server answers: Connection refused; start it, or check host, port" in line
    assert "s3cret" not in line


# --- detections -----------------------------------------------------------------------------


def swept(store: Any, patterns: list[str]) -> tuple[list[Any], Any]:
    library = load_patterns(patterns)
    done = sweep(store, library, as_of=LATER, clock=lambda: LATER, settings=Settings())
    return [detection.to_dict() for detection in store.detections()], done


def calm(count: int, subject: str = "cy") -> list[Event]:
    """Events of somebody who never does what these patterns look for."""
    readings = {"compassion": 0.5, "manipulation": 0.1, "deception": 0.1, "exploitation": 0.1}
    return [event(f"{subject}{n}", n, subject=subject, thread="t", readings=readings) for n in range(count)]


def bombing(subject: str, start: int) -> list[Event]:
    """Cool, three times warm, then pressure, to nobody in particular."""
    steps = [(0.3, 0.1), (0.8, 0.1), (0.9, 0.1), (0.8, 0.1), (0.2, 0.7)]
    return [
        event(
            f"{subject}{n}", start + n, subject=subject, thread="t",
            readings={"compassion": warm, "manipulation": press, "deception": 0.1},
        )
        for n, (warm, press) in enumerate(steps)
    ]  # fmt: skip


def test_a_sweep_finds_what_it_finds_in_sqlite_and_links_subjects_to_patterns(store, new_store):
    events = [*bombing("ann", 0), *bombing("di", 100), *calm(30)]
    patterns = ["love_bombing", "gaslighting", "planted_instruction"]
    store.add(events)
    ours, done = swept(store, patterns)
    with new_store("sqlite") as other:
        other.add(events)
        theirs, plain = swept(other, patterns)
    assert ours == theirs
    assert {row["subject"] for row in ours} == {"ann", "di"}
    assert done.summary() == plain.summary()
    ((episode, first, last, count),) = rows(
        store,
        """MATCH (:Subject {id: 'ann'})-[r:EXHIBITS_PATTERN]->(:Pattern {name: 'love_bombing'})
          RETURN r.episode, r.start_eval_id, r.end_eval_id, r.eval_count""",
    )
    assert (episode, first, last, count) == ("closed", "ann1", "ann4", 4)
    (query,) = [block for block in blocks_of(ROOT / "docs" / "graph.md") if block.language == "cypher"]
    assert {(row[0], row[1]) for row in rows(store, query.text)} == {
        (row["subject"], row["pattern"]) for row in ours
    }


def test_the_server_filters_and_limits(store, monkeypatch):
    """A sweep of ten new events reads these subjects; a page of detections is all that is handed over."""
    handed = [0]
    stream = connection.Transaction.stream

    def counted(self, query, **values):
        for record in stream(self, query, **values):
            handed[0] += 1
            yield record

    every = [replace(item, thread=item.subject) for n in range(200) for item in bombing(f"s{n}", 10 * n)]
    store.add(every)
    _, done = swept(store, ["love_bombing"])
    store.mark_reported(change.key for change in done.changes)
    store.add([event(f"new{n}", 5_000, subject=f"s{n}", readings={"compassion": 0.5}) for n in range(10)])
    monkeypatch.setattr(connection.Transaction, "stream", counted)
    _, total = store.find_detections(limit=3, offset=2)
    assert (total, handed[0]) == (200, 3 + 1)
    handed[0] = 0
    assert sweep(store, load_patterns(["love_bombing"]), as_of=LATER, clock=lambda: LATER).events == 10 * 6
    # Their events, once more as those of their threads, their numbers and marks, a few rows of the sweep.
    assert handed[0] <= 2 * 10 * 6 + 60


def test_the_commands_work_on_a_graph(url, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM)
    trusted_settings(tmp_path, "patterns: [patterns]\ngraph: {labels: {Subject: Agent}}\n")
    write_events(tmp_path / "all.jsonl", warm_messages())
    assert main(["graph", "init", "--store", url]) == 0
    assert main(["store", "import", "all.jsonl", "--store", url]) == 0
    how = ["--patterns", "warm_then_cold", "--as-of", "2026-02-01T00:00:00Z", "--json"]
    assert main(["sweep", "--store", url, *how]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    (detection,) = [line for line in lines if line.get("change") == "new"]
    assert main(["verdict", detection["id"], "confirmed", "--why", "seen", "--store", url]) == 0
    assert main(["store", "risk", "--store", url]) == 0
    assert main(["store", "copy", url, "copy.db"]) == 0
    with open_store("copy.db") as copy:
        assert [item.id for item in copy.detections()] == [detection["id"]]
        assert len(copy.verdicts()) == 1
    with open_graph(url) as store:
        found = "MATCH (:`Agent`)-[r:EXHIBITS_PATTERN]->(p:Pattern) RETURN p.name, r.end_eval_id"
        assert rows(store, found) == [("warm_then_cold", detection["last_event"])]


# --- copies ---------------------------------------------------------------------------------


def test_a_copy_goes_in_steps_and_links_all_messages(store, new_store, monkeypatch):
    monkeypatch.setattr(moving, "READ_AHEAD", 4)
    monkeypatch.setattr(connection, "STEP", 5)
    with new_store("sqlite") as origin:
        origin.add([event(f"{who}{n}", n, subject=who) for who in ("ann", "bo", "cy") for n in range(6)])
        later = [Reading(f"s{n}", n / 10, "m@1") for n in range(6)]
        origin.add_readings(("input", "bo3"), [*later, Reading("DEC_LIE", 0.5, "m@1")])
        store.load(origin.dump())
        assert list(store.events()) == list(origin.events())
        assert store.shown() == origin.shown()
    assert rows(store, "MATCH (:Message)-[r:PRECEDES]->(:Message) RETURN count(r)") == [(15,)]
    assert rows(store, "MATCH (m:Copied) RETURN count(m)") == [(0,)]


@pytest.mark.long
def test_a_graph_is_copied_into_another(store, tmp_path):
    store.add([*bombing("ann", 0), *calm(30)])
    swept(store, ["love_bombing"])
    with own_neo4j(tmp_path / "server") as server, open_store(server.url, create=True) as other:
        other.load(store.dump())
        assert list(other.dump()) == list(store.dump())
        assert list(other.events()) == list(store.events())
        assert swept(other, ["love_bombing"])[0] == [item.to_dict() for item in store.detections()]


def test_a_copy_that_fails_leaves_nothing(store, new_store):
    def broken(given):
        for table, batch in given:
            yield table, batch
            if table == "events":
                raise OSError("the disk of the origin is gone")

    with new_store("sqlite") as origin:
        origin.add([event("a"), event("b", 1)])
        with pytest.raises(OSError, match="gone"):
            store.load(broken(origin.dump()))
        assert (store.info().events, store.subjects(), store.sources()) == (0, [], {})
        store.load(origin.dump())
        assert store.info().events == 2


def test_nobody_uses_a_copy_that_is_not_finished_and_the_next_begins_anew(url, store, new_store):
    def watched(given):
        for table, batch in given:
            yield table, batch
            if table == "events":
                with pytest.raises(BadUsage, match="a copy into this store is not finished"):
                    open_store(url)
                with (
                    open_store(url, create=True) as other,
                    pytest.raises(BadUsage, match="a copy into this store is not finished"),
                ):
                    other.add([event("x")])

    with new_store("sqlite") as origin:
        origin.add([event("a"), event("b", 1)])
        # As a copy that was killed leaves it.
        store.add([event("half")])
        store.change(lambda tx: tx.run("MATCH (w:Ethogram {name: 'store'}) SET w.copying = 'killed'"))
        with open_store(url, create=True) as again:
            again.load(watched(origin.dump()))
            assert [item.id for item in again.events()] == ["a", "b"]
    with open_store(url) as done:
        assert done.add([event("c", 2)]).added == 1


# --- faults ---------------------------------------------------------------------------------


@pytest.mark.long
def test_a_server_that_only_reads_says_so(tmp_path):
    with own_neo4j(tmp_path / "server") as server:
        with open_store(server.url, create=True) as store:
            store.add([event("a")])
        server.stop()
        server.read_only = True
        server.start()
        with open_store(server.url) as store:
            assert [item.id for item in store.events()] == ["a"]
            with pytest.raises(EthogramError, match="read-only") as refused:
                store.add([event("b", 1)])
            assert str(refused.value).startswith(store.url)
            assert [item.id for item in store.events()] == ["a"]


def test_a_user_without_the_right_to_write_is_told(store):
    def refuse(tx):
        raise Neo4jError._hydrate_neo4j(
            code="Neo.ClientError.Security.Forbidden", message="Create node is not allowed for user 'ann'."
        )

    with pytest.raises(EthogramError, match=r"not allowed for user 'ann'; the user needs the right"):
        store.change(refuse)


@pytest.mark.long
def test_a_write_to_a_full_disk_changes_nothing_and_is_repeated_when_there_is_room(tmp_path):
    many = [event(f"b{n}", n, text=n * "y") for n in range(2000)]
    with (
        small_disk(tmp_path / "disk", megabytes=900) as disk,
        own_neo4j(disk / "server") as server,
        open_store(server.url, create=True) as store,
    ):
        store.add([event("a")])
        room = os.statvfs(disk)
        (disk / "fill").write_bytes(bytes(room.f_bavail * room.f_bsize - 300_000))
        for _ in range(2):
            with pytest.raises(EthogramError, match="nothing was changed: look at the server's log and disk"):
                store.add(many, keep_text=True)
        (disk / "fill").unlink()
        server.kill()
        server.start()
        assert store.info().events == 1
        assert store.add(many, keep_text=True).added == 2000


@pytest.mark.long
def test_a_server_that_goes_away_in_the_middle_of_a_write_and_comes_back(tmp_path):
    with own_neo4j(tmp_path / "server", auth=True) as server:
        admin = f"bolt://neo4j:neo4j@127.0.0.1:{server.port}/system"
        change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO 'correct-horse'"
        from ethogram.store.graph.connection import connect

        with connect(admin)[0] as driver, driver.session(database="system") as session:
            session.run(change).consume()
        url = f"bolt://neo4j:correct-horse@127.0.0.1:{server.port}"
        with pytest.raises(BadUsage, match="refuses this user name and password") as refused:
            open_store(url.replace("horse", "donkey"), create=True)
        assert "donkey" not in str(refused.value)
        batches = [[event(f"{n}-{k}", n, subject=f"s{k}") for k in range(20)] for n in range(12)]
        with open_store(url, create=True) as store:
            store.add(batches[0])
            back = threading.Timer(0.5, lambda: (server.kill(), server.start()))
            back.start()
            for batch in batches[1:]:
                try:
                    store.add(batch)
                except EthogramError:
                    store.add(batch)  # stored whole or not at all, and each event once
                time.sleep(0.1)
            back.join()
            for batch in batches:
                assert store.add(batch)[:2] == (0, 20)
            assert store.info().events == 240
            assert {row.events for row in store.subjects()} == {12}
            links = "MATCH (:Message)-[r:PRECEDES]->(:Message) RETURN count(r)"
            assert rows(store, links) == [(220,)]
        server.kill()
        with pytest.raises(EthogramError, match="no Neo4j server answers"):
            open_store(url)
