"""Values, times and people as a person reads them. All of it printable, whatever the input held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..report.words import clean, pairs_text, plural, span, stamp, value_text

if TYPE_CHECKING:
    from rich.console import RenderableType


__all__ = ["STYLES", "clean", "pairs_text", "plural", "show", "span", "stamp", "value_text"]

STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}


def show(*parts: RenderableType) -> None:
    """Everything at once on standard output, so that nothing is there half."""
    from .output import console, write_text

    out = console()
    with out.capture() as captured:
        for part in parts:
            out.print(part)
    lines = captured.get().splitlines()
    write_text("".join(line.rstrip() + "\n" for line in lines))
