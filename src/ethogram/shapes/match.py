"""Matching a sequence: which places stand at which event, and where the whole fires."""

from __future__ import annotations

from collections.abc import Iterator

from .compile import uses_steps
from .evaluate import NO_CHAIN, Chain, reader
from .history import History
from .program import SequenceProgram
from .tree import Duration, Events, Limits

MOST_ALSO = 50


def holds(history: History, limits: Limits, start: int, end: int, *, both_ends: bool = False) -> bool:
    """Whether all limits hold from one position to another.

    Durations are inclusive; without times only limits in events count. `both_ends`: 3 events are
    three positions, ends included; otherwise three steps from the first.
    """
    for limit in limits:
        if isinstance(limit, Events):
            if end - start + both_ends > limit.n:
                return False
        elif (
            isinstance(limit, Duration)
            and history.timed
            and history.times[end] - history.times[start] > limit.us
        ):
            return False
    return True


class Matcher:
    """Walks one history. `before[i][t]` is the event at which place i-1 stood when place i stood at t."""

    def __init__(self, body: SequenceProgram, history: History, cap: int) -> None:
        self.body = body
        self.history = history
        self.conditions = [reader(place.condition, cap) for place in body.places]
        self.chained = [uses_steps(place.condition) for place in body.places]
        self.nevers = [[reader(never, cap) for never in place.nevers] for place in body.places]
        self.optionals = [reader(one.condition, cap) for one in body.optionals]
        self.before: list[dict[int, int]] = [{} for _ in body.places]
        self.latest: list[int | None] = [None] * len(body.places)
        self.last_never: list[int] = [-1] * len(body.places)
        self.last_fired = -1
        self.proof: list[int] = []
        self.first_step_known = False

    def firings(self) -> Iterator[tuple[int, Chain]]:
        """Every event at which it fires, with the positions each step matched."""
        for at in range(len(self.history.events)):
            self._advance(at)
            if at not in self.before[-1]:
                continue
            proof = self.positions(len(self.body.places) - 1, at)
            in_time = holds(self.history, self.body.within, proof[0], at, both_ends=True)
            if proof[0] > self.last_fired and in_time:
                self.proof = proof
                yield at, self._evidence(proof, at)
                self.last_fired = at

    def _advance(self, at: int) -> None:
        # From the last place to the first, so that `latest` still speaks of earlier events.
        standing = [self._stands(i, at) for i in reversed(range(len(self.body.places)))][::-1]
        for i, previous in enumerate(standing):
            if previous is not None:
                self.before[i][at] = previous
                self.latest[i] = at
        for i, nevers in enumerate(self.nevers):
            if any(never(self.history, at, NO_CHAIN) is True for never in nevers):
                self.last_never[i] = at

    def _stands(self, i: int, at: int) -> int | None:
        """The event at which the place before stood, -1 for the first place, None if i does not stand."""
        if i == 0:
            truth = self.conditions[0](self.history, at, NO_CHAIN)
            self.first_step_known = self.first_step_known or truth is not None
            return -1 if truth is True else None
        previous = self.latest[i - 1]
        if previous is None or not self.reaches(i, previous, at) or self.last_never[i] > previous:
            return None
        chain = self.chain(self.positions(i - 1, previous)) if self.chained[i] else NO_CHAIN
        return previous if self.conditions[i](self.history, at, chain) is True else None

    def reaches(self, i: int, start: int, end: int) -> bool:
        """Whether gaps and soon of place i hold from one matched event to the next."""
        place = self.body.places[i]
        if place.gaps is not None and end - start - 1 > place.gaps:
            return False
        return holds(self.history, place.soon, start, end)

    def positions(self, i: int, at: int) -> list[int]:
        """The chain of place i standing at an event: one position per place."""
        out = [at]
        for place in range(i, 0, -1):
            out.append(self.before[place][out[-1]])
        return out[::-1]

    def chain(self, positions: list[int]) -> dict[str, list[int]]:
        """Positions by step name."""
        out: dict[str, list[int]] = {}
        for place, at in zip(self.body.places, positions, strict=False):
            out.setdefault(place.step, []).append(at)
        return out

    def _evidence(self, proof: list[int], fired: int) -> dict[str, list[int]]:
        chain = self.chain(proof)
        for step in self.body.collects:
            chain[step] = self._also(step, chain[step], proof, fired) + chain[step]
        right: dict[int, int] = {}
        for one, meets in reversed(list(zip(self.body.optionals, self.optionals, strict=True))):
            low, high = proof[one.after], right.get(one.after, proof[one.after + 1])
            filled = next(
                (t for t in range(high - 1, low, -1) if meets(self.history, t, NO_CHAIN) is True), None
            )
            if filled is not None:
                chain[one.step] = [filled]
                right[one.after] = filled
        return chain

    def _also(self, step: str, matched: list[int], proof: list[int], fired: int) -> list[int]:
        first = next(i for i, place in enumerate(self.body.places) if place.step == step)
        floor = max(self.last_fired, proof[first - 1] if first else -1)
        found: list[int] = []
        at = matched[0]
        while len(found) < MOST_ALSO:
            earlier = next((t for t in range(at - 1, floor, -1) if t in self.before[first]), None)
            if earlier is None or not self.reaches(first, earlier, at):
                break
            if not holds(self.history, self.body.within, earlier, fired, both_ends=True):
                break
            found.append(earlier)
            at = earlier
        return found[::-1]
