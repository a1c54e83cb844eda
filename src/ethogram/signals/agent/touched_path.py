"""touched_path, directory, depth and distance: where in the tree of files a step works."""

from __future__ import annotations

import math
import posixpath

from ...models import Event
from ..base import signal
from ..options import Options
from .paths import touched
from .tool_calls import NONE, Calls, same_outcome

MOST_KNOWN = 40


@signal("touched_path", range=None, version=2)
class TouchedPath:
    """The path a step works on, by its attributes or by the first path in its command; absent without one.

    Of a copy or move it is what is written.
    """

    scope = "run"
    start: Calls = NONE
    max_state_bytes = 48_000

    def measure(self, event: Event, state: Calls) -> tuple[str | None, Calls]:
        """The path, and the calls that wait."""
        if event.kind not in ("action", "result"):
            path = event.attributes.get("path")
            return (path[:200] if isinstance(path, str) and path else None), state
        step, kept, _, state = same_outcome(event, state, touched)
        return (kept[0][0] if step is not None and kept else None), state


@signal("directory", range=None, version=2, needs=("touched_path",), kinds=("action", "result"))
def directory(event: Event) -> str | None:
    """The folder the step works in; absent where no path is named."""
    path = event.readings.get("touched_path")
    if not isinstance(path, str):
        return None
    return _folder(path) or "."


@signal("depth", range=(0, math.inf), version=2, needs=("touched_path",), kinds=("action", "result"))
def depth(event: Event, options: Options) -> float | None:
    """How many folders below the working directory the step works; absent where no path is named."""
    path = event.readings.get("touched_path")
    if not isinstance(path, str):
        return None
    cwd = options.cwd or ""
    inside = path[len(cwd) + 1 :] if cwd and path.startswith(f"{cwd}/") else path
    return float(len([part for part in _folder(inside).split("/") if part not in ("", ".")]))


@signal("distance", range=(0, 1), version=2, needs=("touched_path",), kinds=("action", "result"))
class Distance:
    """How far a step is from the paths worked on so far: 0 the same folder, 1 nothing in common.

    Absent at the first path of a run, and where no path is named.
    """

    scope = "run"
    start: tuple[str, ...] = ()
    max_state_bytes = 16_000

    def measure(self, event: Event, state: tuple[str, ...]) -> tuple[float | None, tuple[str, ...]]:
        """The distance to the nearest folder, and the folders known by now."""
        path = event.readings.get("touched_path")
        if not isinstance(path, str):
            return None, state
        folder = _folder(path)[:200]
        if folder in state:
            return 0.0, (*(item for item in state if item != folder), folder)
        far = min((_apart(folder, item) for item in state), default=None)
        return far, (*state, folder)[-MOST_KNOWN:]


def _folder(path: str) -> str:
    last = path.rpartition("/")[2]
    return posixpath.dirname(path) if "." in last.strip(".") else path.rstrip("/")


def _apart(text: str, other: str) -> float:
    a, b = text.split("/"), other.split("/")
    shared = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        shared += 1
    return 1 - shared / max(len(a), len(b))
