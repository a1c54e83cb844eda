"""Why: how far a pattern came in a subject's histories, and which limit failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from ..config import Settings
from ..engine.combination import key_of, parts_meant
from ..engine.combination import key_of as key_of_detection
from ..engine.contagion import Contacts, contacts
from ..engine.detect import find
from ..engine.history import History, belongs, histories
from ..engine.live.engine import run
from ..engine.match import NO_TIMES, Match, Outcome
from ..errors import BadUsage, did_you_mean
from ..fields import Count, Name, Ratio, Severity, one_of
from ..ingest import Batch
from ..language.ast import Combination, Spread
from ..language.history import CAP
from ..language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ..models import EPOCH, Detection, Event, Value, format_time, micros, moment
from ..models.record import Record
from ..models.slotted import dataclass
from ..models.timestamps import format_duration
from ..patterns.library import Library
from .analyze import measured_events
from .explain_condition import (
    Limit,
    SequenceWhy,
    SilenceWhy,
    ThresholdWhy,
    how_long,
    why_sequence,
    why_silence,
    why_threshold,
)
from .readings import only_scorers

# Which parts of a combination were there, when, and which limit kept it from firing.


@dataclass(frozen=True, slots=True)
class PartWhy(Record):
    """The detections of one part, oldest first. `elsewhere` belong to other histories of the subject."""

    part: str
    detections: tuple[Detection, ...]
    elsewhere: int = 0


def why_combination(
    program: Program, body: Combination, detections: Sequence[Detection], key: tuple[str, ...]
) -> tuple[tuple[PartWhy, ...], tuple[Limit, ...]]:
    """Parts of one history (its source and key values), and the limits that held or failed."""
    parts = []
    for part in body.parts:
        seen = [item for item in detections if parts_meant((part,), item.pattern)]
        here = [item for item in seen if key_of(program, item) == key]
        parts.append(PartWhy(part, tuple(here), len(seen) - len(here)))
    missing = [Limit("there", False, f"no detection of {part.part}") for part in parts if not part.detections]
    if missing:
        return tuple(parts), tuple(missing)
    limits = {"all_of": _all_of, "in_order": _in_order, "any_of": _any_of}[body.kind](body, parts)
    return tuple(parts), tuple(limits)


def _any_of(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    return [Limit("there", True, "any detection of a part is enough")]


def _all_of(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    """The newest of every part: the set that was looked at last."""
    newest = [part.detections[-1] for part in parts]
    limits = [_within(body, newest)]
    if body.overlapping:
        last = max(item.detected_at for item in newest)
        ends = [item for item in newest if item.closed_at is not None and item.closed_at <= last]
        ended = min(ends, key=lambda end: (end.closed_at, end.id), default=None)
        latest = max(newest, key=lambda item: (item.opened_at, item.id))
        if ended is None or ended.closed_at is None:
            limits.append(Limit("overlapping", True, "all were open together"))
        else:
            text = f"{latest.pattern} opened at {format_time(latest.opened_at)}; "
            text += f"{ended.pattern} had closed at {format_time(ended.closed_at)}"
            limits.append(Limit("overlapping", latest.opened_at <= ended.closed_at, text))
    return limits


def _in_order(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    """Where the order breaks off; or the chain that ends last, held against `within`."""
    first: Detection | None = None
    for part in parts:
        following = _after(part, first)
        if first is not None and not following:
            text = f"no {part.part} after {first.pattern} at {format_time(first.detected_at)}"
            return [Limit("order", False, text)]
        first = following[0]
    # From the end backwards, as the shape does: the latest of each part before the one found.
    chain = [parts[-1].detections[-1]]
    for part in reversed(parts[:-1]):
        chain.append([d for d in part.detections if d.detected_at < chain[-1].detected_at][-1])
    return [Limit("order", True, "each came after the one before"), _within(body, chain)]


def _after(part: PartWhy, before: Detection | None) -> list[Detection]:
    return [
        detection
        for detection in part.detections
        if before is None or detection.detected_at > before.detected_at
    ]


def _within(body: Combination, chosen: list[Detection]) -> Limit:
    times = [micros(item.detected_at) for item in chosen]
    apart = max(times) - min(times)
    text = f"{how_long(apart)} from first to last"
    if body.within is None:
        return Limit("within", True, f"{text}; no limit")
    return Limit("within", apart <= body.within, f"{text}; at most {format_duration(body.within)}")


def why_spread(
    body: Spread, detections: Sequence[Detection], subject: tuple[str, str], met: Contacts
) -> tuple[tuple[PartWhy, ...], tuple[Limit, ...]]:
    """The starts in a subject (its source and name), and what became of everyone they may have reached."""
    source, name = subject
    first = [
        d for d in detections if parts_meant((body.first,), d.pattern) and (d.source, d.subject) == subject
    ]
    then = [
        d
        for d in detections
        if parts_meant((body.then,), d.pattern) and d.source == source and d.subject != name
    ]
    parts = (PartWhy(body.first, tuple(first)), PartWhy(body.then, tuple(then)))
    missing = [Limit("there", False, f"no detection of {part.part}") for part in parts if not part.detections]
    if missing:
        return parts, tuple(missing)
    best = max(([_reached(body, start, end, met) for end in then] for start in first), key=_held)
    reached = len({end.subject for end, item in zip(then, best, strict=True) if item.holds})
    text = f"{reached} other subject{'' if reached == 1 else 's'} reached; at least {body.at_least} needed"
    return parts, (*best, Limit("at_least", reached >= body.at_least, text))


def _held(limits: list[Limit]) -> int:
    return sum(limit.holds for limit in limits)


def _reached(body: Spread, start: Detection, end: Detection, met: Contacts) -> Limit:
    apart = micros(end.detected_at) - micros(start.detected_at)
    who = f"{end.subject} at {format_time(end.detected_at)}"
    if apart <= 0:
        return Limit("reached", False, f"{who}: not after the start at {format_time(start.detected_at)}")
    if apart > body.within:
        late = f"{how_long(apart)} after the start; at most {format_duration(body.within)}"
        return Limit("reached", False, f"{who}: {late}")
    times = met.get((start.source, start.subject, end.subject), [])
    between = [at for at in times if start.detected_at <= at <= end.detected_at]
    if not between:
        return Limit("reached", False, f"{who}: no event between the two since the start")
    return Limit("reached", True, f"{who}: in touch at {format_time(between[0])}")


# Why: what became of one pattern in one history, as a record that a program or a page can show.

FIRED, QUIET, INSUFFICIENT, NO_HISTORY = "fired", "quiet", "insufficient data", "no history"
Answer = Annotated[str, one_of(FIRED, QUIET, INSUFFICIENT, NO_HISTORY)]


@dataclass(frozen=True, slots=True)
class Fired(Record):
    """One firing: the event at which it fired or opened, and how grave it was."""

    event: str
    at: datetime
    severity: Severity
    confidence: Ratio


@dataclass(frozen=True, slots=True)
class Why(Record):
    """Why a pattern did or did not match in one history.

    Of `sequence`, `threshold`, `silence` and `parts` with `limits`, only that of the pattern's shape is set.
    """

    RECORD = "why"

    pattern: Name
    title: str
    shape: str
    source: str
    subject: str
    history: Mapping[str, Value]
    events: Count
    timed: bool
    answer: Answer
    reason: str = ""
    fired: tuple[Fired, ...] = ()
    sequence: SequenceWhy | None = None
    threshold: ThresholdWhy | None = None
    silence: SilenceWhy | None = None
    parts: tuple[PartWhy, ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Whose histories are asked about; `at` is the id of the event to look at."""

    subject: str
    target: str | None = None
    thread: str | None = None
    at: str | None = None


