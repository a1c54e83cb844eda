"""The weights of the model, and the scores they give a text.

Weights are whole numbers, so that a sum of thousands of them is the same on every machine and in any order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...records import TRAITS
from ...scanner.records import Scan
from .features import STYLE, Grams, Read

FILE = Path(__file__).with_name("local.npz")
CARD = Path(__file__).with_name("local.json")
"""What was measured when the weights were made: the numbers of the model card."""

FARTHEST = 3.0
"""A measure counts as no more unusual than so many standard deviations."""

DOUBTFUL = 30
"""The style of a text of so many words is believed by half."""

DIGITS = 4

Floats = NDArray[np.float64]
Scale = tuple[list[float], list[float]]


@dataclass(frozen=True)
class Weights:
    """What is in the file. The last axis, or the first of `knots`, goes over `traits`.

    A bucket's rarity says how much its n-grams count, 0 for those that too few authors used. `knots` and
    `levels` turn what the model adds up into a score: between two knots the score goes straight from one
    level to the next.
    """

    version: str
    lexicon: str
    """The version of the lexicon that the model was trained with; another will do."""
    traits: tuple[str, ...]
    measured: NDArray[np.bool_]
    categories: tuple[str, ...]
    word_rarity: NDArray[np.uint8]
    word_weights: NDArray[np.int8]
    run_rarity: NDArray[np.uint8]
    run_weights: NDArray[np.int8]
    scales: Floats
    """How much one step of a weight is: a row for words and one for runs."""
    centre: Floats
    spread: Floats
    dense: Floats
    """Weights of style and then of what the scanner found, which are centred and scaled."""
    bias: Floats
    knots: Floats
    levels: Floats
    """How sums become scores; `scale` has the same for quick looking up."""
    indicators: tuple[str, ...]
    """One for each category, '' where it stands for none."""
    confidences: Floats

    @cached_property
    def scale(self) -> list[Scale]:
        """Knots and levels of each trait."""
        return list(zip(self.knots.tolist(), self.levels.tolist(), strict=True))


def read_weights(path: Path) -> Weights:
    """The weights in a file; no code in it is ever run."""
    with np.load(path, allow_pickle=False) as file:
        return Weights(**{one.name: _plain(file[one.name]) for one in fields(Weights)})


def write_weights(weights: Weights, path: Path) -> None:
    """A file that `read_weights` reads; the same weights give the same bytes."""
    held: dict[str, Any] = {one.name: getattr(weights, one.name) for one in fields(Weights)}
    np.savez_compressed(path, allow_pickle=False, **held)


@lru_cache(maxsize=1)
def shipped() -> Weights:
    """The weights that come with the package."""
    return read_weights(FILE)


def scores(weights: Weights, read: Read, scan: Scan) -> dict[str, float]:
    """A score from 0 to 1 for every trait that the model measures."""
    sums = added_up(weights, read, scan).tolist()
    return {
        trait: round(_on_scale(sums[k], *scale), DIGITS)
        for k, (trait, scale) in enumerate(zip(weights.traits, weights.scale, strict=True))
        if weights.measured[k]
    }


def added_up(weights: Weights, read: Read, scan: Scan) -> Floats:
    """What the model makes of a text, for each trait, before it is brought to the scale of scores."""
    values = dense_values(read, scan, weights.categories)
    dense = standard(values, certainty(read), weights.centre, weights.spread)
    # One product after the other and not a matrix product, whose order is the machine's choice.
    total = weights.bias + (dense[:, None] * weights.dense).sum(axis=0)
    total = total + weights.scales[0] * _share(read.words, weights.word_rarity, weights.word_weights)
    total = total + weights.scales[1] * _share(read.runs, weights.run_rarity, weights.run_weights)
    return np.asarray(total, np.float64)


def dense_values(read: Read, scan: Scan, categories: Sequence[str]) -> Floats:
    """Style, then the scanner: flags of each category, and of each trait per 100 words; flags that count.

    Both are on a scale that flattens.
    """
    values = np.zeros(len(STYLE) + len(categories) + len(TRAITS))
    values[: len(STYLE)] = read.style
    flags = [flag for flag in scan.flags if flag.counts]
    if flags:
        said, traits = Counter(flag.category for flag in flags), Counter(flag.trait for flag in flags)
        share = 100 / max(1, scan.words)
        found = [said[name] for name in categories] + [share * traits[name] for name in TRAITS]
        values[len(STYLE) :] = np.log1p(found)
    return values


def certainty(read: Read) -> float:
    """How far the style of a text is to be believed, 0 to 1: one `you` in five words is chance."""
    return read.length / (read.length + DOUBTFUL)


def standard(values: Floats, sure: Floats | float, centre: Floats, spread: Floats) -> Floats:
    """Measures in standard deviations from their mean, FARTHEST at most; style as far as it is sure."""
    found: Floats = np.clip((values - centre) / spread, -FARTHEST, FARTHEST)
    found[..., : len(STYLE)] *= sure
    return found


def _plain(array: NDArray[Any]) -> Any:
    """Names as strings, numbers as they are."""
    if array.dtype.kind != "U":
        return array
    return tuple(array.tolist()) if array.ndim else str(array)


def _on_scale(value: float, knots: list[float], levels: list[float]) -> float:
    """The level at a value: straight from knot to knot, and no further than the ends."""
    after = bisect_right(knots, value)
    if after in (0, len(knots)):
        return levels[0] if after == 0 else levels[-1]
    low, high = knots[after - 1], knots[after]
    return levels[after - 1] + (levels[after] - levels[after - 1]) * (value - low) / (high - low)


def _share(grams: Grams, rarity: NDArray[np.uint8], table: NDArray[np.int8]) -> Floats:
    """The sum of weights over n-grams, each by its rarity, as if every text were of one length."""
    values = grams.weights * rarity.take(grams.buckets)
    size = float(np.einsum("i,i", values, values))
    # Whole numbers far below 2**63: exact whatever the order.
    total = np.einsum("i,ij->j", values, table.take(grams.buckets, axis=0), dtype=np.int64, casting="unsafe")
    return np.asarray(total / max(sqrt(size), 1.0), np.float64)
