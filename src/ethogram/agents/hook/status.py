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
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from ...config import Loaded
from ...errors import BadInput, EthogramError, Fault
from ...fields import Amount, Count, Name, Ordinal, Ratio, RecordStruct, Rung, Severity, one_of
from ...files import sqlite
from ...models.constants import RUNGS
from ...models.record import decimals
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
EffectWord = Annotated[str, one_of(*EFFECTS)]


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

    def record(self) -> EffectRecord:
        """The shares and medians as they are written."""
        settled = self.counts["stopped"] + self.counts["went_on"]
        low, high = wilson(self.counts["stopped"], settled) if settled else (None, None)
        return EffectRecord(
            pattern=self.pattern,
            rung=self.rung,
            given=self.given,
            **{name: self.counts[name] for name in EFFECTS},
            share_stopped=self.counts["stopped"] / settled if settled else None,
            low=low,
            high=high,
            median_steps_to_stop=median(self.steps) if self.steps else None,
            median_steps_to_return=median(self.returns) if self.returns else None,
        )


class EffectRecord(RecordStruct):
    """What came of all that was said about one pattern on one rung."""

    DECIMALS = decimals(4, "share_stopped", "low", "high")

    pattern: Name
    rung: Rung
    given: Count
    stopped: Count
    went_on: Count
    allowed: Count
    declined: Count
    ended: Count
    open: Count
    share_stopped: Ratio | None
    low: Ratio | None
    high: Ratio | None
    median_steps_to_stop: Amount | None
    median_steps_to_return: Amount | None


class HookReport(RecordStruct):
    """What came of all that hooks said, by pattern and rung."""

    RECORD = "hook_report"

    runs: Count
    given: Count
    effects: list[EffectRecord]


class HookSaid(RecordStruct):
    """One message of a hook to an agent, and what came of it."""

    RECORD = "hook_said"

    at: str
    session: str
    agent: str
    step: Ordinal
    pattern: Name
    severity: Severity
    rung: Rung
    text: str
    """What was said; secrets are masked."""
    effect: EffectWord
    effect_after_steps: Count | None


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
    """The record of one intervention."""
    names = ("session", "agent", "step", "pattern", "severity", "rung", "text", "effect")
    facts = {name: record[name] for name in names}
    return HookSaid(at=moment(record["at"]), **facts, effect_after_steps=record["after"]).to_dict()


def moment(at: float) -> str:
    """A time of the state file as records tell it, in whole seconds."""
    return format_time(datetime.fromtimestamp(int(at), UTC))


def report_record(records: Sequence[Mapping[str, Any]], runs: int) -> dict[str, Any]:
    """The record of all effects."""
    found = [effect.record() for effect in effects(records)]
    return HookReport(runs=runs, given=len(records), effects=found).to_dict()


# Status: where a hook is installed, what it watches in a folder, and how it fares.


class Installed(RecordStruct, kw_only=True):
    """A settings file of the agent, and whether a hook is in it."""

    scope: Annotated[str, one_of("project", "user")]
    path: str
    installed: Annotated[str, one_of("yes", "partly", "no", "unknown")] = "no"
    command: str | None = None
    executable: bool | None = None
    """Whether it can be started."""
    missing: Sequence[Name] = EVENTS
    disabled: bool = False
    """The file turns all hooks off."""
    fault: Fault | None = None


class LeftOut(RecordStruct):
    """A pattern that is not watched, and why."""

    pattern: Name
    reason: str


class LadderRung(RecordStruct):
    """A rung, and whether it is used."""

    rung: Rung
    on: bool


class Ladder(RecordStruct):
    """What is done about a thing that recurs, one rung at a time."""

    rungs: list[LadderRung]
    off: Sequence[str]
    cool_down: Count
    most: Count
    lowest: Severity
    critical: Annotated[str, one_of("ask", "off")]


class WatchedPatterns(RecordStruct):
    """The patterns that are watched in a folder, and what is done about them."""

    watched: list[Name] | None
    """null: the settings cannot be used."""
    left_out: list[LeftOut]
    ladder: Ladder | None


class SettingsState(RecordStruct):
    """The settings that hold in a folder, and what is wrong with them."""

    path: str | None
    faults: Sequence[Fault]
    warnings: Sequence[str]


