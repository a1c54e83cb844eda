"""Sequences over all histories of a block: where places stand, where the whole fires, and its evidence.

Only positions that meet a place's condition are followed: `stands[i]` are the positions at which places 1..i
stand, and `back[i]` says, for each, which entry of `stands[i-1]` it goes on from.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...language.ast import And, Duration, Events, Expr, Limits
from ...language.compiler import uses_steps
from ...language.program import Place, SequenceProgram
from .expressions import Reader, cost
from .histories import Histories
from .table import Ints, Mask

MOST_ALSO = 50
NONE: Ints = np.empty(0, np.int64)


class Firings:
    """The firings of a sequence: a row of positions per place, and what each gathers besides its chain.

    `also[step]` are further positions of a step, the newest first, and `optional[step]` those of an optional
    step; -1 where a firing has none.
    """

    def __init__(self, body: SequenceProgram, reader: Reader) -> None:
        self.body, self.reader, self.histories = body, reader, reader.histories
        contiguous = _is_contiguous(body)
        self.stands, chains = (_adjacent if contiguous else _followed)(body, reader)
        first, last = chains[0], chains[-1]
        fires = reaches(self.histories, body.within, first, last, both_ends=True)
        chosen = np.flatnonzero(fires)
        chosen = chosen[_after_the_last(first[chosen], last[chosen])]
        self.chains: list[Ints] = [positions[chosen] for positions in chains]
        self.fired = self.chains[-1]
        self.previous: Ints = self.histories.start_of(self.fired) - 1
        """For each firing the position of the one before it in its history, or one before the first event."""
        if len(chosen):
            self.previous[1:] = np.maximum(self.previous[1:], self.fired[:-1])
        self.also = {step: self._also(step) for step in body.collects} if len(chosen) else {}
        self.optional = self._optional() if len(chosen) else {}

    def _also(self, step: str) -> list[Ints]:
        """Walk back from the first matched event of a step, for all firings together."""
        body, here = self.body, self.histories
        number = next(i for i, place in enumerate(body.places) if place.step == step)
        place, stands = body.places[number], self.stands[number]
        floor = np.maximum(self.previous, self.chains[number - 1]) if number else self.previous
        at = self.chains[number].copy()
        entry = np.searchsorted(stands, at) - 1
        going = np.ones(len(at), bool)
        rounds: list[Ints] = []
        while len(rounds) < MOST_ALSO:
            earlier = np.where(going & (entry >= 0), stands[np.maximum(entry, 0)], -1)
            going &= earlier > floor
            if place.max_gap is not None:
                going &= at - earlier - 1 <= place.max_gap
            going &= reaches(here, place.within, earlier, at)
            going &= reaches(here, body.within, earlier, self.fired, both_ends=True)
            if not going.any():
                break
            rounds.append(np.where(going, earlier, -1))
            at, entry = np.where(going, earlier, at), entry - 1
        return rounds

    def _optional(self) -> dict[str, Ints]:
        """Optional steps, from the last to the first, each before the next one filled."""
        right: dict[int, Ints] = {}
        out: dict[str, Ints] = {}
        for optional in reversed(self.body.optionals):
            low = self.chains[optional.after]
            high = right.get(optional.after, self.chains[optional.after + 1])
            marks = np.append(-1, np.flatnonzero(self.reader.holds(optional.condition)))
            newest = marks[np.searchsorted(marks, high, "left") - 1]
            out[optional.step] = np.where(newest > low, newest, -1)
            right[optional.after] = np.where(newest > low, newest, high)
        return out

    @property
    def steps(self) -> dict[str, list[Ints]]:
        """The positions each step matched, oldest first; -1 where a firing has none."""
        out: dict[str, list[Ints]] = {step: rounds[::-1] for step, rounds in self.also.items()}
        for place, positions in zip(self.body.places, self.chains, strict=True):
            out.setdefault(place.step, []).append(positions)
        return out | {step: [positions] for step, positions in self.optional.items()}


def reaches(here: Histories, limits: Limits, start: Ints, end: Ints, *, both_ends: bool = False) -> Mask:
    """Where all limits hold from one position to another of the same history; durations are inclusive."""
    out = np.ones(len(start), bool)
    for limit in limits:
        if isinstance(limit, Events):
            out &= end - start + both_ends <= limit.n
        elif isinstance(limit, Duration) and here.timed:
            out &= here.times[end] - here.times[start] <= limit.us
    return out


def _after_the_last(first: Ints, last: Ints) -> Mask:
    """Which chains begin after the end of the last one that fired, in order of their ends."""
    fires = np.ones(len(last), bool)
    # A chain that begins after the end of the one before it fires whatever came earlier.
    overlapping = np.flatnonzero(first[1:] <= last[:-1]) + 1
    fired, previous = -1, -1
    for k in overlapping.tolist():
        if k - 1 != previous:
            fired = last[k - 1]
        previous = k
        if first[k] > fired:
            fired = last[k]
        else:
            fires[k] = False
    return fires


# Any number of events between places.


def _followed(body: SequenceProgram, reader: Reader) -> tuple[list[Ints], list[Ints]]:
    """Where each place stands, and the chains of the last as one row of positions per place."""
    stands, back = [np.flatnonzero(reader.holds(body.places[0].condition))], [NONE]
    for i in range(1, len(body.places)):
        positions, entries = _place(body, i, reader, stands, back)
        stands.append(positions)
        back.append(entries)
    return stands, _trace(stands, back, len(stands) - 1, np.arange(len(stands[-1])))


def _place(
    body: SequenceProgram, i: int, reader: Reader, stands: list[Ints], back: list[Ints]
) -> tuple[Ints, Ints]:
    """Where places 1..i+1 stand, and the entry of the place before that each goes on from."""
    place, earlier, here = body.places[i], stands[i - 1], reader.histories
    if not len(earlier):
        return NONE, NONE
    alone, chained = _split(place.condition)
    at = np.flatnonzero(reader.holds(alone)) if alone is not None else np.arange(reader.size)
    entry = np.searchsorted(earlier, at, "left") - 1
    before = earlier[entry]
    stays = (entry >= 0) & (before >= here.start_of(at))
    at, entry, before = at[stays], entry[stays], before[stays]
    stays = _allowed(place, reader, before, at)
    at, entry = at[stays], entry[stays]
    if chained is not None and len(at):
        chain: dict[str, list[Ints]] = {}
        for other, positions in zip(body.places, _trace(stands, back, i - 1, entry), strict=False):
            chain.setdefault(other.step, []).append(positions)
        stays = Reader(here, reader.cap, at, chain).holds(chained)
        at, entry = at[stays], entry[stays]
    return at, entry


@lru_cache(maxsize=1024)
def _split(condition: Expr) -> tuple[Expr | None, Expr | None]:
    """The part of a condition that names no steps, and the part that does."""
    items = condition.items if isinstance(condition, And) else (condition,)
    alone = tuple(item for item in items if not uses_steps(item))
    chained = tuple(item for item in items if uses_steps(item))
    return And(alone) if alone else None, And(chained) if chained else None


def _allowed(place: Place, reader: Reader, start: Ints, end: Ints) -> Mask:
    """Where max_gap, within and never of a place allow going on from one position to another."""
    allowed = reaches(reader.histories, place.within, start, end)
    if place.max_gap is not None:
        allowed &= end - start - 1 <= place.max_gap
    for never in place.nevers:
        # The newest before the end decides whether one lies strictly between.
        marks = np.append(-1, np.flatnonzero(reader.holds(never)))
        allowed &= marks[np.searchsorted(marks, end, "left") - 1] <= start
    return allowed


def _trace(stands: list[Ints], back: list[Ints], place: int, entries: Ints) -> list[Ints]:
    """The chains of some entries of a place: positions for each place up to it."""
    out = [stands[place][entries]]
    for i in range(place, 0, -1):
        entries = back[i][entries]
        out.append(stands[i - 1][entries])
    return out[::-1]


# No events between places: each stands a fixed number of events after the first.


@lru_cache(maxsize=1024)
def _is_contiguous(body: SequenceProgram) -> bool:
    """Whether each place must stand right after the one before, and none names another."""
    return all(
        place.max_gap == 0 and not place.within and not uses_steps(place.condition) for place in body.places
    )


def _adjacent(body: SequenceProgram, reader: Reader) -> tuple[list[Ints], list[Ints]]:
    """The same as `_followed`: where the rarest condition holds, the others are tested in turn."""
    here, size = reader.histories, len(body.places)
    conditions = [place.condition for place in body.places]
    order = _rarest_first(reader, conditions)
    first = np.flatnonzero(reader.holds(conditions[order[0]])) - order[0]
    first = first[np.searchsorted(first, 0) : np.searchsorted(first, reader.size - size, "right")]
    for i in order[1:]:
        if not len(first):
            break
        first = first[Reader(here, reader.cap, first + i).holds(conditions[i])]
    first = first[first + size <= here.ends[here.number_of(first)]]
    stands = [NONE] * size
    names = [place.step for place in body.places]
    for number in {names.index(step) for step in body.collects} if len(first) else ():
        stands[number] = _standing(reader, conditions[: number + 1])
    return stands, [first + i for i in range(size)]


def _rarest_first(reader: Reader, conditions: list[Expr]) -> list[int]:
    """The places, those first whose conditions cost least and were rarest in earlier blocks."""
    shares = reader.histories.block.table.shares
    for condition in conditions:
        if (condition, True) not in shares and cost(condition) == 0:
            shares[condition, True] = np.count_nonzero(reader.holds(condition)) / max(1, reader.size)
    keys = [(cost(condition), shares.get((condition, True), 1.0)) for condition in conditions]
    return sorted(range(len(conditions)), key=keys.__getitem__)


def _standing(reader: Reader, conditions: list[Expr]) -> Ints:
    """Where the last of some conditions in a row holds with all before it."""
    mask = reader.holds(conditions[0])
    for condition in conditions[1:]:
        here = reader.holds(condition).copy()
        here[1:] &= mask[:-1]
        here[reader.histories.starts] = False
        mask = here
    return np.flatnonzero(mask)
