"""What the messages of a thread show together, and which of them are looked at more closely for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ethogram
from ethogram.models import Event

QUIET = "We met at the old house."
# Categories: urgency, flattery (both manipulation), guilt (manipulation), fear-free and of different traits.
URGE, PRAISE, GUILT = "Act now!", "You're brilliant.", "You owe me."
SOURCE = "Studies show it."  # fabrication
SWEAR = "I swear to god."  # deception
INSULT = "You idiot."  # broken_logic
TWO, THREE, FOUR = f"{URGE} {PRAISE}", f"{URGE} {PRAISE} {GUILT}", f"{URGE} {PRAISE} {GUILT} {SWEAR}"
HARD = "The coup was planned."


def tiers(*texts: str) -> list[str]:
    return [message.tier for message in ethogram.scan_thread([("ann", text) for text in texts]).messages]


def kinds(*texts: str) -> list[tuple[str, tuple[int, ...]]]:
    found = ethogram.scan_thread([("ann", text) for text in texts])
    return [(signal.kind, signal.messages) for signal in found.signals]


@pytest.mark.parametrize(
    ("text", "flags"),
    [(QUIET, 0), (URGE, 1), (PRAISE, 1), (GUILT, 1), (SOURCE, 1), (SWEAR, 1), (INSULT, 1), (FOUR, 4)],
)
def test_the_words_used_here_have_the_flags_they_are_meant_to_have(text, flags):
    assert ethogram.scan(text).negative == flags


def test_single_messages_keep_their_own_tier():
    assert tiers(QUIET, URGE, FOUR) == ["standard", "focused", "deep"]
    assert tiers(HARD) == ["deep_with_context"]


def test_the_third_flagged_message_of_a_subject_is_looked_at_thoroughly():
    assert tiers(URGE, QUIET, SOURCE, QUIET, SWEAR) == ["focused", "standard", "focused", "standard", "deep"]
    assert kinds(URGE, QUIET, SOURCE, QUIET, SWEAR) == [("repeat_flags", (0, 2, 4))]


def test_two_flagged_messages_show_nothing():
    assert kinds(URGE, URGE) == []


def test_a_subject_with_four_flags_already_is_looked_at_thoroughly():
    assert tiers(FOUR, URGE) == ["deep", "deep"]
    assert tiers(THREE, URGE) == ["focused", "focused"]


def test_rising_counts_are_escalation_and_only_flagged_messages_are_raised():
    texts = (URGE, TWO, THREE, QUIET, SOURCE)
    assert tiers(*texts) == ["focused", "focused", "deep_with_context", "standard", "deep_with_context"]
    assert ("escalation", (0, 1, 2)) in kinds(*texts)


@pytest.mark.parametrize(
    "texts", [(QUIET, URGE, TWO), (URGE, TWO, TWO), (THREE, TWO, URGE), (URGE, QUIET, TWO, THREE)]
)
def test_counts_that_do_not_rise_three_times_running_are_no_escalation(texts):
    assert "escalation" not in dict(kinds(*texts))


def test_four_messages_on_one_trait_are_concentration():
    assert tiers(SWEAR, QUIET, SWEAR, SWEAR, SWEAR)[-1] == "deep_with_context"
    signals = ethogram.scan_thread([("ann", SWEAR)] * 4).signals
    assert ("concentration", "deception", (0, 1, 2, 3)) in [
        (item.kind, item.of, item.messages) for item in signals
    ]
    assert "concentration" not in dict(kinds(SWEAR, SWEAR, SWEAR, SOURCE))


def test_praise_nothing_praise_demand_is_cycling():
    assert ("cycling", (0, 1, 2, 3)) in kinds(PRAISE, QUIET, PRAISE, URGE)
    assert tiers(PRAISE, QUIET, PRAISE, URGE) == ["focused", "standard", "focused", "deep_with_context"]
    assert "cycling" in dict(kinds(PRAISE, URGE, PRAISE, URGE))


@pytest.mark.parametrize(
    "texts", [(PRAISE, QUIET, PRAISE, QUIET), (PRAISE, PRAISE, URGE), (PRAISE, QUIET, URGE, PRAISE)]
)
def test_a_flag_now_and_then_is_no_cycling(texts):
    assert "cycling" not in dict(kinds(*texts))


def test_subjects_are_counted_each_for_itself():
    talk = [("ann", URGE), ("bo", URGE), ("ann", SOURCE), ("bo", QUIET)]
    found = ethogram.scan_thread(talk)
    assert found.signals == ()
    assert found.tiers == {"standard": 1, "focused": 3, "deep": 0, "deep_with_context": 0}
    ann = found.by_subject["ann"]
    assert (ann.messages, ann.flagged, ann.flags) == (2, 2, 2)
    assert ann.by_trait == {"fabrication": 1, "manipulation": 1}


def test_events_are_as_good_as_pairs_and_without_text_nothing_is_measured():
    events = [Event.sample(id="1", subject="ann", text=URGE), Event.sample(id="2", subject="ann")]
    found = ethogram.scan_thread(events)
    assert [message.scan.measured for message in found.messages] == [True, False]
    assert [message.tier for message in found.messages] == ["focused", "standard"]


def test_positive_flags_show_nothing_together():
    assert kinds(*["It works because it is small."] * 5) == []


def test_nothing_is_nothing():
    assert ethogram.scan_thread([]).messages == ()


LINES = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bo"]),
        st.sampled_from([QUIET, URGE, TWO, THREE, SOURCE, PRAISE, SWEAR, HARD]),
    ),
    max_size=12,
)


@given(LINES)
def test_the_first_part_of_a_thread_gives_the_first_part_of_its_scan(talk):
    whole = ethogram.scan_thread(talk)
    for cut in range(len(talk)):
        assert ethogram.scan_thread(talk[:cut]).messages == whole.messages[:cut]


@given(LINES)
def test_the_thread_never_lowers_a_tier_and_never_raises_what_has_no_flags(talk):
    from ethogram.lexicon import TIERS

    for message in ethogram.scan_thread(talk).messages:
        assert TIERS.index(message.tier) >= TIERS.index(message.scan.tier)
        assert (message.tier == "standard") == (not message.scan.negative)
