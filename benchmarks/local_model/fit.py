"""The fit of the local model: ridge regression in the space of texts.

There are fewer texts than features, so everything is worked out on the matrix of how alike two texts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.local_model.data import Corpus, own_texts
from ethogram.chat.embeddings.static import Static, row_count
from ethogram.evaluators.local_model import STYLE, certainty, dense_values, standard
from ethogram.models import TRAITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_AUTHORS = 3
"""A word piece that fewer authors used has no weight: it would tell the author, not the trait."""
PART = 0.5
"""What a text counts for of which only the beginning is there."""
LEVEL = 3.0
"""How freely the mean may move: the likeness that any two texts have."""
PENALTY = 3.0
SHARES = (0.3, 1.0, 0.3, 0.3)
"""What vectors, pieces, style and the scanner's counts count for."""
OWN = {"manipulation": 0.5, "dismissal": 1.0}
"""Traits with texts of our own: what the head through them counts for, beside the scored messages."""
OWN_PENALTY = 30.0


@dataclass(frozen=True)
class Space:
    """The texts as points: vectors, pieces, style, the scanner's counts. No label is looked at."""

    rarity: Floats
    centre: Floats
    spread: Floats
    points: tuple[Any, Any, Any, Any]

    def likeness(self, shares: Sequence[float] = SHARES) -> Floats:
        """How alike texts are, with these shares of the parts."""
        parts = [share * products(point) for share, point in zip(shares, self.points, strict=True) if share]
        return np.asarray(np.sum(parts, axis=0), float)


def make_space(corpus: Corpus, categories: Sequence[str]) -> Space:
    """The space of a corpus."""
    pairs = zip(corpus.reads, corpus.scans, strict=True)
    values = np.array([dense_values(read, scan, categories) for read, scan in pairs])
    centre, deviation = values.mean(axis=0), values.std(axis=0)
    # A category that nobody used cannot be told to be unusual.
    spread = np.where(deviation > 1e-6, deviation, 1e6)
    sure = np.array([[certainty(read.length)] for read in corpus.reads])
    dense = standard(values, sure, centre, spread)
    style, counts = dense[:, : len(STYLE)], dense[:, len(STYLE) :]
    pieces = _piece_matrix(corpus)
    rarity = _rarity(pieces, corpus.group)
    points = (
        np.array([read.vector for read in corpus.reads]),
        _unit(pieces @ sparse.diags(rarity)),
        style / np.sqrt(style.shape[1]),
        counts / np.sqrt(counts.shape[1]),
    )
    return Space(rarity, centre, spread, points)


def rare_words(bags: sparse.csr_matrix) -> sparse.csr_matrix:
    """Bags of words of length 1, rare words counting more."""
    texts = np.bincount(bags.indices, minlength=bags.shape[1])
    return _unit(bags @ sparse.diags(np.log(bags.shape[0] / np.maximum(1, texts))))


def fit(corpus: Corpus, likeness: Floats, rows: Ints, penalty: float = PENALTY) -> tuple[Floats, Floats]:
    """For each trait the value of a text that is like no other, and what each of these rows pulls."""
    weights, labels = np.where(corpus.whole[rows], 1.0, PART), corpus.labels[rows]
    mean = np.average(labels, axis=0, weights=weights)
    pull = np.linalg.solve(likeness[np.ix_(rows, rows)] + LEVEL + np.diag(penalty / weights), labels - mean)
    return np.asarray(mean + LEVEL * pull.sum(axis=0), float), np.asarray(pull, float)


def out_of_fold(corpus: Corpus, likeness: Floats, folds: int, seed: int, penalty: float = PENALTY) -> Floats:
    """Values of the messages by models that saw neither their author nor a copy of them."""
    fold = folds_of(corpus.group, folds, seed)
    values = np.zeros_like(corpus.labels)
    for number in range(folds):
        rows, others = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        start, pull = fit(corpus, likeness, rows, penalty)
        values[others] = start + likeness[np.ix_(others, rows)] @ pull
    return values


def own_heads(vectors: Floats, raw: Floats) -> Floats:
    """What is added to the weights of vectors: for each trait a head through our own texts.

    It is scaled by how much it and the model (`raw`) vary over the scored messages.
    """
    heads = np.zeros((vectors.shape[1], len(TRAITS)))
    for trait, share in OWN.items():
        texts, labels = own_texts(trait)
        points = Static().embed(texts).astype(float)
        points -= points.mean(axis=0)
        matrix = points.T @ points + OWN_PENALTY * np.eye(points.shape[1])
        head, k = np.linalg.solve(matrix, points.T @ (labels - labels.mean())), TRAITS.index(trait)
        heads[:, k] = share * head * raw[:, k].std() / (vectors @ head).std()
    return heads


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


def _piece_matrix(corpus: Corpus) -> sparse.csr_matrix:
    reads = corpus.reads
    starts = np.cumsum([0, *(len(read.pieces) for read in reads)])
    weights = np.concatenate([read.weights for read in reads]).astype(float)
    return sparse.csr_matrix(
        (weights, np.concatenate([read.pieces for read in reads]), starts), (len(reads), row_count())
    )


def _rarity(matrix: sparse.csr_matrix, groups: Ints) -> Floats:
    """The rarity of each piece, a whole number from 0 to 255."""
    texts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    many = int(groups.max()) + 1
    used = np.unique(matrix.indices.astype(np.int64) * many + groups[row])
    authors = np.bincount(used // many, minlength=matrix.shape[1])
    rare = np.log((1 + matrix.shape[0]) / (1 + texts)) / np.log1p(matrix.shape[0])
    floats: Floats = np.where(authors >= LEAST_AUTHORS, np.rint(255 * rare), 0.0)
    return floats


def _unit(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    size = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.where(size == 0, 1, size)) @ matrix)


def products(points: Any) -> Floats:
    """How alike points are: their inner products."""
    likeness: Any = points @ points.T
    floats: Floats = np.asarray(likeness.todense()) if sparse.issparse(likeness) else likeness
    return floats
