"""The plain reading of docs/language.md: slow, brute force, and meant to be obviously right.

Both engines are checked against this file. It imports the records and the parsed tree and nothing else of
ours, keeps no state from one event to the next, and works each answer out again from the page's definition.
Section numbers in the comments are those of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import Any

from ethogram.language.ast import (
    And,
    AnyOf,
    Arithmetic,
    Attribute,
    Combination,
    Compare,
    Contrast,
    Cover,
    Difference,
    Duration,
    Elapsed,
    Events,
    Expr,
    Function,
    Indicator,
    Known,
    Limits,
    Measure,
    Member,
    Negative,
    Never,
    Not,
    Number,
    Or,
    OrElse,
    Pattern,
    Result,
    Sequence,
    Shape,
    Signal,
    Silence,
    Spread,
    Step,
    StepCount,
    StepMean,
    StepValue,
    Text,
    Threshold,
    Trend,
    Window,
)
from ethogram.models import Event, content_hash, detection_id, format_time, is_evaluated, micros, moment, rank

SECOND = 1_000_000
HOUR = 3600 * SECOND
FIELDS = ("kind", "source", "subject", "target", "thread", "session", "reply_to")
ANY_KIND = ("count", "distinct", "top_count", "top", "oldest", "newest", "run", "cycle", "cycle_length",
            "rate", "span", "values")  # fmt: skip
"""Measures that take categories as well as numbers; for all others a category is no reading."""

Insufficient = set[tuple[str, tuple[Any, ...]]]


@dataclass(frozen=True)
class Found:
    """A detection as the page defines it; `history` holds the values of `fields`, in order."""

    pattern: str
    history: tuple[Any, ...]
    id: str
    state: str
    severity: str
    confidence: float
    opened_at: datetime
    detected_at: datetime
    closed_at: datetime | None
    first_event: str
    last_event: str
    count: int
    evidence: tuple[tuple[str, str], ...]
    details: dict[str, Any]
    parts: tuple[str, ...] = ()
    source: str = "input"
    fields: tuple[str, ...] = ("subject",)
    fired_event: str = ""
    """The event at which it fired or opened (a silence: the event before)."""
    fired_confidence: float = 0.0
    """The confidence when it was detected; an episode's may rise later."""
    last_at: datetime | None = None
    """When the last event was; of a combination, when its last part was detected."""

    @property
    def key(self) -> dict[str, Any]:
        return dict(zip(self.fields, self.history, strict=True))

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        return (self.detected_at, self.key["subject"], self.pattern, self.id)


@dataclass(frozen=True)
class History:
    """The events of one key, and those of its subject alone (for over=subject), both in order."""

    events: tuple[Event, ...]
    of_subject: tuple[Event, ...]
    cap: int
    source: str = "input"
    key: tuple[Any, ...] = ()

    @property
    def timed(self) -> bool:
        return all(event.timed for event in self.events)

    def at(self, i: int) -> int:
        return micros(self.events[i].at)


@dataclass(frozen=True)
class Here:
    """One event of a history, the matched events of each step there, and what the shape's results are."""

    history: History
    i: int
    steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    results: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def event(self) -> Event:
        return self.history.events[self.i]


# --- running patterns -----------------------------------------------------------------------


def run(
    patterns: Many[Pattern], events: Many[Event], *, as_of: datetime | None = None, cap: int = 512
) -> tuple[list[Found], Insufficient]:
    """All detections in output order, and the histories that answer *insufficient data*."""
    ordered = in_order(events)
    if not ordered:
        return [], set()
    until = max(event.at for event in ordered) if as_of is None else as_of
    ordered = [event for event in ordered if event.at <= until]
    founds: list[Found] = []
    insufficient: Insufficient = set()
    asked = {item.name: whole.shape for whole in patterns for item in with_early(whole)}
    for pattern in parts_first([item for whole in patterns for item in with_early(whole)]):
        own = histories(pattern, asked[pattern.name], ordered, cap)
        silent = [history for history in own if not history.timed and needs_time(pattern.shape)]
        insufficient |= {(pattern.name, history.key) for history in silent}
        if isinstance(pattern.shape, Combination | Spread):
            founds += list(combine(pattern, ordered, founds, until, cap))
        else:
            founds += [item for history in own if history not in silent
                      for item in detect(pattern, history, until)]  # fmt: skip
    return sorted(founds, key=lambda item: item.order), insufficient


def in_order(events: Many[Event]) -> list[Event]:
    """Events sorted, repeats dropped (section 1)."""
    record: dict[tuple[str, str], Event] = {}
    for event in sorted(events, key=lambda event: event.order):
        other = record.setdefault((event.source, event.id), event)
        if content_hash(other.to_dict()) != content_hash(event.to_dict()):
            raise ValueError(f"two events of {event.source!r} have the id {event.id!r}")
    return list(record.values())


def with_early(pattern: Pattern) -> list[Pattern]:
    """The pattern and, with `tell_at`, the pattern of its first steps (section 3, tell_at)."""
    if pattern.tell_at is None or not isinstance(pattern.shape, Sequence):
        return [pattern]
    k, wanted = pattern.tell_at, list(pattern.shape.steps)
    upto = list(pattern.shape.items).index(wanted[k - 1]) + 1
    early = replace(
        pattern,
        name=f"{pattern.name}@{k}",
        shape=replace(pattern.shape, items=pattern.shape.items[:upto]),
        confidence=Number(k / len(wanted)),
        severities=(("low", None),),
        details=(),
        tell_at=None,
    )
    return [pattern, early]


def names_in(shape: Any) -> set[str]:
    """The signals (`s:...`) and, as one, the indicators (`i`) that a shape names."""
    return {f"s:{node.name}" if isinstance(node, Signal) else "i"
            for node in walk(shape) if isinstance(node, Signal | Indicator)}  # fmt: skip


