"""Sequences over all histories of a block, and their evidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...language.ast import And, Duration, Events, Expr, Limits
from ...language.compiler import uses_steps
from ...language.program import Place, SequenceProgram
from ..plain import MOST_ALSO
from .blocks import Arranged
from .expressions import At, cost
from .table import Ints, Mask

# Sequences over all histories of a block: where each place stands, and where the whole fires.
#
# Only positions that meet a place's condition are followed: `stands[i]` are the positions at which places
# 1..i stand, and `back[i]` says, for each, which entry of `stands[i-1]` it goes on from.


@dataclass(frozen=True, slots=True)
class Matched:
    """Where places stand, and the firings: their chains as one row of positions per place."""

    stands: tuple[Ints, ...]
    fired: tuple[Ints, ...]
    last_fired: Ints
    """For each firing, the position of the one before it in its history, or -1."""


def match(body: SequenceProgram, at: At) -> Matched:
    """Everything a sequence finds in the histories of a block."""
    if is_contiguous(body):
        return match_contiguous(body, at)
    stands, back = [np.flatnonzero(at.holds(body.places[0].condition))], [np.empty(0, np.int64)]
    for i in range(1, len(body.places)):
        positions, came = _place(body, i, at, stands, back)
        stands.append(positions)
        back.append(came)
    chains = trace(stands, back, len(stands) - 1, np.arange(len(stands[-1])))
    inside = reaches(at.arranged, body.within, chains[0], chains[-1], both_ends=True)
    chains = [positions[inside] for positions in chains]
    chosen, last = _fire(at.arranged, chains[0], chains[-1])
    return Matched(tuple(stands), tuple(positions[chosen] for positions in chains), last)


def _place(body: SequenceProgram, i: int, at: At, stands: list[Ints], back: list[Ints]) -> tuple[Ints, Ints]:
    """Where places 1..i+1 stand, and the entry of the place before that each goes on from."""
    place, earlier = body.places[i], stands[i - 1]
    if not len(earlier):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    alone, chained = split(place.condition)
    found = np.flatnonzero(at.holds(alone)) if alone is not None else np.arange(at.size)
    came = np.searchsorted(earlier, found, "left") - 1
    before = earlier[came]
    mask = (came >= 0) & (before >= at.arranged.start_of(found))
    found, came, before = found[mask], came[mask], before[mask]
    mask = _allowed(place, at, before, found)
    found, came = found[mask], came[mask]
    if chained is not None and len(found):
        chain = _chain(body, i, trace(stands, back, i - 1, came))
        mask = At(at.arranged, at.cap, found, chain).holds(chained)
        found, came = found[mask], came[mask]
    return found, came


def split(condition: Expr) -> tuple[Expr | None, Expr | None]:
    """The part of a condition that names no steps, and the part that does."""
    items = condition.items if isinstance(condition, And) else (condition,)
    alone = tuple(item for item in items if not uses_steps(item))
    chained = tuple(item for item in items if uses_steps(item))
    return _joined(alone), _joined(chained)


def _joined(items: tuple[Expr, ...]) -> Expr | None:
    return None if not items else items[0] if len(items) == 1 else And(items)


def _allowed(place: Place, at: At, start: Ints, end: Ints) -> Mask:
    """Where max_gap, within and never of a place allow going on from one position to another."""
    allowed = reaches(at.arranged, place.within, start, end)
    if place.max_gap is not None:
        allowed &= end - start - 1 <= place.max_gap
    for never in place.nevers:
        # A never that forbids is strictly between, so the newest before the end decides.
        marks = np.flatnonzero(at.holds(never))
        if len(marks):
            newest = np.searchsorted(marks, end, "left") - 1
            allowed &= ~((newest >= 0) & (marks[newest] > start))
    return allowed


def reaches(arranged: Arranged, limits: Limits, start: Ints, end: Ints, *, both_ends: bool = False) -> Mask:
    """Where all limits hold from one position to another of the same history."""
    out = np.ones(len(start), bool)
    for limit in limits:
        if isinstance(limit, Events):
            out &= end - start + both_ends <= limit.n
        elif isinstance(limit, Duration) and arranged.timed:
            out &= arranged.times[end] - arranged.times[start] <= limit.us
    return out


def trace(stands: list[Ints], back: list[Ints], place: int, entries: Ints) -> list[Ints]:
    """The chains of some entries of a place: positions for each place up to it."""
    out = [stands[place][entries]]
    for i in range(place, 0, -1):
        entries = back[i][entries]
        out.append(stands[i - 1][entries])
    return out[::-1]


def _chain(body: SequenceProgram, i: int, positions: list[Ints]) -> dict[str, list[Ints]]:
    """The positions matched by each step before place i."""
    out: dict[str, list[Ints]] = {}
    for place, at in zip(body.places[:i], positions, strict=True):
        out.setdefault(place.step, []).append(at)
    return out


def _fire(arranged: Arranged, first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Which chains fire, each after the firing before it; and the position of that one, or -1."""
    fires = np.ones(len(last), bool)
    # A chain that starts after the end of the one before it fires whatever came earlier.
    behind = np.flatnonzero(first[1:] <= last[:-1]) + 1
    if len(behind):
        fires[behind] = _after_firing(behind.tolist(), first.tolist(), last.tolist())
    chosen = np.flatnonzero(fires)
    before = np.full(len(chosen), -1)
    ends = last[chosen]
    before[1:] = np.where(arranged.start_of(ends[1:]) <= ends[:-1], ends[:-1], -1)
    return chosen, before


