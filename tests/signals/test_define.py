"""The decorator refuses what is no signal, and says what would be right."""

import pytest

from ethogram import registry
from ethogram.errors import BadUsage, EthogramError
from ethogram.models import Event
from ethogram.signals.base import lookup, make, signal
from ethogram.signals.measurer import Measurer
from ethogram.signals.options import Options


def one(event: Event) -> float:
    """Always one.

    More about it.
    """
    return 1.0


def test_a_signal_is_described_by_the_first_line_of_its_docstring():
    assert make(one, "one", (0, 1)).description == "Always one."


@pytest.mark.parametrize(
    ("allowed", "kind"),
    [((0, 1), "number"), (("a", "b"), "category"), (("a",), "category"), (None, "category")],
)
def test_its_kind_follows_from_its_range(allowed: object, kind: str):
    assert make(one, "one", allowed).kind == kind


def test_the_decorated_function_stays_a_function():
    assert lookup("late_night").name == "late_night"
    from ethogram.signals.timing import late_night

    assert late_night(Event.sample(local="2026-11-15 03:10")) == 1.0


@pytest.mark.parametrize(
    ("name", "about", "message"),
    [
        ("Late Night", {}, "invalid signal name"),
        ("one", {"cost": "chaep"}, "did you mean 'cheap'"),
        ("one", {"version": 0}, "expected a whole number from 1"),
        ("one", {"allowed": (1, 0)}, "has range"),
        ("one", {"allowed": ()}, "has range"),
        ("one", {"allowed": (0, 1, 2)}, "has range"),
        ("one", {"allowed": (0, "b")}, "has range"),
    ],
)
def test_what_cannot_be_a_signal_is_refused(name: str, about: dict, message: str):
    with pytest.raises(BadUsage, match=message):
        make(one, name, **{"allowed": (0, 1), **about})


def test_a_signal_without_a_docstring_is_refused():
    with pytest.raises(BadUsage, match="has no docstring"):
        make(lambda event: 1.0, "one", (0, 1))


def test_a_class_must_say_whose_state_it_keeps():
    class Half:
        """Half a signal."""

        scope = "world"
        start = None

    with pytest.raises(BadUsage, match="without max_state_bytes, measure"):
        make(Half, "half", (0, 1))
    Half.max_state_bytes = 10
    Half.measure = one
    with pytest.raises(BadUsage, match="scope 'world': expected subject or thread"):
        make(Half, "half", (0, 1))


def test_two_signals_of_one_name_are_refused_and_both_places_named():
    registry.signals.find()
    with pytest.raises(BadUsage, match=r"two signals are named 'length'.*ethogram\.signals\.text\.length"):
        signal("length", range=(0, 1))(one)


def test_a_plug_in_that_is_no_signal_is_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    registry.signals.find()
    monkeypatch.setitem(registry.signals._items, "plain", one)
    with pytest.raises(BadUsage, match="'plain' is not a signal"):
        lookup("plain")


def test_a_signal_that_fails_is_told_with_its_name_and_the_event():
    def broken(event: Event) -> float:
        """Fails."""
        return 1 / 0

    class NoState:
        """Forgets to return a state."""

        scope, start, max_state_bytes = "subject", None, 10

        def measure(self, event: Event, state: object) -> float:
            return 1.0

    event = Event.sample(id="e7")
    fails = make(broken, "broken", (0, 1))
    with pytest.raises(EthogramError, match="signal 'broken' failed at event 'e7': ZeroDivisionError"):
        Measurer(signals=(fails,)).measure(event)
    with pytest.raises(EthogramError, match="signal 'broken' failed at event 'e7': ZeroDivisionError"):
        fails.value(event, Options())
    with pytest.raises(EthogramError, match="signal 'no_state' failed at event 'e7': TypeError"):
        Measurer(signals=(make(NoState, "no_state", (0, 1)),)).measure(event)
