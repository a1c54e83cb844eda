"""What tokens cost, and the budget."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..data import DATA
from ..errors import BadUsage, did_you_mean
from ..language.yaml_source import plain, read_yaml_file
from .base import Usage

# What a model's tokens cost, in dollars, and what a question may come to at most.

BATCHED = 0.5  # what a request in a batch costs beside one that is answered at once

GIVEN = ("input", "output", "cache_read", "cache_write")  # what may stand in `price` among the options

OVERHEAD = 1_000
"""Tokens that a model's side adds to a prompt: its own words about the form of the answer, and marks."""

_DATE = re.compile(r"-(\d{8}|\d{4}-\d\d-\d\d)\Z")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens. Above `above` tokens of prompt the whole request costs more."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    above: float = math.inf
    input_times: float = 1.0
    output_times: float = 1.0

    def cost(self, usage: Usage) -> float:
        """What these tokens of one request cost.

        >>> Price(1.0, 5.0, 0.1, 1.25).cost(Usage(input=1_000, output=200, cache_read=10_000))
        0.003
        """
        long = usage.input + usage.cache_read + usage.cache_write > self.above
        read = (
            usage.input * self.input
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        )
        written = usage.output * self.output
        return (
            read * (self.input_times if long else 1.0) + written * (self.output_times if long else 1.0)
        ) / 1e6

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """What a request of so many tokens costs at most, kept or not kept by the model's side."""
        dearest = max(self.input, self.cache_read, self.cache_write)
        return Price(dearest, self.output, 0, 0, self.above, self.input_times, self.output_times).cost(
            Usage(input=tokens_in, output=tokens_out)
        )


def most_tokens(rubric: str, rest: str) -> int:
    """So many tokens a prompt has at most.

    The rubric is our own plain English, at three to four bytes a token, so two are safe. The rest was
    written by strangers: rare letters can come to one token for every byte, and to no more than that.
    """
    return _bytes(rubric) // 2 + _bytes(rest) + OVERHEAD


def price_of(model: str) -> Price | None:
    """The listed price of a model, also under its name with a date behind it; None where none is known."""
    listed = _listed()
    return listed.get(model) or listed.get(_DATE.sub("", model))


def price_given(name: str, given: Any) -> Price:
    """The price that the options give; what is kept by the model's side costs as other input by default."""
    if not isinstance(given, Mapping) or not {"input", "output"} <= given.keys():
        raise BadUsage(
            f"{name}: price is a mapping with input and output, in dollars per million tokens; "
            "cache_read and cache_write may be added"
        )
    for key, value in given.items():
        if key not in GIVEN:
            raise BadUsage(f"{name}: unknown price {str(key)!r:.40}{did_you_mean(str(key), GIVEN)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
            raise BadUsage(f"{name}: price {key} is not a number of dollars per million tokens")
    ordinary = float(given["input"])
    return Price(
        ordinary,
        float(given["output"]),
        float(given.get("cache_read", ordinary)),
        float(given.get("cache_write", ordinary)),
    )


@lru_cache(maxsize=1)
def _listed() -> dict[str, Price]:
    content = plain(read_yaml_file(DATA / "evaluators" / "prices.yaml"))
    return {model: Price(**row) for model, row in content["models"].items()}


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


# Budget: what may be spent, what was, and what those still under way may come to.


@dataclass(slots=True)
class Budget:
    """Dollars. A question is asked only where its worst case still fits beside those under way."""

    limit: float | None = None
    spent: float = 0.0
    held: float = 0.0

    def fits(self, worst: float) -> bool:
        """Whether a question that may cost so much can be asked now."""
        return self.limit is None or self.spent + self.held + worst <= self.limit + 1e-12

    def never_fits(self, worst: float) -> bool:
        """Whether it could not be asked even if nothing else were under way."""
        return self.limit is not None and self.spent + worst > self.limit + 1e-12

    def hold(self, worst: float) -> None:
        """Set aside what a question may cost."""
        self.held += worst

    def settle(self, worst: float, cost: float) -> None:
        """The answer is there: what it did cost takes the place of what it might have."""
        self.held = max(0.0, self.held - worst)
        self.spent += cost
