"""scan_thread: what the scans of a thread say together, subject by subject.

A message is judged by what stood in the thread when it was written, and by nothing after it: so a thread
gives the same tiers read whole or live, message by message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..records import Event
from .message import scan
from .records import TIERS, Scan
from .signals import Watcher

FLAGS_ALREADY = 4
"""A focused message of a subject with so many flags before it is looked at thoroughly."""

Message = Event | Mapping[str, Any] | tuple[str, str | None]
"""An event, an event line as a dict, or a subject and what it says; without text nothing is measured."""


@dataclass(frozen=True, slots=True)
class MessageScan:
    """One message: its scan, and how closely to look at it here. `index` counts from 0."""

    index: int
    subject: str
    scan: Scan
    tier: str

    @property
    def upgraded(self) -> bool:
        """Whether the thread asks for a closer look than the message alone."""
        return self.tier != self.scan.tier


@dataclass(frozen=True, slots=True)
class ThreadSignal:
    """Something the messages of one subject show together.

    `kind` is escalation, repeat_flags, concentration or cycling; `of` the trait or category it is about, if
    one; `messages` the indices of those that made it, the last being where it was first seen.
    """

    kind: str
    subject: str
    of: str | None
    messages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SubjectScan:
    """What one subject's messages add up to; only flags that raise a tier are counted."""

    subject: str
    messages: int
    flagged: int
    flags: int
    by_trait: dict[str, int]
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThreadScan:
    """The scans of a thread's messages in order, what they show together, and each subject's part."""

    messages: tuple[MessageScan, ...]
    signals: tuple[ThreadSignal, ...]
    by_subject: dict[str, SubjectScan]

    @property
    def tiers(self) -> dict[str, int]:
        """How many messages each tier has."""
        counted = Counter(one.tier for one in self.messages)
        return {tier: counted[tier] for tier in TIERS}

    def to_dict(self) -> dict[str, Any]:
        """The thread scan as a JSON record."""
        return {
            "record": "thread_scan",
            "tiers": self.tiers,
            "messages": [
                {"index": one.index, "subject": one.subject, "tier": one.tier, "scan": one.scan.to_dict()}
                for one in self.messages
            ],
            "signals": [
                {"kind": one.kind, "subject": one.subject, "of": one.of, "messages": list(one.messages)}
                for one in self.signals
            ],
            "by_subject": {
                name: {
                    "messages": one.messages,
                    "flagged": one.flagged,
                    "flags": one.flags,
                    "by_trait": one.by_trait,
                    "signals": list(one.signals),
                }
                for name, one in self.by_subject.items()
            },
        }


def scan_thread(messages: Iterable[Message]) -> ThreadScan:
    """Every message of one thread scanned, in the order given, with what they show together.

    >>> said = ["You are so smart.", "I agree.", "You're brilliant.", "Act now!"]
    >>> found = scan_thread(zip(["kim", "bo", "kim", "kim"], said))
    >>> [one.tier for one in found.messages]
    ['focused', 'standard', 'focused', 'deep']
    >>> [(one.kind, one.subject, one.messages) for one in found.signals]
    [('repeat_flags', 'kim', (0, 2, 3))]
    """
    watchers: dict[str, Watcher] = {}
    scanned: list[MessageScan] = []
    signals: list[ThreadSignal] = []
    for index, message in enumerate(messages):
        subject, text = _said(message)
        found = unmeasured() if text is None else scan(text)
        watcher = watchers.setdefault(subject, Watcher())
        already = watcher.flags
        for kind, of, indices in watcher.see(index, found):
            signals.append(ThreadSignal(kind, subject, of, indices))
        scanned.append(MessageScan(index, subject, found, tier_here(found, watcher, already)))
    return ThreadScan(
        tuple(scanned),
        tuple(signals),
        {subject: _summary(subject, watcher) for subject, watcher in sorted(watchers.items())},
    )


def _said(message: Message) -> tuple[str, str | None]:
    if isinstance(message, Event):
        return message.subject, message.text
    if isinstance(message, Mapping):
        return str(message["subject"]), message.get("text")
    subject, text = message
    return subject, text


def tier_here(found: Scan, watcher: Watcher, already: int) -> str:
    """The tier after what the subject has shown so far with this message; only a flagged one is raised."""
    own = found.tier
    if own == "standard":
        return own
    if watcher.shown & {"escalation", "concentration", "cycling"}:
        return "deep_with_context"
    if own == "focused" and ("repeat_flags" in watcher.shown or already >= FLAGS_ALREADY):
        return "deep"
    return own


def unmeasured() -> Scan:
    return Scan((), 0, None, scan("").lexicon)


def _summary(subject: str, watcher: Watcher) -> SubjectScan:
    return SubjectScan(
        subject,
        watcher.messages,
        len(watcher.flagged),
        watcher.flags,
        dict(sorted(watcher.by_trait.items())),
        tuple(sorted(watcher.shown)),
    )
