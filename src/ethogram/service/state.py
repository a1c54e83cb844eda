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
from ..errors import StoreFailed
from ..patterns.library import Library
from ..store import open_event_store
from ..store.records import Added, Change, Who
from ..store.windows import Contacts
from .audit import note_action
from .health import Outage, StoreProbe
from .keys import ApiKey, KeyRing
from .metrics import Metrics
from .options import ServeOptions
from .outbox import Outbox
from .sweeper import Report, Sweeper
from .writer import Writer

log = logging.getLogger("ethogram.service")
LATE_SWEEP_SECONDS = 300.0
"""Seconds without a look for something new after which the service is not ready: ten idle pauses."""
Listener = Callable[[Change], None]


class Service:
    """Everything the routes share. Closing it writes what waits and lets a sweep finish."""

    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self.store = open_event_store(options.store)
        self.keys = KeyRing(self.store)
        options.check(has_keys=not self.keys.is_empty)
        self.library: Library = load_library(options.patterns or None, options.settings)
        self.intake = Receiver(options.settings, keep_text=options.keep_text, library=self.library)
        self.begun = monotonic()
        prefix = {**METRICS, **options.settings.metrics}["prefix"]
        self.metrics = Metrics(prefix, self.library.chosen)
        self.last_report: Report | None = None
        self._swept_at = self.begun
        self._is_published = True
        self._sweeps = Outage("looking for something new")
        self._publication = Outage("publishing detections")
        self._store_outage = Outage("the store")
        self._probe = StoreProbe(self.store, self._store_outage)
        self.metrics.last_sweep.set_to_current_time()
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
        self.outbox = Outbox(self.store, options, self.metrics)
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

    def faults(self) -> list[str]:
        """Why the service is not ready, without addresses; none where it takes events and detects."""
        report, faults = self.last_report, []
        if not self.sweeper.is_alive:
            faults.append("the sweeper is not running yet")
        elif report is not None and report.outcome == "failed":
            faults.append("the last look for something new failed: the log says why")
        elif (age := monotonic() - self._swept_at) > LATE_SWEEP_SECONDS:
            faults.append(f"nothing was looked at for {age:.0f} seconds")
        if not self._is_published:
            faults.append("detections could not be published: the log says why")
        if not self.writer.is_alive:
            faults.append("the writer is not running")
        if not self.outbox.is_alive:
            faults.append("a delivery thread is not running")
        if fault := self._probe.fault():
            faults.append(fault)
        return faults

    def store_failed(self, error: StoreFailed) -> None:
        """Count and log that a request failed because of the store."""
        self.metrics.failures.labels("requests").inc()
        self._store_outage.failed(error)

    def _swept(self, report: Report) -> None:
        self.last_report = report
        self.metrics.sweeps.labels("failed" if report.error else "done").inc()
        self.metrics.sweep_seconds.observe(report.seconds)
        self.metrics.evaluations.inc(report.evaluations)
        self.metrics.cost.inc(report.cost)
        if report.error:
            self._sweeps.failed(report.error)
        else:
            self._sweeps.ended()
        if report.outcome == "swept":
            self._swept_at = monotonic()
            self.metrics.last_sweep.set_to_current_time()
        elif report.outcome == "failed":
            self.metrics.failures.labels("sweeps").inc()
        try:
            changes = self.store.unreported()
            self.publish(changes)
        except Exception as error:
            # They are marked in the store as not reported, and the next report publishes them.
            self.metrics.failures.labels("publication").inc()
            self._publication.failed(error)
            self._is_published = False
            return
        self._publication.ended()
        self._store_outage.ended()
        self._is_published = True
        self.metrics.count_checks(report.subjects, self.metrics.count_changes(changes))

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
        if changes:
            self.outbox.wake()  # delivery has a cursor of its own
            self.store.mark_reported(change.key for change in changes)
