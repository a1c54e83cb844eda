"""The test kit: scenarios do what their names say, and assertions say what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import code_patterns
import ethogram
from ethogram.errors import BadUsage
from ethogram.testing import (
    SCENARIOS,
    action,
    assert_fires,
    assert_quiet,
    confidence,
    detections,
    forget,
    history,
    numbered,
    says,
)


@pytest.fixture(scope="module", autouse=True)
def some() -> Iterator[None]:
    with code_patterns.registered():
        yield


OTHERS = {"same_error_five_times", "different_errors"}


@pytest.mark.parametrize("scenario", sorted(SCENARIOS.keys() - OTHERS))
def test_a_scenario_named_like_a_pattern_makes_it_fire(scenario):
    found = assert_fires(scenario, scenario)
    assert found.pattern.partition(".")[0] == scenario
    assert confidence(scenario, scenario) == max(
        detection.confidence for detection in detections(scenario, scenario)
    )


def test_the_errors_are_told_as_grave_as_they_are_many():
    assert (
        assert_fires("repetitive_errors", "repetitive_errors", at=3, severity="high").details[
            "repetition_count"
        ]
        == 4
    )
    found = assert_fires("repetitive_errors", "same_error_five_times", severity="critical")
    assert found.details["repetition_count"] == 5
    assert confidence("repetitive_errors", "same_error_five_times") == 1.0
    assert_quiet("repetitive_errors", "different_errors")
    assert confidence("repetitive_errors", "different_errors") == 0.0


def test_events_get_their_places_when_they_are_put_into_a_history():
    first, second = numbered([action("file_read", path="a"), says("done")])
    assert (first.id, second.id, (second.at - first.at).total_seconds()) == ("e1", "e2", 10.0)
    assert (first.kind, first.attributes["arguments"], second.text) == ("action", {"path": "a"}, "done")
    assert numbered([second]) == [second]
    assert [item.id for item in history("different_errors")] == ["e1", "e2", "e3"]


def test_an_assertion_says_what_came_instead():
    with pytest.raises(AssertionError, match="should fire, but it stayed quiet: its condition was"):
        assert_fires("repetitive_errors", "different_errors")
    with pytest.raises(AssertionError, match="should stay quiet, but it fired at event 3 with severity high"):
        assert_quiet("repetitive_errors", "repetitive_errors")
    with pytest.raises(AssertionError, match="should fire at event 4, but it fired at event 3"):
        assert_fires("repetitive_errors", "repetitive_errors", at=4)


def test_a_pattern_is_named_by_its_code_its_file_or_its_name(tmp_path: Path):
    run = code_patterns.edits("a.py", "b.py", "a.py", "b.py")
    assert assert_fires(code_patterns.ping_pong, run, at=4).details["rounds"] == 2
    assert_fires(code_patterns.PATTERNS["burst"][0], run)
    assert_fires("ping_pong", run)
    with pytest.raises(AssertionError, match="is registered as no pattern"):
        assert_quiet(code_patterns.edits, run)
    with pytest.raises(AssertionError, match="name one of"):
        assert_quiet("code/*", run)


def test_the_very_object_that_is_given_is_tested_and_no_other_of_its_class():
    run = code_patterns.edits(*"abcdef")
    known = code_patterns.PATTERNS["burst"][0]
    with pytest.raises(AssertionError, match="is registered as no pattern; register this very object"):
        assert_fires(type(known)(known.most), run)
    other = type(known)(5)
    examples = {"fires": [("six", run)], "quiet": [("one", run[:1]), ("two", run[:2])]}
    made = ethogram.register(other, "burst_of_six", **examples)
    try:
        assert [detection.pattern for detection in detections(other, run)] == ["burst_of_six"]
        assert {detection.pattern for detection in detections(known, run)} == {"burst"}
        assert [detection.pattern for detection in detections(made, run)] == ["burst_of_six"]
        with pytest.raises(AssertionError, match="burst, burst_of_six; name the one meant"):
            assert_fires(type(known), run)
    finally:
        forget("burst_of_six")


def test_an_unknown_scenario_names_those_there_are():
    with pytest.raises(BadUsage, match="did you mean 'goal_drift'"):
        history("goal_drit")
