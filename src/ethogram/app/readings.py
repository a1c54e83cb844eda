"""Readings of our own signals on events, as far as programs need them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b

from .. import registry
from ..config import Settings
from ..ingest.batch import Drop, EventSequence, sequence_of
from ..ingest.reader import without_collection
from ..language.ast import Attribute, Expr, Indicator, Signal
from ..language.program import Program
from ..language.requirements import required_signals
from ..language.visitor import named, once_each
from ..models import INPUT_SCORER, Event, Reading, Value, is_evaluated, stable_hash
from ..signals import Measurer, Options, plan
from ..signals import Signal as Measure
from ..signals.base import Unmeasured
from ..store.rows import MARK, NOT_KEPT, STEPS, bare_attributes

Who = tuple[str, str]
"""Source and subject."""
Copies = Mapping[tuple[str, str], tuple[Mapping[str, Value], Mapping[str, str]]]
"""Readings and their scorers, by source and id of the event."""
Marks = Mapping[Who, str]
"""A mark of the readings of each subject that depend on others."""
OF_ALL = ("text", "target")
"""Scopes of signals that need the events of everybody."""


def measured_events(
    events: Iterable[Event], programs: Iterable[Program], settings: Settings, known: Collection[str] = ()
) -> tuple[EventSequence, Mapping[tuple[str, str], int]]:
    """Events with the readings of every signal of ours that a program names, and why some are lacking.

    Signals that are `known` were measured before.
    """
    measurer, events = measurer_of(programs, settings, known), sequence_of(events)
    unmeasured: Counter[tuple[str, str]] = Counter()
    if not measurer.signals:
        return events, unmeasured
    parts = [measurer]
    if (columns := events.column_names()) is not None:
        parts = measurer.parts(events.counts("kind"), columns, events.reading_names())
    for part in parts:
        with without_collection():
            events = events.mapped(
                lambda event, part=part: part.measure(without_steps(event)),  # type: ignore[misc]
                part.rows_about,
                part.at_once,
            )
        unmeasured += part.unmeasured
    return events, unmeasured


def scored_events(
    events: Iterable[Event], programs: Sequence[Program], settings: Settings, known: Collection[str] = ()
) -> tuple[EventSequence, Counter[tuple[str, str]], Mapping[tuple[str, str], int]]:
    """Events as programs see them: with measured readings, and only those of the scorers that count.

    With them how many readings of each (signal, scorer) were left out, and why some could not be measured.
    """
    supplied, unused = only_scorers(events, settings.scorers)
    measured, unmeasured = measured_events(supplied, programs, settings, known)
    scored, more = only_scorers(measured, settings.scorers)
    return scored, unused + more, unmeasured


def counted_events(
    events: Iterable[Event], programs: Sequence[Program], settings: Settings
) -> tuple[EventSequence, Counter[tuple[str, str]], Mapping[tuple[str, str], int]]:
    """The same as `scored_events`, with the readings of a scorer that is the only one of its signals."""
    events = sequence_of(events)
    scored, unused, unmeasured = scored_events(events, programs, settings)
    if lone := lone_scorer(unused, scored.reading_names(), settings.scorers):
        settings = replace(settings, scorers={**settings.scorers, **lone})
        scored, unused, unmeasured = scored_events(events, programs, settings)
    return scored, unused, unmeasured


def judged(programs: Iterable[Program], names: Collection[str]) -> list[Program]:
    """The programs that can match where only these readings, and those of our signals, are there."""
    return [program for program in programs if not missing(program, names)]


def missing(program: Program, names: Collection[str]) -> tuple[str, ...]:
    """Signals that a program cannot do without, that none of the readings is of and that we do not measure.

    Our own are absent where there was nothing to measure, such as an error: that is an answer.
    """
    return tuple(
        sorted(name for name in required_signals(program).difference(names) if name not in registry.signals)
    )


def measurer_of(programs: Iterable[Program], settings: Settings, known: Collection[str] = ()) -> Measurer:
    """What measures every signal of ours that a program names and that is not known."""
    signals = tuple(item for item in plan(needed(programs)) if item.name not in known)
    return Measurer(options=Options.of(settings), signals=signals)


def needed(programs: Iterable[Program]) -> set[str]:
    """Names of everything the programs read."""
    return {name for program in programs for name in names_used(program)}


def names_used(program: Program) -> tuple[str, ...]:
    """Signals a program reads anywhere, in its shape or in what a detection says."""
    return names_by_kind(program)[Signal]


# Remembered, since every new conversation asks it of the same programs.
@once_each
def names_by_kind(program: Program) -> dict[type[Expr], tuple[str, ...]]:
    """The names a program reads, by kind; those of its key count as each kind."""
    parts = (program.body, program.confidence, program.severities, program.details, program.explanation)
    return {kind: (*named(parts, kind), *program.group_by) for kind in (Signal, Indicator, Attribute)}


def are_ours(programs: Iterable[Program]) -> bool:
    """Whether other processes know all signals of these programs; those of a caller's script they do not."""
    return all(vars(item).get("__module__", "").startswith("ethogram.") for item in plan(needed(programs)))


def beyond_subjects(programs: Iterable[Program]) -> list[str]:
    """The signals of ours that programs name and that depend on what others did or said."""
    return [item.name for item in plan(needed(programs)) if item.scope in ("thread", *OF_ALL)]


