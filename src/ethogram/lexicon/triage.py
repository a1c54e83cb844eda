"""Router: which messages are worth evaluating, with how much context, and what that would cost.

A message is judged by those before it in its thread. A small share of those without a flag, selected by their
ids, is evaluated too, so that behaviour without telltale phrases has readings as well.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

from ..models import Event
from ..models.slotted import dataclass, replace
from .near_duplicates import fingerprint
from .records import TIERS, Scan
from .thread_scan import ThreadSignal, Watcher, scan_or_none

SAMPLED = 0.01  # share of the messages without a flag that is evaluated
SAMPLED_SUBJECTS = 0.15  # share of the subjects whose messages all are, where that costs nothing
PRIOR = {"focused": 0, "deep": 4, "deep_with_context": -1}  # earlier messages that are shown; -1 for all
EXPECTED = {
    "standard": (0.85, 1.0),
    "focused": (0.0, 0.15),
    "deep": (0.0, 0.03),
    "deep_with_context": (0.0, 0.01),
}  # least and greatest share of the messages
COSTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "llm": {"focused": (0.01, 0.02), "deep": (0.02, 0.04), "deep_with_context": (0.04, 0.08)},
    "local": {"focused": (0.0, 0.0), "deep": (0.0, 0.0), "deep_with_context": (0.0, 0.0)},
}  # dollars for one message, low and high


K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Route:
    """The tier of a message, and why.

    `sampled`: it has no flag and was selected by its id. `copy`: a near duplicate by the same subject, which
    is neither counted nor evaluated again.
    """

    event: Event
    scan: Scan
    tier: str
    sampled: bool = False
    copy: bool = False
    signals: tuple[ThreadSignal, ...] = ()

    @property
    def depth(self) -> str | None:
        """How thoroughly it is evaluated: standard or thorough; None where it is not."""
        if self.copy or (self.tier == "standard" and not self.sampled):
            return None
        return "thorough" if self.tier.startswith("deep") else "standard"

    def is_in(self, share: float, *, by_subject: bool) -> bool:
        """Whether it has no flag and is in the sample of such messages, or of all subjects."""
        if self.copy or self.tier != "standard" or not self.scan.measured:
            return False
        event = self.event
        return is_sampled(f"{event.source}\0{event.subject}" if by_subject else event.id, share)

    @property
    def prior(self) -> int:
        """How many earlier messages of the thread are shown with it; -1 for all."""
        return PRIOR.get(self.tier, 0)

    @property
    def upgraded(self) -> bool:
        """Whether the thread asks for a closer look than the message alone."""
        return self.tier != self.scan.tier


class Router:
    """Routes messages as they come.

    `sampled` is the share of messages without a flag that is evaluated or, by `subject`, of the subjects
    whose messages all are. `most`, for streams without an end, is how many texts and threads are remembered;
    those not seen for longest are forgotten.
    """

    def __init__(self, sampled: float = SAMPLED, *, by: str = "message", most: int | None = None) -> None:
        self.sampled = sampled
        self._by_subject = by == "subject"
        self._most = most
        self._messages: dict[tuple[str, str], int] = {}
        self._watchers: dict[tuple[str, str, str], Watcher] = {}
        self._seen: dict[tuple[str, str, str], None] = {}

    def route(self, event: Event) -> Route:
        """The route of a message; one without text is standard."""
        result = scan_or_none(event.text)
        if event.text is not None and (mark := fingerprint(event.text)) is not None:
            key = (event.source, event.subject, mark)
            if key in self._seen:
                self._remember(self._seen, key, None)
                return Route(event, result, "standard", copy=True)
            self._remember(self._seen, key, None)
        tier, signals = self._add(event, result)
        route = Route(event, result, tier, signals=signals)
        return (
            replace(route, sampled=True) if route.is_in(self.sampled, by_subject=self._by_subject) else route
        )

    def _add(self, event: Event, result: Scan) -> tuple[str, tuple[ThreadSignal, ...]]:
        """The tier of a message in its thread, and what the thread shows with it."""
        if not event.thread:  # a thread of one message
            return Watcher(event.subject).add(0, result)
        thread = (event.source, event.thread)
        watcher = self._watchers.get((*thread, event.subject)) or Watcher(event.subject)
        self._remember(self._watchers, (*thread, event.subject), watcher)
        index = self._messages.get(thread, 0)
        self._remember(self._messages, thread, index + 1)
        return watcher.add(index, result)

    def _remember(self, memory: dict[K, V], key: K, value: V) -> None:
        if self._most is not None:
            memory.pop(key, None)
            if len(memory) >= self._most:
                del memory[next(iter(memory))]
        memory[key] = value

    def save(self) -> dict[str, Any]:
        """What is remembered, as plain data without any text."""
        return {
            "messages": [[*key, count] for key, count in self._messages.items()],
            "watchers": [[*key, watcher.save()] for key, watcher in self._watchers.items()],
            "seen": [list(key) for key in self._seen],
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Continue from what was saved."""
        self._messages = {(source, thread): count for source, thread, count in saved["messages"]}
        self._watchers = {
            (source, thread, subject): Watcher.load(subject, state)
            for source, thread, subject, state in saved["watchers"]
        }
        self._seen = dict.fromkeys((source, subject, mark) for source, subject, mark in saved["seen"])


def is_sampled(name: str, share: float) -> bool:
    """Whether an id is in the sample, which is the same everywhere.

    >>> is_sampled("a", 1.0), is_sampled("a", 0.0)
    (True, False)
    """
    digest = hashlib.blake2b(f"sample {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def cost(evaluated: Mapping[str, int], kind: str = "llm") -> dict[str, tuple[float, float]]:
    """The cost of evaluating so many messages of each tier, low and high, and in all.

    >>> cost({"focused": 12_500, "deep": 2_500, "deep_with_context": 750})["all"]
    (205.0, 410.0)
    """
    prices = COSTS[kind]
    out = {
        tier: (round(n * prices[tier][0], 6), round(n * prices[tier][1], 6)) for tier, n in evaluated.items()
    }
    return out | {"all": (sum(low for low, _ in out.values()), sum(high for _, high in out.values()))}


def evaluated(routes: Counter[str], sampled: int) -> dict[str, int]:
    """How many messages of each tier are evaluated; sampled ones count as focused."""
    out = {tier: routes[tier] for tier in TIERS if tier != "standard"}
    out["focused"] += sampled
    return out


def beside_expected(tiers: Mapping[str, int]) -> list[dict[str, Any]]:
    """The share of each tier beside the expected one."""
    total = max(1, sum(tiers.values()))
    rows = []
    for tier, (least, most) in EXPECTED.items():
        count = tiers.get(tier, 0)
        row = {"tier": tier, "messages": count, "share": round(count / total, 6), "expected": [least, most]}
        rows.append({**row, "as_expected": least <= count / total <= most})
    return rows
