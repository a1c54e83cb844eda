"""One turn of a conversation, for the readings of events and `ethogram.Conversation` alike."""

from __future__ import annotations

from typing import Any, Protocol

from ..models.slotted import dataclass, field, replace
from .accumulation import PLAIN, Tuning
from .memory import Topic
from .obfuscation import undisguise
from .records import Mode, Outcome, Readings
from .refusals import read_reply
from .risk_model import WITHOUT_ASK, turn
from .state import State, begin, from_json, to_json
from .words import clipped

REFUSES = 0.4  # certainty from which an assistant's turn is a refusal


class Meaning(Protocol):
    """Reads the meaning of turns; its state is bounded and of JSON's own types."""

    @property
    def name(self) -> str:
        """The embedder and its version: states of different ones must not be mixed."""

    def read(self, state: Any, text: str, role: str, refuses: bool) -> tuple[Any, Readings]:
        """The embedder's state after a turn, and its readings; `refuses`: an assistant's turn refuses."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation so far: its state, and that of the embedder."""

    state: State = field(default_factory=State)
    embedded: Any = None
    embedder: str | None = None
    confirmed: bool = False  # an evaluator confirmed that harm is asked for, since SUSPECT was reached


def follow(
    talk: Talk,
    text: str,
    role: str,
    at: float | None,
    meaning: Meaning | None = None,
    tuning: Tuning = PLAIN,
) -> tuple[Talk, Outcome]:
    """The conversation after a turn, and its outcome; `at` is in seconds, None where not known."""
    embedded, name, readings = None, None, None
    if meaning is not None:
        name = meaning.name
        before = talk.embedded if talk.embedder == name else None
        refuses = role == "assistant" and read_reply(text).refuses >= REFUSES
        hidden = undisguise(clipped(text))
        embedded, readings = meaning.read(before, hidden.plain if hidden.kinds else text, role, refuses)
    state, outcome = turn(talk.state, text, role, at, readings, tuning)
    return Talk(state, embedded, name, talk.confirmed and state.mode >= Mode.SUSPECT), outcome


def held(talk: Talk, outcome: Outcome) -> tuple[Talk, Outcome]:
    """The conversation and the outcome at ELEVATED, where harm was not confirmed."""
    risk = min(outcome.risk, WITHOUT_ASK)
    state = replace(talk.state, risk=risk, mode=Mode.ELEVATED)
    return replace(talk, state=state), replace(outcome, risk=risk, mode=Mode.ELEVATED)


def start(topics: tuple[Topic, ...] = ()) -> Talk:
    """A new conversation; `topics` are risky ones of the subject's earlier conversations."""
    return Talk(begin(topics))


def talk_to_json(talk: Talk) -> dict[str, Any]:
    """The conversation as JSON's own types; `talk_from_json` returns an equal one."""
    known = {"embedded": talk.embedded, "embedder": talk.embedder, "confirmed": talk.confirmed}
    return {**known, **to_json(talk.state)}


def talk_from_json(data: dict[str, Any]) -> Talk:
    """The conversation that `talk_to_json` was given; ValueError for another version."""
    return Talk(from_json(data), data["embedded"], data["embedder"], data.get("confirmed", False))
