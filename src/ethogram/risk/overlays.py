"""Overlays: how far learning may go when nobody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from .changes import AUTOMATIC, Change, Changes
from .lines import reach
from .proposal import Effect, Proposal


@dataclass(frozen=True, slots=True)
class Steps:
    """How far learning may go when nobody is asked. Shares are of the width of what was tried; a whole number
    may always go by one.

    `step` at a time, `far` from the number in the file in all, `lose` of the confirmed at most, and `apart`
    from the last automatic change of the pattern, so that verdicts on the new version can come in.
    """

    step: float = 0.1
    far: float = 0.25
    lose: float = 0.05
    apart: timedelta = timedelta(days=7)


def automatic(
    proposal: Proposal,
    *,
    file_value: float,
    changes: Changes = (),
    at: datetime,
    steps: Steps | None = None,
) -> tuple[float, Effect] | str:
    """How far to go towards a proposal without asking, and what that does; or why nothing may be done.

    The value is one of those tried, so what it does to every verdict is known. `file_value` is the number of
    the pattern's file or the settings, which nothing was learned over.
    """
    steps = steps or Steps()
    low, high = proposal.interval
    if low <= proposal.old <= high:
        return "the present value may well be the right one"
    own = [one for one in changes if one.pattern == proposal.pattern]
    if own and own[-1].undoes is not None:
        return "the last change was taken back by hand; accept the proposal to go on from it"
    last = max((one.at for one in changes if _is_own(one, proposal.pattern)), default=None)
    if last is not None and at - last < steps.apart:
        return f"the last automatic change was less than {steps.apart.days} days ago"
    return _furthest(proposal, steps, file_value)


def _is_own(one: Change, pattern: str) -> bool:
    return one.pattern == pattern and one.by == AUTOMATIC and one.undoes is None


def _furthest(proposal: Proposal, steps: Steps, file_value: float) -> tuple[float, Effect] | str:
    """The furthest value within the limits that does good, or which of the limits there is none within."""
    width = proposal.tried[1] - proposal.tried[0]
    before, far = proposal.before, reach(steps.far, width, proposal.old)
    near = _towards(proposal, reach(steps.step, width, proposal.old))
    allowed = [one for one in near if abs(one[0] - file_value) <= far + 1e-9]
    helping = [one for one in allowed if one[1].false_alarms < before.false_alarms]
    most = steps.lose * (before.confirmed + before.caught)
    for value, after in helping:
        if after.lost <= most:
            return value, after
    if not near:
        return "nothing was tried within a step of the present value"
    if not allowed:
        return f"without asking it may go no further than {far:g} from {file_value:g}"
    if not helping:
        return "no step small enough avoids a false alarm"
    return "every step that avoids a false alarm loses too many confirmed detections"


def _towards(proposal: Proposal, step: float) -> list[tuple[float, Effect]]:
    """Values on the way from the old to the new one that are within a step, the furthest first."""
    low, high = sorted((proposal.old, proposal.new))
    within = [
        (value, after)
        for value, after in proposal.effects
        if value != proposal.old and low <= value <= high and abs(value - proposal.old) <= step + 1e-9
    ]
    return sorted(within, key=lambda one: -abs(one[0] - proposal.old))
