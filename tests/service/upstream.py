"""A scripted chat API on loopback, and any application on a free port of this machine."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

ANSWER = "It depends on what you need it for."


@contextmanager
def serving(app: Any) -> Iterator[int]:
    """The port on which an application is served."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", backlog=1000, ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=30)


class Upstream:
    """Answers like OpenAI and Ollama; `requests` has what arrived: path, headers, body."""

    def __init__(self, answer: str | Callable[[dict[str, Any]], str] = ANSWER) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answer = answer
        self.pause = 0.0

    @property
    def last_body(self) -> dict[str, Any]:
        return json.loads(self.requests[-1][2])  # type: ignore[no-any-return]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        parts = []
        while True:
            message = await receive()
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        body, path = b"".join(parts), scope["path"]
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        self.requests.append((f"{path}?{query}" if query else path, headers, body))
        if path == "/v1/chat/completions":
            await self._openai(json.loads(body), send)
        elif path == "/api/chat":
            await self._ollama(json.loads(body), send)
        elif path == "/v1/models":
            await _reply(send, 200, {"object": "list", "data": [{"id": "stub", "object": "model"}]})
        elif path == "/moved":
            await _reply(send, 302, {}, [(b"location", b"http://127.0.0.1:9/elsewhere")])
        elif path == "/cookie":
            await _reply(send, 200, {}, [(b"set-cookie", b"who=ann")])
        else:
            await _reply(send, 404, {"error": {"message": "no such path"}})

    def _text(self, fields: dict[str, Any]) -> str:
        return self.answer if isinstance(self.answer, str) else self.answer(fields)

    async def _openai(self, fields: dict[str, Any], send: Send) -> None:
        head = {"id": "chatcmpl-1", "created": 1, "model": fields["model"]}
        text = self._text(fields)
        if text == "fail":
            await _reply(send, 429, {"error": {"message": "too many requests", "code": "rate_limit"}})
            return
        if not fields.get("stream"):
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            await _reply(send, 200, {**head, "object": "chat.completion", "choices": [choice]})
            return
        kind = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        pieces = [{"role": "assistant", "content": ""}, *({"content": word} for word in _words(text)), {}]
        for number, delta in enumerate(pieces):
            if number > 2 and text == "break off now please":
                raise ConnectionAbortedError
            reason = None if delta else "stop"
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            event = {**head, "object": "chat.completion.chunk", "choices": [choice]}
            line = b"data: " + json.dumps(event).encode() + b"\n\n"
            # In two halves, as a network may cut it.
            for half in (line[:20], line[20:]):
                await send({"type": "http.response.body", "body": half, "more_body": True})
            await asyncio.sleep(self.pause)
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})

    async def _ollama(self, fields: dict[str, Any], send: Send) -> None:
        text = self._text(fields)
        if fields.get("stream") is False:
            message = {"role": "assistant", "content": text}
            await _reply(send, 200, {"model": fields["model"], "message": message, "done": True})
            return
        kind = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        for word in _words(text):
            line = {
                "model": fields["model"],
                "message": {"role": "assistant", "content": word},
                "done": False,
            }
            body = json.dumps(line).encode() + b"\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
        last = {"model": fields["model"], "message": {"role": "assistant", "content": ""}, "done": True}
        await send({"type": "http.response.body", "body": json.dumps(last).encode() + b"\n"})


def _words(text: str) -> list[str]:
    return [f"{word} " for word in text.split(" ")[:-1]] + [text.split(" ")[-1]]


async def _reply(send: Send, status: int, value: Any, more: list[tuple[bytes, bytes]] | None = None) -> None:
    body = json.dumps(value).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *(more or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
