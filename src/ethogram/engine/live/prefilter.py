"""Prefilter: which programs an event can matter to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isfinite, nan
from typing import Any, NamedTuple

from ...language.ast import (
    And,
    AnyOf,
    Arithmetic,
    Attribute,
    Compare,
    Cover,
    Difference,
    Elapsed,
    Expr,
    Function,
    Indicator,
    Known,
    Measure,
    Member,
    Negative,
    Not,
    Number,
    Or,
    OrElse,
    Result,
    Signal,
    StepCount,
    StepMean,
    StepValue,
    Text,
)
from ...language.history import FIELDS
from ...language.program import SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.three_valued import TOLERANCE
from ...language.visitor import MEASURES, children, walk
from ...models import Value
from ..evaluate import number
from .buffer import Kept, Layout, trim
from .groups import Group, Kind, Start, Track
from .layout import ELAPSED, column_source
from .rolling import EACH, HEAD, Running, Sums, bounds_of, maker, update_source
from .source import LOGICAL, Captures, Writer, functions

# Expressions as they are for events with given readings: what is absent there is put in place.
#
# Most events carry few of the readings a pattern set names, so most conditions come down to a constant.

ABSENT: Expr = Result("absent")
"""A value that is absent, or a condition that is unknown."""
TRUE: Expr = Known(Number(0.0))
FALSE: Expr = Known(ABSENT)
CONSTANT = (Number, Text)


class Carried(NamedTuple):
    """What events of one kind carry: these readings, attributes or none, and whether they are evaluated."""

    names: frozenset[str]
    attributes: bool
    evaluated: bool

    def reduce(self, expr: Expr) -> Expr:
        """The same value and truth at every such event, with less to read."""
        match expr:
            case Signal():
                return expr if expr.name in self.names else ABSENT
            case Indicator():
                lacking = Number(0.0) if self.evaluated else ABSENT
                return expr if expr.name in self.names else lacking
            case Attribute():
                is_there = self.attributes or expr.name in FIELDS or expr.name in self.names
                return expr if is_there else ABSENT
            case Negative() | Arithmetic() | Function() | Compare():
                return self._plain(expr)
            case Member():
                return self._member(expr)
            case OrElse():
                of = self.reduce(expr.of)
                if of == ABSENT:
                    return self.reduce(expr.default)
                return of if isinstance(of, CONSTANT) else OrElse(of, self.reduce(expr.default))
            case Known():
                of = self.reduce(expr.of)
                if of == ABSENT:
                    return FALSE
                return TRUE if isinstance(of, CONSTANT) or of in (TRUE, FALSE) else Known(of)
            case AnyOf():
                return self.reduce(Or(tuple(Compare(">", item, Number(0.0)) for item in expr.items)))
            case And() | Or() | Not():
                return self._logic(expr)
        return expr

    def _plain(self, expr: Negative | Arithmetic | Function | Compare) -> Expr:
        made: Expr
        match expr:
            case Negative():
                parts: tuple[Expr, ...] = (self.reduce(expr.of),)
                made = Negative(parts[0])
            case Function():
                parts = tuple(map(self.reduce, expr.args))
                made = Function(expr.name, parts)
            case Arithmetic():
                parts = (self.reduce(expr.left), self.reduce(expr.right))
                made = Arithmetic(expr.op, *parts)
            case Compare():
                parts = (self.reduce(expr.left), self.reduce(expr.right))
                made = Compare(expr.op, *parts)
        if ABSENT in parts:
            return ABSENT
        return _computed(made) if all(isinstance(part, CONSTANT) for part in parts) else made

    def _member(self, expr: Member) -> Expr:
        of = self.reduce(expr.of)
        if of == ABSENT:
            return ABSENT
        made = Member(of, tuple(map(self.reduce, expr.options)), expr.negated)
        return (
            _computed(made) if all(isinstance(option, CONSTANT) for option in (of, *made.options)) else made
        )

    def _logic(self, expr: And | Or | Not) -> Expr:
        if isinstance(expr, Not):
            of = self.reduce(expr.of)
            swapped = {TRUE: FALSE, FALSE: TRUE, ABSENT: ABSENT}
            return swapped.get(of, Not(of)) if of in swapped else Not(of)
        decides, neutral = (FALSE, TRUE) if isinstance(expr, And) else (TRUE, FALSE)
        items = [fromkey for fromkey in dict.fromkeys(map(self.reduce, expr.items)) if fromkey != neutral]
        if decides in items:
            return decides
        if not items:
            return neutral
        if items == [ABSENT]:
            return ABSENT
        return type(expr)(tuple(items))


@lru_cache(maxsize=4096)
def _computed(expr: Expr) -> Expr:
    """What an expression of constants comes to."""
    writer = Writer(Captures(()))
    name = writer.function(writer.value(expr))
    read: Callable[..., object] = functions("\n".join(writer.lines), writer.names)[name]
    value = read(_NOWHERE, (), ())
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return Text(value) if isinstance(value, str) else Number(float(value))  # type: ignore[arg-type]


class _Nowhere:
    get = memo = None


_NOWHERE = _Nowhere()


# Expressions as Python source for events of one kind: which readings they carry is known beforehand.

ORDERED = (">", ">=", "<", "<=")
NEAR = 1e-6
_TURNED = str.maketrans("<>", "><")


class TooDeep(Exception):
    """An expression that cannot be written in one piece."""


class Shared:
    """What all programs of one function refer to by name."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.numbers: set[int] = set()
        """The places of readings that are asked for as numbers; `floats`: with NaN for what is absent."""
        self.floats: set[int] = set()
        self.attributes: set[int] = set()
        self._constants: dict[tuple[type, Any], str] = {}

    def constant(self, value: Any) -> str:
        """The name under which the source finds a value."""
        name = self._constants.setdefault((type(value), value), f"K{len(self._constants)}")
        self.names[name] = value
        return name