def walk(node: Any) -> Iterator[Any]:
    """A node and everything under it."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
    elif is_dataclass(node):
        yield node
        for item in fields(node):
            yield from walk(getattr(node, item.name))


def needs_time(shape: Any) -> bool:
    """Whether a shape uses a duration alone, which says nothing in an untimed source (section 1)."""

    def alone(limits: Limits) -> bool:
        return bool(limits) and all(isinstance(limit, Duration) for limit in limits)

    return any(
        (isinstance(node, Window) and (isinstance(node.skip, Duration) or alone(node.last)))
        or (isinstance(node, Measure) and node.name in ("fading", "surprise_count"))
        or (isinstance(node, Step) and alone(node.within))
        or (isinstance(node, Sequence) and alone(node.within))
        or (isinstance(node, Combination) and node.within is not None)
        or isinstance(node, Silence | Spread)
        for node in walk(shape)
    )


def key_fields(pattern: Pattern) -> tuple[str, ...]:
    return pattern.group_by if "subject" in pattern.group_by else ("subject", *pattern.group_by)


def histories(pattern: Pattern, whole: Shape, events: Many[Event], cap: int) -> list[History]:
    """The histories of a pattern (section 1); `whole` is its shape, for `name@k` that of `name`."""
    names = set() if isinstance(whole, Silence) else names_in(whole)

    def belongs(event: Event) -> bool:
        carried = {f"s:{name}" for name, value in event.readings.items() if value is not None}
        return not names or bool(names & carried) or ("i" in names and is_evaluated(event.readings))

    def key(event: Event) -> tuple[Any, ...]:
        return tuple(attribute(event, name) for name in key_fields(pattern))

    inside = [event for event in events if belongs(event)]
    keys = dict.fromkeys((event.source, key(event)) for event in inside if None not in key(event))
    return [
        History(
            tuple(event for event in inside if (event.source, key(event)) == (source, values)),
            tuple(event for event in inside if event.source == source
                  and event.subject == values[key_fields(pattern).index("subject")]),
            cap,
            source,
            values,
        )
        for source, values in keys
    ]  # fmt: skip


def detect(pattern: Pattern, history: History, as_of: datetime) -> Iterator[Found]:
    """The detections of one pattern in one history."""
    shape = pattern.shape
    if isinstance(shape, Sequence):
        yield from sequence(pattern, shape, history)
    elif isinstance(shape, Silence):
        yield from silence(pattern, shape, history, as_of)
    elif isinstance(shape, Threshold | Trend | Contrast):
        yield from threshold(pattern, shape, history)


def combine(
    pattern: Pattern, events: Many[Event], found: Many[Found], as_of: datetime, cap: int
) -> Iterator[Found]:
    """The detections of a combination or spread among those already found."""
    timed = {event.source: event.timed for event in events}
    seen = [item for item in found if timed[item.source] or not needs_time(pattern.shape)]
    if isinstance(pattern.shape, Combination):
        yield from combination(pattern, pattern.shape, seen, cap)
    elif isinstance(pattern.shape, Spread):
        yield from spread(pattern, pattern.shape, events, seen, as_of, cap)


def judged(pattern: Pattern, here: Here) -> tuple[str, float]:
    """Severity and confidence read here (section 2)."""
    holding = [name for name, cond in pattern.severities if cond is None or truth(cond, here) is True]
    sure = None if pattern.confidence is None else number(value(pattern.confidence, here))
    return (holding[-1] if holding else pattern.severities[0][0]), rounded(min(1.0, max(0.0, sure or 0.0)))


def read_details(pattern: Pattern, here: Here) -> dict[str, Any]:
    return {name: rounded(value(of, here)) for name, of in pattern.details}


def rounded(value: Any) -> Any:
    """Numbers to 6 places; lists item by item."""
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 6) + 0.0 if isinstance(value, float | int) and not isinstance(value, bool) else value


# --- sequence (section 3) -------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    step: Step
    nevers: tuple[Expr, ...]


def places_of(shape: Sequence) -> list[Place]:
    out: list[Place] = []
    nevers: list[Expr] = []
    for item in shape.items:
        if isinstance(item, Never):
            nevers.append(item.condition)
        elif not item.optional:
            out += [Place(item, tuple(nevers) if k == 0 else ()) for k in range(item.times)]
            nevers = []
    return out


def limits_hold(limits: Limits, history: History, first: int, last: int, both_ends: int) -> bool:
    """Whether all limits hold between two events; `both_ends` is 1 where both ends count (`within`)."""
    for limit in usable(limits, history.timed) or ():
        if isinstance(limit, Events) and last - first + both_ends > limit.n:
            return False
        if isinstance(limit, Duration) and history.at(last) - history.at(first) > limit.us:
            return False
    return True


def usable(limits: Limits, timed: bool) -> Limits | None:
    """The limits that count: untimed, only those in events. None: durations alone, which say nothing."""
    if timed or not limits:
        return limits
    return tuple(limit for limit in limits if isinstance(limit, Events)) or None


def sequence(pattern: Pattern, shape: Sequence, history: History) -> Iterator[Found]:
    places = places_of(shape)

    def near(first: int, last: int, step: Step) -> bool:
        few = shape.max_gap is None or last - first - 1 <= shape.max_gap
        return few and limits_hold(step.within, history, first, last, 0)

    @cache
    def chain(n: int, t: int) -> tuple[int, ...] | None:
        """The chain of places 1..n at event t, or None where they do not stand there."""
        place, before = places[n - 1], None
        if n > 1:
            before = next((c for earlier in range(t - 1, -1, -1) if (c := chain(n - 1, earlier))), None)
            if before is None or not near(before[-1], t, place.step):
                return None
            between = [Here(history, j) for j in range(before[-1] + 1, t)]
            if any(truth(never, here) is True for never in place.nevers for here in between):
                return None
        here = Here(history, t, matched(before or ()))
        return (*(before or ()), t) if truth(place.step.condition, here) is True else None

    def matched(links: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """The events of each step on a chain, which may be that of the first few places only."""
        pairs = list(zip(places, links, strict=False))
        return {
            place.step.name: tuple(t for item, t in pairs if item.step is place.step) for place, _ in pairs
        }

    def also(step: Step, f: int, links: tuple[int, ...], fired: int, e: int) -> list[int]:
        """Further evidence of a step with at_least, walking back from its first matched event f."""
        n = next(k for k, place in enumerate(places, 1) if place.step == step)
        floor = max(fired, links[n - 2] if n > 1 else -1)
        taken: list[int] = []
        while len(taken) < 50:
            p = next((p for p in range(f - 1, -1, -1) if chain(n, p)), None)
            if p is None or p <= floor or not near(p, f, step):
                break
            if not limits_hold(shape.within, history, p, e, 1):
                break
            taken.insert(0, p)
            f = p
        return taken

    fired = -1
    for e in range(len(history.events)):
        links = chain(len(places), e)
        if links is None or links[0] <= fired or not limits_hold(shape.within, history, links[0], e, 1):
            continue
        plain = matched(links)
        steps = dict(plain) | fill_optional(shape, history, plain)
        for step in shape.steps:
            if step.collects:
                steps[step.name] = (*also(step, plain[step.name][0], links, fired, e), *plain[step.name])
        here = Here(history, e, steps)
        named = [item.name for item in shape.items if isinstance(item, Step)]
        evidence = sorted((t, named.index(name)) for name, ts in steps.items() for t in ts)
        grade, confidence = judged(pattern, here)
        yield made(
            pattern, history, history.events[e].id, "closed", grade, confidence,
            (history.events[links[0]].at, here.event.at, here.event.at),
            (history.events[links[0]].id, here.event.id), len(evidence),
            tuple((named[k], history.events[t].id) for t, k in evidence), read_details(pattern, here),
        )  # fmt: skip
        fired = e


def fill_optional(
    shape: Sequence, history: History, steps: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Optional steps, each with the latest event strictly between the matched ones on its two sides."""
    out: dict[str, tuple[int, ...]] = {}
    upper: int | None = None
    for k in range(len(shape.items) - 1, -1, -1):
        item = shape.items[k]
        if isinstance(item, Never):
            continue
        if not item.optional:
            upper = steps[item.name][0]
            continue
        earlier = [item for item in shape.items[:k] if isinstance(item, Step) and not item.optional]
        out[item.name] = ()
        if upper is None or not earlier:
            continue
        lower = steps[earlier[-1].name][-1]
        meeting = [t for t in range(lower + 1, upper) if truth(item.condition, Here(history, t)) is True]
        if meeting:
            out[item.name] = (meeting[-1],)
            upper = meeting[-1]
    return out


