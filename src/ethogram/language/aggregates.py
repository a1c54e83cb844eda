"""The catalogue of measures: what each takes and what it gives. Their formulas: engine/aggregates.py."""

from __future__ import annotations

from ..models.slotted import dataclass, field
from .ast import Events, Limit, Measure

WINDOW_OPTIONS = ("skip", "last", "keep", "since", "where", "at_least", "over")


@dataclass(frozen=True, slots=True)
class Option:
    """A measure's own number: how many values it holds, its default, whether it is a duration."""

    values: int = 1
    default: tuple[float, ...] | None = None
    duration: bool = False


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """What a measure takes.

    `of`: number, value (number or category), condition, or either (condition or value).
    `gives`: number, same (the kind of what it takes) or list.
    `empty`: its value on nothing; None is absent.
    """

    of: str
    meaning: str
    gives: str = "number"
    empty: float | None = None
    options: dict[str, Option] = field(default_factory=dict)
    skip: Limit | None = None
    last: Limit | None = None
    windowed: bool = True


_DAY = 86_400_000_000

MEASURES: dict[str, MeasureKind] = {
    "count": MeasureKind("either", "how many are true, or have a reading", empty=0.0),
    "share": MeasureKind("condition", "true ones among the known ones"),
    "sum": MeasureKind("number", "the sum", empty=0.0),
    "mean": MeasureKind("number", "the mean"),
    "min": MeasureKind("number", "the smallest"),
    "max": MeasureKind("number", "the largest"),
    "std": MeasureKind("number", "the population standard deviation"),
    "median": MeasureKind("number", "the median; of an even number, the mean of the two middle ones"),
    "distinct": MeasureKind("value", "how many different values", empty=0.0),
    "top_count": MeasureKind("value", "how often the most frequent value occurs", empty=0.0),
    "top": MeasureKind(
        "value",
        "the most frequent value, if it occurs `times` times; of equally frequent ones the one seen last",
        gives="same",
        options={"times": Option(1, (1.0,))},
    ),
    "oldest": MeasureKind("value", "the oldest value", gives="same"),
    "newest": MeasureKind("value", "the newest value", gives="same"),
    "run": MeasureKind("value", "length of the run of equal values at the end", empty=0.0),
    "cycle": MeasureKind("value", "how often the cycle at the end repeats", empty=0.0),
    "cycle_length": MeasureKind("value", "length of the cycle at the end"),
    "rise": MeasureKind("number", "how much the fitted line rises over the window"),
    "tau": MeasureKind("number", "rank agreement with the order of time, -1 to 1"),
    "growth": MeasureKind("number", "fitted factor from one event to the next"),
    "swings": MeasureKind(
        "number", "how often the value turned by at least `by`", empty=0.0, options={"by": Option()}
    ),
    "swing_growth": MeasureKind("number", "size of the last swing over the first", options={"by": Option()}),
    "rate": MeasureKind("either", "how many an hour"),
    "usual": MeasureKind(
        "number",
        "the mean of the past, shrunk towards a prior",
        options={"prior": Option(2, (0.0, 0.0))},
        skip=Events(1),
        last=Events(200),
    ),
    "surprise": MeasureKind(
        "number",
        "how unexpected the value here is against the past: signed -log10 p",
        options={"prior": Option(3, (0.0, 0.0, 0.0))},
        skip=Events(1),
        last=Events(200),
    ),
    "surprise_count": MeasureKind(
        "condition",
        "how unexpected the recent count is, given the time before: signed -log10 p",
        options={
            "span": Option(1, (_DAY,), duration=True),
            "last": Option(1, (28 * _DAY,), duration=True),
            "prior": Option(2, (0.0, 0.0)),
        },
        windowed=False,
    ),
    "jump": MeasureKind("number", "Welch t at the clearest change point"),
    "excess": MeasureKind(
        "number", "largest sum above `over` at the end (CUSUM)", options={"over": Option()}
    ),
    "fading": MeasureKind(
        "number", "sum that halves every `half`", options={"half": Option(1, (_DAY,), duration=True)}
    ),
    "span": MeasureKind("either", "seconds from the oldest to the newest"),
    "values": MeasureKind("value", "the newest 20 different values", gives="list"),
}
"""`cover` is apart: it takes a set of indicators and a table."""


def options_of(measure: Measure) -> dict[str, tuple[float, ...]]:
    """The numbers given to a measure, by name, with defaults for the others."""
    options = MEASURES[measure.name].options
    return {name: option.default or (0.0,) for name, option in options.items()} | dict(measure.options)
