"""What is known is not told and never fails a run, but it is counted; an entry hides no more than it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ethogram.app.analyze import analyze
from ethogram.app.mute import mutes, pattern_names
from ethogram.config import Settings
from ethogram.models import Event, parse_time
from ethogram.models.mute import Mute, mute_id
from reports import NOW, analyzed
from small import turns, warm_messages


def entry(until=None, **asks: str) -> Mute:
    return Mute(mute_id(asks), "known", **asks, until=until)


@pytest.mark.parametrize(
    "asks",
    [
        {"subject": "ann"},
        {"subject": "a*"},
        {"subject": "?nn"},
        {"pattern": "warm_*"},
        {"subject": "ann", "pattern": "warm_then_cold"},
    ],
)
def test_a_muted_detection_is_not_told_and_is_counted(tmp_path, asks):
    mute = entry(**asks)
    analysis = analyzed(tmp_path, warm_messages(), mutes=[mute])
    assert not analysis.detections
    assert not analysis.at_or_above("low")
    assert analysis.summary()["muted"] == {
        "detections": 1,
        "entries": [{"id": mute.id, "detections": 1, "expired": False, "trusted": True}],
    }
    assert not any(checked.quiet for checked in analysis.checked if checked.pattern == "warm_then_cold")


@pytest.mark.parametrize(
    "asks",
    [
        {"subject": "an"},
        {"subject": "ANN"},
        {"pattern": "warm"},
        {"subject": "ann", "pattern": "hot*"},
        {"path": "*"},
        {"command": "*"},
    ],
)
def test_what_does_not_match_in_every_way_is_told(tmp_path, asks):
    assert len(analyzed(tmp_path, warm_messages(), mutes=[entry(**asks)])) == 1


def test_an_entry_ends_when_it_says(tmp_path):
    lasting = entry(NOW + timedelta(microseconds=1), subject="ann")
    ended = entry(NOW, subject="ann")
    assert not analyzed(tmp_path, warm_messages(), mutes=[lasting]).detections
    analysis = analyzed(tmp_path, warm_messages(), mutes=[ended])
    assert len(analysis) == 1
    assert analysis.summary()["muted"] == {
        "detections": 0,
        "entries": [{"id": ended.id, "detections": 0, "expired": True, "trusted": True}],
    }


def test_muted_detections_come_out_only_where_asked_for(tmp_path):
    mute = entry(subject="ann")
    analysis = analyzed(tmp_path, warm_messages(), mutes=[mute])
    assert next(analysis.to_dicts())["record"] != "detection"
    first = next(analysis.to_dicts(muted=True))
    assert (first["record"], first["muted"]) == ("detection", mute.id)


def test_every_path_of_the_evidence_must_match(tmp_path):
    (item,) = analyzed(tmp_path, warm_messages()).detections

    def events(*paths: object) -> dict[tuple[str, str], Event]:
        shown = zip(item.evidence, paths, strict=False)
        at = parse_time("2026-01-01T00:00:00Z")
        return {
            (item.source, each.event): Event(each.event, at, "ann", attributes={"path": path})
            for each, path in shown
        }

    known = entry(path="build/*")
    assert mutes(known, item, events("build/a", "build/b/c"))
    assert mutes(known, item, events(["build/a", "build/b"]))
    assert not mutes(known, item, events("build/a", ".env"))
    assert not mutes(known, item, events(["build/a", ".env"]))
    assert not mutes(known, item, {})


def test_the_first_entry_that_matches_counts(tmp_path):
    first, second = entry(subject="ann"), entry(pattern="warm*")
    analysis = analyzed(tmp_path, warm_messages(), mutes=[first, second])
    assert [by for _, by in analysis.muting.muted] == [first.id]


def test_a_pattern_means_its_parts_too():
    assert pattern_names("loop@2") == {"loop@2", "loop"}
    assert pattern_names("spiral.tokens") == {"spiral.tokens", "spiral"}


def test_other_subjects_are_told(tmp_path):
    events = [*warm_messages(), *turns("hot", [0.9, 0.9, 0.9], [1, 2, 3])]
    analysis = analyzed(tmp_path, events, mutes=[entry(subject="ann")])
    assert [analysi.subject for analysi in analysis] == ["hot"]


def test_calls_from_python_mute_what_the_settings_name_and_look_for_no_other_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = "mutes:\n  - {subject: ann, reason: a drill, until: 2026-06-01T00:00:00Z}\n"
    (tmp_path / "known.yaml").write_text(entry)
    (tmp_path / "ethogram.mutes.yaml").write_text(entry)
    signs = {"MAN_INJECTION": 0.8}
    lines = [{"at": "2026-01-01T12:00:00Z", "subject": who, "readings": signs} for who in ("ann", "bo")]
    found = {
        (named, month): [
            item.subject
            for item in analyze(
                lines,
                ["echoed_instruction"],
                settings=Settings(mutes="known.yaml" if named else None),
                now=datetime(2026, month, 1, tzinfo=UTC),
            )
        ]
        for named in (True, False)
        for month in (5, 7)
    }
    assert found[True, 5] == ["bo"]
    assert found[True, 7] == found[False, 5] == ["ann", "bo"]
