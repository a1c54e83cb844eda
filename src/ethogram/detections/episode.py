"""Episodes of the live runner to detections: the same record as of any other runner."""

from __future__ import annotations

from ..records import Detection, Evidence, detection_id, moment
from ..shapes.program import LevelProgram, SequenceProgram, SilenceProgram
from ..shapes.stream.record import Episode
from ..shapes.tree import Expr
from .detect import key_field, readings_of, scorers_of
from .in_code import spoken


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
