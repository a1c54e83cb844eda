"""Matches to detections: the only place that builds a Detection."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

from ..language.ast import Expr, Indicator, Signal, Slot
from ..language.history import CAP
from ..language.program import LevelProgram, Program, SequenceProgram, SilenceProgram
from ..language.templates import write
from ..language.visitor import named, walk
from ..models import GIVEN, Detection, Event, Evidence, Value, detection_id, moment
from ..patterns.code_patterns import TOLD
from .evaluate import reader
from .evidence import counted
from .live.episode import Episode
from .match import Finding

# Detections of patterns in code: what the code told takes the place of what an expression would say.


def spoken(made: Detection) -> Detection:
    """The detection with the details, evidence and explanation that its code told; itself for all others."""
    if TOLD not in made.details:
        return made
    said = _said(made.details[TOLD])
    known = {one.event for one in made.evidence}
    counted = [one for one in _evidence(said.get("evidence")) if one.event not in known]
    details, explanation = said.get("details"), said.get("explanation")
    return replace(
        made,
        details=details if isinstance(details, dict) else {},
        evidence=tuple(sorted((*counted, *made.evidence), key=lambda one: one.at)),
        explanation=explanation if isinstance(explanation, str) and explanation else made.explanation,
    )


def _said(text: object) -> Mapping[str, Any]:
    """What a text of JSON says; nothing where it is none: a supplied reading may be anything."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _evidence(given: object) -> Iterator[Evidence]:
    for one in given if isinstance(given, list) else ():
        match one:
            case [str(event), int(us), dict(readings)] if abs(us) < 2**56:
                yield Evidence("counted", event, moment(us), readings)


# Findings to detections: evidence, details and the sentence a person reads.

MOST_TEXT = 200


class Measured(Protocol):
    """An event, or what the live runner keeps of one."""

    @property
    def readings(self) -> Mapping[str, Value]: ...
    @property
    def scorers(self) -> Mapping[str, str]: ...
    @property
    def widths(self) -> Mapping[str, int]: ...


def detection(finding: Finding, cap: int = CAP) -> Detection:
    """The detection a finding amounts to."""
    program, history = finding.program, finding.history
    fired = history.events[finding.fired]
    evidence = evidence_events(finding, cap)
    made = Detection(
        id=detection_id(program.name, history.source, history.key, fired.id),
        pattern=program.name,
        version=program.version,
        state="opened" if finding.closed_at is None else "closed",
        subject=fired.subject,
        target=key_field(program, history.key, "target"),
        thread=key_field(program, history.key, "thread"),
        level=finding.level,
        confidence=finding.confidence,
        opened_at=moment(finding.opened_at),
        detected_at=moment(finding.detected_at),
        closed_at=None if finding.closed_at is None else moment(finding.closed_at),
        first_event=history.events[finding.first].id,
        last_event=history.events[finding.last].id,
        count=finding.count,
        evidence=tuple(
            Evidence(step, event.id, event.at, readings_of(event, condition))
            for step, event, condition in evidence
        ),
        details=details(program, finding, cap),
        confirms=program.confirms,
        scorer=scorers_of(program, [event for _, event, _ in evidence]),
        explanation=explain(program, finding, cap),
        recommendation=program.recommendation,
        source=history.source,
        title=program.title,
        cause=program.cause,
        status=program.status,
        history=dict(zip(program.history, history.key, strict=True)),
        fired_event=fired.id,
        fired_confidence=finding.fired_confidence,
        last_at=history.events[finding.last].at,
    )
    return spoken(made)


def key_field(program: Program, key: tuple[Value, ...], name: str) -> str | None:
    """The target or thread a history is about, or None where it is about more than one."""
    if name not in program.history:
        return None
    return str(key[program.history.index(name)])


