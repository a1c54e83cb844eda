"""Escalation: crescendo (the ladder), reconnaissance (chains of questions), trajectory.

The ladder: a subject, its dangers, how to do that, exactly how. Each rung is an innocent question; rungs
count only in order and about one topic: a turn continues it where it shares words with it, or has no topic
of its own ("and the exact amounts?").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..models.slotted import dataclass, replace
from .records import Signal, quiet
from .request import Request, is_care
from .turn_features import View, concept, look, telling
from .words import alternatives, stems_of

SUBJECT, DANGER, DOING, EXACTLY = 1, 2, 3, 4
WORTH = (0.0, 0.0, 0.05, 0.34, 0.9)  # of each rung, where all before it were climbed
HAZARD = 0.14
NEAR, FAR = 2, 40  # turns on other topics that end it for an elliptic question, and for one that shares words
WIDTH = 24
AROUND = 6  # words on either side of a dangerous one that name the thing
FEW = 8  # words of a turn that may ask without the form of a question
LONGEST, ELLIPSIS = 14, 4  # words of a question and of any other turn that may climb
WEIGHT = 0.6
CARRIES = 0.85  # share of its hazard that the topic lends to a turn that goes on about it
LIFT = 0.06  # share of the distance to certainty that a further rung adds at least
STAGES = ("what it is", "how it works", "where it is weak", "how to use that")
MOST_CHAINS = 12
QUERY_WEIGHT = 0.48
WINDOW = 10
FEWEST = 3
LEVEL = 0.35  # least of the last three above which the level counts as high
SLACK = 0.12
CLIMBS = 2.0  # a climb of one half counts in full
TRAJECTORY_WEIGHT = 0.55
_RUNGS = ("", "a subject", "its dangers", "how to do it", "exactly how")


@dataclass(frozen=True, slots=True)
class Ladder:
    """The highest rung (`rank`), turns that climbed, hazard of the topic, and turns since it came up."""

    rank: int = 0
    steps: int = 0
    hazard: float = 0.0
    idle: int = 0
    topic: tuple[str, ...] = ()


def goes_on(ladder: Ladder, view: View) -> bool:
    """Whether a turn is still about the ladder's topic."""
    if not ladder.topic:
        return False
    words = telling(view)
    if not words.isdisjoint(ladder.topic):
        return ladder.idle <= FAR
    elliptic = (
        (not words and len(view.own) <= 1 and view.has("doing", "exact", "evade", "make"))
        or (view.points and len(words) <= 2)
        or (view.has("exact") and len(view.stems) <= 5 and len(words) <= 1)
    )
    return elliptic and ladder.idle < NEAR


def carried(ladder: Ladder, view: View) -> float:
    """The hazard a turn takes over from the topic; 0 where it is about something else or asks for nothing."""
    takes = ladder.rank >= DANGER and (view.is_asking or len(view.stems) <= FEW) and goes_on(ladder, view)
    return CARRIES * ladder.hazard if takes else 0.0


def rung_of(view: View, request: Request, on: bool) -> int:
    """The rung of a turn; `on` where it goes on about the ladder's topic."""
    # What is dangerous is a question of fact, so that frame does not count here; a game or first aid does.
    cares = view.has("play", "protect", "defend") or is_care(view)
    left = request.frame if cares and request.frame <= 0.4 else 1.0
    hazardous = request.hazard * left >= HAZARD and view.is_asking
    if not hazardous and not on:
        return SUBJECT if view.own else 0
    factual = request.asks <= 0.3
    # Who climbs asks briefly; a long turn with amounts in it tells them, rather than wants to be told.
    wants = len(view.stems) <= (LONGEST if view.wants or view.has("evade") else ELLIPSIS)
    if view.has("exact", "evade") and not factual and wants:
        return EXACTLY
    # Once the topic is dangerous, any how-to about it counts; before, only one that names an act.
    does = view.has("doing", "make") and view.is_asking if on else view.has("doing") and view.has("make")
    if does and not factual and wants:
        return DOING
    return DANGER if hazardous else SUBJECT