# Why: how far a pattern came in a subject's histories, and which limit failed.

__all__ = ["FIRED", "INSUFFICIENT", "NO_HISTORY", "QUIET", "Question", "Why", "why"]


def why(
    question: Question,
    library: Library,
    batch: Batch,
    *,
    programs: Sequence[Program] | None = None,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    cap: int = CAP,
) -> tuple[Why, ...]:
    """What became of the library's chosen patterns (or of these programs) in every history asked about.

    BadUsage where the subject or event is not in the input, with the nearest that is.
    """
    settings = settings or Settings()
    asked = as_of or max((event.at for event in batch.events), default=EPOCH)
    events = [event for event in batch.events if event.at <= asked]
    _check_subject(question, events)
    measured, _ = measured_events(only_scorers(events, settings.scorers)[0], library.programs, settings)
    scored, _ = only_scorers(measured, settings.scorers)
    run = Run(library.programs, scored, asked, cap)
    chosen = (
        [program for program in library.programs if library.is_chosen(program)]
        if programs is None
        else programs
    )
    answers = [answer for program in chosen for answer in run.answers(program, question)]
    _check_event(question, events, answers)
    return tuple(answers)


def _check_subject(question: Question, events: Sequence[Event]) -> None:
    subjects = {event.subject for event in events}
    if question.subject not in subjects:
        near = did_you_mean(question.subject, subjects) or f"; it has {_some(sorted(subjects))}"
        raise BadUsage(f"no event of the input is by {question.subject!r}{near}")


