"""Matches to detections: the only place that builds a Detection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..language.ast import Expr, Indicator, Signal
from ..language.history import EXCHANGE
from ..language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ..language.visitor import named, walk
from ..models import INPUT_SCORER, Detection, Event, Evidence, Value, detection_id, is_evaluated, moment
from ..patterns.code_patterns import RECORD_DETAIL
from .match import Match


def spoken(made: Detection) -> Detection:
    """Apply the details, evidence and explanation that a code pattern returned; no-op for other patterns."""
    if RECORD_DETAIL not in made.details:
        return made
    record = _parse_record(made.details[RECORD_DETAIL])
    known = {item.event for item in made.evidence}
    counted = [item for item in _evidence(record.get("evidence")) if item.event not in known]
    details, explanation = record.get("details"), record.get("explanation")
    return replace(
        made,
        details=details if isinstance(details, dict) else {},
        evidence=tuple(sorted((*counted, *made.evidence), key=lambda item: item.at)),
        explanation=explanation if isinstance(explanation, str) and explanation else made.explanation,
    )


def _parse_record(text: object) -> Mapping[str, Any]:
    """Parse a JSON object; empty where the text is none, since a supplied reading may be anything."""
    try:
        record = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _evidence(value: object) -> Iterator[Evidence]:
    for item in value if isinstance(value, list) else ():
        match item:
            case [str(event), int(us), dict(readings)] if abs(us) < 2**56:
                yield Evidence("counted", event, moment(us), readings)


def build(
    match: Match, fired: str, evidence: tuple[Evidence, ...], scorer: str, parts: tuple[str, ...] = ()
) -> Detection:
    """The detection of a match; `fired` is what its id depends on."""
    program = match.program
    history = dict(zip(program.group_by, match.key, strict=True))
    if EXCHANGE in history:
        history["target" if match.fired.thread is None else "thread"] = history.pop(EXCHANGE)
    return Detection(
        id=detection_id(program.name, match.source, match.key, fired),
        pattern=program.name,
        version=program.version,
        state="opened" if match.closed_at is None else "closed",
        subject=str(history["subject"]),
        # None where a history has several.
        target=str(history["target"]) if "target" in history else None,
        thread=str(history["thread"]) if "thread" in history else None,
        severity=match.severity,
        confidence=match.confidence,
        opened_at=moment(match.opened_at),
        detected_at=moment(match.detected_at),
        closed_at=None if match.closed_at is None else moment(match.closed_at),
        first_event=match.first,
        last_event=match.last,
        count=match.count,
        evidence=evidence,
        details=match.details,
        confirms=program.confirms,
        scorer=scorer,
        explanation=match.explanation,
        recommendation=program.recommendation,
        source=match.source,
        title=program.title,
        cause=program.cause,
        status=program.status,
        history=history,
        parts=parts,
        fired_event=match.fired.id,
        fired_confidence=match.fired_confidence,
        last_at=moment(match.last_at),
    )


def detection_of(match: Match) -> Detection:
    """The detection for a match in its current state."""
    program, conditions = match.program, _conditions(match.program)
    evidence = tuple(
        Evidence(step, event.id, event.at, readings_of(event, conditions.get(step, conditions[""])))
        for step, event in match.evidence
    )
    scorer = scorers_of(program, [event for _, event in match.evidence])
    return spoken(build(match, match.fired.id, evidence, scorer))


def _conditions(program: Program) -> dict[str, Expr | None]:
    """The condition an event of a step counted for, by step; under "" that of all others."""
    match program.body:
        case SequenceProgram() as body:
            steps: dict[str, Expr | None] = {place.step: place.condition for place in body.places}
            return steps | {optional.step: optional.condition for optional in body.optionals} | {"": None}
        case ThresholdProgram() as body:
            return {"": body.when}
        case SilenceProgram() as body:
            return {"": body.after}
    return {"": None}


def readings_of(event: Event, condition: Expr | None) -> Mapping[str, Value]:
    """The readings on an event that a condition names; indicators only where they are above 0."""
    if condition is None:
        return {}
    names, indicators = _names(condition)
    read = event.readings.get
    return {
        name: value
        for name in names
        if (value := read(name)) is not None and not (value == 0 and name in indicators)
    }


@lru_cache(maxsize=4096)
def _names(condition: Expr) -> tuple[tuple[str, ...], frozenset[str]]:
    """The signals and indicators a condition names, sorted, and which of them are indicators."""
    names = {item.name for item in walk(condition) if isinstance(item, (Signal, Indicator))}
    return tuple(sorted(names)), frozenset(named(condition, Indicator))


def scorers_of(program: Program, events: Sequence[Event]) -> str:
    """The scorers of the evidence, with context widths where known: 'local@3/4, local@3/20'."""
    scorers = set()
    for event in events:
        names: Iterable[str] = program.signals or event.readings
        if program.evaluated and not program.signals:
            # What was measured for other patterns says nothing here.
            names = [name for name in event.readings if is_evaluated({name: 1})]
        if not event.scorers and not event.widths:
            if INPUT_SCORER not in scorers and any(name in event.readings for name in names):
                scorers.add(INPUT_SCORER)
            continue
        for name in names:
            if name in event.readings:
                scorer, width = event.scorers.get(name, INPUT_SCORER), event.widths.get(name)
                scorers.add(scorer if width is None else f"{scorer}/{width}")
    return ", ".join(sorted(scorers)) or INPUT_SCORER
