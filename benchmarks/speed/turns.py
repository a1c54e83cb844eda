"""`speed turns`: what a turn of a conversation costs, early and late, and how much is kept of it.

What following a conversation is measured against: formulas over the whole history at every turn.
"""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import chain, count
from statistics import median
from typing import Any

from benchmarks.quality.conversation_baselines import fixed_scores, parapet
from benchmarks.quality.conversation_sets import Talk, Turn
from benchmarks.quality.simulate import KINDS, SHORTEST, phrases, simulated
from benchmarks.speed.shapes import ratio_record

TURNS = 10_000
PART = 500
"""User turns that a figure is of. Those of the assistant cost next to nothing."""
SHORT = 100
"""Turns of history at which the peer is measured first."""
PEER_MOST = 2_000
"""Turns of history at which it is measured last: it takes longer with every one."""
PEER_TURNS = 5
BAR, GOAL = 2.0, 1.0
"""Milliseconds of the processor for a turn, by the median."""
EVEN = (1.5, 1.2)
"""A late turn beside an early one, at most."""
BYTES = (65_536.0, 16_384.0)
"""Of the state after all turns, as JSON."""
GROWN = (1_048_576.0, 262_144.0)
"""Bytes of memory that the second half of the turns may add."""
Make = Callable[[str], Any]


def measure(make: Make, turns: int = TURNS) -> Iterator[dict[str, Any]]:
    """Records of every timing as it is taken, then what must hold. `make` gives a new conversation."""
    part = min(PART, turns // 4)
    talk = make("bench")
    # What is loaded with the first turns, and what is kept of words for all conversations, is no cost of one.
    warm = make("warm")
    for text in chain.from_iterable(phrases().values()):
        warm.turn(text)
    taken = list(_timed(talk, turns))
    first, last = taken[:part], taken[-part:]
    yield timing(f"first {part} user turns", first)
    yield timing(f"last {part} of {turns:,} turns", last)
    yield from _whole(min(turns, PEER_MOST))
    late, early = 1e3 * median(last), 1e3 * median(first)
    yield _at_most("ms a user turn (median)", max(late, early), (BAR, GOAL))
    yield _at_most("times an early turn for a late one", late / max(early, 1e-9), EVEN)
    size = float(len(json.dumps(talk.save())))
    yield _at_most(f"bytes of state after {turns:,} turns", size, BYTES)
    yield _at_most(f"bytes of memory added after turn {turns // 2:,}", _grown(make, turns), GROWN)


def said(*, numbered: bool = True) -> Iterator[tuple[str, str]]:
    """Roles and texts without end: short made-up talks of every kind in turn, so that early and late turns
    are alike; numbered, so that no cache knows a text."""
    for k in count():
        kind = list(KINDS)[k % len(KINDS)]
        for place, (role, text) in enumerate(simulated(kind, k, SHORTEST).said):
            yield role, f"{k * SHORTEST + place}: {text}" if numbered else text


def timing(name: str, taken: list[float]) -> dict[str, Any]:
    """Seconds of the processor for turns: the median, and what 99 of 100 stay under."""
    ordered = sorted(taken)
    return {
        "record": "turns",
        "name": name,
        "turns": len(taken),
        "cpu_seconds": round(sum(taken), 6),
        "p50_ms": round(1e3 * median(ordered), 4),
        "p99_ms": round(1e3 * ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 4),
    }


def _timed(talk: Any, turns: int) -> Iterator[float]:
    """Seconds of each of the user's turns."""
    for _, (role, text) in zip(range(turns), said(), strict=False):
        begun = time.process_time()
        talk.turn(text, role)
        if role == "user":
            yield time.process_time() - begun


def _whole(most: int) -> Iterator[dict[str, Any]]:
    """The peer at two lengths of history."""
    peer, texts = WholeHistory(), (text for _, text in said())
    kept = 0
    for length in (SHORT, most) if most > SHORT else (most,):
        while kept < length - PEER_TURNS:
            peer.keep(next(texts))
            kept += 1
        taken = []
        for _ in range(PEER_TURNS):
            begun = time.process_time()
            peer.turn(next(texts))
            taken.append(time.process_time() - begun)
        kept += PEER_TURNS
        yield timing(f"peer: whole history of {length:,}", taken)


def _grown(make: Make, turns: int) -> float:
    """Bytes that Python holds more after all turns than after half of them, when its caches are full."""
    talk, early, before = make("memory"), max(1, turns // 2), 0
    tracemalloc.start()
    try:
        # Not numbered: the caches of words, which all conversations share and which have a bound, stay.
        for k, (role, text) in zip(range(turns), said(numbered=False), strict=False):
            talk.turn(text, role)
            if k + 1 == early:
                gc.collect()
                before = tracemalloc.get_traced_memory()[0]
        gc.collect()
        return float(max(0, tracemalloc.get_traced_memory()[0] - before))
    finally:
        tracemalloc.stop()


def _at_most(what: str, value: float, limits: tuple[float, float]) -> dict[str, Any]:
    bar, goal = limits
    return ratio_record(what, value, bar, goal, value <= bar, value <= goal)


class WholeHistory:
    """Keeps every turn, and scores all of them again when one is added."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def keep(self, text: str) -> None:
        """Keep a turn and score nothing."""
        self._turns.append(Turn(text, True, {}))

    def turn(self, text: str) -> float:
        """The higher of the fixed formulas and of peak plus persistence, over all turns so far."""
        self.keep(text)
        talk = Talk("", None, tuple(self._turns))
        return max(fixed_scores(talk)["fixed_formulas"], parapet(talk))
