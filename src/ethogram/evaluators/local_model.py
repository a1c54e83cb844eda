"""The local model: what it reads in a text, its weights, its scores and indicators."""

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
from .base import Found

# What the model reads in a text: hashed words and runs of characters, and a few measures of style.
#
# There is no vocabulary: an n-gram is known by the bucket that its hash falls in, and its words cannot be
# read
# back from that. Each text is read by itself, so it does not matter which others it comes with.

LONGEST = 8_000  # so many characters of a text are looked at

BITS = 16  # there are two to the power of this many buckets for words, and as many for runs of characters

RUNS = (3, 4, 5)  # how many characters a run has; spaces count

STYLE = (
    "words", "letters_per_word", "exclamations", "questions", "capitals", "digits", "other_characters",
    "lines", "links", "money", "you", "i", "we", "marks", "dashes", "quotes", "repeated", "commas",
)  # fmt: skip
"""The measures of style, in their order."""

STEPS = 16  # an n-gram that stands once in a text weighs this much, and more often STEPS * (1 + ln(count))

Hashes = NDArray[np.uint32]

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
    """The different n-grams of one kind: their buckets, and their weights with a sign from the hash.

    Two n-grams in one bucket are as likely to weaken as to strengthen each other, so that collisions
    come to nothing on the whole. All numbers are whole: sums of them are exact in any order.
    """

    buckets: NDArray[np.int64]
    weights: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Read:
    """A text as the model sees it; `length` is how many words it has."""

    length: int
    words: Grams
    runs: Grams
    style: tuple[float, ...]


def read_text(text: str) -> Read:
    """The first LONGEST characters of a text as the model sees them.

    >>> read = read_text("Act now, act NOW.")
    >>> read.length, sorted(abs(read.words.weights).tolist())
    (4, [16, 27, 27, 27])
    """
    cut = text[:LONGEST]
    folded = fold(cut).text[:_LONGEST_FOLDED]
    codes = np.frombuffer(folded, np.uint8)
    # The hash of every beginning of the text; that of a run is a difference of two, moved to the left.
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
    found = []
    for length in RUNS:
        many = max(0, len(sums) - length)
        found.append((sums[length:] - sums[:many]) * _DOWN[:many] + np.uint32(length))
    return _mixed(np.concatenate(found))


def _mixed(hashes: Hashes) -> Hashes:
    """The same hashes with every bit depending on every other, so that any of them may choose a bucket."""
    hashes = hashes ^ (hashes >> np.uint32(16))
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(0xC2B2AE35)
    hashes ^= hashes >> np.uint32(16)
    return hashes


def _grams(hashes: Hashes) -> Grams:
    hashes.sort()
    # Where a hash differs from the one before it, and the end.
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
    said = b" " + folded + b" "
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
        per_100_words(said.count(b" you")),
        per_100_words(said.count(b" i "), said.count(b" i'"), said.count(b" my ")),
        per_100_words(said.count(b" we "), said.count(b" our "), said.count(b" us ")),
        per_100_words(text.count("**"), text.count("#"), text.count("\n- ")),
        per_100_words(text.count("—")),
        per_100_words(text.count('"'), text.count("“")),
        per_100_words(text.count("!!"), text.count("...")),
        per_100_words(text.count(",")),
    )


# The weights of the model, and the scores they give a text.
#
# Weights are whole numbers, so that a sum of thousands of them is the same on every machine and in any order.

FILE = DATA / "evaluators" / "local.npz"

FARTHEST = 3.0  # A measure counts as no more unusual than so many standard deviations

DOUBTFUL = 30  # the style of a text of so many words is believed by half

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
        return Weights(**{field.name: _plain(file[field.name]) for field in fields(Weights)})


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
    floats: Floats = np.clip((values - centre) / spread, -FARTHEST, FARTHEST)
    floats[..., : len(STYLE)] *= sure
    return floats


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


# Indicators that a phrase of the text shows: never one without words to point at.

SUPPORT = 0.25
"""The trait of an indicator must be subtle at least, or the phrase is taken for a manner of speaking."""


def find_indicators(weights: Weights, scan: Scan, traits: Mapping[str, float]) -> tuple[Found, ...]:
    """Each indicator that the author's own words show, at the first place, by place.

    A phrase that is denied, quoted or mentioned shows none, nor one whose trait was not measured.
    """
    if not scan.flags:
        return ()
    known = {name: number for number, name in enumerate(weights.categories)}
    catalogue = indicator_catalogue()
    record: dict[str, Found] = {}
    for flag in scan.flags:
        number = known.get(flag.category)
        if number is None or not flag.counts:
            continue
        name = weights.indicators[number]
        if name and name not in record and traits.get(catalogue[name].trait, 0.0) >= SUPPORT:
            record[name] = Found(name, float(weights.confidences[number]), flag.start, flag.end)
    return tuple(sorted(record.values(), key=lambda item: (item.start, item.id)))
