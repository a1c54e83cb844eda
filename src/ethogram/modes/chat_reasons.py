"""Why a conversation stands where it does, in words: what moved it, what is carried over, what is held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..climb.modes import FLOORS, HYSTERESIS, together
from ..climb.records import Change, Mode, Signal
from .conversation_state import ConversationState

if TYPE_CHECKING:
    from .chat import Scored

LEAST = 0.02
"""A change of risk below this is not worth a line."""
COMBINED = (
    "+ and - tell what a signal adds more or less than a turn before. They do not sum up to the risk: the "
    "strongest counts whole, each further one half of the one before; `standing` is not added to the others, "
    "the greater of the two counts."
)
"""How parts make a risk."""


def is_own(state: ConversationState, before: float) -> bool:
    """Whether the risk comes from this turn: its signals come to it, or it rose with it."""
    adds = {one.name: one.adds for one in state.signals}
    own = max(adds.pop("standing", 0.0), together(adds.values()))
    return own >= state.risk - LEAST or state.risk >= before + LEAST


def strongest(state: ConversationState) -> str:
    """The signal that adds most, with its reason; empty where none adds anything."""
    most: Signal | None = max(state.signals, key=lambda one: one.adds, default=None)
    return "" if most is None or most.adds <= 0 else f"{most.name}: {most.reason}"


def changes(one: Scored, most: int) -> list[Change]:
    """What moved the risk, the most first; nothing where it did not move."""
    if abs(one.state.risk - one.before) < LEAST:
        return []
    return [each for each in one.state.changes if abs(each.by) >= LEAST][:most]


def reason_of(change: Change, state: ConversationState) -> str:
    """Why a signal adds more, or less, than before.

    What still adds something is told as less of it: "risk climbs" is no reason to be calmer.
    """
    still = any(one.name == change.name and one.adds > 0 for one in state.signals)
    return f"less than before: {change.reason}" if change.by < 0 and still else change.reason


def standing(one: Scored, *, moved: bool) -> Iterator[str]:
    """Above SAFE: what is carried over from which turn, or is as before; and a mode that is only held.

    `moved`: changes were told of this turn.
    """
    mode, risk = one.state.mode, one.state.risk
    if mode == Mode.SAFE:
        return
    turn, what = one.source
    if turn and what and turn != one.number:
        yield f"carried over from turn {turn}: {what}"
    elif not moved and what:
        yield f"as before: {what}"
    if risk < FLOORS[mode]:
        yield f"{mode.name}, which begins at {FLOORS[mode]:.2f}, is held until below {left_at(mode):.2f}"


def left_at(mode: Mode) -> float:
    """The risk below which a mode is left.

    >>> left_at(Mode.CRITICAL)
    0.65
    """
    return round(FLOORS[mode] - HYSTERESIS, 4)
