"""What the tests of reading share: a file of lines, and the one fault in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ethogram.errors import BadEvents, Fault
from ethogram.ingest import Batch, read_events

Line = dict[str, Any] | str | bytes
Lines = Callable[..., Path]


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    """Writes lines (dicts as JSON, text and bytes as they are) to a file and gives its path."""

    def write(*given: Line, name: str = "events.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(_bytes(line) + b"\n" for line in given))
        return path

    return write


def _bytes(line: Line) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode()


@pytest.fixture
def read(lines: Lines) -> Callable[..., Batch]:
    """The batch of these lines."""
    return lambda *given, **options: read_events([lines(*given)], **options)


@pytest.fixture
def fault(lines: Lines) -> Callable[..., Fault]:
    """The one fault in these lines."""

    def only(*given: Line, **options: Any) -> Fault:
        with pytest.raises(BadEvents) as caught:
            read_events([lines(*given)], **options)
        assert len(caught.value.faults) == 1
        assert caught.value.more == 0
        return caught.value.faults[0]

    return only
