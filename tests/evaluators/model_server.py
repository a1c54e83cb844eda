"""A model's server on this machine: speaks Anthropic Messages, Message Batches, OpenAI Chat Completions and
Embeddings.

It answers honestly from the message alone, or does what its script says; `harm:0.9` answers the question
whether a turn asks for harm. Standing alone:

    python tests/evaluators/model_server.py --port 8099 --script "429:1,ok,refusal"
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ethogram.models import TRAITS
from ethogram.patterns.catalogue import indicator_catalogue

Script = Callable[[int], str]

STATUSES = {"400", "401", "402", "403", "404", "413", "429", "500", "503", "529"}
"""Faults that are an HTTP status; `429:7` asks to wait 7 seconds, `429:date` until a date 50 seconds away."""
SPOILT = {"high", "nan", "eleven", "wrong_ids", "wrong_quotes", "another", "prose", "half", "twice"}
"""Faults of the answer inside a response that is in order."""
BROKEN = {
    "truncated",
    "slow",
    "drip",
    "drop",
    "drop_middle",
    "html",
    "redirect",
    "huge",
    "packed",
    "shapeless",
}
"""Faults of the response."""
ENDED = {"refusal", "empty", "cut", "bad_usage"}
"""Responses without an answer, or without a count."""

SECRET_ECHO = "the request was: "
"""Errors repeat the request, as some servers do, so that a test sees whether it goes any further."""


class ModelServer:
    """Counts, records and checks every request; `problems` is empty where the protocol was kept."""

    def __init__(
        self,
        script: Sequence[str] | Script = (),
        *,
        refuses: Sequence[str] = (),
        batch: Sequence[str] = (),
        polls: int = 0,
        port: int = 0,
        pause: float = 0.0,
        embed: Callable[[Sequence[str]], Any] | None = None,
    ) -> None:
        self.script = script if callable(script) else _in_turn(list(script))
        self.refuses, self.batch, self.polls, self.pause = set(refuses), list(batch), polls, pause
        self.embed = embed or (lambda texts: [digits(text) for text in texts])
        self.requests: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.billed: list[dict[str, int]] = []
        self.batches: dict[str, list[dict[str, Any]]] = {}
        self.kept: set[str] = set()
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self.http.daemon_threads = True
        self.http.model = self  # type: ignore[attr-defined]
        self.url = self.results_at = f"http://127.0.0.1:{self.http.server_address[1]}"

    @contextlib.contextmanager
    def running(self) -> Iterator[ModelServer]:
        thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.http.shutdown()
            self.http.server_close()

    def bill(self, system: str, user: str, answer: str, most: int, factor: str = "") -> dict[str, int]:
        """Counts tokens as a model's side would: of the rubric once as written, then as read."""
        with self.lock:
            rubric, again = len(system.encode()) // 3, system in self.kept
            self.kept.add(system)
            count = {
                "input": _tokens(user) + 200,
                "output": min(_tokens(answer), most),
                "cache_read": rubric if again else 0,
                "cache_write": 0 if again else rubric,
            }
            self.billed.append(count)
            return count


def honest_answer(user: str) -> dict[str, Any]:
    """The same numbers for the same message, whatever the fence; one indicator, with its first word."""
    fence, text = _message(user)
    traits = {
        name: int.from_bytes(hashlib.sha256(f"{name} {text}".encode()).digest()[:2], "big") % 101 / 100
        for name in TRAITS
    }
    word = re.search(r"\w\w+", text)
    found = [{"id": next(iter(indicator_catalogue())), "confidence": 0.7, "quote": word[0]}] if word else []
    return {"fence": fence, "indicators": found, "traits": traits}


def _message(user: str) -> tuple[str, str]:
    """The fence word and the text of the last fenced part, without the two spaces before its lines."""
    opened, closed = list(re.finditer(r"^--- (\w+)$", user, re.M))[-2:]
    lines = user[opened.end() + 1 : closed.start() - 1].split("\n")
    return closed[1], "\n".join(line.removeprefix("  ") for line in lines)


