"""Manipulation, derailment, incivility and lies: a reading of the evaluator `local`, beside bags of words.

Which trait and shape is read was chosen on three quarters of each set; figures are for the closed quarter.
`local` and *words, same texts* saw no text of any of these sets; those *in set* were trained on its three
quarters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import lsqr

from benchmarks.local_model.data import bags_of, has, own_texts, read_corpus
from benchmarks.local_model.fit import OWN, rare_words
from benchmarks.quality.conversation_sets import Talk
from benchmarks.quality.separation import figures
from ethogram.chat.embeddings.static import Static
from ethogram.evaluators.local_model import Weights, read_text, scores, shipped
from ethogram.lexicon.scanner import scan_many
from ethogram.models import TRAITS

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
METHODS = ("local", "words, same texts", "words, in set", "static, in set", "length")
PENALTIES = {"words": 3.0, "static": 10.0}


@dataclass(frozen=True, slots=True)
class Reading:
    """The trait that is read in a set, over which messages, and the label of a message where it has one.

    `bar` is the AUROC that was aimed at, `former` that of local@1 with the same trait and shape.
    """

    trait: str
    shape: str
    label: str | None
    bar: float | None
    former: tuple[float, float, float]


SETS: Mapping[str, Reading] = {
    "mentalmanip": Reading("manipulation", "two highest", None, 0.75, (0.623, 0.576, 0.666)),
    "cga_cmv_valid": Reading("dismissal", "last", None, 0.62, (0.539, 0.483, 0.591)),
    "gh_incivility": Reading("dismissal", "message", "uncivil", 0.80, (0.514, 0.473, 0.555)),
    "diplomacy": Reading("deception", "message", "lie", None, (0.486, 0.449, 0.528)),
}
SHAPES: Mapping[str, Callable[[Floats], float]] = {
    "message": lambda row: float(row[0]),
    "last": lambda row: float(row[-1]),
    "two highest": lambda row: float(np.sort(row)[-2:].mean()),
}


def is_closed(conversation: str) -> bool:
    """Whether a conversation is in the quarter that nothing was chosen on.

    >>> is_closed("c3"), is_closed("c5")
    (False, True)
    """
    return crc32(conversation.encode()) % 4 == 0


def validate_local(
    name: str, talks: Sequence[Talk], data_dir: Path, weights: Weights | None = None
) -> Iterator[dict[str, Any]]:
    """A record for each method on a set; nothing where the closed quarter lacks a label."""
    reading = SETS[name]
    items = [item for talk in talks for item in labelled(talk, reading)]
    label, closed = np.array([item[1] for item in items]), np.array([item[2] for item in items])
    if not ((closed & label).any() and (closed & ~label).any() and (~closed & label).any()):
        return
    texts = [text for item in items for text in item[0]]
    ends = np.cumsum([len(item[0]) for item in items])[:-1]
    whole = ["\n".join(item[0]) for item in items]

    def shaped(values: Floats) -> Floats:
        return np.array([SHAPES[reading.shape](row) for row in np.split(values, ends)])

    measures = {
        "local": shaped(_local(weights or shipped(), texts, reading.trait)),
        "words, in set": _trained(rare_words(bags_of(whole)), label, ~closed, PENALTIES["words"]),
        "static, in set": _trained(Static().embed(whole).astype(float), label, ~closed, PENALTIES["static"]),
        "length": np.array([len(text.split()) for text in whole], float),
    }
    if has(data_dir.parent, "moltbook_scored"):
        measures["words, same texts"] = shaped(_words(data_dir.parent, reading.trait, texts))
    for method in METHODS:
        if method in measures:
            values = measures[method]
            figure = figures(values[closed & label], values[closed & ~label])["auroc"]
            yield {
                "record": "conversation_reading",
                "set": name,
                "trait": reading.trait,
                "shape": reading.shape,
                "method": method,
                "auroc": figure[0],
                "interval": figure[1:],
                "bar": reading.bar,
                "former": list(reading.former),
                "positive": int((closed & label).sum()),
                "negative": int((closed & ~label).sum()),
            }


def labelled(talk: Talk, reading: Reading) -> Iterator[tuple[list[str], bool, bool]]:
    """The texts that a label is about, the label, and whether it is closed."""
    closed = is_closed(talk.id)
    if reading.label is None:
        texts = [turn.text for turn in talk.turns]
        yield texts[-1:] if reading.shape == "last" else texts, bool(talk.label), closed
        return
    for turn in talk.turns:
        if turn.labels.get(reading.label) is not None:
            yield [turn.text], bool(turn.labels[reading.label]), closed


def _local(weights: Weights, texts: Sequence[str], trait: str) -> Floats:
    """The scores of texts, 0 where a text is not measured."""
    pairs = zip(texts, scan_many(texts), strict=True)
    rows = [scores(weights, read_text(text), scan) if scan.measured else {} for text, scan in pairs]
    return np.array([row.get(trait, 0.0) for row in rows])


def _trained(points: Any, label: Flags, rows: Flags, penalty: float) -> Floats:
    """Values of all points by a ridge regression through these rows."""
    points = sparse.hstack([sparse.csr_matrix(points), np.ones((points.shape[0], 1))]).tocsr()
    target = label[rows] - label[rows].mean()
    return np.asarray(points @ lsqr(points[np.flatnonzero(rows)], target, damp=penalty**0.5)[0])


def _words(folder: Path, trait: str, texts: Sequence[str]) -> Floats:
    """Values of texts by a bag of words through the texts that `local` is trained on."""
    messages, labels = _scored(folder)
    target = labels[:, TRAITS.index(trait)]
    target = (target - target.mean()) / target.std()
    own, shows = own_texts(trait) if trait in OWN else ([], np.zeros(0))
    every = [*messages, *own, *texts]
    rows = np.arange(len(every)) < len(every) - len(texts)
    points = sparse.csr_matrix(rare_words(bags_of(every)))
    # Each source about its own mean.
    start = lsqr(points[rows], np.concatenate((target, 2 * shows - 1)), damp=PENALTIES["words"] ** 0.5)[0]
    return np.asarray(points[~rows] @ start)


@cache
def _scored(folder: Path) -> tuple[list[str], Floats]:
    corpus = read_corpus(folder)
    return corpus.texts, corpus.labels
