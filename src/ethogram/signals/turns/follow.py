"""A conversation followed event by event: one state of a thread for all readings of its turns."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

from ...climb.refusal import read_reply
from ...climb.talk import REFUSES, Meaning, Talk, follow, start, talk_from_json, talk_to_json
from ...climb.tuning import Tuning
from ...records import Event, micros
from ..options import Options
from .values import Values, values_of

KEPT = 256
"""Conversations whose state is at hand as it was made; of others it is read from what was kept."""
MICROS = 1_000_000
_at_hand: dict[int, tuple[Any, Talk]] = {}
_lock = Lock()


def measure_turn(event: Event, role: str, state: Any, options: Options) -> tuple[Values, Any]:
    """The readings of a turn, none of an assistant's, and the conversation after it as plain data."""
    if state is None and role == "assistant" and read_reply(event.text or "").refuses < REFUSES:
        # Agents that talk among themselves, or a greeting: a conversation begins with the person.
        return {}, None
    at = micros(event.at) / MICROS if event.timed else None
    before = _opened(state)
    was_refused = bool(before.state.refused)
    how = options.conversation
    talk, outcome = follow(before, event.text or "", role, at, meaning_of(how), tuning_of(how))
    values = values_of(outcome, was_refused) if role == "user" else {}
    return values, _kept(talk)


def meaning_of(how: Mapping[str, Any]) -> Meaning | None:
    """What reads the meaning of turns, by the settings."""
    name = how.get("embedder", "small")
    if name is None:
        return None
    # Here and not above: NumPy is loaded only where a conversation is met.
    from ...meaning.reader import reader_of

    return reader_of(name)


def tuning_of(how: Mapping[str, Any]) -> Tuning:
    """How much each signal counts and how quickly risk is forgotten, by the settings."""
    if not how:
        return Tuning()
    return Tuning(how.get("weights", {}), how.get("half_life", 12 * 3600 * MICROS) / MICROS)


def _opened(state: Any) -> Talk:
    if state is None:
        return start()
    known = _at_hand.get(id(state))
    # The plain data itself is kept beside it, so that no other can have its id meanwhile.
    return known[1] if known is not None and known[0] is state else talk_from_json(state)


def _kept(talk: Talk) -> Any:
    plain = talk_to_json(talk)
    with _lock:
        if len(_at_hand) >= KEPT:
            del _at_hand[next(iter(_at_hand))]
        _at_hand[id(plain)] = (plain, talk)
    return plain
