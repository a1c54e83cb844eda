"""Fits the table of the embedder `static` to a teacher's sentence vectors.

    python -m benchmarks.embedder.train --teacher onnx:minilm --texts FOLDER --out static.npz --harm

The texts are the lines of the .txt files in the folders, and our own examples. A text is the sum of the rows
of its word pieces; the rows are moved until these sums point where the teacher's vectors point. The teacher's
vectors are reduced to fewer dimensions by principal components, turned so that they agree with the table that
ships: heads and saved conversations then stay about right. With --harm a second table learns besides how far
each text asks for harm, by a head on the teacher's vectors that is fitted to our own examples; the mean of
both tables is written. With torch and a GPU it runs there, else in NumPy.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethogram.chat.embeddings import static
from ethogram.chat.embeddings.base import Embedder, Vectors, load, unit
from ethogram.chat.embeddings.examples import examples
from ethogram.chat.embeddings.harm_head import fit as fit_head

WIDTH = 256  # numbers of a row
LEAST = 5  # texts with a word that is split until now, from which it gets a row of its own
SOME = 50_000  # texts that the principal components are found on
BATCH, RATE, DECAY = 4096, 0.01, (0.9, 0.999)  # of Adam
HARM = 0.3  # weight of the error in harm, beside that in direction
SHOWN = 5  # epochs between two lines


def read_texts(folders: Iterable[Path]) -> list[str]:
    """The different lines of all .txt files, and our own examples."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.txt"))
    lines = (line.strip() for path in paths for line in path.read_text("utf-8").splitlines())
    own = (text for example in examples() for text in (example.text, *example.context))
    return [text for text in dict.fromkeys((*lines, *own)) if text]


def vocabulary(texts: Sequence[str], known: Sequence[str], least: int = LEAST) -> list[str]:
    """The known pieces, then words of at least so many texts that are split into several."""
    pieces = set(known)
    counts = Counter(word for text in texts for word in set(static.words(text)))
    new = [word for word, count in counts.most_common() if count >= least and word not in pieces]
    return [*known, *(word for word in new if word.isalpha() and len(word) <= static.LONGEST_WORD)]


def bags(texts: Sequence[str], pieces: Sequence[str]) -> list[NDArray[np.int64]]:
    """The rows of each text."""
    rows = {piece: row for row, piece in enumerate(pieces)}
    split: dict[str, tuple[int, ...]] = {}
    found = []
    for text in texts:
        words = static.words(text)
        for word in words:
            if word not in split:
                split[word] = static.rows_of_word(word, rows)
        found.append(np.array([row for word in words for row in split[word]], dtype=np.int64))
    return found


def axes(vectors: Vectors, width: int, before: Vectors | None = None) -> Vectors:
    """The principal components as columns, turned towards other vectors of the same texts."""
    main = np.linalg.svd(vectors, full_matrices=False)[2][:width].T
    if before is not None:
        # The rotation that brings both nearest to each other (Procrustes).
        left, _, right = np.linalg.svd((vectors @ main).T @ before)
        main = main @ (left @ right)
    return np.asarray(main, dtype=np.float32)


class Arrays:
    """Arrays of torch on a GPU where there is one, else of NumPy."""

    def __init__(self, device: str = "") -> None:
        self.torch: Any = None
        if device != "cpu":
            try:
                import torch
            except ImportError:
                torch = None
            if torch is not None and (device or torch.cuda.is_available()):
                self.torch, self.device = torch, device or "cuda"

    def array(self, values: Any) -> Any:
        """The values as an array."""
        return np.asarray(values) if self.torch is None else self.torch.as_tensor(values, device=self.device)

    def sums(self, size: int, index: Any, values: Any) -> Any:
        """The values added up by index."""
        if self.torch is None:
            total = np.zeros((size, values.shape[1]), dtype=np.float32)
            np.add.at(total, index, values)
            return total
        total = self.torch.zeros((size, values.shape[1]), device=self.device)
        return total.index_add_(0, index, values)

    def plain(self, values: Any) -> Vectors:
        """The values in NumPy."""
        return np.asarray(values if self.torch is None else values.cpu().numpy(), dtype=np.float32)


