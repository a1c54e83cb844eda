"""Scanning: routes all messages of an input, sums them up, and shows the prompt of any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from ...errors import BadUsage
from ...evaluators.prompt import PriorMessage, evaluation_prompt
from ...fields import Amount, Count, Ratio, RecordStruct, Tier, one_of
from ...lexicon.scanner import scan
from ...lexicon.triage import (
    COSTS,
    SAMPLED,
    SAMPLED_SUBJECTS,
    Route,
    Router,
    beside_expected,
    cost,
    evaluated,
)
from ...models import Event
from ...models.record import Record
from ...models.slotted import dataclass, field
from .questions import history_of

MOST_FLAGGED = 10


class TierShare(RecordStruct):
    """The share of a tier beside what is expected of it."""

    tier: Tier
    messages: Count
    share: Ratio
    expected: tuple[Ratio, Ratio]
    as_expected: bool


class FlaggedSubject(RecordStruct):
    """How many messages of a subject were flagged, and how many flags they have."""

    subject: str
    messages: Count
    flags: Count


class RouteRecord(RecordStruct):
    """How closely a message is to be evaluated, and why."""

    RECORD = "route"

    id: str
    subject: str
    thread: str | None
    tier: Tier
    depth: Annotated[str, one_of("standard", "thorough")] | None
    prior: int
    """Earlier messages of the thread that are shown with it; -1: all."""
    sampled: bool
    upgraded: bool
    by_category: Mapping[str, Count] | None
    hard_constraint: tuple[str, ...]


@dataclass(slots=True)
class Scanned(Record):
    """What the scans of all messages add up to: the last line of a scan.

    `left_out` and `bad_lines` come from the reader of the files.
    """

    RECORD = "scan_summary"
    JSON = (
        "messages without_text threads tiers upgraded sampled copies unknown_language thread_signals "
        "categories most_flagged evaluated local cost left_out bad_lines"
    )
    OMITTED = ("left_out", "bad_lines")

    messages: Count = 0
    without_text: Count = 0
    by_tier: Counter[str] = field(default_factory=Counter)
    upgraded: Count = 0
    sampled: Count = 0
    copies: Count = 0
    unknown_language: Count = 0
    local: Count = 0
    """Messages that the evaluator `local`, which costs nothing, would score."""
    left_out: Mapping[str, Count] | None = None
    bad_lines: Count | None = None
    seen_threads: set[tuple[str, str]] = field(default_factory=set)
    signals: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    by_category: Counter[str] = field(default_factory=Counter)

    def add(self, route: Route) -> None:
        """Count one message."""
        event, result = route.event, route.scan
        if event.text is None:
            self.without_text += 1
            return
        self.messages += 1
        if event.thread is not None:
            self.seen_threads.add((event.source, event.thread))
        self.by_tier[route.tier] += 1
        self.upgraded += route.upgraded and not route.copy
        self.sampled += route.sampled
        is_flagged = route.tier != "standard" and not route.copy
        self.local += is_flagged or route.is_in(SAMPLED_SUBJECTS, by_subject=True)
        self.copies += route.copy
        self.unknown_language += not result.measured
        self.signals.update(signal.kind for signal in route.signals)
        if result.negative and not route.copy:
            self.flagged[event.subject] += 1
            self.flags[event.subject] += result.negative
        if not route.copy:
            self.by_category.update(result.by_category or {})

    @property
    def threads(self) -> Count:
        return len(self.seen_threads)

    @property
    def tiers(self) -> Sequence[Annotated[Mapping[str, Any], TierShare]]:
        return beside_expected(self.by_tier)

    @property
    def thread_signals(self) -> Mapping[str, Count]:
        return dict(sorted(self.signals.items()))

    @property
    def categories(self) -> Mapping[str, Count]:
        return dict(self.by_category.most_common())

    @property
    def most_flagged(self) -> list[FlaggedSubject]:
        """Those with most flagged messages first, then most flags."""
        ranked = sorted(self.flagged, key=lambda name: (-self.flagged[name], -self.flags[name], name))
        return [FlaggedSubject(name, self.flagged[name], self.flags[name]) for name in ranked[:MOST_FLAGGED]]

    @property
    def evaluated(self) -> Mapping[str, Count]:
        """How many messages of each tier would be evaluated."""
        return evaluated(self.by_tier, self.sampled)

    @property
    def cost(self) -> Mapping[str, Mapping[str, tuple[Amount, Amount]]]:
        """Dollars by kind of evaluator and tier, low and high."""
        return {kind: cost(self.evaluated, kind) for kind in COSTS}


def scan_events(
    events: Iterable[Event], *, sampled: float = SAMPLED, chosen: Callable[[Route], None] | None = None
) -> Scanned:
    """Route every message in order; `chosen` is called with each that is worth evaluating."""
    router, out = Router(sampled), Scanned()
    for event in events:
        route = router.route(event)
        out.add(route)
        if chosen is not None and route.depth is not None:
            chosen(route)
    return out


def route_record(route: Route) -> RouteRecord:
    event = route.event
    return RouteRecord(
        id=event.id,
        subject=event.subject,
        thread=event.thread,
        tier=route.tier,
        depth=route.depth,
        prior=route.prior,
        sampled=route.sampled,
        upgraded=route.upgraded,
        by_category=route.scan.by_category,
        hard_constraint=route.scan.hard_constraint,
    )


def prompt_for(events: Sequence[Event], name: str, *, sampled: float = SAMPLED) -> tuple[str, str]:
    """(system, user) of the prompt for the message of that id."""
    router = Router(sampled)
    earlier: list[Event] = []
    for event in events:
        route = router.route(event)
        if event.id == name:
            break
        earlier.append(event)
    else:
        raise BadUsage(f"no message has the id {name!r:.80}")
    thread = [item for item in earlier if event.thread is not None and item.thread == event.thread]
    prior: list[PriorMessage] = [(item.subject, item.text or "", scan(item.text or "")) for item in thread]
    own = [item for item in earlier if (item.source, item.subject) == (event.source, event.subject)]
    return evaluation_prompt(event.text or "", route.scan, route.tier, prior, history_of(own))
