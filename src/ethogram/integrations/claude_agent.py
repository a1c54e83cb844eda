"""Claude Agent SDK: hooks for ClaudeAgentOptions.

options = EthogramHooks().add_to(ClaudeAgentOptions(...))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from inspect import isawaitable
from typing import Any, Unpack

from ..agents.hook.location import GUARDED_VARIABLE
from ..agents.messages import PREFIX
from ..errors import MissingExtra
from ..models.redaction import mask
from .guards import GuardOptions, Guards

try:
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        HookMatcher,
        PermissionResultAllow,
        PermissionResultDeny,
        ToolPermissionContext,
    )
    from claude_agent_sdk.types import CanUseTool, HookEvent
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude-agent", "EthogramHooks") from error

Ask = Callable[[str], bool | Awaitable[bool]]
Run = tuple[str, str]
REFUSED = "The user said no. Ask how to continue."
UNASKED = "Stop and ask the user how to continue."


class EthogramHooks:
    """Watch the tool calls of every session and sub-agent, each with a guard of its own.

    nudge and remind: context of the call that has just ended. ask: before its next call `ask` is called with
    the question, in a thread unless it is async; without `ask`, `can_use_tool` of the options decides, and
    without either the call is refused once. stop: the session ends. The options are those of RunGuard;
    `rungs` chooses among the four.
    """

    def __init__(self, *, ask: Ask | None = None, **options: Unpack[GuardOptions]) -> None:
        self._guards, self._ask = Guards(**options), ask
        self._questions: dict[Run, str] = {}
        self._stopped: dict[Run, str] = {}

    def add_to(self, options: ClaudeAgentOptions | None = None) -> ClaudeAgentOptions:
        """Return the options with these hooks after their own."""
        options = options or ClaudeAgentOptions()
        other = options.can_use_tool
        hooks = {event: list(matchers) for event, matchers in (options.hooks or {}).items()}
        for event, matcher in self._matchers(can_ask=bool(self._ask or other)).items():
            hooks.setdefault(event, []).append(matcher)
        can_use_tool = self._decider(other) if self._ask else other
        # The hook of Claude Code, if it is installed too, then only asks about protected paths.
        env = {**options.env, GUARDED_VARIABLE: "1"}
        return replace(options, hooks=hooks, can_use_tool=can_use_tool, env=env)

    def _matchers(self, *, can_ask: bool) -> dict[HookEvent, HookMatcher]:
        async def before(payload: Any, call_id: str | None, context: Any) -> Any:
            run = _run_of(payload)
            if text := self._stopped.pop(run, ""):
                return {"continue_": False, "stopReason": text, **_decision("deny", text)}
            if text := self._questions.pop(run, ""):
                return _decision("ask", text) if can_ask else _decision("deny", f"{text} {UNASKED}")
            return {}

        return {
            "UserPromptSubmit": HookMatcher(hooks=[self._prompt]),
            "PreToolUse": HookMatcher(hooks=[before]),
            "PostToolUse": HookMatcher(hooks=[self._after]),
            "PostToolUseFailure": HookMatcher(hooks=[self._after]),
        }

    async def _prompt(self, payload: Any, call_id: str | None, context: Any) -> Any:
        self._guards[_run_of(payload)].say(payload.get("prompt") or "")
        return {}

    async def _after(self, payload: Any, call_id: str | None, context: Any) -> Any:
        run = _run_of(payload)
        advice = await self._guards[run].astep(
            tool=payload["tool_name"],
            arguments=payload["tool_input"],
            result=payload.get("tool_response"),
            error=payload.get("error"),
            call_id=call_id,
        )
        if advice.rung == "stop":
            if payload["hook_event_name"] == "PostToolUseFailure":
                # That does not end the session; the next call can.
                self._stopped[run] = advice.text
            return {"continue_": False, "stopReason": advice.text}
        if advice.rung == "ask":
            self._questions[run] = advice.text
            return {"systemMessage": advice.text}
        if advice:
            output = {"hookEventName": payload["hook_event_name"], "additionalContext": advice.text}
            return {"hookSpecificOutput": output}
        return {}

    def _decider(self, other: CanUseTool | None) -> CanUseTool:
        async def can_use_tool(
            tool: str, arguments: dict[str, Any], context: ToolPermissionContext
        ) -> PermissionResultAllow | PermissionResultDeny:
            reason = context.decision_reason or ""
            is_ours = reason.startswith(PREFIX)
            if other is not None and not is_ours:
                return await other(tool, arguments, context)
            allowed = await self._allows(
                reason if is_ours else f"May this run? {tool} {shown(arguments)}. {reason}".rstrip()
            )
            return PermissionResultAllow() if allowed else PermissionResultDeny(message=REFUSED)

        return can_use_tool

    async def _allows(self, question: str) -> bool:
        assert self._ask is not None
        answer = await asyncio.to_thread(self._ask, question)
        return bool(await answer if isawaitable(answer) else answer)


def shown(arguments: Mapping[str, Any]) -> str:
    """The input of a call on one line that no terminal obeys: masked, and cut after 2,000 characters.

    >>> shown({"command": "rm -r build\\x1b[2K"})
    '{"command": "rm -r build\\\\u001b[2K"}'
    """
    return mask(json.dumps(arguments, default=str))


def _run_of(payload: Mapping[str, Any]) -> Run:
    return str(payload.get("session_id") or ""), str(payload.get("agent_id") or "")


def _decision(decision: str, reason: str) -> dict[str, Any]:
    output = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}
