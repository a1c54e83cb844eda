"""The texts that the local model is trained on, read from a folder that is not part of the repository."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from ethogram.evaluators.local_model import BITS, Read, read_text
from ethogram.lexicon.records import Scan
from ethogram.lexicon.scanner import scan_many
from ethogram.models import TRAITS

SCORED = "moltbook_scored"
ALIKE = 0.5
"""Two texts that share so much of their runs of characters (Jaccard) are copies, and stay in one fold."""


@dataclass(frozen=True)
class Corpus:
    """Scored messages whose language is known; `whole` is false where only the beginning is there.

    `group` numbers the authors, with those as one who posted copies of one text.
    """

    texts: list[str]
    authors: list[str]
    reads: list[Read]
    scans: list[Scan]
    labels: NDArray[np.float64]
    indicators: list[frozenset[str]]
    whole: NDArray[np.bool_]
    group: NDArray[np.int64]


def records(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The records of one file of conversations."""
    with gzip.open(folder / "conversations" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def has(folder: Path, name: str) -> bool:
    """Whether that file is there."""
    return (folder / "conversations" / f"{name}.jsonl.gz").exists()


def read_corpus(folder: Path) -> Corpus:
    """The scored messages; a message without text stands there with its preview."""
    rows = [row for row in records(folder, SCORED) if row["text"] or row.get("preview")]
    texts = [row["text"] or row["preview"] for row in rows]
    scans = scan_many(texts)
    saved = [k for k, scan in enumerate(scans) if scan.measured]
    rows, texts, scans = [rows[k] for k in saved], [texts[k] for k in saved], [scans[k] for k in saved]
    reads = [read_text(text) for text in texts]
    authors = [row["subject"] for row in rows]
    return Corpus(
        texts,
        authors,
        reads,
        scans,
        np.array([[row["traits"][trait] for trait in TRAITS] for row in rows], float),
        [frozenset(item["id"].replace("-", "_") for item in row["indicators"]) for row in rows],
        np.array([bool(row["text"]) for row in rows]),
        _groups(authors, reads),
    )


def messages(folder: Path, name: str, most: int) -> list[str]:
    """Up to so many messages of conversations, evenly over the file."""
    said = [turn["text"] for row in records(folder, name) for turn in row["turns"] if turn["text"]]
    return said[:: max(1, len(said) // most)][:most]


def gram_matrix(reads: list[Read], kind: str) -> sparse.csr_matrix:
    """A row for each text: the signed weights of its `words` or `runs` in their buckets."""
    grams = [getattr(read, kind) for read in reads]
    starts = np.cumsum([0, *(len(gram.buckets) for gram in grams)])
    held = (
        np.concatenate([gram.weights for gram in grams]).astype(float),
        np.concatenate([gram.buckets for gram in grams]),
        starts,
    )
    matrix = sparse.csr_matrix(held, (len(reads), 1 << BITS))
    matrix.sum_duplicates()
    return matrix


def _groups(authors: list[str], reads: list[Read]) -> NDArray[np.int64]:
    present = gram_matrix(reads, "runs")
    present.data[:] = 1
    shared = (present @ present.T).tocoo()
    size = np.asarray(present.sum(axis=1)).ravel()
    either = size[shared.row] + size[shared.col] - shared.data
    copies = shared.data >= ALIKE * either
    numbers = {name: k for k, name in enumerate(dict.fromkeys(authors))}
    author = np.array([numbers[name] for name in authors])
    joined = (author[shared.row[copies]], author[shared.col[copies]])
    links = sparse.coo_matrix((np.ones(len(joined[0])), joined), (len(numbers), len(numbers)))
    _, component = sparse.csgraph.connected_components(links, directed=False)
    found: NDArray[np.int64] = component[author].astype(np.int64)
    return found