class Here(Writer):
    """Writes expressions as they are at events of one kind, as part of a function for many programs.

    In the source: v0, v1, ... are the readings, n0, ... the same as numbers (None for what is none), f0, ...
    likewise with NaN, a0, ... as attributes; E is the event, and S the rows.
    """

    def __init__(
        self, captures: Captures, carried: Carried, places: Mapping[str, int], shared: Shared
    ) -> None:
        super().__init__(captures)
        self.carried, self.places, self.shared = carried, places, shared
        shared.names.update(self.names)

    def function(self, expression: str) -> str:
        raise TooDeep

    def constant(self, value: Any) -> str:
        return repr(value) if type(value) is float and isfinite(value) else self.shared.constant(value)

    def _value(self, expr: Expr) -> str:
        match expr:
            case Signal():
                return f"v{self.places[expr.name]}" if expr.name in self.places else "None"
            case Indicator():
                if expr.name not in self.places:
                    return "0.0" if self.carried.evaluated else "None"
                v = f"v{self.places[expr.name]}"
                return f"({v} if {v} is not None else 0.0)" if self.carried.evaluated else v
            case Attribute():
                a, name = self._fresh("t"), self.constant(expr.name)
                if expr.name in FIELDS:
                    return f"att(E, {name})"
                if not self.carried.attributes:
                    # Where there are no attributes, a reading of that name stands for one.
                    self.shared.attributes.add(self.places[expr.name])
                    return f"a{self.places[expr.name]}"
                return f"({a} if type({a} := E.attributes.get({name})) is str else att(E, {name}))"
            case Result() if expr == ABSENT:
                return "None"
        return super()._value(expr)

    def _number(self, expr: Expr) -> str:
        if isinstance(expr, Signal) and expr.name in self.places:
            place = self.places[expr.name]
            self.shared.numbers.add(place)
            return f"n{place}"
        return super()._number(expr)

    def _true(self, expr: Expr) -> str:
        if expr in (TRUE, FALSE) or isinstance(expr, CONSTANT):
            return str(expr == TRUE)
        return super()._true(expr)

    def _false(self, expr: Expr) -> str:
        if expr in (TRUE, FALSE) or isinstance(expr, CONSTANT):
            return str(expr == FALSE)
        return super()._false(expr)

    def _compare(self, expr: Compare) -> tuple[list[str], str]:
        left, right, op = expr.left, expr.right, expr.op
        if isinstance(left, Number):
            left, right, op = right, left, op.translate(_TURNED)
        match left, right:
            case Signal(name), Number(limit) if name in self.places and abs(limit) <= 1 and op in ORDERED:
                return self._small(self.places[name], op, limit)
        return super()._compare(expr)

    def comparison(self, op: str, a: str, b: str, has_text: bool) -> str:
        if op not in ("==", "!=") or has_text or not _is_small(b):
            return super().comparison(op, a, b, has_text)
        # Most values are far from the one that is asked for, and need no exact look.
        far = f"type({a}) is float and not {float(b) - NEAR!r} < {a} < {float(b) + NEAR!r}"
        equality = f"({a} == {b} or (not ({far}) and same({a}, {b})))"
        return equality if op == "==" else f"(not {equality})"

    def _small(self, place: int, op: str, b: float) -> tuple[list[str], str]:
        """The comparison with a number of size 1 at most: among such numbers the tolerance is fixed."""
        a = f"f{place}"
        self.shared.floats.add(place)
        higher = f"{a} > {b + TOLERANCE!r} and ({a} <= 1.0 or above({a}, {b!r}))"
        lower = f"{a} + {TOLERANCE!r} < {b!r} and ({a} >= -1.0 or above({b!r}, {a}))"
        if op in "><":
            # Absent is not a number here, which is neither higher nor lower than any.
            return [], f"({higher if op == '>' else lower})"
        self.shared.numbers.add(place)
        return [f"n{place} is not None"], f"(not ({lower if op == '>=' else higher}))"

    def lacks(self, items: tuple[Indicator, ...]) -> str:
        return str(self.carried.names.isdisjoint(item.name for item in items))


