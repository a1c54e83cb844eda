"""Requests to a model's server: options, retries, timeouts, size limits, no redirects."""

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
from .pricing import Price, price_given, price_of

# The way to a model's server: nowhere else, not too much, not too long, and in silence.
#
# The SDKs speak the protocols. What they would let happen is bounded here: redirects (which could carry the
# key to another host), bodies without end, and logs that hold the text of messages.

MOST_BYTES = 1_000_000  # of an answer
MOST_RESULT_BYTES = 2**30  # of the results of a batch, which are read line by line
LONGEST_WAIT = 60.0  # seconds, whatever the server asks for
LONGEST_CONNECT = 5.0  # seconds until a server picks up; an answer may take longer
LONGEST_RESULTS = 3600.0  # seconds for the results of a batch, which may be large
PIECE = 16_384  # bytes that are sent at once: after each the deadline is looked at
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
            for item in self._sockets:
                # Not the method of an SSL socket, which would take its state from the thread that reads.
                with suppress(OSError):
                    socket.socket.shutdown(item, socket.SHUT_RDWR)

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


# What the settings may say of a model's server, checked before anything is asked and spent.

KNOWN = ("model", "base_url", "concurrency", "timeout", "max_tokens", "price", "key_env", "allow_http")

NO_KEY = "none"  # what is sent where a server asks for no key: the SDKs insist on one

# Capitals only: a key that was written here by mistake is told from a name, and not repeated in an error.
_KEY = re.compile(r"[!-~]{1,1000}")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}")


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a protocol is spoken by default: its own address, key variable, model and package."""

    name: str
    package: str
    base_url: str
    key_env: str
    model: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Options that were found good. The key is not among them: it is read where the client is made."""

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
    """The options, or BadUsage that says what is wrong and never shows a key."""
    name = provider.name
    for key in options:
        _check_known(name, str(key))
    if importlib.util.find_spec(provider.package) is None:
        raise MissingExtra(provider.package, "llm", f"the evaluator {name}")
    base_url = _address(name, options.get("base_url", provider.base_url), options.get("allow_http", False))
    own = urlsplit(base_url).hostname == urlsplit(provider.base_url).hostname
    local = _is_local(urlsplit(base_url).hostname or "")
    model = _model(name, options.get("model", provider.model if own or name == "anthropic" else None))
    whole = partial(_number, name, options, whole=True)
    return Settings(
        model=model,
        base_url=base_url,
        own=own,
        local=local,
        key_env=_key_env(name, options.get("key_env"), own, local, provider.key_env),
        concurrency=int(whole("concurrency", 4, 1, 64)),
        timeout=_number(name, options, "timeout", 60, 0.1, 3_600),
        max_tokens=int(whole("max_tokens", 1_500, 64, 128_000)),
        price=price_given(name, options["price"]) if "price" in options else price_of(model),
    )


def _check_known(name: str, key: str) -> None:
    if key in ("key", "api_key", "token"):
        raise BadUsage(f"{name}: keys are read from the environment only; key_env names the variable")
    if key not in KNOWN:
        near = did_you_mean(key, KNOWN) or f"; known are {', '.join(KNOWN)}"
        raise BadUsage(f"{name}: unknown option {key!r:.40}{near}")


def _model(name: str, value: Any) -> str:
    """The name. A whole number is one too; of 4.10 and 4.1 nobody knows any more which was written."""
    if value is None:
        raise BadUsage(f"{name}: model names which of the models of that server is meant")
    if value == "":
        raise BadUsage(f"{name}: model has no value; give the model's name")
    if isinstance(value, float):
        raise BadUsage(f"{name}: model is a name and no number; put it in quotes")
    model = str(value) if type(value) is int else value
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        raise BadUsage(f"{name}: model is not a name of at most 200 characters without blanks")
    return model


def _address(name: str, value: Any, allow_http: Any) -> str:
    """The address, unless a key or a text would travel in the open, or stands in it."""
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except (ValueError, TypeError, AttributeError):
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise BadUsage(f"{name}: base_url is not an address such as https://example.org/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadUsage(f"{name}: base_url is a plain address, without user, password, ? or #")
    if allow_http not in (True, False, "true", "false"):
        raise BadUsage(f"{name}: allow_http is true or false")
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
    """The variable that holds the key; a provider's own key is not sent to anybody else by default."""
    if value is None and not own:
        if local:
            return None
        raise BadUsage(
            f"{name}: key_env names the environment variable with the key of that server "
            f"({default} is not sent to others)"
        )
    variable = default if value is None else value
    if not isinstance(variable, str) or not VARIABLE.fullmatch(variable):
        raise BadUsage(f"{name}: key_env is the name of an environment variable in capitals, not the key")
    if not os.environ.get(variable):
        raise BadUsage(f"{name} needs a key in the environment variable {variable}")
    if not _KEY.fullmatch(os.environ[variable]):
        raise BadUsage(f"{name}: {variable} holds blanks or other signs that no key has")
    return variable


def _number(
    name: str,
    options: Mapping[str, Any],
    key: str,
    default: float,
    least: float,
    most: float,
    *,
    whole: bool = False,
) -> float:
    option = options.get(key, default)
    try:
        value = float("nan") if isinstance(option, bool) else float(option)
    except (TypeError, ValueError):
        value = float("nan")
    if not least <= value <= most or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise BadUsage(f"{name}: {key} is {kind} from {least:g} to {most:g}")
    return value
