"""Rolling sums: aggregates without a look at the whole window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...language.ast import Cover, Duration, Events, Expr, Measure, StepValue, Window
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.visitor import children
from .buffer import Columns, Rows, kind_of
from .layout import Measures
from .source import LOGICAL

# Running sums: what a measure comes to, nearly, without looking at its whole window.
#
# Sums that are added to and taken from drift by rounding. So they only ever say that a condition cannot be
# true, with a margin many times larger, and are made anew now and then; what may be true is looked at
# exactly.
# They are never saved: where they are lacking or of an earlier event, they are made anew.

SUMMED = ("count", "mean", "share", "std", "sum", "usual")
MARGIN, WIDE = "1e-6", "1e-4"
"""Of the largest value: far more than a thousand additions can drift; a root drifts by more."""
ANEW, ANEW_COVER = 1000, 64

HEAD, EACH = 1, 4
"""What runs along with rows is one list: up to how many events it may go on before it is made anew; then for
each measure how many values, their sum, the sum of squares, and the largest."""


class Sums(NamedTuple):
    """Sums over a column from `reach` rows back up to `skip` rows back."""

    column: int
    skip: int
    reach: int
    squares: bool

    def update(self, k: int, value: str) -> list[str]:
        """Source that moves running sum k on by one event, whose value is in a local name."""
        n, enters = HEAD + EACH * k, f"if {value} is not None:"
        if self.skip:
            enters = f"if L > {self.skip} and ({value} := c[{self.column}][-{self.skip + 1}]) is not None:"
        return [
            enters,
            f" b[{n}] += 1; b[{n + 1}] += {value}"
            + (f"; b[{n + 2}] += {value} * {value}" if self.squares else ""),
            f" if not -1.0 <= {value} <= 1.0: b[{n + 3}] = max(b[{n + 3}], abs({value}))",
        ]

    def leave(self, k: int) -> list[str]:
        """Source that takes out what has left the window; there are more than `reach` rows."""
        n = HEAD + EACH * k
        return [
            f"if (y := c[{self.column}][-{self.reach + 1}]) is not None:",
            f" b[{n}] -= 1; b[{n + 1}] -= y" + (f"; b[{n + 2}] -= y * y" if self.squares else ""),
        ]

    def anew(self, rows: Rows) -> list[Any]:
        """Its part of the list, made anew from the rows."""
        column = rows.columns[self.column]
        end = len(column) - self.skip
        seen = [x for x in column[max(0, len(column) - self.reach) : max(0, end)] if x is not None]
        squares = sum(x * x for x in seen) if self.squares else 0.0
        return [len(seen), sum(seen), squares, max(1.0, max(map(abs, seen), default=0.0))]


class Signs(NamedTuple):
    """Which indicators of a cover may be in its window, as bits, and what they weigh together."""

    column: int
    weights: tuple[float, ...]

    def update(self, k: int, value: str) -> list[str]:
        """Source that moves it on by one event, whose indicators are in a local name."""
        return [f"if {value}: anew(S)"]

    def anew(self, rows: Rows) -> list[Any]:
        """Its part of the list, made anew from all rows, which are the window's and more."""
        together = 0
        for mask in set(rows.columns[self.column]):
            together |= mask or 0
        weight = sum(weight for j, weight in enumerate(self.weights) if together >> j & 1)
        return [together, weight * (1 + 1e-9) + 1e-9, 0.0, 1.0]


class Trues(NamedTuple):
    """How often a condition may have been true in a window: how often it was in all rows there are."""

    column: int

    def update(self, k: int, value: str) -> list[str]:
        """Source that moves it on by one event; what has left is forgotten when it is made anew."""
        return [f"if {value} is True: b[{HEAD + EACH * k + 1}] += 1"]

    def anew(self, rows: Rows) -> list[Any]:
        """Its part of the list, made anew from the rows."""
        return [0, rows.columns[self.column].count(True), 0.0, 1.0]


Running = Sums | Signs | Trues


def maker(running: Sequence[Running]) -> Callable[[Rows], None]:
    """A function that makes all that runs along with some rows anew."""
    often = ANEW if all(isinstance(item, Sums) for item in running) else ANEW_COVER

    def make(rows: Rows) -> None:
        rows.running[:] = [rows.n + often, *(x for item in running for x in item.anew(rows))]

    return make


def update_source(running: Sequence[Running], values: Sequence[str], anew: str) -> list[str]:
    """Source that moves all that runs along on by the event that was just entered."""
    lines = ["b = S.running", f"if n > b[0]: {anew}(S)", "else:"]
    for k, (item, value) in enumerate(zip(running, values, strict=True)):
        lines += [f" {line.replace('anew(S)', f'{anew}(S)')}" for line in item.update(k, value)]
    summed = [(k, item) for k, item in enumerate(running) if isinstance(item, Sums)]
    for reach in sorted({item.reach for _, item in summed}):
        lines.append(f" if L > {reach}:")
        lines += [f"  {line}" for k, item in summed if item.reach == reach for line in item.leave(k)]
    return lines


