"""The program that comes with claude-agent-sdk, and a scripted model on loopback for it, for tests."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

CALLS = 5
ALONE = {
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
"""Nothing but our server can be reached."""


class Model(ThreadingHTTPServer):
    """A model that makes the same call five times; `read` is what it was sent each time."""

    def __init__(self, command: str) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.command, self.read = command, []  # type: ignore[var-annotated]

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which the program asks this model."""
        return {**ALONE, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.server_port}"}

    def answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The events of an answer."""
        if not any(tool.get("name") == "Bash" for tool in body.get("tools", [])):
            return events("end_turn", {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes."})
        self.read.append(json.dumps(body["messages"]))
        if len(self.read) > CALLS:
            return events("end_turn", {"type": "text", "text": ""}, {"type": "text_delta", "text": "All."})
        call = {"type": "tool_use", "id": f"toolu_{len(self.read)}", "name": "Bash", "input": {}}
        given = json.dumps({"command": self.command, "description": "Check"})
        return events("tool_use", call, {"type": "input_json_delta", "partial_json": given})


def events(reason: str, block: dict[str, Any], delta: dict[str, Any]) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": "scripted",
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


class Answers(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, *given: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        records = self.server.answer(body)
        self.send("".join(f"event: {item['type']}\ndata: {json.dumps(item)}\n\n" for item in records))

    def do_GET(self) -> None:
        self.send("{}", "application/json")

    def do_HEAD(self) -> None:
        self.do_GET()

    def send(self, text: str, kind: str = "text/event-stream") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())


@contextmanager
def scripted(command: str) -> Iterator[Model]:
    """A model that is served while the block runs."""
    model = Model(command)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()


def program() -> Path:
    """The real program; without it the test is left out, in CI it fails."""
    spec = find_spec("claude_agent_sdk")
    path = Path(str(spec.origin)).parent / "_bundled" / "claude" if spec else Path()
    if not path.is_file():
        why = "claude-agent-sdk is not installed, or this wheel comes without the program"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)
    return path
