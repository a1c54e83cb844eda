"""The way to a model's server: nowhere else, not too much, not too long, and in silence.

The SDKs speak the protocols. What they would let happen is bounded here: redirects (which could carry the
key to another host), bodies without end, and logs that hold the text of messages.
"""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit
from weakref import WeakSet

MOST_BYTES = 1_000_000
"""Of an answer."""
MOST_RESULT_BYTES = 2**30
"""Of the results of a batch, which are read line by line."""
LONGEST_WAIT = 60.0
"""Seconds, whatever the server asks for."""
LONGEST_CONNECT = 5.0
"""Seconds until a server picks up; an answer may take longer."""
LONGEST_RESULTS = 3600.0
"""Seconds for the results of a batch, which may be large."""
PIECE = 16_384
"""Bytes that are sent at once: after each the deadline is looked at."""
ENDED = "the run was ended"

Kind = Literal["busy", "unreached", "lost", "wrong", "stop", "ended"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a request gave no answer, in words that hold nothing of it.

    busy: ask again later, nothing was counted. unreached: the same, for want of a connection. lost: the
    answer may have been made and counted, but did not arrive. wrong: this request will never be answered.
    stop: none will. ended: it was not sent, since nobody waits for it any more. `wait` is what the server
    asked for, in seconds.
    """

    kind: Kind
    reason: str
    status: int | None = None
    wait: float | None = None


def attempt(send: Callable[[], T]) -> T | Trouble:
    """What `send` gives, or what went wrong; nothing that an SDK raises goes further than here."""
    with _quietly():
        try:
            return send()
        except Exception as error:
            return _trouble(error)


def body_of(response: Any) -> Any:
    """The JSON of an SDK's raw response."""
    try:
        return json.loads(response.http_response.content)
    except (ValueError, RecursionError):
        raise _NotJson from None


class Line:
    """The connections of one client, which can be cut: then nothing more is sent, and no answer awaited.

    To close a socket does not wake whoever reads from it in another thread; to shut it down does.
    """

    def __init__(self) -> None:
        self._cut = threading.Event()
        self._lock = threading.Lock()
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def is_cut(self) -> bool:
        """Whether it was; another thread may do so at any time."""
        return self._cut.is_set()

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until it is cut."""
        self._cut.wait(seconds)

    def cut(self) -> None:
        """End it, for every thread; a second time does nothing."""
        self._cut.set()
        with self._lock:
            for one in self._sockets:
                # Not the method of an SSL socket, which would take its state from the thread that reads.
                with suppress(OSError):
                    socket.socket.shutdown(one, socket.SHUT_RDWR)

    def trace(self, event: str, info: MutableMapping[str, Any]) -> None:
        """Told by the HTTP library of every step of a request."""
        import httpcore2

        step = event.partition(".")[2]
        if step in ("connect_tcp.complete", "start_tls.complete"):
            _limit(info["return_value"])
            with self._lock:
                self._sockets.add(info["return_value"].get_extra_info("socket"))
        elif step in ("connect_tcp.started", "send_request_headers.started") and self.is_cut():
            raise _Ended
        if step in ("connect_tcp.started", "start_tls.started"):
            # These are the arguments of the step itself.
            info["timeout"] = _seconds_left(info["timeout"], httpcore2.ConnectTimeout)


def timeouts(seconds: float) -> Any:
    """As an SDK takes them: so many seconds for an answer, but few for a connection."""
    import httpx2

    return httpx2.Timeout(seconds, connect=min(seconds, LONGEST_CONNECT))


def http_client(base_url: str, timeout: float, line: Line, *, local: bool) -> Any:
    """A client for this host alone. On this machine no proxy of the environment is asked."""
    import httpx2

    host = _host(base_url)

    def is_results(request: Any) -> bool:
        return bool(request.url.path.endswith("/results"))

    def check_request(request: Any) -> None:
        if _host(str(request.url)) != host:
            raise _Elsewhere
        request.extensions["trace"] = line.trace
        seconds = LONGEST_RESULTS if is_results(request) else request.extensions["timeout"]["read"]
        _EXCHANGE.ends = time.monotonic() + seconds

    def check_response(response: Any) -> None:
        # A small compressed body could unpack to any size.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _TooMuch
        most = MOST_RESULT_BYTES if is_results(response.request) else MOST_BYTES
        response.stream = _bounded(response.stream, most)

    return httpx2.Client(
        follow_redirects=False,
        trust_env=not local,
        # To read all certificates takes 0.1 s; where there is no TLS none is trusted instead.
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if host[0] == "http" else True,
        timeout=timeouts(timeout),
        headers={"Accept-Encoding": "identity"},
        limits=httpx2.Limits(max_connections=128, max_keepalive_connections=32),
        event_hooks={"request": [check_request], "response": [check_response]},
    )


def waiting_time(trouble: Trouble, turn: int, share: float) -> float:
    """Seconds before turn 0, 1, 2...: what the server asks for, else twice as long each time.

    `share` from 0 to 1 spreads those who were turned away together.

    >>> waiting_time(Trouble("busy", "", wait=7.0), 0, 0.0), waiting_time(Trouble("busy", ""), 3, 1.0)
    (7.0, 8.0)
    """
    if trouble.wait is not None:
        return min(trouble.wait + 0.25 * share, LONGEST_WAIT)
    return float(min(2.0**turn, LONGEST_WAIT)) * (0.5 + 0.5 * share)


def _trouble(error: Exception) -> Trouble:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        headers = getattr(getattr(error, "response", None), "headers", {})
        return _of_status(status, asked_wait(headers, datetime.now(UTC)))
    import httpx2

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _Elsewhere):
            return Trouble("stop", "the server names another host, which is not asked")
        if isinstance(cause, _Ended):
            return Trouble("ended", ENDED)
        if isinstance(cause, _TooMuch):
            return Trouble("lost", "the answer is too long or packed")
        if isinstance(cause, _NotJson):
            return Trouble("lost", "the answer is not JSON")
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            return Trouble("unreached", "no connection to the server")
        if isinstance(cause, httpx2.PoolTimeout):
            return Trouble("busy", "too many questions at once")
        if isinstance(cause, httpx2.TimeoutException):
            return Trouble("lost", "no answer in time")
        if isinstance(cause, httpx2.HTTPError | httpx2.StreamError):
            return Trouble("lost", "the connection broke")
        cause = cause.__cause__
    return Trouble("wrong", "the request could not be made")


_STOPS = {
    401: "the key was not accepted",
    402: "the account has nothing left",
    403: "the key does not allow this",
    404: "the server knows no such model or address",
}


def _of_status(status: int, wait: float | None) -> Trouble:
    if status in _STOPS:
        return Trouble("stop", f"{_STOPS[status]} (HTTP {status})", status)
    if status < 400:
        return Trouble("stop", f"the server sends elsewhere, which is not followed (HTTP {status})", status)
    if status in (408, 409, 429) or status >= 500:
        return Trouble("busy", f"the server is busy or failed (HTTP {status})", status, wait)
    return Trouble("wrong", f"the server does not take the request (HTTP {status})", status)


def asked_wait(headers: Any, now: datetime) -> float | None:
    """Seconds from now that `retry-after` asks for, as a number or as a date; None where it asks nothing.

    >>> now = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
    >>> asked_wait({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT"}, now), asked_wait({}, now)
    (30.0, None)
    """
    said = headers.get("retry-after")
    if said is None:
        return None
    try:
        seconds = float(said)
    except ValueError:
        try:
            until = parsedate_to_datetime(said)
        except ValueError:
            return None
        seconds = (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None


_EXCHANGE = threading.local()
"""When the exchange of this thread must be over (`ends`): a request is sent and answered in one thread."""


def _seconds_left(timeout: float | None, late: type[Exception]) -> float:
    """Seconds that a step of the exchange may take; `late` is raised where there are none."""
    left: float = _EXCHANGE.ends - time.monotonic()
    if left <= 0:
        raise late
    return left if timeout is None else min(timeout, left)


def _limit(stream: Any) -> None:
    """Make a connection keep to the deadline of the exchange, from the first byte sent to the last received.

    The HTTP library's timeout is for each piece: a server that sends one byte a second would never end.
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


class _Elsewhere(Exception):
    """A request to a host that is not the one in the settings."""


class _Ended(Exception):
    """A request on a line that was cut."""


class _TooMuch(Exception):
    """A body over the limit."""


class _NotJson(Exception):
    """A body that is no JSON, or half of it."""


def _bounded(stream: Any, most: int) -> Any:
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            seen = 0
            for piece in stream:
                seen += len(piece)
                if seen > most:
                    raise _TooMuch
                yield piece

        def close(self) -> None:
            stream.close()

    return Bounded()


def _host(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


_ASKING = threading.local()
_SPEAKERS = ("anthropic", "openai", "httpx2", "httpcore2", "httpx", "httpcore")


class _Silence(logging.Filter):
    """Drops what is said while a question of ours is under way in this thread, and nothing else."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_ASKING, "now", False)


_SILENCE = _Silence()


@contextmanager
def _quietly() -> Iterator[None]:
    """At level DEBUG the SDKs log whole requests; what others use them for is left as it is."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _SPEAKERS:
            # A filter acts on its own logger only, not on those below it. Adding it twice does nothing.
            logging.getLogger(name).addFilter(_SILENCE)
    _ASKING.now = True
    try:
        yield
    finally:
        _ASKING.now = False
