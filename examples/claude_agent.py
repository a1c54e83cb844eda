"""RunGuard with the Claude Agent SDK: three hooks and a question.

    pip install ethogram claude-agent-sdk
    python examples/claude_agent.py "Make the tests pass."

A nudge reaches the agent as context of the call that has just ended. At `ask` a person is asked before the
next call; say rungs=["nudge", "remind", "ask", "stop"] and the run ends where that did not help either.
"""

import asyncio
import sys
from collections import defaultdict

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    query,
)

from ethogram import RunGuard


def guarded(task, ask_person, **options):
    """Options of the SDK with a guard in them; `ask_person` says whether a call may be made."""
    guards = defaultdict(lambda: RunGuard(task=task))  # a sub-agent has a run of its own
    questions, stopped = {}, {}

    async def after(told, call_id, context):
        agent = told.get("agent_id", "")
        advice = await guards[agent].astep(
            tool=told["tool_name"],
            arguments=told["tool_input"],
            result=told.get("tool_response"),
            error=told.get("error"),
            call_id=call_id,
        )
        if advice.rung == "stop":
            stopped[agent] = advice.text
            return {"continue_": False, "stopReason": advice.text}
        if advice.rung == "ask":
            questions[agent] = advice.text
            return {"systemMessage": advice.text}
        if advice:
            said = {"hookEventName": told["hook_event_name"], "additionalContext": advice.text}
            return {"hookSpecificOutput": said}
        return {}

    async def before(told, call_id, context):
        agent = told.get("agent_id", "")
        if agent in stopped:  # a call that failed cannot end the run, the next one can
            return {"continue_": False, "stopReason": stopped[agent], **decide("deny", stopped[agent])}
        return decide("ask", questions.pop(agent)) if agent in questions else {}

    async def may_use(tool, arguments, context):
        if await asyncio.to_thread(ask_person, context.decision_reason or f"May {tool} run?"):
            return PermissionResultAllow()
        return PermissionResultDeny(message="The person said no. Ask how to go on.")

    hooks = {
        "PreToolUse": [HookMatcher(hooks=[before])],
        "PostToolUse": [HookMatcher(hooks=[after])],
        "PostToolUseFailure": [HookMatcher(hooks=[after])],
    }
    return ClaudeAgentOptions(hooks=hooks, can_use_tool=may_use, **options)


def decide(decision, reason):
    """The answer of a hook that is asked before a call."""
    told = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **told}}


def at_the_terminal(question):
    """Whether the person at the terminal says yes."""
    return input(f"{question}\nLet the agent go on? [y/N] ").strip().lower() == "y"


async def main(task):
    options = guarded(task, at_the_terminal)

    async def prompt():
        yield {"type": "user", "message": {"role": "user", "content": task}}

    async for message in query(prompt=prompt(), options=options):
        print(message)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Make the tests pass."))
