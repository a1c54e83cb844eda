"""Starting: what a hook's process does, from standard input to standard output. Never an error for the agent.

Only the standard library is loaded here; everything else comes out of the image.
"""

from __future__ import annotations

import json
import marshal
import os
import sys
import time

from ethogram.hook.place import image_path, is_current, log_path, make_folder, state_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_READ = 32 * 2**20
MOST_LOGGED = 200_000
PATIENCE = 6.0
"""Seconds to wait for an image; the agent waits no longer than ten for an answer."""
STALE = 60.0
"""Seconds after which whoever was to write an image is taken to have died."""
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)


def main() -> int:
    """Answer the event on standard input. Always 0: a fault of ours must not stop the agent."""
    try:
        told = json.loads(sys.stdin.buffer.read(MOST_READ)) if sys.stdin is not None else None
        if isinstance(told, dict) and told.get("hook_event_name") in EVENTS:
            answer = answered(told, time.time())
            if answer:
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
    except Unprepared:
        pass
    except BaseException as error:  # whatever it is, the agent goes on
        log(error)
    return 0


def answered(told: dict[str, Any], now: float) -> dict[str, Any]:
    """The answer to a payload, by the code of the image."""
    # An agent may go into other folders; the settings stay those of the project it was started in.
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or told.get("cwd")
    load(folder if isinstance(folder, str) and folder else os.getcwd())
    from ethogram.hook import answer, keep, plan  # type: ignore[attr-defined]

    for again in (True, False):
        db = keep.opened(state_path())
        try:
            return answer.handle(told, answer.plan_of(plan), db, now)
        except Exception as error:
            if not (again and keep.is_broken(error)):
                raise
        finally:
            db.close()
        keep.set_aside(state_path())
    return {}


def load(folder: str) -> None:
    """Make the image of a folder the place modules come from; it is written anew where it is out of date.

    Where that fails, as it does with settings that cannot be read, the one before goes on to serve, and it is
    not tried again until something has changed.
    """
    path = image_path(folder)
    image = read(path)
    if (image is None or not is_current(image["stamp"])) and not has_failed(path):
        write(folder, path)
        image = read(path) or image
    if image is None:
        raise Unprepared
    for name in ("dataclasses", "typing"):
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Finder(image["modules"]))
    quicken(image["regexes"])


def quicken(kept: dict[tuple[str, int], tuple[Any, ...]]) -> None:
    """Let `re` take what was compiled when the image was written; all else it compiles as usual."""
    if not kept:
        return
    import _sre  # type: ignore[import-not-found]
    from re import _compiler  # type: ignore[attr-defined]

    compile_ = _compiler.compile

    def taken(pattern: Any, flags: int = 0) -> Any:
        found = kept.get((pattern, int(flags))) if type(pattern) is str else None
        return compile_(pattern, flags) if found is None else _sre.compile(pattern, *found)

    _compiler.compile = taken


def write(folder: str, path: str) -> None:
    """Have an image written, by one process at a time; where that takes long, it goes on without us."""
    import subprocess

    # Where nothing can be written, no time is spent on it at every event.
    make_folder(os.path.dirname(path))
    if not os.access(os.path.dirname(path), os.W_OK):
        raise PermissionError
    if is_being_written(path):
        return
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "ethogram.hook.planning", folder]
    made = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        if made.wait(timeout=PATIENCE):
            log(RuntimeError("the settings of the folder cannot be used; see `ethogram hook status`"))
    except subprocess.TimeoutExpired:
        pass


def is_being_written(path: str) -> bool:
    """Whether another process writes this image; if none does, it is ours to write now."""
    lock = path + ".lock"
    try:
        if time.time() - os.stat(lock).st_mtime > STALE:
            os.unlink(lock)
    except OSError:
        pass
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return True
    return False


def has_failed(path: str) -> bool:
    """Whether an image could not be written, and nothing has changed since."""
    failed = read(path + ".failed")
    return failed is not None and is_current(failed["stamp"])


class Unprepared(Exception):
    """There is no image and none can be written: what is wrong was told when it was tried."""


def read(path: str) -> dict[str, Any] | None:
    """An image; None where there is none, or none that can be read."""
    try:
        with open(path, "rb") as file:
            image = marshal.loads(file.read())  # our own file, in our own folder
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return image if isinstance(image, dict) and "stamp" in image else None


class Finder:
    """Finds modules in an image."""

    def __init__(self, modules: dict[str, tuple[str, Any]]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Where a module comes from, if it is in the image."""
        if name not in self.modules:
            return None
        from importlib.machinery import ModuleSpec

        folder = self.modules[name][0]
        loader: Any = self
        spec = ModuleSpec(name, loader, is_package=bool(folder))
        if folder:
            # What the image does not hold comes from where it always does.
            spec.submodule_search_locations = [folder]
        return spec

    def create_module(self, spec: Any) -> None:
        """The usual kind of module."""

    def exec_module(self, module: Any) -> None:
        """Run the module's code."""
        exec(self.modules[module.__name__][1], module.__dict__)


def log(error: BaseException) -> None:
    """Note a fault of ours where `ethogram hook status` finds it; nothing of the payload."""
    import traceback

    try:
        path = log_path()
        make_folder(os.path.dirname(path))
        if os.path.exists(path) and os.path.getsize(path) > MOST_LOGGED:
            os.replace(path, path + ".old")
        places = "; ".join(
            f"{one.name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)[-4:]
        )
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(handle, "a", encoding="utf-8") as file:
            why = f": {error}" if isinstance(error, RuntimeError) else ""
            file.write(f"{when} {type(error).__name__} at {places}{why}\n")
    except OSError:
        pass
