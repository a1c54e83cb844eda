"""Requests to a model's server: options, timeouts, size limits, no redirects, no logs.

The SDKs speak the protocols. This module bounds what they would let happen: redirects (which could carry the
key to another host), bodies without end, and logs with the text of messages.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import json
import logging
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit
from weakref import WeakSet

from ..config.checks import VARIABLE
from ..errors import BadUsage, MissingExtra, did_you_mean
from .pricing import Price, price_from, price_of

MOST_BYTES = 1_000_000  # of an answer
MOST_RESULT_BYTES = 2**30  # of the results of a batch
LONGEST_WAIT = 60.0  # seconds before a retry, whatever the server asks for
LONGEST_CONNECT = 5.0  # seconds for a connection
LONGEST_RESULTS = 3600.0  # seconds for the results of a batch
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


def timeouts(seconds: float) -> Any:
    """An SDK's timeouts: so many seconds for an answer, fewer for a connection."""
    import httpx2

    return httpx2.Timeout(seconds, connect=min(seconds, LONGEST_CONNECT))


def http_client(base_url: str, timeout: float, connections: Connections, *, local: bool) -> Any:
    """An HTTP client for this host alone; for a local one the environment's proxies are ignored."""
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
        most = MOST_RESULT_BYTES if is_results(response.request) else MOST_BYTES
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


KNOWN = ("model", "base_url", "concurrency", "timeout", "max_tokens", "price", "key_env", "allow_http")

NO_KEY = "none"  # sent where a server needs no key: the SDKs require one
_KEY = re.compile(r"[!-~]{1,1000}")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}")


@dataclass(frozen=True, slots=True)
class Provider:
    """Defaults of a protocol: address, key variable, model and package."""

    name: str
    package: str
    base_url: str
    key_env: str
    model: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Checked options; the key is read from the environment when the client is made."""

    model: str
    base_url: str
    own: bool
    local: bool
    key_env: str | None
    concurrency: int
    timeout: float
    max_tokens: int
    price: Price | None

    def key(self) -> str:
        return os.environ[self.key_env] if self.key_env else NO_KEY


def read_options(options: Mapping[str, Any], provider: Provider) -> Settings:
    """Check the options; BadUsage says what is wrong and never shows a key."""
    name = provider.name
    for key in map(str, options):
        if key in ("key", "api_key", "token"):
            raise BadUsage(f"{name}: keys are read from the environment only; key_env names the variable")
        if key not in KNOWN:
            near = did_you_mean(key, KNOWN) or f"; known are {', '.join(KNOWN)}"
            raise BadUsage(f"{name}: unknown option {key!r:.40}{near}")
    if importlib.util.find_spec(provider.package) is None:
        raise MissingExtra(provider.package, "llm", f"the evaluator {name}")
    base_url = _address(name, options.get("base_url", provider.base_url), options.get("allow_http", False))
    host = urlsplit(base_url).hostname or ""
    own, local = host == urlsplit(provider.base_url).hostname, _is_local(host)
    model = _model(name, options.get("model", provider.model if own or name == "anthropic" else None))
    number = partial(_number, name, options)
    return Settings(
        model=model,
        base_url=base_url,
        own=own,
        local=local,
        key_env=_key_env(name, options.get("key_env"), own, local, provider.key_env),
        concurrency=int(number("concurrency", 4, 1, 64, whole=True)),
        timeout=number("timeout", 60, 0.1, 3_600),
        max_tokens=int(number("max_tokens", 1_500, 64, 128_000, whole=True)),
        price=price_from(name, options["price"]) if "price" in options else price_of(model),
    )


def _model(name: str, value: Any) -> str:
    """The model's name; a float is refused, since 4.10 and 4.1 are the same number."""
    if value is None:
        raise BadUsage(f"{name}: model is missing: expected the name of a model of that server")
    if value == "":
        raise BadUsage(f"{name}: model has no value: expected the model's name")
    if isinstance(value, float):
        raise BadUsage(f"{name}: model is a number: expected a name, in quotes")
    model = str(value) if type(value) is int else value
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        raise BadUsage(f"{name}: invalid model: expected a name of at most 200 characters without blanks")
    return model


def _address(name: str, value: Any, allow_http: Any) -> str:
    """The address, unless it holds a key, or a key or text would travel unencrypted."""
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except (ValueError, TypeError, AttributeError):
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise BadUsage(f"{name}: invalid base_url: expected an address such as https://example.org/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadUsage(f"{name}: invalid base_url: expected a plain address, without user, password, ? or #")
    if allow_http not in (True, False, "true", "false"):
        raise BadUsage(f"{name}: invalid allow_http: expected true or false")
    if parts.scheme == "http" and not _is_local(host) and allow_http not in (True, "true"):
        raise BadUsage(
            f"{name}: base_url is http and not on this machine: texts and key could be read on the way; "
            "use https, or allow_http: true within your own network"
        )
    return str(value).rstrip("/")


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _key_env(name: str, value: Any, own: bool, local: bool, default: str) -> str | None:
    """The variable that holds the key; a provider's own key is not sent to other servers by default."""
    if value is None and not own:
        if local:
            return None
        raise BadUsage(
            f"{name}: key_env is missing: expected the environment variable with the key of that server "
            f"({default} is not sent to others)"
        )
    variable = default if value is None else value
    # Capitals only: a key written here by mistake is recognised, and not repeated in the error.
    if not isinstance(variable, str) or not VARIABLE.fullmatch(variable):
        raise BadUsage(
            f"{name}: invalid key_env: expected the name of an environment variable in capitals, not the key"
        )
    if not os.environ.get(variable):
        raise BadUsage(f"{name} needs a key in the environment variable {variable}")
    if not _KEY.fullmatch(os.environ[variable]):
        raise BadUsage(f"{name}: {variable} holds blanks or other characters that no key has")
    return variable


def _number(
    name: str, options: Mapping[str, Any], key: str, default: float, least: float, most: float,
    *, whole: bool = False,
) -> float:  # fmt: skip
    option = options.get(key, default)
    try:
        value = float("nan") if isinstance(option, bool) else float(option)
    except (TypeError, ValueError):
        value = float("nan")
    if not least <= value <= most or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise BadUsage(f"{name}: invalid {key}: expected {kind} from {least:g} to {most:g}")
    return value
