"""What is measured of the local model: agreement, how often a high score is right, and where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.local_model.data import Corpus, has, messages
from benchmarks.local_model.fit import Floats, Ints, spearman
from benchmarks.local_model.probes import HIGHER, PROBES
from ethogram.evaluators.local import LEAST_WORDS
from ethogram.evaluators.local_model import SUPPORT, Weights, read_text, scores
from ethogram.lexicon.lexicon import Category
from ethogram.lexicon.scanner import scan_many
from ethogram.models import TRAITS
from ethogram.patterns.catalogue import indicator_catalogue

HIGH = 0.5
ENOUGH = 10
"""From so many texts with a category on its indicator's confidence is its own."""

HARMLESS = ("mtbench101", "sgd_test", "casino", "persuasion4good", "irc_ubuntu", "hh_harmless_test")
SAMPLED = 2_000

Interval = list[float]


def resamples(group: Ints, times: int, seed: int) -> list[Ints]:
    """Rows of texts drawn by whole authors, with replacement."""
    names, inverse = np.unique(group, return_inverse=True)
    rows = [np.flatnonzero(inverse == k) for k in range(len(names))]
    draw = np.random.default_rng(seed)
    return [np.concatenate([rows[k] for k in draw.integers(0, len(rows), len(rows))]) for _ in range(times)]


def agreement(
    guesses: dict[str, Floats], corpus: Corpus, rows: NDArray[np.bool_], drawn: Sequence[Ints]
) -> dict[str, dict[str, Any]]:
    """For each trait, the rank correlation of each guess with its interval, and of what `model` is ahead."""
    text, labels = {name: guess[rows] for name, guess in guesses.items()}, corpus.labels[rows]
    value = {name: spearman(guess, labels) for name, guess in text.items()}
    again = {
        name: np.array([spearman(guess[rows], labels[rows]) for rows in drawn])
        for name, guess in text.items()
    }
    record: dict[str, dict[str, Any]] = {}
    for k, trait in enumerate(TRAITS):
        item: dict[str, Any] = {name: [value[name][k], *_interval(again[name][:, k])] for name in text}
        for name in text:
            if name != "model":
                ahead = again["model"][:, k] - again[name][:, k]
                item[f"ahead of {name}"] = [value["model"][k] - value[name][k], *_interval(ahead)]
        record[trait] = item
    return record


def high_scores(guess: Floats, labels: Floats, drawn: Sequence[Ints]) -> dict[str, dict[str, Any]]:
    """For each trait, how many scores are HIGH, how many of those are right, and how many labels are high."""
    found = {}
    for k, trait in enumerate(TRAITS):
        high, right = guess[:, k] >= HIGH, labels[:, k] >= HIGH

        def share(rows: Ints | slice, high: Any = high, right: Any = right) -> float:
            return float(right[rows][high[rows]].mean()) if high[rows].any() else float("nan")

        again = np.array([share(rows) for rows in drawn])
        found[trait] = {
            "high": int(high.sum()),
            "right": [share(slice(None)), *_interval(again[~np.isnan(again)])] if high.any() else None,
            "caught": float(high[right].mean()) if right.any() else None,
            "base": float(right.mean()),
            "error": float(np.abs(guess[:, k] - labels[:, k]).mean()),
            "error of the mean": float(np.abs(labels[:, k].mean() - labels[:, k]).mean()),
        }
    return found


def within_authors(guess: Floats, labels: Floats, group: Ints, times: int, seed: int) -> dict[str, Interval]:
    """The rank correlation among messages of one author, over all with five or more, by trait."""
    ranks = []
    for name in np.unique(group):
        rows = np.flatnonzero(group == name)
        if len(rows) >= 5:
            ranks.append([_centred(guess[rows]), _centred(labels[rows])])
    draw = np.random.default_rng(seed)

    def together(chosen: Sequence[int]) -> Floats:
        a, b = (np.concatenate([ranks[k][side] for k in chosen]) for side in (0, 1))
        floats: Floats = (a * b).sum(axis=0) / np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0) + 1e-12)
        return floats

    if not ranks:
        return {}
    value = together(range(len(ranks)))
    again = np.array([together(draw.integers(0, len(ranks), len(ranks)).tolist()) for _ in range(times)])
    return {trait: [float(value[k]), *_interval(again[:, k])] for k, trait in enumerate(TRAITS)}


def confidences(corpus: Corpus, guess: Floats, categories: Sequence[Category]) -> tuple[Floats, float, int]:
    """How sure the indicator of each category is, the value where there was too little, and for how many not.

    It is the share of texts with the phrase, and with a score that supports it, whose labels name the
    indicator too.
    """
    catalogue = indicator_catalogue()
    counted = []
    for category in categories:
        k = TRAITS.index(catalogue[category.indicator].trait) if category.indicator else 0
        with_it = [
            category.indicator in corpus.indicators[row]
            for row in range(len(corpus.texts))
            if category.indicator and corpus.whole[row] and guess[row, k] >= SUPPORT
            and category.name in (corpus.scans[row].by_category or {})
        ]  # fmt: skip
        counted.append((sum(with_it), len(with_it)))
    right, texts = (sum(pair[side] for pair in counted) for side in (0, 1))
    usual = round((right + 1) / (texts + 2), 3)
    own = [n >= ENOUGH for _, n in counted]
    values = [
        (k + 2 * usual) / (n + 2) if enough else usual for (k, n), enough in zip(counted, own, strict=True)
    ]
    return np.round(values, 3), usual, sum(own)


def on_probes(weights: Weights) -> dict[str, list[int]]:
    """For each trait, how many of the pairs (one of its kind, one plain) are ordered right, of how many.

    A tie counts as wrong.
    """
    scored = {kind: _scored(weights, list(texts)) for kind, texts in PROBES.items()}
    found = {}
    for trait, kind in HIGHER:
        pairs = [
            (a[trait], b[trait]) for a in scored[kind] for b in scored["plain"] if a and b and trait in a
        ]
        found[f"{trait}: {kind}"] = [sum(a > b for a, b in pairs), len(pairs)]
    return found


def on_harmless(weights: Weights, folder: Path) -> dict[str, dict[str, float]]:
    """The share of messages with a HIGH score, by file and negative trait, in talk that gives no cause."""
    found = {}
    for name in HARMLESS:
        if has(folder, name):
            text = _scored(weights, messages(folder, name, SAMPLED))
            measured = [item for item in text if item]
            found[name] = {"messages": len(text), "measured": len(measured) / len(text)}
            for trait in ("manipulation", "deception", "fabrication", "dismissal", "exploitation"):
                if measured and trait in measured[0]:
                    found[name][trait] = float(np.mean([item[trait] >= HIGH for item in measured]))
    return found


def _scored(weights: Weights, texts: list[str]) -> list[dict[str, float]]:
    """The scores of each text, empty where it is not measured."""
    found = []
    for text, scan in zip(texts, scan_many(texts), strict=True):
        read = read_text(text)
        found.append(scores(weights, read, scan) if scan.measured and read.length >= LEAST_WORDS else {})
    return found


def _centred(values: Floats) -> Floats:
    ranks: Floats = rankdata(values, axis=0)
    centred: Floats = (ranks - ranks.mean(axis=0)) / len(values)
    return centred


def _interval(values: Floats) -> Interval:
    """The middle 95 %."""
    low, high = np.quantile(values, [0.025, 0.975])
    return [float(low), float(high)]
