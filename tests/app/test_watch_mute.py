"""A watch does not tell what is muted, but counts it; combinations see it all the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ethogram import Watch
from ethogram.models.mute import Mute, mute_id
from small import BOTH, GONE, HOT, WARM, turns, warm_messages, write_patterns

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def entry(until: datetime | None = None, **asks: str) -> Mute:
    return Mute(mute_id(asks), "known", **asks, until=until)


def watch_with(folder: Path, *mutes: Mute, heard: list[str] | None = None) -> Watch:
    called = [] if heard is None else heard
    patterns = [write_patterns(folder / "p", WARM, HOT, GONE, BOTH)]
    return Watch(
        patterns, mutes=mutes, clock=lambda: NOW, on_detection=lambda pattern: called.append(pattern.pattern)
    )


def test_a_muted_detection_is_neither_returned_nor_called_but_counted(tmp_path):
    texts: list[str] = []
    mute = entry(subject="ann")
    watch = watch_with(tmp_path, mute, heard=texts)
    assert watch.observe_many(warm_messages()) == []
    assert texts == []
    assert watch.muted == {mute.id: 1}


def test_what_no_entry_asks_for_is_told(tmp_path):
    texts: list[str] = []
    watch = watch_with(tmp_path, entry(subject="bo"), entry(NOW, subject="ann"), heard=texts)
    assert [item.pattern for item in watch.observe_many(warm_messages())] == ["warm_then_cold"] == texts
    assert watch.muted == {}


def test_the_end_of_an_entry_is_that_of_the_watchs_clock(tmp_path):
    lasting = entry(NOW + timedelta(microseconds=1), subject="ann")
    assert watch_with(tmp_path, lasting).observe_many(warm_messages()) == []


def test_an_open_detection_that_is_muted_is_not_listed(tmp_path):
    hot = turns("ann", [0.9] * 3, [1, 2, 3])
    watch = watch_with(tmp_path)
    watch.observe_many(hot)
    assert [item.pattern for item in watch.open()] == ["hot_for_long"]
    muted = watch_with(tmp_path, entry(pattern="hot_*"))
    muted.observe_many(hot)
    assert muted.open() == []
    assert sum(muted.muted.values()) == 1


def test_muting_a_part_does_not_hide_what_it_is_a_part_of(tmp_path):
    watch = watch_with(tmp_path, entry(pattern="hot_for_long"), entry(pattern="gone_away"))
    told = watch.observe_many(turns("ann", [0.9] * 3, [1, 2, 3])) + watch.flush(NOW + timedelta(days=365))
    assert [item.pattern for item in told] == ["hot_then_gone"]


def hot_turns(*paths: str | None) -> list[dict[str, object]]:
    return [
        turn | ({} if path is None else {"attributes": {"path": path}})
        for turn, path in zip(turns("ann", [0.9] * 3, [1, 2, 3]), paths, strict=True)
    ]


def test_every_path_in_the_evidence_must_match(tmp_path):
    build = entry(path="build/*")
    assert watch_with(tmp_path, build).observe_many(hot_turns("build/a", "build/b", None)) == []
    assert len(watch_with(tmp_path, build).observe_many(hot_turns("build/a", ".env", "build/b"))) == 1
    assert len(watch_with(tmp_path, build).observe_many(hot_turns(None, None, None))) == 1


def test_a_path_of_an_event_that_is_not_known_any_more_is_not_guessed(tmp_path):
    """After loading only hashes of earlier events are known: one of them could have touched anything."""
    build, events = entry(path="build/*"), hot_turns("build/a", "build/b", "build/c")
    watch = watch_with(tmp_path, build)
    watch.observe_many(events[:2])
    saved = json.loads(json.dumps(watch.save()))
    later = Watch.load(saved, [tmp_path / "p"], mutes=[build], clock=lambda: NOW)
    assert [item.pattern for item in later.observe(events[2])] == ["hot_for_long"]


def test_the_count_is_saved(tmp_path):
    mute = entry(subject="ann")
    watch = watch_with(tmp_path, mute)
    watch.observe_many(warm_messages())
    later = Watch.load(watch.save(), [tmp_path / "p"], mutes=[mute])
    assert later.muted == {mute.id: 1}
