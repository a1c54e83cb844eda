"""Escalation: crescendo, reconnaissance, trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .records import Signal, quiet
from .request import Request, is_care
from .turn_features import View, concept, look, telling
from .words import alternatives, stem, words_of

# The ladder: a subject, what is dangerous about it, how to do that, exactly how.
#
# Each rung is an innocent question. Rungs count only in order and about one thing: a turn goes on about it
# where it shares words with it, or has no topic of its own ("and the exact amounts?").

SUBJECT, DANGER, DOING, EXACTLY = 1, 2, 3, 4
WORTH = (0.0, 0.0, 0.15, 0.34, 0.9)  # what each rung is worth when all before it were stepped on
HAZARD = 0.14
NEAR, FAR = 2, 40
"""So many turns on other things end it for an elliptic question, and for one that shares words with it."""
WIDTH = 24
AROUND = 6  # words on either side of a dangerous one that name the thing: a long turn speaks of others, too
FEW = 8  # words of a turn that may ask without the form of a question: "the exact amounts"
WEIGHT = 0.6
CARRIES = 0.85  # share of its hazard that what was talked of lends to a turn that goes on about it
LIFT = 0.06  # share of what is missing to certainty that a further rung adds at least
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


def rung_of(view: View, request: Request, on: bool) -> int:
    """The rung a turn stands on; `on` where it goes on about the ladder's thing."""
    # What is dangerous is a question of fact, so that frame says nothing here; a game or first aid does.
    cares = view.has("play", "protect", "defend") or is_care(view)
    left = request.frame if cares and request.frame <= 0.4 else 1.0
    hazardous = request.hazard * left >= HAZARD and view.is_asking
    if not hazardous and not on:
        return SUBJECT if view.own else 0
    factual = request.asks <= 0.3
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


