"""Evaluator: scores one message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .. import registry
from ..fields import Count, Dollars, Ratio, TraitScores
from ..lexicon.records import NEGATIVE, Scan
from ..lexicon.triage import PRIOR
from ..models import stable_hash
from ..models.record import Record
from .prompt import Said, evaluation_prompt

# What every evaluator is: asked about a message, it answers with readings, or says that it could not.
#
# A new evaluator is one file with `@evaluator("name")` on a class derived from `Evaluator`.

WHOLE_THREAD = 1_000_000  # the width of a reading for which the whole thread was shown


@dataclass(frozen=True, slots=True)
class Question:
    """One message to score, and what the tier lets the evaluator see beside it.

    `thread` are the earlier messages of its thread, oldest first; `history` is what is known of its author.
    """

    source: str
    id: str
    subject: str
    text: str
    scan: Scan
    tier: str
    thread: tuple[Said, ...] = ()
    history: Mapping[str, Any] | None = None

    @property
    def width(self) -> int:
        """How many earlier messages of the thread the evaluator may see; the same number for a whole tier."""
        prior = PRIOR.get(self.tier, 0)
        return WHOLE_THREAD if prior < 0 else prior

    def prompt(self, boundary: str | None = None) -> tuple[str, str]:
        """(system, user); without a boundary the same every time, so that it can be compared."""
        return evaluation_prompt(
            self.text, self.scan, self.tier, self.thread, self.history, boundary=boundary
        )

    def key(self, scorer: str) -> str:
        """What two questions have in common that would be given the same prompt by the same scorer."""
        return stable_hash("question", scorer, self.prompt()[1])


@dataclass(frozen=True, slots=True)
class Found(Record):
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
    indicators: tuple[Found, ...]
    scorer: str
    width: Count
    """Earlier messages it could see; 1000000 for the whole thread."""
    cost: Dollars = 0.0
    usage: Usage = Usage()
    dropped: Mapping[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """That there is no answer, and why: a reason without any text of the message.

    `spent` is what the attempts cost all the same. `final` is false where asking again may help.
    """

    reason: str
    spent: float | None = 0.0
    usage: Usage = Usage()
    final: bool = False


Answer = Evaluation | NotMeasured


class Evaluator:
    """The base of all. `scorer` names who measured: name, model and version of what it was asked."""

    name: str = ""
    scorer: str = ""
    needs: str = "nothing"
    """What must be there before it can be asked, as `ethogram evaluators list` tells it."""
    paid = False
    """Whether an answer costs money or time, so that it is kept and asked for once."""
    wants_context = False
    """Whether `thread` and `history` of a question are looked at."""
    concurrency = 1
    """How many questions may be under way at once."""

    @property
    def identity(self) -> str:
        """Who answers: the scorer and, where another could answer under the same name, where it is."""
        return self.scorer

    def evaluate(self, question: Question) -> Answer:
        """The answer to one question; what goes wrong is NotMeasured, never an exception."""
        raise NotImplementedError

    def evaluate_many(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers to many, in their order."""
        return [self.evaluate(question) for question in questions]

    def worst_cost(self, question: Question) -> float | None:
        """What one question costs at most, retries included; None where no price is known."""
        return 0.0

    def close(self) -> None:
        """Let go of connections."""


Options = Mapping[str, Any]  # what the settings say of one evaluator

T = TypeVar("T", bound=Callable[[Options], Evaluator])


def evaluator(name: str) -> Callable[[T], T]:
    """The decorator: on a class or function that takes the options and gives an Evaluator."""

    def add(item: T) -> T:
        registry.evaluators.add(name, item)
        return item

    return add


def make_evaluator(name: str, options: Options | None = None) -> Evaluator:
    """The evaluator of that name; BadUsage names the nearest where there is none."""
    made: Evaluator = registry.evaluators.get(name)(options or {})
    return made


# What the twelve traits come to: three dimensions, and how even they are.

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "ethos": ("virtue", "goodwill", "manipulation", "deception"),
    "logos": ("accuracy", "reasoning", "fabrication", "broken_logic"),
    "pathos": ("recognition", "compassion", "dismissal", "exploitation"),
}
"""Dimension to its traits."""


def dimensions(traits: Mapping[str, float]) -> dict[str, float]:
    """The mean of each dimension's traits, the negative ones turned round, and their balance.

    A dimension with a trait that was not measured is not measured; balance needs all three.

    >>> dimensions({"virtue": 1.0, "goodwill": 0.5, "manipulation": 0.0, "deception": 0.5})
    {'ethos': 0.75}
    """
    out = {
        name: round(
            sum(1 - traits[part] if part in NEGATIVE else traits[part] for part in parts) / len(parts), 6
        )
        for name, parts in DIMENSIONS.items()
        if all(part in traits for part in parts)
    }
    if len(out) == len(DIMENSIONS) and (mean := sum(out.values()) / len(out)):
        spread = (sum((item - mean) ** 2 for item in out.values()) / len(out)) ** 0.5
        out["balance"] = round(max(0.0, 1 - spread / mean), 6)
    return out
