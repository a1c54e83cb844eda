"""How commands write: plain and the same everywhere, unless a person is looking.

JSON is pure ASCII, so it survives any encoding and holds even what is not valid text. Everything else
may be shown on a terminal, so control characters from the input are spelled out first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from ethogram.report.plain import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "make_streams_safe", "printable", "write_json", "write_line"]

WIDE = 160
"""Columns of a table that is not shown on a terminal."""


def make_streams_safe() -> None:
    """From now on, a character the terminal cannot show is written as an escape and is no error."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def write_line(text: str, *, to: TextIO | None = None) -> None:
    """One line, to standard output unless told otherwise."""
    stream = sys.stdout if to is None else to
    stream.write(text + "\n")


def write_json(record: Mapping[str, Any], *, to: TextIO | None = None) -> None:
    """One record as one line of JSON.

    >>> write_json({"record": "fault", "path": "é"})
    {"record": "fault", "path": "\\u00e9"}
    """
    write_line(json.dumps(record, ensure_ascii=True, allow_nan=False), to=to)


def console() -> Console:
    """A rich console that guesses nothing: no markup, no emoji, no highlighting of what users wrote.

    Colour only on a terminal, and not where NO_COLOR is set; elsewhere a fixed width.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)