def depends_on_others(
    programs: Sequence[Program],
    settings: Settings,
    kinds: Collection[str | None],
    fields: Collection[str],
    readings: Collection[str],
) -> bool:
    """Whether such a signal may have a reading of events with no other fields and readings than these."""
    measurer = Measurer(beyond_subjects(programs), Options.of(settings))
    return any(measurer.needs(kinds, fields, readings).values())


def said_again(
    events: Iterable[Event], programs: Iterable[Program], settings: Settings, whose: Collection[Who]
) -> tuple[Copies, Marks]:
    """The readings about copies and targets of the events of some subjects, which need all events in order.

    With them a mark for each subject that has any, which differs where these readings do. Empty where no
    program names such a signal.
    """
    names = [item.name for item in plan(needed(programs)) if item.scope in OF_ALL]
    copies: dict[tuple[str, str], tuple[Mapping[str, Value], Mapping[str, str]]] = {}
    marks: dict[Who, str] = {}
    if not names:
        return copies, marks
    measurer = Measurer(names, Options.of(settings))
    for event in events:
        measured = measurer.measure(event)
        if measured is event:
            continue
        added = {name: value for name, value in measured.readings.items() if name not in event.readings}
        who = (event.source, event.subject)
        content = f"{marks.get(who)}{event.id}{sorted(added.items())}"
        marks[who] = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        if who in whose:
            copies[event.source, event.id] = (added, {name: measured.scorers[name] for name in added})
    return copies, marks


def reads_all(programs: Iterable[Program]) -> bool:
    """Whether a signal of ours that a program names depends on everybody's texts or targets."""
    return any(item.scope in OF_ALL for item in plan(needed(programs)))


def reads_targets(programs: Iterable[Program]) -> bool:
    """Whether a signal of ours that a program names counts who acts on a target."""
    return any(item.scope == "target" for item in plan(needed(programs)))


def without_steps(event: Event) -> Event:
    """The event; a call or result whose texts were not kept has another kind, which no signal reads.

    Two commands without their words are not the same command, and would be taken for it.
    """
    if event.kind in STEPS and MARK in event.attributes:
        return replace(event, kind=f"{event.kind}{NOT_KEPT}")
    return event


# One scorer per signal and run: readings by others are absent, and counted.


def only_scorers(
    events: Iterable[Event], scorers: Mapping[str, str]
) -> tuple[EventSequence, Counter[tuple[str, str]]]:
    """Events with the readings that count, and how many of each (signal, scorer) were left out.

    `scorers` names the one for a signal, or under '*' the one for all that come with the events and are
    not named. Without a word from the settings, what was given with no name counts, and what the newest
    version of our own signal measured.
    """

    return sequence_of(events).without_readings(dropped(scorers), only_named=not scorers)


def dropped(scorers: Mapping[str, str]) -> Drop:
    """Whether readings of a signal by a scorer do not count: see `only_scorers`."""

    @cache
    def drop(name: str, scorer: str) -> bool:
        if name in scorers:
            return scorer != scorers[name]
        if scorer != INPUT_SCORER and name in registry.signals:
            return bool(scorer != f"{name}@{registry.signals.get(name).version}")
        return scorer != scorers.get("*", INPUT_SCORER)

    return drop


def lone_scorer(
    unused: Mapping[tuple[str, str], int], names: Collection[str], scorers: Mapping[str, str]
) -> dict[str, str]:
    """The scorer of each signal whose readings were left out, where they are the only ones; else empty.

    `names` are the signals whose readings count. More than one scorer, or other scores that count already,
    leave the choice to the settings.
    """
    left = {name: by for name, by in unused if name not in registry.signals}
    if len({by for name, by in unused if name in left}) != 1 or "*" in scorers:
        return {}
    if is_evaluated(dict.fromkeys(names, 1)):
        return {}  # other scores are there
    return left if left.keys().isdisjoint({*names, *scorers}) else {}


# What is measured on an event before its texts are left out of a store.

TextSignals = Callable[[Event], tuple[Reading, ...]]


def is_of_one_event(item: Measure) -> bool:
    """Whether a signal depends on one event alone."""
    return item.scope is None and not item.needs


def bare_event(event: Event) -> Event | None:
    """The event as signals see it without its texts; None where it has none."""
    attributes = bare_attributes(event.kind, event.attributes)
    if event.text is None and attributes is event.attributes:
        return None
    return without_steps(replace(event, text=None, attributes=attributes))


def text_signals(settings: Settings, *, keep_text: bool) -> TextSignals | None:
    """What measures a text before it is left out; None where texts are kept.

    Only signals of one event by itself: what they say of it with its text and not without. Of a category that
    was read from a text only a mark is kept, which is the same for the same one: it may hold words of it.
    """
    if keep_text:
        return None
    signals = [item for item in plan(registry.signals.names()) if is_of_one_event(item)]
    options = Options.of(settings)

    def measure(event: Event) -> tuple[Reading, ...]:
        if (bare := bare_event(event)) is None:
            return ()
        found = []
        for signal in signals:
            value = signal.value(event, options)
            if signal.name in event.readings or value is None or isinstance(value, Unmeasured):
                continue
            if signal.value(bare, options) != value:
                marked = f"#{stable_hash(value)[:16]}" if isinstance(value, str) else value
                found.append(Reading(signal.name, marked, signal.scorer))
        return tuple(found)

    return measure
