"""Plan: one program, written out as functions of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ...language.ast import Expr, Slot
from ...language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ...language.templates import rounded, write
from ..evaluate import number
from .buffer import Layout, Mark, Rows
from .layout import Measures
from .rolling import along
from .source import UNSET, Captured, Captures, Writer, functions

Ask = Callable[[Rows, Sequence[Captured | None], Sequence[Sequence[Captured]]], Any]
"""A function of a history, what each step captured last, and all that it captured."""

MOST_TEXT = 200


class Plan:
    """What a program asks, as functions, and the layout of the rows they read."""

    def __init__(self, program: Program, cap: int) -> None:
        self.program, self.cap = program, cap
        self.captures = Captures(_steps(program))
        self._writer = Writer(self.captures)
        self._wanted: dict[str, str] = {}
        self._made: dict[str, Callable[..., Any]] = {}
        self._judgement(program)
        self._shape(program)
        self.far: dict[Expr, Callable[[Rows, float], bool]] = {}
        self.few: dict[Expr, Callable[[Rows], bool]] = {}
        self._finish(program)

    # What is asked.

    def _ask(self, name: str, text: str) -> None:
        self._wanted[name] = self._writer.function(text)

    def _judgement(self, program: Program) -> None:
        write_ = self._writer
        if program.confidence is not None:
            self._ask("confidence", write_.value(program.confidence))
        for name, condition in program.severities:
            if condition is not None:
                self._ask(f"severity {name}", write_.true(condition))
        for name, expr in program.details:
            self._ask(f"detail {name}", write_.value(expr))
        for i, piece in enumerate(program.explanation):
            if isinstance(piece, Slot):
                self._ask(f"slot {i}", write_.value(piece.of))

    def _shape(self, program: Program) -> None:
        match program.body:
            case SequenceProgram() as body:
                for i, place in enumerate(body.places):
                    self._truth(f"place {i}", place.condition)
                    nevers = [self._writer.true(never) for never in place.nevers]
                    self._ask(f"never {i}", " or ".join(nevers) or "False")
                for i, optional in enumerate(body.optionals):
                    self._truth(f"optional {i}", optional.condition)
                self._ask("first known", self._known(body.places[0].condition))
            case ThresholdProgram() as body:
                self._truth("when", body.when)
                if body.clears is not None:
                    self._truth("clears", body.clears)
            case SilenceProgram() as body:
                self._ask("longer than", self._writer.number(body.longer_than))
                if body.after is not None:
                    self._truth("after", body.after)

    def _truth(self, name: str, expr: Expr) -> None:
        self._ask(name, self._writer.true(expr))
        self._ask(f"not {name}", self._writer.false(expr))

    def _known(self, expr: Expr) -> str:
        return f"({self._writer.value(expr)} is not None)"

    # Putting it together.

    def _finish(self, program: Program) -> None:
        writer = self._writer
        done = [0] * len(self.captures.steps)
        texts: list[list[str]] = [[] for _ in done]
        # Writing what a step captures may ask for more.
        while any(len(wanted) > n for wanted, n in zip(self.captures.wanted, done, strict=True)):
            for s, wanted in enumerate(self.captures.wanted):
                for expr in list(wanted)[done[s] :]:
                    texts[s].append(writer.value(expr))
                done[s] = len(texts[s])
        for s, values in enumerate(texts):
            if values:
                self._ask(f"capture {s}", f"({', '.join(values)},)")
        measures = Measures(program, self.cap, isinstance(program.body, ThresholdProgram))
        for expr, k in list(writer.measures.items()):
            writer.names[f"m{k}"] = measures.reader(expr, k)
            distance = measures.distance(expr)
            writer.names[f"far{k}"] = _not_known if distance is None else distance.far
            if distance is not None:
                self.far[expr], self.few[expr] = distance
        self.counted: tuple[Callable[[Rows], list[Mark]], ...] = ()
        if isinstance(program.body, ThresholdProgram):
            from .threshold import counter

            self.counted = tuple(counter(item, measures) for item in program.body.counted)
        self.running = along(program, measures)
        made = functions("\n".join(writer.lines), writer.names) if writer.lines else {}
        self._made = {name: made[function] for name, function in self._wanted.items()}
        self.blank: list[Any] = [UNSET] * len(writer.measures)
        text = "\n".join(writer.lines)
        elapsed = "S.gap" in text or "S.age" in text
        self.layout: Layout = measures.own.layout(len(self.blank), measures.with_marks, elapsed)
        self.whole_layout: Layout | None = None
        if measures.whole.need:
            self.whole_layout = measures.whole.layout(0, measures.with_marks, elapsed=False)
        self.nothing: tuple[None, ...] = (None,) * len(done)
        self.none: tuple[tuple[Captured, ...], ...] = ((),) * len(done)
        self.names = tuple(name for name, _ in program.severities)

    def ask(self, name: str) -> Ask | None:
        """The function under a name, or None where the program does not ask that."""
        return self._made.get(name)

    def must_ask(self, name: str) -> Ask:
        """The function under a name that every such program asks."""
        return self._made[name]


@lru_cache(maxsize=1024)
def plan_of(program: Program, cap: int) -> Plan:
    """The plan of a program; writing one takes milliseconds, and it never changes."""
    return Plan(program, cap)


class Judge:
    """How sure, how grave, and what to say; read where a history stands."""

    def __init__(self, plan: Plan) -> None:
        program = plan.program
        self._nothing, self._none = plan.nothing, plan.none
        self._confidence = plan.ask("confidence")
        self._severities = [
            (name, plan.ask(f"severity {name}"), cond is None) for name, cond in program.severities
        ]
        self._details = [(name, plan.must_ask(f"detail {name}")) for name, _ in program.details]
        self._pieces = [
            (piece, plan.must_ask(f"slot {i}")) if isinstance(piece, Slot) else (piece, None)
            for i, piece in enumerate(program.explanation)
        ]
        self._title = program.title

    def confidence(self, rows: Rows, last: Any = None, all_: Any = None) -> float:
        """0..1; absent is 0."""
        if self._confidence is None:
            return 0.0
        value = number(self._confidence(rows, last or self._nothing, all_ or self._none))
        return 0.0 if value is None else round(min(1.0, max(0.0, value)), 6)

    def severity(self, rows: Rows, last: Any = None, all_: Any = None) -> str:
        """The highest severity whose condition holds, else the lowest listed."""
        for name, holds, always in reversed(self._severities):
            if always or (holds is not None and holds(rows, last or self._nothing, all_ or self._none)):
                return name
        return self._severities[0][0]

    def details(self, rows: Rows, last: Any = None, all_: Any = None) -> dict[str, Any]:
        """The pattern's own named values, rounded to 6 places."""
        last, all_ = last or self._nothing, all_ or self._none
        return {name: rounded(read(rows, last, all_)) for name, read in self._details}

    def explanation(self, rows: Rows, subject: str, last: Any = None, all_: Any = None) -> str:
        """The sentence a person reads."""
        last, all_ = last or self._nothing, all_ or self._none
        written = []
        for piece, read in self._pieces:
            if read is None or not isinstance(piece, Slot):
                written.append(str(piece))
                continue
            value = read(rows, last, all_)
            written.append(write(value, piece.form if not isinstance(value, str) else "")[:MOST_TEXT])
        return "".join(written) or f"{subject}: {self._title}."


def _not_known(rows: Rows, limit: float) -> bool:
    return False


def _steps(program: Program) -> tuple[str, ...]:
    if not isinstance(program.body, SequenceProgram):
        return ()
    names = [place.step for place in program.body.places] + [
        optional.step for optional in program.body.optionals
    ]
    return tuple(dict.fromkeys(names))
