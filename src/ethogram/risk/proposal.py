"""Proposal: another value for one parameter of a pattern, with what it would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.record import Record, decimals
from ..stats import Interval, wilson
from .parameter_grid import Bools, Judged, Replay, found_again

if TYPE_CHECKING:
    from ..fields import Count, Name, Ratio


@dataclass(frozen=True, slots=True)
class Effect(Record):
    """What is found of the judged things: confirmed and false alarms, and misses that are caught.

    `lost` are true things that the present value finds and this one does not, whatever it finds instead.
    """

    DECIMALS = decimals(6, "precision", "precision_low", "precision_high")
    JSON = "confirmed false_alarms caught lost precision precision_low precision_high"

    confirmed: Count
    false_alarms: Count
    caught: Count = 0
    lost: Count = 0

    @property
    def precision(self) -> Ratio | None:
        """Of what is found, the share that is true; None for nothing."""
        found = self.confirmed + self.false_alarms + self.caught
        return (self.confirmed + self.caught) / found if found else None

    @property
    def interval(self) -> Interval:
        """Wilson's of 95 % for the precision."""
        true = self.confirmed + self.caught
        return wilson(true, true + self.false_alarms)

    @property
    def precision_low(self) -> Ratio:
        """The lower end of the interval."""
        return self.interval[0]

    @property
    def precision_high(self) -> Ratio:
        """The upper end of the interval."""
        return self.interval[1]


def effect(true: Bools, detected: Bools, bools: Bools, now: Bools) -> Effect:
    """What is found where `kept` says so; `now` is what the present value finds."""
    return Effect(
        int(np.sum(true & detected & bools)),
        int(np.sum(~true & bools)),
        int(np.sum(true & ~detected & bools)),
        int(np.sum(true & now & ~bools)),
    )


@dataclass(frozen=True, slots=True)
class Nothing(Record):
    """Why there is nothing to propose. `is_try`: verdicts were tried, and the next try must show more."""

    RECORD = "no_proposal"
    HIDDEN = ("is_try",)

    pattern: Name
    why: Name
    is_try: bool = False


@dataclass(frozen=True, slots=True)
class TriedValue(Record):
    """What one value of a parameter would find of all that was judged."""

    value: float
    confirmed: Count
    false_alarms: Count
    caught: Count
    lost: Count


@dataclass(frozen=True, slots=True)
class Proposal(Record):
    """Another number for a pattern that is too often wrong.

    `interval` is where the right value is likely to lie (95 %), `tried` the range that was searched.

    `before` and `after` are on all verdicts; `held_out` is on verdicts that had no part in the choice, so
    it is the one to expect. `luck` is how often random verdicts would have looked as good. `effects` is what
    each value that was tried would find of all that was judged. `recent` are detections in the last 30 days
    with the old and the new value, where they were counted, and `recent_lost` the confirmed ones among them
    that would no longer be found.
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
    interval: Interval
    tried: Interval
    before: Effect
    after: Effect
    held_out: Effect
    luck: Ratio
    verdicts: Count
    groups: Count
    effects: tuple[tuple[float, Effect], ...] = ()
    recent: tuple[Count, Count] | None = None
    recent_lost: Count = 0

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.interval[1]

    @property
    def values(self) -> list[TriedValue]:
        """What each value that was tried would find."""
        return [
            TriedValue(value, item.confirmed, item.false_alarms, item.caught, item.lost)
            for value, item in self.effects
        ]

    @property
    def lost_confirmed(self) -> Count:
        """Confirmed detections that would no longer be found."""
        return self.lost

    @property
    def is_at_end(self) -> bool:
        """Whether the right value may lie beyond all that were tried."""
        return self.interval[0] <= self.tried[0] or self.interval[1] >= self.tried[1]

    @property
    def lost(self) -> int:
        """Confirmed detections that would no longer be found."""
        return self.after.lost

    def diff(self) -> str:
        """The change of the overlay in the settings, as a diff."""
        lines = ["parameters:", f"  {self.pattern}:"]
        return "\n".join(
            [
                *(f"  {line}" for line in lines),
                f"-     {self.parameter}: {self.old:g}",
                f"+     {self.parameter}: {self.new:g}",
            ]
        )

    def sentence(self) -> str:
        """What it comes to, in words."""
        low, high = self.interval
        text = (
            f"{self.pattern}: {self.parameter} {self.new:g} instead of {self.old:g} "
            f"(likely between {low:g} and {high:g}): {_found(self.after)} instead of {_found(self.before)}, "
            f"losing {self.lost} confirmed."
        )
        if self.is_at_end:
            text += f" Nothing beyond {self.tried[0]:g} to {self.tried[1]:g} was tried."
        if self.recent is not None:
            text += (
                f" In the last 30 days {self.recent[1]} instead of {self.recent[0]}, "
                f"losing {self.recent_lost} confirmed."
            )
        return text


def proposal_of(record: Mapping[str, Any]) -> Proposal:
    """The proposal that gave a record."""
    names = ("pattern", "parameter", "old", "new", "luck", "verdicts", "groups")
    value: dict[str, Any] = {name: record[name] for name in names}
    value |= {name: _effect(record[name]) for name in ("before", "after", "held_out")}
    return Proposal(
        **value,
        interval=(record["low"], record["high"]),
        tried=(record["tried"][0], record["tried"][1]),
        effects=tuple((item["value"], _effect(item)) for item in record["values"]),
        recent=None if record["recent"] is None else (record["recent"][0], record["recent"][1]),
        recent_lost=record.get("recent_lost", 0),
    )


def with_recent(
    proposal: Proposal, replay: Replay, since: datetime, judged: Sequence[Judged] = ()
) -> Proposal:
    """The proposal with how many detections there are since a moment, by the old value and by the new one.

    Of the judged it tells how many true ones the old value finds since then, and the new one not at all.
    """
    values = proposal.old, proposal.new
    old, new = (list(found or ()) for found in replay([{proposal.parameter: value} for value in values]))
    lately = [[item for item in found if item.detected_at >= since] for found in (old, new)]
    true = [item for item in judged if item.true]
    lost = int(np.sum(found_again(true, lately[0]) & ~found_again(true, new)))
    return replace(proposal, recent=(len(lately[0]), len(lately[1])), recent_lost=lost)


def _found(item: Effect) -> str:
    share = "" if item.precision is None else f" ({item.precision:.0%} right)"
    return f"{item.confirmed + item.false_alarms + item.caught} of the judged{share}"


def _effect(record: Mapping[str, Any]) -> Effect:
    return Effect(*(record.get(name, 0) for name in ("confirmed", "false_alarms", "caught", "lost")))
