"""Status of the hook: where it is installed, what it watches, what its messages achieved; purge."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
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
from . import state_db
from .install import BOM, SCOPES, hook_commands, read, settings_path
from .json_edits import Node, parse
from .location import EVENTS, is_current, log_path, plan_path, read_data, state_dir, state_path
from .plan import choose, library_of, rules_in, settings_of

OUTCOMES = ("stopped", "went_on", "allowed", "declined", "ended", "open")
"""stopped: did not recur within five steps; went_on: recurred; allowed, declined: the user's answer;
ended: the session ended first; open: not known yet."""
WAIT = 10.0
"""Seconds that a purge waits for other writers."""
STATE_SUFFIXES = ("", "-wal", "-shm")

Outcome = Annotated[str, one_of(*OUTCOMES)]
Message = Mapping[str, Any]
"""A row of `state_db.messages`."""


class OutcomeCounts(RecordStruct):
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
    effects: list[OutcomeCounts]


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
    effect: Outcome
    effect_after_steps: Count | None


def outcomes(messages: Sequence[Message]) -> list[OutcomeCounts]:
    """Return the outcomes of messages by pattern and rung, mildest first.

    The share counts only messages that are settled as stopped or went_on.
    """
    until = steps_until(messages)
    groups: dict[tuple[str, str], list[int]] = {}
    for place, message in enumerate(messages):
        groups.setdefault((message["pattern"], message["rung"]), []).append(place)
    ordered = sorted(groups, key=lambda key: (key[0], RUNGS.index(key[1]) if key[1] in RUNGS else 9, key[1]))
    return [_outcome(key, groups[key], messages, until) for key in ordered]


def _outcome(
    key: tuple[str, str], places: Sequence[int], messages: Sequence[Message], until: Mapping[int, int]
) -> OutcomeCounts:
    effects = [messages[place]["effect"] for place in places]
    counts = {name: effects.count(name) for name in OUTCOMES}
    steps = [until[place] for place in places if place in until]
    after = (messages[place]["after"] for place in places if messages[place]["effect"] == "went_on")
    returns = [count for count in after if count is not None]
    stopped, settled = counts["stopped"], counts["stopped"] + counts["went_on"]
    low, high = wilson(stopped, settled) if settled else (None, None)
    return OutcomeCounts(
        pattern=key[0],
        rung=key[1],
        given=len(places),
        **counts,
        share_stopped=stopped / settled if settled else None,
        low=low,
        high=high,
        median_steps_to_stop=median(steps) if steps else None,
        median_steps_to_return=median(returns) if returns else None,
    )


def steps_until(messages: Sequence[Message]) -> dict[int, int]:
    """Return, for each message after which it stopped, the steps since the first message about it.

    Messages about one pattern to one agent belong together until it stops; 0 is: stopped at once.

    >>> base = {"session": "s", "agent": "agent", "pattern": "p"}
    >>> steps_until([{**base, "step": 10, "effect": "went_on"}, {**base, "step": 16, "effect": "stopped"}])
    {1: 6}
    """
    first: dict[tuple[str, str, str], int] = {}
    steps = {}
    for place, message in enumerate(messages):
        key = (message["session"], message["agent"], message["pattern"])
        begun = first.setdefault(key, message["step"])
        if message["effect"] == "stopped":
            steps[place] = message["step"] - begun
        if message["effect"] in ("stopped", "ended"):
            del first[key]
    return steps


def select(messages: Iterable[Message], session: str = "", since: float | None = None) -> list[Message]:
    """Return the messages of a session, from a time on (included)."""
    return [
        message
        for message in messages
        if (not session or message["session"] == session) and (since is None or message["at"] >= since)
    ]


def message_record(message: Message) -> dict[str, Any]:
    """Return the JSON form of one message."""
    names = ("session", "agent", "step", "pattern", "severity", "rung", "text", "effect")
    fields = {name: message[name] for name in names}
    return HookSaid(at=_time(message["at"]), **fields, effect_after_steps=message["after"]).to_dict()


def _time(at: float) -> str:
    return format_time(datetime.fromtimestamp(int(at), UTC))


def report_record(messages: Sequence[Message], runs: int) -> dict[str, Any]:
    """Return the JSON form of all outcomes."""
    return HookReport(runs=runs, given=len(messages), effects=outcomes(messages)).to_dict()


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
    plugin: str | None = None
    """The plugin with the hook that the file turns on."""
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
    """partly: some events are missing; unknown: the settings of the agent cannot be read."""
    watching: WatchedPatterns
    settings: SettingsState
    state: StateFile
    plan: PlanFile
    """An old plan is rebuilt with the next event."""
    faults: FaultLog


def watching(folder: str) -> tuple[Loaded, WatchedPatterns]:
    """Return the settings of a folder and what is watched there.

    BadConfig or BadPattern if the settings cannot be used.
    """
    loaded = settings_of(folder)
    (patterns, left_out), rules = choose(library_of(loaded)), rules_in(loaded.settings)
    ladder = Ladder(
        rungs=[LadderRung(rung, rung in rules.active_rungs) for rung in RUNGS],
        off=rules.off,
        cool_down=rules.cool_down,
        most=rules.most,
        lowest=rules.lowest,
        critical=rules.critical,
    )
    return loaded, WatchedPatterns(
        watched=sorted(item.program.name for item in patterns),
        left_out=[LeftOut(*item) for item in left_out],
        ladder=ladder,
    )


def status(folder: str) -> dict[str, Any]:
    """Return the whole status as one record; nothing is changed."""
    try:
        loaded, watched = watching(folder)
        settings = SettingsState(path=loaded.path, faults=(), warnings=loaded.warnings)
    except BadInput as error:
        watched = WatchedPatterns(watched=None, left_out=[], ladder=None)
        settings = SettingsState(path=None, faults=error.faults, warnings=())
    return HookStatus(
        folder=os.path.abspath(folder),
        installed=[installation(scope, folder) for scope in SCOPES],
        watching=watched,
        settings=settings,
        state=_state(),
        plan=_plan_state(folder),
        faults=_own_faults(),
    ).to_dict()


def installation(scope: str, folder: str) -> Installed:
    """Return whether the hook is in a settings file: for all events (yes), some (partly) or none (no)."""
    path = settings_path(scope, folder)
    make = partial(Installed, scope=scope, path=str(path))
    try:
        content = read(path, path)
        text = (content or "").removeprefix(BOM)
        root = Node("an object", 0, 0) if content is None else parse(text, str(path))
    except BadInput as error:
        return make(installed="unknown", fault=error.faults[0])
    except OSError as error:
        return make(installed="unknown", fault=Fault(str(path), 0, 0, error.strerror or str(error)))
    off = root.get("disableAllHooks")
    disabled = off is not None and text[off.start : off.end] == "true"
    make = partial(make, disabled=disabled, plugin=_plugin(text, root))
    ours = [item for item in hook_commands(root) if item.event in EVENTS]
    if not ours:
        return make()
    command, events = ours[0].command.text, {item.event for item in ours}
    missing = [event for event in EVENTS if event not in events]
    return make(
        installed="partly" if missing else "yes",
        command=command,
        executable=shutil.which(shlex.split(command)[0]) is not None,
        missing=missing,
    )


def _plugin(text: str, root: Node) -> str | None:
    """The name of our plugin where the agent's settings turn it on."""
    plugins = root.get("enabledPlugins")
    for item in plugins.members if plugins is not None else ():
        if item.name.startswith("ethogram@") and text[item.start : item.end] == "true":
            return item.name
    return None


