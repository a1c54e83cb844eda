"""What a conversation remembers, all bounded: newest turns, segments by topic, profile, risky topics."""

from __future__ import annotations

from ..models.slotted import dataclass, field, replace
from .harm_lexicon import shown
from .records import Mode, Signal, quiet
from .request import Request
from .turn_features import View, concept, same_request, telling
from .words import rarity

RECENT, SEGMENTS, TOPICS, WORDS = 10, 12, 8, 24
RISKY = 0.25
AWAY = 3  # turns on other topics before coming to a topic again is a return


@dataclass(frozen=True, slots=True)
class Recent:
    """A recent turn: its content words and level, never its text."""

    role: str
    words: tuple[str, ...]
    level: float


@dataclass(frozen=True, slots=True)
class Segment:
    """Turns on one topic: their rarest words, first and last turn, highest level."""

    words: tuple[str, ...]
    first: int
    last: int
    peak: float


@dataclass(frozen=True, slots=True)
class Topic:
    """A risky topic: its words, its risk, and the last user turn on it."""

    words: tuple[str, ...]
    risk: float
    last: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Counts over the whole session, and its peak."""

    questions: int = 0
    probes: int = 0
    hypotheticals: int = 0
    meta_instructions: int = 0
    topic_changes: int = 0
    refusals: int = 0
    returns: int = 0
    mode_changes: int = 0
    peak: float = 0.0


@dataclass(frozen=True, slots=True)
class ConversationMemory:
    """What a conversation remembers of itself, without texts: words are stems.

    `recent` are the ten newest turns of the person, `segments` the twelve newest topics, `topics` the eight
    riskiest, `profile` counts over the whole session.
    """

    recent: tuple[Recent, ...] = ()
    segments: tuple[Segment, ...] = ()
    topics: tuple[Topic, ...] = ()
    profile: Profile = field(default_factory=Profile)


def is_change(memory: ConversationMemory, view: View) -> bool:
    """Whether a user's turn starts another topic; one without words of its own does not."""
    if len(view.own) < 2 or not memory.segments:
        return not memory.segments and bool(view.own)
    likeness = same_request(memory.segments[-1].words, view.own)
    return likeness < 0.1 and not (view.points and len(view.own) <= 3)


def recall(memory: ConversationMemory, view: View, turn: int) -> Signal:
    """The signal of a return to a topic that was risky before."""
    here = telling(view)
    for topic in sorted(memory.topics, key=lambda topic: -topic.risk):
        shared = here.intersection(topic.words)
        if shared and turn - topic.last > AWAY:
            value = topic.risk * min(1.0, 0.5 + 0.25 * len(shared))
            words = ", ".join(map(shown, sorted(shared)[:3]))
            text = f"back to {words}, which was risky {turn - topic.last} turns ago"
            return Signal("topic_return", value, text, 0.8 * value)
    return quiet("topic_return", "no risky topic met again")


def remember(
    memory: ConversationMemory,
    view: View,
    role: str,
    level: float,
    turn: int,
    changed: bool,
    asked: float,
) -> ConversationMemory:
    """The memory after a user's turn, without its profile; `asked` is the part of its level that is about
    the words of this turn.
    """
    words = tuple(sorted(view.about, key=lambda word: (-rarity(word), word))[:WORDS])
    recent = (*memory.recent, Recent(role, tuple(sorted(words)), level))[-RECENT:]
    own = tuple(sorted(map(concept, view.own)))[:WORDS]
    rare = tuple(sorted(telling(view)))[:WORDS]
    return replace(
        memory,
        recent=recent,
        segments=_segmented(memory.segments, own, level, turn, changed),
        topics=_risky(memory.topics, rare, asked, turn),
    )


def _segmented(
    segments: tuple[Segment, ...], own: tuple[str, ...], level: float, turn: int, changed: bool
) -> tuple[Segment, ...]:
    if changed or not segments:
        return (*segments, Segment(own, turn, turn, level))[-SEGMENTS:] if own else segments
    last = segments[-1]
    fresh = tuple(word for word in own if word not in last.words)
    return (*segments[:-1], Segment((*last.words, *fresh)[-WORDS:], last.first, turn, max(last.peak, level)))


def _risky(topics: tuple[Topic, ...], own: tuple[str, ...], level: float, turn: int) -> tuple[Topic, ...]:
    """The risky topics after a turn: those it shares words with are met again, a new one is added."""
    words = set(own)
    after = [
        topic if words.isdisjoint(topic.words) else replace(topic, last=turn, risk=max(topic.risk, level))
        for topic in topics
    ]
    if level >= RISKY and own and all(words.isdisjoint(topic.words) for topic in topics):
        after.append(Topic(own, level, turn))
    return tuple(sorted(after, key=lambda item: -item.risk)[:TOPICS])


def profiled(profile: Profile, view: View, request: Request, changed: bool, returned: bool) -> Profile:
    """The profile after a user's turn, without peak and modes."""
    return replace(
        profile,
        questions=profile.questions + view.is_question,
        probes=profile.probes + (request.direct >= RISKY),
        hypotheticals=profile.hypotheticals + view.has("fiction"),
        meta_instructions=profile.meta_instructions + view.has("override", "persona"),
        topic_changes=profile.topic_changes + changed,
        returns=profile.returns + returned,
    )


def moded(profile: Profile, risk: float, before: Mode, after: Mode) -> Profile:
    """The profile with the highest risk and the number of changes of mode."""
    return replace(
        profile, peak=max(profile.peak, risk), mode_changes=profile.mode_changes + (before != after)
    )
