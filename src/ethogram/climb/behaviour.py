"""Interaction behaviour.

Pace, regularity, style of questions, switching of topics. Unknown where it cannot be told.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from .records import Signal, unmeasured
from .view import View

KEPT = 20
ENOUGH_GAPS = 8
ENOUGH_TURNS = 4
FASTEST_TYPIST = 15.0
"""Characters a second that no person keeps up."""
EVEN = 0.1
"""Spread of the gaps over their mean under which a person is unlikely."""


@dataclass(frozen=True, slots=True)
class Manner:
    """The newest gaps in seconds, lengths in characters, and whether each question was directed.

    Each at most KEPT.
    """

    gaps: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    directed: tuple[bool, ...] = ()
    returns: int = 0
    switches: int = 0


def observe(
    manner: Manner, view: View, length: int, gap: float | None, changed: bool, risky_return: bool
) -> Manner:
    """The manner after a user's turn; `gap` since the turn before, `changed` where the topic did."""
    gaps = manner.gaps if gap is None else (*manner.gaps, gap)[-KEPT:]
    lengths = manner.lengths if gap is None else (*manner.lengths, length)[-KEPT:]
    directed = manner.directed
    if view.is_question or view.has("doing"):
        directed = (*directed, view.has("doing", "exact", "evade"))[-KEPT:]
    return Manner(gaps, lengths, directed, manner.returns + risky_return, manner.switches + changed)


def behaviour(manner: Manner) -> tuple[Signal, ...]:
    """Four signals, each with a category. They describe; only scripted pace adds a little to the risk."""
    return (_typing(manner), _pace(manner), _style(manner), _switching(manner))


def _typing(manner: Manner) -> Signal:
    if len(manner.gaps) < ENOUGH_TURNS:
        return unmeasured("typing_speed", "unknown: too few turns with times")
    paces = [
        length / max(gap, 0.05)
        for gap, length in zip(manner.gaps, manner.lengths, strict=True)
        if length >= 30
    ]
    if len(paces) < ENOUGH_TURNS:
        return unmeasured("typing_speed", "unknown: too few turns long enough")
    pace = statistics.median(paces)
    value = min(1.0, pace / (2 * FASTEST_TYPIST))
    if pace > FASTEST_TYPIST:
        return Signal(
            "typing_speed",
            value,
            f"{pace:.0f} characters a second, faster than anybody types",
            0.03,
            "automated",
        )
    return Signal("typing_speed", value, f"{pace:.1f} characters a second", 0.0, "normal")


def _pace(manner: Manner) -> Signal:
    if len(manner.gaps) < ENOUGH_GAPS:
        return unmeasured("response_time", "unknown: too few turns with times")
    mean = math.fsum(manner.gaps) / len(manner.gaps)
    # `statistics.pstdev` works in fractions, which takes longer than all the rest of a turn's manner.
    deviation = math.sqrt(math.fsum((gap - mean) ** 2 for gap in manner.gaps) / len(manner.gaps))
    spread = deviation / mean if mean > 0 else 0.0
    scripted = spread < EVEN or statistics.median(manner.gaps) < 1.0
    said = f"turns {mean:.1f} s apart with a spread of {spread:.0%}"
    return Signal(
        "response_time",
        max(0.0, 1 - spread),
        said,
        0.03 if scripted else 0.0,
        "scripted" if scripted else "human",
    )


def _style(manner: Manner) -> Signal:
    if len(manner.directed) < ENOUGH_TURNS:
        return unmeasured("question_style", "unknown: too few questions")
    share = sum(manner.directed) / len(manner.directed)
    kind = "directed" if share > 0.6 else "exploratory"
    return Signal(
        "question_style",
        share,
        f"{share:.0%} of the newest questions ask how to do something or how exactly",
        0.0,
        kind,
    )


def _switching(manner: Manner) -> Signal:
    if manner.switches < 2:
        return unmeasured("topic_switching", "unknown: too few changes of topic")
    value = min(1.0, manner.returns / 3)
    kind = "strategic" if manner.returns >= 2 else "organic"
    return Signal(
        "topic_switching",
        value,
        f"{manner.returns} returns to a risky topic in {manner.switches} changes of topic",
        0.0,
        kind,
    )