def _after_firing(behind: list[int], first: list[int], last: list[int]) -> list[bool]:
    """Which of the chains that overlap the one before them start after the last firing."""
    out: list[bool] = []
    fired, previous = -1, -1
    for k in behind:
        if k - 1 != previous:
            fired = last[k - 1]
        previous = k
        out.append(first[k] > fired)
        if out[-1]:
            fired = last[k]
    return out


# --- with no gaps, every place is known from the first --------------------------------------


@lru_cache(maxsize=1024)
def is_contiguous(body: SequenceProgram) -> bool:
    """Whether each place must stand right after the one before, and no place looks back at another."""
    return all(
        place.max_gap == 0 and not place.within and not uses_steps(place.condition) for place in body.places
    )


def match_contiguous(body: SequenceProgram, at: At) -> Matched:
    """The same as `match`: each place stands a fixed number of events after the first."""
    if body.collects:
        return _masked(body, at)
    size, conditions = len(body.places), [place.condition for place in body.places]
    order = _rarest_first(at, conditions)
    # Where the rarest condition holds, the others are asked one after another.
    first = np.flatnonzero(at.holds(conditions[order[0]])) - order[0]
    first = first[np.searchsorted(first, 0) : np.searchsorted(first, at.size - size, "right")]
    for i in order[1:]:
        if not len(first):
            break
        first = first[At(at.arranged, at.cap, first + i).holds(conditions[i])]
    # Whether a chain stays within its history is asked of the few that are left.
    number = at.arranged.number_of(first)
    first = first[first + size <= at.arranged.ends[number]]
    return _matched(body, at, first, ())


def _rarest_first(at: At, conditions: list[Expr]) -> list[int]:
    """The places, those first whose conditions cost least and are rarest, as far as seen in blocks before."""
    shares = at.arranged.block.columns.shares
    for condition in conditions:
        if (condition, True) not in shares and cost(condition) == 0:
            shares[condition, True] = np.count_nonzero(at.holds(condition)) / max(1, at.size)

    def rank(i: int) -> tuple[int, float]:
        return cost(conditions[i]), shares.get((conditions[i], True), 1.0)

    return sorted(range(len(conditions)), key=rank)


def _masked(body: SequenceProgram, at: At) -> Matched:
    """By the AND of each place's mask with the one before, moved on by one: gives all that stands."""
    masks = [at.holds(body.places[0].condition)]
    for place in body.places[1:]:
        here = at.holds(place.condition).copy()
        here[1:] &= masks[-1][:-1]
        here[at.arranged.starts] = False
        masks.append(here)
    first = np.flatnonzero(masks[-1]) - (len(masks) - 1)
    names = [place.step for place in body.places]
    collecting = {names.index(step) for step in body.collects} if len(first) else set()
    none = np.empty(0, np.int64)
    stands = tuple(np.flatnonzero(mask) if i in collecting else none for i, mask in enumerate(masks))
    return _matched(body, at, first, stands)


def _matched(body: SequenceProgram, at: At, first: Ints, stands: tuple[Ints, ...]) -> Matched:
    """The firings among whole chains that begin at some positions."""
    size = len(body.places)
    if len(first):
        first = first[reaches(at.arranged, body.within, first, first + size - 1, both_ends=True)]
    if not len(first):
        return Matched(stands, (first,) * size, first)
    chosen, last = _fire(at.arranged, first, first + size - 1)
    return Matched(stands, tuple(first[chosen] + i for i in range(size)), last)


# What a firing gathers besides its chain: earlier events of `at_least` steps, and optional steps.

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
            for item in rounds:
                out += item >= 0
        for item in self.filled.values():
            out += item >= 0
        return out

    def chain(self, k: int) -> dict[str, list[int]]:
        """The positions each step matched at the k-th firing, counted in its history, oldest first."""
        start = int(self.starts[k])
        chain: dict[str, list[int]] = {}
        for place, positions in zip(self.body.places, self.matched.fired, strict=True):
            chain.setdefault(place.step, []).append(int(positions[k]) - start)
        for step, rounds in self.also.items():
            found = [int(item[k]) - start for item in rounds if item[k] >= 0]
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
        if place.max_gap is not None:
            going &= here - earlier - 1 <= place.max_gap
        going &= reaches(at.arranged, place.within, earlier, here)
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
    for optional in reversed(body.optionals):
        low = matched.fired[optional.after]
        high = right.get(optional.after, matched.fired[optional.after + 1])
        marks = np.flatnonzero(at.holds(optional.condition))
        found = np.full(len(low), NOWHERE)
        if len(marks):
            entry = np.searchsorted(marks, high, "left") - 1
            newest = marks[np.maximum(entry, 0)]
            found = np.where((entry >= 0) & (newest > low), newest, NOWHERE)
        out[optional.step] = found
        right[optional.after] = np.where(found >= 0, found, high)
    return out
