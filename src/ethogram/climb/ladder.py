"""The ladder: a subject, what is dangerous about it, how to do that, exactly how.

Each rung is an innocent question. Rungs count only in order and about one thing: a turn goes on about it
where it shares words with it, or has no topic of its own ("and the exact amounts?").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .records import Signal, quiet
from .request import Request, is_care
from .view import View, telling

SUBJECT, DANGER, DOING, EXACTLY = 1, 2, 3, 4
WORTH = (0.0, 0.0, 0.15, 0.34, 0.9)
"""What each rung is worth when all before it were stepped on."""
HAZARD = 0.14
NEAR, FAR = 2, 40
"""So many turns on other things end it for an elliptic question, and for one that shares words with it."""
WIDTH = 24
AROUND = 6
"""Words on either side of a dangerous one that name the thing: a long turn speaks of others, too."""
FEW = 8
"""Words of a turn that may ask without the form of a question: "the exact amounts"."""
WEIGHT = 0.6
CARRIES = 0.85
"""Share of its hazard that what was talked of lends to a turn that goes on about it."""
LIFT = 0.06
"""Share of what is missing to certainty that a further rung adds at least."""
_RUNGS = ("", "a subject", "its dangers", "how to do it", "exactly how")


@dataclass(frozen=True, slots=True)
class Ladder:
    """`rank` the highest rung, `steps` how many turns climbed, `hazard` of the thing.

    `idle` turns since it was talked of.
    """

    rank: int = 0
    steps: int = 0
    hazard: float = 0.0
    idle: int = 0
    topic: tuple[str, ...] = ()


def goes_on(ladder: Ladder, view: View) -> bool:
    """Whether a turn is still about the ladder's thing."""
    if not ladder.topic:
        return False
    named = telling(view)
    if not named.isdisjoint(ladder.topic):
        return ladder.idle <= FAR
    elliptic = (not named and len(view.own) <= 1 and view.has("doing", "exact", "evade", "make")) or (
        view.points and len(named) <= 2
    )
    elliptic = elliptic or (view.has("exact") and len(view.stems) <= 5 and len(named) <= 1)
    return elliptic and ladder.idle < NEAR


def carried(ladder: Ladder, view: View) -> float:
    """The hazard a turn takes over from what it goes on about.

    Nothing where it speaks of something else, or asks for nothing: "I accept your offer".
    """
    takes = ladder.rank >= DANGER and (view.is_asking or len(view.stems) <= FEW) and goes_on(ladder, view)
    return CARRIES * ladder.hazard if takes else 0.0


def rung_of(view: View, asked: Request, on: bool) -> int:
    """The rung a turn stands on; `on` where it goes on about the ladder's thing."""
    # What is dangerous is a question of fact, so that frame says nothing here; a game or first aid does.
    cares = view.has("play", "protect", "defend") or is_care(view)
    left = asked.frame if cares and asked.frame <= 0.4 else 1.0
    hazardous = asked.hazard * left >= HAZARD and view.is_asking
    if not hazardous and not on:
        return SUBJECT if view.own else 0
    factual = asked.asks <= 0.3
    if view.has("exact", "evade") and not factual and _wants(view):
        return EXACTLY
    # Once it is about something dangerous, any how-to about that is one; before, only one that names an act.
    does = view.has("doing", "make") and view.is_asking if on else view.has("doing") and view.has("make")
    if does and not factual:
        return DOING
    return DANGER if hazardous else SUBJECT


def _wants(view: View) -> bool:
    """Whether a turn with `exact` in it wants to be told: a long statement with amounts in it tells them."""
    return view.is_question or view.has("doing", "make", "evade") or len(view.stems) <= FEW


def climb(ladder: Ladder, view: View, asked: Request) -> Ladder:
    """The ladder after a user's turn."""
    on = ladder.rank >= DANGER and goes_on(ladder, view)
    rung = rung_of(view, asked, on)
    if ladder.rank <= SUBJECT:
        # Talk before any danger is named may be about anything; it is the subject once danger comes up.
        steps = min(ladder.rank, 1) + 1 if rung > SUBJECT else min(rung, 1)
        return Ladder(max(rung, ladder.rank), max(1, steps), asked.hazard, 0, _topic((), view))
    near = on or ladder.idle < NEAR
    if (
        near
        and rung <= ladder.rank
        and (view.has("protect", "defend") or is_care(view))
        and not view.has("evade")
    ):
        # Care about the danger takes a step back.
        return replace(ladder, steps=max(1, ladder.steps - 1), idle=ladder.idle + (not on))
    if on:
        higher = rung > ladder.rank
        hazard = max(ladder.hazard * 0.97, asked.hazard)
        # Only what is dangerous itself widens the topic, or it would soon be everything.
        topic = _topic(ladder.topic, view) if asked.words else ladder.topic
        return Ladder(max(rung, ladder.rank), ladder.steps + higher, hazard, 0, topic)
    if rung >= DANGER and ladder.idle >= NEAR:
        return Ladder(rung, 2, asked.hazard, 0, _topic((), view))
    if rung >= DANGER:
        # Another danger at once: the same line of questions goes on about a neighbouring thing.
        higher = rung > ladder.rank
        return Ladder(
            max(rung, ladder.rank),
            ladder.steps + higher,
            max(ladder.hazard, asked.hazard),
            0,
            _topic(ladder.topic, view),
        )
    return Ladder(ladder.rank, ladder.steps, ladder.hazard, min(ladder.idle + 1, FAR + 1), ladder.topic)


def _topic(before: tuple[str, ...], view: View) -> tuple[str, ...]:
    named = telling(view)
    grave = [hit for hit in view.hits if hit.term.severity is not None]
    if grave:
        near = (view.stems[max(0, hit.start - AROUND) : hit.end + AROUND] for hit in grave)
        named &= frozenset(word for words in near for word in words)
    fresh = sorted(named - set(before))
    return (*before, *fresh)[-WIDTH:]


def lifted(ladder: Ladder, before: Ladder, risk: float) -> float:
    """The least the risk is now.

    A further rung about the same thing is new on top of all that stood before.
    """
    further = ladder.rank > before.rank >= DANGER and ladder.steps > before.steps
    return risk + LIFT * (1 - risk) if further else 0.0


def ladder_signal(ladder: Ladder, asked: Request) -> Signal:
    """How far up the ladder the conversation is, less with every turn on something else."""
    # A rung left out counts twice against it: whoever asks for amounts without how-to mostly paints a boat.
    whole = min(1.0, (ladder.steps - 1) / max(1, ladder.rank - 1)) ** 2
    value = WORTH[ladder.rank] * whole * 0.85**ladder.idle
    if ladder.rank < DANGER or value < 0.02:
        return quiet("ladder", "no climb from a subject to doing harm with it")
    frame = max(0.5, asked.frame) if ladder.idle == 0 else 1.0
    said = f"from a subject to {_RUNGS[ladder.rank]}, in {ladder.steps} steps about one thing"
    return Signal("ladder", value, said, WEIGHT * value * frame)