def made(
    pattern: Pattern, history: History, fired_at: str, state: str, grade: str, confidence: float,
    times: tuple[datetime, datetime, datetime | None], ends: tuple[str, str], count: int,
    evidence: tuple[tuple[str, str], ...], details: dict[str, Any], parts: tuple[str, ...] = (),
) -> Found:  # fmt: skip
    name = detection_id(pattern.name, history.source, history.key, fired_at)
    last_at = next((event.at for event in history.events if event.id == ends[1]), times[1])
    return Found(pattern.name, history.key, name, state, grade, confidence, *times, *ends, count, evidence,
                 details, parts, history.source, key_fields(pattern), ends[1], confidence,
                 last_at)  # fmt: skip


# --- threshold, trend, contrast (section 3) ----------------------------------------------------


def as_threshold(shape: Threshold | Trend | Contrast) -> tuple[Expr, dict[str, Expr], list[Expr]]:
    """The condition `when`, the results by name, and the measures whose events are evidence."""
    if isinstance(shape, Threshold):
        own: list[Expr] = [
            node for node in walk(shape.when) if isinstance(node, Measure | Cover | Difference)
        ]
        return shape.when, {}, own
    further = () if shape.further is None else (shape.further,)
    results: dict[str, Expr]
    if isinstance(shape, Trend):
        results = {name: Measure(name, shape.of, shape.window) for name in ("rise", "tau")}
        op, sign = ("<=", -1) if shape.falling else (">=", 1)
        asked = {"rise": sign * shape.amount, "tau": sign * shape.tau}
    else:
        results = {
            name: Difference(name, shape.of, shape.where, shape.against, shape.within_each, shape.at_least,
                             shape.window)
            for name in ("difference", "plain_difference", "t", "n_where", "n_against")
        }  # fmt: skip
        op, asked = ">=", {"difference": shape.difference, "t": shape.t}
    when = And((*(Compare(op, results[name], Number(limit)) for name, limit in asked.items()), *further))
    return when, results, [next(iter(results.values()))]


def threshold(pattern: Pattern, shape: Threshold | Trend | Contrast, history: History) -> Iterator[Found]:
    when, results, own = as_threshold(shape)
    opened: int | None = None
    for i in range(len(history.events)):
        here = Here(history, i, results=results)
        holds = truth(when, here)
        clear = None if shape.clears is None else truth(shape.clears, here)
        if opened is None:
            opened = i if holds is True and clear is not True else None
        elif not shape.stays and (holds is False if shape.clears is None else clear is True):
            yield episode(pattern, history, results, own, opened, i)
            opened = None
    if opened is not None:
        yield episode(pattern, history, results, own, opened, None)


def episode(
    pattern: Pattern, history: History, results: Mapping[str, Expr], own: Many[Expr], first: int,
    closing: int | None,
) -> Found:  # fmt: skip
    end = len(history.events) if closing is None else closing
    judgements = [judged(pattern, Here(history, i, results=results)) for i in range(first, end)]
    ranked = [(rank(grade), confidence) for grade, confidence in judgements]
    peak = first + max(k for k in range(len(ranked)) if ranked[k] == max(ranked))
    opening = history.events[first]
    counting = {event.id: event for item in own for event in counted(item, Here(history, first))}
    before = sorted((e for e in counting.values() if e.order < opening.order), key=lambda e: e.order)[-20:]
    evidence = [*(("counted", event.id) for event in before), ("opened", opening.id)]
    if peak != first:
        evidence.append(("peak", history.events[peak].id))
    result = made(
        pattern, history, opening.id, "opened" if closing is None else "closed",
        max((grade for grade, _ in judgements), key=rank), max(confidence for _, confidence in judgements),
        (opening.at, opening.at, None if closing is None else history.events[closing].at),
        (opening.id, history.events[end - 1].id), end - first, tuple(evidence),
        read_details(pattern, Here(history, peak, results=results)),
    )  # fmt: skip
    return replace(result, fired_event=opening.id, fired_confidence=judgements[0][1])


def counted(measure: Expr, here: Here) -> list[Event]:
    """The events a measure counted here (section 5, evidence of thresholds)."""
    if isinstance(measure, Difference):
        view = look(measure.window, here, lambda at: exact(number(value(measure.of, at))))
        sides = [measure.where, measure.against]
        return [] if view is None else [
            view.history.events[j] for j, _ in view.readings
            if any(truth(side, Here(view.history, j)) is True for side in sides)
        ]  # fmt: skip
    if isinstance(measure, Cover):
        view = look(measure.window, here, lambda at: seen_indicators(measure, at))
        above_0 = {item.name for item in measure.items}
        return [] if view is None else [
            view.history.events[j] for j, _ in view.readings
            if any(above(number(x) or 0.0, 0.0)
                   for name, x in view.history.events[j].readings.items() if name in above_0)
        ]  # fmt: skip
    assert isinstance(measure, Measure)
    if measure.name == "surprise_count":
        span = spanned(measure, here)
        return [] if span is None else [span[0].events[j] for j in span[1]]
    view = look(measure.window, here, reader(measure))
    if view is None:
        return []
    readings = view.readings
    if measure.condition:
        readings = [(j, x) for j, x in readings if x is True]
    elif measure.name == "run":
        readings = readings[len(readings) - run_length([x for _, x in readings]) :]
    elif measure.name in ("top_count", "top") and readings:
        xs = [x for _, x in readings]
        # Of equally frequent values, the one seen last.
        top = max(range(len(xs)), key=lambda k: (xs.count(xs[k]), k))
        readings = [(j, x) for j, x in readings if x == xs[top]]
    return [view.history.events[j] for j, _ in readings]


