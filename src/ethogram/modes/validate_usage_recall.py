"""Recall: how many planted changes are found, how soon, and how many would have been by luck.

The control is the same period of the same person without the change: what is found there would have been
counted as a hit too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from ..records import rank
from ..risk.intervals import wilson
from ..usage.clock import DAY
from .plant_usage_change import WANTED
from .plant_usage_row import Case, Row
from .validate_usage_found import Opening
from .validate_usage_rates import LEVELS

Found = tuple[Sequence[Opening], Sequence[Opening]]
"""What was found in a case: with the change, and without it."""
OPEN_FOR = 7 * DAY
"""A pattern that was open so shortly before a change may be silent about it: it was told already."""
BANDS = ((10.0, 15.0), (15.0, 30.0), (30.0, None))


def recall(
    about: Mapping[str, Any], rows: Sequence[Row], found: Sequence[Sequence[Found]]
) -> Iterator[dict[str, Any]]:
    """Records of recall at both levels; `found` has what was found in each case of each row."""
    for row, own in sorted(zip(rows, found, strict=True), key=lambda pair: _order(pair[0])):
        named = {"change": row.change, "background": row.background, "measure": row.measure, "rise": row.rise}
        came_to = [one.reached for one in row.cases if one.reached is not None]
        drawn = {
            "drawn": row.drawn,
            "too_small": row.too_small,
            "reached": round(median(came_to), 4) if came_to else None,
        }
        for level in LEVELS:
            told = [(case, delay(case, one[0], level)) for case, one in zip(row.cases, own, strict=True)]
            luck = [delay(case, one[1], level) for case, one in zip(row.cases, own, strict=True)]
            figures = _figures(told, luck)
            yield {"record": "usage_recall", **about, **named, "level": level, **drawn, **figures}


def _order(row: Row) -> tuple[str, float, str, str]:
    return row.change, row.rise or 0.0, row.background, row.measure


def delay(case: Case, found: Sequence[Opening], level: str) -> float | None:
    """Days from the change until a wanted pattern reached the level; infinite: never; None: open before.

    A case in which one was open at this level when the change came says nothing about the change, whatever
    was told afterwards.
    """
    wanted = [
        (at, one.until)
        for one in found
        if one.pattern in WANTED[case.change] and (at := reached_at(one, level)) is not None
    ]
    if any(at <= case.start and (until is None or until > case.start - OPEN_FOR) for at, until in wanted):
        return None
    after = [at for at, _ in wanted if case.start < at <= case.stop]
    return (min(after) - case.start) / DAY if after else float("inf")


def reached_at(one: Opening, level: str) -> float | None:
    """When an opening reached this level or a higher one; None: it did not."""
    if rank(one.level) < rank(level):
        return None
    return one.medium_at if level == "medium" else one.at


def _figures(told: Sequence[tuple[Case, float | None]], luck: Sequence[float | None]) -> dict[str, Any]:
    fresh = [(case, days) for case, days in told if days is not None]
    hits = [days for _, days in fresh if days < float("inf")]
    chance = [days for days in luck if days is not None]
    by_luck = sum(days < float("inf") for days in chance)
    return {
        "cases": len(fresh),
        "people": len({case.who for case, _ in fresh}),
        "open_before": len(told) - len(fresh),
        "found": len(hits),
        "recall": _share(len(hits), len(fresh)),
        "interval": _interval(len(hits), len(fresh)),
        "delay_days": round(median(hits), 1) if hits else None,
        "control_found": by_luck,
        "control": _share(by_luck, len(chance)),
        "control_interval": _interval(by_luck, len(chance)),
        "by_expected": [_band(fresh, low, high) for low, high in BANDS],
    }


def _band(
    fresh: Sequence[tuple[Case, float]], low: float, high: float | None
) -> dict[str, float | int | None]:
    some = [days for case, days in fresh if low <= case.expected and (high is None or case.expected < high)]
    return {"from": low, "below": high, "cases": len(some), "found": sum(d < float("inf") for d in some)}


def _share(found: int, of: int) -> float | None:
    return round(found / of, 4) if of else None


def _interval(found: int, of: int) -> list[float] | None:
    return [round(end, 4) for end in wilson(found, of)] if of else None
