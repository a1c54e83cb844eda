"""Cohort tables: what is usual among the people of a service, where a person's own past is short.

A table is one flat YAML file for each version, with lines `name: value`. It is read by hand, since signals
run where no YAML parser may be loaded. All faults of a file are reported at once, with their lines.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import DATA
from ..errors import BadConfig, BadUsage, Fault, did_you_mean
from ..files import read_text
from ..models.record import Record
from .clock import DAY, day_of, night_slots
from .sessions import old_pauses, read_sessions
from .settings import Settings
from .summary import LENGTH_STEPS, Summary, recent_days

if TYPE_CHECKING:
    from ..fields import Amount, Count, Name


SHIPPED = DATA / "tables" / "usage_cohort"
MAX_BYTES = 16 * 1024
MIN_PEOPLE = 20
"""Below so many people a figure of the group comes too near to a figure of one of them."""


def _range(low: float, high: float) -> dict[str, tuple[float, float]]:
    """Smallest and largest value of a field, both included."""
    return {"range": (low, high)}


@dataclass(frozen=True, slots=True)
class Cohort(Record):
    """Habits of a cohort, each with the weight it has against a person's own days."""

    version: Count
    source: Name
    events_a_day: Amount = field(metadata=_range(1e-6, 100_000))
    active_a_day: Amount = field(metadata=_range(1e-6, 48))
    """Half-hours of a day in which something was written."""
    days: Amount = field(metadata=_range(1e-6, 1_000))
    """Weight of the two above, in days of the person's own."""
    events_spread: Amount = field(metadata=_range(0, 1_000))
    active_spread: Amount = field(metadata=_range(0, 1_000))
    """Squared relative spread of a day's number, beyond Poisson."""
    spread_days: Amount = field(metadata=_range(1e-6, 1_000))
    week_spread: Amount = field(metadata=_range(0, 1_000))
    """The same of a week's number of events; weighs as one week."""
    night_share: Amount = field(metadata=_range(1e-6, 0.999))
    night_weight: Amount = field(metadata=_range(1e-6, 1_000))
    """In active half-hours."""
    log_pause: Amount = field(metadata=_range(0, 25))
    log_pause_spread: Amount = field(metadata=_range(1e-6, 10))
    pauses: Amount = field(metadata=_range(1e-6, 1_000))
    """Pauses between sessions: mean and deviation of ln(seconds), and their weight."""
    session_minutes: Amount = field(metadata=_range(0, 1_440))
    message_length: Amount = field(metadata=_range(0, 1_000_000))
    date: str = ""
    """The day it was made; empty where it was written by hand."""
    people: Count = 0
    """Number of people it was learnt from; 0 where it was written by hand."""


RANGES: Mapping[str, tuple[float, float]] = {
    item.name: item.metadata["range"] for item in fields(Cohort) if item.metadata
}
_NAMES = tuple(item.name for item in fields(Cohort))


def find_cohort(number: int | str | Path) -> Cohort:
    """Return the table of a shipped version, or the one in a file; BadConfig where there is none.

    >>> find_cohort(1).source
    'plain habits, written by hand'
    """
    text = str(number)
    if not text.isdecimal():
        return read_cohort(Path(text))
    if int(text) not in COHORTS:
        known = ", ".join(map(str, COHORTS))
        raise BadConfig(f"usage.cohort: there is no version {text:.20}; there are {known}, or name a file")
    return COHORTS[int(text)]


# --- reading and writing --------------------------------------------------------------------


def read_cohort(path: Path) -> Cohort:
    """Read the table of a file; BadConfig with every fault."""
    return parse_cohort(read_text(path, MAX_BYTES, BadConfig), str(path))


def parse_cohort(text: str, name: str) -> Cohort:
    """Parse a table; `name` is the file in faults.

    >>> parse_cohort("version: 2", "mine.yaml")
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
            faults.append(Fault(name, line, 1, f"duplicate name {key!r}"))
        else:
            expected = _expected(key, value)
            record[key] = float(value) if key in RANGES and not expected else value
            if expected:
                faults.append(Fault(name, line, 1, f"invalid {key} {value!r:.60}: expected {expected}"))
    if missing := [key for key in _NAMES if key not in record and key not in ("date", "people")]:
        some = missing if len(missing) < 5 else [*missing[:2], "... " + missing[-1]]
        faults.append(Fault(name, 0, 0, f"lacks {', '.join(some)}"))
    if faults:
        raise BadConfig(sorted(faults, key=lambda fault: (fault.line == 0, fault.line)))
    return Cohort(**record)


def format_cohort(cohort: Cohort) -> str:
    """The text of a table's file: figures of the group, no person's data.

    >>> parse_cohort(format_cohort(COHORTS[1]), "again") == COHORTS[1]
    True
    """
    head = "# What is usual among the people of a service; docs/people.md says how it is made.\n"
    learnt = [name for name in ("date", "people") if getattr(cohort, name)]
    names = ["version", "source", *learnt, *RANGES]
    return head + "".join(f"{name}: {json.dumps(getattr(cohort, name))}\n" for name in names)


def _lines(text: str, name: str, faults: list[Fault]) -> Iterator[tuple[int, str, Any]]:
    """Yield line number, name and value of each line; add a fault for a line of another form."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "---":
            continue
        key, colon, rest = line.partition(":")
        if not colon or line[0] in " \t-" or (rest and rest[0] not in " \t"):
            faults.append(Fault(name, number, 1, "must be `name: value`, one on a line"))
            continue
        yield number, key.strip(), _value(rest.strip())