@contextmanager
def _opened() -> Iterator[sqlite3.Connection | None]:
    """The state file, read-only; None without one. sqlite3.Error if it is unusable."""
    path = Path(state_path()).absolute()
    if not path.exists():
        yield None
        return
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=state_db.WAIT)) as db:
        if not sqlite.is_current(db, state_db.SCHEMA):
            raise sqlite3.DatabaseError("another version of ethogram, or another program, wrote it")
        yield db


def _state() -> StateFile:
    """The state file: its size, the number of runs, and the time of the last event."""
    path = state_path()
    make = partial(
        StateFile,
        path=path,
        bytes=sum(os.path.getsize(file) for file in _state_files() if file.exists()),
        set_aside=os.path.exists(f"{path}.unreadable"),
        folder_fault=_folder_fault(Path(path).parent),
    )
    try:
        with _opened() as db:
            if db is None:
                return make()
            runs, last = db.execute("select count(*), max(at) from run").fetchone()
            interventions = db.execute("select count(*) from said").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        return make(fault=str(error))
    return make(runs=runs, said=interventions, last_event=None if last is None else _time(last))


def _folder_fault(folder: Path) -> str | None:
    """Why nothing can be stored in a folder that exists or would be created; None if it can.

    A hook that cannot store anything stays silent, so only the status reports it.
    """
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if os.path.lexists(parent))
    if not nearest.is_dir():
        return f"{nearest} is not a folder"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{nearest} cannot be written"
    return None


