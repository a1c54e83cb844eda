"""Risk scoring: contributions, decay, combination multipliers, floors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from ..models import SEVERITIES, Detection, Risk, Verdict, micros
from ..models.constants import SEVERITY_WEIGHTS
from ..models.detection import STANDING, base_pattern
from ..models.record import Record, decimals
from ..models.timestamps import DAY
from ..stats import chance, multiplied, odds
from .verdicts import balances

if TYPE_CHECKING:
    from ..fields import FactorValue, Name, Ratio, RiskMode, Rung


# Weighing: the numbers by which detections make up a risk.

SHADOW = frozenset(("shadow", "retired"))
"""Statuses of patterns whose detections do not count."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """What each severity weighs, how fast it fades, and what combinations and critical ones add.

    Durations are microseconds. Each limit that is checked here is what a promise rests on: a graver severity
    never weighs less, a combination never lowers the odds, and everything fades.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: SEVERITY_WEIGHTS)
    half_life: int = 7 * DAY
    half_lives: Mapping[str, int] = field(default_factory=dict)
    """Another half-life for a cause."""
    multipliers: Mapping[str, float] = field(default_factory=dict)
    """Combination -> what it multiplies the odds by, when new and certain."""
    floor: float = 0.5
    """Below this the risk does not fall at once after a certain critical detection; 0: no floor."""
    floor_half_life: int = 30 * DAY
    shadow: frozenset[str] = SHADOW
    """Detections of patterns of this status are there to be looked at, and do not count."""

    def __post_init__(self) -> None:
        told = [self.weights.get(severity, math.nan) for severity in SEVERITIES]
        if not all(0 <= item <= 1 for item in (*told, self.floor)):
            raise ValueError(f"weights of {', '.join(SEVERITIES)} and the floor lie between 0 and 1")
        if sorted(told) != told:
            raise ValueError("a graver severity cannot weigh less than a lighter one")
        if not all(1 <= multiplier < math.inf for multiplier in self.multipliers.values()):
            raise ValueError("a multiplier is 1 or more: two things together are never less than one of them")
        if min(self.half_life, self.floor_half_life, *self.half_lives.values()) <= 0:
            raise ValueError("a half-life is longer than nothing")

    def fades(self, cause: str) -> int:
        """The half-life of a cause."""
        return self.half_lives.get(cause, self.half_life)

    def multiplier(self, pattern: str) -> float:
        """What a pattern multiplies the odds by; 1 for all but combinations."""
        return self.multipliers.get(base_pattern(pattern), 1.0)


def cause_of(detection: Detection) -> str:
    """The cause a detection counts under: where its pattern names none, the pattern is its own."""
    return detection.cause or base_pattern(detection.pattern)


# Counting: which detections count towards a risk, how sure each is, and how old.

Calibrate = Callable[[Detection], float]
"""The probability that a detection is right, for what its pattern gave as confidence."""
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
    every = {
        detection.id: detection
        for detection in sorted(detections, key=lambda item: (item.order, item.last_event))
    }
    judged = {**known.settled, **balances(known.verdicts)}
    out = []
    for item in every.values():
        if item.state in STANDING and item.detected_at <= as_of and item.status not in weighing.shadow:
            confidence = 0.0 if _is_undermined(item, every, judged) else _confidence(item, judged, known)
            if confidence > 0:
                out.append(Counted(item, confidence, age(item, as_of, known)))
    return out


def age(detection: Detection, as_of: datetime, known: Known) -> int:
    """Microseconds since an episode was last seen to hold; 0 where that is still to come.

    That it closed changes nothing: an end is no reason to rise (a person who comes back after a silence),
    and an episode that nobody closed, since its run is over, still fades.
    """
    if detection.source in known.untimed:
        return 0
    return max(0, micros(as_of) - micros(detection.held_at))


def _confidence(detection: Detection, judged: Mapping[str, int], known: Known) -> float:
    """1 once more judges confirm it than not, 0 once fewer do, and else what its pattern says.

    Each further false alarm moves this down that line or leaves it, so it can never raise a risk.
    """
    balance = judged.get(detection.id, 0)
    if balance:
        return float(balance > 0)
    told = detection.confidence if known.calibrate is None else known.calibrate(detection)
    return min(1.0, max(0.0, told))


