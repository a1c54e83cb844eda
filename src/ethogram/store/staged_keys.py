"""Which events an import has staged: eight bytes for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


class StagedKeys:
    """A sorted array of hashes."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self._keys = keys

    @classmethod
    def decode(cls, pieces: Sequence[bytes]) -> StagedKeys:
        """The hashes of pieces."""
        return cls(np.sort(np.frombuffer(b"".join(pieces), "<u8").astype(np.uint64)))

    def __len__(self) -> int:
        return len(self._keys)

    def found(self, hashes: Sequence[bytes]) -> set[bytes]:
        """The hashes that are among these."""
        if not len(self._keys) or not hashes:
            return set()
        wanted = np.frombuffer(b"".join(hashes), "<u8")
        places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return {hashes[place] for place in np.flatnonzero(self._keys[places] == wanted).tolist()}

    def having(self, hashes: Iterable[bytes]) -> StagedKeys:
        """These hashes and others."""
        new = np.sort(np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64))
        return StagedKeys(np.insert(self._keys, np.searchsorted(self._keys, new), new))
