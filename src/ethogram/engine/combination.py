"""Combinations: detections together, in order, or any of several. They come in output order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..language.ast import Combination
from ..language.history import FIELDS
from ..language.program import Program
from ..models import Detection, Event, Evidence, micros
from ..models.detection import STANDING
from .detections import build
from .history import History
from .live.expressions import Judge
from .match import Match

Key = tuple[str, ...]
Parts = list[tuple[str, Detection]]
"""Each part's name with its detection."""


def combine(program: Program, detections: Iterable[Detection]) -> list[Detection]:
    """The combination's own detections, from those of its parts in any order."""
    seen = [detection for detection in detections if detection.state in STANDING]
    return Combining(program).see(sorted(seen, key=lambda item: item.order))


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


def raised(confidence: float, multiplier: float) -> float:
    """A confidence whose odds are multiplied.

    >>> raised(0.5, 2.0)
    0.666667
    """
    return round(multiplier * confidence / (1 - confidence + multiplier * confidence), 6)


def assemble(judge: Judge, multiplier: float, parts: Parts, last: Detection) -> Detection:
    """The detection of a combination; key, id and times are those of `last`.

    Parts count as they were when they were detected, so that it does not matter how they went on.
    """
    program, ones = judge.program, [item for _, item in parts]
    # Expressions read key fields from an event; a combination has none, so build a placeholder.
    own = {name: last.history[name] for name in program.group_by}
    named: dict[str, Any] = {name: value for name, value in own.items() if name in FIELDS}
    rest = {name: value for name, value in own.items() if name not in FIELDS}
    final = parts[-1][1]
    event = Event(final.fired_event, last.detected_at, **{"source": last.source, **named}, attributes=rest)
    history = History((), last.source, True)
    results: dict[str, float] = {}
    for part, item in parts:
        name = f"{part}.confidence"
        results[name] = max(results.get(name, 0.0), item.fired_confidence)
    history.results = results
    if program.confidence is None:
        confidence = raised(max(item.fired_confidence for item in ones), multiplier)
    else:
        confidence = judge.confidence(event, 0, history)
    at = micros(last.detected_at)
    match = Match(
        program,
        last.source,
        tuple(own.values()),
        fired=event,
        first=parts[0][1].first_event,
        last=final.fired_event,
        last_at=micros(final.detected_at),
        count=len(parts),
        severity=judge.severity(event, 0, history),
        confidence=confidence,
        fired_confidence=confidence,
        opened_at=at,
        detected_at=at,
        closed_at=at,
        evidence=(),
        details=judge.details(event, 0, history),
        explanation=judge.explanation(event, 0, history),
    )
    evidence = tuple(
        Evidence(part, item.fired_event, item.detected_at, {"confidence": item.fired_confidence})
        for part, item in parts
    )
    scorer = ", ".join(sorted({item.scorer for item in ones}))
    return build(match, last.id, evidence, scorer, parts=tuple(item.id for item in ones))


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
        self.program, self.body, self.judge = program, program.body, Judge(program)
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
        return assemble(self.judge, self.body.multiplier, parts, last=parts[-1][1])

    def _all_of(self, joined: Joined, meant: list[str], detection: Detection) -> Iterator[Parts]:
        joined.newest |= dict.fromkeys(meant, detection)
        if len(joined.newest) < len(self.body.parts) or not self._together(joined.newest, detection):
            return
        # Where one detection matches two parts, use the order of the file.
        listed = [(part, joined.newest[part]) for part in self.body.parts]
        joined.newest = {}
        yield sorted(listed, key=lambda item: item[1].order)

    def _together(self, newest: dict[str, Detection], last: Detection) -> bool:
        times = [micros(item.detected_at) for item in newest.values()]
        if self.body.within is not None and max(times) - min(times) > self.body.within:
            return False
        ended = (item.closed_at for item in newest.values() if item.closed_at is not None)
        ends = [at for at in ended if at <= last.detected_at]
        latest = max(item.opened_at for item in newest.values())
        return not self.body.overlapping or not ends or latest <= min(ends)

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
