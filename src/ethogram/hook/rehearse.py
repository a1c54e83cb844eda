"""Rehearsing: what the hook would have said in runs that are over, and what heeding it would have saved."""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ..modes.analyze import analyze
from ..records import Event
from . import keep
from .payload import subject_of
from .place import NAME
from .planning import choose, library_of, settings_of
from .replay import Payload, Tell, by_process, payloads, within

Run = tuple[str, str]
"""The session and the agent."""
Told = defaultdict[Run, list[Event]]
"""What was told of each run, in order."""


def rehearse(
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
    with TemporaryDirectory() as place, closing(keep.opened(path or str(Path(place, "runs.sqlite")))) as db:
        tell, told = process or within(db, folder), Told(list)
        for done, (event, payload) in enumerate(payloads(events, os.path.abspath(folder)), 1):
            told[str(payload["session_id"]), subject_of(payload)].append(event)
            tell(payload)
            if progress is not None:
                progress(done, len(events))
        for session in {run[0] for run in told}:
            keep.end(db, session)
        for one in keep.said_so_far(db):
            yield {
                "record": "hook_rehearsed",
                "run": one["session"],
                **{
                    name: one[name]
                    for name in ("agent", "step", "pattern", "level", "rung", "effect", "text")
                },
            }
        yield _summary(db, told, folder)


def by_processes(
    events: Sequence[Event], folder: str = ".", *, progress: Callable[[int, int], None] | None = None
) -> Iterator[dict[str, Any]]:
    """`rehearse` with a process of its own for every event, on a state of their own."""
    with TemporaryDirectory() as place:
        environ = {**os.environ, NAME: place}

        def tell(payload: Payload) -> dict[str, Any]:
            return by_process(payload, environ)

        path = str(Path(place, "runs.sqlite"))
        yield from rehearse(events, folder, process=tell, path=path, progress=progress)


def _summary(db: sqlite3.Connection, told: Told, folder: str) -> dict[str, Any]:
    found = keep.found_so_far(db)
    notes = keep.said_so_far(db)
    own = set()
    for one in found:
        event = told[_run(one)][one["opened"] - 1]
        own.add((str(event.thread), event.subject, one["pattern"], event.id, one["level"]))
    wanted = _by_analysis(
        list({event.id: event for events in told.values() for event in events}.values()), folder
    )
    saved = [steps for run in told if (steps := _saved(db, run, notes, found)) is not None]
    return {
        "record": "hook_rehearsal",
        "runs": sum(any(one.kind in ("action", "result") for one in events) for events in told.values()),
        "runs_spoken_to": len({_run(one) for one in notes}),
        "said": len(notes),
        "detections": len(own),
        "detections_by_analyze": len(wanted),
        "detections_in_both": len(own & wanted),
        "steps_saved_median": median(saved) if saved else None,
        "steps_saved": sorted(saved),
    }


def _run(one: dict[str, Any]) -> Run:
    return one["session"], one["agent"]


def _by_analysis(events: list[Event], folder: str) -> set[tuple[str, ...]]:
    """The same detections by `analyze`, over the same events."""
    loaded = settings_of(folder)
    names = [one.program.name for one in choose(library_of(loaded)).watched]
    events.sort(key=lambda one: one.order)
    settings = replace(loaded.settings, cwd=loaded.settings.cwd or os.path.abspath(folder))
    found = analyze(events, patterns=names, settings=settings).detections if names else []
    return {(str(one.thread), one.subject, one.pattern, one.fired_event, one.level) for one in found}


def _saved(
    db: sqlite3.Connection, run: Run, notes: list[dict[str, Any]], found: list[dict[str, Any]]
) -> int | None:
    """Steps from the first word in a run to the end of what it was about; None where nothing was said."""
    first = next((one for one in notes if _run(one) == run), None)
    if first is None:
        return None
    state = keep.load(db, *run) or {"steps": 0}
    ends = [
        state["steps"] if one["closed"] is None else one["closed_step"]
        for one in found
        if _run(one) == run and one["pattern"] == first["pattern"] and one["step"] <= first["step"]
    ]
    return max([0, *(int(end) - int(first["step"]) for end in ends)])
