"""Target: a file that a command is asked to write, looked at before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadUsage


class Target:
    """Where records go, one a line: all of them, or the file is as it was before.

    A link is followed and a file keeps its mode. What is no file, such as a pipe, is written to as it is.
    """

    def __init__(self, option: str, path: str, *, inputs: Sequence[str] = ()) -> None:
        self.option, self.given = option, path
        if path == "-":
            raise BadUsage(f"{option} takes a file; to standard output goes what --json says")
        self._path = Path(os.path.realpath(path))
        if any(self.is_same(other) for other in inputs if other != "-"):
            raise BadUsage(f"{option}: {path!r:.200} is among the input; write somewhere else")
        if self._path.is_dir() or not self._path.parent.is_dir():
            what = "is a folder" if self._path.is_dir() else "is in a folder that is not there"
            raise BadUsage(f"{option}: {path!r:.200} {what}; name a file")
        if not os.access(self._path if self._path.exists() else self._path.parent, os.W_OK):
            raise BadUsage(f"{option}: {path!r:.200} cannot be written to")

    def is_same(self, other: str) -> bool:
        """Whether another path leads to the same place, or to a folder it is in."""
        place = Path(os.path.realpath(other))
        return place == self._path or (place in self._path.parents and self._path.exists())

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write all of them."""
        import json

        from ..files import write_whole

        try:
            write_whole(self._path, (json.dumps(one) + "\n" for one in records))
        except OSError as error:
            raise BadUsage(
                f"{self.option}: {self.given!r:.200} cannot be written: {error.strerror or error}"
            ) from None
