"""Values, times and people as a person reads them: printable and masked, whatever the input held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .plain import printable

if TYPE_CHECKING:
    from ..models import Detection
    from ..models.mute import Mute


# Imports stand in the functions: every command imports this file, and few need what it needs.

LONGEST = 300


def clean(text: object, most: int = LONGEST) -> str:
    """Any text of the input on one line, cut where it is endless.

    >>> clean("a" * 400)[-6:]
    'aaa...'
    """
    whole = str(text)
    full = printable(whole[: most + 1])
    return full if len(full) <= most else full[: most - 3] + "..."


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
    """A number, category or list; categories are masked.

    >>> value_text(0.30000000000000004), value_text(None), value_text(["a", 2.0])
    ('0.3', 'not measured', 'a, 2')
    >>> value_text("no access for ann@example.com")
    'no access for [e-mail]'
    """
    from ..language.templates import write
    from ..models.redaction import mask

    if isinstance(value, (list, tuple)):
        return ", ".join(value_text(item) for item in value) or "none"
    if isinstance(value, str):
        return clean(mask(value))
    return clean(write(value, "") if isinstance(value, (float, int)) or value is None else mask(str(value)))


def pairs_text(values: Mapping[str, Any]) -> str:
    """Names with their values, on one line."""
    return ", ".join(f"{clean(name)} {value_text(value)}" for name, value in values.items())


# --- detections -----------------------------------------------------------------------------


def whom(one: Detection) -> str:
    """Who did it, and to whom or where."""
    who = clean(one.subject)
    if one.target is not None:
        who += f" → {clean(one.target)}"
    told = {"subject", "target"}
    more = [f"{name} {value_text(value)}" for name, value in one.history.items() if name not in told]
    return f"{who} ({clean(', '.join(more))})" if more else who


def sentence(one: Detection) -> str:
    """The explanation, masked except for the names that are told anyway."""
    from ..models.redaction import mask

    names = [one.subject, one.target, one.thread]
    return clean(mask(one.explanation, keep=[name for name in names if name]), 2 * LONGEST)


def gravest_first(detections: Sequence[Detection]) -> list[Detection]:
    """By severity from the highest, and in output order within a severity."""
    from ..models import rank

    return sorted(detections, key=lambda one: (-rank(one.severity), one.order))


def by_severity(detections: Sequence[Detection]) -> str:
    """Counts by severity, gravest first.

    >>> by_severity([])
    ''
    """
    from ..models import SEVERITIES

    counts = Counter(one.severity for one in detections)
    return ", ".join(
        f"{counts[severity]} {severity}" for severity in reversed(SEVERITIES) if counts[severity]
    )


# --- mutes ----------------------------------------------------------------------------------


def mute_text(one: Mute) -> str:
    """What an entry asks for."""
    whose = f" (from {clean(one.untrusted, 120)}, not trusted)" if one.untrusted else ""
    return ", ".join(f"{name} {clean(glob, 120)}" for name, glob in one.asks.items()) + whose


def until_text(one: Mute, expired: frozenset[str]) -> str:
    """When an entry ends or ended."""
    if one.until is None:
        return "for ever"
    return f"{'expired ' if one.id in expired else ''}{stamp(one.until)}"
