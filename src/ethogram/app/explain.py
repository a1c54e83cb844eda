"""Why a pattern did or did not match: how far it came in a subject's histories, and which limit failed."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from ..config import Settings
from ..engine.combination import key_of, parts_meant
from ..engine.contagion import Contacts, contacts
from ..engine.detect import find
from ..engine.history import History, belongs, histories
from ..engine.live.engine import run
from ..engine.match import NO_TIMES, Outcome
from ..errors import BadUsage, did_you_mean
from ..fields import Count, Name, Ratio, Severity, one_of
from ..ingest import Batch
from ..ingest.batch import sequence_of
from ..language.ast import Combination, Indicator, Signal, Spread
from ..language.history import CAP, EXCHANGE, is_in
from ..language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ..models import EPOCH, Detection, Event, Value, format_time, micros, moment
from ..models.record import Record
from ..models.slotted import dataclass, replace
from ..models.timestamps import format_duration
from ..patterns.library import Library
from ..signals.habits import READINGS, usage_kinds
from ..signals.options import Options
from .explain_shapes import (
    Limit,
    SequenceWhy,
    SilenceWhy,
    ThresholdWhy,
    how_long,
    why_sequence,
    why_silence,
    why_threshold,
)
from .readings import counted_events, names_by_kind, names_used

FIRED, QUIET, INSUFFICIENT, NO_HISTORY = "fired", "quiet", "insufficient data", "no history"
Answer = Annotated[str, one_of(FIRED, QUIET, INSUFFICIENT, NO_HISTORY)]
SHAPES: Mapping[type, str] = {
    SequenceProgram: "sequence",
    ThresholdProgram: "threshold",
    SilenceProgram: "silence",
    Combination: "combination",
    Spread: "spread",
}

HABITS = frozenset(name for name, _, _ in READINGS)
"""Readings about a person's use."""


@dataclass(frozen=True, slots=True)
class PartWhy(Record):
    """The detections of one part, oldest first. `elsewhere` belong to other histories of the subject."""

    part: str
    detections: tuple[Detection, ...]
    elsewhere: int = 0


@dataclass(frozen=True, slots=True)
class Fired(Record):
    """One firing: the event at which it fired or opened, and how severe it was."""

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
    """Whose histories to explain; `at` is the id of the event to look at."""

    subject: str
    target: str | None = None
    thread: str | None = None
    at: str | None = None

    def matches(self, history: Mapping[str, Value]) -> bool:
        """Whether a history has the target and the thread."""
        wanted = {"target": self.target, "thread": self.thread}
        return all(
            value is None or history.get(name, history.get(EXCHANGE)) == value
            for name, value in wanted.items()
        )


def why(
    question: Question,
    library: Library,
    batch: Batch,
    *,
    programs: Sequence[Program] | None = None,
    as_of: datetime | None = None,
    settings: Settings | None = None,
) -> tuple[Why, ...]:
    """Why the library's chosen patterns (or these programs) did or did not match in the histories.

    BadUsage where the subject or event is not in the input, with the nearest that is.
    """
    settings = settings or Settings()
    as_of = as_of or max((event.at for event in batch.events), default=EPOCH)
    events = [event for event in batch.events if event.at <= as_of]
    subjects = {event.subject for event in events}
    if question.subject not in subjects:
        near = did_you_mean(question.subject, subjects) or f": expected {_some(sorted(subjects))}"
        raise BadUsage(f"no subject {question.subject!r} in the input{near}")
    scored, unused, _ = counted_events(events, library.programs, settings)
    explainer = Explainer(library.programs, scored, as_of)
    if programs is None:
        programs = [program for program in library.programs if library.is_chosen(program)]
    answers = tuple(
        _with_scorers(_with_kinds(answer, program, explainer.events, settings), program, unused)
        for program in programs
        for answer in explainer.answers(program, question)
    )
    if question.at is not None and all(answer.answer == NO_HISTORY for answer in answers):
        _check_event(question.at, question.subject, events)
    return answers


