"""Combinations live: detections of parts come in output order, and a few of them are remembered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..records import Detection, micros
from ..shapes.program import Program
from ..shapes.tree import Combination
from .combine import Key, Parts, _together, assemble, key_of, parts_meant

Numbered = tuple[int, Detection]
"""A detection, and how many parts its key had seen before it."""
Chain = tuple[Numbered, ...]


class Joined:
    """What a combination remembers of one key: for all_of the newest of each part, for in_order chains.

    `before[i]` is the latest chain of parts 0..i that ends before the time `now`, `at_now[i]` the latest
    that ends at it: a chain goes on from strictly earlier ones only.
    """

    __slots__ = ("at_now", "before", "fired", "newest", "now", "seen")

    def __init__(self, parts: int) -> None:
        self.newest: dict[str, Detection] = {}
        self.before: list[Chain | None] = [None] * parts
        self.at_now: list[Chain | None] = [None] * parts
        self.now: datetime | None = None
        self.seen = 0
        self.fired = -1


class Combining:
    """One combination over the detections of its parts."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.body, Combination)
        self.program, self.body = program, program.body
        self.joined: dict[Key, Joined] = {}

    def see(self, batch: Sequence[Detection]) -> list[Detection]:
        """The combination's own detections that follow from further ones, in output order."""
        found: list[Detection] = []
        for one in batch:
            meant, key = parts_meant(self.body.parts, one.pattern), key_of(self.program, one)
            if not meant or key is None:
                continue
            if self.body.kind == "any_of":
                found.append(self._made([(meant[0], one)]))
                continue
            if key not in self.joined:
                self.joined[key] = Joined(len(self.body.parts))
            fire = self._all_of if self.body.kind == "all_of" else self._in_order
            found += [self._made(parts) for parts in fire(self.joined[key], meant, one)]
        return found

    def close(self, closed: Detection) -> None:
        """Note when a part that is remembered ended, which matters where parts must overlap."""
        key = key_of(self.program, closed)
        if not self.body.overlapping or key is None or key not in self.joined:
            return
        newest = self.joined[key].newest
        for part, one in newest.items():
            if one.id == closed.id:
                newest[part] = replace(one, closed_at=closed.closed_at)

    def forget(self, whose: Collection[tuple[str, str]]) -> None:
        """Let go of what is remembered of subjects, each with its source."""
        subject = 1 + self.program.history.index("subject")
        for key in [key for key in self.joined if (key[0], key[subject]) in whose]:
            del self.joined[key]

    def _made(self, parts: Parts) -> Detection:
        return assemble(self.program, self.body.multiplier, parts, last=parts[-1][1])

    def _all_of(self, joined: Joined, meant: list[str], one: Detection) -> Iterator[Parts]:
        joined.newest |= dict.fromkeys(meant, one)
        if len(joined.newest) < len(self.body.parts) or not _together(self.body, joined.newest, one):
            return
        listed = [(part, joined.newest[part]) for part in self.body.parts]
        joined.newest = {}
        yield sorted(listed, key=lambda item: item[1].order)

    def _in_order(self, joined: Joined, meant: list[str], one: Detection) -> Iterator[Parts]:
        if joined.now is None or one.detected_at > joined.now:
            joined.before = [now or then for now, then in zip(joined.at_now, joined.before, strict=True)]
            joined.at_now = [None] * len(self.body.parts)
            joined.now = one.detected_at
        number, last = joined.seen, len(self.body.parts) - 1
        joined.seen += 1
        for i in range(last, -1, -1):
            earlier = joined.before[i - 1] if i else ()
            if self.body.parts[i] not in meant or earlier is None:
                continue
            chain = joined.at_now[i] = (*earlier, (number, one))
            if i == last and chain[0][0] > joined.fired and self._in_time(chain):
                joined.fired = number
                yield [(part, d) for part, (_, d) in zip(self.body.parts, chain, strict=True)]

    def _in_time(self, chain: Chain) -> bool:
        first, last = chain[0][1], chain[-1][1]
        took = micros(last.detected_at) - micros(first.detected_at)
        return self.body.within is None or took <= self.body.within

    # Saving.

    def save(self, pack: Any) -> list[Any]:
        """All keys as plain data; `pack` stores a detection and gives its number."""

        def chains(ones: list[Chain | None]) -> list[Any]:
            return [None if c is None else [[n, pack(d)] for n, d in c] for c in ones]

        return [
            [
                list(key),
                {part: pack(d) for part, d in one.newest.items()},
                chains(one.before),
                chains(one.at_now),
                None if one.now is None else micros(one.now),
                one.seen,
                one.fired,
            ]
            for key, one in self.joined.items()
        ]

    def load(self, saved: list[Any], unpack: Any, moment: Any) -> None:
        """Remember what was saved."""

        def chains(ones: list[Any]) -> list[Chain | None]:
            return [None if c is None else tuple((n, unpack(d)) for n, d in c) for c in ones]

        for key, newest, before, at_now, now, seen, fired in saved:
            self.joined[tuple(key)] = one = Joined(len(self.body.parts))
            one.newest = {part: unpack(d) for part, d in newest.items()}
            one.before, one.at_now = chains(before), chains(at_now)
            one.now = None if now is None else moment(now)
            one.seen, one.fired = seen, fired