def float_of(result: Any) -> float:
    """A reading as a number; NaN for what is none."""
    value = number(result)
    return nan if value is None else value


def value_of(value: Any) -> Value | None:
    """A reading where an attribute is asked for: as a value that can be compared."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    return value if isinstance(value, str) else None


def _is_small(text: str) -> bool:
    """Whether a source is that of a number of size 1 at most."""
    try:
        return abs(float(text)) <= 1
    except ValueError:
        return False


# Whether a condition may be true at an event, as Python source that is cheap to run.
#
# "No" is certain; "perhaps" is looked at exactly. Conditions of the event's own readings are written as they
# are; a comparison with a measure is decided by what runs along with it (running.py), where something does.

TOLERATED = 1.1e-9


class Between(NamedTuple):
    """A number between two: `checks` must hold for it to be there at all. None: no end is known."""

    checks: list[str]
    low: str | None
    high: str | None


class Quick(Here):
    """Writes what can be said of one program without an exact look.

    What is known of measures: `runs` and `most` say where their sums run along, or only the most they may
    be; `newest` where the newest value is; `far` and `few` who knows of a contrast.
    """

    def __init__(
        self, captures: Captures, carried: Carried, places: Mapping[str, int], shared: Shared
    ) -> None:
        super().__init__(captures, carried, places, shared)
        self.runs: dict[Expr, tuple[str, int]] = {}
        self.most: dict[Expr, tuple[str, int]] = {}
        self.newest: dict[Expr, str] = {}
        self.far: dict[Expr, str] = {}
        self.few: dict[Difference, str] = {}

    def may(self, expr: Expr) -> str:
        """Source that is false only where the condition is not true; 'False', 'True' where that is clear."""
        expr = self.carried.reduce(expr)
        return self._may(expr)

    def _may(self, expr: Expr) -> str:
        if expr == TRUE:
            return "True"
        if expr in (FALSE, ABSENT):
            return "False"
        match expr:
            case And():
                return joined(
                    [self._may(item) for item in _cheapest_first(expr.items)], "and", "False", "True"
                )
            case Or():
                return joined(
                    [self._may(item) for item in _cheapest_first(expr.items)], "or", "True", "False"
                )
            case Number() | Text():
                return "True"
            case _ if not _looks_back(expr):
                # In a condition a number counts as true, but not where it stands alone.
                return self.true(expr) if isinstance(expr, LOGICAL) else f"({self.value(expr)} is not None)"
            case Compare() if expr.op in ORDERED:
                return self._reaches(expr)
        return "True"

    def knowable(self, expr: Expr) -> str:
        """Source that is false only where the condition is unknown."""
        expr = self.carried.reduce(expr)
        if expr in (TRUE, FALSE, ABSENT) or isinstance(expr, CONSTANT):
            return str(expr != ABSENT)
        if not _looks_back(expr):
            return f"({self.value(expr)} is not None)"
        match expr:
            case And() | Or():
                return joined([self.knowable(item) for item in expr.items], "or", "True", "False")
            case Compare():
                sides = [self._present(side) for side in (expr.left, expr.right)]
                return joined(sides, "and", "False", "True")
        return "True"

    def _present(self, expr: Expr) -> str:
        """Source that is false only where a value is absent."""
        match expr:
            case Difference():
                return next(
                    (f"(not {few}(S))" for name, few in self.few.items() if _may_alike(name, expr)), "True"
                )
            case _ if expr == ABSENT:
                return "False"
            case _ if not _looks_back(expr):
                return "True" if isinstance(expr, (Number, Text)) else f"({self.value(expr)} is not None)"
            case Arithmetic() if expr.op in "+-":
                return joined([self._present(expr.left), self._present(expr.right)], "and", "False", "True")
            case Measure() if expr in self.runs:
                checks = bounds_of(expr, *self.runs[expr])[0]
                return f"({' and '.join(checks)})" if checks else "True"
        return "True"

    def _reaches(self, expr: Compare) -> str:
        if expr.op in ("<", "<="):
            return self._reaches(Compare(expr.op.replace("<", ">"), expr.right, expr.left))
        if expr.left in self.far and expr.op == ">=" and isinstance(expr.right, Number):
            return f"(not {self.far[expr.left]}(S, {self.constant(expr.right.value)}))"
        left, right = self._between(expr.left), self._between(expr.right)
        checks = [*left.checks, *right.checks]
        if left.high is not None and right.low is not None:
            low, is_constant = right.low, isinstance(expr.right, Number)
            if expr.op == ">":
                checks.append(f"not {left.high} < {low}")
            elif is_constant:
                limit = float(expr.right.value)  # type: ignore[union-attr]
                checks.append(f"not {left.high} < {limit - TOLERATED * max(1.0, abs(limit))!r}")
            else:
                checks.append(f"not above({low}, {left.high})")
        return f"({' and '.join(checks)})" if checks else "True"

    def _between(self, expr: Expr) -> Between:
        if isinstance(expr, Number):
            return Between([], self.constant(expr.value), self.constant(expr.value))
        if not _looks_back(expr):
            t = self._fresh("t")
            return Between([f"({t} := {self.number(expr)}) is not None"], t, t)
        match expr:
            case Arithmetic() if expr.op in "+-":
                a, b = self._between(expr.left), self._between(expr.right)
                low, high = (b.low, b.high) if expr.op == "+" else (b.high, b.low)
                return Between([*a.checks, *b.checks], _of(a.low, expr.op, low), _of(a.high, expr.op, high))
            case Cover() | Measure() if expr in self.most:
                name, k = self.most[expr]
                return Between([], None, f"{name}[{HEAD + EACH * k + 1}]")
            case Measure() if expr in self.runs:
                return Between(*bounds_of(expr, *self.runs[expr]))
            case Measure() if expr in self.newest and expr.name in ("max", "min"):
                x = self.newest[expr]
                ends = f"({x} if {x} is not None else {{}}inf)"
                return Between(
                    [], *((ends.format("-"), None) if expr.name == "max" else (None, ends.format("")))
                )
        return Between([], None, None)


def _of(a: str | None, op: str, b: str | None) -> str | None:
    return None if a is None or b is None else f"({a} {op} {b})"


def joined(texts: list[str], word: str, decides: str, neutral: str) -> str:
    """Sources joined by `and` or `or`, those that are clear beforehand left out."""
    if decides in texts:
        return decides
    left = [text for text in texts if text != neutral]
    return f"({f' {word} '.join(left)})" if left else neutral


def _cheapest_first(items: tuple[Expr, ...]) -> list[Expr]:
    """The contrast first, since it must see every event; then what is read at the event itself."""
    return sorted(items, key=lambda item: (not _contrasts(item), _looks_back(item)))


def _may_alike(difference: Difference, other: Difference) -> bool:
    """Whether two numbers of a contrast are there at the same events."""
    counts = ("n_where", "n_against")
    return other.name not in counts and replace(difference, name=other.name) == other


def _contrasts(expr: Expr) -> bool:
    return any(isinstance(item, Difference) for item in walk(expr))


def _looks_back(expr: Expr) -> bool:
    """Whether an expression asks for more than the event and what steps captured last."""
    if isinstance(expr, StepValue):
        return False  # what it asks for was captured
    return isinstance(expr, (*MEASURES, StepCount, StepMean)) or any(map(_looks_back, children(expr)))


# What a gate asks of one program: whether something may begin or go on with an event.


class Ask:
    """The questions about one program at events of one kind, as source."""

    def __init__(
        self, number: int, track: Track, carried: Carried, places: Mapping[str, int], shared: Shared
    ) -> None:
        self.number, self.track, self.carried, self.shared = number, track, carried, shared
        self.quick = Quick(track.plan.captures, carried, places, shared)

    def pure(self) -> tuple[str, str]:
        """For a program without rows: whether something begins while it sleeps, and whether it must step."""
        try:
            self._running()
            return self._begins(), self._question()
        except TooDeep:
            return "True", "True"

    def ask(self) -> list[str]:
        self._running()
        text = f"H |= {1 << self.number}"
        begins, question = self._begins(), self._question()
        if begins == "True" or question == "False":
            return [text] if begins == "True" else []
        asked = [f"if not A & {1 << self.number}:", " s = W.state", f" if {question}: {text}"]
        if begins == "False":
            return asked
        return [f"if {begins}: {text}", f"el{asked[0]}", *asked[1:]]

    def _begins(self) -> str:
        """Whether something may begin while nothing is under way."""
        match self.track.program.body:
            case SequenceProgram() as body:
                return self.quick.may(body.places[0].condition)
            case ThresholdProgram() as body:
                return self.quick.may(body.when)
            case SilenceProgram() as body:
                return self._waits(body)
        return "True"

    def _running(self) -> None:
        quick, plan = self.quick, self.track.plan
        for expr, (is_whole, k) in plan.running.of.items():
            running = (plan.running.whole if is_whole else plan.running.own)[k]
            known = quick.runs if isinstance(running, Sums) else quick.most
            known[expr] = ("w" if is_whole else "b", k)
        for slot, (kind, of, where) in enumerate(plan.layout.wanted):
            for name in ("max", "min"):
                self.quick.newest |= {
                    item: f"x{slot}"
                    for item in plan.running.compared
                    if isinstance(item, Measure)
                    and item.name == name
                    and (kind, of, where) == ("number", item.of, item.window.where)
                    and item.window.skip is None
                    and item.window.since is None
                    and not item.window.over_subject
                }
        for expr, far in plan.far.items():
            name = f"far{self.number}_{len(quick.far)}"
            self.shared.names[name] = far
            quick.far[expr] = name
            if isinstance(expr, Difference):
                few = name.replace("far", "few")
                self.shared.names[few] = plan.few[expr]
                quick.few[expr] = few

    def _question(self) -> str:
        """Whether a program must take a step for which something is under way, or that knows nothing yet."""
        match self.track.program.body:
            case SequenceProgram() as body:
                return self._sequence(body)
            case ThresholdProgram() as body:
                return joined(["s.open is not None", self._unknown(body.when)], "or", "True", "False")
            case SilenceProgram() as body:
                return "s.deadline is not None"
        return "True"

    def _waits(self, body: SilenceProgram) -> str:
        after = "True" if body.after is None else self.quick.may(body.after)
        enough = [f"S.n >= {body.at_least}"] if body.at_least > 1 else []
        return joined([*enough, after], "and", "False", "True")

    def _unknown(self, condition: Expr) -> str:
        """Whether the condition could not be judged so far, where such an event can change that."""
        return joined(["not s.known", self.quick.knowable(condition)], "and", "False", "True")

    def _sequence(self, body: SequenceProgram) -> str:
        first = body.places[0].condition
        later = [text for i in range(1, len(body.places)) if (text := self._place(body, i)) != "False"]
        standing = joined(later, "or", "True", "False")
        parts = [self._unknown(first)]
        if standing != "False":
            parts.append(joined(["not s.idle", standing], "and", "False", "True"))
        return joined(parts, "or", "True", "False")

    def _place(self, body: SequenceProgram, i: int) -> str:
        """Whether an event matters to a chain that waits for place i."""
        may, place = self.quick.may, body.places[i]
        between = [may(never) for never in place.nevers]
        between += [may(optional.condition) for optional in body.optionals if optional.after == i - 1]
        here = may(place.condition)
        if place.nevers:
            here = joined([f"not s.blocked[{i}]", here], "and", "False", "True")
        text = joined([here, *between], "or", "True", "False")
        if text == "False":
            return text
        # C is what the steps of the chain captured, as conditions that name them read it.
        return f"((B := s.standing[{i - 1}]) is not None and ((C := B.last) is None or {text}))"


# One program's part of a gate: moving its rows on by an event, then asking whether it must step.


def _alike(kind: str, of: Any) -> Any:
    """The same for columns that hold the same: what is always a number is one either way."""
    return ("number" if isinstance(of, (Elapsed, Function, Arithmetic, Negative)) else kind, of)


class Part(Ask):
    """One program's part of a gate."""

    # Moving on.

    def lines(self, *, timed: bool) -> list[str]:
        """Move the program's rows on, then ask whether it must take a step."""
        head = [f"W = cell[{self.number}] or start(cell, {self.number}, E)", "S = W.rows"]
        if self.track.timed_only and not timed:
            return [*head, "S.n += 1"]
        try:
            plan = self.track.plan
            whole = ["w = S.whole.running"] if plan.running.whole else []
            return [*head, *self._enter(plan.layout, plan.running.own), *whole, *self.ask()]
        except TooDeep:
            enter = f"enter{self.number}"
            self.shared.names[enter] = self.track.enter
            entered = f"{enter}(S, E, mark, {self.carried.evaluated}); S.running[0] = -1"
            return [*head, entered, f"H |= {1 << self.number}"]

    def whole(self) -> list[str]:
        """Move the subject's whole history on."""
        plan = self.track.plan
        assert plan.whole_layout is not None
        head = [f"S = cell[{self.number}] or start(cell, {self.number}, E)"]
        try:
            return [*head, *self._enter(plan.whole_layout, plan.running.whole)]
        except TooDeep:
            enter = f"enter{self.number}"
            self.shared.names[enter] = self.track.whole_enter
            return [*head, f"{enter}(S, E, mark, {self.carried.evaluated}); S.running[0] = -1"]

    def _enter(self, layout: Layout, running: Sequence[Running]) -> list[str]:
        lines = [line[1:] for line in ELAPSED] if layout.elapsed else []
        # A step sets the time itself; between steps only these ask for it.
        timed = (
            layout.elapsed
            or layout.keeps
            or not self.track.is_threshold
            or layout is self.track.plan.whole_layout
        )
        lines += ["S.n = n = S.n + 1" + ("; S.us = us" if timed else "")]
        lines += ["times = S.times; times.append(us); L = len(times)"] if layout.need else []
        lines += ["S.marks.append(mark)"] if layout.need and layout.with_marks else []
        lines += ["c = S.columns"] if layout.wanted else []
        known: dict[Any, str] = {}
        for slot, (kind, of, where) in enumerate(layout.wanted):
            known[_alike(kind, of), where] = f"x{slot}"
            lines += [f"x{slot} = {self._column(kind, of, where)}", f"c[{slot}].append(x{slot})"]
        for slot, (kind, of, where, most) in enumerate(layout.kept):
            name = known.get((_alike(kind, of), where))
            if name is None:
                name = known[_alike(kind, of), where] = f"k{slot}"
                lines.append(f"{name} = {self._column(kind, of, where)}")
            lines += [
                f"if {name} is not None:",
                f" q = S.kept[{slot}]; q.append(new(Kept, (n - 1, us, {name}, mark)))",
                f" if len(q) > {most + 32}: del q[:-{most}]",
            ]
        if running:
            anew = f"anew{self.number}"
            self.shared.names[anew] = maker(running)
            # What enters a window that skips is read into a name of its own: the newest stays as it is.
            values = ["z" if getattr(item, "skip", 0) else f"x{item.column}" for item in running]
            lines += update_source(running, values, anew)
        return lines + ([f"if L > {2 * layout.need + 32}: trim(S, {layout.need})"] if layout.need else [])

    def _column(self, kind: str, of: Any, where: Expr | None) -> str:
        """Source of a column's value here; 'None' where it is clear that it is absent."""
        counts = TRUE if where is None else self.carried.reduce(where)
        if counts in (FALSE, ABSENT):
            return "None"
        if kind == "found":
            text = self._found(of)
        else:
            reduced = self.carried.reduce(of)
            if kind == "true" and reduced in (TRUE, FALSE, ABSENT):
                text = str(reduced == TRUE)
            elif reduced == ABSENT:
                return "None"
            else:
                text = column_source(self.quick, kind, reduced, None)
        return text if counts == TRUE else f"({text} if {self.quick.true(counts)} else None)"

    def _found(self, items: tuple[Indicator, ...]) -> str:
        """Which indicators are above 0, as bits. Those not carried are 0 where the event is evaluated."""
        if not items:
            return "None"
        if not self.carried.evaluated:
            if self.carried.names.isdisjoint(item.name for item in items):
                return "None"
            raise TooDeep
        here = [(j, item) for j, item in enumerate(items) if item.name in self.carried.names]
        bits = [
            f"({1 << j} if {self.quick.true(Compare('>', item, Number(0.0)))} else 0)" for j, item in here
        ]
        text = f"({' | '.join(bits) or '0'})"
        if len(here) < len(items):
            return text
        known = " or ".join(f"{self.quick.number(item)} is not None" for item in items)
        return f"({text} if {known} else None)"