def _is_undermined(detection: Detection, every: Mapping[str, Detection], judged: Mapping[str, int]) -> bool:
    """Whether something that a combination stands on has fallen, at any depth."""
    waiting, seen = list(detection.parts), {detection.id}
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        other = every.get(part)
        if judged.get(part, 0) < 0 or (other is not None and other.state not in STANDING):
            return True
        waiting += other.parts if other is not None else ()
    return False


Stands = Mapping[str, Sequence[str]]
"""Which combinations are made of a detection, by ids."""


def combined_of(detections: Iterable[Detection]) -> Stands:
    """For each detection that is a part, the combinations that stand on it."""
    record: dict[str, list[str]] = {}
    for detection in detections:
        for part in detection.parts:
            record.setdefault(part, []).append(detection.id)
    return record


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


# Compose: where a subject stands, from its detections.
#
#     risk = 1 - product over causes of (1 - largest of weight(severity) x confidence x 2^(-age / half-life))
#     then its odds times the multipliers of combinations, then not below the floor of critical detections
#
# Each step can only rise with a contribution, and each contribution can only rise with one more detection and
# fall with age or a false alarm. So a detection never lowers the risk, a false alarm never raises it and time
# alone lowers it, whatever is combined with whatever:
# - of one cause the largest counts, of one combination too, of floors too: a maximum never falls when
# something
#   is added;
# - a multiplier is 1 or more and fades to 1, where a window in which a combination is "open" would end at
# once;
# - a combination counts under its own cause as every detection does, whether or not its parts are known here:
#   were it only a multiplier where they are, a part that becomes known could lower the risk.

PLACES = 6


@dataclass(frozen=True, slots=True)
class Share(Record):
    """What one cause (or combination, or floor) adds, and the detection that it comes from.

    `probability` is how sure that detection counts: its confidence, or what verdicts have made of it.
    """

    JSON = "name detection value probability"
    DECIMALS = decimals(PLACES, "value", "probability")

    name: str
    value: Ratio
    detection: Name
    probability: Ratio
    """How sure its detection counts: by its pattern, or by verdicts."""


@dataclass(frozen=True, slots=True)
class Factor(Share):
    """What a combination multiplies the odds by."""

    value: FactorValue


Kind = TypeVar("Kind", bound=Share)


@dataclass(frozen=True, slots=True)
class Composition(Record):
    """A risk and what it is made of; `causes` and `combinations` are the largest first.

    `plain` is the risk of the causes alone. A combination's value is what it multiplies the odds by. `mode`
    is the gravest severity of which one new and certain detection alone would make as much, '' below all.
    """

    JSON = "plain causes combinations floor"

    value: Ratio
    as_of: datetime
    plain: Ratio
    """What the causes alone make."""
    mode: RiskMode = ""
    causes: tuple[Share, ...] = ()
    """The largest of each cause, the largest first."""
    combinations: tuple[Factor, ...] = ()
    """What each multiplies the odds by."""
    floor: Share | None = None
    detections: tuple[str, ...] = ()

    def risk(self, subject: str, thread: str | None = None, source: str = "input") -> Risk:
        """The record of it."""
        return Risk(subject, self.as_of, self.value, self.mode, thread, self.detections, source)


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
    shares = ((cause_of(item.detection), share(item, weighing), item) for item in every)
    causes = _largest(shares, Share)
    factors = ((base_pattern(item.detection.pattern), factor(item, weighing), item) for item in every)
    combinations = _largest((factor for factor in factors if factor[1] > 1), Factor)
    critical = (("floor", floor(item, weighing), item) for item in every if _is_critical(item))
    floors = _largest(critical, Share)
    plain = odds(cause.value for cause in causes)
    raised = chance(multiplied(plain, (combination.value for combination in combinations)))
    value = round(max([raised, *(floor.value for floor in floors)]), PLACES)
    return Composition(
        value=value,
        as_of=as_of,
        plain=round(chance(plain), PLACES),
        mode=mode_of(value, weighing),
        causes=causes,
        combinations=combinations,
        floor=floors[0] if floors else None,
        detections=tuple(item.detection.id for item in every),
    )


def share(item: Counted, weighing: Weighing) -> float:
    """What a detection adds under its cause: weight x confidence, faded."""
    fade = _faded(item.age, weighing.fades(cause_of(item.detection)))
    return weighing.weights[item.detection.severity] * item.confidence * fade


