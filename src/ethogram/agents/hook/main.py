"""The hook's process, from standard input to standard output. Never an error for the agent.

Imports only the standard library and what answers a hook. The settings are read by another process, which
writes them as plain data (a plan), since loading settings and patterns takes a second.
"""

from __future__ import annotations

import json
import os
import sys
import time

from .location import (
    EVENTS,
    FAILED,
    GUARDED_VARIABLE,
    is_current,
    log_path,
    make_folder,
    plan_path,
    read_data,
    state_dir,
    state_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAX_INPUT = 32 * 2**20
MAX_LOG = 200_000
PATIENCE = 5.0
"""Seconds to wait for a plan; with the wait for the state, less than the ten that the agent waits."""
POLL = 0.05
STALE = 30.0
"""Seconds after which a process that was to write a plan is taken for dead."""


class UnusableSettings(Exception):
    """The settings cannot be used; the fault was logged when they were read."""


def main() -> int:
    """Answer the event on standard input. Always 0: a fault of the hook must not stop the agent."""
    payload = None
    try:
        payload = json.loads(sys.stdin.buffer.read(MAX_INPUT)) if sys.stdin is not None else None
        if isinstance(payload, dict) and payload.get("hook_event_name") in EVENTS:
            response = respond(payload, time.time())
            if response:
                sys.stdout.write(json.dumps(response) + "\n")
                sys.stdout.flush()
    except UnusableSettings:
        pass
    except BaseException as error:  # whatever it is, the agent continues
        name = payload.get("hook_event_name") if isinstance(payload, dict) else None
        log(error, f"{name} not seen" if name in EVENTS else "")
    return 0


def respond(payload: dict[str, Any], now: float) -> dict[str, Any]:
    """Return the response to a payload, by the plan of its folder."""
    # An agent may change folders; the settings stay those of the project it was started in.
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or payload.get("cwd")
    folder = folder if isinstance(folder, str) and folder else os.getcwd()
    data = load(folder)
    from . import claude_code, state_db

    try:
        plan = claude_code.load_plan(data)
    except (ImportError, LookupError, TypeError, ValueError):
        # Another version of ethogram wrote it.
        plan = claude_code.load_plan(renewed(folder, plan_path(folder)) or data)
    if not payload.get("cwd"):
        plan = claude_code.without_folder(plan)
    if os.environ.get(GUARDED_VARIABLE):
        # What is said twice is read twice. Questions about protected paths are the hook's alone.
        plan = claude_code.without_rungs(plan)
    for retry in (True, False):
        db = state_db.opened(state_path())
        try:
            return claude_code.handle(payload, plan, db, now)
        except Exception as error:
            if not (retry and state_db.is_broken(error)):
                raise
        finally:
            db.close()
        state_db.set_aside(state_path())
    return {}


def load(folder: str) -> dict[str, Any]:
    """Return the plan of a folder, written anew if it is out of date.

    If that fails, as with invalid settings, the previous plan stays in use, and writing is not tried again
    until something has changed.
    """
    path = plan_path(folder)
    data = read_data(path)
    if (data is None or not is_current(data["stamp"])) and not has_failed(path):
        data = renewed(folder, path) or data
    if data is None and has_failed(path):
        raise UnusableSettings
    if data is None:
        raise RuntimeError(f"no plan for its folder within {PATIENCE:g} seconds")
    return data


def renewed(folder: str, path: str) -> dict[str, Any] | None:
    """Return the plan once one process has written it; the others wait.

    None if it cannot be written, or not in time: then writing continues in the background.
    """
    import subprocess

    deadline = time.monotonic() + PATIENCE
    make_folder(os.path.dirname(path))
    # Fail at once rather than at every event.
    if not os.access(os.path.dirname(path), os.W_OK):
        raise PermissionError(path)
    if locked(path):
        # -P and a folder of the hook: nothing in the project's folder is ever imported.
        command = [sys.executable, "-P", "-m", "ethogram.agents.hook.plan", folder]
        quiet = subprocess.DEVNULL
        writer = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=state_dir(), start_new_session=True
        )
        try:
            if writer.wait(timeout=PATIENCE):
                log(RuntimeError("the settings of the folder cannot be used; see `ethogram hook status`"))
        except subprocess.TimeoutExpired:
            pass
        return read_data(path)
    while time.monotonic() < deadline and os.path.exists(path + ".lock"):
        time.sleep(POLL)
    return read_data(path)


def locked(path: str) -> bool:
    """Return whether this process got the lock to write a plan."""
    lock = path + ".lock"
    try:
        if time.time() - os.stat(lock).st_mtime > STALE:
            os.unlink(lock)
    except OSError:
        pass
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def has_failed(path: str) -> bool:
    """Return whether a plan could not be written, and nothing has changed since."""
    failed = read_data(path + FAILED)
    return failed is not None and is_current(failed["stamp"])


def log(error: BaseException, what: str = "") -> None:
    """Log a fault of the hook for `ethogram hook status`, without anything of the payload."""
    import traceback

    try:
        path = log_path()
        make_folder(os.path.dirname(path))
        if os.path.exists(path) and os.path.getsize(path) > MAX_LOG:
            os.replace(path, path + ".old")
        frames = traceback.extract_tb(error.__traceback__)[-4:]
        places = "; ".join(f"{frame.name}:{frame.lineno}" for frame in frames)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(handle, "a", encoding="utf-8") as file:
            # Only messages of our own; others may quote the payload.
            why = str(error) if isinstance(error, RuntimeError | PermissionError) else ""
            message = "".join(f": {part}" for part in (what, why) if part)
            file.write(f"{when} {type(error).__name__} at {places}{message}\n")
    except OSError:
        pass
