"""Examples are statements about conduct, and testing compares each with what both engines find."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ethogram.app import pattern_tests
from ethogram.app.pattern_tests import ExampleResult, run_examples, summary, summary_line
from ethogram.engine import detect
from ethogram.engine.detect import ENGINES, run_live
from ethogram.engine.match import Outcome
from ethogram.patterns import library
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import select
from markdown_blocks import Block, blocks
from pattern_files import BUSY, CALM_THEN_LOUD, examples, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder of its own for every test, beside a library without patterns."""
    (tmp_path / "shipped").mkdir()
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(pattern_tests, "ENGINES", {"live": run_live})
    return tmp_path / "mine"


def failures(folder: Path) -> list[ExampleResult]:
    known = load_vocabulary({"noise": "number"})
    return [result for result in run_examples(select([folder], vocabulary=known)) if not result.ok]


def came(folder: Path, pattern: dict[str, Any] = CALM_THEN_LOUD, **changes: Any) -> str:
    """What came of the only example that is not as stated."""
    write(folder, pattern, **changes)
    (failed,) = failures(folder)
    return failed.came


def fires(pattern: dict[str, Any] = CALM_THEN_LOUD, **example: Any) -> dict[str, Any]:
    return examples(pattern, fires=[{"story": "a story", **example}])


# --- as stated ------------------------------------------------------------------------------


def test_every_example_of_every_pattern_is_run(folder):
    write(folder)
    write(folder, BUSY)
    results = run_examples(select([folder]))
    assert [(result.pattern, result.story) for result in results] == [
        ("busy", "three loud ones"),
        ("busy", "two loud ones"),
        ("busy", "none"),
        ("outburst", "calm, then loud"),
        ("outburst", "loud all along"),
        ("outburst", "calm all along"),
    ]
    assert all(result.ok for result in results)
    assert summary_line(results) == "2 patterns, 6 examples, 1 engine: all passed"


def test_a_pattern_that_is_off_is_proved_too(folder):
    write(folder, status="retired")
    write(folder, BUSY, status="experimental")
    assert len(run_examples(select([folder]))) == 6


def test_where_no_position_is_stated_any_will_do(folder):
    write(folder, examples=fires(noise=[0.9, 0.1, 0.9]))
    assert failures(folder) == []


def test_a_threshold_fires_where_it_opens_and_not_where_it_ends(folder):
    write(folder, BUSY, examples=fires(BUSY, noise=[0.6, 0.6, 0.6, 0.6, 0.1, 0.1], at=3))
    assert failures(folder) == []


def test_a_position_counts_events_as_they_are_written(folder):
    events = [{"at": 5, "readings": {"noise": 0.9}}, {"at": 0, "readings": {"noise": 0.1}}]
    write(folder, examples=fires(events=events, at=1))
    assert failures(folder) == []


def test_events_after_the_moment_of_the_question_are_not_seen(folder):
    events = [{"at": 0, "readings": {"noise": 0.1}}, {"at": 5, "readings": {"noise": 0.9}}]
    asked = {"story": "asked too early", "events": events, "as_of": "2019-12-31T00:04:00Z"}
    write(folder, examples=examples(quiet=[asked]))
    assert failures(folder) == []


def test_signals_that_ethogram_measures_are_measured_in_examples(folder):
    texts = ("Why?", "Because.")
    asked, told = ([{"text": text, "readings": {"noise": 0.1}}] for text in texts)
    write(
        folder,
        name="asks",
        shape={"sequence": [{"ask": "question == 1 and noise > 0"}]},
        confidence=0.5,
        explanation=None,
        examples={
            "fires": [{"story": "a question", "events": asked, "at": 1}],
            "quiet": [{"story": "an answer", "events": told}, {"story": "unsaid", "noise": [0.1]}],
        },
    )
    assert failures(folder) == []


def test_one_of_the_values_of_for_each_is_enough(folder):
    write(
        folder,
        BUSY,
        for_each={"use": ["tokens", "calls"]},
        shape={"threshold": {"when": "growth(use, last=5, at_least=3) > 1.5"}},
        severity="low",
        examples={
            "fires": [{"story": "more calls", "calls": [1, 2, 4], "tokens": [5, 5, 5], "at": 3}],
            "quiet": [{"story": "as before", "calls": [1, 1, 1]}, {"story": "idle", "tokens": [5, 5, 5]}],
        },
    )
    assert failures(folder) == []


