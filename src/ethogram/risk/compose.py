"""Compose: where a subject stands, from its detections.

    risk = 1 - product over causes of (1 - largest of weight(level) x confidence x 2^(-age / half-life))
    then its odds times the multipliers of combinations, then not below the floor of critical detections

Each step can only rise with a contribution, and each contribution can only rise with one more detection and
fall with age or a false alarm. So a detection never lowers the risk, a false alarm never raises it and time
alone lowers it, whatever is combined with whatever:
- of one cause the largest counts, of one combination too, of floors too: a maximum never falls when something
  is added;
- a multiplier is 1 or more and fades to 1, where a window in which a combination is "open" would end at once;
- a combination counts under its own cause as every detection does, whether or not its parts are known here:
  were it only a multiplier where they are, a part that becomes known could lower the risk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..records import LEVELS, Detection, Risk
from ..records.chances import chance, multiplied, odds
from .counting import Counted, Known, Stands, combined_of, counted, falls_with
from .weighing import Weighing, base, cause_of

PLACES = 6


@dataclass(frozen=True, slots=True)
class Share:
    """What one cause (or combination, or floor) adds, and the detection that it comes from.

    `probability` is how sure that detection counts: its confidence, or what verdicts have made of it.
    """

    name: str
    value: float
    detection: str
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        numbers = {name: round(getattr(self, name), PLACES) for name in ("value", "probability")}
        return {"name": self.name, "detection": self.detection, **numbers}


@dataclass(frozen=True, slots=True)
class Composition:
    """A risk and what it is made of; `causes` and `combinations` are the largest first.

    `plain` is the risk of the causes alone. A combination's value is what it multiplies the odds by. `mode`
    is the gravest level of which one new and certain detection alone would make as much, '' below all.
    """

    value: float
    as_of: datetime
    plain: float
    mode: str = ""
    causes: tuple[Share, ...] = ()
    combinations: tuple[Share, ...] = ()
    floor: Share | None = None
    detections: tuple[str, ...] = ()

    def risk(self, subject: str, thread: str | None = None, source: str = "input") -> Risk:
        """The record of it."""
        return Risk(subject, self.as_of, self.value, self.mode, thread, self.detections, source)

    def to_dict(self) -> dict[str, Any]:
        """What it is made of, in JSON."""
        return {
            "plain": self.plain,
            "causes": [one.to_dict() for one in self.causes],
            "combinations": [one.to_dict() for one in self.combinations],
            "floor": None if self.floor is None else self.floor.to_dict(),
        }


def compose(
    detections: Iterable[Detection],
    *,
    as_of: datetime,
    weighing: Weighing | None = None,
    known: Known | None = None,
) -> Composition:
    """The risk that the detections of one subject (or thread) make up at a moment; 0 for none."""
    weighing = weighing or Weighing()
    return composed(counted(detections, as_of, weighing, known or Known()), as_of, weighing)


def composed(every: Sequence[Counted], as_of: datetime, weighing: Weighing) -> Composition:
    """The risk of what counts, in output order."""
    causes = _largest((cause_of(one.detection), share(one, weighing), one) for one in every)
    factors = ((base(one.detection.pattern), factor(one, weighing), one) for one in every)
    combinations = _largest(told for told in factors if told[1] > 1)
    floors = _largest(("floor", floor(one, weighing), one) for one in every if _is_critical(one))
    plain = odds(one.value for one in causes)
    raised = chance(multiplied(plain, (one.value for one in combinations)))
    value = round(max([raised, *(one.value for one in floors)]), PLACES)
    return Composition(
        value=value,
        as_of=as_of,
        plain=round(chance(plain), PLACES),
        mode=mode_of(value, weighing),
        causes=causes,
        combinations=combinations,
        floor=floors[0] if floors else None,
        detections=tuple(one.detection.id for one in every),
    )


def share(one: Counted, weighing: Weighing) -> float:
    """What a detection adds under its cause: weight x confidence, faded."""
    fade = _faded(one.age, weighing.fades(cause_of(one.detection)))
    return weighing.weights[one.detection.level] * one.confidence * fade


def factor(one: Counted, weighing: Weighing) -> float:
    """What a combination multiplies the odds by: its multiplier when new and certain, in the end 1."""
    more = weighing.multiplier(one.detection.pattern) - 1
    return 1 + more * one.confidence * _faded(one.age, weighing.fades(cause_of(one.detection)))


def floor(one: Counted, weighing: Weighing) -> float:
    """What a critical detection keeps the risk above."""
    return weighing.floor * one.confidence * _faded(one.age, weighing.floor_half_life)


def alone(one: Counted, weighing: Weighing) -> float:
    """How high a risk one detection alone would make."""
    return max(share(one, weighing), floor(one, weighing) if _is_critical(one) else 0.0)


def mode_of(value: float, weighing: Weighing) -> str:
    """The gravest level that weighs no more than this, to two places as it is shown; '' where none does.

    >>> mode_of(0.59, Weighing()), mode_of(0.599, Weighing()), mode_of(0.05, Weighing())
    ('medium', 'high', '')
    """
    return next((one for one in reversed(LEVELS) if 0 < weighing.weights[one] <= value + 0.005), "")


def _is_critical(one: Counted) -> bool:
    return one.detection.level == "critical"


def _faded(age: int, half_life: int) -> float:
    return math.exp2(-age / half_life)


def _largest(told: Iterable[tuple[str, float, Counted]]) -> tuple[Share, ...]:
    """The largest of each name, the largest first; of equal ones the detection that came first."""
    best: dict[str, tuple[float, Counted]] = {}
    for name, value, one in told:
        if name not in best or value > best[name][0]:
            best[name] = (value, one)
    shares = [Share(name, value, one.detection.id, one.confidence) for name, (value, one) in best.items()]
    return tuple(sorted(shares, key=lambda one: (-one.value, one.name)))


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The risk without one detection, and without what stands on it."""

    detection: str
    value: float
    less: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"detection": self.detection, "value": self.value, "less": self.less}


def what_if(
    detections: Iterable[Detection],
    *,
    as_of: datetime,
    weighing: Weighing | None = None,
    known: Known | None = None,
) -> tuple[WhatIf, ...]:
    """For each detection that counts, the risk without it; what matters most first.

    One behind a graver one of its cause changes nothing alone.
    """
    weighing = weighing or Weighing()
    given = list(detections)
    every, stands = counted(given, as_of, weighing, known or Known()), combined_of(given)
    now = composed(every, as_of, weighing)
    found = [without(every, one.detection.id, now, weighing, stands) for one in every]
    return tuple(sorted(found, key=lambda one: (-one.less, one.detection)))


def without(
    every: Sequence[Counted], fallen: str, now: Composition, weighing: Weighing, stands: Stands
) -> WhatIf:
    """The risk without one of what counts; `now` is the risk with all of it."""
    gone = falls_with(fallen, stands)
    told = (*now.causes, *now.combinations, *(() if now.floor is None else (now.floor,)))
    if gone.isdisjoint(one.detection for one in told):
        # None of them is the largest of anything, so that nothing changes.
        return WhatIf(fallen, now.value, 0.0)
    left = [one for one in every if one.detection.id not in gone]
    value = composed(left, now.as_of, weighing).value
    return WhatIf(fallen, value, round(now.value - value, PLACES))