# --- silence (section 3) --------------------------------------------------------------------


def silence(pattern: Pattern, shape: Silence, history: History, as_of: datetime) -> Iterator[Found]:
    for i, event in enumerate(history.events):
        here = Here(history, i)
        longer = number(value(shape.longer_than, here))
        after = shape.after is None or truth(shape.after, here) is True
        if not after or i + 1 < shape.at_least or longer is None or above(0, longer):
            continue
        deadline = micros(event.at) + max(0, round(longer * SECOND))
        following = history.events[i + 1].at if i + 1 < len(history.events) else None
        if deadline >= micros(following or as_of):
            continue
        here = replace(here, results={"deadline": Text(format_time(moment(deadline)))})
        grade, confidence = judged(pattern, here)
        opened = moment(deadline)
        yield made(
            pattern, history, event.id, "opened" if following is None else "closed", grade, confidence,
            (opened, opened, following), (event.id, event.id), 1, (("before", event.id),),
            read_details(pattern, here),
        )  # fmt: skip


# --- all_of, in_order, any_of, spread (section 3) -------------------------------------------


def is_part(name: str, part: str) -> bool:
    """Whether a pattern's name is meant by a part: itself, or for_each's name without its value."""
    whole, mark, early = name.partition("@")
    return part in (name, whole.split(".")[0] + mark + early)


def part_names(pattern: Pattern) -> tuple[str, ...]:
    shape = pattern.shape
    if isinstance(shape, Combination):
        return shape.parts
    return (shape.first, shape.then) if isinstance(shape, Spread) else ()


def parts_first(patterns: Many[Pattern]) -> list[Pattern]:
    """The patterns, each after those it is a combination of."""
    done: list[Pattern] = []
    waiting = list(patterns)
    while waiting:
        ready = [p for p in waiting
                 if not any(is_part(q.name, part) for q in waiting for part in part_names(p))]  # fmt: skip
        if not ready:
            raise ValueError("combinations go round in a circle")
        done += ready
        waiting = [p for p in waiting if p not in ready]
    return done


def shared(pattern: Pattern, item: Found) -> tuple[str, tuple[Any, ...]] | None:
    """The source and key of a combination that a detection is in, or None where it lacks a field."""
    key = item.key
    if any(name not in key for name in key_fields(pattern)):
        return None
    return item.source, tuple(key[name] for name in key_fields(pattern))


def combination(pattern: Pattern, shape: Combination, found: Many[Found], cap: int) -> Iterator[Found]:
    of_parts = sorted((item for item in found if any(is_part(item.pattern, part) for part in shape.parts)),
                      key=lambda item: item.order)  # fmt: skip
    keys = dict.fromkeys(key for part in of_parts if (key := shared(pattern, part)) is not None)
    for source, key in keys:
        seen = [part for part in of_parts if shared(pattern, part) == (source, key)]
        history = History((), (), cap, source, key)
        fired = -1
        for d in range(len(seen)):
            parts = {"all_of": all_of, "in_order": ordered_parts, "any_of": any_of}[shape.kind](
                shape, seen, d, fired
            )
            if parts is None:
                continue
            fired = d
            listed = sorted(parts, key=lambda pair: pair[1])
            yield combined(pattern, shape.multiplier, history, [(name, seen[k]) for name, k in listed])


Parts = list[tuple[str, int]]
"""Each part's name with the position of its detection."""


def all_of(shape: Combination, seen: list[Found], d: int, fired: int) -> Parts | None:
    parts: Parts = []
    for part in shape.parts:
        newest = [k for k in range(fired + 1, d + 1) if is_part(seen[k].pattern, part)]
        if not newest:
            return None
        parts.append((part, newest[-1]))
    now = seen[d].detected_at
    ones = [seen[k] for _, k in parts]
    times = [micros(item.detected_at) for item in ones]
    if shape.within is not None and max(times) - min(times) > shape.within:
        return None
    ends = [item.closed_at for item in ones if item.closed_at is not None and item.closed_at <= now]
    if shape.overlapping and ends and max(item.opened_at for item in ones) > min(ends):
        return None
    return parts


def ordered_parts(shape: Combination, seen: list[Found], d: int, fired: int) -> Parts | None:
    def chain(n: int, k: int) -> tuple[int, ...] | None:
        if not is_part(seen[k].pattern, shape.parts[n - 1]):
            return None
        if n == 1:
            return (k,)
        for earlier in range(k - 1, -1, -1):
            if seen[earlier].detected_at < seen[k].detected_at and (before := chain(n - 1, earlier)):
                return (*before, k)
        return None

    links = chain(len(shape.parts), d)
    if links is None or links[0] <= fired:
        return None
    length = micros(seen[d].detected_at) - micros(seen[links[0]].detected_at)
    if shape.within is not None and length > shape.within:
        return None
    return list(zip(shape.parts, links, strict=True))


def any_of(shape: Combination, seen: list[Found], d: int, fired: int) -> Parts | None:
    return [(next(part for part in shape.parts if is_part(seen[d].pattern, part)), d)]


def at_odds(confidence: float, multiplier: float) -> float:
    """A confidence with its odds multiplied."""
    return 1.0 if confidence >= 1 else confidence * multiplier / (1 - confidence + confidence * multiplier)


def combined(pattern: Pattern, multiplier: float, history: History, parts: Many[tuple[str, Found]]) -> Found:
    """The detection of a combination, with its parts in order of time."""
    first, last = parts[0][1], parts[-1][1]
    here = key_only(pattern, history, last.detected_at, parts)
    grade, confidence = judged(pattern, here)
    if pattern.confidence is None:
        confidence = rounded(at_odds(max(item.fired_confidence for _, item in parts), multiplier))
    return made(
        pattern, history, last.id, "closed", grade, confidence,
        (last.detected_at, last.detected_at, last.detected_at), (first.first_event, last.fired_event),
        len(parts), tuple((name, item.fired_event) for name, item in parts), read_details(pattern, here),
        tuple(item.id for _, item in parts),
    )  # fmt: skip


