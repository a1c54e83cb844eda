"""Recall: how many planted changes are found, how soon, and how many would have been by luck.

The control is the same period of the same person without the change: what is found there would have been
counted as a hit too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from ..records import rank
from ..usage.clock import DAY
from .plant import wilson
from .plant_usage import Case
from .plant_usage_change import WANTED
from .validate_usage_found import Opening
from .validate_usage_rates import LEVELS

Found = tuple[Sequence[Opening], Sequence[Opening]]
"""What was found in a case: with the change, and without it."""
OPEN_FOR = 7 * DAY
"""A pattern that opened so shortly before a change may be silent about it: it was told already."""
BANDS = ((10.0, 15.0), (15.0, 30.0), (30.0, None))


def recall(
    about: Mapping[str, Any], cases: Sequence[Case], found: Sequence[Found]
) -> Iterator[dict[str, Any]]:
    """Records of recall: for each change, background and measure, at both levels."""
    rows: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for k, one in enumerate(cases):
        rows[one.change, one.background, one.measure].append(k)
    for (change, background, measure), own in sorted(rows.items()):
        named = {"change": change, "background": background, "measure": measure}
        for level in LEVELS:
            told = [(cases[k], delay(cases[k], found[k][0], level)) for k in own]
            luck = [delay(cases[k], found[k][1], level) for k in own]
            yield {"record": "usage_recall", **about, **named, "level": level, **_figures(told, luck)}


def delay(case: Case, found: Sequence[Opening], level: str) -> float | None:
    """Days from the change to the first opening of a wanted pattern; infinite: none; None: open before.

    A case that cannot open anew, since it was open when the change came, says nothing about the change.
    """
    wanted = [one for one in found if one.pattern in WANTED[case.change] and rank(one.level) >= rank(level)]
    after = [one.at for one in wanted if case.start < one.at <= case.stop]
    if after:
        return (min(after) - case.start) / DAY
    is_open = any(
        one.at <= case.start and (one.until is None or one.until > case.start - OPEN_FOR) for one in wanted
    )
    return None if is_open else float("inf")


def _figures(told: Sequence[tuple[Case, float | None]], luck: Sequence[float | None]) -> dict[str, Any]:
    fresh = [(case, days) for case, days in told if days is not None]
    hits = [days for _, days in fresh if days < float("inf")]
    chance = [days for days in luck if days is not None]
    by_luck = sum(days < float("inf") for days in chance)
    return {
        "cases": len(fresh),
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
