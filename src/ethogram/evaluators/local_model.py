"""The local model: features of a text, weights, scores and indicators.

Features are hashed words and character n-grams, and measures of style. There is no vocabulary: words cannot
be read back from the buckets. Weights are integers, so that a sum of thousands of them is the same on every
machine and in any order.
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

from ..data import DATA
from ..lexicon.normalize import fold
from ..lexicon.records import Scan
from ..models import TRAITS
from ..patterns.catalogue import indicator_catalogue
from .base import IndicatorSpan

LONGEST = 8_000  # characters of a text that are read
BITS = 16  # 2**BITS buckets for words, and as many for character n-grams
RUNS = (3, 4, 5)  # lengths of character n-grams, spaces included
STEPS = 16  # an n-gram weighs STEPS * (1 + ln(count))
FILE = DATA / "evaluators" / "local.npz"
FARTHEST = 3.0  # standard deviations at which a measure is clipped
DOUBTFUL = 30  # words of a text whose style counts half
SUPPORT = 0.25  # least score of the trait for which an indicator's phrase counts
STYLE = (
    "words", "letters_per_word", "exclamations", "questions", "capitals", "digits", "other_characters",
    "lines", "links", "money", "you", "i", "we", "marks", "dashes", "quotes", "repeated", "commas",
)  # fmt: skip

Hashes = NDArray[np.uint32]
Floats = NDArray[np.float64]

_LONGEST_FOLDED = 2 * LONGEST
_BASE = np.uint32(0x01000193)
_BACK = np.uint32(pow(int(_BASE), -1, 1 << 32))
_PAIR = np.uint32(0x9E3779B1)
_WEIGHT = np.rint(STEPS * (1 + np.log(np.maximum(1, np.arange(3 * _LONGEST_FOLDED))))).astype(np.int64)
_IN_WORD = np.zeros(256, bool)
_IN_WORD[list(b"abcdefghijklmnopqrstuvwxyz0123456789'")] = True
_CAPITALS, _DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"


def _powers(base: np.uint32) -> Hashes:
    table = np.full(_LONGEST_FOLDED, base, np.uint32)
    table[0] = 1
    return np.multiply.accumulate(table, dtype=np.uint32)


_UP, _DOWN = _powers(_BASE), _powers(_BACK)


@dataclass(frozen=True, slots=True)
class Grams:
    """The distinct n-grams of one kind: buckets, and weights with a sign from the hash.

    Because of the sign, collisions cancel on average.
    """

    buckets: NDArray[np.int64]
    weights: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Read:
    """The features of a text; `length` counts its words."""

    length: int
    words: Grams
    runs: Grams
    style: tuple[float, ...]


def read_text(text: str) -> Read:
    """The features of a text, of its first LONGEST characters.

    >>> read = read_text("Act now, act NOW.")
    >>> read.length, sorted(abs(read.words.weights).tolist())
    (4, [16, 27, 27, 27])
    """
    cut = text[:LONGEST]
    folded = fold(cut).text[:_LONGEST_FOLDED]
    codes = np.frombuffer(folded, np.uint8)
    # Hashes of all prefixes; that of an n-gram is the difference of two, shifted.
    sums = np.zeros(len(codes) + 1, np.uint32)
    np.cumsum(codes * _UP[: len(codes)], dtype=np.uint32, out=sums[1:])
    words = _words(codes, sums)
    pairs = _mixed(words[:-1] * _PAIR + words[1:])
    return Read(len(words), _grams(np.concatenate((words, pairs))), _grams(_runs(sums)), _style(cut, folded))


def _words(codes: NDArray[np.uint8], sums: Hashes) -> Hashes:
    inside = np.zeros(len(codes) + 2, bool)
    _IN_WORD.take(codes, out=inside[1:-1])
    edges = (inside[1:] != inside[:-1]).nonzero()[0]
    starts, ends = edges[::2], edges[1::2]
    return _mixed((sums[ends] - sums[starts]) * _DOWN[starts])


def _runs(sums: Hashes) -> Hashes:
    hashes = []
    for length in RUNS:
        many = max(0, len(sums) - length)
        hashes.append((sums[length:] - sums[:many]) * _DOWN[:many] + np.uint32(length))
    return _mixed(np.concatenate(hashes))


def _mixed(hashes: Hashes) -> Hashes:
    """The hashes with every bit depending on all others."""
    hashes = hashes ^ (hashes >> np.uint32(16))
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(0xC2B2AE35)
    hashes ^= hashes >> np.uint32(16)
    return hashes


def _grams(hashes: Hashes) -> Grams:
    hashes.sort()
    new = np.ones(len(hashes) + 1, bool)
    np.not_equal(hashes[1:], hashes[:-1], out=new[1:-1])
    places = new.nonzero()[0]
    once = hashes[places[:-1]]
    weights = _WEIGHT[places[1:] - places[:-1]]
    # The lowest bit gives the sign, the highest the bucket.
    weights *= ((once & np.uint32(1)).astype(np.int64) << 1) - 1
    return Grams((once >> np.uint32(32 - BITS)).astype(np.int64), weights)


def _style(text: str, folded: bytes) -> tuple[float, ...]:
    words = folded.count(b" ") + 1
    plain = text.encode("ascii", "ignore")
    padded = b" " + folded + b" "
    size = max(1, len(text))

    def per_100_words(*counts: int) -> float:
        return log1p(100 * sum(counts) / words)

    return (
        log1p(words),
        len(folded) / words,
        per_100_words(text.count("!")),
        per_100_words(text.count("?")),
        1 - len(plain.translate(None, _CAPITALS)) / max(1, len(plain)),
        log1p(len(plain) - len(plain.translate(None, _DIGITS))),
        1 - len(plain) / size,
        per_100_words(text.count("\n")),
        per_100_words(text.count("://")),
        per_100_words(text.count("$")),
        per_100_words(padded.count(b" you")),
        per_100_words(padded.count(b" i "), padded.count(b" i'"), padded.count(b" my ")),
        per_100_words(padded.count(b" we "), padded.count(b" our "), padded.count(b" us ")),
        per_100_words(text.count("**"), text.count("#"), text.count("\n- ")),
        per_100_words(text.count("—")),
        per_100_words(text.count('"'), text.count("“")),
        per_100_words(text.count("!!"), text.count("...")),
        per_100_words(text.count(",")),
    )


@dataclass(frozen=True)
class Weights:
    """The content of the file. The last axis, or the first of `knots`, goes over `traits`."""

    version: str
    lexicon: str  # version of the lexicon in training; another one works too
    traits: tuple[str, ...]
    measured: NDArray[np.bool_]
    categories: tuple[str, ...]
    word_rarity: NDArray[np.uint8]  # how much a bucket counts, 0 where too few authors used its n-grams
    word_weights: NDArray[np.int8]
    run_rarity: NDArray[np.uint8]
    run_weights: NDArray[np.int8]
    scales: Floats  # the value of one step of a weight: a row for words and one for runs
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
        trait: round(_on_scale(sums[k], *scale), 4)
        for k, (trait, scale) in enumerate(zip(weights.traits, weights.scale, strict=True))
        if weights.measured[k]
    }


def added_up(weights: Weights, read: Read, scan: Scan) -> Floats:
    """The model's sum for each trait, before it is mapped to the scale of scores."""
    values = dense_values(read, scan, weights.categories)
    dense = standard(values, certainty(read), weights.centre, weights.spread)
    # Not a matrix product, whose order of summation depends on the machine.
    total = weights.bias + (dense[:, None] * weights.dense).sum(axis=0)
    total = total + weights.scales[0] * _share(read.words, weights.word_rarity, weights.word_weights)
    total = total + weights.scales[1] * _share(read.runs, weights.run_rarity, weights.run_weights)
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


def certainty(read: Read) -> float:
    """The weight of style, 0..1: in short texts it is chance."""
    return read.length / (read.length + DOUBTFUL)


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


def _share(grams: Grams, rarity: NDArray[np.uint8], table: NDArray[np.int8]) -> Floats:
    """The sum of weights over n-grams, each by its rarity, normalised for length."""
    values = grams.weights * rarity.take(grams.buckets)
    size = float(np.einsum("i,i", values, values))
    # Integers far below 2**63: exact in any order.
    total = np.einsum("i,ij->j", values, table.take(grams.buckets, axis=0), dtype=np.int64, casting="unsafe")
    return np.asarray(total / max(sqrt(size), 1.0), np.float64)


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