def running_of(expr: Expr, columns: Columns) -> Running | None:
    """What runs along with a measure, or None where nothing is known that would."""
    match expr:
        case Cover() if expr.window.keep is None and expr.weights and min(expr.weights) >= 0:
            return Signs(columns.column("found", expr.items, expr.window.where), expr.weights)
        case Measure(name="count", condition=True) if _is_timed(expr) and isinstance(expr.of, LOGICAL):
            return Trues(columns.column(kind_of(expr), expr.of, expr.window.where))
        case Measure() if expr.name in SUMMED and _is_counted(expr.window):
            if expr.condition and expr.name not in ("count", "share"):
                return None
            reach, skip = _reach(expr.window, columns.cap), getattr(expr.window.skip, "n", 0)
            if skip >= reach:
                return None
            if expr.name == "count" and not expr.condition and kind_of(expr) != "number":
                return None
            column = columns.column(kind_of(expr), expr.of, expr.window.where)
            return Sums(column, skip, reach, expr.name == "std")
    return None


def _is_timed(expr: Measure) -> bool:
    return expr.window.keep is None and not _is_counted(expr.window)


def _is_counted(window: Window) -> bool:
    """Whether only numbers of events say what is in a window."""
    durations = any(isinstance(item, Duration) for item in (*window.last, window.skip))
    return not durations and window.keep is None and window.since is None


def _reach(window: Window, cap: int) -> int:
    """How many rows back a window goes, what it skips included."""
    counts = [item.n for item in window.last if isinstance(item, Events)]
    skip = window.skip.n if isinstance(window.skip, Events) else 0
    return min(cap, min(counts) + skip) if counts else cap


def bounds_of(expr: Measure, name: str, k: int) -> tuple[list[str], str, str]:
    """What must hold for a summed measure to have a value, and source of its lowest and highest.

    `name` is that of the list, `k` the measure's place in it.

    Rounding never reverses an order, so a margin on the sum alone holds through what is computed of it.
    """
    fewest = expr.window.at_least
    count, total, squares, largest = (f"{name}[{HEAD + EACH * k + j}]" for j in range(EACH))
    margin = f"{MARGIN} * {largest}"
    match expr.name:
        case "count":
            value = total if expr.condition else count
            return ([f"{count} >= {fewest}"] if fewest else []), value, value
        case "sum":
            low, high = f"({total} - {margin})", f"({total} + {margin})"
            return ([f"{count} >= {fewest}"] if fewest else []), low, high
        case "usual":
            m, n0 = expr.option("prior") or (0.0, 0.0)
            below = f"({n0 * m!r} + {total} {{}} {margin}) / ({n0!r} + {count})"
            least = max(fewest, 0 if n0 > 0 else 1)
            checks = [f"{count} >= {least}"] if least else []
            return checks, f"({below.format('-')})", f"({below.format('+')})"
        case "std":
            spread = f"sqrt(abs({squares} / {count} - (y := {total} / {count}) * y))"
            wide = f"{WIDE} * {largest}"
            return [f"{count} >= {max(1, fewest)}"], f"({spread} - {wide})", f"({spread} + {wide})"
    below = f"(({total} {{}} {margin}) / {count})"
    return [f"{count} >= {max(1, fewest)}"], below.format("-"), below.format("+")


# What runs along with a program: one running sum for each measure its conditions compare.


class Along(NamedTuple):
    """The running sums of a program's own rows and of the subject's whole ones; `of`: where each is."""

    own: tuple[Running, ...]
    whole: tuple[Running, ...]
    of: dict[Expr, tuple[bool, int]]
    compared: tuple[Expr, ...] = ()
    """All measures that conditions compare."""


def conditions_of(program: Program) -> list[Expr]:
    """The conditions that are asked at every event."""
    match program.body:
        case SequenceProgram() as body:
            places = [never for place in body.places for never in (place.condition, *place.nevers)]
            return places + [optional.condition for optional in body.optionals]
        case ThresholdProgram() as body:
            return [body.when]
        case SilenceProgram(after=after) if after is not None:
            return [after]
    return []


def along(program: Program, measures: Measures) -> Along:
    """What runs along with a program."""
    own: list[Running] = []
    whole: list[Running] = []
    of: dict[Expr, tuple[bool, int]] = {}
    compared = tuple(dict.fromkeys(item for each in conditions_of(program) for item in _measured(each)))
    for expr in compared:
        assert isinstance(expr, (Measure, Cover))
        over_subject = measures.narrow and expr.window.over_subject
        running = running_of(expr, measures.columns_for(expr))
        if running is not None:
            into = whole if over_subject else own
            of[expr] = (over_subject, len(into))
            into.append(running)
    return Along(tuple(own), tuple(whole), of, compared)


def _measured(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, (Measure, Cover)):
        yield expr
    elif not isinstance(expr, StepValue):
        for child in children(expr):
            yield from _measured(child)