def _value(text: str) -> Any:
    """A number, or a text with or without double quotes, without a comment after ` #`."""
    text = text if text.startswith('"') else text.partition(" #")[0].strip()
    try:
        return json.loads(text)
    except ValueError:
        return text


def _expected(key: str, value: Any) -> str:
    """What was expected where a value is wrong; else empty."""
    if key in ("version", "people"):
        if not (isinstance(value, int) and 0 <= value < 2**31):
            return "a whole number from 0 on"
        return f"0 or at least {MIN_PEOPLE}" if key == "people" and 0 < value < MIN_PEOPLE else ""
    if key == "source":
        is_right = isinstance(value, str) and 0 < len(value.strip()) <= 400
        return "" if is_right else "some words on where the figures come from, 400 characters at most"
    if key == "date":
        return "" if is_day(str(value)) else "a day, like 2026-01-31"
    low, high = RANGES[key]
    is_right = isinstance(value, (int, float)) and low <= value <= high  # never so for NaN
    return "" if is_right else f"a number from {low:g} to {high:g}"


def is_day(text: str) -> bool:
    """Whether a text is a day as ISO 8601 writes it.

    >>> is_day("2026-02-28"), is_day("2026-02-30")
    (True, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


COHORTS: Mapping[int, Cohort] = {
    cohort.version: cohort for cohort in map(read_cohort, sorted(SHIPPED.glob("*.yaml")))
}
"""The versions that come with the package, by number."""


# --- learning -------------------------------------------------------------------------------

MINIMUMS = {"events_a_day": 0.001, "active_a_day": 0.001, "night_share": 0.005, "log_pause_spread": 0.1}
"""Smallest learnt value: with a share of 0 a first night would be impossible, not rare."""


def learn_cohort(
    people: Iterable[Summary], version: int, source: str, settings: Settings, date: str = ""
) -> Cohort:
    """Learn a new version of the table: medians over people with three weeks and thirty events.

    Figures are rounded to two digits, so that nobody's own can be read off. A figure that fewer than twenty
    people have stays as in version 1, and so do all weights and the spread of weeks: the median person's
    weeks are more alike than most people's, and would raise false alarms. BadUsage below twenty people.
    """
    known = [person for person in people if person.events >= 30 and person.newest - person.first >= 21 * DAY]
    if len(known) < MIN_PEOPLE:
        raise BadUsage(
            f"a cohort takes at least {MIN_PEOPLE} people with three weeks and 30 events, "
            f"so that no figure is one person's; here are {len(known)}"
        )
    columns: dict[str, list[float]] = {}
    for person in known:
        for name, value in _habits(person, settings).items():
            if value is not None:
                columns.setdefault(name, []).append(value)
    figures: dict[str, Any] = {
        name: max(MINIMUMS.get(name, 0.0), float(f"{statistics.median(column):.2g}"))
        for name, column in columns.items()
        if len(column) >= MIN_PEOPLE
    }
    return replace(COHORTS[1], version=version, source=source, date=date, people=len(known), **figures)


def _habits(state: Summary, settings: Settings) -> dict[str, float | None]:
    """Figures of one person; None where there is no data."""
    days = recent_days(state)
    span = days[-1].day - max(days[0].day, day_of(state.first, state.ahead)) + 1
    night = night_slots(settings.night)
    events, active = [day.events for day in days], [day.active.bit_count() for day in days]
    nights = sum((day.active & night).bit_count() for day in days)
    logs = [math.log(pause) for pause in old_pauses(state, state.newest + 1)]
    sessions = read_sessions(state, state.newest, settings)
    measured = sum(session.measured for session in sessions)
    octaves = sum(session.octaves for session in sessions) / LENGTH_STEPS
    return {
        "events_a_day": sum(events) / span,
        "active_a_day": sum(active) / span,
        "events_spread": _excess_spread(events, span),
        "active_spread": _excess_spread(active, span),
        "night_share": nights / sum(active),
        "log_pause": statistics.fmean(logs) if logs else None,
        "log_pause_spread": statistics.pstdev(logs) if len(logs) > 1 else None,
        "session_minutes": statistics.median(session.minutes for session in sessions),
        "message_length": 2 ** (octaves / measured) - 1 if measured else None,
    }


def _excess_spread(counts: list[int], span: int) -> float:
    """Squared relative spread beyond Poisson; days without anything are not in `counts`."""
    mean = sum(counts) / span
    variance = sum(count * count for count in counts) / span - mean * mean
    return max(0.0, (variance - mean) / (mean * mean))
