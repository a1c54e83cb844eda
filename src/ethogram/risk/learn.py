"""Learn: propose a better parameter where verdicts show that a pattern is too often wrong.

It takes four things for a proposal: enough verdicts with a precision below the bar; a value that goes
better with them than random verdicts would go with any (luck); a gain also on subjects that had no part in
the choice; and a value that is not the present one. One parameter at a time, so that a person can see what
it does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .choose import SHUFFLES, best, held_out, luck, worth
from .judged import Bools, Judged
from .lines import Line, Overlay, Replay, finer, lines
from .proposal import Nothing, Proposal, effect
from .turning import interval

BAR = 0.7


@dataclass(frozen=True, slots=True)
class Learning:
    """When to propose: with `minimum` verdicts on detections, `each` of both kinds, precision below `bar`.

    `luck` is the chance of ever getting a proposal from random verdicts, however often it is tried: `tries`
    is how often it was before, and each further try must show more. `rounds` is how often to look closer.
    """

    bar: float = BAR
    minimum: int = 30
    each: int = 5
    luck: float = 0.02
    tries: int = 0
    rounds: int = 2
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
        return Nothing(pattern, "no parameter makes a difference to what was judged")
    true = np.array([one.true for one in judged])
    groups = [one.group for one in judged]
    chance = luck(found, true, groups, learning.seed, learning.shuffles, learning.chance)
    if chance > learning.chance:
        return Nothing(pattern, f"verdicts dealt at random would fit as well ({chance:.3f} of the time)")
    number, _ = best(found, true)
    for _ in range(learning.rounds):
        found[number] = finer(found[number], judged, replay, *interval(found[number], true, groups))
    return _proposed(pattern, found, number, judged, true, chance)


def reason_not_to(judged: Sequence[Judged], learning: Learning) -> str:
    """Why there is nothing to learn, before anything is replayed; empty where there is.

    >>> reason_not_to([], Learning())
    'insufficient verdicts: 0 of 30'
    """
    told = [one for one in judged if one.detected]
    confirmed = sum(one.true for one in told)
    if len(told) < learning.minimum:
        return f"insufficient verdicts: {len(told)} of {learning.minimum}"
    if confirmed / len(told) >= learning.bar:
        return f"precision {confirmed / len(told):.2f} is not below {learning.bar:g}"
    if min(confirmed, len(told) - confirmed) < learning.each:
        return f"it takes {learning.each} confirmed and {learning.each} false alarms to tell them apart"
    return ""


def _proposed(
    pattern: str, found: Sequence[Line], number: int, judged: Sequence[Judged], true: Bools, chance: float
) -> Proposal | Nothing:
    line = found[number]
    groups = [one.group for one in judged]
    detected = np.array([one.detected for one in judged])
    _, column = best([line], true)
    new, now = line.values[column], line.column(line.now)
    if new == line.now:
        return Nothing(pattern, "no other value is better than the present one")
    # The whole choice is made anew without each part, the choice of the parameter too.
    left_out = held_out(found, true, groups)
    if worth(true, left_out[:, None])[0] <= worth(true, detected[:, None])[0]:
        return Nothing(pattern, "what is chosen on some subjects does not help with others")
    return Proposal(
        pattern=pattern,
        parameter=line.parameter,
        old=line.now,
        new=new,
        interval=interval(line, true, groups),
        tried=(line.values[0], line.values[-1]),
        before=effect(true, detected, line.kept[:, now]),
        after=effect(true, detected, line.kept[:, column]),
        held_out=effect(true, detected, left_out),
        luck=chance,
        verdicts=len(judged),
        groups=len(set(groups)),
        effects=tuple(
            (value, effect(true, detected, line.kept[:, place])) for place, value in enumerate(line.values)
        ),
    )
