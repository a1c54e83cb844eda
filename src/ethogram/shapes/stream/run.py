"""The live runner over events that are all there: the same outcome as the plain one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...records import Event, micros
from ..finding import NO_TIMES, Insufficient
from ..history import CAP
from ..plain import Outcome, _need
from ..program import LevelProgram, Program, SequenceProgram, SilenceProgram
from .record import CLOSED
from .stream import Stream
from .track import Track, Watched


def run(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int = CAP) -> Outcome:
    """Episodes of all programs over events that are in order and not after `as_of` (microseconds)."""
    stream = Stream(programs, cap)
    outcome = Outcome()
    found: list[Any] = outcome.findings
    for event in events:
        changes = [*stream.advance(event.source, micros(event.at)), *stream.observe(event)]
        found += [change.episode for change in changes if change.what == CLOSED]
    for source in stream.sources():
        stream.advance(source, as_of)
    found += [change.episode for change in stream.open()]
    outcome.checked = {track.program.name: len(track.watched) for track in stream.tracks}
    outcome.insufficient = insufficient(stream)
    return outcome


def insufficient(stream: Stream) -> list[Insufficient]:
    """The histories about which a program cannot say yes or no."""
    stream.cells.write_all()
    return [
        Insufficient(track.program, watched.key[0], watched.key[1:], watched.rows.n, *lacking)
        for track in stream.tracks
        for watched in track.watched.values()
        if (lacking := _lacking(track, watched)) is not None
    ]


def _lacking(track: Track, watched: Watched) -> tuple[int, str] | None:
    """How many readings are needed, and why it cannot be judged; None where it can."""
    rows, state = watched.rows, watched.state
    if track.program.timed_only and not rows.timed:
        return 0, NO_TIMES
    match track.program.body:
        case SequenceProgram(places=places) if not state.known:
            return _need(places[0].condition), f"step '{places[0].step}' could not be judged anywhere"
        case LevelProgram(when=when) if not state.known:
            return _need(when), "its condition could not be judged anywhere"
        case SilenceProgram() as body if rows.n < body.at_least or (state.asked and not state.known):
            need = max(body.at_least, _need(body.longer_than))
            return need, "too few events to know what is usual"
    return None
