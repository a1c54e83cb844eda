"""Post records as JSON to an address that the user named."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from time import sleep as wait
from typing import Any

from .posting import ATTEMPTS, Poster


def signature(secret: bytes, body: bytes) -> str:
    """What proves to the receiver, who has the secret too, that a body came from here unchanged.

    >>> signature(b"key", b"{}")[:19]
    'sha256=a777724d943e'
    """
    return f"sha256={hmac.new(secret, body, 'sha256').hexdigest()}"


class Webhook:
    """An address that gets one POST with a JSON body for each record.

    >>> Webhook("https://example.org/hook").url
    'https://example.org/hook'
    """

    def __init__(
        self,
        url: str,
        *,
        secret: str = "",
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], None] = wait,
    ) -> None:
        self._poster = Poster("--webhook", url, attempts=attempts, sleep=sleep)
        self.url, self._secret = self._poster.url, secret.encode()

    def post(self, record: Mapping[str, Any]) -> str:
        """Deliver a record; '' or why it was not delivered, in words that repeat nothing of it."""
        body = json.dumps(record, ensure_ascii=True).encode()
        signed = {"X-Ethogram-Signature": signature(self._secret, body)} if self._secret else {}
        return self._poster.post(body, headers=signed).why
