"""Prices of tokens in dollars, and the budget."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..data import DATA
from ..errors import BadUsage, did_you_mean
from ..language.yaml_source import plain, read_yaml_file
from ..models.slotted import dataclass, replace
from .base import Usage

BATCHED = 0.5  # price of a request in a batch, relative to one that is answered at once
KEYS = ("input", "output", "cache_read", "cache_write")  # of the option `price`
OVERHEAD = 1_000  # tokens that the provider adds to a prompt

_DATE = re.compile(r"-(\d{8}|\d{4}-\d\d-\d\d)\Z")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens; a request with more than `above` tokens of prompt costs more."""

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
        read = sum(getattr(usage, key) * getattr(self, key) for key in ("input", "cache_read", "cache_write"))
        written = usage.output * self.output
        if usage.input + usage.cache_read + usage.cache_write > self.above:
            read, written = read * self.input_times, written * self.output_times
        return float(read + written) / 1e6

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """The most a request of so many tokens costs, cached or not."""
        dearest = max(self.input, self.cache_read, self.cache_write)
        return replace(self, input=dearest).cost(Usage(input=tokens_in, output=tokens_out))


def most_tokens(rubric: str, rest: str) -> int:
    """An upper bound of the tokens of a prompt.

    The rubric is plain English, at three to four bytes a token, so two are safe. The rest was written by
    strangers: rare letters take up to one token a byte.
    """
    sizes = [len(text.encode("utf-8", "replace")) for text in (rubric, rest)]
    return sizes[0] // 2 + sizes[1] + OVERHEAD


def price_of(model: str) -> Price | None:
    """The listed price of a model, whose name may end with a date; None where it is not listed."""
    listed = _listed()
    return listed.get(model) or listed.get(_DATE.sub("", model))


def price_from(name: str, option: Any) -> Price:
    """The price in the options of an evaluator; cached tokens cost as other input by default."""
    if not isinstance(option, Mapping) or not {"input", "output"} <= option.keys():
        raise BadUsage(
            f"{name}: invalid price: expected a mapping with input and output (and cache_read, cache_write), "
            "in dollars per million tokens"
        )
    for key, value in option.items():
        if key not in KEYS:
            raise BadUsage(f"{name}: unknown price {str(key)!r:.40}{did_you_mean(str(key), KEYS)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
            raise BadUsage(f"{name}: invalid price {key}: expected dollars per million tokens")
    defaults = {"cache_read": option["input"], "cache_write": option["input"]}
    return Price(**{key: float(value) for key, value in {**defaults, **option}.items()})


@lru_cache(maxsize=1)
def _listed() -> dict[str, Price]:
    content = plain(read_yaml_file(DATA / "evaluators" / "prices.yaml"))
    return {model: Price(**row) for model, row in content["models"].items()}


@dataclass(slots=True)
class Budget:
    """Dollars spent, and held for questions in flight; a question must fit with its worst case."""

    limit: float | None = None
    spent: float = 0.0
    held: float = 0.0

    def fits(self, worst: float) -> bool:
        """Whether a question of this worst case fits now."""
        return self.limit is None or self.spent + self.held + worst <= self.limit + 1e-12

    def never_fits(self, worst: float) -> bool:
        """Whether a question would not fit even with nothing else in flight."""
        return self.limit is not None and self.spent + worst > self.limit + 1e-12

    def hold(self, worst: float) -> None:
        """Reserve what a question may cost."""
        self.held += worst

    def settle(self, worst: float, cost: float) -> None:
        """Replace what a question might have cost by what it did."""
        self.held = max(0.0, self.held - worst)
        self.spent += cost