def _with_kinds(answer: Why, program: Program, events: Sequence[Event], settings: Settings) -> Why:
    """The answer; of a pattern about use where the subject has none, with the setting that makes it use."""
    if answer.answer not in (INSUFFICIENT, NO_HISTORY) or HABITS.isdisjoint(names_used(program)):
        return answer
    kinds = sorted({event.kind for event in events if event.subject == answer.subject})
    wanted = usage_kinds(Options.of(settings))
    if not wanted.isdisjoint(kinds):
        return answer
    every = ", ".join([*sorted(wanted), *kinds])
    reason = f"every event is of kind {_some(kinds)}, none of kind {_some(sorted(wanted))}"
    hint = f"to count them as a person's use, set usage: {{kinds: [{every}]}} in ethogram.yaml"
    return replace(answer, reason=f"{reason}; {hint}")


def _with_scorers(answer: Why, program: Program, unused: Mapping[tuple[str, str], int]) -> Why:
    """The answer, with the readings of its signals in the input that do not count, and how to use them."""
    names = {*names_by_kind(program)[Signal], *names_by_kind(program)[Indicator]}
    counts: Counter[str] = Counter()
    for (signal, scorer), n in unused.items():
        if signal in names:
            counts[scorer] += n
    if answer.answer == FIRED or not counts:
        return answer
    left = [f"{n} by {scorer} (--scorer {shlex.quote(scorer)})" for scorer, n in sorted(counts.items())]
    hint = f"readings in the input that are not used: {', '.join(left)}"
    return replace(answer, reason=f"{answer.reason}; {hint}" if answer.reason else hint)


def _check_event(name: str, subject: str, events: Sequence[Event]) -> None:
    subjects = {event.id: event.subject for event in events}
    if name not in subjects:
        raise BadUsage(f"no event {name!r} in the input{did_you_mean(name, subjects)}")
    if subjects[name] != subject:
        raise BadUsage(f"event {name!r} is by {subjects[name]!r}, not by {subject!r}")


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}" or "no events"