def climb(ladder: Ladder, view: View, request: Request) -> Ladder:
    """The ladder after a user's turn."""
    on = ladder.rank >= DANGER and goes_on(ladder, view)
    rung = rung_of(view, request, on)
    if ladder.rank <= SUBJECT:
        # Talk before any danger is named may be about anything; it is the subject once danger comes up.
        steps = min(ladder.rank, 1) + 1 if rung > SUBJECT else min(rung, 1)
        return Ladder(max(rung, ladder.rank), max(1, steps), request.hazard, 0, _topic((), view))
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
        hazard = max(ladder.hazard * 0.97, request.hazard)
        # Only what is dangerous itself widens the topic, or it would soon be everything.
        topic = _topic(ladder.topic, view) if request.words else ladder.topic
        return Ladder(max(rung, ladder.rank), ladder.steps + higher, hazard, 0, topic)
    if rung >= DANGER and ladder.idle >= NEAR:
        return Ladder(rung, 2, request.hazard, 0, _topic((), view))
    if rung >= DANGER:
        # Another danger at once: the same line of questions goes on about a neighbouring thing.
        higher = rung > ladder.rank
        return Ladder(
            max(rung, ladder.rank),
            ladder.steps + higher,
            max(ladder.hazard, request.hazard),
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


def ladder_signal(ladder: Ladder, request: Request) -> Signal:
    """How far up the ladder the conversation is, less with every turn on something else."""
    # A rung left out counts twice against it: whoever asks for amounts without how-to mostly paints a boat.
    whole = min(1.0, (ladder.steps - 1) / max(1, ladder.rank - 1)) ** 2
    value = WORTH[ladder.rank] * whole * 0.85**ladder.idle
    if ladder.rank < DANGER or value < 0.02:
        return quiet("ladder", "no climb from a subject to doing harm with it")
    frame = max(0.5, request.frame) if ladder.idle == 0 else 1.0
    text = f"from a subject to {_RUNGS[ladder.rank]}, in {ladder.steps} steps about one thing"
    return Signal("ladder", value, text, WEIGHT * value * frame)


# Query pattern.
#
# What is it, how does it work, where is it weak, how to use that, about the same thing and in order.

STAGES = ("what it is", "how it works", "where it is weak", "how to use that")
KEPT = 12
QUERY_WEIGHT = 0.48
_OPENING = r"^\W*(?:so |ok,? |hi,? |hello,? |hey,? |please )*(?:"
_PATTERNS = (
    (3, alternatives("stages", "use")),
    (2, alternatives("stages", "weak")),
    (1, alternatives("stages", "how", after=")")),
    (0, alternatives("stages", "what", before=_OPENING, after=")")),
)
_FORM = frozenset(concept(stem(word)) for word in words_of("verbs", "form"))


@dataclass(frozen=True, slots=True)
class Chain:
    """Questions about one thing: its words, the stages met in order, and the user turn of the last."""

    topic: tuple[str, ...]
    stages: tuple[int, ...]
    last: int


def stage_of(text: str) -> int | None:
    """0 what, 1 how it works, 2 weakness, 3 use; None for what is no such question.

    >>> [stage_of(text) for text in ("What is a relay?", "How does it work?", "Any flaws?", "Hi")]
    [0, 1, 2, None]
    """
    low = text[:400].lower()
    for stage, pattern in _PATTERNS:
        if pattern.search(low):
            return stage
    return None


def follow(chains: tuple[Chain, ...], view: View, turn: int) -> tuple[tuple[Chain, ...], Chain | None]:
    """The chains after a question, and the one it belongs to."""
    stage = stage_of(view.text)
    if stage is None:
        return chains, None
    topic = frozenset(map(concept, view.own)) - _FORM
    chain = _chain_for(chains, topic, view)
    if chain is None:
        chain = Chain((), (), turn)
    stages = (*chain.stages, stage) if not chain.stages or stage > chain.stages[-1] else chain.stages
    words = (*chain.topic, *sorted(topic - set(chain.topic)))[:16]
    moved = Chain(words, stages, turn)
    others = tuple(item for item in chains if item is not chain)
    return (*others, moved)[-KEPT:], moved


def _chain_for(chains: tuple[Chain, ...], topic: frozenset[str], view: View) -> Chain | None:
    """The newest chain that shares a word, or for a question without a topic of its own the newest."""
    for chain in reversed(chains):
        if not topic.isdisjoint(chain.topic):
            return chain
    elliptic = not topic or (view.points and len(topic) <= 2)
    return chains[-1] if elliptic and chains else None


def worth(chain: Chain | None) -> float:
    """0 for one stage, 1 for all four in order."""
    return 0.0 if chain is None else max(0, len(chain.stages) - 1) / (len(STAGES) - 1)


def detect_information_gathering(texts: Iterable[str]) -> float:
    """How far questions go from what a thing is to how to use its weakness, about the same thing, 0..1.

    >>> asked = ["What is a relay?", "How does it work?", "Where is it weak?", "How to exploit that?"]
    >>> detect_information_gathering(asked)
    1.0
    >>> detect_information_gathering(["What is rain?", "What is snow?", "What is fog?"])
    0.0
    """
    chains: tuple[Chain, ...] = ()
    best = 0.0
    for turn, text in enumerate(texts):
        chains, chain = follow(chains, look(text), turn)
        best = max(best, worth(chain))
    return best


def query_signal(chain: Chain | None, frame: float) -> Signal:
    """The signal of the chain that this turn belongs to."""
    value = worth(chain)
    if chain is None or value == 0:
        return quiet("query_pattern", "no line of questions about one thing")
    said = ", then ".join(STAGES[stage] for stage in chain.stages)
    # Two stages are how anybody learns; only the last one asks to use it.
    share = {1: 0.0, 2: 0.1, 3: 0.42, 4: 1.0}[len(chain.stages)]
    used = 1.0 if chain.stages[-1] == len(STAGES) - 1 else 0.5
    return Signal(
        "query_pattern", value, f"about one thing: {said}", QUERY_WEIGHT * share * used * max(frame, 0.6)
    )


# Trajectory: does the risk of the turns climb, stay high, or pile up?

WINDOW = 10
FEWEST = 3
LEVEL = 0.35  # A mean of the last three above this is a level worth naming
SLACK = 0.12  # what lies above this adds up
TRAJECTORY_WEIGHT = 0.55


def detect_escalation_shape(values: Sequence[float]) -> float:
    """How much a series of risks looks like an escalation, 0..1, judged by its newest ten values.

    The best climb that ends at the newest value (rise times rank agreement, over windows of 3 to 10), a
    high level, and what adds up above a slack. A calm past of any length changes nothing.

    >>> round(detect_escalation_shape([k / 8 for k in range(9)]), 2) > 0.8
    True
    >>> detect_escalation_shape([0.05] * 30)
    0.0
    """
    return _shape(values)[0]


def _shape(values: Sequence[float]) -> tuple[float, float, float]:
    """How much it looks like an escalation, and the climb and the level that are part of it."""
    if len(values) < FEWEST:
        return 0.0, 0.0, 0.0
    newest = [min(1.0, max(0.0, value)) for value in values[-WINDOW:]]
    climb, level, heaped = climb_of(newest), level_of(newest), min(1.0, heap_of(newest) / 2.5)
    return 1 - (1 - climb) * (1 - 0.7 * level) * (1 - 0.5 * heaped), climb, level


def climb_of(values: Sequence[float]) -> float:
    """The best rise times rank agreement over windows that end at the newest value.

    Short windows count less.
    """
    best = 0.0
    for size in range(FEWEST, len(values) + 1):
        part = values[-size:]
        if part[-1] <= part[0]:
            continue
        certain = min(1.0, (size + 1) / 6)
        best = max(best, certain * max(0.0, _rise(part)) * max(0.0, _agreement(part)))
    return min(1.0, best)


def level_of(values: Sequence[float]) -> float:
    """How far the last three stand above LEVEL, 0..1; 0 for fewer than three."""
    if len(values) < FEWEST:
        return 0.0
    return max(0.0, min(values[-FEWEST:]) - LEVEL) / (1 - LEVEL)


def heap_of(values: Sequence[float]) -> float:
    """The sum of what lies above SLACK, begun anew whenever it falls to nothing."""
    heap = 0.0
    for value in values:
        heap = max(0.0, heap + value - SLACK)
    return heap


def _rise(values: Sequence[float]) -> float:
    """The rise of the fitted line from first to last."""
    n = len(values)
    middle, mean = (n - 1) / 2, sum(values) / n
    slope = sum((k - middle) * (value - mean) for k, value in enumerate(values))
    return slope / sum((k - middle) ** 2 for k in range(n)) * (n - 1)


def _agreement(values: Sequence[float]) -> float:
    """Kendall's tau with time: 1 where every later value is higher, ties count nothing."""
    n = len(values)
    signs = sum((values[b] > values[a]) - (values[b] < values[a]) for a in range(n) for b in range(a + 1, n))
    return signs / (n * (n - 1) / 2)


def trajectory(levels: Sequence[float]) -> Signal:
    """The signal over the levels of the conversation's own turns, the newest last."""
    # Most turns are calm, and a climb takes a while to work out.
    if max(levels[-WINDOW:], default=0.0) < 0.01:
        return quiet("trajectory", "no climb")
    value, climb, level = _shape(levels)
    if value < 0.02:
        return quiet("trajectory", "no climb")
    said = "risk stays high over the last turns" if level > climb else "risk climbs from turn to turn"
    return Signal(
        "trajectory", value, f"{said} ({value:.2f})", TRAJECTORY_WEIGHT * value * min(1.0, levels[-1] * 3)
    )