def details(program: Program, finding: Finding, cap: int) -> dict[str, Any]:
    """The pattern's own named values, read at the peak and rounded to 6 places; absent ones are None."""
    return {
        name: _rounded(reader(expr, cap)(finding.history, finding.peak, finding.chain))
        for name, expr in program.details
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def explain(program: Program, finding: Finding, cap: int) -> str:
    """The explanation with its holes filled, or the pattern's title where it has none."""
    pieces = []
    for piece in program.explanation:
        if isinstance(piece, Slot):
            value = reader(piece.of, cap)(finding.history, finding.peak, finding.chain)
            pieces.append(write(value, piece.form if not isinstance(value, str) else "")[:MOST_TEXT])
        else:
            pieces.append(piece)
    return "".join(pieces) or f"{finding.history.events[finding.peak].subject}: {program.title}."


# --- evidence -------------------------------------------------------------------------------


def evidence_events(finding: Finding, cap: int) -> list[tuple[str, Event, Expr | None]]:
    """(step, event, the condition it counted for), in the order evidence is listed."""
    body, events = finding.program.body, finding.history.events
    if isinstance(body, SequenceProgram):
        conditions = {place.step: place.condition for place in body.places}
        conditions |= {one.step: one.condition for one in body.optionals}
        matched = [(at, step) for step, positions in finding.chain.items() for at in positions]
        return [(step, events[at], conditions[step]) for at, step in sorted(matched)]
    if isinstance(body, SilenceProgram):
        return [("before", events[finding.fired], body.after)]
    assert isinstance(body, LevelProgram)
    found = [("counted", event) for event in counted(body, finding.history, finding.fired, cap)]
    found.append(("opened", events[finding.fired]))
    if finding.peak != finding.fired:
        found.append(("peak", events[finding.peak]))
    return [(step, event, body.when) for step, event in found]


def readings_of(event: Measured, condition: Expr | None) -> Mapping[str, Value]:
    """The readings on an event that a condition names; indicators only where they were found."""
    if condition is None:
        return {}
    names, indicators = _names(condition)
    found = ((name, event.readings.get(name)) for name in names)
    return {
        name: value for name, value in found if value is not None and not (value == 0 and name in indicators)
    }


@lru_cache(maxsize=4096)
def _names(condition: Expr) -> tuple[tuple[str, ...], frozenset[str]]:
    """The signals and indicators a condition names, sorted, and which of them are indicators."""
    names = {one.name for one in walk(condition) if isinstance(one, (Signal, Indicator))}
    return tuple(sorted(names)), frozenset(named(condition, Indicator))


def scorers_of(program: Program, events: Sequence[Measured]) -> str:
    """Who measured what counted, with the context widths where known: 'local@3/4, local@3/20'."""
    found = set()
    for event in events:
        if not event.scorers and not event.widths:
            if GIVEN not in found and any(
                name in event.readings for name in program.signals or event.readings
            ):
                found.add(GIVEN)
            continue
        for name in program.signals or event.readings:
            if name in event.readings:
                scorer, width = event.scorers.get(name, GIVEN), event.widths.get(name)
                found.add(scorer if width is None else f"{scorer}/{width}")
    return ", ".join(sorted(found)) or GIVEN


# Episodes of the live runner to detections: the same record as of any other runner.


def detection_of(one: Episode) -> Detection:
    """The detection an episode amounts to, as it is now."""
    program = one.program
    history = dict(zip(program.history, one.key, strict=True))
    made = Detection(
        id=detection_id(program.name, one.source, one.key, one.fired.id),
        pattern=program.name,
        version=program.version,
        state="opened" if one.closed_at is None else "closed",
        subject=str(history["subject"]),
        target=key_field(program, one.key, "target"),
        thread=key_field(program, one.key, "thread"),
        level=one.level,
        confidence=one.confidence,
        opened_at=moment(one.opened_at),
        detected_at=moment(one.detected_at),
        closed_at=None if one.closed_at is None else moment(one.closed_at),
        first_event=one.first,
        last_event=one.last,
        count=one.count,
        evidence=tuple(
            Evidence(step, mark.id, mark.at, readings_of(mark, _condition(one, step)))
            for step, mark in one.evidence
        ),
        details=one.details,
        confirms=program.confirms,
        scorer=scorers_of(program, [mark for _, mark in one.evidence]),
        explanation=one.explanation,
        recommendation=program.recommendation,
        source=one.source,
        title=program.title,
        cause=program.cause,
        status=program.status,
        history=history,
        fired_event=one.fired.id,
        fired_confidence=one.fired_confidence,
        last_at=moment(one.last_at),
    )
    return spoken(made)


def _condition(one: Episode, step: str) -> Expr | None:
    """The condition an event of a step counted for."""
    match one.program.body:
        case SequenceProgram() as body:
            conditions = {place.step: place.condition for place in body.places}
            conditions |= {optional.step: optional.condition for optional in body.optionals}
            return conditions[step]
        case LevelProgram() as body:
            return body.when
        case SilenceProgram() as body:
            return body.after
    return None