class Explainer:
    """Programs and the events they run over; combinations are matched at the first use."""

    def __init__(
        self, programs: Sequence[Program], events: Sequence[Event], as_of: datetime, cap: int = CAP
    ) -> None:
        self.programs, self.events, self.as_of, self.cap = programs, events, as_of, cap
        self._detections: list[Detection] | None = None

    def answers(self, program: Program, question: Question) -> Iterator[Why]:
        """An answer for each history, or one that says why there is none."""
        for name in ("target", "thread"):
            if getattr(question, name) is not None and not {name, EXCHANGE} & {*program.group_by}:
                keys = ", ".join(program.group_by)
                raise BadUsage(f"{program.name} groups by {keys}: --{name} does not apply")
        if program.is_combination and question.at is not None:
            raise BadUsage(f"{program.name} combines other detections: use --at with one of its parts")
        make = self._of_detections if program.is_combination else self._of_events
        yield from list(make(program, question)) or [self._no_history(program, question)]

    def _of_events(self, program: Program, question: Question) -> Iterator[Why]:
        own = [event for event in self.events if event.subject == question.subject]
        outcome = run([program], own, as_of=micros(self.as_of), cap=self.cap)
        for history in histories(program, own, self.cap):
            key = dict(zip(program.group_by, history.key, strict=True))
            position = next((i for i, event in enumerate(history.events) if event.id == question.at), None)
            if question.matches(key) and (question.at is None or position is not None):
                yield self._of_history(program, history, key, position, outcome)

    def _of_history(
        self, program: Program, history: History, key: Mapping[str, Value], at: int | None, outcome: Outcome
    ) -> Why:
        here = (history.source, history.key)
        matches = [match for match in outcome.matches if (match.source, match.key) == here]
        lacking = next((group for group in outcome.unjudged if here in group.keys), None)
        shape: dict[str, Any] = {}
        if history.timed or not program.timed_only:
            positions = {event.id: i for i, event in enumerate(history.events)}
            fired = [positions[match.fired.id] for match in matches]
            match program.body:
                case SequenceProgram() as body:
                    shape = {"sequence": why_sequence(program, body, history, at)}
                case ThresholdProgram() as body:
                    shape = {"threshold": why_threshold(body, history, fired, at)}
                case SilenceProgram() as body:
                    shape = {"silence": why_silence(program, body, history, micros(self.as_of), at)}
                case _:
                    raise TypeError(f"no answer for {type(program.body).__name__}")
        reason = "" if lacking is None else lacking.reason
        if lacking is not None and lacking.need > history.n:
            reason += f" (have {history.n}, need {lacking.need})"
        return _why(
            program,
            history.source,
            key,
            events=len(history.events),
            timed=history.timed,
            answer=FIRED if matches else INSUFFICIENT if lacking else QUIET,
            reason=reason,
            fired=tuple(
                Fired(match.fired.id, moment(match.detected_at), match.severity, match.confidence)
                for match in matches
            ),
            **shape,
        )

    def _of_detections(self, program: Program, question: Question) -> Iterator[Why]:
        if self._detections is None:
            self._detections = find(self.programs, self.events, as_of=self.as_of, cap=self.cap).detections
        detections, body = self._detections, program.body
        own = [
            d for d in detections if d.subject == question.subject and parts_meant(program.parts, d.pattern)
        ]
        for key in sorted({key for d in own if (key := key_of(program, d)) is not None}):
            history = dict(zip(program.group_by, key[1:], strict=True))
            if not question.matches(history):
                continue
            if isinstance(body, Combination):
                parts, limits = why_combination(program, body, own, key)
            else:
                assert isinstance(body, Spread)
                met = contacts(sequence_of(self.events), detections, self.as_of)
                parts, limits = why_spread(body, detections, (key[0], key[1]), met)
            fired = [d for d in detections if d.pattern == program.name and key_of(program, d) == key]
            events = [e for e in self.events if e.source == key[0] and is_in(history, e)]
            timed = all(event.timed for event in events)
            lacking = program.timed_only and not timed
            yield _why(
                program,
                key[0],
                history,
                events=len(events),
                timed=timed,
                answer=FIRED if fired else INSUFFICIENT if lacking else QUIET,
                reason=NO_TIMES if lacking else "",
                fired=tuple(Fired(d.fired_event, d.detected_at, d.severity, d.confidence) for d in fired),
                parts=parts,
                limits=limits,
            )

    def _no_history(self, program: Program, question: Question) -> Why:
        subject = question.subject
        own = [event for event in self.events if event.subject == subject]
        keys = [name for name in program.group_by if name != "subject"]
        wanted = [f"{name} {getattr(question, name)!r}" for name in keys if getattr(question, name, None)]
        wanted += [] if question.at is None else [f"event {question.at!r}"]
        if program.is_combination:
            reason = f"none of its parts was detected: {', '.join(program.parts)}"
        elif not any(belongs(program, event) for event in own):
            names = _some(program.signals) if program.signals else "a trait or indicator"
            reason = f"no event by {subject} has a reading of {names}"
        elif wanted:
            reason = f"no history of {subject} with {' and '.join(wanted)} has the signals of the pattern"
        else:
            reason = f"no event by {subject} has {' and '.join(keys)}, which the pattern groups by"
        return _why(
            program,
            own[0].source,
            {"subject": subject},
            events=len(own),
            timed=own[0].timed,
            answer=NO_HISTORY,
            reason=reason,
        )


def _why(program: Program, source: str, key: Mapping[str, Value], **fields: Any) -> Why:
    return Why(
        pattern=program.name,
        title=program.title,
        shape=SHAPES[type(program.body)],
        source=source,
        subject=str(key["subject"]),
        history=dict(key),
        **fields,
    )


def why_combination(
    program: Program, body: Combination, detections: Sequence[Detection], key: tuple[str, ...]
) -> tuple[tuple[PartWhy, ...], tuple[Limit, ...]]:
    """Parts of one history (its source and key values), and the limits that held or failed."""
    parts = []
    for part in body.parts:
        every = [item for item in detections if parts_meant((part,), item.pattern)]
        here = [item for item in every if key_of(program, item) == key]
        parts.append(PartWhy(part, tuple(here), len(every) - len(here)))
    if missing := _missing(parts):
        return tuple(parts), missing
    if body.kind == "any_of":
        limits = [Limit("there", True, "any detection of a part is enough")]
    else:
        limits = _all_of(body, parts) if body.kind == "all_of" else _in_order(body, parts)
    return tuple(parts), tuple(limits)


