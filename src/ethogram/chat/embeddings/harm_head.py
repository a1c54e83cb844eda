"""How far a turn asks for harm, from the vectors of the turn and of the two turns before it.

A smooth function is fitted through examples: 1 at those that ask for harm, -1 at the others. It is kernel
ridge regression with the kernel (c + x.p)^2 over both vectors. How words combine decides (`kill` with
`process` or `person`, `how do I do that` after what), which a kernel of degree 2 can express.

The head of the embedder that ships is a file of the package. That of any other embedder is fitted when it is
first used, and kept in the user's cache folder. To write the one that ships:

    python -m ethogram.chat.embeddings.harm_head static
"""

from __future__ import annotations

import logging
import os
import sys
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ...files import make_private_folder, write_whole
from ...models.slotted import dataclass
from ..accumulation import AT_REST
from .base import Embedder, Vectors, load, unit
from .examples import FOLDER, Example, examples

PROBES = 8  # texts whose vectors are kept with a head: it does not fit another model of the same name
APART = 0.1  # most distance of these vectors to those of now; servers compute a little differently each time
OFFSET = 0.2  # c of the kernel: how much single words count beside their combinations
PENALTY = 3.0  # ridge; from 1 to 10 it makes little difference
CONTEXT = 0.7  # weight of the turns before, beside the turn
SHARES = {
    "harm": 0.35, "look-alike": 0.18, "ordinary": 0.17, "pair": 0.1, "in context": 0.04, "amounts": 0.01,
    "climb": 0.1, "harmless": 0.05,
}  # fmt: skip
ALARMING = 0.992  # share of harmless examples, predicted from others, that lie below level 1
_log = logging.getLogger("ethogram")


@dataclass(frozen=True, slots=True)
class Head:
    """The fitted function as x'Ax + b'x + c, whose cost does not depend on the number of examples.

    `rest` and `alarm` are its values for ordinary talk (level -0.7) and for what is alarming (level 1).
    """

    matrix: Vectors
    linear: Vectors
    constant: float
    rest: float
    alarm: float

    def raw(self, vectors: Vectors) -> NDArray[np.float32]:
        """The value of each row, about -1 to 1; rows of half the length are turns without context."""
        size = vectors.shape[1]
        # Not a matrix product: it starts the threads of NumPy's linear algebra, which spin while they wait.
        products = np.einsum("jk,ik->ij", self.matrix[:size, :size], vectors)
        bent = np.einsum("ij,ij->i", products, vectors)
        straight = np.einsum("ij,j->i", vectors, self.linear[:size])
        return np.asarray(bent + straight + self.constant, dtype=np.float32)

    def levels(self, turns: Vectors, context: Vectors | None) -> NDArray[np.float32]:
        """The level of each turn after the same context: -0.7 for ordinary talk, alarming from 1."""
        if context is not None:
            turns = np.hstack([turns, np.broadcast_to(CONTEXT * context, turns.shape)])
        raw = self.raw(turns)
        return np.asarray(AT_REST + (raw - self.rest) * (1 - AT_REST) / (self.alarm - self.rest), np.float32)


def head_of(embedder: Embedder) -> Head:
    """The head of an embedder: as it ships, as it was kept, or fitted now, which may take minutes."""
    probe, kept = probe_of(embedder), kept_file(embedder.name)
    for path in (FOLDER / kept.name, kept):
        if (head := read(path, embedder.name, probe)) is not None:
            return head
    _log.warning("fitting the harm head to %s (once, kept in %s)", embedder.name, kept.parent)
    head = fit(embedder, examples())
    with suppress(OSError):  # without a place to keep it, it is fitted again next time
        make_private_folder(kept.parent)
        write(head, kept, embedder.name, probe)
    return head