def test_the_early_telling_of_a_sequence_is_not_a_firing(folder):
    write(folder, tell_at=1)
    assert failures(folder) == []


def test_what_a_part_detects_alone_is_not_held_against_the_combination(folder):
    both(folder, fires=[0.1, 0.9, 0.9, 0.9])
    assert failures(folder) == []


def both(folder: Path, fires: list[float]) -> None:
    """Two parts, and a combination of them that fires on these readings."""
    write(folder)
    write(folder, BUSY)
    write(
        folder,
        name="both",
        shape={"in_order": ["outburst", "busy"], "within": "1h"},
        confidence=None,
        explanation=None,
        examples={
            "fires": [{"story": "an outburst that goes on", "noise": fires, "at": 4}],
            "quiet": [
                {"story": "a short outburst", "noise": [0.1, 0.9, 0.1]},
                {"story": "busy from the start", "noise": [0.6, 0.6, 0.6, 0.6]},
            ],
        },
    )


# --- not as stated --------------------------------------------------------------------------


def test_a_failure_says_where_which_story_what_was_expected_and_what_came(folder):
    path = write(folder, examples=fires(noise=[0.1, 0.9, 0.9], at=3, severity="high"))
    (failed,) = failures(folder)
    line = path.read_text().splitlines().index('    "story": "a story",')
    assert (failed.path, failed.line) == (str(path), line)
    assert failed.fault.message == (
        "outburst: 'a story' should fire at event 3 with severity high, "
        "but it fired at event 2 with severity low: sam rose to 0.9."
    )


def test_the_wrong_severity_alone_is_a_failure(folder):
    text = came(folder, BUSY, examples=fires(BUSY, noise=[0.6, 0.6, 0.9], at=3, severity="low"))
    assert text.startswith("it fired at event 3 with severity high")


def test_a_quiet_example_that_fires_is_told_with_the_explanation(folder):
    quiet = [{"story": "not meant to fire", "noise": [0.2, 0.9]}]
    assert came(folder, examples=examples(quiet=quiet)) == (
        "it fired at event 2 with severity low: sam rose to 0.9."
    )


def test_a_firing_value_of_for_each_is_named(folder):
    text = came(
        folder,
        BUSY,
        for_each={"use": ["tokens", "calls"]},
        shape={"threshold": {"when": "growth(use, last=5, at_least=3) > 1.5"}},
        severity="low",
        examples={
            "fires": [{"story": "more calls", "calls": [1, 2, 4]}],
            "quiet": [{"story": "twice as much", "tokens": [1, 2, 4]}, {"story": "idle", "calls": [1, 1]}],
        },
    )
    assert text.startswith("it fired at event 3 with severity low as busy.tokens")


@pytest.mark.parametrize(
    ("noise", "why"),
    [
        ([0.9, 0.9], "step 'calm' was not met at any event"),
        ([0.1, 0.5], "step 'calm' stood last at event 1, and step 'loud' did not follow as it must"),
        ([0.1, 0.5, 0.5, 0.9], "all steps stood at event 4, but not within its limits"),
    ],
)
def test_a_sequence_that_stays_quiet_says_how_far_it_got(folder, noise, why):
    assert came(folder, examples=fires(noise=noise)) == f"it stayed quiet: {why}"


def test_a_repeated_step_says_how_often_it_was_met(folder):
    shape = {"sequence": [{"loud": "noise > 0.5", "times": 3}]}
    text = came(folder, shape=shape, examples=fires(noise=[0.6, 0.1, 0.6]))
    assert text == "it stayed quiet: step 'loud' got to 2 of 3, at event 3"


def test_a_threshold_that_stays_quiet_says_where_it_was_false_and_where_unknown(folder):
    text = came(folder, BUSY, examples=fires(BUSY, noise=[0.6, 0.6, 0.1]))
    assert text == "it stayed quiet: its condition was never true (false: 1, unknown: 2)"