def _spoil(answer: dict[str, Any], fault: str) -> str:
    traits, found = answer["traits"], answer["indicators"]
    if fault == "high":
        traits["virtue"] = 1.7
    elif fault == "nan":
        traits["virtue"] = float("nan")
    elif fault == "eleven":
        del traits["virtue"]
    elif fault == "wrong_ids":
        found[:] = [{"id": "no-such-id", "confidence": 0.9, "quote": found[0]["quote"]}]
    elif fault == "wrong_quotes":
        found[0]["quote"] = "words that nobody said"
    elif fault == "another":
        answer["fence"] = "0123456789abcdef"
    text = json.dumps(answer)
    if fault == "prose":
        return "Certainly! Here is what I think of the message."
    if fault == "half":
        return text[: len(text) // 2]
    return text.replace('{"fence"', '{"fence": "x", "fence"') if fault == "twice" else text


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise every answer waits 40 ms for the client to confirm its head.
    disable_nagle_algorithm = True

    @property
    def model(self) -> ModelServer:
        return self.server.model  # type: ignore[attr-defined,no-any-return]

    def log_message(self, *_: object) -> None:
        """Silence: a test's output is its own."""

    def do_GET(self) -> None:
        self._record(None)
        parts = self.path.strip("/").split("/")
        entries = self.model.batches.get(parts[3] if len(parts) > 3 else "")
        if parts[:3] != ["v1", "messages", "batches"] or entries is None:
            self._json(404, _error("not_found_error"))
        elif parts[-1] == "results":
            lines = "".join(json.dumps(entry) + "\n" for entry in reversed(entries))
            self._send(200, lines.encode(), "application/x-jsonl")
        else:
            self.model.polls -= 1
            self._json(200, self._batch(parts[3], ended=self.model.polls < 0))

    def do_POST(self) -> None:
        model = self.model
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with model.lock:
            model.at_once += 1
            model.most_at_once = max(model.most_at_once, model.at_once)
        try:
            number = self._record(body)
            time.sleep(model.pause)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._answer(body, model.script(number))
        finally:
            with model.lock:
                model.at_once -= 1

    def _record(self, body: Any) -> int:
        with self.model.lock:
            self.model.requests.append(
                {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
            )
            return len(self.model.requests) - 1

    def _answer(self, body: dict[str, Any], fault: str) -> None:
        if self.path == "/v1/messages/batches":
            name, _, said = fault.partition(":")
            if name in STATUSES:
                return self._status(name, said, body)
            opened = self._open_batch(body)
            return self._hang_up() if name == "drop" else self._json(200, opened)
        if self.path not in ("/v1/messages", "/v1/chat/completions", "/v1/embeddings"):
            return self._json(404, _error("not_found_error"))
        if self.path == "/v1/embeddings":
            self.model.problems += _embeddings_faults(self.headers, body)
            return self._respond(body, fault, False)
        claude = self.path == "/v1/messages"
        self.model.problems += (
            _anthropic_faults(self.headers, body) if claude else _openai_faults(self.headers, body)
        )
        if asked := _asked(body) & self.model.refuses:
            return self._json(400, _error(f"not supported: {sorted(asked)}"))
        return self._respond(body, fault, claude)

    def _respond(self, body: dict[str, Any], fault: str, claude: bool) -> None:
        name, _, said = fault.partition(":")
        if name in STATUSES:
            return self._status(name, said, body)
        if name == "drop":
            return self._hang_up()
        if name == "redirect":
            return self._send(307, b"", "text/plain", {"Location": said})
        if self.path == "/v1/embeddings":
            response = _embeddings_of(body, self.model.embed)
        else:
            system, user = _prompt(body)
            answer = _spoil(honest_answer(user), name) if name in SPOILT else json.dumps(honest_answer(user))
            if name == "harm":
                answer = json.dumps({"fence": _message(user)[0], "asks_for_harm": float(said)})
            most = body.get("max_tokens") or body.get("max_completion_tokens")
            count = self.model.bill(system, user, answer, most)
            response = (_message_of if claude else _completion_of)(body["model"], answer, count, name)
        data = json.dumps(response).encode()
        if name == "truncated":
            return self._send(200, data[: len(data) // 2])
        if name == "html":
            return self._send(200, b"<html>please log in</html>", "text/html")
        if name == "shapeless":
            return self._send(200, b'{"type": "message", "content": 7, "choices": {}}')
        if name == "huge":
            return self._send(200, b'{"x": "' + b"a" * 3_000_000 + b'"}')
        if name == "packed":
            return self._send(200, b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
        if name == "drop_middle":
            self._head(200, len(data))
            self.wfile.write(data[: len(data) // 2])
            return self._hang_up()
        if name == "drip":
            self._head(200, len(data))
            for place in range(len(data)):
                self.wfile.write(data[place : place + 1])
                self.wfile.flush()
                time.sleep(float(said or 0.1))
            return None
        if name == "slow":
            self.connection.recv(1)  # until the client hangs up
            self.close_connection = True
            return None
        return self._send(200, data)

    def _status(self, name: str, text: str, body: Any) -> None:
        wait = formatdate(time.time() + 50, usegmt=True) if text == "date" else text
        echo = SECRET_ECHO + json.dumps([body, dict(self.headers)])
        self._json(int(name), _error(echo), {"Retry-After": wait} if wait else {})

    def _open_batch(self, body: dict[str, Any]) -> dict[str, Any]:
        entries = []
        for place, item in enumerate(body["requests"]):
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item["custom_id"]):
                self.model.problems.append("custom_id")
            params = item["params"]
            self.model.problems += _anthropic_faults(self.headers, params)
            fault = self.model.batch[place] if place < len(self.model.batch) else "ok"
            if fault in ("errored", "expired", "canceled"):
                result: dict[str, Any] = {"type": fault}
                if fault == "errored":
                    result["error"] = _error(SECRET_ECHO + json.dumps(params))
            else:
                system, user = _prompt(params)
                answer = _spoil(honest_answer(user), fault)
                count = self.model.bill(system, user, answer, params["max_tokens"])
                result = {"type": "succeeded", "message": _message_of(params["model"], answer, count, fault)}
            entries.append({"custom_id": item["custom_id"], "result": result})
        if "missing" in self.model.batch:
            del entries[self.model.batch.index("missing")]
        if "stray" in self.model.batch:
            entries.append({**entries[0], "custom_id": "nobody-asked-for-this"})
        name = f"msgbatch_{len(self.model.batches)}"
        self.model.batches[name] = entries
        return self._batch(name, ended=False)

    def _batch(self, name: str, *, ended: bool) -> dict[str, Any]:
        now, entries = "2026-11-15T12:00:00Z", self.model.batches[name]
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        for entry in entries:
            counts[entry["result"]["type"] if ended else "processing"] += 1
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": now,
            "expires_at": now,
            "ended_at": now if ended else None,
            "results_url": f"{self.model.results_at}/v1/messages/batches/{name}/results" if ended else None,
        }

    def _json(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(content).encode(), headers=headers)

    def _send(self, status: int, data: bytes, kind: str = "application/json", headers: Any = None) -> None:
        self._head(status, len(data), kind, headers)
        self.wfile.write(data)

    def _head(self, status: int, length: int, kind: str = "application/json", headers: Any = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": kind, "Content-Length": str(length), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(2)


def _message_of(model: str, answer: str, count: dict[str, int], fault: str) -> dict[str, Any]:
    reason = {"refusal": "refusal", "cut": "max_tokens"}.get(fault, "end_turn")
    text = {"refusal": "I would rather not.", "empty": "", "cut": answer[:40]}.get(fault, answer)
    usage: Any = {
        "input_tokens": count["input"],
        "output_tokens": count["output"],
        "cache_read_input_tokens": count["cache_read"],
        "cache_creation_input_tokens": count["cache_write"],
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "text", "text": text}],
        "stop_reason": reason,
        "usage": {"input_tokens": -5, "output_tokens": "many"} if fault == "bad_usage" else usage,
    }


def _completion_of(model: str, answer: str, count: dict[str, int], fault: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": {"empty": "", "cut": answer[:40]}.get(fault, answer)}
    if fault == "refusal":
        message = {"role": "assistant", "content": None, "refusal": "I would rather not."}  # type: ignore[dict-item]
    usage: Any = {
        "prompt_tokens": count["input"] + count["cache_read"] + count["cache_write"],
        "completion_tokens": count["output"],
        "total_tokens": sum(count.values()),
        "prompt_tokens_details": {
            "cached_tokens": count["cache_read"],
            "cache_write_tokens": count["cache_write"],
        },
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "length" if fault == "cut" else "stop"}
        ],
        "usage": {"prompt_tokens": -5} if fault == "bad_usage" else usage,
    }


def digits(text: str) -> list[float]:
    """Sixteen numbers of a text, the same each time."""
    return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:16]]


def _embeddings_of(body: dict[str, Any], embed: Callable[[Sequence[str]], Any]) -> dict[str, Any]:
    """The vectors in any order: `index` says whose each is."""
    rows = [
        {"object": "embedding", "index": k, "embedding": [float(number) for number in row]}
        for k, row in enumerate(embed(body["input"]))
    ]
    return {"object": "list", "model": body["model"], "data": rows[::-1], "usage": {"prompt_tokens": 1}}


def _prompt(body: dict[str, Any]) -> tuple[str, str]:
    if "system" in body:
        return body["system"][0]["text"], body["messages"][0]["content"]
    system, user = (item["content"] for item in body["messages"])
    return (system if isinstance(system, str) else system[0]["text"]), user


def _asked(body: dict[str, Any]) -> set[str]:
    """What a server may not take: the names that `refuses` knows."""
    config, form = body.get("output_config", {}), body.get("response_format", {}).get("type")
    names = {name for name in ("thinking", "temperature", "prompt_cache_options") if name in body}
    names |= {name for name in ("effort", "format") if name in config}
    return names | ({form} if form else set()) | {"everything"}


def _anthropic_faults(headers: Any, body: dict[str, Any]) -> list[str]:
    system, form = body.get("system"), body.get("output_config", {}).get("format")
    checks = {
        "key": (headers["authorization"] or "").startswith("Bearer "),
        "anthropic-version": headers["anthropic-version"] == "2026-10-21",
        "content-type": headers["content-type"] == "application/json",
        "max_tokens": isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0,
        "model": isinstance(body.get("model"), str),
        "rubric kept": isinstance(system, list) and system[0].get("cache_control") == {"type": "ephemeral"},
        "one user message": [item["role"] for item in body.get("messages", [])] == ["user"],
        "no sampling": not {"temperature", "top_p", "top_k"} & body.keys(),
        "schema": form is None or (form["type"] == "json_schema" and _is_strict(form["schema"])),
    }
    return [name for name, check in checks.items() if not check]


def _openai_faults(headers: Any, body: dict[str, Any]) -> list[str]:
    form = body.get("response_format", {"type": "text"})
    most = body.get("max_tokens") or body.get("max_completion_tokens")
    checks = {
        "authorization": (headers["authorization"] or "").startswith("Bearer "),
        "content-type": headers["content-type"] == "application/json",
        "max_tokens": isinstance(most, int) and most > 0,
        "model": isinstance(body.get("model"), str),
        "roles": [item["role"] for item in body.get("messages", [])] == ["system", "user"],
        "form": form["type"] in ("text", "json_object", "json_schema"),
        "schema": form["type"] != "json_schema"
        or (form["json_schema"]["strict"] is True and _is_strict(form["json_schema"]["schema"])),
    }
    return [name for name, check in checks.items() if not check]


def _embeddings_faults(headers: Any, body: dict[str, Any]) -> list[str]:
    texts = body.get("input")
    checks = {
        "authorization": (headers["authorization"] or "").startswith("Bearer "),
        "model": isinstance(body.get("model"), str),
        "texts": isinstance(texts, list) and 0 < len(texts) <= 64 and all(text.strip() for text in texts),
        "form": body.get("encoding_format") == "float",
    }
    return [name for name, check in checks.items() if not check]


def _is_strict(schema: Any) -> bool:
    """As strict modes ask: every object closed, every key required, no limits on numbers and lists."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False or set(schema["required"]) != set(
            schema["properties"]
        ):
            return False
        return all(map(_is_strict, schema["properties"].values()))
    return not {"minimum", "maximum", "minLength", "maxItems"} & schema.keys() and _is_strict(
        schema.get("items")
    )


def _error(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


def _tokens(text: str) -> int:
    plain = sum(char < "\x80" for char in text)
    return plain // 3 + len(text.encode("utf-8", "replace")) - plain


def _in_turn(script: list[str]) -> Script:
    return lambda number: script[number] if number < len(script) else "ok"


if __name__ == "__main__":
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("--port", type=int, default=8099)
    reader.add_argument("--script", default="", help="faults of the first requests, with commas between them")
    given = reader.parse_args()
    server = ModelServer([part for part in given.script.split(",") if part], port=given.port)
    print(f"base_url for anthropic: {server.url}\nbase_url for openai:    {server.url}/v1", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.http.serve_forever()
