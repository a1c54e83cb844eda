"""Learn: propose a better parameter where verdicts show that a pattern is too often wrong.

It takes four things for a proposal: enough verdicts on what the present value finds, with a precision below
the bar; a value that goes better with them than random verdicts would go with any (luck); a gain over the
present value, and one also on subjects that had no part in the choice. One parameter at a time, so that a
person can see what it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .choose import SHUFFLES, best, held_out, luck, ranked, worth
from .judged import Bools, Judged, found_again
from .lines import Line, Overlay, Replay, finer, lines, reach
from .proposal import Effect, Nothing, Proposal, effect
from .turning import interval

BAR = 0.7
CLOSER = 2
"""How many parameters are looked at more closely than the rest."""


@dataclass(frozen=True, slots=True)
class Learning:
    """When to propose: with `minimum` verdicts on detections, `each` of both kinds, precision below `bar`.

    `luck` is the chance of ever getting a proposal from random verdicts, however often it is tried: `tries`
    is how often it was before, and each further try must show more. `rounds` is how often to look closer.
    `step` is the share of a line that is looked at closely beside the present value, for going a step at a
    time.
    """

    bar: float = BAR
    minimum: int = 30
    each: int = 5
    luck: float = 0.02
    tries: int = 0
    rounds: int = 2
    step: float = 0.1
    seed: int = 0

    @property
    def chance(self) -> float:
        """The chance of a proposal from random verdicts at this try; over all tries they add up to `luck`.

        >>> round(Learning().chance, 4), round(sum(Learning(tries=n).chance for n in range(1000)), 3)
        (0.0122, 0.02)
        """
        return self.luck * 6 / (math.pi * (self.tries + 1)) ** 2

    @property
    def shuffles(self) -> int:
        """Enough random verdicts to tell so small a chance."""
        return max(SHUFFLES, math.ceil(10 / self.chance))


def learn(
    pattern: str,
    parameters: Overlay,
    judged: Sequence[Judged],
    replay: Replay,
    *,
    spans: Mapping[str, tuple[float, float]] | None = None,
    learning: Learning | None = None,
) -> Proposal | Nothing:
    """A proposal for one parameter of a pattern, or why there is none.

    `parameters` are those in force, `spans` from where to where each may go.
    """
    learning = learning or Learning()
    why = reason_not_to(judged, learning)
    if why:
        return Nothing(pattern, why)
    found = lines(judged, parameters, replay, spans)
    if not found:
        return Nothing(pattern, "no parameter makes a difference to what was judged", is_try=True)
    now = found[0].kept_now
    why = reason_not_to(judged, learning, now)
    if why:
        return Nothing(pattern, why)
    true = np.array([one.true for one in judged])
    groups = [one.group for one in judged]
    chance = luck(found, true, groups, learning.seed, learning.shuffles, learning.chance, now)
    if chance > learning.chance:
        why = f"verdicts dealt at random would fit as well ({chance:.3f} of the time)"
        return Nothing(pattern, why, is_try=True)
    # The few values at first may suit one parameter better than another that has the best value of all.
    for number in ranked(found, true)[:CLOSER]:
        for _ in range(learning.rounds):
            found[number] = finer(found[number], judged, replay, *interval(found[number], true, groups))
    number, _ = best(found, true)
    told = _proposed(pattern, found, number, judged, true, chance)
    if isinstance(told, Nothing):
        return told
    near = finer(found[number], judged, replay, *_beside(told, learning.step))
    return replace(told, effects=tuple(_effects(near, judged, true)))


def reason_not_to(judged: Sequence[Judged], learning: Learning, now: Bools | None = None) -> str:
    """Why there is nothing to learn; empty where there is.

    `now` is what the numbers in force find of the judged, whatever found it first: the bar is for these
    alone. Without it, before anything is replayed, only what cannot be otherwise is told.

    >>> reason_not_to([], Learning())
    'insufficient verdicts: 0 of 30'
    """
    kept = [one.detected for one in judged] if now is None else now.tolist()
    told = [one.true for one, is_found in zip(judged, kept, strict=True) if is_found]
    confirmed = sum(told)
    if len(told) < learning.minimum:
        what = "" if now is None else " on what is found now"
        return f"insufficient verdicts{what}: {len(told)} of {learning.minimum}"
    is_few = min(confirmed, len(told) - confirmed) < learning.each
    if confirmed / len(told) >= learning.bar and (is_few or now is not None):
        return f"precision {confirmed / len(told):.2f} is not below {learning.bar:g}"
    if is_few:
        return f"it takes {learning.each} confirmed and {learning.each} false alarms to tell them apart"
    return ""


def found_now(judged: Sequence[Judged], parameters: Overlay, replay: Replay) -> Bools:
    """For each judged thing, whether the numbers in force find it."""
    (found,) = replay([parameters])
    return found_again(judged, found or ())


def _beside(told: Proposal, step: float) -> tuple[float, float]:
    """From the present value one step towards the new one."""
    far = min(reach(step, told.tried[1] - told.tried[0], told.old), abs(told.new - told.old))
    return told.old, told.old + (far if told.new > told.old else -far)


def _effects(line: Line, judged: Sequence[Judged], true: Bools) -> Iterator[tuple[float, Effect]]:
    detected = np.array([one.detected for one in judged])
    for value, kept in zip(line.values, line.kept.T, strict=True):
        yield value, effect(true, detected, kept, line.kept_now)


def _proposed(
    pattern: str, found: Sequence[Line], number: int, judged: Sequence[Judged], true: Bools, chance: float
) -> Proposal | Nothing:
    line = found[number]
    groups = [one.group for one in judged]
    detected = np.array([one.detected for one in judged])
    _, column = best([line], true)
    new, now = line.values[column], line.kept_now
    if worth(true, line.kept[:, [column]])[0] <= worth(true, now[:, None])[0] + 1e-12:
        return Nothing(pattern, "no other value is better than the present one", is_try=True)
    # The whole choice is made anew without each part, the choice of the parameter too.
    left_out = held_out(found, true, groups)
    if worth(true, left_out[:, None])[0] <= worth(true, now[:, None])[0] + 1e-12:
        return Nothing(pattern, "what is chosen on some subjects does not help with others", is_try=True)
    return Proposal(
        pattern=pattern,
        parameter=line.parameter,
        old=line.now,
        new=new,
        interval=interval(line, true, groups),
        tried=(line.values[0], line.values[-1]),
        before=effect(true, detected, now, now),
        after=effect(true, detected, line.kept[:, column], now),
        held_out=effect(true, detected, left_out, now),
        luck=chance,
        verdicts=len(judged),
        groups=len(set(groups)),
    )
