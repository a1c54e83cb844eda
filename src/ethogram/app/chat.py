"""Conversations scored turn by turn, and why each stands where it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from ..chat.records import MODES, Change, Mode, Signal
from ..chat.risk_model import FLOORS, HYSTERESIS, together
from ..fields import Count, Name, Ratio, RecordStruct, one_of
from ..models import Detection, format_time
from ..models.record import decimals
from ..models.redaction import mask
from .chat_files import Said
from .conversation import Conversation, ConversationState

# Why a conversation stands where it does, in words: what moved it, what is carried over, what is held.

LEAST = 0.02  # A change of risk below this is not worth a line
COMBINED = (
    "+ and - tell what a signal adds more or less than a turn before. They do not sum up to the risk: the "
    "strongest counts whole, each further one half of the one before; `standing` is not added to the others, "
    "the greater of the two counts."
)
"""How parts make a risk."""


def is_own(state: ConversationState, before: float) -> bool:
    """Whether the risk comes from this turn: its signals come to it, or it rose with it."""
    adds = {signal.name: signal.adds for signal in state.signals}
    own = max(adds.pop("standing", 0.0), together(adds.values()))
    return own >= state.risk - LEAST or state.risk >= before + LEAST


def strongest(state: ConversationState) -> str:
    """The signal that adds most, with its reason; empty where none adds anything."""
    most: Signal | None = max(state.signals, key=lambda signal: signal.adds, default=None)
    return "" if most is None or most.adds <= 0 else f"{most.name}: {most.reason}"


def changes(scored: Scored, most: int) -> list[Change]:
    """What moved the risk, the most first; nothing where it did not move."""
    if abs(scored.state.risk - scored.before) < LEAST:
        return []
    return [each for each in scored.state.changes if abs(each.by) >= LEAST][:most]


def reason_of(change: Change, state: ConversationState) -> str:
    """Why a signal adds more, or less, than before.

    What still adds something is told as less of it: "risk climbs" is no reason to be calmer.
    """
    still = any(signal.name == change.name and signal.adds > 0 for signal in state.signals)
    return f"less than before: {change.reason}" if change.by < 0 and still else change.reason


def standing(scored: Scored, *, moved: bool) -> Iterator[str]:
    """Above SAFE: what is carried over from which turn, or is as before; and a mode that is only held.

    `moved`: changes were told of this turn.
    """
    mode, risk = scored.state.mode, scored.state.risk
    if mode == Mode.SAFE:
        return
    turn, what = scored.source
    if turn and what and turn != scored.number:
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


# Conversations scored turn by turn: what is told of a turn, and of a conversation when it is over.

WATCHED = MODES[1:]  # modes whose first turn is told
ModeName = Annotated[str, one_of(*Mode.__members__)]
Make = Callable[[str, str], Conversation]  # A new conversation, by its id and its subject


@dataclass(frozen=True, slots=True)
class Scored:
    """A turn with where its conversation stands after it.

    `number` counts the turns of both sides, from 1; `before` is the risk before it; `found` are detections
    that were not told of this conversation before. `source` is the turn that the risk comes from and what it
    was: this one, or an earlier one where nothing new holds the risk up.
    """

    said: Said
    number: int
    state: ConversationState
    before: float
    found: tuple[Detection, ...]
    source: tuple[int, str] = (0, "")


@dataclass(slots=True)
class Followed:
    """A conversation so far, as it is summed up."""

    talk: Conversation
    subject: str
    risks: list[float] = field(default_factory=list)
    users: int = 0
    first: dict[str, int] = field(default_factory=dict)
    mode: str = "SAFE"
    patterns: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    source: tuple[int, str] = (0, "")


def follow(saids: Iterable[Said], make: Make, followed: dict[str, Followed]) -> Iterator[Scored]:
    """Every turn as it comes, scored; `followed` is filled by conversation, in order of their beginning."""
    for item in saids:
        kept = followed.get(item.thread)
        if kept is None:
            kept = followed[item.thread] = Followed(make(item.thread, item.subject), item.subject)
        state = kept.talk.turn(item.text, role=item.role, at=item.at)
        before = kept.risks[-1] if kept.risks else 0.0
        eaches = tuple(each for each in state.detections if each.id not in kept.told)
        _add(kept, item, state)
        if is_own(state, before):
            kept.source = (len(kept.risks), strongest(state))
        yield Scored(item, len(kept.risks), state, before, eaches, kept.source)


def _add(followed: Followed, item: Said, state: ConversationState) -> None:
    followed.risks.append(state.risk)
    followed.users += item.role == "user"
    followed.mode = state.mode.name
    if followed.mode in WATCHED:
        for name in WATCHED[: WATCHED.index(followed.mode) + 1]:
            followed.first.setdefault(name, len(followed.risks))
    for detection in state.detections:
        followed.patterns.setdefault(detection.pattern, len(followed.risks))
        followed.told.add(detection.id)


class Turn(RecordStruct):
    """Where a conversation stands after a turn, and why."""

    RECORD = "conversation_state"
    FLAT = ("state",)
    OMITTED = ("excerpt",)
    OPTIONAL = ("at",)

    state: ConversationState
    at: str | None
    excerpt: str | None = None
    """What was said, masked and cut; only where it was asked for."""


class ChatSummary(RecordStruct):
    """How far a conversation went, and when."""

    RECORD = "chat_summary"
    DECIMALS = decimals(4, "risk", "highest_risk")

    conversation: Name
    subject: Name
    turns: Count
    user_turns: Count
    risk: Ratio
    mode: ModeName
    highest_risk: Ratio
    highest_mode: ModeName
    first: Annotated[dict[str, Count], Meta(extra_json_schema={"propertyNames": {"enum": list(WATCHED)}})]
    patterns: dict[str, Count]


def turn_record(scored: Scored, *, excerpts: bool = False) -> dict[str, Any]:
    """The record of a turn; with `excerpts` what was said, masked and cut."""
    return Turn(
        state=scored.state,
        at=None if scored.said.at is None else format_time(scored.said.at),
        excerpt=excerpt(scored.said.text) if excerpts else None,
    ).to_dict()


def summary_record(name: str, followed: Followed) -> dict[str, Any]:
    """What became of a conversation."""
    modes = [mode for mode in WATCHED if mode in followed.first]
    return ChatSummary(
        conversation=name,
        subject=followed.subject,
        turns=len(followed.risks),
        user_turns=followed.users,
        risk=followed.risks[-1],
        mode=followed.mode,
        highest_risk=max(followed.risks),
        highest_mode=modes[-1] if modes else "SAFE",
        first=dict(followed.first),
        patterns=dict(followed.patterns),
    ).to_dict()


def excerpt(text: str, most: int = 80) -> str:
    """The beginning of a text on one line, with secrets and personal data masked.

    >>> excerpt("write to ann@example.com")
    'write to [e-mail]'
    """
    flat = " ".join(mask(text[: 4 * most]).split())
    return flat if len(flat) <= most else flat[: most - 3] + "..."


def rises(first: Mapping[str, int]) -> list[tuple[str, int]]:
    """The modes that a conversation rose to, with the turn of each: of several at one turn the highest.

    >>> rises({"CAUTIOUS": 3, "ELEVATED": 3, "SUSPECT": 5})
    [('ELEVATED', 3), ('SUSPECT', 5)]
    """
    at = {turn: mode for mode, turn in sorted(first.items(), key=lambda item: WATCHED.index(item[0]))}
    return [(mode, turn) for turn, mode in at.items()]
