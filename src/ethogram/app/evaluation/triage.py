"""Scanning: routes all messages of an input, sums them up, and shows the prompt of any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from ...errors import BadUsage
from ...evaluators.prompt import PriorMessage, evaluation_prompt
from ...fields import Amount, Count, Ratio, RecordStruct, Tier, one_of
from ...lexicon.scanner import scan
from ...lexicon.triage import COSTS, SAMPLED, Route, Router, beside_expected, cost, evaluated
from ...models import Event
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


class ScanSummary(RecordStruct):
    """What the scans of all messages add up to: the last line of a scan."""

    RECORD = "scan_summary"
    OMITTED = ("left_out", "bad_lines")

    messages: Count
    without_text: Count
    threads: Count
    tiers: Sequence[Annotated[Mapping[str, Any], TierShare]]
    upgraded: Count
    sampled: Count
    copies: Count
    unknown_language: Count
    thread_signals: Mapping[str, Count]
    categories: Mapping[str, Count]
    most_flagged: list[FlaggedSubject]
    evaluated: Mapping[str, Count]
    cost: Mapping[str, Mapping[str, tuple[Amount, Amount]]]
    """Dollars by kind of evaluator and tier, low and high."""
    left_out: Mapping[str, Count] | None = None
    bad_lines: Count | None = None


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
class Scanned:
    """Counts over the routes of all messages."""

    messages: int = 0
    without_text: int = 0
    threads: set[tuple[str, str]] = field(default_factory=set)
    tiers: Counter[str] = field(default_factory=Counter)
    upgraded: int = 0
    sampled: int = 0
    copies: int = 0
    unknown_language: int = 0
    signals: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)

    def add(self, route: Route) -> None:
        """Count one message."""
        event, result = route.event, route.scan
        if event.text is None:
            self.without_text += 1
            return
        self.messages += 1
        if event.thread is not None:
            self.threads.add((event.source, event.thread))
        self.tiers[route.tier] += 1
        self.upgraded += route.upgraded and not route.copy
        self.sampled += route.sampled
        self.copies += route.copy
        self.unknown_language += not result.measured
        self.signals.update(signal.kind for signal in route.signals)
        if result.negative and not route.copy:
            self.flagged[event.subject] += 1
            self.flags[event.subject] += result.negative
        if not route.copy:
            self.categories.update(result.by_category or {})

    @property
    def evaluated(self) -> dict[str, int]:
        """How many messages of each tier would be evaluated."""
        return evaluated(self.tiers, self.sampled)

    def summary(self, left_out: Mapping[str, int] | None = None, bad_lines: int | None = None) -> ScanSummary:
        """The record; `left_out` and `bad_lines` come from the reader of the files."""
        # Most flagged messages first, then most flags.
        ranked = sorted(self.flagged, key=lambda name: (-self.flagged[name], -self.flags[name], name))
        most = ranked[:MOST_FLAGGED]
        return ScanSummary(
            messages=self.messages,
            without_text=self.without_text,
            threads=len(self.threads),
            tiers=beside_expected(self.tiers),
            upgraded=self.upgraded,
            sampled=self.sampled,
            copies=self.copies,
            unknown_language=self.unknown_language,
            thread_signals=dict(sorted(self.signals.items())),
            categories=dict(self.categories.most_common()),
            most_flagged=[FlaggedSubject(name, self.flagged[name], self.flags[name]) for name in most],
            evaluated=self.evaluated,
            cost={kind: cost(self.evaluated, kind) for kind in COSTS},
            left_out=left_out,
            bad_lines=bad_lines,
        )


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
