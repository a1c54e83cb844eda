"""The SQLite file: whose it is, which version it has, and what is left in it after a purge."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from ethogram.errors import BadUsage, EthogramError
from ethogram.files.sqlite import columns
from ethogram.models import Event, Reading, Verdict
from ethogram.store import open_store, sqlite
from ethogram.store.kinds import KINDS
from ethogram.store.records import SweptDetection
from ethogram.store.schema import SCHEMA
from ethogram.store.sqlite import SQLiteStore
from risk_makers import detection


def test_a_new_file_has_the_newest_schema(store):
    assert store.info().schema == SCHEMA.version


def test_every_kind_has_a_table_with_its_columns(store):
    """Numbers stand for the names of sources and subjects, and blocks are copies of events."""
    tables = columns(SCHEMA)
    assert {*tables} == {*KINDS, "blocks", "block_subjects"}
    for name, kind in KINDS.items():
        own = {"key"} if name in ("sources", "subjects") else set()
        by_number = {"source"} if name == "swept" else set()
        assert {*tables[name]} == {*kind.names} - by_number | own, name


def test_every_table_is_strict(store):
    with store.reading() as connection:
        rows = connection.execute("SELECT name, strict FROM pragma_table_list WHERE type = 'table'")
        loose = [name for name, strict in rows if not strict and not name.startswith("sqlite_")]
    assert not loose


def with_step(monkeypatch, step: str) -> None:
    """The program of tomorrow: one more step leads to its schema."""
    newer = SCHEMA._replace(steps=(*SCHEMA.steps, step))
    monkeypatch.setattr(sqlite, "SCHEMA", newer)


def version_of(path) -> int:
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute("PRAGMA user_version").fetchone()[0]


def test_an_older_store_is_upgraded_with_its_events(store, path, made, monkeypatch):
    store.add(made(3))
    store.close()
    assert version_of(path) == SCHEMA.version
    step = "CREATE TABLE moods (name TEXT) STRICT;\nALTER TABLE looks ADD COLUMN mood TEXT;\n"
    with_step(monkeypatch, step)
    for _ in range(2):
        with open_store(str(path)) as opened:
            assert opened.info().schema == SCHEMA.version + 1 == version_of(path)
            assert [event.id for event in opened.events()] == ["e0", "e1", "e2"]
            with opened.reading() as connection:
                assert connection.execute("SELECT count(mood) FROM looks, moods").fetchone()[0] == 0


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(store, path, made, monkeypatch):
    store.add(made(3))
    store.close()
    with monkeypatch.context() as tomorrow:
        with_step(tomorrow, "CREATE TABLE moods (name TEXT) STRICT;\nCREATE TABLE nonsense (;\n")
        with pytest.raises(EthogramError, match="incomplete input"):
            open_store(str(path))
    with open_store(str(path)) as opened:
        assert opened.info().schema == SCHEMA.version == version_of(path)
        assert len(list(opened.events())) == 3
        with opened.reading() as connection:
            query = "SELECT count(*) FROM sqlite_master WHERE name = 'moods'"
            assert connection.execute(query).fetchone()[0] == 0


def test_a_newer_schema_than_is_known_is_refused_with_what_to_do(store, path):
    store.close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
    with pytest.raises(BadUsage, match=r"a newer one wrote it\. Upgrade ethogram"):
        open_store(str(path))


@pytest.mark.parametrize("content", [b"hello", b"SQLite format 2", b"{}" * 100])
def test_a_file_that_is_no_store_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(BadUsage, match="is not a store"):
        open_store(str(path), create=True)
    assert path.read_bytes() == content


def test_an_sqlite_file_of_another_program_is_refused(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (a)")
    other.close()
    with pytest.raises(BadUsage, match="another program"):
        open_store(str(path), create=True)


def test_without_create_nothing_is_made(path):
    with pytest.raises(BadUsage, match="there is no store at"):
        open_store(str(path))
    assert not path.exists()


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite://host/x", "sqlite:///x.db?nolock=1", "sqlite:///x.db?synchronous=off"]
)
def test_a_url_that_names_no_file_or_asks_for_nonsense_is_refused(url):
    with pytest.raises(BadUsage):
        open_store(url, create=True)


def test_an_unknown_kind_of_store_is_told_with_the_nearest():
    with pytest.raises(BadUsage, match="unknown store 'mysql': expected a path, or a URL of bolt,"):
        open_store("mysql://localhost/x")
    with pytest.raises(BadUsage, match="unknown store 'sqlit'; did you mean 'sqlite'"):
        open_store("sqlit:///x")


def test_a_url_and_a_path_are_the_same_file(store, path, made):
    store.add(made(3))
    with open_store(f"sqlite:///{path}?synchronous=full") as again:
        assert len(list(again.events())) == 3


def test_text_is_kept_only_where_asked(store, path):
    store.add([Event.sample(id="a", text="a very private word")])
    store.add([Event.sample(id="b", text="a shared word")], keep_text=True)
    assert [event.text for event in store.events()] == [None, "a shared word"]
    store.close()
    assert b"very private" not in everything(path)


def everything(path):
    """All bytes on disk of a store."""
    return b"".join(item.read_bytes() for item in path.parent.glob(path.name + "*"))


def test_a_purged_subject_is_nowhere_in_the_file(store, path):
    secret = {"command": "curl hunter2-token.example"}
    lines = [
        Event.sample(id=f"{who}-{i}-id", subject=who, seq=i, attributes=secret if who == "zoe-q" else {})
        for i in range(200)
        for who in ("zoe-q", "kim-q")
    ]
    store.add(lines)
    store.add_readings(("input", "zoe-q-3-id"), [Reading("topic", "zebra-crossing", "model@1")])
    assert b"hunter2" in everything(path)
    assert b"zebra-crossing" in everything(path)
    done = store.purge(subject="zoe-q")
    assert (done.events, done.clean) == (200, True)
    left = everything(path)
    for trace in (b"hunter2", b"zebra-crossing", b"zoe-q"):
        assert trace not in left
    assert b"kim-q" in left
    assert {event.subject for event in store.events()} == {"kim-q"}


def test_what_lies_before_a_moment_is_purged_and_the_rest_stays(store, made):
    events = made(10)
    store.add(events)
    assert store.purge(before=events[4].at).events == 4
    assert [event.id for event in store.events()] == [f"e{i}" for i in range(4, 10)]
    assert [(subject.name, subject.events, subject.first_at) for subject in store.subjects()] == [
        ("s0", 2, events[6].at),
        ("s1", 2, events[4].at),
        ("s2", 2, events[5].at),
    ]


def test_keys_are_not_used_twice_after_a_purge(store, made):
    events = made(6, subjects=1)
    store.add(events)
    (before,) = store.subjects()
    store.purge(before=events[-1].at + timedelta(days=1))
    store.add([replace(events[0], id="new")])
    (after,) = store.subjects()
    assert after.changed > before.changed


def test_readings_can_be_asked_for_by_signal(store):
    event = Event.sample(
        id="a", readings={"risk": 0.5, "topic": "x"}, scorers={"topic": "m@1"}, widths={"topic": 4}
    )
    store.add([event])
    store.add_readings(("input", "a"), [Reading("virtue", 0.25, "m@2")])
    query = "SELECT signal, number, text, scorer, width FROM all_readings ORDER BY signal"
    with store.reading() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    assert rows == [
        ("risk", 0.5, None, "given", None),
        ("topic", None, "x", "m@1", 4),
        ("virtue", 0.25, None, "m@2", None),
    ]


def test_one_reads_while_another_writes(store, path, made):
    """The reader sees what was there when it began, and is in nobody's way."""
    store.add(made(50))
    with SQLiteStore(str(path)) as reader:
        reading = reader.events()
        first = next(reading)
        store.add([replace(item, id=f"new-{item.id}") for item in made(50)])
        assert len([first, *reading]) == 50
        assert len(list(reader.events())) == 100


