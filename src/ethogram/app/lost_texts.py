"""Texts that a store left out: which patterns cannot be judged without them."""

from __future__ import annotations

from collections.abc import Sequence

from .. import registry
from ..engine.combination import parts_meant
from ..ingest.batch import EventCollection, EventSequence
from ..ingest.spill import EventsOnDisk
from ..language.program import Program
from ..language.requirements import wanted_signals
from ..language.visitor import once_each
from ..models.slotted import dataclass
from ..patterns.library import Library
from ..signals import Signal, plan
from ..signals.chat import role_of
from ..store.records import Store
from ..store.rows import NOT_KEPT
from .readings import is_of_one_event, names_used

MESSAGE, TURN, STEP = "message", "turn", "step"
"""What lost its text: a message, one in a conversation whose speaker is known, a call or result of a run."""
ACTIVITY = ("action", "result", "usage")
"""How the kinds of events begin that are not messages."""
WITNESS = "question"
"""The signal that every text has a reading of: stored without a text, it shows that there was one."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What lost its text among some events, and the signals that they have readings of all the same."""

    kinds: frozenset[str] = frozenset()
    readings: frozenset[str] = frozenset()

    def __or__(self, other: Lost) -> Lost:
        return Lost(self.kinds | other.kinds, self.readings | other.readings)


def bare_events(events: EventCollection) -> Lost:
    """What has no text among the events of a store without any; or had one, of events that lose theirs."""
    parts = events.parts() if isinstance(events, EventsOnDisk) else [events]
    lost = Lost()
    for part in parts:
        assert isinstance(part, EventSequence)
        lost |= _bare(part)
    return lost


def _bare(events: EventSequence) -> Lost:
    kinds = {str(kind) for kind in events.counts("kind")}
    lost = set()
    if not all(kind.startswith(ACTIVITY) for kind in kinds):
        lost.add(MESSAGE)
        spoken = events.values("thread", "attributes") if events.has("thread") else ()
        if any(thread is not None and role_of(attributes or {}) for thread, attributes in spoken):
            lost.add(TURN)
    bare = {kind for kind in kinds if kind.endswith(NOT_KEPT)}
    rows = enumerate(events.values("kind")) if bare else ()
    known = {item.name for item in plan(registry.signals.names()) if _reads_steps(item)} if bare else set()
    if any(known.isdisjoint(events[row].readings) for row, kind in rows if kind in bare):
        lost.add(STEP)
    return Lost(frozenset(lost), frozenset(events.reading_names() if lost else ()))


def lost_in(store: Store, lost: Lost) -> Lost:
    """What lost its text, of what has none in a store: nothing but steps where it has texts, or never had."""
    if MESSAGE in lost.kinds and (store.has_texts() or not store.measured(WITNESS)):
        return Lost(lost.kinds & {STEP}, lost.readings)
    return lost


def without_texts(library: Library, lost: Lost) -> tuple[str, ...]:
    """The chosen patterns that cannot be judged without the lost texts."""
    programs = library.programs
    chosen = [program for program in programs if library.is_chosen(program)] if lost.kinds else []
    return tuple(sorted({program.pattern for program in chosen if _is_blind(program, programs, lost)}))


def _is_blind(program: Program, programs: Sequence[Program], lost: Lost) -> bool:
    if program.is_combination:
        parts = [[other for other in programs if parts_meant((part,), other.name)] for part in program.parts]
        joined = all if getattr(program.body, "kind", "") == "any_of" else any
        return joined(all(_is_blind(other, programs, lost) for other in names) for names in parts if names)
    needs = _texts_read(program).items()
    return any(kind in lost.kinds and name not in lost.readings for name, kind in needs)


@once_each
def _texts_read(program: Program) -> dict[str, str]:
    """What the signals of a program need the texts of, by name; under an empty one, that some need steps.

    Signals of one event alone are measured before its text is left out.
    """
    needs = {
        item.name: TURN if item.turns else MESSAGE
        for item in plan(wanted_signals(program))
        if ("text" in item.reads or item.scope == "text") and not is_of_one_event(item)
    }
    steps = any(map(_reads_steps, plan(names_used(program))))
    return needs | ({"": STEP} if steps else {})


def _reads_steps(item: Signal) -> bool:
    """Whether a signal reads the calls of a run and what they gave."""
    return item.kinds is not None and "result" in item.kinds