def fit(
    table: Vectors,
    texts: Sequence[NDArray[np.int64]],
    targets: Vectors,
    harm: NDArray[np.float32] | None = None,
    *,
    epochs: int = 30,
    seed: int = 0,
    device: str = "",
    tell: Callable[[str], None] = print,
) -> Vectors:
    """The table whose sums point where the targets point; with `harm`, a readout of them gives that too."""
    arrays, rng = Arrays(device), np.random.default_rng(seed)
    full = [k for k, rows in enumerate(texts) if len(rows)]
    readout = np.zeros((1, table.shape[1] + 1), dtype=np.float32)
    parameters = [arrays.array(table.copy()), arrays.array(readout)]
    moments = [[value * 0, value * 0] for value in parameters]
    step = 0
    for epoch in range(epochs):
        rng.shuffle(full)
        total = 0.0
        for start in range(0, len(full), BATCH):
            part = full[start : start + BATCH]
            rows = arrays.array(np.concatenate([texts[k] for k in part]))
            owners = arrays.array(np.repeat(np.arange(len(part)), [len(texts[k]) for k in part]))
            wanted = arrays.array(targets[part])
            asks = None if harm is None else arrays.array(harm[part])
            loss, gradients = _gradients(arrays, parameters, rows, owners, wanted, asks)
            total += loss
            step += 1
            rate = RATE * (1 - epoch / epochs)
            for value, gradient, (mean, square) in zip(parameters, gradients, moments, strict=True):
                mean *= DECAY[0]
                mean += (1 - DECAY[0]) * gradient
                square *= DECAY[1]
                square += (1 - DECAY[1]) * gradient * gradient
                size = (square / (1 - DECAY[1] ** step)) ** 0.5 + 1e-8
                value -= rate * (mean / (1 - DECAY[0] ** step)) / size
        if (epoch + 1) % SHOWN == 0 or epoch + 1 == epochs:
            tell(f"epoch {epoch + 1}: error {total / len(full):.4f}")
    return arrays.plain(parameters[0])


def _gradients(
    arrays: Arrays, parameters: Sequence[Any], rows: Any, owners: Any, wanted: Any, asks: Any
) -> tuple[float, list[Any]]:
    """The error of a batch (1 - cosine, and harm), and its derivatives by the table and by the readout."""
    table, readout = parameters
    count = len(wanted)
    sums = arrays.sums(count, owners, table[rows])
    lengths = ((sums * sums).sum(1) + 1e-8)[:, None] ** 0.5
    points = sums / lengths
    error, pull = 1 - (points * wanted).sum(1), -wanted
    by_readout = readout * 0
    if asks is not None:
        off = (points * readout[:, :-1]).sum(1) + readout[0, -1] - asks
        error = error + HARM * off * off
        pull = pull + 2 * HARM * off[:, None] * readout[:, :-1]
        by_readout[0, :-1] = 2 * HARM * (off[:, None] * points).sum(0) / count
        by_readout[0, -1] = 2 * HARM * off.sum() / count
    # The length of a sum makes no difference: only what is across its direction counts.
    across = (pull - (pull * points).sum(1)[:, None] * points) / lengths / count
    return float(error.sum()), [arrays.sums(len(table), rows, across[owners]), by_readout]


def write(path: Path, pieces: Sequence[str], table: Vectors) -> None:
    """Write the file that the embedder reads: one byte a number, and what to multiply each row with."""
    scales = np.maximum(np.abs(table).max(axis=1), 1e-9).astype(np.float32) / 127
    rows = np.round(table / scales[:, None]).astype(np.int8)
    text = np.frombuffer("\n".join(pieces).encode(), dtype=np.uint8)
    np.savez_compressed(path, pieces=text, rows=rows, scales=scales)


def train(
    teacher: Embedder, texts: Sequence[str], out: Path, *, width: int = WIDTH, harm: bool = False, **how: Any
) -> Vectors:
    """Fit and write a table; the teacher's vectors of the texts, reduced."""
    known, _, _ = static.table()
    pieces = vocabulary(texts, list(known))
    whole = teacher.embed(texts)
    some = slice(None, None, max(1, len(texts) // SOME))
    before = static.Static().embed(texts[some]) if width == WIDTH <= whole.shape[1] else None
    main = axes(whole[some], width, before)
    targets = unit(whole @ main)
    # A word that no text has keeps the teacher's own vector.
    start = unit(teacher.embed([piece.removeprefix("##") for piece in pieces]) @ main)
    rows = bags(texts, pieces)
    table = fit(start, rows, targets, **how)
    if harm:
        head = fit_head(teacher, examples())
        levels = np.clip(head.raw(np.hstack([whole, np.zeros_like(whole)])), -1, 1)
        table = np.float32(0.5) * (table + fit(table, rows, targets, levels, **how))
    write(out, pieces, table)
    return targets


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--teacher", required=True, help="an embedder, such as onnx:FOLDER")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a folder; repeatable")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--harm", action="store_true", help="learn how far texts ask for harm, too")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="", help="cpu or cuda; without it, a GPU where there is one")
    given = parser.parse_args()
    texts = read_texts(given.texts)
    how = {"epochs": given.epochs, "seed": given.seed, "device": given.device}
    train(load(given.teacher), texts, given.out, harm=given.harm, **how)
    print(f"{given.out}: {len(texts):,} texts")


if __name__ == "__main__":
    main()
