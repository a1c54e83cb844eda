"""reply_gap: seconds since another subject's newest event in the thread."""

from datetime import UTC, datetime, timedelta

from ethogram.models import Event
from ethogram.signals import measure_all

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def gaps(*said: tuple[int, str], **fields: object) -> list[object]:
    fields.setdefault("thread", "t")
    events = [
        Event.sample(id=str(n), seq=n, at=NOON + timedelta(seconds=second), subject=who, **fields)
        for n, (second, who) in enumerate(said)
    ]
    return [event.readings.get("reply_gap") for event in measure_all(events, ["reply_gap"])]


def test_an_answer_is_measured_from_the_other_s_newest_event():
    assert gaps((0, "ann"), (5, "ann"), (65, "bo")) == [None, None, 60]


def test_own_events_in_between_do_not_count():
    assert gaps((0, "ann"), (10, "bo"), (20, "bo"), (30, "bo")) == [None, 10, 20, 30]


def test_among_three_the_newest_of_the_others_counts():
    assert gaps((0, "ann"), (10, "bo"), (30, "cy"), (70, "bo"), (75, "ann")) == [None, 10, 20, 40, 5]


def test_a_monologue_answers_nobody():
    assert gaps((0, "ann"), (10, "ann")) == [None, None]


def test_an_answer_at_the_same_moment_took_no_time():
    assert gaps((0, "ann"), (0, "bo")) == [None, 0]


def test_outside_a_thread_and_without_times_it_is_absent():
    assert gaps((0, "ann"), (10, "bo"), thread=None) == [None, None]
    assert gaps((0, "ann"), (10, "bo"), timed=False) == [None, None]


def test_threads_do_not_hear_each_other():
    events = [
        Event.sample(id="1", at=NOON, subject="ann", thread="t"),
        Event.sample(id="2", at=NOON + timedelta(seconds=5), subject="bo", thread="u"),
        Event.sample(id="3", at=NOON + timedelta(seconds=6), subject="bo", thread="t", source="elsewhere"),
    ]
    assert all("reply_gap" not in event.readings for event in measure_all(events, ["reply_gap"]))


def test_subjects_with_very_long_names_are_still_told_apart():
    long = "x" * 5000
    assert gaps((0, long + "1"), (10, long + "2"), (20, long + "2")) == [None, 10, 20]
