"""Proposal: another value for one parameter of a pattern, with its effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..models.record import Record, decimals
from ..stats import Interval, wilson
from .parameter_grid import Bools, JudgedItem, Replay, detected_again

if TYPE_CHECKING:
    from ..fields import Count, Name, Ratio


@dataclass(frozen=True, slots=True)
class Effect(Record):
    """What is detected of the judged items: confirmed ones, false alarms and misses.

    `lost` are true items that the current value detects and this one does not.
    """

    DECIMALS = decimals(6, "precision", "precision_low", "precision_high")
    JSON = "confirmed false_alarms caught lost precision precision_low precision_high"

    confirmed: Count
    false_alarms: Count
    caught: Count = 0
    lost: Count = 0

    @property
    def true(self) -> int:
        """True items that are detected."""
        return self.confirmed + self.caught

    @property
    def detected(self) -> int:
        """Items that are detected."""
        return self.true + self.false_alarms

    @property
    def precision(self) -> Ratio | None:
        """The share of detected items that is true; None without any."""
        return self.true / self.detected if self.detected else None

    @property
    def precision_low(self) -> Ratio:
        """The lower end of Wilson's 95 % interval of the precision."""
        return wilson(self.true, self.detected)[0]

    @property
    def precision_high(self) -> Ratio:
        return wilson(self.true, self.detected)[1]

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        return cls(**{item.name: record.get(item.name, 0) for item in fields(cls)})


def measure_effect(true: Bools, detected: Bools, hits: Bools, current: Bools) -> Effect:
    """The effect of a value that detects `hits` where the current one detects `current`."""
    return Effect(
        int(np.sum(true & detected & hits)),
        int(np.sum(~true & hits)),
        int(np.sum(true & ~detected & hits)),
        int(np.sum(true & current & ~hits)),
    )


@dataclass(frozen=True, slots=True)
class NoProposal(Record):
    """Why there is no proposal. `is_try`: the verdicts were tested, so that the next test must show more."""

    RECORD = "no_proposal"
    HIDDEN = ("is_try",)

    pattern: Name
    why: Name
    is_try: bool = False


@dataclass(frozen=True, slots=True)
class TriedValue(Effect):
    """What one value of a parameter detects of the judged items."""

    JSON = "value confirmed false_alarms caught lost"

    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal(Record):
    """A new value of one parameter.

    `low` to `high` is the 95 % interval of the right value, `tried` the range of values tested. `before` and
    `after` are on all verdicts; `held_out` is cross-validated, and the effect to expect. `luck` is the
    p-value under random verdicts. `values` has every value tested. `recent` counts the detections of the
    last 30 days with the old and the new value, `recent_lost` the confirmed ones lost among them.
    """

    RECORD = "proposal"
    JSON = (
        "pattern parameter old new low high tried before after held_out lost_confirmed luck verdicts groups "
        "values recent recent_lost"
    )
    DECIMALS = decimals(6, "luck")

    pattern: Name
    parameter: Name
    old: float
    new: float
    low: float
    """The right value lies from here to `high`, with 95 %."""
    high: float
    tried: Interval
    """The range of values tested."""
    before: Effect
    """`caught` were missed before; `lost` are true and no longer found."""
    after: Effect
    held_out: Effect
    """The effect to expect: on verdicts that had no part in the choice."""
    luck: Ratio
    """How often random verdicts would have looked as good."""
    verdicts: Count
    groups: Count
    values: tuple[TriedValue, ...] = ()
    recent: tuple[Count, Count] | None = None
    """Detections of the last 30 days with the old and the new value."""
    recent_lost: Count = 0
    """Confirmed ones among them that would be lost."""

    @property
    def lost_confirmed(self) -> Count:
        """Confirmed detections that would no longer be found."""
        return self.after.lost

    @property
    def is_at_end(self) -> bool:
        """Whether the right value may lie outside the range tested."""
        return self.low <= self.tried[0] or self.high >= self.tried[1]

    def diff(self) -> str:
        """The change of the settings as a diff."""
        head = f"  parameters:\n    {self.pattern}:\n"
        return f"{head}-     {self.parameter}: {self.old:g}\n+     {self.parameter}: {self.new:g}"

    def sentence(self) -> str:
        """The proposal in words."""
        text = (
            f"{self.pattern}: {self.parameter} {self.new:g} instead of {self.old:g} "
            f"(likely between {self.low:g} and {self.high:g}): "
            f"{_judged(self.after)} instead of {_judged(self.before)}, losing {self.after.lost} confirmed."
        )
        if self.is_at_end:
            text += f" Nothing beyond {self.tried[0]:g} to {self.tried[1]:g} was tried."
        if self.recent is not None:
            text += (
                f" In the last 30 days {self.recent[1]} instead of {self.recent[0]}, "
                f"losing {self.recent_lost} confirmed."
            )
        return text

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Proposal:
        values = {name: record[name] for name in cls.__slots__ if name in record}
        pairs = {name: tuple(values[name]) for name in ("tried", "recent") if values[name] is not None}
        effects = {name: Effect.from_dict(values[name]) for name in ("before", "after", "held_out")}
        tried = tuple(map(TriedValue.from_dict, record["values"]))
        return cls(**{**values, **pairs, **effects, "values": tried})


def add_recent(
    proposal: Proposal, replay: Replay, since: datetime, items: Sequence[JudgedItem] = ()
) -> Proposal:
    """The proposal with the numbers of detections since a moment, and of the true items lost among them."""
    values = ({proposal.parameter: value} for value in (proposal.old, proposal.new))
    old, new = (list(detections or ()) for detections in replay(list(values)))
    old_recent, new_recent = ([item for item in every if item.detected_at >= since] for every in (old, new))
    true = [item for item in items if item.true]
    lost = int(np.sum(detected_again(true, old_recent) & ~detected_again(true, new)))
    return replace(proposal, recent=(len(old_recent), len(new_recent)), recent_lost=lost)


def _judged(effect: Effect) -> str:
    share = "" if effect.precision is None else f" ({effect.precision:.0%} right)"
    return f"{effect.detected} of the judged{share}"
