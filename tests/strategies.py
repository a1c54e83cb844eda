"""Random patterns and histories, made so that much fires and every construct occurs.

`random_case(seed)` is a plain function of its seed. Thresholds are put where the plain reading finds values
in the very history, so that conditions are true at some events and false at others; ties with a threshold
are on purpose.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import naive
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
    Limit,
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
from ethogram.models import EPOCH, Event

START = datetime(2026, 3, 1, 8, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
NUMBERS = ("x", "y", "compassion", "manipulation")
CATEGORIES = ("letter", "topic")
INDICATORS = ("MAN_A", "MAN_B", "DEC_C")
LETTERS = ("a", "b", "c")
STEPS_OF_VALUE = (0.0, 0.25, 0.5, 0.75, 1.0)

MEASURES_OF_NUMBERS = (
    "sum", "mean", "min", "max", "std", "median", "rise", "tau", "growth", "swings", "swing_growth", "usual",
    "surprise", "jump", "excess", "fading",
)  # fmt: skip
MEASURES_OF_VALUES = ("distinct", "top_count", "run", "cycle", "cycle_length")
MEASURES_OF_EITHER = ("count", "rate", "span")
MEASURES_OF_CONDITIONS = ("share", "surprise_count")
DRAWN = (
    *MEASURES_OF_NUMBERS, *MEASURES_OF_VALUES, *MEASURES_OF_EITHER, *MEASURES_OF_CONDITIONS,
    "cover", "oldest", "newest", "jump",
)  # fmt: skip
"""Measures of patterns that are not about a certain one. One more would make other cases of the seeds by
which seeded faults name theirs."""
MEASURES = (*DRAWN[:-1], "top")
HISTORIES = (
    ("subject",), ("subject",), ("subject", "target"), ("subject", "thread"), ("thread",),
    ("subject", "topic"), ("subject", "target", "tool"),
)  # fmt: skip
SEEDED_AS = {"threshold": "level"}
"""What a kind is called in the seeds of cases, which tests name by number."""
KINDS = ("sequence", "threshold", "trend", "contrast", "silence", "combination", "spread")


@dataclass(frozen=True)
class Case:
    """One question: these patterns over these events; `expected` is what `naive.run` answers, where known."""

    patterns: tuple[Pattern, ...]
    events: tuple[Event, ...]
    as_of: datetime | None = None
    cap: int = 512
    kind: str = ""
    expected: Any = field(default=None, compare=False, repr=False)


@lru_cache(maxsize=4096)
def random_case(seed: int, kind: str | None = None, measure: str | None = None) -> Case:
    """A case of one kind of shape; without a kind, sequences and thresholds come most often.

    With a measure (one of MEASURES) it is a threshold on that measure.
    """
    rng = random.Random(f"{SEEDED_AS.get(kind or '', kind)}-{measure}-{seed}")
    kind = "threshold" if measure else kind
    kind = kind or rng.choices(KINDS, weights=(7, 8, 2, 2, 2, 3, 2))[0]
    timed = rng.random() < (0.95 if kind in ("silence", "spread", "combination") else 0.82)
    events = random_events(rng, timed, kind)
    cap = rng.choice((6, 512))
    make = Maker(rng, events, timed, cap)
    as_of = random_as_of(rng, events, kind)
    for _ in range(rng.choice((1, 3, 3))):
        patterns = make.patterns(kind, measure)
        found, insufficient = naive.run(patterns, events, as_of=as_of, cap=cap)
        if insufficient or any(item.pattern == patterns[-1].name for item in found):
            break
    shuffled = list(events)
    rng.shuffle(shuffled)
    listed = list(patterns)
    rng.shuffle(listed)
    return Case(tuple(listed), tuple(shuffled), as_of, cap, kind, (found, insufficient))


def random_as_of(rng: random.Random, events: list[Event], kind: str) -> datetime | None:
    newest = max(event.at for event in events)
    if kind in ("silence", "spread"):
        wait = rng.choice((0, 1, 60, 600, 3600, 86400, 864000))
        return rng.choice((None, newest + timedelta(seconds=wait), newest + timedelta(seconds=wait)))
    return rng.choice(events).at if rng.random() < 0.08 else None


def near_miss(case: Case, rng: random.Random) -> Case:
    """The same case with one reading moved, or taken away."""
    carrying = [k for k, event in enumerate(case.events) if event.readings]
    if not carrying:
        return case
    k = rng.choice(carrying)
    event = case.events[k]
    name = rng.choice(sorted(event.readings))
    readings = dict(event.readings)
    if isinstance(readings[name], str):
        readings[name] = rng.choice([letter for letter in LETTERS if letter != readings[name]])
    elif rng.random() < 0.15:
        del readings[name]
    else:
        readings[name] = rng.choice([x for x in STEPS_OF_VALUE if x != readings[name]])
    events = (*case.events[:k], replace(event, readings=readings), *case.events[k + 1 :])
    return replace(case, events=events, expected=None)


def constructs(pattern: Pattern) -> set[str]:
    """The names of the constructs a pattern uses: nodes, measures, options of windows, steps and shapes."""
    out: set[str] = set()
    for node in naive.walk(pattern):
        name = type(node).__name__
        if isinstance(node, Window):
            out |= {
                f"{field.name}"
                for field in fields(node)
                if getattr(node, field.name) not in (None, (), 0, False)
            }
            out |= {f"last {type(limit).__name__}" for limit in node.last}
            out |= {f"skip {type(node.skip).__name__}"} if node.skip else set()
            out |= {"last list"} if len(node.last) > 1 else set()
            continue
        out.add(name)
        if isinstance(node, Measure):
            out |= {node.name, f"{node.name} of a condition" if node.condition else node.name}
        if isinstance(node, Difference | Function | Arithmetic | Compare | Elapsed):
            out.add(f"{name} {getattr(node, 'name', '') or getattr(node, 'op', '')}")
        if isinstance(node, Step):
            out |= {"times"} if node.times > 1 and not node.collects else set()
            out |= {word for word in ("collects", "optional", "within") if getattr(node, word)}
            out |= {f"within {type(limit).__name__}" for limit in node.within}
        if isinstance(node, Sequence):
            out |= {f"max_gap {min(node.max_gap, 1)}"} if node.max_gap is not None else set()
            out |= {f"within {type(limit).__name__}" for limit in node.within}
        if isinstance(node, Threshold | Trend | Contrast):
            out |= {word for word in ("clears", "stays", "further", "falling", "within_each")
                    if getattr(node, word, None) not in (None, False)}  # fmt: skip
        if isinstance(node, Silence):
            out |= {"after"} if node.after is not None else set()
        if isinstance(node, Combination):
            out |= {node.kind} | ({"overlapping"} if node.overlapping else set())
            out |= {"multiplier"} if node.multiplier != 1 else set()
    if pattern.tell_at is not None:
        out.add("tell_at")
    out |= {f"group_by {name}" for name in pattern.group_by if name != "subject"}
    return out


# --- histories ------------------------------------------------------------------------------


def random_events(rng: random.Random, timed: bool, kind: str) -> list[Event]:
    """Events of a few subjects, interleaved, in order."""
    long = rng.random() < 0.25
    count = rng.randint(18, 40) if long or kind in ("contrast", "trend") else rng.randint(5, 20)
    subjects = ("ann", "bo", "cy")[: rng.choice((2, 3, 3) if kind == "spread" else (1, 1, 2))]
    steps = rng.choice(((0, 60), (60,), (0, 1, 600), (60, 600, 3600), (600, 3600, 43200), (0, 86400)))
    missing = rng.choice((0.0, 0.1, 0.3))
    shapes = {name: random_course(rng, count) for name in (*NUMBERS, *INDICATORS, "weight")}
    words = {name: random_words(rng, count) for name in (*CATEGORIES, "tool")}
    two_sources = rng.random() < 0.08
    at = START
    events: list[Event] = []
    for k in range(count):
        at += timedelta(seconds=rng.choice(steps))
        readings: dict[str, Any] = {}
        for name in NUMBERS:
            if rng.random() >= missing:
                readings[name] = shapes[name][k]
        for name in CATEGORIES:
            if rng.random() >= missing:
                readings[name] = words[name][k]
        for name in INDICATORS:
            if rng.random() < 0.25:
                readings[name] = shapes[name][k]
        if rng.random() < missing / 3:
            readings = {name: x for name, x in readings.items() if name in CATEGORIES}
        attributes: dict[str, Any] = {}
        if rng.random() >= missing:
            attributes["tool"] = words["tool"][k]
        if rng.random() < 0.5:
            attributes["weight"] = shapes["weight"][k]
        if rng.random() < 0.3:
            attributes["flag"] = rng.choice((True, False, [1]))
        subject = rng.choice(subjects)
        events.append(
            Event(
                id=f"e{k:02d}",
                at=at if timed else EPOCH + timedelta(seconds=k),
                subject=subject,
                seq=k,
                source="other" if two_sources and rng.random() < 0.3 else "input",
                timed=timed,
                target=rng.choice((None, *(s for s in ("ann", "bo", "cy") if s != subject))),
                reply_to=rng.choice(events).id if events and rng.random() < 0.3 else None,
                thread=rng.choice((None, "t1", "t1", "t2")),
                session=rng.choice((None, "s1")),
                kind=rng.choice(("message", "message", "call")),
                attributes=attributes,
                readings=readings,
            )
        )
    return events


def random_course(rng: random.Random, count: int) -> list[float]:
    """Numbers over time: noise, a rise, a fall, two phases, a zigzag, or long plateaus."""
    kind = rng.choice(("steps", "steps", "floats", "rise", "fall", "phases", "zigzag", "sticky", "cycle"))
    period = [rng.choice(STEPS_OF_VALUE) for _ in range(rng.randint(1, 5))]
    border, out, last = rng.randint(1, count), [], rng.choice(STEPS_OF_VALUE)
    for k in range(count):
        if kind == "floats":
            out.append(round(rng.random(), 3))
        elif kind in ("rise", "fall"):
            share = k / count if kind == "rise" else 1 - k / count
            out.append(round(share + rng.choice((0, 0, 0.125, -0.125)), 4))
        elif kind == "phases":
            out.append(rng.choice((0.0, 0.25) if k < border else (0.75, 1.0)))
        elif kind == "zigzag":
            out.append((0.25 if k % 2 else 0.75) * (1 + k / count))
        elif kind == "cycle":
            out.append(period[k % len(period)])
        else:
            last = last if kind == "sticky" and rng.random() < 0.7 else rng.choice(STEPS_OF_VALUE)
            out.append(last)
    return out


def random_words(rng: random.Random, count: int) -> list[str]:
    """Categories over time; half of them in cycles, with a slip now and then."""
    period = [rng.choice(LETTERS) for _ in range(rng.randint(1, 5))]
    slip = rng.choice((0.0, 0.1, 1.0, 1.0))
    return [rng.choice(LETTERS) if rng.random() < slip else period[k % len(period)] for k in range(count)]


# --- patterns -------------------------------------------------------------------------------


class Maker:
    """Makes expressions and patterns for one list of events."""

    def __init__(self, rng: random.Random, events: list[Event], timed: bool, cap: int) -> None:
        self.rng, self.events, self.timed, self.cap = rng, events, timed, cap
        self.history: tuple[str, ...] = rng.choice(HISTORIES)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # Limits.

    def duration(self) -> Duration:
        us = self.rng.choice((SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY, 30 * DAY))
        return Duration(us)

    def limits(self, low: int, high: int) -> Limits:
        """A limit in events, in time, or both; alone in time seldom where there are no times."""
        events, pick = Events(self.rng.randint(low, high)), self.rng.random()
        if pick < 0.45 or (not self.timed and pick < 0.6):
            return (events,)
        if pick < 0.7 or (not self.timed and pick < 0.93):
            return self.rng.choice(((self.duration(), events), (events, self.duration())))
        return (self.duration(),)

    # Values and conditions of one event.

    def number(self, depth: int = 1) -> Expr:
        rng = self.rng
        if depth and self.chance(0.3):
            left, right = self.number(depth - 1), self.number(depth - 1)
            return rng.choice((
                Arithmetic(rng.choice("+-*/"), left, right), Negative(left), OrElse(left, Number(0.5)),
                Function("abs", (Arithmetic("-", left, right),)), Function("min", (left, right)),
                Function("max", (left, right)), Function("log", (left,)), Function("sqrt", (left,)),
                Function("clip", (left, Number(0.25), Number(0.75))),
                Arithmetic("*", left, Number(rng.choice((2.0, 0.5, -1.0)))), Arithmetic("/", left, right),
            ))  # fmt: skip
        pick = rng.random()
        if pick < 0.75:
            return Signal(rng.choice(NUMBERS))
        if pick < 0.85:
            return Indicator(rng.choice(INDICATORS))
        if pick < 0.93:
            return Elapsed(rng.choice(("gap", "gap", "age")))
        return Attribute(rng.choice(("weight", "flag")))

    def category(self) -> Expr:
        if self.chance(0.7):
            return Signal(self.rng.choice(CATEGORIES))
        return Attribute(self.rng.choice(("tool", "kind", "target", "thread")))

    def plain_test(self) -> Expr:
        """One comparison, true perhaps every second time."""
        rng, pick = self.rng, self.rng.random()
        if pick < 0.55:
            op = rng.choice((">", ">=", "<", "<=", ">", ">=", "==", "!="))
            return Compare(op, Signal(rng.choice(NUMBERS)), Number(rng.choice((0.25, 0.5, 0.5, 0.75))))
        if pick < 0.7:
            op = rng.choice(("==", "!="))
            return Compare(op, Signal(rng.choice(CATEGORIES)), Text(rng.choice(LETTERS)))
        if pick < 0.76:
            options: tuple[Expr, ...] = tuple(Text(item) for item in rng.sample(LETTERS, 2))
            return Member(self.category(), options, self.chance(0.3))
        if pick < 0.8:
            return Member(
                Signal(rng.choice(NUMBERS)), (Number(0.25), Number(1.0), Signal("y")), self.chance(0.3)
            )
        if pick < 0.85:
            return AnyOf(tuple(Indicator(item) for item in rng.sample(INDICATORS, 2)))
        if pick < 0.9:
            return Known(rng.choice((self.number(), self.category())))
        return Compare(rng.choice((">", "<=")), self.number(), Number(rng.choice((0.0, 0.25, 1.0, 60.0))))

    def test(self, depth: int = 1) -> Expr:
        """A condition of one event, without measures."""
        pick = self.rng.random()
        if not depth or pick < 0.65:
            return self.plain_test()
        items = (self.test(depth - 1), self.test(depth - 1))
        if pick < 0.78:
            return Or(items)
        if pick < 0.9:
            return And(items)
        return Not(items[0]) if pick < 0.97 else Known(items[0])

    # Measures.

    def window(self, narrow: bool = False, smallest: int = 1) -> Window:
        rng = self.rng
        over = self.chance(0.15) and self.history != ("subject",)
        where = self.test(0) if self.chance(0.2) else None
        if not narrow and self.chance(0.12):
            keep = rng.randint(max(2, smallest), max(10, smallest))
            skip: Limit | None = Events(rng.randint(0, 3)) if self.chance(0.4) else None
            at_least = rng.randint(0, min(keep, 3)) if self.chance(0.3) else 0
            return Window(skip=skip, keep=keep, where=where, at_least=at_least, over_subject=over)
        last = self.limits(max(2, smallest), max(12, smallest)) if self.chance(0.75) else ()
        sizes = [limit.n for limit in last if isinstance(limit, Events)]
        skip = None
        if self.chance(0.25):
            skip = self.duration() if self.timed and self.chance(0.35) else Events(rng.randint(0, 4))
        return Window(
            skip=skip,
            last=last,
            since=self.test(0) if self.chance(0.15) else None,
            where=where,
            at_least=rng.randint(0, min([3, *sizes])) if self.chance(0.3) else 0,
            over_subject=over,
        )

    def measure(self, name: str | None = None) -> Expr:
        """A measure that gives a number."""
        rng = self.rng
        name = name or rng.choice(DRAWN)
        if not self.timed and name in ("fading", "surprise_count") and self.chance(0.7):
            name = "count"
        if name == "cover":
            some = rng.sample(INDICATORS, rng.randint(1, 3))
            weights = tuple(rng.choice((1.0, 0.5, 2.0)) for _ in some) if self.chance(0.7) else ()
            return Cover(
                tuple(Indicator(item) for item in some), weights or (1.0,) * len(some), self.window()
            )
        if name == "surprise_count":
            prior = rng.choice(((0.0, 0.0), (1.0, 2.0), (0.5, 24.0)))
            span, last = rng.choice(((MINUTE, HOUR), (HOUR, DAY), (DAY, 28 * DAY), (10 * MINUTE, 2 * HOUR)))
            options = (("span", (float(span),)), ("last", (float(last),)), ("prior", prior))
            return Measure(name, self.test(0), condition=True, options=options)
        condition = name in MEASURES_OF_CONDITIONS or (name in MEASURES_OF_EITHER and self.chance(0.7))
        if condition:
            return Measure(name, self.test(), self.window(), condition=True)
        if name in MEASURES_OF_VALUES or (name in MEASURES_OF_EITHER and self.chance(0.5)):
            return Measure(
                name, rng.choice((self.category(), self.category(), self.number(0))), self.window()
            )
        if name == "top":
            times = rng.choice((1.0, 1.0, 2.0))
            return Measure(name, self.number(0), self.window(), options=(("times", (times,)),))
        if name in MEASURES_OF_EITHER or name in ("oldest", "newest"):
            return Measure(name, self.number(0), self.window())
        return Measure(name, self.number(), self.window_of(name), options=self.options(name))

    def window_of(self, name: str) -> Window:
        window = self.window(smallest=7 if name == "jump" else 2)
        if name in ("usual", "surprise") and window.skip is None:
            return replace(window, skip=Events(1))
        return window

    def options(self, name: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
        rng = self.rng
        if name in ("swings", "swing_growth"):
            return (("by", (rng.choice((0.1, 0.25, 0.25, 0.5)),)),)
        if name == "excess":
            return (("over", (rng.choice((0.0, 0.25, 0.5)),)),)
        if name == "fading":
            return (("half", (float(rng.choice((MINUTE, HOUR, DAY))),)),)
        if name == "usual":
            return (("prior", rng.choice(((0.0, 0.0), (0.3, 5.0), (0.5, 1.5)))),)
        if name == "surprise":
            return (("prior", rng.choice(((0.0, 0.0, 0.0), (0.5, 0.2, 4.0), (0.3, 0.1, 1.5)))),)
        return ()

    # Thresholds.

    def seen(self, expr: Expr) -> list[float]:
        """The values an expression takes over the events, sorted."""
        pattern = Pattern("probe", Threshold(Compare(">", expr, Number(0.0))), self.history)
        out = []
        for history in naive.histories(pattern, pattern.shape, self.events, self.cap):
            at = [naive.number(naive.value(expr, naive.Here(history, i))) for i in range(len(history.events))]
            out += [x for x in at if x is not None]
        return sorted(out)

    def threshold(self, xs: list[float]) -> float:
        if not xs:
            return 0.5
        k = self.rng.randrange(len(xs))
        return xs[k] if self.chance(0.5) else (xs[k] + xs[max(0, k - 1)]) / 2

    def measured_test(self, name: str | None = None) -> Expr:
        """A comparison of a measure that is true at some events and not at others."""
        name = name or self.rng.choice(DRAWN)
        if name == "top" and self.chance(0.5):
            of, times = Signal(self.rng.choice(CATEGORIES)), self.rng.choice((1.0, 1.0, 2.0, 3.0))
            most = Measure(name, of, self.window(), options=(("times", (times,)),))
            return Compare(self.rng.choice(("==", "!=")), most, Text(self.rng.choice(LETTERS)))
        expr = self.measure(name)
        for _ in range(6):
            xs = self.seen(expr)
            if len(set(xs)) > 1 or (xs and self.chance(0.2)):
                break
            expr = self.measure(name)
        op = self.rng.choice((">=", ">", ">=", "<=", "<"))
        test: Expr = Compare(op, expr, Number(self.threshold(xs)))
        if self.chance(0.1):
            low = Compare("<=", Number(xs[0] if xs else 0.0), expr)
            test = And((low, test))
        if self.chance(0.12):
            usual = Arithmetic("+", self.measure("usual"), Number(self.rng.choice((0.0, 0.1, -0.1))))
            test = Or((test, Compare(">", Signal(self.rng.choice(NUMBERS)), usual)))
        return test

    # Patterns.

    def patterns(self, kind: str, measure: str | None = None) -> list[Pattern]:
        """Patterns of a kind; the one it is about comes last."""
        return {
            "sequence": lambda: [self.sequence_pattern()],
            "threshold": lambda: [self.pattern("steady", self.threshold_shape(measure))],
            "trend": lambda: [self.trend_pattern()],
            "contrast": lambda: [self.contrast_pattern()],
            "silence": lambda: [self.silence_pattern()],
            "combination": self.combination_patterns,
            "spread": self.spread_patterns,
        }[kind]()

    def pattern(self, name: str, shape: Shape, **others: Any) -> Pattern:
        """A pattern with a random confidence, severities and details that any shape may have."""
        rng, later = self.rng, Number(0.5)
        record: dict[str, Any] = {
            "confidence": rng.choice((self.number(), self.measure("mean"), self.measure("share"), later)),
            "details": tuple((f"d{k}", self.measure()) for k in range(rng.randint(0, 3))),
            "group_by": self.history,
        }
        if self.chance(0.3):
            seen = Measure("values", self.rng.choice((self.category(), self.number(0))), self.window())
            most = Measure("top", seen.of, seen.window)
            record["details"] += (("seen", seen), ("most", most), ("value", self.number()))
        if self.chance(0.6):
            rising = ("low", "medium", "high", "critical")[rng.randint(0, 2) :]
            record["severities"] = tuple((item, self.test(0)) for item in rising)
        else:
            record["severities"] = ((rng.choice(("low", "medium", "high")), None),)
        return Pattern(name, shape, **{**record, **others})

    def threshold_shape(self, name: str | None = None) -> Threshold:
        when = self.measured_test(name)
        if self.chance(0.2):
            when = And((when, self.test(0)))
        elif self.chance(0.15):
            when = Or((when, self.measured_test()))
        elif self.chance(0.05):
            when = Not(when)
        if self.chance(0.12):
            return Threshold(when, stays=True)
        return Threshold(when, clears=self.test(0) if self.chance(0.3) else None)

    def simple_pattern(self, name: str) -> Pattern:
        """A part for combinations: fires often."""
        kind = self.rng.random()
        if kind < 0.5:
            shape: Shape = Threshold(self.plain_test(), clears=self.test(0) if self.chance(0.3) else None)
        elif kind < 0.9:
            shape = Sequence((Step("one", self.plain_test()), Step("two", self.plain_test())))
        else:
            shape = Silence(Number(float(self.rng.choice((0, 1, 60, 600)))))
        return self.pattern(name, shape, details=())

    def results(self, pattern: Pattern, names: tuple[str, ...]) -> Pattern:
        """The pattern with the shape's own results among its details and as confidence."""
        details = (*pattern.details[:1], *((name, Result(name)) for name in names))
        pattern = replace(pattern, details=details)
        return replace(pattern, confidence=Result(names[0])) if self.chance(0.4) else pattern

    def trend_pattern(self) -> Pattern:
        of = self.number()
        window = replace(self.window(), keep=None, over_subject=False)
        xs = self.seen(Measure("rise", of, window))
        at = self.threshold([abs(x) for x in xs if x != 0])
        falling = bool(xs) and sum(x < 0 for x in xs) > len(xs) / 2
        shape = Trend(
            of,
            amount=at,
            tau=self.rng.choice((0.0, 0.2, 0.5)),
            window=replace(window, at_least=max(2, window.at_least)),
            falling=falling if self.chance(0.9) else not falling,
            further=self.test(0) if self.chance(0.2) else None,
            clears=self.test(0) if self.chance(0.25) else None,
            stays=False,
        )
        if shape.clears is None and self.chance(0.2):
            shape = replace(shape, stays=True)
        return self.results(self.pattern("drift", shape), ("rise", "tau"))

    def contrast_pattern(self) -> Pattern:
        self.history = self.rng.choice((("subject",), ("subject",), self.history))
        of, where = Signal(self.rng.choice(NUMBERS)), self.plain_test()
        against = Not(where) if self.chance(0.6) else self.plain_test()
        last = self.limits(8, 30) if self.chance(0.6) else ()
        skip = Events(self.rng.randint(0, 3)) if self.chance(0.3) else None
        window = Window(skip=skip, last=last)
        each = self.category() if self.chance(0.4) else None
        at_least = self.rng.choice((2, 2, 3))

        def asked(name: str) -> Difference:
            return Difference(name, of, where, against, each, at_least, window)

        if sum(self.seen(asked("difference"))) < 0:
            where, against = against, where
        shape = Contrast(
            of,
            where,
            against,
            difference=self.threshold(self.seen(asked("difference"))),
            t=min(2.5, self.threshold(self.seen(asked("t"))[:3])),
            window=window,
            at_least=at_least,
            within_each=each,
            further=self.test(0) if self.chance(0.15) else None,
            clears=self.test(0) if self.chance(0.2) else None,
        )
        names = ("difference", "plain_difference", "t", "n_where", "n_against")
        return self.results(self.pattern("two_faces", shape), names)

    def silence_pattern(self) -> Pattern:
        rng = self.rng
        wait: Expr = Number(float(rng.choice((0, 1, 30, 59, 60, 300, 600, 1800, 3600, 40000))))
        if self.chance(0.5):
            inner = Measure(
                "median", Elapsed("gap"), Window(keep=rng.randint(2, 6), where=self.chance_where())
            )
            other = rng.choice((inner, self.measure("mean"), self.measure("max")))
            wait = Function("max", (wait, Arithmetic("*", Number(rng.choice((0.5, 1.0, 2.0))), other)))
        shape = Silence(
            wait,
            after=rng.choice((self.test(0), self.measured_test())) if self.chance(0.4) else None,
            at_least=rng.choice((1, 1, 2, 4)),
        )
        pattern = self.pattern("quiet", shape)
        return replace(pattern, details=(*pattern.details, ("deadline", Result("deadline"))))

    def chance_where(self) -> Expr | None:
        return Compare(">", Elapsed("gap"), Number(30.0)) if self.chance(0.5) else None

    # Sequences.

    def step(self, name: str, earlier: list[str]) -> Step:
        rng = self.rng
        condition = self.plain_test()
        pick = rng.random()
        if earlier and pick < 0.3:
            signal, before = Signal(rng.choice(NUMBERS)), rng.choice(earlier)
            beside = Arithmetic(rng.choice("+-"), StepValue(before, signal), Number(rng.choice((0.0, 0.25))))
            condition = Compare(rng.choice((">", ">=", "<", "<=", "!=")), signal, beside)
        elif earlier and pick < 0.4:
            word = self.category()
            condition = Compare(rng.choice(("==", "!=")), word, StepValue(rng.choice(earlier), word))
        elif pick < 0.55:
            condition = self.measured_test()
        elif pick < 0.65:
            condition = self.test()
        many = rng.choice((1, 1, 1, 2, 2, 3))
        within = self.limits(1, 8) if self.chance(0.3) else ()
        return Step(name, condition, times=many, collects=self.chance(0.45), within=within)

    def sequence_shape(self, count: int) -> Sequence:
        rng = self.rng
        items: list[Step | Never] = []
        names: list[str] = []
        for k in range(count):
            if k and self.chance(0.25):
                items.append(Never(And((self.plain_test(), self.plain_test()))))
            if k and self.chance(0.25):
                items += [
                    Step(f"maybe{k}{n}", self.plain_test(), optional=True) for n in range(rng.choice((1, 2)))
                ]
            items.append(self.step(f"s{k}", names))
            names.append(f"s{k}")
        places = sum(item.times for item in items if isinstance(item, Step) and not item.optional)
        max_gap = rng.choice((None, None, None, 0, 1, 2, 3))
        if max_gap == 0:
            items = [item for item in items if isinstance(item, Step)]
        within = self.limits(places, places + 12) if self.chance(0.6) else (Events(256),)
        return Sequence(tuple(items), max_gap, within)

    def sequence_pattern(self) -> Pattern:
        rng = self.rng
        if self.chance(0.5):
            self.history = ("subject",)
        shape = self.sequence_shape(rng.choice((1, 2, 2, 3, 3, 4)))
        names = [item.name for item in shape.items if isinstance(item, Step)]
        x = Signal(rng.choice(NUMBERS))
        pattern = self.pattern("story", shape)
        details: list[tuple[str, Expr]] = [(f"{name}_count", StepCount(name)) for name in names]
        details += [(f"{name}_mean", StepMean(name, x)) for name in names]
        details += [(f"{name}_last", StepValue(name, self.number())) for name in names]
        tell_at = rng.randint(1, len(shape.steps)) if self.chance(0.3) else None
        confidence = StepMean(rng.choice(names), x) if self.chance(0.6) else pattern.confidence
        return replace(
            pattern, details=(*pattern.details[:1], *details), tell_at=tell_at, confidence=confidence
        )

    # Patterns of patterns.

    def parts(self, names: list[str]) -> list[Pattern]:
        out = []
        for name in names:
            self.history = self.rng.choice(
                (("subject",), ("subject",), ("subject",), ("subject", "target"), ("subject", "thread"))
            )
            out.append(self.simple_pattern(name))
        return out

    def combination(self, name: str, parts: list[str], history: tuple[str, ...]) -> Pattern:
        rng = self.rng
        kind = rng.choice(("all_of", "all_of", "in_order", "in_order", "any_of"))
        overlapping = kind == "all_of" and self.chance(0.45)
        within = self.rng.choice((self.duration().us, 10 * MINUTE, DAY, 30 * DAY))
        shape = Combination(
            kind,
            tuple(parts),
            None if kind == "any_of" or (overlapping and self.chance(0.6)) else within,
            overlapping,
            rng.choice((1.0, 1.0, 1.5, 0.5, 4.0)),
        )
        best = [Result(f"{part}.confidence") for part in parts]
        confidence = rng.choice((None, None, Arithmetic("*", best[0], OrElse(best[-1], Number(0.5)))))
        severities = (("low", None), ("high", Compare(">", best[-1], Number(0.4))))
        details = (("first", best[0]), ("who", Attribute("subject")))
        return Pattern(name, shape, history, confidence, severities, details)

    def combination_patterns(self) -> list[Pattern]:
        rng = self.rng
        names = ["p", "q", "r"][: rng.choice((2, 2, 3))]
        made = self.parts(names)
        parts = list(names)
        if self.chance(0.25):
            values = self.parts(["each.x", "each.y"])
            made += values
            parts[rng.randrange(len(parts))] = "each"
        if self.chance(0.2):
            early = replace(self.sequence_pattern(), name="told")
            if early.tell_at is not None:
                made.append(early)
                parts[-1] = f"told@{early.tell_at}"
        history = rng.choice((("subject",), ("subject",), ("subject",), ("subject", "target")))
        rng.shuffle(parts)
        made.append(self.combination("both", parts, history))
        if self.chance(0.4):
            others = ["both", next(name for name in names if name not in parts[:1])]
            made.append(self.combination("nested", rng.sample(others, 2), ("subject",)))
        return made

    def spread_patterns(self) -> list[Pattern]:
        rng = self.rng
        made = self.parts(["p", "q"])
        made = [replace(item, group_by=rng.choice((("subject",), ("subject", "thread")))) for item in made]
        first, then = rng.choice((("p", "q"), ("p", "q"), ("p", "p")))
        within = rng.choice((self.duration().us, HOUR, DAY, 30 * DAY))
        shape = Spread(first, then, within, rng.choice((1, 1, 2)), rng.choice((1.0, 2.0)))
        confidence = None if self.chance(0.7) else Result(f"{then}.confidence")
        details = (("to", Result(f"{then}.confidence")), ("from", Result(f"{first}.confidence")))
        return [*made, Pattern("contagion", shape, ("subject",), confidence, (("medium", None),), details)]
