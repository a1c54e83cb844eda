"""What leaves the service: webhooks and metrics."""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from ethogram.config import Settings
from service.conftest import Start, wait_for
from service.test_events import COLD, line, post


class Receiver:
    """A server that records what it gets, and answers with the given statuses in turn, then 200."""

    def __init__(self) -> None:
        self.requests: list[tuple[bytes, str]] = []
        self.answers: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((body, self.headers.get("X-Ethogram-Signature", "")))
                self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()


def bomb(subject: str) -> list[dict[str, object]]:
    lines = [line(f"{subject}{day}", day, subject=subject) for day in (1, 2, 3)]
    return [*lines, line(f"{subject}4", 4, subject=subject, readings=COLD)]


def test_a_webhook_gets_each_change_signed_and_goes_on_after_a_restart(
    start: Start, receiver: Receiver
) -> None:
    receiver.answers = [500]
    how = {"webhooks": (receiver.url,), "webhook_secret": "s3cret", "public_url": "https://watch.example"}
    post(start(**how), *bomb("ann"))
    wait_for(lambda: len(receiver.requests) == 2)
    body, signature = receiver.requests[-1]
    record = json.loads(body)
    assert signature == "sha256=" + hmac.new(b"s3cret", body, "sha256").hexdigest()
    assert record["detection"]["subject"] == "ann"
    assert record["url"] == f"https://watch.example/detections/{record['detection']['id']}"
    assert record["text"].startswith("HIGH Love bombing (new): ")
    post(start(**how), *bomb("bea"))
    wait_for(lambda: len(receiver.requests) >= 3)
    assert [json.loads(item[0])["detection"]["subject"] for item in receiver.requests] == [
        "ann",
        "ann",
        "bea",
    ]


def shown(client: httpx.Client) -> str:
    text = client.get("/metrics").text
    return text if 'detected="true",pattern="love_bombing",severity="high"' in text else ""


def test_metrics_count_checks_with_and_without_detections(start: Start) -> None:
    client = start(settings=Settings(metrics={"prefix": "pipeline_safety"}))
    post(client, *bomb("ann"), line("x", 1, subject="zoe"))
    metrics = wait_for(lambda: shown(client))
    name = "pipeline_safety_pattern_detection_total"
    assert f'{name}{{detected="true",pattern="love_bombing",severity="high"}} 1.0' in metrics
    assert f'{name}{{detected="false",pattern="loop",severity="none"}}' in metrics
    assert 'pipeline_safety_pattern_confidence_count{detected="true"' in metrics
    assert 'pipeline_safety_events_total{outcome="added"} 5.0' in metrics
    assert 'route="/v1/events"' in metrics
