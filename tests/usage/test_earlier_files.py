"""Files of the tracker of commit a128a680 open: the same people, under the same names, with the same answers.

`earlier/` has two of them as SQL with a key, and what that program answered. The key was rotated for
`events.sql` alone.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ethogram.cli.main import main
from ethogram.errors import BadUsage, StoreFailed
from ethogram.files import sqlite
from ethogram.store.schema import SCHEMA
from ethogram.usage import migration
from ethogram.usage.pseudonym import Keys, read_keys
from ethogram.usage.rotation import rotate
from ethogram.usage.tracker import UsageTracker
from usage_stores import BEGIN, DAY, bytes_of, is_in

EARLIER = Path(__file__).parent / "earlier"
ANSWERS: dict[str, Any] = json.loads((EARLIER / "answers.json").read_text())
KEEPS = ("events", "aggregates")
THEN = BEGIN + 40 * DAY
SWEPT_AT = BEGIN + 30 * DAY


@pytest.fixture
def key(tmp_path: Path) -> Path:
    shutil.copy(EARLIER / "usage.key", tmp_path / "usage.key")
    (tmp_path / "usage.key").chmod(0o600)
    return tmp_path / "usage.key"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store" / "usage.db"


def restore(keep: str, path: Path) -> None:
    """A file as that tracker left it."""
    sqlite.create(path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA application_id = 0x65746875")
        raw.execute("PRAGMA user_version = 1")
        raw.executescript((EARLIER / f"{keep}.sql").read_text())


def opened(keep: str, path: Path, key: Path, **how: Any) -> UsageTracker:
    keys = read_keys(key)
    chosen = keys if keep == "events" else Keys(keys.chain[:1])
    return UsageTracker(
        path, **{"key": chosen, "clock": lambda: THEN, "who": "dr. b", "create": False, **how}
    )


@pytest.mark.parametrize("keep", KEEPS)
def test_a_file_answers_as_its_own_tracker_did(keep: str, path: Path, key: Path):
    restore(keep, path)
    expected = ANSWERS[keep]
    with opened(keep, path, key) as tracker:
        assert tracker.name("ann") == expected["name"]
        assert [line.to_dict() for line in tracker.audit()] == expected["audit"]
        assert {who: list(tracker.export(who)) for who in ("ann", "bo")} == expected["export"]
        answers = {who: tracker.signals(who, SWEPT_AT).to_dict() for who in ("ann", "bo")}
        assert answers == expected["signals"]
        assert [news.to_dict() for news in tracker.sweep(BEGIN + 38 * DAY, tidy=False)] == expected["news"]
        assert tracker.info()["retention_days"] == 60
    with opened(keep, path, key) as tracker:
        # What was reported is not reported again, and what was recorded is known.
        assert list(tracker.sweep(BEGIN + 38 * DAY, tidy=False)) == []
        lines = [{"subject": "bo", "at": BEGIN + 16 * DAY + k, "length": 5} for k in range(3)]
        assert tracker.record_all(lines, "a file") == (0, 3)
        tracker.record("ann", BEGIN + 19 * DAY + 601 + 7, 123, id="e 19 1")
        assert next(tracker.export("ann"))["events"] == 40


@pytest.mark.parametrize("keep", KEEPS)
def test_a_person_of_such_a_file_is_removed_from_every_byte(keep: str, path: Path, key: Path):
    restore(keep, path)
    with opened(keep, path, key) as tracker:
        name = tracker.name("ann")
        assert is_in(name, path)
        done = tracker.purge("ann")
        assert (done.people, done.clean) == (1, True)
        assert not is_in(name, path)
        assert not is_in(bytes.fromhex(name), path)
        assert not is_in("a review", path)
        assert {line.what for line in tracker.audit()} >= {"signals", "purge", "unknown"}
        assert tracker.info()["people"] == 1


@pytest.mark.parametrize("keep", KEEPS)
def test_no_name_of_the_old_form_is_left(keep: str, path: Path, key: Path):
    restore(keep, path)
    with closing(sqlite3.connect(path)) as raw:
        names = [name for (name,) in raw.execute("SELECT name FROM people")]
    assert all(name in bytes_of(path) for name in names)
    opened(keep, path, key).close()
    assert not any(name in bytes_of(path) for name in names)


@pytest.mark.parametrize("keep", KEEPS)
def test_retention_goes_on(keep: str, path: Path, key: Path):
    restore(keep, path)
    with opened(keep, path, key, clock=lambda: BEGIN + 79 * DAY) as tracker:
        tracker.record("cy", BEGIN + 78 * DAY, 10)
        gone = tracker.tidy()
        # The 60 days begin on the 18th, after everything of bo and before the last two days of ann.
        assert (gone.people, tracker.info()["people"]) == (1, 2)
        assert next(tracker.export("ann"))["events"] == 4


def test_a_store_that_missed_a_rotation_says_so_and_catches_up(path: Path, key: Path):
    restore("aggregates", path)
    with pytest.raises(BadUsage, match="an older key of this file"):
        UsageTracker(path, key=key)
    before = ANSWERS["aggregates"]["name"]
    assert is_in(before, path)
    rotate(key, [path], at=THEN)
    assert not is_in(before, path)
    with UsageTracker(path, key=key, clock=lambda: THEN) as tracker:
        assert next(tracker.export("ann"))["events"] == 40


def test_commands_open_such_a_file(path: Path, key: Path, capsys: pytest.CaptureFixture[str]):
    restore("events", path)
    assert main(["usage", "info", "--store", str(path), "--key", str(key), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["people"], found["events"], found["keys"]) == (2, 44, 2)


def test_one_that_fails_half_way_stays_as_it_was(path: Path, key: Path, monkeypatch: pytest.MonkeyPatch):
    restore("events", path)
    monkeypatch.setattr(migration, "COPIES", (*migration.COPIES, "INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(StoreFailed, match="nowhere"):
        opened("events", path, key)
    monkeypatch.undo()
    assert sqlite.read_header(path) == sqlite.Header(0x65746875, 1)
    with opened("events", path, key) as tracker:
        assert tracker.info()["events"] == 44
    assert sqlite.read_header(path) == sqlite.Header(SCHEMA.application, SCHEMA.version)


def test_one_of_a_newer_program_is_refused(path: Path, key: Path):
    restore("events", path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 2")
    with pytest.raises(BadUsage, match="another version wrote"):
        opened("events", path, key)
