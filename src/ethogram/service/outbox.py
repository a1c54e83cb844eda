"""Deliver changes of detections to webhooks: each at least once, also after a restart."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

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


def message_of(change: Change, base_url: str) -> dict[str, Any]:
    """The body: a sentence under the names that chat tools read, the record, and where to see it."""
    detection = replace(change.detection, change=change.change)
    url = f"{base_url}/detections/{detection.id}"
    words = (
        f"{detection.severity.upper()} {title_of(detection)} ({change.change}): {sentence(detection)} {url}"
    )
    return {"text": words, "content": words[:2000], "url": url, "detection": detection.to_dict()}


class Outbox:
    """A thread for each webhook; what was sent is noted in the store."""

    def __init__(self, store: Store, options: ServeOptions) -> None:
        self._store, self._base_url = store, options.url
        self._closing = threading.Event()
        self._news = [threading.Event() for _ in options.webhooks]
        webhooks = [Webhook(url, secret=options.webhook_secret) for url in options.webhooks]
        self._threads = [
            threading.Thread(target=self._run, args=pair, daemon=True)
            for pair in zip(webhooks, self._news, strict=True)
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

    def _run(self, webhook: Webhook, news: threading.Event) -> None:
        key = stable_hash("webhook", webhook.url)[:16]
        note = self._store.note(SENT, key)
        # A new address is told what happens from now on.
        last = note["last"] if note is not None else self._newest()
        self._note_sent(key, last)
        tries = 0
        while not self._closing.is_set():
            news.clear()
            changes = self._store.changes(last, PAGE)
            for change in changes:
                if why := webhook.post(message_of(change, self._base_url)):
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
            elif not changes:
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
