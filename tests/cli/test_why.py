"""`ethogram why`: the verdict, the numbers, and what to say when the question makes no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ethogram.cli.main import main
from settings_files import trusted_settings
from small import BOTH, GONE, HOT, WARM, turns, warm_messages, write_events, write_patterns


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    """A folder with patterns of our own alone, and a demand that comes too late after the warmth."""
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH)
    write_events(tmp_path / "events.jsonl", warm_messages(days=(1, 2, 3, 8)))
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    return tmp_path


def run(*args: str, code: int = 0) -> None:
    assert main(["why", *args]) == code


def test_a_quiet_sequence_says_first_where_it_stopped_and_then_every_number(folder, capsys):
    run("warm_then_cold", "ann", "events.jsonl")
    assert capsys.readouterr().out == (
        "warm_then_cold (Love bombing): subject ann, target bo: quiet\n"
        "  Stopped at step press, nearest at event ann-4: "
        "within: 5d, 1 event from event ann-3; at most 2d and 6 events.\n"
        "  step warm (needs 3 events): compassion > 0.6\n"
        "    condition met at 3 events of 4\n"
        "    last reached at event ann-3 (2026-01-03 12:00, 3 of 4)\n"
        "  step press: manipulation > warm.manipulation + 0.5 and compassion < 0.3\n"
        "    condition met at 1 event of 4\n"
        "    never reached\n"
        "    nearest: at event ann-4 (2026-01-08 12:00, 4 of 4)\n"
        "      yes      manipulation > warm.manipulation + 0.5  [0.8 > 0.7]\n"
        "      yes      compassion < 0.3  [0.1 < 0.3]\n"
        "      yes      max_gap: 0 events between, at most 1 allowed\n"
        "      no       within: 5d, 1 event from event ann-3; at most 2d and 6 events\n"
        "      yes      never: apology > 0.5: met by no event between\n"
    )


def test_a_changed_parameter_changes_the_answer(folder, capsys):
    run("warm_then_cold", "ann", "events.jsonl", "--set", "warm_then_cold.warmth=0.85")
    assert (
        "Stopped at step warm, nearest at event ann-4: its condition was not met" in capsys.readouterr().out
    )


def test_threshold_silence_and_combination_show_what_they_are_made_of(folder, capsys):
    write_events(folder / "events.jsonl", turns("cy", [0.9, 0.9, 0.9], [1, 2, 3]))
    run("hot_for_long", "cy", "events.jsonl")
    said = capsys.readouterr().out
    assert "Matched 1 time, last at event cy-3 (2026-01-03 12:00), severity medium, confidence 0.90." in said
    assert "yes      mean(risk, last=3, at_least=3) > 0.6  [0.9 > 0.6]" in said
    run("gone_away", "cy", "events.jsonl", "--as-of", "2026-01-04T00:00:00Z")
    said = capsys.readouterr().out
    assert "limit 2d: deadline 2026-01-05 12:00, not passed" in said
    run("hot_then_gone", "cy", "events.jsonl")
    said = capsys.readouterr().out
    assert "part gone_away: 0 detections" in said
    assert "no       there: no detection of gone_away" in said


def test_json_is_one_record_for_each_history(folder, capsys):
    other = [{**one, "id": one["id"] + "b", "target": "cy"} for one in warm_messages()]
    write_events(folder / "events.jsonl", [*warm_messages(), *other])
    run("warm_then_cold", "ann", "events.jsonl", "--json")
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["record"], one["history"]["target"]) for one in found] == [("why", "bo"), ("why", "cy")]
    run("warm_then_cold", "ann", "events.jsonl", "--target", "cy", "--json")
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_pattern_file_may_be_named_by_its_path(folder, capsys):
    (folder / "ethogram.yaml").unlink()
    run("patterns/warm_then_cold.yaml", "ann", "events.jsonl")
    assert "Stopped at step press" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("warm_then_cold", "an"), "no subject 'an' in the input; did you mean 'ann'?"),
        (("warm_then_cold", "zoe"), "no subject 'zoe' in the input: expected ann"),
        (("warm_then_code", "ann"), "no pattern is named 'warm_then_code'; did you mean 'warm_then_cold'?"),
        (
            ("warm_then_cold@2", "ann"),
            "no pattern is named 'warm_then_cold@2'; did you mean 'warm_then_cold'?",
        ),
        (("hot_*", "ann"), "'hot_*' matches hot_for_long, hot_then_gone: expected one pattern"),
        (("warm_then_cold", "ann", "--at", "ann-9"), "no event 'ann-9' in the input; did you mean 'ann-"),
        (("hot_for_long", "ann", "--target", "bo"), "hot_for_long groups by subject: --target"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_the_nearest(folder, capsys, args, said):
    pattern, subject, *options = args
    run(pattern, subject, "events.jsonl", *options, code=2)
    heard = capsys.readouterr()
    assert heard.out == ""
    assert heard.err.startswith(f"ethogram: {said}")


def test_nothing_of_the_input_is_obeyed_by_the_terminal(folder, capsys):
    events = [{**one, "target": "\x1b[2J", "id": f"\x1b{one['id']}"} for one in warm_messages()]
    write_events(folder / "events.jsonl", events)
    run("warm_then_cold", "ann", "events.jsonl")
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "target \\x1b[2J" in said


def scored(events: list[dict], scorer: str) -> list[dict]:
    return [
        {**event, "readings": {name: {"value": n, "scorer": scorer} for name, n in event["readings"].items()}}
        for event in events
    ]


def test_scores_of_a_lone_scorer_count_as_in_analyze(folder, capsys):
    write_events(folder / "events.jsonl", scored(warm_messages(), "gpt@1"))
    run("warm_then_cold", "ann", "events.jsonl")
    assert "subject ann, target bo: fired" in capsys.readouterr().out


def test_scores_that_are_not_used_are_named_with_the_option(folder, capsys):
    write_events(
        folder / "events.jsonl", [*scored(warm_messages(), "gpt@1"), *scored(warm_messages("cy"), "b")]
    )
    run("warm_then_cold", "ann", "events.jsonl")
    said = " ".join(capsys.readouterr().out.split())
    assert "not used: 8 by b (--scorer b), 8 by gpt@1 (--scorer gpt@1)" in said
    run("warm_then_cold", "ann", "events.jsonl", "--scorer", "gpt@1")
    assert "fired" in capsys.readouterr().out
