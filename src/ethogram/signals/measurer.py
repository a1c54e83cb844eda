"""Measuring: which signals to compute, in which order, and one event after the other.

Only requested signals and their dependencies are computed. A reading that came with the event always wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from .. import registry
from ..errors import BadUsage
from ..models import Event, Value
from .agent.step import NONE, pair
from .base import MAX_TEXTS, STEPS, Signal, State, Unmeasured, checked, lookup, signal_error
from .options import Options

if TYPE_CHECKING:
    from .base import EventFields

Shape = tuple[str, bool, bool, bool]
"""The kind of an event, and whether it has no thread, no text and no attributes."""
StateKey = tuple[str, str, str]
"""Signal (or what several keep between them), source, and the subject, run, thread, text or target that it is
of. Names belong to their source."""
Slots = dict[str, State]
"""The states of one subject, run, thread, text or target, by what keeps them."""
NO_SLOTS: Slots = {}
"""Of signals without a state."""

FORMAT = 2
CALLS = "pending calls"
"""The state that pairs the tool calls of a run with their results; no signal can have this name."""
CALLS_VERSION = 1
MAX_REASONS = 100
MAX_RUNS = 256
"""Runs of one subject whose states are stored; the least recently active is dropped."""
OTHER = "other reasons"
PLAIN = (None, "event", "message")
"""Kinds of events without a reading where they lack the fields that a signal reads."""


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


def _run(subject: str, thread: str | None) -> str:
    # With its length, so that no two pairs of names can be mixed up.
    return f"{len(subject)}:{subject}{'' if thread is None else f':{thread}'}"


def _of_run(run: str) -> tuple[str, str | None]:
    size, _, rest = run.partition(":")
    subject, thread = rest[: int(size)], rest[int(size) :]
    return subject, thread[1:] if thread else None


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

    def __init__(
        self,
        names: Iterable[str] = (),
        options: Options | None = None,
        *,
        signals: tuple[Signal, ...] | None = None,
    ) -> None:
        """With `signals`, each after its dependencies, the registry is not used."""
        self.signals = plan(names) if signals is None else signals
        self.options = options or Options()
        self.unmeasured: Counter[tuple[str, str]] = Counter()
        self.most_threads: int | None = None
        """Threads whose states are held; the least recently active are dropped first. None: all."""
        self._subjects: dict[tuple[str, str], Slots] = {}
        self._runs: dict[tuple[str, str], dict[str | None, Slots]] = {}
        self._threads: dict[tuple[str, str], Slots] = {}
        self._texts: dict[tuple[str, str], Slots] = {}
        self._targets: dict[tuple[str, str], Slots] = {}
        self._by_shape: dict[Shape, _OfShape] = {}

    def measure(self, event: Event) -> Event:
        """The event with readings added.

        A state moves on even where the reading was supplied: the next event may come without one. Where a
        signal fails, no state has moved.
        """
        shape = (event.kind, event.thread is None, event.text is None, not event.attributes)
        about = self._by_shape.get(shape) or self._of_shape(shape)
        if not about.signals or (about.starts is not None and self._is_idle(event, about.starts)):
            return event
        options, original = self.options, event
        supplied = event.readings
        slots = {scope: self._slots(scope, event) for scope in about.scopes}
        moved: list[tuple[str, str, State]] = []
        reasons: list[tuple[str, str]] = []
        shared: dict[str, Mapping[str, Any]] = {}
        calls: Mapping[str, Any] = {}
        if about.summaries:
            calls, state = pair(event, (slots["run"] or {}).get(CALLS, NONE), about.summaries, options)
            moved.append(("run", CALLS, state))
        readings: dict[str, Value] = {}
        scorers: dict[str, str] = {}
        name = ""
        try:
            for signal, name, scope, keeps, start, together, step, summary in about.parts:
                own = NO_SLOTS if scope is None else slots[scope]
                if own is None or (scope is None and name in supplied):
                    continue
                if together is not None:
                    if (values := shared.get(keeps)) is None:
                        before = own.get(keeps, start)
                        values, state = together(event, before, options)
                        shared[keeps] = values
                        if scope is not None and state is not before:
                            moved.append((scope, keeps, state))
                    value = values.get(name)
                elif scope is None:
                    value, _ = step(event, None, options)
                else:
                    before = own.get(keeps, start)
                    if summary:
                        value, state = step(event, before, options, calls.get(summary))
                    else:
                        value, state = step(event, before, options)
                    if state is not before:
                        moved.append((scope, keeps, state))
                if value is None or name in supplied:
                    continue
                if isinstance(value, Unmeasured):
                    reasons.append((name, value.reason))
                    continue
                if event is original:
                    # One copy, which later signals see the readings of earlier ones on.
                    readings, scorers = dict(supplied), dict(event.scorers)
                    event = event.read_as(readings, scorers)
                readings[name], scorers[name] = checked(signal, value, event), signal.scorer
        except Exception as error:
            raise signal_error(name, event, error) from error
        if slots:
            self._keep(original, slots, moved)
        for name, reason in reasons:
            self._count(name, reason)
        return event

    def _slots(self, scope: str, event: Event) -> Slots | None:
        """The states that an event's subject, run, thread, text or target has; None where it has no such."""
        source = event.source
        if scope == "subject":
            return self._subjects.get((source, event.subject), {})
        if scope == "run":
            return self._runs.get((source, event.subject), {}).get(event.thread, {})
        if scope == "thread":
            return None if event.thread is None else self._threads.get((source, event.thread), {})
        if scope == "target":
            return None if event.target is None else self._targets.get((source, event.target), {})
        mark = None if event.text is None else _mark(event.text)
        return None if mark is None else self._texts.get((source, mark), {})

    def _keep(
        self, event: Event, slots: Mapping[str, Slots | None], moved: list[tuple[str, str, State]]
    ) -> None:
        """Store the states that moved; drop what was not seen for longest."""
        for scope, keeps, state in moved:
            own = slots[scope]
            assert own is not None
            own[keeps] = state
        source = event.source
        if own := slots.get("subject"):
            self._subjects[source, event.subject] = own
        if own := slots.get("run"):
            runs = self._runs.setdefault((source, event.subject), {})
            _keep_newest(runs, event.thread, own, MAX_RUNS)
        if event.thread is not None and (own := slots.get("thread")):
            _keep_newest(self._threads, (source, event.thread), own, self.most_threads)
        if event.text is not None and (own := slots.get("text")):
            _keep_newest(self._texts, (source, str(_mark(event.text))), own, MAX_TEXTS)
        if event.target is not None and (own := slots.get("target")):
            _keep_newest(self._targets, (source, event.target), own, MAX_TEXTS)

    def parts(
        self, kinds: Collection[str], fields: Collection[str], readings: Collection[str]
    ) -> list[Measurer]:
        """Measurers that together measure the same of an input: what can be measured at once, then the rest.

        For events of these kinds, all without other `fields` and `readings`.
        """
        names = {item.name for kind in kinds for item in self._measurable(kind, fields, readings)}
        signals = [item for item in self.signals if item.name in names]
        first: dict[str, Signal] = {}
        if not {*kinds}.intersection(STEPS):  # which may be without their texts
            for item in signals:
                if item.at_once is not None and first.keys() >= {*item.needs}:
                    first[item.name] = item
        rest = [item for item in signals if item.name not in first]
        return [Measurer(options=self.options, signals=tuple(own)) for own in (first.values(), rest) if own]

    def at_once(
        self, events: EventFields, fields: Collection[str], supplied: Collection[str]
    ) -> dict[str, tuple[Sequence[Any], str]] | None:
        """The values of all events and their scorer, by signal; None where they must be measured in turn.

        Nothing is remembered of the events, which have these fields and readings of the `supplied` names.
        """
        kinds = events.counts("kind").keys()
        if not kinds.isdisjoint(STEPS):  # which may be without their texts
            return None
        signals = {item.name: item for kind in kinds for item in self._measurable(kind, fields, supplied)}
        if any(
            signal.at_once is None or name in supplied or not signals.keys() >= {*signal.needs}
            for name, signal in signals.items()
        ):
            return None
        values: dict[str, Sequence[Any]] = {}
        for name, signal in signals.items():
            if signal.at_once is not None and name not in values:
                names = {own for own, other in signals.items() if other.at_once is signal.at_once}
                values |= signal.at_once(events, names, values)
        for name, column in values.items():
            if Unmeasured in set(map(type, column)):
                for value in column:
                    if isinstance(value, Unmeasured):
                        self._count(name, value.reason)
                values[name] = [None if isinstance(value, Unmeasured) else value for value in column]
        return {name: (values[name], signal.scorer) for name, signal in signals.items()}

    def rows_about(
        self, fields: Mapping[str, Sequence[Any]], readings: Collection[str], count: int
    ) -> Iterator[int]:
        """The rows at which a signal may have something to say, of columns of events with these readings."""
        kinds = fields.get("kind", [None] * count)
        about = self.needs(set(kinds), fields, readings)
        if not any(about.values()):
            return
        threads = fields.get("thread", [None] * count)
        present = {
            name: list(fields[name])
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

    def needs(
        self, kinds: Collection[str | None], fields: Collection[str], readings: Collection[str]
    ) -> dict[str | None, list[tuple[frozenset[str], bool]]]:
        """By kind of event, of which any field must be there (none: always), and whether the thread must.

        For events that have no other fields and readings than these.
        """
        return {
            kind: list(
                {
                    (frozenset(signal.reads if kind in PLAIN else ()), signal.scope == "thread")
                    for signal in self._measurable(kind, fields, readings)
                }
            )
            for kind in kinds
        }

    def forget(self, source: str, subject: str) -> None:
        """Let go of what is remembered of a subject and its runs."""
        self._subjects.pop((source, subject), None)
        self._runs.pop((source, subject), None)

    def states(self) -> dict[StateKey, State]:
        """Everything remembered; runs, texts and targets come last, the least recently active first."""
        named = [*self._subjects.items(), *self._threads.items()]
        runs = [
            ((source, _run(subject, thread)), own)
            for (source, subject), runs in sorted(self._runs.items())
            for thread, own in runs.items()
        ]
        every = [
            (keeps, source, whose, state)
            for (source, whose), own in (*named, *runs, *self._texts.items(), *self._targets.items())
            for keeps, state in own.items()
        ]
        known = sum(len(own) for _, own in named)
        every[:known] = sorted(every[:known], key=lambda item: item[:3])
        return {(keeps, source, whose): state for keeps, source, whose, state in every}

    def save(self) -> dict[str, Any]:
        """Everything remembered, as plain JSON data."""
        states = [[*key, state] for key, state in self.states().items()]
        return {"format": FORMAT, "versions": self._versions(), "states": states}

    def load(self, saved: Mapping[str, Any]) -> list[str]:
        """Restore saved states; returns the signals whose saved states could not be used.

        States of another version of a signal, or in an earlier format, are not read, since they may mean
        something else.
        """
        if saved.get("format") not in range(1, FORMAT + 1):
            raise BadUsage(f"saved signal states have format {saved.get('format')!r:.40}: expected {FORMAT}")
        current = self._versions()
        versions = saved["versions"] if saved["format"] == FORMAT else {}
        usable = {name for name, version in versions.items() if current.get(name) == version}
        scopes = {signal.keeps: signal.scope for signal in self.signals} | {CALLS: "run"}
        self._subjects, self._runs, self._threads, self._texts, self._targets = {}, {}, {}, {}, {}
        of_scope = {
            "subject": self._subjects,
            "thread": self._threads,
            "text": self._texts,
            "target": self._targets,
        }
        for name, source, whose, state in saved["states"] if usable else ():
            if name not in usable:
                continue
            if (scope := scopes[name]) == "run":
                subject, thread = _of_run(whose)
                own = self._runs.setdefault((source, subject), {}).setdefault(thread, {})
            else:
                own = of_scope[str(scope)].setdefault((source, whose), {})
            own[name] = _frozen(state)
        return sorted(set(current) - usable)

    def _versions(self) -> dict[str, int]:
        versions = {signal.keeps: signal.version for signal in self.signals if signal.scope}
        if any(signal.summarize for signal in self.signals):
            versions[CALLS] = CALLS_VERSION
        return versions

    def _of_kind(self, kind: str) -> list[Signal]:
        """The signals that have something to say about events of a kind."""
        return [signal for signal in self.signals if signal.is_about(kind, self.options)]

    def _measurable(
        self, kind: str | None, fields: Collection[str], readings: Collection[str]
    ) -> list[Signal]:
        """The signals that may have a reading of events of a kind, all without other fields and readings."""
        known = {*readings, *(signal.name for signal in self.signals)}
        return [
            signal
            for signal in self._of_kind(kind or "event")
            if all(not wanted or not known.isdisjoint(wanted) for wanted in (signal.starts, signal.beside))
            if signal.scope != "thread" or "thread" in fields
            if kind not in PLAIN or not signal.reads or not set(signal.reads).isdisjoint(fields)
        ]

    def _of_shape(self, shape: Shape) -> _OfShape:
        """The signals that have something to say about events with or without some fields."""
        kind, no_thread, no_text, no_attributes = shape
        absent = {name for name, no in (("text", no_text), ("attributes", no_attributes)) if no}
        signals = [
            signal
            for signal in self._of_kind(kind)
            if not (no_thread and signal.scope == "thread")
            and not (kind in PLAIN and signal.reads and absent.issuperset(signal.reads))
        ]
        about = _OfShape(signals, kind)
        # Kinds are named by the input, which may name any number of them.
        if len(self._by_shape) < MAX_REASONS:
            self._by_shape[shape] = about
        return about

    def _is_idle(self, event: Event, starts: Mapping[str, frozenset[str]]) -> bool:
        """Whether no signal has started or starts with this event."""
        own = self._subjects.get((event.source, event.subject), NO_SLOTS)
        return all(
            own.get(keeps) is None and readings.isdisjoint(event.readings)
            for keeps, readings in starts.items()
        )

    def _count(self, name: str, reason: str) -> None:
        # Reasons quote the input, so a stranger could make up any number of different ones.
        known = (name, reason) in self.unmeasured or len(self.unmeasured) < MAX_REASONS
        self.unmeasured[(name, reason) if known else (name, OTHER)] += 1


class _OfShape:
    """The signals about events of one shape, whose states they need, and what they store of a call.

    `starts`: where all of them wait for a reading before they start, those readings by the name of the state.
    """

    __slots__ = ("parts", "scopes", "signals", "starts", "summaries")

    def __init__(self, signals: list[Signal], kind: str) -> None:
        self.signals = signals
        # Looked up once, since it is needed of every event.
        self.parts = [
            (item, item.name, item.scope, item.keeps, item.start, item.together, item.step, item.summary)
            for item in signals
        ]
        self.summaries = {
            signal.summary: signal.summarize
            for signal in signals
            if signal.summarize is not None and kind in STEPS
        }
        self.scopes = tuple(dict.fromkeys(signal.scope for signal in signals if signal.scope))
        self.starts: dict[str, frozenset[str]] | None = None
        if all(signal.starts and signal.scope == "subject" for signal in signals):
            self.starts = {signal.keeps: frozenset(signal.starts) for signal in signals}


K = TypeVar("K")


def _keep_newest(held: dict[K, Slots], key: K, own: Slots, most: int | None) -> None:
    """Put the newest last, and drop the first of more than `most`."""
    held.pop(key, None)
    held[key] = own
    while most is not None and len(held) > most:
        del held[next(iter(held))]


def _frozen(value: Any) -> Any:
    # JSON has lists only; signals are promised the tuples they returned.
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return value
