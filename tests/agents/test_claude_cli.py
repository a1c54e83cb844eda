"""The recipe for the Claude Agent SDK with the program that comes with it, and a scripted model behind that.

The real program is asked, in an empty home, with a server of our own in place of the model: so what the
stand-in of the other tests does is what the real one does.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from recipes import NAMED, STUCK, TASK, nobody, recipe

pytestmark = pytest.mark.long
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
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
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


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and nothing of whoever runs the tests in the environment."""
    for name in list(os.environ):
        if not name.startswith(("PATH", "LANG", "PYTEST")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def play(folder: Path, command: str, rungs: list[str], ask: Any) -> list[str]:
    """What the model read each time."""
    module = recipe("claude_agent", "claude_agent_sdk")
    if not (Path(module.query.__globals__["__file__"]).parent / "_bundled" / "claude").exists():
        pytest.skip("this wheel of claude-agent-sdk comes without the program itself")
    guard = module.RunGuard
    module.RunGuard = lambda **told: guard(**told, rungs=rungs)
    model = Model(command)
    threading.Thread(target=model.serve_forever, daemon=True).start()

    async def run() -> None:
        async def prompt():
            yield {"type": "user", "message": {"role": "user", "content": TASK}}

        env = {**ALONE, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}"}
        options = module.guarded(
            TASK,
            ask,
            env=env,
            cwd=folder,
            setting_sources=[],
            allowed_tools=["Bash(no-such-tool *)", "Bash(echo *)"],
        )
        async for _ in module.query(prompt=prompt(), options=options):
            pass

    asyncio.run(asyncio.wait_for(run(), 120))
    model.shutdown()
    return model.read


def test_the_model_reads_a_nudge_after_the_third_failure_and_goes_on(alone: Path):
    read = play(alone, STUCK, ["nudge"], nobody)
    assert [NAMED in item for item in read] == [False, False, False, True, True, True]


def test_the_person_is_asked_before_the_next_call(alone: Path):
    questions: list[str] = []

    def no(question: str) -> bool:
        questions.append(question)
        return False

    read = play(alone, STUCK, ["ask"], no)
    assert len(questions) == 1
    assert NAMED in questions[0]
    assert ["The person said no." in item for item in read] == [False] * 4 + [True] * 2


@pytest.mark.parametrize(("command", "turns"), [(STUCK, 4), ("echo same", 3)])
def test_the_run_is_stopped_where_somebody_asked_for_that(alone: Path, command: str, turns: int):
    # After a failure the program goes on to the next call, which is then refused.
    assert len(play(alone, command, ["stop"], nobody)) == turns
