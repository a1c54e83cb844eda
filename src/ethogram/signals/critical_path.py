"""critical_path: a step that touches what nobody should touch unasked."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .options import Options
from .steps.calls import NONE, Calls, same_outcome
from .steps.paths import touched
from .steps.scope import is_critical, matches


@signal("critical_path", range=(0, 1), kinds=("action", "result"))
class CriticalPath:
    """1.0 where a step names a path nobody should touch unasked: secrets, keys, system files, .git internals.

    Absent where no path is named. Some, such as /etc/hosts, may be read but not changed. What the settings
    allow by name is not critical; what they list as critical is, too.
    """

    scope = "run"
    start: Calls = NONE
    max_state_bytes = 48_000

    def measure(self, event: Event, state: Calls, options: Options) -> tuple[float | None, Calls]:
        """Whether one of the paths is critical, and the calls that wait."""
        step, kept, _, state = same_outcome(event, state, touched)
        if step is None or not kept:
            return None, state
        cwd = options.cwd or ""
        return float(any(_counts(path, bool(changes), options, cwd) for path, changes in kept)), state


def _counts(path: str, changes: bool, options: Options, cwd: str) -> bool:
    if options.critical_paths and matches(path, options.critical_paths, cwd):
        return True
    return is_critical(path, changes) and not (options.allow and matches(path, options.allow, cwd))
