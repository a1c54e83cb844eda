"""Deliver changes of detections to webhooks and exporters: each at least once, also after a restart."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, NamedTuple

from ..errors import BadUsage
from ..integrations.exporters.base import make, parse
from ..models import format_time, parse_time, stable_hash
from ..models.slotted import replace
from ..remote.webhook import Webhook
from ..report.wording import sentence, title_of
from ..store.records import Change, Store
from .health import Outage
from .metrics import Metrics
from .options import ServeOptions

SENT, SET_ASIDE, GIVEN_UP = "webhook", "undelivered", "given up"
"""Kinds of notes: the last change that a receiver got, changes it did not take yet, and those given up."""
PAGE = 100
TRIES = 5
"""Deliveries of a change before the ones after it are tried too."""
POLL_SECONDS = 30.0
"""Seconds after which changes are looked for though nobody told of any."""
DELIVERED, FAILED, LOST = "delivered", "failed", "given_up"
OUTCOMES = (DELIVERED, FAILED, LOST)
log = logging.getLogger("ethogram.service")


class Retries(NamedTuple):
    """How a delivery that failed is tried again."""

    first: float = 1.0
    """Seconds until the second try; each further pause is twice as long."""
    longest: float = 60.0
    give_up: timedelta = timedelta(days=1)


class Receiver(NamedTuple):
    """Who gets changes: the key of its notes, its name in the log and metrics, and what takes a change.

    The name holds no address, which may be a secret. `take` returns '' or why it was not delivered.
    """

    key: str
    name: str
    take: Callable[[Change], str]


def message_of(change: Change, base_url: str) -> dict[str, Any]:
    """The body: a sentence under the names that chat tools read, the record, and where to see it."""
    detection = replace(change.detection, change=change.change)
    url = f"{base_url}/detections/{detection.id}"
    words = (
        f"{detection.severity.upper()} {title_of(detection)} ({change.change}): {sentence(detection)} {url}"
    )
    return {"text": words, "content": words[:2000], "url": url, "detection": detection.to_dict()}


class Outbox:
    """A delivery for each webhook and exporter, so that one that fails holds up none of the others."""

    def __init__(
        self,
        store: Store,
        options: ServeOptions,
        metrics: Metrics,
        *,
        retries: Retries = Retries(),  # noqa: B008
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store, self._base_url = store, options.url
        self._closing = threading.Event()
        receivers = [*self._webhooks(options), *self._exporters(options)]
        self._deliveries = [
            Delivery(store, receiver, metrics, self._closing, retries, clock) for receiver in receivers
        ]

    @property
    def is_alive(self) -> bool:
        return all(delivery.thread.is_alive() for delivery in self._deliveries)

    def wake(self) -> None:
        """Say that something changed."""
        for delivery in self._deliveries:
            delivery.news.set()

    def close(self) -> None:
        self._closing.set()
        self.wake()
        for delivery in self._deliveries:
            delivery.thread.join(timeout=15)

    def _sleep(self, seconds: float) -> None:
        self._closing.wait(seconds)

    def _webhooks(self, options: ServeOptions) -> Iterator[Receiver]:
        for number, url in enumerate(options.webhooks, 1):
            webhook = Webhook(url, secret=options.webhook_secret, attempts=1)
            key = stable_hash("webhook", webhook.url)[:16]

            def take(change: Change, to: Webhook = webhook) -> str:
                return to.post(message_of(change, self._base_url))

            yield Receiver(key, f"webhook {number}", take)

    def _exporters(self, options: ServeOptions) -> Iterator[Receiver]:
        if options.exports and self._store.private() is not None:
            raise BadUsage("this store keeps people under other names: nothing of it is sent elsewhere")
        for number, text in enumerate(options.exports, 1):
            name, url = parse(text)
            exporter = make(name, url, sleep=self._sleep)

            def take(change: Change, to: Any = exporter) -> str:
                why: str = to.send(change.detection.to_dict())
                return why

            yield Receiver(stable_hash("exporter", text)[:16], f"export {number} {name}", take)


class Delivery:
    """The thread that delivers to one receiver, in order.

    While a receiver takes nothing, everything waits. A change that it does not take while it takes a later
    one is set aside in the store, so that it holds up nothing, and is tried again beside them.
    """

    def __init__(
        self,
        store: Store,
        receiver: Receiver,
        metrics: Metrics,
        closing: threading.Event,
        retries: Retries,
        clock: Callable[[], datetime],
    ) -> None:
        self._store, self._receiver, self._metrics = store, receiver, metrics
        self._closing, self._retries, self._clock = closing, retries, clock
        self._outage = Outage(f"delivery to {receiver.name}", logging.WARNING)
        self._store_outage = Outage(f"the store, for the delivery to {receiver.name},")
        self._last: int | None = None
        """The newest change that is delivered or set aside; None until the store told it."""
        self._noted: int | None = None
        self._waits: dict[int, datetime] = {}
        """Since when changes wait, by key."""
        self._set_aside: dict[int, _SetAside] | None = None
        self._tries = 0
        """Failed tries of the first change that waits."""
        for outcome in OUTCOMES:
            metrics.deliveries.labels(receiver.name, outcome)
        metrics.undelivered.labels(receiver.name).set(0)
        metrics.oldest_undelivered.labels(receiver.name).set_function(self._oldest_seconds)
        self.news = threading.Event()
        self.thread = threading.Thread(target=self._run, name=receiver.name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        failures = 0
        while not self._closing.is_set():
            self.news.clear()
            try:
                pause = self._round()
            except Exception as error:
                self._metrics.failures.labels("delivery").inc()
                self._store_outage.failed(error)
                pause, failures = self._pause(failures), failures + 1
            else:
                self._store_outage.ended()
                failures = 0
            if pause:
                self._closing.wait(pause)
            elif not self._closing.is_set():
                self.news.wait(self._quiet_seconds())

    def _round(self) -> float:
        """Deliver what can be; returns the seconds until the next round, 0: until there is news."""
        if self._last is None or self._set_aside is None:
            self._last, self._set_aside = self._where_it_stopped()
        self._note_last()
        self._deliver_set_aside(self._set_aside)
        while changes := self._waiting_changes(self._last):
            for number, change in enumerate(changes):
                if self._closing.is_set():
                    return 0.0
                if why := self._deliver(change):
                    self._outage.failed(why)
                    self._tries += 1
                    is_passed = self._pass_by(changes[number:])
                    self._count()
                    if is_passed:
                        self.news.set()  # what was just set aside comes before what follows
                    return 0.0 if is_passed else self._pause(self._tries - 1)
                self._outage.ended()
                self._advance(change)
        self._count()
        return 0.0

    def _waiting_changes(self, last: int) -> list[Change]:
        """The next changes to deliver; notes since when they wait."""
        changes, now = self._store.changes(last, PAGE), self._clock()
        self._waits = {change.key: self._waits.get(change.key, now) for change in changes}
        return changes

    def _pass_by(self, waiting: list[Change]) -> bool:
        """Deliver a change behind the first, which fails; True where the first is out of the way."""
        if self._clock() - self._waits[waiting[0].key] >= self._retries.give_up:
            self._give_up(waiting[0], self._waits[waiting[0].key])
            self._advance(waiting[0])
            return True
        if self._tries < TRIES or len(waiting) == 1:
            return False
        # Another one each time: several that follow each other may be what the receiver does not take.
        index = 1 + (self._tries - TRIES) % (len(waiting) - 1)
        if self._deliver(waiting[index]):
            return False
        self._outage.ended()
        for number, change in enumerate(waiting[:index]):
            self._put_aside(change, self._tries if not number else 0)
        self._advance(waiting[index])
        return True

    def _deliver(self, change: Change) -> str:
        """Try to deliver a change once; '' or why it was not delivered."""
        try:
            why = self._receiver.take(change)
        except Exception as error:
            if not self._outage.is_on:
                log.exception("delivery to %s", self._receiver.name)
            why = type(error).__name__
        self._metrics.deliveries.labels(self._receiver.name, FAILED if why else DELIVERED).inc()
        return why

    def _advance(self, change: Change) -> None:
        """Go on behind a change. Where noting that fails it is not delivered again, unless we restart."""
        self._last, self._tries = change.key, 0
        self._waits.pop(change.key, None)
        self._note_last()

    def _note_last(self) -> None:
        if self._last != self._noted:
            self._store.put_note(SENT, self._receiver.key, {"last": self._last}, self._clock())
            self._noted = self._last

    def _where_it_stopped(self) -> tuple[int, dict[int, _SetAside]]:
        """The newest change that was delivered, and what is set aside; a new receiver begins now."""
        note = self._store.note(SENT, self._receiver.key)
        aside = {}
        for name, record in self._store.notes(SET_ASIDE).items():
            key, _, number = name.partition(" ")
            if key == self._receiver.key:
                aside[int(number)] = _SetAside(parse_time(record["at"]), 0, monotonic())
        if note is not None:
            self._noted = note["last"]
            return note["last"], aside
        last = 0
        while page := self._store.changes(last, 1_000):
            last = page[-1].key
        return last, aside

    # What is set aside.

    def _deliver_set_aside(self, aside: dict[int, _SetAside]) -> None:
        """Try again what is due, the oldest first, and give up what has waited too long."""
        for key, waiting in sorted(aside.items()):
            if self._closing.is_set():
                return
            if monotonic() < waiting.due:
                continue
            now = self._clock()
            change = next(iter(self._store.changes(key - 1, 1)), None)
            if change is not None and change.key == key:
                if now - waiting.since >= self._retries.give_up:
                    self._give_up(change, waiting.since)
                elif self._deliver(change):
                    due = monotonic() + self._pause(waiting.tries)
                    aside[key] = _SetAside(waiting.since, waiting.tries + 1, due)
                    continue
            # Delivered, given up, or removed from the store by a purge.
            self._store.put_note(SET_ASIDE, f"{self._receiver.key} {key}", None, now)
            del aside[key]

    def _put_aside(self, change: Change, tries: int) -> None:
        now = self._clock()
        since = self._waits.get(change.key, now)
        record = {**_named(change), "why": "not taken", "at": format_time(since)}
        self._store.put_note(SET_ASIDE, f"{self._receiver.key} {change.key}", record, now)
        assert self._set_aside is not None
        self._set_aside[change.key] = _SetAside(
            since, tries, monotonic() + (self._pause(tries) if tries else 0)
        )
        log.warning(
            "delivery to %s: detection %s is set aside, since it takes others",
            self._receiver.name,
            change.detection.id,
        )

    def _give_up(self, change: Change, since: datetime) -> None:
        now = self._clock()
        record = {**_named(change), "since": format_time(since), "at": format_time(now)}
        self._store.put_note(GIVEN_UP, f"{self._receiver.key} {change.key}", record, now)
        self._metrics.deliveries.labels(self._receiver.name, LOST).inc()
        log.error(
            "delivery to %s: detection %s (%s) was not taken since %s and is given up",
            self._receiver.name,
            change.detection.id,
            change.change,
            format_time(since),
        )

    # Times.

    def _pause(self, failures: int) -> float:
        """Seconds after so many failures before this one."""
        return min(self._retries.longest, self._retries.first * 2.0 ** min(failures, 30))

    def _quiet_seconds(self) -> float:
        """Seconds until something that is set aside is due, or changes of other programs are looked for."""
        due = [item.due - monotonic() for item in (self._set_aside or {}).values()]
        return max(0.0, min([POLL_SECONDS, *due]))

    def _count(self) -> None:
        """Set the gauge of what waits: all that was not delivered, up to a thousand."""
        waiting = len(self._store.changes(self._last or 0, 1_000)) if self._tries else 0
        self._metrics.undelivered.labels(self._receiver.name).set(waiting + len(self._set_aside or {}))

    def _oldest_seconds(self) -> float:
        since = [
            *self._waits.copy().values(),
            *(item.since for item in (self._set_aside or {}).copy().values()),
        ]
        return max(0.0, (self._clock() - min(since)).total_seconds()) if since else 0.0


class _SetAside(NamedTuple):
    """A change that its receiver did not take: since when, the tries so far, and when the next is due."""

    since: datetime
    tries: int
    due: float
    """By the monotonic clock."""


def _named(change: Change) -> dict[str, str]:
    return {"detection": change.detection.id, "change": change.change}
