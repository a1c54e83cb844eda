"""Whatever a model's server does, an exchange with it is over when `timeout` is: no fault here ever ends."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import closing, contextmanager, suppress

import pytest

from ethogram.evaluators.base import make_evaluator
from ethogram.remote import client as remote_client
from ethogram.remote.client import RequestFailure, attempt
from waiting import PATIENCE_SECONDS

TIMEOUT = 0.5
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Fault = Callable[[socket.socket], None]


def silence(peer: socket.socket) -> None:
    """Say nothing until the client hangs up."""
    peer.recv(1)


def drip(data: bytes, pause: float = 0.2) -> Fault:
    """Send two bytes at a time, and then nothing more."""

    def send(peer: socket.socket) -> None:
        for place in range(0, len(data), 2):
            peer.sendall(data[place : place + 2])
            time.sleep(pause)
        silence(peer)

    return send


def flood(head: bytes, piece: bytes) -> Fault:
    """Send the same again and again, as fast as it is taken."""

    def send(peer: socket.socket) -> None:
        peer.sendall(head)
        while True:
            peer.sendall(piece * 1000)

    return send


def drip_for_ever(head: bytes, piece: bytes) -> Fault:
    """The same, slowly."""

    def send(peer: socket.socket) -> None:
        peer.sendall(head)
        while True:
            peer.sendall(piece)
            time.sleep(0.1)

    return send


FAULTS: dict[str, Fault] = {
    "silence": silence,
    "status line, byte by byte": drip(HEAD * 10),
    "headers, byte by byte": drip(b"HTTP/1.1 200 OK\r\n" + b"X-A: aaaaaaaaaaaaaaaa\r\n" * 100),
    "headers without end": drip_for_ever(b"HTTP/1.1 200 OK\r\n", b"X-A: a\r\n"),
    "headers without end, fast": flood(b"HTTP/1.1 200 OK\r\n", b"X-A: a\r\n"),
    "one header without end": drip_for_ever(b"HTTP/1.1 200 OK\r\nX-A: ", b"a"),
    "100-continue, slowly": drip_for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "100-continue, a flood": flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "103 and then nothing": drip(b"HTTP/1.1 103 Early Hints\r\n\r\n", pause=0.01),
    "body, byte by byte": drip_for_ever(HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "chunks, byte by byte": drip_for_ever(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a chunk's head without end": drip_for_ever(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "trailers without end": drip_for_ever(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: a\r\n"),
    "body until the end, which never is": drip_for_ever(HEAD + b"\r\n", b" "),
    "a redirect, byte by byte": drip(b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:9/\r\n" * 9),
    "a redirect to itself": lambda peer: peer.sendall(
        b"HTTP/1.1 307 Moved\r\nLocation: /v1/messages\r\nContent-Length: 0\r\n\r\n"
    ),
    "error, byte by byte": drip_for_ever(b"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n", b" "),
}  # fmt: skip


@contextmanager
def serving(fault: Fault, *, good_first: bool = False, is_deaf: bool = False) -> Iterator[str]:
    """The address of a server; `good_first`: the first request on each connection is answered at once.

    `is_deaf`: it never reads.
    """
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    open_now: list[socket.socket] = [listener]

    def answer(peer: socket.socket) -> None:
        with suppress(OSError):
            if is_deaf:
                over.wait(PATIENCE_SECONDS)
            if good_first:
                _read_request(peer)
                peer.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
            _read_request(peer)
            fault(peer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                open_now.append(peer)
                threading.Thread(target=answer, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        for item in open_now:
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()


def _read_request(peer: socket.socket) -> None:
    got = b""
    while b"\r\n\r\n" not in got:
        got += peer.recv(65_536) or _gone()
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += peer.recv(65_536) or _gone()


def _gone() -> bytes:
    raise ConnectionError


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def exchange(
    name: str,
    url: str,
    times: int = 1,
    words: str = "hello",
    timeout: float = TIMEOUT,
    clock: Clock | None = None,
) -> object:
    """What the last of some exchanges gave; `clock`: an hour passes before each but the first."""
    base = f"{url}/v1" if name == "openai" else url
    options = {"base_url": base, "model": "small", "timeout": timeout}
    with closing(make_evaluator(name, options)) as model, ThreadPoolExecutor(1) as pool:
        client = model.client()
        for number in range(times):
            if clock and number:
                clock.passed += 3_600
            running = pool.submit(attempt, lambda: model.send(client, model.parameters("a rubric", words)))
            try:
                got = running.result(timeout=PATIENCE_SECONDS)
            except FutureTimeout:
                model.close()
                pytest.fail(f"the exchange was not over after {PATIENCE_SECONDS:g} seconds")
    return got


class Clock:
    """The clock of the client's deadlines, which a test can put forward."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.passed


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(remote_client, "time", clock)
    return clock


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Importing an SDK and its first request take seconds, which are not the server's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", "k")
        patch.setenv("OPENAI_API_KEY", "k")
        with serving(lambda peer: peer.close()) as url:
            for name in ("anthropic", "openai"):
                exchange(name, url)


@pytest.mark.parametrize("name", ["anthropic", "openai"])
@pytest.mark.parametrize("fault", FAULTS)
def test_an_exchange_ends_in_time(name, fault):
    with serving(FAULTS[fault]) as url:
        got = exchange(name, url)
    assert isinstance(got, RequestFailure), got
    assert got.kind in ("lost", "stop", "busy")


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_connection_that_is_used_again_keeps_to_the_deadline_too(name, clock):
    def late(peer: socket.socket) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\n")
        clock.passed += 3_600
        FAULTS["headers without end"](peer)

    with serving(late, good_first=True) as url:
        got = exchange(name, url, times=2, timeout=60)
    assert got == RequestFailure("lost", "no answer in time")


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_server_that_does_not_read_the_request_is_given_up(name):
    with serving(FAULTS["silence"], is_deaf=True) as url:
        got = exchange(name, url, words="a" * 20_000_000)
    assert got == RequestFailure("lost", "no answer in time")


def test_a_good_answer_is_not_cut_off_by_the_deadline_of_the_one_before(clock):
    body = json.dumps({"content": []}).encode()

    def answer(peer: socket.socket) -> None:
        peer.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    with serving(answer, good_first=True) as url:
        got = exchange("anthropic", url, times=2, timeout=60, clock=clock)
    assert got == {"content": []}
