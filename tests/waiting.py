"""Waits and measures that hold on any machine: conditions for pauses, counted calls for seconds."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PATIENCE_SECONDS = 120.0
"""When a wait is given up. Nothing takes this long even on a slow machine: it ends what would hang."""


def wait_until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true value of a condition; fails with what was waited for."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {seconds:g} seconds for {what}"
        time.sleep(0.01)
    return value


@contextmanager
def started(command: Sequence[Any], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process with the options of Popen, killed at the end: a test that fails does not wait for it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def ending(what: str, seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Fail where the block never ends: where it takes so many seconds of this process's own CPU."""

    def stop(*_: object) -> None:
        raise AssertionError(f"{what}: not done after {seconds:g} seconds of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def calls_of(action: Callable[[], Any], function: Any = None) -> int:
    """How many functions an action calls, in Python and in C: the same however busy the machine is.

    With `function`, how often it calls this one, which is written in Python.
    """
    calls, code = 0, getattr(function, "__code__", None)

    def count(frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call") if code is None else event == "call" and frame.f_code is code

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # what other tests left behind calls finalizers
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return calls
