"""Location of the hook's files, and whether they can be used. Fast to import."""

from __future__ import annotations

import hashlib
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


DIR_VARIABLE = "ETHOGRAM_HOOK_DIR"
GUARDED_VARIABLE = "ETHOGRAM_GUARDED"
"""Set where a guard in the program that starts the agent advises it already."""
FAILED = ".failed"
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
EVENTS = (*TOOL_EVENTS, "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SessionEnd")
"""Events of a coding agent that the hook answers."""
MAX_PLANS = 40
"""Folders whose plans are stored."""

Stamp = list[tuple[str, int, int]]


def state_dir() -> str:
    """Return the folder of the hook's state: $ETHOGRAM_HOOK_DIR, or `ethogram/hook` below XDG_STATE_HOME."""
    if path := os.environ.get(DIR_VARIABLE):
        return os.path.abspath(path)
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "ethogram", "hook")


def make_folder(path: str) -> None:
    """Create a folder of the state, readable by this user only.

    PermissionError if somebody else owns the state's folder or may write to it.
    """
    for folder in (state_dir(), path):
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o700)
        if not is_ours(os.stat(state_dir())):
            raise PermissionError(f"{state_dir()}: not used: another user owns it or may write to it")


def is_ours(status: os.stat_result) -> bool:
    """Return whether a file or folder is this user's and nobody else may write to it."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def state_path() -> str:
    """Return the path of the database of runs."""
    return os.path.join(state_dir(), "runs.sqlite")


def log_path() -> str:
    """Return the path of the log of the hook's own faults."""
    return os.path.join(state_dir(), "faults.log")


def plan_path(folder: str) -> str:
    """Return the path of the plan for runs in a folder, made by this version of ethogram."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    name = hashlib.sha256(f"{os.path.abspath(folder)}\n{package}\n{sys.version}".encode()).hexdigest()[:20]
    return os.path.join(state_dir(), "plans", f"{name}.json")


def write_data(path: str, data: dict[str, Any]) -> None:
    """Write plain data with its digest, atomically, readable by this user only."""
    make_folder(os.path.dirname(path))
    body = json.dumps(data).encode()
    draft = f"{path}.{os.getpid()}.part"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    os.replace(draft, path)


def read_data(path: str) -> dict[str, Any] | None:
    """Return what `write_data` wrote; None if it is missing, damaged, or others may have written it."""
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


def remove_old_plans(path: str) -> None:
    """Remove the plans of all but the most recent folders."""
    folder = os.path.dirname(path)
    plans = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json")]
    for old in sorted(plans, key=os.path.getmtime)[:-MAX_PLANS]:
        os.unlink(old)


def stamp_of(files: list[str]) -> Stamp:
    """Return the time and size of each file; -1 for a missing one."""
    return [_stamp(path) for path in files]


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (path, -1, -1)
    return (path, status.st_mtime_ns, status.st_size)


def is_current(stamp: Stamp) -> bool:
    """Return whether no file has changed."""
    return all(tuple(entry) == _stamp(entry[0]) for entry in stamp)
