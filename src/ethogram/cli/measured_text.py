"""Measurements of patterns as a person reads them: lift, and what became of planted episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .output import printable
from .text import plural

if TYPE_CHECKING:
    from ethogram.modes.lift import Lift, Lifts
    from ethogram.modes.plant import Planted, Planting

NOTHING = "-"


def lift_lines(lifts: Lifts) -> Iterator[str]:
    """A table with one row for each pattern, and what was done to get it."""
    rows: list[tuple[str, ...]] = [("pattern", "found", "shuffled", "ratio", "95 %", "p", "")]
    rows += [_lift_row(one) for one in lifts]
    yield from _table(rows)
    yield ""
    yield (
        f"{plural(lifts.events, 'event')} of {plural(lifts.subjects, 'subject')}, "
        f"{plural(lifts.shuffles, 'shuffle')}, seed {lifts.seed}"
    )
    yield "ratio: found over the mean of the shuffles, about 1 where order does not matter"


def _lift_row(one: Lift) -> tuple[str, ...]:
    ratio = NOTHING if one.ratio is None else f"{one.ratio:.2f}"
    low = NOTHING if one.low is None else f"{one.low:.2f}"
    high = "more" if one.high is None else f"{one.high:.2f}"
    between = NOTHING if one.ratio is None else f"{low} to {high}"
    shuffled = f"{one.mean:.1f} +- {one.sd:.1f}"
    return (one.pattern, str(one.detections), shuffled, ratio, between, f"{one.p:.3f}", _why_none(one))


def _why_none(one: Lift) -> str:
    """What keeps a pattern from being seen here at all, if anything does."""
    if one.detections or any(one.shuffled):
        return ""
    if not one.histories:
        return "no such history here"
    if one.lacking:
        return f"never read: {', '.join(one.lacking)}"
    return "insufficient data in every history" if one.insufficient == one.histories else ""


def plant_lines(planting: Planting) -> Iterator[str]:
    """A table with one row for each pattern, and what was done to get it."""
    rows: list[tuple[str, ...]] = [
        ("pattern", "status", "found", "recall", "95 %", "weak", "strong", "scrambled", "alarms", "in")
    ]
    rows += [_plant_row(one) for one in planting]
    yield from _table(rows)
    yield ""
    low, high = planting.setting.strength
    yield (
        f"strength {low:g} to {high:g}, noise {planting.setting.noise:g}, gaps {planting.setting.gaps:g}, "
        f"seed {planting.seed}"
    )
    yield "scrambled: recall of the same episodes with what happens in another order"
    yield "alarms: detections in the background as it was, in so many histories"
    few = [one.pattern for one in planting if not one.to_dict()["enough"]]
    if few:
        yield printable(f"found less than half, so experimental: {', '.join(few)}")


def _plant_row(one: Planted) -> tuple[str, ...]:
    said = one.to_dict()
    shares = (said["recall_weak"], said["recall_strong"], said["recall_scrambled"])
    return (
        one.pattern,
        one.status,
        f"{one.found} of {one.episodes}",
        f"{one.recall:.2f}",
        "{:.2f} to {:.2f}".format(*one.interval),
        *(NOTHING if share is None else f"{share:.2f}" for share in shares),
        str(one.alarms),
        plural(one.histories, "history"),
    )


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield printable(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
