"""The embedders `wordllama`, static word vectors from that package (MIT licence, 16 MB), and `both`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MissingExtra
from .base import MOST_CHARACTERS, Embedder, Vectors, embedder, unit
from .small import Small


@embedder("wordllama")
class Static:
    """Mean of static subword vectors of 256 numbers. Needs the extra `meaning`; downloads nothing."""

    name = "wordllama@256"

    def __init__(self) -> None:
        try:
            import wordllama
        except ModuleNotFoundError:
            raise MissingExtra("wordllama", "meaning", "the embedder wordllama") from None

        # Version 0.4 finds its own tokenizer only where its folder is named as the cache.
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        if not texts:
            return np.zeros((0, 256), dtype=np.float32)
        cut = [text[:MOST_CHARACTERS] or " " for text in texts]
        return unit(np.asarray(self._model.embed(cut), dtype=np.float32))


@embedder("both")
class Both:
    """`small` and `wordllama`, which err on different texts. Needs the extra `meaning`."""

    name = "both@1"

    def __init__(self) -> None:
        self.parts: tuple[Embedder, ...] = (Small(), Static())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The concatenated rows of the two."""
        return unit(np.hstack([part.embed(texts) for part in self.parts]))
