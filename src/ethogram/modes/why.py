"""Why: how far a pattern came in a subject's histories, and which limit failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..config import Settings
from ..detections.combine import key_of as key_of_detection
from ..detections.combine import parts_meant
from ..detections.find import find
from ..detections.spread import contacts
from ..errors import BadUsage, did_you_mean
from ..ingest import Batch
from ..library.load import Library
from ..records import EPOCH, Detection, Event, Value, micros, moment
from ..shapes.finding import NO_TIMES, Finding
from ..shapes.history import CAP, History, belongs, histories
from ..shapes.plain import Outcome, run_history
from ..shapes.program import LevelProgram, Program, SequenceProgram, SilenceProgram
from ..shapes.tree import Combination, Spread
from .analyze import measured_events
from .scorers import only_scorers
from .why_combination import why_combination, why_spread
from .why_level import why_level, why_silence
from .why_record import FIRED, INSUFFICIENT, NO_HISTORY, QUIET, Fired, Question, Why
from .why_sequence import why_sequence

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
    chosen = [one for one in library.programs if library.is_chosen(one)] if programs is None else programs
    found = [answer for program in chosen for answer in run.answers(program, question)]
    _check_event(question, events, found)
    return tuple(found)


def _check_subject(question: Question, events: Sequence[Event]) -> None:
    subjects = {event.subject for event in events}
    if question.subject not in subjects:
        near = did_you_mean(question.subject, subjects) or f"; it has {_some(sorted(subjects))}"
        raise BadUsage(f"no event of the input is by {question.subject!r}{near}")


def _check_event(question: Question, events: Sequence[Event], found: Sequence[Why]) -> None:
    if question.at is None or any(one.answer != NO_HISTORY for one in found):
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

    def __init__(self, programs: Sequence[Program], events: list[Event], as_of: datetime, cap: int) -> None:
        self.programs, self.events, self.as_of, self.cap = programs, events, as_of, cap
        self._detections: list[Detection] | None = None

    def answers(self, program: Program, question: Question) -> Iterator[Why]:
        """One answer per history asked about, or one that says why there is none."""
        for name in ("target", "thread"):
            if getattr(question, name) is not None and name not in program.history:
                keys = ", ".join(program.history)
                raise BadUsage(f"{program.name} looks at histories by {keys}; --{name} says nothing there")
        if program.is_combination and question.at is not None:
            raise BadUsage(f"{program.name} is made of other detections; ask about its parts with --at")
        make = self._of_detections if program.is_combination else self._of_events
        found = list(make(program, question))
        yield from found or [self._nothing(program, question)]

    def _of_events(self, program: Program, question: Question) -> Iterator[Why]:
        own = [event for event in self.events if event.subject == question.subject]
        for history in histories(program, own):
            key = dict(zip(program.history, history.key, strict=True))
            position = next((i for i, one in enumerate(history.events) if one.id == question.at), None)
            if _asked(question, key) and (question.at is None or position is not None):
                yield self._history(program, history, key, position)

    def _history(self, program: Program, history: History, key: Mapping[str, Value], at: int | None) -> Why:
        outcome, as_of = Outcome(), micros(self.as_of)
        run_history(program, history, as_of, self.cap, outcome)
        lacking = outcome.insufficient[0] if outcome.insufficient else None
        answer = FIRED if outcome.findings else INSUFFICIENT if lacking else QUIET
        shape: dict[str, Any] = {}
        if not (program.timed_only and not history.timed):
            shape = self._shape(program, history, [one.fired for one in outcome.findings], at)
        return Why(
            **_heading(program, history.source, key),
            events=len(history.events),
            timed=history.timed,
            answer=answer,
            reason=_reason(lacking.have, lacking.need, lacking.reason) if lacking else "",
            fired=tuple(_fired(one) for one in outcome.findings),
            **shape,
        )

    def _shape(self, program: Program, history: History, fired: list[int], at: int | None) -> dict[str, Any]:
        match program.body:
            case SequenceProgram() as body:
                return {"sequence": why_sequence(body, history, self.cap, at)}
            case LevelProgram() as body:
                return {"level": why_level(body, history, self.cap, fired, at)}
            case SilenceProgram() as body:
                return {"silence": why_silence(body, history, self.cap, micros(self.as_of), at)}
        raise TypeError(f"no answer for {type(program.body).__name__}")

    def _of_detections(self, program: Program, question: Question) -> Iterator[Why]:
        if self._detections is None:
            self._detections = find(self.programs, self.events, as_of=self.as_of, cap=self.cap).detections
        found = self._detections
        own = [d for d in found if d.subject == question.subject and parts_meant(program.parts, d.pattern)]
        for key in sorted({key for d in own if (key := key_of_detection(program, d)) is not None}):
            history = dict(zip(program.history, key[1:], strict=True))
            if _asked(question, history):
                yield self._combined(program, key, history, own, found)

    def _combined(
        self,
        program: Program,
        key: tuple[str, ...],
        history: Mapping[str, Value],
        own: list[Detection],
        found: list[Detection],
    ) -> Why:
        body = program.body
        if isinstance(body, Combination):
            parts, limits = why_combination(program, body, own, key)
        else:
            assert isinstance(body, Spread)
            parts, limits = why_spread(body, found, (key[0], key[1]), contacts(self.events))
        mine = [one for one in found if one.pattern == program.name]
        fired = [one for one in mine if key_of_detection(program, one) == key]
        events = [event for event in self.events if (event.source, event.subject) == (key[0], own[0].subject)]
        timed = all(event.timed for event in events)
        lacking = program.timed_only and not timed
        return Why(
            **_heading(program, key[0], history),
            events=len(events),
            timed=timed,
            answer=FIRED if fired else INSUFFICIENT if lacking else QUIET,
            reason=NO_TIMES if lacking else "",
            fired=tuple(Fired(d.fired_event, d.detected_at, d.level, d.confidence) for d in fired),
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

    def _why_nothing(self, program: Program, question: Question, own: list[Event]) -> str:
        if program.is_combination:
            return f"none of its parts was found: {', '.join(program.parts)}"
        if not any(belongs(program, event) for event in own):
            names = _some(program.signals) if program.signals else "a trait or indicator"
            return f"none of the {len(own)} events by {question.subject} has a reading of {names}"
        keys = [name for name in program.history if name != "subject"]
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
    LevelProgram: "level",
    SilenceProgram: "silence",
    Combination: "combination",
    Spread: "spread",
}


def _fired(one: Finding) -> Fired:
    event = one.history.events[one.fired]
    return Fired(event.id, moment(one.detected_at), one.level, one.confidence)


def _reason(have: int, need: int, reason: str) -> str:
    return f"{reason} (have {have}, need {need})" if need else reason