def _check_event(question: Question, events: Sequence[Event], whies: Sequence[Why]) -> None:
    if question.at is None or any(item.answer != NO_HISTORY for item in whies):
        return
    known = {event.id: event.subject for event in events}
    if question.at not in known:
        raise BadUsage(f"no event of the input is {question.at!r}{did_you_mean(question.at, known)}")
    if (owner := known[question.at]) != question.subject:
        raise BadUsage(f"event {question.at!r} is by {owner!r}, not by {question.subject!r}")


def _some(names: Sequence[str], most: int = 5) -> str:
    told = ", ".join(names[:most])
    return f"{told} and {len(names) - most} more" if len(names) > most else told or "no events"


class Run:
    """Programs and the events they run over; detections are made only for combinations."""

    def __init__(
        self, programs: Sequence[Program], events: Sequence[Event], as_of: datetime, cap: int
    ) -> None:
        self.programs, self.events, self.as_of, self.cap = programs, events, as_of, cap
        self._detections: list[Detection] | None = None

    def answers(self, program: Program, question: Question) -> Iterator[Why]:
        """One answer per history asked about, or one that says why there is none."""
        for name in ("target", "thread"):
            if getattr(question, name) is not None and name not in program.group_by:
                keys = ", ".join(program.group_by)
                raise BadUsage(f"{program.name} looks at histories by {keys}; --{name} says nothing there")
        if program.is_combination and question.at is not None:
            raise BadUsage(f"{program.name} is made of other detections; ask about its parts with --at")
        make = self._of_detections if program.is_combination else self._of_events
        found = list(make(program, question))
        yield from found or [self._nothing(program, question)]

    def _of_events(self, program: Program, question: Question) -> Iterator[Why]:
        own = [event for event in self.events if event.subject == question.subject]
        outcome = run([program], own, as_of=micros(self.as_of), cap=self.cap)
        for history in histories(program, own, self.cap):
            key = dict(zip(program.group_by, history.key, strict=True))
            position = next((i for i, event in enumerate(history.events) if event.id == question.at), None)
            if _asked(question, key) and (question.at is None or position is not None):
                yield self._history(program, history, key, position, outcome)

    def _history(
        self, program: Program, history: History, key: Mapping[str, Value], at: int | None, outcome: Outcome
    ) -> Why:
        here = (history.source, history.key)
        matches = [match for match in outcome.matches if (match.source, match.key) == here]
        lacking = next((item for item in outcome.insufficient if (item.source, item.key) == here), None)
        answer = FIRED if matches else INSUFFICIENT if lacking else QUIET
        shape: dict[str, Any] = {}
        if not (program.timed_only and not history.timed):
            positions = {event.id: i for i, event in enumerate(history.events)}
            shape = self._shape(program, history, [positions[match.fired.id] for match in matches], at)
        return Why(
            **_heading(program, history.source, key),
            events=len(history.events),
            timed=history.timed,
            answer=answer,
            reason=_reason(lacking.have, lacking.need, lacking.reason) if lacking else "",
            fired=tuple(_fired(match) for match in matches),
            **shape,
        )

    def _shape(self, program: Program, history: History, fired: list[int], at: int | None) -> dict[str, Any]:
        match program.body:
            case SequenceProgram() as body:
                return {"sequence": why_sequence(program, body, history, at)}
            case ThresholdProgram() as body:
                return {"threshold": why_threshold(body, history, fired, at)}
            case SilenceProgram() as body:
                return {"silence": why_silence(body, history, micros(self.as_of), at)}
        raise TypeError(f"no answer for {type(program.body).__name__}")

    def _of_detections(self, program: Program, question: Question) -> Iterator[Why]:
        if self._detections is None:
            self._detections = find(self.programs, self.events, as_of=self.as_of, cap=self.cap).detections
        detections = self._detections
        own = [
            d for d in detections if d.subject == question.subject and parts_meant(program.parts, d.pattern)
        ]
        for key in sorted({key for d in own if (key := key_of_detection(program, d)) is not None}):
            history = dict(zip(program.group_by, key[1:], strict=True))
            if _asked(question, history):
                yield self._combined(program, key, history, own, detections)

    def _combined(
        self,
        program: Program,
        key: tuple[str, ...],
        history: Mapping[str, Value],
        own: list[Detection],
        detections: list[Detection],
    ) -> Why:
        body = program.body
        if isinstance(body, Combination):
            parts, limits = why_combination(program, body, own, key)
        else:
            assert isinstance(body, Spread)
            parts, limits = why_spread(body, detections, (key[0], key[1]), contacts(self.events))
        mine = [item for item in detections if item.pattern == program.name]
        fired = [item for item in mine if key_of_detection(program, item) == key]
        events = [event for event in self.events if (event.source, event.subject) == (key[0], own[0].subject)]
        timed = all(event.timed for event in events)
        lacking = program.timed_only and not timed
        return Why(
            **_heading(program, key[0], history),
            events=len(events),
            timed=timed,
            answer=FIRED if fired else INSUFFICIENT if lacking else QUIET,
            reason=NO_TIMES if lacking else "",
            fired=tuple(Fired(d.fired_event, d.detected_at, d.severity, d.confidence) for d in fired),
            parts=parts,
            limits=limits,
        )

    def _nothing(self, program: Program, question: Question) -> Why:
        own = [event for event in self.events if event.subject == question.subject]
        return Why(
            **_heading(program, own[0].source, {"subject": question.subject}),
            events=len(own),
            timed=own[0].timed,
            answer=NO_HISTORY,
            reason=self._why_nothing(program, question, own),
        )

    def _why_nothing(self, program: Program, question: Question, own: Sequence[Event]) -> str:
        if program.is_combination:
            return f"none of its parts was found: {', '.join(program.parts)}"
        if not any(belongs(program, event) for event in own):
            names = _some(program.signals) if program.signals else "a trait or indicator"
            return f"none of the {len(own)} events by {question.subject} has a reading of {names}"
        keys = [name for name in program.group_by if name != "subject"]
        asked = [f"{name} {getattr(question, name)!r}" for name in keys if getattr(question, name, None)]
        if question.at is not None:
            asked.append(f"event {question.at!r}")
        if asked:
            return f"no history of {question.subject} with {' and '.join(asked)} has what the pattern reads"
        return f"no event by {question.subject} has {' and '.join(keys)}, by which the pattern looks"


def _asked(question: Question, key: Mapping[str, Value]) -> bool:
    return all(
        getattr(question, name) is None or key.get(name) == getattr(question, name)
        for name in ("target", "thread")
    )


def _heading(program: Program, source: str, key: Mapping[str, Value]) -> dict[str, Any]:
    return {
        "pattern": program.name,
        "title": program.title,
        "shape": _SHAPES[type(program.body)],
        "source": source,
        "subject": str(key["subject"]),
        "history": dict(key),
    }


_SHAPES: Mapping[type, str] = {
    SequenceProgram: "sequence",
    ThresholdProgram: "threshold",
    SilenceProgram: "silence",
    Combination: "combination",
    Spread: "spread",
}


def _fired(match: Match) -> Fired:
    return Fired(match.fired.id, moment(match.detected_at), match.severity, match.confidence)


def _reason(have: int, need: int, reason: str) -> str:
    return f"{reason} (have {have}, need {need})" if need else reason
