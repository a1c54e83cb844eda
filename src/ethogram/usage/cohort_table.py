"""The cohort's table: one flat YAML file for each version, read, checked and written.

A line is `name: value`. It is read by hand, since signals run where no YAML parser may be loaded; what is
written here is YAML all the same. Every fault of a file is told at once, with its line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import DATA
from ..errors import BadConfig, Fault, did_you_mean
from ..models.record import Record

if TYPE_CHECKING:
    from ..fields import Amount, Count, Name


SHIPPED = DATA / "tables" / "usage_cohort"
MOST_BYTES = 16 * 1024
LEAST_PEOPLE = 20
"""Below so many people a figure of the group comes too near to a figure of one of them."""


@dataclass(frozen=True, slots=True)
class Cohort(Record):
    """Habits of a cohort, each with the weight it has against a person's own days."""

    version: Count
    source: Name
    events_a_day: Amount
    active_a_day: Amount
    """Half-hours of a day in which something was written."""
    days: Amount
    """The two above weigh as so many days of the person's own."""
    events_spread: Amount
    active_spread: Amount
    """Squared relative spread of a day's number, beyond Poisson."""
    spread_days: Amount
    week_spread: Amount
    """The same of a week's number of events; weighs as one week."""
    night_share: Amount
    night_weight: Amount
    """In active half-hours."""
    log_pause: Amount
    log_pause_spread: Amount
    pauses: Amount
    """Pauses between sessions: mean and deviation of ln(seconds), and their weight."""
    session_minutes: Amount
    message_length: Amount
    date: str = ""
    """The day it was made, as it was told; empty where it was written by hand."""
    people: Count = 0
    """How many people it was learnt from; 0 where it was written by hand."""


# What each figure may be: above the first (or at it, where it may be 0), up to the second.
_RANGES: Mapping[str, tuple[float, float]] = {
    "events_a_day": (1e-6, 100_000),
    "active_a_day": (1e-6, 48),
    "days": (1e-6, 1_000),
    "events_spread": (0, 1_000),
    "active_spread": (0, 1_000),
    "spread_days": (1e-6, 1_000),
    "week_spread": (0, 1_000),
    "night_share": (1e-6, 0.999),
    "night_weight": (1e-6, 1_000),
    "log_pause": (0, 25),
    "log_pause_spread": (1e-6, 10),
    "pauses": (1e-6, 1_000),
    "session_minutes": (0, 1_440),
    "message_length": (0, 1_000_000),
}
_NAMES = tuple(field.name for field in fields(Cohort))


def read_cohort(path: Path) -> Cohort:
    """The table in a file; BadConfig with every fault where it cannot be used."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadConfig([Fault(str(path), 0, 0, f"cannot be read: {error.strerror or error}")]) from None
    if len(content) > MOST_BYTES:
        raise BadConfig(
            [Fault(str(path), 0, 0, f"is larger than {MOST_BYTES:,} bytes: no table of a cohort")]
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadConfig([Fault(str(path), 0, 0, "is no text in UTF-8")]) from None
    return cohort_of(text, str(path))


def cohort_of(text: str, name: str) -> Cohort:
    """The table in a text; `name` is what faults call it.

    >>> cohort_of("version: 2", "mine.yaml")
    Traceback (most recent call last):
    ...
    ethogram.errors.BadConfig: mine.yaml: lacks source, events_a_day, ... message_length
    """
    faults: list[Fault] = []
    record: dict[str, Any] = {}
    for line, key, value in _lines(text, name, faults):
        if key not in _NAMES:
            faults.append(Fault(name, line, 1, f"unknown name {key!r:.60}{did_you_mean(key, _NAMES)}"))
        elif key in record:
            faults.append(Fault(name, line, 1, f"{key} stands here a second time"))
        elif wrong := _wrong(key, value):
            record[key] = None
            faults.append(Fault(name, line, 1, f"{key} must be {wrong}; here is {value!r:.60}"))
        else:
            record[key] = value
    if lacking := [name for name in _NAMES if name not in record and name not in ("date", "people")]:
        faults.append(Fault(name, 0, 0, f"lacks {_listed(lacking)}"))
    if faults:
        raise BadConfig(sorted(faults, key=lambda fault: (fault.line == 0, fault.line)))
    figures: dict[str, Any] = {
        key: float(value) if key in _RANGES else value for key, value in record.items()
    }
    return Cohort(**figures)


def cohort_text(cohort: Cohort) -> str:
    """The table as the text of its file: no person's data, only figures of the group.

    >>> cohort_of(cohort_text(COHORTS[1]), "again") == COHORTS[1]
    True
    """
    head = "# What is usual among the people of a service; docs/cohort.md says how it is made.\n"
    by_hand = [name for name in ("date", "people") if not getattr(cohort, name)]
    shown = [name for name in _first() if name not in by_hand]
    return head + "".join(f"{name}: {json.dumps(getattr(cohort, name))}\n" for name in shown)


def _first() -> list[str]:
    """The names in the order they are written: what the table is, then its figures."""
    about = ["version", "source", "date", "people"]
    return [*about, *(name for name in _NAMES if name not in about)]


def _lines(text: str, name: str, faults: list[Fault]) -> Iterator[tuple[int, str, Any]]:
    """Line number, name and value of each line; those that are none are faults."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "---":
            continue
        key, colon, rest = line.partition(":")
        if not colon or line[0] in " \t-" or (rest and rest[0] not in " \t"):
            faults.append(Fault(name, number, 1, "must be `name: value`, one on a line"))
            continue
        yield number, key.strip(), _value(rest.strip())


def _value(text: str) -> Any:
    """A number, or a text with or without quotes; a remark after ` #` is left out."""
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if not text.startswith('"'):
        text = text.partition(" #")[0].strip()
    read: tuple[Callable[[str], Any], ...] = (int, float, json.loads)
    for item in read[: 3 if text.startswith('"') else 2]:
        try:
            return item(text)
        except ValueError:
            continue
    return text


def _wrong(key: str, value: Any) -> str:
    """What would be right, where the value is not."""
    if key in ("version", "people"):
        whole = isinstance(value, int) and 0 <= value < 2**31
        few = key == "people" and whole and 0 < value < LEAST_PEOPLE
        return f"0 or at least {LEAST_PEOPLE}" if few else "" if whole else "a whole number from 0 on"
    if key == "source":
        fine = isinstance(value, str) and 0 < len(value.strip()) <= 400
        return "" if fine else "some words on where the figures come from, 400 characters at most"
    if key == "date":
        return "" if is_day(str(value)) else "a day, like 2026-01-31"
    low, high = _RANGES[key]
    is_number = isinstance(value, (int, float)) and math.isfinite(value)
    return "" if is_number and low <= value <= high else f"a number from {low:g} to {high:g}"


def is_day(text: str) -> bool:
    """Whether a text is a day as ISO 8601 writes it.

    >>> is_day("2026-02-28"), is_day("2026-02-30")
    (True, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 5 else f"{names[0]}, {names[1]}, ... {names[-1]}"


COHORTS: Mapping[int, Cohort] = {
    item.version: item for item in (read_cohort(path) for path in sorted(SHIPPED.glob("*.yaml")))
}
"""The versions that come with the package, by number."""
