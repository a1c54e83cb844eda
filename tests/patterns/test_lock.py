"""The lock tells a change of meaning from a change of words, and the library's own is current."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ethogram.errors import BadPattern
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import SHIPPED, load_patterns
from ethogram.patterns.listing import LockChange
from ethogram.patterns.lock import (
    FILE,
    GONE,
    MEANING,
    NEW,
    WORDS,
    Hashes,
    changes,
    hashes_of,
    inside,
    lock_text,
    read_lock,
    write_lock,
)
from ethogram.patterns.pattern_file import read_pattern_file
from pattern_files import BUSY, CALM_THEN_LOUD, write


def hashes(*paths: Path) -> Hashes:
    return hashes_of(read_pattern_file(path, load_vocabulary()) for path in paths)


def test_the_lock_of_the_library_is_current():
    current = hashes_of(inside(load_patterns(any_status=True).files.values(), SHIPPED))
    locked = read_lock(SHIPPED / FILE)
    assert locked is not None, "run: ethogram patterns lock"
    assert changes(locked, current) == [], "run: ethogram patterns lock"
    assert (SHIPPED / FILE).read_text("utf-8") == lock_text(current)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"shape": CALM_THEN_LOUD["shape"] | {"within": "4 events"}}, MEANING),
        ({"group_by": ["subject", "target"]}, MEANING),
        ({"tell_at": 1}, MEANING),
        ({"parameters": {"unused": 1}}, MEANING),
        ({"title": "Other words"}, WORDS),
        ({"explanation": None}, WORDS),
        ({"status": "retired"}, WORDS),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value,
)
def test_a_change_is_one_of_meaning_or_only_of_words(tmp_path, change, what):
    before = hashes(write(tmp_path))
    after = hashes(write(tmp_path, **change))
    assert changes(before, after) == [LockChange("outburst", what)]


def test_comments_and_layout_change_nothing(tmp_path):
    path = write(tmp_path)
    before = hashes(path)
    path.write_text("# a remark\n" + json.dumps(json.loads(path.read_text())), "utf-8")
    assert changes(before, hashes(path)) == []


def test_new_and_gone_patterns_are_named(tmp_path):
    item, other = hashes(write(tmp_path)), hashes(write(tmp_path, BUSY))
    assert changes(item, other) == [LockChange("busy", NEW), LockChange("outburst", GONE)]


def test_a_lock_is_read_back_as_it_was_written(tmp_path):
    current = hashes(write(tmp_path), write(tmp_path, BUSY))
    write_lock(tmp_path / FILE, current)
    text = (tmp_path / FILE).read_text("utf-8")
    assert text.endswith("}\n")
    assert json.loads(text) == {"format": 1, "patterns": current}
    assert list(json.loads(text)["patterns"]) == ["busy", "outburst"]
    assert read_lock(tmp_path / FILE) == current


def test_a_lock_without_patterns_is_a_lock(tmp_path):
    write_lock(tmp_path / FILE, {})
    assert read_lock(tmp_path / FILE) == {}


def test_no_lock_is_none(tmp_path):
    assert read_lock(tmp_path / FILE) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"format": 2, "patterns": {}}',
        '{"format": 1, "patterns": {"a": {"shape": "x"}}}',
    ],
    ids=["empty", "list", "deep", "format", "entry"],
)
def test_what_is_not_a_lock_is_refused(tmp_path, text):
    (tmp_path / FILE).write_text(text, "utf-8")
    with pytest.raises(BadPattern, match=r"patterns\.lock\.json: is not a lock of format 1"):
        read_lock(tmp_path / FILE)


def test_only_patterns_of_the_folder_are_locked(tmp_path):
    mine, other = write(tmp_path / "mine" / "deep"), write(tmp_path / "other", BUSY)
    files = [read_pattern_file(path, load_vocabulary()) for path in (mine, other)]
    assert [file.name for file in inside(files, tmp_path / "mine")] == ["outburst"]
