"""A stand-in for the `claude` executable: it plays calls from a file and speaks the SDK's control protocol.

    claude_stand_in.py SCRIPT LOG ...      the options of the real one are ignored

The script is a list of calls, each with `tool`, `input` and `response` or `error`. For each, the hooks that
were registered are asked as the real one asks them, and what came of it is written to the log: the context
that a model would have read, the questions put to the host, the calls made, and why it stopped.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SESSION = {"session_id": "s-1", "transcript_path": "t.jsonl", "cwd": "."}


class Stand:
    """One session with the host on the other side of standard input and output."""

    def __init__(self) -> None:
        self.hooks: dict[str, list[dict[str, Any]]] = {}
        self.asked = 0
        self.log: dict[str, Any] = {"context": [], "questions": [], "made": [], "shown": [], "stopped": None}

    def begin(self) -> str:
        """What the person says, once the host has registered its hooks."""
        while line := sys.stdin.readline():
            data = json.loads(line)
            if data["type"] == "control_request":
                self.hooks = data["request"].get("hooks") or {}
                done = {"subtype": "success", "request_id": data["request_id"], "response": {"commands": []}}
                write({"type": "control_response", "response": done})
            elif data["type"] == "user":
                return str(data["message"]["content"])
        raise SystemExit("the host said nothing")

    def request(self, **request: Any) -> dict[str, Any]:
        """The host's answer to a request."""
        self.asked += 1
        number = f"q{self.asked}"
        write({"type": "control_request", "request_id": number, "request": request})
        while line := sys.stdin.readline():
            data = json.loads(line)
            if data["type"] == "control_response" and data["response"]["request_id"] == number:
                if data["response"]["subtype"] != "success":
                    raise SystemExit(f"the host failed: {data['response']['error']}")
                return dict(data["response"].get("response") or {})
        raise SystemExit("the host went away")

    def hook(self, event: str, call: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        """What every callback for an event answers."""
        told = {**SESSION, "hook_event_name": event, "tool_name": call["tool"], "tool_input": call["input"],
                "tool_use_id": call["id"], **more}  # fmt: skip
        names = [name for item in self.hooks.get(event, []) for name in item["hookCallbackIds"]]
        return [
            self.request(subtype="hook_callback", callback_id=name, input=told, tool_use_id=call["id"])
            for name in names
        ]

    def may(self, call: dict[str, Any]) -> bool:
        """Whether a call may be made: a hook may forbid it, or have the person asked."""
        for answer in self.hook("PreToolUse", call):
            self.ends(answer)
            text = answer.get("hookSpecificOutput", {})
            assert text.get("hookEventName", "PreToolUse") == "PreToolUse"
            decision, reason = text.get("permissionDecision"), text.get("permissionDecisionReason")
            if decision == "deny":
                return False
            if decision == "ask":
                self.log["questions"].append(reason)
                decided = self.request(
                    subtype="can_use_tool", tool_name=call["tool"], input=call["input"],
                    tool_use_id=call["id"], decision_reason=reason,
                )  # fmt: skip
                return bool(decided["behavior"] == "allow")
        return True

    def make(self, call: dict[str, Any]) -> None:
        """Make a call."""
        self.log["made"].append(call["input"])
        event, more = "PostToolUse", {"tool_response": call.get("response")}
        if "error" in call:
            event, more = "PostToolUseFailure", {"error": call["error"]}
        for answer in self.hook(event, call, **more):
            text = answer.get("hookSpecificOutput", {})
            assert text.get("hookEventName", event) == event
            if "additionalContext" in text:
                self.log["context"].append([len(self.log["made"]), text["additionalContext"]])
            if "systemMessage" in answer:
                self.log["shown"].append(answer["systemMessage"])
            # Seen with the real one (2.1): what a hook says after a failure does not end the run.
            if event == "PostToolUse":
                self.ends(answer)

    def ends(self, answer: dict[str, Any]) -> None:
        """Remember that a hook wants the run to end."""
        if answer.get("continue") is False:
            self.log["stopped"] = answer["stopReason"]


def write(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def play(script: list[dict[str, Any]], log: Path) -> None:
    stand = Stand()
    stand.log["prompt"] = stand.begin()
    for number, item in enumerate(script):
        call = {**item, "id": f"toolu_{number}"}
        block = {"type": "tool_use", "id": call["id"], "name": call["tool"], "input": call["input"]}
        message = {"role": "assistant", "model": "scripted", "content": [block]}
        write({"type": "assistant", "message": message, "session_id": "s-1", "parent_tool_use_id": None})
        if stand.may(call):
            stand.make(call)
        if stand.log["stopped"]:
            break
    log.write_text(json.dumps(stand.log), encoding="utf-8")
    write({"type": "result", "subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False,
           "num_turns": len(script), "session_id": "s-1", "result": "That was all."})  # fmt: skip


if __name__ == "__main__":
    if "-v" in sys.argv or "--version" in sys.argv:
        print("99.0.0 (Claude Code)")
    else:
        play(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
