"""Replay recorded runs through the hook."""

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
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ...app.analyze import analyze
from ...fields import Amount, Count, Name, Ordinal, RecordStruct, Rung, Severity
from ...models import Event
from ...models.constants import MAX_ERROR
from ...signals.agent.step import OUTCOME
from ..payload import AGENT, subject_of
from . import state_db
from .location import NAME
from .plan import choose, library_of, settings_of
from .status import EffectWord

# Replaying: a recorded run told to the hook event by event, as its coding agent would have told it.

Payload = dict[str, Any]
Call = dict[str, Any]
"""The part of a payload that says what is called."""
Tell = Callable[[Payload], dict[str, Any]]
"""Takes a payload and gives the answer."""


def payloads(events: Iterable[Event], cwd: str) -> Iterator[tuple[Event, Payload]]:
    """What a hook would have been told of each event; what it would not have been told of is left out.

    An agent's words reach a hook only where it stops: before a person speaks, or at the end.
    """
    waiting: dict[tuple[str, str], list[Call]] = {}
    own = list(events)
    for place, event in enumerate(own):
        payload = _payload(event, waiting, cwd)
        if payload is None:
            continue
        if payload["hook_event_name"] == "Stop" and not _stops(event, own[place + 1 :]):
            continue
        if event.kind == "result" and "tool_use_id" not in payload:
            # Nobody told of the call, but there was one.
            payload["tool_use_id"] = event.id
            yield event, {**payload, "hook_event_name": "PreToolUse"}
        yield event, payload
        if event.kind == "action" and any(event.attributes.get(name) is not None for name in OUTCOME):
            # One event tells the call and what came of it.
            base = {
                name: payload[name]
                for name in ("session_id", "cwd", "agent_id", "agent_type")
                if name in payload
            }
            known = {**event.attributes, "call_id": payload["tool_use_id"]}
            ended = replace(event, kind="result", attributes=known)
            yield event, base | _ended(ended, waiting[event.thread or "", event.subject])


def _stops(event: Event, following: list[Event]) -> bool:
    after = next(
        (item for item in following if item.thread == event.thread and item.kind != "condensation"), None
    )
    return after is None or (after.kind == "message" and after.attributes.get("role") == "user")


def _payload(event: Event, waiting: dict[tuple[str, str], list[Call]], cwd: str) -> Payload | None:
    attributes = event.attributes
    agent = "" if event.subject == AGENT else event.subject.removeprefix(f"{AGENT}/")
    payload: Payload = {"session_id": event.thread or "run", "cwd": str(attributes.get("cwd") or cwd)}
    if event.kind in ("action", "result"):
        payload |= {"agent_id": agent, "agent_type": "general"} if agent else {}
        calls = waiting.setdefault((event.thread or "", event.subject), [])
        return payload | (_called(event, calls) if event.kind == "action" else _ended(event, calls))
    if event.kind == "message" and attributes.get("role") == "user":
        return payload | {"hook_event_name": "UserPromptSubmit", "prompt": event.text or ""}
    if event.kind == "message" and attributes.get("role") == "assistant":
        words = event.text or ""
        return payload | {
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": words,
        }
    if event.kind == "condensation":
        return payload | {"hook_event_name": "PreCompact", "trigger": "auto"}
    return None


def _called(event: Event, calls: list[Call]) -> Payload:
    attributes = event.attributes
    call = {
        "tool_name": str(attributes.get("tool")),
        "tool_input": attributes.get("arguments") or _named(attributes),
        "tool_use_id": str(attributes.get("call_id") or event.id),
    }
    calls.append(call)
    return {"hook_event_name": "PreToolUse", **call}


