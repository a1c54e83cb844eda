"""The four things that one subject's messages in a thread can show together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .records import HARD_CONSTRAINT, NEGATIVE, Scan

RISING = 3
"""Escalation: so many messages in a row are flagged, each with more flags than the one before."""
REPEATED = 3
"""Repeat flags: so many flagged messages."""
CONCENTRATED = 4
"""Concentration: so many messages on the same trait."""

Shown = tuple[str, str | None, tuple[int, ...]]
"""What was shown, of which trait or category, and by which messages."""


class Watcher:
    """What is remembered of one subject in one thread. Each signal is told once, where it is first seen."""

    def __init__(self) -> None:
        self.messages = 0
        self.flags = 0
        self.flagged: list[int] = []
        self.by_trait: Counter[str] = Counter()
        self.shown: set[str] = set()
        self._rising: list[tuple[int, int]] = []
        self._on_trait: dict[str, list[int]] = {}
        self._states: list[tuple[int, str | None]] = []

    def see(self, index: int, found: Scan) -> list[Shown]:
        """Take in the subject's next message; what is shown by it for the first time."""
        traits = _raising(found, "trait")
        count = sum(traits.values())
        self.messages += 1
        self.flags += count
        self.by_trait.update(traits)
        self._remember(index, count, found)
        if count:
            self.flagged.append(index)
        for trait in traits:
            self._on_trait.setdefault(trait, []).append(index)
        new = [one for one in self._signals() if one[0] not in self.shown]
        self.shown.update(kind for kind, _, _ in new)
        return new

    def _remember(self, index: int, count: int, found: Scan) -> None:
        rises = count > 0 and (not self._rising or count > self._rising[-1][1])
        self._rising = [*self._rising, (index, count)] if rises else [(index, count)] if count else []
        categories = _raising(found, "category")
        # The most frequent one speaks for the message; by name where there are several.
        state = min(categories, key=lambda one: (-categories[one], one)) if categories else None
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
    """The last four states, where they go to and fro twice: A, not A, A, not A; and not to nothing twice.

    Flattery, nothing, flattery, demand is one. A flag now and then among plain messages is none.
    """
    last = states[-4:]
    if len(last) < 4 or last[0][1] is None or last[0][1] != last[2][1]:
        return []
    return last if last[1][1] is not None or last[3][1] is not None else []


def _raising(found: Scan, field: str) -> Counter[str]:
    """How many flags that raise the tier there are, by trait or by category."""
    return Counter(
        getattr(flag, field)
        for flag in found.flags
        if flag.counts and (flag.trait in NEGATIVE or flag.trait == HARD_CONSTRAINT)
    )
