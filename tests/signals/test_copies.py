"""copied_by and copy."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.ingest.column_reader import ColumnReader
from ethogram.ingest.event_columns import EventColumns
from ethogram.ingest.event_parser import Rules
from ethogram.lexicon.near_duplicates import fingerprint
from ethogram.models import Event
from ethogram.models.limits import Limits
from ethogram.signals import Measurer, measure_all
from ethogram.signals import measurer as measure
from ethogram.signals import text as text_signals

SPAM = "Join our great group today and get your free coins now"


def said(*pairs: tuple[str, str]) -> list[Event]:
    numbers = count()
    return [Event.sample(id=str(next(numbers)), subject=who, text=text) for who, text in pairs]


def readings(events: list[Event], name: str) -> list[object]:
    return [item.readings.get(name) for item in measure_all(events, [name])]


def test_different_subjects_are_counted_once_each():
    events = said(("ann", SPAM), ("bob", SPAM), ("ann", SPAM), ("cy", SPAM.upper() + "!!"))
    assert readings(events, "copied_by") == [1, 2, 2, 3]
    assert readings(events, "copy") == [0, 0, 1, 0]


def test_what_a_program_is_told_is_no_copy():
    told = [
        {"role": "system"},
        {"role": "developer"},
        {"role": "user", "task_prompt": True},
        {"role": "user"},
    ]
    events = [
        Event.sample(id=f"{n}", subject=f"run {n}", text=SPAM, attributes=attributes)
        for n, attributes in enumerate([*told, *told])
    ]
    assert readings(events, "copied_by") == [None, None, None, 1, None, None, None, 2]


@pytest.mark.parametrize(
    "other",
    [
        SPAM + " https://x.example/1",
        "@kim " + SPAM,
        SPAM.replace(" ", "\n"),
        SPAM + " 12345",
        SPAM + " 0xdeadbeef1234",
        SPAM.replace("Join", "ＪＯＩＮ"),
    ],
)
def test_what_a_template_fills_in_makes_no_other_text(other: str):
    assert fingerprint(other) == fingerprint(SPAM) is not None


@pytest.mark.parametrize("other", [SPAM.replace("free", "blue"), SPAM + " really", SPAM[5:]])
def test_another_word_makes_another_text(other: str):
    assert fingerprint(other) != fingerprint(SPAM)


@pytest.mark.parametrize("text", ["", "thanks", "I agree with you", "12345 678 9 10 11 12 13", "!!!"])
def test_short_texts_are_not_told_apart(text: str):
    assert fingerprint(text) is None
    assert readings(said(("ann", text), ("bob", text)), "copied_by") == [None, None]


def test_a_copy_is_flagged_once_for_its_subject():
    text = "You must act now before it is too late my friends"
    first, again, other = measure_all(said(("ann", text), ("ann", text), ("bob", text)), ["flags_negative"])
    assert first.readings["flags_negative"] == other.readings["flags_negative"] > 0
    assert "flags_negative" not in again.readings


def test_the_text_not_seen_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measure, "MAX_TEXTS", 2)
    texts = [f"{SPAM} {word}" for word in ("red", "green", "blue")]
    measurer = Measurer(["copied_by"])
    order = (0, 1, 0, 2, 0, 1)
    counts = [
        measurer.measure(item).readings["copied_by"]
        for item in said(*((str(k), texts[t]) for k, t in enumerate(order)))
    ]
    # Green is forgotten when blue comes, since red was said after it.
    assert counts == [1, 1, 2, 1, 3, 1]


def test_what_is_remembered_survives_saving():
    events = said(("ann", SPAM), ("bob", SPAM), ("cy", SPAM))
    measurer = Measurer(["copied_by"])
    measurer.measure(events[0])
    other = Measurer(["copied_by"])
    other.load(measurer.save())
    assert [other.measure(event).readings["copied_by"] for event in events[1:]] == [2, 3]


TEXTS = st.sampled_from(
    [
        SPAM, SPAM.upper() + "!!", f"@kim {SPAM}", f"{SPAM} 12345", f"{SPAM} {'and so on ' * 20}",
        f"{SPAM} {'and so on ' * 20} at last", "thanks", None,
        "You must act now before it is too late my friends",
        "¿Por qué no lo dices con tu nombre, para que lo sepan todos los de aquí?", "1 2 3 4 5 6 7",
        "x" * 120, "x" * 120 + " 7", "私たちは" * 40, "私たちは" * 40 + " ok",
    ]
)  # fmt: skip


ROWS = st.tuples(
    st.sampled_from("abc"),
    TEXTS,
    st.sampled_from(["message", "post"]),
    st.sampled_from([{}, {"path": "a/b.py"}, {"role": "system"}]),
)
BESIDE_A_SCORE = ["request_size", "request_made", "accused", "other_complied"]


@given(st.lists(ROWS, min_size=1, max_size=12), st.sampled_from([2, 99]), st.sampled_from([None, 0.5]))
def test_columns_have_the_readings_that_events_get_in_turn(
    said: list[tuple[str, str | None, str, dict[str, str]]], most: int, score: float | None
) -> None:
    names = ["copied_by", "length", "flags_manipulation", "flags_exploitation", "touched_path", "operation"]
    names += BESIDE_A_SCORE
    reader = ColumnReader("input", Rules(Limits(), {}))
    fields = zip(("subject", "text", "kind", "attributes"), zip(*said, strict=True), strict=True)
    readings = {} if score is None else {"manipulation": [score] * len(said)}
    reader.add_chunk(len(said), None, {**dict(fields), "thread": ["t"] * len(said)}, readings)
    events, one_by_one, at_once = reader.columns(), Measurer(names), Measurer(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "MAX_TEXTS", most)
        patch.setattr(text_signals, "MAX_TEXTS", most)
        expected = list(map(one_by_one.measure, events))
        measured = events.mapped(at_once.measure, at_once.rows_about, at_once.at_once)
    # Signals that only scored messages have do not keep others from the columns.
    assert isinstance(measured, EventColumns) or score is not None
    assert list(measured) == expected
    assert at_once.unmeasured == one_by_one.unmeasured
