"""out_of_scope: a step outside what its task allows."""

from __future__ import annotations

from typing import Any

from ..records import Event
from .define import signal
from .options import Options
from .steps.calls import NONE, Calls, same_outcome
from .steps.paths import joined, touched
from .steps.scope import is_harmless, matches

EARLY = 10
"""Steps at the start of a run that tell where it works, where nobody says."""
MOST_GLOBS = 50
MOST_ROOTS = 16
SHARED = frozenset(("home", "Users", "root", "mnt", "srv", "data"))
"""Top folders that hold the projects of several people."""

Told = tuple[str, tuple[str, ...], tuple[str, ...]]
"""Working directory, allowed and denied globs, as the run's events say."""
State = tuple[Calls, Told, tuple[str, ...], int]
"""Calls that wait; what is told; the folders of early steps; how many steps had a path."""


@signal("out_of_scope", range=(0, 1), kinds=("action", "result", "message"))
class OutOfScope:
    """1.0 where a step names a path outside what the task allows.

    The scope is what the settings or the attributes `allow`, `deny` and `cwd` of the run's own events say.
    Where nobody says what is allowed, it is the working directory, the folders of the first ten steps,
    temporary files and, for reading, the system's. Absent where no path is named.
    """

    scope = "run"
    start: State = (NONE, ("", (), ()), (), 0)
    max_state_bytes = 64_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[float | None, State]:
        """Whether one of the paths is outside, and what the run has shown so far."""
        calls, before, roots, count = state
        told = _told(event, before)
        if event.kind == "message":
            return None, state if told is before else (calls, told, roots, count)
        step, kept, _, calls = same_outcome(event, calls, touched)
        if step is None or not kept:
            return None, (calls, told, roots, count)
        cwd = told[0] or options.cwd or ""
        allow, deny = told[1] or options.allow, told[2] or options.deny
        paths = [(joined(cwd, path), bool(changes)) for path, changes in kept]
        if not allow and count < EARLY:
            roots = tuple(dict.fromkeys((*roots, *(_root(path) for path, _ in paths))))[:MOST_ROOTS]
        outside = any(_is_outside(path, changes, cwd, allow, deny, roots) for path, changes in paths)
        return float(outside), (calls, told, roots, min(count + 1, EARLY))


def _is_outside(
    path: str, changes: bool, cwd: str, allow: tuple[str, ...], deny: tuple[str, ...], roots: tuple[str, ...]
) -> bool:
    if deny and matches(path, deny, cwd):
        return True
    if allow:
        return not matches(path, allow, cwd) and not is_harmless(path, changes)
    if not path.startswith(("/", "~", "..")):
        return False
    if (cwd and (path == cwd or path.startswith(f"{cwd}/"))) or is_harmless(path, changes):
        return False
    return _root(path) not in roots


def _root(path: str) -> str:
    """The folder at the top that a path is in, or a person's project below it: about where the work is.

    >>> _root("/workspace/a/b.py"), _root("/home/ann/project/a.py"), _root("../other/a.py")
    ('/workspace', '/home/ann/project', '../other')
    """
    parts = path.split("/")
    return "/".join(parts[: 4 if parts[1:2] and parts[1] in SHARED else 2])


def _told(event: Event, told: Told) -> Told:
    said = event.attributes
    if "cwd" not in said and "allow" not in said and "deny" not in said:
        return told
    cwd = said.get("cwd")
    return (
        told[0] or (cwd.rstrip("/")[:300] if isinstance(cwd, str) else ""),
        told[1] or _globs(said.get("allow")),
        told[2] or _globs(said.get("deny")),
    )


def _globs(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    return tuple(one[:200] for one in value[:MOST_GLOBS] if isinstance(one, str) and one)
