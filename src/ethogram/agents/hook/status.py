"""Status of the hook: where it is installed, what it watches, what it achieved; purge."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from ...config import Loaded
from ...errors import BadInput, EthogramError, Fault
from ...files import sqlite
from ...models.constants import RUNGS
from ...models.timestamps import format_time
from ...stats import wilson
from ..rules import Rules
from . import state_db
from .install import SCOPES, Node, found, parse, read, settings_path
from .location import EVENTS, is_current, log_path, plan_path, read_data, state_dir, state_path
from .plan import Chosen, choose, library_of, rules_in, settings_of
from .state_db import SCHEMA

# Effects: what a hook said, what came of it, and how often it helped.

EFFECTS = ("stopped", "went_on", "allowed", "declined", "ended", "open")


@dataclass(frozen=True, slots=True)
class Effect:
    """What came of all that was said about one pattern on one rung.

    stopped: it did not come again within five steps. went_on: it came again. ended: the session was over
    before that. open: nothing is known yet. The share counts the first two alone.
    """

    pattern: str
    rung: str
    given: int
    counts: Mapping[str, int]
    steps: tuple[int, ...]
    returns: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        settled = self.counts["stopped"] + self.counts["went_on"]
        low, high = wilson(self.counts["stopped"], settled) if settled else (None, None)
        return {
            "pattern": self.pattern,
            "rung": self.rung,
            "given": self.given,
            **{name: self.counts[name] for name in EFFECTS},
            "share_stopped": round(self.counts["stopped"] / settled, 4) if settled else None,
            "low": None if low is None else round(low, 4),
            "high": None if high is None else round(high, 4),
            "median_steps_to_stop": median(self.steps) if self.steps else None,
            "median_steps_to_return": median(self.returns) if self.returns else None,
        }


def effects(records: Sequence[Mapping[str, Any]]) -> list[Effect]:
    """The effects of what was said, by pattern and rung from the mildest."""
    until = steps_until(records)
    rows: dict[tuple[str, str], list[int]] = {}
    for place, item in enumerate(records):
        rows.setdefault((item["pattern"], item["rung"]), []).append(place)
    ordered = sorted(rows, key=lambda key: (key[0], RUNGS.index(key[1]) if key[1] in RUNGS else 9, key[1]))
    return [_effect(key, rows[key], records, until) for key in ordered]


def _effect(
    key: tuple[str, str],
    places: Iterable[int],
    records: Sequence[Mapping[str, Any]],
    until: Mapping[int, int],
) -> Effect:
    own = list(places)
    known = [records[place]["effect"] for place in own]
    counts = {name: known.count(name) for name in EFFECTS}
    steps = tuple(until[place] for place in own if place in until)
    returns = (records[place]["after"] for place in own if records[place]["effect"] == "went_on")
    return Effect(*key, len(own), counts, steps, tuple(item for item in returns if item is not None))


def steps_until(records: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """For each place where something stopped, the steps since the agent was first spoken to about it.

    What is said of one pattern to one agent counts as one thing until it stops; 0 is: stopped at once.

    >>> told = {"session": "s", "agent": "agent", "pattern": "p"}
    >>> steps_until([{**told, "step": 10, "effect": "went_on"}, {**told, "step": 16, "effect": "stopped"}])
    {1: 6}
    """
    first: dict[tuple[str, str, str], int] = {}
    found = {}
    for place, item in enumerate(records):
        key = (item["session"], item["agent"], item["pattern"])
        begun = first.setdefault(key, item["step"])
        if item["effect"] == "stopped":
            found[place] = item["step"] - begun
        if item["effect"] in ("stopped", "ended"):
            del first[key]
    return found


def chosen(
    records: Iterable[Mapping[str, Any]], session: str = "", since: float | None = None
) -> list[Mapping[str, Any]]:
    """What was said in a session, and from a moment on (that moment included)."""
    return [
        item
        for item in records
        if (not session or item["session"] == session) and (since is None or item["at"] >= since)
    ]


def said_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON form of one intervention."""
    names = ("session", "agent", "step", "pattern", "severity", "rung", "text", "effect")
    facts = {name: record[name] for name in names}
    return {"record": "hook_said", "at": moment(record["at"]), **facts, "effect_after_steps": record["after"]}


def moment(at: float) -> str:
    """A time of the state file as records tell it, in whole seconds."""
    return format_time(datetime.fromtimestamp(int(at), UTC))


def report_record(records: Sequence[Mapping[str, Any]], runs: int) -> dict[str, Any]:
    """The JSON form of all effects."""
    return {
        "record": "hook_report",
        "runs": runs,
        "given": len(records),
        "effects": [effect.to_dict() for effect in effects(records)],
    }


