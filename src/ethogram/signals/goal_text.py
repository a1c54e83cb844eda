"""goal_text: what a run is for, in a few words that can be shown."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .options import Options
from .steps.goals import goal_of

MOST = 200
READ = 1_000


@signal("goal_text", range=None, kinds=("action", "message"))
class GoalText:
    """What the run is for, in at most 200 characters, without secrets and personal data; absent if unknown.

    Told by the settings, by the attributes `goal` or `task`, else by the first message of a person in the
    thread; read at the steps.
    """

    scope = "thread"
    start = ""
    max_state_bytes = 2_000

    def measure(self, event: Event, state: str, options: Options) -> tuple[str | None, str]:
        """The goal, and the same."""
        goal = state or _short(goal_of(event, options))
        return (goal or None if event.kind == "action" else None), goal


def _short(text: str) -> str:
    """The beginning of a text on one line, masked before it is cut, so that no half of a key is left."""
    if not text:
        return ""
    # Here and not above: its rules are large, and most who measure signals never ask for this one.
    from ..records.mask import mask

    shown = " ".join(mask(text[:READ].rsplit(None, 1)[0] if len(text) > READ else text).split())
    return shown if len(shown) <= MOST else f"{shown[: MOST - 1]}…"
