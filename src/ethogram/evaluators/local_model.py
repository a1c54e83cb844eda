"""The local model: features of a text, weights, scores and indicators.

Features are the vector of the embedder `static`, the word pieces that it is made of, measures of style, and
the scanner's counts. Weights of pieces are integers, and scores are rounded, so that machines agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from math import log1p, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chat.embeddings.base import MOST_CHARACTERS, unit
from ..chat.embeddings.static import rows_of, sum_of
from ..data import DATA
from ..lexicon.normalize import fold
from ..lexicon.records import Scan
from ..models import TRAITS
from ..patterns.catalogue import indicator_catalogue
from .base import IndicatorSpan

STEPS = 16  # a piece weighs STEPS * (1 + ln(count))
FILE = DATA / "evaluators" / "local.npz"
FARTHEST = 3.0  # standard deviations at which a measure is clipped
DOUBTFUL = 30  # words of a text whose style counts half
SUPPORT = 0.25  # least score of the trait for which an indicator's phrase counts
MARKS: Mapping[str, tuple[str, ...]] = {
    "exclamations": ("!",), "questions": ("?",), "lines": ("\n",), "links": ("://",), "money": ("$",),
    "marks": ("**", "#", "\n- "), "dashes": ("—",), "quotes": ('"', "“"), "repeated": ("!!", "..."),
    "commas": (",",),
}  # fmt: skip
PERSONS: Mapping[str, tuple[bytes, ...]] = {
    "you": (b" you",), "i": (b" i ", b" i'", b" my "), "we": (b" we ", b" our ", b" us "),
}  # fmt: skip
STYLE = ("words", "letters_per_word", "capitals", "digits", "other_characters", *MARKS, *PERSONS)
_CAPITALS, _DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"

Floats = NDArray[np.float64]

_WEIGHT = np.rint(STEPS * (1 + np.log(np.maximum(1, np.arange(MOST_CHARACTERS + 1))))).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Read:
    """The features of a text: its vector, its distinct word pieces with weights, and its style.

    `length` counts its words, signs apart.
    """

    length: int
    vector: Floats
    pieces: NDArray[np.int64]
    weights: NDArray[np.int64]
    style: tuple[float, ...]


def read_text(text: str) -> Read:
    """The features of a text, of its first MOST_CHARACTERS characters.

    >>> read = read_text("Act now, act NOW.")
    >>> read.length, sorted(read.weights.tolist())
    (4, [16, 16, 27, 27])
    """
    cut = text[:MOST_CHARACTERS]
    length = sum(any(map(str.isalnum, word)) for word in cut.split())
    rows = rows_of(cut)
    pieces, counts = np.unique(np.array(rows, np.int64), return_counts=True)
    vector = unit(sum_of(rows)[None])[0].astype(np.float64)
    return Read(length, vector, pieces, _WEIGHT[counts], _style(cut))


def _style(text: str) -> tuple[float, ...]:
    folded = b" " + fold(text).text + b" "
    words = folded.count(b" ") - 1
    plain = text.encode("ascii", "ignore")
    counts = [sum(map(text.count, marks)) for marks in MARKS.values()]
    counts += [sum(map(folded.count, marks)) for marks in PERSONS.values()]
    return (
        log1p(words),
        len(folded) / words,
        1 - len(plain.translate(None, _CAPITALS)) / max(1, len(plain)),
        log1p(len(plain) - len(plain.translate(None, _DIGITS))),
        1 - len(plain) / max(1, len(text)),
        *(log1p(100 * count / words) for count in counts),
    )


@dataclass(frozen=True)
class Weights:
    """The content of the file. The last axis, or the first of `knots`, goes over `traits`."""

    version: str
    lexicon: str  # version of the lexicon in training; another one works too
    traits: tuple[str, ...]
    measured: NDArray[np.bool_]
    categories: tuple[str, ...]
    vector: NDArray[np.float32]
    rarity: NDArray[np.uint8]  # how much a piece counts, 0 where too few authors used it
    pieces: NDArray[np.int8]
    scales: Floats  # the value of one step of a piece's weight
    centre: Floats
    spread: Floats
    dense: Floats  # weights of style, then of the scanner's counts, both standardised
    bias: Floats
    knots: Floats  # weighted sums; scores between two of them are interpolated
    levels: Floats  # the scores at the knots
    indicators: tuple[str, ...]  # of each category, '' for none
    confidences: Floats

    @cached_property
    def scale(self) -> list[tuple[list[float], list[float]]]:
        """Knots and levels of each trait."""
        return list(zip(self.knots.tolist(), self.levels.tolist(), strict=True))


def read_weights(path: Path) -> Weights:
    """The weights in a file; code in it is never run."""
    with np.load(path, allow_pickle=False) as file:
        return Weights(**{field.name: _plain(file[field.name]) for field in fields(Weights)})


@lru_cache(maxsize=1)
def shipped() -> Weights:
    """The weights that come with the package."""
    return read_weights(FILE)


def scores(weights: Weights, read: Read, scan: Scan) -> dict[str, float]:
    """A score from 0 to 1 for every trait that the model measures."""
    sums = added_up(weights, read, scan).tolist()
    return {
        trait: round(_on_scale(sums[k], *scale), 3)
        for k, (trait, scale) in enumerate(zip(weights.traits, weights.scale, strict=True))
        if weights.measured[k]
    }


def added_up(weights: Weights, read: Read, scan: Scan) -> Floats:
    """The model's sum for each trait, before it is mapped to the scale of scores."""
    values = dense_values(read, scan, weights.categories)
    dense = standard(values, certainty(read.length), weights.centre, weights.spread)
    pieces = read.weights * weights.rarity[read.pieces]
    size = sqrt(float(pieces @ pieces)) or 1.0
    # Not a matrix product of floats, whose order of summation depends on the machine.
    total = weights.bias + (dense[:, None] * weights.dense).sum(axis=0)
    total = total + (read.vector[:, None] * weights.vector).sum(axis=0)
    total = total + weights.scales * (pieces @ weights.pieces[read.pieces].astype(np.int64)) / size
    return np.asarray(total, np.float64)