# The gate: one function for a whole set of programs, written for events with given readings.
#
# It moves every program's rows on by one event and says for which programs the event may change something.
# Only those then take a step of their own. For all others the event is over in a few comparisons.

Gate = Callable[..., int]
"""(cell, readings, event, microseconds, mark) to the numbers of programs to step, as bits."""


class Form(NamedTuple):
    """How a gate is called, and what it gives back."""

    head: tuple[str, ...]
    tail: str
    names: dict[str, Any]


CELLS = Form(("def gate(cell, V, E, us, mark):",), " return H", {})


def gate_of(
    kind: Kind,
    here: Mapping[int, Track],
    carried: Carried,
    places: Mapping[str, int],
    *,
    timed: bool,
    form: Form = CELLS,
) -> Gate:
    """The gate of the programs of one kind of history that such events are for.

    `places` says where in the tuple of readings each name is.
    """
    shared = Shared()
    parts = {number: Part(number, track, carried, places, shared) for number, track in here.items()}
    body = [f"A = cell[{kind.asleep}]"]
    for group in kind.groups:
        if group.numbers[0] in here:
            body += _counted(kind, group)
    body += _contiguous(kind, parts, timed=timed)
    for place, part in parts.items():
        if place not in kind.group_of:
            body += part.lines(timed=timed)
    body += _sleepers(kind, parts, timed=timed)
    return _made(body, places, shared, kind.start, form)


