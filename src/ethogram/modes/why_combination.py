"""Which parts of a combination were there, when, and which limit kept it from firing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..detections.combine import key_of, parts_meant
from ..detections.spread import Contacts
from ..records import Detection, format_time, micros
from ..records.times import format_duration
from ..shapes.program import Program
from ..shapes.tree import Combination, Spread
from .why_condition import Limit, how_long


@dataclass(frozen=True, slots=True)
class PartWhy:
    """The detections of one part, oldest first. `elsewhere` belong to other histories of the subject."""

    part: str
    detections: tuple[Detection, ...]
    elsewhere: int = 0


def why_combination(
    program: Program, body: Combination, found: Sequence[Detection], key: tuple[str, ...]
) -> tuple[tuple[PartWhy, ...], tuple[Limit, ...]]:
    """Parts of one history (its source and key values), and the limits that held or failed."""
    parts = []
    for part in body.parts:
        seen = [one for one in found if parts_meant((part,), one.pattern)]
        here = [one for one in seen if key_of(program, one) == key]
        parts.append(PartWhy(part, tuple(here), len(seen) - len(here)))
    missing = [Limit("there", False, f"no detection of {one.part}") for one in parts if not one.detections]
    if missing:
        return tuple(parts), tuple(missing)
    limits = {"all_of": _all_of, "in_order": _in_order, "any_of": _any_of}[body.kind](body, parts)
    return tuple(parts), tuple(limits)


def _any_of(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    return [Limit("there", True, "any detection of a part is enough")]


def _all_of(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    """The newest of every part: the set that was looked at last."""
    newest = [one.detections[-1] for one in parts]
    limits = [_within(body, newest)]
    if body.overlapping:
        last = max(one.detected_at for one in newest)
        ends = [one for one in newest if one.closed_at is not None and one.closed_at <= last]
        ended = min(ends, key=lambda one: (one.closed_at, one.id), default=None)
        latest = max(newest, key=lambda one: (one.opened_at, one.id))
        if ended is None or ended.closed_at is None:
            limits.append(Limit("overlapping", True, "all were open together"))
        else:
            said = f"{latest.pattern} opened at {format_time(latest.opened_at)}; "
            said += f"{ended.pattern} had closed at {format_time(ended.closed_at)}"
            limits.append(Limit("overlapping", latest.opened_at <= ended.closed_at, said))
    return limits


def _in_order(body: Combination, parts: list[PartWhy]) -> list[Limit]:
    """Where the order breaks off; or the chain that ends last, held against `within`."""
    first: Detection | None = None
    for one in parts:
        following = _after(one, first)
        if first is not None and not following:
            said = f"no {one.part} after {first.pattern} at {format_time(first.detected_at)}"
            return [Limit("order", False, said)]
        first = following[0]
    # From the end backwards, as the shape does: the latest of each part before the one found.
    chain = [parts[-1].detections[-1]]
    for one in reversed(parts[:-1]):
        chain.append([d for d in one.detections if d.detected_at < chain[-1].detected_at][-1])
    return [Limit("order", True, "each came after the one before"), _within(body, chain)]


def _after(part: PartWhy, before: Detection | None) -> list[Detection]:
    return [one for one in part.detections if before is None or one.detected_at > before.detected_at]


def _within(body: Combination, chosen: list[Detection]) -> Limit:
    times = [micros(one.detected_at) for one in chosen]
    apart = max(times) - min(times)
    said = f"{how_long(apart)} from first to last"
    if body.within is None:
        return Limit("within", True, f"{said}; no limit")
    return Limit("within", apart <= body.within, f"{said}; at most {format_duration(body.within)}")


def why_spread(
    body: Spread, found: Sequence[Detection], subject: tuple[str, str], met: Contacts
) -> tuple[tuple[PartWhy, ...], tuple[Limit, ...]]:
    """The starts in a subject (its source and name), and what became of everyone they may have reached."""
    source, name = subject
    first = [d for d in found if parts_meant((body.first,), d.pattern) and (d.source, d.subject) == subject]
    then = [
        d for d in found if parts_meant((body.then,), d.pattern) and d.source == source and d.subject != name
    ]
    parts = (PartWhy(body.first, tuple(first)), PartWhy(body.then, tuple(then)))
    missing = [Limit("there", False, f"no detection of {one.part}") for one in parts if not one.detections]
    if missing:
        return parts, tuple(missing)
    best = max(([_reached(body, start, end, met) for end in then] for start in first), key=_held)
    reached = len({end.subject for end, one in zip(then, best, strict=True) if one.holds})
    said = f"{reached} other subject{'' if reached == 1 else 's'} reached; at least {body.at_least} needed"
    return parts, (*best, Limit("at_least", reached >= body.at_least, said))


def _held(limits: list[Limit]) -> int:
    return sum(one.holds for one in limits)


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
