"""The patterns of a conversation: a watch over the readings of the person's turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from ..config import Settings
from ..library.load import ON, load_patterns
from ..library.vocabulary import load_vocabulary
from ..records import Detection, Event, micros, moment
from ..shapes.program import Program
from ..signals.define import Unmeasured
from ..stores.kept import TALKS
from .live import Watch

SOURCE, KIND = TALKS, "turn"
"""Of the events made here. Their kind is not that of messages, since they are measured already."""
CAP = 64
"""Turns that a pattern may look back on."""
STEP = timedelta(seconds=1)
TICK = timedelta(microseconds=1)
START, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
MOST_KEPT = 8
_compiled: dict[str, tuple[Program, ...]] = {}
_lock = Lock()


def programs_of(patterns: Sequence[str | Path] | None, settings: Settings) -> tuple[Program, ...]:
    """The compiled patterns: those asked for, or those of conversations that are on. Compiled once."""
    told = (settings.patterns, settings.parameters, settings.status, settings.signals)
    key = repr((None if patterns is None else [str(one) for one in patterns], *told))
    with _lock:
        if key not in _compiled:
            if len(_compiled) >= MOST_KEPT:
                del _compiled[next(iter(_compiled))]
            _compiled[key] = _programs(patterns, settings)
        return _compiled[key]


def _programs(patterns: Sequence[str | Path] | None, settings: Settings) -> tuple[Program, ...]:
    library = load_patterns(
        ["risk/*"] if patterns is None else patterns,
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )
    if patterns is not None:
        return library.programs
    on = {name for name in library.chosen if library.files[name].status in ON}
    return tuple(one for one in library.programs if one.pattern in on)


class TurnWatch:
    """Watches the turns of one conversation; they are numbered here, so none comes twice or late."""

    def __init__(self, conversation: str, subject: str, watch: Watch) -> None:
        self._conversation, self._subject, self._watch = conversation, subject, watch
        self._last: datetime | None = None
        self._timed = False
        self._number = 0

    def observe(
        self, values: Mapping[str, float | str | Unmeasured], at: datetime | None
    ) -> tuple[Detection, ...]:
        """What opened, rose or closed with a turn of these readings."""
        self._number += 1
        self._timed = self._timed or at is not None
        event = Event(
            id=f"{self._conversation}:{self._number}",
            at=self._moment(at),
            subject=self._subject,
            seq=self._number,
            source=SOURCE,
            timed=self._timed,
            thread=self._conversation,
            kind=KIND,
            attributes={"role": "user"},
            readings={name: one for name, one in values.items() if not isinstance(one, Unmeasured)},
        )
        found = self._watch.observe(event)
        self._watch.forget_arrivals()
        return tuple(found)

    def _moment(self, at: datetime | None) -> datetime:
        # The order of turns is that in which they are told, whatever the clocks say.
        if self._last is None:
            self._last = at or START
        elif at is None:
            self._last = min(self._last, LAST - STEP) + STEP
        else:
            self._last = max(at, min(self._last, LAST - TICK) + TICK)
        return self._last

    def save(self) -> dict[str, Any]:
        """All there is to keep, as JSON's own types."""
        last = None if self._last is None else micros(self._last)
        told = {"last": last, "timed": self._timed, "number": self._number}
        return {**told, "watch": self._watch.save()}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where another was saved."""
        from .live_save import load

        self._last = None if saved["last"] is None else moment(saved["last"])
        self._timed, self._number = saved["timed"], saved["number"]
        load(self._watch, saved["watch"])
