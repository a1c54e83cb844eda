"""Guards of many runs, for integrations in which one object sees them all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import TypedDict, Unpack

from ..agents.guard import RunGuard
from ..config import Settings

MAX_RUNS = 200


class GuardOptions(TypedDict, total=False):
    """Options of a RunGuard."""

    task: str | None
    goal: str | None
    allow: Sequence[str]
    deny: Sequence[str]
    cwd: str | None
    rungs: Sequence[str] | None
    settings: Settings | None


class Guards:
    """A guard for each run, made when the run is first seen. The runs not seen for longest are forgotten.

    >>> guards = Guards(rungs=["nudge"])
    >>> guards["run-1"] is guards["run-1"], guards["run-1"] is guards["run-2"]
    (True, False)
    """

    def __init__(self, **options: Unpack[GuardOptions]) -> None:
        # Faults in the options show here, not at the first call of a tool.
        RunGuard(**options)
        self._options, self._lock = options, Lock()
        self._guards: OrderedDict[Hashable, RunGuard] = OrderedDict()

    def __getitem__(self, run: Hashable) -> RunGuard:
        with self._lock:
            if run not in self._guards:
                self._guards[run] = RunGuard(**self._options)
            self._guards.move_to_end(run)
            while len(self._guards) > MAX_RUNS:
                self._guards.popitem(last=False)
            return self._guards[run]