def dense_values(read: Read, scan: Scan, categories: Sequence[str]) -> Floats:
    """Style, then log counts of flags by category, and by trait per 100 words."""
    values = np.zeros(len(STYLE) + len(categories) + len(TRAITS))
    values[: len(STYLE)] = read.style
    flags = [flag for flag in scan.flags if flag.counts]
    if flags:
        by_category = Counter(flag.category for flag in flags)
        by_trait = Counter(flag.trait for flag in flags)
        share = 100 / max(1, scan.words)
        counts = [by_category[name] for name in categories] + [share * by_trait[name] for name in TRAITS]
        values[len(STYLE) :] = np.log1p(counts)
    return values


def certainty(words: int) -> float:
    """The weight of style in a text of so many words, 0..1: in short texts it is chance."""
    return words / (words + DOUBTFUL)


def standard(values: Floats, sure: Floats | float, centre: Floats, spread: Floats) -> Floats:
    """Measures in standard deviations from their mean, clipped; style weighted by `sure`."""
    floats: Floats = np.clip((values - centre) / spread, -FARTHEST, FARTHEST)
    floats[..., : len(STYLE)] *= sure
    return floats


def _plain(array: NDArray[Any]) -> Any:
    """Names as strings, numbers as they are."""
    if array.dtype.kind != "U":
        return array
    return tuple(array.tolist()) if array.ndim else str(array)


def _on_scale(value: float, knots: list[float], levels: list[float]) -> float:
    """The level at a value: linear between knots, constant beyond the ends."""
    after = bisect_right(knots, value)
    if after in (0, len(knots)):
        return levels[0] if after == 0 else levels[-1]
    low, high = knots[after - 1], knots[after]
    return levels[after - 1] + (levels[after] - levels[after - 1]) * (value - low) / (high - low)


def find_indicators(weights: Weights, scan: Scan, traits: Mapping[str, float]) -> tuple[IndicatorSpan, ...]:
    """The indicators of flags that count and whose trait scores at least SUPPORT, each once, by offset."""
    known = {name: number for number, name in enumerate(weights.categories)}
    catalogue = indicator_catalogue()
    spans: dict[str, IndicatorSpan] = {}
    for flag in scan.flags:
        if not flag.counts or flag.category not in known:
            continue
        number = known[flag.category]
        name = weights.indicators[number]
        if name and name not in spans and traits.get(catalogue[name].trait, 0.0) >= SUPPORT:
            spans[name] = IndicatorSpan(name, float(weights.confidences[number]), flag.start, flag.end)
    return tuple(sorted(spans.values(), key=lambda item: (item.start, item.id)))