def test_a_threshold_that_only_clears_says_so(folder):
    shape = {"threshold": {"when": "noise > 0.5", "clears": "noise > 0.4"}}
    text = came(folder, BUSY, shape=shape, examples=fires(BUSY, noise=[0.6]))
    assert text == "it stayed quiet: its condition was true, but only where it clears too"


def test_a_silence_that_stays_quiet_says_that_no_pause_was_long_enough(folder):
    quiet = [{"story": "one", "noise": [0.1]}, {"story": "two", "noise": [0.1, 0.2]}]
    shape = {"silence": {"longer_than": "2d"}}
    made = {"fires": [{"story": "a day", "noise": [0.1], "as_of": "1d"}], "quiet": quiet}
    text = came(folder, BUSY, shape=shape, severity="low", examples=made)
    assert text == "it stayed quiet: no pause was longer than longer_than"


def test_too_little_data_is_the_reason_given(folder):
    text = came(folder, BUSY, examples=fires(BUSY, noise=[0.6, 0.6]))
    assert text == "it stayed quiet: its condition could not be judged anywhere: it needs 3 readings of noise"


def test_events_outside_of_the_history_are_the_reason_given(folder):
    text = came(folder, group_by=["subject", "target"], examples=fires(noise=[0.1, 0.9]))
    assert text.endswith(
        "no event has a reading that its shape names and all of its history: [subject, target]"
    )


def test_a_combination_names_the_part_that_was_not_detected(folder):
    both(folder, fires=[0.6, 0.6, 0.6, 0.6])
    (failed,) = failures(folder)
    assert failed.came == "it stayed quiet: nothing was detected of outburst"


def test_parts_in_the_wrong_order_are_the_reason_given(folder):
    both(folder, fires=[0.6, 0.6, 0.6, 0.1, 0.9])
    (failed,) = failures(folder)
    assert failed.came == "it stayed quiet: all its parts were detected, but not together as the shape asks"


def test_one_id_with_two_contents_is_a_failure_of_that_example_alone(folder):
    events = [{"id": "e", "readings": {"noise": value}} for value in (0.1, 0.9)]
    assert "came twice" in came(folder, examples=fires(events=events))


def test_all_failures_of_all_patterns_come_at_once(folder):
    wrong = [{"story": "one", "noise": [0.9, 0.9]}, {"story": "two", "noise": [0.1, 0.1]}]
    write(folder, examples=examples(fires=wrong))
    write(folder, BUSY, examples=fires(BUSY, noise=[0.1, 0.1, 0.1]))
    assert [(result.pattern, result.story) for result in failures(folder)] == [
        ("busy", "a story"),
        ("outburst", "one"),
        ("outburst", "two"),
    ]


def test_every_engine_is_asked_and_the_one_that_differs_is_named(folder, monkeypatch):
    def blind(programs, events, *, as_of, cap):
        return Outcome()

    both = {"live": run_live, "blind": blind}
    monkeypatch.setattr(pattern_tests, "ENGINES", both)
    monkeypatch.setattr(detect, "ENGINES", both)
    write(folder)
    results = run_examples(select([folder]))
    (failed,) = [result for result in results if not result.ok]
    assert failed.engine == "blind"
    assert failed.fault.message.endswith("(blind engine)")
    assert summary(results) == {"record": "summary", "patterns": 1, "examples": 3, "engines": 2, "failed": 1}


def test_the_engines_are_those_that_detections_are_found_with():
    assert set(ENGINES) == {"columns", "live"}
    assert pattern_tests.find.__globals__["ENGINES"] is ENGINES


# --- what is shown and shipped --------------------------------------------------------------


def pattern_blocks() -> list[Block]:
    """The complete patterns on the pages of the documentation."""
    return [
        block
        for block in blocks("yaml")
        if {"name:", "shape:"} <= set(re.findall(r"^\w+:", block.text, re.M))
    ]


@pytest.mark.parametrize("block", pattern_blocks(), ids=str)
def test_a_pattern_in_the_documentation_does_what_its_examples_state(folder, block):
    folder.mkdir()
    name = re.findall(r"^name: (\w+)", block.text, re.M)[0]
    (folder / f"{name}.yaml").write_text(block.text, "utf-8")
    assert [result.fault for result in failures(folder)] == []
