"""Layout: the columns a program's measures need, and the code that fills them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...language.ast import Compare, Cover, Difference, Expr, Indicator, Measure, Number
from ...language.program import Program
from ...language.visitor import needs_time
from .aggregates import Distance, compute_of, cover_of, difference_of, distance_of
from .buffer import Compute, Layout, Rows, keep, rows_needed, trim
from .source import UNSET, Captures, Writer, functions


class Columns:
    """Hands out columns for the history itself, or for the subject's whole one."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.columns: dict[tuple[str, Any, Expr | None], int] = {}
        self.keeps: dict[tuple[str, Any, Expr | None, int], int] = {}
        self.need = 0

    def column(self, kind: str, of: Any, where: Expr | None = None) -> int:
        """The column of an expression, absent where `where` is not true.

        `kind`: number, value, true (is the condition true), or found (which of these indicators, as bits).
        """
        return self.columns.setdefault((kind, of, where), len(self.columns))

    def kept(self, kind: str, of: Any, where: Expr | None, most: int) -> int:
        """The list of the newest values of an expression, however far back."""
        return self.keeps.setdefault((kind, of, where, most), len(self.keeps))

    def layout(self, blank: int, with_marks: bool, elapsed: bool) -> Layout:
        """The layout of all columns asked for so far, with code for just what they need."""
        # One more than a window looks at, to know whether it left out an event (see `rate`).
        need = self.need + 1 if self.need else 0
        writer = Writer(Captures(()))
        texts = [column_source(writer, *wanted) for wanted in self.columns]
        kept = [(column_source(writer, kind, of, where), most) for kind, of, where, most in self.keeps]
        uses_elapsed = elapsed or "S.gap" in str(texts + kept) or "S.age" in str(texts + kept)
        body = [" g = S.get = event.readings.get; S.event = event; S.evaluated = evaluated; us = mark.us"]
        body += ELAPSED if uses_elapsed else []
        body += [" S.n += 1; S.us = us"]
        body += [" memo = S.memo = blank[:]"] if blank else []
        body += [" times = S.times; times.append(us)"] if need else []
        body += [" S.marks.append(mark)"] if need and with_marks else []
        body += [" c = S.columns"] if texts else []
        body += [f" c[{slot}].append({text})" for slot, text in enumerate(texts)]
        body += [
            f" if (x := {text}) is not None: keep(S, {slot}, x, {most}, mark)"
            for slot, (text, most) in enumerate(kept)
        ]
        body += [f" if len(times) > {2 * need + 32}: trim(S, {need})"] if need else []
        head = ["def enter(S, event, mark, evaluated):", " C = L = ()"]
        names = writer.names | {"keep": keep, "trim": trim, "blank": [UNSET] * blank}
        made = functions("\n".join([*writer.lines, *head, *body]), names)
        return Layout(
            made["enter"],
            len(texts),
            tuple(most for _, most in kept),
            need,
            with_marks,
            tuple(self.columns),
            tuple(self.keeps),
            uses_elapsed,
        )


ELAPSED = [
    " if S.timed:",
    "  if S.n: S.gap = (us - S.us) / 1e6; S.age = (us - S.first) / 1e6",
    "  else: S.first = us; S.age = 0.0",
]


def column_source(writer: Writer, kind: str, of: Any, where: Expr | None) -> str:
    if kind == "true":
        return writer.true(of)
    if kind == "found":
        text = _found(writer, of)
    else:
        text = writer.number(of) if kind == "number" else writer.value(of)
    return text if where is None else f"({text} if {writer.true(where)} else None)"


def _found(writer: Writer, items: tuple[Indicator, ...]) -> str:
    """Which indicators are above 0, as bits; None where none of them is known."""
    known = " or ".join(f"{writer.number(item)} is not None" for item in items) or "False"
    bits = [
        f"({1 << j} if {writer.true(Compare('>', item, Number(0.0)))} else 0)" for j, item in enumerate(items)
    ]
    seen = f"(({' | '.join(bits) or '0'}) if {known} else None)"
    return f"((0 if S.evaluated else None) if {writer.lacks(items)} else {seen})" if items else seen


class Measures:
    """The measures of a program as functions of its rows. `whole` is there where one is over the subject."""

    def __init__(self, program: Program, cap: int, with_marks: bool) -> None:
        self.narrow = program.group_by != ("subject",)
        self.own, self.whole = Columns(cap), Columns(cap)
        self.with_marks = with_marks

    def columns_for(self, expr: Measure | Cover | Difference) -> Columns:
        """The columns a measure reads from."""
        columns = self.whole if self.narrow and expr.window.over_subject else self.own
        uses_all = isinstance(expr, Measure) and expr.name == "surprise_count"
        needed = columns.cap if uses_all else rows_needed(expr.window, columns.cap)
        # One row at least, for what is read at the event itself (`surprise`).
        columns.need = max(columns.need, needed, 1)
        return columns

    def distance(self, expr: Expr) -> Distance | None:
        """What is known of a contrast without an exact look."""
        if isinstance(expr, Difference) and not (self.narrow and expr.window.over_subject):
            return distance_of(expr, self.columns_for(expr))
        return None

    def reader(self, expr: Expr, k: int) -> Callable[[Rows], Any]:
        """A function that gives measure number k, and remembers it while the history stands there."""
        assert isinstance(expr, (Measure, Cover, Difference))
        columns = self.columns_for(expr)
        compute: Compute
        match expr:
            case Cover():
                compute = cover_of(expr, columns)
            case Difference():
                compute = difference_of(expr, columns)
            case Measure():
                compute = compute_of(expr, columns)
        if columns is self.own and not needs_time(expr):

            def read_here(rows: Rows) -> Any:
                value = rows.memo[k] = compute(rows)
                return value

            return read_here
        over_subject, timed_only = columns is self.whole, needs_time(expr)

        def read(rows: Rows) -> Any:
            value = None
            if rows.timed or not timed_only:
                value = compute(rows.whole if over_subject and rows.whole is not None else rows)
            rows.memo[k] = value
            return value

        return read
