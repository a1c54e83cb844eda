"""SQLite files: kinds refuse one another, writers wait for one another, upgrades are all or nothing."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from itertools import permutations
from threading import Timer

import pytest

from ethogram.agents.hook.state_db import SCHEMA as HOOK
from ethogram.errors import BadUsage, EthogramError
from ethogram.evaluators.response_cache import SCHEMA as ANSWERS
from ethogram.files import sqlite
from ethogram.store.schema import SCHEMA as EVENTS
from ethogram.usage.migration import OLD as USAGE

KINDS = {"events": EVENTS, "usage": USAGE, "answers": ANSWERS, "hook": HOOK}


def make(path, schema, busy: int = 1000) -> sqlite3.Connection:
    return sqlite.open_current(path, schema, busy=busy)


def test_every_kind_has_a_number_and_a_name_of_its_own():
    assert {schema.application for schema in KINDS.values()} == set(sqlite.KINDS)
    assert len({schema.kind for schema in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize(("made", "wanted"), list(permutations(KINDS, 2)))
def test_a_file_of_one_kind_is_refused_as_another_and_not_changed(tmp_path, made, wanted):
    path = tmp_path / "file"
    make(path, KINDS[made]).close()
    before = path.read_bytes()
    text = f"is a {KINDS[made].kind}, not a {KINDS[wanted].kind}; `ethogram"
    with pytest.raises(BadUsage, match=text):
        sqlite.check_kind(path, KINDS[wanted])
    # Also where it came to be after the check.
    with pytest.raises(BadUsage, match=text):
        make(path, KINDS[wanted])
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_only_has_the_number_is_new_and_one_with_tables_and_no_version_is_damaged(tmp_path):
    path = tmp_path / "file"
    sqlite.connect(path, HOOK, busy=1000).close()
    make(path, HOOK).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 0")
    says = "damaged: it has tables and no schema version"
    with pytest.raises(EthogramError, match=says), sqlite.named_errors(path):
        make(path, HOOK)


@pytest.mark.parametrize("schema", KINDS.values(), ids=KINDS)
def test_a_newer_file_is_refused(tmp_path, schema):
    path = tmp_path / "file"
    newer = schema._replace(steps=(*schema.steps, "CREATE TABLE more (x);\n"))
    make(path, newer).close()
    with pytest.raises(BadUsage, match=f"has schema {newer.version}, and this ethogram knows up to"):
        make(path, schema)


def test_an_upgrade_is_all_or_nothing(tmp_path):
    path = tmp_path / "file"
    make(path, HOOK).close()
    broken = HOOK._replace(steps=(*HOOK.steps, "CREATE TABLE more (x);\nCREATE TABLE run (x);\n"))
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        make(path, broken)
    with closing(make(path, HOOK)) as raw:
        sqlite.check_columns(raw, HOOK)
        assert raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone() == (0,)


def test_what_fails_in_a_transaction_has_not_happened(tmp_path):
    with closing(make(tmp_path / "file", HOOK)) as raw:
        twice = [("s", "a", 0, "{}")] * 2
        with pytest.raises(sqlite3.IntegrityError), sqlite.transaction(raw):
            raw.executemany("INSERT INTO run VALUES (?, ?, ?, ?)", twice)
        assert not raw.in_transaction
        assert raw.execute("SELECT count(*) FROM run").fetchone() == (0,)


def test_a_writer_waits_for_another_one(tmp_path):
    path = tmp_path / "file"
    with closing(make(path, HOOK)) as first, closing(make(path, HOOK, busy=60_000)) as second:
        first.execute("BEGIN IMMEDIATE")
        done = Timer(0.3, lambda: first.execute("COMMIT"))
        began = time.monotonic()
        done.start()
        with sqlite.transaction(second):
            assert time.monotonic() - began >= 0.25
        done.join()


def test_a_writer_that_waited_too_long_says_that_another_one_writes(tmp_path):
    path = tmp_path / "file"
    with closing(make(path, HOOK)) as first, closing(make(path, HOOK, busy=200)) as second:
        first.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        says = "file: database is locked; another program is writing to it: try again"
        with pytest.raises(EthogramError, match=says), sqlite.named_errors(path), sqlite.transaction(second):
            pass
        assert time.monotonic() - began > 0.15
        first.execute("ROLLBACK")


def test_a_reader_keeps_old_pages_from_going_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "TRIES", 2)
    monkeypatch.setattr(sqlite, "PATIENCE", 20)
    path = tmp_path / "file"
    with closing(make(path, HOOK)) as raw, closing(make(path, HOOK)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM run").fetchone()
        assert not sqlite.scrub(raw)
        reader.execute("COMMIT")
        assert sqlite.scrub(raw)
        assert raw.execute("PRAGMA busy_timeout").fetchone() == (1000,)


def test_a_missing_table_or_column_is_damage(tmp_path):
    with closing(make(tmp_path / "file", HOOK)) as raw:
        raw.execute("ALTER TABLE said DROP COLUMN rung")
        with pytest.raises(sqlite3.DatabaseError, match=r"no such column: said\.rung"):
            sqlite.check_columns(raw, HOOK)
        raw.execute("DROP TABLE said")
        with pytest.raises(sqlite3.DatabaseError, match="no such table: said"):
            sqlite.check_columns(raw, HOOK)