def _plan_state(folder: str) -> PlanFile:
    """The plan of a folder: current, old (renewed with the next event) or none."""
    path = plan_path(folder)
    data = read_data(path)
    return PlanFile(path, "none" if data is None else "current" if is_current(data["stamp"]) else "old")


def _own_faults() -> FaultLog:
    """The number of logged faults of the hook, and the newest."""
    lines: list[str] = []
    for path in (log_path() + ".old", log_path()):
        with suppress(OSError):
            lines += Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    return FaultLog(log_path(), len(lines), lines[-1] if lines else None)


def load_messages() -> tuple[list[dict[str, Any]], int]:
    """Return every message, oldest first, and the number of runs. BadInput if the state is unusable."""
    try:
        with _opened() as db:
            if db is None:
                return [], 0
            return state_db.messages(db), db.execute("select count(*) from run").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        hint = "the next event sets it aside and starts a new one, or `ethogram hook purge` removes it"
        raise BadInput([Fault(state_path(), 0, 0, f"cannot be read ({error}); {hint}")]) from None


@dataclass(frozen=True, slots=True)
class PurgedRuns:
    """How much was removed. `clean` is False if another program, or a full disk, kept old pages."""

    runs: int = 0
    interventions: int = 0
    detections: int = 0
    files: tuple[str, ...] = ()
    clean: bool = True


def purge(session: str = "", before: float | None = None) -> PurgedRuns:
    """Remove the data of a session, of what happened before a time, or everything.

    Files that were set aside go in any case: their content is unknown. With everything go plans and logs,
    too; the undo information of an install stays, since it says nothing about runs.
    """
    counts = _purge_rows(session, before)
    is_all = not session and before is None
    files = sorted(Path(state_dir()).glob(f"{Path(state_path()).name}.unreadable*"))
    if is_all:
        logs = [Path(log_path()), Path(log_path() + ".old")]
        files += [*sorted(Path(state_dir(), "plans").glob("*")), *logs]
    if counts is None and (is_all or os.path.exists(state_path())):
        files += _state_files()
    removed = [str(file) for file in files if file.exists() or file.is_symlink()]
    for file in files:
        file.unlink(missing_ok=True)
    return replace(counts or PurgedRuns(), files=tuple(removed))


def _purge_rows(session: str, before: float | None) -> PurgedRuns | None:
    """Remove rows; None if there is no readable file."""
    path = Path(state_path())
    if not path.exists():
        return None
    where, values = "1", list[str | float]()
    for condition, value in ((" and session=?", session or None), (" and at<?", before)):
        if value is not None:
            where, values = where + condition, [*values, value]
    try:
        with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as db:
            if not sqlite.is_current(db, state_db.SCHEMA):
                if where == "1":
                    return None
                raise EthogramError(f"{path}: written by another version of ethogram: purge all of it")
            db.execute("pragma secure_delete=on")
            with sqlite.transaction(db):
                tables = ("run", "said", "found")
                counts = [db.execute(f"delete from {name} where {where}", values).rowcount for name in tables]
            # Free pages and the log still hold what was written before, until both are rebuilt.
            runs, interventions, detections = counts
            return PurgedRuns(runs, interventions, detections, clean=sqlite.scrub(db))
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise EthogramError(f"{path}: another program is writing to it; try again") from None
        raise EthogramError(f"{path}: {error}") from None
    except sqlite3.DatabaseError:
        return None


def _state_files() -> list[Path]:
    return [Path(state_path() + suffix) for suffix in STATE_SUFFIXES]
