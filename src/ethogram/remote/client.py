"""Requests to a model's server: timeouts, size limits, no redirects, no logs.

The SDKs speak the protocols. This module bounds what they would let happen: redirects (which could carry the
key to another host), bodies without end, and logs with the text of messages.
"""

from __future__ import annotations

import json
import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit
from weakref import WeakSet

from ..models.slotted import dataclass

MOST_BYTES = 1_000_000  # of an answer
MOST_RESULT_BYTES = 2**30  # of the results of a batch
LONGEST_WAIT = 60.0  # seconds before a retry, whatever the server asks for
LONGEST_CONNECT = 5.0  # seconds for a connection
LONGEST_RESULTS = 3600.0  # seconds for the results of a batch
RETRIES = 5  # of a request that certainly was not answered
NEVER_REACHED_RETRIES, NEVER_REACHED_SECONDS = 2, 5.0  # a server never reached may have a wrong address
PIECE = 16_384  # bytes sent at once; the deadline is checked after each
ENDED = "the run was ended"

Kind = Literal["busy", "unreached", "lost", "wrong", "stop", "ended"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """Why a request gave no answer, in words that repeat nothing of it.

    busy: retry later, nothing was billed. unreached: the same, there was no connection. lost: the answer
    may have been billed but did not arrive. wrong: this request will never be answered. stop: none will.
    ended: not sent, since the run was ended. `wait` is the delay in seconds that the server asked for.
    """

    kind: Kind
    reason: str
    status: int | None = None
    wait: float | None = None


def attempt(send: Callable[[], T]) -> T | RequestFailure:
    """What `send` returns, or why it failed; no exception of an SDK passes."""
    with _no_logs():
        try:
            return send()
        except Exception as error:
            return _failure_of(error)


def body_of(response: Any) -> Any:
    """The JSON of an SDK's raw response."""
    try:
        return json.loads(response.http_response.content)
    except (ValueError, RecursionError):
        raise _Failed("lost", "the answer is not JSON") from None


class _Failed(Exception):
    """A failure that is recognised here, raised through an SDK."""

    def __init__(self, kind: Kind, reason: str) -> None:
        self.failure = RequestFailure(kind, reason)


class Connections:
    """The connections of one client; once cut, nothing more is sent and no answer is awaited.

    Closing a socket does not wake a thread that reads from it; shutting it down does.
    """

    def __init__(self) -> None:
        self._cut = threading.Event()
        self._lock = threading.Lock()
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def is_cut(self) -> bool:
        """Whether the connections were cut, by any thread."""
        return self._cut.is_set()

    def wait(self, seconds: float) -> None:
        """Sleep, at most until the connections are cut."""
        self._cut.wait(seconds)

    def cut(self) -> None:
        """End all requests, of every thread."""
        self._cut.set()
        with self._lock:
            for item in self._sockets:
                # The method of an SSL socket would take its state from the thread that reads.
                with suppress(OSError):
                    socket.socket.shutdown(item, socket.SHUT_RDWR)

    def trace(self, event: str, info: MutableMapping[str, Any]) -> None:
        """Hook of the HTTP library for every step of a request."""
        import httpcore2

        step = event.partition(".")[2]
        if step in ("connect_tcp.complete", "start_tls.complete"):
            _limit(info["return_value"])
            with self._lock:
                self._sockets.add(info["return_value"].get_extra_info("socket"))
        elif step in ("connect_tcp.started", "send_request_headers.started") and self.is_cut():
            raise _Failed("ended", ENDED)
        if step in ("connect_tcp.started", "start_tls.started"):
            # `info` holds the arguments of the step itself.
            info["timeout"] = _seconds_left(info["timeout"], httpcore2.ConnectTimeout)


class Patience:
    """Sends requests, again after a delay where they certainly were not answered.

    `reached` is whether the server ever was. `sleep` is there for tests.
    """

    def __init__(self, connections: Connections, sleep: Callable[[float], None] | None = None) -> None:
        self.reached = False
        self._connections, self._sleep = connections, sleep or connections.wait

    def send(self, send: Callable[[], T], until: float | None = None) -> T | RequestFailure:
        """What `send` returns, or why there is no answer; no retry begins after `until` (monotonic)."""
        began, turn = time.monotonic(), 0
        while not self._connections.is_cut():
            result = attempt(send)
            if not isinstance(result, RequestFailure):
                self.reached = True
                return result
            if self._connections.is_cut():
                # The provider may have billed a request that broke off.
                broke = result.kind == "lost" or (result.kind == "wrong" and result.status is None)
                return RequestFailure("lost" if broke else "ended", ENDED)
            self.reached |= result.kind != "unreached"
            most = RETRIES if self.reached else NEVER_REACHED_RETRIES
            late = not self.reached and time.monotonic() - began >= NEVER_REACHED_SECONDS
            if result.kind not in ("busy", "unreached") or turn >= most or late:
                return result
            wait = waiting_time(result, turn, random.random())
            if until is not None and time.monotonic() + wait > until:
                return result
            self._sleep(wait)
            turn += 1
        return RequestFailure("ended", ENDED)


def timeouts(seconds: float) -> Any:
    """An SDK's timeouts: so many seconds for an answer, fewer for a connection."""
    import httpx2

    return httpx2.Timeout(seconds, connect=min(seconds, LONGEST_CONNECT))


def http_client(
    base_url: str, timeout: float, connections: Connections, *, local: bool, most_bytes: int = MOST_BYTES
) -> Any:
    """An HTTP client for this host alone; for a local one the environment's proxies are ignored.

    `most_bytes` is how long an answer may be.
    """
    import httpx2

    host = _host(base_url)

    def is_results(request: Any) -> bool:
        return bool(request.url.path.endswith("/results"))

    def check_request(request: Any) -> None:
        if _host(str(request.url)) != host:
            raise _Failed("stop", "the server names another host, which is not asked")
        request.extensions["trace"] = connections.trace
        seconds = LONGEST_RESULTS if is_results(request) else request.extensions["timeout"]["read"]
        _EXCHANGE.ends = time.monotonic() + seconds

    def check_response(response: Any) -> None:
        # A small compressed body could unpack to any size.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _Failed("lost", "the answer is too long or packed")
        most = MOST_RESULT_BYTES if is_results(response.request) else most_bytes
        response.stream = _bounded(response.stream, most)

    return httpx2.Client(
        follow_redirects=False,
        trust_env=not local,
        # Reading all certificates takes 0.1 s; without TLS none is needed.
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if host[0] == "http" else True,
        timeout=timeouts(timeout),
        headers={"Accept-Encoding": "identity"},
        limits=httpx2.Limits(max_connections=128, max_keepalive_connections=32),
        event_hooks={"request": [check_request], "response": [check_response]},
    )


def waiting_time(failure: RequestFailure, turn: int, share: float) -> float:
    """Seconds before retry `turn`: what the server asks for, else doubling; `share` (0..1) spreads clients.

    >>> busy = RequestFailure("busy", "")
    >>> waiting_time(RequestFailure("busy", "", wait=7.0), 0, 0.0), waiting_time(busy, 3, 1.0)
    (7.0, 8.0)
    """
    if failure.wait is not None:
        return min(failure.wait + 0.25 * share, LONGEST_WAIT)
    return float(min(2.0**turn, LONGEST_WAIT)) * (0.5 + 0.5 * share)


def _failure_of(error: Exception) -> RequestFailure:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        headers = getattr(getattr(error, "response", None), "headers", {})
        return _of_status(status, retry_after(headers, datetime.now(UTC)))
    import httpx2

    known: tuple[tuple[tuple[type[Exception], ...], Kind, str], ...] = (
        (
            (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError),
            "unreached",
            "no connection to the server",
        ),
        ((httpx2.PoolTimeout,), "busy", "too many questions at once"),
        ((httpx2.TimeoutException,), "lost", "no answer in time"),
        ((httpx2.HTTPError, httpx2.StreamError), "lost", "the connection broke"),
    )
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _Failed):
            return cause.failure
        for types, kind, reason in known:
            if isinstance(cause, types):
                return RequestFailure(kind, reason)
        cause = cause.__cause__
    return RequestFailure("wrong", "the request could not be made")


