"""Values, times and people as a person reads them. All of it printable, whatever the input held."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .output import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}
LONGEST = 300


def clean(text: object) -> str:
    """Any text of the input on one line, cut where it is endless.

    >>> clean("a" * 400)[-6:]
    'aaa...'
    """
    full = printable(str(text))
    return full if len(full) <= LONGEST else full[: LONGEST - 3] + "..."


def plural(n: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "event"), plural(1200, "history")
    ('1 event', '1,200 histories')
    """
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{n:,} {noun if n == 1 else many}"


def stamp(at: datetime, *, timed: bool = True) -> str:
    """A moment in UTC; where the source has no times, which event of it this was.

    >>> from datetime import UTC
    >>> stamp(datetime(2026, 1, 5, 12, 30, tzinfo=UTC))
    '2026-01-05 12:30'
    >>> stamp(datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC), timed=False)
    'no. 5'
    """
    if not timed:
        return f"no. {int(at.timestamp()) + 1}"
    return at.strftime("%Y-%m-%d %H:%M:%S" if at.second else "%Y-%m-%d %H:%M")


def span(start: datetime, end: datetime | None, *, timed: bool = True) -> str:
    """From one moment to another; the day is not repeated, and no end means that it goes on."""
    if end is None:
        return f"since {stamp(start, timed=timed)}, still open"
    if end == start:
        return stamp(start, timed=timed)
    last = stamp(end, timed=timed)
    if timed and start.date() == end.date():
        last = last.partition(" ")[2]
    return f"{stamp(start, timed=timed)} – {last}"


def value_text(value: Any) -> str:
    """A number, category or list.

    >>> value_text(0.30000000000000004), value_text(None), value_text(["a", 2.0])
    ('0.3', 'not measured', 'a, 2')
    """
    from ethogram.shapes.explanation import write

    if isinstance(value, (list, tuple)):
        return ", ".join(value_text(item) for item in value) or "none"
    return clean(write(value, "")) if isinstance(value, (float, int, str)) or value is None else clean(value)


def pairs_text(values: Mapping[str, Any]) -> str:
    """Names with their values, on one line."""
    return ", ".join(f"{clean(name)} {value_text(value)}" for name, value in values.items())


def show(*parts: RenderableType) -> None:
    """Everything at once on standard output, so that nothing is there half."""
    import sys

    from .output import console

    out = console()
    with out.capture() as captured:
        for part in parts:
            out.print(part)
    lines = captured.get().splitlines()
    sys.stdout.write("".join(line.rstrip() + "\n" for line in lines))
