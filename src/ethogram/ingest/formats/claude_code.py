"""Claude Code: the transcript of a session or of one of its sub-agents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..documents import Broken, dict_of, documents, list_of, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import AGENT, Call, Run, number, run_name, text_of, texts, usage_of, words

# The tree of a Claude Code transcript: which lines are on branches that the user went back from.

Line = tuple[int, Any]
"""A line's number, and what stands on it."""


def agent_of(record: Mapping[str, Any]) -> str | None:
    """The sub-agent whose line this is; None for the main agent.

    >>> agent_of({"isSidechain": True, "agentId": "a1"}), agent_of({"isSidechain": True}), agent_of({})
    ('a1', 'sidechain', None)
    """
    if record.get("isSidechain") is not True:
        return None
    return text_at(record, "agentId") or "sidechain"


def abandoned(lines: Sequence[Line]) -> frozenset[int]:
    """Places of the lines that do not lead to the last one: an earlier prompt, and all that came of it.

    Calls made at the same time are siblings too, and stay: only a prompt, or an answer begun anew, can be
    abandoned. Lines that do not say what they follow, follow the one before.
    """
    nodes = _nodes(lines)
    if not nodes:
        return frozenset()
    numbers = _chain(nodes)
    spoken = {_message(nodes[place]) for place in numbers} - {None}
    left: set[int] = set()
    for place, node in nodes.items():  # parents stand before their children
        if place in numbers:
            continue
        if node["parent"] in left or _is_prompt(node) or _message(node) not in {None, *spoken}:
            left.add(place)
    return frozenset(left)


def _nodes(lines: Sequence[Line]) -> dict[int, dict[str, Any]]:
    """Place to line and parent's place, of all lines of the main agent that are in the tree."""
    places: dict[str, int] = {}
    nodes: dict[int, dict[str, Any]] = {}
    before: int | None = None
    for place, (_, told) in enumerate(lines):
        uuid = text_at(told, "uuid")
        if uuid is None or not isinstance(told, dict) or agent_of(told) is not None:
            continue
        above = text_at(told, "parentUuid", "logicalParentUuid")
        is_root = "parentUuid" in told and above is None
        # A parent that is not in the file was cut off; the line before stands for it.
        nodes[place] = {"told": told, "parent": None if is_root else places.get(above or "", before)}
        places[uuid] = before = place
    return nodes


def _chain(nodes: Mapping[int, Mapping[str, Any]]) -> set[int]:
    """The last line that says something, and all it follows."""
    places = [place for place, node in nodes.items() if node["told"].get("type") in ("user", "assistant")]
    place: int | None = (places or list(nodes))[-1]
    chain: set[int] = set()
    while place is not None and place not in chain:
        chain.add(place)
        place = nodes[place]["parent"]
    return chain


def _is_prompt(node: Mapping[str, Any]) -> bool:
    told = node["told"]
    if told.get("type") != "user" or told.get("isMeta") is True:
        return False
    content = dict_of(told.get("message")).get("content")
    return not any(dict_of(item).get("type") == "tool_result" for item in list_of(content))


def _message(node: Mapping[str, Any]) -> str | None:
    told = node["told"]
    return text_at(told.get("message"), "id") if told.get("type") == "assistant" else None


# Claude Code: the transcript of a session or of one of its sub-agents, as JSON lines.

SILENT = words(
    "progress queue-operation file-history-snapshot summary ai-title custom-title last-prompt mode "
    "permission-mode pr-link agent-name attachment"
)
"""Types that tell the user interface something and no conduct."""
NOTES = words("turn_duration stop_hook_summary local_command api_error away_summary informational")
"""Subtypes of `system` that are known and no conduct."""
SPOKEN = frozenset(("user", "assistant", "system"))
NOISE = ("<local-command-caveat>", "<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>")
COMMAND = "<command-name>"
_EXIT = re.compile(r"Exit code (\d{1,3})\b")
"""What the result of a command that failed begins with."""
LEFT = "records on branches that were abandoned"


@adapter("claude_code")
class ClaudeCode(Adapter):
    """Lines with a `type` and a `sessionId`, or an object with `loglines` of the same."""

    def recognises(self, head: bytes, name: str) -> bool:
        seen = look(head)
        lines = [
            *seen.objects,
            *(item for item in list_of(seen.first.get("loglines")) if isinstance(item, dict)),
        ]
        return any(map(_is_line, lines))

    def read(self, file: Input) -> Iterator[Record]:
        """The events of each session in the file; those on branches the user went back from are left out."""
        lines: list[Line] = []
        for number_, told, column in documents(file):
            if isinstance(told, Broken):
                yield number_, str(told), column
            elif isinstance(told, dict) and isinstance(told.get("loglines"), list):
                lines.extend((number_, item) for item in told["loglines"])
            else:
                lines.append((number_, told))
        runs: dict[str, Session] = {}
        name, left = run_name(file.name), abandoned(lines)
        for place, (number_, told) in enumerate(lines):
            thread = text_at(told, "sessionId") or next(iter(runs), name)
            session = runs.get(thread) or runs.setdefault(thread, Session(thread, file))
            if place in left:
                session.leave(number_, told)
            else:
                session.run.tell(number_, session.add, told)
        for session in runs.values():
            yield from session.run.records()


