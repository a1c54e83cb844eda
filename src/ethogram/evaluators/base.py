"""Evaluator: scores one message with readings, or says why it could not.

A new evaluator is one file with `@evaluator("name")` on a class derived from `Evaluator`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import registry
from ..fields import Count, Dollars, Ratio, TraitScores
from ..lexicon.records import NEGATIVE, Scan
from ..lexicon.triage import PRIOR
from ..models import TRAITS, is_indicator_name, stable_hash
from ..models.record import Record
from ..models.slotted import dataclass, field
from .prompt import PriorMessage, evaluation_prompt

if TYPE_CHECKING:
    from ..language.program import Program

WHOLE_THREAD = 1_000_000  # width of a reading for which the whole thread was shown
DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "ethos": ("virtue", "goodwill", "manipulation", "deception"),
    "logos": ("accuracy", "reasoning", "fabrication", "broken_logic"),
    "pathos": ("recognition", "compassion", "dismissal", "exploitation"),
}
SCORES = dict.fromkeys((*TRAITS, *DIMENSIONS, "balance"))
"""The readings that evaluators make, apart from indicators."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message to score, with the earlier messages of its thread and its author's history."""

    source: str
    id: str
    subject: str
    text: str
    scan: Scan
    tier: str
    thread: tuple[PriorMessage, ...] = ()
    history: Mapping[str, Any] | None = None

    @property
    def width(self) -> int:
        """How many earlier messages of the thread the tier shows."""
        prior = PRIOR.get(self.tier, 0)
        return WHOLE_THREAD if prior < 0 else prior

    def prompt(self, boundary: str | None = None) -> tuple[str, str]:
        """(system, user); without a boundary the same every time."""
        return evaluation_prompt(
            self.text, self.scan, self.tier, self.thread, self.history, boundary=boundary
        )

    def key(self, scorer: str) -> str:
        """The cache key: equal for questions with the same prompt to the same scorer."""
        return stable_hash("question", scorer, self.prompt()[1])


@dataclass(frozen=True, slots=True)
class IndicatorSpan(Record):
    """An indicator in a message: its words are the text from `start` up to and without `end`."""

    OMITTED = ("quote",)

    id: str
    confidence: Ratio
    start: Count
    end: Count
    quote: str | None = None
    """Its words, masked; only where they were asked for."""


@dataclass(frozen=True, slots=True)
class Usage(Record):
    """Tokens that a model's side counted."""

    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True)
class Evaluation(Record):
    """An answer. A trait that is not in `traits` was not measured, which is not 0.

    `cost` is in dollars, None where no price is known. `dropped` counts, by reason, what the answer
    held and could not be used.
    """

    traits: TraitScores
    indicators: tuple[IndicatorSpan, ...]
    scorer: str
    width: Count
    """Earlier messages it could see; 1000000 for the whole thread."""
    cost: Dollars = 0.0
    usage: Usage = Usage()
    dropped: Mapping[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """Why there is no answer, without any text of the message, and what the attempts cost.

    `final` is false where asking again may help.
    """

    reason: str
    spent: float | None = 0.0
    usage: Usage = Usage()
    final: bool = False


Answer = Evaluation | NotMeasured


class Evaluator:
    """Base of all evaluators."""

    name: str = ""
    scorer: str = ""  # name, model and version of the prompt: who measured a reading
    needs: str = "nothing"  # requirements, shown by `ethogram signals evaluators`
    paid = False  # answers cost money or time, so they are saved and asked for once
    wants_context = False  # reads the thread and history of a question
    concurrency = 1  # questions in flight at once

    @property
    def identity(self) -> str:
        """The scorer, with its address where others could answer under the same name."""
        return self.scorer

    def evaluate(self, question: Question) -> Answer:
        """The answer to one question; failures are NotMeasured, never an exception."""
        raise NotImplementedError

    def evaluate_many(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers to several questions, in their order."""
        return [self.evaluate(question) for question in questions]

    def worst_cost(self, question: Question) -> float | None:
        """What one question costs at most, retries included; None where no price is known."""
        return 0.0

    def close(self) -> None:
        """Close connections."""


Options = Mapping[str, Any]

T = TypeVar("T", bound=Callable[[Options], Evaluator])


def evaluator(name: str) -> Callable[[T], T]:
    """Register a class or function that takes the options and returns an Evaluator."""

    def add(make: T) -> T:
        registry.evaluators.add(name, make)
        return make

    return add


def make_evaluator(name: str, options: Options | None = None) -> Evaluator:
    """The evaluator of that name; BadUsage with the nearest name where there is none."""
    made: Evaluator = registry.evaluators.get(name)(options or {})
    return made


def dimensions(traits: Mapping[str, float]) -> dict[str, float]:
    """The mean of each dimension's traits, negative ones inverted, and how even the three are.

    A dimension needs all its traits, balance all dimensions.

    >>> dimensions({"virtue": 1.0, "goodwill": 0.5, "manipulation": 0.0, "deception": 0.5})
    {'ethos': 0.75}
    """
    out = {}
    for name, parts in DIMENSIONS.items():
        if all(part in traits for part in parts):
            values = [1 - traits[part] if part in NEGATIVE else traits[part] for part in parts]
            out[name] = round(sum(values) / len(values), 6)
    if len(out) == len(DIMENSIONS) and (mean := sum(out.values()) / len(out)):
        spread = (sum((item - mean) ** 2 for item in out.values()) / len(out)) ** 0.5
        out["balance"] = round(max(0.0, 1 - spread / mean), 6)
    return out


def is_scored(name: str) -> bool:
    """Whether a reading is one that evaluators make."""
    return name in SCORES or is_indicator_name(name)


def looks_at_scores(program: Program) -> bool:
    """Whether a pattern of events reads what an evaluator gives."""
    return not program.is_combination and (program.evaluated or any(map(is_scored, program.signals)))