def probe_of(embedder: Embedder) -> Vectors:
    """The vectors of some examples."""
    return embedder.embed([example.text for example in examples()[:: len(examples()) // PROBES]])


def kept_file(name: str) -> Path:
    """Where the head of an embedder is kept in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    plain = quote(name, safe="@")
    if len(plain) > 100:
        plain = f"{plain[:80]}-{sha256(name.encode()).hexdigest()[:16]}"
    return base / "ethogram" / "heads" / f"{plain}.npz"


def version(name: str) -> str:
    """A digest of an embedder's name, of the examples and of how the head is fitted."""
    texts = "\n".join(f"{example.text}\t{example.context}\t{example.harms}" for example in examples())
    how = f"{OFFSET} {PENALTY} {CONTEXT} {SHARES} {ALARMING}"
    return sha256(f"{name}\n{how}\n{texts}".encode()).hexdigest()[:12]


def fit(embedder: Embedder, some: Sequence[Example]) -> Head:
    """The head through these examples."""
    places = places_of(embedder, some)
    # What harmless talk is given by a head that has not seen it.
    kinds = np.array([example.kind for example in some])
    calm = np.isin(kinds, ("ordinary", "harmless"))
    unseen = np.zeros(len(some), dtype=np.float32)
    for part in (0, 1):
        here = np.arange(len(some)) % 2 == part
        half = _fit(places[here], [example for example, is_here in zip(some, here, strict=True) if is_here])
        unseen[~here] = half.raw(places[~here])
    whole = _fit(places, some)
    rest, alarm = np.median(unseen[calm]), np.quantile(unseen[calm], ALARMING)
    return Head(whole.matrix, whole.linear, whole.constant, float(rest), float(alarm))


def places_of(embedder: Embedder, some: Sequence[Example]) -> Vectors:
    """The vectors of examples: that of the turn, then that of its context."""
    turns = embedder.embed([example.text for example in some])
    context = np.zeros_like(turns)
    with_context = [k for k, example in enumerate(some) if example.context]
    for place in range(2):
        rows = [k for k in with_context if len(some[k].context) > place]
        if rows:
            context[rows] += embedder.embed([some[k].context[place] for k in rows])
    return np.hstack([turns, CONTEXT * unit(context)])


def _fit(places: Vectors, some: Sequence[Example]) -> Head:
    targets = np.array([1.0 if example.harms else -1.0 for example in some], dtype=np.float32)
    kinds = np.array([example.kind for example in some])
    weights = np.zeros(len(some), dtype=np.float32)
    for kind, share in SHARES.items():
        weights[kinds == kind] = share / max(1, int(np.count_nonzero(kinds == kind)))
    for target in (1.0, -1.0):
        weights[targets == target] *= 0.5 / float(weights[targets == target].sum() or 1.0)
    # In single precision and in place, since there are many examples.
    kernel = places @ places.T
    kernel += OFFSET
    kernel *= kernel
    kernel[np.diag_indices_from(kernel)] += PENALTY / (weights * len(some))
    solved = np.linalg.solve(kernel, targets).astype(np.float32)
    weighted = places * solved[:, None]
    # The sum over the examples of (c + x.p)^2 = x'(pp')x + 2c x.p + c^2.
    matrix = np.asarray(weighted.T @ places, dtype=np.float32)
    return Head(matrix, 2 * OFFSET * weighted.sum(axis=0), float(OFFSET**2 * solved.sum()), 0.0, 1.0)


def write(head: Head, path: Path, name: str, probe: Vectors) -> None:
    """Write a head, and what it was fitted to."""
    # Half of the symmetric matrix; two bytes a number move the raw value by less than 0.01.
    half = head.matrix[np.triu_indices(len(head.matrix))].astype(np.float16)
    numbers = np.array([head.constant, head.rest, head.alarm])
    file = BytesIO()
    np.savez_compressed(
        file, version=np.array(version(name)), probe=probe, half=half, linear=head.linear, numbers=numbers
    )
    write_whole(path, [file.getvalue()], mode=0o644)


def read(path: Path, name: str, probe: Vectors) -> Head | None:
    """The head in a file; None where there is none for these examples and for vectors like these."""
    try:
        with np.load(path) as file:
            same = str(file["version"]) == version(name) and file["probe"].shape == probe.shape
            if not same or np.linalg.norm(probe - file["probe"], axis=1).max() > APART:
                return None
            linear: Vectors = file["linear"]
            matrix = np.zeros((len(linear), len(linear)), dtype=np.float32)
            matrix[np.triu_indices(len(linear))] = file["half"]
            constant, rest, alarm = map(float, file["numbers"])
    except (OSError, LookupError, ValueError, EOFError, zipfile.BadZipFile):
        return None  # none, or damaged
    matrix += np.triu(matrix, 1).T
    return Head(matrix, linear, constant, rest, alarm)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        embedder = load(name)
        path = FOLDER / kept_file(embedder.name).name
        write(fit(embedder, examples()), path, embedder.name, probe_of(embedder))
        print(path)
