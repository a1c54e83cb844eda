"""Event: one thing a subject did or met, at one time. Reading: one measured value."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from .slotted import dataclass, field
from .timestamps import format_time

Value = float | str
"""What a reading or attribute can be compared with: a number or a category."""

MILLION = 1_000_000

_LARGE = 1e9
"""From here on a float has no more than six decimals or so of its own."""


def millionths(value: float) -> int:
    """A finite number in fixed point: the nearest integer of millionths, halves to the even one.

    >>> millionths(0.1 + 0.2), millionths(-2), millionths(1e300) == int(1e300) * 10**6
    (300000, -2000000, True)
    """
    return round(value * 1e6) if -1e15 < value < 1e15 else int(value) * MILLION


def rounded(value: Any) -> Any:
    """A number with six decimals, as readings are; anything else as it is."""
    return round(value * 1e6) / 1e6 if value.__class__ is float and -_LARGE < value < _LARGE else value


INPUT_SCORER = "given"
"""The scorer of a reading that came with the event without a scorer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of one signal at one event, and who measured it with how much context."""

    signal: str
    value: Value
    scorer: str = INPUT_SCORER
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One thing a subject did or met.

    `at` is UTC. `timed` is false where the source has no times: then `at` only keeps order.
    `readings` holds plain values, numbers rounded to six decimals; `scorers` and `widths` name who measured
    those that say so.

    >>> Event.sample(readings={"risk": 0.12345678}).readings
    {'risk': 0.123457}
    """

    id: str
    at: datetime
    subject: str
    seq: int = 0
    source: str = "input"
    timed: bool = True
    received_at: datetime | None = None
    target: str | None = None
    reply_to: str | None = None
    thread: str | None = None
    session: str | None = None
    kind: str = "event"
    text: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, Value] = field(default_factory=dict)
    scorers: Mapping[str, str] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value in self.readings.values():
            # The remainder is a quick look that most values pass; what does not may still be rounded.
            if value.__class__ is float and value * 1e6 % 1.0 and rounded(value) != value:
                readings = {name: rounded(value) for name, value in self.readings.items()}
                object.__setattr__(self, "readings", readings)
                return

    @property
    def order(self) -> tuple[datetime, int, str]:
        """What events of a history are sorted by."""
        return (self.at, self.seq, self.id)

    def with_readings(self, readings: Mapping[str, Value], scorer: str | None = None) -> Event:
        """The same event with further readings; those already there win."""
        added = {name: value for name, value in readings.items() if name not in self.readings}
        scorers = self.scorers if scorer is None else {**dict.fromkeys(added, scorer), **self.scorers}
        return self.read_as({**added, **self.readings}, scorers)

    def read_as(self, readings: Mapping[str, Value], scorers: Mapping[str, str]) -> Event:
        """The same event with these readings instead of its own."""
        # Written out, since this is done for every live event and `replace` takes three times as long.
        return Event(
            self.id, self.at, self.subject, self.seq, self.source, self.timed, self.received_at, self.target,
            self.reply_to, self.thread, self.session, self.kind, self.text, self.attributes,
            readings, scorers, self.widths,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The event as an event line; absent fields are left out."""
        out: dict[str, Any] = {"id": self.id}
        if self.timed:
            out["at"] = format_time(self.at)
        out |= {"seq": self.seq, "subject": self.subject}
        for name in ("target", "reply_to", "thread", "session"):
            if (value := getattr(self, name)) is not None:
                out[name] = value
        out["kind"] = self.kind
        if self.text is not None:
            out["text"] = self.text
        if self.attributes:
            out["attributes"] = dict(self.attributes)
        if self.readings:
            out["readings"] = self.readings_to_json()
        return out

    def readings_to_json(self) -> dict[str, Any]:
        """The readings as in an event line: plain values, or with scorer and width where those are known."""
        out: dict[str, Any] = dict(self.readings)
        for key, values in (("scorer", self.scorers), ("width", self.widths)):
            for name, value in values.items():
                if name in out:
                    known = out[name] if isinstance(out[name], dict) else {"value": out[name]}
                    out[name] = {**known, key: value}
        return out

    @classmethod
    def sample(cls, *, local: str | None = None, zone: str = "UTC", **fields: Any) -> Event:
        """An event for examples and tests: every field has a default.

        `local` is a wall-clock time in `zone`, such as '2026-11-15 03:10'.

        >>> Event.sample(local="2026-11-15 03:10", zone="America/New_York").at.hour
        8
        """
        at = fields.pop("at", datetime(2026, 1, 1, tzinfo=UTC))
        attributes = dict(fields.pop("attributes", {}))
        if local is not None:
            from zoneinfo import ZoneInfo

            at = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
            attributes.setdefault("time_zone", zone)
        fields.setdefault("id", "sample")
        fields.setdefault("subject", "sam")
        return cls(at=at, attributes=attributes, **fields)


def content_hash(content: Mapping[str, Any]) -> str:
    """A digest of the content of an event, without its id and position.

    >>> content_hash({"id": "1", "subject": "a"}) == content_hash({"subject": "a", "id": "2"})
    True
    """
    fields = {k: v for k, v in content.items() if k not in ("id", "seq", "received_at", "source")}
    return stable_hash("content", fields)


def default_id(source: str, seq: int, content: Mapping[str, Any]) -> str:
    """The id of an event whose source gives none: the same line in the same place has the same id."""
    return stable_hash("event", source, seq, content_hash(content))[:20]


def stable_hash(*parts: Any) -> str:
    """SHA-256 over canonical JSON, so that it is the same on every machine and in every process."""
    return hashlib.sha256(_CANONICAL.encode(parts).encode()).hexdigest()


# One encoder for all: making it anew would take longer than using it.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)


TRAITS: tuple[str, ...] = (
    "virtue", "goodwill", "manipulation", "deception", "accuracy", "reasoning",
    "fabrication", "broken_logic", "recognition", "compassion", "dismissal", "exploitation",
)  # fmt: skip
"""What an evaluator scores."""
_TRAITS = frozenset(TRAITS)
_INDICATOR = re.compile(r"[A-Z]{3}_[A-Z0-9_]+")


@lru_cache(maxsize=4096)
def is_indicator_name(name: str) -> bool:
    """Whether a reading's name has the form of an indicator's.

    >>> is_indicator_name("MAN_LOVEBOMB"), is_indicator_name("manipulation")
    (True, False)
    """
    return _INDICATOR.fullmatch(name) is not None


def is_evaluated(readings: Mapping[str, Any]) -> bool:
    """Whether an evaluator looked at this event: it carries a trait or an indicator.

    >>> is_evaluated({"compassion": 0.2}), is_evaluated({"error_key": "ENOENT"})
    (True, False)
    """
    return not _TRAITS.isdisjoint(readings) or any(map(is_indicator_name, readings))
