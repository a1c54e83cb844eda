"""Combinations: detections together, in order, or any of several; in batch and live."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..language.ast import Attribute, Combination, Expr, Slot
from ..language.history import History
from ..language.program import Program
from ..language.templates import write
from ..models import EPOCH, Detection, Event, Evidence, micros
from ..models.detection import STANDING
from .detections import build
from .evaluate import number, reader

# Expressions of combinations: they see the confidences of their parts, and no events.

Values = dict[str, Any]


def _read(expr: Expr, values: Values) -> Any:
    # An empty event stands in for the one that a combination does not have.
    subject, target, thread = (values.get(name) for name in ("subject", "target", "thread"))
    event = Event("", EPOCH, str(subject or ""), target=target, thread=thread)
    history = History((), "", True, [event], [0], [False])
    return reader(expr)(history, 0, {"." + name: value for name, value in values.items()})


def read_confidence(expr: Expr, values: Values) -> float:
    """0..1; absent is 0."""
    value = number(_read(expr, values))
    return 0.0 if value is None else round(min(1.0, max(0.0, value)), 6)


def read_severity(severities: tuple[tuple[str, Expr | None], ...], values: Values) -> str:
    """The highest severity whose condition holds, else the lowest listed."""
    for name, condition in reversed(severities):
        if condition is None or _read(condition, values) is True:
            return name
    return severities[0][0]


def read_details(details: tuple[tuple[str, Expr], ...], values: Values) -> dict[str, Any]:
    """The named values, rounded to 6 places."""
    found = {name: _read(expr, values) for name, expr in details}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in found.items()}


def read_slot(expr: Expr, values: Values) -> Any:
    """A value for the explanation."""
    if isinstance(expr, Attribute) and expr.name in values:
        return values[expr.name]
    return _read(expr, values)


# Combinations: detections together, in order, or any of several.

Key = tuple[str, ...]


def combine(program: Program, detections: Iterable[Detection]) -> list[Detection]:
    """The combination's own detections, from those of its parts in output order."""
    body = program.body
    assert isinstance(body, Combination)
    joined: dict[Key, list[Detection]] = {}
    for detection in sorted(detections, key=lambda d: d.order):
        key = key_of(program, detection)
        if key is not None and parts_meant(body.parts, detection.pattern) and detection.state in STANDING:
            joined.setdefault(key, []).append(detection)
    fire = {"all_of": _all_of, "in_order": _in_order, "any_of": _any_of}[body.kind]
    return [_detection(program, parts) for seen in joined.values() for parts in fire(body, seen)]


def parts_meant(parts: Sequence[str], pattern: str) -> list[str]:
    """The parts that mean a pattern: by its name, or by that of its for_each pattern.

    >>> parts_meant(["spiral", "spiral.tokens", "loop"], "spiral.tokens")
    ['spiral', 'spiral.tokens']
    """
    whole, at, early = pattern.partition("@")
    return [part for part in parts if part in (pattern, whole.partition(".")[0] + at + early)]


def key_of(program: Program, detection: Detection) -> Key | None:
    """The values a detection is joined on, its source first; None where it lacks one."""
    values = [detection.source]
    for name in program.group_by:
        value = detection.history.get(name)
        if value is None:
            return None
        values.append(str(value))
    return tuple(values)


Parts = list[tuple[str, Detection]]


def _all_of(body: Combination, seen: Sequence[Detection]) -> list[Parts]:
    fired: list[Parts] = []
    newest: dict[str, Detection] = {}
    for entry in seen:
        newest |= dict.fromkeys(parts_meant(body.parts, entry.pattern), entry)
        if len(newest) < len(body.parts) or not _together(body, newest, entry):
            continue
        # Of one detection that is two parts, the order of the file.
        listed = [(part, newest[part]) for part in body.parts]
        fired.append(sorted(listed, key=lambda item: item[1].order))
        newest = {}
    return fired


def _together(body: Combination, newest: dict[str, Detection], last: Detection) -> bool:
    times = [micros(item.detected_at) for item in newest.values()]
    if body.within is not None and max(times) - min(times) > body.within:
        return False
    if not body.overlapping:
        return True
    ends = [
        item.closed_at
        for item in newest.values()
        if item.closed_at is not None and item.closed_at <= last.detected_at
    ]
    return not ends or max(item.opened_at for item in newest.values()) <= min(ends)


def _in_order(body: Combination, seen: Sequence[Detection]) -> list[Parts]:
    """A sequence with one place per part, each strictly later than the one before."""
    fired: list[Parts] = []
    last_fired = -1
    standing: list[list[tuple[int, ...]]] = [[] for _ in body.parts]
    for at, item in enumerate(seen):
        meant = parts_meant(body.parts, item.pattern)
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
    return [[(parts_meant(body.parts, item.pattern)[0], item)] for item in seen]


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
    key = tuple(last.history[name] for name in program.group_by)
    ones = [item for _, item in parts]
    values: Values = {name: last.history.get(name) for name in ("subject", "target", "thread")}
    for part, item in parts:
        name = f"{part}.confidence"
        values[name] = max(values.get(name, 0.0), item.fired_confidence)
    highest = raised(max(item.fired_confidence for item in ones), multiplier)
    confidence = highest if program.confidence is None else read_confidence(program.confidence, values)
    evidence = tuple(
        Evidence(part, item.fired_event, item.detected_at, {"confidence": item.fired_confidence})
        for part, item in parts
    )
    at, final = micros(last.detected_at), parts[-1][1]
    return build(
        program,
        last.source,
        key,
        last.id,
        severity=read_severity(program.severities, values),
        confidence=confidence,
        fired_confidence=confidence,
        opened_at=at,
        detected_at=at,
        closed_at=at,
        first_event=parts[0][1].first_event,
        fired_event=final.fired_event,
        last_event=final.fired_event,
        last_at=micros(final.detected_at),
        count=len(evidence),
        evidence=evidence,
        details=read_details(program.details, values),
        scorer=", ".join(sorted({item.scorer for item in ones})),
        explanation=_explain(program, values),
        parts=tuple(item.id for item in ones),
    )


