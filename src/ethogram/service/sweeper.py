"""Detection beside the web server: a process that sweeps the store while events come in."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from typing import Any, Literal, NamedTuple

from ..app.analyze import load_library
from ..app.evaluation.questions import OVER_BUDGET
from ..app.evaluation.scoring import Evaluate, evaluator_of, paying_for
from ..app.evaluation.stored import score
from ..app.sweep import SweepJob, sweep
from ..errors import EthogramError
from ..ingest.batch import Batch, EventList
from ..patterns.library import Library
from ..store import Store, open_store
from ..store.records import Locked
from .health import Outage
from .options import ServeOptions

IDLE = 30.0
"""Seconds until silences are looked for though nothing came."""
RETRY = 5.0
"""Seconds until a sweep that failed is tried again."""
RESTART = 2.0
"""Seconds until a sweeper that died is started again."""
TIDY = 3600.0
"""Seconds between two removals of what is older than the retention."""
WAKE, STOP = b"wake", b"stop"


SweepOutcome = Literal["swept", "elsewhere", "failed"]


class Report(NamedTuple):
    """What one sweep did; `error` says why it could not."""

    seconds: float
    subjects: int
    events: int
    changes: int
    error: str = ""
    evaluations: int = 0
    """Messages that an evaluator scored first."""
    cost: float = 0.0
    """What that cost in dollars."""
    outcome: SweepOutcome = "swept"
    """`elsewhere`: another program sweeps. An evaluator that stopped is an error of a sweep that was done."""


def run_sweeper(options: ServeOptions, pipe: Connection) -> None:
    """Sweep whenever the pipe says that something came, until it says stop or its other end dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service closes the pipe
    library = load_library(options.patterns or None, options.settings)
    evaluate = None if not options.evaluator else Scoring(options, library)
    tidied = float("-inf")
    store: Store | None = None
    outage = Outage("looking for something new")
    with ExitStack() as stack:
        is_due, has_failed = True, False
        while True:
            try:
                if not is_due:
                    pipe.poll(RETRY if has_failed else IDLE)
                while pipe.poll(0):
                    if pipe.recv_bytes() == STOP:
                        return
            except (EOFError, OSError):
                return
            begun = time.monotonic()
            try:
                if store is None:
                    store = stack.enter_context(open_store(options.store))
                if options.retention is not None and begun - tidied >= TIDY:
                    store.purge(before=_now() - timedelta(seconds=options.retention))
                    tidied = begun
                scored = NOT_SCORED if evaluate is None else evaluate(store)
                done = sweep(store, library, as_of=_now(), clock=_now, settings=options.settings)
                seconds, changes = time.monotonic() - begun, len(store.unreported())
                report = Report(seconds, done.subjects, done.events, changes, *scored)
            except Exception as error:
                if not isinstance(error, EthogramError):
                    outage.failed(error)  # the service logs what the report says, without a traceback
                why = str(error) or type(error).__name__
                outcome: SweepOutcome = "elsewhere" if isinstance(error, Locked) else "failed"
                report = Report(time.monotonic() - begun, 0, 0, 0, why, outcome=outcome)
            else:
                outage.ended()
            has_failed = report.outcome != "swept"
            try:
                pipe.send(tuple(report))
                # As long a pause as the work took, so that half the time is left to others.
                wait_until = time.monotonic() + max(options.pause, report.seconds)
                is_due = False
                while (left := wait_until - time.monotonic()) > 0:
                    if pipe.poll(left):
                        if pipe.recv_bytes() == STOP:
                            return
                        is_due = True
            except (EOFError, OSError):
                return


def _now() -> datetime:
    return datetime.now(UTC)


NOT_SCORED = ("", 0, 0.0)


class Scoring:
    """Scores the messages of subjects with something new, and keeps the scores in the store."""

    def __init__(self, options: ServeOptions, library: Library) -> None:
        self._evaluator = evaluator_of(options.settings, options.evaluator)
        self._library, self._settings, self._left = library, options.settings, options.budget

    def __call__(self, store: Store) -> tuple[str, int, float]:
        """Why the evaluator stopped, how many messages it scored, and the dollars spent."""
        if self._evaluator is None:
            return NOT_SCORED
        at, scorer = _now(), self._evaluator.scorer
        subjects = SweepJob.of(store, self._library, self._settings, at).touched()
        events = EventList(list(store.events([row.who for row in subjects], scorers={"*": scorer})))
        if not events:
            return NOT_SCORED
        paying = paying_for(self._evaluator, self._settings, self._library, budget=self._left)
        evaluated = score(store, Batch(events), Evaluate(self._evaluator, paying=paying), at)
        if self._left is not None:
            self._left = max(0.0, self._left - evaluated.spent)
        stopped = "" if evaluated.stopped == OVER_BUDGET else evaluated.stopped
        return stopped, len(evaluated.answers) - len(evaluated.cached), evaluated.spent


def process_context() -> Any:
    """How the process is started: from a small one that has loaded our modules, where the system can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ethogram.service.sweeper"])
    return context


class Sweeper:
    """Starts the process, wakes it, and starts it again where it died."""

    def __init__(self, options: ServeOptions, on_report: Callable[[Report], None]) -> None:
        self._options, self._on_report = options, on_report
        self._context = process_context()
        self._pipe: Any = None
        self._is_woken = self._is_dirty = False
        self._process: Any = None
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive() and self._process is not None and self._process.is_alive()

    @property
    def is_busy(self) -> bool:
        """Whether something came that was not looked at yet."""
        return self._is_woken or self._is_dirty

    def wake(self) -> None:
        """Say that something came. At most one message is under way, so that the pipe never fills."""
        with self._lock:
            if self._is_woken:
                self._is_dirty = True
            else:
                self._send()

    def _send(self) -> None:
        if self._pipe is not None:
            # A process that died looks at everything when it is back.
            with suppress(OSError):
                self._pipe.send_bytes(WAKE)
                self._is_woken, self._is_dirty = True, False

    def close(self) -> None:
        """Let the sweep that runs finish, then stop."""
        self._closing.set()
        with self._lock, suppress(OSError):
            if self._pipe is not None:
                self._pipe.send_bytes(STOP)
        self._thread.join(timeout=10)  # it ends with the process
        if self._process is not None and self._process.is_alive():
            self._process.terminate()

    def _run(self) -> None:
        outage = Outage("starting the sweeper")
        while not self._closing.is_set():
            try:
                self._start_and_listen()
            except Exception as error:
                outage.failed(error)
            else:
                outage.ended()
            self._closing.wait(RESTART)

    def _start_and_listen(self) -> None:
        here, there = self._context.Pipe()
        process = self._context.Process(
            target=run_sweeper, args=(self._options, there), name="ethogram-sweeper", daemon=True
        )
        process.start()
        there.close()
        with self._lock:
            self._pipe, self._process = here, process
            self._is_woken = self._is_dirty = False
        if self._closing.is_set():
            process.terminate()  # closed while it started: nothing is under way
        self._listen(here)

    def _listen(self, pipe: Connection) -> None:
        try:
            while True:
                report = Report(*pipe.recv())
                with self._lock:
                    self._is_woken = False
                    if self._is_dirty:
                        self._send()
                self._on_report(report)
        except (EOFError, OSError):
            return
