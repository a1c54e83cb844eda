"""What an expression may name, in the place where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..errors import did_you_mean
from .tree import Attribute, Elapsed, Expr, Indicator, Number, Result, Signal
from .vocabulary import Vocabulary

ELAPSED = ("gap", "age")
SIGNAL_KINDS = {"number": "number", "category": "text", "any": "any"}

Typed = tuple[Expr, str]
"""An expression and its kind: number, text, truth, list, or any where only the data can tell."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Names in reach.

    `steps` are those before this place; `gathers` allows `step.count` and `mean(step.x)`;
    `measures` and `lists` say whether measures, and `values(...)`, may be used here.
    """

    vocabulary: Vocabulary
    parameters: Mapping[str, float] = field(default_factory=dict)
    defines: Mapping[str, Typed] = field(default_factory=dict)
    bindings: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Typed] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    gathers: bool = False
    measures: bool = True
    lists: bool = False
    here: str = "here"

    def at(self, here: str, **changes: object) -> Scope:
        """The same names in another place, for errors that say where."""
        return replace(self, here=here, **changes)  # type: ignore[arg-type]

    def inside_measure(self, here: str) -> Scope:
        """What may be named inside a measure, since or where: one event, nothing else."""
        return replace(
            self, here=here, measures=False, lists=False, steps=(), gathers=False, results={}, details={}
        )

    def names(self) -> Iterator[str]:
        """Everything that could have been meant."""
        for names in (self.bindings, self.parameters, self.defines, self.results, self.details):
            yield from names
        yield from ELAPSED
        yield from self.vocabulary.signals
        yield from self.vocabulary.indicators
        yield from self.vocabulary.attributes

    def resolve(self, name: str) -> Typed | str:
        """What a name stands for, or the sentence that says why it stands for nothing."""
        name = self.bindings.get(name, name)
        if name in self.parameters:
            return Number(float(self.parameters[name])), "number"
        for known in (self.defines, self.details):
            if name in known:
                return known[name]
        if name in ELAPSED:
            return Elapsed(name), "number"
        if name in self.results:
            return Result(name), self.results[name]
        if name in self.vocabulary.indicators:
            return Indicator(name), "number"
        if name in self.vocabulary.signals:
            return Signal(name), SIGNAL_KINDS[self.vocabulary.signals[name]]
        if name in self.vocabulary.attributes:
            return Attribute(name), SIGNAL_KINDS[self.vocabulary.attributes[name]]
        if name in self.steps or name in self.parts:
            return f"{name!r} is a step, not a value; name one of its readings: {name}.compassion"
        return f"unknown signal {name!r}{self.hint(name)}"

    def hint(self, name: str) -> str:
        """The nearest known name, or what to do where none is near."""
        near = did_you_mean(name, self.names())
        return near or "; give it in an example, or declare it under signals: in ethogram.yaml"