def test_opening_a_store_loads_nothing_slow(path, store):
    code = (
        "import sys; from ethogram.store import open_store; open_store(sys.argv[1]).info(); "
        "sys.exit(str([name for name in ('numpy', 'sqlalchemy', 'psycopg') if name in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert run.stderr.strip() == "[]"


def test_with_the_events_of_a_silence_goes_what_was_said_of_it(store, made, path):
    events = made(4, subjects=1)
    store.add(events)
    for last, why in (("e1", "old-secret"), ("e3", "half-secret")):
        given = {"subject": "s0", "first_event": "e0", "last_event": last, "source": "input"}
        store.add_verdicts([Verdict("missed", "kim", events[3].at, "loop", why=why, **given)])
    newer = {"subject": "s0", "first_event": "e2", "last_event": "e3", "source": "input"}
    verdict = Verdict("missed", "kim", events[3].at, "loop", why="new-reason", **newer)
    store.add_verdicts([verdict])
    store.purge(before=events[2].at)
    assert [verdict.why for verdict in store.verdicts()] == ["new-reason"]
    assert sum(count.missed for count in store.verdict_counts().values()) == 2
    assert b"secret" not in everything(path)
    store.settle_verdicts(events[3].at + timedelta(days=1))
    assert store.settled([verdict]) == [verdict]
    store.purge(before=events[3].at)
    assert store.settled([verdict]) == []


def test_with_the_last_event_of_a_subject_go_its_detections_open_ones_too(store, made):
    events = made(4, subjects=2)
    store.add(events)
    found = [
        replace(detection(who, subject=who), state="opened", closed_at=None, detected_at=events[0].at)
        for who in ("s0", "s1")
    ]
    store.save_sweep("a", "b", events[3].at, detections=[("new", SweptDetection(item)) for item in found])
    done = store.purge(before=events[3].at)  # the last event is of s1
    assert (done.events, done.detections) == (3, 1)
    assert (
        [detection.subject for detection in store.detections()]
        == [subject.name for subject in store.subjects()]
        == ["s1"]
    )