def _explain(program: Program, values: Values) -> str:
    written = [
        write(read_slot(piece.of, values), piece.form) if isinstance(piece, Slot) else piece
        for piece in program.explanation
    ]
    return "".join(written) or f"{values['subject']}: {program.title}."


# Combinations live: detections of parts come in output order, and a few of them are remembered.

Numbered = tuple[int, Detection]
"""A detection, and how many parts its key had seen before it."""
Chain = tuple[Numbered, ...]


class Joined:
    """What a combination remembers of one key: for all_of the newest of each part, for in_order chains.

    `before[i]` is the latest chain of parts 0..i that ends before the time `now`, `at_now[i]` the latest
    that ends at it: a chain goes on from strictly earlier ones only.
    """

    __slots__ = ("at_now", "before", "fired", "newest", "now", "seen")

    def __init__(self, parts: int) -> None:
        self.newest: dict[str, Detection] = {}
        self.before: list[Chain | None] = [None] * parts
        self.at_now: list[Chain | None] = [None] * parts
        self.now: datetime | None = None
        self.seen = 0
        self.fired = -1


class Combining:
    """One combination over the detections of its parts."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.body, Combination)
        self.program, self.body = program, program.body
        self.joined: dict[Key, Joined] = {}

    def see(self, batch: Sequence[Detection]) -> list[Detection]:
        """The combination's own detections that follow from further ones, in output order."""
        detections: list[Detection] = []
        for item in batch:
            meant, key = parts_meant(self.body.parts, item.pattern), key_of(self.program, item)
            if not meant or key is None:
                continue
            if self.body.kind == "any_of":
                detections.append(self._made([(meant[0], item)]))
                continue
            if key not in self.joined:
                self.joined[key] = Joined(len(self.body.parts))
            fire = self._all_of if self.body.kind == "all_of" else self._in_order
            detections += [self._made(parts) for parts in fire(self.joined[key], meant, item)]
        return detections

    def close(self, closed: Detection) -> None:
        """Note when a part that is remembered ended, which matters where parts must overlap."""
        key = key_of(self.program, closed)
        if not self.body.overlapping or key is None or key not in self.joined:
            return
        newest = self.joined[key].newest
        for part, item in newest.items():
            if item.id == closed.id:
                newest[part] = replace(item, closed_at=closed.closed_at)

    def forget(self, whose: Collection[tuple[str, str]]) -> None:
        """Let go of what is remembered of subjects, each with its source."""
        subject = 1 + self.program.group_by.index("subject")
        for key in [key for key in self.joined if (key[0], key[subject]) in whose]:
            del self.joined[key]

    def _made(self, parts: Parts) -> Detection:
        return assemble(self.program, self.body.multiplier, parts, last=parts[-1][1])

    def _all_of(self, joined: Joined, meant: list[str], detection: Detection) -> Iterator[Parts]:
        joined.newest |= dict.fromkeys(meant, detection)
        if len(joined.newest) < len(self.body.parts) or not _together(self.body, joined.newest, detection):
            return
        listed = [(part, joined.newest[part]) for part in self.body.parts]
        joined.newest = {}
        yield sorted(listed, key=lambda item: item[1].order)

    def _in_order(self, joined: Joined, meant: list[str], detection: Detection) -> Iterator[Parts]:
        if joined.now is None or detection.detected_at > joined.now:
            joined.before = [now or then for now, then in zip(joined.at_now, joined.before, strict=True)]
            joined.at_now = [None] * len(self.body.parts)
            joined.now = detection.detected_at
        number, last = joined.seen, len(self.body.parts) - 1
        joined.seen += 1
        for i in range(last, -1, -1):
            earlier = joined.before[i - 1] if i else ()
            if self.body.parts[i] not in meant or earlier is None:
                continue
            chain = joined.at_now[i] = (*earlier, (number, detection))
            if i == last and chain[0][0] > joined.fired and self._in_time(chain):
                joined.fired = number
                yield [(part, d) for part, (_, d) in zip(self.body.parts, chain, strict=True)]

    def _in_time(self, chain: Chain) -> bool:
        first, last = chain[0][1], chain[-1][1]
        took = micros(last.detected_at) - micros(first.detected_at)
        return self.body.within is None or took <= self.body.within

    # Saving.

    def save(self, pack: Any) -> list[Any]:
        """All keys as plain data; `pack` stores a detection and gives its number."""

        def chains(ones: list[Chain | None]) -> list[Any]:
            return [None if c is None else [[n, pack(d)] for n, d in c] for c in ones]

        return [
            [
                list(key),
                {part: pack(d) for part, d in item.newest.items()},
                chains(item.before),
                chains(item.at_now),
                None if item.now is None else micros(item.now),
                item.seen,
                item.fired,
            ]
            for key, item in self.joined.items()
        ]

    def load(self, saved: list[Any], unpack: Any, moment: Any) -> None:
        """Remember what was saved."""

        def chains(ones: list[Any]) -> list[Chain | None]:
            return [None if c is None else tuple((n, unpack(d)) for n, d in c) for c in ones]

        for key, newest, before, at_now, now, seen, fired in saved:
            self.joined[tuple(key)] = item = Joined(len(self.body.parts))
            item.newest = {part: unpack(d) for part, d in newest.items()}
            item.before, item.at_now = chains(before), chains(at_now)
            item.now = None if now is None else moment(now)
            item.seen, item.fired = seen, fired
