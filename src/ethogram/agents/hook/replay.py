"""Replay recorded runs through the hook: what it would have said, and what heeding it would have saved."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ...app.analyze import analyze
from ...fields import Amount, Count, Name, Ordinal, RecordStruct, Rung, Severity
from ...models import Event
from ...models.constants import MAX_ERROR
from ...signals.agent.path_scope import is_below, leads_outside
from ...signals.agent.step import OUTCOME
from ..payload import AGENT, subject_of
from . import state_db
from .claude_code import handle
from .location import DIR_VARIABLE
from .plan import choose, library_of, make_plan, settings_of
from .status import Outcome

Payload = dict[str, Any]
Calls = list[dict[str, Any]]
"""Pending calls of one agent: the parts of their payloads that name them."""
Respond = Callable[[Payload], dict[str, Any]]
RunKey = tuple[str, str]
"""The session and the agent."""
ReportProgress = Callable[[int, int], None]


def payloads(events: Iterable[Event], cwd: str) -> Iterator[tuple[Event, Payload]]:
    """Yield the payloads a hook would have received of each event.

    An agent's messages reach a hook only where it stops: before a user's message, or at the end. `cwd` is the
    folder of runs that name none, unless their paths lie elsewhere.
    """
    pending: defaultdict[RunKey, Calls] = defaultdict(list)
    events = list(events)
    folders = run_folders(events, cwd)
    for place, event in enumerate(events):
        calls = pending[event.thread or "", event.subject]
        payload = _payload(event, calls, folders[event.thread])
        if payload is None or (
            payload["hook_event_name"] == "Stop" and not _stops(event, events[place + 1 :])
        ):
            continue
        if event.kind == "result" and "tool_use_id" not in payload:
            # The call was not recorded.
            payload["tool_use_id"] = event.id
            yield event, {**payload, "hook_event_name": "PreToolUse"}
        yield event, payload
        if event.kind == "action" and any(event.attributes.get(name) is not None for name in OUTCOME):
            # One event holds the call and its outcome.
            names = ("session_id", "cwd", "agent_id", "agent_type")
            base = {name: payload[name] for name in names if name in payload}
            attributes = {**event.attributes, "call_id": payload["tool_use_id"]}
            yield event, base | _result(replace(event, kind="result", attributes=attributes), calls)


def run_folders(events: Iterable[Event], cwd: str) -> dict[str | None, str]:
    """Return the folder of each run that names none: `cwd`, or '' where all its paths lie elsewhere.

    Somebody else's run was not in this folder, and no path of it would be in its task.
    """
    inside: dict[str | None, set[bool]] = defaultdict(set)
    for event in events:
        path, own = event.attributes.get("path"), inside[event.thread]
        if isinstance(path, str) and leads_outside(path) and not path.startswith("../"):
            own.add(is_below(path, cwd))
    return {thread: "" if own == {False} else cwd for thread, own in inside.items()}


def _stops(event: Event, following: list[Event]) -> bool:
    own = (item for item in following if item.thread == event.thread and item.kind != "condensation")
    after = next(own, None)
    return after is None or (after.kind == "message" and after.attributes.get("role") == "user")


def _payload(event: Event, calls: Calls, cwd: str) -> Payload | None:
    attributes, role = event.attributes, event.attributes.get("role")
    payload: Payload = {"session_id": event.thread or "run"}
    payload |= {"cwd": folder} if (folder := str(attributes.get("cwd") or cwd)) else {}
    if event.kind in ("action", "result"):
        agent = "" if event.subject == AGENT else event.subject.removeprefix(f"{AGENT}/")
        payload |= {"agent_id": agent, "agent_type": "general"} if agent else {}
        return payload | (_call(event, calls) if event.kind == "action" else _result(event, calls))
    if event.kind == "message" and role == "user":
        return payload | {"hook_event_name": "UserPromptSubmit", "prompt": event.text or ""}
    if event.kind == "message" and role == "assistant":
        return payload | {"hook_event_name": "Stop", "stop_hook_active": False,
                          "last_assistant_message": event.text or ""}  # fmt: skip
    if event.kind == "condensation":
        return payload | {"hook_event_name": "PreCompact", "trigger": "auto"}
    return None


def _call(event: Event, calls: Calls) -> Payload:
    attributes = event.attributes
    named = {name: attributes.get(name) for name in ("command", "path")}
    call = {
        "tool_name": str(attributes.get("tool")),
        "tool_input": attributes.get("arguments")
        or {name: value for name, value in named.items() if isinstance(value, str)},
        "tool_use_id": str(attributes.get("call_id") or event.id),
    }
    calls.append(call)
    return {"hook_event_name": "PreToolUse", **call}


def _result(event: Event, calls: Calls) -> Payload:
    attributes = event.attributes
    call_id = attributes.get("call_id")
    # A result without an id belongs to the oldest pending call.
    place = next((n for n, call in enumerate(calls) if call_id in (None, call["tool_use_id"])), None)
    unknown = {"tool_name": str(attributes.get("tool")), "tool_input": {}}
    call = unknown if place is None else calls.pop(place)
    result, error, code = attributes.get("result", ""), attributes.get("error"), attributes.get("exit_code")
    if error is True or (isinstance(error, str) and error == result[:MAX_ERROR]):
        return {"hook_event_name": "PostToolUseFailure", **call, "error": result}
    response: Any = result
    if error is not None or code is not None:
        response = {"stdout": result, "error": error, "exit_code": code}
    return {"hook_event_name": "PostToolUse", **call, "tool_response": response}


def run_hook(payload: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the response of a hook's own process."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ethogram", "hook"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
        # Not the project's folder: the payload names that.
        cwd=os.path.dirname(os.path.abspath(sys.executable)),
        env=None if environ is None else dict(environ),
    )
    response: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
    return response


def in_process(db: sqlite3.Connection, folder: str) -> Respond:
    """Return a hook in this process: the same code and plan, without a new process for each event.

    A run is in the folder that its payloads name.
    """
    loaded = settings_of(folder)
    plan = make_plan(library_of(loaded), loaded.settings)
    now = 0.0

    def respond(payload: Payload) -> dict[str, Any]:
        nonlocal now
        now += 1.0
        return handle(payload, plan, db, now)

    return respond


class Replayed(RecordStruct):
    """One message a hook would have given in a run that is over."""

    RECORD = "hook_replayed"

    run: str
    agent: str
    step: Ordinal
    pattern: Name
    severity: Severity
    rung: Rung
    effect: Outcome
    text: str


class ReplaySummary(RecordStruct):
    """What a hook would have done in runs that are over."""

    RECORD = "hook_replay"

    runs: Count
    runs_spoken_to: Count
    said: Count
    detections: Count
    detections_by_analyze: Count
    detections_in_both: Count
    steps_saved_median: Amount | None
    steps_saved: list[Count]
    """For each run with an intervention: steps from the first one to the end of its episode."""


def replay(
    events: Sequence[Event],
    folder: str = ".",
    *,
    respond: Respond | None = None,
    path: str | None = None,
    progress: ReportProgress | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield every message in the order it would have come, then a summary, as plain data.

    `respond` answers a payload with its state in the file at `path`; by default the hook runs in this
    process with a temporary state. `progress` gets the number of events done and of all.
    """
    with (
        TemporaryDirectory() as temporary,
        closing(state_db.opened(path or str(Path(temporary, "runs.sqlite")))) as db,
    ):
        respond, runs = respond or in_process(db, folder), defaultdict[RunKey, list[Event]](list)
        for done, (event, payload) in enumerate(payloads(events, os.path.abspath(folder)), 1):
            runs[str(payload["session_id"]), subject_of(payload)].append(event)
            respond(payload)
            if progress is not None:
                progress(done, len(events))
        for session in {run[0] for run in runs}:
            state_db.end(db, session)
        for message in state_db.messages(db):
            names = ("agent", "step", "pattern", "severity", "rung", "effect", "text")
            fields = {name: message[name] for name in names}
            yield Replayed(run=message["session"], **fields).to_dict()
        yield _summary(db, runs, folder)


