"""How far reading has come."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told how many bytes of how many were read."""


class Meter:
    """Tells how far reading has come, in bytes on disk, and never backwards."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._before = 0
        self._told = 0

    def tell(self, within: int) -> None:
        """So many bytes of the file under way were read."""
        self._told = max(self._told, min(self._before + within, self._total))
        if self._progress is not None:
            self._progress(self._told, self._total)

    def close_file(self, size: int) -> None:
        """A file of that size is done with."""
        self._before += size
        self.tell(0)
