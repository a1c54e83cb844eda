"""A chat model's server on this machine: answers Chat Completions by a function of the messages."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Messages = list[dict[str, str]]
Answer = Callable[[Messages], str | int]  # the answer's text, or the status of an error


class ChatServer:
    """Records the messages and headers of every request."""

    def __init__(self, answer: Answer = lambda messages: f"You said: {messages[-1]['content']}") -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.http.daemon_threads = True
        self.http.chat = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    @contextlib.contextmanager
    def running(self) -> Iterator[ChatServer]:
        thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.http.shutdown()
            self.http.server_close()

    def sent(self, number: int = -1) -> list[tuple[str, str]]:
        """The messages of a request as (role, content)."""
        return [(message["role"], message["content"]) for message in self.requests[number]["messages"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Silence: a test's output is its own."""

    def do_POST(self) -> None:
        chat: ChatServer = self.server.chat  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with chat.lock:
            chat.requests.append(body)
            chat.headers.append({key.lower(): value for key, value in self.headers.items()})
        answer = chat.answer(body["messages"]) if self.path == "/v1/chat/completions" else 404
        content: Any = {"error": {"message": "no"}}
        if isinstance(answer, str):
            message = {"role": "assistant", "content": answer}
            content = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        data = json.dumps(content).encode()
        self.send_response(answer if isinstance(answer, int) else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