def whole_gate_of(
    here: Mapping[int, Track], carried: Carried, places: Mapping[str, int], start: Start
) -> Gate:
    """A gate that only moves the subjects' whole histories on; its cells hold rows."""
    shared = Shared()
    body = [line for n, track in here.items() for line in Part(n, track, carried, places, shared).whole()]
    return _made(body, places, shared, start, CELLS)


def _made(body: list[str], places: Mapping[str, int], shared: Shared, start: Start, form: Form) -> Gate:
    shared.names |= {
        "Kept": Kept,
        "new": tuple.__new__,
        "trim": trim,
        "start": start,
        "sqrt": math.sqrt,
        "float_of": float_of,
        "value_of": value_of,
    }
    unpacked = "".join(f"v{place}, " for place in range(len(places)))
    head = [*form.head, " H = 0", *([f" {unpacked}= V"] if places else [])]
    shared.names |= form.names
    used = {"n": shared.numbers, "f": shared.floats, "a": shared.attributes}
    made = {"n": "num", "f": "float_of", "a": "value_of"}
    for k in sorted(shared.numbers | shared.floats | shared.attributes):
        names = [f"{letter}{k}" for letter in used if k in used[letter]]
        head.append(f" if type(v{k}) is float: {' = '.join(names)} = v{k}")
        head.append(f" else: {'; '.join(f'{name} = {made[name[0]]}(v{k})' for name in names)}")
    source = "\n".join([*head, *(f" {line}" for line in body), form.tail])
    return functions(source, shared.names)["gate"]