def _missing(parts: Sequence[PartWhy]) -> tuple[Limit, ...]:
    return tuple(
        Limit("there", False, f"no detection of {part.part}") for part in parts if not part.detections
    )


def _all_of(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    """The newest detection of every part against `within` and `overlapping`."""
    newest = [part.detections[-1] for part in parts]
    limits = [_within(body, newest)]
    if body.overlapping:
        last = max(item.detected_at for item in newest)
        ends = [(d.closed_at, d.id, d) for d in newest if d.closed_at is not None and d.closed_at <= last]
        latest = max(newest, key=lambda item: (item.opened_at, item.id))
        if ends:
            closed_at, _, ended = min(ends, key=lambda end: end[:2])
            text = f"{latest.pattern} opened at {format_time(latest.opened_at)}; "
            text += f"{ended.pattern} had closed at {format_time(closed_at)}"
            limits.append(Limit("overlapping", latest.opened_at <= closed_at, text))
        else:
            limits.append(Limit("overlapping", True, "all were open together"))
    return limits


def _in_order(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    """Where the order breaks off; or the chain that ends last against `within`."""
    first: Detection | None = None
    for part in parts:
        following = [d for d in part.detections if first is None or d.detected_at > first.detected_at]
        if first is not None and not following:
            text = f"no {part.part} after {first.pattern} at {format_time(first.detected_at)}"
            return [Limit("order", False, text)]
        first = following[0]
    # Backwards from the end, as the shape is matched: the latest of each part before the next.
    chain = [parts[-1].detections[-1]]
    for part in reversed(parts[:-1]):
        chain.append([d for d in part.detections if d.detected_at < chain[-1].detected_at][-1])
    return [Limit("order", True, "each came after the one before"), _within(body, chain)]


def _within(body: Combination, detections: list[Detection]) -> Limit:
    times = [micros(item.detected_at) for item in detections]
    apart = max(times) - min(times)
    text = f"{how_long(apart)} from first to last"
    if body.within is None:
        return Limit("within", True, f"{text}; no limit")
    return Limit("within", apart <= body.within, f"{text}; at most {format_duration(body.within)}")


def why_spread(
    body: Spread, detections: Sequence[Detection], subject: tuple[str, str], met: Contacts
) -> tuple[tuple[PartWhy, ...], tuple[Limit, ...]]:
    """The starts in a subject (its source and name), and whether others were reached from them."""
    source, name = subject
    local = [d for d in detections if d.source == source]
    first = [d for d in local if parts_meant((body.first,), d.pattern) and d.subject == name]
    then = [d for d in local if parts_meant((body.then,), d.pattern) and d.subject != name]
    parts = (PartWhy(body.first, tuple(first)), PartWhy(body.then, tuple(then)))
    if missing := _missing(parts):
        return parts, missing
    best = max(
        ([_reached(body, start, end, met) for end in then] for start in first),
        key=lambda limits: sum(limit.holds for limit in limits),
    )
    reached = len({end.subject for end, limit in zip(then, best, strict=True) if limit.holds})
    text = f"{reached} other subject{'' if reached == 1 else 's'} reached; at least {body.at_least} needed"
    return parts, (*best, Limit("at_least", reached >= body.at_least, text))


def _reached(body: Spread, start: Detection, end: Detection, met: Contacts) -> Limit:
    apart = micros(end.detected_at) - micros(start.detected_at)
    times = met.get((start.source, start.subject, end.subject), [])
    between = [at for at in times if start.detected_at <= at <= end.detected_at]
    if apart <= 0:
        text = f"not after the start at {format_time(start.detected_at)}"
    elif apart > body.within:
        text = f"{how_long(apart)} after the start; at most {format_duration(body.within)}"
    elif not between:
        text = "no event between the two since the start"
    else:
        text = f"in touch at {format_time(between[0])}"
    holds = 0 < apart <= body.within and bool(between)
    return Limit("reached", holds, f"{end.subject} at {format_time(end.detected_at)}: {text}")
