"""Why: what became of one pattern in one history, as a record that a program or a page can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any

from ..records import Detection, Value, format_time
from .why_combination import PartWhy
from .why_condition import Limit
from .why_level import LevelWhy, SilenceWhy
from .why_sequence import SequenceWhy

FIRED, QUIET, INSUFFICIENT, NO_HISTORY = "fired", "quiet", "insufficient data", "no history"


@dataclass(frozen=True, slots=True)
class Fired:
    """One firing: the event at which it fired or opened, and how grave it was."""

    event: str
    at: datetime
    level: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Why:
    """What became of one pattern in one history: `answer` is one of the four words above.

    Of `sequence`, `level`, `silence` and `parts` with `limits` the one is there that is the pattern's shape.
    """

    pattern: str
    title: str
    shape: str
    source: str
    subject: str
    history: Mapping[str, Value]
    events: int
    timed: bool
    answer: str
    reason: str = ""
    fired: tuple[Fired, ...] = ()
    sequence: SequenceWhy | None = None
    level: LevelWhy | None = None
    silence: SilenceWhy | None = None
    parts: tuple[PartWhy, ...] = ()
    limits: tuple[Limit, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, one record."""
        return {"record": "why", **_plain(self)}


def _plain(value: Any) -> Any:
    """Records as plain data: times as text, pairs of text and value as objects."""
    if isinstance(value, Detection):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        if len(value) == 2 and isinstance(value[0], str):
            return {"text": value[0], "value": _plain(value[1])}
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class Question:
    """Whose histories are asked about; `at` is the id of the event to look at."""

    subject: str
    target: str | None = None
    thread: str | None = None
    at: str | None = None