def key_only(pattern: Pattern, history: History, at: datetime, parts: Many[tuple[str, Found]]) -> Here:
    """Where a combination reads its expressions: its key fields, and PART.confidence (the highest)."""
    key = dict(zip(key_fields(pattern), history.key, strict=True))
    own = {name: given for name, given in key.items() if name in FIELDS}
    rest = {name: given for name, given in key.items() if name not in FIELDS}
    event = Event(id="", at=at, **{"source": history.source, **own}, attributes=rest)
    results: dict[str, Expr] = {}
    for part, _ in parts:
        best = max(item.fired_confidence for name, item in parts if name == part)
        results[f"{part}.confidence"] = Number(best)
    return Here(replace(history, events=(event,), of_subject=(event,)), 0, results=results)


def spread(
    pattern: Pattern, shape: Spread, events: Many[Event], found: Many[Found], as_of: datetime, cap: int
) -> Iterator[Found]:
    ones = sorted(found, key=lambda item: item.order)
    for p in ones:
        owner = shared(pattern, p)
        if not is_part(p.pattern, shape.first) or owner is None:
            continue
        start = micros(p.detected_at)
        reached: dict[str, Found] = {}
        for q in ones:
            a, b, time = p.key["subject"], q.key["subject"], micros(q.detected_at)
            if not is_part(q.pattern, shape.then) or q.source != p.source or b == a or b in reached:
                continue
            if start < time <= start + shape.within and met(events, p.source, a, b, start, time):
                reached[b] = q
        if len(reached) < shape.at_least:
            continue
        listed = [(shape.first, p), *((shape.then, q) for q in reached.values())]
        history, end = History((), (), cap, *owner), start + shape.within
        keyed = replace(pattern, group_by=key_fields(pattern))
        item = combined(keyed, shape.multiplier, history, listed)
        then = combined(keyed, shape.multiplier, history, listed[: 1 + shape.at_least])
        yield replace(
            item,
            fired_event=then.last_event,
            fired_confidence=then.confidence,
            id=detection_id(pattern.name, p.source, owner[1], p.id),
            state="closed" if micros(as_of) > end else "opened",
            opened_at=p.detected_at,
            detected_at=list(reached.values())[shape.at_least - 1].detected_at,
            closed_at=moment(end) if micros(as_of) > end else None,
            count=len(reached),
        )


def met(events: Many[Event], source: str, a: str, b: str, start: int, end: int) -> bool:
    """Whether an event between two subjects lies between two times, ends included."""
    mine = [event for event in events if event.source == source]
    by_id = {event.id: event for event in mine}
    for event in mine:
        if not start <= micros(event.at) <= end:
            continue
        others = {event.target}
        if event.reply_to in by_id:
            others.add(by_id[event.reply_to].subject)
        if (event.subject == a and b in others) or (event.subject == b and a in others):
            return True
    return False


# --- values at one event (section 4) --------------------------------------------------------


def above(a: float, b: float) -> bool:
    """The language's a > b."""
    return a > b + 1e-9 * max(1.0, abs(a), abs(b))


def same(a: float, b: float) -> bool:
    return not above(a, b) and not above(b, a)


def number(x: Any) -> float | None:
    """A finite number, or None; true and false read as 1 and 0."""
    return float(x) if isinstance(x, bool | int | float) and math.isfinite(x) else None


def truth(expr: Expr, here: Here) -> bool | None:
    x = value(expr, here)
    return x if isinstance(x, bool) else None


def plain(x: Any) -> Any:
    """A reading or attribute as a value: a string, a finite number, or None."""
    return x if isinstance(x, str) else number(x)


def attribute(event: Event, name: str) -> Any:
    if name in FIELDS:
        given = getattr(event, name)
        return plain(event.thread if name == "target" and given is None else given)
    if name == "exchange":
        return plain(event.target if event.thread is None else event.thread)
    if event.attributes.get(name) is not None:
        return plain(event.attributes[name])
    return plain(event.readings.get(name))


def value(expr: Expr, here: Here) -> Any:
    """A number, a string, True, False, a list (for `values`), or None for absent and unknown."""
    match expr:
        case Number(given) | Text(given):
            return plain(given)
        case Signal(name):
            return plain(here.event.readings.get(name))
        case Compare(op, left, right):
            return compare(op, value(left, here), value(right, here))
        case Measure():
            return measured(expr, here)
        case Indicator(name):
            readings = here.event.readings
            return number(readings.get(name, 0.0)) if is_evaluated(readings) else None
        case Attribute(name):
            return attribute(here.event, name)
        case Elapsed(name):
            if not here.history.timed or (name == "gap" and here.i == 0):
                return None
            since = here.i - 1 if name == "gap" else 0
            return (here.history.at(here.i) - here.history.at(since)) / SECOND
        case StepValue(step, of):
            events = here.steps.get(step, ())
            return value(of, Here(here.history, events[-1])) if events else None
        case StepCount(step):
            return float(len(here.steps.get(step, ())))
        case StepMean(step, of):
            xs = [exact(number(value(of, Here(here.history, t)))) for t in here.steps.get(step, ())]
            known = [x for x in xs if x is not None]
            return as_float(mean(known)) if known else None
        case Result(name):
            return value(here.results[name], here) if name in here.results else None
        case Negative(of):
            x = number(value(of, here))
            return None if x is None else -x
        case Arithmetic(op, left, right):
            return arithmetic(op, number(value(left, here)), number(value(right, here)))
        case Member(of, options, negated):
            x = value(of, here)
            inside = any_true([compare("==", x, value(option, here)) for option in options])
            return negation(inside) if negated else inside
        case Not(of):
            return negation(truth(of, here))
        case And(items):
            return negation(any_true([negation(truth(item, here)) for item in items]))
        case Or(items):
            return any_true([truth(item, here) for item in items])
        case AnyOf(items):
            return any_true([compare(">", value(item, here), 0.0) for item in items])
        case Known(of):
            return value(of, here) is not None
        case OrElse(of, default):
            x = value(of, here)
            return value(default, here) if x is None else x
        case Function(name, args):
            xs = [number(value(arg, here)) for arg in args]
            return None if None in xs else function(name, [x for x in xs if x is not None])
        case Cover(items, weights, window):
            view = look(window, here, lambda at: seen_indicators(expr, at))
            if view is None or len(view.readings) < window.at_least:
                return None
            seen = {name for _, names in view.readings for name in names}
            each = dict(zip([item.name for item in items], weights or [1.0] * len(items), strict=True))
            return math.fsum(each[name] for name in seen)
        case Difference():
            return contrasted(expr, here)
    raise TypeError(f"no such expression: {expr!r}")


