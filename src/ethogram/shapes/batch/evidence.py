"""What a firing gathers besides its chain: earlier events of `at_least` steps, and optional steps."""

from __future__ import annotations

import numpy as np

from ..match import MOST_ALSO
from ..program import SequenceProgram
from .columns import Ints
from .evaluate import At
from .sequence import Matched, reaches

NOWHERE = -1


class Gather:
    """For all firings at once: what each step matched.

    `also[step]` are further positions of a step, the newest first, `optional[step]` those of an optional
    step; -1 where a firing has none.
    """

    def __init__(self, body: SequenceProgram, at: At, matched: Matched) -> None:
        self.body, self.matched = body, matched
        self.starts = at.arranged.start_of(matched.fired[-1])
        self.also = {step: _also(step, body, at, matched) for step in body.collects}
        self.filled = _filled(body, at, matched)

    @property
    def steps(self) -> dict[str, list[Ints]]:
        """The positions of each step, oldest first, for reading expressions in columns."""
        out: dict[str, list[Ints]] = {step: rounds[::-1] for step, rounds in self.also.items()}
        for place, positions in zip(self.body.places, self.matched.fired, strict=True):
            out.setdefault(place.step, []).append(positions)
        return out | {step: [at] for step, at in self.filled.items()}

    @property
    def count(self) -> Ints:
        """How many events each firing matched in all."""
        out = np.full(len(self.starts), len(self.body.places))
        for rounds in self.also.values():
            for one in rounds:
                out += one >= 0
        for one in self.filled.values():
            out += one >= 0
        return out

    def chain(self, k: int) -> dict[str, list[int]]:
        """The positions each step matched at the k-th firing, counted in its history, oldest first."""
        start = int(self.starts[k])
        chain: dict[str, list[int]] = {}
        for place, positions in zip(self.body.places, self.matched.fired, strict=True):
            chain.setdefault(place.step, []).append(int(positions[k]) - start)
        for step, rounds in self.also.items():
            found = [int(one[k]) - start for one in rounds if one[k] >= 0]
            chain[step] = found[::-1] + chain[step]
        for step, at in self.filled.items():
            if at[k] >= 0:
                chain[step] = [int(at[k]) - start]
        return chain


def _also(step: str, body: SequenceProgram, at: At, matched: Matched) -> list[Ints]:
    """Walk back from the first matched event of a step, for all firings together."""
    first = next(i for i, place in enumerate(body.places) if place.step == step)
    place, stands, fired = body.places[first], matched.stands[first], matched.fired
    floor = np.maximum(matched.last_fired, at.arranged.start_of(fired[-1]) - 1)
    if first:
        floor = np.maximum(floor, fired[first - 1])
    here = fired[first].copy()
    entry = np.searchsorted(stands, here) - 1
    going = np.ones(len(here), bool)
    rounds: list[Ints] = []
    while len(rounds) < MOST_ALSO:
        earlier = np.where(going & (entry >= 0), stands[np.maximum(entry, 0)], NOWHERE)
        going &= earlier > floor
        if place.gaps is not None:
            going &= here - earlier - 1 <= place.gaps
        going &= reaches(at.arranged, place.soon, earlier, here)
        going &= reaches(at.arranged, body.within, earlier, fired[-1], both_ends=True)
        if not going.any():
            break
        rounds.append(np.where(going, earlier, NOWHERE))
        here, entry = np.where(going, earlier, here), entry - 1
    return rounds


def _filled(body: SequenceProgram, at: At, matched: Matched) -> dict[str, Ints]:
    """Optional steps, from the last to the first, each before the next one filled."""
    right: dict[int, Ints] = {}
    out: dict[str, Ints] = {}
    for one in reversed(body.optionals):
        low = matched.fired[one.after]
        high = right.get(one.after, matched.fired[one.after + 1])
        marks = np.flatnonzero(at.holds(one.condition))
        found = np.full(len(low), NOWHERE)
        if len(marks):
            entry = np.searchsorted(marks, high, "left") - 1
            newest = marks[np.maximum(entry, 0)]
            found = np.where((entry >= 0) & (newest > low), newest, NOWHERE)
        out[one.step] = found
        right[one.after] = np.where(found >= 0, found, high)
    return out
