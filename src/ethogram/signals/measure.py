"""Measuring: which signals to compute, in which order, and one event after the other.

Only what is asked for is computed, and what it needs. A reading that came with the event always wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .. import registry
from ..errors import BadUsage
from ..records import Event, Value
from .define import Signal, State, Unmeasured, checked, lookup
from .options import Options

StateKey = tuple[str, str, str]
"""Signal, source, and the subject or thread whose state it is. Names belong to their source."""

FORMAT = 1
MAX_REASONS = 100
OTHER = "other reasons"


def plan(names: Iterable[str]) -> tuple[Signal, ...]:
    """The signals to compute for these names, each after those it needs.

    Names that no signal here computes are left out: their readings come with the events.
    """
    ordered: dict[str, Signal] = {}
    for name in sorted(set(names)):
        _visit(name, ordered, ())
    return tuple(ordered.values())


def _visit(name: str, ordered: dict[str, Signal], above: tuple[str, ...]) -> None:
    if name in above:
        raise BadUsage(f"signals need each other in a circle: {' > '.join((*above, name))}")
    if name in ordered or name not in registry.signals:
        return
    one = lookup(name)
    for needed in one.needs:
        _visit(needed, ordered, (*above, name))
    ordered[name] = one


def measure_event(
    signals: tuple[Signal, ...],
    event: Event,
    states: Mapping[StateKey, State],
    options: Options,
) -> tuple[Event, dict[StateKey, State], list[tuple[str, str]]]:
    """The event with readings added, the states that this event moved on, and why what was not measured.

    A state moves on even where the reading was supplied: the next event may come without one.
    """
    added: dict[str, tuple[Value, str]] = {}
    moved: dict[StateKey, State] = {}
    reasons: list[tuple[str, str]] = []
    for one in signals:
        if not added.keys().isdisjoint(one.needs):
            event, added = _with(event, added), {}
        supplied = one.name in event.readings
        key = state_key(one, event)
        if (supplied and one.scope is None) or (one.scope is not None and key is None):
            continue
        state = one.start if key is None else states.get(key, one.start)
        value, state = one.step(event, state, options)
        if key is not None:
            moved[key] = state
        if value is None or supplied:
            continue
        if isinstance(value, Unmeasured):
            reasons.append((one.name, value.reason))
        else:
            added[one.name] = (checked(one, value, event), one.scorer)
    return _with(event, added), moved, reasons


def state_key(one: Signal, event: Event) -> StateKey | None:
    """Whose state a signal uses at this event; None without state, or where the event has no thread."""
    if one.scope == "subject":
        return (one.name, event.source, event.subject)
    if one.scope == "thread" and event.thread is not None:
        return (one.name, event.source, event.thread)
    return None


def measure_all(
    events: Iterable[Event], names: Iterable[str], options: Options | None = None
) -> Iterator[Event]:
    """The events, which must be in order, with the readings of these signals added."""
    return map(Measurer(names, options).measure, events)


class Measurer:
    """Measures events as they come. What it remembers can be saved and loaded.

    `unmeasured` counts, by (signal, reason), what a signal could not measure and gave a reason for.
    """

    def __init__(self, names: Iterable[str], options: Options | None = None) -> None:
        self.signals = plan(names)
        self.options = options or Options()
        self.unmeasured: Counter[tuple[str, str]] = Counter()
        self._states: dict[StateKey, State] = {}

    def measure(self, event: Event) -> Event:
        """The event with readings added."""
        event, moved, reasons = measure_event(self.signals, event, self._states, self.options)
        self._states.update(moved)
        for name, reason in reasons:
            self._count(name, reason)
        return event

    def save(self) -> dict[str, Any]:
        """Everything remembered, as plain JSON data."""
        versions = {one.name: one.version for one in self.signals if one.scope}
        states = [[*key, state] for key, state in sorted(self._states.items())]
        return {"format": FORMAT, "versions": versions, "states": states}

    def load(self, saved: Mapping[str, Any]) -> list[str]:
        """Remember what was saved; returns the signals whose saved states were of no use.

        States of another version of a signal are not read, since they may mean something else.
        """
        if saved.get("format") != FORMAT:
            raise BadUsage(f"saved signal states have format {saved.get('format')!r:.40}, not {FORMAT}")
        current = {one.name: one.version for one in self.signals if one.scope}
        usable = {name for name, version in saved["versions"].items() if current.get(name) == version}
        self._states = {
            (name, source, whose): _frozen(state)
            for name, source, whose, state in saved["states"]
            if name in usable
        }
        return sorted(set(current) - usable)

    def _count(self, name: str, reason: str) -> None:
        # Reasons quote the input, so a stranger could make up any number of different ones.
        known = (name, reason) in self.unmeasured or len(self.unmeasured) < MAX_REASONS
        self.unmeasured[(name, reason) if known else (name, OTHER)] += 1


def _with(event: Event, added: Mapping[str, tuple[Value, str]]) -> Event:
    # One copy of the event for all of them; Event.with_readings would make one for each scorer.
    if not added:
        return event
    readings = {name: value for name, (value, _) in added.items()}
    scorers = {name: scorer for name, (_, scorer) in added.items()}
    return replace(event, readings={**readings, **event.readings}, scorers={**scorers, **event.scorers})


def _frozen(value: Any) -> Any:
    # JSON has lists only; signals are promised the tuples they returned.
    if isinstance(value, list):
        return tuple(_frozen(one) for one in value)
    if isinstance(value, dict):
        return {name: _frozen(one) for name, one in value.items()}
    return value
