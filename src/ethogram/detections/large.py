"""All detections over events on disk: bucket by bucket, then what looks across subjects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..records import Detection, Event, micros
from ..shapes.finding import Insufficient
from ..shapes.history import CAP, key_of
from ..shapes.plain import Outcome
from ..shapes.program import Program
from ..shapes.tree import Spread
from .combine import combine, parts_meant
from .detect import detection
from .find import Found, by_depth, keys_of, without_times
from .spread import Contacts, spread

if TYPE_CHECKING:
    from ..shapes.batch.buckets import Buckets

Order = tuple[datetime, int, str]


def find_large(
    programs: Sequence[Program], buckets: Buckets, *, as_of: datetime | None = None, cap: int = CAP
) -> Found:
    """What `find` gives for the same events, with one bucket in memory at a time.

    Only detections are kept, and of spread the contacts of subjects that have some.
    """
    state = _State(programs, as_of or buckets.newest, cap)
    for number in range(len(buckets.paths)):
        state.add(buckets.bucket(number, state.as_of))
    state.look_across(buckets)
    return state.found()


class _State:
    """What has been found so far. Notes stand with their program's number and their history's first event."""

    def __init__(self, programs: Sequence[Program], as_of: datetime, cap: int) -> None:
        self.programs, self.as_of, self.cap = programs, as_of, cap
        self.ordered = by_depth(programs)
        self.across = across(self.ordered)
        self.detections: list[Detection] = []
        self.notes: list[tuple[int, Order, Insufficient]] = []
        self.checked: dict[str, int] = {}
        self.untimed: set[str] = set()

    def add(self, events: list[Event]) -> None:
        """All that can be said within one bucket."""
        from ..shapes.batch.columns import EventColumns
        from ..shapes.batch.run import search

        here: list[Detection] = []
        untimed = {event.source for event in events if not event.timed}
        self.untimed |= untimed
        for run in search(self.programs, EventColumns(events), as_of=micros(self.as_of), cap=self.cap):
            outcome = Outcome()
            rows = run.report(outcome)
            here += [detection(finding, self.cap) for finding in outcome.findings]
            self._count(run.program, outcome.checked[run.program.name])
            place = self.programs.index(run.program)
            pairs = zip(rows, outcome.insufficient, strict=True)
            self.notes += [(place, events[row].order, note) for row, note in pairs]
        for k, program in enumerate(self.ordered):
            self._count(program, len(keys_of(program, events)))
            if untimed and program.timed_only:
                self._note_untimed(len(self.programs) + k, program, events)
            if program not in self.across:
                here += combine(program, self._seen(program, here, untimed))
        self.detections += here

    def _count(self, program: Program, histories: int) -> None:
        self.checked[program.name] = self.checked.get(program.name, 0) + histories

    def _note_untimed(self, place: int, program: Program, events: list[Event]) -> None:
        first: dict[object, Order] = {}
        for event in events:
            if not event.timed and (key := key_of(program, event)) is not None:
                first.setdefault((event.source, key), event.order)
        for note in without_times(program, events):
            self.notes.append((place, first[note.source, note.key], note))

    @staticmethod
    def _seen(program: Program, detections: Iterable[Detection], untimed: set[str]) -> list[Detection]:
        """The detections a combination sees."""
        out = untimed if program.timed_only else set()
        return [
            one for one in detections if parts_meant(program.parts, one.pattern) and one.source not in out
        ]

    def look_across(self, buckets: Buckets) -> None:
        """Spread, and what is made of it, over the detections of all buckets."""
        if not self.across:
            return
        met = contacts_on_disk(buckets, self.detections, self.as_of)
        for program in self.across:
            seen = self._seen(program, self.detections, self.untimed)
            if isinstance(program.body, Spread):
                self.detections += spread(program, seen, met, self.as_of)
            else:
                self.detections += combine(program, seen)

    def found(self) -> Found:
        """Everything, in the order in which `find` gives it."""
        self.notes.sort(key=lambda note: note[:2])
        return Found(self.detections, [note for _, _, note in self.notes], self.checked)


def across(programs: Sequence[Program]) -> list[Program]:
    """The combinations that look beyond one subject: spread, and all that has one for a part."""
    found: list[Program] = []
    for program in programs:
        beyond = any(parts_meant(program.parts, other.name) for other in found)
        if isinstance(program.body, Spread) or beyond:
            found.append(program)
    return found


def contacts_on_disk(buckets: Buckets, detections: Sequence[Detection], as_of: datetime) -> Contacts:
    """When subjects that have detections met: by target, or by a reply to the other's event."""
    of_interest = {(one.source, one.subject) for one in detections}
    found: Contacts = {}
    replies: dict[tuple[str, str], list[Event]] = {}

    def meet(event: Event, other: str | None) -> None:
        if other is None or other == event.subject or (event.source, other) not in of_interest:
            return
        for pair in ((event.subject, other), (other, event.subject)):
            found.setdefault((event.source, *pair), []).append(event.at)

    for event in _events(buckets, as_of):
        if (event.source, event.subject) in of_interest:
            meet(event, event.target)
            if event.reply_to:
                replies.setdefault((event.source, event.reply_to), []).append(event)
    for author in _events(buckets, as_of) if replies else ():
        for event in replies.get((author.source, author.id), ()):
            if author.subject != event.target:
                meet(event, author.subject)
    return {pair: sorted(times) for pair, times in found.items()}


def _events(buckets: Buckets, as_of: datetime) -> Iterable[Event]:
    for number in range(len(buckets.paths)):
        for event in buckets.read(number):
            if event.at <= as_of:
                yield event