def replay_in_processes(
    events: Sequence[Event], folder: str = ".", *, progress: ReportProgress | None = None
) -> Iterator[dict[str, Any]]:
    """`replay` with a hook process for every event, on a temporary state."""
    with TemporaryDirectory() as temporary:
        environ = {**os.environ, DIR_VARIABLE: temporary, "CLAUDE_PROJECT_DIR": os.path.abspath(folder)}
        path = str(Path(temporary, "runs.sqlite"))
        respond = partial(run_hook, environ=environ)
        yield from replay(events, folder, respond=respond, path=path, progress=progress)


def _summary(db: sqlite3.Connection, runs: Mapping[RunKey, list[Event]], folder: str) -> dict[str, Any]:
    detections, messages = state_db.detections(db), state_db.messages(db)
    own = set()
    for row in detections:
        event = runs[_run(row)][row["opened"] - 1]
        own.add((str(event.thread), event.subject, row["pattern"], event.id, row["severity"]))
    by_analyze = _by_analyze({event.id: event for events in runs.values() for event in events}, folder)
    saved = [steps for run in runs if (steps := _steps_saved(db, run, messages, detections)) is not None]
    acting = [any(event.kind in ("action", "result") for event in events) for events in runs.values()]
    return ReplaySummary(
        runs=sum(acting),
        runs_spoken_to=len({_run(message) for message in messages}),
        said=len(messages),
        detections=len(own),
        detections_by_analyze=len(by_analyze),
        detections_in_both=len(own & by_analyze),
        steps_saved_median=median(saved) if saved else None,
        steps_saved=sorted(saved),
    ).to_dict()


def _run(row: dict[str, Any]) -> RunKey:
    return row["session"], row["agent"]


def _by_analyze(events: Mapping[str, Event], folder: str) -> set[tuple[str, ...]]:
    """The same detections by `analyze`, over the same events."""
    loaded = settings_of(folder)
    names = [item.program.name for item in choose(library_of(loaded))[0]]
    ordered = sorted(events.values(), key=lambda event: event.order)
    folders = run_folders(ordered, os.path.abspath(folder))
    ordered = [_inside(event, folders[event.thread]) for event in ordered]
    detections = analyze(ordered, patterns=names, settings=loaded.settings).detections if names else []
    return {
        (str(item.thread), item.subject, item.pattern, item.fired_event, item.severity) for item in detections
    }


def _inside(event: Event, folder: str) -> Event:
    """An event with the folder of its run, as a payload has it."""
    if not folder or event.attributes.get("cwd"):
        return event
    return replace(event, attributes={**event.attributes, "cwd": folder})


def _steps_saved(
    db: sqlite3.Connection, run: RunKey, messages: list[dict[str, Any]], detections: list[dict[str, Any]]
) -> int | None:
    """Steps from the first message in a run to the end of what it was about; None without a message."""
    first = next((message for message in messages if _run(message) == run), None)
    if first is None:
        return None
    state = state_db.load(db, *run) or {"steps": 0}
    ends = [
        state["steps"] if row["closed"] is None else row["closed_step"]
        for row in detections
        if _run(row) == run and row["pattern"] == first["pattern"] and row["step"] <= first["step"]
    ]
    return max([0, *(int(end) - int(first["step"]) for end in ends)])
