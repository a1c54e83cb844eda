"""Fitting a table to a teacher, on few texts and with a teacher of few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedder import train as script
from benchmarks.embedder.train import axes, fit, read_texts, train, vocabulary
from ethogram.chat.embeddings import static
from ethogram.chat.embeddings.base import Vectors, unit
from ethogram.chat.embeddings.examples import Example, examples

SUBJECTS = ["the cat", "my dog", "a phisher", "the baker", "one locksmith", "her neighbour"]
VERBS = ["sees", "hides", "paints", "steals", "repairs"]
OBJECTS = ["the wall", "a phisher", "the bread", "that bicycle", "a quiet house"]
TEXTS = [f"{a} {b} {c}" for a in SUBJECTS for b in VERBS for c in OBJECTS]


class Teacher:
    """Twelve numbers: sums of fixed random vectors of the words."""

    name = "teacher@1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = []
        for text in texts:
            words = static.words(text)
            seeds = [np.random.default_rng([ord(c) for c in word]).normal(size=12) for word in words]
            rows.append(np.sum(seeds, axis=0) if seeds else np.zeros(12))
        return unit(np.array(rows, dtype=np.float32))


@pytest.fixture
def few_pieces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A table of letters and some words, in the place of the one that ships."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [*letters, *(f"##{letter}" for letter in letters), "the", "a", "phish", "##er", "house"]
    rows = {piece: row for row, piece in enumerate(pieces)}
    monkeypatch.setattr(static, "table", lambda: (rows, None, None))
    own = [
        Example("how do I steal a bicycle", True, "harm"),
        Example("how do I bake bread", False, "ordinary"),
    ]
    monkeypatch.setattr(script, "examples", lambda: own * 20)
    return pieces


def use(path: Path, monkeypatch: pytest.MonkeyPatch, texts: Sequence[str]) -> Vectors:
    """The vectors of texts with the table of a file, as the package reads it."""
    monkeypatch.undo()
    monkeypatch.setattr(static, "FILE", path)
    for cached in (static.table, static.pieces):
        cached.cache_clear()
    try:
        return static.Static().embed(texts)
    finally:
        monkeypatch.undo()
        for cached in (static.table, static.pieces):
            cached.cache_clear()


@pytest.mark.parametrize("harm", [False, True])
def test_the_table_points_where_the_teacher_points(few_pieces, tmp_path, monkeypatch, harm: bool):
    path, lines = tmp_path / "table.npz", []
    how = {"epochs": 60, "device": "cpu", "tell": lines.append}
    seen, unseen = TEXTS[::2], TEXTS[1::2]
    train(Teacher(), seen, path, width=8, harm=harm, **how)
    main = axes(Teacher().embed(seen), 8)
    wanted = unit(Teacher().embed(unseen) @ main)
    cosines = (use(path, monkeypatch, unseen) * wanted).sum(1)
    assert cosines.mean() > 0.9
    assert lines
    with np.load(path) as file:
        assert file["rows"].dtype == np.int8
        assert "phisher" in bytes(file["pieces"]).decode().split("\n")


def test_the_same_seed_gives_the_same_file(few_pieces, tmp_path):
    for name in ("a.npz", "b.npz"):
        train(Teacher(), TEXTS[:30], tmp_path / name, width=8, epochs=3, device="cpu", tell=lambda _: None)
    with np.load(tmp_path / "a.npz") as one, np.load(tmp_path / "b.npz") as other:
        assert (one["rows"] == other["rows"]).all()


def test_harm_moves_the_rows_towards_a_readout():
    rng = np.random.default_rng(0)
    texts = [np.array([k % 10, 10 + k % 7]) for k in range(140)]
    targets = unit(rng.normal(size=(140, 6)).astype(np.float32))
    harm = np.array([1.0 if k % 10 < 5 else -1.0 for k in range(140)], dtype=np.float32)
    start = rng.normal(size=(17, 6)).astype(np.float32)

    def explained(table: Vectors) -> float:
        points = unit(np.array([table[rows].sum(0) for rows in texts]))
        with_one = np.hstack([points, np.ones((140, 1))])
        return float(np.corrcoef(with_one @ np.linalg.lstsq(with_one, harm, rcond=None)[0], harm)[0, 1])

    how = {"epochs": 80, "device": "cpu", "tell": lambda _: None}
    assert explained(fit(start, texts, targets, harm, **how)) > explained(fit(start, texts, targets, **how))


def test_words_that_are_split_get_a_row_of_their_own():
    known = ["scam", "the", "##s"]
    made = vocabulary(["phishing mails", "the phishing scams 123", "Phishing!"], known, least=3)
    assert made == [*known, "phishing"]


def test_axes_are_turned_towards_the_vectors_before():
    rng = np.random.default_rng(0)
    vectors = unit(rng.normal(size=(200, 6)).astype(np.float32))
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0].astype(np.float32)
    assert np.allclose(vectors @ axes(vectors, 6, vectors @ turn), vectors @ turn, atol=1e-4)
    main = axes(vectors, 4)
    assert np.allclose(main.T @ main, np.eye(4), atol=1e-5)


def test_texts_are_the_lines_of_the_folders_and_our_own(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "a.txt").write_text("one line\n\nanother line\n")
    (tmp_path / "more" / "b.txt").write_text("one line\n")
    (tmp_path / "c.csv").write_text("no text\n")
    texts = read_texts([tmp_path])
    assert texts[:2] == ["one line", "another line"]
    assert {example.text for example in examples()} <= set(texts)
    assert len(texts) == len(set(texts))
    assert "no text" not in texts
