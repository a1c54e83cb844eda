"""The contract: an advice as the coding agent's hook protocol wants it said.

Nothing to say is no output at all. Nothing here can make an agent loop: a Stop is never blocked.
"""

from __future__ import annotations

from typing import Any

from .plan_records import Advice

SPEAKS = ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreToolUse")
"""Events whose answer may carry context for the agent."""


def answer(event: str, advice: Advice | None) -> dict[str, Any]:
    """What to write to standard output for an event of this name; empty: go on."""
    if advice is None or event not in SPEAKS:
        return {}
    if event == "PreToolUse":
        return _permission(advice)
    told: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": advice.text}}
    if advice.person:
        told["systemMessage"] = advice.person
    if advice.rung == "stop":
        told |= {"continue": False, "stopReason": advice.person or advice.text}
    return told


def _permission(advice: Advice) -> dict[str, Any]:
    reason = advice.person or advice.text
    if advice.rung != "stop":
        return {"hookSpecificOutput": _decided("ask", reason)}
    return {"continue": False, "stopReason": reason, "hookSpecificOutput": _decided("deny", reason)}


def _decided(decision: str, reason: str) -> dict[str, str]:
    told = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookEventName": "PreToolUse", **told}
