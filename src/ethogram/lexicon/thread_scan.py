"""scan_thread: what the messages of a thread show together, subject by subject.

A message is judged by those before it only, so a thread has the same tiers read whole or live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..models import Event
from ..models.record import Record
from .records import TIERS, Scan
from .scanner import scan

if TYPE_CHECKING:
    from ..fields import Count, Tier


RISING = 3  # escalation: flagged messages in a row, each with more flags than the one before
REPEATED = 3  # repeat_flags: flagged messages
CONCENTRATED = 4  # concentration: messages on the same trait
FLAGS_ALREADY = 4  # earlier flags of the subject that make a focused message deep
Shown = tuple[str, str | None, tuple[int, ...]]  # kind of signal, trait or category, indices of messages
Message = Event | Mapping[str, Any] | tuple[str, str | None]  # an event, an event line, or subject and text


class Watcher:
    """The messages of one subject in one thread; each kind of signal is reported once."""

    def __init__(self) -> None:
        self.messages = 0
        self.flags = 0
        self.flagged: list[int] = []
        self.by_trait: Counter[str] = Counter()
        self.shown: set[str] = set()
        self._rising: list[tuple[int, int]] = []
        self._on_trait: dict[str, list[int]] = {}
        self._states: list[tuple[int, str | None]] = []

    def see(self, index: int, result: Scan) -> list[Shown]:
        """Add the subject's next message; returns the signals it shows for the first time."""
        traits = _raising(result, "trait")
        count = sum(traits.values())
        self.messages += 1
        self.flags += count
        self.by_trait.update(traits)
        self._remember(index, count, result)
        if count:
            self.flagged.append(index)
        for trait in traits:
            self._on_trait.setdefault(trait, []).append(index)
        new = [signal for signal in self._signals() if signal[0] not in self.shown]
        self.shown.update(kind for kind, _, _ in new)
        return new

    def _remember(self, index: int, count: int, result: Scan) -> None:
        rises = count > 0 and (not self._rising or count > self._rising[-1][1])
        self._rising = [*self._rising, (index, count)] if rises else [(index, count)] if count else []
        categories = _raising(result, "category")
        # The most frequent category, of equals the first by name.
        state = min(categories, key=lambda name: (-categories[name], name), default=None)
        if not self._states or self._states[-1][1] != state:
            self._states.append((index, state))

    def _signals(self) -> Iterator[Shown]:
        if len(self._rising) >= RISING:
            yield "escalation", None, tuple(index for index, _ in self._rising[-RISING:])
        if len(self.flagged) >= REPEATED:
            yield "repeat_flags", None, tuple(self.flagged)
        for trait, indices in sorted(self._on_trait.items()):
            if len(indices) >= CONCENTRATED:
                yield "concentration", trait, tuple(indices)
                break
        if turns := _cycle(self._states):
            yield "cycling", turns[0][1], tuple(index for index, _ in turns)


def _cycle(states: list[tuple[int, str | None]]) -> list[tuple[int, str | None]]:
    """The last four states, where they are A, not A, A, not A, and not both of the others are None."""
    last = states[-4:]
    if len(last) < 4 or last[0][1] is None or last[0][1] != last[2][1]:
        return []
    return last if last[1][1] is not None or last[3][1] is not None else []


def _raising(result: Scan, field: str) -> Counter[str]:
    """Counts of the flags that raise the tier, by trait or by category."""
    return Counter(getattr(flag, field) for flag in result.flags if flag.raises)


@dataclass(frozen=True, slots=True)
class MessageScan(Record):
    """One message: its scan, and how closely to look at it here. `index` counts from 0."""

    JSON = "index subject tier scan"

    index: Count
    subject: str
    scan: Scan
    tier: Tier

    @property
    def upgraded(self) -> bool:
        """Whether the thread asks for a closer look than the message alone."""
        return self.tier != self.scan.tier


@dataclass(frozen=True, slots=True)
class ThreadSignal(Record):
    """Something the messages of one subject show together.

    `kind` is escalation, repeat_flags, concentration or cycling; `of` the trait or category it is about, if
    one; `messages` the indices of those that made it, the last being where it was first seen.
    """

    kind: str
    subject: str
    of: str | None
    messages: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class SubjectScan(Record):
    """What one subject's messages add up to; only flags that raise a tier are counted."""

    HIDDEN = ("subject",)

    subject: str
    messages: Count
    flagged: Count
    flags: Count
    by_trait: dict[str, Count]
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThreadScan(Record):
    """The scans of a thread's messages in order, what they show together, and each subject's part."""

    RECORD = "thread_scan"
    JSON = "tiers messages signals by_subject"

    messages: tuple[MessageScan, ...]
    signals: tuple[ThreadSignal, ...]
    by_subject: dict[str, SubjectScan]

    @property
    def tiers(self) -> dict[str, Count]:
        """How many messages each tier has."""
        counted = Counter(message.tier for message in self.messages)
        return {tier: counted[tier] for tier in TIERS}


def scan_thread(messages: Iterable[Message]) -> ThreadScan:
    """Scan the messages of one thread in order, and what they show together.

    >>> texts = ["You are so smart.", "I agree.", "You're brilliant.", "Act now!"]
    >>> thread = scan_thread(zip(["kim", "bo", "kim", "kim"], texts))
    >>> [message.tier for message in thread.messages]
    ['focused', 'standard', 'focused', 'deep']
    >>> [(signal.kind, signal.subject, signal.messages) for signal in thread.signals]
    [('repeat_flags', 'kim', (0, 2, 3))]
    """
    watchers: dict[str, Watcher] = {}
    scanned: list[MessageScan] = []
    signals: list[ThreadSignal] = []
    for index, message in enumerate(messages):
        subject, text = _subject_and_text(message)
        result = unmeasured() if text is None else scan(text)
        watcher = watchers.setdefault(subject, Watcher())
        already = watcher.flags
        for kind, of, indices in watcher.see(index, result):
            signals.append(ThreadSignal(kind, subject, of, indices))
        scanned.append(MessageScan(index, subject, result, tier_here(result, watcher, already)))
    by_subject = {subject: _summary(subject, watcher) for subject, watcher in sorted(watchers.items())}
    return ThreadScan(tuple(scanned), tuple(signals), by_subject)


def _subject_and_text(message: Message) -> tuple[str, str | None]:
    if isinstance(message, Event):
        return message.subject, message.text
    if isinstance(message, Mapping):
        return str(message["subject"]), message.get("text")
    return message


def tier_here(result: Scan, watcher: Watcher, already: int) -> str:
    """The tier of a message after the subject's earlier ones; only a flagged message is raised."""
    own = result.tier
    if own == "standard":
        return own
    if watcher.shown & {"escalation", "concentration", "cycling"}:
        return "deep_with_context"
    if own == "focused" and ("repeat_flags" in watcher.shown or already >= FLAGS_ALREADY):
        return "deep"
    return own


def unmeasured() -> Scan:
    """The scan of a message without text."""
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
