"""What the model reads in a text: hashed words and runs of characters, and a few measures of style.

There is no vocabulary: an n-gram is known by the bucket that its hash falls in, and its words cannot be read
back from that. Each text is read by itself, so it does not matter which others it comes with.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from ...scanner.fold import fold

LONGEST = 8_000
"""So many characters of a text are looked at."""

BITS = 16
"""There are two to the power of this many buckets for words, and as many for runs of characters."""

RUNS = (3, 4, 5)
"""How many characters a run has; spaces count."""

STYLE = (
    "words", "letters_per_word", "exclamations", "questions", "capitals", "digits", "other_characters",
    "lines", "links", "money", "you", "i", "we", "marks", "dashes", "quotes", "repeated", "commas",
)  # fmt: skip
"""The measures of style, in their order."""

STEPS = 16
"""An n-gram that stands once in a text weighs this much, and more often STEPS * (1 + ln(count))."""

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
