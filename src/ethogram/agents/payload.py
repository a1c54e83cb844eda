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


def text_at(record: Mapping[str, Any], name: str) -> str:
    """A text under a name, '' where there is none."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def subject_of(record: Mapping[str, Any]) -> str:
    """Who acts: the agent, or a sub-agent of it."""
    agent = text_at(record, "agent_id")[:100]
    return f"{AGENT}/{agent}" if agent else AGENT


def call_event(record: Mapping[str, Any], number: int, at: datetime) -> Event:
    """The call that a payload speaks of."""
    return _event(record, number, at, "action", {**_call(record), "arguments": _arguments(record)})


def result_event(record: Mapping[str, Any], number: int, at: datetime) -> Event:
    """The result that a payload speaks of."""
    response = record.get("tool_response")
    beside: Mapping[str, Any] = response if isinstance(response, dict) else {}
    failed = text_at(record, "hook_event_name") == "PostToolUseFailure"
    said = _said(record.get("error")) if failed else response_text(response)
    facts: dict[str, Any] = {**_call(record), "result": said[:MAX_RESULT]}
    if len(said) > MAX_RESULT:
        facts["result_length"] = len(said)
    code = beside.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        facts["exit_code"] = code
    if failed or beside.get("is_error") is True:
        facts["error"] = said[:MAX_ERROR] if said.strip() else True
        match = _EXIT.search(said[:200])
        if match and "exit_code" not in facts:
            facts["exit_code"] = int(match[1])
    elif isinstance(error := beside.get("error"), str) and error:
        facts["error"] = error[:MAX_ERROR]
    return _event(record, number, at, "result", facts)


def said_event(record: Mapping[str, Any], number: int, at: datetime, role: str, text: str) -> Event | None:
    """What the person or the agent says; None where that is nothing."""
    if not text.strip():
        return None
    thread = text_at(record, "session_id")
    who = subject_of(record) if role == "assistant" else f"{thread}/{role}"
    return _event(record, number, at, "message", {"role": role}, text=text[:200_000], subject=who)


def condensed_event(record: Mapping[str, Any], number: int, at: datetime) -> Event:
    """That the agent's memory is being condensed."""
    return _event(record, number, at, "condensation", {"trigger": text_at(record, "trigger")})


def _event(
    record: Mapping[str, Any],
    number: int,
    at: datetime,
    kind: str,
    attributes: Mapping[str, Any],
    *,
    text: str | None = None,
    subject: str | None = None,
) -> Event:
    facts = {name: value for name, value in attributes.items() if value not in (None, "")}
    if cwd := text_at(record, "cwd")[:LONGEST]:
        facts["cwd"] = cwd
    thread = text_at(record, "session_id") or "session"
    return Event(
        id=f"{thread}/{number}",
        at=at,
        subject=subject or subject_of(record),
        seq=number,
        source="hook",
        thread=thread,
        kind=kind,
        text=text,
        attributes=facts,
    )


def _call(record: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _arguments(record)
    tool = text_at(record, "tool_name")[:200] or "unknown"
    return {
        "tool": tool,
        # The result tells no arguments, but by this it is known what was called.
        MARK: digest(f"{tool}\n{argument_text(arguments, frozenset())}"),
        "call_id": text_at(record, "tool_use_id")[:200],
        "path": path_in(arguments),
        "command": command_in(arguments),
    }


def _arguments(record: Mapping[str, Any]) -> dict[str, Any]:
    value = _fitted(record.get("tool_input"), DEEPEST)
    return value if isinstance(value, dict) else {} if value is None else {"input": value}


def _fitted(value: Any, deeper: int) -> Any:
    """Long texts and deep parts cut."""
    if isinstance(value, str):
        return value[:MAX_RESULT]
    if isinstance(value, dict | list) and deeper < 1:
        return _said(value)[:MAX_RESULT]
    if isinstance(value, dict):
        return {str(name)[:MAX_RESULT]: _fitted(item, deeper - 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_fitted(item, deeper - 1) for item in value]
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
                item for item in (_said(response.get("stdout")), _said(response.get("stderr"))) if item
            )
        if isinstance(file := response.get("file"), dict) and isinstance(file.get("content"), str):
            return str(file["content"])
        for name in ("content", "text", "result", "output"):
            if response.get(name) is not None:
                return response_text(response[name], deeper - 1)
        return _said({name: item for name, item in response.items() if name not in BULKY})
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
