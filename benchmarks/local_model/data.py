"""The texts that the local model is trained on: scored messages from a folder, and pairs of our own."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from ethogram.evaluators.local_model import Read, read_text
from ethogram.lexicon.records import Scan
from ethogram.lexicon.scanner import scan_many
from ethogram.models import TRAITS

SCORED = "moltbook_scored"
TEXTS = Path(__file__).parent / "texts"
"""A file for a trait: on each line a text that shows it, ` | `, and its nearest neighbour that does not."""
ALIKE = 0.5
"""Two texts that share so much of their words (Jaccard) are copies, and stay in one fold."""
_WORD = re.compile(r"[^\W_]+(?:'\w+)?|[!?]")


@dataclass(frozen=True)
class Corpus:
    """Scored messages whose language is known; `whole` is false where only the beginning is there.

    `group` numbers the authors, with those as one who posted copies of one text.
    """

    texts: list[str]
    reads: list[Read]
    scans: list[Scan]
    labels: NDArray[np.float64]
    indicators: list[frozenset[str]]
    whole: NDArray[np.bool_]
    group: NDArray[np.int64]
    bags: sparse.csr_matrix


def records(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The records of one file of conversations."""
    with gzip.open(folder / "conversations" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def has(folder: Path, name: str) -> bool:
    """Whether that file is there."""
    return (folder / "conversations" / f"{name}.jsonl.gz").exists()


def own_texts(trait: str) -> tuple[list[str], NDArray[np.float64]]:
    """Our own texts for a trait, and for each 1 if it shows the trait, 0 if not."""
    lines = (TEXTS / f"{trait}.txt").read_text("utf-8").splitlines()
    pairs = [line.split(" | ") for line in lines]
    return [text for pair in pairs for text in pair], np.tile([1.0, 0.0], len(pairs))


def read_corpus(folder: Path) -> Corpus:
    """The scored messages; a message without text stands there with its preview."""
    rows = [row for row in records(folder, SCORED) if row["text"] or row.get("preview")]
    texts = [row["text"] or row["preview"] for row in rows]
    scans = scan_many(texts)
    known = [k for k, scan in enumerate(scans) if scan.measured]
    rows, texts, scans = [rows[k] for k in known], [texts[k] for k in known], [scans[k] for k in known]
    return Corpus(
        texts,
        [read_text(text) for text in texts],
        scans,
        np.array([[row["traits"][trait] for trait in TRAITS] for row in rows], float),
        [frozenset(item["id"].replace("-", "_") for item in row["indicators"]) for row in rows],
        np.array([bool(row["text"]) for row in rows]),
        _groups([row["subject"] for row in rows], bags_of(texts, least=1)),
        bags_of(texts),
    )


def messages(folder: Path, name: str, most: int) -> list[str]:
    """Up to so many messages of conversations, evenly over the file."""
    said = [turn["text"] for row in records(folder, name) for turn in row["turns"] if turn["text"]]
    return said[:: max(1, len(said) // most)][:most]


def bags_of(texts: Sequence[str], least: int = 3) -> sparse.csr_matrix:
    """The bag of words of each text: 1 + ln(count) of every word of so many texts or more."""
    places: dict[str, int] = {}
    rows, columns = [], []
    for k, text in enumerate(texts):
        for word in _WORD.findall(text.lower()):
            rows.append(k)
            columns.append(places.setdefault(word, len(places)))
    counts = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(texts), len(places)))
    counts.data = 1 + np.log(counts.data)
    return counts[:, np.bincount(counts.indices, minlength=len(places)) >= least]


def _groups(authors: list[str], bags: sparse.csr_matrix) -> NDArray[np.int64]:
    present = bags.copy()
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
