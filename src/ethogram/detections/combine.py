"""Combinations: detections together, in order, or any of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..records import Detection, Evidence, detection_id, micros
from ..shapes.explanation import write
from ..shapes.program import Program
from ..shapes.tree import Combination, Slot
from .values import Values, read_confidence, read_details, read_level, read_slot

Key = tuple[str, ...]
SEEN = ("opened", "closed")
"""States of detections that combinations see: withdrawn and superseded ones are as if they had not been."""


def combine(program: Program, detections: Iterable[Detection]) -> list[Detection]:
    """The combination's own detections, from those of its parts in output order."""
    body = program.body
    assert isinstance(body, Combination)
    joined: dict[Key, list[Detection]] = {}
    for one in sorted(detections, key=lambda d: d.order):
        key = key_of(program, one)
        if key is not None and parts_meant(body.parts, one.pattern) and one.state in SEEN:
            joined.setdefault(key, []).append(one)
    fire = {"all_of": _all_of, "in_order": _in_order, "any_of": _any_of}[body.kind]
    return [_detection(program, parts) for seen in joined.values() for parts in fire(body, seen)]


def parts_meant(parts: Sequence[str], pattern: str) -> list[str]:
    """The parts that mean a pattern: by its name, or by that of its for_each pattern.

    >>> parts_meant(["spiral", "spiral.tokens", "loop"], "spiral.tokens")
    ['spiral', 'spiral.tokens']
    """
    whole, at, early = pattern.partition("@")
    return [part for part in parts if part in (pattern, whole.partition(".")[0] + at + early)]


def key_of(program: Program, one: Detection) -> Key | None:
    """The values a detection is joined on, its source first; None where it lacks one."""
    values = [one.source]
    for name in program.history:
        value = one.history.get(name)
        if value is None:
            return None
        values.append(str(value))
    return tuple(values)


Parts = list[tuple[str, Detection]]


def _all_of(body: Combination, seen: Sequence[Detection]) -> list[Parts]:
    fired: list[Parts] = []
    newest: dict[str, Detection] = {}
    for one in seen:
        newest |= dict.fromkeys(parts_meant(body.parts, one.pattern), one)
        if len(newest) < len(body.parts) or not _together(body, newest, one):
            continue
        # Of one detection that is two parts, the order of the file.
        listed = [(part, newest[part]) for part in body.parts]
        fired.append(sorted(listed, key=lambda item: item[1].order))
        newest = {}
    return fired


def _together(body: Combination, newest: dict[str, Detection], last: Detection) -> bool:
    times = [micros(one.detected_at) for one in newest.values()]
    if body.within is not None and max(times) - min(times) > body.within:
        return False
    if not body.overlapping:
        return True
    ends = [
        one.closed_at
        for one in newest.values()
        if one.closed_at is not None and one.closed_at <= last.detected_at
    ]
    return not ends or max(one.opened_at for one in newest.values()) <= min(ends)


def _in_order(body: Combination, seen: Sequence[Detection]) -> list[Parts]:
    """A sequence with one place per part, each strictly later than the one before."""
    fired: list[Parts] = []
    last_fired = -1
    standing: list[list[tuple[int, ...]]] = [[] for _ in body.parts]
    for at, one in enumerate(seen):
        meant = parts_meant(body.parts, one.pattern)
        for i in range(len(body.parts) - 1, -1, -1):
            chain = _chain(standing, seen, i, at) if body.parts[i] in meant else None
            if chain is None:
                continue
            standing[i].append(chain)
            if i == len(body.parts) - 1 and chain[0] > last_fired and _in_time(body, seen, chain):
                fired.append([(part, seen[t]) for part, t in zip(body.parts, chain, strict=True)])
                last_fired = at
    return fired


def _chain(
    standing: list[list[tuple[int, ...]]], seen: Sequence[Detection], i: int, at: int
) -> tuple[int, ...] | None:
    """The positions of parts 0..i where part i stands at a detection, or None where it does not."""
    if i == 0:
        return (at,)
    before = (c for c in reversed(standing[i - 1]) if seen[c[-1]].detected_at < seen[at].detected_at)
    earlier = next(before, None)
    return None if earlier is None else (*earlier, at)


def _in_time(body: Combination, seen: Sequence[Detection], chain: tuple[int, ...]) -> bool:
    first, last = seen[chain[0]], seen[chain[-1]]
    return body.within is None or micros(last.detected_at) - micros(first.detected_at) <= body.within


def _any_of(body: Combination, seen: Sequence[Detection]) -> list[Parts]:
    return [[(parts_meant(body.parts, one.pattern)[0], one)] for one in seen]


def raised(confidence: float, multiplier: float) -> float:
    """A confidence whose odds are multiplied.

    >>> raised(0.5, 2.0)
    0.666667
    """
    return round(multiplier * confidence / (1 - confidence + multiplier * confidence), 6)


def _detection(program: Program, parts: Parts) -> Detection:
    body = program.body
    assert isinstance(body, Combination)
    return assemble(program, body.multiplier, parts, last=parts[-1][1])


def assemble(program: Program, multiplier: float, parts: Parts, last: Detection) -> Detection:
    """The detection of a combination; key, id and times are those of `last`.

    Parts count as they were when they were detected, so that live and batch agree.
    """
    key = tuple(last.history[name] for name in program.history)
    ones = [one for _, one in parts]
    values: Values = {name: last.history.get(name) for name in ("subject", "target", "thread")}
    for part, one in parts:
        name = f"{part}.confidence"
        values[name] = max(values.get(name, 0.0), one.fired_confidence)
    highest = raised(max(one.fired_confidence for one in ones), multiplier)
    confidence = highest if program.confidence is None else read_confidence(program.confidence, values)
    evidence = tuple(
        Evidence(part, one.fired_event, one.detected_at, {"confidence": one.fired_confidence})
        for part, one in parts
    )
    return Detection(
        id=detection_id(program.name, last.source, key, last.id),
        pattern=program.name,
        version=program.version,
        state="closed",
        subject=last.subject,
        target=_field(program, last, "target"),
        thread=_field(program, last, "thread"),
        level=read_level(program.levels, values),
        confidence=confidence,
        opened_at=last.detected_at,
        detected_at=last.detected_at,
        closed_at=last.detected_at,
        first_event=parts[0][1].first_event,
        last_event=parts[-1][1].fired_event,
        count=len(evidence),
        evidence=evidence,
        details=read_details(program.details, values),
        confirms=program.confirms,
        scorer=", ".join(sorted({one.scorer for one in ones})),
        explanation=_explain(program, values),
        recommendation=program.recommendation,
        source=last.source,
        title=program.title,
        cause=program.cause,
        status=program.status,
        history={name: last.history[name] for name in program.history},
        parts=tuple(one.id for one in ones),
        fired_event=parts[-1][1].fired_event,
        fired_confidence=confidence,
        last_at=parts[-1][1].detected_at,
    )


def _field(program: Program, one: Detection, name: str) -> str | None:
    return str(one.history[name]) if name in program.history else None


def _explain(program: Program, values: Values) -> str:
    written = [
        write(read_slot(piece.of, values), piece.form) if isinstance(piece, Slot) else piece
        for piece in program.explanation
    ]
    return "".join(written) or f"{values['subject']}: {program.title}."
