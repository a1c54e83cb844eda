"""Conversations scored turn by turn, and the reasons for their risk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from ...chat.records import Change, Mode
from ...chat.risk_model import FLOORS, HYSTERESIS
from ...fields import Amount, Count, Name, Ratio, RecordStruct, one_of
from ...models import Detection, format_time
from ...models.record import decimals
from ...models.redaction import mask
from .conversation import Conversation, ConversationState
from .files import ChatTurn
from .summary import LEAST, WATCHED

COMBINED = (
    "+ and - tell what a signal adds more or less than a turn before. They do not sum up to the risk: the "
    "strongest counts whole, each further one half of the one before."
)
ModeName = Annotated[str, one_of(*Mode.__members__)]
Make = Callable[[str, str], Conversation]  # makes a conversation from its id and subject


@dataclass(frozen=True, slots=True)
class Scored:
    """A turn and the state of its conversation after it.

    `number` counts the turns of both sides from 1; `before` is the risk before; `detections` are those not
    reported for an earlier turn; `source` is the turn that the risk comes from, and its strongest signal.
    """

    turn: ChatTurn
    number: int
    state: ConversationState
    before: float
    detections: tuple[Detection, ...]
    source: tuple[int, str] = (0, "")


@dataclass(slots=True)
class Followed:
    """A conversation so far, and what was reported of it."""

    conversation: Conversation
    reported: set[str] = field(default_factory=set)

    def add(self, turn: ChatTurn) -> Scored:
        before = self.conversation.risk
        state = self.conversation.turn(turn.text, role=turn.role, at=turn.at)
        new = tuple(detection for detection in state.detections if detection.id not in self.reported)
        self.reported.update(detection.id for detection in state.detections)
        return Scored(turn, state.turn, state, before, new, self.conversation.course.source)


def follow(turns: Iterable[ChatTurn], make: Make, followed: dict[str, Followed]) -> Iterator[Scored]:
    """Score turns as they come; `followed` receives the conversations in order of their start.

    A conversation that a store knows continues: as many turns as it had are skipped.
    """
    known: dict[str, int] = {}
    for turn in turns:
        if turn.thread not in followed:
            conversation = make(turn.thread, turn.subject)
            followed[turn.thread] = Followed(conversation)
            known[turn.thread] = conversation.turns
        if known[turn.thread]:
            known[turn.thread] -= 1
            continue
        yield followed[turn.thread].add(turn)


def changes(scored: Scored, most: int) -> list[Change]:
    """What moved the risk, largest first; empty where it did not move."""
    if abs(scored.state.risk - scored.before) < LEAST:
        return []
    return [change for change in scored.state.changes if abs(change.by) >= LEAST][:most]


def reason_of(change: Change, state: ConversationState) -> str:
    """Why a signal adds more or less than before; one that still adds something is "less than before"."""
    still = any(signal.name == change.name and signal.adds > 0 for signal in state.signals)
    return f"less than before: {change.reason}" if change.by < 0 and still else change.reason


def standing(scored: Scored, *, moved: bool) -> Iterator[str]:
    """Above SAFE: what holds the risk up, and a mode that is only held; `moved` where changes are shown."""
    mode, risk = scored.state.mode, scored.state.risk
    if scored.state.not_measured:
        yield f"not measured: {scored.state.not_measured}"
    if mode == Mode.SAFE:
        return
    turn, what = scored.source
    if turn and what and turn != scored.number:
        yield f"carried over from turn {turn}: {what}"
    elif not moved and what:
        yield f"as before: {what}"
    if scored.state.confirmation:
        yield f"evaluator: {scored.state.confirmation}"
    if risk < FLOORS[mode]:
        yield f"{mode.name}, which begins at {FLOORS[mode]:.2f}, is held until below {left_at(mode):.2f}"


def left_at(mode: Mode) -> float:
    """The risk below which a mode is left.

    >>> left_at(Mode.CRITICAL)
    0.65
    """
    return round(FLOORS[mode] - HYSTERESIS, 4)


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
    OMITTED = ("confirmation", "questions", "spent")
    DECIMALS = decimals(4, "risk", "highest_risk") | decimals(6, "spent")

    conversation: Name
    subject: Name
    turns: Count
    user_turns: Count
    risk: Ratio
    mode: ModeName
    highest_risk: Ratio
    highest_mode: ModeName
    first: Annotated[dict[str, Count], Meta(extra_json_schema={"propertyNames": {"enum": list(WATCHED)}})]
    """The first turn of each mode."""
    patterns: dict[str, Count]
    """The first turn of each detection."""
    not_measured: dict[str, Count]
    """Turns of the person of which nothing can be said, by reason."""
    confirmation: str | None = None
    """With an evaluator: the newest answer about this conversation."""
    questions: Count | None = None
    """With an evaluator: how often it was asked."""
    spent: Amount | None = None
    """With an evaluator: dollars for these questions, where its price is known."""


def turn_record(scored: Scored, *, excerpts: bool = False) -> dict[str, Any]:
    """The record of a turn; `excerpts` adds its text, masked and cut."""
    at = None if scored.turn.at is None else format_time(scored.turn.at)
    return Turn(scored.state, at, excerpt(scored.turn.text) if excerpts else None).to_dict()


def summary_record(name: str, followed: Followed) -> dict[str, Any]:
    conversation, course = followed.conversation, followed.conversation.course
    mode = conversation.mode.name
    modes = [item for item in WATCHED if item in course.first or item == mode]
    spending = conversation.spending if conversation.has_evaluator else None
    return ChatSummary(
        conversation=name,
        subject=conversation.subject,
        turns=conversation.turns,
        user_turns=course.users,
        risk=conversation.risk,
        mode=mode,
        highest_risk=max(course.highest_risk, conversation.risk),
        highest_mode=modes[-1] if modes else "SAFE",
        first=dict(course.first),
        patterns=dict(course.patterns),
        not_measured=dict(course.not_measured),
        confirmation=course.confirmation,
        questions=None if spending is None else spending.questions,
        spent=None if spending is None else spending.dollars,
    ).to_dict()


def excerpt(text: str, most: int = 80) -> str:
    """The start of a text on one line, with secrets and personal data masked.

    >>> excerpt("write to ann@example.com")
    'write to [e-mail]'
    """
    flat = " ".join(mask(text[: 4 * most]).split())
    return flat if len(flat) <= most else flat[: most - 3] + "..."


def rises(first: Mapping[str, int]) -> list[tuple[str, int]]:
    """The modes that a conversation rose to, with their turns; of several at one turn the highest.

    >>> rises({"CAUTIOUS": 3, "ELEVATED": 3, "SUSPECT": 5})
    [('ELEVATED', 3), ('SUSPECT', 5)]
    """
    at = {turn: mode for mode, turn in sorted(first.items(), key=lambda item: WATCHED.index(item[0]))}
    return [(mode, turn) for turn, mode in at.items()]
