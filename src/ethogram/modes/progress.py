"""Progress: how far sequences have come that have not fired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..records import Value, format_time
from ..shapes.stream.chain import Link
from ..shapes.stream.sequence import SequenceMachine
from ..shapes.stream.stream import Stream
from ..shapes.stream.track import Track, Watched


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one sequence has come in one history. `stage` counts whole steps, `events` matched events.

    `since` is when the first matched event was, `last` when the newest one was.
    """

    pattern: str
    source: str
    history: dict[str, Value]
    stage: int
    of: int
    step: str
    events: int
    since: datetime
    last: datetime

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "progress",
            "pattern": self.pattern,
            "source": self.source,
            "history": dict(self.history),
            "stage": self.stage,
            "of": self.of,
            "step": self.step,
            "events": self.events,
            "since": format_time(self.since),
            "last": format_time(self.last),
        }


def progress_of(stream: Stream, subject: str, source: str | None) -> list[Progress]:
    """Every sequence that has come some way in a history of the subject."""
    stream.cells.write_all()
    return [
        one
        for track in stream.tracks
        if isinstance(track.machine, SequenceMachine)
        for watched in track.watched.values()
        if watched.key[1 + track.subject] == subject and source in (None, watched.key[0])
        for one in _standing(track, watched)
    ]


def _standing(track: Track, watched: Watched) -> Iterator[Progress]:
    """The furthest chain that could still become a detection, if there is one."""
    machine: SequenceMachine = track.machine
    rows, places = watched.rows, machine.body.places
    for i in range(len(places) - 1, -1, -1):
        link: Link | None = watched.state.standing[i]
        if link is None or link.first.position <= watched.state.fired:
            continue
        first = link.first
        if not machine.goes_on(i, link, rows):
            continue
        if not machine.within.holds(rows.n - first.position, rows.us - first.mark.us, rows.timed):
            continue
        step = places[i].step
        is_whole = i + 1 == len(places) or places[i + 1].step != step
        yield Progress(
            pattern=track.program.name,
            source=watched.key[0],
            history=dict(zip(track.program.history, watched.key[1:], strict=True)),
            stage=machine.steps[i] + is_whole,
            of=machine.steps[-1] + 1,
            step=step,
            events=i + 1,
            since=first.mark.at,
            last=link.seen.mark.at,
        )
        return
