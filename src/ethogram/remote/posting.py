"""Post bytes to an address that the user named: https, or plain http on this machine; no redirects."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from time import sleep as wait
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .address import check_address, is_local

SECONDS = 10.0
"""For one request."""
ATTEMPTS = 3
"""Of one delivery, a second and two seconds apart."""
MOST_BYTES = 65_536
"""Of an answer; the rest is not read."""


class Posted(NamedTuple):
    """The HTTP status of the last answer, 0 without any; and why it was not delivered, '' if it was."""

    status: int
    why: str


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
        sleep: Callable[[float], None] = wait,
    ) -> None:
        self.url, self._sleep = check_address(name, url, None, "the URL"), sleep
        self._headers = {"Content-Type": "application/json", "User-Agent": "ethogram", **(headers or {})}
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
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
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(float(attempt))
            every = {**self._headers, **(headers or {})}
            request = urllib.request.Request(self.url + path, body, every, method="POST")
            try:
                with self._opener.open(request, timeout=SECONDS) as answer:
                    answer.read(MOST_BYTES)
                    return Posted(answer.status, "")
            except urllib.error.HTTPError as error:
                error.close()
                result = Posted(error.code, f"the server answered with HTTP {error.code}")
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, ValueError) as error:
                reason = getattr(error, "reason", error)
                cause = getattr(reason, "strerror", None) or type(reason).__name__
                result = Posted(0, f"no connection to the server ({cause})")
        return result