def negation(x: bool | None) -> bool | None:
    return None if x is None else not x


def any_true(xs: list[bool | None]) -> bool | None:
    """Kleene's or."""
    if True in xs:
        return True
    return None if None in xs else False


def compare(op: str, a: Any, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    if isinstance(a, str) or isinstance(b, str):
        return {"==": a == b, "!=": a != b}.get(op)
    match op:
        case ">" | "<=":
            return above(a, b) is (op == ">")
        case "<" | ">=":
            return above(b, a) is (op == "<")
        case "==" | "!=":
            return same(a, b) is (op == "==")
    raise ValueError(f"no such comparison: {op}")


def arithmetic(op: str, a: float | None, b: float | None) -> float | None:
    if a is None or b is None or (op == "/" and same(b, 0.0)):
        return None
    return number(a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b)


def function(name: str, xs: list[float]) -> float | None:
    if name == "log":
        return math.log(xs[0]) if above(xs[0], 0.0) else None
    if name == "sqrt":
        return None if above(0.0, xs[0]) else math.sqrt(max(0.0, xs[0]))
    if name == "clip":
        return min(max(xs[0], xs[1]), xs[2])
    return {"abs": lambda: abs(xs[0]), "min": lambda: min(xs), "max": lambda: max(xs)}[name]()


# --- windows (section 4) --------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """What a measure sees: the positions after step 3, and position and reading after step 6."""

    history: History
    i: int
    now: int
    cut: list[int]
    readings: list[tuple[int, Any]]


def base(window: Window, here: Here) -> tuple[History, int]:
    """The history a window is cut from, and where this event is in it."""
    if not window.over_subject:
        return here.history, here.i
    history = replace(here.history, events=here.history.of_subject)
    return history, [event.id for event in history.events].index(here.event.id)


def look(window: Window, here: Here, read: Callable[[Here], Any]) -> View | None:
    """The window step by step; None where it needs times that the source has not."""
    history, i = base(window, here)
    limits = usable(window.last, history.timed)
    if limits is None or (isinstance(window.skip, Duration) and not history.timed):
        return None
    now = history.at(i)
    left = list(range(i + 1))
    if window.keep is None:
        left = left[-history.cap :]
    if isinstance(window.skip, Events):
        left = left[: max(0, len(left) - window.skip.n)]
    if isinstance(window.skip, Duration):
        now -= window.skip.us
        left = [j for j in left if history.at(j) <= now]
    cut = left
    if window.keep is None:
        for limit in limits:
            if isinstance(limit, Events):
                cut = [j for j in cut if j in left[max(0, len(left) - limit.n) :]]
            else:
                cut = [j for j in cut if history.at(j) > now - limit.us]
    left = cut
    if window.since is not None:
        meeting = [j for j in left if truth(window.since, Here(history, j)) is True]
        left = [j for j in left if not meeting or j > meeting[-1]]
    if window.where is not None:
        left = [j for j in left if truth(window.where, Here(history, j)) is True]
    readings = [(j, x) for j in left if (x := read(Here(history, j))) is not None]
    if window.keep is not None:
        readings = readings[max(0, len(readings) - window.keep) :]
        cut = [j for j, _ in readings]
    return View(history, i, now, cut, readings)


def reader(measure: Measure) -> Callable[[Here], Any]:
    """What a measure reads at an event."""
    if measure.condition:
        return lambda at: truth(measure.of, at)
    if measure.name in ANY_KIND:
        return lambda at: same_or_rounded(value(measure.of, at))
    return lambda at: exact(number(value(measure.of, at)))


def exact(x: float | None) -> Fraction | None:
    """A number in a window: to six decimals, and exact from there on (section 4, fixed point)."""
    if x is None:
        return None
    return Fraction(round(x * 1e6), 10**6) if abs(x) < 1e15 else Fraction(int(x))


def same_or_rounded(x: Any) -> Any:
    """A category as it is, a number to six decimals."""
    rounded_to = exact(x) if isinstance(x, float) else None
    return x if rounded_to is None else float(rounded_to)


def as_float(x: Fraction) -> float | None:
    """The nearest float; None where there is none."""
    try:
        return float(x)
    except OverflowError:
        return None


def square_root(x: Fraction) -> float:
    """The square root, also of a number that is too large for a float."""
    return math.sqrt(x) if x < 10**300 else float(math.isqrt(int(x)))


def seen_indicators(cover: Cover, here: Here) -> list[str] | None:
    """The indicators of the set above 0 at an event; None where none of them is known."""
    xs = {item.name: number(value(item, here)) for item in cover.items}
    if all(x is None for x in xs.values()):
        return None
    return [name for name, x in xs.items() if x is not None and above(x, 0.0)]


# --- measures (section 4) -------------------------------------------------------------------


def measured(measure: Measure, here: Here) -> Any:
    """The value of a measure here, or None."""
    name, window = measure.name, measure.window
    if name == "surprise_count":
        return surprise_count(measure, here)
    history, i = base(window, here)
    if not history.timed and name in ("rate", "span", "fading"):
        return None
    view = look(window, here, reader(measure))
    if view is None or len(view.readings) < window.at_least:
        return None
    if name == "rate":
        return rate(measure, view)
    xs = [x for _, x in view.readings]
    if name == "count":
        return float(sum(x is True for x in xs) if measure.condition else len(xs))
    if name == "share":
        return sum(x is True for x in xs) / len(xs) if xs else None
    if name == "span":
        ends = [view.history.at(j) for j, x in view.readings if not measure.condition or x is True]
        return (ends[-1] - ends[0]) / SECOND if ends else None
    if name == "usual":
        m, n0 = (Fraction(given) for given in measure.option("prior") or (0.0, 0.0))
        return as_float((n0 * m + sum(xs)) / (n0 + len(xs))) if n0 + len(xs) else None
    if name == "surprise":
        x = number(value(measure.of, Here(history, i)))
        m, s, n0 = measure.option("prior") or (0.0, 0.0, 0.0)
        return surprise(x, xs, m, s, n0)
    if name == "fading":
        half = one(measure, "half")
        terms = [float(x) * 2.0 ** (-(view.now - view.history.at(j)) / half) for j, x in view.readings]
        return number(math.fsum(terms)) if terms else None
    if name == "excess":
        over = exact(one(measure, "over"))
        ends_of = [sum(x - over for x in xs[k:]) for k in range(len(xs))]
        return as_float(max(Fraction(0), *ends_of)) if xs else None
    if name in ("swings", "swing_growth"):
        sizes = legs(xs, one(measure, "by"))
        if name == "swings":
            return float(max(0, len(sizes) - 1))
        return as_float(sizes[-1] / sizes[0]) if len(sizes) >= 2 and sizes[0] else None
    if name == "top":
        # Of equally frequent values, the one seen last.
        last = max(range(len(xs)), key=lambda k: (xs.count(xs[k]), k), default=None)
        least = (measure.option("times") or (1.0,))[0]
        return None if last is None or above(least, xs.count(xs[last])) else xs[last]
    if name == "values":
        return list(dict.fromkeys(reversed(xs)))[:20]
    return simple(name, xs)


def one(measure: Measure, name: str) -> float:
    given = measure.option(name)
    assert given is not None, f"{measure.name} needs {name}"
    return given[0]


def mean(xs: Many[Fraction]) -> Fraction:
    return Fraction(sum(xs)) / len(xs)


def simple(name: str, xs: list[Any]) -> float | str | None:
    """Measures of the values in order alone."""
    n = len(xs)
    if name == "sum":
        return as_float(Fraction(sum(xs)))
    if name == "distinct":
        return float(len(set(xs)))
    if name == "top_count":
        return float(max((xs.count(x) for x in xs), default=0))
    if name == "run":
        return float(run_length(xs))
    if name in ("cycle", "cycle_length"):
        times, length = cycle(xs)
        return times if name == "cycle" else length
    if n == 0:
        return None
    if name in ("oldest", "newest"):
        at_end: float | str = xs[0] if name == "oldest" else xs[-1]
        return at_end
    if name in ("min", "max"):
        return as_float(min(xs) if name == "min" else max(xs))
    if name == "mean":
        return as_float(mean(xs))
    if name == "std":
        return square_root(mean([(x - mean(xs)) ** 2 for x in xs]))
    if name == "median":
        middle = sorted(xs)
        return as_float((middle[(n - 1) // 2] + middle[n // 2]) / 2)
    if name == "jump":
        return jump(xs)
    if n < 2:
        return None
    if name == "rise":
        return as_float(slope(xs) * (n - 1))
    if name == "tau":
        return tau(xs)
    if name == "growth":
        if not all(x > 0 for x in xs):
            return None
        exponent = float(slope([Fraction(math.log(x)) for x in xs]))
        return math.exp(exponent) if exponent < 700 else None
    raise ValueError(f"no such measure: {name}")


def run_length(xs: list[Any]) -> int:
    return next((k for k, x in enumerate(reversed(xs)) if x != xs[-1]), len(xs))


def cycle(xs: list[Any]) -> tuple[float, float | None]:
    """How often a cycle stands at the end, and its length."""
    best: tuple[int, int] | None = None
    for k in range(1, min(15, len(xs)) + 1):
        tail, r = xs[len(xs) - k :], 0
        while (r + 1) * k <= len(xs) and xs[len(xs) - (r + 1) * k : len(xs) - r * k] == tail:
            r += 1
        if r >= 2 and (best is None or k * r > best[0] * best[1]):
            best = (k, r)
    if best is None:
        return (1.0 if xs else 0.0), None
    return float(best[1]), float(best[0])


def slope(xs: list[Fraction]) -> Fraction:
    """The least-squares slope on 0..n-1."""
    middle, average = Fraction(len(xs) - 1, 2), mean(xs)
    above_ = sum((k - middle) * (x - average) for k, x in enumerate(xs))
    return Fraction(above_) / sum((k - middle) ** 2 for k in range(len(xs)))


def tau(xs: list[Fraction]) -> float:
    """Kendall's tau-b against order."""
    pairs = [(xs[a], xs[b]) for b in range(len(xs)) for a in range(b)]
    score = sum((later > earlier) - (later < earlier) for earlier, later in pairs)
    untied = sum(later != earlier for earlier, later in pairs)
    return score / math.sqrt(len(pairs) * untied) if untied else 0.0


def legs(xs: list[Fraction], given: float) -> list[Fraction]:
    """The sizes of the legs of a zigzag, the one under way included."""
    ended: list[Fraction] = []
    start = extreme = low = high = xs[0] if xs else Fraction(0)
    way, by = 0, exact(given)
    for x in xs:
        low, high = min(low, x), max(high, x)
        if way == 0:
            if x - low >= by:
                way, start, extreme = 1, low, x
            elif high - x >= by:
                way, start, extreme = -1, high, x
        elif (x - extreme) * way > 0:
            extreme = x
        elif (extreme - x) * way >= by:
            ended.append(abs(extreme - start))
            way, start, extreme = -way, extreme, x
    return [*ended, abs(extreme - start)] if way else []


def welch(later: Many[Fraction], earlier: Many[Fraction]) -> float:
    """Welch's t of the first mean minus the second, 1000 at most in size."""
    difference = mean(later) - mean(earlier)
    if difference == 0:
        return 0.0
    error = sum((x - mean(xs)) ** 2 / (len(xs) - 1) / len(xs) for xs in (later, earlier) for x in xs)
    if error == 0 or difference**2 / error > 1000**2:
        return math.copysign(1000.0, difference)
    return math.copysign(math.sqrt(difference**2 / error), difference)


def jump(xs: list[Fraction]) -> float | None:
    if len(xs) < 6:
        return None
    best = 0.0
    for split in range(3, len(xs) - 2):
        t = welch(xs[split:], xs[:split])
        if above(abs(t), abs(best)):
            best = t
    return best


def rate(measure: Measure, view: View) -> float | None:
    counting = sum(x is True if measure.condition else True for _, x in view.readings)
    window = measure.window
    durations = [limit.us for limit in window.last if isinstance(limit, Duration)]
    skipped = window.skip.n if isinstance(window.skip, Events) else 0
    if durations and window.keep is None:
        length = min(durations)
        offered = range(max(0, view.i + 1 - skipped))
        inside = [j for j in offered if view.now - length < view.history.at(j) <= view.now]
        if all(j in view.cut for j in inside):
            return counting / (length / HOUR)
    if not view.readings:
        return None
    length = view.now - view.history.at(view.cut[0])
    return counting / (length / HOUR) if length > 0 else None


def surprise(x: float | None, xs: list[Fraction], *prior: float) -> float | None:
    m, s, n0 = map(Fraction, prior)
    total = n0 + len(xs)
    if x is None or total < 2:
        return None
    mu = (n0 * m + sum(xs)) / total
    v = (n0 * s * s + sum((y - mu) ** 2 for y in xs) + n0 * (m - mu) ** 2) / total
    if same(float(mu) + math.sqrt(v), float(mu)):
        return None
    t = (x - float(mu)) / math.sqrt(v * (1 + 1 / total))
    return math.copysign(score(student_tail(abs(t), float(total))), t)


def score(p: float) -> float:
    """-log10 of a probability, 12 at most."""
    return 12.0 if p < 1e-12 else max(0.0, -math.log10(p))


@cache
def student_tail(t: float, degrees: float) -> float:
    """The two-sided tail of Student's t beyond t.

    It is I_x(N/2, 1/2) with x = N/(N+t²): twice the integral of sin(a)^(N-1) from 0 to asin(sqrt(x)), over
    B(N/2, 1/2). With a = top * exp(-w) the integrand is smooth, and Simpson's rule in w is exact enough.
    """
    top = math.atan2(math.sqrt(degrees), t)

    def log_height(w: float) -> float:
        angle = top * math.exp(-w)
        return (degrees - 1) * math.log(math.sin(angle)) + math.log(angle)

    width = 1e-3
    while log_height(width) > log_height(0.0) - 42:
        width *= 2
    # Graded, w = width * s³, so that most points lie where the height is.
    steps, top_height = 2000, log_height(0.0)
    heights = [
        math.exp(log_height(width * (k / steps) ** 3) - top_height) * 3 * width * (k / steps) ** 2
        for k in range(steps + 1)
    ]
    inner = 4 * math.fsum(heights[1:-1:2]) + 2 * math.fsum(heights[2:-1:2])
    area = (heights[0] + inner + heights[-1]) / steps / 3
    log_beta = math.lgamma(degrees / 2) + math.lgamma(0.5) - math.lgamma(degrees / 2 + 0.5)
    return min(1.0, 2 * area * math.exp(top_height - log_beta))


def spanned(measure: Measure, here: Here) -> tuple[History, list[int], list[int], float] | None:
    """The true events in the span and in the past before it, and the past's hours; None where absent."""
    history, i = base(measure.window, here)
    if not history.timed:
        return None
    border = history.at(i) - round(one(measure, "span"))
    first = max(0, i + 1 - history.cap)
    if first > 0 and history.at(first - 1) > border:
        return None
    past = round(one(measure, "last"))
    begin = max(history.at(first), border - past)
    true = [j for j in range(first, i + 1) if truth(measure.of, Here(history, j)) is True]
    recent = [j for j in true if history.at(j) > border]
    older = [j for j in true if border - past < history.at(j) <= border]
    return history, recent, older, max(0, border - begin) / HOUR


def surprise_count(measure: Measure, here: Here) -> float | None:
    seen = spanned(measure, here)
    if seen is None:
        return None
    _, recent, older, hours = seen
    k, h = measure.option("prior") or (0.0, 0.0)
    shape, rate_hours, length = k + len(older), h + hours, one(measure, "span") / HOUR
    if shape == 0 or rate_hours == 0:
        return None
    expected, c = shape * length / rate_hours, len(recent)
    if same(c, expected):
        return 0.0
    p = 2 * min(binomial_tails(c, shape, length / (rate_hours + length)))
    return math.copysign(score(min(1.0, p)), c - expected)


def binomial_tails(c: int, r: float, q: float) -> tuple[float, float]:
    """P(X <= c) and P(X >= c) where P(X = x) is Gamma(r+x) / (Gamma(r) x!) * (1-q)^r * q^x."""

    def mass(x: int) -> float:
        return math.exp(math.lgamma(r + x) - math.lgamma(r) - math.lgamma(x + 1)
                        + r * math.log1p(-q) + x * math.log(q))  # fmt: skip

    below = math.fsum(mass(x) for x in range(c))
    if below < 0.999:
        return below + mass(c), 1 - below
    # Far out the tail is summed term by term, since 1 - below would lose its digits.
    upper, x, term = 0.0, c, mass(c)
    while term > 1e-18 * upper and term > 0:
        upper += term
        term *= (r + x) / (x + 1) * q
        x += 1
    return below + mass(c), upper


# --- contrast (section 3) -------------------------------------------------------------------


def contrasted(difference: Difference, here: Here) -> float | None:
    """One number of a contrast."""
    view = look(difference.window, here, lambda at: exact(number(value(difference.of, at))))
    if view is None:
        return None

    def side(cond: Expr) -> list[tuple[int, Fraction]]:
        return [(j, x) for j, x in view.readings if truth(cond, Here(view.history, j)) is True]

    one_side, other_side = side(difference.where), side(difference.against)
    left, right = [x for _, x in one_side], [x for _, x in other_side]
    if difference.within_each is not None:
        left, right = stratified(difference.within_each, view.history, one_side, other_side)
    if difference.name in ("n_where", "n_against"):
        return float(len(left) if difference.name == "n_where" else len(right))
    if min(len(left), len(right)) < max(2, difference.at_least):
        return None
    if difference.name == "t":
        return welch(left, right)
    if difference.name == "plain_difference":
        return as_float(mean([x for _, x in one_side]) - mean([x for _, x in other_side]))
    return as_float(mean(left) - mean(right))


def stratified(
    within_each: Expr,
    history: History,
    one_side: Many[tuple[int, Fraction]],
    other: Many[tuple[int, Fraction]],
) -> tuple[list[Fraction], list[Fraction]]:
    """Both sides, each reading minus the midpoint of its stratum's two means."""
    left: list[Fraction] = []
    right: list[Fraction] = []
    strata = {j: value(within_each, Here(history, j)) for j, _ in (*one_side, *other)}
    for stratum in {x for x in strata.values() if x is not None}:
        a = [x for j, x in one_side if strata[j] == stratum]
        b = [x for j, x in other if strata[j] == stratum]
        if a and b:
            middle = (mean(a) + mean(b)) / 2
            left += [x - middle for x in a]
            right += [x - middle for x in b]
    return left, right
