"""Log outages once, and find out whether the store takes writes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

from ..errors import EthogramError
from ..report.wording import plural
from ..store.records import Store

log = logging.getLogger("ethogram.service")
PROBE_KIND = "probe"
"""The kind of the note that is written to see whether the store takes writes."""
FRESH_SECONDS = 2.0
"""Seconds for which the result of a write counts."""
WAIT_SECONDS = 0.5
"""Seconds that whoever asks waits for a write."""
LATE_SECONDS = 10.0
"""Seconds that a write may take before the store counts as not writable."""


class Outage:
    """A time of failures. Its begin and its end are logged, not each failure."""

    def __init__(self, what: str, level: int = logging.ERROR) -> None:
        self._what, self._level = what, level
        self._lock = threading.Lock()
        self._failures = 0

    @property
    def is_on(self) -> bool:
        return self._failures > 0

    def failed(self, why: object) -> None:
        """Note a failure; an error that nobody foresaw is logged with its traceback."""
        with self._lock:
            self._failures += 1
            is_first = self._failures == 1
        if is_first:
            is_foreseen = not isinstance(why, BaseException) or isinstance(why, EthogramError)
            text = str(why) if is_foreseen else f"{type(why).__name__}: {why}"
            cause = None if is_foreseen or not isinstance(why, BaseException) else why
            log.log(self._level, "%s failed and is tried again: %s", self._what, text, exc_info=cause)

    def ended(self) -> None:
        """Note a success."""
        with self._lock:
            failures, self._failures = self._failures, 0
        if failures:
            log.warning("%s works again after %s", self._what, plural(failures, "failure"))


class StoreProbe:
    """Writes a small note when somebody asks whether the store takes writes; one write at a time."""

    def __init__(
        self,
        store: Store,
        outage: Outage,
        *,
        fresh: float = FRESH_SECONDS,
        wait: float = WAIT_SECONDS,
        late: float = LATE_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._store, self._outage, self._clock = store, outage, clock
        self._fresh, self._wait, self._late = fresh, wait, late
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = float("-inf")
        self._begun = 0.0
        """When the first write began of those since the last that worked."""
        self._fault = ""

    def fault(self) -> str:
        """Why the store takes no writes, without its address; '' where it does."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                if self._clock() - self._done < self._fresh:
                    return self._fault
                if not self._fault:
                    self._begun = self._clock()
                self._thread = threading.Thread(target=self._write, name="probe", daemon=True)
                self._thread.start()
            thread, begun = self._thread, self._begun
        thread.join(self._wait)
        if thread.is_alive():
            if self._clock() - begun >= self._late:
                return f"the store has taken no write for {self._clock() - begun:.0f} seconds"
            if self._outage.is_on:  # a request failed, and no write worked since
                return "the store failed and has taken no write since"
        return self._fault

    def _write(self) -> None:
        try:
            self._store.put_note(PROBE_KIND, "write", {}, datetime.now(UTC))
        except Exception as error:
            self._outage.failed(error)
            self._fault = "the store cannot be written"
        else:
            self._outage.ended()
            self._fault = ""
        self._done = self._clock()