def _counted(kind: Kind, group: Group) -> list[str]:
    """Count an event once for all programs of a group."""
    counted = f"cell[{group.count}] += 1" + (f"; cell[{group.us}] = us" if group.timed else "")
    if not all(number in kind.shift for number in group.numbers) or group.timed:
        return [counted]
    # Where a contiguous sequence stands its bits say; how many events there were matters only until it
    # is known that it can be judged.
    asleep = sum(1 << number for number in group.numbers)
    return [f"if A & {asleep} != {asleep}: {counted}"]


def _contiguous(kind: Kind, parts: Mapping[int, Part], *, timed: bool) -> list[str]:
    """Move the bits of all contiguous programs on at once; those whose last bit is set may fire."""
    here = [n for n in kind.shift if n in parts and (timed or not parts[n].track.timed_only)]
    if not here:
        return []
    starts = sum(1 << kind.shift[n] for n in here)
    lasts = {n: 1 << kind.shift[n] + kind.length(n) - 1 for n in here}
    members = sum(kind.mask(n) for n in here)
    lines = [f"r = cell[{kind.register}]", *_met(kind, {n: parts[n] for n in here})]
    kept = "" if len(here) == len(kind.shift) else f" | r & {~members}"
    lines.append(f"cell[{kind.register}] = r = (r << 1 | {starts}) & m{kept}")
    lines.append("if r:")
    for group in kind.groups:
        standing = sum(kind.mask(n) for n in here if n in group.numbers)
        if standing:
            # Marks are needed only of chains that stand, and those are of one event after the other.
            most = 2 * group.longest + 16
            lines += [f" if r & {standing}:", f"  M = cell[{group.marks}]; M.append(mark)"]
            lines += [f"  if len(M) > {most}: del M[:-{group.longest}]"]
    lines.append(f" if r & {sum(lasts.values())}:")
    return lines + [f"  if r & {last}: H |= {1 << n}" for n, last in lasts.items()]


