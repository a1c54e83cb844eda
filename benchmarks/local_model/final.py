"""The last steps of the local model: its scale, and its weights as they are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.local_model.data import Corpus
from benchmarks.local_model.fit import (
    LEVEL,
    Floats,
    Material,
    Setting,
    choose,
    fit,
    folds_of,
    make_space,
    model_likeness,
)
from ethogram.evaluators.local_model import Weights
from ethogram.lexicon.lexicon import Category, load_lexicon
from ethogram.models import TRAITS

VERSION = "1"
KNOTS = np.array([0, 0.02, 0.05, *np.arange(0.1, 0.91, 0.05), 0.93, 0.95, 0.97, 0.98, 0.99, 1])
"""The quantiles at which what the model adds up is brought to the scale of the labels."""


def calibrated(raw: Floats, corpus: Corpus, folds: int, seed: int) -> Floats:
    """Scores of texts, each by the scale that the other folds give."""
    fold = folds_of(corpus.group, folds, seed)
    found = np.zeros_like(raw)
    for number in range(folds):
        held, others = fold == number, (fold != number) & corpus.whole
        for k in range(raw.shape[1]):
            knots, levels = _scale(raw[others, k], corpus.labels[others, k])
            found[held, k] = np.interp(raw[held, k], knots, levels)
    return found


def _scale(raw: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Knots and levels by which scores are spread like the labels are, in the order the model gives."""
    return np.quantile(raw, KNOTS), np.clip(np.quantile(labels, KNOTS), 0, 1)


def final_weights(
    material: Material, raw: Floats, categories: tuple[Category, ...], inner: int, seed: int
) -> tuple[Setting, Weights]:
    """The setting chosen on all texts, and the weights of all of them."""
    corpus, rows = material.corpus, np.arange(len(material.corpus.texts))
    space = make_space(material, rows)
    penalty, shares = setting = choose(material, space, rows, inner, seed)
    mean = np.average(corpus.labels, axis=0, weights=material.importance)
    pull = fit(model_likeness(space, shares), corpus.labels - mean, material.importance, [penalty])[0]
    words, runs, style, counts = (np.asarray(point.T @ pull) for point in space.points)
    tables = [_whole_numbers(item) for item in (words, runs)]
    dense = np.concatenate(
        (style * shares[0] / np.sqrt(len(style)), counts * shares[1] / np.sqrt(len(counts)))
    )
    scales = [_scale(raw[corpus.whole, k], corpus.labels[corpus.whole, k]) for k in range(len(TRAITS))]
    return setting, Weights(
        version=VERSION,
        lexicon=load_lexicon().version,
        traits=TRAITS,
        measured=np.zeros(len(TRAITS), bool),
        categories=tuple(category.name for category in categories),
        word_rarity=space.rarity[0].astype(np.uint8),
        word_weights=tables[0][0],
        run_rarity=space.rarity[1].astype(np.uint8),
        run_weights=tables[1][0],
        scales=np.stack([tables[0][1], tables[1][1]]),
        centre=space.centre,
        spread=space.spread,
        dense=dense,
        bias=mean + LEVEL * pull.sum(axis=0),
        knots=np.stack([knots for knots, _ in scales]),
        levels=np.stack([levels for _, levels in scales]),
        indicators=tuple(category.indicator or "" for category in categories),
        confidences=np.zeros(len(categories)),
    )


def _whole_numbers(table: Floats) -> tuple[Any, Floats]:
    """The table in steps from -127 to 127, and how much a step is for each trait."""
    # The few largest are cut, so that the many small ones keep more than a step or two.
    most = np.quantile(np.abs(table), 0.9995, axis=0)
    step = np.maximum(most, 1e-12) / 127
    return np.clip(np.rint(table / step), -127, 127).astype(np.int8), step
