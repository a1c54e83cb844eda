"""The readings of one event line: a number or a category under each signal's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf, isfinite
from typing import Any

from ..errors import did_you_mean
from ..records import Value, is_indicator_name
from .errors import BadLine, shown, type_name
from .limits import Limits, over
from .values import check_name, finite

NUMBER, CATEGORY = "number", "category"
REMEMBERED = 4096
Range = tuple[float, float] | tuple[str, ...]
"""The lowest and highest number, both included; or the categories."""
PARTS = frozenset({"value", "scorer", "width"})


def signal_name(name: str) -> str:
    """The name a reading is kept under: indicators with an underscore, however they were written.

    >>> signal_name("MAN-LOVEBOMB"), signal_name("time-of-day")
    ('MAN_LOVEBOMB', 'time-of-day')
    """
    if "-" in name and is_indicator_name(name.replace("-", "_")):
        return name.replace("-", "_")
    return name


@dataclass(frozen=True, slots=True)
class Rules:
    """What a line is checked against: sizes, and the kind and range each known signal has.

    Times after `latest` are refused. `names` remembers what each name of a reading came to, as the same few
    come on every line; `plain` has the lowest and highest number, and the name itself, of each that
    stays as it is.
    """

    limits: Limits
    kinds: Mapping[str, str]
    names: dict[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    plain: dict[str, tuple[float, float, str]] = field(default_factory=dict)
    latest: datetime | None = None


def _checked_name(told: Any, rules: Rules) -> str:
    name = signal_name(check_name("reading name", told, rules.limits))
    if not name:
        raise BadLine("a reading has an empty name")
    if len(rules.names) < REMEMBERED:
        rules.names[told] = name
        if name == told and rules.kinds.get(name) != CATEGORY:
            low, high = _bounds(rules.ranges.get(name, ()))
            rules.plain[name] = (max(low, -LARGEST), min(high, LARGEST), name)
    return name


LARGEST = 1e100
"""Squares and sums of readings must still be numbers."""


def _bounds(allowed: Range | tuple[()]) -> tuple[float, float]:
    low, high = (allowed[0], allowed[-1]) if allowed else (-inf, inf)
    return (-inf, inf) if isinstance(low, str) or isinstance(high, str) else (low, high)


def plain_readings(given: Any, rules: Rules) -> dict[str, Value] | None:
    """The readings where all are numbers in range under names seen before, as nearly always; else None."""
    if type(given) is not dict or not 0 < len(given) <= rules.limits.readings:
        return None
    plain = rules.plain
    readings: dict[str, Value] = {}
    for told, value in given.items():
        known = plain.get(told)
        if known is None or not (type(value) is float or type(value) is int):
            return None
        low, high, name = known
        if not low <= value <= high:
            return None
        # The name as it was first seen, so that a million events hold it once.
        readings[name] = value if type(value) is float else float(value)
    return readings


def add_readings(fields: dict[str, Any], given: Any, rules: Rules) -> None:
    """Put `readings`, and `scorers` and `widths` where any are told, into an event's fields."""
    if (plain := plain_readings(given, rules)) is not None:
        fields["readings"] = plain
        return
    limits, kinds, ranges = rules.limits, rules.kinds, rules.ranges
    if not isinstance(given, Mapping):
        raise BadLine(f"readings must be an object, not {type_name(given)}")
    if len(given) > limits.readings:
        raise BadLine(over("readings", limits.readings, f"more than {limits.readings} readings"))
    readings: dict[str, Value] = {}
    for told, one in given.items():
        name = rules.names.get(told) or _checked_name(told, rules)
        if name in readings:
            raise BadLine(f"reading {shown(name)} is given twice")
        if isinstance(one, Mapping):
            one = _measured(fields, name, one, limits)
        if one is not None:  # null: not measured
            readings[name] = _value(name, one, limits, kinds.get(name))
            if name in ranges:
                _check_range(name, readings[name], ranges[name])
    if readings:
        fields["readings"] = readings


def _value(name: str, value: Any, limits: Limits, due: str | None) -> Value:
    if isinstance(value, float | int):
        if due == CATEGORY:
            raise BadLine(f"reading {shown(name)} is a number ({shown(value)}) where text is due")
        if isfinite(number := finite(f"reading {shown(name)}", value)) and abs(number) > LARGEST:
            raise BadLine(f"reading {shown(name)} is larger than {LARGEST:g}")
        return number
    if not isinstance(value, str):
        raise BadLine(f"reading {shown(name)} must be a number or text, not {type_name(value)}")
    if due == NUMBER:
        raise BadLine(f"reading {shown(name)} is text ({shown(value)}) where a number is due")
    return check_name(f"reading {shown(name)}", value, limits)


def _check_range(name: str, value: Value, allowed: Range) -> None:
    """Nothing where a value lies in the range of its signal; else BadLine. Kinds were looked at before."""
    if isinstance(value, str):
        if isinstance(allowed[0], str) and value not in allowed:
            raise BadLine(f"{name}: {shown(value)} is none of {', '.join(map(str, allowed))}")
        return
    low, high = allowed[0], allowed[-1]
    if not isinstance(low, str) and not isinstance(high, str) and not low <= value <= high:
        within = f"{_number(low)} or more" if high == inf else f"{_number(low)} to {_number(high)}"
        raise BadLine(f"{name}: {_number(value)} is outside {within}")


def _number(value: float) -> str:
    return shown(int(value)) if abs(value) < 1e15 and value == int(value) else shown(value)


def _measured(fields: dict[str, Any], name: str, one: Mapping[str, Any], limits: Limits) -> Any:
    """The value in {"value": 0.8, "scorer": "gpt@2", "width": 4}; who measured it goes into the fields."""
    what = f"reading {shown(name)}"
    for key in one:
        if key not in PARTS:
            near = did_you_mean(key, PARTS) if isinstance(key, str) else ""
            raise BadLine(f"{what}: unknown key {shown(key)}{near or '; known are value, scorer, width'}")
    if "value" not in one:
        raise BadLine(f"{what} has no value")
    scorer, width = one.get("scorer"), one.get("width")
    if width is not None and (type(width) is not int or not 0 <= width < 2**31):
        raise BadLine(f"{what}: width must be a whole number from 0, not {shown(width)}")
    if one["value"] is None:
        return None
    if scorer:
        fields.setdefault("scorers", {})[name] = check_name(f"{what}: scorer", scorer, limits)
    elif scorer is not None and scorer != "":
        raise BadLine(f"{what}: scorer must be text, not {type_name(scorer)}")
    if width is not None:
        fields.setdefault("widths", {})[name] = width
    return one["value"]
