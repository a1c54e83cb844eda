"""Router: which messages are worth an evaluator's look, how wide that look is, and what it would cost.

Messages are routed in order, threads mixed as they come: a message is judged by what came before it in its
thread. A small share of those without a flag is evaluated too, chosen by their ids, so that behaviour that
no phrase gives away has readings as well.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..models import Event
from .near_duplicates import fingerprint
from .records import TIERS, Scan
from .scanner import scan
from .thread_scan import ThreadSignal, Watcher, tier_here, unmeasured

SAMPLED = 0.01  # the share of messages without a flag that is evaluated all the same

PRIOR = {"focused": 0, "deep": 4, "deep_with_context": -1}
"""How many earlier messages of the thread an evaluator is shown; -1 for all of them."""

EXPECTED = {
    "standard": (0.85, 1.0),
    "focused": (0.0, 0.15),
    "deep": (0.0, 0.03),
    "deep_with_context": (0.0, 0.01),
}
"""The share of messages that each tier should have, at least and at most."""

COSTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "llm": {"focused": (0.01, 0.02), "deep": (0.02, 0.04), "deep_with_context": (0.04, 0.08)},
    "local": {"focused": (0.0, 0.0), "deep": (0.0, 0.0), "deep_with_context": (0.0, 0.0)},
}
"""Dollars for one message, low and high, for each kind of evaluator and tier."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where one message goes.

    `sampled` says that it has no flag and was chosen by its id; `copy` that its subject has said the same
    before, so that it is neither counted nor evaluated again.
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

    @property
    def prior(self) -> int:
        """How many earlier messages of the thread are shown with it; -1 for all."""
        return PRIOR.get(self.tier, 0)

    @property
    def upgraded(self) -> bool:
        """Whether the thread asks for a closer look than the message alone."""
        return self.tier != self.scan.tier


@dataclass(slots=True)
class _Thread:
    messages: int = 0
    watchers: dict[str, Watcher] = field(default_factory=dict)


class Router:
    """Routes messages as they come; what it remembers is a little for each thread and text.

    `sampled` is the share of messages without a flag that is evaluated too or, by `subject`, the share of
    subjects of whom every message is.
    """

    def __init__(self, sampled: float = SAMPLED, *, by: str = "message") -> None:
        self.sampled = sampled
        self._by_subject = by == "subject"
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._said: set[tuple[str, str, str]] = set()

    def route(self, event: Event) -> Route:
        """Where a message goes; one without text is standard."""
        found = unmeasured() if event.text is None else scan(event.text)
        if self._is_copy(event):
            return Route(event, found, "standard", copy=True)
        thread = self._threads.setdefault((event.source, event.thread or f"\0{event.id}"), _Thread())
        watcher = thread.watchers.setdefault(event.subject, Watcher())
        already = watcher.flags
        shown = watcher.see(thread.messages, found)
        thread.messages += 1
        tier = tier_here(found, watcher, already)
        signals = tuple(ThreadSignal(kind, event.subject, of, indices) for kind, of, indices in shown)
        name = f"{event.source}\0{event.subject}" if self._by_subject else event.id
        chosen = tier == "standard" and found.measured and is_sampled(name, self.sampled)
        return Route(event, found, tier, sampled=chosen, signals=signals)

    def _is_copy(self, event: Event) -> bool:
        mark = None if event.text is None else fingerprint(event.text)
        if mark is None:
            return False
        key = (event.source, event.subject, mark)
        known = key in self._said
        self._said.add(key)
        return known


def is_sampled(name: str, share: float) -> bool:
    """Whether an id is among those chosen; the same everywhere and always.

    >>> is_sampled("a", 1.0), is_sampled("a", 0.0)
    (True, False)
    """
    digest = hashlib.blake2b(f"sample {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def cost(evaluated: Mapping[str, int], kind: str = "llm") -> dict[str, tuple[float, float]]:
    """What it costs to evaluate so many messages of each tier: low and high, and in all.

    >>> cost({"focused": 12_500, "deep": 2_500, "deep_with_context": 750})["all"]
    (205.0, 410.0)
    """
    prices = COSTS[kind]
    out = {
        tier: (round(n * prices[tier][0], 6), round(n * prices[tier][1], 6)) for tier, n in evaluated.items()
    }
    return out | {"all": (sum(low for low, _ in out.values()), sum(high for _, high in out.values()))}


def evaluated(routes: Counter[str], sampled: int) -> dict[str, int]:
    """How many messages of each tier are evaluated; sampled ones as focused."""
    out = {tier: routes[tier] for tier in TIERS if tier != "standard"}
    out["focused"] += sampled
    return out


def beside_expected(tiers: Mapping[str, int]) -> list[dict[str, Any]]:
    """The share of each tier beside what is expected of it."""
    total = max(1, sum(tiers.values()))
    return [
        {
            "tier": tier,
            "messages": tiers.get(tier, 0),
            "share": round(tiers.get(tier, 0) / total, 6),
            "expected": list(EXPECTED[tier]),
            "as_expected": EXPECTED[tier][0] <= tiers.get(tier, 0) / total <= EXPECTED[tier][1],
        }
        for tier in TIERS
    ]
