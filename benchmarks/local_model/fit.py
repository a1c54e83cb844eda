"""The fit of the local model: ridge regression in the space of texts, with settings chosen by nested folds.

There are far fewer texts than buckets, so everything is worked out on the matrix of how alike two texts are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.local_model.data import Corpus, gram_matrix
from ethogram.evaluators.local_model import STYLE, certainty, dense_values, standard

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_AUTHORS = 3
"""A bucket that fewer authors used has no weight: it would tell the author, not the trait."""

PART = 0.5
"""What a text counts for of which only the beginning is there."""

LEVEL = 3.0
"""How freely the mean may move: the likeness that any two texts have."""

PENALTIES = (0.3, 1.0, 3.0, 10.0)
SHARES = ((0.3, 0.3), (1.0, 0.3), (0.3, 1.0), (1.0, 1.0))
"""What style and categories count for beside words and runs, which count 1 each."""

Setting = tuple[float, tuple[float, float]]
SETTINGS: tuple[Setting, ...] = tuple(product(PENALTIES, SHARES))


@dataclass(frozen=True)
class Space:
    """The texts as points, on the scale of those it was made from: words, runs, style, categories."""

    rarity: tuple[Floats, Floats]
    centre: Floats
    spread: Floats
    points: tuple[sparse.csr_matrix, sparse.csr_matrix, Floats, Floats]
    likeness: tuple[Floats, Floats, Floats, Floats]


Kind = Callable[[Space, Ints], tuple[Floats, float]]
"""A kind of model: how alike it finds texts in a space, and its penalty, given the rows to learn from."""


@dataclass(frozen=True)
class Material:
    """What a fit needs of a corpus, worked out once."""

    corpus: Corpus
    words: sparse.csr_matrix
    runs: sparse.csr_matrix
    dense: Floats
    certainty: Floats
    importance: Floats


def make_material(corpus: Corpus, categories: Sequence[str]) -> Material:
    """The matrices of a corpus."""
    pairs = zip(corpus.reads, corpus.scans, strict=True)
    dense = np.array([dense_values(read, scan, categories) for read, scan in pairs])
    words, runs = gram_matrix(corpus.reads, "words"), gram_matrix(corpus.reads, "runs")
    sure = np.array([[certainty(read)] for read in corpus.reads])
    return Material(corpus, words, runs, dense, sure, np.where(corpus.whole, 1.0, PART))


def make_space(material: Material, rows: Ints) -> Space:
    """The space as these rows alone define it; no label is looked at."""
    groups = material.corpus.group[rows]
    rarity = (_rarity(material.words[rows], groups), _rarity(material.runs[rows], groups))
    centre = material.dense[rows].mean(axis=0)
    deviation = material.dense[rows].std(axis=0)
    # A category that nobody used cannot be told to be unusual.
    spread = np.where(deviation > 1e-6, deviation, 1e6)
    dense = standard(material.dense, material.certainty, centre, spread)
    style, categories = dense[:, : len(STYLE)], dense[:, len(STYLE) :]
    points = (
        _points(material.words, rarity[0]),
        _points(material.runs, rarity[1]),
        style / np.sqrt(style.shape[1]),
        categories / np.sqrt(max(1, categories.shape[1])),
    )
    return Space(rarity, centre, spread, points, tuple(_likeness(point) for point in points))  # type: ignore[arg-type]


def fit(likeness: Floats, labels: Floats, importance: Floats, penalties: Sequence[float]) -> list[Floats]:
    """What each text pulls, per trait, for each penalty; labels are differences from their mean."""
    root = np.sqrt(importance)
    values, vectors = np.linalg.eigh(root[:, None] * likeness * root)
    turned = vectors.T @ (root[:, None] * labels)
    return [root[:, None] * (vectors @ (turned / (values + penalty)[:, None])) for penalty in penalties]


def model_likeness(space: Space, shares: tuple[float, float]) -> Floats:
    """How alike texts are in words, runs, style and categories together."""
    words, runs, style, categories = space.likeness
    floats: Floats = words + runs + shares[0] * style + shares[1] * categories + LEVEL
    return floats


def predict(
    material: Material, likeness: Floats, rows: Ints, others: Ints, penalties: Sequence[float]
) -> list[Floats]:
    """What the rows say about the others, for each penalty."""
    labels, importance = material.corpus.labels[rows], material.importance[rows]
    mean = np.average(labels, axis=0, weights=importance)
    pulls = fit(likeness[np.ix_(rows, rows)], labels - mean, importance, penalties)
    return [mean + likeness[np.ix_(others, rows)] @ pull for pull in pulls]


def choose(material: Material, space: Space, rows: Ints, folds: int, seed: int) -> Setting:
    """The setting with the best mean rank correlation on whole texts, over folds within these rows."""
    fold = folds_of(material.corpus.group[rows], folds, seed)
    whole = material.corpus.whole[rows]
    best: tuple[float, Setting] = (-2.0, SETTINGS[0])
    for shares in SHARES:
        likeness = model_likeness(space, shares)
        out = np.zeros((len(PENALTIES), len(rows), material.corpus.labels.shape[1]))
        for number in range(folds):
            held = fold == number
            floatses = predict(material, likeness, rows[~held], rows[held], PENALTIES)
            out[:, held] = np.stack(floatses)
        for penalty, guess in zip(PENALTIES, out, strict=True):
            good = float(np.mean(spearman(guess[whole], material.corpus.labels[rows][whole])))
            best = max(best, (good, (penalty, shares)))
    return best[1]


def out_of_fold(material: Material, folds: int, seed: int, kinds: Mapping[str, Kind]) -> dict[str, Floats]:
    """What each kind of model says about each text, having seen neither its author nor a copy of it."""
    fold = folds_of(material.corpus.group, folds, seed)
    said = {name: np.zeros_like(material.corpus.labels) for name in kinds}
    for number in range(folds):
        rows, others = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        space = make_space(material, rows)
        for name, kind in kinds.items():
            likeness, penalty = kind(space, rows)
            said[name][others] = predict(material, likeness, rows, others, [penalty])[0]
    return said


def folds_of(group: Ints, folds: int, seed: int) -> Ints:
    """The fold of each row; rows of one group are in one fold, and folds are about even."""
    fold = np.zeros(len(group), np.int64)
    names, counts = np.unique(group, return_counts=True)
    mixed = np.random.default_rng(seed).permutation(len(names))
    filled = np.zeros(folds)
    for k in mixed[np.argsort(-counts[mixed], kind="stable")]:
        least = int(np.argmin(filled))
        fold[group == names[k]] = least
        filled[least] += counts[k]
    return fold


def spearman(guesses: Floats, labels: Floats) -> Floats:
    """The rank correlation of each column, 0 where one side does not vary."""
    a, b = rankdata(guesses, axis=0), rankdata(labels, axis=0)
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    floats: Floats = np.where(size > 0, (a * b).sum(axis=0) / np.maximum(size, 1e-12), 0.0)
    return floats


def _rarity(matrix: sparse.csr_matrix, groups: Ints) -> Floats:
    """The rarity of each bucket, a whole number from 0 to 255."""
    texts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    many = int(groups.max()) + 1
    used = np.unique(matrix.indices.astype(np.int64) * many + groups[row])
    authors = np.bincount(used // many, minlength=matrix.shape[1])
    most = np.log1p(matrix.shape[0])
    rare = np.log((1 + matrix.shape[0]) / (1 + texts)) / most
    floats: Floats = np.where(authors >= LEAST_AUTHORS, np.rint(255 * rare), 0.0)
    return floats


def _points(matrix: sparse.csr_matrix, rarity: Floats) -> sparse.csr_matrix:
    weighed = matrix @ sparse.diags(rarity)
    size = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(size, 1.0)) @ weighed)


def _likeness(points: sparse.csr_matrix | Floats) -> Floats:
    products: Any = points @ points.T
    floats: Floats = np.asarray(products.todense()) if sparse.issparse(points) else products
    return floats
