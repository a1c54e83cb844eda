"""What is told of where a conversation stands: what moved it, what is carried over, what is held."""

from __future__ import annotations

import pytest

from ethogram.app.chat.conversation import ConversationState
from ethogram.app.chat.files import ChatTurn
from ethogram.app.chat.scores import Scored, changes, left_at, reason_of, standing
from ethogram.app.chat.summary import is_own, strongest
from ethogram.chat.records import Change, Mode, Signal
from ethogram.chat.risk_model import FLOORS, HYSTERESIS

WORDS = Signal("keywords", 0.5, "words that raise the question: bomb", 0.4)
CLIMB = Signal("trajectory", 0.3, "risk climbs from turn to turn", 0.1)
CALM = Signal("request", 0.0, "asks for nothing that could do harm")


def state(risk: float, mode: Mode, *signals: Signal, lowered: tuple[Change, ...] = ()) -> ConversationState:
    return ConversationState("c", "kim", 9, "user", risk, 0.0, mode, signals, (), (), lowered, {}, 0.0)


def scored(now: ConversationState, before: float = 0.0, source: tuple[int, str] = (0, "")) -> Scored:
    return Scored(ChatTurn("c", "kim", "user", "hello"), 9, now, before, (), source)


def test_a_risk_is_a_turns_own_where_its_signals_come_to_it_or_it_rose() -> None:
    # The stronger whole and half of the other: 1 - 0.6 x 0.95 = 0.43.
    assert is_own(state(0.43, Mode.ELEVATED, WORDS, CLIMB), before=0.43)
    assert not is_own(state(0.60, Mode.SUSPECT, WORDS, CLIMB), before=0.65)
    assert is_own(state(0.60, Mode.SUSPECT, WORDS, CLIMB), before=0.50)


def test_what_stands_by_meaning_is_not_added_to_the_rest() -> None:
    meant = Signal("standing", 0.4, "near to harm", 0.4)
    assert not is_own(state(0.52, Mode.SUSPECT, WORDS, meant), before=0.52)
    assert is_own(state(0.40, Mode.ELEVATED, WORDS, meant), before=0.40)


def test_the_strongest_signal_is_told_with_its_reason() -> None:
    told = "keywords: words that raise the question: bomb"
    assert strongest(state(0.43, Mode.ELEVATED, CLIMB, WORDS)) == told
    assert strongest(state(0.0, Mode.SAFE, CALM)) == ""


def test_what_adds_less_is_told_as_less_and_what_is_gone_as_it_is() -> None:
    now = state(0.3, Mode.ELEVATED, CLIMB, CALM)
    less, gone = Change("trajectory", -0.11, CLIMB.reason), Change("request", -0.2, CALM.reason)
    assert reason_of(less, now) == "less than before: risk climbs from turn to turn"
    assert reason_of(gone, now) == CALM.reason
    assert reason_of(Change("trajectory", 0.11, CLIMB.reason), now) == CLIMB.reason


def test_changes_are_told_only_where_the_risk_moved() -> None:
    lowered = (Change("request", -0.2, "less"), Change("keywords", -0.01, "hardly"))
    assert changes(scored(state(0.3, Mode.ELEVATED, lowered=lowered), before=0.3), 3) == []
    assert changes(scored(state(0.3, Mode.ELEVATED, lowered=lowered), before=0.4), 3) == [lowered[0]]


def test_what_an_earlier_turn_left_is_told_with_the_turn() -> None:
    now = scored(state(0.55, Mode.SUSPECT, CALM), before=0.6, source=(5, "keywords: bomb"))
    assert list(standing(now, moved=True)) == ["carried over from turn 5: keywords: bomb"]


def test_what_goes_on_as_it_was_is_told_where_nothing_else_is() -> None:
    now = scored(state(0.43, Mode.ELEVATED, WORDS), before=0.43, source=(9, "keywords: bomb"))
    assert list(standing(now, moved=False)) == ["as before: keywords: bomb"]
    assert list(standing(now, moved=True)) == []


def test_a_calm_conversation_needs_no_reason() -> None:
    assert list(standing(scored(state(0.1, Mode.SAFE), source=(5, "keywords: bomb")), moved=False)) == []


def test_a_mode_under_its_floor_says_until_when_it_is_held() -> None:
    now = scored(state(0.67, Mode.CRITICAL, WORDS), before=0.67, source=(9, "keywords: bomb"))
    told = "CRITICAL, which begins at 0.70, is held until below 0.65"
    assert told in list(standing(now, moved=False))
    at_floor = scored(state(0.70, Mode.CRITICAL, WORDS), before=0.70, source=(9, "keywords: bomb"))
    assert not any("held" in line for line in standing(at_floor, moved=False))


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode])
def test_a_mode_is_left_where_the_modes_say(mode: Mode) -> None:
    assert left_at(mode) == pytest.approx(FLOORS[mode] - HYSTERESIS)
