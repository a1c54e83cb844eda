"""Trains the local model: python -m benchmarks.local_model.train --data FOLDER

FOLDER, by default what ETHOGRAM_DATA says, holds conversations/moltbook_scored.jsonl.gz (MIT licence), the
one set that is trained on. Other sets there are only measured on. Needs the extra `dev`, for SciPy. It writes
the weights, what was measured, and the model card made of that; `--card` writes the card alone again.
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
from benchmarks.local_model.data import read_corpus
from benchmarks.local_model.final import VERSION, calibrated, final_weights
from benchmarks.local_model.fit import (
    LEVEL,
    Floats,
    Ints,
    Material,
    Space,
    choose,
    make_material,
    model_likeness,
    out_of_fold,
)
from benchmarks.local_model.measure import (
    agreement,
    confidences,
    high_scores,
    on_film,
    on_harmless,
    on_probes,
    resamples,
    within_authors,
)
from ethogram.evaluators.local_model import FILE, STYLE, Weights
from ethogram.lexicon.lexicon import read_categories
from ethogram.models import TRAITS

PAGE = Path(__file__).parents[2] / "docs" / "model_card.md"
SLIGHT = 0.1
"""The penalty of the simple ones: with few measures, more of it only does harm."""


@dataclass(frozen=True)
class Plan:
    """How thoroughly to measure."""

    folds: int = 10
    inner: int = 5
    drawn: int = 1_000
    seed: int = 20_261


def train(folder: Path, plan: Plan) -> tuple[Weights, dict[str, Any]]:
    """The weights, and everything that was measured on the way."""
    corpus, categories = read_corpus(folder), read_categories()
    material = make_material(corpus, [category.name for category in categories])
    raw = _cross_validated(material, plan)
    guess, whole = calibrated(raw["model"], corpus, plan.folds, plan.seed), corpus.whole
    drawn = resamples(corpus.group[whole], plan.drawn, plan.seed)
    said = {name: item[whole] for name, item in raw.items() if name != "model"}
    agreed = agreement({"model": guess[whole], **said}, corpus.labels[whole], drawn)
    measured = [is_ahead(agreed[trait]) for trait in TRAITS]
    sure, usual, own = confidences(corpus, guess, categories)
    setting, weights = final_weights(material, raw["model"], categories, plan.inner, plan.seed + 1)
    weights = replace(weights, measured=np.array(measured), confidences=sure)
    numbers: dict[str, Any] = {
        "version": VERSION,
        "lexicon": weights.lexicon,
        "texts": int(whole.sum()),
        "parts": int((~whole).sum()),
        "authors": len(set(corpus.authors)),
        "authors of texts": len(np.unique(corpus.group[whole])),
        "folds": plan.folds,
        "drawn": plan.drawn,
        "penalty": setting[0],
        "shares": list(setting[1]),
        "measured": [trait for trait, yes in zip(TRAITS, measured, strict=True) if yes],
        "agreement": agreed,
        "parts agreement": agreement({"model": guess[~whole]}, corpus.labels[~whole],
                                     resamples(corpus.group[~whole], plan.drawn, plan.seed)),
        "within authors": within_authors(guess[whole], corpus.labels[whole], corpus.group[whole],
                                         plan.drawn, plan.seed),
        "high scores": high_scores(guess[whole], corpus.labels[whole], drawn),
        "indicators": {"usual confidence": usual, "with their own": own,
                       "categories": sum(category.indicator is not None for category in categories)},
        "probes": on_probes(weights),
        "harmless": on_harmless(weights, folder),
        "film": on_film(weights, folder, plan.drawn, plan.seed),
    }  # fmt: skip
    return weights, numbers


def is_ahead(record: dict[str, Any]) -> bool:
    """Whether the model is ahead of the scanner alone and of length alone, by the whole of the interval."""
    return all(record[f"ahead of {name}"][1] > 0 for name in ("scanner", "length"))


def _cross_validated(material: Material, plan: Plan) -> dict[str, Floats]:
    """What the model and the simple ones beside it say about texts of authors that they have not seen."""

    def model(space: Space, rows: Ints) -> tuple[Floats, float]:
        penalty, shares = choose(material, space, rows, plan.inner, plan.seed + 1)
        return model_likeness(space, shares), penalty

    def length(space: Space, _: Ints) -> tuple[Floats, float]:
        words = space.points[2][:, :1] * np.sqrt(len(STYLE))
        return words @ words.T + LEVEL, SLIGHT

    kinds = {
        "model": model,
        "scanner": lambda space, _: (space.likeness[3] + LEVEL, SLIGHT),
        "style": lambda space, _: (space.likeness[2] + LEVEL, SLIGHT),
        "length": length,
    }
    return out_of_fold(material, plan.folds, plan.seed, kinds)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(float(value), 4) if isinstance(value, float | np.floating) else value


def write_weights(weights: Weights, path: Path) -> None:
    """Write a file that `read_weights` reads; the same weights give the same bytes."""
    held: dict[str, Any] = {field.name: getattr(weights, field.name) for field in fields(Weights)}
    np.savez_compressed(path, allow_pickle=False, **held)


def main(arguments: list[str] | None = None) -> int:
    """Train, measure and write; 2 where the data are not there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("ETHOGRAM_DATA"))
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--quick", action="store_true", help="few folds and draws, to try it out")
    parser.add_argument("--card", action="store_true", help="write the card again and train nothing")
    given = parser.parse_args(arguments)
    measured = given.out.with_suffix(".json")
    if not given.card:
        if given.data is None:
            print("say where the data are: --data FOLDER or ETHOGRAM_DATA", file=sys.stderr)
            return 2
        weights, numbers = train(given.data, Plan(3, 2, 50) if given.quick else Plan())
        write_weights(weights, given.out)
        numbers["bytes"] = given.out.stat().st_size
        numbers["sha256"] = hashlib.sha256(given.out.read_bytes()).hexdigest()
        measured.write_text(json.dumps(_rounded(numbers), indent=1) + "\n", encoding="utf-8")
    given.page.write_text(write_card(json.loads(measured.read_text("utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
