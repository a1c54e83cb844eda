"""Combinations: detections together, in order, or any of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..records import Detection, Evidence, detection_id, micros
from ..shapes.explanation import write
from ..shapes.program import Program
from ..shapes.tree import Combination, Slot
from .values import Values, read_confidence, read_details, read_level, read_slot

Key = tuple[str, ...]


def combine(program: Program, detections: Iterable[Detection]) -> list[Detection]:
    """The combination's own detections, from those of its parts in output order."""
    body = program.body
    assert isinstance(body, Combination)
    joined: dict[Key, list[tuple[str, Detection]]] = {}
    for one in sorted(detections, key=lambda d: d.order):
        part = part_of(body.parts, one.pattern)
        key = key_of(program, one)
        if part is not None and key is not None and one.state in ("opened", "closed"):
            joined.setdefault(key, []).append((part, one))
    fire = {"all_of": _all_of, "in_order": _in_order, "any_of": _any_of}[body.kind]
    return [_detection(program, parts) for seen in joined.values() for parts in fire(body, seen)]


def part_of(parts: Sequence[str], pattern: str) -> str | None:
    """The part a detection's pattern stands for: its name, or that of its for_each pattern."""
    if pattern in parts:
        return pattern
    base = pattern.partition(".")[0]
    return base if base in parts and "@" not in pattern else None


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


def _all_of(body: Combination, seen: Parts) -> list[Parts]:
    fired: list[Parts] = []
    newest: dict[str, Detection] = {}
    for part, one in seen:
        newest[part] = one
        if len(newest) < len(body.parts) or not _together(body, newest, one):
            continue
        fired.append(sorted(newest.items(), key=lambda item: item[1].order))
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


def _in_order(body: Combination, seen: Parts) -> list[Parts]:
    """A sequence with one place per part, each strictly later than the one before."""
    fired: list[Parts] = []
    last_fired = -1
    standing: list[list[tuple[int, list[int]]]] = [[] for _ in body.parts]
    for at, (part, one) in enumerate(seen):
        for i in range(len(body.parts) - 1, -1, -1):
            if body.parts[i] != part:
                continue
            chain: list[int] | None = [at]
            if i:
                earlier = next(
                    (c for t, c in reversed(standing[i - 1]) if seen[t][1].detected_at < one.detected_at),
                    None,
                )
                chain = None if earlier is None else [*earlier, at]
            if chain is None:
                continue
            standing[i].append((at, chain))
            if i == len(body.parts) - 1 and chain[0] > last_fired and _in_time(body, seen, chain):
                fired.append([seen[t] for t in chain])
                last_fired = at
    return fired


def _in_time(body: Combination, seen: Parts, chain: list[int]) -> bool:
    first, last = seen[chain[0]][1], seen[chain[-1]][1]
    return body.within is None or micros(last.detected_at) - micros(first.detected_at) <= body.within


def _any_of(body: Combination, seen: Parts) -> list[Parts]:
    return [[one] for one in seen]


def raised(confidence: float, multiplier: float) -> float:
    """A confidence whose odds are multiplied.

    >>> raised(0.5, 2.0)
    0.666667
    """
    return round(multiplier * confidence / (1 - confidence + multiplier * confidence), 6)


def _detection(program: Program, parts: Parts) -> Detection:
    body = program.body
    assert isinstance(body, Combination)
    first, last = parts[0][1], parts[-1][1]
    values: Values = {f"{part}.confidence": one.confidence for part, one in parts}
    evidence = tuple(
        Evidence(part, one.last_event, one.detected_at, {"confidence": one.confidence}) for part, one in parts
    )
    highest = raised(max(one.confidence for _, one in parts), body.multiplier)
    return assemble(program, last, first.first_event, values, evidence, highest, [one for _, one in parts])


def assemble(
    program: Program,
    last: Detection,
    first_event: str,
    values: Values,
    evidence: tuple[Evidence, ...],
    highest: float,
    parts: list[Detection],
) -> Detection:
    """The detection of a combination whose last part is `last`."""
    key = tuple(last.history[name] for name in program.history)
    values = values | {name: last.history.get(name) for name in ("subject", "target", "thread")}
    confidence = highest if program.confidence is None else read_confidence(program.confidence, values)
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
        first_event=first_event,
        last_event=last.last_event,
        count=len(evidence),
        evidence=evidence,
        details=read_details(program.details, values),
        confirms=program.confirms,
        scorer=", ".join(sorted({one.scorer for one in parts})),
        explanation=_explain(program.explanation, values, parts),
        recommendation=program.recommendation,
        source=last.source,
        title=program.title,
        cause=program.cause,
        status=program.status,
        history={name: last.history[name] for name in program.history},
        parts=tuple(one.id for one in parts),
    )


def _field(program: Program, one: Detection, name: str) -> str | None:
    return str(one.history[name]) if name in program.history else None


def _explain(pieces: tuple[str | Slot, ...], values: Values, parts: list[Detection]) -> str:
    written = [
        write(read_slot(piece.of, values), piece.form) if isinstance(piece, Slot) else piece
        for piece in pieces
    ]
    return "".join(written) or " ".join(one.explanation for one in parts)
