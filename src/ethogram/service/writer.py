"""One thread writes events: whatever waits goes into one commit."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from ..app.live.receiver import Kinds, Received, add_first
from ..errors import BadEvents, EthogramError
from ..store.records import Added, Staged, Store
from .health import Outage

AT_ONCE = 5_000
"""Events in one commit, about."""
SETTLE = 0.25
"""Seconds between two times that commits are brought to the disk."""
log = logging.getLogger("ethogram.service")


class Busy(EthogramError):
    """More events wait to be written than may; try again later."""


class _Job(NamedTuple):
    received: Received
    at: datetime
    done: Future[Added]


def _finish(job: _Job, result: Added | BaseException) -> None:
    """Tell whoever waits for a job; nobody does where the request was given up."""
    with suppress(InvalidStateError):
        if isinstance(result, BaseException):
            job.done.set_exception(result)
        else:
            job.done.set_result(result)


class Writer:
    """Writes the events of requests in order. A result that was set is in the store."""

    def __init__(
        self, store: Store, *, keep_text: bool, most: int, on_written: Callable[[Added], None]
    ) -> None:
        self._store, self._keep_text, self._most, self._on_written = store, keep_text, most, on_written
        self._kinds: dict[str, dict[str, str]] = {
            name: dict(source.kinds) for name, source in store.sources().items()
        }
        self._jobs: deque[_Job] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._closing, self._unsettled = threading.Event(), threading.Event()
        self._outage = Outage("bringing commits to the disk", logging.WARNING)
        work = {"writer": self._run, "settler": self._settle}
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in work.items()]
        for thread in self._threads:
            thread.start()

    @property
    def kinds(self) -> Kinds:
        """The kinds of all signals written so far."""
        return self._kinds

    @property
    def is_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    @property
    def waiting(self) -> int:
        """Events that wait to be written."""
        return self._waiting

    def check_room(self) -> None:
        """Busy where so many wait that no request would be taken."""
        if self._closing.is_set() or self._waiting >= self._most:
            raise Busy(f"{self._waiting:,} events wait to be written")

    def submit(self, received: Received, at: datetime) -> Future[Added]:
        """Queue the events of a request; Busy where too many wait."""
        job = _Job(received, at, Future())
        with self._changed:
            if self._closing.is_set():
                raise Busy("the service is shutting down")
            if self._waiting and self._waiting + len(received.staged) > self._most:
                raise Busy(f"{self._waiting:,} events wait to be written")
            self._waiting += len(received.staged)
            self._jobs.append(job)
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """Write what waits, then stop."""
        with self._changed:
            self._closing.set()
            self._changed.notify()
        self._unsettled.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while jobs := self._next():
            try:
                self._write(jobs)
            except Exception:
                log.exception("writing events failed")
            with self._changed:
                self._waiting -= sum(len(job.received.staged) for job in jobs)

    def _settle(self) -> None:
        """Bring commits to the disk, so that no request waits for it."""
        while not self._closing.wait(SETTLE):
            self._unsettled.wait()
            self._unsettled.clear()
            try:
                self._store.settle()
            except Exception as error:
                self._outage.failed(error)
            else:
                self._outage.ended()

    def _next(self) -> list[_Job]:
        """Wait for jobs; none where the service stops."""
        with self._changed:
            while not self._jobs and not self._closing.is_set():
                self._changed.wait()
            jobs: list[_Job] = []
            events = 0
            while self._jobs and events < AT_ONCE:
                jobs.append(self._jobs.popleft())
                events += len(jobs[-1].received.staged)
            return jobs

    def _write(self, jobs: list[_Job]) -> None:
        jobs = [job for job in jobs if self._fits(job)]
        if len(jobs) > 1 and self._together(jobs):
            return
        for job in jobs:
            try:
                added = self._add_one(job)
            except BaseException as error:
                _finish(job, error)
            else:
                _finish(job, added)

    def _together(self, jobs: list[_Job]) -> bool:
        """Write jobs in one commit; False, and nothing is written, where one of them cannot be."""
        every = [item for job in jobs for item in job.received.staged]
        staged = [item._replace(line=number) for number, item in enumerate(every)]
        if len({(item.event.source, item.event.id) for item in staged}) < len(staged):
            return False  # one repeats another, and each is told its own count
        try:
            again = self._add(staged, jobs[-1]).again
        except Exception:
            return False  # one by one, each is told its own fault
        start = 0
        for job in jobs:
            end = start + len(job.received.staged)
            repeated = sum(start <= line < end for line in again)
            _finish(job, Added(end - start - repeated, repeated))
            start = end
        return True

    def _add_one(self, job: _Job) -> Added:
        """Add the events of a job; where the first wins, without those whose id has other content."""
        if not job.received.first_wins:
            return self._add(job.received.staged, job)
        added, left_out = add_first(lambda staged: self._add(staged, job), job.received.staged)
        return added._replace(repeated=added.repeated + len(left_out))

    def _add(self, staged: Sequence[Staged], job: _Job) -> Added:
        added = self._store.add(
            staged, keep_text=self._keep_text, received_at=job.at, kinds=self._kinds_of(staged)
        )
        self._unsettled.set()
        self._on_written(added)
        return added

    def _kinds_of(self, staged: Sequence[Staged]) -> Kinds:
        sources = {item.event.source for item in staged}
        return {name: self._kinds[name] for name in sources if name in self._kinds}

    def _fits(self, job: _Job) -> bool:
        """Note new signals; a signal that was a number is never a text."""
        for source, signals in job.received.kinds.items():
            known = self._kinds.setdefault(source, {})
            for signal, kind in signals.items():
                if known.get(signal, kind) != kind:
                    text = f"reading {signal!r:.60} is a {kind} here and a {known[signal]} in the store"
                    _finish(job, BadEvents(text))
                    return False
            known.update(signals)
        return True
