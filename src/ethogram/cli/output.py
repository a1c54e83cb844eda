"""How commands write: plain and the same everywhere, unless a person is looking.

JSON is pure ASCII, so it survives any encoding and holds even what is not valid text. Everything else
may be shown on a terminal, so control characters from the input are spelled out first.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO

from ..errors import EthogramError
from ..models.record import Record, to_json
from ..report.plain import printable

if TYPE_CHECKING:
    from rich.console import Console


__all__ = [
    "console",
    "drop",
    "flush",
    "make_streams_safe",
    "printable",
    "write_json",
    "write_line",
    "write_text",
]

WIDE = 160
"""Columns of a table that is not shown on a terminal."""


class CannotWrite(EthogramError):
    """What was to be said found no place: a full disk, a closed output."""

    exit_code = 1

    def __init__(self, why: str) -> None:
        super().__init__(f"cannot write: {why}")


def make_streams_safe() -> None:
    """From now on, a character the terminal cannot show is written as an escape and is no error.

    Standard error may be closed: then nobody is told. Standard output must not be: CannotWrite.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for as long as we run)
    if sys.stdout is None:
        raise CannotWrite("standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def write_line(text: str, *, to: TextIO | None = None) -> None:
    """One line, to standard output unless told otherwise."""
    write_text(text + "\n", to=to)


def write_text(text: str, *, to: TextIO | None = None) -> None:
    """A text as it is. CannotWrite where there is no room; a reader that went away is BrokenPipeError."""
    stream = sys.stdout if to is None else to
    try:
        stream.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(error.strerror or str(error)) from error


def flush() -> None:
    """Everything written so far has gone out after this, or the same errors as from `write_text`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(error.strerror or str(error)) from error


def drop(stream: TextIO | None) -> None:
    """Let go of what is still buffered and has no reader: the interpreter would complain on its way out."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        os.close(nowhere)


def write_json(record: Record | tuple[Any, ...] | Mapping[str, Any], *, to: TextIO | None = None) -> None:
    """Write one record as one line of JSON.

    >>> write_json({"record": "fault", "path": "é"})
    {"record": "fault", "path": "\\u00e9"}
    """
    body = record if isinstance(record, dict) else to_json(record)
    write_line(json.dumps(body, ensure_ascii=True, allow_nan=False), to=to)


def colours() -> Literal["auto"] | None:
    """What rich may use: nothing at all where NO_COLOR is set, for bold and dim are codes too."""
    return None if os.environ.get("NO_COLOR") else "auto"


def console() -> Console:
    """A rich console that guesses nothing: no markup, no emoji, no highlighting of what users wrote.

    Colour and bold only on a terminal, and not where NO_COLOR is set; elsewhere a fixed width.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(
        width=width, markup=False, emoji=False, highlight=False, soft_wrap=False, color_system=colours()
    )
