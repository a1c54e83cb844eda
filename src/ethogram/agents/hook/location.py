"""Where a hook keeps its files, and whether they can be used. Nothing here is slow to load."""

from __future__ import annotations

import hashlib
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "ETHOGRAM_HOOK_DIR"
FAILED = ".failed"
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
EVENTS = (*TOOL_EVENTS, "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SessionEnd")
"""Events of a coding agent that the hook answers."""
MOST_PLANS = 40
"""Folders whose plans are kept."""

Stamp = list[tuple[str, int, int]]


def state_dir() -> str:
    """The folder of the hook's state: $ETHOGRAM_HOOK_DIR, or `ethogram/hook` where the system keeps state."""
    if given := os.environ.get(NAME):
        return os.path.abspath(given)
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "ethogram", "hook")


def make_folder(path: str) -> None:
    """Make a folder of the state, and the state's own, so that nobody else can look inside.

    PermissionError where somebody else owns the state's folder or may write to it.
    """
    for folder in (state_dir(), path):
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o700)
        if not is_ours(os.stat(state_dir())):
            raise PermissionError(f"{state_dir()}: not used: another user owns it or may write to it")


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's and nobody else may write to it."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def state_path() -> str:
    """The file that holds what is known of runs."""
    return os.path.join(state_dir(), "runs.sqlite")


def log_path() -> str:
    """The file that holds our own faults."""
    return os.path.join(state_dir(), "faults.log")


def plan_path(folder: str) -> str:
    """The plan for runs that work in a folder, as this version of ethogram makes it."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    mark = hashlib.sha256(f"{os.path.abspath(folder)}\n{package}\n{sys.version}".encode()).hexdigest()[:20]
    return os.path.join(state_dir(), "plans", f"{mark}.json")


def write_data(path: str, data: dict[str, Any]) -> None:
    """Write plain data with its digest, whole or not at all, for this user alone."""
    make_folder(os.path.dirname(path))
    body = json.dumps(data).encode()
    draft = f"{path}.{os.getpid()}.part"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    os.replace(draft, path)


def read_data(path: str) -> dict[str, Any] | None:
    """What `write_data` wrote; None where it is missing, damaged, or could have been written by others."""
    try:
        with open(path, "rb") as file:
            if not is_ours(os.fstat(file.fileno())):
                return None
            digest, _, body = file.read().partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return None
        data = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and "stamp" in data else None


def forget_old_plans(path: str) -> None:
    """Remove the plans of all but the folders used last."""
    folder = os.path.dirname(path)
    plans = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json")]
    for old in sorted(plans, key=os.path.getmtime)[:-MOST_PLANS]:
        os.unlink(old)


def stamp_of(files: list[str]) -> Stamp:
    """The time and size of each file; -1 for one that is not there."""
    return [_stamp(path) for path in files]


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (path, -1, -1)
    return (path, status.st_mtime_ns, status.st_size)


def is_current(stamp: Stamp) -> bool:
    """Whether every file is as it was."""
    return all(tuple(entry) == _stamp(entry[0]) for entry in stamp)
