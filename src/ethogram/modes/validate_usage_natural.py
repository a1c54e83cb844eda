"""Natural falls: how often people fall to a fifth of what was to be expected, with nothing planted.

What happens by itself so often bounds what any detector of a withdrawal can do: it is found too, and counts
as a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from ..usage.clock import day_of, offset
from .plant_usage import LEAST, LENGTHS, MONTH
from .validate_usage_people import People, person_weeks

FALLEN = 0.2
RECOVERED = 0.5
KNOWN_DAYS = 14


def natural_falls(about: Mapping[str, Any], people: People, zone: str | None) -> Iterator[dict[str, Any]]:
    """For each length of period: the share of periods that fell so, and falls a person-week."""
    weeks = sum(person_weeks(people).values())
    daily = [days_of(times, zone) for times in people.values()]
    for length in LENGTHS:
        ratios = [list(period_ratios(days, length)) for days in daily]
        known = [one for own in ratios for one in own if one is not None]
        fallen = sum(one <= FALLEN for one in known)
        yield {
            "record": "usage_fall",
            **about,
            "days": length,
            "periods": len(known),
            "fallen": fallen,
            "share": round(fallen / len(known), 4) if known else None,
            "falls": sum(map(falls, ratios)),
            "rate": round(sum(map(falls, ratios)) / weeks, 4),
        }


def days_of(times: Sequence[int], zone: str | None) -> list[int]:
    """Events of each day on the own clock, from the first to the last."""
    days = [day_of(at, offset(at, zone)) for at in times]
    counts = [0] * (days[-1] - days[0] + 1)
    for day in days:
        counts[day - days[0]] += 1
    return counts


def period_ratios(days: Sequence[int], length: int) -> Iterator[float | None]:
    """What every period of so many days had over what the four weeks before it promise.

    None where that is less than ten events.
    """
    sums = [0, *accumulate(days)]
    for start in range(KNOWN_DAYS, len(days) - length + 1):
        back = max(0, start - MONTH)
        expected = (sums[start] - sums[back]) / (start - back) * length
        if expected < LEAST:
            yield None
        else:
            yield (sums[start + length] - sums[start]) / expected


def falls(ratios: Sequence[float | None]) -> int:
    """How often a fall began: over once a period has half of what was to be expected again.

    >>> falls([1.0, 0.2, 0.1, 0.3, 0.6, 0.0, None])
    2
    """
    count, is_down = 0, False
    for one in ratios:
        if one is None:
            continue
        count += one <= FALLEN and not is_down
        is_down = one <= RECOVERED if is_down else one <= FALLEN
    return count
