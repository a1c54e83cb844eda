"""Claude Code: the transcript of a session or of one of its sub-agents, as JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..format import Head, Input, adapter
from ..transcript import AGENT, ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import (
    as_dict,
    as_dicts,
    block_texts,
    join_texts,
    need,
    number_at,
    text_at,
    text_of,
    token_usage,
    words,
)

SILENT = words(
    "progress queue-operation file-history-snapshot summary ai-title custom-title last-prompt mode "
    "permission-mode pr-link agent-name attachment"
)
"""Types that are for the user interface."""
SILENT_SYSTEM = words("turn_duration stop_hook_summary local_command api_error away_summary informational")
SPOKEN = frozenset(("user", "assistant", "system"))
NOISE = ("<local-command-caveat>", "<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>")
COMMAND = "<command-name>"
_EXIT = re.compile(r"Exit code (\d{1,3})\b")
"""The beginning of the result of a command that failed."""
ABANDONED = "records on branches that were abandoned"


@adapter("claude_code")
class ClaudeCode(TranscriptAdapter):
    """Lines with a `type` and a `sessionId`, or an object with `loglines` of the same."""

    beside = words("toolUseResult data hookInfos snapshot")

    def matches(self, head: Head) -> bool:
        return any(map(_is_line, [*head.objects, *as_dicts(head.first.get("loglines"))]))

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield each session in the file, without the branches that the user went back from."""
        lines: list[tuple[int, Any]] = []
        for number, document in documents:
            inner = as_dict(document).get("loglines")
            lines.extend((number, line) for line in (inner if isinstance(inner, list) else [document]))
        runs: dict[str, ClaudeTranscript] = {}
        name, left_out = run_name(file.name), abandoned([line for _, line in lines])
        for place, (number, line) in enumerate(lines):
            thread = text_at(line, "sessionId") or next(iter(runs), name)
            run = runs.get(thread) or runs.setdefault(thread, ClaudeTranscript(thread, file))
            if place not in left_out:
                run.add_records(number, [line])
            else:
                run.line = number
                run.ignore(line)
                if text_at(line, "type") in SPOKEN:
                    run.skip(ABANDONED)
        yield from runs.values()


def _is_line(record: Mapping[str, Any]) -> bool:
    kind = text_at(record, "type")
    if kind is None or kind not in SILENT | SPOKEN:
        return False
    is_message = kind in ("user", "assistant") and isinstance(record.get("message"), dict)
    return "sessionId" in record or (is_message and "timestamp" in record)


def agent_of(line: Mapping[str, Any]) -> str | None:
    """Return the sub-agent whose line this is; None for the main agent.

    >>> agent_of({"isSidechain": True, "agentId": "a1"}), agent_of({"isSidechain": True}), agent_of({})
    ('a1', 'sidechain', None)
    """
    return text_at(line, "agentId") or "sidechain" if line.get("isSidechain") is True else None


class _Node(NamedTuple):
    line: Mapping[str, Any]
    parent: int | None

    @property
    def is_prompt(self) -> bool:
        if self.line.get("type") != "user" or self.line.get("isMeta") is True:
            return False
        content = as_dict(self.line.get("message")).get("content")
        return not any(block.get("type") == "tool_result" for block in as_dicts(content))

    @property
    def message_id(self) -> str | None:
        return text_at(self.line.get("message"), "id") if self.line.get("type") == "assistant" else None


def abandoned(lines: Sequence[Any]) -> set[int]:
    """Return the places of lines that do not lead to the last one: an earlier prompt and all that follows it.

    Calls made at the same time are siblings too, and stay: only a prompt, or an answer begun anew, can be
    abandoned. Lines that do not name a parent follow the line before.
    """
    nodes = _tree(lines)
    messages = [place for place, node in nodes.items() if node.line.get("type") in ("user", "assistant")]
    place: int | None = next(reversed(messages or list(nodes)), None)
    chain: set[int] = set()
    while place is not None and place not in chain:
        chain.add(place)
        place = nodes[place].parent
    current = {None, *(nodes[place].message_id for place in chain)}
    left: set[int] = set()
    for place, node in nodes.items():  # parents stand before their children
        if place not in chain and (node.parent in left or node.is_prompt or node.message_id not in current):
            left.add(place)
    return left


