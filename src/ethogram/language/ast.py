"""The nodes of a parsed pattern, with every name, parameter and define resolved.

Nodes are frozen and hashable. Their meaning is in docs/language.md and, executable, in tests/naive.py.
"""

from __future__ import annotations

from typing import Any, get_args

from ..models.slotted import dataclass, field


@dataclass(frozen=True, slots=True)
class Events:
    """So many events."""

    n: int


@dataclass(frozen=True, slots=True)
class Duration:
    """So many microseconds."""

    us: int


Limit = Events | Duration
Limits = tuple[Limit, ...]
"""All hold. Empty: no limit."""


class Node:
    """Base of expressions. The hash is computed once: trees are looked up often."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class Number(Node):
    value: float


@dataclass(frozen=True, slots=True)
class Text(Node):
    value: str


@dataclass(frozen=True, slots=True)
class Signal(Node):
    """The reading of a signal at this event."""

    name: str


@dataclass(frozen=True, slots=True)
class Indicator(Node):
    """The reading of an indicator; 0 on an evaluated event without it."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """A field or attribute of the event itself: `kind`, `tool`, `target`."""

    name: str


@dataclass(frozen=True, slots=True)
class Elapsed(Node):
    """`gap` or `age`: seconds since this history's previous or first event."""

    name: str


@dataclass(frozen=True, slots=True)
class StepValue(Node):
    """`step.x`: an expression read at the last matched event of an earlier step."""

    step: str
    of: Expr


@dataclass(frozen=True, slots=True)
class StepCount(Node):
    """`step.count`: matched events of the step, `also` included."""

    step: str


@dataclass(frozen=True, slots=True)
class StepMean(Node):
    """`mean(step.x)`: over the matched events of the step, `also` included."""

    step: str
    of: Expr


@dataclass(frozen=True, slots=True)
class Result(Node):
    """A result of the shape: `rise`, `t`, `deadline`, or `part.confidence`."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative(Node):
    of: Expr


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """`op` is one of + - * /."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """`op` is one of < <= > >= == !=."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`x in (a, b)`."""

    of: Expr
    options: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Not(Node):
    of: Expr


@dataclass(frozen=True, slots=True)
class And(Node):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    """`any(A, B)`: one of these indicators is above 0."""

    items: tuple[Indicator, ...]


@dataclass(frozen=True, slots=True)
class Known(Node):
    of: Expr


@dataclass(frozen=True, slots=True)
class OrElse(Node):
    of: Expr
    default: Expr


@dataclass(frozen=True, slots=True)
class Function(Node):
    """abs, min, max, log, sqrt or clip of plain values."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Which events a measure looks at. See "Windows" in docs/language.md for the order of the cuts."""

    skip: Limit | None = None
    last: Limits = ()
    keep: int | None = None
    since: Expr | None = None
    where: Expr | None = None
    at_least: int = 0
    over_subject: bool = False


@dataclass(frozen=True, slots=True)
class Measure(Node):
    """A measure over a window.

    `condition` is true where `of` is a condition rather than a value. `options` holds the measure's
    own numbers by name: by, half (microseconds), span (microseconds), over, prior.
    """

    name: str
    of: Expr
    window: Window = Window()
    condition: bool = False
    options: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def option(self, name: str) -> tuple[float, ...] | None:
        """The numbers given under a name, or None."""
        return dict(self.options).get(name)


@dataclass(frozen=True, slots=True)
class Cover(Node):
    """`cover(SET, weights=TABLE)`: the weights stand beside the indicators."""

    items: tuple[Indicator, ...]
    weights: tuple[float, ...]
    window: Window = Window()


@dataclass(frozen=True, slots=True)
class Difference(Node):
    """One number of a contrast: difference, plain_difference, t, n_where or n_against."""

    name: str
    of: Expr
    where: Expr
    against: Expr
    within_each: Expr | None
    at_least: int
    window: Window = Window()


Expr = (
    Number | Text | Signal | Indicator | Attribute | Elapsed | StepValue | StepCount | StepMean | Result
    | Negative | Arithmetic | Compare | Member | Not | And | Or | AnyOf | Known | OrElse | Function
    | Measure | Cover | Difference
)  # fmt: skip


def _cache_hash(kind: type) -> None:
    compute: Any = kind.__hash__

    def cached(self: Node) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", compute(self))
            return self._hash

    setattr(kind, "__hash__", cached)  # noqa: B010


for _kind in (*get_args(Expr), Window):
    _cache_hash(_kind)


@dataclass(frozen=True, slots=True)
class Step:
    """One named step. `collects` is true for at_least, which gathers `also` evidence.

    `within` limits the distance from the matched event before.
    """

    name: str
    condition: Expr
    times: int = 1
    collects: bool = False
    within: Limits = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Never:
    condition: Expr


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps in order. `max_gap` None: any number of measured events may lie between two matched ones."""

    items: tuple[Step | Never, ...]
    max_gap: int | None = None
    within: Limits = (Events(256),)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that must match: never and optional left out."""
        return tuple(i for i in self.items if isinstance(i, Step) and not i.optional)


@dataclass(frozen=True, slots=True)
class Threshold:
    """`clears` None: closes where `when` is false. `stays` (clears: never): stays open."""

    when: Expr
    clears: Expr | None = None
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Trend:
    """`amount` is the rise, or with `falling` the fall, both given as positive numbers."""

    of: Expr
    amount: float
    tau: float
    window: Window
    falling: bool = False
    further: Expr | None = None
    clears: Expr | None = None
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Contrast:
    of: Expr
    where: Expr
    against: Expr
    difference: float
    t: float
    window: Window
    at_least: int = 2
    within_each: Expr | None = None
    further: Expr | None = None
    clears: Expr | None = None
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Silence:
    longer_than: Expr
    after: Expr | None = None
    at_least: int = 1


@dataclass(frozen=True, slots=True)
class Combination:
    """`kind` is all_of, in_order or any_of; `within` in microseconds, None for no limit."""

    kind: str
    parts: tuple[str, ...]
    within: int | None = None
    overlapping: bool = False
    multiplier: float = 1.0


@dataclass(frozen=True, slots=True)
class Spread:
    """From pattern `first` in one subject to pattern `then` in others it met."""

    first: str
    then: str
    within: int
    at_least: int = 1
    multiplier: float = 1.0


Shape = Sequence | Threshold | Trend | Contrast | Silence | Combination | Spread


@dataclass(frozen=True, slots=True)
class Slot:
    """A hole in an explanation: a value and how to write it."""

    of: Expr
    form: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern (for for_each: one of its values), ready to be compiled or read naively.

    `severities` runs from the lowest listed upwards; a condition of None always holds.
    """

    name: str
    shape: Shape
    group_by: tuple[str, ...] = ("subject",)
    confidence: Expr | None = None
    severities: tuple[tuple[str, Expr | None], ...] = (("low", None),)
    details: tuple[tuple[str, Expr], ...] = ()
    explanation: tuple[str | Slot, ...] = ()
    tell_at: int | None = None
    confirms: tuple[str, ...] = ()
    cause: str = ""
    title: str = ""
    status: str = "stable"
    recommendation: str = ""
    version: str = ""
    file: str = field(default="", compare=False)
