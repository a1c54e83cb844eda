"""Payloads: what a coding agent's hook is told, as events of a run.

A call becomes an event before it is made (`PreToolUse`) and its result another (`PostToolUse`,
`PostToolUseFailure`); what the person says, a condensation and the last words are events, too. Everything
else is ignored. The fields and limits are those of transcripts (ingest/runs.py), so that a session gives
the same events whether it is told live or read later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..models.arguments import command_in, path_in
from ..models.constants import MAX_ERROR, MAX_RESULT
from ..models.event import Event
from ..models.lazy_regex import Rule
from ..signals.agent.step import argument_text
from .status import digest

AGENT = "agent"
MARK = "call_mark"
DEEPEST = 8
TOO_DEEP = "[nested too deep]"
LONGEST = 400
"""Characters of a working directory."""
BULKY = frozenset(("originalFile", "structuredPatch", "durationMs", "oldTodos", "interrupted", "isImage"))
"""Parts of a response that say nothing of what came out, or differ each time."""
_EXIT = Rule(r"exit(?:ed)?(?: with)?(?: non-zero)?(?: status)?(?: code)?:? (\d{1,3})\b", re.IGNORECASE)


def text_at(told: Mapping[str, Any], name: str) -> str:
    """A text under a name, '' where there is none."""
    value = told.get(name)
    return value if isinstance(value, str) else ""


def subject_of(told: Mapping[str, Any]) -> str:
    """Who acts: the agent, or a sub-agent of it."""
    agent = text_at(told, "agent_id")[:100]
    return f"{AGENT}/{agent}" if agent else AGENT


def call_event(told: Mapping[str, Any], number: int, at: datetime) -> Event:
    """The call that a payload speaks of."""
    return _event(told, number, at, "action", {**_call(told), "arguments": _arguments(told)})


def result_event(told: Mapping[str, Any], number: int, at: datetime) -> Event:
    """The result that a payload speaks of."""
    response = told.get("tool_response")
    beside: Mapping[str, Any] = response if isinstance(response, dict) else {}
    failed = text_at(told, "hook_event_name") == "PostToolUseFailure"
    said = _said(told.get("error")) if failed else response_text(response)
    facts: dict[str, Any] = {**_call(told), "result": said[:MAX_RESULT]}
    if len(said) > MAX_RESULT:
        facts["result_length"] = len(said)
    code = beside.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        facts["exit_code"] = code
    if failed or beside.get("is_error") is True:
        facts["error"] = said[:MAX_ERROR] if said.strip() else True
        found = _EXIT.search(said[:200])
        if found and "exit_code" not in facts:
            facts["exit_code"] = int(found[1])
    elif isinstance(error := beside.get("error"), str) and error:
        facts["error"] = error[:MAX_ERROR]
    return _event(told, number, at, "result", facts)


def said_event(told: Mapping[str, Any], number: int, at: datetime, role: str, text: str) -> Event | None:
    """What the person or the agent says; None where that is nothing."""
    if not text.strip():
        return None
    thread = text_at(told, "session_id")
    who = subject_of(told) if role == "assistant" else f"{thread}/{role}"
    return _event(told, number, at, "message", {"role": role}, text=text[:200_000], subject=who)


def condensed_event(told: Mapping[str, Any], number: int, at: datetime) -> Event:
    """That the agent's memory is being condensed."""
    return _event(told, number, at, "condensation", {"trigger": text_at(told, "trigger")})


def _event(
    told: Mapping[str, Any],
    number: int,
    at: datetime,
    kind: str,
    attributes: Mapping[str, Any],
    *,
    text: str | None = None,
    subject: str | None = None,
) -> Event:
    facts = {name: value for name, value in attributes.items() if value not in (None, "")}
    if cwd := text_at(told, "cwd")[:LONGEST]:
        facts["cwd"] = cwd
    thread = text_at(told, "session_id") or "session"
    return Event(
        id=f"{thread}/{number}",
        at=at,
        subject=subject or subject_of(told),
        seq=number,
        source="hook",
        thread=thread,
        kind=kind,
        text=text,
        attributes=facts,
    )


def _call(told: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _arguments(told)
    tool = text_at(told, "tool_name")[:200] or "unknown"
    return {
        "tool": tool,
        # The result tells no arguments, but by this it is known what was called.
        MARK: digest(f"{tool}\n{argument_text(arguments, frozenset())}"),
        "call_id": text_at(told, "tool_use_id")[:200],
        "path": path_in(arguments),
        "command": command_in(arguments),
    }


def _arguments(told: Mapping[str, Any]) -> dict[str, Any]:
    found = _fitted(told.get("tool_input"), DEEPEST)
    return found if isinstance(found, dict) else {} if found is None else {"input": found}


def _fitted(value: Any, deeper: int) -> Any:
    """Long texts and deep parts cut."""
    if isinstance(value, str):
        return value[:MAX_RESULT]
    if isinstance(value, dict | list) and deeper < 1:
        return _said(value)[:MAX_RESULT]
    if isinstance(value, dict):
        return {str(name)[:MAX_RESULT]: _fitted(one, deeper - 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_fitted(one, deeper - 1) for one in value]
    return value


def response_text(response: Any, deeper: int = 4 * DEEPEST) -> str:
    """What came out, as text, whatever form the tool gave it.

    >>> response_text({"stdout": "ok", "stderr": "", "interrupted": False})
    'ok'
    >>> response_text([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    'a\\nb'
    """
    if isinstance(response, dict) and deeper:
        if "stdout" in response or "stderr" in response:
            return "\n".join(
                one for one in (_said(response.get("stdout")), _said(response.get("stderr"))) if one
            )
        if isinstance(file := response.get("file"), dict) and isinstance(file.get("content"), str):
            return str(file["content"])
        for name in ("content", "text", "result", "output"):
            if response.get(name) is not None:
                return response_text(response[name], deeper - 1)
        return _said({name: one for name, one in response.items() if name not in BULKY})
    if isinstance(response, list) and deeper:
        return "\n".join(filter(None, (response_text(part, deeper - 1) for part in response)))
    return _said(response)


def _said(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except RecursionError:
        return TOO_DEEP