def _met(kind: Kind, parts: Mapping[int, Part]) -> list[str]:
    """Which places' conditions the event meets, as bits m; each condition is asked once for all places."""
    meets: dict[Expr, int] = {}
    for index, part in parts.items():
        for i, place in enumerate(part.track.machine.body.places):
            condition = part.carried.reduce(place.condition)
            meets[condition] = meets.get(condition, 0) | 1 << kind.shift[index] + i
    quick = next(iter(parts.values())).quick
    texts = [(quick.may(condition), mask) for condition, mask in meets.items()]
    always = sum(mask for text, mask in texts if text == "True")
    asked = [f"if {text}: m |= {mask}" for text, mask in texts if text not in ("True", "False")]
    return [f"m = {always}", *asked]


def _sleepers(kind: Kind, parts: Mapping[int, Part], *, timed: bool) -> list[str]:
    """Ask the programs that remember no rows: those that sleep only whether something begins."""
    lines: list[str] = []
    awake: list[str] = []
    quiet = 0
    for index, part in parts.items():
        if index not in kind.group_of:
            continue
        if part.track.timed_only and not timed:
            lines.append(f"if cell[{index}] is None: start(cell, {index}, E)")
            continue
        bit, group = 1 << index, kind.group_of[index]
        if index in kind.shift:
            quiet |= bit
            awake.append(f" if not A & {bit}: H |= {bit}")
            continue
        begins, question = part.pure()
        stand = f"S = W.rows; S.n = cell[{group.count}] - W.base"
        if part.track.plan.running.whole:
            stand += "; w = S.whole.running"
        asked = [
            f"W = cell[{index}] or start(cell, {index}, E); {stand}; S.us = us; s = W.state",
            f"if {question}: H |= {bit}",
        ]
        if begins == "False":
            quiet |= bit
            awake += [f" if not A & {bit}:", *(f"  {line}" for line in asked)]
        else:
            asked[1] = f"if {begins} or {question}: H |= {bit}"
            lines += [f"if A & {bit}:", f" W = cell[{index}]; {stand}", f" if {begins}: H |= {bit}"]
            lines += ["else:", *(f" {line}" for line in asked)]
    return lines + ([f"if A & {quiet} != {quiet}:", *awake] if awake else [])
