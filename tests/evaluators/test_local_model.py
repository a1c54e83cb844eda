"""The weights that are shipped, the card that tells about them, and the script that makes both."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from benchmarks.local_model.card import write_card
from benchmarks.local_model.data import own_texts, read_corpus
from benchmarks.local_model.train import PAGE, is_ahead, main
from ethogram.evaluators.local_model import FILE, Weights, read_text, read_weights, scores, shipped
from ethogram.lexicon import scan
from ethogram.lexicon.lexicon import read_categories
from ethogram.models import TRAITS
from ethogram.patterns.catalogue import indicator_catalogue

NUMBERS = json.loads(FILE.with_suffix(".json").read_text("utf-8"))
NAMES = {"version", "lexicon", "traits", "categories", "indicators"}


def test_the_file_is_small_and_holds_numbers_and_names_only():
    assert FILE.stat().st_size < 200_000
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == NUMBERS["sha256"]
    with np.load(FILE, allow_pickle=False) as held:
        assert set(held) == {field.name for field in fields(Weights)}
        assert {name for name in held if held[name].dtype.kind not in "biuf"} == NAMES
    assert all(item.date_time[0] == 1980 for item in zipfile.ZipFile(FILE).infolist())


def test_the_only_words_in_it_are_names_that_we_gave():
    weights = shipped()
    assert weights.traits == TRAITS
    assert set(weights.categories) <= {category.name for category in read_categories()}
    assert set(weights.indicators) <= {"", *indicator_catalogue()}


def test_levels_rise_with_knots_from_0_to_1():
    weights = shipped()
    assert (np.diff(weights.knots, axis=1) > 0).all()
    assert (np.diff(weights.levels, axis=1) >= 0).all()
    assert weights.levels.min() >= 0
    assert weights.levels.max() <= 1


def test_a_trait_is_measured_where_the_numbers_say_so():
    figures = NUMBERS["agreement"], NUMBERS["within authors"], NUMBERS["sets"]
    ahead = [trait for trait in TRAITS if is_ahead(trait, *figures)]
    assert ahead == NUMBERS["measured"]
    assert ahead == [trait for trait, yes in zip(TRAITS, shipped().measured, strict=True) if yes]


def test_every_text_of_our_own_has_its_neighbour():
    for trait, pairs in NUMBERS["pairs"].items():
        texts, shows = own_texts(trait)
        assert len(texts) == len(set(texts)) == 2 * pairs
        assert shows[:4].tolist() == [1, 0, 1, 0]


def test_the_card_is_made_of_what_was_measured():
    assert PAGE.read_text("utf-8") == write_card(NUMBERS)


def test_the_script_makes_a_model_of_other_data(tmp_path):
    write_made_up_data(tmp_path)
    out, page = tmp_path / "model.npz", tmp_path / "card.md"
    assert main(["--data", str(tmp_path), "--out", str(out), "--page", str(page), "--quick"]) == 0
    weights = read_weights(out)
    assert "manipulation" in page.read_text("utf-8")
    loud = said_by(weights, "you must pay the toll now and hurry because the gate will close")
    calm = said_by(weights, "a lamp on the table and a chair beside the window in the room")
    assert loud["manipulation"] > calm["manipulation"]


def test_the_script_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.delenv("ETHOGRAM_DATA", raising=False)
    assert main([]) == 2
    assert "--data" in capsys.readouterr().err


@pytest.mark.skipif("ETHOGRAM_DATA" not in os.environ, reason="ETHOGRAM_DATA does not say where the data are")
def test_the_data_are_those_that_the_card_speaks_of():
    corpus = read_corpus(Path(os.environ["ETHOGRAM_DATA"]))
    assert int(corpus.whole.sum()) == NUMBERS["texts"]
    assert len(np.unique(corpus.group[corpus.whole])) == NUMBERS["authors of texts"]
    # On texts that it has seen the model agrees better than on others, or it is not the model of these.
    pairs = zip(corpus.reads, corpus.scans, strict=True)
    seen = np.array([scores(shipped(), *pair)["manipulation"] for pair in pairs])
    labels = corpus.labels[:, TRAITS.index("manipulation")]
    agreed = np.corrcoef(seen[corpus.whole], labels[corpus.whole])[0, 1]
    assert agreed > NUMBERS["agreement"]["manipulation"]["model"][2]


def said_by(weights: Weights, text: str) -> dict[str, float]:
    everything = {field.name: getattr(weights, field.name) for field in fields(Weights)}
    everything["measured"] = np.ones(len(TRAITS), bool)
    return scores(Weights(**everything), read_text(text), scan(text))


def write_made_up_data(folder: Path) -> None:
    """Forty authors, half of whom press; every fifth message has only its beginning."""
    draw = random.Random(7)
    pressing = (
        "you must",
        "pay the toll",
        "now hurry",
        "because",
        "gate will close",
        "before night",
        "on us",
    )
    calm = ("a lamp", "on the table", "and a chair", "beside", "the window", "in the room", "old books")
    rows = []
    for number in range(160):
        author = number % 40
        presses = author % 2
        # Words of their own, or they would all be copies of each other.
        own = ["".join(draw.choices("bcdfgklmnprstvw", k=6)) for _ in range(40)]
        said = draw.choices(pressing if presses else calm, k=8) + own
        text = " ".join(draw.sample(said, len(said)))
        rows.append(
            {
                "subject": f"author {author}",
                "text": None if number % 5 == 0 else text,
                "preview": text[:120],
                "traits": dict.fromkeys(TRAITS, round(0.7 * presses + 0.2 * draw.random(), 2)),
                "indicators": [{"id": "MAN-URGENCY", "confidence": 0.8}] if presses else [],
            }
        )
    (folder / "conversations").mkdir()
    with gzip.open(folder / "conversations" / "moltbook_scored.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
