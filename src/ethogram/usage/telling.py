"""Telling: which of a person's findings are news, so that each change is told once."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from .clock import DAY
from .finding import LEVELS, Finding
from .signals import UsageSignals, signals
from .summary import Summary

OVER = 7 * DAY
"""Seconds without a finding after which the same finding is news again."""


class Episode(NamedTuple):
    """A finding that was told: since when, at which level (a place in LEVELS), and when it was last so."""

    signal: int
    opened: int
    level: int
    last: int


@dataclass(frozen=True, slots=True)
class News:
    """A person with something to tell: their name in the store, the id where the caller gave it, and what.

    `findings` are those that are new or have risen; `signals` is everything at that moment.
    """

    person: str
    subject: str | None
    as_of: float
    findings: tuple[Finding, ...]
    signals: UsageSignals

    @property
    def level(self) -> str:
        """The highest of the findings' levels."""
        return max((one.level for one in self.findings), key=LEVELS.index, default=LEVELS[0])

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        from ..records import format_time, moment

        return {
            "record": "usage_news",
            "person": self.person,
            "subject": self.subject,
            "as_of": format_time(moment(int(self.as_of * 1_000_000))),
            "level": self.level,
            "behavioral_score": self.signals.score,
            "findings": [
                {"signal": one.name, "level": one.level, "sentence": one.sentence} for one in self.findings
            ],
        }


@lru_cache(maxsize=256)
def code_of(signal: str) -> int:
    """A signal as a number, which is how a store keeps it."""
    return zlib.crc32(signal.encode())


@lru_cache(maxsize=1)
def signal_names() -> Mapping[int, str]:
    """The signals by their numbers."""
    return {code_of(name): name for name in signals(Summary(), 0.0).findings}


def news_of(
    found: UsageSignals, told: Iterable[Episode], as_of: float, last_event: float = math.inf
) -> tuple[tuple[Finding, ...], list[Episode]]:
    """The findings that nobody was told of yet, and the episodes as they stand with them.

    What stays is not told again; what rises is; and what was away for more than a week is new. Whether it was
    away is known only where somebody looks at least weekly; but of a person who wrote nothing since it was
    told (`last_event`: when they last did), the same finding is the same change.
    """
    newest: dict[int, Episode] = {}
    for one in sorted(told, key=lambda one: one.opened):
        newest[one.signal] = one
    now, new, stand = int(as_of), [], []
    for finding in found.at_level("low"):
        code, level = code_of(finding.name), LEVELS.index(finding.level)
        before = newest.get(code)
        is_same = before is not None and last_event <= before.last
        if before is None or (now - before.last > OVER and not is_same):
            new.append(finding)
            stand.append(Episode(code, now, level, now))
            continue
        if level > before.level:
            new.append(finding)
        last = max(before.last, now)
        stand.append(Episode(code, before.opened, max(level, before.level), last))
    return tuple(new), stand
