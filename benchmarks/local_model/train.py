"""Trains the local model: python -m benchmarks.local_model.train --data FOLDER

FOLDER, by default what ETHOGRAM_DATA says, holds conversations/moltbook_scored.jsonl.gz (MIT licence), the
one set that is trained on, beside our own texts. Other sets there are only measured on. Needs the extra
`dev`, for SciPy. It writes the weights, what was measured, and the model card made of that; `--card` writes
the card alone again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.local_model.card import write_card
from benchmarks.local_model.data import Corpus, has, own_texts, read_corpus
from benchmarks.local_model.fit import (
    OWN,
    SHARES,
    Floats,
    fit,
    folds_of,
    make_space,
    out_of_fold,
    own_heads,
    products,
    rare_words,
)
from benchmarks.local_model.measure import (
    agreement,
    confidences,
    high_scores,
    on_harmless,
    on_probes,
    resamples,
    within_authors,
)
from benchmarks.quality.conversation_readings import SETS, validate_local
from benchmarks.quality.conversation_sets import read_talks
from ethogram.evaluators.local_model import FILE, Weights
from ethogram.lexicon.lexicon import load_lexicon, read_categories
from ethogram.models import TRAITS

Numbers = dict[str, Any]

VERSION = "2"
PAGE = Path(__file__).parents[2] / "docs" / "model_card.md"
KNOTS = np.array([0, 0.02, 0.05, *np.arange(0.1, 0.91, 0.05), 0.93, 0.95, 0.97, 0.98, 0.99, 1])
"""The quantiles at which what the model adds up is brought to the scale of the labels."""
FLOOR = 0.12
"""How far levels rise where labels are 0."""
SLIGHT = 0.1
"""The penalty of the simple models: with few measures, more of it only does harm."""


@dataclass(frozen=True)
class Plan:
    """How thoroughly to measure."""

    folds: int = 10
    drawn: int = 1_000
    seed: int = 20_261


def train(folder: Path, plan: Plan) -> tuple[Weights, Numbers]:
    """The weights, and everything that was measured on the way."""
    corpus, categories = read_corpus(folder), read_categories()
    space = make_space(corpus, [category.name for category in categories])
    length = space.points[2][:, :1]
    kinds = {
        "model": (space.likeness(), {}),
        "words": (products(rare_words(corpus.bags)), {}),
        "scanner": (space.likeness((0, 0, 0, 1)), {"penalty": SLIGHT}),
        "length": (length @ length.T, {"penalty": SLIGHT}),
    }
    raw = {
        name: out_of_fold(corpus, likeness, plan.folds, plan.seed, **more)
        for name, (likeness, more) in kinds.items()
    }
    whole, vectors = corpus.whole, space.points[0]
    heads = own_heads(vectors[whole], raw["model"][whole])
    raw["model"] += vectors @ heads
    guess = calibrated(raw["model"], corpus, plan)
    drawn = resamples(corpus.group[whole], plan.drawn, plan.seed)
    agreed = agreement(raw, corpus, whole, drawn)
    within = {
        name: within_authors(
            raw[name][whole], corpus.labels[whole], corpus.group[whole], plan.drawn, plan.seed
        )
        for name in ("model", "words")
    }
    sure, usual, enough = confidences(corpus, guess, categories)
    start, pull = fit(corpus, space.likeness(), np.arange(len(corpus.texts)))
    vector, pieces, style, counts = (
        share * np.asarray(point.T @ pull) for share, point in zip(SHARES, space.points, strict=True)
    )
    # The few largest are cut, so that the many small ones keep more than a step or two.
    step = np.maximum(np.quantile(np.abs(pieces[space.rarity > 0]), 0.999, axis=0), 1e-12) / 127
    scales = [_scale(raw["model"][whole, k], corpus.labels[whole, k]) for k in range(len(TRAITS))]
    weights = Weights(
        version=VERSION,
        lexicon=load_lexicon().version,
        traits=TRAITS,
        measured=np.ones(len(TRAITS), bool),
        categories=tuple(category.name for category in categories),
        vector=(vector + heads).astype(np.float32),
        rarity=space.rarity.astype(np.uint8),
        pieces=np.clip(np.rint(pieces / step), -127, 127).astype(np.int8),
        scales=step,
        centre=space.centre,
        spread=space.spread,
        dense=np.concatenate((style / np.sqrt(len(style)), counts / np.sqrt(len(counts)))),
        bias=start,
        knots=np.stack([knots for knots, _ in scales]),
        levels=np.stack([levels for _, levels in scales]),
        indicators=tuple(category.indicator or "" for category in categories),
        confidences=sure,
    )
    sets, parts = on_sets(weights, folder), ~corpus.whole
    ahead = [is_ahead(trait, agreed, within, sets) for trait in TRAITS]
    weights = replace(weights, measured=np.array(ahead))
    numbers: Numbers = {
        "version": VERSION,
        "lexicon": weights.lexicon,
        "texts": int(whole.sum()),
        "parts": int(parts.sum()),
        "pairs": {trait: len(own_texts(trait)[0]) // 2 for trait in OWN},
        "authors of texts": len(np.unique(corpus.group[whole])),
        "pieces": int(np.count_nonzero(space.rarity)),
        "folds": plan.folds,
        "drawn": plan.drawn,
        "measured": [trait for trait, yes in zip(TRAITS, ahead, strict=True) if yes],
        "agreement": agreed,
        "parts agreement": agreement({"model": guess}, corpus, parts,
                                     resamples(corpus.group[parts], plan.drawn, plan.seed)),
        "within authors": within,
        "sets": sets,
        "high scores": high_scores(guess[whole], corpus.labels[whole], drawn),
        "indicators": {"usual confidence": usual, "with their own": enough,
                       "categories": sum(category.indicator is not None for category in categories)},
        "probes": on_probes(weights),
        "harmless": on_harmless(weights, folder),
    }  # fmt: skip
    return weights, numbers


def is_ahead(trait: str, agreed: Numbers, within: Numbers, sets: Numbers) -> bool:
    """Whether a trait is measured: ahead of a bag of words that was trained on the same texts.

    Where the trait has texts of our own, on every set that people labelled for it; else over unseen authors
    and within authors together, and clearly ahead of the scanner and of length.
    """
    own = [rows for rows in sets.values() if rows["trait"] == trait and trait in OWN]
    if own:
        return all(rows["local"][0] > rows["words, same texts"][0] for rows in own)
    if not all(agreed[trait][f"ahead of {name}"][1] > 0 for name in ("scanner", "length")):
        return False
    lead = within["model"][trait][0] - within["words"][trait][0] if within["model"] else 0.0
    return bool(agreed[trait]["ahead of words"][0] + lead > 0)


def on_sets(weights: Weights, folder: Path) -> Numbers:
    """AUROC of each method on the closed quarter of each set that is there."""
    sets: Numbers = {}
    for name, reading in SETS.items():
        if has(folder, name):
            path = folder / "conversations" / f"{name}.jsonl.gz"
            sets[name] = {"trait": reading.trait}
            for record in validate_local(name, read_talks(path), path.parent, weights):
                sets[name][record["method"]] = [record["auroc"], *record["interval"]]
    return sets


def calibrated(raw: Floats, corpus: Corpus, plan: Plan) -> Floats:
    """Scores of the scored messages, each by the scale that the other folds give."""
    fold = folds_of(corpus.group, plan.folds, plan.seed)
    scores = np.zeros_like(raw)
    for number in range(plan.folds):
        held, others = fold == number, (fold != number) & corpus.whole
        for k in range(raw.shape[1]):
            scores[held, k] = np.interp(raw[held, k], *_scale(raw[others, k], corpus.labels[others, k]))
    return scores


def _scale(raw: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Knots and levels by which scores are spread like the labels are, in the order the model gives.

    Where many labels are 0, levels rise a little all the same, and there is room beyond the messages seen, so
    that texts of other kinds do not all get one score.
    """
    knots, levels = np.quantile(raw, KNOTS), np.maximum(np.quantile(labels, KNOTS), FLOOR * (0.2 + KNOTS))
    room = knots[-1] - knots[0]
    return np.array([knots[0] - room, *knots, knots[-1] + room]), np.clip([0, *levels, 1], 0, 1)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(float(value), 4) if isinstance(value, float | np.floating) else value


def write_weights(weights: Weights, path: Path) -> None:
    """Write a file that `read_weights` reads; the same weights give the same bytes."""
    arrays: dict[str, Any] = {field.name: getattr(weights, field.name) for field in fields(Weights)}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def main(arguments: list[str] | None = None) -> int:
    """Train, measure and write; 2 where the data are not there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("ETHOGRAM_DATA"))
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--quick", action="store_true", help="few folds and draws, to try it out")
    parser.add_argument("--card", action="store_true", help="write the card again and train nothing")
    asked = parser.parse_args(arguments)
    measured = asked.out.with_suffix(".json")
    if not asked.card:
        if asked.data is None:
            print("say where the data are: --data FOLDER or ETHOGRAM_DATA", file=sys.stderr)
            return 2
        weights, numbers = train(asked.data, Plan(3, 50) if asked.quick else Plan())
        write_weights(weights, asked.out)
        numbers["bytes"] = asked.out.stat().st_size
        numbers["sha256"] = hashlib.sha256(asked.out.read_bytes()).hexdigest()
        measured.write_text(json.dumps(_rounded(numbers), indent=1) + "\n", encoding="utf-8")
    asked.page.write_text(write_card(json.loads(measured.read_text("utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