def climb(ladder: Ladder, view: View, request: Request) -> Ladder:
    """The ladder after a user's turn."""
    on = ladder.rank >= DANGER and goes_on(ladder, view)
    rung = rung_of(view, request, on)
    if ladder.rank <= SUBJECT:
        # Whatever came before the first danger is its subject.
        steps = min(ladder.rank, 1) + 1 if rung > SUBJECT else min(rung, 1)
        return Ladder(max(rung, ladder.rank), max(1, steps), request.hazard, 0, _topic((), view))
    cares = (view.has("protect", "defend") or is_care(view)) and not view.has("evade")
    if cares and rung <= ladder.rank and (on or ladder.idle < NEAR):
        # Care about the danger takes a step back.
        return replace(ladder, steps=max(1, ladder.steps - 1), idle=ladder.idle + (not on))
    rank, steps = max(rung, ladder.rank), ladder.steps + (rung > ladder.rank)
    if on:
        hazard = max(ladder.hazard * 0.97, request.hazard)
        # Only dangerous words widen the topic, or it would soon be everything.
        topic = _topic(ladder.topic, view) if request.words else ladder.topic
        return Ladder(rank, steps, hazard, 0, topic)
    if rung >= DANGER and ladder.idle >= NEAR:
        return Ladder(rung, 2, request.hazard, 0, _topic((), view))
    if rung >= DANGER:
        # Another danger at once continues the same line of questions.
        return Ladder(rank, steps, max(ladder.hazard, request.hazard), 0, _topic(ladder.topic, view))
    return Ladder(ladder.rank, ladder.steps, ladder.hazard, min(ladder.idle + 1, FAR + 1), ladder.topic)


def _topic(before: tuple[str, ...], view: View) -> tuple[str, ...]:
    words = telling(view)
    if grave := [hit for hit in view.hits if hit.term.severity is not None]:
        near = (view.stems[max(0, hit.start - AROUND) : hit.end + AROUND] for hit in grave)
        words &= frozenset(word for some in near for word in some)
    return (*before, *sorted(words - set(before)))[-WIDTH:]


def takes_part(before: Ladder, after: Ladder, view: View) -> bool:
    """Whether a turn climbed or names the topic, so that what it is about is part of the ladder."""
    return after.steps > before.steps or not telling(view).isdisjoint(after.topic)


def lifted(ladder: Ladder, before: Ladder, risk: float) -> float:
    """The lower bound of the risk: a further rung about the same topic raises it in any case."""
    further = ladder.rank > before.rank >= DANGER and ladder.steps > before.steps
    return risk + LIFT * (1 - risk) if further else 0.0


def ladder_signal(ladder: Ladder, request: Request) -> Signal:
    """The signal of the ladder; it fades with every turn on another topic."""
    # A skipped rung counts twice against it: amounts without a how-to are mostly harmless.
    whole = min(1.0, (ladder.steps - 1) / max(1, ladder.rank - 1)) ** 2
    value = WORTH[ladder.rank] * whole * 0.85**ladder.idle
    if ladder.rank < DANGER or value < 0.02:
        return quiet("ladder", "no climb from a subject to doing harm with it")
    frame = max(0.5, request.frame) if ladder.idle == 0 else 1.0
    text = f"from a subject to {_RUNGS[ladder.rank]}, in {ladder.steps} steps about one thing"
    return Signal("ladder", value, text, WEIGHT * value * frame)


_OPENING = r"^\W*(?:so |ok,? |hi,? |hello,? |hey,? |please )*(?:"
_PATTERNS = (
    (3, alternatives("stages", "use")),
    (2, alternatives("stages", "weak")),
    (1, alternatives("stages", "how", after=")")),
    (0, alternatives("stages", "what", before=_OPENING, after=")")),
)
_FORM = frozenset(map(concept, stems_of("verbs", "form")))


@dataclass(frozen=True, slots=True)
class Chain:
    """Questions about one topic: its words, the stages reached in order, and the last user turn."""

    topic: tuple[str, ...]
    stages: tuple[int, ...]
    last: int


def stage_of(text: str) -> int | None:
    """The index of STAGES of a question; None for any other text.

    >>> [stage_of(text) for text in ("What is a relay?", "How does it work?", "Any flaws?", "Hi")]
    [0, 1, 2, None]
    """
    low = text[:400].lower()
    return next((stage for stage, pattern in _PATTERNS if pattern.search(low)), None)


def follow(chains: tuple[Chain, ...], view: View, turn: int) -> tuple[tuple[Chain, ...], Chain | None]:
    """The chains after a question, and the one it belongs to.

    That is the newest chain that shares a word, or for a question without a topic of its own the newest.
    """
    stage = stage_of(view.text)
    if stage is None:
        return chains, None
    topic = frozenset(map(concept, view.own)) - _FORM
    chain = next((chain for chain in reversed(chains) if not topic.isdisjoint(chain.topic)), None)
    if chain is None:
        elliptic = not topic or (view.points and len(topic) <= 2)
        chain = chains[-1] if elliptic and chains else Chain((), (), turn)
    stages = (*chain.stages, stage) if not chain.stages or stage > chain.stages[-1] else chain.stages
    words = (*chain.topic, *sorted(topic - set(chain.topic)))[:16]
    moved = Chain(words, stages, turn)
    others = tuple(item for item in chains if item is not chain)
    return (*others, moved)[-MOST_CHAINS:], moved


