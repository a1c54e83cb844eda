"""A webhook: one POST a record, retried where that may help, with reasons that repeat nothing of it."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ethogram.errors import BadUsage
from ethogram.remote import posting
from ethogram.remote.posting import ATTEMPTS
from ethogram.remote.webhook import Webhook


class Server(HTTPServer):
    """Answers with the codes it is given, the last one for ever."""

    codes: list[int]
    bodies: list[dict]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        codes = self.server.codes
        self.send_response(codes.pop(0) if len(codes) > 1 else codes[0])
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.codes, made.bodies = [204], []
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def post(server: Server, record: dict) -> tuple[str, list[float]]:
    waited: list[float] = []
    return Webhook(f"http://127.0.0.1:{server.server_port}/in", sleep=waited.append).post(record), waited


def test_a_record_is_posted_once(server):
    assert post(server, {"id": "d1"}) == ("", [])
    assert server.bodies == [{"id": "d1"}]


def test_a_busy_server_is_asked_again(server):
    server.codes = [503, 429, 200]
    assert post(server, {"id": "d1"}) == ("", [1.0, 2.0])
    assert len(server.bodies) == 3


@pytest.mark.parametrize(("code", "posts"), [(500, ATTEMPTS), (404, 1), (302, 1)])
def test_a_failure_is_named_and_repeats_nothing(server, code, posts):
    server.codes = [code]
    why, _ = post(server, {"secret": "hunter2"})
    assert why == f"the server answered with HTTP {code}"
    assert len(server.bodies) == posts


def test_no_server_is_a_failure_too():
    with HTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    why = Webhook(f"http://127.0.0.1:{port}", sleep=lambda seconds: None).post({})
    assert why.startswith("no connection to the server")


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-A: "])
def test_an_answer_that_never_ends_is_given_up(monkeypatch, start):
    class Slow(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.sendall(start)
                while True:  # until the client hangs up
                    time.sleep(0.02)
                    self.request.sendall(b"x")

    monkeypatch.setattr(posting, "SECONDS", 0.3)
    monkeypatch.setattr(posting, "ATTEMPTS", 1)
    with socketserver.TCPServer(("127.0.0.1", 0), Slow) as slow:
        thread = threading.Thread(target=slow.handle_request)
        thread.start()
        assert Webhook(f"http://127.0.0.1:{slow.server_address[1]}").post({}) == "no answer in time"
        thread.join()


def test_an_answer_that_is_not_http_is_a_failure():
    class Other(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.request.sendall(b"SSH-2.0\r\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{other.server_address[1]}"
        why = Webhook(address, sleep=lambda seconds: None).post({})
        other.shutdown()
    assert why == "the answer is not valid HTTP (BadStatusLine)"


@pytest.mark.parametrize(
    "url", ["http://example.org", "ftp://x", "", "https://a:b@example.org", "https://x/?k=1"]
)
def test_other_addresses_are_refused(url):
    with pytest.raises(BadUsage, match="--webhook"):
        Webhook(url)