def factor(item: Counted, weighing: Weighing) -> float:
    """What a combination multiplies the odds by: its multiplier when new and certain, in the end 1."""
    more = weighing.multiplier(item.detection.pattern) - 1
    return 1 + more * item.confidence * _faded(item.age, weighing.fades(cause_of(item.detection)))


def floor(item: Counted, weighing: Weighing) -> float:
    """What a critical detection keeps the risk above."""
    return weighing.floor * item.confidence * _faded(item.age, weighing.floor_half_life)


def alone(item: Counted, weighing: Weighing) -> float:
    """How high a risk one detection alone would make."""
    return max(share(item, weighing), floor(item, weighing) if _is_critical(item) else 0.0)


def mode_of(value: float, weighing: Weighing) -> str:
    """The gravest severity that weighs no more than this, to two places as it is shown; '' where none does.

    >>> mode_of(0.59, Weighing()), mode_of(0.599, Weighing()), mode_of(0.05, Weighing())
    ('medium', 'high', '')
    """
    return next(
        (severity for severity in reversed(SEVERITIES) if 0 < weighing.weights[severity] <= value + 0.005), ""
    )


def _is_critical(item: Counted) -> bool:
    return item.detection.severity == "critical"


def _faded(age: int, half_life: int) -> float:
    return math.exp2(-age / half_life)


def _largest(textses: Iterable[tuple[str, float, Counted]], kind: type[Kind]) -> tuple[Kind, ...]:
    """The largest of each name, the largest first; of equal ones the detection that came first."""
    best: dict[str, tuple[float, Counted]] = {}
    for name, value, item in textses:
        if name not in best or value > best[name][0]:
            best[name] = (value, item)
    shares = [kind(name, value, item.detection.id, item.confidence) for name, (value, item) in best.items()]
    return tuple(sorted(shares, key=lambda share: (-share.value, share.name)))


@dataclass(frozen=True, slots=True)
class WhatIf(Record):
    """The risk without one detection, and without what stands on it."""

    detection: Name
    value: Ratio
    less: Ratio


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
    value = list(detections)
    every, stands = counted(value, as_of, weighing, known or Known()), combined_of(value)
    now = composed(every, as_of, weighing)
    found = [without(every, item.detection.id, now, weighing, stands) for item in every]
    return tuple(sorted(found, key=lambda item: (-item.less, item.detection)))


def without(
    every: Sequence[Counted], fallen: str, now: Composition, weighing: Weighing, stands: Stands
) -> WhatIf:
    """The risk without one of what counts; `now` is the risk with all of it."""
    gone = falls_with(fallen, stands)
    told = (*now.causes, *now.combinations, *(() if now.floor is None else (now.floor,)))
    if gone.isdisjoint(item.detection for item in told):
        # None of them is the largest of anything, so that nothing changes.
        return WhatIf(fallen, now.value, 0.0)
    left = [item for item in every if item.detection.id not in gone]
    value = composed(left, now.as_of, weighing).value
    return WhatIf(fallen, value, round(now.value - value, PLACES))


# How far up the ladder of responses a pattern has been taken, and which rung comes next.

CRITICAL = "ask"
"""Where the ladder is entered about what is critical."""


@dataclass(frozen=True, slots=True)
class Given(Record):
    """A rung that was taken, and what came of it: stopped, went_on, allowed, declined, ended or open."""

    rung: str
    effect: str = "open"


@dataclass(frozen=True, slots=True)
class Position(Record):
    """A place on the ladder: the rung that comes next, None where none is left, and those taken so far.

    `rungs` are those of the ladder that are on, from the mildest.
    """

    next: Rung | None
    rungs: tuple[Rung, ...]
    given: tuple[Given, ...] = ()


def position(rungs: Sequence[str], givens: Sequence[Given], severity: str) -> Position:
    """Where a pattern of this severity stands; what was taken last decides, not how often.

    >>> ladder = ("nudge", "remind", "ask")
    >>> position(ladder, [], "high").next, position(ladder, [Given("nudge")], "high").next
    ('nudge', 'remind')
    >>> position(ladder, [], "critical").next, position(ladder, [Given("ask")], "critical").next
    ('ask', None)
    """
    taken = [rungs.index(item.rung) for item in givens if item.rung in rungs]
    place = 1 + max(taken, default=-1)
    if severity == "critical" and CRITICAL in rungs:
        place = max(place, rungs.index(CRITICAL))
    return Position(rungs[place] if place < len(rungs) else None, tuple(rungs), tuple(givens))