def worth(chain: Chain | None) -> float:
    """0 for one stage, 1 for all four in order."""
    return 0.0 if chain is None else max(0, len(chain.stages) - 1) / (len(STAGES) - 1)


def detect_information_gathering(texts: Iterable[str]) -> float:
    """How far questions go from what a thing is to how to use its weakness, about the same thing, 0..1.

    >>> texts = ["What is a relay?", "How does it work?", "Where is it weak?", "How to exploit that?"]
    >>> detect_information_gathering(texts)
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
    text = "about one thing: " + ", then ".join(STAGES[stage] for stage in chain.stages)
    # Two stages are how anybody learns; only the last one asks to use it.
    share = (0.0, 0.1, 0.42, 1.0)[len(chain.stages) - 1]
    used = 1.0 if chain.stages[-1] == len(STAGES) - 1 else 0.5
    return Signal("query_pattern", value, text, QUERY_WEIGHT * share * used * max(frame, 0.6))


def detect_escalation_shape(values: Sequence[float]) -> float:
    """How much a series of risks looks like an escalation, 0..1, by its newest ten values.

    Combines the best climb that ends at the newest value (rise times rank agreement, over windows of 3 to
    10), a high level, and the sum above a slack. A calm past of any length changes nothing. A line that does
    not rise is no escalation, however high.

    >>> round(detect_escalation_shape([k / 8 for k in range(9)]), 2) > 0.8
    True
    >>> detect_escalation_shape([0.05] * 30), detect_escalation_shape([0.8] * 30)
    (0.0, 0.0)
    """
    value, climb, _ = _shape(values)
    return value * min(1.0, CLIMBS * climb)


def _shape(values: Sequence[float]) -> tuple[float, float, float]:
    """The escalation of a series, and the climb and the level in it."""
    if len(values) < FEWEST:
        return 0.0, 0.0, 0.0
    newest = [min(1.0, max(0.0, value)) for value in values[-WINDOW:]]
    climb, level = _best_climb(newest), max(0.0, min(newest[-FEWEST:]) - LEVEL) / (1 - LEVEL)
    heap = 0.0
    for value in newest:
        heap = max(0.0, heap + value - SLACK)
    heaped = min(1.0, heap / 2.5)
    return 1 - (1 - climb) * (1 - 0.7 * level) * (1 - 0.5 * heaped), climb, level


def _best_climb(values: Sequence[float]) -> float:
    """The best rise times rank agreement over windows that end at the newest value; short ones count less."""
    best = 0.0
    for size in range(FEWEST, len(values) + 1):
        part = values[-size:]
        if part[-1] > part[0]:
            certain = min(1.0, (size + 1) / 6)
            best = max(best, certain * max(0.0, _rise(part)) * max(0.0, _agreement(part)))
    return min(1.0, best)


def _rise(values: Sequence[float]) -> float:
    """The rise of the fitted line from first to last."""
    n = len(values)
    middle, mean = (n - 1) / 2, sum(values) / n
    slope = sum((k - middle) * (value - mean) for k, value in enumerate(values))
    return slope / sum((k - middle) ** 2 for k in range(n)) * (n - 1)


def _agreement(values: Sequence[float]) -> float:
    """Kendall's tau with time; ties count nothing."""
    n = len(values)
    signs = sum((values[b] > values[a]) - (values[b] < values[a]) for a in range(n) for b in range(a + 1, n))
    return signs / (n * (n - 1) / 2)


def trajectory(levels: Sequence[float]) -> Signal:
    """The signal over the levels of the user's turns, the newest last."""
    # A shortcut: most conversations are calm.
    if max(levels[-WINDOW:], default=0.0) < 0.01:
        return quiet("trajectory", "no climb")
    value, climb, level = _shape(levels)
    if value < 0.02:
        return quiet("trajectory", "no climb")
    text = "risk stays high over the last turns" if level > climb else "risk climbs from turn to turn"
    adds = TRAJECTORY_WEIGHT * value * min(1.0, levels[-1] * 3)
    return Signal("trajectory", value, f"{text} ({value:.2f})", adds)
