"""Each pattern of conversations: seen where it should be, quiet in innocent talk, the same live and later."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import ethogram
from ethogram.app.chat.conversation import programs_of
from ethogram.config import Settings
from made_conversations import FIRES, QUIET, Said

ON = {item.name for item in programs_of(None, Settings())}


def told(said: Said) -> Counter[str]:
    """How many detections of each pattern a conversation tells of."""
    talk = ethogram.Conversation("c1", subject="kim")
    found = {
        detection.id: detection.pattern
        for role, text in said
        for detection in talk.turn(text, role).detections
    }
    return Counter(found.values())


def analyzed(said: Said, folder: Path) -> Counter[str]:
    """The same, of a file that has the conversation as events."""
    file = folder / "talk.jsonl"
    whose = {"user": "kim", "assistant": "bot"}
    lines = [
        {"at": f"2026-01-05T12:{k:02}:00Z", "subject": whose[role], "thread": "c1", "kind": "message",
         "text": text, "attributes": {"role": role}}
        for k, (role, text) in enumerate(said)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Counter(item.pattern for item in ethogram.analyze(file) if item.pattern in ON)


@pytest.mark.parametrize(("name", "number"), [(name, k) for name in FIRES for k in range(3)])
def test_a_pattern_is_told_live_and_found_later(name: str, number: int, tmp_path: Path):
    live = told(FIRES[name][number])
    assert live[name] >= 1
    assert analyzed(FIRES[name][number], tmp_path) == live


@pytest.mark.parametrize(("name", "number"), [(name, k) for name in QUIET for k in range(3)])
def test_the_nearest_innocent_talk_is_quiet(name: str, number: int, tmp_path: Path):
    live = told(QUIET[name][number])
    assert not live[name]
    assert analyzed(QUIET[name][number], tmp_path) == live


def test_all_nine_are_on_and_have_both_kinds_of_talk():
    assert set(FIRES) == set(QUIET) <= ON
    assert len(FIRES) == 9


@pytest.mark.parametrize(("first", "scored"), [("tool_call", False), ("message", True)])
def test_a_task_of_an_agent_that_acts_first_is_no_conversation(first: str, scored: bool, tmp_path: Path):
    said = FIRES["persona_or_fiction_request"][0]
    call = {"actor": "agent", "kind": "tool_call", "tool": "bash", "args": {"command": "ls"}}
    steps = [{"actor": role, "kind": "message", "text": text} for role, text in said if role == "user"]
    answer = call if first == "tool_call" else {"actor": "agent", "kind": "message", "text": "Let me look."}
    file = tmp_path / "runs.jsonl"
    thanks = {"actor": "user", "kind": "message", "text": "Thanks, go on."}
    steps = [steps[0], answer, *steps[1:], thanks, call]
    file.write_text(json.dumps({"run_id": "r1", "steps": steps}) + "\n")
    patterns = {item.pattern for item in ethogram.analyze(file)}
    assert ("persona_or_fiction_request" in patterns) is scored
