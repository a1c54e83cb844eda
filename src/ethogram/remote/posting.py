"""Post bytes to an address that the user named: https, or plain http on this machine; no redirects."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import socket
from time import monotonic
from time import sleep as wait
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .address import check_address, is_local

SECONDS = 10.0
"""To connect, to send, and for the whole answer."""
ATTEMPTS = 3
"""Of one delivery, a second and two seconds apart."""
MOST_BYTES = 1_000_000
"""Of an answer; the rest is not read."""


class Posted(NamedTuple):
    """The HTTP status of the last answer, 0 without any; why it was not delivered, '' if it was; its body."""

    status: int
    why: str
    body: bytes = b""


class _InTime(io.RawIOBase):
    """What a socket receives until its timeout, counted from now: by itself, it is for each piece."""

    def __init__(self, stream: io.RawIOBase, connection: socket) -> None:
        self._stream, self._connection = stream, connection
        self._ends = monotonic() + (connection.gettimeout() or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._ends - monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Answer(HTTPResponse):
    def __init__(self, sock: socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_InTime(self.fp.detach(), sock))


class _Connection(HTTPConnection):
    response_class = _Answer


class _SafeConnection(HTTPSConnection):
    response_class = _Answer


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_SafeConnection, req)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Poster:
    """An address, and how it is posted to. `name` is what errors call it.

    >>> Poster("--url", "https://example.org/").url
    'https://example.org'
    """

    def __init__(
        self,
        name: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], None] = wait,
    ) -> None:
        self.url, self._attempts, self._sleep = check_address(name, url, None, "URL"), attempts, sleep
        self._headers = {"Content-Type": "application/json", "User-Agent": "ethogram", **(headers or {})}
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects(), _Http(), _Https()]
        if self.is_local:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    @property
    def is_local(self) -> bool:
        """Whether the address is on this machine."""
        return is_local(urlsplit(self.url).hostname or "")

    def post(self, body: bytes, path: str = "", headers: Mapping[str, str] | None = None) -> Posted:
        """Deliver a body, again where that may help; reasons repeat nothing of it."""
        result = Posted(0, "")
        for attempt in range(self._attempts):
            if attempt:
                self._sleep(float(attempt))
            every = {**self._headers, **(headers or {})}
            request = urllib.request.Request(self.url + path, body, every, method="POST")
            try:
                with self._opener.open(request, timeout=SECONDS) as answer:
                    return Posted(answer.status, "", answer.read(MOST_BYTES))
            except urllib.error.HTTPError as error:
                result = Posted(error.code, f"the server answered with HTTP {error.code}", _body(error))
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, HTTPException) as error:
                result = Posted(0, _why(error))
        return result


def _body(error: urllib.error.HTTPError) -> bytes:
    with suppress(OSError, HTTPException), error:
        return error.read(MOST_BYTES)
    return b""


def _why(error: OSError | HTTPException) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    if not isinstance(reason, OSError):
        return f"the answer is not valid HTTP ({type(reason).__name__})"
    cause = getattr(reason, "strerror", None) or type(reason).__name__
    return f"no connection to the server ({cause})"
