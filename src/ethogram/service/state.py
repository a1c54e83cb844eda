"""A running service: its store, writer and sweeper, and who listens to detections."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import monotonic

from ..app.analyze import load_library
from ..app.live.receiver import Receiver
from ..app.stored_events import note_looks
from ..config import Settings
from ..config.settings import METRICS
from ..patterns.library import Library
from ..store import open_store
from ..store.records import Added, Change, Who
from ..store.windows import Contacts
from .audit import note_action
from .keys import ApiKey, KeyRing
from .metrics import Metrics
from .options import ServeOptions
from .outbox import Outbox
from .sweeper import Report, Sweeper
from .writer import Writer

log = logging.getLogger("ethogram.service")
Listener = Callable[[Change], None]


class Service:
    """Everything the routes share. Closing it writes what waits and lets a sweep finish."""

    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self.store = open_store(options.store, create=True)
        self.keys = KeyRing(self.store)
        options.check(has_keys=not self.keys.is_empty)
        self.library: Library = load_library(options.patterns or None, options.settings)
        self.intake = Receiver(options.settings, keep_text=options.keep_text, library=self.library)
        self.begun = monotonic()
        prefix = {**METRICS, **options.settings.metrics}["prefix"]
        self.metrics = Metrics(prefix, self.library.chosen)
        self.last_report: Report | None = None
        self.is_closing = False
        self.notice = ""
        """Shown at the top of every page."""
        self.contacts: dict[Who, tuple[int, Contacts]] = {}
        """Contacts of subjects that pages showed, with the state of the source they are of."""
        self._listeners: list[Listener] = []
        self._lock = threading.Lock()
        self.writer = Writer(
            self.store, keep_text=options.keep_text, most=options.waiting, on_written=self._written
        )
        self.outbox = Outbox(self.store, options)
        self.sweeper = Sweeper(options, self._swept)

    @property
    def settings(self) -> Settings:
        return self.options.settings

    def note_look(self, key: ApiKey | None, what: str, subject: str | None = None) -> None:
        """Record in a private store who looked at what."""
        who = "local" if key is None else key.name
        note_looks(self.store, what, [subject], at=self.now(), who=who)

    def note_action(self, key: ApiKey | None, action: str, about: str = "") -> None:
        """Record who changed, exported or removed something."""
        note_action(self.store, "local" if key is None else key.name, action, about, self.now())

    def end_streams(self) -> None:
        """Let streams end within a second, so that the server can stop."""
        self.is_closing = True

    def close(self) -> None:
        self.is_closing = True
        self.writer.close()
        self.sweeper.close()
        self.outbox.close()
        self.store.close()

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with each change of a detection; returns what ends that."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return end

    def _written(self, added: Added) -> None:
        self.metrics.events.labels("added").inc(added.added)
        self.metrics.events.labels("repeated").inc(added.repeated)
        if added.added:
            # Events that come one by one do not move their source's sequence on.
            self.contacts.clear()
            self.sweeper.wake()

    def _swept(self, report: Report) -> None:
        self.last_report = report
        self.metrics.sweeps.labels("failed" if report.error else "done").inc()
        self.metrics.sweep_seconds.observe(report.seconds)
        self.metrics.evaluations.inc(report.evaluations)
        self.metrics.cost.inc(report.cost)
        if report.error:
            log.error("a sweep failed: %s", report.error)
        changes = self.store.unreported()
        self.metrics.count_checks(report.subjects, self.metrics.count_changes(changes))
        self.publish(changes)

    def publish(self, changes: Sequence[Change]) -> None:
        """Tell every listener these changes, then mark them as reported."""
        for change in changes:
            with self._lock:
                listeners = list(self._listeners)
            for listener in listeners:
                try:
                    listener(change)
                except Exception:
                    log.exception("a listener failed on detection %s", change.detection.id)
        self.store.mark_reported(change.key for change in changes)
        if changes:
            self.outbox.wake()