def _named(record: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call that are told by themselves."""
    named = (("command", record.get("command")), ("path", record.get("path")))
    return {name: value for name, value in named if isinstance(value, str)}


def _ended(event: Event, calls: list[Call]) -> Payload:
    attributes = event.attributes
    # Without an id it is the result of the oldest call that waits.
    place = next(
        (n for n, call in enumerate(calls) if call["tool_use_id"] == attributes.get("call_id")), None
    )
    if place is None and attributes.get("call_id") is None and calls:
        place = 0
    call = (
        calls.pop(place)
        if place is not None
        else {"tool_name": str(attributes.get("tool")), "tool_input": {}}
    )
    result, error, code = attributes.get("result", ""), attributes.get("error"), attributes.get("exit_code")
    if error is True or (isinstance(error, str) and error == result[:MAX_ERROR]):
        return {"hook_event_name": "PostToolUseFailure", **call, "error": result}
    response: Any = result
    if error is not None or code is not None:
        response = {"stdout": result, "error": error, "exit_code": code}
    return {"hook_event_name": "PostToolUse", **call, "tool_response": response}


def by_process(payload: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The answer of a hook's own process."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ethogram", "hook"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
        # Not the project's folder: the payload says where the run works.
        cwd=os.path.dirname(os.path.abspath(sys.executable)),
        env=None if environ is None else dict(environ),
    )
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
    return answer


def within(db: sqlite3.Connection, folder: str) -> Tell:
    """A hook in this process: the same code on the same plan, without starting anew for each event."""
    from .claude_code import handle
    from .plan import choose, library_of, plan_of, settings_of

    loaded = settings_of(folder)
    plan = plan_of(choose(library_of(loaded)), loaded.settings, folder)
    now = 0.0

    def tell(payload: Payload) -> dict[str, Any]:
        nonlocal now
        now += 1.0
        return handle(payload, plan, db, now)

    return tell


# Replay: what the hook would have said in runs that are over, and what heeding it would have saved.

Run = tuple[str, str]
"""The session and the agent."""
Told = defaultdict[Run, list[Event]]
"""What was told of each run, in order."""


class Replayed(RecordStruct):
    """One message a hook would have given in a run that is over."""

    RECORD = "hook_replayed"

    run: str
    agent: str
    step: Ordinal
    pattern: Name
    severity: Severity
    rung: Rung
    effect: EffectWord
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


def replay(
    events: Sequence[Event],
    folder: str = ".",
    *,
    process: Tell | None = None,
    path: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Every intervention in the order it would have come, then a summary, as plain data.

    `process` answers a payload in a process of its own, whose state is the file at `path`; without it the
    same code answers here, on a state that is thrown away. `progress` is told how many of how many events
    are done.
    """
    with (
        TemporaryDirectory() as place,
        closing(state_db.opened(path or str(Path(place, "runs.sqlite")))) as db,
    ):
        tell, told = process or within(db, folder), Told(list)
        for done, (event, payload) in enumerate(payloads(events, os.path.abspath(folder)), 1):
            told[str(payload["session_id"]), subject_of(payload)].append(event)
            tell(payload)
            if progress is not None:
                progress(done, len(events))
        for session in {run[0] for run in told}:
            state_db.end(db, session)
        for item in state_db.said_so_far(db):
            names = ("agent", "step", "pattern", "severity", "rung", "effect", "text")
            yield Replayed(run=item["session"], **{name: item[name] for name in names}).to_dict()
        yield _summary(db, told, folder)


def by_processes(
    events: Sequence[Event], folder: str = ".", *, progress: Callable[[int, int], None] | None = None
) -> Iterator[dict[str, Any]]:
    """`replay` with a process of its own for every event, on a state of their own."""
    with TemporaryDirectory() as place:
        environ = {**os.environ, NAME: place}

        def tell(payload: Payload) -> dict[str, Any]:
            return by_process(payload, environ)

        path = str(Path(place, "runs.sqlite"))
        yield from replay(events, folder, process=tell, path=path, progress=progress)


def _summary(db: sqlite3.Connection, record: Told, folder: str) -> dict[str, Any]:
    found = state_db.found_so_far(db)
    notes = state_db.said_so_far(db)
    own = set()
    for item in found:
        event = record[_run(item)][item["opened"] - 1]
        own.add((str(event.thread), event.subject, item["pattern"], event.id, item["severity"]))
    wanted = _by_analysis(
        list({event.id: event for events in record.values() for event in events}.values()), folder
    )
    saved = [steps for run in record if (steps := _saved(db, run, notes, found)) is not None]
    return ReplaySummary(
        runs=sum(any(event.kind in ("action", "result") for event in events) for events in record.values()),
        runs_spoken_to=len({_run(note) for note in notes}),
        said=len(notes),
        detections=len(own),
        detections_by_analyze=len(wanted),
        detections_in_both=len(own & wanted),
        steps_saved_median=median(saved) if saved else None,
        steps_saved=sorted(saved),
    ).to_dict()


def _run(record: dict[str, Any]) -> Run:
    return record["session"], record["agent"]


def _by_analysis(events: list[Event], folder: str) -> set[tuple[str, ...]]:
    """The same detections by `analyze`, over the same events."""
    loaded = settings_of(folder)
    names = [item.program.name for item in choose(library_of(loaded)).watched]
    events.sort(key=lambda event: event.order)
    settings = replace(loaded.settings, cwd=loaded.settings.cwd or os.path.abspath(folder))
    found = analyze(events, patterns=names, settings=settings).detections if names else []
    return {(str(item.thread), item.subject, item.pattern, item.fired_event, item.severity) for item in found}


def _saved(
    db: sqlite3.Connection, run: Run, notes: list[dict[str, Any]], records: list[dict[str, Any]]
) -> int | None:
    """Steps from the first word in a run to the end of what it was about; None where nothing was said."""
    first = next((note for note in notes if _run(note) == run), None)
    if first is None:
        return None
    state = state_db.load(db, *run) or {"steps": 0}
    ends = [
        state["steps"] if item["closed"] is None else item["closed_step"]
        for item in records
        if _run(item) == run and item["pattern"] == first["pattern"] and item["step"] <= first["step"]
    ]
    return max([0, *(int(end) - int(first["step"]) for end in ends)])