def _is_line(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in SILENT | SPOKEN:
        return False
    if "sessionId" in record:
        return True
    message = record.get("message")
    return kind in ("user", "assistant") and isinstance(message, dict) and "timestamp" in record


class Session:
    """One session as it is told: who acts, and what stands on each line.

    One message may be spread over several lines, so what an agent says is held until it is known whether the
    same message also calls something.
    """

    def __init__(self, thread: str, file: Input) -> None:
        self.run = Run(thread, file)
        self._message: str | None = None

    def add(self, record: Any) -> None:
        """Tell the run what a line says."""
        told = need(record, dict, "a line")
        kind = text_at(told, "type")
        if kind in SPOKEN and kind != "assistant":
            self.run.release()
        if kind == "assistant":
            self._assistant(told)
        elif kind == "user":
            self._user(told)
        elif kind == "system":
            self._system(told)
        elif kind not in SILENT:
            self.run.unknown(kind)

    def leave(self, line: int, record: Any) -> None:
        """Count a line that is left out, unless it would be silent anyway."""
        self.run.line = line
        if text_at(record, "type") in SPOKEN:
            self.run.skip(LEFT)

    def _who(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Who acts, when, and the id; a sub-agent is a subject with a parent."""
        who: dict[str, Any] = {"at": record.get("timestamp"), "id": text_at(record, "uuid")}
        if (agent := agent_of(record)) is not None:
            who |= {"subject": f"{AGENT}/{agent}", "parent": AGENT}
        return who

    def _assistant(self, record: Mapping[str, Any]) -> None:
        message = need(record.get("message"), dict, "message")
        content = message.get("content")
        blocks = [item for item in list_of(content) if isinstance(item, dict)]
        calls = [
            Call(block.get("name"), block.get("input"), block.get("id"))
            for block in blocks
            if block.get("type") in ("tool_use", "server_tool_use")
        ]
        turn: dict[str, Any] = {
            "text": content if isinstance(content, str) else texts(content, "text", "text"),
            "calls": calls,
            "name": text_at(message, "id"),
            "thought": texts(content, "thinking", "thinking"),
            "usage": usage_of(message.get("usage")),
            "model": text_at(message, "model"),
            **self._who(record),
        }
        if turn["name"] is None or turn["name"] != self._message:
            self.run.release()
        self._message = turn["name"]
        if (held := self.run.taken()) is not None:
            turn |= {key: _joined(held[key], turn[key]) for key in ("text", "thought")}
        if calls:
            self.run.turn(**turn)
        else:
            self.run.hold(**turn)

    def _user(self, record: Mapping[str, Any]) -> None:
        content = need(record.get("message"), dict, "message").get("content")
        who = self._who(record)
        blocks = [item for item in list_of(content) if isinstance(item, dict)]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            text, failed = text_of(block.get("content")), block.get("is_error") is True
            code = _EXIT.match(text) if failed else None
            self.run.result(
                text,
                call_id=block.get("tool_use_id"),
                error=failed,
                exit_code=int(code[1]) if code else None,
                **who,
                **_outcome(record.get("toolUseResult")),
            )
        if record.get("isMeta") is True:
            return
        said = text_of([block for block in blocks if block not in results]) if blocks else text_of(content)
        if record.get("isCompactSummary") is True:
            self.run.condensation(said, **who)
        elif not said.startswith(NOISE) and COMMAND not in said:
            # In the file of a sub-agent it is the parent that speaks.
            parent = who.pop("parent", None)
            target = who.pop("subject", None)
            self.run.message("user", said, subject=parent, target=target, **who)

    def _system(self, record: Mapping[str, Any]) -> None:
        if record.get("subtype") == "compact_boundary":
            facts = dict_of(record.get("compactMetadata"))
            self.run.condensation(
                None,
                trigger=text_at(facts, "trigger"),
                tokens=number(facts, "preTokens"),
                **self._who(record),
            )
        elif (subtype := text_at(record, "subtype")) not in NOTES:
            self.run.unknown(f"system {subtype}")


def _joined(text: str, other: str) -> str:
    return "\n".join(part for part in (text, other) if part)


def _outcome(value: Any) -> dict[str, Any]:
    """What the program noted of a result beside its text."""
    facts = dict_of(value)
    millis = number(facts, "totalDurationMs", "durationMs")
    return {
        "duration": None if millis is None else millis / 1000,
        "interrupted": True if facts.get("interrupted") is True else None,
        "tokens": number(facts, "totalTokens"),
        "agent_id": text_at(facts, "agentId"),
    }
