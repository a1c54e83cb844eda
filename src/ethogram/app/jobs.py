"""Jobs: how many processes share the work, and from what size of input on that pays."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..config import Settings

PAYS = 64 * 2**20
"""Bytes of input from which on splitting it among more than two processes makes up for starting them."""


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_for(paths: Iterable[str | Path], settings: Settings, jobs: int | None) -> int:
    """Bytes of events that are held in memory: none where they are split among processes.

    They are where several are asked for, or by default where there are more than two cores and the input is
    large; on two, one process with all events in memory is as fast.
    """
    if jobs is None:
        jobs = usable_cores() - 1 if sum(map(_size, paths)) >= PAYS else 1
    return 0 if jobs > 1 else settings.memory


def _size(path: str | Path) -> int:
    place = Path(path)
    try:
        if place.is_dir():
            return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        return place.stat().st_size
    except OSError:
        return 0
