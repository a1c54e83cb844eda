"""Expressions over columns: nodes to masks, numbers or values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

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
from ...language.three_valued import FLIPPED
from ...language.visitor import children, walk
from ..evaluate import _OPERATIONS, reader
from ..values import finite
from .blocks import Arranged
from .numbers import (
    ULP,
    Num,
    above_array,
    equal_to,
    first_known,
    gather,
    highest_below,
    joined,
    lowest_above,
    near,
    only_where,
    step_mean,
)
from .table import Floats, Ints, Mask, Values

# Comparisons of columns: where they are true, where false, and where rounding could turn them.

Judged = tuple[Mask, Mask | None]
"""Where a comparison is as wanted, and where the plain reader must be asked."""


def simple_mask(arranged: Arranged, expr: Expr, rows: Ints | None) -> Mask | None:
    """Where the reading of a signal lies on one side of a number; None for any other condition."""
    if (
        not isinstance(expr, Compare)
        or not isinstance(expr.left, Signal)
        or not isinstance(expr.right, Number)
    ):
        return None
    if expr.op not in FLIPPED:
        return None
    found, c = arranged.column("reading", expr.left.name).num, float(expr.right.value)
    if found is None or c != c:
        return np.zeros(arranged.size if rows is None else len(rows), bool)
    return _side(expr.op, found if rows is None else found[rows], c, True)


def order_masks(op: str, a: Num, b: Num, wanted: bool, size: int) -> Judged:
    """`a op b` is true (or, not wanted, false)."""
    if isinstance(a.x, float) and not isinstance(b.x, float):
        op, a, b = FLIPPED[op], b, a
    if isinstance(b.x, float) and not isinstance(a.x, float):
        return _with_constant(op, a, b, wanted)
    known = np.equal(a.x, a.x) & np.equal(b.x, b.x)
    # `a >= b` is not (b > a), so two of the four ask the other way round.
    over = above_array(a.x, b.x) if op in (">", "<=") else above_array(b.x, a.x)
    found = over if (op in (">", "<")) == wanted else ~over
    return np.broadcast_to(known & found, (size,)), near(a, b)


def _with_constant(op: str, a: Num, b: Num, wanted: bool) -> Judged:
    c = b.x
    assert isinstance(c, float)
    if c != c:
        return np.zeros(len(np.asarray(a.x)), bool), near(a, b)
    return _side(op, np.asarray(a.x), c, wanted), near(a, b)


def _side(op: str, x: Floats, c: float, wanted: bool) -> Mask:
    """Where numbers lie on one side of another, as wanted."""
    mask: Mask
    if op in (">", "<="):
        edge = lowest_above(c)
        mask = x >= edge if (op == ">") == wanted else x < edge
    else:
        edge = highest_below(c)
        mask = x <= edge if (op == "<") == wanted else x > edge
    return mask


def equal_masks(a: Values | Num, b: Values | Num, same: bool, size: int) -> Judged:
    """Both are known and equal (or, not `same`, known and different)."""
    first, second = _parts(a), _parts(b)
    numbers, unsure = _equal_numbers(first[0], second[0], size)
    equal = numbers
    if first[1] is not None and second[1] is not None:
        equal = equal | ((first[1] == second[1]) & (first[1] >= 0))
    if same:
        return equal, unsure
    known = _known(first, size) & _known(second, size)
    return known & ~equal, unsure


_Parts = tuple[Num | None, np.ndarray | None]


def _parts(side: Values | Num) -> _Parts:
    if isinstance(side, Num):
        return side, None
    return None if side.num is None else Num(side.num), side.code


def _known(parts: _Parts, size: int) -> Mask:
    out = np.zeros(size, bool)
    if parts[0] is not None:
        out |= np.equal(parts[0].x, parts[0].x)
    if parts[1] is not None:
        out |= parts[1] >= 0
    return out


def _equal_numbers(a: Num | None, b: Num | None, size: int) -> Judged:
    if a is None or b is None:
        doubts = [item.doubt for item in (a, b) if item is not None]
        return np.zeros(size, bool), joined(*doubts)
    for x, c in ((a.x, b.x), (b.x, a.x)):
        if isinstance(c, float) and not isinstance(x, float):
            return (equal_to(x, c) if c == c else np.zeros(size, bool)), near(a, b)
    found = ~above_array(a.x, b.x) & ~above_array(b.x, a.x) & np.equal(a.x, a.x) & np.equal(b.x, b.x)
    return np.broadcast_to(found, (size,)), near(a, b)


# What kind of thing an expression gives, what it costs to read, and whether columns can say it at all.

PREFIX = frozenset(
    (
        "count", "share", "sum", "mean", "min", "max", "std", "oldest", "newest", "run", "rise", "rate",
        "usual", "span",
    )
)  # fmt: skip
"""Measures worked out from prefix sums and the like: all positions at once."""

INEXACT = frozenset(("sum", "mean", "usual", "std", "rise"))
"""Those of them that may differ from the plain readers in the last places."""


@lru_cache(maxsize=4096)
def kind(expr: Expr) -> str:
    """truth, number, value (a number or a text), or none where columns cannot say it."""
    match expr:
        case Compare() | Member() | Not() | And() | Or() | AnyOf() | Known():
            return "truth"
        case Text() | Signal() | Indicator() | Attribute():
            return "value"
        case StepValue():
            return kind(expr.of)
        case Measure(name="top" | "oldest" | "newest"):
            return "truth" if expr.condition else "value"
        case OrElse():
            kinds = {kind(expr.of), kind(expr.default)}
            if "truth" in kinds:
                return "truth" if len(kinds) == 1 else "none"
            return "number" if kinds == {"number"} else "value"
        case Result() | Measure(name="values"):
            return "none"
    return "number"


@lru_cache(maxsize=4096)
def measures_in(expr: Expr) -> tuple[Expr, ...]:
    """The measures an expression is made of."""
    return tuple(item for item in walk(expr) if isinstance(item, (Measure, Cover, Difference)))


@lru_cache(maxsize=4096)
def cost(expr: Expr) -> int:
    """0 without measures, 1 with columnar ones, 2 where the plain reader must be asked row by row."""
    return max(
        (
            1 if isinstance(item, Measure) and item.name in PREFIX else 2
            for item in walk(expr)
            if isinstance(item, (Measure, Cover, Difference))
        ),
        default=0,
    )


@lru_cache(maxsize=4096)
def sayable(expr: Expr) -> bool:
    """Whether columns can say an expression: conditions stand only where conditions are due."""
    if any(kind(item) == "none" for item in walk(expr)):
        return False
    return all(_fits(item) for item in walk(expr))


def _fits(expr: Expr) -> bool:
    match expr:
        case Compare() | Member():
            return all(kind(child) != "truth" for child in children(expr))
        case And() | Or() | Not():
            return all(kind(child) == "truth" for child in children(expr))
        case StepMean():
            return kind(expr.of) != "truth"
        case Measure():
            return (kind(expr.of) == "truth") == expr.condition and kind(expr) != "truth"
    return True


# Expressions over the positions of an arrangement: as masks, numbers or values.
#
# `holds` and `fails` are where a condition is true and where it is false; elsewhere it is unknown.

Chain = Mapping[str, Sequence[Ints]]
"""The positions each step matched, the last one last, for each row asked about; -1 for none."""

MANY = 0.5
"""With more than this share of positions left, all are worked out, so that others can use them."""


class At:
    """Reads expressions at all positions of an arrangement, or at some, each with its chain."""

    def __init__(
        self,
        arranged: Arranged,
        cap: int,
        rows: Ints | None = None,
        chain: Chain | None = None,
        *,
        exact: bool = False,
        fresh: bool = False,
    ) -> None:
        self.arranged, self.cap, self.rows, self.chain, self.exact = arranged, cap, rows, chain, exact
        # Numbers worked out for these rows alone have a smaller error than those kept for all.
        self.fresh = fresh or exact
        self.size = arranged.size if rows is None else len(rows)

    def some(self, mask: Mask, *, exact: bool = False) -> At:
        """The same at the rows of a mask; `exact` with numbers that are right to the last bit."""
        kept = np.flatnonzero(mask)
        chain = None
        if self.chain is not None:
            chain = {step: [at[kept] for at in matched] for step, matched in self.chain.items()}
        rows = kept if self.rows is None else self.rows[kept]
        return At(self.arranged, self.cap, rows, chain, exact=exact or self.exact)

    @property
    def positions(self) -> Ints:
        return np.arange(self.size) if self.rows is None else self.rows

    def _once(self, what: str, expr: Expr, compute: Callable[[At], Any]) -> Any:
        """The result at all positions is kept, since several programs may ask for it."""
        memo, token = self.arranged.memo, (what, expr, self.cap)
        if self.rows is None:
            if token not in memo:
                memo[token] = compute(self)
            return memo[token]
        if self.chain is None and token in memo and not (self.fresh and what == "number"):
            return gather(memo[token], self.rows)
        return compute(self)

    # Conditions.

    def holds(self, expr: Expr) -> Mask:
        """Where a condition is true."""
        memo, token = self.arranged.memo, ("holds", expr, self.cap)
        mask: Mask | None = memo.get(token) if self.chain is None else None
        if mask is not None:
            return mask if self.rows is None else mask[self.rows]
        mask = simple_mask(self.arranged, expr, self.rows)
        if mask is None:
            mask = self._truth(expr, True)
        if self.rows is None:
            memo[token] = mask
        return mask

    def fails(self, expr: Expr) -> Mask:
        """Where a condition is false."""
        mask: Mask = self._once("fails", expr, lambda at: at._truth(expr, False))
        return mask

    def _truth(self, expr: Expr, wanted: bool) -> Mask:
        match expr:
            case And():
                return self._every(expr.items, True) if wanted else self._some(expr.items, False)
            case Or():
                return self._some(expr.items, True) if wanted else self._every(expr.items, False)
            case Not():
                return self.fails(expr.of) if wanted else self.holds(expr.of)
            case AnyOf():
                items = Or(tuple(Compare(">", item, Number(0.0)) for item in expr.items))
                return self._truth(items, wanted)
            case Known():
                known = self.known(expr.of)
                return known if wanted else ~known
            case OrElse():
                first, default = self._truth(expr.of, wanted), self._truth(expr.default, wanted)
                return np.where(self.known(expr.of), first, default)
            case Compare():
                return self._compared(expr, wanted)
            case Member():
                return self._member(expr, wanted)
            case StepValue():
                return self._on_step(expr, wanted)
        raise TypeError(f"{type(expr).__name__} is no condition")

    def _every(self, items: tuple[Expr, ...], wanted: bool) -> Mask:
        """Where all items are true (or all false), the cheap ones first and the others only where needed."""
        out: Mask | None = None
        for item in self._rarest_first(items, wanted):
            if out is None:
                out = self._noted(item, wanted).copy()
            elif cost(item) == 0 or np.count_nonzero(out) > MANY * self.size:
                out &= self._noted(item, wanted)
            elif out.any():
                out[np.flatnonzero(out)] = self.some(out)._item(item, wanted)
        return np.ones(self.size, bool) if out is None else out

    def _some(self, items: tuple[Expr, ...], wanted: bool) -> Mask:
        """Where one of the items is true (or one false)."""
        out = np.zeros(self.size, bool)
        for item in self._likeliest_first(items, wanted):
            left = ~out
            if cost(item) == 0 or np.count_nonzero(left) > MANY * self.size:
                out |= self._noted(item, wanted)
            elif left.any():
                out[np.flatnonzero(left)] = self.some(left)._item(item, wanted)
        return out

    def _ready(self, item: Expr) -> bool:
        """Whether the measures in a condition have been worked out at all positions."""
        return all(("number", entry, self.cap) in self.arranged.memo for entry in measures_in(item))

    def _rarest_first(self, items: tuple[Expr, ...], wanted: bool) -> list[Expr]:
        """The cheap ones first; of the others, the one that was rarest where it was last asked."""
        shares = self.arranged.block.columns.shares
        return sorted(items, key=lambda item: (cost(item), shares.get((item, wanted), MANY)))

    def _likeliest_first(self, items: tuple[Expr, ...], wanted: bool) -> list[Expr]:
        """The cheap ones first, then those worked out already, then the most frequent."""
        shares = self.arranged.block.columns.shares
        return sorted(
            items, key=lambda item: (cost(item), not self._ready(item), -shares.get((item, wanted), MANY))
        )

    def _noted(self, item: Expr, wanted: bool) -> Mask:
        mask = self._item(item, wanted)
        if cost(item):
            shares = self.arranged.block.columns.shares
            shares[item, wanted] = np.count_nonzero(mask) / max(1, self.size)
        return mask

    def _item(self, item: Expr, wanted: bool) -> Mask:
        return self.holds(item) if wanted else self.fails(item)

    def known(self, expr: Expr) -> Mask:
        """Where an expression has a value, or a condition is true or false."""
        if kind(expr) == "truth":
            return self.holds(expr) | self.fails(expr)
        if kind(expr) == "value":
            return self.value(expr).present(self.size)
        num = self.number(expr)
        out = np.broadcast_to(np.equal(num.x, num.x), (self.size,)).copy()
        if num.doubt is not None and num.doubt.any():
            out[num.doubt] = self.some(num.doubt, exact=True).known(expr)
        return out

    def _compared(self, expr: Compare, wanted: bool) -> Mask:
        if wanted and self.rows is None and cost(expr):
            from .screen import may_hold

            asked = may_hold(self, expr)
            if asked is not None and len(asked) <= MANY * self.size:
                out = np.zeros(self.size, bool)
                out[asked] = At(self.arranged, self.cap, asked)._compared(expr, True)
                return out
        if expr.op in ("==", "!="):
            same = wanted == (expr.op == "==")
            out, unsure = equal_masks(self._side(expr.left), self._side(expr.right), same, self.size)
        else:
            a, b = self.number(expr.left), self.number(expr.right)
            out, unsure = order_masks(expr.op, a, b, wanted, self.size)
        return self._settled(out, unsure, expr, wanted)

    def _settled(self, out: Mask, unsure: Mask | None, expr: Compare, wanted: bool) -> Mask:
        """The mask, worked out exactly where rounding could turn it."""
        if unsure is not None and unsure.any():
            out = out.copy()
            out[unsure] = self.some(unsure, exact=True)._compared(expr, wanted)
        return out

    def _side(self, expr: Expr) -> Values | Num:
        return self.number(expr) if kind(expr) == "number" else self.value(expr)

    def _member(self, expr: Member, wanted: bool) -> Mask:
        options = Or(tuple(Compare("==", expr.of, option) for option in expr.options))
        out = self._truth(options, wanted != expr.negated)
        # An empty list is known to hold nothing, unless the value itself is absent.
        return out if expr.options else out & self.known(expr.of)

    def _on_step(self, expr: StepValue, wanted: bool) -> Mask:
        there, matched = self._step(expr.step)
        return there._item(expr.of, wanted) & matched

    def _step(self, step: str, which: int = -1) -> tuple[At, Mask]:
        """The same at an event matched by a step, by default the last; and where there is one."""
        found = None if self.chain is None else self.chain.get(step)
        at = np.full(self.size, -1) if found is None else found[which]
        return At(self.arranged, self.cap, np.maximum(at, 0), exact=self.exact), at >= 0

    # Values.

    def value(self, expr: Expr) -> Values:
        """Numbers or texts."""
        values: Values = self._once("value", expr, lambda at: at._value(expr))
        return values

    def _value(self, expr: Expr) -> Values:
        match expr:
            case Text():
                return Values(None, np.full(self.size, self.arranged.block.columns.texts.code(expr.value)))
            case Signal() | Attribute() | Indicator():
                return self._leaf(expr)
            case StepValue():
                there, matched = self._step(expr.step)
                return only_where(matched, there._as_value(expr.of))
            case OrElse():
                first, other = self._as_value(expr.of), self._as_value(expr.default)
                return first_known(first, other, self.size)
            case Measure() if kind(expr) == "value":
                from .aggregates import value_measure

                return value_measure(self, expr)
        return self._as_value(expr)

    def _as_value(self, expr: Expr) -> Values:
        if kind(expr) == "value":
            return self.value(expr)
        num = self.number(expr)
        numbers = np.broadcast_to(np.asarray(num.x, np.float64), (self.size,))
        if not num.exact:
            numbers = numbers.copy()
            unsure = np.ones(self.size, bool) if num.err else num.doubt
            assert unsure is not None
            numbers[unsure] = self.some(unsure, exact=True).number(expr).x
        return Values(numbers, None)

    def _leaf(self, expr: Signal | Attribute | Indicator) -> Values:
        if self.rows is not None:
            return At(self.arranged, self.cap).value(expr).at(self.rows)
        if not isinstance(expr, Indicator):
            return self.arranged.column("reading" if isinstance(expr, Signal) else "attribute", expr.name)
        read = self.arranged.column("reading", expr.name)
        zero = self.arranged.evaluated & ~read.present(self.size)
        num = np.full(self.size, np.nan) if read.num is None else read.num
        return Values(np.where(zero, 0.0, num), read.code, read.odd)

    def number(self, expr: Expr) -> Num:
        """Numbers; a text where a number is due is absent."""
        num: Num = self._once("number", expr, lambda at: at._number(expr))
        return num

    def _number(self, expr: Expr) -> Num:
        match expr:
            case Number():
                return Num(float(expr.value))
            case Elapsed():
                return Num(self._elapsed(expr.name))
            case Measure() | Cover() | Difference() if kind(expr) == "number":
                from .aggregates import number_measure

                return number_measure(self, expr)
            case StepValue() if kind(expr.of) == "number":
                there, matched = self._step(expr.step)
                num = there.number(expr.of)
                return Num(np.where(matched, num.x, np.nan), num.err, num.doubt)
            case StepCount() | StepMean():
                return self._over_step(expr)
            case OrElse() if kind(expr) == "number":
                first, other = self.number(expr.of), self.number(expr.default)
                x = np.where(np.equal(first.x, first.x), first.x, other.x)
                x = np.broadcast_to(x, (self.size,))
                return Num(x, max(first.err, other.err), joined(first.doubt, other.doubt))
        if kind(expr) == "truth":
            return Num(np.nan)
        if kind(expr) == "value":
            numbers = self.value(expr).num
            return Num(np.nan) if numbers is None else Num(numbers)

        return arithmetic(self, expr)

    def _over_step(self, expr: StepCount | StepMean) -> Num:
        """How many events a step matched, or the mean of a value over them."""
        rounds = range(len((self.chain or {}).get(expr.step, ())))
        matched = [self._step(expr.step, k) for k in rounds]
        if isinstance(expr, StepCount):
            return Num(sum((mask.astype(np.float64) for _, mask in matched), np.zeros(self.size)))
        found = [np.where(mask, exactly(at, expr.of), np.nan) for at, mask in matched]
        return step_mean(np.array(found).reshape(len(found), self.size), self.exact)

    def _elapsed(self, name: str) -> Floats | float:
        if not self.arranged.timed:
            return np.nan
        at, times = self.positions, self.arranged.times
        start = self.arranged.start_of(at)
        if name == "age":
            return (times[at] - times[start]) / 1e6
        return np.where(at > start, (times[at] - times[np.maximum(at - 1, 0)]) / 1e6, np.nan)

    # The plain reader, where columns will not do.

    def plain(self, expr: Expr) -> list[Any]:
        """What the plain reader gives at each row."""
        read, arranged = reader(expr, self.cap), self.arranged
        positions, steps = self.positions.tolist(), dict(self.chain or {})
        which = arranged.number_of(self.positions).tolist()
        starts = arranged.starts[which].tolist() if which else []
        out = []
        for k, (at, number, start) in enumerate(zip(positions, which, starts, strict=True)):
            chain = {
                step: [int(found[k]) - start for found in matched if found[k] >= 0]
                for step, matched in steps.items()
            }
            out.append(read(arranged.history(number), at - start, chain))
        return out


def exactly(at: At, expr: Expr) -> Floats:
    """Numbers right to the last bit, one for each row."""
    num = at.number(expr)
    if not num.exact:
        num = At(at.arranged, at.cap, at.positions, at.chain, exact=True).number(expr)
    return np.broadcast_to(np.asarray(num.x, np.float64), (at.size,))


# Arithmetic on columns, with the same operations in the same order as the plain readers.

SMALL = 1e-3
"""An inexact number nearer to 0 than this may not be divided by: the plain reader is asked."""


def arithmetic(at: At, expr: Expr) -> Num:
    """The value of a negation, an operation or a function."""
    match expr:
        case Negative():
            name, args = "negative", [at.number(expr.of)]
        case Arithmetic():
            name, args = expr.op, [at.number(expr.left), at.number(expr.right)]
        case Function():
            name, args = expr.name, [at.number(arg) for arg in expr.args]
        case _:
            raise TypeError(f"{type(expr).__name__} is no arithmetic")
    if all(isinstance(arg.x, float) and arg.exact for arg in args):
        return Num(_constant(name, [float(arg.x) for arg in args]))
    with np.errstate(all="ignore"):
        if name == "log" and at.exact:
            return Num(np.array([_constant(name, [x]) for x in np.asarray(args[0].x).tolist()]))
        x = _compute(name, [arg.x for arg in args])
        x = np.where(np.isfinite(x), x, np.nan)
        return _bounded(name, args, x)


def _constant(name: str, values: list[float]) -> float:
    found = None if any(map(math.isnan, values)) else finite(lambda: _OPERATIONS[name](*values))
    return math.nan if found is None else float(found)


def _compute(name: str, xs: list[Floats | float]) -> Floats:
    match name:
        case "negative":
            return -np.asarray(xs[0])
        case "+":
            return np.asarray(xs[0] + xs[1])
        case "-":
            return np.asarray(xs[0] - xs[1])
        case "*":
            return np.asarray(xs[0] * xs[1])
        case "/":
            return np.asarray(xs[0] / np.where(_is_zero(xs[1]), np.nan, xs[1]))
        case "abs":
            return np.abs(xs[0])
        case "min" | "max":
            return _extreme(name, xs)
        case "clip":
            return np.minimum(np.maximum(xs[0], xs[1]), xs[2])
        case "log":
            return np.log(np.where(above_array(xs[0], 0.0), xs[0], np.nan))
        case "sqrt":
            return np.sqrt(np.where(_is_zero(xs[0]), 0.0, xs[0]))
    raise TypeError(f"no operation {name!r}")


def _extreme(name: str, xs: list[Floats | float]) -> Floats:
    join = np.minimum if name == "min" else np.maximum
    out = np.asarray(xs[0])
    for x in xs[1:]:
        out = join(out, x)
    return out


def _is_zero(x: Floats | float) -> Mask:
    known: Mask = ~above_array(x, 0.0) & ~above_array(0.0, x) & np.equal(x, x)
    return known


def _bounded(name: str, args: list[Num], x: Floats) -> Num:
    """The result with its error; log is never exact, since NumPy's may differ in the last place."""
    doubt = joined(*(arg.doubt for arg in args))
    errs = [arg.err for arg in args]
    if name == "log":
        far = _near_zero(args[0], x) if errs[0] else None
        return Num(x, errs[0] / SMALL + 4 * ULP * _largest(x), joined(doubt, far))
    if not any(errs):
        return Num(x, 0.0, doubt)
    rounding = 4 * ULP * _largest(x)
    match name:
        case "*":
            err = errs[0] * _largest(args[1].x) + errs[1] * _largest(args[0].x) + errs[0] * errs[1]
        case "/":
            if errs[1]:
                doubt = joined(doubt, _near_zero(args[1], x))
                err = (errs[0] + errs[1] * _largest(x)) / (SMALL / 2)
            else:
                smallest = np.nanmin(np.abs(args[1].x), initial=np.inf)
                err = errs[0] / max(float(smallest), SMALL)
                doubt = joined(doubt, _near_zero(args[1], x))
        case "sqrt":
            doubt = joined(doubt, _near_zero(args[0], x))
            err = errs[0] / math.sqrt(SMALL)
        case "+" | "-":
            err = sum(errs)
        case _:
            err = max(errs)
    err += rounding
    return Num(x, err if math.isfinite(err) else math.inf, doubt)


def _near_zero(num: Num, like: Floats) -> Mask:
    """Where a number is too near 0, or below it, to be trusted under a division, logarithm or root."""
    small: Mask = np.abs(num.x) < SMALL
    return np.broadcast_to(small, like.shape)


def _largest(x: Floats | float) -> float:
    return float(np.nanmax(np.abs(x), initial=0.0))
