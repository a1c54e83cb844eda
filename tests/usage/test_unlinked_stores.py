"""Stores by one key do not tell that they know the same people; old stores go on under their old names."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from ethogram.cli.main import main
from ethogram.errors import BadUsage
from ethogram.store import open_store
from ethogram.usage.rotation import rotate
from ethogram.usage.tracker import UsageTracker
from small import turns, write_events
from usage_stores import BEGIN, NOW, WHO

PEOPLE = [WHO, "bo", "cy"]


def hashes(path) -> set[bytes]:
    """Every value of a store that is, or is the text of, sixteen bytes or more."""
    with closing(sqlite3.connect(path)) as raw:
        tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        values = {value for table in tables for row in raw.execute(f"SELECT * FROM {table}") for value in row}
    texts = {bytes.fromhex(item) for item in values if isinstance(item, str) and len(item) == 32}
    return {item for item in values if isinstance(item, bytes) and len(item) == 16} | texts


def record(path, key) -> None:
    with UsageTracker(path, key=key, clock=lambda: NOW) as tracker:
        for person in PEOPLE:
            tracker.record(person, BEGIN, 10, session="s1", id="e1")
        tracker.record_all([{"subject": WHO, "at": BEGIN + 60}], "a file")
        tracker.signals(WHO, NOW)


def numbers(path) -> set[int]:
    with closing(sqlite3.connect(path)) as raw:
        return {row[0] for row in raw.execute("SELECT value FROM meta WHERE name LIKE 'private%'")}


def test_two_usage_stores_by_one_key_have_no_hash_in_common(tmp_path, key):
    first, second = tmp_path / "a.db", tmp_path / "b.db"
    record(first, key)
    record(second, key)
    assert min(len(hashes(first)), len(hashes(second))) > 3 * len(PEOPLE)
    assert hashes(first) & hashes(second) == set()
    assert numbers(first) & numbers(second) == set()


def test_neither_have_two_stores_of_events_nor_one_of_each(tmp_path, key):
    events = write_events(tmp_path / "e.jsonl", [turn for who in PEOPLE for turn in turns(who, [0.1], [1])])
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for path in paths:
        imported = ["store", "import", str(events), "--store", str(path), "--pseudonyms", str(key)]
        assert main(imported) == 0
        assert main(imported) == 0  # the same events again are known by their names
        with open_store(str(path)) as store:
            assert store.info().events == len(PEOPLE)
    usage = tmp_path / "usage.db"
    record(usage, key)
    first, second = (hashes(path) for path in paths)
    assert len(first) >= len(PEOPLE)
    assert first & second == set()
    assert (first | second) & hashes(usage) == set()
    assert numbers(paths[0]) & numbers(paths[1]) == set()


def test_a_person_is_found_in_a_store_of_events_by_id_and_key(tmp_path, key, capsys):
    events = write_events(tmp_path / "e.jsonl", turns("ann", [0.1, 0.2], [1, 2]))
    store = ["--store", str(tmp_path / "a.db")]
    assert main(["store", "import", str(events), *store, "--pseudonyms", str(key)]) == 0
    capsys.readouterr()
    assert main(["store", "export-subject", *store, "--key", str(key), "--subject", "ann"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [item.get("record") for item in said] == [None, None, "usage_look"]


def test_rotation_turns_several_stores_together(tmp_path, key):
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for path in paths:
        record(path, key)
    before = hashes(paths[0]) | hashes(paths[1])
    rotate(key, paths, at=NOW)
    assert before & (hashes(paths[0]) | hashes(paths[1])) == set()
    for path in paths:
        with UsageTracker(path, key=key, clock=lambda: NOW) as tracker:
            assert tracker.info()["people"] == len(PEOPLE)
            assert [item.what for item in tracker.audit(WHO)] == ["signals"]


def test_a_wrong_key_is_still_told_from_an_older_one(tmp_path, key):
    forgotten, turned = tmp_path / "a.db", tmp_path / "b.db"
    record(forgotten, key)
    record(turned, key)
    rotate(key, [turned], at=NOW)
    with pytest.raises(BadUsage, match="an older key of this file"):
        UsageTracker(forgotten, key=key)


def test_two_imports_that_begin_a_private_store_at_once_agree_on_its_number(tmp_path, key):
    with open_store(str(tmp_path / "s.db"), create=True) as item, open_store(str(tmp_path / "s.db")) as two:
        item.make_private(5, 55)
        two.make_private(6, 66)
        assert (item.private(), two.private(), two.private_salt()) == (5, 5, 55)
