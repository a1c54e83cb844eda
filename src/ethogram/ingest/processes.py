"""Work shared out among processes. What comes out does not depend on their number."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from subprocess import PIPE
from typing import Any, TypeVar

from ..errors import EthogramError

START = "from ethogram.ingest.processes import work; work()"
Job = TypeVar("Job")
Item = TypeVar("Item")
Result = TypeVar("Result")


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_turn(
    function: Callable[[Job, Item], Result], job: Job, items: Sequence[Item], workers: int
) -> Generator[Result, None, None]:
    """What a function of a module gives for a job and each item, in their order, by so many processes."""
    workers = min(workers, len(items))
    if workers <= 1:
        yield from (function(job, item) for item in items)
        return
    # Started as programs, not forked from this one: a fork would copy locks that threads of the caller hold,
    # and `multiprocessing` would run the caller's script again. -P and the path: what they import is what we
    # import, not what lies in the working directory.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(item for item in sys.path if item)}
    command = [sys.executable, "-P", "-c", START]
    started = [subprocess.Popen(command, stdin=PIPE, stdout=PIPE, env=env) for _ in range(workers)]
    try:
        for number, process in enumerate(started):
            with process.stdin as pipe:  # type: ignore[union-attr]
                pickle.dump((function, job, items[number::workers]), pipe, pickle.HIGHEST_PROTOCOL)
        # Each waits with its next answer until the last was taken, so that few are held at a time.
        for number in range(len(items)):
            yield _answer(started[number % workers])
    finally:
        # After Ctrl-C they are in the middle of something nobody waits for any more.
        for process in started:
            process.kill()
            process.stdout.close()  # type: ignore[union-attr]
            process.wait()


def _answer(process: subprocess.Popen[bytes]) -> Any:
    try:
        answer = pickle.load(process.stdout)  # type: ignore[arg-type]
    except (EOFError, pickle.UnpicklingError):
        raise EthogramError("a process that looked at a part of the events died; is memory short?") from None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def work() -> None:
    """What such a process does: a function, a job and items come in, and what it gives for each goes out."""
    # Ctrl-C reaches the whole group; whoever started us decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    function, job, items = pickle.load(sys.stdin.buffer)
    for item in items:
        try:
            answer: object = function(job, item)
        except Exception as error:
            answer = error
        pickle.dump(answer, out, pickle.HIGHEST_PROTOCOL)
        out.flush()
