"""Conversations scored turn by turn, and the reasons for their risk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from ..chat.records import MODES, Change, Mode
from ..chat.risk_model import FLOORS, HYSTERESIS, together
from ..fields import Count, Name, Ratio, RecordStruct, one_of
from ..models import Detection, format_time
from ..models.record import decimals
from ..models.redaction import mask
from .chat_files import ChatTurn
from .conversation import Conversation, ConversationState

LEAST = 0.02  # smallest change of risk that is reported
COMBINED = (
    "+ and - tell what a signal adds more or less than a turn before. They do not sum up to the risk: the "
    "strongest counts whole, each further one half of the one before."
)
WATCHED = MODES[1:]  # modes whose first turn is reported
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
    """A conversation so far, and what its summary needs."""

    conversation: Conversation
    subject: str
    risks: list[float] = field(default_factory=list)
    users: int = 0
    first: dict[str, int] = field(default_factory=dict)
    mode: str = "SAFE"
    patterns: dict[str, int] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    source: tuple[int, str] = (0, "")

    def add(self, turn: ChatTurn) -> Scored:
        before = self.conversation.risk
        state = self.conversation.turn(turn.text, role=turn.role, at=turn.at)
        self.risks.append(state.risk)
        number = state.turn
        self.users += turn.role == "user"
        self.mode = state.mode.name
        for name in WATCHED[: state.mode]:
            self.first.setdefault(name, number)
        new = tuple(detection for detection in state.detections if detection.id not in self.reported)
        for detection in state.detections:
            self.patterns.setdefault(detection.pattern, number)
            self.reported.add(detection.id)
        if is_own(state, before):
            self.source = (number, strongest(state))
        return Scored(turn, number, state, before, new, self.source)


def follow(turns: Iterable[ChatTurn], make: Make, followed: dict[str, Followed]) -> Iterator[Scored]:
    """Score turns as they come; `followed` receives the conversations in order of their start.

    A conversation that a store knows continues: as many turns as it had are skipped.
    """
    known: dict[str, int] = {}
    for turn in turns:
        if turn.thread not in followed:
            conversation = make(turn.thread, turn.subject)
            followed[turn.thread] = Followed(conversation, turn.subject, mode=conversation.mode.name)
            known[turn.thread] = conversation.turns
        if known[turn.thread]:
            known[turn.thread] -= 1
            continue
        yield followed[turn.thread].add(turn)


def is_own(state: ConversationState, before: float) -> bool:
    """Whether the risk comes from this turn: its signals amount to it, or it rose."""
    adds = {signal.name: signal.adds for signal in state.signals}
    own = max(adds.pop("standing", 0.0), together(adds.values()))
    return own >= state.risk - LEAST or state.risk >= before + LEAST


def strongest(state: ConversationState) -> str:
    """The signal that adds most, with its reason; '' where none adds anything."""
    most = max(state.signals, key=lambda signal: signal.adds, default=None)
    return "" if most is None or most.adds <= 0 else f"{most.name}: {most.reason}"


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
    """The record of a turn; `excerpts` adds its text, masked and cut."""
    at = None if scored.turn.at is None else format_time(scored.turn.at)
    return Turn(scored.state, at, excerpt(scored.turn.text) if excerpts else None).to_dict()


def summary_record(name: str, followed: Followed) -> dict[str, Any]:
    modes = [mode for mode in WATCHED if mode in followed.first or mode == followed.mode]
    return ChatSummary(
        conversation=name,
        subject=followed.subject,
        turns=followed.conversation.turns,
        user_turns=followed.users,
        risk=followed.conversation.risk,
        mode=followed.mode,
        highest_risk=max(followed.risks, default=followed.conversation.risk),
        highest_mode=modes[-1] if modes else "SAFE",
        first=dict(followed.first),
        patterns=dict(followed.patterns),
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
