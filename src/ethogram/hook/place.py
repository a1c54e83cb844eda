"""Where a hook keeps things, and whether what it kept is still of use. Nothing here is slow to load."""

from __future__ import annotations

import hashlib
import os
import sys

NAME = "ETHOGRAM_HOOK_DIR"


def state_dir() -> str:
    """The folder of the hook's state: $ETHOGRAM_HOOK_DIR, or `ethogram/hook` where the system keeps state."""
    if told := os.environ.get(NAME):
        return told
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "ethogram", "hook")


def make_folder(path: str) -> None:
    """Make a folder of the state, and the state's own, so that nobody else can look inside."""
    for one in (state_dir(), path):
        if not os.path.isdir(one):
            os.makedirs(one, exist_ok=True)
            os.chmod(one, 0o700)


def state_path() -> str:
    """The file that holds what is known of runs."""
    return os.path.join(state_dir(), "runs.sqlite")


def log_path() -> str:
    """The file that holds our own faults."""
    return os.path.join(state_dir(), "faults.log")


def image_path(folder: str) -> str:
    """The image for runs that work in a folder."""
    mark = hashlib.sha256(f"{os.path.abspath(folder)}\n{sys.version}".encode()).hexdigest()[:20]
    return os.path.join(state_dir(), "images", f"{mark}.bin")


Stamp = list[tuple[str, int, int]]


def stamp_of(files: list[str]) -> Stamp:
    """The time and size of each file; -1 for one that is not there."""
    return [_stamp(path) for path in files]


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        told = os.stat(path)
    except OSError:
        return (path, -1, -1)
    return (path, told.st_mtime_ns, told.st_size)


def is_current(stamp: Stamp) -> bool:
    """Whether every file is as it was."""
    return all(tuple(one) == _stamp(one[0]) for one in stamp)
