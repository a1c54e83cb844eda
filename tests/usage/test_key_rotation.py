"""Keys: added without knowing anybody, while others write, after a kill, and for forgotten stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from ethogram.errors import BadUsage
from ethogram.usage.pseudonym import Keys, find_keys, new_keys, read_keys, write_keys
from ethogram.usage.rotation import rotate
from ethogram.usage.tracker import UsageTracker
from usage_stores import BEGIN, DAY, EVENT, NOW, WHO, fill, is_in, opened


def test_a_key_is_added_without_knowing_anybody(path, key):
    with opened(path, key) as tracker:
        fill(tracker)
        old = tracker.name(WHO)
        tracker.signals(WHO, NOW)
        as_of = BEGIN + 45 * DAY
        before = tracker.signals(WHO, as_of).to_dict()
    copy = Keys(read_keys(key).chain)
    rotate(key, [path], at=NOW, who="admin")
    assert not is_in(old, path)
    with opened(path, key) as tracker:
        assert tracker.info()["keys"] == 2
        assert tracker.signals(WHO, as_of).to_dict() == before
        assert [item.what for item in tracker.audit(WHO)] == ["signals"] * 3
        # What came before is known by its id still.
        tracker.record(WHO, BEGIN + 7, 123, id=f"{EVENT} 0 0")
        assert next(tracker.export(WHO))["events"] == 200
    with pytest.raises(BadUsage, match="not that of this store"):
        UsageTracker(path, key=copy)


def test_a_tracker_that_runs_takes_the_new_key_by_itself(path, key):
    with opened(path, key, hold=3600) as tracker:
        tracker.record(WHO, BEGIN)
        tracker.flush()
        tracker.record(WHO, BEGIN + 1)
        rotate(key, [path], at=NOW)
        tracker.record(WHO, BEGIN + 2)
        tracker.flush()
        assert next(tracker.export(WHO))["events"] == 3
        assert tracker.info()["people"] == 1


def test_a_rotation_that_was_killed_goes_on(path, key, tmp_path, monkeypatch):
    two = path.parent / "two.db"
    for item in (path, two):
        with opened(item, key) as tracker:
            fill(tracker, 1)
    monkeypatch.setattr(Path, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rotate(key, [path, two], at=NOW)
    monkeypatch.undo()
    # The new key is on the disk: whoever records meanwhile goes on.
    with opened(path, key) as tracker:
        tracker.record(WHO, BEGIN + 50_000)
        assert next(tracker.export(WHO))["events"] == 6
    rotate(key, [path, two], at=NOW)
    assert not Path(f"{key}.new").exists()
    for item in (path, two):
        with opened(item, key) as tracker:
            assert tracker.info()["keys"] == 2
            assert next(tracker.export(WHO))["events"] == (6 if item is path else 5)


def test_a_tracker_that_runs_records_while_a_key_is_turned(path, key, monkeypatch):
    """Between the new names in the store and the new keys in their file."""
    tracker = opened(path, key)
    tracker.record(WHO, BEGIN)
    turned = Path.replace

    def record_first(item, other):
        tracker.record(WHO, BEGIN + 1)
        return turned(item, other)

    monkeypatch.setattr(Path, "replace", record_first)
    rotate(key, [path], at=NOW)
    tracker.record(WHO, BEGIN + 2)
    assert next(tracker.export(WHO))["events"] == 3
    tracker.close()


def test_a_store_that_was_forgotten_in_a_rotation_catches_up(path, key):
    two = path.parent / "two.db"
    for item in (path, two):
        with opened(item, key) as tracker:
            fill(tracker, 1)
    rotate(key, [path], at=NOW)
    keys = rotate(key, [path], at=NOW)
    assert len(keys.chain) == 3
    with pytest.raises(BadUsage, match="has an older key of this file"):
        opened(two, key)
    assert rotate(key, [path, two], at=NOW) == keys
    for item in (path, two):
        with opened(item, key) as tracker:
            assert next(tracker.export(WHO))["events"] == 5
            tracker.record(WHO, BEGIN + 7, id=f"{EVENT} 0 0")
            assert next(tracker.export(WHO))["events"] == 5
    assert len(rotate(key, [path, two], at=NOW).chain) == 4


def test_a_link_to_a_key_file_stays_one(path, key, tmp_path):
    link = tmp_path / "link.key"
    link.symlink_to(key)
    with opened(path, link) as tracker:
        tracker.record(WHO, BEGIN)
        rotate(link, [path], at=NOW)
        tracker.record(WHO, BEGIN + 1)
    assert link.is_symlink()
    assert len(read_keys(key).chain) == 2


@pytest.mark.parametrize("content", ["", "ethogram usage key 1\nab"])
def test_a_key_that_was_never_written_to_its_end_is_in_nobodys_way(path, key, content):
    with opened(path, key) as tracker:
        fill(tracker, 1)
    waiting = Path(f"{key}.new")
    waiting.write_text(content)
    waiting.chmod(0o600)
    rotate(key, [path], at=NOW)
    assert not waiting.exists()
    with opened(path, key) as tracker:
        assert (tracker.info()["keys"], next(tracker.export(WHO))["events"]) == (2, 5)


def test_a_rotation_with_a_store_of_another_key_changes_nothing(path, key, tmp_path):
    write_keys(tmp_path / "other.key", new_keys())
    with opened(path, key) as tracker:
        fill(tracker, 1)
    with pytest.raises(BadUsage, match="not that of this store"):
        rotate(tmp_path / "other.key", [path], at=NOW)
    assert not Path(f"{tmp_path / 'other.key'}.new").exists()
    with opened(path, key) as tracker:
        assert next(tracker.export(WHO))["events"] == 5


def test_a_key_file_that_cannot_be_used_says_why(tmp_path, key, monkeypatch):
    with pytest.raises(BadUsage, match="never written over"):
        write_keys(key, new_keys())
    key.chmod(0o644)
    with pytest.raises(BadUsage, match="chmod 600"):
        read_keys(key)
    (tmp_path / "no.key").write_text("secret")
    (tmp_path / "no.key").chmod(0o600)
    with pytest.raises(BadUsage, match="not a key file"):
        read_keys(tmp_path / "no.key")
    monkeypatch.delenv("ETHOGRAM_USAGE_KEY_FILE", raising=False)
    with pytest.raises(BadUsage, match="usage key new"):
        find_keys(None)
    key.chmod(0o600)
    monkeypatch.setenv("ETHOGRAM_USAGE_KEY_FILE", str(key))
    assert find_keys(None) == (read_keys(key), key)


def test_keys_are_never_shown():
    keys = new_keys()
    assert keys.chain[0].hex() not in repr(keys)
    assert repr(keys.chain[0]) not in repr(keys)
