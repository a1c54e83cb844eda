"""Measuring: what is asked for is computed, what is given stays, and state survives a restart."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ethogram import registry
from ethogram.errors import BadUsage, EthogramError
from ethogram.models import INPUT_SCORER, Event
from ethogram.signals import Measurer, Unmeasured, measure_all, plan, signal
from ethogram.signals.measurer import MAX_REASONS, OTHER

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def own_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals made in a test are gone after it."""
    registry.signals.find()
    monkeypatch.setattr(registry.signals, "_items", dict(registry.signals._items))


def event(n: int, **fields: object) -> Event:
    return Event.sample(id=str(n), seq=n, at=START + timedelta(minutes=n), **fields)


def test_only_what_is_asked_for_is_measured():
    [found] = measure_all([event(0, text="Hi?")], ["length"])
    assert dict(found.readings) == {"length": 3.0}


def test_the_scorer_is_the_signal_and_its_version():
    [found] = measure_all([event(0, text="Hi?")], ["length"])
    assert found.scorers["length"] == "length@1"


def test_a_supplied_reading_is_never_replaced():
    [found] = measure_all([event(0, text="Hi?", readings={"length": 99.0})], ["length"])
    assert found.readings["length"] == 99.0
    assert found.scorers.get("length", INPUT_SCORER) == INPUT_SCORER


def test_the_events_given_are_not_changed():
    value = event(0, text="Hi?")
    list(measure_all([value], ["length"]))
    assert dict(value.readings) == {}


def test_what_is_absent_adds_nothing_and_the_event_is_the_same():
    value = event(0)
    assert next(measure_all([value], ["length", "question"])) is value


def test_names_that_others_supply_are_left_to_them():
    assert plan(["compassion", "no_such_signal"]) == ()


def test_what_a_signal_needs_is_measured_first():
    assert [item.name for item in plan(["session_start"])] == ["session_position", "session_start"]


def test_a_need_may_be_supplied_instead():
    [found] = measure_all([event(0, readings={"session_position": 7.0})], ["session_start"])
    assert found.readings["session_start"] == 0.0
    assert "session_position" not in found.scorers


def test_needs_in_a_circle_are_refused():
    @signal("chicken", range=(0, 1), needs=("egg",))
    def chicken(event: Event) -> float:
        """One."""
        return 1.0

    @signal("egg", range=(0, 1), needs=("chicken",))
    def egg(event: Event) -> float:
        """One."""
        return 1.0

    with pytest.raises(BadUsage, match="chicken > egg > chicken"):
        plan(["chicken"])


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf"), "high", [1]])
def test_a_value_outside_the_range_is_an_error_that_names_the_signal(value: object):
    @signal("wild", range=(0, 1))
    def wild(event: Event) -> object:
        """Anything."""
        return value

    with pytest.raises(EthogramError, match=r"signal 'wild' measured .* at event '0'; its range is 0 to 1"):
        list(measure_all([event(0)], ["wild"]))


def test_a_category_outside_the_categories_is_an_error():
    @signal("stage", range=("what", "how"))
    def stage(event: Event) -> str | None:
        """The form of the question."""
        return event.text

    assert next(measure_all([event(0, text="how")], ["stage"])).readings["stage"] == "how"
    with pytest.raises(EthogramError, match=r"signal 'stage' measured 'why'.*its range is what, how"):
        list(measure_all([event(0, text="why")], ["stage"]))


def test_any_category_is_fine_where_the_range_is_open():
    @signal("word", range=None)
    def word(event: Event) -> str | None:
        """The text itself."""
        return event.text

    assert next(measure_all([event(0, text="why")], ["word"])).readings["word"] == "why"


def counting(name: str, version: int = 1) -> None:
    @signal(name, range=(0, 1000), version=version)
    class Count:
        """How many events of the subject so far."""

        scope = "subject"
        start = (0,)
        max_state_bytes = 20

        def measure(self, event: Event, state: tuple[int]) -> tuple[float, tuple[int]]:
            assert isinstance(state, tuple)
            return state[0] + 1, (state[0] + 1,)


def test_state_moves_on_where_the_reading_was_supplied():
    counting("so_far")
    events = [event(0), event(1, readings={"so_far": 77.0}), event(2)]
    assert [e.readings["so_far"] for e in measure_all(events, ["so_far"])] == [1, 77, 3]


def test_states_belong_to_a_subject_of_a_source():
    counting("so_far")
    events = [event(0), event(1, subject="ann"), event(2, source="forum"), event(3)]
    assert [e.readings["so_far"] for e in measure_all(events, ["so_far"])] == [1, 1, 1, 2]


def test_a_measurer_goes_on_after_a_restart_as_if_nothing_had_happened():
    names = ["reply_gap", "session_position", "session_start"]
    events = [event(n * 7 % 50 + n * 10, subject="ab"[n % 2], thread="t") for n in range(20)]
    whole = list(measure_all(events, names))
    first = Measurer(names)
    before = [first.measure(event) for event in events[:9]]
    second = Measurer(names)
    assert second.load(json.loads(json.dumps(first.save()))) == []
    assert before + [second.measure(event) for event in events[9:]] == whole


def test_states_of_another_version_are_not_read_and_it_says_so():
    counting("so_far")
    old = Measurer(["so_far"])
    old.measure(event(0))
    registry.signals._items.pop("so_far")
    counting("so_far", version=2)
    new = Measurer(["so_far"])
    assert new.load(old.save()) == ["so_far"]
    assert new.measure(event(1)).readings["so_far"] == 1


def test_states_in_an_earlier_format_are_not_read_and_it_says_so():
    counting("so_far")
    first = Measurer(["so_far"])
    first.measure(event(0))
    second = Measurer(["so_far"])
    assert second.load({**first.save(), "format": 1}) == ["so_far"]
    assert second.measure(event(1)).readings["so_far"] == 1


def test_where_a_signal_fails_no_state_has_moved():
    counting("so_far")

    @signal("strict", range=(0, 1))
    def strict(event: Event) -> float:
        """Fails without a text."""
        return float(len(event.text or "") / bool(event.text))

    measurer = Measurer(["so_far", "strict"])
    with pytest.raises(EthogramError, match="strict"):
        measurer.measure(event(0))
    assert measurer.measure(event(1, text="a")).readings["so_far"] == 1


def test_saved_states_of_an_unknown_format_are_refused():
    with pytest.raises(BadUsage, match="format 99: expected 2"):
        Measurer([]).load({"format": 99})


def test_what_could_not_be_measured_is_counted_with_its_reason():
    measurer = Measurer(["late_night"])
    for n in range(3):
        measurer.measure(event(n, attributes={"time_zone": "Mars/Olympus"}))
    assert measurer.unmeasured == {("late_night", "unknown time zone 'Mars/Olympus'"): 3}


def test_the_reasons_kept_are_bounded():
    @signal("moody", range=(0, 1))
    def moody(event: Event) -> Unmeasured:
        """Never in the mood."""
        return Unmeasured(f"not at {event.seq}")

    measurer = Measurer(["moody"])
    for n in range(1000):
        measurer.measure(event(n))
    assert len(measurer.unmeasured) == MAX_REASONS + 1
    assert measurer.unmeasured[("moody", OTHER)] == 1000 - MAX_REASONS
