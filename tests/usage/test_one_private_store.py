"""One private store has events under pseudonyms and people of the usage tracker: one key, one audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.cli.main import main
from ethogram.errors import BadUsage
from ethogram.store import open_store
from ethogram.usage.pseudonym import new_keys, write_keys
from ethogram.usage.rotation import rotate
from ethogram.usage.tracker import UsageTracker
from small import turns, write_events
from usage_stores import BEGIN, DAY, NOW, WHO, is_in

PEOPLE = (WHO, "bo")


@pytest.fixture
def both(path: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of three events of each, and of forty events of use of each."""
    monkeypatch.setenv("ETHOGRAM_USAGE_KEY_FILE", str(key))
    events = write_events(
        tmp_path / "e.jsonl", [t for who in PEOPLE for t in turns(who, [0.1] * 3, [1, 2, 3])]
    )
    assert main(["store", "import", str(events), "--store", str(path), "--pseudonyms", str(key)]) == 0
    with UsageTracker(path, clock=lambda: NOW, who="dr. b") as tracker:
        for who in PEOPLE:
            for day in range(40):
                tracker.record(who, BEGIN + day * DAY, 10)
    return path


def records(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_events_may_come_after_people_under_the_key_of_the_store_alone(
    path: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("ETHOGRAM_USAGE_KEY_FILE", str(key))
    with UsageTracker(path, clock=lambda: NOW) as tracker:
        tracker.record(WHO, BEGIN, 10)
    write_keys(tmp_path / "other.key", new_keys())
    events = write_events(tmp_path / "e.jsonl", turns(WHO, [0.1] * 3, [1, 2, 3]))
    add = ["store", "import", str(events), "--store", str(path)]
    assert main(add) == 2
    assert main([*add, "--pseudonyms", str(tmp_path / "other.key")]) == 2
    assert main([*add, "--pseudonyms", str(key)]) == 0
    capsys.readouterr()
    with UsageTracker(path) as tracker, open_store(str(path)) as store:
        assert [row.name for row in store.subjects()] == [tracker.name(WHO)]


def test_a_person_has_one_name_in_it_and_that_tells_nothing(both: Path):
    with UsageTracker(both) as tracker, open_store(str(both)) as store:
        assert {row.name for row in store.subjects()} == {tracker.name(who) for who in PEOPLE}
    assert not is_in(WHO, both)


def test_looks_at_events_and_at_use_are_in_one_audit(both: Path, capsys: pytest.CaptureFixture[str]):
    store = ["--store", str(both), "--why", "a review", "--who", "dr. b"]
    assert main(["store", "subject", WHO, *store]) == 0
    assert main(["usage", "signals", WHO, *store]) == 0
    capsys.readouterr()
    assert main(["usage", "audit", "--store", str(both), "--subject", WHO, "--json"]) == 0
    assert [(line["what"], line["who"]) for line in records(capsys)] == [
        ("subject", "dr. b"), ("signals", "dr. b"),
    ]  # fmt: skip
    assert not is_in(WHO, both)


def test_a_person_gets_events_and_use_and_each_look_once(both: Path, capsys: pytest.CaptureFixture[str]):
    capsys.readouterr()
    assert main(["store", "export-subject", "--store", str(both), "--subject", WHO]) == 0
    kinds = [record.get("record") for record in records(capsys)]
    assert kinds.count(None) == 3
    assert kinds.count("usage_event") == 40
    assert kinds.count("usage_look") == 2  # one for the events, one for the use


@pytest.mark.parametrize("subject", [WHO, ""], ids=["a person", "all before a time"])
def test_a_purge_removes_events_and_use(both: Path, subject: str, capsys: pytest.CaptureFixture[str]):
    with UsageTracker(both) as tracker:
        name = tracker.name(WHO)
    # Both kinds of events are before that time.
    whose = ["--subject", subject] if subject else ["--before", "2027-01-01T00:00:00Z"]
    capsys.readouterr()
    assert main(["store", "purge", "--store", str(both), *whose, "--json"]) == 0
    assert [record["record"] for record in records(capsys)] == ["usage_purge", "purge"]
    assert not is_in(name, both)
    with UsageTracker(both) as tracker, open_store(str(both)) as store:
        left = 1 if subject else 0
        assert (tracker.info()["people"], len(store.subjects())) == (left, left)
        assert [line.what for line in tracker.audit()][-1] == "purge"


def test_its_key_opens_both_and_another_opens_neither(both: Path, tmp_path: Path):
    write_keys(tmp_path / "other.key", new_keys())
    with pytest.raises(BadUsage, match="not that of this store"):
        UsageTracker(both, key=tmp_path / "other.key")
    other = ["--store", str(both), "--key", str(tmp_path / "other.key")]
    assert main(["store", "subject", WHO, *other]) == 2
    assert main(["usage", "signals", WHO, *other]) == 2


def test_a_key_is_not_rotated_where_events_would_keep_their_names(both: Path, key: Path):
    with pytest.raises(BadUsage, match="has events under pseudonyms"):
        rotate(key, [both], at=NOW)
    with UsageTracker(both) as tracker:
        assert next(tracker.export(WHO))["events"] == 40


def test_a_store_of_names_takes_no_people(path: Path, key: Path, tmp_path: Path):
    events = write_events(tmp_path / "e.jsonl", turns("ann", [0.1], [1]))
    assert main(["store", "import", str(events), "--store", str(path)]) == 0
    with pytest.raises(BadUsage, match="by their own names"):
        UsageTracker(path, key=key)
    with open_store(str(path)) as store:
        assert store.private() is None


def test_people_first_and_events_later_is_the_same(path: Path, key: Path, tmp_path: Path):
    with UsageTracker(path, key=key, clock=lambda: NOW) as tracker:
        tracker.record(WHO, BEGIN)
        name = tracker.name(WHO)
    events = write_events(tmp_path / "e.jsonl", turns(WHO, [0.1], [1]))
    into = ["store", "import", str(events), "--store", str(path)]
    assert main(into) == 2
    assert main([*into, "--pseudonyms", str(key)]) == 0
    with open_store(str(path)) as store:
        assert [row.name for row in store.subjects()] == [name]


def test_a_copy_takes_people_along(both: Path, key: Path, tmp_path: Path):
    assert main(["store", "copy", str(both), str(tmp_path / "copy.db")]) == 0
    with UsageTracker(both) as tracker, UsageTracker(tmp_path / "copy.db", key=key) as copy:
        for who in PEOPLE:
            mine, theirs = (
                [record for record in item.export(who) if record["record"] != "usage_look"]
                for item in (tracker, copy)
            )
            assert mine == theirs
