"""Vocabulary: the names a pattern may use, and whether each is a number or a category."""

from __future__ import annotations

from collections.abc import Mapping

from ..models.slotted import dataclass, field

KINDS = ("number", "category", "any")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names by what they are. No name is in two of signals, indicators and attributes.

    The kind of a signal or attribute is one of KINDS; `any` where only the data can tell. `tables` holds
    numbers by name, for `weights=`: table name -> indicator -> weight.
    """

    signals: Mapping[str, str] = field(default_factory=dict)
    indicators: frozenset[str] = frozenset()
    attributes: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