# Status: where a hook is installed, what it watches in a folder, and how it fares.


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
            "faults": [fault.to_dict() for fault in faults],
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
        "watched": sorted(item.program.name for item in seen.chosen.watched),
        "left_out": [{"pattern": name, "reason": reason} for name, reason in seen.chosen.left_out],
        "ladder": {
            "rungs": [{"rung": rung, "on": rung in rules.climbed} for rung in RUNGS],
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
    record: dict[str, Any] = {
        "scope": scope,
        "path": str(path),
        "installed": "no",
        "command": None,
        "executable": None,
    }
    record |= {"missing": list(EVENTS), "disabled": False, "fault": None}
    try:
        text = read(path, path)
        root = Node("an object", 0, 0) if text is None else parse(text.removeprefix("\ufeff"), str(path))
    except BadInput as error:
        return record | {"installed": "unknown", "fault": error.faults[0].to_dict()}
    except OSError as error:
        fault = Fault(str(path), 0, 0, error.strerror or str(error))
        return record | {"installed": "unknown", "fault": fault.to_dict()}
    ours = [item for item in found(root) if item.event in EVENTS]
    missing = [event for event in EVENTS if event not in {each.event for each in ours}]
    off = root.get("disableAllHooks")
    record["disabled"] = bool(off and text and text.removeprefix("\ufeff")[off.start : off.end] == "true")
    if not ours:
        return record
    command = ours[0].command.text
    how = "partly" if missing else "yes"
    return record | {
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
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=state_db.WAIT)) as db:
        if not sqlite.is_current(db, state_db.SCHEMA):
            raise sqlite3.DatabaseError("another version of ethogram, or another program, wrote it")
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
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if os.path.lexists(parent))
    if not nearest.is_dir():
        return f"{nearest} is no folder"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{nearest} cannot be written"
    return None


def _size(path: str) -> int:
    ends = (path + end for end in ("", "-wal", "-shm"))
    return sum(os.path.getsize(end) for end in ends if os.path.exists(end))


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
            return state_db.said_so_far(db), db.execute("select count(*) from run").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        hint = "the next event sets it aside and begins anew, or `ethogram hook purge` removes it"
        raise BadInput([Fault(state_path(), 0, 0, f"cannot be read ({error}); {hint}")]) from None


# Purging: what is known of runs, gone from every file of the state folder.

WAIT = 10.0
TABLES = ("run", "said", "found")


@dataclass(frozen=True, slots=True)
class Purged:
    """How much is gone. `clean` is False where another program still holds old pages."""

    runs: int = 0
    said: int = 0
    found: int = 0
    files: tuple[str, ...] = ()
    clean: bool = True


def purge(session: str = "", before: float | None = None) -> Purged:
    """Remove what is known of a session, of what came to pass before a moment, or of everything.

    Files that were set aside go in any case: nobody can say what stands in them. With everything go plans
    and logs, too; how to undo an install stays, since it says nothing of runs.
    """
    gone = _rows(session, before)
    is_all = not session and before is None
    files = [*_aside(), *(_rest() if is_all else [])]
    if gone is None:
        files += _state_files() if is_all or os.path.exists(state_path()) else []
        gone = Purged()
    removed = tuple(str(file) for file in files if _unlinked(file))
    return replace(gone, files=removed)


def _rows(session: str, before: float | None) -> Purged | None:
    """The rows that went; None where there is no file, or none that can be read."""
    path = Path(state_path())
    if not path.exists():
        return None
    where = "1"
    values: list[str | float] = []
    if session:
        where, values = where + " and session=?", [*values, session]
    if before is not None:
        where, values = where + " and at<?", [*values, before]
    try:
        with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as db:
            if not sqlite.is_current(db, SCHEMA):
                if where == "1":
                    return None
                raise EthogramError(f"{path}: another version of ethogram wrote it; only all of it can go")
            db.execute("pragma secure_delete=on")
            with sqlite.transaction(db):
                counts = [db.execute(f"delete from {name} where {where}", values).rowcount for name in TABLES]
            # What was written before stands in free pages and in the log still, until both are made anew.
            runs, said, found = counts
            return Purged(runs, said, found, clean=sqlite.scrub(db))
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise EthogramError(f"{path}: another program writes to it just now; try again") from None
        raise EthogramError(f"{path}: {error}") from None
    except sqlite3.DatabaseError:
        return None


def _state_files() -> list[Path]:
    return [Path(state_path() + end) for end in ("", "-wal", "-shm")]


def _aside() -> list[Path]:
    """Files that could not be read and were set aside."""
    name = Path(state_path()).name
    return sorted(Path(state_dir()).glob(f"{name}.unreadable*"))


def _rest() -> list[Path]:
    """Plans and logs."""
    logs = [Path(log_path()), Path(log_path() + ".old")]
    return [*sorted(Path(state_dir(), "plans").glob("*")), *logs]


def _unlinked(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
