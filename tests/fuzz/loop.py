"""The fuzzing loop: mutants that reach new lines are kept as seeds, failures are shrunk and reported.

A failure is anything a target raises, more CPU than CPU_SECONDS for one input, or more memory than MEMORY.
"""

from __future__ import annotations

import re
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

from fuzz.mutate import mutated

CPU_SECONDS = 20.0
MEMORY = 2**30
"""Address space that a target may take beyond what the process has."""
MOST_SEED = 20_000
"""Bytes of a mutant that is kept as a seed; larger ones only cost time."""
SHRINKS = 200


@dataclass(frozen=True)
class Target:
    """One reader. `run` raises what it should not; `traced` is the file, or folder, whose lines count."""

    name: str
    seeds: tuple[bytes, ...]
    run: Callable[[bytes], None]
    traced: str


@dataclass
class Failure:
    """A kind of failure, with the smallest input found that shows it."""

    what: str
    data: bytes
    trace: str


@dataclass
class Report:
    """What a run of the loop did."""

    cases: int = 0
    kept: int = 0
    failures: dict[str, Failure] = field(default_factory=dict)


class TooSlow(BaseException):
    """One input took more than CPU_SECONDS. Not an Exception, so that no reader swallows it."""


def fuzz(target: Target, count: int, seed: int) -> Report:
    """Run the seeds and `count` mutants of them; the same seed gives the same mutants."""
    rng, report, lines = Random(f"{target.name} {seed}"), Report(), Lines(target.traced)
    corpus = list(target.seeds)
    waiting = list(corpus)
    with _bounded_memory():
        while report.cases < count + len(target.seeds):
            data = waiting.pop() if waiting else mutated(rng, rng.choice(corpus), rng.choice(corpus))
            report.cases += 1
            with lines.traced():
                failure = attempt(target, data)
            if failure is not None:
                if failure.what not in report.failures:
                    report.failures[failure.what] = shrunk(target, failure)
            elif lines.new and len(data) <= MOST_SEED and data not in target.seeds:
                corpus.append(data)
                report.kept += 1
    return report


def attempt(target: Target, data: bytes) -> Failure | None:
    """Run one input; what went wrong, told by the exception and the line of ours that raised it."""
    before = signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        target.run(data)
    except (Exception, TooSlow) as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "ethogram" in Path(frame.filename).parts] or frames
        where = "" if isinstance(error, TooSlow) else f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}"
        said = str(error).splitlines()[0][:200] if isinstance(error, AssertionError) and str(error) else ""
        said = re.sub(r"\d+", "#", said)  # failures that differ in a number only are one
        return Failure(f"{type(error).__name__}{where} {said}".strip(), data, traceback.format_exc(limit=-12))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


def shrunk(target: Target, failure: Failure) -> Failure:
    """The same failure by a smaller input, as far as SHRINKS attempts take it."""
    size, left = max(1, len(failure.data) // 2), SHRINKS if not failure.what.startswith("TooSlow") else 10
    while size and left > 0:
        at = 0
        while at < len(failure.data) and left > 0:
            left -= 1
            smaller = attempt(target, failure.data[:at] + failure.data[at + size :])
            if smaller is not None and smaller.what == failure.what:
                failure = smaller
            else:
                at += size
        size //= 2
    return failure


class Lines:
    """Which lines of the traced files have run. `new`: whether the last input was the first to reach one."""

    def __init__(self, under: str) -> None:
        self.under = under
        self.new = False
        self._tracers: dict[CodeType, Any] = {}
        self._left: dict[CodeType, set[int]] = {}

    @contextmanager
    def traced(self) -> Iterator[None]:
        self.new = False
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code not in self._tracers:
            wanted = code.co_filename.startswith(self.under)
            self._left[code] = {line for *_, line in code.co_lines() if line} - {code.co_firstlineno}
            self._tracers[code] = self._tracer(self._left[code]) if wanted else None
        # Code all of whose lines have run need not be traced any more, which is most of it soon.
        return self._tracers[code] if self._left[code] else None

    def _tracer(self, left: set[int]) -> Any:
        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line" and frame.f_lineno in left:
                left.discard(frame.f_lineno)
                self.new = True
            return trace

        return trace


@contextmanager
def _bounded_memory() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    status = Path("/proc/self/statm")
    if status.exists():
        used = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"more than {CPU_SECONDS:g} s of CPU")
