"""Measuring: which signals to compute, in which order, and one event after the other.

Only requested signals and their dependencies are computed. A reading that came with the event always wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .. import registry
from ..errors import BadUsage
from ..models import Event, Value
from .base import Signal, State, Unmeasured, checked, lookup
from .options import Options

Shape = tuple[str, bool, bool, bool]
"""The kind of an event, and whether it has no thread, no text and no attributes."""
StateKey = tuple[str, str, str]
"""Signal (or what several keep between them), source, and the subject, run, thread or text whose state it
is. Names belong to their source."""

FORMAT = 1
MAX_REASONS = 100
MAX_TEXTS = 200_000
"""Texts remembered by signals about copies; the one not seen for longest is forgotten."""
MAX_RUNS = 256
"""Runs of one subject whose states are stored; the least recently active is dropped."""
OTHER = "other reasons"
PLAIN = (None, "event", "message")
"""Kinds of events without a reading where they lack the fields that a signal reads."""
ALWAYS_STORED = ("subject", "text")
"""Scopes whose states are remembered even where they are as at the start."""


def plan(names: Iterable[str]) -> tuple[Signal, ...]:
    """The signals to compute for these names, each after those it needs.

    Names that no signal here computes are left out: their readings come with the events.
    """
    ordered: dict[str, Signal] = {}
    for name in sorted(set(names)):
        _visit(name, ordered, ())
    # As many as can at once, since those that need others are given a new copy of the event.
    depths: dict[str, int] = {}
    for name, item in ordered.items():
        depths[name] = max((depths[needed] + 1 for needed in item.needs if needed in depths), default=0)
    return tuple(sorted(ordered.values(), key=lambda item: depths[item.name]))


def _visit(name: str, ordered: dict[str, Signal], above: tuple[str, ...]) -> None:
    if name in above:
        raise BadUsage(f"circular dependency between signals: {' > '.join((*above, name))}")
    if name in ordered or name not in registry.signals:
        return
    item = lookup(name)
    for needed in item.needs:
        _visit(needed, ordered, (*above, name))
    ordered[name] = item


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
    shared: dict[str, Mapping[str, Any]] = {}
    kind, source, run = event.kind, event.source, _run(event.subject, event.thread)
    for signal in signals:
        if signal.kinds is not None and kind not in signal.kinds:
            continue
        if signal.together is not None:
            if (values := shared.get(signal.keeps)) is None:
                values = shared[signal.keeps] = _together(signal, event, states, moved, options)
            if (value := values.get(signal.name)) is not None and signal.name not in event.readings:
                _put(signal, value, event, added, reasons)
            continue
        if signal.needs and not added.keys().isdisjoint(signal.needs):
            event, added = _with(event, added), {}
        scope = signal.scope
        supplied = signal.name in event.readings
        key = (signal.keeps, source, run) if scope == "run" else state_key(signal, event) if scope else None
        if (supplied and scope is None) or (scope is not None and key is None):
            continue
        state = signal.start if key is None else states.get(key, signal.start)
        value, state = signal.step(event, state, options)
        # Most events say nothing to a signal of runs or threads: they leave no state behind.
        if key is not None and (state is not signal.start or scope in ALWAYS_STORED or key in states):
            moved[key] = state
        if value is not None and not supplied:
            _put(signal, value, event, added, reasons)
    return _with(event, added), moved, reasons


def _put(
    signal: Signal,
    value: object,
    event: Event,
    added: dict[str, tuple[Value, str]],
    reasons: list[tuple[str, str]],
) -> None:
    if isinstance(value, Unmeasured):
        reasons.append((signal.name, value.reason))
    else:
        added[signal.name] = (checked(signal, value, event), signal.scorer)


def _together(
    signal: Signal,
    event: Event,
    states: Mapping[StateKey, State],
    moved: dict[StateKey, State],
    options: Options,
) -> Mapping[str, Any]:
    """The values of all signals that keep one state, which is moved on once."""
    key = state_key(signal, event)
    if key is None or signal.together is None:
        return {}
    values, state = signal.together(event, states.get(key, signal.start), options)
    if state is not signal.start or signal.scope in ALWAYS_STORED or key in states:
        moved[key] = state
    return values  # type: ignore[no-any-return]


def state_key(signal: Signal, event: Event) -> StateKey | None:
    """Whose state a signal uses at this event; None without state, or where the event has no such thing."""
    if signal.scope == "subject":
        return (signal.keeps, event.source, event.subject)
    if signal.scope == "run":
        return (signal.keeps, event.source, _run(event.subject, event.thread))
    if signal.scope == "thread" and event.thread is not None:
        return (signal.keeps, event.source, event.thread)
    if signal.scope == "text" and event.text is not None and (mark := _mark(event.text)) is not None:
        return (signal.keeps, event.source, mark)
    return None


def _run(subject: str, thread: str | None) -> str:
    # With its length, so that no two pairs of names can be mixed up.
    return f"{len(subject)}:{subject}{'' if thread is None else f':{thread}'}"


def _subject(run: str) -> str:
    size, _, rest = run.partition(":")
    return rest[: int(size)]


@lru_cache(maxsize=64)
def _mark(text: str) -> str | None:
    """Several signals ask it of one event. Imported here: who measures none of them need not wait."""
    from ..lexicon.near_duplicates import fingerprint

    return fingerprint(text)


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
        self._start(plan(names), options)

    @classmethod
    def of(cls, signals: tuple[Signal, ...], options: Options | None = None) -> Measurer:
        """A measurer of these signals, each after its dependencies; the registry is not used."""
        measurer = cls.__new__(cls)
        measurer._start(signals, options)
        return measurer

    def _start(self, signals: tuple[Signal, ...], options: Options | None) -> None:
        self.signals = signals
        self.options = options or Options()
        self.unmeasured: Counter[tuple[str, str]] = Counter()
        self._states: dict[StateKey, State] = {}
        self._of_texts = frozenset(signal.keeps for signal in self.signals if signal.scope == "text")
        self._texts: dict[StateKey, None] = {}
        self.most_threads: int | None = None
        """Threads whose states are held; the least recently active are dropped first. None: all."""
        self._of_threads = frozenset(signal.keeps for signal in self.signals if signal.scope == "thread")
        self._threads: dict[StateKey, None] = {}
        self._of_subjects = frozenset(signal.keeps for signal in self.signals if signal.scope == "subject")
        self._of_runs = frozenset(signal.keeps for signal in self.signals if signal.scope == "run")
        self._runs: dict[StateKey, dict[StateKey, None]] = {}
        self._newest: tuple[tuple[str, str, str | None] | None, set[StateKey]] = (None, set())
        self._by_shape: dict[Shape, tuple[tuple[Signal, ...], dict[str, frozenset[str]] | None]] = {}

    def measure(self, event: Event) -> Event:
        """The event with readings added."""
        shape = (event.kind, event.thread is None, event.text is None, not event.attributes)
        signals, starts = self._by_shape.get(shape) or self._of_shape(shape)
        if not signals or (starts is not None and self._is_idle(event, starts)):
            return event
        event, moved, reasons = measure_event(signals, event, self._states, self.options)
        if self._of_texts:
            self._keep_newest(moved)
        if self._of_threads and self.most_threads is not None:
            self._keep_newest_threads(moved, self.most_threads)
        if self._of_runs:
            self._keep_newest_runs(event, moved)
        self._states.update(moved)
        for name, reason in reasons:
            self._count(name, reason)
        return event

    def rows_about(
        self, fields: Mapping[str, Sequence[Any]], readings: Collection[str], count: int
    ) -> Iterator[int]:
        """The rows at which a signal may have something to say, of columns of events with these readings."""
        kinds = fields.get("kind") or [None] * count
        known = {*readings, *(signal.name for signal in self.signals)}
        about: dict[str | None, list[tuple[frozenset[str], bool]]] = {}
        for kind in set(kinds):
            plain = kind in PLAIN
            about[kind] = list(
                {
                    (frozenset(signal.reads if plain else ()), signal.scope == "thread")
                    for signal in self._of_kind(kind or "event")
                    if not signal.starts or not known.isdisjoint(signal.starts)
                }
            )
        threads = fields.get("thread") or [None] * count
        present = {
            name: fields[name]
            for name in {name for needs in about.values() for reads, _ in needs for name in reads}
            if name in fields
        }
        for row, (kind, thread) in enumerate(zip(kinds, threads, strict=True)):
            for reads, of_thread in about[kind]:
                if of_thread and thread is None:
                    continue
                if not reads or any(name in present and present[name][row] is not None for name in reads):
                    yield row
                    break

    def forget(self, source: str, subject: str) -> None:
        """Let go of what is remembered of a subject and its runs."""
        for name in self._of_subjects:
            self._states.pop((name, source, subject), None)
        for name in self._of_runs:
            for key in self._runs.pop((name, source, subject), ()):
                self._states.pop(key, None)
        if self._newest[0] is not None and self._newest[0][:2] == (source, subject):
            self._newest = (None, set())

    def save(self) -> dict[str, Any]:
        """Everything remembered, as plain JSON data."""
        versions = {signal.keeps: signal.version for signal in self.signals if signal.scope}
        # Runs and texts come last, the least recently active first.
        runs = [key for whose in sorted(self._runs) for key in self._runs[whose]]
        named = sorted(self._states.keys() - self._texts.keys() - set(runs))
        states = [[*key, self._states[key]] for key in (*named, *runs, *self._texts)]
        return {"format": FORMAT, "versions": versions, "states": states}

    def load(self, saved: Mapping[str, Any]) -> list[str]:
        """Restore saved states; returns the signals whose saved states could not be used.

        States of another version of a signal are not read, since they may mean something else.
        """
        if saved.get("format") != FORMAT:
            raise BadUsage(f"saved signal states have format {saved.get('format')!r:.40}: expected {FORMAT}")
        current = {signal.keeps: signal.version for signal in self.signals if signal.scope}
        usable = {name for name, version in saved["versions"].items() if current.get(name) == version}
        self._states = {
            (name, source, whose): _frozen(state)
            for name, source, whose, state in saved["states"]
            if name in usable
        }
        self._texts = {key: None for key in self._states if key[0] in self._of_texts}
        self._threads = {key: None for key in self._states if key[0] in self._of_threads}
        self._runs, self._newest = {}, (None, set())
        for key in self._states:
            if key[0] in self._of_runs:
                self._runs.setdefault((key[0], key[1], _subject(key[2])), {})[key] = None
        return sorted(set(current) - usable)

    def _keep_newest(self, moved: Mapping[StateKey, State]) -> None:
        """Drop the texts not seen for longest, so that memory is bounded."""
        for key in moved:
            if key[0] in self._of_texts:
                self._texts.pop(key, None)
                self._texts[key] = None
        while len(self._texts) > MAX_TEXTS:
            oldest = next(iter(self._texts))
            del self._texts[oldest]
            self._states.pop(oldest, None)

    def _keep_newest_threads(self, moved: Mapping[StateKey, State], most: int) -> None:
        for key in moved:
            if key[0] in self._of_threads:
                self._threads.pop(key, None)
                self._threads[key] = None
        while len(self._threads) > most * len(self._of_threads):
            oldest = next(iter(self._threads))
            del self._threads[oldest]
            self._states.pop(oldest, None)

    def _keep_newest_runs(self, event: Event, moved: Mapping[StateKey, State]) -> None:
        """Drop the least recently active runs of this subject.

        The bound is per subject, so results do not depend on other subjects.
        """
        run = (event.source, event.subject, event.thread)
        if run != self._newest[0]:
            self._newest = (run, set())
        # Most events are of the run that the event before was of: there is nothing to move to the end.
        for key in moved:
            if key not in self._newest[1] and key[0] in self._of_runs:
                self._newest[1].add(key)
                runs = self._runs.setdefault((key[0], key[1], event.subject), {})
                runs.pop(key, None)
                runs[key] = None
                if len(runs) > MAX_RUNS:
                    oldest = next(iter(runs))
                    del runs[oldest]
                    self._states.pop(oldest, None)

    def _of_kind(self, kind: str) -> tuple[Signal, ...]:
        """The signals that have anything to say about events of a kind."""
        return tuple(signal for signal in self.signals if signal.is_about(kind, self.options))

    def _of_shape(self, shape: Shape) -> tuple[tuple[Signal, ...], dict[str, frozenset[str]] | None]:
        """The signals that have anything to say about events with or without some fields; where all wait for
        a reading before they start, those readings by the name of the state."""
        kind, no_thread, no_text, no_attributes = shape
        absent = {name for name, no in (("text", no_text), ("attributes", no_attributes)) if no}
        signals = tuple(
            signal
            for signal in self._of_kind(kind)
            if not (no_thread and signal.scope == "thread")
            and not (kind in PLAIN and signal.reads and absent.issuperset(signal.reads))
        )
        starts = None
        if all(signal.starts and signal.scope == "subject" for signal in signals):
            starts = {signal.keeps: frozenset(signal.starts) for signal in signals}
        # Kinds are named by the input, which may name any number of them.
        if len(self._by_shape) < MAX_REASONS:
            self._by_shape[shape] = signals, starts
        return signals, starts

    def _is_idle(self, event: Event, starts: Mapping[str, frozenset[str]]) -> bool:
        """Whether no signal has started or starts with this event."""
        for name, readings in starts.items():
            if self._states.get((name, event.source, event.subject)) is not None:
                return False
            if not readings.isdisjoint(event.readings):
                return False
        return True

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
    return event.read_as({**readings, **event.readings}, {**scorers, **event.scorers})


def _frozen(value: Any) -> Any:
    # JSON has lists only; signals are promised the tuples they returned.
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return value