class StateFile(RecordStruct, kw_only=True):
    """The state file of the hook."""

    path: str
    bytes: Count = 0
    runs: Count = 0
    said: Count = 0
    last_event: str | None = None
    set_aside: bool
    """An older file could not be read."""
    fault: str | None = None
    folder_fault: str | None
    """Why nothing can be kept there."""


class PlanFile(RecordStruct):
    """The plan of a folder; an old one is made anew with the next event."""

    path: str
    state: Annotated[str, one_of("current", "old", "none")]


class FaultLog(RecordStruct):
    """Faults of the hook itself."""

    path: str
    count: Count
    newest: str | None


class HookStatus(RecordStruct):
    """Where the hook is installed, what it watches, and its state."""

    RECORD = "hook_status"
    FLAT = ("watching",)

    folder: str
    installed: list[Installed]
    watching: WatchedPatterns
    settings: SettingsState
    state: StateFile
    plan: PlanFile
    faults: FaultLog


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
    return HookStatus(
        folder=os.path.abspath(folder),
        installed=[place(scope, folder) for scope in SCOPES],
        watching=watched_facts(seen),
        settings=SettingsState(
            path=seen.loaded.path if seen else None,
            faults=faults,
            warnings=seen.loaded.warnings if seen else (),
        ),
        state=state(),
        plan=plan_state(folder),
        faults=own_faults(),
    ).to_dict()


def watched_facts(seen: Watching | None) -> WatchedPatterns:
    """The patterns that are watched, and the ladder as the settings have it."""
    if seen is None:
        return WatchedPatterns(watched=None, left_out=[], ladder=None)
    rules = seen.rules
    ladder = Ladder(
        rungs=[LadderRung(rung, rung in rules.climbed) for rung in RUNGS],
        off=rules.off,
        cool_down=rules.cool_down,
        most=rules.most,
        lowest=rules.lowest,
        critical=rules.critical,
    )
    return WatchedPatterns(
        watched=sorted(item.program.name for item in seen.chosen.watched),
        left_out=[LeftOut(*item) for item in seen.chosen.left_out],
        ladder=ladder,
    )


# The agent's settings.


def place(scope: str, folder: str) -> Installed:
    """Whether a hook of ours stands in a settings file: for all events, for some (partly), or not."""
    path = settings_path(scope, folder)
    made = partial(Installed, scope=scope, path=str(path))
    try:
        text = read(path, path)
        root = Node("an object", 0, 0) if text is None else parse(text.removeprefix("\ufeff"), str(path))
    except BadInput as error:
        return made(installed="unknown", fault=error.faults[0])
    except OSError as error:
        return made(installed="unknown", fault=Fault(str(path), 0, 0, error.strerror or str(error)))
    ours = [item for item in found(root) if item.event in EVENTS]
    off = root.get("disableAllHooks")
    disabled = bool(off and text and text.removeprefix("\ufeff")[off.start : off.end] == "true")
    if not ours:
        return made(disabled=disabled)
    missing = [event for event in EVENTS if event not in {each.event for each in ours}]
    command = ours[0].command.text
    return made(
        installed="partly" if missing else "yes",
        command=command,
        executable=is_there(command),
        missing=missing,
        disabled=disabled,
    )


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


def state() -> StateFile:
    """The state file: its size, how many runs are in it, and when the last event came."""
    path = state_path()
    made = partial(
        StateFile,
        path=path,
        set_aside=os.path.exists(f"{path}.unreadable"),
        folder_fault=folder_fault(Path(path).parent),
    )
    try:
        with opened() as db:
            if db is None:
                return made()
            runs, last = db.execute("select count(*), max(at) from run").fetchone()
            said = db.execute("select count(*) from said").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        return made(bytes=_size(path), fault=str(error))
    last_event = None if last is None else moment(last)
    return made(bytes=_size(path), runs=runs, said=said, last_event=last_event)


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


def plan_state(folder: str) -> PlanFile:
    """The plan of a folder: current, old (made anew with the next event), or none."""
    path = plan_path(folder)
    data = read_data(path)
    state = "none" if data is None else "current" if is_current(data["stamp"]) else "old"
    return PlanFile(path, state)


def own_faults() -> FaultLog:
    """Faults of ours: how many were logged, and the newest."""
    lines: list[str] = []
    for path in (log_path() + ".old", log_path()):
        try:
            lines += Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
    return FaultLog(log_path(), len(lines), lines[-1] if lines else None)


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
