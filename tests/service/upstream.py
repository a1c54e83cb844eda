"""A scripted chat API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send

ANSWER = "It depends on what you need it for."


class Upstream:
    """Answers like OpenAI and Ollama; `requests` has what arrived: path, headers, body."""

    def __init__(self, answer: str | Callable[[dict[str, Any]], str] = ANSWER) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answer = answer
        self.pause = 0.0
        self.left = 0
        """Streams that their client left."""

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
            await self._openai(json.loads(body), receive, send)
        elif path == "/api/chat":
            await self._ollama(json.loads(body), send)
        elif path == "/v1/messages":
            await self._anthropic(json.loads(body), send)
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

    async def _openai(self, fields: dict[str, Any], receive: Receive, send: Send) -> None:
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
        leaving = asyncio.ensure_future(receive())
        for number, delta in enumerate(pieces):
            if leaving.done():
                self.left += 1
                return
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
        leaving.cancel()
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})

    async def _anthropic(self, fields: dict[str, Any], send: Send) -> None:
        text = self._text(fields)
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": fields["model"]}
        end = {"stop_reason": "end_turn", "stop_sequence": None}
        if not fields.get("stream"):
            content = [{"type": "text", "text": text}]
            await _reply(send, 200, {**head, "content": content, **end, "usage": usage})
            return
        kind = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        block = {"index": 0}
        events: list[dict[str, Any]] = [
            {
                "type": "message_start",
                "message": {**head, "content": [], "stop_reason": None, "usage": usage},
            },
            {"type": "content_block_start", **block, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", **block, "delta": {"type": "text_delta", "text": word}}
                for word in _words(text)
            ),
            {"type": "content_block_stop", **block},
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        ]
        for event in events:
            line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

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
