"""Workers: buckets looked at one after the other, or by a few processes of our own at once.

The processes are started as programs, not forked from this one: a fork would copy locks that threads of
the caller hold, and `multiprocessing` would run the caller's script again.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import EthogramError
from ..signals import plan
from .measured import needed

if TYPE_CHECKING:
    from .large import Job, Looked

MOST = 2
WORTH_IT = 16 * 2**20
"""Bytes in buckets from which on starting processes, half a second each, is made up for."""
LENGTH = 8
START = "from ethogram.modes.workers import work; work()"


def in_turn(job: Job, paths: Sequence[Path], workers: int | None = None) -> Iterator[Looked]:
    """What is in each bucket, in the order of the paths. `workers`: 0 is this process alone."""
    from .large import look_at

    paths = [path for path in paths if path.exists()]
    if workers is None:
        workers = _worth(job, paths)
    if workers < 1:
        yield from (look_at(job, path) for path in paths)
        return
    with _Workers(job, workers) as crew:
        yield from crew.map(paths)


def _worth(job: Job, paths: Iterable[Path]) -> int:
    # Signals that the caller's own script registered are not known to another process.
    ours = all(vars(one).get("__module__", "").startswith("ethogram.") for one in plan(needed(job.programs)))
    enough = sum(path.stat().st_size for path in paths) >= WORTH_IT
    cores = min(MOST, os.cpu_count() or 1)
    return cores if ours and enough and cores > 1 else 0


class _Workers:
    """Processes that each look at one bucket at a time."""

    def __init__(self, job: Job, count: int) -> None:
        # -P and the path: what they import is what we import, not what lies in the working directory.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
        self._all: list[subprocess.Popen[bytes]] = []
        for _ in range(count):
            command = [sys.executable, "-P", "-c", START]
            started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
            self._all.append(started)
        self._free = list(self._all)
        self._job = job
        self._pool = ThreadPoolExecutor(count)

    def __enter__(self) -> _Workers:
        packed = pickle.dumps(self._job)
        for one in self._all:
            _send(one.stdin, packed)
        return self

    def __exit__(self, *_: object) -> None:
        # After Ctrl-C they are in the middle of something nobody waits for any more.
        for one in self._all:
            one.kill()
        self._pool.shutdown(cancel_futures=True)
        for one in self._all:
            for pipe in (one.stdin, one.stdout):
                if pipe is not None:
                    pipe.close()
            one.wait()

    def map(self, paths: Sequence[Path]) -> Iterator[Looked]:
        """What is in each bucket. Few answers are held at a time."""
        return self._pool.map(self._ask, paths)

    def _ask(self, path: Path) -> Looked:
        one = self._free.pop()
        try:
            _send(one.stdin, os.fsencode(path))
            answer = _receive(one.stdout)
        except OSError:
            answer = b""
        if not answer:
            raise EthogramError("a process that looked at a part of the events died; is memory short?")
        found: Any = pickle.loads(answer)
        if isinstance(found, BaseException):
            raise found
        self._free.append(one)
        looked: Looked = found
        return looked


def work() -> None:
    """What such a process does: a job comes in, then one path after the other, until nothing comes."""
    from .large import look_at

    # Ctrl-C reaches the whole group; whoever started us decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    come, go = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    job: Job = pickle.loads(_receive(come))
    while path := _receive(come):
        try:
            answer: object = look_at(job, Path(os.fsdecode(path)))
        except Exception as error:
            answer = error
        _send(go, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))


def _send(pipe: Any, content: bytes) -> None:
    pipe.write(len(content).to_bytes(LENGTH, "little"))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: BinaryIO | Any) -> bytes:
    """The next message; b"" where there is none."""
    head = pipe.read(LENGTH)
    return pipe.read(int.from_bytes(head, "little")) if len(head) == LENGTH else b""
