"""Payloads: events of a run from the payloads of a coding agent's hook.

A call is an event before it is made (`PreToolUse`) and its result another (`PostToolUse`,
`PostToolUseFailure`); so are the user's prompt, a condensation and the agent's last message. Fields and
limits are those of transcripts, so that a session gives the same events live and read from a file.
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
CALL_DIGEST = "call_mark"
MAX_DEPTH = 8
TOO_DEEP = "[nested too deep]"
MAX_CWD = 400
NOT_OUTPUT = frozenset(
    ("originalFile", "structuredPatch", "durationMs", "oldTodos", "interrupted", "isImage")
)
"""Parts of a response that are no output, or differ each time."""
_EXIT = Rule(r"exit(?:ed)?(?: with)?(?: non-zero)?(?: status)?(?: code)?:? (\d{1,3})\b", re.IGNORECASE)


def text_at(record: Mapping[str, Any], name: str) -> str:
    """Return the text under a name; '' without one."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def subject_of(record: Mapping[str, Any]) -> str:
    """Return the acting subject: the agent or one of its sub-agents."""
    agent = text_at(record, "agent_id")[:100]
    return f"{AGENT}/{agent}" if agent else AGENT


def call_event(record: Mapping[str, Any], number: int, at: datetime) -> Event:
    """Return the call in a payload."""
    return _event(record, number, at, "action", {**_call(record), "arguments": _arguments(record)})


def result_event(record: Mapping[str, Any], number: int, at: datetime) -> Event:
    """Return the result in a payload."""
    response = record.get("tool_response")
    details: Mapping[str, Any] = response if isinstance(response, dict) else {}
    failed = text_at(record, "hook_event_name") == "PostToolUseFailure"
    text = _json_text(record.get("error")) if failed else response_text(response)
    attributes = _call(record)
    if failed or response is not None:  # else what came back is not known, which is not the same as nothing
        attributes["result"] = text[:MAX_RESULT]
    if len(text) > MAX_RESULT:
        attributes["result_length"] = len(text)
    code = details.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        attributes["exit_code"] = code
    if failed or details.get("is_error") is True:
        attributes["error"] = text[:MAX_ERROR] if text.strip() else True
        match = _EXIT.search(text[:200])
        if match and "exit_code" not in attributes:
            attributes["exit_code"] = int(match[1])
    elif isinstance(error := details.get("error"), str) and error:
        attributes["error"] = error[:MAX_ERROR]
    return _event(record, number, at, "result", attributes)


def message_event(record: Mapping[str, Any], number: int, at: datetime, role: str, text: str) -> Event | None:
    """Return a message of the user or the agent; None where it is empty."""
    if not text.strip():
        return None
    thread = text_at(record, "session_id")
    subject = subject_of(record) if role == "assistant" else f"{thread}/{role}"
    return _event(record, number, at, "message", {"role": role}, text=text[:200_000], subject=subject)


def condensation_event(record: Mapping[str, Any], number: int, at: datetime) -> Event:
    """Return the condensation of the agent's memory."""
    return _event(record, number, at, "condensation", {"trigger": text_at(record, "trigger")})


def _event(
    record: Mapping[str, Any],
    number: int,
    at: datetime,
    kind: str,
    attributes: dict[str, Any],
    *,
    text: str | None = None,
    subject: str | None = None,
) -> Event:
    attributes = {
        name: value for name, value in attributes.items() if value not in (None, "") or name == "result"
    }
    if cwd := text_at(record, "cwd")[:MAX_CWD]:
        attributes["cwd"] = cwd
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
        attributes=attributes,
    )


def _call(record: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _arguments(record)
    tool = text_at(record, "tool_name")[:200] or "unknown"
    return {
        "tool": tool,
        # A result has no arguments; this identifies its call.
        CALL_DIGEST: digest(f"{tool}\n{argument_text(arguments)}"),
        "call_id": text_at(record, "tool_use_id")[:200],
        "path": path_in(arguments),
        "command": command_in(arguments),
    }


def _arguments(record: Mapping[str, Any]) -> dict[str, Any]:
    value = _bounded(record.get("tool_input"), MAX_DEPTH)
    return value if isinstance(value, dict) else {} if value is None else {"input": value}


def _bounded(value: Any, depth: int) -> Any:
    """Cut long texts and deep parts."""
    if isinstance(value, str):
        return value[:MAX_RESULT]
    if isinstance(value, dict | list) and depth < 1:
        return _json_text(value)[:MAX_RESULT]
    if isinstance(value, dict):
        return {str(name)[:MAX_RESULT]: _bounded(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_bounded(item, depth - 1) for item in value]
    return value


def response_text(response: Any, depth: int = 4 * MAX_DEPTH) -> str:
    """Return the output as text, whatever form the tool gave it.

    >>> response_text({"stdout": "ok", "stderr": "", "interrupted": False})
    'ok'
    >>> response_text([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    'a\\nb'
    """
    if isinstance(response, dict) and depth:
        if "stdout" in response or "stderr" in response:
            return "\n".join(filter(None, (_json_text(response.get(name)) for name in ("stdout", "stderr"))))
        if isinstance(file := response.get("file"), dict) and isinstance(file.get("content"), str):
            return str(file["content"])
        for name in ("content", "text", "result", "output"):
            if response.get(name) is not None:
                return response_text(response[name], depth - 1)
        return _json_text({name: item for name, item in response.items() if name not in NOT_OUTPUT})
    if isinstance(response, list) and depth:
        return "\n".join(filter(None, (response_text(part, depth - 1) for part in response)))
    return _json_text(response)


def _json_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except RecursionError:
        return TOO_DEEP
