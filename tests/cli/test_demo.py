"""`ethogram demo`: what is found in the examples, and commands that work as they stand."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import ethogram
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
        "A conversation: what one message does not show (scores written by hand)\n"
        "4 events of 1 subject in conversation.jsonl\n"
        "  HIGH  Love bombing (scores written by hand)  ann → bo  2026-01-01 12:00 – 2026-01-04 12:00\n"
        "    Scores written by hand: ann was warm to bo 3 times, then pressed (0.80).\n"
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


# --- scores that somebody wrote by hand -----------------------------------------------------


def scored_by_hand() -> list[str]:
    """The names of the examples with a reading that no scorer is named for."""
    return [
        path.stem
        for path in sorted(mode.EXAMPLES.glob("*.jsonl"))
        if any(
            not isinstance(value, dict) or "scorer" not in value
            for line in path.read_text(encoding="utf-8").splitlines()
            for value in json.loads(line).get("readings", {}).values()
        )
    ]


def test_agents_and_the_habits_of_people_are_measured_by_what_ships():
    assert "run" not in scored_by_hand()
    people = ethogram.analyze(mode.EXAMPLES / "usage.jsonl")
    assert [item.pattern for item in people if "given" in item.scorer] == ["abrupt_termination"]


def test_every_line_of_the_demo_about_scores_written_by_hand_says_so(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["demo", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    detections = [record for record in records if record["record"] == "detection"]
    by_hand = [item for item in detections if item["explanation"].startswith("Scores written by hand: ")]
    assert {item["example"] for item in by_hand} == set(scored_by_hand())
    for item in detections:
        labelled = item["title"].endswith(" (scores written by hand)")
        assert labelled == (item in by_hand) == ("given" in item["scorer"].split(", ")), item["title"]

    assert main(["demo"]) == 0
    sections = capsys.readouterr().out.partition("Try next:")[0].rstrip().split("\n\n")
    for example, text in zip(mode.examples(), sections, strict=True):
        heading, _, *rows = text.splitlines()
        assert ("scores written by hand" in text) == (example.family in scored_by_hand())
        assert heading.startswith(example.headline)
        here = [item for item in detections if item["example"] == example.family]
        for item in here:
            shown = [row for row in rows if item["title"].partition(" (")[0] in row]
            assert not shown or any(item["title"] in row for row in shown), (item["title"], rows)


def test_the_demo_says_what_chat_makes_of_the_text_of_its_chat(capsys):
    (line,) = (title for title in titles(capsys) if title.startswith(mode.HEADLINES["risk"]))
    assert main(["chat", str(mode.EXAMPLES / "risk.jsonl"), "--json"]) == 0
    records = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    modes = {record["highest_mode"] for record in records if record["record"] == "chat_summary"}
    (highest,) = modes - {"SAFE"}
    assert line.endswith(f"(scores written by hand; from the text `ethogram chat` says {highest})")


def titles(capsys) -> list[str]:
    assert main(["demo"]) == 0
    return [line for line in capsys.readouterr().out.splitlines() if " what one " in line]


def test_the_page_of_the_demo_says_which_scores_are_written_by_hand(tmp_path, capsys):
    assert main(["demo", "--html", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for title in ("Love bombing", "Crescendo escalation", "Prompt injection spread", "Scope creep"):
        shown = [part for part in page.split(">") if part.startswith(title)]
        assert shown, title
        assert all(part.startswith(f"{title} (scores written by hand)") for part in shown), shown
