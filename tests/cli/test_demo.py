"""`ethogram demo`: what is found in the examples, and commands that work as they stand."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ethogram.app import demo as mode
from ethogram.cli.main import main
from ethogram.patterns import library
from small import HOT, WARM, turns, warm_messages, write_events, write_patterns


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """Two small examples and patterns of our own in place of those that ship."""
    folder = tmp_path / "examples"
    folder.mkdir()
    write_events(folder / "run.jsonl", turns("agent", [0.1], [1]))
    write_events(folder / "conversation.jsonl", warm_messages())
    monkeypatch.setattr(mode, "EXAMPLES", folder)
    monkeypatch.setattr(library, "SHIPPED", write_patterns(tmp_path / "patterns", WARM, HOT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_example_has_a_headline_and_its_detections_in_words(small, capsys):
    assert main(["demo"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "A conversation: what one message does not show\n"
        "4 events of 1 subject in conversation.jsonl\n"
        "  HIGH  Love bombing  ann → bo  2026-01-01 12:00 – 2026-01-04 12:00\n"
        "    ann was warm to bo 3 times, then pressed (0.80).\n"
    )
    assert "1 event of 1 subject in run.jsonl: no detections\n" in said


def test_the_commands_it_names_work_as_they_stand(small, capsys):
    assert main(["demo"]) == 0
    commands = capsys.readouterr().out.partition("Try next:\n")[2].splitlines()
    assert len(commands) >= 4
    for line in commands:
        program, *args = shlex.split(line)
        assert program == "ethogram"
        if args[0] != "patterns":
            assert main(args) == 0, line


def test_the_examples_can_be_copied_and_are_not_written_over_others(small, capsys):
    assert main(["demo", "--copy", "mine"]) == 0
    assert (small / "mine" / "run.jsonl").read_bytes() == (small / "examples" / "run.jsonl").read_bytes()
    assert "ethogram analyze mine/conversation.jsonl" in capsys.readouterr().out
    assert main(["demo", "--copy", "mine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["record"] == "file"
    (small / "mine" / "run.jsonl").write_text("mine\n")
    assert main(["demo", "--copy", "mine"]) == 2
    assert "run.jsonl would be overwritten" in capsys.readouterr().err
    assert (small / "mine" / "run.jsonl").read_text() == "mine\n"


def test_with_json_every_record_names_its_example(small, capsys):
    assert main(["demo", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(one["example"], one["record"]) for one in found} >= {
        ("conversation", "detection"),
        ("conversation", "summary"),
        ("run", "summary"),
    }


def test_the_page_has_the_runs_of_the_examples(small, capsys):
    step = {"subject": "fixer", "thread": "run-1", "kind": "action", "attributes": {"tool": "read"}}
    write_events(small / "examples" / "run.jsonl", [step, step])
    assert main(["demo", "--html", "page.html"]) == 0
    said = (small / "page.html").read_text()
    assert '<section id="runs">' in said
    assert "1 run, 0 with detections" in said


def test_settings_of_the_folder_do_not_change_the_demo(small, capsys):
    (small / "ethogram.yaml").write_text("status: {no_such_pattern: retired}\n")
    assert main(["demo"]) == 0


def test_without_examples_it_says_so(small, capsys):
    for path in (small / "examples").iterdir():
        path.unlink()
    assert main(["demo"]) == 2
    assert "there are no examples in" in capsys.readouterr().err


@pytest.mark.skipif(not mode.EXAMPLES.is_dir(), reason="the examples are being written")
def test_every_example_that_ships_has_a_headline_and_something_to_find(capsys):
    assert main(["demo", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["example"] for one in found if one["record"] == "detection"} == set(mode.HEADLINES)
