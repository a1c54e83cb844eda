"""Deliver changes of detections to webhooks and exporters: each at least once, also after a restart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from ..errors import BadUsage
from ..integrations.exporters.base import make, parse
from ..models import format_time, stable_hash
from ..models.slotted import replace
from ..remote.webhook import Webhook
from ..report.wording import sentence, title_of
from ..store.records import Change, Store
from .options import ServeOptions

SENT, DEAD = "webhook", "undelivered"
"""Kinds of notes: the last change that an address got, and changes that it refused."""
PAGE = 100
TRIES = 5
"""Deliveries of one change, each with retries of its own, before it is set aside."""
LONGEST_PAUSE = 300.0

Delivery = tuple[str, Callable[[Change], str]]
"""The key of its note, and what takes a change: '' or why it was not delivered."""


def message_of(change: Change, base_url: str) -> dict[str, Any]:
    """The body: a sentence under the names that chat tools read, the record, and where to see it."""
    detection = replace(change.detection, change=change.change)
    url = f"{base_url}/detections/{detection.id}"
    words = (
        f"{detection.severity.upper()} {title_of(detection)} ({change.change}): {sentence(detection)} {url}"
    )
    return {"text": words, "content": words[:2000], "url": url, "detection": detection.to_dict()}


class Outbox:
    """A thread for each webhook and exporter; what was sent is noted in the store."""

    def __init__(self, store: Store, options: ServeOptions) -> None:
        self._store, self._base_url = store, options.url
        self._closing = threading.Event()
        deliveries = [*self._webhooks(options), *self._exporters(options)]
        self._news = [threading.Event() for _ in deliveries]
        self._threads = [
            threading.Thread(target=self._run, args=(*delivery, news), daemon=True)
            for delivery, news in zip(deliveries, self._news, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Say that something changed."""
        for news in self._news:
            news.set()

    def close(self) -> None:
        self._closing.set()
        self.wake()
        for thread in self._threads:
            thread.join(timeout=15)

    def _webhooks(self, options: ServeOptions) -> Iterator[Delivery]:
        for url in options.webhooks:
            webhook = Webhook(url, secret=options.webhook_secret)
            key = stable_hash("webhook", webhook.url)[:16]
            yield key, lambda change, to=webhook: to.post(message_of(change, self._base_url))  # type: ignore[misc]

    def _exporters(self, options: ServeOptions) -> Iterator[Delivery]:
        if options.exports and self._store.private() is not None:
            raise BadUsage("this store keeps people under other names: nothing of it is sent elsewhere")
        for text in options.exports:
            exporter = make(*parse(text))
            key = stable_hash("exporter", text)[:16]
            yield key, lambda change, to=exporter: to.send(change.detection.to_dict())  # type: ignore[misc]

    def _run(self, key: str, deliver: Callable[[Change], str], news: threading.Event) -> None:
        note = self._store.note(SENT, key)
        # A new address is told what happens from now on.
        last = note["last"] if note is not None else self._newest()
        self._note_sent(key, last)
        tries = 0
        while not self._closing.is_set():
            news.clear()
            changes = self._store.changes(last, PAGE)
            for change in changes:
                if why := deliver(change):
                    tries += 1
                    if tries < TRIES:
                        break
                    self._set_aside(key, change, why)
                last, tries = change.key, 0
                self._note_sent(key, last)
                if self._closing.is_set():
                    return
            if tries:
                self._closing.wait(min(LONGEST_PAUSE, 2.0**tries))
            elif not changes and not self._closing.is_set():
                news.wait()

    def _newest(self) -> int:
        last = 0
        while page := self._store.changes(last, 1_000):
            last = page[-1].key
        return last

    def _note_sent(self, key: str, last: int) -> None:
        self._store.put_note(SENT, key, {"last": last}, datetime.now(UTC))

    def _set_aside(self, key: str, change: Change, why: str) -> None:
        record = {
            "detection": change.detection.id,
            "change": change.change,
            "why": why,
            "at": format_time(datetime.now(UTC)),
        }
        self._store.put_note(DEAD, f"{key} {change.key}", record, datetime.now(UTC))
