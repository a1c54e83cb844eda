"""The names that patterns may use: the catalogue, registered signals and declared ones."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from .. import registry
from ..data import DATA
from ..errors import BadConfig, Fault
from ..language.vocabulary import KINDS, Vocabulary
from ..language.yaml_source import plain, read_yaml_file
from ..models.slotted import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A signal or attribute in the catalogue. `range` is (low, high), categories, or None for any."""

    name: str
    kind: str
    description: str
    range: tuple[float, float] | tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Indicator:
    """A sign that an evaluator may see in a message; `polarity` is + or -, `definition` says how to tell."""

    id: str
    name: str
    trait: str
    dimension: str
    polarity: str
    definition: str


def load_vocabulary(declared: Mapping[str, str] | None = None) -> Vocabulary:
    """Every name that is known, with the signals declared in the settings (name -> number or category).

    A declaration that contradicts what is known is BadConfig, with all such faults at once.
    """
    signals = known_signals()
    attributes = {entry.name: entry.kind for entry in attribute_catalogue().values()}
    indicators = frozenset(indicator_catalogue())
    faults = [
        Fault("", 0, 0, f"signals.{name}: {why}")
        for name, kind in (declared or {}).items()
        if (why := _contradiction(name, kind, signals, attributes, indicators))
    ]
    if faults:
        raise BadConfig(faults)
    return Vocabulary({**signals, **(declared or {})}, indicators, attributes, load_tables())


def known_signals() -> dict[str, str]:
    """Name to kind of every signal in the catalogue and of every registered one, which wins."""
    supplied = {entry.name: entry.kind for entry in signal_catalogue().values()}
    known = supplied | {name: str(signal.kind) for name, signal in registry.signals.items()}
    # Signals that patterns in code make are for these patterns alone.
    return {name: kind for name, kind in known.items() if not name.startswith(registry.IN_CODE)}


def known_ranges() -> dict[str, tuple[float, float] | tuple[str, ...]]:
    """Name to (lowest, highest) or to the categories, of every known signal with a range.

    >>> known_ranges()["compassion"]
    (0, 1)
    """
    supplied = {entry.name: entry.range for entry in signal_catalogue().values()}
    ranges = supplied | {name: signal.range for name, signal in registry.signals.items()}
    return {name: allowed for name, allowed in ranges.items() if allowed}


@cache
def signal_catalogue() -> Mapping[str, Entry]:
    """The signals that scorers may supply, by name."""
    return _entries("signals.yaml")


@cache
def attribute_catalogue() -> Mapping[str, Entry]:
    """The attributes that patterns may name, by name."""
    return _entries("attributes.yaml")


@cache
def indicator_catalogue() -> Mapping[str, Indicator]:
    """The indicators, by id, in the order of the catalogue."""
    lines = (DATA / "vocabulary" / "indicators.csv").read_text("utf-8").splitlines()
    return {row["id"]: Indicator(**row) for row in csv.DictReader(lines)}


@cache
def load_tables() -> Mapping[str, Mapping[str, float]]:
    """The numbers of every table, by its name."""
    tables = [_read(path) for path in sorted((DATA / "tables").glob("*.yaml"))]
    return {
        table["name"]: {name: float(value) for name, value in table["values"].items()} for table in tables
    }


def _contradiction(
    name: str, kind: str, signals: Mapping[str, str], attributes: Mapping[str, str], indicators: Iterable[str]
) -> str:
    if kind not in KINDS:
        return f"unknown kind {kind!r:.40}; write {' or '.join(KINDS[:2])}"
    if name in attributes:
        return "is an attribute, which needs no declaration; remove this line"
    if name in indicators:
        return "is an indicator, which needs no declaration; remove this line"
    if signals.get(name, kind) != kind:
        return f"is known as a {signals[name]}, not a {kind}; remove this line or choose another name"
    return ""


def _entries(file: str) -> Mapping[str, Entry]:
    entries = {}
    for name, record in _read(DATA / "vocabulary" / file).items():
        limits = [inf if limit == ".inf" else limit for limit in record.get("range", ())]
        entries[name] = Entry(name, **{**record, "range": tuple(limits) or None})
    return entries


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = plain(read_yaml_file(path))
    return content
