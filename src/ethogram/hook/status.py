"""Status: where a hook is installed, what it watches in a folder, and how it fares."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config import Loaded
from ..errors import BadInput, Fault
from . import keep
from .effects import moment
from .entries import EVENTS, found
from .install import SCOPES, read, settings_path
from .json_text import Node, parse
from .ladder import RUNGS, Rules
from .place import is_current, log_path, plan_path, read_data, state_path
from .planning import Chosen, choose, library_of, rules_in, settings_of


@dataclass(frozen=True, slots=True)
class Watching:
    """What is watched in a folder, and how the ladder is climbed there."""

    loaded: Loaded
    chosen: Chosen
    rules: Rules


def watching(folder: str) -> Watching:
    """What the settings of a folder ask for. BadConfig or BadPattern where they cannot be used."""
    loaded = settings_of(folder)
    library = library_of(loaded)
    return Watching(loaded, choose(library), rules_in(loaded.settings))


def status(folder: str) -> dict[str, Any]:
    """Everything that can be said, as one record; nothing is changed."""
    faults: tuple[Fault, ...] = ()
    seen: Watching | None = None
    try:
        seen = watching(folder)
    except BadInput as error:
        faults = error.faults
    return {
        "record": "hook_status",
        "folder": os.path.abspath(folder),
        "installed": [place(scope, folder) for scope in SCOPES],
        **watched_facts(seen),
        "settings": {
            "path": seen.loaded.path if seen else None,
            "faults": [one.to_dict() for one in faults],
            "warnings": list(seen.loaded.warnings) if seen else [],
        },
        "state": state(),
        "plan": plan_state(folder),
        "faults": own_faults(),
    }


def watched_facts(seen: Watching | None) -> dict[str, Any]:
    if seen is None:
        return {"watched": None, "left_out": [], "ladder": None}
    rules = seen.rules
    return {
        "watched": sorted(one.program.name for one in seen.chosen.watched),
        "left_out": [{"pattern": name, "reason": reason} for name, reason in seen.chosen.left_out],
        "ladder": {
            "rungs": [{"rung": one, "on": one in rules.climbed} for one in RUNGS],
            "off": list(rules.off),
            "cool_down": rules.cool_down,
            "most": rules.most,
            "lowest": rules.lowest,
            "critical": rules.critical,
        },
    }


# The agent's settings.


def place(scope: str, folder: str) -> dict[str, Any]:
    """Whether a hook of ours stands in a settings file: for all events, for some (partly), or not."""
    path = settings_path(scope, folder)
    told: dict[str, Any] = {
        "scope": scope,
        "path": str(path),
        "installed": "no",
        "command": None,
        "executable": None,
    }
    told |= {"missing": list(EVENTS), "disabled": False, "fault": None}
    try:
        text = read(path, path)
        root = Node("an object", 0, 0) if text is None else parse(text.removeprefix("\ufeff"), str(path))
    except BadInput as error:
        return told | {"installed": "unknown", "fault": error.faults[0].to_dict()}
    except OSError as error:
        fault = Fault(str(path), 0, 0, error.strerror or str(error))
        return told | {"installed": "unknown", "fault": fault.to_dict()}
    ours = [one for one in found(root) if one.event in EVENTS]
    missing = [one for one in EVENTS if one not in {each.event for each in ours}]
    off = root.get("disableAllHooks")
    told["disabled"] = bool(off and text and text.removeprefix("\ufeff")[off.start : off.end] == "true")
    if not ours:
        return told
    command = ours[0].command.text
    how = "partly" if missing else "yes"
    return told | {
        "installed": how,
        "command": command,
        "executable": is_there(command),
        "missing": missing,
    }


def is_there(command: str) -> bool:
    """Whether the first word of a command is something that can be started."""
    return shutil.which(shlex.split(command)[0]) is not None


# Our own files.


@contextmanager
def opened() -> Iterator[sqlite3.Connection | None]:
    """The state file, to be read only; None where there is none. sqlite3.Error where it is of no use."""
    path = Path(state_path()).absolute()
    if not path.exists():
        yield None
        return
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=keep.WAIT)) as db:
        version = db.execute("pragma user_version").fetchone()[0]
        if version != keep.FORMAT:
            raise sqlite3.DatabaseError(f"format {version}, where {keep.FORMAT} is known")
        yield db


def state() -> dict[str, Any]:
    """The state file: its size, how many runs are in it, and when the last event came."""
    path = state_path()
    aside = os.path.exists(f"{path}.unreadable")
    told = {
        "path": path,
        "bytes": 0,
        "runs": 0,
        "said": 0,
        "last_event": None,
        "set_aside": aside,
        "fault": None,
        "folder_fault": folder_fault(Path(path).parent),
    }
    try:
        with opened() as db:
            if db is None:
                return told
            runs, last = db.execute("select count(*), max(at) from run").fetchone()
            said = db.execute("select count(*) from said").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        return told | {"bytes": _size(path), "fault": str(error)}
    last_event = None if last is None else moment(last)
    return told | {"bytes": _size(path), "runs": runs, "said": said, "last_event": last_event}


def folder_fault(folder: Path) -> str | None:
    """Why nothing can be kept in a folder that is there or would be made; None where it can.

    A hook that cannot keep anything stays silent, so this is the only place where one is told.
    """
    nearest = next(one for one in (folder, *folder.absolute().parents) if os.path.lexists(one))
    if not nearest.is_dir():
        return f"{nearest} is no folder"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{nearest} cannot be written"
    return None


def _size(path: str) -> int:
    ends = (path + end for end in ("", "-wal", "-shm"))
    return sum(os.path.getsize(one) for one in ends if os.path.exists(one))


def plan_state(folder: str) -> dict[str, Any]:
    """The plan of a folder: current, old (made anew with the next event), or none."""
    path = plan_path(folder)
    data = read_data(path)
    state = "none" if data is None else "current" if is_current(data["stamp"]) else "old"
    return {"path": path, "state": state}


def own_faults() -> dict[str, Any]:
    """Faults of ours: how many were logged, and the newest."""
    lines: list[str] = []
    for path in (log_path() + ".old", log_path()):
        try:
            lines += Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
    return {"path": log_path(), "count": len(lines), "newest": lines[-1] if lines else None}


def said() -> tuple[list[dict[str, Any]], int]:
    """Everything that was said, oldest first, and how many runs are known. BadInput: it is of no use."""
    try:
        with opened() as db:
            if db is None:
                return [], 0
            return keep.said_so_far(db), db.execute("select count(*) from run").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        hint = "the next event sets it aside and begins anew, or `ethogram hook purge` removes it"
        raise BadInput([Fault(state_path(), 0, 0, f"cannot be read ({error}); {hint}")]) from None
