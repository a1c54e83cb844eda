"""Counting: which detections count towards a risk, how sure each is, and how old."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..records import Detection, Verdict, micros
from .standing import balances
from .weighing import Weighing

Calibrate = Callable[[Detection], float]
"""The probability that a detection is right, for what its pattern gave as confidence."""
STANDS = ("opened", "closed")
"""States of detections that count; withdrawn and superseded ones are as if they had not been."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the detections themselves, by now.

    Whatever moment a question is about, it is answered with every verdict there is: a false alarm was one
    from the beginning, and what is asked twice has one answer, whether or not its verdicts are gone by then.
    `untimed` are sources without times: nothing of them fades. `settled` is what judges made of detections
    whose verdicts are gone by now: above 0 confirmed, below 0 false alarms.
    """

    verdicts: tuple[Verdict, ...] = ()
    untimed: frozenset[str] = frozenset()
    calibrate: Calibrate | None = None
    settled: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counted:
    """A detection that counts: how sure it is now, and microseconds since it was last seen to hold."""

    detection: Detection
    confidence: float
    age: int


def counted(
    detections: Iterable[Detection], as_of: datetime, weighing: Weighing, known: Known
) -> list[Counted]:
    """The detections that count at a moment, in output order, each id once."""
    every = {one.id: one for one in sorted(detections, key=lambda one: (one.order, one.last_event))}
    judged = {**known.settled, **balances(known.verdicts)}
    out = []
    for one in every.values():
        if one.state in STANDS and one.detected_at <= as_of and one.status not in weighing.shadow:
            confidence = 0.0 if _is_undermined(one, every, judged) else _confidence(one, judged, known)
            if confidence > 0:
                out.append(Counted(one, confidence, age(one, as_of, known)))
    return out


def age(one: Detection, as_of: datetime, known: Known) -> int:
    """Microseconds since an episode was last seen to hold; 0 where that is still to come.

    That it closed changes nothing: an end is no reason to rise (a person who comes back after a silence),
    and an episode that nobody closed, since its run is over, still fades.
    """
    if one.source in known.untimed:
        return 0
    return max(0, micros(as_of) - micros(one.held_at))


def _confidence(one: Detection, judged: Mapping[str, int], known: Known) -> float:
    """1 once more judges confirm it than not, 0 once fewer do, and else what its pattern says.

    Each further false alarm moves this down that line or leaves it, so it can never raise a risk.
    """
    balance = judged.get(one.id, 0)
    if balance:
        return float(balance > 0)
    told = one.confidence if known.calibrate is None else known.calibrate(one)
    return min(1.0, max(0.0, told))


def _is_undermined(one: Detection, every: Mapping[str, Detection], judged: Mapping[str, int]) -> bool:
    """Whether something that a combination stands on has fallen, at any depth."""
    waiting, seen = list(one.parts), {one.id}
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        other = every.get(part)
        if judged.get(part, 0) < 0 or (other is not None and other.state not in STANDS):
            return True
        waiting += other.parts if other is not None else ()
    return False


Stands = Mapping[str, Sequence[str]]
"""Which combinations are made of a detection, by ids."""


def combined_of(detections: Iterable[Detection]) -> Stands:
    """For each detection that is a part, the combinations that stand on it."""
    found: dict[str, list[str]] = {}
    for one in detections:
        for part in one.parts:
            found.setdefault(part, []).append(one.id)
    return found


def falls_with(fallen: str, stands: Stands) -> set[str]:
    """The ids of a detection and of all combinations that stand on it, at any depth.

    Combinations are not looked for anew without it: what would have combined instead is another history.
    """
    gone, waiting = {fallen}, [fallen]
    while waiting:
        more = [other for other in stands.get(waiting.pop(), ()) if other not in gone]
        gone.update(more)
        waiting += more
    return gone
