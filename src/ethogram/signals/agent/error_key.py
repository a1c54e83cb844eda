"""error_key: the error a step met, in words that are the same for the same error."""

from __future__ import annotations

from ...models import Event
from ..base import signal
from ..options import Options
from .errors import error_key, failure_line, is_report
from .normalization import digest, short_hash
from .operations import operation_of
from .tool_calls import NONE, Calls, same_outcome

NOT_RUN = (126, 127)
MOST_REPORTS = 24
MOST_IN_BATCH = 32

Batch = tuple[str, tuple[str, ...]]
State = tuple[Calls, Batch, tuple[str, ...]]
"""Calls that wait; the batch under way with its errors; digests of failing reports and refused searches."""


@signal("error_key", range=None, version=2, kinds=("action", "result"))
class ErrorKey:
    """The error met, with paths, numbers and ids taken out; absent without an error.

    A failing test, and a search that is refused, count as an error from the second time on that they fail in
    the same words; a search that finds nothing never does. Calls of one batch that fail together count once.
    """

    scope = "run"
    start: State = (NONE, ("", ()), ())
    max_state_bytes = 12_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[str | None, State]:
        """The error, and what is remembered."""
        calls, batch, reports = state
        step, operation, own, calls = same_outcome(event, calls, operation_of)
        if step is None or not step.is_outcome:
            return None, (calls, batch, reports)
        line = failure_line(step, operation)
        if line is None:
            return None, (calls, batch, reports)
        if step.exit_code not in NOT_RUN and not _could_not_run(line):
            is_found = is_report(step, operation)
            if is_found and operation == "search":
                return None, (calls, batch, reports)
            if is_found or operation == "search":
                mark = digest((step.result or step.error or "") if is_found else line, options.normalization)
                if mark not in reports:
                    return None, (calls, batch, (*reports, mark)[-MOST_REPORTS:])
                line = f"{line} [{mark}]" if is_found else line
        key = error_key(line, options.normalization)
        keys, mark = batch[1] if own == batch[0] else (), short_hash(key)
        if mark in keys:
            return None, (calls, batch, reports)
        return key, (calls, (own, (*keys, mark)[-MOST_IN_BATCH:]), reports)


def _could_not_run(line: str) -> bool:
    return any(
        name in line for name in ("command not found", "No module named pytest", "No such file or directory")
    )
