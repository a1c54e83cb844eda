"""Starting: what a hook's process does, from standard input to standard output. Never an error for the agent.

Only the standard library and what answers a hook are loaded here. What the settings ask for was written as
plain data (a plan) by another process, since reading settings and patterns takes a second.
"""

from __future__ import annotations

import json
import os
import sys
import time

from .location import (
    EVENTS,
    FAILED,
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


MOST_READ = 32 * 2**20
MOST_LOGGED = 200_000
PATIENCE = 5.0
"""Seconds to wait for a plan; with the wait for the state, less than the ten that the agent waits for us."""
POLL = 0.05
STALE = 30.0
"""Seconds after which whoever was to write a plan is taken to have died."""


def main() -> int:
    """Answer the event on standard input. Always 0: a fault of ours must not stop the agent."""
    payload = None
    try:
        payload = json.loads(sys.stdin.buffer.read(MOST_READ)) if sys.stdin is not None else None
        if isinstance(payload, dict) and payload.get("hook_event_name") in EVENTS:
            answer = answered(payload, time.time())
            if answer:
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
    except Unusable:
        pass
    except BaseException as error:  # whatever it is, the agent goes on
        name = payload.get("hook_event_name") if isinstance(payload, dict) else None
        log(error, f"{name} not seen" if name in EVENTS else "")
    return 0


def answered(payload: dict[str, Any], now: float) -> dict[str, Any]:
    """The answer to a payload, by the plan of its folder."""
    # An agent may go into other folders; the settings stay those of the project it was started in.
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or payload.get("cwd")
    folder = folder if isinstance(folder, str) and folder else os.getcwd()
    data = load(folder)
    from . import claude_code, state_db

    try:
        plan = claude_code.plan_of(data)
    except (ImportError, LookupError, TypeError, ValueError):
        # Another version of ours wrote it.
        plan = claude_code.plan_of(renewed(folder, plan_path(folder)) or data)
    for again in (True, False):
        db = state_db.opened(state_path())
        try:
            return claude_code.handle(payload, plan, db, now)
        except Exception as error:
            if not (again and state_db.is_broken(error)):
                raise
        finally:
            db.close()
        state_db.set_aside(state_path())
    return {}


def load(folder: str) -> dict[str, Any]:
    """The plan of a folder; it is written anew where it is out of date.

    Where that fails, as it does with settings that cannot be read, the one before goes on to serve, and it is
    not tried again until something has changed.
    """
    path = plan_path(folder)
    data = read_data(path)
    if (data is None or not is_current(data["stamp"])) and not has_failed(path):
        data = renewed(folder, path) or data
    if data is None and has_failed(path):
        raise Unusable
    if data is None:
        raise RuntimeError(f"no plan for its folder within {PATIENCE:g} seconds")
    return data


class Unusable(Exception):
    """The settings cannot be used; what is wrong was logged when they were read."""


def renewed(folder: str, path: str) -> dict[str, Any] | None:
    """The plan, once it is written: by one process at a time, and all others wait for that one.

    None where it cannot be written, or not within our patience: then writing goes on without us.
    """
    import subprocess

    deadline = time.monotonic() + PATIENCE
    make_folder(os.path.dirname(path))
    # Where nothing can be written, no time is spent on it at every event.
    if not os.access(os.path.dirname(path), os.W_OK):
        raise PermissionError(path)
    if is_ours_to_write(path):
        # -P and a folder of our own: nothing in the project's folder is ever imported.
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


def is_ours_to_write(path: str) -> bool:
    """Whether this process is the one to have a plan written: no other is at it."""
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
    """Whether a plan could not be written, and nothing has changed since."""
    failed = read_data(path + FAILED)
    return failed is not None and is_current(failed["stamp"])


def log(error: BaseException, what: str = "") -> None:
    """Note a fault of ours where `ethogram hook status` finds it; nothing of the payload."""
    import traceback

    try:
        path = log_path()
        make_folder(os.path.dirname(path))
        if os.path.exists(path) and os.path.getsize(path) > MOST_LOGGED:
            os.replace(path, path + ".old")
        frames = traceback.extract_tb(error.__traceback__)[-4:]
        places = "; ".join(f"{frame.name}:{frame.lineno}" for frame in frames)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(handle, "a", encoding="utf-8") as file:
            # Messages of ours; those of others may quote what they met.
            why = str(error) if isinstance(error, RuntimeError | PermissionError) else ""
            told = "".join(f": {part}" for part in (what, why) if part)
            file.write(f"{when} {type(error).__name__} at {places}{told}\n")
    except OSError:
        pass
