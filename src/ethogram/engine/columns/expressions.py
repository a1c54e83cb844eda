"""Expressions over columns: nodes to masks, numbers and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...language import ast
from ...language.ast import Expr
from ...language.three_valued import FLIPPED
from ...language.visitor import walk
from ..aggregates import mean
from .histories import NO_TIME, Histories, first_known
from .numbers import (
    above_array,
    as_floats,
    between,
    millionths_of,
    side,
)
from .table import Column, Floats, Ints, Mask, fixed

Chain = Mapping[str, Sequence[Ints]]
"""The positions each step matched at each row, the last one last; -1 for none."""

MANY = 0.5
"""With more than this share of rows left, an expression is read at all of them, so that others can use it."""


@lru_cache(maxsize=4096)
def kind(expr: Expr) -> str:
    """What an expression gives: truth, number, value (a number or a text) or list."""
    match expr:
        case ast.Compare() | ast.Member() | ast.Not() | ast.And() | ast.Or() | ast.AnyOf() | ast.Known():
            return "truth"
        case ast.Text() | ast.Signal() | ast.Indicator() | ast.Attribute() | ast.Result():
            return "value"
        case ast.StepValue():
            return kind(expr.of)
        case ast.Measure(name="top" | "oldest" | "newest"):
            return "value"
        case ast.Measure(name="values"):
            return "list"
        case ast.OrElse():
            kinds = {kind(expr.of), kind(expr.default)}
            return kinds.pop() if len(kinds) == 1 else "value"
    return "number"


@lru_cache(maxsize=4096)
def cost(expr: Expr) -> int:
    """0 without aggregates, 1 with those that are read from sums, 2 with others."""
    from .aggregates import KERNELS

    costs = (
        1 if isinstance(node, ast.Measure) and node.name in KERNELS else 2 for node in aggregates_in(expr)
    )
    return max(costs, default=0)


@lru_cache(maxsize=4096)
def least(expr: Expr) -> int:
    """The fewest events of a history in which an expression can have a value, or a condition be decided."""
    match expr:
        case ast.And() | ast.Or():
            return min(map(least, expr.items), default=0)
        case ast.Not() | ast.Negative():
            return least(expr.of)
        case ast.Compare() | ast.Arithmetic():
            return max(least(expr.left), least(expr.right))
        case ast.Measure() if expr.name != "surprise_count" and not expr.window.over_subject:
            return expr.window.at_least
    return 0


@lru_cache(maxsize=4096)
def aggregates_in(expr: Expr) -> tuple[ast.Measure | ast.Cover | ast.Difference, ...]:
    """The aggregates an expression is made of."""
    return tuple(node for node in walk(expr) if isinstance(node, (ast.Measure, ast.Cover, ast.Difference)))


class Reader:
    """Reads expressions at all positions of histories, or at some, each with its chain.

    `holds` and `fails` are where a condition is true and where it is false: elsewhere it is unknown.
    Numbers are NaN where they are absent; one that is the same everywhere may be a float.
    """

    def __init__(
        self,
        histories: Histories,
        cap: int,
        rows: Ints | None = None,
        chain: Chain | None = None,
        results: Mapping[str, Column] | None = None,
    ) -> None:
        self.histories, self.cap, self.rows, self.chain, self.results = histories, cap, rows, chain, results
        self.size = histories.size if rows is None else len(rows)

    def over(self, histories: Histories) -> Reader:
        """A reader at all positions of histories."""
        if histories is self.histories and self.rows is None and self.chain is None:
            return self
        return Reader(histories, self.cap)

    def some(self, mask: Mask) -> Reader:
        """A reader at the rows of a mask."""
        rows = np.flatnonzero(mask)
        chain, results = self.chain, self.results
        if chain is not None:
            chain = {step: [at[rows] for at in matched] for step, matched in chain.items()}
        if results is not None:
            results = {name: column.at(rows) for name, column in results.items()}
        return Reader(
            self.histories, self.cap, rows if self.rows is None else self.rows[rows], chain, results
        )

    @property
    def positions(self) -> Ints:
        return self.histories.positions if self.rows is None else self.rows

    def _once(self, what: str, expr: Expr, read: Callable[[], Any]) -> Any:
        """Cache values at all positions for other programs and later rows."""
        memo, token = self.histories.memo, (what, expr, self.cap)
        if self.chain is not None or self.results is not None:
            return read()
        if self.rows is None:
            if token not in memo:
                memo[token] = read()
            return memo[token]
        if token not in memo:
            return read()
        known = memo[token]
        if isinstance(known, float):
            return known
        return known.at(self.rows) if isinstance(known, Column) else known[self.rows]

    # Conditions.

    def holds(self, expr: Expr) -> Mask:
        """Where a condition is true."""
        mask: Mask = self._once("holds", expr, lambda: self._truth(expr, True))
        return mask

    def fails(self, expr: Expr) -> Mask:
        """Where a condition is false."""
        mask: Mask = self._once("fails", expr, lambda: self._truth(expr, False))
        return mask

    def known(self, expr: Expr) -> Mask:
        """Where an expression has a value, or a condition is true or false."""
        if kind(expr) == "truth":
            return self.holds(expr) | self.fails(expr)
        if kind(expr) == "value":
            return self.value(expr).known(self.size)
        x = self.number(expr)
        return np.full(self.size, x == x) if isinstance(x, float) else x == x

    def _is(self, expr: Expr, wanted: bool) -> Mask:
        return self.holds(expr) if wanted else self.fails(expr)

    def _truth(self, expr: Expr, wanted: bool) -> Mask:
        match expr:
            case ast.And():
                return self._every(expr.items, True) if wanted else self._any(expr.items, False)
            case ast.Or():
                return self._any(expr.items, True) if wanted else self._every(expr.items, False)
            case ast.Not():
                return self._is(expr.of, not wanted)
            case ast.AnyOf():
                return self._truth(
                    ast.Or(tuple(ast.Compare(">", item, ast.Number(0.0)) for item in expr.items)), wanted
                )
            case ast.Known():
                known = self.known(expr.of)
                return known if wanted else ~known
            case ast.OrElse():
                return np.where(
                    self.known(expr.of), self._is(expr.of, wanted), self._is(expr.default, wanted)
                )
            case ast.Compare():
                return self._compare(expr, wanted)
            case ast.Member():
                options = ast.Or(tuple(ast.Compare("==", expr.of, option) for option in expr.options))
                inside = self._truth(options, wanted != expr.negated)
                # An empty list holds nothing, unless the value itself is absent.
                return inside if expr.options else inside & self.known(expr.of)
            case ast.StepValue():
                there, matched = self._step(expr.step)
                return there._is(expr.of, wanted) & matched
        raise TypeError(f"{type(expr).__name__} is not a condition")

    def _every(self, items: tuple[Expr, ...], wanted: bool) -> Mask:
        """Where all items are true (or all false): the rarest first, the others only where needed."""
        shares = self.histories.block.table.shares
        out: Mask | None = None
        for item in sorted(items, key=lambda item: (cost(item), shares.get((item, wanted), MANY))):
            if out is None:
                out = self._noted(item, wanted).copy()
            elif cost(item) == 0 or np.count_nonzero(out) > MANY * self.size:
                out &= self._noted(item, wanted)
            elif out.any():
                out[out] = self.some(out)._is(item, wanted)
        return np.ones(self.size, bool) if out is None else out

    def _any(self, items: tuple[Expr, ...], wanted: bool) -> Mask:
        """Where one of the items is true (or one false): the cheapest first."""
        shares = self.histories.block.table.shares
        out = np.zeros(self.size, bool)
        for item in sorted(items, key=lambda item: (self._cost(item), -shares.get((item, wanted), MANY))):
            left = ~out
            if cost(item) == 0 or np.count_nonzero(left) > MANY * self.size:
                out |= self._noted(item, wanted)
            elif left.any():
                out[left] = self.some(left)._is(item, wanted)
        return out

    def _cost(self, expr: Expr) -> int:
        """The cost of an expression, next to nothing where its aggregates have been read at all positions."""
        memo = self.histories.memo
        return 0 if all(("number", node, self.cap) in memo for node in aggregates_in(expr)) else cost(expr)

    def _noted(self, item: Expr, wanted: bool) -> Mask:
        mask = self._is(item, wanted)
        if cost(item):
            share = np.count_nonzero(mask) / max(1, self.size)
            self.histories.block.table.shares[item, wanted] = share
        return mask

    def _compare(self, expr: ast.Compare, wanted: bool) -> Mask:
        op, left, right = expr.op, expr.left, expr.right
        if op in ("==", "!="):
            return self._equal(left, right, wanted == (op == "=="))
        if isinstance(left, (ast.Signal, ast.Attribute)) and isinstance(right, ast.Number):
            column = self._as_it_came(left)
            if column.num is None:
                return np.zeros(self.size, bool)
            return side(op, column.num, float(right.value), wanted, column.rounded)
        a, b = self.number(left), self.number(right)
        if isinstance(a, float):
            op, a, b = FLIPPED[op], b, a
        if isinstance(a, float):
            a = np.full(self.size, a)
        if isinstance(b, float):
            return side(op, a, b, wanted)
        known = (a == a) & (b == b)
        # `a >= b` is not (b > a), so two of the four ask the other way round.
        above = above_array(a, b) if op in (">", "<=") else above_array(b, a)
        out: Mask = known & (above if (op in (">", "<")) == wanted else ~above)
        return out

    def _as_it_came(self, expr: ast.Signal | ast.Attribute | ast.Indicator) -> Column:
        """Readings or attributes at these rows, numbers not rounded yet."""
        here = self.histories
        column = here.block.column("attribute" if isinstance(expr, ast.Attribute) else "reading", expr.name)
        if here.index is None and self.rows is None:
            return column
        return column.at(here.block_rows(self.positions))

    def _equal(self, left: Expr, right: Expr, same: bool) -> Mask:
        """Where both are known and equal (or, not `same`, different)."""
        if isinstance(left, ast.Number):
            left, right = right, left
        if isinstance(right, ast.Number):
            leaf = left if isinstance(left, (ast.Signal, ast.Attribute)) else None
            a = self.value(left) if leaf is None else self._as_it_came(leaf)
            c, none = float(right.value), np.zeros(self.size, bool)
            equal = none if a.num is None else between(a.num, c, a.rounded)
            return equal if same else a.known(self.size) & ~equal
        a, b, equal = self.value(left), self.value(right), np.zeros(self.size, bool)
        if a.num is not None and b.num is not None:
            above = above_array(a.num, b.num) | above_array(b.num, a.num)
            equal |= ~above & (a.num == a.num) & (b.num == b.num)
        if a.code is not None and b.code is not None:
            equal |= (a.code == b.code) & (a.code >= 0)
        return equal if same else a.known(self.size) & b.known(self.size) & ~equal

    def _step(self, step: str, which: int = -1) -> tuple[Reader, Mask]:
        """A reader at the event that a step matched, by default the last; and where there is one."""
        matched = None if self.chain is None else self.chain.get(step)
        at = np.full(self.size, -1) if not matched else matched[which]
        return Reader(self.histories, self.cap, np.maximum(at, 0)), at >= 0

    # Values.

    def value(self, expr: Expr) -> Column:
        """Numbers or texts."""
        column: Column = self._once("value", expr, lambda: self._value(expr))
        return column

    def _value(self, expr: Expr) -> Column:
        match expr:
            case ast.Text():
                code = self.histories.block.table.texts.code(expr.value)
                return Column(code=np.full(self.size, code, np.int32))
            case ast.Signal() | ast.Attribute() | ast.Indicator():
                return self._leaf(expr)
            case ast.Result():
                return (self.results or {}).get(expr.name, Column())
            case ast.StepValue() if kind(expr.of) != "number":
                there, matched = self._step(expr.step)
                column = there.value(expr.of)
                num = None if column.num is None else np.where(matched, column.num, np.nan)
                return Column(num, None if column.code is None else np.where(matched, column.code, -1))
            case ast.OrElse() if kind(expr) == "value":
                return first_known(self.value(expr.of), self.value(expr.default), self.size)
            case ast.Measure() if kind(expr) == "value":
                from .aggregates import value_aggregate

                return value_aggregate(self, expr)
        x = self.number(expr)
        return Column(np.full(self.size, x) if isinstance(x, float) else x)

    def _leaf(self, expr: ast.Signal | ast.Attribute | ast.Indicator) -> Column:
        here, rows, column = self.histories, self.rows, self._as_it_came(expr)
        evaluated = None
        if isinstance(expr, ast.Indicator):
            evaluated = here.evaluated if rows is None else here.evaluated[rows]
        num = column.num
        if num is not None and not column.rounded:
            num = fixed(num)
        if evaluated is not None:
            # Not found on an evaluated event reads 0.
            absent = evaluated & ~(column.known(self.size) if column.carried is None else column.carried)
            num = np.where(absent, 0.0, np.nan if num is None else num)
        return Column(num, column.code)

    def number(self, expr: Expr) -> Any:
        """Numbers; a text where a number is due is absent."""
        return self._once("number", expr, lambda: self._number(expr))

    def _number(self, expr: Expr) -> Any:
        match expr:
            case ast.Number():
                return float(expr.value)
            case ast.Elapsed():
                return self._elapsed(expr.name)
            case ast.Negative():
                return self._arithmetic("negative", (expr.of,))
            case ast.Arithmetic():
                return self._arithmetic(expr.op, (expr.left, expr.right))
            case ast.Function():
                return self._arithmetic(expr.name, expr.args)
            case ast.StepValue() if kind(expr.of) == "number":
                there, matched = self._step(expr.step)
                return np.where(matched, there.number(expr.of), np.nan)
            case ast.StepCount() | ast.StepMean():
                return self._over_step(expr)
            case ast.OrElse() if kind(expr) == "number":
                first, default = self.number(expr.of), self.number(expr.default)
                if isinstance(first, float):
                    return default if first != first else first
                return np.where(first == first, first, default)
            case ast.Measure() | ast.Cover() | ast.Difference() if kind(expr) == "number":
                from .aggregates import number_aggregate

                return number_aggregate(self, expr)
        if kind(expr) != "value":
            return math.nan
        num = self.value(expr).num
        return math.nan if num is None else num

    def _over_step(self, expr: ast.StepCount | ast.StepMean) -> Floats:
        """How many events a step matched, or the mean of a value over them."""
        matched = [self._step(expr.step, k) for k in range(len((self.chain or {}).get(expr.step, ())))]
        if isinstance(expr, ast.StepCount):
            return sum((mask.astype(np.float64) for _, mask in matched), np.zeros(self.size))
        values = [np.where(mask, there.number(expr.of), np.nan) for there, mask in matched]
        x = np.array(values).reshape(len(values), self.size)
        known = x == x
        largest = Column(x.ravel()).extent()[1]
        whole = millionths_of(x.ravel(), largest, known.ravel()).reshape(x.shape)
        if largest * 1e6 * len(values) >= 2**62:
            whole = whole.astype(object)
        n = known.sum(axis=0)
        return np.where(n > 0, mean(np.maximum(n, 1), as_floats(whole.sum(axis=0))), np.nan)

    def _elapsed(self, name: str) -> Floats | float:
        here = self.histories
        if not here.timed:
            return math.nan
        at, times = self.positions, here.times
        if name == "age":
            return (times[at] - here.first_times[here.number_of(at)]) / 1e6
        previous = here.previous[at]
        return np.where(previous > NO_TIME, (times[at] - previous) / 1e6, np.nan)

    def _arithmetic(self, name: str, args: tuple[Expr, ...]) -> Floats | float:
        xs = [self.number(arg) for arg in args]
        with np.errstate(all="ignore"):
            x = _compute(name, xs)
            out: Floats = np.where(np.isfinite(x), x, np.nan)
        return float(out) if all(isinstance(x, float) for x in xs) else out

    # Values of a few rows.

    def values(self, expr: Expr) -> list[Any]:
        """The value at each row as Python has it; None where it is absent or unknown."""
        if kind(expr) == "truth":
            both = zip(self.holds(expr).tolist(), self.fails(expr).tolist(), strict=True)
            return [True if holds else False if fails else None for holds, fails in both]
        if isinstance(expr, ast.Measure) and kind(expr) == "list":
            from .aggregates import newest_values

            return newest_values(self, expr)
        return self.value(expr).to_list(self.histories.block.table.texts, self.size)


def _compute(name: str, xs: list[Any]) -> Any:
    match name:
        case "negative":
            return np.negative(xs[0])
        case "+":
            return np.add(xs[0], xs[1])
        case "-":
            return np.subtract(xs[0], xs[1])
        case "*":
            return np.multiply(xs[0], xs[1])
        case "/":
            return np.divide(xs[0], np.where(_is_zero(xs[1]), np.nan, xs[1]))
        case "abs":
            return np.abs(xs[0])
        case "min" | "max":
            join = np.minimum if name == "min" else np.maximum
            out = xs[0]
            for x in xs[1:]:
                out = join(out, x)
            return out
        case "clip":
            return np.minimum(np.maximum(xs[0], xs[1]), xs[2])
        case "log":
            # One by one, since NumPy's logarithm may differ in the last place.
            x = np.asarray(np.where(above_array(xs[0], 0.0), xs[0], np.nan))
            return np.array([math.log(value) for value in x.ravel().tolist()]).reshape(x.shape)
        case "sqrt":
            return np.sqrt(np.where(_is_zero(xs[0]), 0.0, xs[0]))
    raise TypeError(f"unknown operation {name!r}")


def _is_zero(x: Any) -> Any:
    return ~above_array(x, 0.0) & ~above_array(0.0, x) & np.equal(x, x)
