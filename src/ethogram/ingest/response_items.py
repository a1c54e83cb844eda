"""Items of OpenAI's Responses: messages, calls and their outputs, each on its own and in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .documents import Broken, dict_of, list_of, need, one_of, text_at
from .errors import BadLine
from .run_values import number, text_of, words
from .runs import Call, Run

CALLS = words(
    "function_call custom_tool_call local_shell_call shell_call apply_patch_call mcp_call web_search_call "
    "file_search_call computer_call code_interpreter_call image_generation_call tool_search_call"
)
ROLES = frozenset(("user", "assistant", "system", "developer"))
OWN = frozenset(("reasoning", "compaction", "compaction_summary", "item_reference", *CALLS))
SILENT = frozenset(
    ("item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "ghost_snapshot")
)
GIVEN = ("arguments", "input", "action", "operation", "code", "queries", "query")
SERVED = frozenset(
    ("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")
)
"""Calls that run on the server: the item holds its own result."""
_RAN = re.compile(
    r"(?:Chunk ID: \w+\n|Wall time: [\d.]+ seconds\n|Exit code: -?\d+\n|Total output lines: \d+\n"
    r"|Process (?:exited with code -?\d+|running with session ID \d+)\n|Original token count: \d+\n)+"
    r"Output:\n"
)
_EXIT = re.compile(r"(?:Exit code:|exited with code) (-?\d{1,9})\n")
_WALL = re.compile(r"Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds\n")
"""What Codex writes over the output of a command."""


def is_output(kind: Any) -> bool:
    """Whether an item holds what a call gave."""
    return isinstance(kind, str) and kind.endswith("_output")


def is_item(told: Any) -> bool:
    """Whether an object is an item of its own kind; plain messages are written elsewhere too."""
    kind = text_at(told, "type")
    return (
        kind in OWN
        or (is_output(kind) and "call_id" in dict_of(told))
        or (kind == "message" and _has_parts(told))
    )


def _has_parts(told: Any) -> bool:
    parts = list_of(dict_of(told).get("content"))
    return bool(parts) and text_at(parts[0], "type") in ("input_text", "output_text", "refusal")


class Items:
    """Items as they are told. A thought, and what is said before a call, waits for that call; calls that
    follow each other are a batch."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._thought: list[str] = []
        self._batch = 0
        self._calling = False

    def add(self, record: Any, *, at: Any = None, **facts: Any) -> None:
        """Tell one item."""
        item = need(record, dict, "an item")
        kind = text_at(item, "type") or ("message" if "role" in item else None)
        self._calling = self._calling and kind in CALLS
        if kind == "reasoning":
            said = text_of(item.get("summary")) or text_of(item.get("content"))
            self._thought.extend([said] if said else [])
        elif kind in CALLS:
            self._call(item, kind or "", at, facts)
        elif kind not in SILENT:
            self.run.release()
            self._other(item, kind, at, facts)

    def _other(self, item: Mapping[str, Any], kind: Any, at: Any, facts: Mapping[str, Any]) -> None:
        role = text_at(item, "role")
        if is_output(kind):
            said, known = _outcome(item.get("output"))
            self.run.result(said, call_id=item.get("call_id"), at=at, **known)
        elif kind in ("compaction", "compaction_summary"):
            self.run.condensation(text_at(item, "summary"), at=at)
        elif kind != "message" or role not in ROLES:
            self.run.unknown(kind if kind != "message" else role)
        elif role == "assistant":
            text = text_of(item.get("content"))
            self.run.hold(text=text, thought=self._taken(), at=at, **facts)
        else:
            self.run.message("user" if role == "user" else "system", text_of(item.get("content")), at=at)

    def _call(self, item: Mapping[str, Any], kind: str, at: Any, facts: Mapping[str, Any]) -> None:
        given = next((item[key] for key in GIVEN if item.get(key) is not None), None)
        tool = item.get("name") or kind.removesuffix("_call")
        call_id = item.get("call_id") or item.get("id")
        held = self.run.taken() or {}
        self._batch += not self._calling
        self._calling = True
        self.run.turn(
            held.get("text"),
            [Call(tool, given, call_id)],
            thought=held.get("thought") or self._taken(),
            at=at,
            batch=f"{self.run.thread}/batch {self._batch}",
            **facts,
        )
        if kind in SERVED and item.get("status") not in ("in_progress", None):
            error = item.get("error")
            said = item.get("output", item.get("results", item.get("outputs")))
            failed = text_of(error) if error is not None else item.get("status") == "failed"
            self.run.result(text_of(said), call_id=call_id, error=failed, at=at)

    def _taken(self) -> str | None:
        said, self._thought = "\n".join(self._thought), []
        return said or None


def _outcome(output: Any) -> tuple[str, dict[str, Any]]:
    """Text and exit code of an output, which some programs wrap in JSON or in lines of their own.

    Codex's lines go, since they name each piece anew: the same output must stay the same text.
    """
    told: Any = output
    if isinstance(output, str) and output.startswith("{"):
        try:
            told = one_of(output)
        except BadLine:
            told = Broken(output)
    metadata = dict_of(dict_of(told).get("metadata"))
    if isinstance(told, dict) and isinstance(told.get("output"), str) and metadata:
        return told["output"], {
            "exit_code": number(metadata, "exit_code"),
            "duration": number(metadata, "duration_seconds"),
        }
    said = text_of(output)
    if (found := _RAN.match(said)) is None:
        return said, {}
    code, lasted = _EXIT.search(found[0]), _WALL.search(found[0])
    return said[found.end() :], {
        "exit_code": int(code[1]) if code else None,
        "duration": float(lasted[1]) if lasted else None,
    }
