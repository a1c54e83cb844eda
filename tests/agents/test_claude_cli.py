"""The recipe for the Claude Agent SDK with the program that comes with it, and a scripted model behind that.

The real program is asked, in an empty home, with a server of our own in place of the model: so what the
stand-in of the other tests does is what the real one does.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from claude_program import program, scripted
from recipes import NAMED, STUCK, TASK, nobody, recipe

pytestmark = pytest.mark.long


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and nothing of whoever runs the tests in the environment."""
    for name in list(os.environ):
        if not name.startswith(("PATH", "LANG", "PYTEST")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def play(folder: Path, command: str, rungs: list[str], ask: Any, sources: Sequence[str] = ()) -> list[str]:
    """What the model read each time."""
    module = recipe("claude_agent", "claude_agent_sdk")
    program()

    async def run(env: dict[str, str]) -> None:
        allowed = ["Bash(no-such-tool *)", "Bash(echo *)"]
        options = {"env": env, "cwd": folder, "setting_sources": list(sources), "allowed_tools": allowed}
        async for _ in module.run(TASK, ask, rungs, **options):
            pass

    with scripted(command) as model:
        asyncio.run(asyncio.wait_for(run(model.environment), 120))
    return model.read


def test_the_model_reads_a_nudge_after_the_third_failure_and_goes_on(alone: Path):
    read = play(alone, STUCK, ["nudge"], nobody)
    assert [NAMED in item for item in read] == [False, False, False, True, True, True]


def test_the_model_reads_it_once_where_the_hook_of_claude_code_is_installed_too(alone: Path):
    own = str(Path(sys.executable).with_name("ethogram"))
    subprocess.run([own, "hook", "install", "claude-code", "--user"], check=True)
    read = play(alone, STUCK, ["nudge"], nobody, ["user"])
    assert [item.count(NAMED) for item in read] == [0, 0, 0, 1, 1, 1]
    report = subprocess.run([own, "hook", "status"], check=True, capture_output=True, text=True)
    assert "User: installed" in report.stdout


def test_the_person_is_asked_before_the_next_call(alone: Path):
    questions: list[str] = []

    def no(question: str) -> bool:
        questions.append(question)
        return False

    read = play(alone, STUCK, ["ask"], no)
    assert len(questions) == 1
    assert NAMED in questions[0]
    assert ["The user said no." in item for item in read] == [False] * 4 + [True] * 2


@pytest.mark.parametrize(("command", "turns"), [(STUCK, 4), ("echo same", 3)])
def test_the_run_is_stopped_where_somebody_asked_for_that(alone: Path, command: str, turns: int):
    # After a failure the program goes on to the next call, which is then refused.
    assert len(play(alone, command, ["stop"], nobody)) == turns
