"""scan_thread: what the messages of a thread show together, subject by subject.

A message is judged by those before it only, so a thread has the same tiers read whole or live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..models import Event
from ..models.record import Record
from ..models.slotted import dataclass
from .messages import author_and_text
from .records import TIERS, Scan
from .scanner import scan

if TYPE_CHECKING:
    from ..fields import Count, Tier


RISING = 3  # escalation: flagged messages in a row, each with more flags than the one before
REPEATED = 3  # repeat_flags: flagged messages
CONCENTRATED = 4  # concentration: messages on the same trait
FLAGS_ALREADY = 4  # earlier flags of the subject that make a focused message deep
Message = Event | Mapping[str, Any] | tuple[str, str | None]  # an event, a dict, or subject and text


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


class Watcher:
    """The messages of one subject in one thread; each kind of signal is reported once."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.messages = 0
        self.flags = 0
        self.flagged: list[int] = []
        self.by_trait: Counter[str] = Counter()
        self.shown: set[str] = set()
        self._rising: list[tuple[int, int]] = []
        self._on_trait: dict[str, list[int]] = {}
        self._states: list[tuple[int, str | None]] = []

    def add(self, index: int, result: Scan) -> tuple[str, tuple[ThreadSignal, ...]]:
        """Add the subject's next message; its tier here, and the signals it shows for the first time."""
        traits = Counter(flag.trait for flag in result.flags if flag.raises)
        count, already = traits.total(), self.flags
        self.messages += 1
        self.flags += count
        self.by_trait.update(traits)
        if count:
            self.flagged.append(index)
        for trait in traits:
            self._on_trait.setdefault(trait, []).append(index)
        rises = count > 0 and (not self._rising or count > self._rising[-1][1])
        self._rising = [*self._rising, (index, count)] if rises else [(index, count)] if count else []
        categories = Counter(flag.category for flag in result.flags if flag.raises)
        # The most frequent category, of equals the first by name.
        state = min(categories, key=lambda name: (-categories[name], name), default=None)
        if not self._states or self._states[-1][1] != state:
            self._states.append((index, state))
        new = tuple(signal for signal in self._signals() if signal.kind not in self.shown)
        self.shown.update(signal.kind for signal in new)
        return self._tier(result.tier, already), new

    def save(self) -> dict[str, Any]:
        """The state as plain data."""
        return {
            "messages": self.messages,
            "flags": self.flags,
            "flagged": self.flagged,
            "by_trait": dict(self.by_trait),
            "shown": sorted(self.shown),
            "rising": [list(item) for item in self._rising],
            "on_trait": self._on_trait,
            "states": [list(item) for item in self._states],
        }

    @classmethod
    def load(cls, subject: str, saved: Mapping[str, Any]) -> Watcher:
        watcher = cls(subject)
        watcher.messages, watcher.flags = saved["messages"], saved["flags"]
        watcher.flagged, watcher.by_trait = list(saved["flagged"]), Counter(saved["by_trait"])
        watcher.shown = set(saved["shown"])
        watcher._rising = [(index, count) for index, count in saved["rising"]]
        watcher._on_trait = {trait: list(indices) for trait, indices in saved["on_trait"].items()}
        watcher._states = [(index, state) for index, state in saved["states"]]
        return watcher

    def _signals(self) -> Iterator[ThreadSignal]:
        if len(self._rising) >= RISING:
            yield self._signal("escalation", None, [index for index, _ in self._rising[-RISING:]])
        if len(self.flagged) >= REPEATED:
            yield self._signal("repeat_flags", None, self.flagged)
        for trait, indices in sorted(self._on_trait.items()):
            if len(indices) >= CONCENTRATED:
                yield self._signal("concentration", trait, indices)
                break
        # Cycling: A, not A, A, not A, and not both of the others without a flag.
        states = [state for _, state in self._states[-4:]]
        if len(states) == 4 and states[0] is not None and states[0] == states[2] and any(states[1::2]):
            yield self._signal("cycling", states[0], [index for index, _ in self._states[-4:]])

    def _signal(self, kind: str, of: str | None, messages: list[int]) -> ThreadSignal:
        return ThreadSignal(kind, self.subject, of, tuple(messages))

    def _tier(self, own: str, already: int) -> str:
        """The tier of a message with this one of its own; only a flagged message is raised."""
        if own == "standard":
            return own
        if self.shown & {"escalation", "concentration", "cycling"}:
            return "deep_with_context"
        if own == "focused" and ("repeat_flags" in self.shown or already >= FLAGS_ALREADY):
            return "deep"
        return own


def scan_thread(messages: Iterable[Message]) -> ThreadScan:
    """Scan the messages of one thread in order, and what they show together.

    A message is an event, a pair of subject and text, or a dict with an author and a text under any of the
    usual names: `author` and `content`, `role` and `content`.

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
        if isinstance(message, Event):
            subject, text = message.subject, message.text
        elif isinstance(message, Mapping):
            subject, text = author_and_text(message, f"message {index}")
        else:
            subject, text = message
        result = scan_or_none(text)
        tier, new = watchers.setdefault(subject, Watcher(subject)).add(index, result)
        signals += new
        scanned.append(MessageScan(index, subject, result, tier))
    by_subject = {
        name: SubjectScan(
            subject=name,
            messages=watcher.messages,
            flagged=len(watcher.flagged),
            flags=watcher.flags,
            by_trait=dict(sorted(watcher.by_trait.items())),
            signals=tuple(sorted(watcher.shown)),
        )
        for name, watcher in sorted(watchers.items())
    }
    return ThreadScan(tuple(scanned), tuple(signals), by_subject)


def scan_or_none(text: str | None) -> Scan:
    """The scan of a message, which is not measured without a text."""
    return Scan((), 0, None, scan("").lexicon) if text is None else scan(text)
