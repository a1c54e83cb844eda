"""EthogramHooks in the Claude Agent SDK, with a stand-in for the program it starts."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    ToolPermissionContext,
    query,
)

from ethogram.errors import BadUsage
from ethogram.integrations.claude_agent import EthogramHooks
from recipes import NAMED, STUCK, TASK

STAND_IN = Path(__file__).parents[1] / "agents" / "claude_stand_in.py"
ERROR = f"Exit code 127\n/bin/sh: 1: {STUCK.split()[0]}: not found"
FAILED = {"tool": "Bash", "input": {"command": STUCK}, "error": ERROR}


def play(folder: Path, hooks: EthogramHooks, calls: int = 5, /, **options: Any) -> dict[str, Any]:
    """What became of calls."""
    script, log, program = folder / "script.json", folder / "log.json", folder / "claude"
    script.write_text(json.dumps([FAILED] * calls), encoding="utf-8")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "{script}" "{log}" "$@"\n')
    program.chmod(0o755)

    async def run() -> None:
        async def prompt():
            yield {"type": "user", "message": {"role": "user", "content": TASK}}

        own = hooks.add_to(ClaudeAgentOptions(cli_path=program, cwd=folder, **options))
        async for _ in query(prompt=prompt(), options=own):
            pass

    asyncio.run(run())
    return dict(json.loads(log.read_text(encoding="utf-8")))


def test_hooks_of_the_options_stay_and_run_beside_ours(tmp_path):
    seen = []

    async def own(payload: Any, call_id: str | None, context: Any) -> Any:
        seen.append(payload["tool_name"])
        return {}

    before = {"PostToolUseFailure": [HookMatcher(hooks=[own])]}
    log = play(tmp_path, EthogramHooks(), 4, hooks=before)
    assert seen == ["Bash"] * 4
    assert [after for after, text in log["context"] if NAMED in text] == [3]
    assert len(before["PostToolUseFailure"]) == 1


def test_without_anybody_to_ask_one_call_is_refused(tmp_path):
    log = play(tmp_path, EthogramHooks(rungs=["ask"]))
    assert (len(log["made"]), log["questions"]) == (4, [])


def test_a_question_goes_to_ask_also_if_it_is_async(tmp_path):
    questions = []

    async def ask(question: str) -> bool:
        questions.append(question)
        return True

    log = play(tmp_path, EthogramHooks(ask=ask, rungs=["ask"]))
    assert len(log["made"]) == 5
    assert [NAMED in question for question in questions] == [True]


@pytest.mark.parametrize("has_ask", [True, False])
def test_the_permission_callback_of_the_options_is_kept(tmp_path, has_ask):
    ours: list[str] = []
    theirs: list[str | None] = []

    async def can_use_tool(tool: str, arguments: Any, context: Any) -> Any:
        theirs.append(context.decision_reason)
        return PermissionResultAllow()

    def ask(question: str) -> bool:
        ours.append(question)
        return True

    hooks = EthogramHooks(ask=ask if has_ask else None, rungs=["ask"])
    play(tmp_path, hooks, can_use_tool=can_use_tool)
    assert (len(ours), len(theirs)) == ((1, 0) if has_ask else (0, 1))


def test_a_question_of_others_names_the_tool_and_its_input():
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return False

    can_use_tool = EthogramHooks(ask=ask).add_to().can_use_tool
    assert can_use_tool is not None
    why = "This command requires approval"
    calls = [(why, "rm -r build\x1b[2K\rls"), (None, "x " * 3000), (f"[ethogram] {why}", "ls")]
    calls.append((f"{why}: echo [ethogram] x", "ls"))
    for reason, command in calls:
        context = ToolPermissionContext(decision_reason=reason)
        asyncio.run(can_use_tool("Bash", {"command": command}, context))  # type: ignore[arg-type]
    assert questions[0] == 'May this run? Bash {"command": "rm -r build\\u001b[2K\\rls"}. ' + why
    assert questions[1].startswith('May this run? Bash {"command": "x x x')
    assert questions[1].endswith("x \u2026.")
    assert questions[2] == f"[ethogram] {why}"
    assert questions[3] == f'May this run? Bash {{"command": "ls"}}. {why}: echo [ethogram] x'


def test_the_hook_of_claude_code_is_told_that_the_session_is_guarded():
    options = EthogramHooks().add_to(ClaudeAgentOptions(env={"A": "b"}))
    assert options.env == {"A": "b", "ETHOGRAM_GUARDED": "1"}


def test_sessions_and_sub_agents_have_runs_of_their_own_and_know_their_task():
    options = EthogramHooks(rungs=["remind"]).add_to()
    assert options.can_use_tool is None
    (prompt,), (after,) = (
        options.hooks[name][0].hooks for name in ("UserPromptSubmit", "PostToolUseFailure")
    )

    async def run() -> list[str]:
        texts = []
        for n in range(3):
            for session, agent in (("a", ""), ("a", "helper"), ("b", "")):
                run = {"session_id": session, "agent_id": agent}
                if n == 0:
                    await prompt({**run, "prompt": f"Task of {session}{agent}."}, None, None)
                call = {"tool_name": "Bash", "tool_input": {"command": STUCK}, "error": ERROR}
                payload = {**run, "hook_event_name": "PostToolUseFailure", **call}
                answer = await after(payload, f"{session}{agent}{n}", None)
                texts.append(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        return texts

    texts = asyncio.run(run())
    assert texts[:6] == [""] * 6
    for text, run_name in zip(texts[6:], ("a", "ahelper", "b"), strict=True):
        assert f'The task was: "Task of {run_name}."' in text


def test_wrong_options_are_refused():
    with pytest.raises(BadUsage, match="allow"):
        EthogramHooks(allow="src/**")
