"""Post JSON to an address that the user named: https, or plain http on this machine; no redirects."""

from __future__ import annotations

import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from time import sleep as wait
from typing import Any
from urllib.parse import urlsplit

from .address import check_address, is_local

SECONDS = 10.0
"""For one request."""
ATTEMPTS = 3
"""Of one delivery, a second and two seconds apart."""
MOST_BYTES = 65_536
"""Of an answer; the rest is not read."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def signature(secret: bytes, body: bytes) -> str:
    """What proves to the receiver, who has the secret too, that a body came from here unchanged.

    >>> signature(b"key", b"{}")[:19]
    'sha256=a777724d943e'
    """
    return f"sha256={hmac.new(secret, body, 'sha256').hexdigest()}"


class Webhook:
    """An address that gets one POST with a JSON body for each record.

    >>> Webhook("http://example.org/hook")
    Traceback (most recent call last):
    ...
    ethogram.errors.BadUsage: --webhook: the URL is http and not on this machine: texts and key could be read on the way; use https
    """

    def __init__(self, url: str, *, secret: str = "", sleep: Callable[[float], None] = wait) -> None:
        self.url, self._sleep = check_address("--webhook", url, None, "the URL"), sleep
        self._secret = secret.encode()
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if is_local(urlsplit(self.url).hostname or ""):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def post(self, record: Mapping[str, Any]) -> str:
        """Deliver a record; '' or why it was not delivered, in words that repeat nothing of it."""
        body = json.dumps(record, ensure_ascii=True).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "ethogram"}
        if self._secret:
            headers["X-Ethogram-Signature"] = signature(self._secret, body)
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(float(attempt))
            request = urllib.request.Request(self.url, body, headers, method="POST")
            try:
                with self._opener.open(request, timeout=SECONDS) as answer:
                    answer.read(MOST_BYTES)
                return ""
            except urllib.error.HTTPError as error:
                error.close()
                why = f"the server answered with HTTP {error.code}"
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, ValueError) as error:
                reason = getattr(error, "reason", error)
                why = f"no connection to the server ({getattr(reason, 'strerror', None) or type(reason).__name__})"
        return why