_STOPS = {
    401: "the key was not accepted",
    402: "the account has nothing left",
    403: "the key does not allow this",
    404: "the server knows no such model or address",
}


def _of_status(status: int, wait: float | None) -> RequestFailure:
    kind: Kind = "wrong"
    reason = "the server does not take the request"
    if status in _STOPS:
        kind, reason = "stop", _STOPS[status]
    elif status < 400:
        kind, reason = "stop", "the server sends elsewhere, which is not followed"
    elif status in (408, 409, 429) or status >= 500:
        kind, reason = "busy", "the server is busy or failed"
    return RequestFailure(kind, f"{reason} (HTTP {status})", status, wait if kind == "busy" else None)


def retry_after(headers: Any, now: datetime) -> float | None:
    """Seconds from now that the header `retry-after` asks for, as a number or a date; None without it.

    >>> now = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
    >>> retry_after({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT"}, now), retry_after({}, now)
    (30.0, None)
    """
    header = headers.get("retry-after")
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            until = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None


_EXCHANGE = threading.local()  # `ends`: the deadline of the exchange in this thread


def _seconds_left(timeout: float | None, late: type[Exception]) -> float:
    """Seconds left for a step of the exchange; raises `late` where there are none."""
    left: float = _EXCHANGE.ends - time.monotonic()
    if left <= 0:
        raise late
    return left if timeout is None else min(timeout, left)


def _limit(stream: Any) -> None:
    """Make a connection keep to the deadline of the whole exchange.

    The HTTP library's timeout is for each piece, so a server that sends one byte a second would never end.
    """
    import httpcore2

    read, write = stream.read, stream.write

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        got: bytes = read(max_bytes, _seconds_left(timeout, httpcore2.ReadTimeout))
        return got

    def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            write(buffer[start : start + PIECE], _seconds_left(timeout, httpcore2.WriteTimeout))

    stream.read, stream.write = read_in_time, write_in_time


def _bounded(stream: Any, most: int) -> Any:
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            seen = 0
            for piece in stream:
                seen += len(piece)
                if seen > most:
                    raise _Failed("lost", "the answer is too long or packed")
                yield piece

        def close(self) -> None:
            stream.close()

    return Bounded()


def _host(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


_REQUEST = threading.local()
_LOGGERS = ("anthropic", "openai", "httpx2", "httpcore2", "httpx", "httpcore")


def _is_others(record: logging.LogRecord) -> bool:
    """A log filter that drops what is logged during a request of ours in this thread."""
    return not getattr(_REQUEST, "active", False)


@contextmanager
def _no_logs() -> Iterator[None]:
    """Silence the SDKs, which log whole requests at level DEBUG; other users of them are not affected."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LOGGERS:
            # A filter acts on its own logger only; adding it twice does nothing.
            logging.getLogger(name).addFilter(_is_others)
    _REQUEST.active = True
    try:
        yield
    finally:
        _REQUEST.active = False