def _tree(lines: Sequence[Any]) -> dict[int, _Node]:
    """Return the lines of the main agent that are in the tree, by place."""
    places: dict[str, int] = {}
    nodes: dict[int, _Node] = {}
    before: int | None = None
    for place, line in enumerate(lines):
        uuid = text_at(line, "uuid")
        if uuid is None or agent_of(line) is not None:
            continue
        parent = text_at(line, "parentUuid", "logicalParentUuid")
        is_root = "parentUuid" in line and parent is None
        # A parent that is not in the file was cut off; the line before stands for it.
        nodes[place] = _Node(line, None if is_root else places.get(parent or "", before))
        places[uuid] = before = place
    return nodes


class ClaudeTranscript(Transcript):
    """The lines of one session.

    One message may be spread over several lines, so text is held until it is known whether the same message
    also calls a tool.
    """

    message_id: str | None = None

    def add(self, record: Any) -> None:
        line = need(record, dict, "a line")
        kind = text_at(line, "type")
        if kind in ("user", "system"):
            self.release_held()
        if kind == "assistant":
            self._assistant(line)
        elif kind == "user":
            self._user(line)
        elif kind == "system":
            self._system(line)
        elif kind in SILENT:
            self.ignore()
        else:
            self.unknown(kind)

    def _origin(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """Return time, id and subject; a sub-agent is a subject with a parent."""
        origin: dict[str, Any] = {"at": line.get("timestamp"), "id": text_at(line, "uuid")}
        if (agent := agent_of(line)) is not None:
            origin |= {"subject": f"{AGENT}/{agent}", "parent": AGENT}
        return origin

    def _assistant(self, line: Mapping[str, Any]) -> None:
        message = need(line.get("message"), dict, "message")
        content, message_id = message.get("content"), text_at(message, "id")
        blocks = [
            block for block in as_dicts(content) if block.get("type") in ("tool_use", "server_tool_use")
        ]
        calls = [ToolCall.of(block, "name", "input") for block in blocks]
        if message_id is None or message_id != self.message_id:
            self.release_held()
        self.message_id = message_id
        held = self.take_held() or {}
        text = content if isinstance(content, str) else block_texts(content, "text", "text")
        (self.turn if calls else self.hold_turn)(
            text=join_texts((held.get("text"), text)),
            calls=calls,
            message_id=message_id,
            thought=join_texts((held.get("thought"), block_texts(content, "thinking", "thinking"))),
            usage=token_usage(message.get("usage")),
            model=text_at(message, "model"),
            **self._origin(line),
        )

    def _user(self, line: Mapping[str, Any]) -> None:
        content = need(line.get("message"), dict, "message").get("content")
        origin, blocks = self._origin(line), as_dicts(content)
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            self._result(block, line.get("toolUseResult"), origin)
        if line.get("isMeta") is True:
            self.ignore()
            return
        text = text_of([block for block in blocks if block not in results]) if blocks else text_of(content)
        if line.get("isCompactSummary") is True:
            self.condensation(text, **origin)
        elif not text.startswith(NOISE) and COMMAND not in text:
            # In the file of a sub-agent it is the parent that speaks.
            parent, target = origin.pop("parent", None), origin.pop("subject", None)
            self.message("user", text, subject=parent, target=target, **origin)
        else:
            self.ignore()

    def _result(self, block: Mapping[str, Any], outcome: Any, origin: Mapping[str, Any]) -> None:
        text, failed = text_of(block.get("content")), block.get("is_error") is True
        code = _EXIT.match(text) if failed else None
        millis = number_at(outcome, "totalDurationMs", "durationMs")
        self.result(
            text,
            call_id=block.get("tool_use_id"),
            error=failed,
            exit_code=int(code[1]) if code else None,
            duration=None if millis is None else millis / 1000,
            interrupted=True if as_dict(outcome).get("interrupted") is True else None,
            tokens=number_at(outcome, "totalTokens"),
            agent_id=text_at(outcome, "agentId"),
            **origin,
        )

    def _system(self, line: Mapping[str, Any]) -> None:
        subtype, compaction = text_at(line, "subtype"), as_dict(line.get("compactMetadata"))
        if subtype == "compact_boundary":
            trigger, tokens = text_at(compaction, "trigger"), number_at(compaction, "preTokens")
            self.condensation(None, trigger=trigger, tokens=tokens, **self._origin(line))
            self.ignore()
        elif subtype in SILENT_SYSTEM:
            self.ignore()
        else:
            self.unknown(f"system {subtype}")
